"""The loops of a depthwise convolution with channels last: rows as tasks, tiles of columns by a vector of channels.

after (a window of 3 × 3, one zero before and after each row and column):
    affine.for %row = ... {
      affine.for %tile = ... {                               // eight columns, all of whose windows lie in the image
        affine.for %channels = 0 to 6 {
          %sums:8 = affine.for %i = max(0, 1 - %row) to min(3, 113 - %row) iter_args(...) -> (vector<16xf32>, ...) {
            ... three taps; ten columns of the image, each loaded once for all sums that it is part of
          ... + bias, relu; affine.vector_store
      ... the first and the last column, with the taps that meet the image

So neither the padded image is written nor a zero multiplied.

Channels in groups that a convolution sums up (`linalg-merge-groups`): each channel of a group is spread over its lanes
in turn, once for all sums that it is part of.

            %x0 = vector.shuffle %x, %x [0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12] : vector<16xf32>, ...

Numbers of 16 bits are multiplied as pairs, by the instruction that also adds the two products to a sum of 32 bits:
pairs of a number of the image and its sign, times a tap and zero.

          %x = arith.extsi ... : vector<16xi16> to vector<16xi32>   // and as vector<32xi16>
          %tap = arith.extui ... : vector<16xi16> to vector<16xi32>
          %sum = dot.product %x, %tap, %sum : vector<32xi16>, vector<32xi16> into vector<16xi32>
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from xdsl.dialects.builtin import DenseArrayBase, MemRefType, VectorType, f32, i16, i32, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ....compiler.machine import Machine
from ....dialects import arith, dot, vector
from ..contraction_to_vector.epilogue import Epilogue, overlap_is_harmless, unread_arrays
from ..contraction_to_vector.loops import D, Loops
from ..contraction_to_vector.schedule import ceil_div
from ..contraction_to_vector.spot import Columns, TilePlace
from ..contraction_to_vector.tasks import Cover, covers
from .analysis import Problem
from .rows import Index

MOST_COLUMNS = 8  # of a tile
MOST_PRODUCTS = 64  # of a tile and a row of the window, all of them written out
MOST_TAPS = 11  # of a row that stay in registers; of longer rows they are read for each product, of which
MOST_OF_LONG = 256  # so many are written out


class Channels:
    """Writes the loops of one kernel."""

    def __init__(self, problem: Problem, code: Loops, machine: Machine):
        self.problem, self.code, self.machine = problem, code, machine
        self.kernel, self.convolution = problem.kernel, problem.convolution
        self.contraction = problem.kernel.contraction
        self.overlap = overlap_is_harmless(self.kernel)
        self.lanes = machine.lanes(4)
        arrays = [problem.image, self.contraction.a.value, self.contraction.c.value]
        arrays += [value for op in self.kernel.epilogue for value in (*op.inputs, *op.outputs)]
        self.flats = {value: code.flat(value) for value in dict.fromkeys(arrays)}
        self.epilogue = Epilogue(self.kernel, self.flats)
        self.unread = unread_arrays(self.kernel)
        self.first: Index = None  # the row of the result that rows are counted from
        self.base: Index = None  # and that of the image which `flats` begin with

    @property
    def most(self) -> int:
        """Columns of a tile: its sums, a row of taps and a column of the image stay in registers."""
        taps = self.convolution.window[1]
        if taps > MOST_TAPS:
            return max(1, min(MOST_COLUMNS, MOST_OF_LONG // taps))
        room = self.machine.vector_registers - self.machine.scratch_registers - taps - 1
        if self.convolution.width > 1:  # and all columns of the image, which are read for each channel of a group
            room = (room - (taps - 1) * self.convolution.dilations[1]) // (1 + self.convolution.strides[1])
        return max(1, min(MOST_COLUMNS, room, MOST_PRODUCTS // taps))

    def write(self) -> None:
        """All rows of all images, in equal shares for the threads."""
        c = self.convolution
        rows = c.batch * c.output[0]
        work = rows * c.output[1] * c.channels * c.window[0] * c.window[1] * c.width
        cores = self.machine.cores if work >= self.machine.worth_forking else 1
        if rows == 1 and cores > 1:  # then of its tiles
            self.columns(None, cores)
            return
        if rows < cores:
            cores = 1

        def share(thread: Index) -> None:
            low, high = (D(0) * rows) // cores, (D(0) * rows + rows) // cores
            self.code.serial(low, high, (thread,), (), self.row)

        if cores > 1:
            self.code.parallel(cores, share)
        else:
            share(None)

    def row(self, number: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """A row of sums."""
        self.columns(number)
        return ()

    def columns(self, number: Index, threads: int = 1) -> None:
        """The columns of a row whose windows lie in the image, shared out to threads, then those at the borders."""
        c, size, pad = self.convolution, self.problem.size[1], self.problem.pad[1]
        width, stride = c.output[1], c.strides[1]
        first = min(width, ceil_div(pad, stride))
        end = min(width, max(first, (size + pad - c.reach[1]) // stride + 1))
        for cover in covers(end - first, self.most, self.overlap):
            once = partial(self.inner, number, cover, first)
            if 1 < threads <= cover.tiles // 2:
                self.shared_out(cover.tiles, threads, once)
            else:
                self.code.count(cover.tiles, once)
        for low, high in ((0, first), (end, width)):
            for column in range(low, high, self.most):
                self.tile(number, None, column, min(self.most, high - column))

    def shared_out(self, tiles: int, threads: int, once: Callable[[SSAValue], None]) -> None:
        """Tiles in equal shares."""

        def tile(number: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            once(number)
            return ()

        def share(thread: SSAValue) -> None:
            low, high = (D(0) * tiles) // threads, (D(0) * tiles + tiles) // threads
            self.code.serial(low, high, (thread,), (), tile)

        self.code.parallel(threads, share)

    def inner(self, row: Index, cover: Cover, first: int, number: Index) -> None:
        """A tile of columns all of whose windows lie in the image; they count from `first`."""
        self.tile(row, cover.start(self.code, number), first, cover.size)

    def tile(self, row: Index, start: Index, first: int, count: int) -> None:
        """So many columns from `start` + `first` on, all channels."""
        whole, rest = divmod(self.convolution.channels, self.lanes)
        runs = [Columns(0, whole, self.lanes, self.lanes)] if whole else []
        if rest:
            runs.append(Columns(whole * self.lanes, 1, 1 << (rest - 1).bit_length(), rest))
        for run in runs:
            self.code.count(run.panels, lambda i, run=run: self.sums(row, start, first, count, run, i))

    def sums(self, row: Index, start: Index, first: int, count: int, run: Columns, panel: Index) -> None:
        """A vector of channels of the columns of a tile."""
        c, code = self.convolution, self.code
        column = code.index(D(0) + first, start) if start is not None or first else None
        place = TilePlace(code, self.contraction, run, (row, column, panel))
        image, taps = self.flats[self.problem.image], self.flats[self.contraction.a.value]
        words = isinstance(image.type, MemRefType) and image.type.element_type == i16
        type_ = VectorType(i16 if words else f32, [run.lanes])
        mask = place.mask()
        if mask is not None:
            place.zeros(type_)  # made here, used inside the loop over rows of the window
        assert self.kernel.fill is not None
        wide = VectorType(i32 if words else f32, [run.lanes])
        inits = [code(vector.BroadcastOp(self.kernel.fill.value, wide)).vector] * count
        users = self.users(None if start is not None else first, count)
        (height, width), (pad, pad_left) = self.problem.size, self.problem.pad
        channel = D(2) * run.lanes + run.first
        line = (D(0) % c.output[0] if c.batch > 1 else D(0)) + D(3)
        source = line * c.strides[0] - pad - D(4)  # the first row of the image that the window meets
        if c.batch > 1:
            source = source + D(0) // c.output[0] * height
        corner = (source * width + D(1) * c.strides[1] - pad_left) * c.channels + channel
        begin = code.index(corner, row, column, panel, self.first, self.base)
        window = code.index(channel, None, None, panel)

        def load(flat: SSAValue, expr: AffineExpr, *operands: SSAValue | None) -> SSAValue:
            otherwise = place.zeros(type_) if mask is not None else None
            return code.load_vector(type_, flat, expr, *operands, mask=mask, otherwise=otherwise)

        def pairs(value: SSAValue, signed: bool) -> SSAValue:
            """Each number and its sign, or zero, beside one another."""
            extend = arith.ExtSIOp if signed else arith.ExtUIOp
            extended = code(extend.create(operands=[value], result_types=[wide])).results[0]
            return code(vector.BitcastOp(extended, VectorType(i16, [2 * run.lanes]))).result

        def spread(x: SSAValue, number: int) -> SSAValue:
            """The channel of that number of each group in all lanes of the group."""
            if c.width == 1:
                return x
            order = [lane // c.width * c.width + number for lane in range(run.lanes)]
            mask = DenseArrayBase.from_list(i64, order)
            return code(vector.ShuffleOp(x, x, mask, result_type=type_)).result

        def accumulate(tap: SSAValue, x: SSAValue, total: SSAValue) -> SSAValue:
            if words:
                return code(dot.ProductOp(x, tap, total)).result
            return code(vector.FMAOp(tap, x, total)).res

        def once(i: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            totals = list(carried)
            across = sorted({j for pairs in users.values() for _, j in pairs})
            under: dict[int, SSAValue] = {}
            for number in range(c.width):
                at = {j: ((D(1) * c.window[1] + j) * c.width + number) * c.channels for j in across}
                tap = {j: load(taps, D(0) + place, window, i) for j, place in at.items()}
                if words:
                    tap = {j: pairs(value, signed=False) for j, value in tap.items()}
                for offset, sums_of_it in users.items():
                    if offset not in under:
                        place = (D(1) * (c.dilations[0] * width) + offset) * c.channels
                        under[offset] = load(image, D(0) + place, begin, i)
                    x = pairs(under[offset], signed=True) if words else spread(under[offset], number)
                    for r, j in sums_of_it:
                        totals[r] = accumulate(tap[j], x, totals[r])
            return totals

        low = [AffineExpr.constant(0), (line * -c.strides[0] + (pad + c.dilations[0] - 1)) // c.dilations[0]]
        above = (line * -c.strides[0] + (height + pad + c.dilations[0] - 1)) // c.dilations[0]
        ends = [AffineExpr.constant(c.window[0]), above]
        sums = code.serial(low, ends, (row, None, None, self.first), inits, once)
        for r, total in enumerate(sums):
            position = place.position(self.contraction.c.form, r, 0)
            for array, value in self.epilogue.apply(place, r, 0, total).items():
                if array not in self.unread:
                    code.store_vector(value, self.flats[array], position, *place.operands, mask=mask)

    def users(self, first: int | None, count: int) -> dict[int, list[tuple[int, int]]]:
        """For each column under a tile, counted from its first window's, the sums and columns of the window it is for.

        Where the tile's `first` column is known, only those in the image; None: all are.
        """
        c, pad, width = self.convolution, self.problem.pad[1], self.problem.size[1]
        found: dict[int, list[tuple[int, int]]] = {}
        for r in range(count):
            for j in range(c.window[1]):
                offset = r * c.strides[1] + j * c.dilations[1]
                if first is None or 0 <= first * c.strides[1] - pad + offset < width:
                    found.setdefault(offset, []).append((r, j))
        return dict(sorted(found.items()))
