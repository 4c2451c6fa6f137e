"""Which rows and bytes an instruction reads and writes: what interpreter and static checker have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ...compiler.diagnostics import LaminaError
from ...compiler.systolic_machine import SystolicMachine
from .control import Issued
from .instructions import TARGETS
from .limits import memory_rows

Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
ELEMENT_BYTES = {"acc": 4, "tab": 8}  # of a lane; 1 elsewhere


@dataclass(frozen=True)
class Place:
    """Rows of a memory on the chip, or bytes of DRAM, by the operand that names them.

    `read` of a `ld` with padding tells which bytes are meant; the others are 0 in `at`.
    """

    memory: str
    at: Rows
    writes: bool
    read: Mask | None = None


def trap(issued: Issued, problem: str) -> LaminaError:
    """The error of an instruction that the machine does not carry out."""
    return LaminaError(f"trap: {problem}", where=repr(issued))


@lru_cache(4096)
def walk(n1: int, n0: int, s1: int, s0: int) -> Rows:
    """i1 * s1 + i0 * s0 for all i1, i0 in their order; not to be written to."""
    return (np.arange(n1)[:, None] * s1 + np.arange(n0) * s0).reshape(-1)


def places(issued: Issued, machine: SystolicMachine, dram_bytes: int) -> dict[str, Place]:
    """The places of an instruction by operand, in the order of its steps. Raises LaminaError where one is not there."""
    find = _PLACES.get(issued.name)
    return find(_Finder(issued, machine, dram_bytes)) if find is not None else {}


class _Finder:
    def __init__(self, issued: Issued, machine: SystolicMachine, dram_bytes: int):
        self.issued = issued
        self.machine = machine
        self.dram_bytes = dram_bytes

    def rows(self, memory: str, first: int, offsets: Rows, *, writes: bool = False) -> Place:
        """The rows `first` + offsets of a memory, modulo 2^16."""
        rows = (first + offsets) & 0xFFFF
        most = memory_rows(self.machine, memory)
        if rows.size and int(rows.max()) >= most:
            raise trap(self.issued, f"row {int(rows.max()):#x} is outside of '{memory}', which has {most} rows")
        return Place(memory, rows, writes)

    def spots(self, first: int, offsets: Rows, width: int, *, writes: bool = False, read: Mask | None = None) -> Place:
        """The bytes of rows of DRAM, `width` each."""
        spots = ((first + offsets)[:, None] + np.arange(width)) & 0xFFFFFFFF
        if read is not None:
            spots = np.where(read, spots, 0)
        if spots.size and int(spots.max()) >= self.dram_bytes:
            problem = f"address {int(spots.max()):#x} is outside of DRAM, which has {self.dram_bytes:#x} bytes"
            raise trap(self.issued, problem)
        return Place("dram", spots, writes, read)


def _load(f: _Finder) -> dict[str, Place]:
    issued = f.issued
    i, stride, memory = issued.instruction, issued.configs["stride"], TARGETS[issued.instruction.to]
    width = i.len * ELEMENT_BYTES.get(memory, 1)
    read = _inside(issued) if "window" in issued.configs else None
    offsets = walk(i.n1, i.n0, stride["s1"], stride["s0"])
    return {
        "src": f.spots(issued.operands["src"], offsets, width, read=read),
        "dst": f.rows(memory, issued.operands["dst"], walk(i.n1, i.n0, stride["d1"], 1), writes=True),
    }


def _inside(issued: Issued) -> Mask:
    i, window = issued.instruction, issued.configs["window"]
    x = np.arange(i.n0)[:, None] * issued.configs["stride"]["s0"] + np.arange(i.len)
    y = np.arange(i.n1)
    inside_x = (x >= window["x_lo"]) & (x < window["x_hi"])
    inside_y = (y >= window["y_lo"]) & (y < window["y_hi"])
    return (inside_y[:, None, None] & inside_x).reshape(-1, i.len)


def _load_weights(f: _Finder) -> dict[str, Place]:
    return {"src": f.rows("spm", f.issued.operands["src"], np.arange(f.issued.instruction.rows))}


def _multiply(f: _Finder) -> dict[str, Place]:
    i, operands = f.issued.instruction, f.issued.operands
    return {
        "a": f.rows("spm", operands["a"], walk(i.n1, i.n0, i.s1, i.s0)),
        "acc": f.rows("acc", operands["acc"], np.arange(i.n1 * i.n0), writes=True),
    }


def _vector(f: _Finder) -> dict[str, Place]:
    issued = f.issued
    i, gen, out = issued.instruction, issued.configs["gen"], issued.configs["out"]
    if not gen["k0"] or not gen["k1"]:
        raise trap(issued, "the window has no elements: its configuration register was not written")
    kind = i.spec.payload[0].choices[i.kind]
    a = walk(i.n1, i.n0, gen["s1"], gen["s0"])[:, None] + walk(gen["k1"], gen["k0"], gen["t1"], gen["t0"])
    b = walk(i.n1, i.n0, out["b1"], out["b0"])[:, None] + np.arange(gen["k1"] * gen["k0"]) * out["bt"]
    if kind not in ("mac", "add"):
        b = b[:, :1]
    dst = walk(i.n1, i.n0, out["d1"], out["d0"])
    found = {
        "a": f.rows("spm", issued.operands["a"], a),
        "dst": f.rows("spm" if i.kind else "acc", issued.operands["dst"], dst, writes=True),
    }
    if kind in ("mac", "add") or i.accumulate:
        found["b"] = f.rows("spm", issued.operands["b"], b)
    if kind == "lut":
        found["lut"] = Place("lut", np.arange(f.machine.lut_rows), False)
    if i.kind:
        _no_overlap(found["dst"].at, [found[name].at for name in ("a", "b") if name in found], issued)
    return found


def _store(f: _Finder) -> dict[str, Place]:
    issued = f.issued
    i, stride, memory = issued.instruction, issued.configs["stride"], "acc" if issued.instruction.source else "spm"
    src = f.rows(memory, issued.operands["src"], walk(i.n1, i.n0, stride["d1"], 1))
    offsets = walk(i.n1, i.n0, stride["s1"], stride["s0"])
    found = {"src": src}
    if "post" in issued.configs:
        row = issued.configs["post"]["table"] + issued.operands["table"]
        found["table"] = f.rows("tab", row, np.zeros(1, np.int64))
    if i.to:
        found["dst"] = f.rows("spm", issued.operands["dst"], offsets, writes=True)
        if not i.source:
            _no_overlap(found["dst"].at, [src.at[:, None]], issued)
    else:
        width = i.len * (4 if i.source and "post" not in issued.configs else 1)
        found["dst"] = f.spots(issued.operands["dst"], offsets, width, writes=True)
    return found


def _no_overlap(dst: Rows, sources: Sequence[Rows], issued: Issued) -> None:
    """An output may be written over its own operand, but no operand may be the output of another."""
    written = np.unique(dst)
    for source in sources:
        if source.shape[1] == 1 and np.array_equal(source[:, 0], dst) and len(written) == len(dst):
            continue
        if np.isin(source, written).any():
            raise trap(issued, "it reads rows that it writes itself")


_PLACES: dict[str, Callable[[_Finder], dict[str, Place]]] = {
    "ld": _load,
    "wl": _load_weights,
    "mm": _multiply,
    "ve": _vector,
    "st": _store,
}
