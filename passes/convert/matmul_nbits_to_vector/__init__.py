"""convert-matmul-nbits-to-vector: linalg_ext.matmul_nbits on buffers becomes loops around register tiles.

before:
    func.func private @kernel(%lhs: memref<1x64x32xi8>, %rhs: memref<352x256x16x4xi8>, ..., %out: memref<1x5632xf32>)
        attributes {lamina.kernel = "matmul_nbits"} {
      linalg_ext.matmul_nbits(%lhs, %rhs, %scales, %starts, %lhs_scales, %out) {bits = 4}

after:
    affine.parallel (%group) = (0) to (44) {                       // 8 panels of 16 columns
      %totals:8 = affine.for %b = 0 to 64 iter_args(...) {         // a block: 4 words of 8 elements in each lane
        ... what each sum begins with
        %w = affine.vector_load %rhs[...] : vector<64xi8>
        %low, %high = the lower and upper four bits of each byte, as bytes
        %s = dot.product %low, %x, %sum {unsigned_lhs} ...         // four neighbours of a row of lhs in every lane
        %totals = fma(%s * %scales[...], %lhs_scales[...], %totals)
      }
      ... stores

Where `lhs` is f32, elements become floats and are multiplied by one element of `lhs`. A word is unpacked once for all
rows of a tile. Tiles at the end reach back over others, the last panel is stored under a mask.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ....compiler.context import lamina_context
from ....compiler.diagnostics import LaminaError
from ....compiler.machine import Machine
from ....compiler.walking import all_ops
from ....dialects.affine.linear_forms import memref_shape
from ....dialects.linalg_ext import MatmulNBitsOp
from ..contraction_to_vector.loops import D, Loops
from .tile import Problem, TileWriter


@dataclass(frozen=True)
class ConvertMatmulNBitsToVector(ModulePass):
    """Writes the loops of every linalg_ext.matmul_nbits on buffers; `rows` and `panels` override a tile's size."""

    name = "convert-matmul-nbits-to-vector"

    rows: int | None = None
    panels: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = lamina_context(ctx).machine
        for product in [inner for inner in all_ops(op) if isinstance(inner, MatmulNBitsOp) and inner.result is None]:
            convert(product, machine, (self.rows, self.panels))


def convert(op: MatmulNBitsOp, machine: Machine, given: tuple[int | None, int | None] = (None, None)) -> None:
    """Replaces `op` by loops over blocks of rows and groups of panels, which may run at the same time."""
    problem = Problem.of(op)
    point = op.prev_op
    if problem.rows and problem.columns:
        code = Loops(InsertPoint.before(op))
        _write(code, op, problem, machine, given)
    new = point.next_op if point is not None else op.parent.first_op if op.parent is not None else None
    while new is not None and new is not op:
        for inner in new.walk():
            inner.location = op.location
        new = new.next_op
    op.detach()
    op.erase()


def tile_of(problem: Problem, machine: Machine) -> tuple[int, int]:
    """Rows and panels of a register tile: a vector for the sum of a block and one for the total of each.

    One row streams through as many panels as there are sums to wait for; many rows share what is unpacked.
    """
    most = (machine.vector_registers - 8) // 2
    if problem.rows >= most:
        rows = most
    else:
        tiles = -(-problem.rows // most)
        rows = -(-problem.rows // tiles)
    return rows, max(1, min(most // rows, 8, problem.panels))


def _write(
    code: Loops, op: MatmulNBitsOp, problem: Problem, machine: Machine, given: tuple[int | None, int | None]
) -> None:
    rows, panels = tile_of(problem, machine)
    rows, panels = min(given[0] or rows, problem.rows), min(given[1] or panels, problem.panels)
    flats: list[SSAValue] = []
    for value in op.operands:
        if memref_shape(value) is None:
            raise LaminaError("matmul_nbits on a buffer that is not row-major", where=op)
        flats.append(code.flat(value))
    writer = TileWriter(code, problem, flats, (rows, panels), machine)
    strips = -(-problem.rows // rows)  # of as many rows as a tile has
    held = max(1, machine.l2_bytes // 2 // (problem.row_bytes * rows))  # that stay in the second cache
    stretch = min(strips, held)
    stretches, groups = -(-strips // stretch), -(-problem.panels // panels)

    def task(number: SSAValue | None) -> None:
        group = number if stretches == 1 else code.index(D(0) % groups, number)
        panel = code.least([D(0) * panels, D(0) * 0 + problem.panels - panels], group) if groups > 1 else None
        if strips == 1:
            writer.write(None, panel)
            return
        first = D(0) * 0 if stretches == 1 else D(0) // groups * stretch
        last = [first + stretch] if strips % stretch == 0 else [first + stretch, D(0) * 0 + strips]

        def strip(i: SSAValue, _: object) -> tuple[()]:
            writer.write(code.least([D(0) * rows, D(0) * 0 + problem.rows - rows], i), panel)
            return ()

        code.serial(first, last, (number,), (), strip)

    work = problem.rows * problem.panels * problem.lanes * problem.blocks * problem.block
    if stretches * groups > 1 and machine.cores > 1 and work >= machine.worth_forking:
        code.parallel(stretches * groups, task)
    else:
        code.count(stretches * groups, task)
