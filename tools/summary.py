"""The descent, shown: one row per level with what the module holds there and how long the step took."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field

from ..compiler.program import Program


@dataclass
class DescentLog:
    """Collects what `Options.on_level` reports; `show` prints it."""

    rows: list[tuple[str, int, str, float]] = field(default_factory=list[tuple[str, int, str, float]])

    def __call__(self, level: str, program: Program, seconds: float) -> None:
        """Notes one landing."""
        names = Counter(op.name for op in program.module.walk() if op.name != "builtin.module")
        frequent = ", ".join(f"{count} {name}" for name, count in names.most_common(4))
        self.rows.append((level, sum(names.values()), frequent, seconds))

    def show(self) -> None:
        """Prints the table on stderr, where it does not mix with results."""
        from rich.console import Console
        from rich.table import Table

        table = Table(title="The descent", title_justify="left", box=None, pad_edge=False)
        table.add_column("level", no_wrap=True)
        table.add_column("ops", justify="right", no_wrap=True)
        table.add_column("mostly")
        table.add_column("seconds", justify="right", no_wrap=True)
        for level, ops, frequent, seconds in self.rows:
            table.add_row(level, str(ops) if ops else "", frequent, f"{seconds:.2f}")
        Console(file=sys.stderr).print(table)
