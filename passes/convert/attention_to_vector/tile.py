"""One tile of queries against all its keys: scores, online softmax, sums of values, all with queries as lanes.

Scores are made transposed: a key is a row, broadcast element by element, the tile's queries are the lanes. So the
softmax runs down whole vectors, keys and values are read where they are, and only queries and outputs, which many
keys share, change places with their columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ....dialects import affine, vector
from ....dialects.affine.linear_forms import Linear, flat_position
from ....dialects.linalg_ext import AttentionOp
from .plan import Plan
from .transpose import Columns, blocks, load_lanes, store_lanes
from .vectors import OEQ, OGT, D, Vectors


@dataclass(frozen=True)
class Array:
    """An operand: its elements as one dimension and how the loops walk them."""

    flat: SSAValue
    form: Linear


@dataclass(frozen=True)
class Keys:
    """A block of keys: the first one, how many at most, how many of these are seen (None: all)."""

    first: SSAValue | int
    size: int
    seen: SSAValue | None

    def bound(self) -> tuple[AffineExpr, tuple[SSAValue | None, ...]]:
        """How many keys to go through, as a loop's upper bound."""
        return (AffineExpr.constant(self.size), ()) if self.seen is None else (D(0), (self.seen,))


State = tuple[list[SSAValue], list[SSAValue]]  # per vector of queries: the highest score so far, the sum of weights


