"""Makes every .mlir file with RUN lines a test, run in-process (see lamina.tools.runlines)."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from lamina.tools.runlines import run_file, run_lines

LONGEST = ("test_small_models.py",)  # files


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix == ".mlir" and run_lines(file_path.read_text()):
        return RunLineFile.from_parent(parent, path=file_path)
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests that take minutes go first: at the end one worker would have them, and the others nothing to do."""
    items.sort(key=lambda item: item.path.name not in LONGEST)


def pytest_collection_finish() -> None:
    """What is there now stays, and IR is many objects that go together: the collector need not look at all so often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 5, 5)


class RunLineFile(pytest.File):
    """A test file with RUN lines: one test."""

    def collect(self) -> Iterator[pytest.Item]:
        yield RunLines.from_parent(self, name="RUN")


class RunLineFailure(Exception):
    """A RUN line that failed; the text is the report."""


class RunLines(pytest.Item):
    """All RUN lines of one file."""

    def runtest(self) -> None:
        folder = self.config._tmp_path_factory.mktemp("run", numbered=True)  # pyright: ignore
        outcome = run_file(self.path, folder / "t")
        if outcome.status == "skip":
            pytest.skip(outcome.report)
        if outcome.status == "fail":
            raise RunLineFailure(outcome.report)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        if isinstance(excinfo.value, RunLineFailure):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, str(self.path)
