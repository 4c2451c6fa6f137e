"""Elementwise ops: each becomes one parallel generic with the op's scalar form as its body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, DenseResourceAttr, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from ....compiler.conversion import RuleBuilder
from ....dialects import stablehlo as hlo
from ....dialects.arith.marks import FLUSHES, STRICT
from ....dialects.linalg import IndexOp
from .rules import (
    PARALLEL,
    RULES,
    Scalars,
    constant_expr,
    d,
    elementwise,
    empty,
    generic,
    result_type,
    tensor_type,
)
from .scalars import SCALARS


@RULES.lowers(*(op for op in SCALARS if op is not hlo.ConstantOp))
def lower_elementwise(op: Operation, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    rule = SCALARS[type(op)]

    def body(s: Scalars, args: Sequence[SSAValue]) -> list[SSAValue]:
        value = rule(op, s, args[:-1])
        if isinstance(value.owner, Operation):
            value.owner.attributes |= {mark: op.attributes[mark] for mark in (STRICT, FLUSHES) if mark in op.attributes}
        return [value]

    return elementwise(b, operands, result_type(op), body)


@RULES.lowers(hlo.ConstantOp)
def lower_constant(op: hlo.ConstantOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    type_ = result_type(op)
    value = cast(Any, op.value)
    if isinstance(value, DenseResourceAttr):
        value = DenseResourceAttr.from_params(value.resource_handle, type_)
    elif isinstance(value, DenseIntOrFPElementsAttr) and value.type != type_:
        value = DenseIntOrFPElementsAttr(cast(Any, type_), value.data)
    return b(arith.ConstantOp(value, type_)).result


@RULES.lowers(hlo.BitcastConvertOp)
def lower_bitcast(op: hlo.BitcastConvertOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    """Of a change of width the last dimension tells the pieces, the lowest bits first."""
    type_ = result_type(op)
    source, target = tensor_type(operands[0]).element_type, type_.element_type
    if source == target:
        return operands[0]
    old, new = (IntegerType(_bits(t)) for t in (source, target))
    rank = type_.get_num_dims()

    def bits(s: Scalars, x: SSAValue) -> SSAValue:
        return x if x.type == old else s(arith.BitcastOp(x, old))

    def value(s: Scalars, x: SSAValue) -> Sequence[SSAValue]:
        return [x if x.type == target else s(arith.BitcastOp(x, target))]

    def piece(s: Scalars, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        count = s(arith.IndexCastOp(s(IndexOp(rank - 1)), old))
        moved = s(arith.ShRUIOp(bits(s, args[0]), s(arith.MuliOp(count, s.constant(_bits(target), old)))))
        return value(s, s(arith.TruncIOp(moved, new)))

    def whole(s: Scalars, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        total = s.constant(0, new)
        for i, arg in enumerate(args[:-1]):
            moved = s(arith.ShLIOp(s(arith.ExtUIOp(bits(s, arg), new)), s.constant(i * _bits(source), new)))
            total = s(arith.OrIOp(total, moved))
        return value(s, total)

    if old == new:
        return elementwise(b, operands, type_, lambda s, args: value(s, args[0]))
    all_dims = tuple(d(i) for i in range(rank))
    if _bits(source) > _bits(target):
        inputs, maps, body = list(operands), [AffineMap(rank, 0, all_dims[:-1])], piece
    else:
        count = _bits(target) // _bits(source)
        inputs, body = list(operands) * count, whole
        maps = [AffineMap(rank, 0, (*all_dims, constant_expr(i))) for i in range(count)]
    maps.append(AffineMap.identity(rank))
    return generic(b, inputs, [empty(b, type_)], maps, [PARALLEL] * rank, body)[0]


def _bits(type_: Attribute) -> int:
    return type_.width.data if isinstance(type_, IntegerType) else cast(AnyFloat, type_).bitwidth
