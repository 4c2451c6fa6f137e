"""What the emulator makes of the operands of conformance, against exact integers and fractions of Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from lamina.tools.cuda.conformance import lanes
from lamina.tools.cuda.conformance.cases import Case
from lamina.tools.cuda.conformance.compare import emulated, outcome
from lamina.tools.cuda.conformance.operands import dtype_of, halves_of, is_float

Meaning = Callable[..., Any]
CASES = [case for case in lanes.cases() if case.inputs]
OPCODES = sorted({case.form.split(".")[0] for case in CASES})
FORMATS = {"f16": (11, -14), "bf16": (8, -126), "f32": (24, -126), "f64": (53, -1022)}  # digits, least exponent


def largest(kind: str) -> Fraction:
    return Fraction(float(ml_dtypes.finfo(dtype_of(kind)).max))


def rounded(value: Fraction, kind: str, mode: str = "rn") -> float:
    """A number other than 0 in a format, rounded once."""
    digits, least = FORMATS[kind]
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > size  # now 2**exponent <= size < 2**(exponent + 1)
    step = Fraction(2) ** (max(exponent, least) - digits + 1)
    down = math.floor(value / step)
    choose = {"rn": round(value / step), "rm": down, "rp": -math.floor(-value / step), "rz": math.trunc(value / step)}
    found = choose[mode] * step
    sign = 1 if value > 0 else -1
    if abs(found) > largest(kind):
        stays = mode == "rz" or (mode == "rm" and value > 0) or (mode == "rp" and value < 0)
        return sign * (float(largest(kind)) if stays else math.inf)
    return math.copysign(float(found), sign)


def of_floats(exact: Callable[..., Fraction], plain: Callable[..., Any], kind: str, mode: str = "rn") -> Meaning:
    """What exact arithmetic gives; `plain` says what comes of infinities, NaN and zeros."""

    def meaning(*values: float) -> float:
        with np.errstate(all="ignore"):
            easy = float(plain(*map(np.float64, values)))
        if not all(map(math.isfinite, values)):
            return easy
        try:
            found = exact(*map(Fraction, values))
        except ZeroDivisionError:
            return easy
        if found:
            return rounded(found, kind, mode)
        return -0.0 if mode == "rm" and not both_positive(plain, values) else easy

    return meaning


def both_positive(plain: Callable[..., Any], values: tuple[float, ...]) -> bool:
    """Whether two numbers whose sum or difference is 0 are added up from +0 and +0: else, rounded down, it is -0."""
    signs = [math.copysign(1, value) for value in values]
    return values == (0.0, 0.0) and signs == ([1, -1] if plain is np.subtract else [1, 1])


def root(kind: str) -> Meaning:
    def meaning(x: float) -> float:
        if not x > 0 or math.isinf(x):
            return x if x == 0 or x > 0 else math.nan
        near = rounded(Fraction(math.sqrt(x)), kind)
        dtype = dtype_of(kind).type
        with np.errstate(all="ignore"):
            below, above = (float(np.nextafter(dtype(near), dtype(to))) for to in (0.0, math.inf))
        low, high = ((Fraction(near) + Fraction(other)) / 2 for other in (below, above))
        assert low * low <= Fraction(x) <= high * high
        return near

    return meaning


def wrapped(value: int, kind: str) -> int:
    bits = 8 * dtype_of(kind).itemsize
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind[0] == "s" and value >> bits - 1 else value


def cut(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def extreme(choose: Callable[..., Any], keeps: bool, relu: bool) -> Meaning:
    def meaning(a: Any, b: Any) -> Any:
        if isinstance(a, float) and (math.isnan(a) or math.isnan(b)):
            return math.nan if keeps or (math.isnan(a) and math.isnan(b)) else b if math.isnan(a) else a
        found = choose(a, b, key=lambda x: (x, math.copysign(1, x)))
        return max(found, 0) if relu else found

    return meaning


def field(kind: str) -> Meaning:
    bits = 8 * dtype_of(kind).itemsize

    def meaning(a: int, place: int, length: int) -> int:
        place, length = place & 255, length & 255
        sign = 0 if kind[0] == "u" or not length else a >> min(place + length - 1, bits - 1) & 1
        found = 0
        for i in range(bits):
            found |= (a >> place + i & 1 if i < length and place + i < bits else sign) << i
        return found

    return meaning


def inserted(kind: str) -> Meaning:
    bits = 8 * dtype_of(kind).itemsize

    def meaning(a: int, b: int, place: int, length: int) -> int:
        found = b
        for i in range(length & 255):
            at = (place & 255) + i
            if at < bits:
                found = found & ~(1 << at) | (a >> i & 1) << at
        return found

    return meaning


def funnel(opcode: list[str]) -> Meaning:
    def meaning(low: int, high: int, by: int) -> int:
        by = min(by, 32) if opcode[2] == "clamp" else by & 31
        both = high << 32 | low
        return both << by >> 32 if opcode[1] == "l" else both >> by

    return meaning


def chosen_bytes(a: int, b: int, chooser: int) -> int:
    found = 0
    for i in range(4):
        pick = chooser >> 4 * i & 15
        byte = (b << 32 | a) >> 8 * (pick & 7) & 255
        found |= ((255 if byte & 128 else 0) if pick & 8 else byte) << 8 * i
    return found


def shifted(kind: str, left: bool) -> Meaning:
    return (lambda a, by: a << by if by < 64 else 0) if left else (lambda a, by: a >> by)


def compared(name: str) -> Meaning:
    tests: dict[str, Meaning] = {
        "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
        "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    }  # fmt: skip

    def meaning(a: Any, b: Any) -> int:
        none = a != a or b != b
        if name in ("num", "nan"):
            return int(none == (name == "nan"))
        return int(len(name) == 3) if none else int(tests[name[:2]](a, b))

    return meaning


def converted(opcode: list[str]) -> Meaning:
    *modes, to, source = opcode[1:]
    steps: dict[str, Meaning] = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}
    whole = next((mode for mode in modes if mode in steps), None)

    def meaning(x: Any) -> Any:
        if not is_float(to):
            if not is_float(source):
                return x
            limits = np.iinfo(dtype_of(to))
            if math.isnan(x):
                return 1 << limits.bits - 1 if source == "f64" or limits.bits == 64 else 0
            found = steps[str(whole)](Fraction(x)) if math.isfinite(x) else int(math.copysign(1 << 70, x))
            return max(limits.min, min(limits.max, found))
        if is_float(source) and (not math.isfinite(x) or x == 0):
            return x
        exact = Fraction(x)
        if whole:
            exact = Fraction(steps[whole](exact))
        return rounded(exact, to) if exact else math.copysign(0.0, x)

    return meaning


def to_tf32(bits: int) -> int:
    if bits & 0x7F800000 == 0x7F800000:
        return bits
    return (bits & 0x7FFFFFFF) + 0x1000 & 0x7FFFE000 | bits & 0x80000000


def arithmetic(name: str, opcode: list[str], kind: str) -> Meaning | None:
    mode = next((part for part in opcode if part in ("rm", "rp", "rz")), "rn")
    floats: dict[str, tuple[Callable[..., Fraction], Callable[..., Any]]] = {
        "add": (lambda a, b: a + b, np.add),
        "sub": (lambda a, b: a - b, np.subtract),
        "mul": (lambda a, b: a * b, np.multiply),
        "div": (lambda a, b: a / b, np.true_divide),
        "fma": (lambda a, b, c: a * b + c, lambda a, b, c: a * b + c),
        "rcp": (lambda a: 1 / a, lambda a: 1 / a),
    }
    integers: dict[str, Meaning] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b >> (8 * dtype_of(kind).itemsize if "hi" in opcode else 0),
        "mad": lambda a, b, c: a * b + c,
        "div": cut,
        "rem": lambda a, b: a - cut(a, b) * b,
    }
    if name == "sqrt":
        return root(kind)
    if is_float(kind):
        return of_floats(*floats[name], kind, mode) if name in floats else None
    return integers.get(name)


def meaning_of(case: Case) -> Meaning:
    """What one lane's operands become; the scalar one of pairs."""
    opcode = case.form.split(".")
    name, kind = opcode[0], opcode[-1].removesuffix("x2")
    bits = 8 * dtype_of(kind).itemsize if kind != "pred" else 1
    others: dict[str, Callable[[], Meaning]] = {
        "min": lambda: extreme(min, "NaN" in opcode, "relu" in opcode),
        "max": lambda: extreme(max, "NaN" in opcode, "relu" in opcode),
        "abs": lambda: abs,
        "neg": lambda: lambda a: -a,
        "ex2": lambda: power_of(case),
        "copysign": lambda: lambda a, b: math.copysign(b, a),
        "and": lambda: lambda a, b: a & b,
        "or": lambda: lambda a, b: a | b,
        "xor": lambda: lambda a, b: a ^ b,
        "not": lambda: lambda a: ~a & (1 << bits) - 1,
        "shl": lambda: shifted(kind, True),
        "shr": lambda: shifted(kind, False),
        "shf": lambda: funnel(opcode),
        "bfe": lambda: field(kind),
        "bfi": lambda: inserted(kind),
        "popc": lambda: lambda a: a.bit_count(),
        "clz": lambda: lambda a: bits - a.bit_length(),
        "brev": lambda: lambda a: int(f"{a:0{bits}b}"[::-1], 2),
        "prmt": lambda: chosen_bytes,
        "setp": lambda: compared(opcode[1]),
        "selp": lambda: lambda a, b, p: a if p else b,
        "cvt": lambda: to_tf32 if "tf32" in opcode else converted([*opcode[:-2], opcode[-2].removesuffix("x2"), kind]),
        "lop3": lambda: lambda a, b, c: (a & b | ~a & c, a ^ b ^ c),
    }
    return arithmetic(name, opcode, kind) or others[name]()


