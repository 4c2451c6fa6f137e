"""Walks through the loops of a kernel and writes down the steps, each where its operands are needed.

A kernel has few ops and many steps: each op is read once, into a function that is called whenever the loops come to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.affine import ApplyOp
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IntegerAttr, MemRefType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from ....compiler.diagnostics import LaminaError
from ....compiler.systolic_machine import SystolicMachine
from ....dialects import tile
from ....dialects.affine.ops import ForOp
from .steps import Config, Rings, Slot, Step, Values, wait

Run = Callable[[], None]


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The sizes of a piece or of a tensor in DRAM."""
    type_ = value.type
    assert isinstance(type_, MemRefType)
    return tuple(type_.get_shape())


class Unroller:
    """The steps of one kernel in the order of the program.

    While the loops turn, `numbers` has the indices and `pieces` the slots of what was loaded, by the places that
    `number` and `piece` gave their values.
    """

    def __init__(self, function: FuncOp, machine: SystolicMachine):
        self.machine = machine
        self.rings = Rings(tile.rings_of(function))
        self.registers: dict[SSAValue, int] = {arg: i + 1 for i, arg in enumerate(function.body.block.args)}
        self.steps: list[Step] = []
        self.numbers: list[int] = []
        self.pieces: list[Slot] = []
        self._places: dict[SSAValue, int] = {}
        for run in self._block(function.body.block):
            run()

    def number(self, value: SSAValue) -> int:
        """Where in `numbers` an index is."""
        return self._place(value, self.numbers, 0)

    def piece(self, value: SSAValue) -> int:
        """Where in `pieces` the slot of a value is."""
        return self._place(value, self.pieces, Slot(0))

    def _place(self, value: SSAValue, values: list[Any], nothing: object) -> int:
        if value not in self._places:
            self._places[value] = len(values)
            values.append(nothing)
        return self._places[value]

    def emit(
        self,
        kind: str,
        values: Values,
        configs: Sequence[tuple[int, Config]] = (),
        after: Sequence[Step] = (),
    ) -> Step:
        """Writes down a step."""
        step = Step(kind, values, configs)
        if after:
            wait(step, after)
        self.steps.append(step)
        return step

    def taken(self, at: int, ring: str, key: object) -> tuple[Slot, list[Step]] | None:
        """A slot for the result of a load, which `pieces` then has; None where it still lies there."""
        slot = self.rings.find(ring, key)
        if slot is not None:
            self.pieces[at] = slot
            return None
        slot, over = self.rings.next(ring, key)
        self.pieces[at] = slot
        return slot, over

    def _block(self, block: Block) -> list[Run]:
        """What the ops of a block do, in order."""
        found: list[Run] = []
        for op in block.ops:
            if isinstance(op, ConstantOp):
                assert isinstance(op.value, IntegerAttr)
                self.numbers[self.number(op.result)] = op.value.value.data
            elif isinstance(op, ForOp):
                found.append(self._loop(op))
            elif isinstance(op, ApplyOp):
                found.append(self._apply(op))
            elif (reader := READERS.get(type(op))) is not None:
                found.append(reader(self, op))
            elif not isinstance(op, ReturnOp) and op.name != "affine.yield":
                raise LaminaError("is no op of kernels for a systolic array", where=op)
        return found

    def _loop(self, op: ForOp) -> Run:
        bounds = op.constant_bounds()
        if bounds is None:
            raise LaminaError("the bounds of loops over tiles are constants", where=op)
        at, numbers, body = self.number(op.variable), self.numbers, self._block(op.body.block)

        def run() -> None:
            for i in range(*bounds):
                numbers[at] = i
                for step in body:
                    step()

        return run

    def _apply(self, op: ApplyOp) -> Run:
        map_ = op.map.data
        places, at, numbers = [self.number(operand) for operand in op.operands], self.number(op.result), self.numbers
        known: dict[Values, int] = {}  # loops give the same numbers again and again

        def run() -> None:
            values = tuple([numbers[place] for place in places])
            if values not in known:
                known[values] = map_.eval(values[: map_.num_dims], values[map_.num_dims :])[0]
            numbers[at] = known[values]

        return run


READERS: dict[type[Operation], Callable[[Unroller, Any], Run]] = {}  # of the ops of `tile`


def reads(kind: type[Operation]) -> Callable[[Callable[[Unroller, Any], Run]], Callable[[Unroller, Any], Run]]:
    """Registers the function that reads ops of a kind."""

    def register(reader: Callable[[Unroller, Any], Run]) -> Callable[[Unroller, Any], Run]:
        READERS[kind] = reader
        return reader

    return register
