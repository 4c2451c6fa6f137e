"""`gpu-split-reductions`: what few threads would combine becomes parts that many combine, and the parts' combination.

Before:
    %y = linalg.generic {... (c, i, j) -> (i, j, c), (c, i, j) -> (c)} ins(%x : tensor<56x56x96xf32>) outs(%0) { addf }
After:
    %p = linalg.generic {... (s, c, i, j) -> (s, i, j, c), (s, c, i, j) -> (s, c)}
        ins(%x' : tensor<56x1x56x96xf32>) outs(%zero : tensor<56x96xf32>) { addf }      // a kernel of its own
    %y = linalg.generic {... (c, s) -> (s, c), (c, s) -> (c)} ins(%p) outs(%0) { addf }

A GPU is busy with ten thousands of threads. One that adds up a column waits for memory at every step, and a row is one
block's; where results are few, their columns or rows are cut along the first dimension that is combined, so that there
are enough of them (MLIR's `splitReduction`). Parts are combined always in the same order. What reads the result beside
its own operand, as a softmax of columns does, stays together, since it shares what was read; and products have parts
by their schedule. It goes before linalg-outline-kernels.
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
from ..convert.linalg_to_tiles.rows import combiners
from ..linalg.grouping import ALONE
from ..linalg.reshapes import element_type, expand, tensor_shape
from .combining import neutral

LARGE = 1 << 17  # points from which on a second kernel is worth it
LONG_ROW = 1 << 15  # neighbours that one block combines in registers
LONG_COLUMN = 256  # steps that one thread takes one after the other
BLOCKS = 264  # two for each multiprocessor of the largest GPU
THREADS = 1 << 17  # a thousand for each
ROW, COLUMN = 1 << 12, 16  # what a part has at least
STEPS = 64  # that each of fewer threads takes: parts are written, and read again
NEAR = 4  # ops between a reduction and what may read its operand again


@dataclass(frozen=True)
class SplitReductions(ModulePass):
    """Reductions with few results become parts, and the parts' combination."""

    name = "gpu-split-reductions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for generic in [inner for inner in all_ops(op) if isinstance(inner, GenericOp)]:
            if (parts := _parts(generic)) is not None:
                _split(generic, *parts)


def _parts(op: GenericOp) -> tuple[int, int] | None:
    """The loop of a reduction to be cut, and into how many parts; None where it stays whole."""
    if "reduction" not in op.iterators or len(op.res) != 1 or combiners(op) is None or not _plain(op):
        return None
    found = match_contraction(op)
    if found is not None and (found.m or found.n):
        return None
    ranges = loop_ranges(op)
    combined = [d for d, kind in enumerate(op.iterators) if kind == "reduction" and ranges[d] > 1]
    points, length = prod(ranges), prod(ranges[d] for d in combined)
    if not combined or points < LARGE:
        return None
    results, cut = points // length, combined[0]
    if _inner(op) in combined:
        few, most, enough, least = length > LONG_ROW and results < BLOCKS, LONG_ROW // 2, BLOCKS, ROW
    else:
        few, most, least = length > LONG_COLUMN and results < THREADS, length, COLUMN
        enough = min(THREADS, points // STEPS)
    if not few or (length <= LONG_ROW and _reads_again(op)):
        return None
    counts = [n for n in range(2, ranges[cut] + 1) if ranges[cut] % n == 0 and length // n >= least]
    fits = [n for n in counts if results * n >= enough and length // n <= most]
    return (cut, fits[0] if fits else counts[-1]) if counts else None


def _plain(op: GenericOp) -> bool:
    """Whether subscripts are loops, results begin as a constant, and no number of a loop is asked for."""
    loops = all(isinstance(e, AffineDimExpr) for map_ in op.maps for e in map_.results)
    inside = any(isinstance(inner, IndexOp | ExtractOp) for inner in op.body.walk())
    return loops and not inside and isinstance(op.outputs[0].owner, FillOp)


def _inner(op: GenericOp) -> int:
    """The loop that the last dimension of the largest operand goes along."""
    largest = max(range(len(op.inputs)), key=lambda i: prod(tensor_shape(op.inputs[i])))
    ranges = loop_ranges(op)
    dims = [e.position for e in op.maps[largest].results if isinstance(e, AffineDimExpr) and ranges[e.position] > 1]
    return dims[-1] if dims else -1


def _reads_again(op: GenericOp) -> bool:
    """Whether what is computed of the result soon reads an operand of the reduction, too."""
    reach: list[Operation] = [op]
    for _ in range(NEAR):
        reach = [use.operation for each in reach for value in each.results for use in value.uses]
        if any(value in op.inputs for each in reach for value in each.operands):
            return True
    return False


def _split(op: GenericOp, cut: int, count: int) -> None:
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