def power_of(case: Case) -> Meaning:
    flushes, least = "ftz" in case.form, 2.0**-126

    def meaning(x: float) -> float:
        found = math.inf if x >= 128 else 0.0 if x < -200 else 2.0**x if x == x else x
        return 0.0 if flushes and found < least else float(np.float32(found))

    return meaning


def values_of(kind: str, array: Any) -> list[Any]:
    if is_float(kind) and halves_of(kind) is None:
        with np.errstate(invalid="ignore"):
            return array.astype(np.float64).tolist()
    return array.tolist()


def as_results(kind: str, values: list[Any]) -> Any:
    dtype = dtype_of(kind)
    if is_float(kind):
        with np.errstate(over="ignore", invalid="ignore"):
            return np.array(values, np.float64).astype(dtype)
    mask = (1 << 8 * dtype.itemsize) - 1
    return np.array([int(v) & mask for v in values], f"u{dtype.itemsize}").view(dtype)


def expected(case: Case, operands: list[Any]) -> list[Any]:
    if case.form.startswith("mov"):
        return operands
    meaning, kind = meaning_of(case), case.form.split(".")[-1]
    if case.form.startswith("cvt.rn") and case.results[0].endswith("x2"):  # the first operand above
        half = case.results[0][:-2]
        columns = [as_results(half, [meaning(v) for v in values_of("f32", each)]) for each in operands[::-1]]
        return [np.stack(columns, 1).reshape(-1).view(np.uint32)]
    if kind.endswith("x2"):
        half = kind[:-2]
        split = [values_of(half, np.ascontiguousarray(each).view(halves_of(kind) or np.int16)) for each in operands]
        found = [meaning(*row) for row in zip(*split, strict=True)]
        if case.results[0] == "pred":
            return [as_results("pred", found[start::2]) for start in (0, 1)]
        return [as_results(half, found).view(np.uint32)]
    columns = [values_of(name, each) for name, each in zip(case.inputs, operands, strict=True)]
    if case.form == "cvt.rna.tf32.f32":
        columns = [operands[0].view(np.uint32).tolist()]
    if case.form.startswith("cvt") and kind in ("u8", "s8"):
        columns = [[wrapped(v, kind) for v in columns[0]]]
    found = [meaning(*row) for row in zip(*columns, strict=True)]
    if case.form.startswith("selp"):  # to the bit
        return [np.where(operands[2] != 0, operands[0], operands[1])]
    if case.form.startswith("cvt") and case.form.split(".")[-2] in ("u8", "s8"):
        found = [wrapped(v, case.form.split(".")[-2]) for v in found]
    several = list(zip(*found, strict=True)) if isinstance(found[0], tuple) else [found]
    return [as_results(name, list(each)) for name, each in zip(case.results, several, strict=True)]


