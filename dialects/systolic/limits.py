"""What a machine asks of an instruction before it runs: lengths and addresses that it has."""

from __future__ import annotations

from collections.abc import Iterable

from ...compiler.diagnostics import LaminaError
from ...compiler.systolic_machine import SystolicMachine
from .encoding import Instruction


def memory_rows(machine: SystolicMachine, memory: str) -> int:
    """How many rows a memory on the chip has."""
    rows = {"spm": machine.spm_rows, "acc": machine.acc_rows, "tab": machine.table_rows, "lut": machine.lut_rows}
    return rows[memory]


def check_all_limits(program: Iterable[Instruction], machine: SystolicMachine, where: str = "") -> None:
    """`check_limits` for every instruction of a program, equal ones once; `where` names what they are counted in."""
    seen: set[Instruction] = set()
    for at, i in enumerate(program):
        if i not in seen:
            seen.add(i)
            check_limits(i, machine, f"{where}instruction {at}")


def check_limits(i: Instruction, machine: SystolicMachine, where: str | None = None) -> None:
    """Raises LaminaError for a length or a fixed address on the chip that the machine does not have."""
    name = i.spec.name
    if name == "ld":
        memory = ("spm", "acc", "tab", "lut")[i.to]
        _most(i.len, machine.lanes if memory in ("spm", "lut") else machine.cols, "len", name, where)
        _row(i.dst, i.dst_r, machine, memory, "dst", where)
    elif name == "wl":
        _most(i.rows, machine.rows, "rows", name, where)
        _row(i.src, i.src_r, machine, "spm", "src", where)
    elif name == "mm":
        _row(i.a, i.a_r, machine, "spm", "a", where)
        _row(i.acc, i.acc_r, machine, "acc", "acc", where)
    elif name == "ve":
        _row(i.dst, i.dst_r, machine, "spm" if i.kind else "acc", "dst", where)
        _row(i.a, i.a_r, machine, "spm", "a", where)
        _row(i.b, i.b_r, machine, "spm", "b", where)
    elif name == "st":
        _most(i.len, machine.cols if i.source else machine.lanes, "len", name, where)
        _row(i.src, i.src_r, machine, "acc" if i.source else "spm", "src", where)
        if i.to:
            _row(i.dst, i.dst_r, machine, "spm", "dst", where)


def _most(value: int, most: int, field: str, name: str, where: str | None) -> None:
    if value > most:
        raise LaminaError(f"'{field}' of {name} is {value}", where=where, hint=f"{most} is the most here")


def _row(row: int, register: int, machine: SystolicMachine, memory: str, field: str, where: str | None) -> None:
    rows = memory_rows(machine, memory)
    if not register and row >= rows:
        raise LaminaError(
            f"row {row:#x} of '{field}' is outside of '{memory}'", where=where, hint=f"it has {rows} rows"
        )
