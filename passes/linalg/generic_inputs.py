"""Surgery on the inputs of a linalg.generic: taking a producer's body in, replacing an input by a scalar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    TensorType,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from ...compiler.locations import fuse
from ...compiler.weights import WeightStore
from ...dialects.arith.semantics import attribute_array
from ...dialects.linalg import FillOp, GenericOp, IndexOp, YieldOp
from ...dialects.linalg.views import linear_form
from ...dialects.tensor import CollapseShapeOp, ExpandShapeOp


def set_inputs(op: GenericOp, inputs: Sequence[SSAValue], maps: Sequence[AffineMap]) -> None:
    """Changes the inputs and their maps; the body's arguments are the caller's business."""
    outputs, out_maps = list(op.outputs), list(op.maps[len(op.inputs) :])
    op.operands = [*inputs, *outputs]
    op.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [len(inputs), len(outputs)])
    op.properties["indexing_maps"] = ArrayAttr([AffineMapAttr(m) for m in (*maps, *out_maps)])


def inline_producer(consumer: GenericOp, index: int, producer: GenericOp) -> None:
    """Evaluates `producer` inside `consumer` where this reads its result as input `index`."""
    read = consumer.maps[index]
    body = consumer.body.block
    inputs, maps = list(consumer.inputs), list(consumer.maps[: len(consumer.inputs)])
    argument = body.args[index]
    own = list(body.args[: len(inputs)])
    values: dict[SSAValue, SSAValue] = {}
    for value, map_, theirs in zip(producer.inputs, producer.maps, producer.body.block.args, strict=False):
        composed = map_.compose(read)
        same = next((i for i, v in enumerate(inputs) if i != index and v is value and maps[i] == composed), None)
        if same is None:
            same = len(inputs)
            inputs.append(value)
            maps.append(composed)
            own.append(body.insert_arg(theirs.type, len(own)))
        values[theirs] = own[same]
    del inputs[index], maps[index]
    anchor = body.first_op
    assert anchor is not None
    for op in producer.body.block.ops:
        if op.next_op is None:
            argument.replace_all_uses_with(values.get(op.operands[0], op.operands[0]))
            break
        if isinstance(op, IndexOp):
            values[op.result] = _subscript(anchor, read.results[op.dim.value.data])
            continue
        copy = op.clone(values)
        _locate(copy, op)
        body.insert_op_before(copy, anchor)
        values.update(zip(op.results, copy.results, strict=True))
    body.erase_arg(argument)
    set_inputs(consumer, inputs, maps)
    _add_location(consumer, producer)


def _locate(copy: Operation, original: Operation) -> None:
    for new, old in zip(copy.walk(), original.walk(), strict=True):
        new.location = old.location


def _add_location(consumer: GenericOp, producer: Operation) -> None:
    consumer.location = fuse([producer.location, consumer.location])


def _subscript(anchor: Operation, expr: AffineExpr) -> SSAValue:
    """The value of an affine expression over the loops, computed before `anchor`."""
    block = anchor.parent_block()
    assert block is not None

    def emit(op: Operation) -> SSAValue:
        op.location = anchor.location
        block.insert_op_before(op, anchor)
        return op.results[0]

    def constant(value: int) -> SSAValue:
        return emit(arith.ConstantOp(IntegerAttr(value, IndexType())))

    if isinstance(expr, AffineDimExpr):
        return emit(IndexOp(expr.position))
    if isinstance(expr, AffineConstantExpr):
        return constant(expr.value)
    form = linear_form(expr)
    if form is None:
        raise NotImplementedError(f"subscript {expr}")
    coefficients, offset = form
    total = constant(offset)
    for dim, factor in coefficients.items():
        total = emit(arith.AddiOp(total, emit(arith.MuliOp(emit(IndexOp(dim)), constant(factor)))))
    return total


def uniform_scalar(value: SSAValue, weights: WeightStore) -> Attribute | None:
    """The element that a constant, or a fill by one, repeats everywhere."""
    owner = value.owner
    if isinstance(owner, FillOp):
        scalar = owner.value.owner
        return scalar.value if isinstance(scalar, arith.ConstantOp) else None
    if not isinstance(owner, arith.ConstantOp) or not isinstance(value.type, TensorType):
        return None
    attr = owner.value
    if isinstance(attr, DenseResourceAttr):
        if any(weights.get(attr.resource_handle.data).strides):
            return None
    elif not isinstance(attr, DenseIntOrFPElementsAttr):
        return None
    array = attribute_array(attr, weights)
    if not array.size:
        return None
    first = array[(0,) * array.ndim]
    if isinstance(attr, DenseIntOrFPElementsAttr) and array.size > 1:
        flat = array.reshape(-1)
        if flat.tobytes() != np.full_like(flat, first).tobytes():
            return None
    element = value.type.element_type
    if array.dtype.kind in "iub":
        return IntegerAttr(int(first), cast(Any, element))
    return FloatAttr(float(first), cast(Any, element))


def inline_scalar(op: GenericOp, index: int, scalar: Attribute | SSAValue) -> None:
    """Replaces input `index` by a constant of the body, or by a tensor of one element without dimensions."""
    body = op.body.block
    inputs, maps = list(op.inputs), list(op.maps[: len(op.inputs)])
    if isinstance(scalar, SSAValue):
        inputs[index] = scalar
        maps[index] = AffineMap(op.maps[index].num_dims, 0, ())
    else:
        constant = arith.ConstantOp(cast(Any, scalar))
        constant.location = op.location
        anchor = body.first_op
        assert anchor is not None
        body.insert_op_before(constant, anchor)
        body.args[index].replace_all_uses_with(constant.result)
        body.erase_arg(body.args[index])
        del inputs[index], maps[index]
    set_inputs(op, inputs, maps)


def replace_movement(consumer: GenericOp, index: int, producer: GenericOp) -> None:
    """Lets `consumer` read what `producer` only moves, through the composed map."""
    inputs, maps = list(consumer.inputs), list(consumer.maps[: len(consumer.inputs)])
    maps[index] = producer.maps[0].compose(maps[index])
    inputs[index] = producer.inputs[0]
    set_inputs(consumer, inputs, maps)
    _add_location(consumer, producer)


def covers(consumer: GenericOp, index: int, new_maps: list[AffineMap]) -> bool:
    """Whether every loop still has an operand whose extent says how far it runs."""
    maps = [m for i, m in enumerate(consumer.maps) if i != index] + new_maps
    plain = {e.position for m in maps for e in m.results if isinstance(e, AffineDimExpr)}
    return len(plain) == len(consumer.iterators)


def look_through_unit_reshape(op: GenericOp, index: int, reshape: CollapseShapeOp | ExpandShapeOp) -> bool:
    """Reads what a reshape reads, where it only adds or drops dimensions of one element; whether it did."""
    source, result = (cast("TensorType", v.type).get_shape() for v in (reshape.src, reshape.result))
    if [n for n in source if n != 1] != [n for n in result if n != 1]:
        return False
    read = op.maps[index]
    wide = iter([e for e, n in zip(read.results, result, strict=True) if n != 1])
    exprs = [next(wide) if n != 1 else AffineConstantExpr(0) for n in source]
    map_ = AffineMap(read.num_dims, 0, tuple(exprs))
    if not covers(op, index, [map_]):
        return False
    inputs, maps = list(op.inputs), list(op.maps[: len(op.inputs)])
    inputs[index], maps[index] = reshape.src, map_
    set_inputs(op, inputs, maps)
    if not reshape.result.uses:
        reshape.detach()
        reshape.erase()
    return True


def merge_equal_inputs(op: GenericOp) -> None:
    """Keeps one of the inputs that read the same value through the same map."""
    kept: list[int] = []
    inputs, maps, body = list(op.inputs), list(op.maps[: len(op.inputs)]), op.body.block
    arguments = list(body.args)
    for i, (value, map_) in enumerate(zip(inputs, maps, strict=True)):
        same = next((j for j in kept if inputs[j] is value and maps[j] == map_), None)
        if same is None:
            kept.append(i)
        else:
            arguments[i].replace_all_uses_with(arguments[same])
            body.erase_arg(arguments[i])
    if len(kept) < len(inputs):
        set_inputs(op, [inputs[i] for i in kept], [maps[i] for i in kept])


def is_pure_movement(op: GenericOp) -> bool:
    """Yields its only input unchanged."""
    body = op.body.block
    terminator = body.last_op
    return (
        len(op.inputs) == 1
        and isinstance(terminator, YieldOp)
        and body.first_op is terminator
        and terminator.operands[0] is body.args[0]
    )
