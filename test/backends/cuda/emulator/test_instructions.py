"""Single instructions against what Python's integers and fractions say, on random and on extreme values."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from lamina.backends.cuda.emulator.machine import launch
from lamina.backends.cuda.emulator.memory import GlobalMemory
from lamina.backends.cuda.emulator.ptx import parse
from lamina.compiler.diagnostics import LaminaError

LANES = 128
KINDS: dict[str, Any] = {
    "s16": np.int16, "u16": np.uint16, "s32": np.int32, "u32": np.uint32, "s64": np.int64, "u64": np.uint64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16, "b32": np.uint32,
}  # fmt: skip


def width(kind: str) -> int:
    return np.dtype(KINDS[kind]).itemsize


def execute(lines: str, inputs: list[tuple[str, Any]], output: str) -> Any:
    """Every thread runs `lines` on its elements, in %a0, %a1 …; what it leaves in %out comes back."""
    registers = [f".reg .b{8 * width(kind)} %a{i};" for i, (kind, _) in enumerate(inputs)]
    loads = [
        f"ld.param.u64 %p, [in{i}]; mad.wide.u32 %p, %t, {width(kind)}, %p; ld.global.b{8 * width(kind)} %a{i}, [%p];"
        for i, (kind, _) in enumerate(inputs)
    ]
    parameters = [f".param .u64 in{i}" for i in range(len(inputs))]
    text = f"""
