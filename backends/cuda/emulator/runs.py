"""Runs of one instruction on registers of their own, as sums of products are: all executed together.

    fma.rn.f32 %r70, %r9, %r1, %r70;
    fma.rn.f32 %r71, %r9, %r2, %r71;
    fma.rn.f32 %r72, %r9, %r3, %r72;

What a run writes, no later instruction of it reads or writes, nothing branches into it, and none of it has a guard: so
one call of NumPy on a row for each gives what they give one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ....compiler.signature import Array
from .arithmetic import fma32
from .ptx import Instruction, Kernel, Register

if TYPE_CHECKING:
    from .agent import Agent, Step

LONGEST = 64
_TOGETHER: dict[str, Callable[..., Array]] = {
    "fma.rn.f32": fma32, "add.f32": np.add, "add.rn.f32": np.add, "mul.f32": np.multiply, "mul.rn.f32": np.multiply,
}  # fmt: skip
_KIND = "b32"


def run_at(kernel: Kernel, at: int) -> int:
    """How many instructions from this one on can be executed together; 1 where there is no run."""
    name = kernel.instructions[at].name
    if name not in _TOGETHER:
        return 1
    entered = set(kernel.labels.values())
    written: set[str] = set()
    end = at
    while end < min(at + LONGEST, len(kernel.instructions)) and (end == at or end not in entered):
        registers = _registers(kernel, kernel.instructions[end])
        if kernel.instructions[end].name != name or not registers or written.intersection(registers):
            break
        written.add(registers[0])
        end += 1
    return max(1, end - at)


def _registers(kernel: Kernel, instruction: Instruction) -> Sequence[str]:
    """The registers that an instruction is about; none where it has a guard, or another kind of operand."""
    names = [each.name for each in instruction.operands if isinstance(each, Register)]
    alike = len(names) == len(instruction.operands) and all(kernel.registers.get(name) == _KIND for name in names)
    return names if alike and instruction.guard is None else ()


def together(kernel: Kernel, at: int, count: int) -> Step:
    """What executes a run."""
    function = _TOGETHER[kernel.instructions[at].name]
    row = {name: i for i, name in enumerate(kernel.banks[_KIND])}
    run = [_registers(kernel, each) for each in kernel.instructions[at : at + count]]
    result, *sources = (np.array([row[name] for name in column]) for column in zip(*run, strict=True))

    def step(agent: Agent) -> None:
        bank = agent.banks[_KIND]
        found = function(*(bank[source].view(np.float32) for source in sources)).view(np.uint32)
        if agent.all_active:
            bank[result] = found
        else:
            bank[result] = np.where(agent.active, found, bank[result])

    return step
