"""Every expansion against long double or exact values, in ulp, over its range; and its special values."""

from __future__ import annotations

import itertools
import math
import platform
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

Array = np.ndarray[Any, np.dtype[Any]]
Kernel = Callable[..., None]
LONG = np.longdouble
SIZE = 2048
NOT_X86 = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="not an x86 machine")
OLD = pytest.param("x86-64", marks=NOT_X86)  # neither fused multiply-adds nor rounding instructions
MACHINES = pytest.mark.parametrize("machine", ["", OLD])
TYPES = {"f32": np.float32, "f64": np.float64}
SPECIALS = [
    *(-176.05, -176.1, -254.0, -1e9),  # about where e^x and 2^x get a factor of 0
    *(0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 1e-45, -1e-40, 1e-38, 88.72, 89.0, -87.5, -104.0),
]


def uniform(low: float, high: float) -> Array:
    return np.random.default_rng(0).uniform(low, high, SIZE - len(SPECIALS))


def spread(low: float, high: float, signed: bool = True) -> Array:
    rng = np.random.default_rng(1)
    values = np.exp(rng.uniform(math.log(low), math.log(high), SIZE - len(SPECIALS)))
    return values * rng.choice([-1, 1], len(values)) if signed else values


def erf(x: Array) -> Array:
    return np.array([LONG(math.erf(float(v))) for v in x])


# function: meaning, domains, allowed error in ulp
UNARY: dict[str, tuple[Callable[[Array], Array], list[Array], float]] = {
    "exp": (np.exp, [uniform(-110, 90), uniform(-1, 1)], 2),
    "exp2": (np.exp2, [uniform(-152, 129)], 2),
    "expm1": (np.expm1, [uniform(-30, 88), spread(1e-20, 1)], 2),
    "log": (np.log, [spread(1e-44, 3e38, False), uniform(0.9, 1.1)], 2),
    "log2": (np.log2, [spread(1e-44, 3e38, False), uniform(0.9, 1.1)], 2),
    "log10": (np.log10, [spread(1e-44, 3e38, False), uniform(0.9, 1.1)], 2),
    "log1p": (np.log1p, [uniform(-0.9999, 5), spread(1e-20, 0.9)], 2),
    "tanh": (np.tanh, [uniform(-12, 12), spread(1e-30, 1)], 4),
    "erf": (erf, [uniform(-5, 5), spread(1e-20, 1)], 4),
    "sin": (np.sin, [uniform(-1e5, 1e5), spread(1e-20, 10)], 2),
    "cos": (np.cos, [uniform(-1e5, 1e5)], 2),
    "tan": (np.tan, [uniform(-1e5, 1e5)], 4),
    "asin": (np.arcsin, [uniform(-1, 1)], 3),
    "acos": (np.arccos, [uniform(-1, 1)], 3),
    "atan": (np.arctan, [uniform(-5, 5), spread(1e-20, 1e20)], 3),
    "sinh": (np.sinh, [uniform(-90, 90), spread(1e-20, 1)], 4),
    "cosh": (np.cosh, [uniform(-90, 90)], 4),
    "asinh": (np.arcsinh, [spread(1e-20, 1e30)], 4),
    "acosh": (np.arccosh, [uniform(1, 3), spread(1, 1e30, False)], 4),
    "atanh": (np.arctanh, [uniform(-1, 1)], 4),
    "cbrt": (np.cbrt, [spread(1e-44, 1e38)], 3),
    "rsqrt": (lambda x: 1 / np.sqrt(x), [spread(1e-37, 1e38, False)], 2),
}