.version 8.0
.target sm_90
.address_size 64
.visible .entry k({", ".join([*parameters, ".param .u64 out"])})
{{
  .reg .b32 %t, %x<8>; .reg .b64 %p; .reg .pred %q<4>; .reg .b16 %h<4>; .reg .b{8 * width(output)} %out;
  {" ".join(registers)}
  mov.u32 %t, %tid.x;
  {" ".join(loads)}
  {lines}
  ld.param.u64 %p, [out]; mad.wide.u32 %p, %t, {width(output)}, %p; st.global.b{8 * width(output)} [%p], %out;
  ret;
}}
"""
    memory = GlobalMemory(1 << 20)
    arguments = [memory.upload(np.asarray(values, KINDS[kind])) for kind, values in inputs]
    result = memory.allocate(LANES * width(output), "out")
    launch(parse(text).kernel(), [*arguments, result], grid=(1, 1, 1), block=(LANES, 1, 1), memory=memory)
    return memory.download(result, (LANES,), KINDS[output])


def integers(kind: str, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    limits = np.iinfo(KINDS[kind])
    edges = [0, 1, 2, limits.max, limits.max - 1, limits.min, limits.min + 1, 31, 32, 33]
    values = [int(v) for v in rng.integers(limits.min, limits.max, LANES, KINDS[kind], endpoint=True)]
    for i, place in enumerate(rng.permutation(LANES)[: len(edges)]):
        values[place] = edges[i]
    return np.array(values, KINDS[kind])


def wrapped(value: int, kind: str) -> int:
    bits = 8 * width(kind)
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind[0] == "s" and value >> (bits - 1) else value


def cut(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


TWO: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul.lo": lambda a, b: a * b,
    "min": min,
    "max": max,
    "div": lambda a, b: cut(a, b) if b else -1,
    "rem": lambda a, b: a - cut(a, b) * b if b else a,
}


@pytest.mark.parametrize("kind", ["s16", "u16", "s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("name", TWO)
def test_integers(name: str, kind: str) -> None:
    a, b = integers(kind, 1), integers(kind, 2)
    if name == "rem":
        b[b == 0] = 1
    expected = [wrapped(TWO[name](int(x), int(y)), kind) for x, y in zip(a, b, strict=True)]
    assert execute(f"{name}.{kind} %out, %a0, %a1;", [(kind, a), (kind, b)], kind).tolist() == expected


@pytest.mark.parametrize("kind", ["s32", "u32", "s64", "u64"])
def test_high_halves(kind: str) -> None:
    a, b, c = (integers(kind, seed) for seed in (3, 4, 5))
    bits = 8 * width(kind)
    expected = [wrapped((int(x) * int(y) >> bits) + int(z), kind) for x, y, z in zip(a, b, c, strict=True)]
    lines = f"mad.hi.{kind} %out, %a0, %a1, %a2;"
    assert execute(lines, [(kind, a), (kind, b), (kind, c)], kind).tolist() == expected


@pytest.mark.parametrize(("kind", "wide"), [("s16", "s32"), ("u16", "u32"), ("s32", "s64"), ("u32", "u64")])
def test_wide_products(kind: str, wide: str) -> None:
    a, b = integers(kind, 6), integers(kind, 7)
    expected = [int(x) * int(y) for x, y in zip(a, b, strict=True)]
    assert execute(f"mul.wide.{kind} %out, %a0, %a1;", [(kind, a), (kind, b)], wide).tolist() == expected


@pytest.mark.parametrize("kind", ["s32", "u32", "s64", "u64"])
def test_shifts(kind: str) -> None:
    a, by = integers(kind, 8), np.random.default_rng(9).integers(0, 80, LANES)
    bits = 8 * width(kind)
    left = [wrapped(int(x) << int(n), kind) if n < bits else 0 for x, n in zip(a, by, strict=True)]
    right = [int(x) >> int(n) for x, n in zip(a, by, strict=True)]
    inputs = [(kind, a), ("u32", by)]
    assert execute(f"shl.b{bits} %out, %a0, %a1;", inputs, kind).tolist() == left
    assert execute(f"shr.{kind} %out, %a0, %a1;", inputs, kind).tolist() == right


def test_bits() -> None:
    a, b, c = (integers("u32", seed) for seed in (10, 11, 12))
    three = [("u32", a), ("u32", b), ("u32", c)]
    rows = [[int(v) for v in row] for row in zip(a, b, c, strict=True)]
    choose = [(x & y) | (~x & z) & 0xFFFFFFFF for x, y, z in rows]
    assert execute("lop3.b32 %out, %a0, %a1, %a2, 0xCA;", three, "u32").tolist() == choose
    assert execute("popc.b32 %out, %a0;", three, "u32").tolist() == [x.bit_count() for x, _, _ in rows]
    assert execute("clz.b32 %out, %a0;", three, "u32").tolist() == [32 - x.bit_length() for x, _, _ in rows]
    assert execute("brev.b32 %out, %a0;", three, "u32").tolist() == [int(f"{x:032b}"[::-1], 2) for x, _, _ in rows]
    assert execute("bfe.u32 %out, %a0, 5, 9;", three, "u32").tolist() == [x >> 5 & 511 for x, _, _ in rows]
    signed = [wrapped(x, "s32") >> 27 for x, _, _ in rows]
    assert execute("bfe.s32 %out, %a0, 27, 9;", three, "s32").tolist() == signed
    inserted = [y & ~(511 << 5) & 0xFFFFFFFF | (x & 511) << 5 for x, y, _ in rows]
    assert execute("bfi.b32 %out, %a0, %a1, 5, 9;", three, "u32").tolist() == inserted
    pair = [(y << 32 | x, z % 32) for x, y, z in rows]
    assert execute("shf.l.wrap.b32 %out, %a0, %a1, %a2;", three, "u32").tolist() == [
        (w << n) >> 32 & 0xFFFFFFFF for w, n in pair
    ]
    assert execute("shf.r.wrap.b32 %out, %a0, %a1, %a2;", three, "u32").tolist() == [
        w >> n & 0xFFFFFFFF for w, n in pair
    ]
    picked = [(x >> 24) | (y & 0xFF) << 8 | (0xFF if x >> 31 else 0) << 16 | (y >> 16 & 0xFF) << 24 for x, y, _ in rows]
    assert execute("prmt.b32 %out, %a0, %a1, 0x6B43;", three, "u32").tolist() == picked


def floats(kind: str, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    exponents = {"f16": 4, "bf16": 30, "f32": 30, "f64": 200}[kind]
    values = rng.standard_normal(LANES) * 2.0 ** rng.integers(-exponents, exponents, LANES)
    edges = [0.0, -0.0, 1.0, np.inf, -np.inf, np.nan]
    for i, place in enumerate(rng.permutation(LANES)[: len(edges)]):
        values[place] = edges[i]
    return values.astype(KINDS[kind])


def nearest(value: Fraction, kind: str) -> float:
    """The value in a format, rounded once, to nearest even; the exponents of the tests stay away from its limits."""
    digits = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}[kind]
    if value == 0:
        return 0.0
    exponent = math.floor(math.log2(abs(value))) - digits + 1
    exponent = max(exponent, -24) if kind == "f16" else exponent
    scaled = value / Fraction(2) ** exponent
    for shift in (exponent - 1, exponent + 1):  # log2 of a fraction may be off by one
        other = value / Fraction(2) ** shift
        if 2 ** (digits - 1) <= abs(other) < 2**digits and not (kind == "f16" and shift < -24):
            scaled, exponent = other, shift
    return float(Fraction(round(scaled)) * Fraction(2) ** exponent)


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64"])
def test_fused_multiply_add_rounds_once(kind: str) -> None:
    a, b, c = (floats(kind, seed) for seed in (20, 21, 22))
    c[: LANES // 2] = (-a[: LANES // 2].astype(np.float64) * b[: LANES // 2].astype(np.float64)).astype(c.dtype)
    found = execute(f"fma.rn.{kind} %out, %a0, %a1, %a2;", [(kind, a), (kind, b), (kind, c)], kind).astype(np.float64)
    for x, y, z, got in zip(a, b, c, found, strict=True):
        p, q, r = float(x), float(y), float(z)
        if not all(map(math.isfinite, (p, q, r))):
            with np.errstate(all="ignore"):
                expected = float(np.float64(p) * np.float64(q) + np.float64(r))
            assert got == expected or (math.isnan(got) and math.isnan(expected))
            continue
        exact = Fraction(p) * Fraction(q) + Fraction(r)
        limit = float(ml_dtypes.finfo(KINDS[kind]).max)
        if abs(exact) <= limit:
            assert got == nearest(exact, kind), (p, q, r)


@pytest.mark.parametrize("mode", ["rz", "rm", "rp", "rn"])
def test_directed_rounding(mode: str) -> None:
    a, b = floats("f32", 30), floats("f32", 31)
    found = execute(f"add.{mode}.f32 %out, %a0, %a1;", [("f32", a), ("f32", b)], "f32")
    for x, y, got in zip(a, b, found, strict=True):
        if not (np.isfinite(x) and np.isfinite(y)):
            continue
        exact = Fraction(float(x)) + Fraction(float(y))
        near = np.float32(nearest(exact, "f32"))
        over = Fraction(float(near)) > exact
        under = Fraction(float(near)) < exact
        down = np.nextafter(near, np.float32(-np.inf)) if over else near
        up = np.nextafter(near, np.float32(np.inf)) if under else near
        expected = {"rn": near, "rm": down, "rp": up, "rz": down if exact > 0 else up}[mode]
        assert got == expected


def test_extremes_of_floats() -> None:
    a = np.resize(np.array([1, np.nan, np.nan, 0.0, -0.0, np.inf, -3, 2], np.float32), LANES)
    b = np.resize(np.array([2, 1, np.nan, -0.0, 0.0, np.nan, -4, 2], np.float32), LANES)
    both = [("f32", a), ("f32", b)]
    smallest = execute("min.f32 %out, %a0, %a1;", both, "f32")[:8]
    assert np.array_equal(smallest, np.array([1, 1, np.nan, 0, 0, np.inf, -4, 2], np.float32), equal_nan=True)
    assert (
        np.signbit(smallest[3:5]).all() and not np.signbit(execute("max.f32 %out, %a0, %a1;", both, "f32")[3:5]).any()
    )
    strict = execute("max.NaN.f32 %out, %a0, %a1;", both, "f32")[:8]
    assert np.array_equal(strict, np.array([2, np.nan, np.nan, 0, 0, np.nan, -3, 2], np.float32), equal_nan=True)


def test_conversions() -> None:
    x = np.resize(np.array([1.5, 2.5, -1.5, -0.4, 3e9, -3e9, np.nan, np.inf, 1e-3, 127.9], np.float32), LANES)
    rounded = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}
    for mode, function in rounded.items():
        expected = [
            0 if math.isnan(v) else max(-(2**31), min(2**31 - 1, function(v) if math.isfinite(v) else 2**40))
            for v in x.tolist()
        ]
        assert execute(f"cvt.{mode}.s32.f32 %out, %a0;", [("f32", x)], "s32").tolist() == expected
    n = integers("s64", 40)
    exact = [np.float32(nearest(Fraction(int(v)), "f32")) for v in n]
    assert execute("cvt.rn.f32.s64 %out, %a0;", [("s64", n)], "f32").tolist() == exact
    assert execute("cvt.sat.s16.s64 %out, %a0;", [("s64", n)], "s16").tolist() == [
        max(-32768, min(32767, int(v))) for v in n
    ]
    assert (
        execute("cvt.u32.u16 %out, %a0;", [("u16", integers("u16", 41))], "u32").tolist()
        == integers("u16", 41).tolist()
    )
    assert (
        execute("cvt.s32.s16 %out, %a0;", [("s16", integers("s16", 42))], "s32").tolist()
        == integers("s16", 42).tolist()
    )
    y, z = floats("f32", 43), floats("f32", 44)
    for to, source, wide in (
        ("s64", "s32", "s64"),
        ("s64", "s32", "u64"),
        ("s32", "s16", "s32"),
        ("f32", "u16", "s64"),
    ):
        x, rounds = integers(wide, 43), ".rn" * (to == "f32")  # of wider registers the lower part counts
        expected = x.astype(f"{'i' if source[0] == 's' else 'u'}{int(source[1:]) // 8}").tolist()
        assert execute(f"cvt{rounds}.{to}.{source} %out, %a0;", [(wide, x)], to).tolist() == expected
    pairs = execute("cvt.rn.bf16x2.f32 %out, %a0, %a1;", [("f32", y), ("f32", z)], "u32").view(ml_dtypes.bfloat16)
    with np.errstate(all="ignore"):
        assert np.array_equal(pairs[0::2], z.astype(ml_dtypes.bfloat16), equal_nan=True)
        assert np.array_equal(pairs[1::2], y.astype(ml_dtypes.bfloat16), equal_nan=True)
        half = execute("cvt.rn.f16.f32 %h0, %a0; mov.b16 %out, %h0;", [("f32", y)], "f16")
        assert np.array_equal(half, y.astype(np.float16), equal_nan=True)


def test_numbers_that_conversions_to_and_from_64_bits_take_apart() -> None:
    n = integers("s64", 45)
    assert execute("cvt.rn.f64.s64 %out, %a0;", [("s64", n)], "f64").tolist() == [float(int(v)) for v in n]
    nothing = np.full(LANES, np.nan, np.float32)
    for to, source, expected in (("s64", "f32", -(2**63)), ("u64", "f32", 2**63), ("u32", "f32", 0)):
        found = execute(f"cvt.rzi.{to}.{source} %out, %a0;", [(source, nothing)], to)
        assert (found == np.array(expected, KINDS[to])).all()
    assert (execute("cvt.rzi.s32.f64 %out, %a0;", [("f64", nothing)], "s32") == -(2**31)).all()


def test_fields_behind_the_last_bit_have_its_sign() -> None:
    a = integers("s32", 46)
    for place, length in ((32, 5), (40, 1), (31, 9)):
        found = execute(f"bfe.s32 %out, %a0, {place}, {length};", [("s32", a)], "s32")
        assert found.tolist() == [-1 if v < 0 else 0 for v in a.tolist()]
    assert not execute("bfe.s32 %out, %a0, 3, 0;", [("s32", a)], "s32").any()


def test_pairs_of_integers_and_what_is_less_than_zero() -> None:
    a, b = integers("s32", 47), integers("s32", 48)
    halves = [each.view(np.int16) for each in (a, b)]
    both = [("s32", a), ("s32", b)]
    with np.errstate(over="ignore"):
        expected = {"add.s16x2": halves[0] + halves[1], "max.s16x2": np.maximum(*halves)}
    expected["min.relu.s16x2"] = np.maximum(np.minimum(*halves), 0)
    expected["max.u16x2"] = np.maximum(*(each.view(np.uint16) for each in halves)).view(np.int16)
    for name, values in expected.items():
        assert np.array_equal(execute(f"{name} %out, %a0, %a1;", both, "s32").view(np.int16), values), name
    assert np.array_equal(execute("max.relu.s32 %out, %a0, %a1;", both, "s32"), np.maximum(np.maximum(a, b), 0))


def test_sums_that_cancel_are_less_than_zero_rounded_down() -> None:
    a = np.resize(np.array([1.5, 0.0, -0.0, 0.0], np.float32), LANES)
    b = np.resize(np.array([-1.5, -0.0, -0.0, 0.0], np.float32), LANES)
    found = execute("add.rm.f32 %out, %a0, %a1;", [("f32", a), ("f32", b)], "f32")
    assert np.signbit(found[:4]).tolist() == [True, True, True, False] and not found.any()


def test_comparisons_and_selection() -> None:
    a = np.resize(np.array([1, 2, np.nan, 2], np.float32), LANES)
    b = np.resize(np.array([2, 2, 1, np.nan], np.float32), LANES)
    expected = {
        "lt": [1, 0, 0, 0], "ltu": [1, 0, 1, 1], "ne": [1, 0, 0, 0], "neu": [1, 0, 1, 1], "eq": [0, 1, 0, 0],
        "equ": [0, 1, 1, 1], "num": [1, 1, 0, 0], "nan": [0, 0, 1, 1],
    }  # fmt: skip
    for name, truth in expected.items():
        lines = f"setp.{name}.f32 %q0, %a0, %a1; selp.u32 %out, 1, 0, %q0;"
        assert execute(lines, [("f32", a), ("f32", b)], "u32")[:4].tolist() == truth, name
    lines = "setp.lt.and.s32 %q0|%q1, %a0, 5, !%q2; selp.u32 %x0, 1, 0, %q0; selp.u32 %out, 2, %x0, %q1;"
    found = execute("setp.eq.u32 %q2, %t, %t; " + lines, [("s32", integers("s32", 50))], "u32")
    assert found.tolist() == [0] * LANES


def test_branches_that_part_and_meet() -> None:
    lines = """
  and.b32 %x0, %t, 7; mov.u32 %out, 0; mov.u32 %x1, 0;
