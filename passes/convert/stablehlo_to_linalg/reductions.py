"""Reductions: over whole dimensions, and over windows (pooling)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import BFloat16Type, Float16Type, TensorType, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ....compiler.conversion import RuleBuilder
from ....dialects import stablehlo as hlo
from .movement import padded
from .rules import (
    PARALLEL,
    REDUCTION,
    RULES,
    Scalars,
    d,
    elementwise,
    empty,
    filled,
    generic,
    result_type,
    scalar_of,
    tensor_type,
)
from .scalars import scalar_region


@RULES.lowers(hlo.ReduceOp)
def reduce(op: hlo.ReduceOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Sequence[SSAValue]:
    count = len(op.results)
    inputs, inits = operands[:count], operands[count:]
    rank = tensor_type(inputs[0]).get_num_dims()
    reduced = set(cast(Any, op.dimensions).get_values())
    kept = tuple(d(i) for i in range(rank) if i not in reduced)
    maps = [AffineMap.identity(rank)] * count + [AffineMap(rank, 0, kept)] * count
    iterators = [REDUCTION if i in reduced else PARALLEL for i in range(rank)]
    types = [result_type(op, i) for i in range(count)]
    scalars = [scalar_of(b, init) for init in inits]
    if narrow := _sums_narrow(op, types):
        inputs, scalars, types = _widened(b, inputs, scalars, types)
    outputs = [filled(b, scalar, type_) for scalar, type_ in zip(scalars, types, strict=True)]
    results = generic(b, inputs, outputs, maps, iterators, _combining(op, count))
    return _rounded(b, results, result_type(op)) if narrow else results


def _sums_narrow(op: hlo.ReduceOp | hlo.ReduceWindowOp, types: Sequence[TensorType[Attribute]]) -> bool:
    """Whether floats of fewer than 32 bits are added or multiplied up: that is done in f32 and rounded once."""
    first = op.regions[0].block.first_op
    plain = first is not None and first.next_op is op.regions[0].block.last_op
    sums = plain and isinstance(first, hlo.AddOp | hlo.MultiplyOp)
    element = types[0].element_type
    return sums and len(types) == 1 and isinstance(element, Float16Type | BFloat16Type)


def _widened(
    b: RuleBuilder, inputs: Sequence[SSAValue], inits: Sequence[SSAValue], types: Sequence[TensorType[Attribute]]
) -> tuple[list[SSAValue], list[SSAValue], list[TensorType[Attribute]]]:
    wide = [TensorType[Attribute](f32, tensor_type(v).get_shape()) for v in inputs]
    values = [
        elementwise(b, [v], type_, lambda s, args: [s(arith.ExtFOp(args[0], f32))])
        for v, type_ in zip(inputs, wide, strict=True)
    ]
    starts: list[SSAValue] = [b(arith.ExtFOp(init, f32)).result for init in inits]
    return values, starts, [TensorType(f32, type_.get_shape()) for type_ in types]


def _rounded(b: RuleBuilder, values: Sequence[SSAValue], type_: TensorType[Attribute]) -> list[SSAValue]:
    element = cast(Any, type_.element_type)
    return [elementwise(b, [v], type_, lambda s, args: [s(arith.TruncFOp(args[0], element))]) for v in values]


def _combining(op: hlo.ReduceOp | hlo.ReduceWindowOp, count: int) -> Any:
    """The op's region on (accumulators, elements), for a generic whose body gets the elements first."""
    block = op.regions[0].block

    def body(s: Scalars, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return scalar_region(s, block, [*args[-count:], *args[:count]])

    return body


@RULES.lowers(hlo.ReduceWindowOp)
def reduce_window(op: hlo.ReduceWindowOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Sequence[SSAValue]:
    """Inputs are padded with the initial values first; windows of one element take no loop.

    The extent of the window loops comes from a tensor that is never read, as in MLIR's pooling ops.
    """
    count = len(op.results)
    inputs, inits = operands[:count], operands[count:]
    shape = tensor_type(inputs[0]).get_shape()
    rank = len(shape)
    ones = (1,) * rank
    sizes: Sequence[int] = cast(Any, op.window_dimensions).get_values()
    strides = _ints(op.window_strides, ones)
    base = _ints(op.base_dilations, ones)
    dilations = _ints(op.window_dilations, ones)
    pairs = [(0, 0)] * rank if op.padding is None else _pairs(op.padding)
    low, high = [p[0] for p in pairs], [p[1] for p in pairs]
    scalars = [scalar_of(b, init) for init in inits]
    types = [result_type(op, i) for i in range(count)]
    if _sums_narrow(op, types):
        inputs, scalars, types = _widened(b, inputs, scalars, types)
    if max((*strides, *base, *dilations), default=1) == 1 and (along := _scanned(op, shape, sizes, pairs)) is not None:
        found = _scan(op, inputs[0], scalars[0], types[0], along, b, backwards=pairs[along][0] == 0)
        return [found] if types[0] == result_type(op) else _rounded(b, [found], result_type(op))
    inputs = [padded(b, v, scalar, low, high, [x - 1 for x in base]) for v, scalar in zip(inputs, scalars, strict=True)]
    outputs = [filled(b, scalar, type_) for scalar, type_ in zip(scalars, types, strict=True)]
    wide = [i for i in range(rank) if sizes[i] > 1]
    loops = rank + len(wide)
    exprs: list[AffineExpr] = []
    for i in range(rank):
        expr: AffineExpr = d(i) * strides[i] if strides[i] > 1 else d(i)
        if i in wide:
            tap: AffineExpr = d(rank + wide.index(i))
            expr = expr + (tap * dilations[i] if dilations[i] > 1 else tap)
        exprs.append(expr)
    window: list[SSAValue] = []
    window_maps: list[AffineMap] = []
    if wide:
        element = tensor_type(inputs[0]).element_type
        window = [empty(b, TensorType(element, [sizes[i] for i in wide]))]
        window_maps = [AffineMap(loops, 0, tuple(d(rank + i) for i in range(len(wide))))]
    out_map = AffineMap(loops, 0, tuple(d(i) for i in range(rank)))
    maps = [AffineMap(loops, 0, tuple(exprs))] * count + window_maps + [out_map] * count
    iterators = [PARALLEL] * rank + [REDUCTION] * len(wide)
    results = generic(b, [*inputs, *window], outputs, maps, iterators, _combining(op, count))
    return results if types[0] == result_type(op) else _rounded(b, results, result_type(op))


def _ints(attr: Any, default: Sequence[int]) -> Sequence[int]:
    return default if attr is None else list(attr.get_values())


def _pairs(attr: Any) -> list[tuple[int, int]]:
    flat = [int(v) for v in attr.get_values()]
    return list(zip(flat[::2], flat[1::2], strict=True))


def _scanned(
    op: hlo.ReduceWindowOp, shape: Sequence[int], sizes: Sequence[int], pairs: Sequence[tuple[int, int]]
) -> int | None:
    """The dimension whose every element is combined with all before it (or all after it), if that is what windows do.

    The initial value, which windows over the edge meet several times, must change nothing.
    """
    wide = [i for i, size in enumerate(sizes) if size != 1 or pairs[i] != (0, 0)]
    if len(wide) != 1 or len(op.results) != 1 or sizes[wide[0]] != shape[wide[0]]:
        return None
    rest = shape[wide[0]] - 1
    return wide[0] if pairs[wide[0]] in ((rest, 0), (0, rest)) and _starts_neutral(op) else None


def _starts_neutral(op: hlo.ReduceWindowOp) -> bool:
    """Whether the body is a sum from 0 or a product from 1."""
    first = op.regions[0].block.first_op
    init = op.operands[-1].owner
    if first is None or first.next_op is not op.regions[0].block.last_op or not isinstance(init, hlo.ConstantOp):
        return False
    if {*first.operands} != {*op.regions[0].block.args}:
        return False
    [value] = cast(Any, init.value).get_values()[:1]
    return (isinstance(first, hlo.AddOp) and value == 0) or (isinstance(first, hlo.MultiplyOp) and value == 1)


def _scan(
    op: hlo.ReduceWindowOp,
    value: SSAValue,
    init: SSAValue,
    to: TensorType[Attribute],
    along: int,
    b: RuleBuilder,
    *,
    backwards: bool,
) -> SSAValue:
    """A reduction that also writes down what it has come to at every step.

    The extent of its loop comes from a tensor that is never read.
    """
    type_ = tensor_type(value)
    shape = type_.get_shape()
    rank = len(shape)
    place: AffineExpr = d(along) * -1 + (shape[along] - 1) if backwards else d(along)
    here = AffineMap(rank, 0, tuple(place if i == along else d(i) for i in range(rank)))
    total = AffineMap(rank, 0, tuple(d(i) for i in range(rank) if i != along))
    extent = empty(b, TensorType(type_.element_type, [shape[along]]))
    running = filled(b, init, TensorType(type_.element_type, [n for i, n in enumerate(shape) if i != along]))
    iterators = [REDUCTION if i == along else PARALLEL for i in range(rank)]
    block = op.regions[0].block

    def body(s: Scalars, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        [combined] = scalar_region(s, block, [args[2], args[0]])
        return [combined, combined]

    outputs = [running, empty(b, to)]
    return generic(b, [value, extent], outputs, [here, AffineMap(rank, 0, (d(along),)), total, here], iterators, body)[
        1
    ]
