"""A whole convolution in one kernel: input transform, contraction and output transform, block after block of tiles.

before: linalg.winograd_input_transform ... ins(%x) outs(%v : memref<6x6x14x14x1x64xf32>)
        linalg.generic ... ins(%v, %u) outs(%m : memref<6x6x14x14x1x64xf32>) attrs = {lamina.block_rows = 1 : i64} ...
        linalg.winograd_output_transform ... ins(%m) outs(%y)
after:  affine.parallel (%thread) = (0) to (2) {
          %v1 = memref.subview %v[...]    %m1 = memref.subview %m[...]      // this thread's part of each
          affine.for %block = ... { input tiles to %v1; products of %v1 and %u to %m1; output tiles from %m1 }

A block is a few rows of tiles: as many as keep what lies between the three in the second-level cache. A thread uses the
same place for all its blocks; the rest of %v and %m is never touched.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType, StridedLayoutAttr, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ....compiler.diagnostics import LaminaError
from ....compiler.machine import Machine
from ....dialects.affine.linear_forms import Linear, row_major_strides
from ....dialects.linalg import FillOp, GenericOp
from ....dialects.memref import SubviewOp
from ...linalg.grouping import BLOCK_ROWS
from ..contraction_to_vector import default_schedule, panel_lanes
from ..contraction_to_vector.analysis import Contraction, Kernel, analyse_contraction
from ..contraction_to_vector.emit import write_tiles
from ..contraction_to_vector.loops import D, Loops
from ..contraction_to_vector.tasks import Cover
from .input_tiles import InputTiles
from .output_tiles import OutputTiles
from .tiles import Index


def write_blocks(
    function: FuncOp,
    inputs: InputTiles,
    begin: FillOp,
    op: GenericOp,
    outputs: OutputTiles,
    code: Loops,
    machine: Machine,
) -> None:
    """Writes the loops of the three."""
    rows = min(block_rows(op), inputs.tile_rows)
    if not outputs.may_overlap():
        rows = max(r for r in range(1, rows + 1) if inputs.tile_rows % r == 0)
    cover = Cover(0, inputs.tile_rows, rows)
    total = cover.tiles * inputs.batch  # blocks
    fits = rows * machine.cores <= inputs.tile_rows * inputs.batch  # every thread's place for a block
    cores = machine.cores if fits and inputs.work >= machine.worth_forking else 1
    contraction = _of_a_block(analyse_contraction(op), rows)
    strides = [contraction.a.form.coefficients, contraction.c.form.coefficients]
    inputs.tile_strides, outputs.tile_strides = ((*s[:4], 0, 1) for s in strides)
    whole = [inputs.tiles, outputs.tiles]
    sizes = [s[0] * inputs.alpha for s in strides]  # of what lies between, for a block
    kernel = Kernel(function, (), begin, contraction, ())
    right = code.flat(contraction.b.value)

    def block(number: SSAValue) -> None:
        """One block of one image."""
        image = code.index(D(0) // cover.tiles, number) if inputs.batch > 1 else None
        first = cover.start(code, code.index(D(0) % cover.tiles, number) if inputs.batch > 1 else number)
        _rows(code, rows, first, lambda row, place: inputs.row(image, row, None, place))
        flats = {contraction.a.value: inputs.tiles, contraction.b.value: right, contraction.c.value: outputs.tiles}
        alone = replace(machine, cores=1)
        write_tiles(kernel, code, flats, default_schedule(kernel, alone), panel_lanes(contraction, machine), alone)
        _rows(code, rows, first, lambda row, place: outputs.row(image, row, None, place))

    def share(thread: Index) -> None:
        """The blocks of one thread."""
        for side, flat, size in zip((inputs, outputs), whole, sizes, strict=True):
            side.tiles = flat if thread is None else _part(code, flat, size, thread)
            side.walk.begin()
        low, high = (D(0) * total) // cores, (D(0) * total + total) // cores
        code.serial(low, high, (thread,), (), lambda number, _: block(number) or ())

    if cores > 1:
        code.parallel(cores, share)
    else:
        share(None)


def block_rows(op: GenericOp) -> int:
    """Rows of tiles in a block, as linalg-winograd wrote them on the contraction."""
    attribute = op.attributes.get(BLOCK_ROWS)
    if not isinstance(attribute, IntegerAttr):
        raise LaminaError(
            f"a contraction between transforms says in '{BLOCK_ROWS}' how many rows are a block", where=op
        )
    return attribute.value.data


def _of_a_block(contraction: Contraction, rows: int) -> Contraction:
    """The contraction over (a, b, i, j, n, f, c) on one block, which lies dense in its place."""
    a, b, _, columns, _, filters, channels = contraction.sizes
    sizes = (a, b, rows, columns, 1, filters, channels)
    left = row_major_strides([a, b, rows, columns, channels])
    sums = row_major_strides([a, b, rows, columns, filters])
    return replace(
        contraction,
        sizes=sizes,
        a=replace(contraction.a, form=Linear((*left[:4], 0, 0, 1))),
        c=replace(contraction.c, form=Linear((*sums[:4], 0, 1, 0))),
        batch=(0, 1),
        m=tuple(d for d in (2, 3) if sizes[d] > 1),
    )


def _rows(code: Loops, rows: int, first: Index, body: Callable[[Index, Index], None]) -> None:
    """`body(row of the image, row of the block)` for the rows of tiles of a block."""

    def once(place: Index) -> None:
        row = first if place is None else code.index(D(0) + D(1), first, place)
        body(row, place)

    code.count(rows, once)


def _part(code: Loops, flat: SSAValue, length: int, number: SSAValue) -> SSAValue:
    """One of the parts of so many elements at the beginning of an array."""
    offset = code.index(D(0) * length, number)
    type_ = MemRefType(f32, [length], StridedLayoutAttr([1], None))
    return code(SubviewOp(flat, [offset], [], [], [DYNAMIC_INDEX], [length], [1], type_)).result