LOOP: setp.ge.u32 %q0, %x1, %x0; @%q0 bra END;
  and.b32 %x2, %x1, 1; setp.eq.u32 %q1, %x2, 0; @%q1 bra EVEN;
  add.u32 %out, %out, 10; bra NEXT;
EVEN: add.u32 %out, %out, 1;
NEXT: add.u32 %x1, %x1, 1; bra LOOP;
END: bar.sync 0;"""
    expected = [sum(10 if i % 2 else 1 for i in range(lane % 8)) for lane in range(LANES)]
    assert execute(lines, [], "u32").tolist() == expected


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("frobnicate.u32 %out, %t;", "line 11: error: the emulator does not know 'frobnicate.u32'"),
        ("add.q32 %out, %t, %t;", "does not know this form of 'add.q32"),
        ("bra NOWHERE;", "no label 'NOWHERE'"),
        ("setp.lt.u32 %q0, %t, 5; @%q0 bar.sync 0;", "not all threads"),
        ("setp.lt.u32 %q0, %t, 5; @%q0 bra A; bar.sync 0; A: mov.u32 %out, 0;", "not all threads"),
        ("trap;", "the kernel trapped"),
        ("mov.u32 %x0, 1; add.s16 %h0, %x0, 1;", "'add.s16 %h0, %x0, 1': %x0 has 32 bits, expected 16"),
        ("setp.lt.u32 %q0, %t, 5; @%q0 shfl.sync.idx.b32 %out, %t, 0, 31, -1;", "not those that its mask names"),
    ],
)
def test_what_must_not_be(lines: str, told: str) -> None:
    with pytest.raises(LaminaError, match=told):
        execute(lines, [], "u32")


def test_comparisons_of_pairs_give_a_predicate_for_each() -> None:
    halves = np.tile(np.array([1, 2, 2, 1, 2, 2, 1, 1], np.float16), LANES // 4)
    lines = """mov.b32 %x0, 0x40004000; setp.eq.f16x2 %q0|%q1, %a0, %x0;
    selp.u32 %x1, 1, 0, %q0; selp.u32 %x2, 2, 0, %q1; or.b32 %out, %x1, %x2;"""
    found = execute(lines, [("b32", halves.view(np.uint32))], "u32")
    assert np.array_equal(found, np.tile(np.array([2, 1, 3, 0], np.uint32), LANES // 4))