@pytest.mark.parametrize("opcode", OPCODES)
def test_instructions_mean_what_they_should(opcode: str) -> None:
    for number, case in enumerate(each for each in CASES if each.form.split(".")[0] == opcode):
        if opcode == "mov" and case.note:
            continue
        operands = case.operands(np.random.default_rng(number))
        data = emulated(case, case.packed(operands), case.offsets(case.results)[-1])
        told = outcome(case, case.unpacked(data), expected(case, operands))
        assert told.good, (told, where(case, operands, case.unpacked(data)))


def where(case: Case, operands: list[Any], found: list[Any]) -> list[Any]:
    """The first operands whose result is another one, with both."""
    wanted = expected(case, operands)
    told: list[Any] = []
    for kind, a, b in zip(case.results, found, wanted, strict=True):
        good, _ = case.differences(kind, a, b)
        told += [([x[i] for x in operands], a[i], b[i]) for i in np.flatnonzero(~good)[:3]]
    return told


def test_parts_of_registers_and_numbers() -> None:
    for case in lanes.cases():
        if case.form[:3] != "mov" or not case.note:
            continue
        operands = case.operands(np.random.default_rng(1))
        found = case.unpacked(emulated(case, case.packed(operands), case.offsets(case.results)[-1]))
        if case.note.startswith("packs"):
            together = np.stack(operands, 1).reshape(-1).view(dtype_of(case.results[0]))
            assert np.array_equal(found[0], together)
        elif case.note.startswith("unpacks"):
            apart = operands[0].view(dtype_of(case.results[0])).reshape(-1, len(case.results))
            assert np.array_equal(np.stack(found, 1), apart)
        elif case.note == "numbers":
            numbers = (0x3FB8AA3B, 0xC338000000000000, 0x8001, 0xFFFFFFFB)
            assert all((each == number).all() for each, number in zip(found, numbers, strict=True))
        else:
            thread, nothing = np.arange(case.lanes), np.zeros(case.lanes, np.int64)
            block, sizes = thread // 128, (128, case.lanes // 128)
            wanted = [thread % 128, nothing, nothing, block, nothing, nothing, *sizes, thread % 32]
            assert all((a == b).all() for a, b in zip(found, wanted, strict=True))