def kernel_text(op: str, type_: str, operands: int = 1, lanes: int = 8) -> str:
    """`op` on vectors (scalars when `lanes` is 0) over SIZE elements."""
    memory, value = f"memref<{SIZE}x{type_}>", f"vector<{lanes}x{type_}>" if lanes else type_
    names = "xy"[:operands]
    load, store = ("affine.vector_load", "affine.vector_store") if lanes else ("affine.load", "affine.store")
    suffix = f"{memory}, {value}" if lanes else memory
    loads = "\n".join(f"%{n} = {load} %{n}s[%i] : {suffix}" for n in names)
    return f"""
      func.func public @kernel({", ".join(f"%{n}s: {memory}" for n in names)}, %out: {memory})
          attributes {{lamina.kernel = "loops"}} {{
        affine.for %i = 0 to {SIZE} step {lanes or 1} {{
          {loads}
          %r = {op} {", ".join(f"%{n}" for n in names)} : {value}
          {store} %r, %out[%i] : {suffix}
        }}
        func.return
      }}"""


def errors(got: Array, want: Array) -> Array:
    """Distance in ulp of the result's type; equal values (and NaN for NaN) are 0."""
    rounded = want.astype(got.dtype)
    same = (got == rounded) & (np.signbit(got) == np.signbit(rounded)) | np.isnan(got) & np.isnan(rounded)
    step = np.maximum(np.spacing(np.abs(rounded)), np.finfo(got.dtype).smallest_subnormal).astype(LONG)
    distance = np.abs(got.astype(LONG) - want) / step
    wrong_sign = (got == 0) & (rounded == 0) & ~same
    return np.where(same, 0, np.where(np.isfinite(distance) & ~wrong_sign, distance, np.inf))


