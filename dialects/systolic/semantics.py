"""What instructions do: an interpreter in NumPy, one function per instruction, in the order of the program.

A program that the static checker finds free of races does the same on the machine, whose units overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from ...compiler.systolic_machine import SystolicMachine
from .control import Issued, dispatch
from .encoding import Instruction
from .limits import check_all_limits
from .numerics import add, requantize, usable
from .places import Place, places, trap

_RUNS: dict[str, Callable[[Chip, Issued, dict[str, Place]], None]] = {}
_Run = Callable[["Chip", Issued, dict[str, Place]], None]
_Watch = Callable[[Issued, dict[str, Place]], None]


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

    def run(self, program: Sequence[Instruction], watch: _Watch = lambda issued, at: None) -> None:
        """Executes a program; `watch` is told of each instruction, and what it reads and writes.

        Raises LaminaError, naming the instruction, where the machine traps.
        """
        check_all_limits(program, self.machine)
        for issued in dispatch(program):
            watch(issued, self.execute(issued))

    def execute(self, issued: Issued) -> dict[str, Place]:
        """Executes one instruction; comes back with what it reads and writes."""
        run = _RUNS.get(issued.name)
        if run is None:
            return {}
        at = places(issued, self.machine, self.dram.size)
        run(self, issued, at)
        return at


def _does(name: str) -> Callable[[_Run], _Run]:
    def register(run: _Run) -> _Run:
        _RUNS[name] = run
        return run

    return register


@_does("ld")
def _load(chip: Chip, issued: Issued, at: dict[str, Place]) -> None:
    i, memory, dst, read = issued.instruction, at["dst"].memory, at["dst"].at, at["src"].read
    data = chip.dram[at["src"].at]
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


@_does("wl")
def _load_weights(chip: Chip, issued: Issued, at: dict[str, Place]) -> None:
    rows = at["src"].at
    tile = np.zeros((chip.machine.rows, chip.machine.cols), np.float32)
    tile[: len(rows)] = chip.spm[rows, : chip.machine.cols]
    chip.shadow.append(tile)


@_does("mm")
def _multiply(chip: Chip, issued: Issued, at: dict[str, Place]) -> None:
    i, a, acc = issued.instruction, at["a"].at, at["acc"].at
    if i.swap:
        if not chip.shadow:
            raise trap(issued, "there are no loaded weights to swap in")
        chip.weights = chip.shadow.pop(0)
    # exact: at most 128 products below 2^14 stay below 2^24
    products = (chip.spm[a, : chip.machine.rows].astype(np.float32) @ chip.weights).astype(np.int32)
    chip.acc[acc] = chip.acc[acc] + products if i.accumulate else products


@_does("ve")
def _vector(chip: Chip, issued: Issued, at: dict[str, Place]) -> None:
    i, dst, x = issued.instruction, at["dst"].at, chip.spm[at["a"].at]
    kind = i.spec.payload[0].choices[i.kind]
    y = chip.spm[at["b"].at] if "b" in at else None
    if kind == "mac":
        assert y is not None
        cols = chip.machine.cols
        sums = np.einsum("nkc,nkc->nc", x[..., :cols].astype(np.int32), y[..., :cols].astype(np.int32))
        if i.accumulate:
            np.add.at(chip.acc, dst, sums)
        else:
            chip.acc[dst] = sums
    elif kind in ("max", "min"):
        pick = np.maximum if kind == "max" else np.minimum
        best = pick.reduce(x, axis=1)
        chip.spm[dst] = best if y is None else pick(best, y[:, 0])
    elif kind == "add":
        assert y is not None
        post, scale = issued.configs["post"], issued.configs["scale"]
        bits = np.array([scale["ra"], scale["rb"], post["offset"]], np.uint32)
        if not usable(bits):
            raise trap(issued, "a factor is no number below 2^64")
        chip.spm[dst] = add(x[:, -1], y[:, -1], bits.view(np.float32), post["zero"], post["lo"], post["hi"])
    else:
        chip.spm[dst] = chip.lut.reshape(-1)[x[:, -1].astype(np.int64) + 128]


@_does("st")
def _store(chip: Chip, issued: Issued, at: dict[str, Place]) -> None:
    i, src, dst = issued.instruction, at["src"].at, at["dst"].at
    if not i.source:
        data = chip.spm[src, : i.len]
    elif "table" in at:
        post, row = issued.configs["post"], int(at["table"].at[0])
        bias, scale = chip.bias[row, : i.len], chip.scale[row, : i.len]
        data = requantize(chip.acc[src, : i.len], bias, scale, post["zero"], post["lo"], post["hi"])
    else:
        data = chip.acc[src, : i.len].astype("<i4")
    if i.to:
        chip.spm[dst] = 0
        chip.spm[dst, : i.len] = data
    else:
        chip.dram[dst] = np.ascontiguousarray(data).view(np.uint8).reshape(len(src), -1)


@_does("trap")
def _trap(chip: Chip, issued: Issued, at: dict[str, Place]) -> None:
    raise trap(issued, f"the program asks for trap {issued.instruction.code}")
