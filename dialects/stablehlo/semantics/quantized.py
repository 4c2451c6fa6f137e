"""Quantised numbers: to and from the floats they stand for, and ops on them by way of these.

Every step is rounded to the expressed type, as the specification's `quantize` and `dequantize` are written; only the
zero point is subtracted without wrapping around.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....compiler.dtypes import dtype_of
from ....compiler.interpreter import Interpreter
from ....compiler.semantics import Call, Spec, semantics
from ....compiler.weights import Array
from ..quant import Quantization, expressed_type, quantization
from ..quantized_ops import COMPUTING, with_types
from .conversion import converted
from .elementwise import widened
from .shape import iota


def _parameters(q: Quantization, rank: int) -> tuple[Array, Array]:
    """Scales in the expressed type and zero points, in a shape that broadcasts."""
    axis = q.quantization_dimension
    shape = () if axis is None else tuple(len(q.scales) if d == axis else 1 for d in range(rank))
    scales = np.asarray(q.scales, np.float64).astype(dtype_of(q.expressed_type))
    return scales.reshape(shape), np.asarray(q.zero_points, np.int64).reshape(shape)


def _rounded(function: Callable[..., Any], *args: Array) -> Array:
    return np.asarray(function(*map(widened, args))).astype(args[0].dtype)


def dequantized(x: Array, q: Quantization) -> Array:
    """The numbers that the stored integers `x` stand for."""
    scales, zeros = _parameters(q, x.ndim)
    whole = widened(x).astype(np.int64) - zeros
    return _rounded(np.multiply, whole.astype(scales.dtype), scales)


def quantized(x: Array, q: Quantization) -> Array:
    """The integers to store for the numbers `x`, to nearest even. NaN, which has none, gives 0 within the limits."""
    scales, zeros = _parameters(q, x.ndim)
    low, high = q.limits
    moved = _rounded(np.add, _rounded(np.divide, x, scales), zeros.astype(x.dtype))
    ends = [np.asarray(end).astype(x.dtype) for end in (low, high)]
    inside = _rounded(np.minimum, _rounded(np.maximum, moved, ends[0]), ends[1])
    whole = converted(np.rint(widened(inside)), np.dtype(np.int64))
    return np.clip(whole, low, high).astype(dtype_of(q.storage_type))


def _read(values: Sequence[Array], kinds: Sequence[Any]) -> list[Array]:
    found = [(value, quantization(kind)) for value, kind in zip(values, kinds, strict=True)]
    return [value if q is None else dequantized(value, q) for value, q in found]


def _written(values: Sequence[Array], kinds: Sequence[Any]) -> list[Array]:
    found = [(value, quantization(kind)) for value, kind in zip(values, kinds, strict=True)]
    return [value if q is None else quantized(value, q) for value, q in found]


@semantics(*COMPUTING, stored=True)
def dequantize_compute_quantize(*args: Array, call: Call) -> list[Array]:
    on_numbers = with_types(call.op, expressed_type)
    interpreter = Interpreter(call.weights, process=call.process)
    interpreter.lifted = True  # in the body of a reduction the arrays may be whole
    results = interpreter.evaluate(on_numbers, _read(args, call.op.operand_types))
    return _written(results, call.op.result_types)


@semantics("stablehlo.uniform_quantize")
def uniform_quantize(x: Array, *, call: Call) -> list[Array]:
    return _written(_read([x], call.op.operand_types), call.op.result_types)


@semantics("stablehlo.uniform_dequantize")
def uniform_dequantize(x: Array, *, call: Call) -> list[Array]:
    return _read([x], call.op.operand_types)


@semantics("stablehlo.iota", "stablehlo.dynamic_iota", stored=True)
def quantized_iota(*shape: Array, iota_dimension: int, result: Spec, call: Call) -> list[Array]:
    q = quantization(call.op.result_types[0])
    assert q is not None
    spec = Spec(result.shape, dtype_of(q.expressed_type))
    numbers = iota(*shape, iota_dimension=iota_dimension, result=spec, call=call)
    return _written([numbers], call.op.result_types)