@MACHINES
@pytest.mark.parametrize("type_", ["f32", pytest.param("f64", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", UNARY)
def test_unary_functions(name: str, type_: str, machine: str, kernel: Kernel):
    meaning, domains, bound = UNARY[name]
    if name == "erf" and type_ == "f64":
        bound = 6  # the reference is itself rounded to f64
    for domain in domains:
        x = np.concatenate([SPECIALS, domain]).astype(TYPES[type_])
        out = np.zeros_like(x)
        kernel(kernel_text(f"math.{name}", type_), "math-expand", [x, out], machine=machine)
        with np.errstate(all="ignore"):
            wrong = errors(out, meaning(x.astype(LONG)))
        worst = int(np.argmax(wrong))
        assert wrong[worst] <= bound, f"{name}({x[worst]!r}) = {out[worst]!r}: {wrong[worst]:.3g} ulp"


CORNERS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    np.inf,
    -np.inf,
    np.nan,
    2.0,
    -2.0,
    0.5,
    -0.5,
    3.0,
    -3.0,
    1e30,
    -1e30,
    1e-30,
    4e15,
    -7.0,
]


@MACHINES
@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize(
    ("op", "meaning", "bound"),
    [("math.powf", np.power, 2), ("math.atan2", np.arctan2, 3), ("arith.remf", np.fmod, 0)],
)
def test_binary_functions(op: str, meaning: Any, bound: float, type_: str, machine: str, kernel: Kernel):
    rng = np.random.default_rng(2)
    a, b = np.array(list(itertools.product(CORNERS, CORNERS))).T
    rest = SIZE - len(a)
    x = np.concatenate([a, np.exp(rng.uniform(-5, 5, rest))]).astype(TYPES[type_])
    y = np.concatenate([b, rng.uniform(-20, 20, rest)]).astype(TYPES[type_])
    out = np.zeros_like(x)
    kernel(kernel_text(op, type_, 2), "math-expand", [x, y, out], machine=machine)
    with np.errstate(all="ignore"):
        wrong = errors(out, meaning(x.astype(LONG), y.astype(LONG)))
    worst = int(np.argmax(wrong))
    assert wrong[worst] <= bound, f"{op}({x[worst]!r}, {y[worst]!r}) = {out[worst]!r}"


@MACHINES
def test_sine_of_huge_arguments(machine: str, kernel: Kernel):
    x = np.full(SIZE, 1e22)
    out = np.zeros_like(x)
    for name, want in (("sin", -0.8522008497671888), ("cos", 0.5232147853951389)):
        kernel(kernel_text(f"math.{name}", "f64"), "math-expand", [x, out], machine=machine)
        np.testing.assert_array_max_ulp(out, np.full(SIZE, want), 1)


@pytest.mark.parametrize("type_", ["f16", "bf16"])
def test_half_precisions_are_computed_in_f32(type_: str, kernel: Kernel):
    import ml_dtypes

    dtype: Any = np.float16 if type_ == "f16" else ml_dtypes.bfloat16
    x = np.linspace(-8, 8, SIZE).astype(dtype)
    out = np.zeros_like(x)
    kernel(kernel_text("math.tanh", type_), "math-expand", [x, out])
    want = np.tanh(x.astype(np.float64)).astype(dtype)
    assert np.mean(out == want) > 0.99
    np.testing.assert_allclose(out.astype(np.float64), want.astype(np.float64), rtol=1e-2)


def test_scalars_expand_like_vectors(kernel: Kernel):
    x = uniform(-5, 5).astype(np.float32)
    x = np.resize(x, SIZE)
    scalar, vector = np.zeros_like(x), np.zeros_like(x)
    kernel(kernel_text("math.sin", "f32", lanes=0), "math-expand", [x, scalar])
    kernel(kernel_text("math.sin", "f32", lanes=8), "math-expand", [x, vector])
    np.testing.assert_array_equal(scalar, vector)


def half_away(x: Array) -> Array:
    return np.copysign(np.floor(np.abs(x.astype(LONG)) + 0.5), x)


ROUNDINGS: dict[str, Callable[[Array], Array]] = {
    "roundeven": np.rint,
    "trunc": np.trunc,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": half_away,
}


@pytest.mark.parametrize("machine", [OLD])
@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("name", ROUNDINGS)
def test_rounding_without_an_instruction(name: str, type_: str, machine: str, kernel: Kernel):
    near = [sign * (k / 2 + d) for sign in (1, -1) for k in range(12) for d in (0, 1e-3, -1e-3)]
    edges = [2.0**e + d for e in (22, 23, 24, 51, 52, 53, 62, 100) for d in (-1.5, -0.5, 0, 0.5)]
    x = np.resize(np.array([*SPECIALS, 0.49999997, *near, *edges, *(-e for e in edges)]), SIZE).astype(TYPES[type_])
    out = np.zeros_like(x)
    kernel(kernel_text(f"math.{name}", type_), "math-expand", [x, out], machine=machine)
    np.testing.assert_array_equal(out, ROUNDINGS[name](x).astype(x.dtype))
    np.testing.assert_array_equal(np.signbit(out)[~np.isnan(x)], np.signbit(x)[~np.isnan(x)])


@pytest.mark.parametrize("machine", [OLD])
@pytest.mark.parametrize("type_", TYPES)
def test_fused_multiply_add_without_an_instruction(type_: str, machine: str, kernel: Kernel):
    rng = np.random.default_rng(3)
    x, y = (rng.standard_normal(SIZE).astype(TYPES[type_]) for _ in "xy")
    z = -(x * y)  # what the rounding of the product left out remains
    z[:3], x[0], x[1] = [1, -np.inf, np.nan], np.inf, 1e-300
    out = np.zeros_like(x)
    text = kernel_text("math.fma", type_, 2).replace("%out: ", f"%zs: memref<{SIZE}x{type_}>, %out: ")
    load = f"%z = affine.vector_load %zs[%i] : memref<{SIZE}x{type_}>, vector<8x{type_}>\n"
    text = text.replace("%r = math.fma %x, %y", load + "%r = math.fma %x, %y, %z")
    kernel(text, "math-expand", [x, y, z, out], machine=machine)
    rest = zip(x[3:].tolist(), y[3:].tolist(), z[3:].tolist(), strict=True)
    want = [float(Fraction(a) * Fraction(b) + Fraction(c)) for a, b, c in rest]
    np.testing.assert_array_equal(out[3:], np.array(want, x.dtype))
    assert out[0] == np.copysign(np.inf, y[0]) and out[1] == -np.inf and np.isnan(out[2])
