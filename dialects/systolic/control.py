"""What the dispatcher does: loops, address registers, configuration; what is left are instructions for the units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...compiler.diagnostics import LaminaError
from .encoding import RECORDS, Instruction, layout_fields
from .fields import NONE
from .instructions import CONFIGS, LOOP_DEPTH, REGISTERS, UNITS

_WORD = 0xFFFFFFFF


def check_structure(program: Sequence[Instruction]) -> None:
    """Raises LaminaError unless loops are closed and not too deep, and the program ends with `halt` or `trap`."""
    depth = 0
    for at, instruction in enumerate(program):
        name = instruction.spec.name
        depth += (name == "loop") - (name == "end")
        if depth < 0:
            raise LaminaError("end without a loop", where=f"instruction {at}")
        if depth > LOOP_DEPTH:
            raise LaminaError(f"more than {LOOP_DEPTH} loops are open", where=f"instruction {at}")
    if depth:
        raise LaminaError(f"{depth} loops have no end")
    if not program or program[-1].spec.name not in ("halt", "trap"):
        raise LaminaError("the program does not end with halt", hint="nothing may follow the last instruction")


class Issued:
    """An instruction as it is dispatched: `at` its place in the program, addresses and configuration resolved.

    `operands` maps an address field to the address, and a configuration field to the fields of its layout.
    """

    __slots__ = ("at", "configs", "instruction", "name", "operands", "unit")

    def __init__(self, at: int, instruction: Instruction, operands: dict[str, int], configs: dict[str, dict[str, int]]):
        self.at = at
        self.instruction = instruction
        self.name = instruction.spec.name
        self.unit = instruction.spec.unit or (UNITS[instruction.unit] if self.name == "sync" else "")
        self.operands = operands
        self.configs = configs

    def __repr__(self) -> str:
        return f"instruction {self.at}: {self.instruction!r}"


class Registers:
    """The address and configuration registers of the dispatcher, all 0 at the start."""

    def __init__(self) -> None:
        self.addresses = [0] * REGISTERS
        self.configs = [0] * CONFIGS
        self._known: dict[tuple[str, int], dict[str, int]] = {}

    def take(self, at: int, i: Instruction) -> Issued:
        """The instruction with what the registers say now; `ar` and `cfg` then change them."""
        if i.spec.unit:
            return Issued(at, i, self._operands(i), self._layouts(i))
        if i.spec.name == "ar":
            self.addresses[i.reg] = moved(self.addresses[i.reg], i)
        elif i.spec.name == "cfg":
            self.configs[i.reg] = i.value
        return Issued(at, i, {}, {})

    def _operands(self, i: Instruction) -> dict[str, int]:
        found = {
            name: (getattr(i, name) + self.addresses[getattr(i, register)]) & mask
            for name, register, mask in _ADDRESSES[i.spec.name]
        }
        if i.spec.name == "st":
            found["table"] = self.addresses[i.table_r]
        return found

    def _layouts(self, i: Instruction) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for name, layout in _CONFIGS[i.spec.name]:
            register = getattr(i, name)
            if register != NONE:
                key = (layout, self.configs[register])
                if key not in self._known:
                    self._known[key] = layout_fields(*key)
                found[name] = self._known[key]
        return found


def dispatch(program: Sequence[Instruction]) -> Iterator[Issued]:
    """Every instruction in the order in which it is dispatched, those of the dispatcher, too, up to halt or trap.

    Raises LaminaError where the hardware traps: loops that do not fit together, a program without an end.
    """
    registers = Registers()
    loops: list[tuple[int, int]] = []  # where the body starts, turns that are left
    at = 0
    while True:
        if at >= len(program):
            raise LaminaError("the program runs over its end", where=f"instruction {at}", hint="it lacks a halt")
        i = program[at]
        name = i.spec.name
        yield registers.take(at, i)
        at += 1
        if name == "loop":
            if len(loops) == LOOP_DEPTH:
                raise LaminaError(f"more than {LOOP_DEPTH} loops are open", where=f"instruction {at - 1}")
            loops.append((at, i.count))
        elif name == "end":
            if not loops:
                raise LaminaError("end without a loop", where=f"instruction {at - 1}")
            start, left = loops.pop()
            if left > 1:
                loops.append((start, left - 1))
                at = start
        elif name in ("halt", "trap"):
            return


def moved(value: int, ar: Instruction) -> int:
    """An address register after an `ar`."""
    value = ((0 if ar.set else value) + ar.delta) & _WORD
    return value - ar.modulus if ar.modulus and value >= ar.modulus else value


_ADDRESSES = {
    name: tuple((f.name, f.name + "_r", (1 << f.bits) - 1) for f in cls.spec.payload if f.name + "_r" in cls.names)
    for name, cls in RECORDS.items()
}
_CONFIGS = {name: tuple((f.name, f.layout) for f in cls.spec.payload if f.layout) for name, cls in RECORDS.items()}
