"""What a measurement says: a line per row as it comes, the rows worst first with means, and JSON."""

from __future__ import annotations

import json
import platform
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ...compiler.diagnostics import LaminaError
from ...compiler.machine import Machine
from .cases import COMPUTE
from .peers import OURS, PEERS

WORST = 15  # rows of the closing table


@dataclass
class Row:
    """One case at one thread count. Times are medians over the rounds.

    `speed` is how many times as fast as the best peer ours is, the median over the rounds, and `spread` the
    difference of the largest and the smallest; `rate` is in GFLOP/s for bounds in COMPUTE, else in GB/s, and `share`
    that of the measured `ceiling`. `memory_mb` is the largest growth of resident memory while preparing and running
    once, `running_mb` while running, both above what the process held before.
    """

    group: str
    case: str
    family: str
    threads: int
    bound: str
    ms: dict[str, float] = field(default_factory=dict[str, float])
    best: str = ""
    speed: float | None = None
    spread: float = 0.0
    rate: float = 0.0
    ceiling: float = 0.0
    share: float = 0.0
    error: float = 0.0
    wrong: bool = False
    compile_s: dict[str, float] = field(default_factory=dict[str, float])
    memory_mb: dict[str, float] = field(default_factory=dict[str, float])
    running_mb: dict[str, float] = field(default_factory=dict[str, float])
    failures: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def bad(self) -> bool:
        """Whether ours failed or is wrong."""
        return self.wrong or OURS in self.failures

    @property
    def label(self) -> str:
        """The case, with its threads."""
        return f"{self.case}, {self.threads} thread{'s' * (self.threads > 1)}"


def print_head(systems: Sequence[str]) -> None:
    """What is compared on what, and the names of the columns."""
    versions = ", ".join(f"{name} {PEERS[name].version}" for name in systems if name != OURS)
    print(f"{_processor()}; against {versions or 'nobody'}")
    print("speed: of Lamina over the best peer (above 1: Lamina is faster); share: of the ceiling in the same rounds;")
    print("MB: largest resident memory while running, above what the process held before, of ours and of the best peer")
    cells = "".join(f"{name + ' ms':>{_width(name)}}" for name in systems)
    print(
        f"{'case':<34}{'thr':>4}{cells}"
        f"{'speed':>7}{'spread':>8}{'rate':>15}{'share':>7}{'error':>9}{'comp s':>8}{'MB':>8}{'peer MB':>9}"
    )


def print_row(row: Row, systems: Sequence[str]) -> None:
    """One line."""
    cells = "".join(f"{_ms(row.ms.get(name)):>{_width(name)}}" for name in systems)
    print(f"{row.case:<34}{row.threads:>4}{cells}{_rest(row)}", flush=True)


def _rest(row: Row) -> str:
    if OURS in row.failures:
        return f"  failed: {row.failures[OURS][:90]}"
    speed = "-" if row.speed is None else f"{row.speed:.2f}"
    rate = f"{row.rate:.1f} {'GFLOP/s' if row.bound in COMPUTE else 'GB/s'}" if row.rate else "-"
    share = f"{row.share:.0%}" if row.rate else "-"
    wrong = "  WRONG" if row.wrong else ""
    return (
        f"{speed:>7}{row.spread:>8.2f}{rate:>15}{share:>7}{row.error:>9.0e}"
        f"{row.compile_s.get(OURS, 0):>8.2f}{row.running_mb.get(OURS, 0):>8.1f}"
        f"{row.running_mb.get(row.best, 0):>9.1f}{wrong}"
    )


def print_closing(rows: Sequence[Row], systems: Sequence[str]) -> None:
    """The worst rows first, then the geometric mean of each family and of all."""
    ordered = sorted(rows, key=lambda row: (not row.bad, row.speed is None, row.speed or 0.0))
    if len(rows) > 1:
        print(f"\nworst first{f' ({WORST} of {len(rows)})' if len(rows) > WORST else ''}:")
        for row in ordered[:WORST]:
            best = f"{row.best} {_ms(row.ms.get(row.best))} ms" if row.best else ""
            print(f"{row.case:<34}{row.threads:>4}{_ms(row.ms.get(OURS)):>11} ms{best:>24}{_rest(row)}")
    for name, members in means(rows).items():
        print(
            f"{name}: geometric mean {members['speed']:.2f} times the speed of the best peer, "
            f"worst {members['worst']:.2f}, {members['rows']} rows"
        )
    bad = sum(row.bad for row in rows)
    if bad:
        print(f"{bad} rows of ours failed or are wrong")


def means(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """Geometric mean and worst speed per family and thread count, and over all."""
    families: dict[str, list[float]] = {}
    for row in rows:
        if row.speed is not None and not row.bad:
            for key in (f"{row.group}/{row.family}, {row.threads} thr", f"{row.group}, all"):
                families.setdefault(key, []).append(row.speed)
    families = {key: families[key] for key in sorted(families, key=lambda key: key.endswith("all"))}
    return {
        name: {"speed": statistics.geometric_mean(speeds), "worst": min(speeds), "rows": len(speeds)}
        for name, speeds in families.items()
    }


def write_json(path: Path, group: str, rows: Sequence[Row], systems: Sequence[str]) -> None:
    """All that was measured. Raises LaminaError when the file cannot be written."""
    data = {
        "group": group,
        "machine": {"processor": _processor(), "cpu": Machine.host().cpu},
        "systems": {name: PEERS[name].version for name in systems},
        "rows": [asdict(row) for row in rows],
        "means": means(rows),
    }
    try:
        path.write_text(json.dumps(data, indent=1) + "\n")
    except OSError as error:
        raise LaminaError(f"cannot write: {error.strerror}", where=str(path)) from error


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return f"{name or platform.machine()}, {Machine.host().cores} cores"


def _width(system: str) -> int:
    return max(len(system) + 5, 11)


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}" if value < 1 else f"{value:.3f}" if value < 100 else f"{value:.1f}"
