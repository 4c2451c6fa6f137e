"""What instructions do: an interpreter in NumPy, one function per instruction, in the order of the program.

A program that the static checker finds free of races does the same on the machine, whose units overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from ...compiler.diagnostics import LaminaError
from ...compiler.systolic_machine import SystolicMachine
from .control import Issued, dispatch
from .encoding import Instruction
from .instructions import TARGETS
from .limits import check_limits, memory_rows
from .numerics import add, requantize, usable

Rows = npt.NDArray[np.int64]

_RUNS: dict[str, Callable[[Chip, Issued], None]] = {}


class Chip:
    """The memories of a machine with a DRAM (bytes, changed in place); everything else is 0 at the start."""

    def __init__(self, machine: SystolicMachine, dram: npt.NDArray[np.uint8]):
        self.machine = machine
        self.dram = dram
        self.spm = np.zeros((machine.spm_rows, machine.lanes), np.int8)
        self.acc = np.zeros((machine.acc_rows, machine.cols), np.int32)
        self.bias = np.zeros((machine.table_rows, machine.cols), np.int32)
        self.scale = np.zeros((machine.table_rows, machine.cols), np.float32)
        self.lut = np.zeros((machine.lut_rows, machine.lanes), np.int8)
        self.shadow: list[npt.NDArray[np.float32]] = []
        self.weights = np.zeros((machine.rows, machine.cols), np.float32)

    def run(self, program: Sequence[Instruction]) -> None:
        """Executes a program. Raises LaminaError, naming the instruction, where the machine traps."""
        for instruction in program:
            check_limits(instruction, self.machine)
        for issued in dispatch(program):
            self.execute(issued)

    def execute(self, issued: Issued) -> None:
        """Executes one instruction."""
        run = _RUNS.get(issued.name)
        if run is not None:
            run(self, issued)

    def rows(self, memory: str, first: int, offsets: Rows, issued: Issued) -> Rows:
        """The rows `first` + offsets of a memory, modulo 2^16. Raises LaminaError when it does not have them."""
        rows = (first + offsets) & 0xFFFF
        most = memory_rows(self.machine, memory)
        if rows.size and int(rows.max()) >= most:
            raise trap(issued, f"row {int(rows.max()):#x} is outside of '{memory}', which has {most} rows")
        return rows

    def spots(self, first: int, offsets: Rows, width: int, issued: Issued, read: npt.NDArray[np.bool_] | None) -> Rows:
        """The bytes of rows of DRAM, `width` each; those that are not `read` may lie anywhere and become 0."""
        spots = ((first + offsets)[:, None] + np.arange(width)) & 0xFFFFFFFF
        if read is not None:
            spots = np.where(read, spots, 0)
        if spots.size and int(spots.max()) >= self.dram.size:
            raise trap(issued, f"address {int(spots.max()):#x} is outside of DRAM, which has {self.dram.size:#x} bytes")
        return spots


def trap(issued: Issued, problem: str) -> LaminaError:
    """The error of an instruction that the machine does not carry out."""
    return LaminaError(f"trap: {problem}", where=repr(issued))


def _does(name: str) -> Callable[[Callable[[Chip, Issued], None]], Callable[[Chip, Issued], None]]:
    def register(run: Callable[[Chip, Issued], None]) -> Callable[[Chip, Issued], None]:
        _RUNS[name] = run
        return run

    return register


def walk(n1: int, n0: int, s1: int, s0: int) -> Rows:
    """i1 * s1 + i0 * s0 for all i1, i0 in their order."""
    return (np.arange(n1)[:, None] * s1 + np.arange(n0) * s0).reshape(-1)


@_does("ld")
def _load(chip: Chip, issued: Issued) -> None:
    i, stride = issued.instruction, issued.configs["stride"]
    memory = TARGETS[i.to]
    dst = chip.rows(memory, issued.operands["dst"], walk(i.n1, i.n0, stride["d1"], 1), issued)
    size = {"acc": 4, "tab": 8}.get(memory, 1)
    offsets = walk(i.n1, i.n0, stride["s1"], stride["s0"])
    read = _inside(issued) if "window" in issued.configs else None
    spots = chip.spots(issued.operands["src"], offsets, i.len * size, issued, read)
    data = chip.dram[spots]
    if memory == "acc":
        chip.acc[dst] = 0
        chip.acc[dst, : i.len] = data.view("<i4")
    elif memory == "tab":
        pairs = data.view("<u4").reshape(len(dst), i.len, 2)
        if not usable(pairs[..., 1]):
            raise trap(issued, "a scale is no number below 2^64")
        chip.bias[dst], chip.scale[dst] = 0, 0
        chip.bias[dst, : i.len] = pairs[..., 0].view(np.int32)
        chip.scale[dst, : i.len] = np.ascontiguousarray(pairs[..., 1]).view(np.float32)
    else:
        target = chip.spm if memory == "spm" else chip.lut
        target[dst] = 0
        values = data.view(np.int8)
        target[dst, : i.len] = values if read is None else np.where(read, values, issued.configs["window"]["value"])


def _inside(issued: Issued) -> npt.NDArray[np.bool_]:
    i, window = issued.instruction, issued.configs["window"]
    x = np.arange(i.n0)[:, None] * issued.configs["stride"]["s0"] + np.arange(i.len)
    y = np.arange(i.n1)
    inside_x = (x >= window["x_lo"]) & (x < window["x_hi"])
    inside_y = (y >= window["y_lo"]) & (y < window["y_hi"])
    return (inside_y[:, None, None] & inside_x).reshape(-1, i.len)


@_does("wl")
def _load_weights(chip: Chip, issued: Issued) -> None:
    rows = chip.rows("spm", issued.operands["src"], np.arange(issued.instruction.rows), issued)
    tile = np.zeros((chip.machine.rows, chip.machine.cols), np.float32)
    tile[: len(rows)] = chip.spm[rows, : chip.machine.cols]
    chip.shadow.append(tile)


@_does("mm")
def _multiply(chip: Chip, issued: Issued) -> None:
    i = issued.instruction
    if i.swap:
        if not chip.shadow:
            raise trap(issued, "there are no loaded weights to swap in")
        chip.weights = chip.shadow.pop(0)
    a = chip.rows("spm", issued.operands["a"], walk(i.n1, i.n0, i.s1, i.s0), issued)
    acc = chip.rows("acc", issued.operands["acc"], np.arange(i.n1 * i.n0), issued)
    # exact: at most 128 products below 2^14 stay below 2^24
    products = (chip.spm[a, : chip.machine.rows].astype(np.float32) @ chip.weights).astype(np.int32)
    chip.acc[acc] = chip.acc[acc] + products if i.accumulate else products


@_does("ve")
def _vector(chip: Chip, issued: Issued) -> None:
    i, gen, out = issued.instruction, issued.configs["gen"], issued.configs["out"]
    if not gen["k0"] or not gen["k1"]:
        raise trap(issued, "the window has no elements: its configuration register was not written")
    kind = i.spec.payload[0].choices[i.kind]
    taps = gen["k1"] * gen["k0"]
    memory = "acc" if kind == "mac" else "spm"
    dst = chip.rows(memory, issued.operands["dst"], walk(i.n1, i.n0, out["d1"], out["d0"]), issued)
    window_a = walk(gen["k1"], gen["k0"], gen["t1"], gen["t0"])
    window_b = np.arange(taps) * out["bt"]
    a = walk(i.n1, i.n0, gen["s1"], gen["s0"])[:, None] + window_a
    b = walk(i.n1, i.n0, out["b1"], out["b0"])[:, None] + window_b
    if kind in ("add", "lut"):
        a, b = a[:, -1:], b[:, -1:]
    a = chip.rows("spm", issued.operands["a"], a, issued)
    reads_b = kind in ("mac", "add") or i.accumulate
    b = chip.rows("spm", issued.operands["b"], b, issued) if reads_b else b
    if memory == "spm":
        _no_overlap(dst, [a, b] if reads_b else [a], issued)
    x = chip.spm[a]
    if kind == "mac":
        y, cols = chip.spm[b], chip.machine.cols
        sums = np.einsum("nkc,nkc->nc", x[..., :cols].astype(np.int32), y[..., :cols].astype(np.int32))
        if i.accumulate:
            np.add.at(chip.acc, dst, sums)
        else:
            chip.acc[dst] = sums
    elif kind in ("max", "min"):
        pick = np.maximum if kind == "max" else np.minimum
        best = pick.reduce(x, axis=1)
        chip.spm[dst] = pick(best, chip.spm[b[:, 0]]) if i.accumulate else best
    elif kind == "add":
        post, scale = issued.configs["post"], issued.configs["scale"]
        bits = np.array([scale["ra"], scale["rb"], post["offset"]], np.uint32)
        if not usable(bits):
            raise trap(issued, "a factor is no number below 2^64")
        y = chip.spm[b][:, 0]
        chip.spm[dst] = add(x[:, 0], y, bits.view(np.float32), post["zero"], post["lo"], post["hi"])
    else:
        chip.spm[dst] = chip.lut.reshape(-1)[x[:, 0].astype(np.int64) + 128]


def _no_overlap(dst: Rows, sources: Sequence[Rows], issued: Issued) -> None:
    """An output may be written over its own operand, but no operand may be the output of another."""
    written = np.unique(dst)
    for source in sources:
        if source.shape[1] == 1 and np.array_equal(source[:, 0], dst) and len(written) == len(dst):
            continue
        if np.isin(source, written).any():
            raise trap(issued, "it reads rows that it writes itself")


@_does("st")
def _store(chip: Chip, issued: Issued) -> None:
    i, stride = issued.instruction, issued.configs["stride"]
    memory = "acc" if i.source else "spm"
    src = chip.rows(memory, issued.operands["src"], walk(i.n1, i.n0, stride["d1"], 1), issued)
    offsets = walk(i.n1, i.n0, stride["s1"], stride["s0"])
    if not i.source:
        data = chip.spm[src, : i.len]
    elif "post" in issued.configs:
        post = issued.configs["post"]
        row = int(chip.rows("tab", post["table"], np.array([issued.operands["table"]]), issued)[0])
        data = requantize(
            chip.acc[src, : i.len],
            chip.bias[row, : i.len],
            chip.scale[row, : i.len],
            post["zero"],
            post["lo"],
            post["hi"],
        )
    else:
        data = np.ascontiguousarray(chip.acc[src, : i.len]).astype("<i4")
    if i.to:
        dst = chip.rows("spm", issued.operands["dst"], offsets, issued)
        if not i.source:
            _no_overlap(dst, [src[:, None]], issued)
        chip.spm[dst] = 0
        chip.spm[dst, : i.len] = data
    else:
        raw = np.ascontiguousarray(data).view(np.uint8).reshape(len(src), -1)
        chip.dram[chip.spots(issued.operands["dst"], offsets, raw.shape[1], issued, None)] = raw


@_does("trap")
def _trap(chip: Chip, issued: Issued) -> None:
    raise trap(issued, f"the program asks for trap {issued.instruction.code}")
