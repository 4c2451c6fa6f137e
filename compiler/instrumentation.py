"""What watches a pipeline from the command line: IR dumps, timing, and the reproducer of a crash."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .pass_manager import Instrumentation
from .pipelines import format_pipeline


@dataclass(frozen=True)
class DumpWhen:
    """When to show the module: before or after which passes (None: none, empty: all), and only where it changed."""

    before: frozenset[str] | None = None
    after: frozenset[str] | None = None
    after_change: bool = False
    after_failure: bool = False


class DumpIR(Instrumentation):
    """Writes the module around passes, under MLIR's banner."""

    def __init__(self, when: DumpWhen, show: Callable[[ModuleOp], str], write: Callable[[str], object]):
        self.when, self.show, self.write = when, show, write
        self._before = ""

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        if self.when.after_change:
            self._before = self.show(module)
        if _selects(self.when.before, pass_):
            self._dump("Before", pass_, self.show(module))

    def after(self, pass_: ModulePass, module: ModuleOp) -> None:
        if self.when.after_change:
            text = self.show(module)
            if text != self._before:
                self._dump("After", pass_, text)
        elif _selects(self.when.after, pass_):
            self._dump("After", pass_, self.show(module))

    def failed(self, pass_: ModulePass, module: ModuleOp) -> None:
        if self.when.after_failure or self.when.after_change or _selects(self.when.after, pass_):
            self._dump("After", pass_, self.show(module), " Failed")

    def _dump(self, moment: str, pass_: ModulePass, text: str, suffix: str = "") -> None:
        self.write(f"// -----// IR Dump {moment} {type(pass_).__name__}{suffix} ({pass_.name}) //----- //\n{text}\n")


def _selects(names: frozenset[str] | None, pass_: ModulePass) -> bool:
    return names is not None and (not names or pass_.name in names)


@dataclass
class Span:
    """Wall time of one phase and of the phases inside it, in seconds."""

    name: str
    seconds: float = 0.0
    children: list[Span] = field(default_factory=list["Span"])


class Timing(Instrumentation):
    """Wall time as a tree: reading, each pass with its verification, writing."""

    def __init__(self) -> None:
        self.root = Span("root")
        self._open = [self.root]
        self._started = 0.0

    @contextmanager
    def phase(self, name: str) -> Generator[None]:
        """Times what runs inside; phases nest."""
        span = Span(name)
        self._open[-1].children.append(span)
        self._open.append(span)
        start = time.perf_counter()
        try:
            yield
        finally:
            span.seconds = time.perf_counter() - start
            self._open.pop()

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        self._open[-1].children.append(Span(pass_.name))
        self._started = time.perf_counter()

    def applied(self, pass_: ModulePass, module: ModuleOp) -> None:
        self._open[-1].children[-1].seconds = time.perf_counter() - self._started
        self._started = time.perf_counter()

    def after(self, pass_: ModulePass, module: ModuleOp) -> None:
        self._open[-1].children.append(Span("(verify)", time.perf_counter() - self._started))

    def report(self) -> str:
        """The table, widest phase names aligned, with each phase's share of the total."""
        total = sum(span.seconds for span in self.root.children)
        rule = "===" + "-" * 73 + "==="
        lines = [rule, "... Execution time report ...".center(len(rule)).rstrip(), rule]
        lines += [f"  Total Execution Time: {total:.4f} seconds", "", "  ----Wall Time----  ----Name----"]
        lines += [self._line(span, depth, total) for span, depth in _flat(self.root.children)]
        lines.append(f"  {total:8.4f} (100.0%)  Total")
        return "\n".join(lines) + "\n"

    @staticmethod
    def _line(span: Span, depth: int, total: float) -> str:
        share = 100 * span.seconds / total if total else 0.0
        return f"  {span.seconds:8.4f} ({share:5.1f}%)  {'  ' * depth}{span.name}"


def _flat(spans: list[Span], depth: int = 0) -> Iterator[tuple[Span, int]]:
    for span in spans:
        yield span, depth
        yield from _flat(span.children, depth + 1)


class Reproducer(Instrumentation):
    """On a failure, writes the module as it was before the failing pass, with the passes still to run, to a file.

    `lamina-opt --run-reproducer FILE` runs it again.
    """

    def __init__(self, path: Path, passes: list[ModulePass], show: Callable[[ModuleOp], str]):
        self.path, self.show = path, show
        self._left = list(passes)
        self._text = ""

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        self._text = self.show(module)

    def after(self, pass_: ModulePass, module: ModuleOp) -> None:
        self._left.pop(0)

    def failed(self, pass_: ModulePass, module: ModuleOp) -> None:
        pipeline = format_pipeline(self._left).replace("\\", "\\\\").replace('"', '\\"')
        self.path.write_text(
            f"{self._text}\n{{-#\n  external_resources: {{\n    mlir_reproducer: {{\n"
            f'      pipeline: "{pipeline}",\n      verify_each: true\n    }}\n  }}\n#-}}\n'
        )
