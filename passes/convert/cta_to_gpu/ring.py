"""The loop of a pipeline, while shared memory is filled: a ring of stages ahead of it, or one stage by registers.

It is here that stages, groups of copies and the meeting of threads are known; what uses a step's tiles gets a slot.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, IndexType
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineMap

from ....dialects.affine import ForOp, YieldOp
from ....dialects.cta import LoadOp, PipelineOp
from ....dialects.gpu import BarrierOp
from ....dialects.nvgpu import AsyncGroupOp, AsyncWaitOp
from .copies import Copies, copies_of
from .kernel import D0, STAGE_ALIGNMENT, Buffer, Kernel, SharedTile, Slot

Body: TypeAlias = "Callable[[Slot, SSAValue, Sequence[SSAValue]], Sequence[SSAValue]]"
"""What is done with a step: its slot and index, what is carried; what is carried on comes back."""


class Stages(ABC):
    """The shared memory of a pipeline: its stages, then tiles that are brought once (`kept`), then `more` tiles."""

    def __init__(
        self,
        kernel: Kernel,
        pipeline: PipelineOp,
        stages: int,
        kept: Sequence[LoadOp] = (),
        more: Sequence[SSAValue] = (),
    ):
        self.kernel, self.pipeline, self.stages = kernel, pipeline, stages
        self.copies, self.stage = copies_of(kernel, pipeline, singly=stages > 1)
        end = self.stage * stages
        self.kept: list[Copies] = []
        for load in kept:
            self.kept.append(Copies(kernel, load, end, pipeline.produce.block.args[0]))
            end = _behind(self.kept[-1].tile)
        self.tiles: dict[SSAValue, SharedTile] = {}
        for tile in more:
            self.tiles[tile] = SharedTile(kernel, tile, end)
            end = _behind(self.tiles[tile])
        self.nbytes = end
        self.shared = kernel.shared(end)
        self._typed: dict[Attribute, Buffer] = {}

    def typed(self, tile: SharedTile) -> Buffer:
        """All of shared memory as elements of a tile's type."""
        if tile.element not in self._typed:
            count = self.nbytes // tile.size
            self._typed[tile.element] = self.kernel.shared_view(self.shared, 0, count, tile.element)
        return self._typed[tile.element]

    @property
    def always(self) -> Slot:
        """Where tiles lie that are in no stage."""
        return Slot(self.kernel.number(0), 0)

    @abstractmethod
    def run(self, inits: Sequence[SSAValue], body: Body, first: Callable[[], None] | None = None) -> list[SSAValue]:
        """The whole loop; `first` is done once, when what is kept is there."""


class Ring(Stages):
    """Stages that copies fill while earlier ones are used."""

    def fill(self, number: SSAValue) -> None:
        """Begins to bring the tiles of a step."""
        kernel = self.kernel
        slot, step = self.slot(number), kernel.apply(D0 * self.pipeline.step.value.data, number)
        for copy in self.copies:
            self.bring(copy, slot, step)

    def bring(self, copy: Copies, slot: Slot, step: SSAValue) -> None:
        """Begins to bring a tile; one whose pieces are too small comes at once."""
        if copy.asynchronous:
            copy.begin(self.shared, slot, step)
        else:
            copy.keep(self.typed(copy.tile), slot, copy.fetch(step))

    def slot(self, number: SSAValue) -> Slot:
        """The stage of a step's number."""
        return Slot(self.kernel.apply(D0 % self.stages, number), self.stage)

    def arrived(self) -> None:
        """Everybody's part of the next step is there, and the step before is used up."""
        self.kernel.put(AsyncWaitOp(self.stages - 2))
        self.kernel.put(BarrierOp())

    def prepare(self, steps: int | SSAValue) -> None:
        """Begins to bring what all stages but one hold first; a loop, since copies of a step are many ops."""
        kernel, ahead = self.kernel, self.stages - 1
        block = Block(arg_types=[IndexType()])
        with kernel.inside(block):
            number = block.args[0]
            certain = isinstance(steps, int) and steps >= ahead
            with kernel.when(None if certain else _below(kernel, number, steps)):
                self.fill(number)
            kernel.put(AsyncGroupOp())
            kernel.put(YieldOp.get())
        loop(kernel, ahead, block, [])

    def run(self, inits: Sequence[SSAValue], body: Body, first: Callable[[], None] | None = None) -> list[SSAValue]:
        kernel, stages, steps = self.kernel, self.stages, steps_of(self.kernel, self.pipeline)
        for copy in self.kept:
            self.bring(copy, self.always, kernel.number(0))
        self.prepare(steps)
        if first is not None:
            self.arrived()
            first()
        block = Block(arg_types=[IndexType(), *(value.type for value in inits)])
        with kernel.inside(block):
            number = block.args[0]
            self.arrived()
            ahead = kernel.plus(number, stages - 1)
            with kernel.when(_below(kernel, ahead, steps)):
                self.fill(ahead)
            kernel.put(AsyncGroupOp())
            index = kernel.apply(D0 * self.pipeline.step.value.data, number)
            kernel.put(YieldOp.get(*body(self.slot(number), index, block.args[1:])))
        return loop(kernel, steps, block, inits)


class Single(Stages):
    """One stage, whose next tiles wait in registers until it is used up."""

    def run(self, inits: Sequence[SSAValue], body: Body, first: Callable[[], None] | None = None) -> list[SSAValue]:
        kernel = self.kernel
        for copy in self.kept:
            copy.keep(self.typed(copy.tile), self.always, copy.fetch(kernel.number(0)))
        if first is not None:
            kernel.put(BarrierOp())
            first()
        block = Block(arg_types=[IndexType(), *(value.type for value in inits)])
        with kernel.inside(block):
            index = block.args[0]
            values = [copy.fetch(index) for copy in self.copies]
            kernel.put(BarrierOp())  # the tiles before are used up
            for copy, pieces in zip(self.copies, values, strict=True):
                copy.keep(self.typed(copy.tile), self.always, pieces)
            kernel.put(BarrierOp())
            kernel.put(YieldOp.get(*body(self.always, index, block.args[1:])))
        size, step, end = self.pipeline.size.value.data, self.pipeline.step.value.data, self.pipeline.end
        return loop(kernel, size if end is None else kernel.arguments[end], block, inits, step)


def steps_of(kernel: Kernel, pipeline: PipelineOp) -> int | SSAValue:
    """How many steps there are."""
    end, step = pipeline.end, pipeline.step.value.data
    return pipeline.steps if end is None else kernel.apply((D0 + (step - 1)) // step, kernel.arguments[end])


def loop(kernel: Kernel, end: int | SSAValue, block: Block, inits: Sequence[SSAValue], step: int = 1) -> list[SSAValue]:
    """A loop from 0 to an end that may be known only when it runs."""
    if isinstance(end, int):
        return list(kernel.put(ForOp.of(0, end, block, inits=inits, step=step)).results)
    types = [value.type for value in inits]
    map_ = AffineMapAttr(AffineMap(1, 0, (D0,)))
    return list(kernel.put(ForOp.from_region([], [end], inits, types, 0, map_, Region(block), step)).results)


def _behind(tile: SharedTile) -> int:
    end = tile.start + tile.nbytes
    return end + -end % STAGE_ALIGNMENT


def _below(kernel: Kernel, number: SSAValue, steps: int | SSAValue) -> SSAValue:
    if isinstance(steps, int):
        return kernel.below(number, steps)
    return kernel.put(arith.CmpiOp(number, steps, "ult")).result
