"""One register tile: all of k for some rows and panels, the sums carried through the loops in vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import VectorType, f32
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ....dialects import vector
from ....dialects.affine.linear_forms import Linear, access, is_linear
from .analysis import Contraction, Kernel, sums_in_f32
from .epilogue import Epilogue, on_loops, unread_arrays
from .lookahead import Lookahead
from .loops import D, Loops
from .schedule import Schedule, ceil_div
from .spot import PANEL, Columns, TilePlace

Level = tuple[int, int, int]  # a loop over k: trip count, step in A, step in B
Fetch = Callable[[Sequence[SSAValue]], None]
Step = Callable[[Sequence[SSAValue], Sequence[SSAValue]], Sequence[SSAValue]]


def k_levels(contraction: Contraction) -> list[Level]:
    """The loops over k, outermost first; neighbours that both operands walk evenly are one loop."""
    levels: list[Level] = []
    for d in contraction.k:
        level = (contraction.sizes[d], contraction.a.form.coefficients[d], contraction.b.form.coefficients[d])
        if levels and levels[-1][1:] == (level[0] * level[1], level[0] * level[2]):
            levels[-1] = (levels[-1][0] * level[0], *level[1:])
        else:
            levels.append(level)
    return levels


@dataclass(frozen=True)
class Left:
    """How a tile reads A: element (row, k...) of `flat` lies at `places[row]`, a value and a constant, plus Σ k * step.

    `steps` is that sum over (place, k...).
    """

    flat: SSAValue
    places: Sequence[tuple[SSAValue, int]]
    steps: AffineExpr

    def load(self, code: Loops, row: int, ks: Sequence[SSAValue]) -> SSAValue:
        """The element of a row."""
        base, offset = self.places[row]
        return code.load(self.flat, D(0) + self.steps + offset, base, *ks)


class TileWriter:
    """Writes tiles of one kernel; `flats` are the kernel's arrays as one dimension."""

    def __init__(self, code: Loops, kernel: Kernel, flats: Mapping[SSAValue, SSAValue], schedule: Schedule):
        self.code = code
        self.kernel = kernel
        self.contraction = kernel.contraction
        self.flats = flats
        self.unroll = schedule.unroll
        self.levels = k_levels(kernel.contraction)
        self.depth = schedule.depth
        self.lookahead = self._lookahead(schedule.ahead) if self._can_ask(schedule.ahead) else None
        self.epilogue = Epilogue(kernel, flats)
        self.unread = unread_arrays(kernel)
        self.in_f32 = sums_in_f32(kernel.contraction)
        self.forms: dict[SSAValue, Linear] = {}  # of the epilogue's results
        self.sum_type: Attribute = f32 if self.in_f32 else kernel.contraction.c.element

    panels_first = False  # whether blocks of k are inside of panels

    def begin(self, strips: int) -> None:
        """Written once before the tiles of each thread, whose tasks have so many strips at most."""

    @property
    def depth_blocks(self) -> int:
        """How many blocks the outermost loop over k is cut into."""
        return ceil_div(self.levels[0][0], self.depth) if self.depth and self.levels else 1

    def over_depth(self, body: Callable[[SSAValue | None], None]) -> None:
        """What is done for each block of k; None for all of k."""
        self.code.count(self.depth_blocks, body)

    def write(
        self,
        rows: int,
        panels: int,
        columns: Columns,
        operands: tuple[SSAValue | None, SSAValue | None, SSAValue | None],
        block: SSAValue | None,
        number: tuple[int, SSAValue | None],
        left: Left | None = None,
    ) -> None:
        """The tile of `rows` × `panels` at `operands`: batch, first row, first panel; `block` of k, None for all.

        Its `number` among those of the panels is a constant and an index to add. A is read where it lies, or `left`.
        """
        place = TilePlace(self.code, self.contraction, columns, operands)
        spots = [(row, panel) for row in range(rows) for panel in range(panels)]
        inits = self.initials(place, spots, block)
        a = left or self.in_place(place, rows)
        b_place = self.b_place(place)
        if self.contraction.panels is None and place.mask() is not None:
            place.zeros(self.b_type(place))  # made here, used inside the loops over k

        def step(ks: Sequence[SSAValue], sums: Sequence[SSAValue]) -> list[SSAValue]:
            return self.step(place, a, b_place, spots, ks, sums)

        fetch: Fetch | None = None
        if self.lookahead is not None:
            fetch = partial(self.lookahead.ask, self.lookahead.start(place, panels, number, block), panels)
        sums = self.nest(step, (), inits, block, fetch)
        if block is None or not self.kernel.epilogue:
            self.finish(place, spots, sums)
            return
        last = (block, self.depth_blocks - 1)
        self.code.choose(
            last, (), lambda: self.finish(place.fresh(), spots, sums), lambda: self.keep(place.fresh(), spots, sums)
        )

    def initials(
        self, place: TilePlace, spots: Sequence[tuple[int, int]], block: SSAValue | None
    ) -> Sequence[SSAValue]:
        """What the sums begin with: the fill's value, or what the output holds, as it does after the first block."""
        if self.kernel.fill is None:
            return [self.held(place, row, panel) for row, panel in spots]
        if block is None:
            return [self.filled(place) for _ in spots]
        types = [VectorType(self.sum_type, [place.lanes])] * len(spots)
        first, later = place.fresh(), place.fresh()
        return self.code.choose(
            (block, 0),
            types,
            lambda: [self.filled(first) for _ in spots],
            lambda: [self.held(later, row, panel) for row, panel in spots],
        )

    def finish(self, place: TilePlace, spots: Sequence[tuple[int, int]], sums: Sequence[SSAValue]) -> tuple[()]:
        """Stores what the epilogue makes of the sums."""
        for (row, panel), total in zip(spots, sums, strict=True):
            held = self.epilogue.apply(place, row, panel, self.stored(total, place.lanes))
            for array, value in held.items():
                if array not in self.unread:
                    self.store(place, row, panel, array, value)
        return ()

    def keep(self, place: TilePlace, spots: Sequence[tuple[int, int]], sums: Sequence[SSAValue]) -> tuple[()]:
        """Stores the sums of this block and those before."""
        for (row, panel), total in zip(spots, sums, strict=True):
            self.store(place, row, panel, self.contraction.c.value, total)
        return ()

    def store(self, place: TilePlace, row: int, panel: int, array: SSAValue, value: SSAValue) -> None:
        """Writes one row of one panel of an array of the sums' shape."""
        expr = place.position(self.written_form(array), row, panel)
        self.code.store_vector(value, self.flats[array], expr, *place.operands, mask=place.mask())

    def written_form(self, array: SSAValue) -> Linear:
        """Where an array of the sums' shape has them: it may be a part of a larger one, where the sums' is not."""
        if array is self.contraction.c.value:
            return self.contraction.c.form
        if array not in self.forms:
            form = access(array, AffineMap.identity(len(self.contraction.op.maps[2].results)))
            assert form is not None
            self.forms[array] = on_loops(self.contraction, form)
        return self.forms[array]

    def nest(
        self,
        step: Step,
        ks: tuple[SSAValue, ...],
        sums: Sequence[SSAValue],
        block: SSAValue | None,
        fetch: Fetch | None,
    ) -> Sequence[SSAValue]:
        """The loops over k from level `len(ks)` inwards; the outermost goes over `block` alone."""
        if len(ks) == len(self.levels):
            return step(ks, sums)
        size = self.levels[len(ks)][0]
        innermost = len(ks) == len(self.levels) - 1
        first, end = AffineExpr.constant(0), [AffineExpr.constant(size)]
        count = size
        if not ks and block is not None:
            first, count = D(0) * self.depth, self.depth
            end = [D(0) * self.depth + self.depth, *(end if size % self.depth else ())]
        stretch = self.lookahead.ahead if innermost and fetch is not None and self.lookahead is not None else count
        even = innermost and stretch % self.unroll == 0 and len(end) == 1
        at_once = self.unroll if even else 1

        def body(k: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            if not innermost:
                return self.nest(step, (*ks, k), carried, None, fetch)
            return step((*ks, k), carried)

        if not innermost or fetch is None or self.lookahead is None:
            return self.code.serial(first, end, (block,), sums, body, at_once=at_once)

        def asked(start: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            fetch((*ks, start))
            return self.code.serial(D(0), D(0) + stretch, (start,), carried, body, at_once=at_once)

        return self.code.serial(first, end, (block,), sums, asked, stretch)

    def _can_ask(self, ahead: int) -> bool:
        """Whether B has panels, and stretches of `ahead` rounds fill the innermost loop and each block of it."""
        if not ahead or not self.levels or self.contraction.panels is None:
            return False
        blocked = self.depth if len(self.levels) == 1 else 0
        return self.levels[-1][0] % ahead == 0 and blocked % ahead == 0

    def _lookahead(self, ahead: int) -> Lookahead:
        rows = prod(level[0] for level in self.levels[1:]) * (self.depth or self.levels[0][0])
        return Lookahead(self.code, self.contraction, self.flats, self.steps(2), rows, ahead, self.panels_first)

    def in_place(self, place: TilePlace, rows: int) -> Left:
        """A where it lies."""
        return Left(self.flats[self.contraction.a.value], self.a_places(place, range(rows)), self.steps(1))

    def a_places(self, place: TilePlace, rows: Sequence[int]) -> list[tuple[SSAValue, int]]:
        """For each row the position in A where its k begins, as a value and a constant to add."""
        exprs = [place.outer(self.contraction.a.form, row) for row in rows]
        if not is_linear(exprs[0]):
            return [(self.code.index(expr, *place.operands), 0) for expr in exprs]
        base = self.code.index(exprs[0], *place.operands)
        steps = [expr.eval((0, 0, 0), ()) - exprs[0].eval((0, 0, 0), ()) for expr in exprs]
        return [(base, step) for step in steps]

    def b_place(self, place: TilePlace) -> SSAValue:
        """The position in B where k of the tile's first panel begins."""
        expr = place.outer(self.contraction.b.form, 0)
        panels = self.contraction.panels
        if panels is None:
            expr = expr + PANEL * place.panel_lanes + place.columns.first
        else:
            expr = expr + PANEL * panels.stride + place.columns.first // panels.lanes * panels.stride
        return self.code.index(expr, *place.operands)

    def held(self, place: TilePlace, row: int, panel: int) -> SSAValue:
        """The sums that the output holds."""
        expr = place.position(self.contraction.c.form, row, panel)
        before = place.load(self.flats[self.contraction.c.value], self.contraction.c.element, expr)
        if not self.in_f32:
            return before
        return self.code(arith.ExtFOp(before, VectorType(f32, [place.lanes]))).result

    def filled(self, place: TilePlace) -> SSAValue:
        """Sums of the fill's value."""

        def make() -> SSAValue:
            assert self.kernel.fill is not None
            value = self.kernel.fill.value
            if self.in_f32:
                value = self.code(arith.ExtFOp(value, f32)).result
            return self.code(vector.BroadcastOp(value, VectorType(self.sum_type, [place.lanes]))).vector

        return place.once("filled", make)

    def stored(self, total: SSAValue, lanes: int) -> SSAValue:
        """The sums in the output's element type."""
        if not self.in_f32:
            return total
        return self.code(arith.TruncFOp(total, VectorType(self.contraction.c.element, [lanes]))).result

    def step(
        self,
        place: TilePlace,
        left: Left,
        b_place: SSAValue,
        spots: Sequence[tuple[int, int]],
        ks: Sequence[SSAValue],
        sums: Sequence[SSAValue],
    ) -> list[SSAValue]:
        """The sums after one more k: a row of B as vectors, an element of A per row, a multiply-add for each pair."""
        b_flat, b_walk = self.flats[self.contraction.b.value], self.walk(2)
        panels = self.contraction.panels
        apart = panels.stride if panels else place.panel_lanes
        b_type = self.b_type(place)
        mask = place.mask() if panels is None else None
        otherwise = place.zeros(b_type) if mask is not None else None
        rights = {
            panel: self.code.load_vector(
                b_type, b_flat, b_walk + panel * apart, b_place, *ks, mask=mask, otherwise=otherwise
            )
            for panel in dict.fromkeys(panel for _, panel in spots)
        }
        lefts = {row: left.load(self.code, row, ks) for row in dict.fromkeys(row for row, _ in spots)}
        return [
            self.multiply_add(place.lanes, lefts[row], rights[panel], total)
            for (row, panel), total in zip(spots, sums, strict=True)
        ]

    def b_type(self, place: TilePlace) -> VectorType:
        """A panel's row of B."""
        return VectorType(self.contraction.b.element, [place.lanes])

    def steps(self, operand: int) -> AffineExpr:
        """Σ k * step over (base, k...)."""
        expr = AffineExpr.constant(0)
        for position, level in enumerate(self.levels):
            if level[operand]:
                expr = expr + D(position + 1) * level[operand]
        return expr

    def walk(self, operand: int) -> AffineExpr:
        """base + Σ k * step over (base, k...)."""
        return D(0) + self.steps(operand)

    def multiply_add(self, lanes: int, left: SSAValue, right: SSAValue, total: SSAValue) -> SSAValue:
        """The contraction's body on one element of A and a vector of B."""
        contraction = self.contraction
        widener = vector.Widener(self.code.builder, lanes)
        a_argument = contraction.a_argument
        arguments = contraction.body.args
        widener.values |= {arguments[a_argument]: left, arguments[1 - a_argument]: right, arguments[2]: total}
        for op in contraction.body.ops:
            if op is contraction.product or isinstance(op, YieldOp):
                continue
            if op is contraction.sum and contraction.product is not None:
                factors = [widener.value(factor) for factor in contraction.product.operands]
                if self.in_f32:
                    factors = [self.extended(factor) for factor in factors]
                x, y = (widener.vector(factor) for factor in factors)
                return self.code(vector.FMAOp(x, y, total)).res
            widener.widen(op)
        return widener.value(contraction.sum.results[0])

    def extended(self, value: SSAValue) -> SSAValue:
        """A 16-bit float or a vector of them as f32."""
        wide = VectorType(f32, value.type.get_shape()) if isinstance(value.type, VectorType) else f32
        return self.code(arith.ExtFOp(value, wide)).result
