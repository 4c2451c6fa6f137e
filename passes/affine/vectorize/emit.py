"""The vector form of a loop: whole vectors in a loop, what is left in one more vector, masked or overlapping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AnyFloat,
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
    i64,
)
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ....compiler.machine import Machine
from ....dialects import affine, memref, vector
from ..loops import takes_steps
from .analysis import Kind, Plan, Reduction, is_shuffled, shifted

REASSOCIATE = FastMathFlagsAttr([FastMathFlag.REASSOC])
MATH_REGISTERS = 2
MATH_CONSTANTS = 12  # of an exponential, say: in registers where instructions take no operand from memory


def lanes_of(plan: Plan, machine: Machine) -> int:
    """How many of the loop's elements a register holds."""
    return max(1, machine.vector_bytes // plan.element_bytes)


def width_of(plan: Plan, machine: Machine) -> int:
    """How many rounds to run at a time: a register's worth, or as many registers as the body leaves free, up to 4.

    Several hide the latency of sums and use whole cache lines. Where functions are computed and nothing is carried from
    round to round, twice the registers count: what is kept in memory meanwhile takes less time than waiting for steps
    that need each other (GELU is a sixth faster so on Zen 3, a logarithm too).
    """
    lanes = lanes_of(plan, machine)
    free = machine.vector_registers - 2
    if any(takes_steps(op) for op in plan.body.ops):
        if not machine.operands_from_memory:
            free -= MATH_CONSTANTS
        elif not plan.carries:
            free *= 2
        if len(plan.reductions) > 1:  # of a pipeline over rows, whose stages each bring some
            free -= len(uniforms(plan))
    times = 1 if plan.together > 1 else 4
    while times > 1 and (times * live_values(plan) > free or plan.trips < 2 * times * lanes):
        times //= 2
    width = lanes * times
    while width > plan.trips:
        width //= 2
    return width


def uniforms(plan: Plan) -> set[SSAValue]:
    """What all lanes compute with and no instruction reads from memory: scalars from outside that are not constant."""
    used = {operand for op in plan.body.ops if op not in plan.steps for operand in op.operands}
    outside = used - plan.varying - {result for op in plan.body.ops for result in op.results}
    return {value for value in outside if not isinstance(value.owner, arith.ConstantOp)}


def live_values(plan: Plan) -> int:
    """The most values that differ by lane and are needed at the same time."""
    ops = list(plan.body.ops)
    last_use = {operand: position for position, op in enumerate(ops) for operand in op.operands}
    live: set[SSAValue] = {*plan.body.args[1:]}
    if any(plan.index in op.operands for op in ops if op not in plan.steps and not isinstance(op, affine.ApplyOp)):
        live.add(plan.index)
    most = 1
    for position, op in enumerate(ops):
        live.update(result for result in op.results if result in plan.varying and result in last_use)
        extra = MATH_REGISTERS if takes_steps(op) else 0
        indices = sum(isinstance(value.type, IndexType) for value in live)  # wider than the data
        most = max(most, len(live) + extra + indices * (8 // plan.element_bytes - 1))
        live = {value for value in live if last_use[value] > position}
    return most


def vectorise(plan: Plan, machine: Machine) -> None:
    """Replaces the plan's loop."""
    loop = plan.loop
    before = loop.prev_op
    width = width_of(plan, machine)
    builder = Builder(InsertPoint.before(loop))
    whole, rest = divmod(plan.trips, width)
    totals: list[SSAValue] = list(loop.inits)
    if whole:
        totals = main_loop(plan, builder, width, whole * width, totals)
    if rest:
        overlap = plan.idempotent and not plan.carries and whole > 0
        size = 1 << (rest - 1).bit_length()
        if overlap:  # as little as may be: a line that is stored twice may still be on its way
            size = min(width, max(size, lanes_of(plan, machine)))
        at = index_at(plan, builder, plan.trips - size if overlap else whole * width)
        mask = None
        if not overlap and size != rest:
            mask = builder.insert(vector.ConstantMaskOp(rest, size)).result
        sums = Round(plan, builder, at, size, mask).run(start_lanes(plan, builder, totals, size))
        totals = combine_lanes(plan, builder, totals, sums)
    locate(loop, before)
    for result, total in zip(loop.results, totals, strict=True):
        result.replace_all_uses_with(total)
    loop.detach()
    loop.erase()


def locate(loop: affine.ForOp, before: Operation | None) -> None:
    """Gives what stands between `before` and `loop` the loop's location."""
    block = loop.parent
    assert block is not None
    op = before.next_op if before is not None else block.first_op
    while op is not None and op is not loop:
        for inner in op.walk():
            inner.location = loop.location
        op = op.next_op


def main_loop(plan: Plan, builder: Builder, width: int, extent: int, totals: Sequence[SSAValue]) -> list[SSAValue]:
    """The whole vectors; returns what the reductions came to."""
    loop = plan.loop
    inits = start_lanes(plan, builder, totals, width)
    block = Block(arg_types=[IndexType(), *(init.type for init in inits)])
    inside = Builder(InsertPoint.at_end(block))
    sums = Round(plan, inside, block.args[0], width, None).run(block.args[1:])
    inside.insert(affine.YieldOp.get(*sums))
    lower = loop.lowerBoundMap.data
    upper = AffineMap(lower.num_dims, lower.num_symbols, (shifted(lower.results[0], extent),))
    new = affine.ForOp.from_region(
        loop.lowerBoundOperands,
        loop.lowerBoundOperands,
        inits,
        [init.type for init in inits],
        loop.lowerBoundMap,
        AffineMapAttr(upper),
        Region(block),
        width,
    )
    builder.insert(new)
    return combine_lanes(plan, builder, totals, new.results)


def start_lanes(plan: Plan, builder: Builder, totals: Sequence[SSAValue], width: int) -> list[SSAValue]:
    """What lanes carry at first: what changes nothing, or the best so far, which may be chosen again."""
    if plan.selection is None:
        return [neutral_vector(builder, reduction, width) for reduction in plan.reductions]
    types = [VectorType(total.type, [width]) for total in totals]
    return [builder.insert(vector.BroadcastOp(t, type_)).vector for t, type_ in zip(totals, types, strict=True)]


def combine_lanes(
    plan: Plan, builder: Builder, totals: Sequence[SSAValue], lanes: Sequence[SSAValue]
) -> list[SSAValue]:
    """`totals` combined with all lanes."""
    if plan.selection is None:
        return [reduce(builder, r, t, v) for r, v, t in zip(plan.reductions, lanes, totals, strict=True)]
    values = list(lanes)
    while (width := lane_count(values[0])) > 1:
        half = width // 2
        low = [shuffle(builder, v, v, range(half)) for v in values]
        high = [shuffle(builder, v, v, range(half, width)) for v in values]
        widener = vector.Widener(builder, half)
        widener.values.update(zip(plan.selection.carried, low, strict=True))
        widener.values.update(zip(plan.selection.elements, high, strict=True))
        for op in plan.selection.ops:
            widener.widen(op)
        values = [widener.value(v) for v in plan.selection.chosen]
    return [builder.insert(vector.ExtractOp(v, [0], t.type)).result for v, t in zip(values, totals, strict=True)]


def lane_count(value: SSAValue) -> int:
    """How many lanes a vector has."""
    assert isinstance(value.type, VectorType)
    return value.type.get_shape()[0]


def index_at(plan: Plan, builder: Builder, offset: int) -> SSAValue:
    """The loop's variable `offset` rounds after the first."""
    lower = plan.loop.lowerBoundMap.data
    expr = shifted(lower.results[0], offset)
    if not lower.num_dims and not lower.num_symbols:
        return builder.insert(arith.ConstantOp(IntegerAttr(expr.eval((), ()), IndexType()))).result
    map = AffineMapAttr(AffineMap(lower.num_dims, lower.num_symbols, (expr,)))
    return builder.insert(affine.ApplyOp(plan.loop.lowerBoundOperands, map)).result


class Round:
    """One pass over the body with `width` lanes, beginning at `index`."""

    def __init__(self, plan: Plan, builder: Builder, index: SSAValue, width: int, mask: SSAValue | None):
        self.plan = plan
        self.builder = builder
        self.index = index
        self.width = width
        self.mask = mask
        self.widener = vector.Widener(builder, width)
        self.lanes_index: SSAValue | None = None
        self.given: Mapping[Operation, SSAValue] = {}  # loads that were done before
        self.beside: list[tuple[affine.StoreOp, SSAValue]] = []  # of elements that are stored together

    def run(self, sums: Sequence[SSAValue]) -> list[SSAValue]:
        """Writes the body; returns the carried values."""
        for carried, value in zip(self.plan.body.args[1:], sums, strict=True):
            self.widener.values[carried] = value
        for op in self.plan.body.ops:
            match op:
                case affine.LoadOp() | memref.LoadOp():
                    self.widener.values[op.results[0]] = self.load(op)
                case affine.StoreOp():
                    self.store(op)
                case affine.ApplyOp():
                    self.widener.values[op.result] = self.apply(op)
                case affine.YieldOp():
                    values = [self.widener.vector(self.widener.value(operand)) for operand in op.operands]
                    return [self.kept(value, sum) for value, sum in zip(values, sums, strict=True)]
                case _:
                    if self.plan.index in op.operands:
                        self.widener.values[self.plan.index] = self.index_lanes()
                    self.widener.widen(op)
        raise AssertionError("a loop's body ends with affine.yield")

    def kept(self, value: SSAValue, before: SSAValue) -> SSAValue:
        """`value` in the lanes there are, `before` in the others."""
        if self.mask is None:
            return value
        return self.widener.select(self.mask, value, before)

    def operands(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """Subscripts with the loop's variable replaced."""
        return [self.index if v is self.plan.index else self.widener.value(v) for v in values]

    def load(self, op: affine.LoadOp | memref.LoadOp) -> SSAValue:
        """Consecutive elements, one for all lanes, or one by one."""
        if op in self.given:
            return self.given[op]
        step = self.plan.steps[op]
        operands = self.operands(op.indices)
        if step == 0:
            if isinstance(op, memref.LoadOp):
                return self.builder.insert(memref.LoadOp.get(op.memref, operands)).res
            return self.builder.insert(affine.LoadOp(op.memref, operands, op.map)).result
        type_ = self.widener.wide(op.results[0].type)
        if step == 1 and self.mask is None:
            if isinstance(op, memref.LoadOp):
                return self.builder.insert(vector.LoadOp(op.memref, operands, type_)).result
            load = affine.VectorLoadOp(op.memref, operands, op.map, type_)  # pyright: ignore[reportArgumentType]
            return self.builder.insert(load).result
        if self.mask is None and isinstance(op, affine.LoadOp) and is_shuffled(op, self.plan):
            return self.shuffled(op, operands, step, type_)
        where = operands if isinstance(op, memref.LoadOp) else self.subscripts(op.map.data, operands)
        otherwise = splat(self.builder, zero(type_.element_type), type_)
        if step == 1:
            assert self.mask is not None
            return self.builder.insert(vector.MaskedLoadOp(op.memref, where, self.mask, otherwise)).result
        mask = self.mask or self.builder.insert(vector.ConstantMaskOp(self.width, self.width)).result
        numbers = self.builder.insert(vector.StepOp(self.width)).result
        wide_step = splat(self.builder, IntegerAttr(step, IndexType()), numbers.type)
        apart = self.builder.insert(arith.MuliOp(numbers, wide_step)).result
        return self.builder.insert(vector.GatherOp(op.memref, where, apart, mask, otherwise)).result

    def shuffled(self, op: affine.LoadOp, operands: Sequence[SSAValue], step: int, type_: VectorType) -> SSAValue:
        """Elements a short step apart, or backwards: contiguous vectors; the last one ends where the last lane is."""
        last = self.width - 1

        def load(offset: int) -> SSAValue:
            map = op.map.data
            moved = AffineMap(map.num_dims, map.num_symbols, (*map.results[:-1], shifted(map.results[-1], offset)))
            vector_load = affine.VectorLoadOp(op.memref, operands, AffineMapAttr(moved), type_)  # pyright: ignore[reportArgumentType]
            return self.builder.insert(vector_load).result

        if step == -1:
            whole = load(-last)
            return shuffle(self.builder, whole, whole, [last - lane for lane in range(self.width)])
        found = load(0)
        for part in range(1, step):
            first = min(part * self.width, (step - 1) * last)
            taken = list(range(self.width))
            for lane in taken[:]:
                place = step * lane - first
                if 0 <= place < self.width:
                    taken[lane] = self.width + place
                elif place < 0 and part == 1:
                    taken[lane] = step * lane
            found = shuffle(self.builder, found, load(first), taken)
        return found

    def store(self, op: affine.StoreOp) -> None:
        """Consecutive elements; of those that are stored together all, when the last is there."""
        value = self.widener.vector(self.widener.value(op.value))
        if self.plan.together > 1:
            self.beside.append((op, value))
            every = sum(isinstance(other, affine.StoreOp) for other in self.plan.body.ops) // self.plan.together
            mine = self.beside[(len(self.beside) - 1) % every :: every]
            if len(mine) < self.plan.together:
                return
            op, value = mine[0][0], interleave(self.builder, [part for _, part in mine])
        operands = self.operands(op.indices)
        if self.mask is None:
            self.builder.insert(affine.VectorStoreOp(value, op.memref, operands, op.map))  # pyright: ignore[reportArgumentType]
            return
        where = self.subscripts(op.map.data, operands)
        self.builder.insert(vector.MaskedStoreOp(op.memref, where, self.mask, value))

    def subscripts(self, map: AffineMap, operands: Sequence[SSAValue]) -> list[SSAValue]:
        """The values of the map's results."""
        return [self.applied(expr, map, operands) for expr in map.results]

    def applied(self, expr: AffineExpr, map: AffineMap, operands: Sequence[SSAValue]) -> SSAValue:
        attribute = AffineMapAttr(AffineMap(map.num_dims, map.num_symbols, (expr,)))
        return self.builder.insert(affine.ApplyOp(operands, attribute)).result

    def apply(self, op: affine.ApplyOp) -> SSAValue:
        """An index: the first lane's, and how far each lane is from it."""
        map = op.map.data
        first = self.applied(map.results[0], map, self.operands(op.mapOperands))
        moved = [int(operand is self.plan.index) for operand in op.mapOperands]
        if not any(moved):
            return first
        dims, symbols = moved[: map.num_dims], moved[map.num_dims :]
        step = map.results[0].eval(dims, symbols) - map.results[0].eval([0] * len(dims), [0] * len(symbols))
        return self.from_first(first, step)

    def index_lanes(self) -> SSAValue:
        """The loop's variable in every lane."""
        if self.lanes_index is None:
            self.lanes_index = self.from_first(self.index, 1)
        return self.lanes_index

    def from_first(self, first: SSAValue, step: int) -> SSAValue:
        numbers = self.builder.insert(vector.StepOp(self.width)).result
        if step != 1:
            wide_step = splat(self.builder, IntegerAttr(step, IndexType()), numbers.type)
            numbers = self.builder.insert(arith.MuliOp(numbers, wide_step)).result
        return self.builder.insert(arith.AddiOp(self.widener.vector(first), numbers)).result


def reduce(builder: Builder, reduction: Reduction, total: SSAValue, lanes: SSAValue) -> SSAValue:
    """`total` combined with all lanes."""
    flags = None
    if isinstance(total.type, AnyFloat):
        flags = REASSOCIATE if reduction.kind in (Kind.ADD, Kind.MUL) else FastMathFlagsAttr(list(reduction.flags))
    op = vector.ReductionOp(lanes, reduction.kind, total, flags)
    return builder.insert(op).dest


def neutral_vector(builder: Builder, reduction: Reduction, width: int) -> SSAValue:
    """The value that changes nothing, in every lane."""
    element = reduction.carried.type
    return splat(builder, neutral(reduction.kind, element), VectorType(element, [width]))


def neutral(kind: Kind, element: Attribute) -> FloatAttr | IntegerAttr:
    """The value that changes nothing when combined."""
    if isinstance(element, AnyFloat):
        values = {Kind.ADD: -0.0, Kind.MUL: 1.0, Kind.MAXIMUMF: float("-inf"), Kind.MINIMUMF: float("inf")}
        return FloatAttr(values[kind], element)
    assert isinstance(element, IntegerType)
    bits = element.bitwidth
    lowest, highest = (-1, 0) if bits == 1 else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    integers = {
        Kind.ADD: 0,
        Kind.MUL: 1,
        Kind.MAXSI: lowest,
        Kind.MINSI: highest,
        Kind.MAXUI: 0,
        Kind.MINUI: -1,
        Kind.AND: -1,
        Kind.OR: 0,
        Kind.XOR: 0,
    }
    return IntegerAttr(integers[kind], element)


def zero(element: Attribute) -> FloatAttr | IntegerAttr:
    """The number 0."""
    if isinstance(element, AnyFloat):
        return FloatAttr(0.0, element)
    assert isinstance(element, IntegerType | IndexType)
    return IntegerAttr(0, element)


def shuffle(builder: Builder, a: SSAValue, b: SSAValue, mask: Sequence[int]) -> SSAValue:
    """The elements of `a` followed by those of `b` that the mask names."""
    assert isinstance(a.type, VectorType)
    numbers = DenseArrayBase.from_list(i64, list(mask))
    type_ = VectorType(a.type.element_type, [len(mask)])
    return builder.insert(vector.ShuffleOp(a, b, numbers, result_type=type_)).result


def interleave(builder: Builder, values: Sequence[SSAValue]) -> SSAValue:
    """The first elements of two, three or four vectors, then the second ones, and so on."""
    width = lane_count(values[0])
    if len(values) == 4:
        a, b, c, d = values
        values, width = [interleave(builder, [a, c]), interleave(builder, [b, d])], 2 * width
    if len(values) == 2:
        a, b = values
        return shuffle(builder, a, b, [part * width + lane for lane in range(width) for part in range(2)])
    a, b, c = values
    pair = shuffle(builder, a, b, range(2 * width))
    third = shuffle(builder, c, c, range(2 * width))
    return shuffle(builder, pair, third, [part * width + lane for lane in range(width) for part in range(3)])


def splat(builder: Builder, value: FloatAttr | IntegerAttr, type_: Attribute) -> SSAValue:
    """One number in every lane."""
    assert isinstance(type_, VectorType)
    return builder.insert(vector.splat(value, type_)).result
