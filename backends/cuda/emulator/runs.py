"""Instructions that are executed as one step: runs of one on registers of their own, and what only changes registers.

Sums of products are such runs:

    fma.rn.f32 %r70, %r9, %r1, %r70;
    fma.rn.f32 %r71, %r9, %r2, %r71;
    fma.rn.f32 %r72, %r9, %r3, %r72;

What a run writes, no later instruction of it reads or writes, nothing branches into it, and none of it has a guard: so
one call of NumPy on a row for each gives what they give one after the other.

What other threads do or wait for is no concern of arithmetic: instructions that stand one behind another, and that
nothing branches into, are executed one after the other without asking in between who comes next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from ....compiler.diagnostics import LaminaError
from ....compiler.signature import Array
from .agent import items
from .arithmetic import fma32
from .ptx import Address, Instruction, Kernel, Register, Symbol
from .registers import Call, InPlace, Registers
from .tensor import fragments_product, whole_warps

if TYPE_CHECKING:
    from .agent import Agent, Step

LONGEST = 64
_TOGETHER: dict[str, Callable[..., Array]] = {
    "fma.rn.f32": fma32, "add.f32": np.add, "add.rn.f32": np.add, "mul.f32": np.multiply, "mul.rn.f32": np.multiply,
}  # fmt: skip
_KIND = "b32"


def run_at(kernel: Kernel, at: int) -> int:
    """How many instructions from this one on can be executed together; 1 where there is no run."""
    first = kernel.instructions[at]
    if first.name not in _TOGETHER and first.opcode[0] != "mma":
        return 1
    entered = set(kernel.labels.values())
    written: set[str] = set()
    end = at
    while end < min(at + LONGEST, len(kernel.instructions)) and (end == at or end not in entered):
        operands = _operands(kernel, kernel.instructions[end])
        if kernel.instructions[end].name != first.name or not operands or not written.isdisjoint(chain(*operands)):
            break
        written.update(operands[0])
        end += 1
    return max(1, end - at)


_ARITHMETIC = {
    "add", "sub", "mul", "mad", "fma", "div", "rem", "abs", "neg", "min", "max", "sqrt", "rcp", "rsqrt", "sin", "cos",
    "ex2", "lg2", "tanh", "copysign", "dp4a", "cvt", "and", "or", "xor", "not", "shl", "shr", "shf", "lop3", "bfe",
    "bfi", "brev", "popc", "clz", "prmt", "setp", "set", "selp", "testp", "mov",
}  # fmt: skip


def sequences(kernel: Kernel, steps: Sequence[Step], runs: list[int]) -> list[Step]:
    """The steps, those of arithmetic joined with what follows; `runs` is how many instructions each executes."""
    entered, found = set(kernel.labels.values()), list(steps)
    at = 0
    while at < len(steps):
        end = at
        parts: list[Step] = []
        texts: list[str] = []
        while end < len(steps) and len(parts) < LONGEST and (end == at or end not in entered):
            if not _is_arithmetic(kernel.instructions[end]):
                break
            parts.append(steps[end])
            texts.append(kernel.instructions[end].text)
            end += runs[end]
        if len(parts) > 1:
            found[at], runs[at] = _sequence(at, tuple(parts), texts), end - at
        at = max(end, at + 1)
    return found


def _is_arithmetic(instruction: Instruction) -> bool:
    """Whether it only changes registers."""
    operands = [item for operand in instruction.operands for item in items(operand)]
    plain = instruction.guard is None and not any(isinstance(each, Symbol | Address) for each in operands)
    return plain and instruction.opcode[0] in _ARITHMETIC


def _sequence(at: int, parts: Sequence[Step], texts: Sequence[str]) -> Step:
    """All parts; once they were executed, those of them that are done where registers are become plain calls.

    What may be wrong with these, the widths of registers, is told the first time.
    """

    def one_by_one(agent: Agent) -> None:
        part = parts[0]
        try:
            for part in parts:
                part(agent)
        except LaminaError as error:
            raise LaminaError(f"'{texts[parts.index(part)]}': {error.message}") from error

    def step(agent: Agent) -> None:
        if not agent.all_active:
            one_by_one(agent)
            return
        calls = agent.file.calls.get(at)
        if calls is None:
            one_by_one(agent)
            agent.file.calls[at] = [_call(part, agent.file) for part in parts]
            return
        for function, rows in calls:
            if rows is None:
                function(agent)
            else:
                function(*rows)

    return step


def _call(part: Step, registers: Registers) -> Call:
    return part.call(registers) if isinstance(part, InPlace) else (part, None)


def _operands(kernel: Kernel, instruction: Instruction) -> list[list[str]]:
    """The registers of each operand; none where the instruction has a guard, or an operand is something else."""
    found: list[list[str]] = []
    for operand in instruction.operands:
        names = [each.name for each in items(operand) if isinstance(each, Register)]
        if len(names) != len(items(operand)) or any(kernel.registers.get(name) != _KIND for name in names):
            return []
        found.append(names)
    return found if instruction.guard is None else []


def together(kernel: Kernel, at: int, count: int) -> Step:
    """What executes a run."""
    first = kernel.instructions[at]
    row = {name: i for i, name in enumerate(kernel.banks[_KIND])}
    run = [_operands(kernel, each) for each in kernel.instructions[at : at + count]]
    result, *sources = (
        np.array([[row[name] for name in names] for names in column]) for column in zip(*run, strict=True)
    )
    of_warps = first.opcode[0] == "mma"
    function = fragments_product(first) if of_warps else _of_floats(_TOGETHER[first.name])

    def step(agent: Agent) -> None:
        if of_warps:
            whole_warps(agent)
        bank = agent.banks[_KIND]
        found = function(*(bank[source] for source in sources))
        if agent.all_active:
            bank[result] = found
        else:
            bank[result] = np.where(agent.active, found, bank[result])

    return step


def _of_floats(function: Callable[..., Array]) -> Callable[..., Array]:
    return lambda *words: function(*(each.view(np.float32) for each in words)).view(np.uint32)
