"""What a program moves between DRAM and the chip, layer by layer, beside what no schedule can do without.

The compulsory bytes are each byte that a layer reads or writes, once. The pebbling bound is that of red and blue
pebbles (Hong and Kung 1981; the constant by Smith et al. 2019): with room for S numbers on the chip, m n k products
move at least 2 m n k / sqrt(S) - 2 S numbers. In a convolution a number of the image takes part in `reuse` windows,
which makes its room worth as many times as much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from ...compiler.systolic_machine import SystolicMachine
from ...dialects.systolic.control import Issued
from ...dialects.systolic.places import Place


@dataclass(frozen=True)
class Layer:
    """What is known of a layer before it runs: its products on the array, and the windows that a number is in."""

    name: str
    products: int = 0
    reuse: float = 1.0


def pebbling_bytes(layer: Layer, machine: SystolicMachine) -> int:
    """The bytes that a layer moves at least, whatever its schedule.

    >>> machine = SystolicMachine.preset("gemmini16")
    >>> pebbling_bytes(Layer("product", 1024**3), machine), pebbling_bytes(Layer("tiny", 64**3), machine)
    (3512016, 0)
    """
    room = machine.spm_rows * machine.lanes + machine.acc_rows * machine.cols
    return max(0, int(2 * layer.products / sqrt(room * layer.reuse)) - 2 * room)


class Ledger:
    """Watches a program run; a `bar` ends a layer."""

    def __init__(self, dram_bytes: int):
        self.touched = {"ld": np.zeros(dram_bytes, np.bool_), "st": np.zeros(dram_bytes, np.bool_)}
        self.moved = 0
        self.layers: list[tuple[int, int]] = []  # bytes that were moved, and how many different ones

    def watch(self, issued: Issued, at: Mapping[str, Place]) -> None:
        """Takes the next instruction with what it reads and writes."""
        if issued.name in ("bar", "halt"):
            different = 0
            for touched in self.touched.values():
                different += int(np.count_nonzero(touched))
                touched[:] = False
            self.layers.append((self.moved, different))
            self.moved = 0
        for place in at.values():
            if place.memory == "dram":
                spots = place.at if place.read is None else place.at[place.read]
                self.touched[issued.name][spots] = True
                self.moved += spots.size

    def counters(self, bars: Sequence[int]) -> list[dict[str, int]]:
        """For each layer what it took; `bars` are the cycles at which layers ended."""
        starts = [0, *bars]
        return [
            {"cycles": end - start, "dram_bytes": moved, "compulsory_bytes": different}
            for start, end, (moved, different) in zip(starts, bars, self.layers, strict=False)
        ]


def layer_lines(layers: Sequence[Layer], counted: Sequence[Mapping[str, Any]], machine: SystolicMachine) -> list[str]:
    """A line for each layer, and one for all."""
    lines: list[str] = []
    total = [0, 0, 0, 0]
    for layer, row in zip(layers, counted, strict=True):
        numbers = [row["cycles"], row["dram_bytes"], row["compulsory_bytes"], pebbling_bytes(layer, machine)]
        total = [a + b for a, b in zip(total, numbers, strict=True)]
        lines.append(_line(layer.name, numbers))
    return [*lines, _line("all", total)]


def _line(name: str, numbers: Sequence[int]) -> str:
    cycles, moved, compulsory, pebbling = numbers
    least = max(compulsory, pebbling, 1)
    return (
        f"  {cycles:>11,} cycles, {moved:>11,} bytes by DMA, {moved / least:5.2f} times the least "
        f"(compulsory {compulsory:,}, pebbling {pebbling:,})  {name}"
    )