class TileWriter:
    """Writes the tile of the queries from `first` on of one batch."""

    def __init__(self, code: Vectors, op: AttentionOp, arrays: Sequence[Array], plan: Plan):
        self.code = code
        self.op = op
        self.plan = plan
        self.arrays = arrays
        self.ranges = op.ranges()
        self.loops = op.loops
        self.m, self.k1, self.k2, self.n = range(op.loops - 4, op.loops)
        self.others = arrays[3:-1]
        width = plan.queries
        self.query = code.stack(self.ranges[self.k1] * width)
        self.scores = code.stack(plan.block * width)
        self.sums = code.stack(self.ranges[self.n] * width)
        self.turned = [code.stack(plan.block * width) if self.turns(a) else None for a in self.others]
        self.blocks = -(-self.ranges[self.k2] // plan.block)

    def turns(self, array: Array) -> bool:
        """Whether an array's elements must change places to be lanes."""
        return array.form.coefficients[self.m] not in (0, 1)

    def begin(self, array: Array, batch: SSAValue | None, first: SSAValue | None) -> SSAValue:
        """The position in an array of the batch and the first query."""
        dims = range(self.loops - 4)
        expr = flat_position(array.form.over(dims), [self.ranges[d] for d in dims], D(0)) + array.form.offset
        return self.code.index(expr + D(1) * array.form.coefficients[self.m], batch, first)

    def write(self, batch: SSAValue | None, first: SSAValue | None) -> None:
        """The whole tile."""
        code, plan = self.code, self.plan
        self.bases = [self.begin(array, batch, first) for array in self.arrays]
        form = self.arrays[0].form.coefficients
        query = Columns(self.arrays[0].flat, self.bases[0], form[self.m], form[self.k1], self.ranges[self.k1])
        load_lanes(code, query, self.query, plan.lanes, plan.vectors)
        causal = self.op.seen
        self.last = self.seen = None
        if causal is not None:
            start = code.index(D(0) + causal, first)
            self.last = [code.count_up(code.index(D(0) + g * plan.lanes, start)) for g in range(plan.vectors)]
            self.seen = code.index(D(0) + plan.queries, start)
        state: State = ([code.all_lanes(-inf)] * plan.vectors, [code.all_lanes(0.0)] * plan.vectors)
        keys = self.ranges[self.k2]
        if self.blocks == 1:
            _, totals = self.block(self.keys(0, keys), state, fresh=True)
        else:
            self.clear()
            rest = keys - (self.blocks - 1) * plan.block

            def whole(k: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
                half = len(carried) // 2
                highest, sums = self.block(
                    self.keys(k, plan.block), (list(carried[:half]), list(carried[half:])), fresh=False
                )
                return [*highest, *sums]

            inits = [*state[0], *state[1]]
            end = AffineExpr.constant(keys - rest)
            carried = list(code.serial(AffineExpr.constant(0), end, (), inits, whole, plan.block))
            half = len(carried) // 2
            state = (carried[:half], carried[half:])
            _, totals = self.block(self.keys(keys - rest, rest), state, fresh=False)
        self.finish(totals)

    def keys(self, first: SSAValue | int, size: int) -> Keys:
        """A block, and how much of it the tile's last query sees."""
        if self.seen is None:
            return Keys(first, size, None)
        shift = None if first == 0 else self.place(first)
        return Keys(first, size, self.code.clamped(self.seen, shift, size))

    def place(self, first: SSAValue | int) -> SSAValue:
        """A key's number as a value."""
        return first if isinstance(first, SSAValue) else self.code.index(AffineExpr.constant(first))

    def clear(self) -> None:
        """Sums of values begin with 0."""
        zero = self.code.all_lanes(0.0)

        def column(i: SSAValue | None) -> None:
            for g in range(self.plan.vectors):
                self.code.store_vector(zero, self.sums, D(0) * self.plan.queries + g * self.plan.lanes, i)

        self.code.count(self.ranges[self.n], column)

    def block(self, keys: Keys, state: State, fresh: bool) -> State:
        """Scores, weights and sums of values of a block of keys; `fresh` says that nothing was summed up before."""
        code = self.code
        for array, base, scratch in zip(self.others, self.bases[3:], self.turned, strict=False):
            if scratch is not None:
                step = array.form.coefficients[self.k2]
                at = code.index(D(0) + D(1) * step, base, self.place(keys.first))
                columns = Columns(array.flat, at, array.form.coefficients[self.m], step, keys.size)
                load_lanes(code, columns, scratch, self.plan.lanes, self.plan.vectors)
        highest = self.score(keys, state[0])
        # a row without any score above -inf yet: nothing is to be added, and -inf - (-inf) would be no number
        low = code.all_lanes(-inf)
        shift = [code.select(code.compare(OEQ, h, low), code.all_lanes(0.0), h) for h in highest]
        totals = list(state[1])
        factors: list[SSAValue] | None = None
        if not fresh:
            factors = [code.weight(code.minus(before, s)) for before, s in zip(state[0], shift, strict=True)]
            totals = [code.times(t, f) for t, f in zip(totals, factors, strict=True)]
        totals = self.weigh(keys, shift, totals)
        self.add_values(keys, factors)
        return highest, totals

    def score(self, keys: Keys, highest: Sequence[SSAValue]) -> list[SSAValue]:
        """Scores of the block's keys, and the highest of each query."""
        code, rows = self.code, min(self.plan.rows, keys.size)
        tiles, start = blocks(keys.size, rows)

        def tile(t: SSAValue | None, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            if keys.seen is None or t is None:
                local = code.index(start, t)
            else:
                bounds = (D(0) * rows, AffineExpr.constant(keys.size - rows))
                local = code.bounded(affine.MinOp, bounds, t)
            return self.score_rows(keys, local, rows, list(carried))

        if tiles == 1:
            return list(tile(None, highest))
        upper, operands = (AffineExpr.constant(tiles), ())
        if keys.seen is not None:
            upper, operands = D(0).ceil_div(rows), (keys.seen,)
        return list(code.serial(AffineExpr.constant(0), upper, operands, highest, tile))

    def score_rows(self, keys: Keys, local: SSAValue, rows: int, highest: list[SSAValue]) -> list[SSAValue]:
        """A register tile: `rows` keys from number `local` of the block on, all queries."""
        code, plan = self.code, self.plan
        array = self.arrays[1]
        step, depth = array.form.coefficients[self.k2], array.form.coefficients[self.k1]
        key = code.index(D(0) + D(1), self.place(keys.first), local)
        base = code.index(D(0) + D(1) * step, self.bases[1], key)
        groups = range(plan.vectors)
        zero = code.all_lanes(0.0)

        def add(k: SSAValue, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            queries = [code.load_vector(code.type, self.query, D(0) * plan.queries + g * plan.lanes, k) for g in groups]
            result: list[SSAValue] = []
            for row in range(rows):
                element = code.all_lanes(code.load(array.flat, D(0) + D(1) * depth + row * step, base, k))
                result += [code.multiply_add(element, queries[g], sums[row * plan.vectors + g]) for g in groups]
            return result

        inits = [zero] * (rows * plan.vectors)
        size = self.ranges[self.k1]
        end = AffineExpr.constant(size)
        sums = code.serial(AffineExpr.constant(0), end, (), inits, add, at_once=self.at_once(size))
        for row in range(rows):
            number = code.index(D(0) + row, local)
            limit = code.all_lanes(code.integer(code.index(D(0) + row, key))) if self.last is not None else None
            for g in groups:
                value = self.changed(sums[row * plan.vectors + g], keys, number, row, key, g)
                if limit is not None and self.last is not None:
                    value = code.select(code.not_above(limit, self.last[g]), value, code.all_lanes(-inf))
                code.store_vector(value, self.scores, D(0) * plan.queries + g * plan.lanes, number)
                highest[g] = code.larger(value, highest[g])
        return highest

    def changed(self, score: SSAValue, keys: Keys, number: SSAValue, row: int, key: SSAValue, group: int) -> SSAValue:
        """What the op's body makes of a vector of scores of key `key` + `row`, number `number` of its block."""
        code, plan = self.code, self.plan
        block = self.op.body.block
        widener = vector.Widener(code.builder, plan.lanes)
        widener.values[block.args[0]] = score
        beside = zip(block.args[1:], self.others, self.bases[3:], self.turned, strict=False)
        for argument, array, base, scratch in beside:
            step = array.form.coefficients[self.k2]
            place = D(0) + (D(1) + row) * step
            if scratch is not None:
                value = code.load_vector(code.type, scratch, D(0) * plan.queries + group * plan.lanes, number)
            elif array.form.coefficients[self.m]:
                value = code.load_vector(code.type, array.flat, place + group * plan.lanes, base, key)
            else:
                value = code.load(array.flat, place, base, key)
            widener.values[argument] = value
        for inner in block.ops:
            if inner.next_op is None:
                return widener.vector(widener.value(inner.operands[0]))
            widener.widen(inner)
        raise AssertionError("a body ends with what it yields")

    def weigh(self, keys: Keys, shift: Sequence[SSAValue], totals: Sequence[SSAValue]) -> list[SSAValue]:
        """Scores become weights; their sums."""
        code, plan = self.code, self.plan

        def key(s: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            sums: list[SSAValue] = []
            for g, before in enumerate(carried):
                place = D(0) * plan.queries + g * plan.lanes
                score = code.load_vector(code.type, self.scores, place, s)
                weight = code.weight(code.minus(score, shift[g]))
                code.store_vector(weight, self.scores, place, s)
                sums.append(code.plus(before, weight))
            return sums

        upper, operands = keys.bound()
        return list(code.serial(AffineExpr.constant(0), upper, operands, totals, key))

    def add_values(self, keys: Keys, factors: Sequence[SSAValue] | None) -> None:
        """Sums of values, of which `factors` of what they were remain (None: nothing was there)."""
        count = self.ranges[self.n]
        rows = min(self.plan.rows, count)
        rest = count % rows if factors is not None else 0  # tiles that overlap would take factors twice
        tiles, start = blocks(count - rest, rows)
        self.code.count(tiles, lambda t: self.add_columns(keys, self.code.index(start, t), rows, factors))
        if rest:
            self.add_columns(keys, self.place(count - rest), rest, factors)

    def add_columns(self, keys: Keys, column: SSAValue, rows: int, factors: Sequence[SSAValue] | None) -> None:
        """A register tile: `rows` columns of the values from `column` on, all queries."""
        code, plan = self.code, self.plan
        array = self.arrays[2]
        step, across = array.form.coefficients[self.k2], array.form.coefficients[self.n]
        place = D(0) + D(1) * across + D(2) * step
        base = code.index(place, self.bases[2], column, self.place(keys.first))
        spots = [(row, g) for row in range(rows) for g in range(plan.vectors)]

        def spot(row: int, g: int) -> AffineExpr:
            return (D(0) + row) * plan.queries + g * plan.lanes

        if factors is None:
            inits = [code.all_lanes(0.0)] * len(spots)
        else:
            inits = [
                code.times(code.load_vector(code.type, self.sums, spot(row, g), column), factors[g]) for row, g in spots
            ]

        def key(s: SSAValue, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            weights = [
                code.load_vector(code.type, self.scores, D(0) * plan.queries + g * plan.lanes, s)
                for g in range(plan.vectors)
            ]
            result: list[SSAValue] = []
            for row in range(rows):
                place = D(0) + D(1) * step + row * across
                element = code.all_lanes(code.load(array.flat, place, base, s))
                groups = zip(weights, sums[row * plan.vectors :], strict=False)
                result += [code.multiply_add(element, weight, total) for weight, total in groups]
            return result

        upper, operands = keys.bound()
        at_once = 1 if operands else self.at_once(keys.size)
        sums = code.serial(AffineExpr.constant(0), upper, operands, inits, key, at_once=at_once)
        for (row, g), total in zip(spots, sums, strict=True):
            code.store_vector(total, self.sums, spot(row, g), column)

    def at_once(self, size: int) -> int:
        """How many rounds of a loop over a sum code is for."""
        return self.plan.at_once if size % self.plan.at_once == 0 else 1

    def finish(self, totals: Sequence[SSAValue]) -> None:
        """The sums over the sum of weights, queries as rows again."""
        code, plan = self.code, self.plan
        array = self.arrays[-1]
        factors = [code.over(code.all_lanes(1.0), total) for total in totals]
        zero = code.all_lanes(0.0)
        defined = [code.compare(OGT, total, zero) for total in totals] if self.op.zero_undefined is not None else None

        def result(value: SSAValue, group: int) -> SSAValue:
            scaled = code.times(value, factors[group])
            return scaled if defined is None else code.select(defined[group], scaled, zero)

        form = array.form.coefficients
        target = Columns(array.flat, self.bases[-1], form[self.m], form[self.n], self.ranges[self.n])
        store_lanes(code, self.sums, target, plan.lanes, plan.vectors, result)
