"""The lit test format of this project: RUN lines executed in the worker's own process (test/lit.cfg.py uses it)."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import lit.formats
import lit.Test

from .runlines import run_file, run_lines


class InProcess(lit.formats.FileBasedTest):
    """One test per file that has RUN lines."""

    def execute(self, test: Any, litConfig: Any) -> Any:
        """Runs the file; lit's own result codes."""
        path = Path(test.getSourcePath())
        if not run_lines(path.read_text()):
            return lit.Test.Result(lit.Test.UNSUPPORTED, "no RUN line")
        with tempfile.TemporaryDirectory() as folder:
            outcome = run_file(path, Path(folder) / "t")
        codes = {"pass": lit.Test.PASS, "fail": lit.Test.FAIL, "skip": lit.Test.UNSUPPORTED}
        return lit.Test.Result(codes[outcome.status], outcome.report)
