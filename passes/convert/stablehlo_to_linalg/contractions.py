"""Matrix products and convolutions: one generic of multiply and add each, over named groups of loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, IntegerType, TensorType, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ....compiler.conversion import RuleBuilder
from ....dialects import stablehlo as hlo
from .conversions import convert_scalar
from .movement import flipped, padded, reshaped
from .rules import (
    PARALLEL,
    REDUCTION,
    RULES,
    Scalars,
    constant_expr,
    d,
    elementwise,
    filled,
    generic,
    is_unsigned,
    result_type,
    scalar_constant,
    tensor_type,
)

IMAGE = 2  # dimensions of space


def _accumulator(element: Attribute) -> Attribute:
    """Floats narrower than 32 bits add up in f32; everything else in the type of the result."""
    return f32 if isinstance(element, AnyFloat) and element.bitwidth < 32 else element


def _contract(
    b: RuleBuilder,
    op: hlo.DotGeneralOp | hlo.ConvolutionOp,
    lhs: SSAValue,
    rhs: SSAValue,
    type_: TensorType[Attribute],
    maps: Sequence[AffineMap],
    iterators: Sequence[str],
) -> SSAValue:
    """The sum of products in the accumulator's type, then converted to `type_` where that is narrower."""
    element = type_.element_type
    wide = _accumulator(element)
    is_float, is_bool = isinstance(wide, AnyFloat), isinstance(wide, IntegerType) and wide.width.data == 1
    add, multiply = (
        (arith.AddfOp, arith.MulfOp)
        if is_float
        else (arith.OrIOp, arith.AndIOp)
        if is_bool
        else (arith.AddiOp, arith.MuliOp)
    )

    def body(s: Scalars, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        x, y = (a if a.type == wide else convert_scalar(s, a, is_unsigned(op, i), wide) for i, a in enumerate(args[:2]))
        return [s(add(args[2], s(multiply(x, y))))]

    zero = b(scalar_constant(0, wide)).result
    start = filled(b, zero, TensorType(wide, type_.get_shape()))
    total = generic(b, [lhs, rhs], [start], maps, iterators, body)[0]
    if wide == element:
        return total
    return elementwise(b, [total], type_, lambda s, args: [convert_scalar(s, args[0], False, element)])


@RULES.lowers(hlo.DotGeneralOp)
def dot_general(op: hlo.DotGeneralOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    """Loops: batch, then the free dimensions of lhs, then those of rhs, then the contracted ones."""
    lhs, rhs = operands
    numbers = op.dot_dimension_numbers.data
    ranks = [tensor_type(v).get_num_dims() for v in operands]
    batching = (numbers.lhs_batching_dimensions, numbers.rhs_batching_dimensions)
    contracting = (numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions)
    free = [[i for i in range(r) if i not in (*batching[s], *contracting[s])] for s, r in enumerate(ranks)]
    parallel = len(batching[0]) + len(free[0]) + len(free[1])
    loops = parallel + len(contracting[0])
    maps: list[AffineMap] = []
    for side, first_free in ((0, len(batching[0])), (1, len(batching[0]) + len(free[0]))):
        exprs: list[AffineExpr] = [d(0)] * ranks[side]
        for i, dim in enumerate(batching[side]):
            exprs[dim] = d(i)
        for i, dim in enumerate(free[side]):
            exprs[dim] = d(first_free + i)
        for i, dim in enumerate(contracting[side]):
            exprs[dim] = d(parallel + i)
        maps.append(AffineMap(loops, 0, tuple(exprs)))
    maps.append(AffineMap(loops, 0, tuple(d(i) for i in range(parallel))))
    iterators = [PARALLEL] * parallel + [REDUCTION] * len(contracting[0])
    return _contract(b, op, lhs, rhs, result_type(op), maps, iterators)


@RULES.lowers(hlo.ConvolutionOp)
def convolution(op: hlo.ConvolutionOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    """Loops: the dimensions of the result in its own order, then window taps, then input features.

    The input is padded beforehand; edges that negative padding cuts off are not read. Groups become a dimension of
    their own through free reshapes, left out where a group has one feature in and one out (depthwise). Taps of one
    element and single features take no loop, but for depthwise windows of an image, which have two.
    """
    lhs, rhs = operands
    n = op.dimension_numbers.data
    rank = len(n.input_spatial_dimensions)
    ones = [1] * rank
    strides, taps_step = _ints(op.window_strides, ones), _ints(op.rhs_dilation, ones)
    reversed_taps = {
        n.kernel_spatial_dimensions[i] for i, flag in enumerate(_ints(op.window_reversal, [0] * rank)) if flag
    }
    rhs = flipped(b, rhs, reversed_taps) if reversed_taps else rhs
    lhs, starts = _padded_input(b, op, lhs, strides)
    groups, batch_groups = op.feature_group_count.value.data, op.batch_group_count.value.data
    type_ = result_type(op)
    rhs_shape = tensor_type(rhs).get_shape()
    taps = [rhs_shape[i] for i in n.kernel_spatial_dimensions]
    inner = rhs_shape[n.kernel_input_feature_dimension]
    outer = rhs_shape[n.kernel_output_feature_dimension]
    split = max(groups, batch_groups)
    depthwise = split > 1 and outer == split and (inner == 1 or batch_groups > 1)

    # Loop numbers. The result's dimensions come first, in order, its feature split in (group, feature).
    out_rank = rank + 2
    grouped = split > 1 and not depthwise
    feature_at = n.output_feature_dimension
    loop_of = {i: i + (1 if grouped and i > feature_at else 0) for i in range(out_rank)}
    group = feature_at if split > 1 else None
    feature = feature_at + 1 if grouped else None if depthwise else feature_at
    loops = out_rank + (1 if grouped else 0)
    parallel = loops
    tap_loops: dict[int, int] = {}
    for i, size in enumerate(taps):
        if size > 1 or (depthwise and rank == IMAGE and max(taps) > 1):
            tap_loops[i] = loops
            loops += 1
    channel = None
    if inner > 1 or loops == parallel:
        channel = loops
        loops += 1

    def at(loop: int | None) -> AffineExpr:
        return constant_expr(0) if loop is None else d(loop)

    lhs_exprs: list[AffineExpr] = [constant_expr(0)] * (rank + 2)
    rhs_exprs: list[AffineExpr] = [constant_expr(0)] * (rank + 2)
    lhs_exprs[n.input_batch_dimension] = d(loop_of[n.output_batch_dimension])
    lhs_exprs[n.input_feature_dimension] = at(channel)
    rhs_exprs[n.kernel_input_feature_dimension] = at(channel)
    rhs_exprs[n.kernel_output_feature_dimension] = at(feature)
    for i in range(rank):
        place: AffineExpr = d(loop_of[n.output_spatial_dimensions[i]])
        place = place * strides[i] if strides[i] > 1 else place
        if i in tap_loops:
            tap: AffineExpr = d(tap_loops[i])
            place = place + (tap * taps_step[i] if taps_step[i] > 1 else tap)
            rhs_exprs[n.kernel_spatial_dimensions[i]] = d(tap_loops[i])
        place = place + starts[i] if starts[i] else place
        lhs_exprs[n.input_spatial_dimensions[i]] = place

    out_shape = list(type_.get_shape())
    if group is not None:
        lhs_split = n.input_feature_dimension if groups > 1 else n.input_batch_dimension
        lhs = _split_dimension(b, lhs, lhs_split, split)
        lhs_exprs.insert(lhs_split, d(group))
        if depthwise and groups > 1:  # one input feature per group: the group is the feature
            lhs = _drop_dimension(b, lhs, lhs_split + 1)
            del lhs_exprs[lhs_split + 1]
        rhs_split = n.kernel_output_feature_dimension
        rhs = _split_dimension(b, rhs, rhs_split, split)
        rhs_exprs.insert(rhs_split, d(group))
        if depthwise:  # one output feature per group
            rhs = _drop_dimension(b, rhs, rhs_split + 1)
            del rhs_exprs[rhs_split + 1]
            if channel is None:
                one_feature = n.kernel_input_feature_dimension
                rhs = _drop_dimension(b, rhs, one_feature)
                del rhs_exprs[one_feature]
        else:
            out_shape[feature_at : feature_at + 1] = [split, outer // split]
    maps = [
        AffineMap(loops, 0, tuple(lhs_exprs)),
        AffineMap(loops, 0, tuple(rhs_exprs)),
        AffineMap(loops, 0, tuple(d(i) for i in range(parallel))),
    ]
    iterators = [PARALLEL] * parallel + [REDUCTION] * (loops - parallel)
    full = _contract(b, op, lhs, rhs, TensorType(type_.element_type, out_shape), maps, iterators)
    return reshaped(b, full, type_.get_shape())


def _padded_input(
    b: RuleBuilder, op: hlo.ConvolutionOp, lhs: SSAValue, strides: Sequence[int]
) -> tuple[SSAValue, list[int]]:
    """The input with zeros around it, and where in each dimension its windows begin.

    Where no loop alone is a subscript, an edge that is cut off need not be: no window reaches it. It is of depthwise
    windows and those of 3 x 3, which have passes of their own that read images whole.
    """
    n = op.dimension_numbers.data
    rank = len(n.input_spatial_dimensions)
    low, high, interior = ([0] * (rank + 2) for _ in range(3))
    starts = [0] * rank
    flat = [0] * (2 * rank) if op.padding is None else [int(v) for v in cast(Any, op.padding).get_values()]
    places, kernel = tensor_type(op.result).get_shape(), tensor_type(op.rhs).get_shape()
    taps = [kernel[i] for i in n.kernel_spatial_dimensions]
    whole = taps == [3, 3] or 1 < op.feature_group_count.value.data == kernel[n.kernel_output_feature_dimension]
    for i, (dim, gap) in enumerate(zip(n.input_spatial_dimensions, _ints(op.lhs_dilation, [1] * rank), strict=True)):
        before, after = flat[2 * i], flat[2 * i + 1]
        alone = max(strides[i], taps[i]) == 1 and before >= 0
        if gap == 1 and not alone and not whole and places[n.output_spatial_dimensions[i]] > 0:
            starts[i] = max(-before, 0)
            before, after = max(before, 0), max(after, 0)
        low[dim], high[dim], interior[dim] = before, after, gap - 1
    if not any((*low, *high, *interior)):
        return lhs, starts
    zero = b(scalar_constant(0, tensor_type(lhs).element_type)).result
    return padded(b, lhs, zero, low, high, interior), starts


def _split_dimension(b: RuleBuilder, value: SSAValue, dim: int, count: int) -> SSAValue:
    shape = list(tensor_type(value).get_shape())
    return reshaped(b, value, [*shape[:dim], count, shape[dim] // count, *shape[dim + 1 :]])


def _drop_dimension(b: RuleBuilder, value: SSAValue, dim: int) -> SSAValue:
    shape = list(tensor_type(value).get_shape())
    return reshaped(b, value, [*shape[:dim], *shape[dim + 1 :]])


def _ints(attr: Any, default: Sequence[int]) -> Sequence[int]:
    return default if attr is None else [int(v) for v in attr.get_values()]
