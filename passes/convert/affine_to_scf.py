"""Affine loops, conditions and accesses become scf, arith and memref.

before:
    affine.for %i = 0 to 64 step 8 {
      %x = affine.load %m[%i + 3] : memref<128xf32>
    }
after:
    scf.for %i = %c0 to %c64 step %c8 {
      %j = arith.addi %i, %c3 : index
      %x = memref.load %m[%j] : memref<128xf32>
    }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import affine, arith, memref, scf, vector
from xdsl.dialects.builtin import BoolAttr, ModuleOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstraintKind, AffineMap
from xdsl.passes import ModulePass

from ...compiler.conversion import RuleBuilder, Rules, convert
from ...dialects.affine import NONTEMPORAL, MaxOp
from ...dialects.llvm.text import UNROLL
from ...dialects.scf import ParallelOp
from .affine_expressions import apply_map, constant_index, expand

RULES = Rules("convert-affine-to-scf")
ALIGNMENT = "alignment"  # bytes that a vector access says it is aligned to


def _fold(b: RuleBuilder, values: Sequence[SSAValue], op: type[arith.MinSIOp] | type[arith.MaxSIOp]) -> SSAValue:
    result = values[0]
    for value in values[1:]:
        result = b(op(result, value)).result
    return result


@RULES.lowers(affine.ForOp)
def lower_for(op: affine.ForOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Sequence[SSAValue]:
    lower, upper = op.lowerBoundMap.data, op.upperBoundMap.data
    first = lower.num_dims + lower.num_symbols
    second = first + upper.num_dims + upper.num_symbols
    start = _fold(b, apply_map(b, lower, operands[:first], op.lowerBoundOperands), arith.MaxSIOp)
    stop = _fold(b, apply_map(b, upper, operands[first:second], op.upperBoundOperands), arith.MinSIOp)
    step = constant_index(b, op.step.value.data)
    body = b.convert_region(op.body)
    loop = scf.ForOp(start, stop, step, operands[second:], body)
    if UNROLL in op.attributes:
        loop.attributes[UNROLL] = op.attributes[UNROLL]
    return b(loop).results


@RULES.lowers(affine.ParallelOp)
def lower_parallel(op: affine.ParallelOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    if op.results:
        raise b.fail("a parallel loop with reductions has no lowering", "make the reduction an affine.for")
    lower, upper = op.lowerBoundsMap.data, op.upperBoundsMap.data
    split = lower.num_dims + lower.num_symbols

    def bounds(map: AffineMap, sizes: Sequence[int], part: slice, pick: type) -> list[SSAValue]:
        values = iter(apply_map(b, map, operands[part], op.operands[part]))
        return [_fold(b, [next(values) for _ in range(size)], pick) for size in sizes]

    low_sizes, high_sizes = ([int(n) for n in g.get_values()] for g in (op.lowerBoundsGroups, op.upperBoundsGroups))
    starts = bounds(lower, low_sizes, slice(None, split), arith.MaxSIOp)
    stops = bounds(upper, high_sizes, slice(split, None), arith.MinSIOp)
    steps = [constant_index(b, step.value.data) for step in op.steps]
    loop = b(ParallelOp(starts, stops, steps, b.convert_region(op.body, apart=True)))  # it becomes a function
    loop.attributes |= op.attributes


@RULES.lowers(affine.IfOp)
def lower_if(op: affine.IfOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Sequence[SSAValue]:
    condition: SSAValue | None = None
    zero = constant_index(b, 0)
    for constraint in op.condition.data.constraints:
        difference = constraint.lhs - constraint.rhs
        value = expand(b, difference, op.condition.data.num_dims, operands, op.operands)
        predicate = {"==": "eq", ">=": "sge", "<=": "sle"}[AffineConstraintKind(constraint.kind).value]
        test = b(arith.CmpiOp(value, zero, predicate)).result
        condition = test if condition is None else b(arith.AndIOp(condition, test)).result
    if condition is None:
        raise b.fail("a condition without constraints")
    regions = [b.convert_region(region) for region in (op.then_region, op.else_region)]
    return b(scf.IfOp(condition, list(op.result_types), regions[0], regions[1])).results


@RULES.lowers(affine.YieldOp)
def lower_yield(op: affine.YieldOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    parallel = isinstance(op.parent_op(), affine.ParallelOp)
    b(scf.ReduceOp() if parallel else scf.YieldOp(*operands))


@RULES.lowers(affine.ApplyOp)
def lower_apply(op: affine.ApplyOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return apply_map(b, op.map.data, operands, op.operands)[0]


@RULES.lowers(affine.MinOp)
def lower_min(op: affine.MinOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return _fold(b, apply_map(b, op.map.data, operands, op.operands), arith.MinSIOp)


@RULES.lowers(MaxOp)
def lower_max(op: MaxOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return _fold(b, apply_map(b, op.map.data, operands, op.operands), arith.MaxSIOp)


@RULES.lowers(affine.LoadOp)
def lower_load(op: affine.LoadOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    source, *rest = operands
    return b(memref.LoadOp.get(source, apply_map(b, op.map.data, rest, op.indices))).res


@RULES.lowers(affine.StoreOp)
def lower_store(op: affine.StoreOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    value, target, *rest = operands
    b(memref.StoreOp.get(value, target, apply_map(b, op.map.data, rest, op.indices)))


@RULES.lowers(affine.VectorLoadOp)
def lower_vector_load(op: affine.VectorLoadOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    source, *rest = operands
    indices = apply_map(b, op.map.data, rest, op.indices)
    load = vector.LoadOp.create(operands=[source, *indices], result_types=[op.result.type])
    if ALIGNMENT in op.attributes:
        load.attributes[ALIGNMENT] = op.attributes[ALIGNMENT]
    return b(load).results[0]


@RULES.lowers(affine.VectorStoreOp)
def lower_vector_store(op: affine.VectorStoreOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    value, target, *rest = operands
    indices = apply_map(b, op.map.data, rest, op.indices)
    store = vector.StoreOp.create(operands=[value, target, *indices])
    if NONTEMPORAL in op.attributes:
        store.properties["nontemporal"] = BoolAttr.from_bool(True)
        store.attributes[ALIGNMENT] = op.attributes[NONTEMPORAL]
    if ALIGNMENT in op.attributes:
        store.attributes[ALIGNMENT] = op.attributes[ALIGNMENT]
    b(store)


@dataclass(frozen=True)
class ConvertAffineToScf(ModulePass):
    """Affine loops, conditions and accesses become scf, arith and memref."""

    name = "convert-affine-to-scf"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert(op, RULES, illegal={"affine"})
