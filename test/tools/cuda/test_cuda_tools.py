"""The commands of the CUDA target as a whole: what they print, with a driver that launches in the emulator."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from lamina.backends import Options
from lamina.backends.cuda import assembler, build, target
from lamina.backends.cuda.driver import Driver
from lamina.compiler.parsing import parse_module
from lamina.compiler.program import Program
from lamina.tools.cuda import compile_models, on_gpu
from lamina.tools.cuda.programs import SMALL, Case, product, softmax, sum_of
from lamina.tools.sources import new_context


def program_of(case: Case) -> Program:
    context = new_context()
    return Program(parse_module(case.text, case.name, context), context)


DEVICE = Path(__file__).resolve().parents[2] / "backends" / "cuda" / "test_device.py"


def fake_gpu(monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int]) -> None:
    spec = importlib.util.spec_from_file_location("device", DEVICE)
    assert spec is not None and spec.loader is not None
    device = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(device)
    gpu = Driver(device.FakeLibrary(capability=capability))
    for module in (target, on_gpu):
        monkeypatch.setattr(module, "driver", lambda: gpu)
    monkeypatch.setattr(build, "assemble", lambda ptx, name: assembler.Assembled(b""))  # the driver compiles PTX


@pytest.mark.parametrize(("capability", "name"), [((8, 0), "sm_80"), ((9, 0), "sm_90a")])
def test_everything_on_a_gpu(capability: tuple[int, int], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_gpu(monkeypatch, capability)
    lines: list[str] = []
    small = [case for case in SMALL if "bf16" in case.name][:2]
    large: list[Any] = [sum_of(1 << 9), product(40, 48, 64, "bf16", right="nk")]
    assert on_gpu.run_all(small, large, lines.append)
    assert lines[0].startswith(name) and lines[-1] == "all right" and len(lines) == 1 + 4 + 1
    assert all("equal" in line for line in lines[1:3])
    seconds = 0.002 / on_gpu.REPEATS
    assert f"{seconds * 1e6:.1f}" in lines[3] and f"{2 * 40 * 48 * 64 / seconds / 1e12:.1f}" in lines[4]


def test_wrong_results_errors_and_the_end_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_gpu(monkeypatch, (8, 0))
    lines: list[str] = []
    monkeypatch.setattr(on_gpu, "apart", lambda found, expected: 1.0)  # pyright: ignore
    assert not on_gpu.run_all([softmax(3, 40)], [], lines.append)
    assert "WRONG" in lines[1] and lines[-1] == "something is WRONG"
    assert on_gpu.run_all([softmax(3, 40)], [], lines.append, limit=-1)
    assert "1 of 1 were left out: the time is over" in lines


def test_no_gpu(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_gpu, "driver", lambda: Driver(type("Library", (), {"cuInit": lambda code: 100})))  # pyright: ignore
    assert on_gpu.main(["--small"]) == 2
    assert "no GPU" in capsys.readouterr().err


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
