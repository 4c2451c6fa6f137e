"""ONNX's random numbers.

With a seed they are what ONNX's reference evaluator draws, NumPy's `RandomState(seed)`, whose stream NumPy keeps for
good: the same at every call, and constants of the compiled model. Without one they are fresh at every call:
Threefry-2x32 (Salmon et al. 2011) of a key that each call is given, an input of its own (`lamina.key`), and of a
counter, so that the k-th random operator of a model draws word i from threefry(key, (i, k)).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import AnyFloat, Float64Type, IntegerType, Signedness, f32, f64, i32
from xdsl.ir import Attribute

from ....compiler.dtypes import dtype_of
from ....dialects import stablehlo as hlo
from ....dialects.onnx.types import element_type
from .builder import GraphBuilder, Value, element_of, is_float, rank_of, shape_of
from .generator import dropout_7
from .table import lowers

_WORD = IntegerType(32, Signedness.UNSIGNED)
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_DIGITS = {"bf16": 8, "f16": 11, "f32": 24}  # bits of the significand: that many random ones make a number below 1


def _threefry(b: GraphBuilder, key: Value, low: Value, high: int) -> tuple[Value, Value]:
    """Threefry-2x32, 20 rounds, of the counters (low, high)."""
    first, second = (b.reshape(b.slice_axis(key, 0, i, i + 1), []) for i in range(2))
    third = b.binary(hlo.XorOp, b.binary(hlo.XorOp, first, second), b.scalar(0x1BD11BDA, _WORD))
    keys = (first, second, third)
    x = b.add(low, first)
    y = b.broadcast_to(b.add(second, high), shape_of(low))
    for block in range(5):
        for count in _ROTATIONS[block % 2]:
            x = b.add(x, y)
            turned = b.binary(
                hlo.OrOp,
                b.binary(hlo.ShiftLeftOp, y, b.scalar(count, _WORD)),
                b.binary(hlo.ShiftRightLogicalOp, y, b.scalar(32 - count, _WORD)),
            )
            y = b.binary(hlo.XorOp, turned, x)
        x = b.add(x, keys[(block + 1) % 3])
        y = b.add(b.add(y, keys[(block + 2) % 3]), block + 1)
    return x, y


def _fresh_words(b: GraphBuilder, shape: Sequence[int]) -> tuple[Value, Value]:
    """Two random words for each element, of the shape [elements]."""
    key, number = b.random_key()
    return _threefry(b, key, b.iota([math.prod(shape)], 0, _WORD), number)


def _below_one(b: GraphBuilder, words: tuple[Value, Value], element: Attribute) -> Value:
    """Words as numbers in [0, 1), each of the type's numbers k / 2^digits as likely as the next."""
    high, low = words
    if isinstance(element, Float64Type):
        top, rest = (
            b.convert(b.binary(hlo.ShiftRightLogicalOp, word, b.scalar(shift, _WORD)), f64)
            for word, shift in ((high, 5), (low, 6))
        )
        return b.multiply(b.add(b.multiply(top, 2.0**26), rest), 2.0**-53)
    digits = _DIGITS[element.name]
    kept = b.binary(hlo.ShiftRightLogicalOp, high, b.scalar(32 - digits, _WORD))
    return b.convert(b.multiply(b.convert(kept, f32), 2.0**-digits), element)


def uniform(b: GraphBuilder, shape: Sequence[int], element: Attribute, seed: float | None) -> Value:
    """Numbers evenly spread over [0, 1)."""
    if seed is not None and not math.isnan(seed):
        return b.constant(np.random.RandomState(int(seed)).random_sample(tuple(shape)).astype(dtype_of(element)))
    return b.reshape(_below_one(b, _fresh_words(b, shape), element), shape)


def _normal(b: GraphBuilder, shape: Sequence[int], element: Attribute, seed: float | None) -> Value:
    """Numbers of mean 0 and deviation 1; fresh ones by Box and Muller."""
    if seed is not None and not math.isnan(seed):
        return b.constant(np.random.RandomState(int(seed)).standard_normal(tuple(shape)).astype(dtype_of(element)))
    wide = element if isinstance(element, Float64Type) else f32
    first = _fresh_words(b, shape)
    second = _fresh_words(b, shape) if isinstance(wide, Float64Type) else (first[1], first[0])
    above_zero = b.subtract(1.0, _below_one(b, first, wide))
    angle = b.multiply(_below_one(b, second, wide), 2 * math.pi)
    radius = b.sqrt(b.multiply(b(hlo.LogOp(above_zero)), -2.0))
    return b.convert(b.reshape(b.multiply(radius, b(hlo.CosineOp(angle))), shape), element)


