"""convert-matmul-nbits-to-vector: linalg_ext.matmul_nbits on buffers becomes loops around register tiles.

before:
    func.func private @kernel(%lhs: memref<1x64x32xi8>, %rhs: memref<352x256x16x4xi8>, ..., %out: memref<1x5632xf32>)
        attributes {lamina.kernel = "matmul_nbits"} {
      linalg_ext.matmul_nbits(%lhs, %rhs, %scales, %starts, %lhs_scales, %out) {bits = 4}

after:
    affine.parallel (%group) = (0) to (59) {                       // 6 panels of 16 columns
      %totals:6 = affine.for %b = 0 to 64 iter_args(...) {         // a block: 4 words of 8 elements in each lane
        ... what each sum begins with
        %w = affine.vector_load %rhs[...] : vector<64xi8>
        %low, %high = the lower and upper four bits of each byte, as bytes
        %s = dot.product %low, %x, %sum {unsigned_lhs} ...         // four neighbours of a row of lhs in every lane
        %totals = fma(%s * %scales[...], %lhs_scales[...], %totals)
      }
      ... stores

Where `lhs` is f32, elements become floats and are multiplied by one element of `lhs`. A word is unpacked once for all
rows of a tile. Where it is bf16, elements times scales become tiles of AMX (`amx_tiles.py`). Tiles are counted from the
end, the last of which reaches over others; the last panel is stored under a mask.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ....compiler.context import lamina_context
from ....compiler.diagnostics import LaminaError
from ....compiler.machine import Machine
from ....compiler.walking import all_ops
from ....dialects.affine.linear_forms import memref_shape
from ....dialects.linalg_ext import MatmulNBitsOp
from ..attention_to_vector.vectors import Vectors
from ..contraction_to_vector.loops import D
from ..op_replacement import replace_op
from .amx_tiles import MOST_ROWS, AmxWriter
from .tile import Problem, TileWriter, tiles
from .unpacked import STRIPS, UnpackedWriter


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

    def write(point: InsertPoint) -> None:
        if problem.rows and problem.columns:
            code = Vectors(point)
            code.lanes = problem.lanes
            _write(code, op, problem, machine, given)

    replace_op(op, write)


def tile_of(problem: Problem, machine: Machine) -> tuple[int, int]:
    """Rows and panels of a register tile that unpacks as it goes: a vector each for a block's sums and the total.

    One row streams through several panels, whose words wait in registers as well; many rows share what is unpacked.
    """
    rows = _even(problem.rows, most_rows(machine))
    return rows, max(1, min(most_rows(machine) // max(2, rows), problem.panels))


def unpacked_tile_of(problem: Problem, machine: Machine) -> tuple[int, int]:
    """The same where weights are unpacked before: a vector for each sum, one for each panel and some for the rows.

    A row's element is read for three panels where there are registers enough: 128 rows take 16.0 ms so, by twelve rows
    and two panels 18.1; measured on Sapphire Rapids.
    """
    rows, panels = (8, 3) if machine.vector_registers >= 32 else (6, 2)
    return _even(problem.rows, rows), min(panels, problem.panels)


def most_rows(machine: Machine) -> int:
    """Of a tile that unpacks as it goes."""
    return (machine.vector_registers - 8) // 2


def _even(rows: int, most: int) -> int:
    """Rows of a tile, at most so many, where as few tiles as that takes have about as many each."""
    return -(-rows // -(-rows // most)) if rows else 1


def _write(
    code: Vectors, op: MatmulNBitsOp, problem: Problem, machine: Machine, given: tuple[int | None, int | None]
) -> None:
    flats: list[SSAValue] = []
    for value in op.operands:
        if memref_shape(value) is None:
            raise LaminaError("matmul_nbits on a buffer that is not row-major", where=op)
        flats.append(code.flat(value))
    unpacks = not problem.whole and problem.rows > most_rows(machine)
    if problem.narrow:
        rows, panels = MOST_ROWS, 2
    else:
        rows, panels = unpacked_tile_of(problem, machine) if unpacks else tile_of(problem, machine)
    tile = min(given[0] or rows, problem.rows), min(given[1] or panels, problem.panels)
    strips, groups = -(-problem.rows // tile[0]), -(-problem.panels // tile[1])
    if problem.narrow:
        writer = AmxWriter(code, problem, flats, tile, machine)
        stretch = writer.strips_at_once
    elif unpacks:
        writer = UnpackedWriter(code, problem, flats, tile, machine)
        stretch = STRIPS
    else:
        writer = TileWriter(code, problem, flats, tile, machine)
        stretch = min(strips, max(1, machine.l2_bytes // 2 // (problem.row_bytes * tile[0])))  # stays in the cache
    tasks = -(-strips // stretch) * groups

    def task(number: SSAValue | None) -> None:
        group = number if tasks == groups else code.index(D(0) % groups, number)
        first = D(0) // groups * stretch
        end = [first + stretch, *([AffineExpr.constant(strips)] if strips % stretch else [])]
        writer.begin(stretch)
        tiles(code, problem.panels, tile[1], group, lambda panel: writer.strips((first, end), number, panel))

    work = problem.rows * problem.panels * problem.lanes * problem.blocks * problem.block
    if tasks > 1 and machine.cores > 1 and work >= machine.worth_forking:
        code.parallel(tasks, task)
    else:
        code.count(tasks, task)
