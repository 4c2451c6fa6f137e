"""A contraction whose filters are transformed on the way: a row of points of a panel of them, then all tiles on that.

before: linalg.winograd_filter_transform ... ins(%g : memref<32x512x3x3x16xf32>) outs(%u : memref<6x6x32x512x16xf32>)
        linalg.generic ... ins(%v, %u) outs(%m : memref<6x6x4x4x1x512xf32>)
after:  affine.parallel (%thread) = (0) to (2) {
          %u1 = memref.subview %u[...]           // this thread's place for a row of points of a panel
          affine.for %panel = ... {
            affine.for %row = 0 to 6 {
              affine.for %channel = 0 to 512 { ... nine vectors of %g, six of %u1 }
              ... %m, these points and the columns of this panel, from %v times %u1, for all tiles

That much stays in the second-level cache. The rest of %u is never touched.
"""

from __future__ import annotations

from dataclasses import replace

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
    panels, *_, lanes = shape
    alone = replace(machine, cores=1)
    filters = _Filters(code, filter_, machine)
    some = _of_a_row(contraction, lanes, filters.apart)
    kernel = Kernel(function, (), begin, some, ())
    left, sums, places = (code.flat(each) for each in (contraction.a.value, contraction.c.value, filter_.output))
    row_a, row_c = (operand.form.coefficients[0] for operand in (contraction.a, contraction.c))
    cores, last, size = min(machine.cores, panels), filter_.alpha - 1, filter_.alpha * filters.apart

    def points(panel: SSAValue, row: SSAValue, own: SSAValue) -> None:
        """All tiles, and the filters of one panel, for a row of points."""
        filters.write(own, row, panel)
        products = {
            contraction.a.value: _shifted(code, left, D(0) * row_a, (row,), row_a * last),
            contraction.b.value: own,
            contraction.c.value: _shifted(
                code, sums, D(0) * row_c + D(1) * lanes, (row, panel), row_c * last + lanes * (panels - 1)
            ),
        }
        write_tiles(kernel, code, products, default_schedule(kernel, alone), lanes, alone)

    def share(thread: Index) -> None:
        """The panels of one thread."""
        filters.begin()
        own = _shifted(code, places, D(0) * size, (thread,), size * (cores - 1))

        def panel(number: SSAValue) -> None:
            code.count(filter_.alpha, lambda row: points(number, row, own) if row is not None else None)

        low, high = (D(0) * panels) // cores, (D(0) * panels + panels) // cores
        code.serial(low, high, (thread,), (), lambda number, _: panel(number) or ())

    if cores > 1:
        code.parallel(cores, share)
    else:
        share(None)


def _of_a_row(contraction: Contraction, lanes: int, apart: int) -> Contraction:
    """The contraction on a row of points and one panel, whose filters lie in their place, points `apart`."""
    return replace(
        contraction,
        sizes=(1, *contraction.sizes[1:5], lanes, contraction.sizes[6]),
        b=replace(contraction.b, form=Linear((0, apart, 0, 0, 0, 0, lanes))),
        batch=(1,),
        panels=Panels(lanes, apart),
    )


def _shifted(code: Loops, flat: SSAValue, offset: AffineExpr, indices: tuple[Index, ...], most: int) -> SSAValue:
    """A one-dimensional array from `offset`, which is at most `most`, on; so much that it ends where the array does."""
    assert isinstance(flat.type, MemRefType)
    (size,) = flat.type.get_shape()
    type_ = MemRefType(f32, [size - most], StridedLayoutAttr([1], None))
    start = code.index(offset, *indices)
    return code(SubviewOp(flat, [start], [], [], [DYNAMIC_INDEX], [size - most], [1], type_)).result


class _Filters:
    """Writes the transform of a panel, a row of points at a time."""

    def __init__(self, code: Loops, op: WinogradFilterTransformOp, machine: Machine):
        shape = memref_shape(op.input)
        assert shape is not None
        self.code = code
        self.matrix: Matrix = matrices(op.m).filter
        self.filters = code.flat(op.input)
        self.strides = row_major_strides(shape)
        self.channels, self.lanes = shape[1], shape[-1]
        self.apart = self.channels * self.lanes + LINE
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

    def write(self, place: SSAValue, row: SSAValue, panel: SSAValue) -> None:
        """All channels."""
        code, table = self.code, self.table
        assert table is not None
        numbers = [code.load(table, D(0) * 3 + i, row) for i in range(3)]
        factors = [code(vector.BroadcastOp(number, self.type)).vector for number in numbers]
        zero = splat(code, 0.0, self.type)
        walk_panel, walk_c, walk_i, walk_j, _ = self.strides

        def tap(i: int, j: int, lane: int, channel: Index) -> SSAValue:
            start = D(0) * walk_panel + D(1) * walk_c + (i * walk_i + j * walk_j + lane)
            return code.load_vector(self.type, self.filters, start, panel, channel)

        def one(channel: Index) -> None:
            for lane in range(0, self.lanes, self.width):
                sums: list[SSAValue | None] = []
                for j in range(3):
                    total = code(arith.MulfOp(tap(0, j, lane, channel), factors[0])).result
                    for i in (1, 2):
                        total = code(vector.FMAOp(tap(i, j, lane, channel), factors[i], total)).res
                    sums.append(total)
                for point, value in enumerate(transform(code, self.matrix, sums, zero)):
                    code.store_vector(value, place, D(0) * self.lanes + (point * self.apart + lane), channel)

        code.count(self.channels, one)
