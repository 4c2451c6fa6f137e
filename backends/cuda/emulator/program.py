"""A kernel with its instructions decoded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ....compiler.signature import Array
from .agent import Agent, EmulationError, Read, Step, reads
from .flow import meeting_points, targets
from .ptx import Address, Instruction, Kernel, Operand, Register, Several
from .registers import Registers
from .runs import run_at, sequences, together


class Program:
    """A kernel with each instruction decoded into what executes it."""

    def __init__(self, kernel: Kernel, decode: Callable[[Instruction, Kernel], Step]):
        self.kernel = kernel
        self.apart = _apart(kernel)
        self.beside = self.apart or _beside(kernel)
        self.meeting = meeting_points(kernel)
        self.counts = [0] * len(kernel.instructions)
        self.guards: list[Read | None] = []
        self.branches: list[Callable[[Agent, Array], list[tuple[Array, int]]] | None] = []
        self.steps: list[Step] = []
        self.runs: list[int] = []  # how many instructions a step executes
        last = 0  # the end of the last run, into which nothing branches
        for at, instruction in enumerate(kernel.instructions):
            self.guards.append(None if instruction.guard is None else reads(instruction.guard, np.bool_))
            self.runs.append(1 if at < last else run_at(kernel, at))
            last = max(last, at + self.runs[at])
            if instruction.opcode[0] not in ("bra", "brx"):
                self.branches.append(None)
                run = self.runs[at]
                self.steps.append(decode(instruction, kernel) if run == 1 else together(kernel, at, run))
                continue
            places = targets(kernel, instruction)
            index = reads(instruction.operands[0], np.uint32) if instruction.opcode[0] == "brx" else None
            self.branches.append(_chooser(places, index))
            self.steps.append(_nothing)
            self.meeting.setdefault(at, len(kernel.instructions))
        self.steps = sequences(kernel, self.steps, self.runs)
        self.special = _special(kernel)
        self.spare: dict[int, list[Registers]] = {}  # of blocks that have ended, by the number of threads

    def registers(self, lanes: int) -> Registers:
        """Registers for so many threads; what is in them is anything."""
        spare = self.spare.get(lanes)
        return spare.pop() if spare else Registers(self.kernel, lanes)

    @property
    def executed(self) -> Iterator[tuple[str, int]]:
        """How often each instruction was executed, by name, in order."""
        for at, count in enumerate(self.counts):
            for instruction in self.kernel.instructions[at : at + self.runs[at]] if count else ():
                yield instruction.name, count


def _special(kernel: Kernel) -> set[str]:
    """The names of registers that are asked for and not declared."""
    found: set[str] = set()
    rest: list[Operand] = [operand for each in kernel.instructions for operand in each.operands]
    rest += [each.guard for each in kernel.instructions if each.guard is not None]
    while rest:
        operand = rest.pop()
        if isinstance(operand, Register):
            found.add(operand.name)
        elif isinstance(operand, Several):
            rest += operand.items
        elif isinstance(operand, Address):
            rest += (operand.base, *operand.coordinates)
    return found.difference(kernel.registers)


_MEET = {"atom", "bar", "barrier", "cp", "mbarrier", "red"}  # where threads of several warps learn of each other


def _apart(kernel: Kernel) -> bool:
    """Whether warps never learn of each other, so that those of many blocks may step together."""
    shared = any(variable.space == "shared" for variable in kernel.variables)
    return not shared and _MEET.isdisjoint(instruction.opcode[0] for instruction in kernel.instructions)


_OF_A_BLOCK = {"atom", "barrier", "elect", "mapa", "mbarrier", "red", "wgmma"}  # what one block at a time does


def _beside(kernel: Kernel) -> bool:
    """Whether blocks learn nothing of each other, and meet at plain barriers only: they may step together."""
    for instruction in kernel.instructions:
        name, *more = instruction.opcode
        plain = name != "bar" or "warp" in more or ("sync" in more and len(instruction.operands) == 1)
        if name in _OF_A_BLOCK or "bulk" in more or "cluster" in more or not plain:
            return False
    return True


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
