"""Tiles that warpgroups multiply: a ring of stages in shared memory, which the copy engine fills, or threads do.

Of what a step needs, `parts` come and go on their own: each part of a stage has two barriers. `full` ends a phase when
the bytes of its tiles have come, `empty` when every warpgroup that multiplies has given it back. It is here alone that
stages, phases and bytes are known; who multiplies asks for a step's part, and gives it back.

One thread lets the copy engine bring what lies in memory in boxes. Tiles of other views, as windows of an image, all
threads of the first warpgroup gather, 16 bytes at a time: their copies go on by themselves, too, and `full` counts each
thread when all that it began has come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Block, Operation, Region, SSAValue

from ....compiler.diagnostics import LaminaError
from ....dialects import scf
from ....dialects.cta import LoadOp, PipelineOp, ViewOp, ViewType
from ....dialects.gpu import BarrierOp
from ....dialects.gpu.ops import WARPGROUP, SubgroupBroadcastOp
from ....dialects.nvgpu import (
    ArriveExpectOp,
    ArriveOp,
    AsyncArriveOp,
    AsyncGroupOp,
    AsyncWaitOp,
    CreateDescriptorOp,
    FenceInitOp,
    FenceProxyOp,
    InitBarrierOp,
    MaxRegistersOp,
    TensorMapType,
    TmaLoadOp,
    TryWaitOp,
)
from ..contraction_to_cta.schedule import ROW_BYTES, in_boxes
from .copies import WIDEST, Copies
from .kernel import D0, STAGE_ALIGNMENT, Kernel, SharedTile, Slot

STEPS = 16  # of the sum of one instruction
FEW, MANY = 40, 232  # registers of a thread that copies, and of one that multiplies
GATHERS, BESIDE = 72, 216  # the same, where threads know the places of many pieces
BARRIER_BYTES = 8
TOGETHER = 2  # warpgroups that multiply: then registers are short


@dataclass(frozen=True)
class Operand:
    """A tile in shared memory: where, what brings it, and whether its rows in memory are steps of the sum."""

    load: LoadOp
    tile: SharedTile
    by: SSAValue | Copies  # the tensor map of boxes, or pieces that threads bring
    turned: bool

    @property
    def along(self) -> int:
        """The dimension of neighbours in memory."""
        return 1 if self.tile.layout.modes[1].pairs[0][1] == 1 else 0

    @property
    def nbytes(self) -> int:
        """Of the whole tile."""
        return self.tile.rows * self.tile.columns * self.tile.size

    @property
    def panel(self) -> int:
        """Bytes of all lines, 128 of each: the next neighbours follow them."""
        return (self.tile.rows, self.tile.columns)[1 - self.along] * ROW_BYTES

    @property
    def leading(self) -> int:
        """Bytes between parts of 64 rows of A, or columns of B."""
        return self.panel if self.turned else 16

    def offset(self, number: int) -> int:
        """Bytes from the first instruction's part to that of another one."""
        if self.turned:
            return number * STEPS * ROW_BYTES
        size = STEPS * self.tile.size
        return number * size // ROW_BYTES * self.panel + number * size % ROW_BYTES

    def group(self, rows: int) -> int:
        """Bytes between the rows of a warpgroup, so many of them, and those of the next one."""
        return self.panel if self.turned else rows * ROW_BYTES

    @property
    def boxes(self) -> list[tuple[int, int, int]]:
        """Of each copy: its byte in the tile, its row and column."""
        across = ROW_BYTES // self.tile.size
        starts = range(0, (self.tile.rows, self.tile.columns)[self.along], across)
        places = [(start // across * self.panel, start) for start in starts]
        return [(place, 0, start) if self.along else (place, start, 0) for place, start in places]


class Pipe:
    """A ring of stages, and behind it tiles that are brought once (`kept`)."""

    def __init__(
        self,
        kernel: Kernel,
        pipeline: PipelineOp,
        stages: int,
        users: int,
        parts: Sequence[Sequence[SSAValue]],
        kept: Sequence[LoadOp] = (),
    ):
        self.k, self.pipeline, self.stages, self.users = kernel, pipeline, stages, users
        self.made: list[Operation] = []  # what the host makes: a tensor map of each tile
        self.operands: dict[SSAValue, Operand] = {}
        start = 0
        for value in pipeline.staged:
            start = self._operand(value, start)
        self.parts = [[self.operands[value] for value in part] for part in parts]
        self.stage, end = start, start * stages
        self.kept: list[Operand] = []
        for load in kept:
            end = self._operand(load.result, end)
            self.kept.append(self.operands[load.result])
        self.first_barrier = end // BARRIER_BYTES
        count = 2 * stages * len(parts) + bool(kept)
        self.shared = kernel.shared(end + count * BARRIER_BYTES)
        self.barriers = kernel.shared_view(self.shared, 0, self.first_barrier + count, i64)

    def _operand(self, value: SSAValue, start: int) -> int:
        """A tile from a byte on; where the next one may begin comes back."""
        kernel, load = self.k, value.owner
        assert isinstance(load, LoadOp)
        tile = SharedTile(kernel, value, start, WARPGROUP)
        view = load.view.owner
        assert isinstance(view, ViewOp) and isinstance(view.result.type, ViewType)
        along = 1 if tile.layout.modes[1].pairs[0][1] == 1 else 0
        if in_boxes(view.result.type):
            lines = (tile.rows, tile.columns)[1 - along]
            descriptor = describe(view.buffer, view.result.type, along, (lines, ROW_BYTES // tile.size))
            self.made.append(descriptor)
            by = kernel.body.insert_arg(descriptor.result.type, len(kernel.body.args))
        else:
            by = Copies(kernel, load, start, self.pipeline.produce.block.args[0], WARPGROUP)
            if by.width * tile.size != WIDEST:
                raise LaminaError(
                    f"warpgroups take pieces of {WIDEST} bytes, not what {view.result.type} has", where=load
                )
        self.operands[value] = Operand(load, tile, by, bool(along) == _is_right(value, self.pipeline))
        end = start + tile.nbytes
        return end + -end % STAGE_ALIGNMENT

    def gathered(self, part: int) -> list[Copies]:
        """What threads bring of a part."""
        return [operand.by for operand in self.parts[part] if isinstance(operand.by, Copies)]

    def boxed(self, part: int) -> list[Operand]:
        """What the copy engine brings."""
        return [operand for operand in self.parts[part] if not isinstance(operand.by, Copies)]

    @property
    def gathers(self) -> bool:
        """Whether threads bring anything."""
        return any(map(self.gathered, range(len(self.parts))))

    def full(self, part: int, slot: SSAValue) -> SSAValue:
        """The barrier of a part of a stage that ends a phase when its tiles are there."""
        return self.k.plus(slot, self.first_barrier + 2 * self.stages * part)

    def empty(self, part: int, slot: SSAValue) -> SSAValue:
        """The one that ends a phase when everybody has used them."""
        return self.k.plus(slot, self.first_barrier + 2 * self.stages * part + self.stages)

    @property
    def once(self) -> SSAValue:
        """The barrier of what is kept."""
        return self.k.number(self.first_barrier + 2 * self.stages * len(self.parts))

    def roles(self, copy: Callable[[], None], multiply: Callable[[SSAValue], None]) -> None:
        """The kernel: the first warpgroup, or one thread of it, copies; others multiply and are told their number."""
        kernel, few, many = self.k, *((GATHERS, BESIDE) if self.gathers else (FEW, MANY))
        group = kernel.put(SubgroupBroadcastOp(kernel.of_thread(D0 // WARPGROUP))).result
        with kernel.when(kernel.below(kernel.thread, 1)):
            for part in range(len(self.parts)):
                arrivals = bool(self.boxed(part)) + WARPGROUP * bool(self.gathered(part))
                for number in range(self.stages):
                    at = kernel.number(number)
                    kernel.put(InitBarrierOp(self.barriers, self.full(part, at), arrivals))
                    kernel.put(InitBarrierOp(self.barriers, self.empty(part, at), self.users))
            if self.kept:
                kernel.put(InitBarrierOp(self.barriers, self.once, 1))
            kernel.put(FenceInitOp())
        kernel.put(BarrierOp())
        produce, consume = Block(), Block()
        with kernel.inside(produce):
            if self.users >= TOGETHER:
                kernel.put(MaxRegistersOp(few, more=False))
            with kernel.when(None if self.gathers else kernel.below(kernel.thread, 1)):
                copy()
                if self.gathers:  # threads stay until what they began has come
                    kernel.put(AsyncGroupOp())
                    kernel.put(AsyncWaitOp(0))
            kernel.put(scf.YieldOp())
        with kernel.inside(consume):
            if self.users >= TOGETHER:
                kernel.put(MaxRegistersOp(many, more=True))
            multiply(group)
            kernel.put(scf.YieldOp())
        kernel.either(kernel.below(group, 1), [], produce, consume)

    def keep(self) -> None:
        """Begins to bring what is kept."""
        self.k.put(ArriveExpectOp(self.barriers, self.once, sum(operand.nbytes for operand in self.kept)))
        for operand in self.kept:
            self._bring(operand, self.k.number(0), self.once, None)

    def kept_is_there(self) -> None:
        """Waits for what is kept."""
        self._wait(self.once, self.k.number(0))

    def fill(self, part: int, step: SSAValue, index: SSAValue) -> None:
        """Waits until a part of the step's stage is empty, and begins to bring its tiles, those at `index`."""
        slot, rounds = self._slot(step)
        self._wait(self.empty(part, slot), self._parity(rounds, flipped=True))
        full, boxed, gathered = self.full(part, slot), self.boxed(part), self.gathered(part)
        with self.k.when(self.k.below(self.k.thread, 1) if boxed and self.gathers else None):
            if boxed:
                self.k.put(ArriveExpectOp(self.barriers, full, sum(operand.nbytes for operand in boxed)))
            for operand in boxed:
                self._bring(operand, slot, full, index)
        for copies in gathered:
            copies.begin(self.shared, Slot(slot, self.stage), index)
        if gathered:
            self.k.put(AsyncArriveOp(self.barriers, full))

    def take(self, part: int, step: SSAValue) -> SSAValue:
        """The stage of a step, once a part of it is there."""
        slot, rounds = self._slot(step)
        self._wait(self.full(part, slot), self._parity(rounds, flipped=False))
        if self.gathered(part):
            self.k.put(FenceProxyOp())
        return slot

    def give_back(self, part: int, slot: SSAValue) -> None:
        """A warpgroup has used a part of a stage."""
        with self.k.when(self.k.below(self.k.of_thread(D0 % WARPGROUP), 1)):
            self.k.put(ArriveOp(self.barriers, self.empty(part, slot)))

    def slot(self, step: SSAValue) -> SSAValue:
        """The stage of a step."""
        return self._slot(step)[0]

    def _slot(self, step: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The stage of a step of the ring, and how often the ring went round before."""
        kernel, stages = self.k, self.k.number(self.stages)
        return kernel.put(arith.RemUIOp(step, stages)).result, kernel.put(arith.DivUIOp(step, stages)).result

    def _wait(self, barrier: SSAValue, parity: SSAValue) -> None:
        """Asks until the phase of a parity is over."""
        kernel = self.k
        before, after = Block(), Block([scf.YieldOp()])
        with kernel.inside(before):
            over = kernel.put(TryWaitOp(self.barriers, barrier, parity)).result
            goes_on = kernel.put(arith.XOrIOp(over, kernel.number(1, i1))).result
            kernel.put(scf.ConditionOp(goes_on))
        kernel.put(scf.WhileOp([], [], Region(before), Region(after)))

    def _parity(self, rounds: SSAValue, flipped: bool) -> SSAValue:
        """Of how often the ring went round; flipped for those who may begin at once."""
        kernel = self.k
        one = kernel.number(1)
        low = kernel.put(arith.AndIOp(rounds, one)).result
        return kernel.put(arith.XOrIOp(low, one)).result if flipped else low

    def _bring(self, operand: Operand, slot: SSAValue, full: SSAValue, index: SSAValue | None) -> None:
        """The boxes of one tile."""
        kernel = self.k
        assert not isinstance(operand.by, Copies)
        step = self.pipeline.produce.block.args[0]
        batch, row, column = (
            index if value is step and index is not None else kernel.arguments[value] for value in operand.load.at
        )
        view = operand.load.view.type
        assert isinstance(view, ViewType)
        for place, down, right in operand.boxes:
            at = [kernel.plus(row, down), kernel.plus(column, right)]
            if not operand.along:
                at.reverse()
            to = kernel.apply(D0 * self.stage + (operand.tile.start + place), slot)
            corner = [*_matrix_of(kernel, view, batch), *at]
            kernel.put(TmaLoadOp(operand.by, corner, self.shared, to, self.barriers, full))


def _is_right(tile: SSAValue, pipeline: PipelineOp) -> bool:
    """Whether products take a tile as their right operand."""
    if tile in pipeline.staged:
        tile = pipeline.consume.block.args[1 + list(pipeline.staged).index(tile)]
    return any(use.index == 1 for use in tile.uses)


def describe(buffer: SSAValue, view: ViewType, along: int, box: tuple[int, int]) -> CreateDescriptorOp:
    """The tensor map of a view: which matrix, lines, neighbours within a line; boxes of lines and neighbours.

    Matrices that are one and the same have no dimension.
    """
    batch, *modes = view.layout.data.modes
    dimensions = [(size, stride, 1) for size, stride in reversed(batch.pairs) if stride and size > 1]
    for mode, extent in zip((modes[1 - along], modes[along]), box, strict=True):
        [(size, stride)] = mode.pairs
        dimensions.append((size, stride, extent))
    sizes, strides, boxes = zip(*dimensions, strict=True)
    return CreateDescriptorOp(buffer, sizes, strides, TensorMapType.of(boxes, view.element_type, ROW_BYTES))


def _matrix_of(kernel: Kernel, view: ViewType, batch: SSAValue) -> list[SSAValue]:
    """The coordinates of a matrix in the tensor map."""
    found: list[SSAValue] = []
    covered = 1
    for size, stride in view.layout.data[0].pairs:
        if stride and size > 1:
            found.insert(0, kernel.apply(D0 // covered % size, batch))
        covered *= size
    return found