def _spread(b: GraphBuilder, x: Value, scale: float, offset: float) -> Value:
    return b.add(b.multiply(x, scale), offset)


def _drawn_type(b: GraphBuilder, dtype: int | None, like: Value | None) -> Attribute:
    element = element_type(dtype) if dtype is not None else None if like is None else element_of(like)
    if element is None or (not isinstance(element, Float64Type) and element.name not in _DIGITS):
        raise b.fail(f"random numbers of type {element} are not supported")
    return element


@lowers("RandomUniform")
def random_uniform(
    b: GraphBuilder,
    *,
    shape: Sequence[int],
    dtype: int = 1,
    high: float = 1.0,
    low: float = 0.0,
    seed: float | None = None,
) -> Value:
    return _spread(b, uniform(b, shape, _drawn_type(b, dtype, None), seed), high - low, low)


@lowers("RandomUniformLike")
def random_uniform_like(
    b: GraphBuilder,
    x: Value,
    *,
    dtype: int | None = None,
    high: float = 1.0,
    low: float = 0.0,
    seed: float | None = None,
) -> Value:
    return _spread(b, uniform(b, shape_of(x), _drawn_type(b, dtype, x), seed), high - low, low)


@lowers("RandomNormal")
def random_normal(
    b: GraphBuilder,
    *,
    shape: Sequence[int],
    dtype: int = 1,
    mean: float = 0.0,
    scale: float = 1.0,
    seed: float | None = None,
) -> Value:
    return _spread(b, _normal(b, shape, _drawn_type(b, dtype, None), seed), scale, mean)


@lowers("RandomNormalLike")
def random_normal_like(
    b: GraphBuilder,
    x: Value,
    *,
    dtype: int | None = None,
    mean: float = 0.0,
    scale: float = 1.0,
    seed: float | None = None,
) -> Value:
    return _spread(b, _normal(b, shape_of(x), _drawn_type(b, dtype, x), seed), scale, mean)


@lowers("Bernoulli", since=15)
def bernoulli(b: GraphBuilder, x: Value, *, dtype: int | None = None, seed: float | None = None) -> Value:
    """As in ONNX's own body: 1 where a uniform number is below the probability."""
    element = element_of(x) if dtype is None else element_type(dtype)
    assert element is not None
    return b.convert(b.compare(uniform(b, shape_of(x), element_of(x), seed), x, "LT"), element)


@lowers("Multinomial", since=7)
def multinomial(b: GraphBuilder, x: Value, *, dtype: int = 6, sample_size: int = 1, seed: float | None = None) -> Value:
    """The class at which the running sum of probabilities passes a uniform number; `x` has their logarithms."""
    element = element_type(dtype)
    if rank_of(x) != 2 or not is_float(x) or not isinstance(element, IntegerType):
        raise b.fail("Multinomial takes floats of rank 2 and gives integers")
    rows, classes = shape_of(x)
    wide = x if isinstance(element_of(x), Float64Type) else b.convert(x, f32)
    weights = b.exponential(b.subtract(wide, b.reduce("maximum", wide, [1], keepdims=True)))
    upto = b.constant(np.triu(np.ones((classes, classes), dtype_of(element_of(wide)))))
    sums = b.dot(weights, upto, ([1], [0]))
    drawn = b.multiply(
        uniform(b, [rows, sample_size], element_of(wide), seed), b.slice_axis(sums, 1, classes - 1, classes)
    )
    passed = b.compare(b.expand_dims(sums, [1]), b.expand_dims(drawn, [2]), "LE")
    chosen = b.reduce("add", b.convert(passed, i32), [2])
    return b.convert(b.minimum(chosen, classes - 1), element)


@lowers("Dropout", since=12)
def dropout(
    b: GraphBuilder,
    x: Value,
    ratio: Value | None = None,
    training_mode: Value | None = None,
    *,
    seed: int | None = None,
) -> list[Value]:
    training = training_mode is not None and bool(b.number(training_mode, "training_mode of Dropout"))
    share = 0.5 if ratio is None else float(b.number(ratio, "ratio of Dropout"))
    if not training or share == 0.0:
        return dropout_7(b, x)
    if not 0 < share < 1:
        raise b.fail(f"ratio {share} of Dropout is not in [0, 1)")
    element = element_of(x)
    if not isinstance(element, AnyFloat):
        raise b.fail(f"dropout of {element} is not supported")
    numbers = f64 if seed is not None or isinstance(element, Float64Type) else f32
    kept = b.compare(uniform(b, shape_of(x), numbers, seed), share, "GE")
    return [b.multiply(b.multiply(b.convert(kept, element), x), 1.0 / (1.0 - share)), kept]
