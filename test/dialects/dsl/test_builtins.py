"""Every built-in function against NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.compiler.program import Program
from lamina.dialects.dsl.check.builtins import TABLE
from lamina.dialects.dsl.check.types import dtype_name
from lamina.dialects.dsl.load import bind, instantiate, load_file
from lamina.tools.sources import new_context

Evaluate = Callable[..., list[Any]]
ProblemOf = Callable[..., Any]
Value = Callable[..., Any]
Array = np.ndarray[Any, Any]
Reference = Callable[..., Any]


def numbers(shape: tuple[int, ...], dtype: Any = np.float32, low: float = -3, high: float = 3, seed: int = 0) -> Array:
    drawn = np.random.default_rng(seed).uniform(low, high, shape)
    return drawn.astype(dtype) if np.dtype(dtype) != np.bool_ else drawn > 0


def elementwise(function: Reference) -> Reference:
    return lambda x: np.vectorize(function, otypes=[x.dtype])(x)


def lgamma(x: float) -> float:
    return math.lgamma(x)


def digamma(x: float) -> float:
    step = 1e-5
    return (math.lgamma(x + step) - math.lgamma(x - step)) / (2 * step)


def erfinv(x: float) -> float:
    low, high = -6.0, 6.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erf(middle) < x else (low, middle)
    return low


X = numbers((2, 3, 4))
POSITIVE = numbers((2, 3), low=0.1)
UNIT = numbers((2, 3), low=-0.9, high=0.9)
LARGE = numbers((2, 3), low=1.1, high=4)
INTS = numbers((2, 3), np.int32, -9, 9)
UNSIGNED = numbers((2, 3), np.uint8, 0, 200)
SPECIAL = np.array([1.0, np.nan, np.inf, -np.inf, -0.0, 2.5, -2.5, 3.5], np.float32)
C = (numbers((2, 4)) + 1j * numbers((2, 4), seed=1)).astype(np.complex64)

UNARY: dict[str, tuple[Array, Reference]] = {
    "exp": (X, np.exp),
    "expm1": (X, np.expm1),
    "exp2": (X, np.exp2),
    "log": (POSITIVE, np.log),
    "log1p": (POSITIVE, np.log1p),
    "log2": (POSITIVE, np.log2),
    "log10": (POSITIVE, np.log10),
    "sin": (X, np.sin),
    "cos": (X, np.cos),
    "tan": (UNIT, np.tan),
    "tanh": (X, np.tanh),
    "sinh": (X, np.sinh),
    "cosh": (X, np.cosh),
    "asin": (UNIT, np.arcsin),
    "acos": (UNIT, np.arccos),
    "atan": (X, np.arctan),
    "asinh": (X, np.arcsinh),
    "acosh": (LARGE, np.arccosh),
    "atanh": (UNIT, np.arctanh),
    "sqrt": (POSITIVE, np.sqrt),
    "rsqrt": (POSITIVE, lambda x: 1 / np.sqrt(x)),
    "cbrt": (X, np.cbrt),
    "logistic": (X, lambda x: 1 / (1 + np.exp(-x))),
    "sigmoid": (X, lambda x: 1 / (1 + np.exp(-x))),
    "floor": (SPECIAL, np.floor),
    "ceil": (SPECIAL, np.ceil),
    "round": (SPECIAL, np.round),
    "round_half_away": (np.array([0.5, -0.5, 2.5, 1.2], np.float32), lambda x: np.array([1, -1, 3, 1], np.float32)),
    "trunc": (SPECIAL, np.trunc),
    "abs": (SPECIAL, np.abs),
    "sign": (SPECIAL, np.sign),
    "square": (X, np.square),
    "reciprocal": (POSITIVE, np.reciprocal),
    "isfinite": (SPECIAL, np.isfinite),
    "is_finite": (SPECIAL, np.isfinite),
    "isnan": (SPECIAL, np.isnan),
    "is_nan": (SPECIAL, np.isnan),
    "isinf": (SPECIAL, np.isinf),
    "is_inf": (SPECIAL, np.isinf),
    "popcount": (UNSIGNED, lambda x: np.vectorize(lambda n: n.bit_count(), otypes=[np.uint8])(x.astype(int))),
    "clz": (UNSIGNED, lambda x: np.vectorize(lambda n: 8 - n.bit_length(), otypes=[np.uint8])(x.astype(int))),
    "erf": (X, elementwise(math.erf)),
    "erfc": (X, elementwise(math.erfc)),
    "erfinv": (UNIT, elementwise(erfinv)),
    "lgamma": (POSITIVE, elementwise(lgamma)),
    "digamma": (LARGE, elementwise(digamma)),
    "real": (C, np.real),
    "imag": (C, np.imag),
    "conj": (C, np.conj),
    "angle": (C, np.angle),
}

A, B = numbers((2, 3), seed=1), numbers((3,), seed=2)


def parameter(name: str, array: Array) -> str:
    dims = f"[{', '.join(map(str, array.shape))}]" if array.ndim else ""
    return f"{name}: {dtype_name(array.dtype)}{dims}"


def same(found: Any, expected: Any) -> None:
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype, f"{found.dtype} for {expected.dtype}"
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


@pytest.fixture
def value(evaluate: Evaluate) -> Value:
    """What an expression gives for these inputs."""

    def run(expression: str, **inputs: Array) -> Any:
        parameters = ", ".join(parameter(name, array) for name, array in inputs.items())
        found = evaluate(f"fn main({parameters}) = {expression}", *inputs.values())
        return found[0] if len(found) == 1 else found

    return run


@pytest.mark.parametrize("name", UNARY)
def test_unary(value: Value, name: str) -> None:
    x, reference = UNARY[name]
    with np.errstate(all="ignore"):
        same(value(f"{name}(x)", x=x), reference(x).astype(value_dtype(name, x)))


def value_dtype(name: str, x: Array) -> Any:
    if name.startswith("is"):
        return np.bool_
    return np.float32 if name in ("real", "imag", "angle") else x.dtype


def test_unary_of_other_dtypes(value: Value) -> None:
    same(value("abs(x)", x=INTS), np.abs(INTS))
    same(value("abs(x)", x=UNSIGNED), UNSIGNED)
    same(value("abs(x)", x=C), np.abs(C))
    same(value("sign(x)", x=UNSIGNED), np.sign(UNSIGNED))
    same(value("sign(x)", x=INTS), np.sign(INTS))
    same(value("exp(x)", x=C), np.exp(C))
    same(value("conj(x)", x=X), X)


BINARY: dict[str, tuple[Array, Array, Reference]] = {
    "minimum": (A, B, np.minimum),
    "maximum": (A, B, np.maximum),
    "min": (A, B, np.minimum),
    "max": (A, B, np.maximum),
    "pow": (POSITIVE, B, np.power),
    "power": (POSITIVE, B, np.power),
    "atan2": (A, B, np.arctan2),
    "fmod": (A, B, np.fmod),
    "hypot": (A, B, np.hypot),
    "logaddexp": (A, B, np.logaddexp),
    "shift_right_logical": (UNSIGNED, np.full((2, 3), 2, np.uint8), np.right_shift),
    "complex": (A, B, lambda x, y: (x + 1j * y).astype(np.complex64)),
}


@pytest.mark.parametrize("name", BINARY)
def test_binary(value: Value, name: str) -> None:
    x, y, reference = BINARY[name]
    same(value(f"{name}(x, y)", x=x, y=y), reference(x, y))


def test_numbers_written_out_take_the_dtype_of_the_other(value: Value) -> None:
    same(value("maximum(x, 0)", x=A), np.maximum(A, np.float32(0)))
    same(value("maximum(0.5, x)", x=A), np.maximum(A, np.float32(0.5)))
    same(value("clip(x, 0, 6)", x=INTS), np.clip(INTS, 0, 6))


def test_choices(value: Value) -> None:
    c = numbers((2, 3), np.bool_)
    same(value("select(c, x, y)", c=c, x=A, y=B), np.where(c, A, B))
    same(value("select(c, x, 0)", c=c, x=A), np.where(c, A, np.float32(0)))
    same(value("select(c, x, y)", c=np.array(True), x=A, y=B), np.where(True, A, B + 0 * A))
    same(value("clamp(-1, x, 1)", x=A), np.clip(A, -1, 1))
    same(value("clip(x, -1, 1)", x=A), np.clip(A, -1, 1))
    same(value("clip(x, high=1)", x=A), np.minimum(A, np.float32(1)))


REDUCTIONS: dict[str, tuple[Array, Reference]] = {
    "sum": (X, np.sum),
    "prod": (X, np.prod),
    "max": (X, np.max),
    "min": (X, np.min),
    "mean": (X, np.mean),
    "variance": (X, np.var),
    "std": (X, np.std),
    "any": (X > 1, np.any),
    "all": (X < 1, np.all),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(value: Value, name: str) -> None:
    x, reference = REDUCTIONS[name]
    same(value(f"{name}(x)", x=x), reference(x))
    same(value(f"{name}(x, axis=-1)", x=x), reference(x, axis=-1))
    same(value(f"{name}(x, axis=[0, 2], keepdims=true)", x=x), reference(x, axis=(0, 2), keepdims=True))


def test_reductions_of_special_values(value: Value) -> None:
    x = np.array([[1, np.nan], [np.inf, 2]], np.float32)
    same(value("max(x, axis=1)", x=x), np.array([np.nan, np.inf], np.float32))
    same(value("variance(x, ddof=1)", x=A), np.var(A, ddof=1))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_of_extremes(value: Value, name: str) -> None:
    reference = getattr(np, name)
    same(value(f"{name}(x, axis=1)", x=X), reference(X, axis=1))
    same(value(f"{name}(x)", x=X), np.int64(reference(X)))
    same(value(f"{name}(x, axis=0, keepdims=true)", x=INTS), reference(INTS, axis=0, keepdims=True))
    x = np.array([[1, np.nan, np.nan], [2, 2, 1], [-np.inf, -np.inf, -np.inf], [3, np.inf, np.nan]], np.float32)
    same(value(f"{name}(x, axis=1)", x=x), reference(x, axis=1))


CONSTRUCTORS: dict[str, tuple[str, Any]] = {
    "zeros": ("zeros(f32[2, 3])", np.zeros((2, 3), np.float32)),
    "ones": ("ones(i32[2])", np.ones(2, np.int32)),
    "full": ("full(f64[2, 2], 1.5)", np.full((2, 2), 1.5)),
    "iota": ("iota(i32[2, 3], axis=1)", np.tile(np.arange(3, dtype=np.int32), (2, 1))),
    "arange": (
        "arange(2, 11, 3) + sum(arange(5, 10000)) - arange(0, -3, -1)",
        np.arange(2, 11, 3) + np.sum(np.arange(5, 10000)) - np.arange(0, -3, -1),
    ),
    "linspace": ("linspace(0, 1, 5)", np.linspace(0, 1, 5).astype(np.float32)),
    "eye": ("eye(f32[3, 4], k=1)", np.eye(3, 4, 1, np.float32)),
}


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_constructors(value: Value, name: str) -> None:
    expression, expected = CONSTRUCTORS[name]
    same(value(expression), expected)


MOVEMENT: dict[str, list[tuple[str, Reference]]] = {
    "reshape": [
        ("reshape(x, [4, 6])", lambda x: x.reshape(4, 6)),
        ("reshape(x, [2, -1])", lambda x: x.reshape(2, -1)),
        ("reshape(x, f32[24])", lambda x: x.reshape(24)),
    ],
    "transpose": [("transpose(x)", np.transpose), ("transpose(x, [1, 0, 2])", lambda x: x.transpose(1, 0, 2))],
    "swapaxes": [("swapaxes(x, 0, -1)", lambda x: np.swapaxes(x, 0, -1))],
    "moveaxis": [("moveaxis(x, 0, -1)", lambda x: np.moveaxis(x, 0, -1))],
    "broadcast": [("broadcast(x, [5, 2, 3, 4])", lambda x: np.broadcast_to(x, (5, 2, 3, 4)))],
    "broadcast_to": [("broadcast_to(x, [2, 3, 4])", lambda x: x)],
    "concat": [
        ("concat([x, x], axis=1)", lambda x: np.concatenate([x, x], 1)),
        ("concat([x, zeros(f32[1, 3, 4])])", lambda x: np.concatenate([x, np.zeros((1, 3, 4), np.float32)])),
    ],
    "concatenate": [("concatenate([x, x, x], axis=-1)", lambda x: np.concatenate([x, x, x], -1))],
    "stack": [
        ("stack([x, x])", lambda x: np.stack([x, x])),
        ("stack([x, x], axis=-1)", lambda x: np.stack([x, x], -1)),
    ],
    "split": [
        ("split(x, 2, axis=2)", lambda x: np.split(x, 2, 2)),
        ("split(x, [1, 2], axis=1)", lambda x: np.split(x, [1], 1)),
    ],
    "squeeze": [("squeeze(reshape(x, [1, 24, 1]))", lambda x: x.reshape(24))],
    "expand_dims": [
        ("expand_dims(x, 1)", lambda x: np.expand_dims(x, 1)),
        ("expand_dims(x, [0, -1])", lambda x: np.expand_dims(x, (0, -1))),
    ],
    "tile": [("tile(x, [2, 1, 3])", lambda x: np.tile(x, (2, 1, 3))), ("tile(x, [2])", lambda x: np.tile(x, 2))],
    "pad": [
        ("pad(x, [[1, 0], [0, 2], [1, 1]], value=7)", lambda x: np.pad(x, [[1, 0], [0, 2], [1, 1]], constant_values=7)),
        ('pad(x, [1, 2], mode="edge")', lambda x: np.pad(x, [[1, 2]], mode="edge")),
        ('pad(x, 1, mode="reflect")', lambda x: np.pad(x, 1, mode="reflect")),
        ('pad(x, 2, mode="wrap")', lambda x: np.pad(x, 2, mode="wrap")),
    ],
    "reverse": [("reverse(x, axis=1)", lambda x: np.flip(x, 1)), ("reverse(x)", np.flip)],
    "flip": [("flip(x, axis=[0, 2])", lambda x: np.flip(x, (0, 2)))],
    "roll": [
        ("roll(x, 1, axis=1)", lambda x: np.roll(x, 1, 1)),
        ("roll(x, -5)", lambda x: np.roll(x, -5)),
        ("roll(x, [1, -1], axis=[0, 2])", lambda x: np.roll(x, (1, -1), (0, 2))),
    ],
    "slice": [("slice(x, [0, 1, 0], [2, 3, 4], [1, 1, 2])", lambda x: x[0:2, 1:3, 0:4:2])],
    "size": [("reshape(x, [size(x, 1), size(x) / 3])", lambda x: x.reshape(3, 8))],
    "cast": [("cast(x, i32(x))", lambda x: x.astype(np.int32))],
    "tril": [("tril(x)", np.tril), ("tril(x, k=1)", lambda x: np.tril(x, 1))],
    "triu": [("triu(x, k=-1)", lambda x: np.triu(x, -1))],
    "rearrange": [
        (
            'rearrange(x, "a b (c d) -> c (b a) d", d=2)',
            lambda x: x.reshape(2, 3, 2, 2).transpose(2, 1, 0, 3).reshape(2, 6, 2),
        ),
        ('rearrange(x, "a ... -> ... a")', lambda x: x.transpose(1, 2, 0)),
    ],
    "repeat": [
        ('repeat(x, "a b c -> a (b n) c", n=2)', lambda x: np.repeat(x, 2, 1)),
        ('repeat(x, "a b c -> 2 a b c")', lambda x: np.stack([x, x])),
    ],
    "reduce": [
        ('reduce(x, "a b c -> c", "sum")', lambda x: x.sum((0, 1))),
        ('reduce(x, "a b (c 2) -> a b c", "max")', lambda x: x.reshape(2, 3, 2, 2).max(3)),
        ('reduce(x, "a ... -> a ()", "mean")', lambda x: x.mean((1, 2))[:, None]),
    ],
    "sort": [
        ("sort(x)", np.sort),
        ("sort(x, axis=1, descending=true)", lambda x: -np.sort(-x, 1)),
    ],
    "argsort": [("argsort(x, axis=0)", lambda x: np.argsort(x, 0, stable=True))],
    "topk": [
        (
            "topk(x, 2)",
            lambda x: [-np.sort(-x)[..., :2], np.argsort(-x, stable=True)[..., :2]],
        ),
        (
            "topk(x, 2, axis=1, largest=false)",
            lambda x: [np.sort(x, 1)[:, :2], np.argsort(x, 1, stable=True)[:, :2]],
        ),
    ],
    "cumsum": [("cumsum(x, axis=1)", lambda x: np.cumsum(x, 1)), ("cumsum(x)", np.cumsum)],
    "cumprod": [("cumprod(x, axis=2)", lambda x: np.cumprod(x, 2))],
    "cummax": [("cummax(x, axis=0)", lambda x: np.maximum.accumulate(x, 0))],
    "cummin": [("cummin(x, axis=0)", lambda x: np.minimum.accumulate(x, 0))],
    "fft": [("fft(x)", lambda x: np.fft.fft(x).astype(np.complex64))],
    "ifft": [("ifft(complex(x, x), axis=1)", lambda x: np.fft.ifft(x + 1j * x, axis=1).astype(np.complex64))],
    "rfft": [("rfft(x, axis=0)", lambda x: np.fft.rfft(x, axis=0).astype(np.complex64))],
    "irfft": [("irfft(rfft(x))", lambda x: x)],
    "bitcast": [
        ("bitcast(x, i32)", lambda x: x.view(np.int32)),
        ("bitcast(x, u8)", lambda x: x[..., None].view(np.uint8)),
        ("bitcast(bitcast(x, u8), f32)", lambda x: x),
    ],
}


@pytest.mark.parametrize("name", MOVEMENT)
def test_movement(value: Value, name: str) -> None:
    for expression, reference in MOVEMENT[name]:
        found, expected = value(expression, x=X), reference(X)
        if isinstance(expected, list):
            for one, other in zip(found, expected, strict=True):
                same(one, other)
        else:
            same(found, expected)


def test_sorting_of_special_values(value: Value) -> None:
    x = np.array([2, np.nan, -np.inf, 0.0, -0.0, np.inf, np.nan, 1], np.float32)
    same(value("sort(x)", x=x), np.sort(x))
    same(value("sort(x, descending=true)", x=x), np.sort(x)[::-1])
    same(value("argsort(x)", x=x), np.argsort(x, stable=True))
    same(value("argsort(x, descending=true)", x=x), np.array([1, 6, 5, 0, 7, 3, 4, 2]))


def test_running_sums_of_long_axes(value: Value) -> None:
    x = numbers((3, 40), np.float64)
    same(value("cumsum(x, axis=1)", x=x), np.cumsum(x, 1))
    same(value("cumsum(x, axis=1, reverse=true)", x=x), np.cumsum(x[:, ::-1], 1)[:, ::-1])
    exclusive = np.cumsum(x, 1) - x
    same(value("cumsum(x, axis=1, exclusive=true)", x=x), exclusive)


def test_indexing(value: Value) -> None:
    ids = np.array([[2, 0], [1, 1]])
    same(value("take(x, ids, axis=1)", x=X, ids=ids), np.take(X, ids, 1))
    same(value("gather(x, ids)", x=A, ids=np.array([1, 0, 1])), A[[1, 0, 1]])
    places = np.argsort(X, 2)[:, :, :2]
    same(value("take_along_axis(x, i, axis=2)", x=X, i=places), np.take_along_axis(X, places, 2))
    same(value("one_hot(ids, 4)", ids=ids), np.eye(4, dtype=np.float32)[ids])
    same(value("one_hot(ids, 4, dtype=i32, axis=0)", ids=ids), np.moveaxis(np.eye(4, dtype=np.int32)[ids], -1, 0))
    same(value("dynamic_slice(x, i, 2, axis=1)", x=X, i=np.array(1)), X[:, 1:3])


def test_products(value: Value) -> None:
    w = numbers((4, 5), seed=3)
    same(value("dot(x, w)", x=X, w=w), X @ w)
    y = numbers((2, 5, 4), seed=4)
    same(
        value("dot(x, y, contract=[[2, 2]], batch=[[0, 0]])", x=X, y=y),
        np.einsum("bik,bjk->bij", X, y),
    )
    q = numbers((2, 3), np.int8, -100, 100)
    same(value("dot(x, y, contract=[[1, 1]], dtype=i32)", x=q, y=q), q.astype(np.int32) @ q.astype(np.int32).T)


def convolved(x: Array, w: Array, stride: int, low: int, high: int, dilation: int, groups: int) -> Array:
    x = np.pad(x, [[0, 0], [0, 0], [low, high]])
    reach = (w.shape[2] - 1) * dilation + 1
    count = (x.shape[2] - reach) // stride + 1
    result = np.zeros((x.shape[0], w.shape[0], count), x.dtype)
    for o in range(w.shape[0]):
        first = o // (w.shape[0] // groups) * w.shape[1]
        for p in range(count):
            window = x[:, first : first + w.shape[1], p * stride : p * stride + reach : dilation]
            result[:, o, p] = np.sum(window * w[o], (1, 2))
    return result


def test_convolutions(value: Value) -> None:
    x, w = numbers((2, 4, 9)), numbers((6, 2, 3), seed=1)
    same(
        value("conv(x, w, strides=2, padding=[1, 2], dilation=2, groups=2)", x=x, w=w),
        convolved(x, w, 2, 1, 2, 2, 2),
    )
    last = value("conv(x, w, padding=1, channels_last=true, groups=2)", x=x.transpose(0, 2, 1), w=w.transpose(2, 1, 0))
    same(last.transpose(0, 2, 1), convolved(x, w, 1, 1, 1, 1, 2))


def test_compiled() -> None:
    text = """fn main(x: f32[3, 40]) {
      let best, place = topk(x, 3)
      let padded = pad(x, 2, mode="reflect")
      return sort(x, axis=0), best, place, cumsum(x, axis=1), argmax(x), roll(padded, 3, axis=1), hypot(x, 1)
    }"""
    x = numbers((3, 40))
    best = np.argsort(-x, stable=True)[:, :3]
    context = new_context()
    files = load_file(text)
    module = instantiate(files, bind(files, "main", [("f32", x.shape)]), context)
    found = lamina.compile(Program(module, context))(x)
    rolled = np.roll(np.pad(x, 2, mode="reflect"), 3, 1)
    expected = [np.sort(x, 0), np.take_along_axis(x, best, 1), best, np.cumsum(x, 1), np.argmax(x), rolled]
    for one, other in zip(found, [*expected, np.hypot(x, np.float32(1))], strict=True):
        same(np.asarray(one), other)


def test_every_builtin_has_a_value_test() -> None:
    here = {*UNARY, *BINARY, *REDUCTIONS, *CONSTRUCTORS, *MOVEMENT}
    here |= {"select", "clamp", "clip", "argmax", "argmin"}
    here |= {"take", "gather", "take_along_axis", "one_hot", "dynamic_slice", "dot", "conv"}
    assert set(TABLE) == here


# What is wrong is said where it is.


@pytest.mark.parametrize(
    ("expression", "code", "text"),
    [
        ("exp(i32(x))", "E250", "float"),
        ("sum(x > 0)", "E250", "sum(i64(x))"),
        ("sum(x, axis=3)", "E351", "axis 3"),
        ("sum(x, axis=[0, 0])", "E351", "twice"),
        ("sum(x, axes=1)", "E551", "did you mean 'axis'"),
        ("sum(x, 1, axis=1)", "E552", "twice"),
        ("sum()", "E550", "needs 'x'"),
        ("exp(x, 2)", "E550", "at most 1"),
        ("sum(x, axis=1.5)", "E553", "whole number"),
        ('exp("x")', "E553", "tensor"),
        ("concat(x)", "E553", "list"),
        ("concat([x, x[0]])", "E350", "rank"),
        ("concat([x, x[:, 1:]])", "E350", "axis 1"),
        ("concat([x, i32(x)])", "E251", "i32"),
        ("reshape(x, [5, 5])", "E353", "24"),
        ("reshape(x, [-1, -1])", "E353", "one"),
        ("reshape(x, [-2, -12])", "E350", "less than 0"),
        ("pad(x, [[-2, -1], [0, 0], [0, 0]])", "E350", "less than 0"),
        ("conv(x, ones(f32[1, 3, 9]))", "E350", "less than 0"),
        ("transpose(x, [0, 0, 1])", "E351", "order"),
        ('rearrange(x, "a b -> b a")', "E352", "2 axes"),
        ('rearrange(x, "a b c -> a b", c=1)', "E352", "missing"),
        ("roll(x, 1, axis=sum(x))", "E554", "known"),
        ("zeros(3)", "E553", "type"),
        ("one_hot(x, 3)", "E250", "integer"),
        ("topk(x, 9)", "E350", "4 elements"),
        ('pad(x, 1, mode="edges")', "E553", "no mode"),
        ("nosuch(x)", "E1", ""),
    ],
)
def test_errors(problem_of: ProblemOf, expression: str, code: str, text: str) -> None:
    problem = problem_of(f"fn main(x: f32[2, 3, 4]) = {expression}", X)
    assert problem.code.startswith(code), problem
    assert text in f"{problem.message} {problem.hint}", problem
