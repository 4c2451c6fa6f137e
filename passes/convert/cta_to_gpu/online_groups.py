"""Programs that map and reduce tiles between two products, by warpgroups of 64 rows: attention on sm_90a.

Each product is some instructions that go on by themselves, so that the loop is turned by half a step: the scores of a
step and the sums of values of the step before are computed at the same time, and the weights of the step while values
are still multiplied (Shah et al., "FlashAttention-3", 2024).

    scores of step 0, its weights
    for all other steps:
        begin the scores of the step          // keys of the step, out of shared memory
        begin the sums of the step before     // its weights, out of registers; its values
        wait for the scores: keys are given back; highest scores, weights
        wait for the sums: values are given back; sums are scaled, weights rounded
    the sums of the last step

Where two warpgroups share a block and sums are many, they take turns: one begins its products behind the other's, so
that its weights are computed while those of the other are multiplied. What the accumulators of the first product hold
is, rounded by pairs, what the second one takes as its left operand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IndexType
from xdsl.ir import Block, Operation, SSAValue

from ....compiler.diagnostics import LaminaError
from ....dialects.affine import YieldOp
from ....dialects.cta import DotOp, PipelineOp, ProgramOp
from ....dialects.gpu.ops import WARP, WARPGROUP, SubgroupBroadcastOp
from ....dialects.nvgpu import (
    NamedArriveOp,
    NamedSyncOp,
    WarpgroupCommitOp,
    WarpgroupFenceOp,
    WarpgroupMmaRegistersOp,
    WarpgroupWaitOp,
)
from ..contraction_to_cta.schedule import Schedule
from .boxes import Pipe
from .fragments import IN_QUAD, QUAD, ROWS, joined, kind_of, packed, split
from .kernel import D0, Coordinate, Kernel
from .online import Writer, flat
from .registers import Held, Spread
from .ring import loop, steps_of
from .warpgroups import corners, products

KEYS, VALUES = 0, 1  # parts of a stage
FEW_COLUMNS = 64  # whose products are over before weights are, by which nobody gains from turns


def write(kernel: Kernel, program: ProgramOp, schedule: Schedule, corner: Sequence[SSAValue]) -> list[Operation]:
    """The whole kernel. What the host has to make for it comes back: tensor maps of queries, keys and values."""
    writer = _Groups(kernel, program, schedule, corner)
    writer.write()
    return writer.pipe.made


class _Groups(Writer):
    """`first` and `second` are the products, `late` what is done with sums and with weights behind all else.

    `group` is the number of the warpgroup, from 1 on, where it multiplies, and `count` how many steps there are.
    """

    group: SSAValue
    count: int | SSAValue

    def __init__(self, kernel: Kernel, program: ProgramOp, schedule: Schedule, corner: Sequence[SSAValue]):
        super().__init__(kernel, program, schedule, corner)
        pipeline = self.pipeline
        body = pipeline.consume.block
        staged = body.args[1 : 1 + len(pipeline.staged)]
        names: dict[SSAValue, SSAValue] = dict(zip(staged, pipeline.staged, strict=True))
        self.carried = body.args[1 + len(staged) :]
        self.first, self.second = self._products()
        self.parts = [[names[self.first.rhs]], [names[self.second.rhs]]]
        self.pipe = Pipe(kernel, pipeline, schedule.stages, schedule.down, self.parts, self.kept)
        last = body.last_op
        assert last is not None
        self.given = list(last.operands)
        self.place = self.given.index(self.second.result)  # of the sums among what is carried
        sums = self.carried[self.place]
        ends = (self.second.lhs.owner, self.second.acc.owner)
        self.late = [op for op in body.ops if op in ends]
        self.between = [op for op in body.ops if op not in (self.first, self.second, *self.late, last)]
        if any(value in (sums, self.second.result) for op in self.between for value in op.operands):
            raise LaminaError("sums that are used before they are scaled", where=pipeline)

    def _products(self) -> tuple[DotOp, DotOp]:
        dots = self.dots()
        if len(dots) != 2 or [dot.lhs.owner in self.kept for dot in dots] != [True, False] or not _is_zero(dots[0].acc):
            raise LaminaError("warpgroups take a product of what stays, and one of what follows", where=self.pipeline)
        return dots[0], dots[1]

    def spread(self) -> Spread:
        row = D0 // WARP * ROWS - WARPGROUP // WARP * ROWS + QUAD
        return Spread((Coordinate(row), Coordinate(row, 8)), 4, IN_QUAD, 2)

    def dot(self, op: DotOp) -> None:
        raise LaminaError("a product outside the loop", where=op)

    def write(self) -> None:
        """All ops of the program: those in front of the loop by all threads, the others by those who multiply."""
        ops = list(self.program.body.block.ops)
        at = ops.index(self.pipeline)
        for op in ops[:at]:
            if op not in self.kept:
                self.one(op)
        self.count = self._steps()

        def multiply(group: SSAValue) -> None:
            self.group = group
            for op in ops[at:]:
                if op is self.pipeline:
                    self.loop(self.pipeline)
                else:
                    self.one(op)

        self.pipe.roles(self.copy, multiply)

    def _steps(self) -> int | SSAValue:
        """How many steps there are.

        What a thread is told by another one is no constant to LLVM: a loop that turns once at most would become a
        branch, and its code would move among products that are under way, where registers are short.
        """
        count = steps_of(self.k, self.pipeline)
        if isinstance(count, int):
            return count if count != 2 else self.k.put(SubgroupBroadcastOp(self.k.number(count))).result
        return self.k.put(SubgroupBroadcastOp(count)).result

    def copy(self) -> None:
        """What the one thread does that copies."""
        self.pipe.keep()
        block = Block(arg_types=[IndexType()])
        with self.k.inside(block):
            [number] = block.args
            for part in (KEYS, VALUES):
                self.pipe.fill(part, number, self.index(number))
            self.k.put(YieldOp.get())
        loop(self.k, self.count, block, [])

    def index(self, number: SSAValue) -> SSAValue:
        """The first key of a step."""
        return self.k.apply(D0 * self.pipeline.step.value.data, number)

    def loop(self, op: PipelineOp) -> None:
        kernel, count = self.k, self.count
        zero = kernel.number(0)
        if self.by_turns:
            with kernel.when(
                kernel.put(arith.CmpiOp(self.group, kernel.number(2), "eq")).result
            ):  # the first one begins
                self.others_turn()
        self.pipe.kept_is_there()
        keys = self.pipe.take(KEYS, zero)
        at = self.corners(keys)
        kernel.put(WarpgroupFenceOp([]))
        scores = self.scores(at)
        kernel.put(WarpgroupCommitOp())
        [scores] = self.wait(0, scores)
        self.pipe.give_back(KEYS, keys)
        state = self.weighed(zero, scores, [self.tiles.held[value] for value in op.inits])
        if count != 1:
            block = Block(arg_types=[IndexType(), *(value.type for value in state)])
            with kernel.inside(block):
                kernel.put(YieldOp.get(*self.step(block.args[0], list(block.args[1:]))))
            ahead = count - 1 if isinstance(count, int) else kernel.apply(D0 - 1, count)
            state = loop(kernel, ahead, block, state)
        last = kernel.number(count - 1) if isinstance(count, int) else kernel.apply(D0 - 1, count)
        sums, weights, others = self.unpacked(state)
        values = self.pipe.take(VALUES, last)
        self.my_turn()
        sums, weights = self.fence(sums, weights)
        sums = self.values(values, sums, weights)
        kernel.put(WarpgroupCommitOp())
        with kernel.when(kernel.below(self.group, 2) if self.by_turns else None):  # the second one is the last
            self.others_turn()
        sums, _ = self.wait(0, sums, weights)
        others.insert(self.place, split(kernel, [sums]))
        self.tiles.held.update(zip(op.sums, others, strict=True))

    def step(self, before: SSAValue, state: Sequence[SSAValue]) -> list[SSAValue]:
        """One turn of the loop: the scores of a step, the sums of the one before."""
        kernel = self.k
        number = kernel.plus(before, 1)
        sums, weights, others = self.unpacked(state)
        keys = self.pipe.take(KEYS, number)
        at = self.corners(keys)
        self.my_turn()
        kernel.put(WarpgroupFenceOp([]))
        scores = self.scores(at)
        kernel.put(WarpgroupCommitOp())
        values = self.pipe.take(VALUES, before)
        sums, weights = self.fence(sums, weights)
        sums = self.values(values, sums, weights)
        kernel.put(WarpgroupCommitOp())
        self.others_turn()
        [scores] = self.wait(1, scores)
        self.pipe.give_back(KEYS, keys)
        others.insert(self.place, [])

        def multiplied() -> Held:
            found, _ = self.wait(0, sums, weights)
            self.pipe.give_back(VALUES, values)
            return split(kernel, [found])

        return self.weighed(number, scores, others, multiplied)

    @property
    def by_turns(self) -> bool:
        """Whether two warpgroups take turns: where a step's products take longer than its weights."""
        return self.s.down == 2 and self.s.columns > FEW_COLUMNS

    def my_turn(self) -> None:
        """Waits for the other warpgroup to have begun its products."""
        if self.by_turns:
            self.k.put(NamedSyncOp(self.group, 2 * WARPGROUP))

    def others_turn(self) -> None:
        """Lets it begin its next ones. The barrier of a warpgroup has its number."""
        if self.by_turns:
            self.k.put(NamedArriveOp(self.k.apply(D0 * -1 + 3, self.group), 2 * WARPGROUP))

    def weighed(
        self, number: SSAValue, scores: Sequence[SSAValue], held: Sequence[Held], sums: Callable[[], Held] | None = None
    ) -> list[SSAValue]:
        """What is done with the scores of a step, then with the sums so far; what the next step needs comes back.

        `sums` gives the sums, of what is carried, once they are there.
        """
        self.k.arguments[self.pipeline.consume.block.args[0]] = self.index(number)
        self.tiles.held.update(zip(self.carried, held, strict=True))
        self.tiles.held[self.first.result] = split(self.k, [scores])
        for op in self.between:
            self.one(op)
        if sums is not None:
            self.tiles.held[self.carried[self.place]] = sums()
        for op in self.late:
            self.one(op)
        found = self.tiles.held
        [total], [weights] = joined(self.k, found[self.second.acc]), packed(self.k, found[self.second.lhs])
        others = [found[value] for value in self.given if value is not self.second.result]
        return [*total, *weights, *flat(others)]

    def unpacked(self, state: Sequence[SSAValue]) -> tuple[list[SSAValue], list[SSAValue], list[Held]]:
        """What goes from step to step: sums, weights, and what else is carried."""
        rest = iter(state)
        sums = [next(rest) for _ in range(self.s.columns // 8)]
        weights = [next(rest) for _ in range(self.s.depth // 16)]
        others = [value for i, value in enumerate(self.carried) if i != self.place]
        return sums, weights, [[[next(rest) for _ in row] for row in self.tiles.types(value)] for value in others]

    def corners(self, slot: SSAValue) -> tuple[SSAValue, SSAValue]:
        """Where queries of this warpgroup, and keys, begin."""
        [keys] = self.pipe.parts[KEYS]
        [queries] = self.pipe.kept
        return corners(self.k, self.pipe, (queries, keys), (self.k.number(0), slot), self.group)

    def scores(self, at: tuple[SSAValue, SSAValue]) -> list[SSAValue]:
        """Begins the first product."""
        [keys] = self.pipe.parts[KEYS]
        [queries] = self.pipe.kept
        return list(products(self.k, self.pipe, (queries, keys), at, []))

    def values(self, slot: SSAValue, sums: Sequence[SSAValue], weights: Sequence[SSAValue]) -> list[SSAValue]:
        """Begins the second product."""
        [right] = self.pipe.parts[VALUES]
        place = self.k.apply(D0 * self.pipe.stage + right.tile.start, slot)
        for number, fragment in enumerate(weights):
            product = WarpgroupMmaRegistersOp(
                fragment,
                (self.pipe.shared, place),
                sums,
                count=len(sums),
                kind=kind_of(right.tile.element),
                offset=right.offset(number),
                leading=right.leading,
                turned=right.turned,
            )
            sums = self.k.put(product).results_
        return list(sums)

    def fence(self, *registers: Sequence[SSAValue]) -> list[list[SSAValue]]:
        """Registers that products may read and change from now on."""
        op = self.k.put(WarpgroupFenceOp([value for part in registers for value in part]))
        return _like(op.results_, registers)

    def wait(self, groups: int, *registers: Sequence[SSAValue]) -> list[list[SSAValue]]:
        """Registers of products that are over once at most `groups` are under way."""
        op = self.k.put(WarpgroupWaitOp([value for part in registers for value in part], groups))
        return _like(op.results_, registers)


def _like(values: Sequence[SSAValue], parts: Sequence[Sequence[SSAValue]]) -> list[list[SSAValue]]:
    rest = iter(values)
    return [[next(rest) for _ in part] for part in parts]


def _is_zero(tile: SSAValue) -> bool:
    op = tile.owner
    if not isinstance(op, arith.ConstantOp) or not isinstance(op.value, DenseIntOrFPElementsAttr):
        return False
    return all(isinstance(n, FloatAttr) and n.value.data == 0 for n in op.value.get_attrs())
