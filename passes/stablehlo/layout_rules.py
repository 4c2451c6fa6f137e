"""Transposes move down: f(transpose(x)) becomes transpose(f'(x)), for every f that does not care about order.

A second operand must come in the new order for free: a constant, a broadcast, an iota, a transpose that cancels,
or a value of which only dimensions of size 1 move.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from ...dialects.stablehlo import (
    CHLO,
    BatchNormInferenceOp,
    BitcastConvertOp,
    BroadcastInDimOp,
    ConcatenateOp,
    ConstantOp,
    ConvolutionOp,
    DynamicSliceOp,
    DynamicUpdateSliceOp,
    GatherOp,
    IotaOp,
    PadOp,
    ReduceOp,
    ReduceWindowOp,
    ReverseOp,
    SliceOp,
    TransposeOp,
)
from ...dialects.stablehlo.attributes import ints
from ...dialects.stablehlo.canonical.arithmetic import ELEMENTWISE
from ...dialects.stablehlo.canonical.movement import moves_only_units
from ...dialects.stablehlo.canonical.rules import (
    Builder,
    Replacement,
    RuleTable,
    defining,
    element_type,
    inverse,
    is_identity,
    shape_of,
)
from ...dialects.stablehlo.canonical.windows import convolution_like
from ...dialects.stablehlo.conv_dimensions import with_channels_last

moves_transposes = RuleTable()


@moves_transposes(ConvolutionOp)
def channels_last(op: ConvolutionOp, b: Builder) -> Replacement:
    """The convolution in [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f] between transposes of operands and result."""
    d = op.dims
    n = len(d.input_spatial_dimensions)
    last = with_channels_last(n)
    if n == 0 or d == last:
        return None
    lhs = b.transpose(op.lhs, [d.input_batch_dimension, *d.input_spatial_dimensions, d.input_feature_dimension])
    to_kernel = [
        *d.kernel_spatial_dimensions,
        d.kernel_input_feature_dimension,
        d.kernel_output_feature_dimension,
    ]
    rhs = in_order(op.rhs, to_kernel, b)
    result = b.value(convolution_like(op, lhs, rhs or b.transpose(op.rhs, to_kernel), dimension_numbers=last))
    back = [d.output_batch_dimension, *d.output_spatial_dimensions, d.output_feature_dimension]
    return b.transpose(result, inverse(back))


def is_free(value: SSAValue, permutation: Sequence[int]) -> bool:
    """Whether `value` can be had with its dimensions in another order without moving its elements."""
    if is_identity(permutation) or moves_only_units(shape_of(value), permutation):
        return True
    owner = value.owner
    if isinstance(owner, TransposeOp):
        first = ints(owner.permutation)
        return is_free(owner.operand, [first[p] for p in permutation])
    return isinstance(owner, ConstantOp | BroadcastInDimOp | IotaOp)


def in_order(value: SSAValue, permutation: Sequence[int], b: Builder) -> SSAValue | None:
    """`value` transposed, where that is free; else None, and nothing is inserted."""
    if not is_free(value, permutation):
        return None
    shape = shape_of(value)
    new = [shape[p] for p in permutation]
    if is_identity(permutation) or moves_only_units(shape, permutation):
        return b.reshape(value, new)
    owner = value.owner
    match owner:
        case TransposeOp():
            first = ints(owner.permutation)
            return in_order(owner.operand, [first[p] for p in permutation], b)
        case BroadcastInDimOp():
            order = list(permutation)
            return b.broadcast(owner.operand, new, [order.index(d) for d in ints(owner.broadcast_dimensions)])
        case IotaOp():
            dimension = list(permutation).index(owner.iota_dimension.value.data)
            return b.value(IotaOp(TensorType(element_type(value), new), dimension))
        case _:
            array = b.constant_of(value)
            return None if array is None else b.constant(np.transpose(array, permutation), "transposed")


def common_order(values: Sequence[SSAValue]) -> tuple[int, ...] | None:
    """The permutation of a transpose among `values` that all the others can undo for free."""
    for value in values:
        transpose = defining(value, TransposeOp)
        if transpose is None:
            continue
        permutation = ints(transpose.permutation)
        undo = inverse(permutation)
        if all(is_free(other, undo) for other in values if len(shape_of(other)) == len(permutation)):
            return permutation
    return None


def _order_of_repeats(values: Sequence[SSAValue]) -> tuple[int, ...] | None:
    """The permutation that takes channels from the end, where it alone turns what `values` repeat: images that grow."""
    repeats = [defining(value, BroadcastInDimOp) for value in values]
    rank = len(shape_of(values[0]))
    if rank < 3 or not all(repeats):
        return None
    permutation = (0, rank - 1, *range(1, rank - 1))
    dims = [ints(op.broadcast_dimensions) for op in repeats if op]
    kept = [sorted(each) == list(each) for each in dims]
    undone = [[inverse(permutation).index(d) for d in each] for each in dims]
    return permutation if not all(kept) and all(sorted(each) == each for each in undone) else None


def _undone(values: Sequence[SSAValue], permutation: Sequence[int], b: Builder) -> list[SSAValue]:
    undo = inverse(permutation)
    made = [in_order(v, undo, b) if len(shape_of(v)) == len(undo) else v for v in values]
    return [value for value in made if value is not None]


def _source(value: SSAValue) -> tuple[SSAValue, tuple[int, ...]] | None:
    """(x, p) where `value` is x transposed by p."""
    transpose = defining(value, TransposeOp)
    return (transpose.operand, ints(transpose.permutation)) if transpose else None


def before(values: Sequence[int], permutation: Sequence[int]) -> list[int]:
    """Numbers given per dimension of a transposed value, for the dimensions it had before.

    >>> before([10, 30, 20], (0, 2, 1))
    [10, 20, 30]
    """
    return [values[i] for i in inverse(permutation)]


@moves_transposes(*ELEMENTWISE, *CHLO.operations)
def elementwise(op: Operation, b: Builder) -> Replacement:
    permutation = common_order(op.operands)
    if permutation is None:
        return None
    operands = _undone(op.operands, permutation, b)
    shape = before(shape_of(op.results[0]), permutation)
    return b.transpose(b.like(op, operands, shape), permutation)


@moves_transposes(BitcastConvertOp)
def bits(op: BitcastConvertOp, b: Builder) -> Replacement:
    return elementwise(op, b) if shape_of(op.operand) == shape_of(op.result) else None


@moves_transposes(ConcatenateOp)
def concatenate(op: ConcatenateOp, b: Builder) -> Replacement:
    permutation = common_order(op.inputs) or _order_of_repeats(op.inputs)
    if permutation is None:
        return None
    inputs = _undone(op.inputs, permutation, b)
    joined = b.value(ConcatenateOp(inputs, dimension=permutation[op.dimension.value.data]))
    return b.transpose(joined, permutation)


@moves_transposes(PadOp)
def pad(op: PadOp, b: Builder) -> Replacement:
    source = _source(op.operand)
    if source is None:
        return None
    x, p = source
    padded = PadOp(
        x,
        op.padding_value,
        edge_padding_low=before(ints(op.edge_padding_low), p),
        edge_padding_high=before(ints(op.edge_padding_high), p),
        interior_padding=before(ints(op.interior_padding), p),
    )
    return b.transpose(b.value(padded), p)


@moves_transposes(SliceOp)
def slice_(op: SliceOp, b: Builder) -> Replacement:
    source = _source(op.operand)
    if source is None:
        return None
    x, p = source
    sliced = SliceOp(
        x,
        start_indices=before(ints(op.start_indices), p),
        limit_indices=before(ints(op.limit_indices), p),
        strides=before(ints(op.strides), p),
    )
    return b.transpose(b.value(sliced), p)


@moves_transposes(ReverseOp)
def reverse(op: ReverseOp, b: Builder) -> Replacement:
    source = _source(op.operand)
    if source is None:
        return None
    x, p = source
    return b.transpose(b.value(ReverseOp(x, dimensions=sorted(p[d] for d in ints(op.dimensions)))), p)


@moves_transposes(DynamicSliceOp)
def dynamic_slice(op: DynamicSliceOp, b: Builder) -> Replacement:
    source = _source(op.operand)
    if source is None:
        return None
    x, p = source
    starts = [op.start_indices[i] for i in inverse(p)]
    return b.transpose(b.value(DynamicSliceOp(x, starts, slice_sizes=before(ints(op.slice_sizes), p))), p)


@moves_transposes(DynamicUpdateSliceOp)
def dynamic_update_slice(op: DynamicUpdateSliceOp, b: Builder) -> Replacement:
    p = common_order([op.operand, op.update])
    if p is None:
        return None
    operand, update = _undone([op.operand, op.update], p, b)
    starts = [op.start_indices[i] for i in inverse(p)]
    return b.transpose(b.value(DynamicUpdateSliceOp(operand, update, starts)), p)


@moves_transposes(GatherOp)
def gather_along(op: GatherOp, b: Builder) -> Replacement:
    """Whole slices along one axis, at places in one dimension, which takes the axis' place."""
    source, n = _source(op.operand), op.dimension_numbers.data
    if source is None or len(n.start_index_map) != 1 or n.operand_batching_dims:
        return None
    x, p = source
    (axis,) = n.start_index_map
    shape, sizes = shape_of(op.operand), ints(op.slice_sizes)
    places = shape_of(op.start_indices)
    vectors = 1 if n.index_vector_dim < len(places) else 0
    others = [d for d in range(len(shape)) if d != axis]
    whole = all(sizes[d] == shape[d] for d in others) and sizes[axis] == 1 and tuple(n.collapsed_slice_dims) == (axis,)
    if not whole or len(places) - vectors != 1 or list(n.offset_dims) != others:
        return None
    gathered = GatherOp(
        x,
        op.start_indices,
        offset_dims=[d for d in range(len(shape)) if d != p[axis]],
        collapsed_slice_dims=[p[axis]],
        start_index_map=[p[axis]],
        index_vector_dim=n.index_vector_dim,
        slice_sizes=before(sizes, p),
    )
    return b.transpose(b.value(gathered), p)


