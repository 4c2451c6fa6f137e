"""linalg-split-reductions: what has few results becomes parts that threads share out, and the parts' combination.

Before:
    %y = linalg.generic {... (i, j) -> (i, j), (i, j) -> ()} ins(%x : tensor<4096x4096xf32>) outs(%0) { addf }
After:
    %p = linalg.generic {... (s, i, j) -> (s, i, j), (s, i, j) -> (s)}
        ins(%x' : tensor<16x256x4096xf32>) outs(%zero : tensor<16xf32>) { addf }        // a kernel of its own
    %y = linalg.generic {... (s) -> (s), (s) -> ()} ins(%p) outs(%0) { addf }

The first dimension that is combined is cut (MLIR's `splitReduction`), into as many parts whoever computes them: the
result is the same for any number of threads. What reads the result beside its own operand stays together, since it
shares what was read; and products have parts by their schedule. It goes before linalg-outline-kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.walking import all_ops
from ...dialects.linalg import FillOp, GenericOp, IndexOp, YieldOp
from ...dialects.linalg.contraction import match_contraction
from ...dialects.linalg.views import loop_ranges
from ...dialects.tensor import EmptyOp, ExtractOp
from ..gpu.combining import neutral
from .combiners import combiners
from .grouping import ALONE
from .reshapes import element_type, expand, tensor_shape

LARGE = 1 << 18  # points from which on a second kernel is worth it
FEW, MOST = 16, 256  # parts
LEAST = 1 << 12  # points of a part
NEAR = 4  # ops between a reduction and what may read its operand again


@dataclass(frozen=True)
class SplitReductions(ModulePass):
    """Reductions with few results become parts, and the parts' combination."""

    name = "linalg-split-reductions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for generic in [inner for inner in all_ops(op) if isinstance(inner, GenericOp)]:
            if (parts := _parts(generic)) is not None:
                split(generic, *parts)


def _parts(op: GenericOp) -> tuple[int, int] | None:
    """The loop of a reduction to be cut, and into how many parts; None where it stays whole."""
    if not can_be_split(op) or reads_again(op):
        return None
    ranges = loop_ranges(op)
    combined = [d for d, kind in enumerate(op.iterators) if kind == "reduction" and ranges[d] > 1]
    points, length = prod(ranges), prod(ranges[d] for d in combined)
    if not combined or points < LARGE or points // length >= FEW:
        return None
    size = ranges[combined[0]]
    counts = (n for n in range(FEW, min(size, MOST) + 1) if size % n == 0 and length // n >= LEAST)
    count = next(counts, None)
    return None if count is None else (combined[0], count)


def can_be_split(op: GenericOp) -> bool:
    """Whether an op combines numbers in any order, and is no product."""
    if "reduction" not in op.iterators or len(op.res) != 1 or combiners(op) is None or not _plain(op):
        return False
    found = match_contraction(op)
    return found is None or not (found.m or found.n)


def _plain(op: GenericOp) -> bool:
    """Whether subscripts are loops, results begin as a constant, and no number of a loop is asked for."""
    loops = all(isinstance(e, AffineDimExpr) for map_ in op.maps for e in map_.results)
    inside = any(isinstance(inner, IndexOp | ExtractOp) for inner in op.body.walk())
    return loops and not inside and isinstance(op.outputs[0].owner, FillOp)


def reads_again(op: GenericOp) -> bool:
    """Whether what is computed of the result soon reads an operand of the reduction, too."""
    reach: list[Operation] = [op]
    for _ in range(NEAR):
        reach = [use.operation for each in reach for value in each.results for use in value.uses]
        if any(value in op.inputs for each in reach for value in each.operands):
            return True
    return False


def split(op: GenericOp, cut: int, count: int) -> None:
    """Puts the reduction of parts in front of `op`, which then combines these."""
    [(kind, combiner, _)] = combiners(op) or []
    rank = len(op.iterators)
    inputs: list[SSAValue] = []
    maps: list[AffineMap] = []
    for value, map_ in zip(op.inputs, op.maps, strict=False):
        groups: list[list[int]] = []
        exprs: list[AffineExpr] = []
        for size, expr in zip(tensor_shape(value), map_.results, strict=True):
            along = isinstance(expr, AffineDimExpr) and expr.position == cut
            groups.append([count, size // count] if along else [size])
            exprs += [AffineExpr.dimension(0), _next(expr)] if along else [_next(expr)]
        inputs.append(expand(value, groups, op) if len(exprs) > len(groups) else value)
        maps.append(AffineMap(rank + 1, 0, tuple(exprs)))
    result = op.res[0]
    shape = [count, *tensor_shape(result)]
    b = Builder(InsertPoint.before(op))
    empty = b.insert(EmptyOp([], TensorType(element_type(result), shape)))
    nothing = neutral(b, kind, element_type(result))
    start = b.insert(FillOp(nothing, empty.tensor))
    maps.append(AffineMap(rank + 1, 0, (AffineExpr.dimension(0), *map(_next, op.maps[-1].results))))
    parts = GenericOp.of(inputs, [start.res[0]], maps, ["parallel", *op.iterators], op.body.clone())
    parts.attributes[ALONE] = UnitAttr()
    b.insert(parts)
    for made in (empty, nothing.owner, start, parts):
        assert isinstance(made, Operation)
        made.location = op.location
    _combine(op, parts.res[0], combiner)


def _next(loop: AffineExpr) -> AffineExpr:
    """A loop where there is one more in front."""
    assert isinstance(loop, AffineDimExpr)
    return AffineExpr.dimension(loop.position + 1)


def _combine(op: GenericOp, parts: SSAValue, combiner: Operation) -> None:
    """Puts the combination of the parts, along their first dimension, in the place of a reduction."""
    rank = len(tensor_shape(op.res[0]))
    loops = [AffineExpr.dimension(d) for d in range(rank)]
    maps = [AffineMap(rank + 1, 0, (AffineExpr.dimension(rank), *loops)), AffineMap(rank + 1, 0, tuple(loops))]
    element = element_type(op.res[0])
    block = Block(arg_types=[element, element])
    made: Operation = type(combiner).create(
        operands=[block.args[1], block.args[0]], result_types=[element], properties=combiner.properties.copy()
    )
    made.location = combiner.location
    block.add_ops([made, YieldOp(made.results[0])])
    whole = GenericOp.of([parts], list(op.outputs), maps, ["parallel"] * rank + ["reduction"], Region(block))
    whole.location = op.location
    whole.res[0].name_hint = op.res[0].name_hint
    Rewriter.replace_op(op, whole)
