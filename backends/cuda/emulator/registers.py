"""Registers as arrays over threads, and functions that are executed right where they are.

Blocks that come later take over the registers of earlier ones, as if unwritten: what was found out about them, such as
how a row looks as numbers of a type, is found out once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import ml_dtypes
import numpy as np

from ....compiler.diagnostics import LaminaError
from ....compiler.signature import Array
from .memory import UNSIGNED
from .ptx import Kernel, Number, Operand, Register, width_of

if TYPE_CHECKING:
    from .agent import Agent, Step

Call: TypeAlias = "tuple[Callable[..., object], tuple[Array, ...] | None]"
"""A function and what it is called with; None: with who executes it."""

Function: TypeAlias = Callable[..., Any]
KINDS = {
    (dtype := np.dtype(each)).num: dtype for each in (*"?bBhHiIlLqQefd", ml_dtypes.bfloat16)
}  # types that registers are seen as


class _Typed(dict[str, Array]):
    """Registers by name as numbers of one type, which is as wide; each when it is first asked for."""

    def __init__(self, registers: dict[str, Array], dtype: np.dtype[Any]):
        self.registers, self.dtype = registers, dtype

    def __missing__(self, name: str) -> Array:
        found = self.registers[name]
        if found.itemsize != self.dtype.itemsize:
            raise LaminaError(f"{name} has {8 * found.itemsize} bits, expected {8 * self.dtype.itemsize}")
        self[name] = found.view(self.dtype)
        return self[name]


class _Types(dict[int, _Typed]):
    """The same by the number that NumPy has for each type."""

    def __init__(self, registers: dict[str, Array]):
        self.registers = registers

    def __missing__(self, number: int) -> _Typed:
        self[number] = _Typed(self.registers, KINDS[number])
        return self[number]


class Registers:
    """Those of threads that step together: a bank for each kind, with a row for each register, and special ones."""

    def __init__(self, kernel: Kernel, lanes: int):
        self.lanes = lanes
        self.banks: dict[str, Array] = {}
        self.named: dict[str, Array] = {}
        for kind, names in kernel.banks.items():
            self.banks[kind] = np.empty((len(names), lanes), UNSIGNED[width_of(kind)] if kind != "pred" else np.bool_)
            self.named.update(zip(names, self.banks[kind], strict=True))
        self.typed = _Types(self.named)
        self.rows: dict[InPlace, tuple[Array, ...]] = {}
        self.calls: dict[int, list[Call]] = {}  # of sequences, by the first instruction

    def cut(self, name: str, number: int) -> Array:
        """A register as numbers of a type that may be narrower: the lower part of each. Raises LaminaError if wider."""
        found, dtype = self.named[name], KINDS[number]
        if found.itemsize < dtype.itemsize:
            raise LaminaError(f"{name} has {8 * found.itemsize} bits, expected at least {8 * dtype.itemsize}")
        return found.view(dtype)[:: found.itemsize // dtype.itemsize]

    def begin(self, special: Mapping[str, Array]) -> None:
        """Nothing is written to them but what the special ones tell."""
        for kind, bank in self.banks.items():
            bank.fill(0xCCCCCCCCCCCCCCCC & ((1 << 8 * bank.itemsize) - 1) if kind != "pred" else 0)
        for name, value in special.items():
            self.named.setdefault(name, np.empty(self.lanes, np.uint32))[:] = value


class InPlace:
    """A function of registers and numbers that is executed right where they are, and the register that it writes.

    Registers that it reads are as wide as their types, or, where it `cuts`, wider.
    """

    def __init__(self, function: Function, sources: Sequence[_Source], target: str, goal: int, cuts: bool):
        self.function, self.sources, self.target, self.goal, self.cuts = function, sources, target, goal, cuts
        self.writing = function if isinstance(function, np.ufunc) and function not in _NO_PLACE else _into(function)

    def call(self, registers: Registers) -> Call:
        """What writes, with the rows that are read and, last, the one that is written; of one that was executed."""
        return self.writing, registers.rows[self]

    def _rows(self, registers: Registers) -> tuple[Array, ...]:
        """Those of the operands and the result. Raises LaminaError where they have another width than the types."""
        typed = registers.typed
        given: list[Array] = []
        for source in self.sources:
            if isinstance(source, tuple):
                name, number = source
                given.append(registers.cut(name, number) if self.cuts else typed[number][name])
            else:
                given.append(source)
        return *given, typed[self.goal][self.target]

    def __call__(self, agent: Agent) -> None:
        known = agent.file.rows
        if (rows := known.get(self)) is None:
            rows = known[self] = self._rows(agent.file)
        if agent.all_active:
            self.writing(*rows)
        else:  # all lanes and a copy of some take half the time of a function with a mask
            np.copyto(rows[-1], self.function(*rows[:-1]), where=agent.active)


_Source: TypeAlias = "tuple[str, int] | Array"  # a register and its type, or a number
_TRUTHS = {np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal}
_NO_PLACE = {np.maximum, np.minimum}  # these want the place of their result by name


def _into(function: Function) -> Function:
    def put(*rows: Array) -> None:
        rows[-1][:] = function(*rows[:-1])

    return put


def in_place(
    function: Function, dtypes: Any, result: Operand, operands: Sequence[Operand], goal: Any = None, cuts: bool = False
) -> Step | None:
    """What executes a function right where registers are, of operands of `dtypes`, or all of one; its result is `goal`.

    Without a goal that is the type of the first, or a truth. Where it `cuts` the lower part of wider registers is read,
    else those are errors. None where operands are other than registers and numbers.
    """
    kinds = [np.dtype(each) for each in (dtypes if isinstance(dtypes, list) else [dtypes] * len(operands))]
    goal = np.dtype(goal or (np.bool_ if function in _TRUTHS else kinds[0]))
    if not isinstance(result, Register) or not all(each.num in KINDS for each in (*kinds, goal)):
        return None
    sources: list[_Source] = []
    for operand, kind in zip(operands, kinds, strict=True):
        if isinstance(operand, Number):
            sources.append(constant_of(operand, kind).reshape(1))
        elif isinstance(operand, Register) and not operand.inverted:
            sources.append((operand.name, kind.num))
        else:
            return None
    return InPlace(function, sources, result.name, goal.num, cuts)


def constant_of(number: Number, wanted: np.dtype[Any]) -> Array:
    """A number of an instruction, of no dimensions."""
    bits = number.value & ((1 << 8 * wanted.itemsize) - 1)
    return np.array(bits, UNSIGNED[wanted.itemsize]).view(wanted) if wanted != np.bool_ else np.array(bits != 0)
