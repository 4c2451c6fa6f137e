"""Threads that step together: registers as arrays over lanes, and a stack of the sides of branches they are on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ....compiler.diagnostics import LaminaError
from ....compiler.signature import Array
from .memory import UNSIGNED
from .ptx import Address, Instruction, Kernel, Number, Operand, Register, Several, Sink, Symbol, width_of

if TYPE_CHECKING:
    from .block import Block

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


class Frame:
    """Lanes on one side of a branch: where they are, and where they meet the others."""

    __slots__ = ("at", "lanes", "until")

    def __init__(self, lanes: Array, at: int, until: int):
        self.lanes, self.at, self.until = lanes, at, until


class Agent:
    """Some warps of a block that execute each instruction together, `lanes` threads from `first` on."""

    def __init__(self, block: Block, kernel: Kernel, first: int, lanes: int):
        self.block, self.first, self.lanes = block, first, lanes
        self.registers: dict[str, Array] = {
            name: np.zeros(lanes, np.bool_)
            if kind == "pred"
            else np.full(lanes, 0xCCCCCCCCCCCCCCCC & ((1 << 8 * width_of(kind)) - 1), UNSIGNED[width_of(kind)])
            for name, kind in kernel.registers.items()
        }
        self.registers.update(block.special_registers(first, lanes))
        everyone = np.ones(lanes, np.bool_)
        self.frames = [Frame(everyone, 0, len(kernel.instructions))]
        self.done = np.zeros(lanes, np.bool_)
        self.active: Array = everyone
        self.all_active = True
        self.waits_for = ""
        self.spins_at = -1  # the instruction that was last asked in vain, until it is not
        self.since_spin = 0  # instructions since then
        self.waiting_at: dict[str, int] = {}  # barriers it has arrived at, with their generation then
        self.copies: list[Callable[[], None]] = []  # cp.async that are in no group yet
        self.copy_groups: list[list[Callable[[], None]]] = []
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
        while taken < steps and self.frames:
            frame = self.frames[-1]
            lanes = frame.lanes & ~self.done
            if frame.at == frame.until or not lanes.any():
                self.frames.pop()
                continue
            at = frame.at
            guard = program.guards[at]
            active = lanes if guard is None else lanes & guard(self)
            if program.branches[at] is not None:
                self._branch(program, frame, lanes, active)
                taken += 1
                continue
            frame.at = at + 1
            if not active.any():
                continue
            self.active = active
            self.all_active = bool(active.all())
            outcome = program.steps[at](self)
            if outcome is WAIT:
                frame.at = at
                self.waits_for = program.kernel.instructions[at].text
                return taken
            taken += 1
            program.counts[at] += 1
            if outcome is SPIN:
                self.spins_at, self.since_spin = at, 0
                self.waits_for = program.kernel.instructions[at].text
                return 0
            if self.spins_at == at:
                self.spins_at = -1
            if outcome is PAUSE:
                return taken
        return taken

    def _branch(self, program: Program, frame: Frame, lanes: Array, active: Array) -> None:
        """Splits the lanes: those that jump, by target, and those that fall through."""
        at = frame.at
        choose = program.branches[at]
        assert choose is not None
        program.counts[at] += 1
        sides = [(lanes & ~active, at + 1)] if (lanes & ~active).any() else []
        if active.any():
            sides += choose(self, active)
        if len(sides) == 1:
            frame.at = sides[0][1]
            return
        meet = program.meeting[at]
        frame.at = meet
        self.frames += [Frame(side, target, meet) for side, target in sides]

    @property
    def finished(self) -> bool:
        """Whether every thread has returned."""
        return not self.frames or bool(self.done.all())


class Program:
    """A kernel with each instruction decoded into what executes it."""

    def __init__(self, kernel: Kernel, decode: Callable[[Instruction, Kernel], Step]):
        from .flow import meeting_points, targets

        self.kernel = kernel
        self.meeting = meeting_points(kernel)
        self.counts = [0] * len(kernel.instructions)
        self.guards: list[Read | None] = []
        self.branches: list[Callable[[Agent, Array], list[tuple[Array, int]]] | None] = []
        self.steps: list[Step] = []
        for at, instruction in enumerate(kernel.instructions):
            self.guards.append(None if instruction.guard is None else reads(instruction.guard, np.bool_))
            if instruction.opcode[0] not in ("bra", "brx"):
                self.branches.append(None)
                self.steps.append(decode(instruction, kernel))
                continue
            places = targets(kernel, instruction)
            index = reads(instruction.operands[0], np.uint32) if instruction.opcode[0] == "brx" else None
            self.branches.append(_chooser(places, index))
            self.steps.append(_nothing)
            self.meeting.setdefault(at, len(kernel.instructions))


def _nothing(agent: Agent) -> None:
    """A branch is not executed as a step."""


def _chooser(places: Sequence[int], index: Read | None) -> Callable[[Agent, Array], list[tuple[Array, int]]]:
    if index is None:
        return lambda agent, active: [(active, places[0])]

    def choose(agent: Agent, active: Array) -> list[tuple[Array, int]]:
        chosen = index(agent)
        if int(chosen[active].max()) >= len(places):
            raise EmulationError(f"brx.idx: index {int(chosen[active].max())} of {len(places)} targets")
        sides = [(active & (chosen == i), place) for i, place in enumerate(places)]
        return [(side, place) for side, place in sides if side.any()]

    return choose


def reads(operand: Operand, dtype: Any) -> Read:
    """What gives an operand's value in every lane, as `dtype`; wider registers are cut."""
    wanted = np.dtype(dtype)
    if isinstance(operand, Number):
        bits = operand.value & ((1 << 8 * wanted.itemsize) - 1)
        constant = np.array(bits, UNSIGNED[wanted.itemsize]).view(wanted) if wanted != np.bool_ else np.array(bits != 0)
        return lambda agent: np.broadcast_to(constant, agent.lanes)
    if isinstance(operand, Symbol):
        name = operand.name
        return lambda agent: np.full(agent.lanes, agent.block.address_of(name), np.uint64).astype(wanted)
    assert isinstance(operand, Register), operand
    name, inverted = operand.name, operand.inverted
    if wanted == np.bool_:
        return (lambda agent: ~agent.registers[name]) if inverted else (lambda agent: agent.registers[name])

    def read(agent: Agent) -> Array:
        found = agent.registers[name]
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
    return lambda agent: base(agent).astype(np.int64) + offset


def items(operand: Operand) -> tuple[Operand, ...]:
    """The operands of a vector; one that is none is its only item."""
    return operand.items if isinstance(operand, Several) else (operand,)
