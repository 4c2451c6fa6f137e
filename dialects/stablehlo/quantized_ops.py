"""Which ops take quantised tensors, what the specification asks of these, and what the ops do with them.

Most compute with the numbers that the stored integers stand for, and quantise what comes out; some move the integers;
the others (calls, loops, reductions) leave both to their bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from .attributes import ints
from .quant import Quantization, baseline_element, check_tensor, expressed_type, quantization, stored_type
from .shapes import fail


def _names(text: str) -> frozenset[str]:
    return frozenset(f"stablehlo.{name}" for name in text.split())


COMPUTING = _names("""
abs add atan2 batch_norm_grad batch_norm_inference batch_norm_training cbrt ceil cholesky clamp compare convolution
cosine divide dot dot_general dynamic_conv exponential exponential_minus_one floor is_finite log log_plus_one logistic
maximum minimum multiply negate power reduce_precision remainder round_nearest_afz round_nearest_even rsqrt select
sign sine sqrt subtract tan tanh triangular_solve
""")
"""Ops that mean: dequantise, compute, quantise."""

MOVING = _names("""
all_gather all_to_all bitcast_convert broadcast broadcast_in_dim collective_broadcast collective_permute concatenate
dynamic_broadcast_in_dim dynamic_gather dynamic_pad dynamic_reshape dynamic_slice dynamic_update_slice gather pad
real_dynamic_slice reshape reverse set_dimension_size slice transpose
""")
"""Ops on the stored integers."""

_CARRYING = _names("""
all_reduce async_done async_start case collective_reduce composite constant custom_call dynamic_iota get_dimension_size
get_tuple_element if infeed iota map optimization_barrier outfeed recv reduce reduce_scatter reduce_window return
scatter select_and_scatter send sort tuple uniform_dequantize uniform_quantize while
""")
_PER_AXIS = _names("""
add async_done async_start bitcast_convert broadcast_in_dim case composite constant convolution custom_call dot_general
dynamic_broadcast_in_dim dynamic_conv dynamic_reshape get_dimension_size get_tuple_element if infeed outfeed recv
reshape return send transpose tuple uniform_dequantize uniform_quantize while
""")


def with_types(
    op: Operation, change: Callable[[TensorType[Attribute]], Attribute], operands: Sequence[SSAValue] | None = None
) -> Operation:
    """`op` with the tensor types of its results changed, on `operands` or on values of changed types. No regions."""

    def changed(kind: Attribute) -> Attribute:
        return change(kind) if isinstance(kind, TensorType) else kind

    if operands is None:
        operands = Block(arg_types=[changed(value.type) for value in op.operands]).args
    return type(op).create(
        operands=operands,
        result_types=[changed(result.type) for result in op.results],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
    )


def verify_quantized(op: Operation, own: Callable[[Any], None]) -> None:
    """The constraints on an op with quantised operands or results; `own` checks those that hold for all types."""
    tensors = [cast("TensorType[Attribute]", v.type) for v in (*op.operands, *op.results) if quantization(v.type)]
    for kind in tensors:
        check_tensor(kind)
        if op.name not in COMPUTING | MOVING | _CARRYING:
            fail(f"takes no quantized tensors, got {kind}", "I1")
        if op.name not in _PER_AXIS and _axis(kind) is not None:
            fail(f"takes tensors with one scale, got {kind}", "I1")
    if op.name in COMPUTING:
        (_ON_SCALES.get(op.name) or _same_baseline)(op)
        with_types(op, expressed_type).verify_()
    elif op.name in MOVING:
        (_ON_SCALES.get(op.name) or _same_elements)(op)
        with_types(op, _storage if op.name == "stablehlo.bitcast_convert" else expressed_type).verify_()
    else:
        own(op)


def _storage(kind: TensorType[Attribute]) -> Attribute:
    return stored_type(kind)


def _axis(kind: Attribute) -> int | None:
    q = quantization(kind)
    return None if q is None else q.quantization_dimension


def _elements(op: Operation) -> list[Attribute]:
    """The quantised element types among operands and results."""
    kinds = [v.type for v in (*op.operands, *op.results) if quantization(v.type)]
    return [cast("TensorType[Attribute]", kind).element_type for kind in kinds]


def _same_baseline(op: Operation) -> None:
    _all_quantized(op)
    first, *others = _elements(op)
    for other in others:
        if baseline_element(other) != baseline_element(first):
            fail(f"operands and results may differ in scales and zero points only, got {first} and {other}", "C1")


def _all_quantized(op: Operation) -> None:
    """All numbers are quantised, or none: not so the predicate of `select` and the result of comparisons."""
    values = [*op.operands, *op.results]
    if op.name == "stablehlo.select":
        del values[0]
    elif op.name in ("stablehlo.compare", "stablehlo.is_finite"):
        values.pop()
    for value in values:
        if quantization(value.type) is None:
            fail(f"operands and results must all be quantized, got {value.type}", "C1")


def _same_elements(op: Operation) -> None:
    first, *others = _elements(op)
    for other in others:
        if other != first:
            fail(f"operands and results must have the same quantized element type, got {first} and {other}", "C1")


def _anything(op: Operation) -> None:
    """Bits are bits."""


def _pair(op: Operation) -> tuple[Quantization, Quantization]:
    """How the operand and the result of an op that moves elements are quantised: both, in one storage type."""
    before, after = quantization(op.operands[0].type), quantization(op.results[0].type)
    if (
        before is None
        or after is None
        or (before.quantization_dimension is None) != (after.quantization_dimension is None)
    ):
        fail(f"operand and result must be quantized alike, got {op.operands[0].type} and {op.results[0].type}", "C1")
    if (before.storage_type, before.expressed_type, before.limits) != (
        after.storage_type,
        after.expressed_type,
        after.limits,
    ):
        fail(f"operand and result must be quantized alike, got {op.operands[0].type} and {op.results[0].type}", "C1")
    return before, after


def _same_scales(op: Operation, before: Quantization, after: Quantization, constraint: str = "C1") -> None:
    if (before.scales, before.zero_points) != (after.scales, after.zero_points):
        kinds = f"{op.operands[0].type} and {op.results[0].type}"
        fail(f"operand and result must have the same scales and zero points, got {kinds}", constraint)


def _sizes(value: SSAValue) -> tuple[int, ...]:
    return cast("TensorType[Attribute]", value.type).get_shape()


def _broadcast(op: Operation) -> None:
    before, after = _pair(op)
    axis, target = before.quantization_dimension, after.quantization_dimension
    if axis is None:
        _same_scales(op, before, after)
        return
    dims = ints(cast(Any, op.properties["broadcast_dimensions"]))
    if axis >= len(dims) or dims[axis] != target:
        fail(f"quantization dimension {axis} of operand is not {target} of the result by broadcast_dimensions", "C6")
    if len(before.scales) == 1 != len(after.scales):
        if set(zip(after.scales, after.zero_points, strict=True)) != {(before.scales[0], before.zero_points[0])}:
            fail("scales and zero points of the result must all be the operand's", "C6")
    else:
        _same_scales(op, before, after, "C6")


def _reshape(op: Operation) -> None:
    before, after = _pair(op)
    _same_scales(op, before, after)
    axis, target = before.quantization_dimension, after.quantization_dimension
    if axis is None or target is None:
        return
    shape, wide = _sizes(op.operands[0]), _sizes(op.results[0])
    if min(*shape, *wide) < 0:
        return
    if prod(shape[:axis]) != prod(wide[:target]) or shape[axis] != wide[target]:
        fail(f"quantization dimension {axis} of operand is not {target} of the result", "C3")


def _transpose(op: Operation) -> None:
    before, after = _pair(op)
    _same_scales(op, before, after)
    permutation = ints(cast(Any, op.properties["permutation"]))
    axis, target = before.quantization_dimension, after.quantization_dimension
    if target is not None and (target >= len(permutation) or permutation[target] != axis):
        fail(f"quantization dimension {axis} of operand is not {target} of the result by permutation", "C4")


def _add(op: Operation) -> None:
    _all_quantized(op)
    parts = [cast(Quantization, quantization(v.type)) for v in (*op.operands, *op.results)]
    if len({q.storage_type for q in parts}) > 1:
        fail("operands and result must have the same storage type", "C3")
    if len({q.expressed_type for q in parts}) > 1:
        fail("operands and result must have the same expressed type", "C4")
    *sides, result = (q.quantization_dimension for q in parts)
    if all(axis is None for axis in sides) != (result is None):
        fail("the result must have scales per index where an operand has", "C5")
    for axis, constraint in zip(sides, ("C6", "C7"), strict=True):
        if axis is not None and axis != result:
            fail(f"quantization dimension {axis} of an operand must be {result}, that of the result", constraint)


def _contraction(op: Operation, names: Sequence[str]) -> tuple[Quantization, Quantization | None]:
    """The rules that dot_general and convolution share, with their numbers; the right side and the result."""
    both, storage, expressed, granularity, hybrid = names
    lhs, rhs, result = (quantization(v.type) for v in (*op.operands[:2], op.results[0]))
    if rhs is None or (lhs is None) != (result is None):
        fail("rhs must be quantized, and lhs and result both or neither", both)
    if lhs is None or result is None:
        kinds = {cast("TensorType[Attribute]", v.type).element_type for v in (op.operands[0], op.results[0])}
        if kinds != {rhs.expressed_type}:
            fail(f"lhs and result must have elements of {rhs.expressed_type}, which rhs expresses", hybrid)
        return rhs, None
    if lhs.quantization_dimension is not None:
        fail(f"lhs must have one scale, got {op.operands[0].type}", "I1")
    if lhs.storage_type != rhs.storage_type:
        fail("lhs and rhs must have the same storage type", storage)
    if not lhs.expressed_type == rhs.expressed_type == result.expressed_type:
        fail("lhs, rhs and result must have the same expressed type", expressed)
    if rhs.quantization_dimension is None and result.quantization_dimension is not None:
        fail("the result must have one scale where rhs has", granularity)
    return rhs, result


def _dot(op: Operation) -> None:
    rhs, _ = _contraction(op, ("C14", "C17", "C18", "C19", "C20"))
    if any(rhs.zero_points):
        fail(f"the zero points of rhs must be 0, got {op.operands[1].type}", "C15")
    contracted = cast(Any, op.properties["dot_dimension_numbers"]).data.rhs_contracting_dimensions
    if rhs.quantization_dimension in contracted:
        fail(f"quantization dimension {rhs.quantization_dimension} of rhs must not be contracted", "C16")


def _convolution(op: Operation) -> None:
    rhs, result = _contraction(op, ("C28", "C31", "C32", "C33", "C34"))
    dims = cast(Any, op.properties["dimension_numbers"]).data
    for q, expected, what in (
        (rhs, dims.kernel_output_feature_dimension, "C29"),
        (result, dims.output_feature_dimension, "C30"),
    ):
        if q is not None and q.quantization_dimension not in (None, expected):
            fail(f"quantization dimension must be the output feature dimension {expected}", what)


_ON_SCALES: dict[str, Callable[[Operation], None]] = {
    "stablehlo.add": _add,
    "stablehlo.bitcast_convert": _anything,
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.convolution": _convolution,
    "stablehlo.dot_general": _dot,
    "stablehlo.dynamic_broadcast_in_dim": _broadcast,
    "stablehlo.dynamic_conv": _convolution,
    "stablehlo.dynamic_reshape": _reshape,
    "stablehlo.reshape": _reshape,
    "stablehlo.transpose": _transpose,
}
