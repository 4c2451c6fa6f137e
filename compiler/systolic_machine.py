"""Descriptions of systolic arrays: the one place that says how big everything is, kept as data files."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from .diagnostics import LaminaError

LANES_MOST = 128  # what the length fields of the instructions can say
ROWS_MOST = 1 << 16  # what their addresses of on-chip rows can say
TABLE_MOST = 256


@dataclass(frozen=True)
class SystolicMachine:
    """A weight-stationary array of int8 products summed in int32, its memories and its way to DRAM.

    `rows` is how many input channels, `cols` how many output channels the array takes at once. A row of the
    scratchpad holds `lanes` bytes, one of the accumulator `cols` integers of 32 bits, one of the table `cols` pairs of
    a bias (i32) and a scale (f32). DRAM gives `read_bytes` and takes `write_bytes` a cycle; what is asked for comes
    `dma_latency` cycles later.
    """

    name: str
    rows: int
    cols: int
    spm_bytes: int
    acc_bytes: int
    table_rows: int
    read_bytes: int
    write_bytes: int
    dma_latency: int
    queue_depth: int
    clock_mhz: int

    def __post_init__(self) -> None:
        self._range("rows", 2, LANES_MOST)
        self._range("cols", 2, LANES_MOST)
        self._range("table_rows", 1, TABLE_MOST)
        self._range("dma_latency", 1, 1000)
        self._range("queue_depth", 2, 64)
        self._range("clock_mhz", 1, 10_000)
        for name in ("read_bytes", "write_bytes"):
            self._range(name, 1, 256)
            if getattr(self, name) & (getattr(self, name) - 1):
                raise self._wrong(f"'{name}' is {getattr(self, name)}", "a bus is a power of two bytes wide")
        for name, row in (("spm_bytes", self.lanes), ("acc_bytes", 4 * self.cols)):
            size = getattr(self, name)
            if size % row or not 2 <= size // row <= ROWS_MOST:
                raise self._wrong(
                    f"'{name}' is {size}", f"a whole number of rows of {row} bytes, 2 to {ROWS_MOST} of them"
                )

    def _range(self, name: str, least: int, most: int) -> None:
        if not least <= getattr(self, name) <= most:
            raise self._wrong(f"'{name}' is {getattr(self, name)}", f"from {least} to {most}")

    def _wrong(self, what: str, hint: str) -> LaminaError:
        return LaminaError(what, where=f"machine '{self.name}'", hint=hint)

    @property
    def lanes(self) -> int:
        """The bytes of a row of the scratchpad."""
        return max(self.rows, self.cols)

    @property
    def spm_rows(self) -> int:
        """The rows of the scratchpad."""
        return self.spm_bytes // self.lanes

    @property
    def acc_rows(self) -> int:
        """The rows of the accumulator."""
        return self.acc_bytes // (4 * self.cols)

    @property
    def lut_rows(self) -> int:
        """The rows of `lanes` bytes that a look-up table of 256 bytes takes."""
        return -(-256 // self.lanes)

    @property
    def hash(self) -> str:
        """Names everything that a program may rely on; the name and the clock are no part of it.

        >>> SystolicMachine.preset("tiny4").hash == SystolicMachine.preset("edge8").hash
        False
        """
        facts = [(f.name, getattr(self, f.name)) for f in fields(self) if f.name not in ("name", "clock_mhz")]
        return hashlib.sha256(repr(sorted(facts)).encode()).hexdigest()[:16]

    def describe(self) -> str:
        """One line for `lamina targets`.

        >>> SystolicMachine.preset("tiny4").describe()
        '4x4 int8, scratchpad 4 KiB, sums 4 KiB, DRAM 4+4 bytes a cycle after 8 cycles, 100 MHz'
        """
        return (
            f"{self.rows}x{self.cols} int8, scratchpad {self.spm_bytes >> 10} KiB, sums {self.acc_bytes >> 10} KiB, "
            f"DRAM {self.read_bytes}+{self.write_bytes} bytes a cycle after {self.dma_latency} cycles, "
            f"{self.clock_mhz} MHz"
        )

    @staticmethod
    def from_facts(name: str, facts: Mapping[str, Any]) -> SystolicMachine:
        """The machine that a table of facts describes. Raises LaminaError naming what is missing, unknown or wrong."""
        known = {f.name for f in fields(SystolicMachine)} - {"name"}
        where = f"machine '{name}'"
        if missing := sorted(known - facts.keys()):
            raise LaminaError(f"lacks {', '.join(missing)}", where=where)
        if unknown := sorted(facts.keys() - known):
            raise LaminaError(
                f"'{unknown[0]}' is nothing known", where=where, hint=f"one of {', '.join(sorted(known))}"
            )
        for key, value in facts.items():
            if not isinstance(value, int) or isinstance(value, bool):
                raise LaminaError(f"'{key}' is {value!r}", where=where, hint="expected an integer")
        return SystolicMachine(name, **facts)

    @staticmethod
    def read(path: Path) -> SystolicMachine:
        """The machine in a TOML file. Raises LaminaError when there is none."""
        try:
            facts = tomllib.loads(path.read_text())
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise LaminaError(f"no machine can be read: {error}", where=str(path)) from None
        return SystolicMachine.from_facts(path.stem, facts)

    @staticmethod
    @cache
    def preset(name: str) -> SystolicMachine:
        """The machine called `name`: a preset, or the path of a TOML file (ending in `.toml`), which is its name then.

        Programs name their machine, and whoever reads them finds it so.
        """
        if name.endswith(".toml"):
            return replace(SystolicMachine.read(Path(name)), name=name)
        if name not in SystolicMachine.names():
            known = ", ".join(SystolicMachine.names())
            raise LaminaError(f"unknown systolic machine '{name}'", hint=f"one of {known}, or a .toml file")
        return SystolicMachine.read(Path(str(_presets() / f"{name}.toml")))

    @staticmethod
    def names() -> list[str]:
        """The presets.

        >>> "gemmini16" in SystolicMachine.names()
        True
        """
        return sorted(f.name.removesuffix(".toml") for f in _presets().iterdir() if f.name.endswith(".toml"))


def _presets() -> Traversable:
    return resources.files(__package__ or "") / "machines" / "systolic"
