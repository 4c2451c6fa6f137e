"""Threads that step together: registers as arrays over lanes, and a stack of the sides of branches they are on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ....compiler.diagnostics import LaminaError
from ....compiler.signature import Array
from .memory import UNSIGNED
from .ptx import Address, Kernel, Number, Operand, Register, Several, Sink, Symbol
from .registers import constant_of

if TYPE_CHECKING:
    from .block import Block
    from .program import Program

Step: TypeAlias = "Callable[[Agent], object]"
"""Executes a decoded instruction. The result may be WAIT: it could not, and is to be tried again; PAUSE or SPIN."""
Read: TypeAlias = "Callable[[Agent], Array]"
Write: TypeAlias = "Callable[[Agent, Array], None]"

WAIT = "wait"
PAUSE = "pause"  # done, and others may come first now
SPIN = "spin"  # asked in vain: done, but nothing has come of it
LOOP = 64  # a loop that asks again has fewer instructions


class EmulationError(LaminaError):
    """What a kernel must not do: the message begins with the instruction."""


class Copy:
    """What threads of one warp began to copy; it happens once, whoever waits for it first."""

    __slots__ = ("effect", "warp")

    def __init__(self, warp: int, effect: Callable[[], None]):
        self.warp = warp
        self.effect: Callable[[], None] | None = effect

    def __call__(self) -> None:
        effect, self.effect = self.effect, None
        if effect is not None:
            effect()


class Frame:
    """Lanes on one side of a branch, that have not returned: where they are, and where they meet the others."""

    __slots__ = ("all", "at", "count", "lanes", "until")

    def __init__(self, lanes: Array, at: int, until: int):
        self.at, self.until = at, until
        self.keep(lanes)

    def keep(self, lanes: Array) -> None:
        """The lanes are these from now on."""
        self.lanes, self.count = lanes, int(np.count_nonzero(lanes))
        self.all = self.count == len(lanes)


class Agent:
    """Some warps of a block that execute each instruction together; of several blocks, those of the same numbers.

    `threads` are their numbers, those of the second block behind those of the first.
    """

    def __init__(self, block: Block, kernel: Kernel, threads: Array):
        self.block, self.threads, self.lanes = block, threads, len(threads)
        lanes = self.lanes
        self._every = np.arange(lanes)
        self.room = block.rooms(threads)
        self.times = 1 if block.launch.program.apart else len(block.indices)  # instructions of one for each block
        self.file = block.launch.program.registers(lanes)
        self.file.begin(block.special_registers(threads))
        self.banks, self.registers = self.file.banks, self.file.named
        everyone = np.ones(lanes, np.bool_)
        self.frames = [Frame(everyone, 0, len(kernel.instructions))]
        self.done = np.zeros(lanes, np.bool_)
        self.returned = 0  # threads
        self.finished = False  # whether all have returned
        self.active: Array = everyone
        self.all_active = True
        self.waits_for = ""
        self.spins_at = -1  # the instruction that was last asked in vain, until it is not
        self.since_spin = 0  # instructions since then
        self.waiting_at: dict[str, Array] = {}  # barriers it has arrived at, with their generations then
        self.copies: list[Copy] = []  # cp.async that are in no group yet
        self.copy_groups: list[list[Copy]] = []
        self.fenced = 0  # what threads wrote to shared memory up to this time is there for its products
        self.bulk: list[Callable[[], None]] = []
        self.bulk_groups: list[list[Callable[[], None]]] = []
        self.products: list[Callable[[], None]] = []  # wgmma that are in no group yet
        self.product_groups: list[list[Callable[[], None]]] = []

    def run(self, program: Program, steps: int) -> bool:
        """Executes up to so many instructions; whether that was more than asking again for the same thing.

        Stops where it waits, pauses or ends.
        """
        taken = self._run(program, steps)
        if self.spins_at < 0:
            return taken > 0
        self.since_spin += taken
        return self.since_spin > LOOP

    def _run(self, program: Program, steps: int) -> int:
        """How many instructions were executed."""
        taken = 0
        self.waits_for = ""
        guards, branches, runs, counts = program.guards, program.branches, program.runs, program.counts
        while taken < steps and self.frames:
            frame = self.frames[-1]
            at = frame.at
            if at == frame.until or not frame.count:
                self.frames.pop()
                continue
            guard = guards[at]
            active = frame.lanes if guard is None else frame.lanes & guard(self)
            count = frame.count if guard is None else int(np.count_nonzero(active))
            if branches[at] is not None:
                self._branch(program, frame, active, count)
                taken += 1
                continue
            run = runs[at]
            frame.at = at + run
            if not count:
                continue
            self.all_active = count == self.lanes
            self.active = active
            try:
                outcome = program.steps[at](self)
            except LaminaError as error:
                instruction = program.kernel.instructions[at]
                place = f"{program.kernel.name}, line {instruction.line}: '{instruction.text}'"
                raise EmulationError(error.message, where=f"{place} in block {self.block.index}") from error
            if outcome is WAIT:
                frame.at = at
                self.waits_for = program.kernel.instructions[at].text
                return taken
            taken += run
            counts[at] += self.times
            if outcome is SPIN:
                self.spins_at, self.since_spin = at, 0
                self.waits_for = program.kernel.instructions[at].text
                return 0
            if self.spins_at == at:
                self.spins_at = -1
            if outcome is PAUSE:
                return taken
        self.finished |= not self.frames
        return taken

    @property
    def here(self) -> Array:
        """The active lanes."""
        return self._every if self.all_active else np.flatnonzero(self.active)

    def of_active(self, value: Array) -> Array:
        """What the active lanes have of a value that all lanes have."""
        return value if self.all_active else value[self.active]

    def leave(self) -> None:
        """The active threads return."""
        self.done |= self.active
        self.returned = int(np.count_nonzero(self.done))
        self.finished = self.returned == self.lanes
        for frame in self.frames:
            frame.keep(frame.lanes & ~self.done)

    def _branch(self, program: Program, frame: Frame, active: Array, count: int) -> None:
        """Splits the lanes: those that jump, `count`, by target, and those that fall through."""
        at = frame.at
        choose = program.branches[at]
        assert choose is not None
        program.counts[at] += self.times
        sides = [(frame.lanes & ~active, at + 1)] if count < frame.count else []
        if count:
            sides += choose(self, active)
        if len(sides) == 1:
            frame.at = sides[0][1]
            return
        meet = program.meeting[at]
        frame.at = meet
        self.frames += [Frame(side, target, meet) for side, target in sides]


def reads(operand: Operand, dtype: Any) -> Read:
    """What gives an operand's value in every lane, as `dtype`; wider registers are cut."""
    wanted = np.dtype(dtype)
    if isinstance(operand, Number):
        constant = constant_of(operand, wanted)
        kept: dict[int, Array] = {}

        def same(agent: Agent) -> Array:
            if agent.lanes not in kept:
                kept[agent.lanes] = np.broadcast_to(constant, agent.lanes)
            return kept[agent.lanes]

        return same
    if isinstance(operand, Symbol):
        symbol = operand.name
        places: dict[tuple[int, int], Array] = {}

        def place(agent: Agent) -> Array:
            key = agent.block.address_of(symbol), agent.lanes
            if key not in places:
                places[key] = np.broadcast_to(np.array(key[0], np.uint64).astype(wanted), key[1])
            return places[key]

        return place
    assert isinstance(operand, Register), operand
    name, inverted = operand.name, operand.inverted
    if wanted == np.bool_:
        return (lambda agent: ~agent.registers[name]) if inverted else (lambda agent: agent.registers[name])

    def read(agent: Agent) -> Array:
        found = agent.registers[name]
        if found.dtype is wanted:
            return found
        if found.dtype.itemsize != wanted.itemsize:
            found = found.astype(UNSIGNED[wanted.itemsize])
        return found.view(wanted)

    return read


def writes(operand: Operand) -> Write:
    """What puts a value, one for each lane, into the active lanes of a register; narrower ones are extended."""
    if isinstance(operand, Sink):
        return lambda agent, value: None
    assert isinstance(operand, Register), operand
    name = operand.name

    def write(agent: Agent, value: Array) -> None:
        register = agent.registers[name]
        if value.dtype != register.dtype:
            if value.dtype.kind not in "iub":  # floats, of ml_dtypes too, go in as their bits
                value = np.ascontiguousarray(value).view(UNSIGNED[value.dtype.itemsize])
            value = value.astype(register.dtype)
        if agent.all_active:
            register[:] = value
        else:
            np.copyto(register, value, where=agent.active)

    return write


def addresses(operand: Operand) -> Read:
    """What gives the address behind `[base + offset]` in every lane, as int64."""
    assert isinstance(operand, Address), operand
    base = reads(operand.base, np.uint64)
    offset = np.int64(operand.offset)
    if not offset:
        return lambda agent: base(agent).astype(np.int64)
    return lambda agent: base(agent).astype(np.int64) + offset


def items(operand: Operand) -> tuple[Operand, ...]:
    """The operands of a vector; one that is none is its only item."""
    return operand.items if isinstance(operand, Several) else (operand,)
