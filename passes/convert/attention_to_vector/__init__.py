"""convert-attention-to-vector: linalg_ext.attention on buffers becomes loops around register tiles.

before:
    func.func private @kernel(%q: memref<12x128x64xf32>, %k: ..., %v: ..., %o: memref<12x128x64xf32>)
        attributes {lamina.kernel = "attention"} {
      linalg_ext.attention {indexing_maps = ...} ins(%q, %k, %v) outs(%o) { ... }

after:
    affine.parallel (%t) = (0) to (96) {                      // 12 heads, 8 tiles of 16 queries
      ... the queries' elements into %query, a row per element of the depth, queries as lanes
      %highest:2 = affine.for %tile = 0 to 22 iter_args(...) {           // 6 keys a tile
        %scores:12 = affine.for %d = 0 to 64 iter_args(...) { load, broadcast, vector.fma }
        ... the op's body on vectors; store; the highest score of each query
      }
      %totals:2 = affine.for %s = 0 to 128 ... { math.exp {weight} (score - highest); store; add }
      affine.for %column = ... { affine.for %s = 0 to 128 iter_args(...) { load, broadcast, vector.fma } }
      ... over the totals, rows again, into %o

Keys and values are read where they are. Where the scores of all keys do not fit into the first cache, keys come in
blocks, and highest scores, totals and sums are carried from block to block (online softmax). With `causal`, a tile's
loops end with the keys that its last query sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ....compiler.context import lamina_context
from ....compiler.diagnostics import LaminaError
from ....compiler.machine import Machine
from ....compiler.walking import all_ops
from ....dialects.affine.linear_forms import access
from ....dialects.linalg_ext import AttentionOp
from ..op_replacement import replace_op
from .plan import Plan, plans
from .tile import Array, TileWriter
from .transpose import blocks
from .vectors import D, Vectors


@dataclass(frozen=True)
class ConvertAttentionToVector(ModulePass):
    """Writes the loops of every linalg_ext.attention on buffers; `block` overrides how many keys are a block."""

    name = "convert-attention-to-vector"

    block: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = lamina_context(ctx).machine
        for attention in [inner for inner in all_ops(op) if isinstance(inner, AttentionOp) and not inner.results]:
            convert(attention, machine, self.block)


def convert(op: AttentionOp, machine: Machine, block: int | None = None) -> None:
    """Replaces `op` by loops over batches and tiles of queries, which may run at the same time."""
    replace_op(op, lambda point: _convert(op, Vectors(point), machine, block))


def _convert(op: AttentionOp, code: Vectors, machine: Machine, block: int | None) -> None:
    ranges = op.ranges()
    batch, (queries, depth, keys, columns) = prod(ranges[:-4]), ranges[-4:]
    if not min(batch, queries, columns):
        return
    if not keys:
        raise LaminaError("attention to no keys at all", where=op)
    flats = {value: code.flat(value) for value in dict.fromkeys(op.operands)}
    arrays: list[Array] = []
    for value, map_ in zip(op.operands, op.maps, strict=True):
        form = access(value, map_)
        if form is None:
            raise LaminaError("attention on a buffer that is not row-major", where=op)
        arrays.append(Array(flats[value], form))
    forks = machine.cores > 1 and batch * queries * keys * (depth + columns) >= machine.worth_forking
    done = 0
    for count, cut in plans(queries, keys, machine, block):
        first = min(done, queries - cut.queries)  # a tile of its own reaches back over others
        write(code, op, arrays, cut, (batch, first, max(count, cut.queries)), forks)
        done += count


def write(
    code: Vectors, op: AttentionOp, arrays: Sequence[Array], cut: Plan, part: tuple[int, int, int], forks: bool
) -> None:
    """The loops over batches and tiles for a part of the queries: in so many batches, from one on, so many."""
    batch, first, queries = part
    code.lanes = cut.lanes
    tiles, start = blocks(queries, cut.queries)

    def task(number: SSAValue | None) -> None:
        lane = number if batch == 1 else code.index(D(0) % tiles, number) if tiles > 1 else None
        head = None if batch == 1 else code.index(D(0) // tiles, number)
        TileWriter(code, op, arrays, cut).write(head, code.index(start + first, lane))

    if batch * tiles > 1 and forks:
        code.parallel(batch * tiles, task)
    else:
        code.count(batch * tiles, task)
