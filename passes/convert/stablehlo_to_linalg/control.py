"""Control flow and structure: regions become those of scf, barriers and dimension sizes dissolve."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IndexType
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineMap

from ....compiler.conversion import RuleBuilder
from ....dialects import stablehlo as hlo
from ....dialects.stablehlo.counted_loops import counted
from ....dialects.tensor import ExtractOp
from .rules import (
    PARALLEL,
    RULES,
    Scalars,
    d,
    elementwise,
    empty,
    generic,
    result_type,
    scalar_constant,
    signless,
    tensor_type,
)
from .scalars import SCALARS, scalar_region


@RULES.lowers(func.CallOp)
def call(op: func.CallOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Sequence[SSAValue]:
    return b(func.CallOp(op.callee, operands, [signless(t) for t in op.result_types])).results


@RULES.lowers(hlo.CompositeOp)
def composite(op: hlo.CompositeOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Sequence[SSAValue]:
    return b(func.CallOp(op.decomposition, operands, [signless(t) for t in op.result_types])).results


@RULES.lowers(hlo.OptimizationBarrierOp)
def barrier(op: hlo.OptimizationBarrierOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Sequence[SSAValue]:
    return operands


@RULES.lowers(hlo.GetDimensionSizeOp)
def dimension_size(op: hlo.GetDimensionSizeOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    type_ = result_type(op)
    size = tensor_type(operands[0]).get_shape()[op.dimension.value.data]
    if not 0 <= size < 1 << 31:
        raise b.fail(f"dimension {op.dimension.value.data} of {operands[0].type} has no size that is known and an i32")
    return b(arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(type_, [size]), type_)).result  # pyright: ignore


@RULES.lowers(hlo.MapOp)
def map_(op: hlo.MapOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    block = op.regions[0].block
    return elementwise(b, operands, result_type(op), lambda s, args: scalar_region(s, block, args[:-1]))


@RULES.lowers(hlo.BatchNormInferenceOp)
def batch_norm(op: hlo.BatchNormInferenceOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    """scale * (x - mean) / sqrt(variance + epsilon) + offset, the parameters read per feature."""
    type_ = result_type(op)
    rank, feature = type_.get_num_dims(), op.feature_index.value.data
    epsilon = op.epsilon.value.data

    def body(s: Scalars, args: Sequence[SSAValue]) -> Sequence[SSAValue]:
        x, scale, offset, mean, variance, _ = args
        spread = s(arith.AddfOp(variance, s.constant(epsilon, x.type)))
        deviation = SCALARS[hlo.SqrtOp](op, s, [spread])
        normal = s(arith.DivfOp(s(arith.SubfOp(x, mean)), deviation))
        return [s(arith.AddfOp(s(arith.MulfOp(normal, scale)), offset))]

    identity, per_feature = AffineMap.identity(rank), AffineMap(rank, 0, (d(feature),))
    maps = [identity, *[per_feature] * 4, identity]
    return generic(b, operands, [empty(b, type_)], maps, [PARALLEL] * rank, body)[0]


@RULES.lowers(hlo.ReturnOp)
def return_(op: hlo.ReturnOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    parent = op.parent_op()
    block = op.parent_block()
    # The condition of a while is converted, and taken off the op, before its body.
    if isinstance(parent, hlo.WhileOp) and len(parent.regions) == 2:
        assert block is not None
        condition = b(ExtractOp(operands[0], [], tensor_type(operands[0]).element_type)).result
        b(scf.ConditionOp(condition, *block.args))
    else:
        b(scf.YieldOp(*operands))


@RULES.lowers(hlo.WhileOp)
def while_(op: hlo.WhileOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Sequence[SSAValue]:
    """An scf.for where the number of iterations is known: nothing has to be read to know whether it goes on."""
    if (loop := counted(op)) is not None:
        op.detach_region(op.cond).erase()
        body = b.convert_region(op.regions[0])
        body.block.insert_arg(IndexType(), 0).name_hint = "iteration"
        low, high, step = (b(scalar_constant(number, IndexType())).result for number in (0, loop.trips, 1))
        return b(scf.ForOp(low, high, step, operands, body)).results
    before, after = (b.convert_region(region) for region in list(op.regions))
    return b(scf.WhileOp(operands, [signless(t) for t in op.result_types], before, after)).results


@RULES.lowers(hlo.IfOp)
def if_(op: hlo.IfOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Sequence[SSAValue]:
    condition = b(ExtractOp(operands[0], [], tensor_type(operands[0]).element_type)).result
    true, false = (b.convert_region(region) for region in list(op.regions))
    return b(scf.IfOp(condition, [signless(t) for t in op.result_types], true, false)).results


@RULES.lowers(hlo.CaseOp)
def case(op: hlo.CaseOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Sequence[SSAValue]:
    """Nested ifs; an index outside the branches takes the last."""
    index = b(ExtractOp(operands[0], [], tensor_type(operands[0]).element_type)).result
    types = [signless(t) for t in op.result_types]
    *branches, last = [b.convert_region(region) for region in list(op.regions)]
    if not branches:
        block = last.block
        results: Sequence[SSAValue] = ()
        for inner in list(block.ops):
            inner.detach()
            if isinstance(inner, scf.YieldOp):
                results = list(inner.operands)
                inner.erase()
            else:
                b(inner)
        return results
    otherwise = last
    for i, branch in reversed(list(enumerate(branches))):
        region, s = _region()
        chosen = s(arith.CmpiOp(index, s.constant(i, index.type), "eq"))
        nested = scf.IfOp(chosen, types, branch, otherwise)
        if i == 0:
            for inner in list(region.block.ops):
                inner.detach()
                b(inner)
            return b(nested).results
        region.block.add_ops([nested, scf.YieldOp(*nested.results)])
        otherwise = region
    raise AssertionError("unreachable")


def _region() -> tuple[Region, Scalars]:
    block = Block()
    return Region(block), Scalars(block)
