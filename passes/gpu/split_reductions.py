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

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir.affine import AffineDimExpr
from xdsl.passes import ModulePass

from ...compiler.walking import all_ops
from ...dialects.linalg import GenericOp
from ...dialects.linalg.views import loop_ranges
from ..linalg.reshapes import tensor_shape
from ..linalg.split_reductions import can_be_split, reads_again, split

LARGE = 1 << 17  # points from which on a second kernel is worth it
LONG_ROW = 1 << 15  # neighbours that one block combines in registers
LONG_COLUMN = 256  # steps that one thread takes one after the other
BLOCKS = 264  # two for each multiprocessor of the largest GPU
THREADS = 1 << 17  # a thousand for each
ROW, COLUMN = 1 << 12, 16  # what a part has at least
STEPS = 64  # that each of fewer threads takes: parts are written, and read again


@dataclass(frozen=True)
class SplitReductions(ModulePass):
    """Reductions with few results become parts, and the parts' combination."""

    name = "gpu-split-reductions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for generic in [inner for inner in all_ops(op) if isinstance(inner, GenericOp)]:
            if (parts := _parts(generic)) is not None:
                split(generic, *parts)


def _parts(op: GenericOp) -> tuple[int, int] | None:
    """The loop of a reduction to be cut, and into how many parts; None where it stays whole."""
    if not can_be_split(op):
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
    if not few or (length <= LONG_ROW and reads_again(op)):
        return None
    counts = [n for n in range(2, ranges[cut] + 1) if ranges[cut] % n == 0 and length // n >= least]
    fits = [n for n in counts if results * n >= enough and length // n <= most]
    return (cut, fits[0] if fits else counts[-1]) if counts else None


def _inner(op: GenericOp) -> int:
    """The loop that the last dimension of the largest operand goes along."""
    largest = max(range(len(op.inputs)), key=lambda i: prod(tensor_shape(op.inputs[i])))
    ranges = loop_ranges(op)
    dims = [e.position for e in op.maps[largest].results if isinstance(e, AffineDimExpr) and ranges[e.position] > 1]
    return dims[-1] if dims else -1
