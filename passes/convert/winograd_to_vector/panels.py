"""A contraction whose filters are transformed on the way: two rows of points of a part of them, then all tiles on that.

before: linalg.winograd_filter_transform ... ins(%g : memref<32x512x3x3x16xf32>) outs(%u : memref<6x6x32x512x16xf32>)
        linalg.generic ... ins(%v, %u) outs(%m : memref<6x6x4x4x1x512xf32>)
after:  affine.parallel (%thread) = (0) to (2) {
          %u1 = memref.subview %u[...]           // this thread's place for two rows of points
          affine.for %panel = ... {
            affine.for %part = 0 to 4 {          // of the channels
              affine.for %rows = 0 to 3 {
                affine.for %channel = 0 to 128 { ... nine vectors of %g, twelve of %u1 }
                ... %m, these points and the columns of this panel, from %v times %u1, for all tiles: begun or added to

That much stays in the second-level cache. Numbers take longer to come from there and to go back than to be computed, so
that two rows of points at a time, which read the filter half as often as one, take less: VGG-19 1.03 times less time, a
layer of 256 channels on 14 x 14 points alone 1.1 times (Zen 5). The rest of %u is never touched. Of a last panel that
is not full, the columns that there are have code of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr, MemRefType, StridedLayoutAttr, VectorType, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ....compiler.diagnostics import LaminaError
from ....compiler.machine import Machine
from ....dialects import vector
from ....dialects.affine.linear_forms import Linear, memref_shape, row_major_strides
from ....dialects.linalg import FillOp, GenericOp, WinogradFilterTransformOp
from ....dialects.linalg.winograd import Matrix, matrices
from ....dialects.memref import AllocaOp, SubviewOp
from ..contraction_to_vector import default_schedule
from ..contraction_to_vector.analysis import Contraction, Kernel, Panels, analyse_contraction
from ..contraction_to_vector.emit import write_tiles
from ..contraction_to_vector.loops import D, Loops
from .tiles import Index, splat, transform

LINE = 16  # elements of a cache line: between points, so that they do not all fall into the same set of a cache
ROWS = 2  # of points at a time: those of four or six points come in pairs
NEAR = 0.4  # of the second cache, for filters before and after: tiles and sums pass by, too
SHORTEST = 32  # channels: sums come from memory and go there for each part of them
AHEAD = 8  # channels that are asked for before they are needed


def write_panels(
    function: FuncOp,
    filter_: WinogradFilterTransformOp,
    begin: FillOp,
    op: GenericOp,
    code: Loops,
    machine: Machine,
) -> None:
    """Writes the loops of a filter's transform and the contraction that uses it."""
    contraction = analyse_contraction(op)
    shape = memref_shape(filter_.input)
    if shape is None or len(shape) != 5 or begin.output is not contraction.c.value:
        raise LaminaError("filters are transformed on the way where they lie in panels", where=filter_)
    panels, channels, *_, lanes = shape
    alone, cores = replace(machine, cores=1), min(machine.cores, panels)
    parts = _parts(channels, channels * lanes * 4 * (9 + ROWS * filter_.alpha), machine)
    depth = channels // parts
    filters = _Filters(code, filter_, depth, machine)
    rest = contraction.sizes[5] % lanes  # columns of a last panel that is not full
    left, sums, places = (code.flat(each) for each in (contraction.a.value, contraction.c.value, filter_.output))
    row_a, row_c = (operand.form.coefficients[0] * ROWS for operand in (contraction.a, contraction.c))
    last, size = filter_.alpha // ROWS - 1, filter_.alpha * ROWS * filters.apart

    def tiles(kernel: Kernel, panel: SSAValue, part: Index, rows: Index, own: SSAValue) -> Sequence[SSAValue]:
        """All tiles, on the filters that are there."""
        before_a, before_c = D(0) * row_a + D(1) * depth, D(0) * row_c + D(1) * lanes
        most_a, most_c = row_a * last + depth * (parts - 1), row_c * last + lanes * (panels - 1)
        products = {
            contraction.a.value: _shifted(code, left, before_a, (rows, part), most_a),
            contraction.b.value: own,
            contraction.c.value: _shifted(code, sums, before_c, (rows, panel), most_c),
        }
        write_tiles(kernel, code, products, default_schedule(kernel, alone), lanes, alone)
        return ()

    def points(panel: SSAValue, part: Index, rows: Index, own: SSAValue) -> None:
        """Some rows of points of some channels of a panel; the first channels begin sums, others add to them."""
        filters.write(own, rows, panel, part)

        def of_columns(columns: int) -> Sequence[SSAValue]:
            some = _of_rows(contraction, lanes, columns, depth, filters.apart)
            first, further = (Kernel(function, (), fill, some, ()) for fill in (begin, None))
            begun, added = (partial(tiles, kernel, panel, part, rows, own) for kernel in (first, further))
            return begun() if part is None else code.choose((part, 0), [], begun, added)

        if rest and panels > 1:
            code.choose((panel, panels - 1), [], partial(of_columns, rest), partial(of_columns, lanes))
        else:
            of_columns(rest or lanes)

    def share(thread: Index) -> None:
        """The panels of one thread."""
        filters.begin()
        own = _shifted(code, places, D(0) * size, (thread,), size * (cores - 1))

        def panel(number: SSAValue) -> None:
            code.count(
                parts, lambda part: code.count(filter_.alpha // ROWS, lambda rows: points(number, part, rows, own))
            )

        low, high = (D(0) * panels) // cores, (D(0) * panels + panels) // cores
        code.serial(low, high, (thread,), (), lambda number, _: panel(number) or ())

    if cores > 1:
        code.parallel(cores, share)
    else:
        share(None)


def _parts(channels: int, size: int, machine: Machine) -> int:
    """In how many equal parts a panel's channels are taken, so that each, of `size` bytes together, stays near."""
    ways = (n for n in range(1, max(channels // SHORTEST, 1) + 1) if channels % n == 0)
    return next((n for n in ways if size // n <= machine.l2_bytes * NEAR), 1)


def _of_rows(contraction: Contraction, lanes: int, columns: int, depth: int, apart: int) -> Contraction:
    """The contraction on some rows of points and channels of a panel's `columns`; its filters lie in their place."""
    points = contraction.sizes[1]
    return replace(
        contraction,
        sizes=(ROWS, *contraction.sizes[1:5], columns, depth),
        b=replace(contraction.b, form=Linear((points * apart, apart, 0, 0, 0, 0, lanes))),
        batch=(0, 1),
        panels=Panels(lanes, ROWS * points * apart),
    )


def _shifted(code: Loops, flat: SSAValue, offset: AffineExpr, indices: tuple[Index, ...], most: int) -> SSAValue:
    """A one-dimensional array from `offset`, which is at most `most`, on; so much that it ends where the array does."""
    assert isinstance(flat.type, MemRefType)
    (size,) = flat.type.get_shape()
    type_ = MemRefType(f32, [size - most], StridedLayoutAttr([1], None))
    start = code.index(offset, *indices)
    return code(SubviewOp(flat, [start], [], [], [DYNAMIC_INDEX], [size - most], [1], type_)).result


class _Filters:
    """Writes the transform of `depth` channels of a panel, for some rows of points at a time."""

    def __init__(self, code: Loops, op: WinogradFilterTransformOp, depth: int, machine: Machine):
        shape = memref_shape(op.input)
        assert shape is not None
        self.code = code
        self.matrix: Matrix = matrices(op.m).filter
        self.filters = code.flat(op.input)
        self.strides = row_major_strides(shape)
        self.depth, self.lanes = depth, shape[-1]
        self.apart = depth * self.lanes + LINE
        self.width = machine.lanes(4)
        self.type = VectorType(f32, [self.width])
        self.table: SSAValue | None = None

    def begin(self) -> None:
        """The matrix as a table, from which a row is taken by its number."""
        code, numbers = self.code, [number for row in self.matrix for number in row]
        self.table = code(AllocaOp.get(f32, 64, [len(numbers)])).memref
        for i, number in enumerate(numbers):
            value = code(arith.ConstantOp(FloatAttr(number, f32))).result
            code.store(value, self.table, AffineExpr.constant(i))

    def write(self, place: SSAValue, some: Index, panel: SSAValue, part: Index) -> None:
        """All vectors of these channels."""
        code, table, rows = self.code, self.table, range(ROWS)
        assert table is not None
        numbers = [[code.load(table, D(0) * (3 * ROWS) + (3 * row + i), some) for i in range(3)] for row in rows]
        factors = [[code(vector.BroadcastOp(number, self.type)).vector for number in row] for row in numbers]
        zero = splat(code, 0.0, self.type)
        walk_panel, walk_c, walk_i, walk_j, _ = self.strides

        def tap(i: int, j: int, lane: int, channel: Index) -> SSAValue:
            start = D(0) * walk_panel + D(1) * (self.depth * walk_c) + D(2) * walk_c + (i * walk_i + j * walk_j + lane)
            return code.load_vector(self.type, self.filters, start, panel, part, channel)

        def one(channel: Index) -> None:
            later = D(0) * walk_panel + D(1) * (self.depth * walk_c) + D(2) * walk_c + AHEAD * walk_c
            for line in range(0, walk_c, LINE):
                code.prefetch(self.filters, later + line, panel, part, channel)
            for lane in range(0, self.lanes, self.width):
                taps = [[tap(i, j, lane, channel) for i in range(3)] for j in range(3)]
                for row in rows:
                    sums: list[SSAValue | None] = []
                    for column in taps:
                        total = code(arith.MulfOp(column[0], factors[row][0])).result
                        for i in (1, 2):
                            total = code(vector.FMAOp(column[i], factors[row][i], total)).res
                        sums.append(total)
                    for number, value in enumerate(transform(code, self.matrix, sums, zero)):
                        point = row * len(self.matrix) + number
                        code.store_vector(value, place, D(0) * self.lanes + (point * self.apart + lane), channel)

        code.count(self.depth, one)
