"""Operators that take arrays element by element, over every element type they accept."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jax import lax
from jax import numpy as jnp

from .programs import COMPLEX, FLOATS, INTEGERS, SHAPES, SIGNED, Program, dtype_of, family, program, text

ANY = (*FLOATS, *INTEGERS)
# operator -> element types, and the interval arguments are drawn from
UNARY = {
    "abs": ((*FLOATS, *SIGNED, *COMPLEX), -3, 3),
    "neg": ((*ANY, *COMPLEX), -3, 3),
    "sign": ((*ANY, *COMPLEX), -3, 3),
    "exp": ((*FLOATS, *COMPLEX), -3, 3),
    "exp2": (FLOATS, -3, 3),
    "expm1": ((*FLOATS, *COMPLEX), -3, 3),
    "log": ((*FLOATS, *COMPLEX), 0.1, 9),
    "log1p": ((*FLOATS, *COMPLEX), -0.9, 9),
    "sqrt": ((*FLOATS, *COMPLEX), 0, 9),
    "rsqrt": ((*FLOATS, *COMPLEX), 0.1, 9),
    "cbrt": (FLOATS, -9, 9),
    "sin": ((*FLOATS, *COMPLEX), -6, 6),
    "cos": ((*FLOATS, *COMPLEX), -6, 6),
    "tan": ((*FLOATS, *COMPLEX), -1.3, 1.3),
    "asin": ((*FLOATS, *COMPLEX), -0.95, 0.95),
    "acos": ((*FLOATS, *COMPLEX), -0.95, 0.95),
    "atan": ((*FLOATS, *COMPLEX), -5, 5),
    "sinh": ((*FLOATS, *COMPLEX), -3, 3),
    "cosh": ((*FLOATS, *COMPLEX), -3, 3),
    "tanh": ((*FLOATS, *COMPLEX), -2, 2),
    "asinh": ((*FLOATS, *COMPLEX), -5, 5),
    "acosh": ((*FLOATS, *COMPLEX), 1.1, 9),
    "atanh": ((*FLOATS, *COMPLEX), -0.9, 0.9),
    "logistic": ((*FLOATS, *COMPLEX), -5, 5),
    "floor": (FLOATS, -5, 5),
    "ceil": (FLOATS, -5, 5),
    "is_finite": (FLOATS, -5, 5),
    "erf": (FLOATS, -3, 3),
    "erfc": (FLOATS, -3, 3),
    "erf_inv": (FLOATS, -0.95, 0.95),
    "lgamma": (FLOATS, 0.2, 9),
    "digamma": (FLOATS, 0.5, 9),
    "bessel_i0e": (FLOATS, -4, 4),
    "bessel_i1e": (FLOATS, -4, 4),
    "square": ((*ANY, *COMPLEX), -3, 3),
    "integer_pow_3": ((*ANY, *COMPLEX), -3, 3),
    "reciprocal": ((*FLOATS, *COMPLEX), 0.5, 3),
    "bitwise_not": ((*INTEGERS, "bool"), -3, 3),
    "population_count": (INTEGERS, -100, 100),
    "clz": (INTEGERS, -100, 100),
    "real": (COMPLEX, -3, 3),
    "imag": (COMPLEX, -3, 3),
    "conj": (COMPLEX, -3, 3),
}
BINARY = {
    "add": ((*ANY, *COMPLEX), -9, 9),
    "sub": ((*ANY, *COMPLEX), -9, 9),
    "mul": ((*ANY, *COMPLEX), -9, 9),
    "div": ((*ANY, *COMPLEX), 1, 9),
    "rem": (ANY, 1, 20),
    "max": ((*ANY, "bool"), -9, 9),
    "min": ((*ANY, "bool"), -9, 9),
    "pow": ((*FLOATS, *COMPLEX), 0.3, 3),
    "atan2": (FLOATS, -3, 3),
    "nextafter": (("float32", "float64"), -3, 3),
    "bitwise_and": ((*INTEGERS, "bool"), -9, 9),
    "bitwise_or": ((*INTEGERS, "bool"), -9, 9),
    "bitwise_xor": ((*INTEGERS, "bool"), -9, 9),
    "shift_left": (INTEGERS, 0, 6),
    "shift_right_logical": (INTEGERS, 0, 6),
    "shift_right_arithmetic": (INTEGERS, 0, 6),
    "eq": ((*ANY, *COMPLEX, "bool"), -2, 2),
    "ne": ((*ANY, *COMPLEX, "bool"), -2, 2),
    "lt": (ANY, -2, 2),
    "le": (ANY, -2, 2),
    "gt": (ANY, -2, 2),
    "ge": (ANY, -2, 2),
    "complex": (("float32", "float64"), -2, 2),
    "igamma": (("float32", "float64"), 0.5, 4),
    "igammac": (("float32", "float64"), 0.5, 4),
    "random_gamma_grad": (("float32",), 0.5, 4),
    "polygamma": (("float32", "float64"), 1, 4),
    "zeta": (("float32", "float64"), 1.5, 6),
}
CONVERTED = ("float32", "float16", "bfloat16", "float64", "int32", "int8", "uint8", "int64", "uint32", "bool")
SAME_WIDTH = (
    ("float32", "int32"),
    ("float32", "uint32"),
    ("float16", "int16"),
    ("bfloat16", "uint16"),
    ("float64", "int64"),
    ("int8", "uint8"),
)


def operator(name: str):
    """The function of `lax`, or what stands for it."""
    if name.startswith("integer_pow_"):
        power = int(name.rsplit("_", 1)[1])
        return lambda x: lax.integer_pow(x, power)
    return getattr(lax, name)


@family
def unary() -> Iterator[Program]:
    for name, (dtypes, low, high) in UNARY.items():
        for i, dtype in enumerate(dtypes):
            for shape in SHAPES[:2] if i < 3 else SHAPES[2:]:
                yield program(f"{name}-{dtype}-{text(shape)}", operator(name), (shape, dtype, low, high))


@family
def binary() -> Iterator[Program]:
    for name, (dtypes, low, high) in BINARY.items():
        for i, dtype in enumerate(dtypes):
            shape = SHAPES[i % 3]
            given = (shape, dtype, low, high)
            yield program(f"{name}-{dtype}-{text(shape)}", operator(name), given, given)


@family
def convert() -> Iterator[Program]:
    for source in CONVERTED:
        for target in CONVERTED:
            if source != target:
                yield program(
                    f"convert-{source}-{target}",
                    lambda x, t=target: lax.convert_element_type(x, dtype_of(t)),
                    ((4, 5), source, -5 if target[0] != "u" else 0, 5),
                )
    for target in COMPLEX:
        for source in ("float32", "int32", "complex64"):
            if source != target:
                yield program(
                    f"convert-{source}-{target}",
                    lambda x, t=target: lax.convert_element_type(x, dtype_of(t)),
                    ((4, 5), source),
                )


@family
def bitcast() -> Iterator[Program]:
    for pair in SAME_WIDTH:
        for source, target in (pair, pair[::-1]):
            yield program(
                f"bitcast-{source}-{target}",
                lambda x, t=target: lax.bitcast_convert_type(x, dtype_of(t)),
                ((3, 4), source, 1, 100),
            )
    for source, target, shape in (
        ("float32", "uint8", (3, 4)),
        ("uint8", "float32", (3, 2, 4)),
        ("int32", "int16", (5,)),
        ("int16", "int32", (5, 2)),
        ("float64", "uint32", (3,)),
        ("uint32", "float64", (3, 2)),
    ):
        yield program(
            f"bitcast-{source}-{target}",
            lambda x, t=target: lax.bitcast_convert_type(x, dtype_of(t)),
            (shape, source, 1, 100),
        )
    for exponent, mantissa in ((5, 10), (8, 7), (4, 3), (5, 2)):
        for dtype in ("float32", "float64", "float16"):
            yield program(
                f"reduce_precision-{dtype}-{exponent}-{mantissa}",
                lambda x, e=exponent, m=mantissa: lax.reduce_precision(x, e, m),
                ((3, 5), dtype),
            )


@family
def several() -> Iterator[Program]:
    for i, dtype in enumerate((*ANY, *COMPLEX, "bool")):
        shape = SHAPES[i % 3]
        yield program(f"select-{dtype}", lax.select, (shape, "bool"), (shape, dtype), (shape, dtype))
        if dtype not in (*COMPLEX, "bool"):
            yield program(
                f"clamp-{dtype}",
                lambda x, d=dtype: lax.clamp(dtype_of(d).type(1), x, dtype_of(d).type(2)),
                (shape, dtype),
            )
            yield program(
                f"clamp_arrays-{dtype}", lax.clamp, (shape, dtype, 0, 1), (shape, dtype), (shape, dtype, 1, 3)
            )
        yield program(f"select_n-{dtype}", lax.select_n, (shape, "int32", 0, 2), *[(shape, dtype)] * 3)
    for dtype in ("float32", "bfloat16", "float16", "float64"):
        for name, function in (
            ("gelu", lambda x: 0.5 * x * (1 + lax.erf(x / np.sqrt(2).astype(x.dtype)))),
            ("silu", lambda x: x * lax.logistic(x)),
            ("softplus", lambda x: jnp.logaddexp(x, 0)),
            ("round_away", lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO)),
            ("round_even", lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)),
            ("isnan", lambda x: jnp.isnan(x / 0 * 0)),
            ("isinf", lambda x: (jnp.isinf(x / 0), jnp.isposinf(x / 0), jnp.isneginf(x / 0))),
            ("sinc", jnp.sinc),
            ("fmod", lambda x: jnp.fmod(x, 0.7)),
        ):
            yield program(f"{name}-{dtype}", function, ((5, 6), dtype, -4, 4))
    for dtype in ("float32", "float64"):
        yield program(f"betainc-{dtype}", lax.betainc, *[((5,), dtype, 0.2, 0.9)] * 3)
    yield (
        program("mulhi-uint32", lax.mulhi, ((7,), "uint32", 0, 2**31), ((7,), "uint32", 0, 2**31))
        if hasattr(lax, "mulhi")
        else program("mulhi-absent", lax.neg, ((7,), "float32"))
    )
