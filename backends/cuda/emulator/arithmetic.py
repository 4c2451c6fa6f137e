"""Arithmetic on integers and floats, to the bit where PTX fixes it (PTX ISA, 9.7.1 to 9.7.5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from ....compiler.signature import Array
from .agent import Agent, Read, Step, reads, writes
from .decode import PAIRS, TYPES, decodes, type_of
from .ptx import Instruction, Operand
from .registers import in_place

Function = Callable[..., Array]


def elementwise(instruction: Instruction, function: Function, dtype: Any = None) -> Step:
    """The first operand becomes a function of the others, all of one type; of both halves for packed types."""
    *_, kind = instruction.opcode
    result, *operands = instruction.operands
    write = writes(result)
    flush = "ftz" in instruction.opcode
    if dtype is None and kind in PAIRS:
        return _pairwise(write, operands, function, PAIRS[kind])
    sources = [reads(o, dtype or TYPES[kind]) for o in operands]
    saturate = "sat" in instruction.opcode
    if not flush and not saturate:
        direct = in_place(function, dtype or TYPES[kind], result, operands)
        if direct is not None:
            return direct
        if len(sources) == 2:
            a, b = sources
            return lambda agent: write(agent, function(a(agent), b(agent)))
        return lambda agent: write(agent, function(*[source(agent) for source in sources]))

    def step(agent: Agent) -> None:
        values = [source(agent) for source in sources]
        if flush:
            values = [_flushed(v) for v in values]
        value = function(*values)
        if saturate and value.dtype.kind not in "iu":
            value = np.where(np.isnan(value), 0, np.clip(value, 0, 1)).astype(value.dtype)
        write(agent, _flushed(value) if flush else value)

    return step


def _pairwise(
    write: Callable[[Agent, Array], None], operands: Sequence[Operand], function: Function, half: Any
) -> Step:
    sources = [reads(o, np.uint32) for o in operands]

    def step(agent: Agent) -> None:
        words = [np.ascontiguousarray(source(agent)).view(half).reshape(-1, 2) for source in sources]
        value = np.ascontiguousarray(function(*words).astype(half))
        write(agent, value.view(np.uint32).reshape(-1))

    return step


def _flushed(value: Array) -> Array:
    """Subnormal numbers as zeros of their sign."""
    if value.dtype != np.float32:
        return value
    return np.where(np.abs(value) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), value), value)


def _is_float(instruction: Instruction) -> bool:
    return "f" in instruction.opcode[-1]


@decodes("add", "sub")
def add(instruction: Instruction) -> Step:
    """Sums wrap around for integers; `sat` on s32 and on floats is kept apart from them."""
    function = np.add if instruction.opcode[0] == "add" else np.subtract
    if "sat" in instruction.opcode and instruction.opcode[-1] == "s32":
        wide = [reads(o, np.int32) for o in instruction.operands[1:]]
        write = writes(instruction.operands[0])
        limits = np.iinfo(np.int32)

        def step(agent: Agent) -> None:
            value = function(*(read(agent).astype(np.int64) for read in wide))
            write(agent, np.clip(value, limits.min, limits.max).astype(np.int32))

        return step
    return elementwise(instruction, _rounding(instruction, function))


@decodes("mul", "mad")
def multiply(instruction: Instruction) -> Step:
    """`lo`, `hi` and `wide` halves of the product; `mad` adds to it."""
    if _is_float(instruction):
        return fused(instruction) if instruction.opcode[0] == "mad" else elementwise(
            instruction, _rounding(instruction, np.multiply)
        )  # fmt: skip
    part, dtype = instruction.opcode[1], np.dtype(type_of(instruction))
    if part == "lo":
        product = len(instruction.operands) == 3
        return elementwise(instruction, np.multiply if product else lambda a, b, c: a * b + c)
    a, b = (reads(o, dtype) for o in instruction.operands[1:3])
    signed = "i" if dtype.kind == "i" else "u"
    result = np.dtype(f"{signed}{dtype.itemsize * 2 if part == 'wide' else dtype.itemsize}")
    more = [reads(o, result) for o in instruction.operands[3:]]
    if part == "wide" and not more:
        direct = in_place(
            partial(np.multiply, dtype=result), dtype, instruction.operands[0], instruction.operands[1:], result
        )
        if direct is not None:
            return direct
    write = writes(instruction.operands[0])
    high = _high_half(dtype) if part == "hi" else None
    if high is not None and not more:
        direct = in_place(high, dtype, instruction.operands[0], instruction.operands[1:])
        if direct is not None:
            return direct

    def step(agent: Agent) -> None:
        x, y = a(agent), b(agent)
        value = high(x, y) if high else x.astype(result) * y.astype(result)
        write(agent, value + more[0](agent) if more else value)

    return step


def _high_half(dtype: np.dtype[Any]) -> Function:
    bits = 8 * dtype.itemsize
    if bits < 64:
        wide = np.dtype(f"{dtype.kind}{dtype.itemsize * 2}")
        return lambda x, y: ((x.astype(wide) * y.astype(wide)) >> wide.type(bits)).astype(dtype)
    return _high_of_64


def _high_of_64(x: Array, y: Array) -> Array:
    """The upper half of products of 64 bits, from four of halves; a negative factor takes off the other one."""
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    p, q = x.view(np.uint64), y.view(np.uint64)
    p1, p0, q1, q0 = p >> half, p & low, q >> half, q & low
    middle = p1 * q0 + (p0 * q0 >> half)
    high = p1 * q1 + (middle >> half) + ((p0 * q1 + (middle & low)) >> half)
    if x.dtype.kind == "i":
        high = high - np.where(x < 0, q, 0) - np.where(y < 0, p, 0)
    return high.view(x.dtype)


@decodes("fma")
def fused(instruction: Instruction) -> Step:
    """a * b + c with one rounding."""
    kind = instruction.opcode[-1]
    relu = "relu" in instruction.opcode
    function = fma64 if kind == "f64" else fma32 if kind == "f32" else fma16
    return elementwise(instruction, (lambda a, b, c: np.maximum(function(a, b, c), 0)) if relu else function)


_CUT_OFF, _HALFWAY = (1 << 29) - 1, 1 << 28  # bits of float64 that float32 has not, and half a step of it
_NORMAL = 2.0**-125  # below, float32 has fewer bits


def fma32(a: Array, b: Array, c: Array) -> Array:
    """a * b + c of float32, rounded once: to odd in double precision, then to nearest.

    The product is exact in double precision. Rounding the sum to odd there leaves enough bits that the second rounding
    sees what was cut off (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", 2008).
    """
    product, more = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = np.asarray(product + more)
    small = np.abs(total) < _NORMAL
    halfway = np.count_nonzero(total.view(np.int64) & _CUT_OFF == _HALFWAY)
    if halfway or (np.count_nonzero(small) and np.count_nonzero(total[small])):
        total = odd_sum(product, more)  # elsewhere rounding twice does no harm
    return total.astype(np.float32)


def fma16(a: Array, b: Array, c: Array) -> Array:
    """a * b + c of a 16-bit format, rounded once."""
    wide = (v.astype(np.float64) for v in (a, b, c))
    x, y, z = wide
    return odd_to(odd_sum(x * y, z), a.dtype)


def odd_sum(x: Array, y: Array) -> Array:
    """x + y of float64 rounded to odd: the last bit is set where anything was cut off."""
    total = np.asarray(x + y)
    back = total - x
    lost = (x - (total - back)) + (y - back)
    bits = total.view(np.int64)
    inexact = np.isfinite(total) & (lost != 0) & (bits & 1 == 0)
    toward = np.where((lost > 0) == (total > 0), 1, -1)
    return np.where(inexact, bits + toward, bits).view(np.float64)


def odd_to(value: Array, dtype: np.dtype[Any]) -> Array:
    """float64, rounded to odd, in a 16-bit format: ml_dtypes and NumPy both go there with one rounding."""
    if dtype == np.float16:
        return value.astype(np.float16)
    narrow = value.astype(np.float32)  # to odd again, so that bfloat16 is rounded once
    bits = narrow.view(np.int32)
    inexact = np.isfinite(value) & (narrow.astype(np.float64) != value) & (bits & 1 == 0)
    away = np.where(np.abs(narrow.astype(np.float64)) < np.abs(value), 1, -1)
    return np.where(inexact, bits + away, bits).astype(np.int32).view(np.float32).astype(ml_dtypes.bfloat16)


def fma64(a: Array, b: Array, c: Array) -> Array:
    """a * b + c of float64 in exact fractions."""
    a, b, c = np.broadcast_arrays(a, b, c)
    plain = a * b + c
    result = plain.copy()
    for i in np.flatnonzero(np.isfinite(a) & np.isfinite(b) & np.isfinite(c)):
        exact = Fraction(float(a[i])) * Fraction(float(b[i])) + Fraction(float(c[i]))
        if exact:
            try:
                result[i] = float(exact)
            except OverflowError:
                result[i] = np.inf if exact > 0 else -np.inf
    return result


_TOWARD = {"rz": 0, "rm": -1, "rp": 1}


def _rounding(instruction: Instruction, function: Function) -> Function:
    """A function of floats with the rounding that the opcode asks for; to nearest where it asks for none."""
    asked = next((part for part in instruction.opcode if part in _TOWARD), None)
    kind = instruction.opcode[-1]
    if kind in ("bf16", "bf16x2", "f16", "f16x2"):
        return lambda a, b: function(a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)
    if asked is None or kind != "f32":
        return function
    exact: Function = function
    if instruction.opcode[0] in ("add", "sub"):  # a product is exact in double precision, a sum need not be
        exact = odd_sum if instruction.opcode[0] == "add" else lambda a, b: odd_sum(a, -b)

    def directed(a: Array, b: Array) -> Array:
        found = rounded(exact(a.astype(np.float64), b.astype(np.float64)), asked)
        if asked == "rm" and instruction.opcode[0] in ("add", "sub"):  # what cancels is -0, unless both are +0
            cancels = (found == 0) & ((a != 0) | (np.signbit(a) != (np.signbit(b) != (function is np.subtract))))
            return np.where(cancels, np.float32(-0.0), found)
        return found

    return directed


def rounded(value: Array, mode: str) -> Array:
    """float64 as float32, toward zero (rz), down (rm) or up (rp); to nearest for other modes."""
    near = value.astype(np.float32)
    if mode not in _TOWARD:
        return near
    direction = -np.sign(value) if mode == "rz" else np.full(value.shape, _TOWARD[mode])
    overshot = (near.astype(np.float64) - value) * direction < 0
    limit = np.where(direction > 0, np.float32(np.inf), -np.float32(np.inf)).astype(np.float32)
    if mode == "rz":
        limit = np.zeros_like(near)
    return np.where(np.isfinite(value) & overshot, np.nextafter(near, limit), near)


@decodes("div")
def divide(instruction: Instruction) -> Step:
    """Quotients; of integers cut off, of floats rounded to nearest, also where `approx` would allow less."""
    if _is_float(instruction):
        return elementwise(instruction, np.true_divide)
    return elementwise(instruction, _quotient)


@decodes("rem")
def remainder(instruction: Instruction) -> Step:
    """What is left of an integer division, with the sign of the dividend."""
    return elementwise(instruction, lambda a, b: np.asarray(a - _quotient(a, b) * b))


def _quotient(a: Array, b: Array) -> Array:
    """Integer division toward zero; all bits set for a division by zero, as on hardware."""
    safe = np.where(b == 0, 1, b).astype(b.dtype)
    down = np.floor_divide(a, safe)
    if a.dtype.kind == "i":
        down = down + ((np.remainder(a, safe) != 0) & ((a < 0) != (safe < 0)))
    return np.where(b == 0, np.array(-1).astype(a.dtype), down).astype(a.dtype)


@decodes("abs")
def absolute(instruction: Instruction) -> Step:
    """Without its sign; of floats by the bit, so that NaNs lose theirs, too."""
    return elementwise(instruction, np.abs)


@decodes("neg")
def negative(instruction: Instruction) -> Step:
    """The other sign."""
    return elementwise(instruction, np.negative)


@decodes("min", "max")
def extreme(instruction: Instruction) -> Step:
    """The smaller or larger; a NaN loses against a number unless `NaN` is asked for, and -0 is less than +0.

    Of integers `relu` makes 0 of what is less.
    """
    largest = instruction.opcode[0] == "max"
    if not _is_float(instruction):
        chosen: Function = np.maximum if largest else np.minimum
        relu = "relu" in instruction.opcode
        return elementwise(instruction, (lambda a, b: np.maximum(chosen(a, b), 0)) if relu else chosen)
    keeps_nan = "NaN" in instruction.opcode

    def function(*values: Array) -> Array:
        found = values[0]
        for value in values[1:]:
            found = _extreme(found, value, largest, keeps_nan)
        return found

    return elementwise(instruction, function)


def _extreme(a: Array, b: Array, largest: bool, keeps_nan: bool) -> Array:
    usual = np.asarray(np.maximum(a, b) if largest else np.minimum(a, b))
    if not np.count_nonzero(np.isnan(usual)) and not np.count_nonzero((a == 0) & (b == 0)):
        return usual
    chosen = np.where((a > b) if largest else (a < b), a, b)
    zeros = (a == 0) & (b == 0)
    first = np.signbit(b) if largest else np.signbit(a)
    chosen = np.where(zeros & first, a, chosen)
    quiet = np.array(np.nan, a.dtype)
    a_nan, b_nan = np.isnan(a), np.isnan(b)
    if keeps_nan:
        return np.where(a_nan | b_nan, quiet, chosen)
    return np.where(a_nan & b_nan, quiet, np.where(a_nan, b, np.where(b_nan, a, chosen)))


def _in_double(function: Function) -> Function:
    """A function of floats in double precision, rounded to nearest."""
    return lambda a: function(a.astype(np.float64)).astype(a.dtype)


@decodes("sqrt")
def square_root(instruction: Instruction) -> Step:
    """Square roots, rounded to nearest."""
    return elementwise(instruction, np.sqrt)


_APPROXIMATED: dict[str, Function] = {
    "rcp": lambda a: 1.0 / a,
    "rsqrt": lambda a: 1.0 / np.sqrt(a),
    "sin": np.sin,
    "cos": np.cos,
    "ex2": np.exp2,
    "lg2": np.log2,
    "tanh": np.tanh,
}


@decodes(*_APPROXIMATED)
def approximated(instruction: Instruction) -> Step:
    """What hardware approximates to a few ulp is rounded to nearest here."""
    return elementwise(instruction, _in_double(_APPROXIMATED[instruction.opcode[0]]))


@decodes("copysign")
def copysign(instruction: Instruction) -> Step:
    """The second operand with the sign of the first."""
    return elementwise(instruction, lambda a, b: np.copysign(b, a))


@decodes("dp4a")
def dot4(instruction: Instruction) -> Step:
    """The sum of four products of bytes, added to a third operand."""
    kinds = [np.int8 if part == "s32" else np.uint8 for part in instruction.opcode[-2:]]
    a, b, c = (reads(o, np.uint32) for o in instruction.operands[1:])
    write = writes(instruction.operands[0])

    def bytes_of(read: Read, kind: Any, agent: Agent) -> Array:
        return np.ascontiguousarray(read(agent)).view(kind).reshape(-1, 4).astype(np.int64)

    def step(agent: Agent) -> None:
        total = (bytes_of(a, kinds[0], agent) * bytes_of(b, kinds[1], agent)).sum(1)
        write(agent, (total + c(agent).astype(np.int64)).astype(np.uint32))

    return step
