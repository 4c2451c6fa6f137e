"""Makes every .mlir file with RUN lines a test, run in-process (see lamina.tools.runlines)."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from lamina.compiler import fork_server
from lamina.tools.runlines import run_file, run_lines

LONGEST = ("test_small_models.py",)  # files
GROWTH = 256 << 20  # bytes
MANY = 50_000  # objects
_kept = [0]  # bytes of memory after some were given back


@pytest.fixture
def isolated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A folder at the front of the search path, where a test may pretend to install packages."""
    monkeypatch.setenv("LAMINA_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if name.startswith(("fake_", "lamina_example")):
            del sys.modules[name]


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix == ".mlir" and run_lines(file_path.read_text()):
        return RunLineFile.from_parent(parent, path=file_path)
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests that take minutes go first: at the end one worker would have them, and the others nothing to do."""
    items.sort(key=lambda item: item.path.name not in LONGEST)


def pytest_configure() -> None:
    """Models are imported all along by copies of this process, which grows."""
    fork_server.start(idle=3600)


def pytest_collection_finish() -> None:
    """What is there now stays, and IR is objects that go together: the collector looks at them when a test is over."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(1_000_000, 5, 5)


def pytest_xdist_setupnodes() -> None:
    """Workers share the cores out already: a second thread or process of each would only wait for its turn."""
    for name in ("LAMINA_JOBS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def pytest_runtest_logfinish() -> None:
    """Memory of large models that was freed goes back: each fork would take as long as the process has pages."""
    if gc.get_count()[0] > MANY:
        gc.collect(0)  # what is older is left for later
    if sys.platform == "linux" and _resident() > _kept[0] + GROWTH:
        with suppress(OSError, AttributeError):  # of the GNU C library
            ctypes.CDLL(None).malloc_trim(0)
        _kept[0] = _resident()


def _resident() -> int:
    """Bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


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
