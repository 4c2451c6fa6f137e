"""`linalg-narrow-values`: what a kernel asks for at one place along a dimension is computed there, and nowhere else.

Before, where of 128 rows the first one is asked for:
    %s = linalg.generic {indexing_maps = [(d0, d1) -> (d0, d1), (d0, d1) -> (d0)], ["parallel", "reduction"]}
        ins(%x : tensor<128x256xf32>) outs(%zero : tensor<128xf32>) ... -> tensor<128xf32>
    %y = linalg.generic {indexing_maps = [(d0) -> (0, d0), (d0) -> (0), (d0) -> (d0)], ["parallel"]}
        ins(%x, %s : tensor<128x256xf32>, tensor<128xf32>) outs(%to : tensor<256xf32>) ...
After:
    %s = linalg.generic {indexing_maps = [(d0, d1) -> (0, d1), (d0, d1) -> (d0)], ["parallel", "reduction"]}
        ins(%x : tensor<128x256xf32>) outs(%zero : tensor<1xf32>) ... -> tensor<1xf32>
    %y = ...

As of a norm before the one token that a head takes. Readers come before what they read, so that a chain is narrow from
its end to its begin.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.walking import all_ops
from ...dialects.linalg import FillOp, GenericOp, IndexOp
from ...dialects.tensor import EmptyOp

KERNEL = "lamina.kernel"


@dataclass(frozen=True)
class NarrowValues(ModulePass):
    """Kernels compute what they ask for of a value, where that is one place along a dimension."""

    name = "linalg-narrow-values"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.ops:
            if isinstance(kernel, FuncOp) and KERNEL in kernel.attributes and kernel.body.blocks:
                for inner in reversed(list(kernel.body.block.ops)):
                    while isinstance(inner, GenericOp) and (asked := _asked(inner)) is not None:
                        inner = _narrow(inner, *asked)


def _asked(op: GenericOp) -> tuple[int, int] | None:
    """A dimension of what an op computes, and the only place along it that is read."""
    if len(op.results) != 1 or _made_for(op) is None or any(isinstance(inner, IndexOp) for inner in all_ops(op)):
        return None
    [result], map = op.results, op.maps[-1]
    assert isinstance(result.type, TensorType)
    uses = list(result.uses)
    if not uses or any(not isinstance(use.operation, GenericOp) for use in uses):
        return None
    if any(isinstance(use.operation, GenericOp) and use.index >= len(use.operation.inputs) for use in uses):
        return None
    for k, size in enumerate(result.type.get_shape()):
        places = {use.operation.maps[use.index].results[k] for use in uses if isinstance(use.operation, GenericOp)}
        loop, place = map.results[k], next(iter(places))
        if len(places) > 1 or not isinstance(place, AffineConstantExpr) or not isinstance(loop, AffineDimExpr):
            continue
        if size > 1 and sum(loop.position in expr.used_dims() for expr in map.results) == 1:
            return k, place.value
    return None


def _made_for(op: GenericOp) -> tuple[EmptyOp, FillOp | None] | None:
    """What makes the place of a result, for this op alone."""
    place = op.outputs[0].owner
    fill = place if isinstance(place, FillOp) else None
    empty = fill.outputs[0].owner if fill is not None else place
    values = [op.outputs[0], *(fill.outputs if fill is not None else [])]
    alone = all(len(list(value.uses)) == 1 for value in values)
    return (empty, fill) if isinstance(empty, EmptyOp) and alone else None


def _narrow(op: GenericOp, k: int, place: int) -> GenericOp:
    """The op for one place along a dimension of its result."""
    made = _made_for(op)
    assert made is not None
    empty, fill = made
    [result], last = op.results, op.maps[-1]
    loop = last.results[k]
    assert isinstance(result.type, TensorType) and isinstance(loop, AffineDimExpr)
    shape = [1 if d == k else n for d, n in enumerate(result.type.get_shape())]
    there = EmptyOp([], TensorType(result.type.element_type, shape))
    before: list[Operation] = [there]
    to: SSAValue = there.tensor
    if fill is not None:
        before.append(FillOp(fill.value, to))
        to = before[-1].results[0]
    dims: list[AffineExpr] = [AffineExpr.dimension(d) for d in range(last.num_dims)]
    dims[loop.position] = AffineExpr.constant(place)
    maps = [_replaced(map, dims) for map in op.maps[:-1]]
    new = GenericOp.of(list(op.inputs), [to], [*maps, last], op.iterators, op.detach_region(op.regions[0]))
    for each in before:
        each.location = empty.location
    new.location = op.location
    Rewriter.insert_op([*before, new], InsertPoint.before(op))
    for use in list(result.uses):
        _read_first(use.operation, use.index, k)
    new.results[0].name_hint = result.name_hint
    result.replace_all_uses_with(new.results[0])
    for old in (op, fill, empty):
        if old is not None:
            old.detach()
            old.erase()
    return new


def _read_first(reader: Operation, index: int, k: int) -> None:
    """Lets an op read the first place along a dimension of an operand."""
    assert isinstance(reader, GenericOp)
    maps = list(reader.maps)
    results = tuple(AffineExpr.constant(0) if d == k else expr for d, expr in enumerate(maps[index].results))
    maps[index] = AffineMap(maps[index].num_dims, 0, results)
    reader.indexing_maps = ArrayAttr([AffineMapAttr(map) for map in maps])


def _replaced(map: AffineMap, dims: list[AffineExpr]) -> AffineMap:
    """A map of loops one of which stands still."""
    results = tuple(expr.replace_dims_and_symbols(dims, []).simplify(map.num_dims, 0) for expr in map.results)
    return AffineMap(map.num_dims, 0, results)
