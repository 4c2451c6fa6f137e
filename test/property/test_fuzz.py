"""Changed files are taken or refused with a reason; `lamina fuzz` does the same for as long as one likes."""

from __future__ import annotations

from pathlib import Path
from time import monotonic

import pytest

from lamina.tools.fuzz.kinds import KINDS
from lamina.tools.fuzz.workers import Limits, run_cases

CASES = {"onnx": 40, "stablehlo": 80, "bytecode": 40, "mlir": 30, "dsl": 60, "check": 1000, "lamx": 30}
CASES |= {"headers": 100, "schedules": 12}


@pytest.mark.parametrize("name", KINDS)
def test_changed_files(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMINA_JOBS", "1")
    kind = KINDS[name]
    seeds = kind.seeds(False)
    numbers = iter(range(CASES[name]))
    outcomes = list(
        run_cases(
            kind, lambda n: kind.mutant(name, 0, n, seeds), numbers, tmp_path, Limits(kind.seconds), monotonic() + 600
        )
    )
    assert len(outcomes) == CASES[name]
    wrong = [f"case {o.number}: {o.what}: {o.report}" for o in outcomes if not o.good]
    assert not wrong, "\n".join(wrong)
    assert {"ok", "refused"} <= {o.what for o in outcomes}, "the changes are all harmless, or none is"