@moves_transposes(ReduceOp)
def reduce(op: ReduceOp, b: Builder) -> Replacement:
    p = common_order(op.inputs)
    if p is None:
        return None
    inputs, dims = _undone(op.inputs, p, b), ints(op.dimensions)
    gone = sorted(p[d] for d in dims)
    new = b(ReduceOp(inputs, op.init_values, dimensions=gone, body=op.body.clone()))
    kept = sorted(set(p) - set(gone))
    order = [kept.index(source) for d, source in enumerate(p) if d not in dims]
    return [b.transpose(result, order) for result in new.results]


@moves_transposes(ReduceWindowOp)
def reduce_window(op: ReduceWindowOp, b: Builder) -> Replacement:
    p = common_order(op.inputs)
    if p is None:
        return None
    window, order = op.window(), inverse(p)
    new = b(
        ReduceWindowOp(
            _undone(op.inputs, p, b),
            op.init_values,
            body=op.body.clone(),
            window_dimensions=[window.size[i] for i in order],
            window_strides=[window.strides[i] for i in order],
            base_dilations=[window.base_dilation[i] for i in order],
            window_dilations=[window.dilation[i] for i in order],
            padding=[window.padding[i] for i in order],
        )
    )
    return [b.transpose(result, p) for result in new.results]


@moves_transposes(BatchNormInferenceOp)
def batch_norm(op: BatchNormInferenceOp, b: Builder) -> Replacement:
    source = _source(op.operand)
    if source is None:
        return None
    x, p = source
    feature, epsilon = p[op.feature_index.value.data], op.epsilon.value.data
    parameters = (op.scale, op.offset, op.mean, op.variance)
    return b.transpose(b.value(BatchNormInferenceOp(x, *parameters, epsilon=epsilon, feature_index=feature)), p)
