"""The command that compiles models for CUDA: what it prints."""

from pathlib import Path

import pytest

from lamina.backends import Options
from lamina.backends.cuda import target
from lamina.compiler.parsing import parse_module
from lamina.compiler.program import Program
from lamina.tools.cuda import compile_models
from lamina.tools.cuda.programs import Case, product
from lamina.tools.sources import new_context


def program_of(case: Case) -> Program:
    context = new_context()
    return Program(parse_module(case.text, case.name, context), context)


def test_models_are_compiled_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.mlir", tmp_path / "bad.mlir"
    good.write_text(product(20, 24, 40, "bf16").text)
    bad.write_text("func.func public @main() {")
    assert compile_models.main([str(good), "--target", "sm_90a"]) == 0
    _, told, summary = capsys.readouterr().out.splitlines()
    assert told.split()[:4] == ["good", "sm_90a", "1", "1"]
    assert summary == "1 models, 1 distinct kernels, 0 bytes spilled, 0 of 1 failed"
    assert compile_models.main([str(bad), "--target", "sm_80"]) == 1
    assert "error" in capsys.readouterr().out


def test_each_architecture_has_its_own_schedules() -> None:
    case = product(128, 128, 128, "bf16")
    rows = list(compile_models.compile_model("product", lambda: program_of(case), compile_models.TARGETS, "f32"))
    for row in rows:
        _, built = target.CudaTarget(row.target).built(program_of(case), Options())
        assert row.kernels == list(built.kernels) and not row.told
        assert ("wgmma" in next(iter(built.kernels.values())).ptx) == (row.target == "sm_90a")
