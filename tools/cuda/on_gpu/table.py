"""What was found on a GPU: rows, how they compare with the goals, and all of it as one table or as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

HEAD = ("group", "program", "error", "emulator", "us", "rate", "best of", "its us", "ratio", "")
WIDTHS = (12, 38, 7, 8, 9, 13, 15, 9, 6, 0)


@dataclass(frozen=True)
class Group:
    """Rows that belong together. A ratio says how many times as fast as `against` we are; the goal is for each row.

    Of a `brief` group rows without any error are only counted.
    """

    name: str
    against: str = ""
    goal: float | None = None
    brief: bool = False


GROUPS = (
    Group("conformance", brief=True),
    Group("small"),
    Group("torch"),
    Group("models"),
    Group("memory", "a copy of as many bytes", 0.9),
    Group("gemm", "cuBLAS", 0.85),
    Group("f32-gemm", "cuBLAS", 0.9),
    Group("skinny", "cuBLAS"),
    Group("attention", "the best backend of PyTorch's SDPA", 0.8),
    Group("conv", "cuDNN", 0.8),
    Group("networks", "the best of torch.compile and ONNX Runtime", 1.0),
)


@dataclass(frozen=True)
class Row:
    """One program: its error, and where it was timed seconds of ours and of each peer, medians of the rounds.

    `ratio` is the median over the rounds of the best peer's time divided by ours. `told` says what went wrong.
    """

    group: str
    name: str
    error: float = 0.0
    limit: float = 0.0
    emulator: str = ""
    seconds: float = 0.0
    rate: str = ""
    peers: Mapping[str, float] = field(default_factory=dict[str, float])
    ratio: float | None = None
    told: str = ""

    @property
    def good(self) -> bool:
        """Whether it ran and its error is within the limit, which that of a NaN never is."""
        return not self.told and self.error <= self.limit

    @property
    def best(self) -> str:
        """The peer that took least time; empty where there is none."""
        return min(self.peers, key=lambda name: self.peers[name], default="")

    @property
    def cells(self) -> tuple[str, ...]:
        """As a line of the table."""
        best = self.best
        return (
            self.group,
            self.name,
            "" if self.told else f"{self.error:.0e}",
            self.emulator,
            _micro(self.seconds),
            self.rate,
            best,
            _micro(self.peers[best]) if best else "",
            "" if self.ratio is None else f"{self.ratio:.2f}",
            "" if self.good else f"WRONG {self.told or f'(at most {self.limit:.0e})'}",
        )

    @property
    def badness(self) -> tuple[bool, float, float]:
        """What is wrong first, then what is slowest, then what is least exact."""
        share = self.error / self.limit if self.limit else self.error
        return self.good, math.inf if self.ratio is None else self.ratio, -share


def _micro(seconds: float) -> str:
    return f"{seconds * 1e6:.1f}" if seconds else ""


def line(cells: Sequence[str]) -> str:
    """Cells below each other."""
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)).rstrip()


@dataclass
class Report:
    """All that was found, as it is found: `lost` says how the GPU was lost, where it was."""

    gpu: str
    rows: list[Row] = field(default_factory=list[Row])
    left: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    lost: str = ""

    def leave(self, name: str, why: str) -> None:
        """Something was not done, for a reason that others may share."""
        self.left.setdefault(why, []).append(name)

    @property
    def status(self) -> int:
        """The exit code: 2 for a GPU that was lost, 1 for a wrong result."""
        return 2 if self.lost else int(not all(row.good for row in self.rows))

    def lines(self) -> Iterator[str]:
        """The table, each group's worst first, then what it says."""
        yield self.gpu
        yield line(HEAD)
        for group in GROUPS:
            for row in self._of(group):
                if not (group.brief and row.good and row.error == 0):
                    yield line(row.cells)
        yield ""
        for group in GROUPS:
            if rows := self._of(group):
                yield closing(group, rows)
        for why, names in self.left.items():
            yield f"left out, {why}: {', '.join(names)}"
        if self.lost:
            yield f"the GPU was lost: {self.lost}"
        wrong = [f"{row.group} {row.name}" for group in GROUPS for row in self._of(group) if not row.good]
        missed = [group.name for group in GROUPS if (rows := self._of(group)) and met(group, rows) is False]
        if wrong:
            yield f"WRONG: {', '.join(wrong)}"
        elif self.rows and not self.lost:
            yield "all right" + (f"; goals not met: {', '.join(missed)}" if missed else "")
        elif not self.rows:
            yield "nothing was checked"

    def _of(self, group: Group) -> list[Row]:
        return sorted((row for row in self.rows if row.group == group.name), key=lambda row: row.badness)

    def write(self, path: Path) -> None:
        """The same as JSON."""
        groups = {
            group.name: {"goal": group.goal, "mean": mean(rows), "worst": worst(rows), "met": met(group, rows)}
            for group in GROUPS
            if (rows := self._of(group))
        }
        rows = [asdict(row) | {"good": row.good} for row in self.rows]
        told = {"gpu": self.gpu, "groups": groups, "rows": rows, "left": self.left, "lost": self.lost}
        path.write_text(json.dumps(told, indent=1) + "\n")


def ratios(rows: Sequence[Row]) -> list[float]:
    """Those of the rows that have one."""
    return [row.ratio for row in rows if row.ratio is not None]


def mean(rows: Sequence[Row]) -> float | None:
    """The geometric mean of all ratios; None without any."""
    found = ratios(rows)
    return math.exp(sum(map(math.log, found)) / len(found)) if found else None


def worst(rows: Sequence[Row]) -> float | None:
    """The smallest ratio; None without any."""
    return min(ratios(rows), default=None)


def met(group: Group, rows: Sequence[Row]) -> bool | None:
    """Whether every row reaches the goal; None where there is none, or nothing to compare with it."""
    least = worst(rows)
    return None if group.goal is None or least is None else least >= group.goal


def closing(group: Group, rows: Sequence[Row]) -> str:
    """What a group's rows say together."""
    wrong = sum(not row.good for row in rows)
    told = f"{group.name}: {len(rows)} programs, {f'{wrong} WRONG' if wrong else 'all right'}"
    average, least = mean(rows), worst(rows)
    if average is None or least is None:
        if not group.against:
            largest = max(rows, key=lambda row: (not row.good, row.error / row.limit if row.limit else row.error))
            return f"{told}, largest error {largest.error:.0e} of {largest.limit:.0e} ({largest.name})"
        return f"{told}, nothing to compare times with"
    name = next(row.name for row in rows if row.ratio == least)
    told += f"; {average:.2f} of {group.against} (geometric mean), worst {least:.2f} ({name})"
    reached = met(group, rows)
    return told if reached is None else f"{told}, goal {group.goal}: {'met' if reached else 'not met'}"
