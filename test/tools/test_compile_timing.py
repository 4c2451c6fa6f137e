"""`lamina compile --timing`: every pass and every kernel has its row, longest first."""

import json
from pathlib import Path

import pytest

from lamina.backends.cpu.pipeline import PHASES
from lamina.backends.cuda.assembler import find_ptxas
from lamina.compiler import compile_times
from lamina.compiler.compile_times import CompileTimes, KernelTimes
from lamina.tools.main import main

MODEL = """
func.func public @main(%x: tensor<4x32xf32>, %w: tensor<32x48xf32>) -> tensor<4x48xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<4x32xf32>, tensor<32x48xf32>) -> tensor<4x48xf32>
  %1 = stablehlo.tanh %0 : tensor<4x48xf32>
  func.return %1 : tensor<4x48xf32>
}"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("LAMINA_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "m.mlir"
    path.write_text(MODEL)
    return str(path)


@pytest.mark.parametrize("suffix", [".lamx", ".o"])
def test_each_pass_and_kernel_has_its_row(model: str, tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]):
    output, told = tmp_path / f"m{suffix}", tmp_path / "times.json"
    assert main(["compile", model, "-o", str(output), "--timing", "--timing-json", str(told)]) == 0
    times = json.loads(told.read_text())
    names = {row["name"] for row in times["passes"]}
    started = [phase.level for phase in PHASES].index("stablehlo")  # where the module stands
    below = {name.partition("{")[0] for phase in PHASES[started + 1 :] for name in phase.passes}
    assert below <= names and "(verify)" in names
    assert {row["name"] for row in times["kernels"]} == {"@kernel_0", "@main"}
    assert {row["name"] for row in times["levels"]} >= {"linalg", "buffers"}
    assert all(set(row["passes"]) <= names and row["llvm"] >= 0 and not row["cached"] for row in times["kernels"])
    shown = capsys.readouterr().err
    assert "convert-to-llvm" in shown and "@kernel_0" in shown
    if suffix == ".lamx":
        assert all(row["code_bytes"] > 0 for row in times["kernels"])
        (tmp_path / "cache" / "models").rename(tmp_path / "models")
        assert main(["compile", model, "-o", str(output), "--timing"]) == 0
        assert "2 kernels were in the cache" in capsys.readouterr().err


def test_kernels_of_gpus_have_theirs(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    output, told = tmp_path / "m.lamx", tmp_path / "times.json"
    words = ["compile", model, "--target", "cuda:sm_80", "-o", str(output), "--timing", "--timing-json", str(told)]
    assert main(words) == 0
    times = json.loads(told.read_text())
    names = {row["name"] for row in times["passes"]}
    assert {"convert-affine-to-gpu", "gpu-narrow-indices", "(verify)"} <= names
    [kernel] = times["kernels"]
    assert "gpu-narrow-indices" in kernel["passes"] and kernel["llvm"] > 0 and kernel["code_bytes"] > 0
    shown = capsys.readouterr().err
    assert kernel["name"] in shown and ("ptxas" in shown) == (kernel["assembler"] > 0) == bool(find_ptxas())
    assert main(words) == 0
    assert "1 kernels were in the cache" in capsys.readouterr().err


def test_rows_are_sums_in_order(monkeypatch: pytest.MonkeyPatch):
    ticks = iter(range(100))
    monkeypatch.setattr(compile_times, "now", lambda: float(next(ticks)))
    times = CompileTimes(
        kernels=[KernelTimes("@a", {"p": 2.0, "q": 3.0}, 0.5, 1.0), KernelTimes("@b", {"q": 4.0}, 0.0, 9.0)]
    )
    for name in ("p", "r"):
        pass_ = type("Pass", (), {"name": name})()
        times.module.before(pass_, None)  # pyright: ignore
        times.module.applied(pass_, None)  # pyright: ignore
        times.module.after(pass_, None)  # pyright: ignore
    assert times.passes() == [("q", 0.0, 7.0), ("p", 1.0, 2.0), ("(verify)", 2.0, 0.0), ("r", 1.0, 0.0)]
    assert [(k.name, k.lowering, k.total) for k in times.by_kernel()] == [("@b", 4.0, 13.0), ("@a", 5.5, 6.5)]


def test_times_travel_with_the_code():
    sent = KernelTimes("@a", {"p": 2.0}, 0.5, 1.0, 3.0)
    got = KernelTimes("@a")
    assert got.take(sent.with_payload(b"code")) == b"code"
    assert got == sent
