"""The descent, shown: one row per level with what the module holds there and how long the step took."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IntegerAttr

from ..backends import Options
from ..compiler.compile_times import CompileTimes, KernelTimes
from ..compiler.program import Program
from . import api


@dataclass
class DescentLog:
    """Collects what `Options.on_level` reports; `show` prints it."""

    rows: list[tuple[str, int, str, float]] = field(default_factory=list[tuple[str, int, str, float]])
    arena: tuple[int, int] | None = None  # bytes, and the most that are alive at once

    def __call__(self, level: str, program: Program, seconds: float) -> None:
        """Notes one landing."""
        names = Counter(op.name for op in program.module.walk() if op.name != "builtin.module")
        frequent = ", ".join(f"{count} {name}" for name, count in names.most_common(4))
        self.rows.append((level, sum(names.values()), frequent, seconds))
        numbers = [program.module.attributes.get(f"lamina.arena_{name}") for name in ("bytes", "lower_bound")]
        if isinstance(numbers[0], IntegerAttr) and isinstance(numbers[1], IntegerAttr):
            self.arena = numbers[0].value.data, numbers[1].value.data

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
        if self.arena is not None:
            planned, least = (f"{number / 1e6:.2f} MB" for number in self.arena)
            print(f"arena: {planned}, at most {least} alive at once", file=sys.stderr)


MOST_KERNELS = 15


def profile_compilation(model: str) -> None:
    """Compiles a model without the caches and prints where the time goes."""
    times = CompileTimes()
    api.compile(model, options=Options(cache=False, times=times))
    print(f"{model}:", file=sys.stderr)
    show_times(times)


def show_times(times: CompileTimes) -> None:
    """Prints on stderr what each pass took on the whole model and over all kernels, then the kernels that took longest.

    In seconds of CPU time. Kernels compile in several processes at once: the wall clock shows less than their sum.
    """
    from rich.console import Console
    from rich.table import Table

    console = Console(file=sys.stderr)
    passes = Table(title="Passes, CPU time", title_justify="left", box=None, pad_edge=False)
    for name in ("pass", "seconds", "whole model", "all kernels"):
        passes.add_column(name, justify="left" if name == "pass" else "right", no_wrap=True, min_width=len(name))
    for name, module, kernels in times.passes():
        passes.add_row(name, f"{module + kernels:.3f}", *(f"{x:.3f}" if x else "" for x in (module, kernels)))
    console.print(passes)
    done = [kernel for kernel in times.by_kernel() if not kernel.cached]
    if len(done) < len(times.kernels):
        print(f"{len(times.kernels) - len(done)} kernels were in the cache (--no-cache times them)", file=sys.stderr)
    if not done:
        if not times.kernels and not times.module.seconds:
            print("the model was in the cache or nothing was compiled (--no-cache times them)", file=sys.stderr)
        return
    table = Table(title="Kernels, CPU time", title_justify="left", box=None, pad_edge=False)
    parts = ["passes", "LLVM", *(["ptxas"] if any(kernel.assembler for kernel in done) else [])]
    for name in ("kernel", "seconds", *parts, "bytes", "from"):
        side = "left" if name in ("kernel", "from") else "right"
        width = max(len(kernel.name) for kernel in done) if name == "kernel" else len(name) + 1
        table.add_column(name, justify=side, no_wrap=True, min_width=width)
    for kernel in done[:MOST_KERNELS]:
        table.add_row(kernel.name, *_sums([kernel], len(parts)), str(kernel.code_bytes or ""), kernel.origin[:40])
    rest = done[MOST_KERNELS:]
    if rest:
        table.add_row(f"{len(rest)} others", *_sums(rest, len(parts)), "", "")
    table.add_row("all", *_sums(done, len(parts)), "", "")
    console.print(table)


def _sums(kernels: Sequence[KernelTimes], parts: int) -> list[str]:
    """Seconds of these kernels together, and of so many parts of them."""
    every = zip(*((k.total, k.lowering, k.llvm, k.assembler) for k in kernels), strict=True)
    return [f"{sum(seconds):.3f}" for seconds in every][: parts + 1]
