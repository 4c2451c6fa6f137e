"""What values decide is decided by the host; models for CUDA are saved, and run from what was saved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.backends import Options
from lamina.backends.cuda.emulated import EmulatedProgram
from lamina.backends.cuda.target import CudaTarget
from lamina.compiler.artefact import Artefact
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.program import Program
from lamina.tools.main import main
from lamina.tools.sources import read_program

DECIDED = """
func.func public @main(%x: tensor<8xf32>, %n: tensor<i32>) -> (tensor<8xf32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<8xf32>
    cond {
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      %b = stablehlo.add %a, %a : tensor<8xf32>
      stablehlo.return %j, %b : tensor<i32>, tensor<8xf32>
    }
  %p = stablehlo.compare GT, %n, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %s = "stablehlo.if"(%p) ({
    %t = stablehlo.negate %r#1 : tensor<8xf32>
    stablehlo.return %t : tensor<8xf32>
  }, {
    stablehlo.return %x : tensor<8xf32>
  }) : (tensor<i1>) -> tensor<8xf32>
  %w = "stablehlo.case"(%n) ({
    stablehlo.return %s : tensor<8xf32>
  }, {
    %t = stablehlo.multiply %s, %s : tensor<8xf32>
    stablehlo.return %t : tensor<8xf32>
  }, {
    %t = stablehlo.add %s, %x : tensor<8xf32>
    stablehlo.return %t : tensor<8xf32>
  }) : (tensor<i32>) -> tensor<8xf32>
  return %w, %r#0 : tensor<8xf32>, tensor<i32>
}
"""
WEIGHTS = """
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %r = stablehlo.multiply %x, %w : tensor<4xf32>
  return %r : tensor<4xf32>
}
"""


def compiled(text: str, folder: Path) -> tuple[EmulatedProgram, Program]:
    path = folder / "m.mlir"
    path.write_text(text)
    program = read_program(str(path))
    assert isinstance(program, Program)
    model = CudaTarget("sm_80").compile(program, Options(cache=False, emulate=True))
    assert isinstance(model, EmulatedProgram)
    return model, program


def test_what_values_decide(tmp_path: Path) -> None:
    model, program = compiled(DECIDED, tmp_path)
    assert model.artefact is not None
    model.artefact.save(tmp_path / "m.lamx")
    kept = lamina.load(tmp_path / "m.lamx", emulate=True)
    x = np.arange(8, dtype=np.float32)
    launched: list[int] = []
    for n in (0, 1, 2, 4, -3):
        expected = lamina.interpret(program, [x, np.array(n, np.int32)])
        for found in (model.run([x, np.array(n, np.int32)]), kept(x, np.array(n, np.int32))):
            assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
        launched.append(len(model.counters))
    assert launched[0] < launched[1] < launched[2] < launched[3] and launched[4] == launched[0]


def test_saved_and_run_by_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(WEIGHTS)
    kept, x = tmp_path / "m.lamx", tmp_path / "x.npy"
    np.save(x, np.array([1, 1, 1, 2], np.float32))
    assert main(["compile", str(path), "--target", "cuda:sm_90a", "-o", str(kept)]) == 0
    assert Artefact.load(kept).target == "cuda:sm_90a"
    assert main(["run", str(kept), "--emulate", "--input", f"input0={x}"]) == 0
    assert "output0: float32[4] min 1 max 8 mean 3.5 [1, 2, 3, 8]" in capsys.readouterr().out
    assert main(["run", str(kept)]) == 2
    assert "--emulate runs kernels without a GPU" in capsys.readouterr().err
    other = tmp_path / "c.lamx"
    assert main(["compile", str(path), "-o", str(other)]) == 0
    assert main(["run", str(other), "--emulate"]) == 2
    assert "target 'cpu' has no emulator" in capsys.readouterr().err


def _other(objects: list[bytes], old: bytes, new: bytes) -> list[bytes]:
    assert old in objects[0]
    return [objects[0].replace(old, new), *objects[1:]]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (b'"launch"', b'"lunch"', "no step is called 'lunch'"),
        (b'"kernel_', b'"colonel_', "there is no kernel 'colonel_"),
        (b'["output", 0, 0]', b'["output", 0, 32]', "nothing lies at byte 32 of output 0"),
        (b'["output", 0, 0]', b'["output", 3, 0]', "nothing lies at byte 0 of output 3"),
        (b'["output", 0, 0]', b'["heap", 0, 0]', "no section is called 'heap'"),
        (b'["output", 0, 0]', b'["output", 0]', "not enough values"),
        (b"[", b"", "damaged artefact"),
    ],
)
def test_damaged_artefacts(old: bytes, new: bytes, told: str, tmp_path: Path) -> None:
    model, _ = compiled(WEIGHTS, tmp_path)
    artefact = model.artefact
    assert artefact is not None
    changed: Any = replace(artefact, objects=_other(artefact.objects, old, new))
    with pytest.raises(LaminaError, match="damaged artefact") as error:
        CudaTarget("sm_80").load_emulated(changed)
    assert told in str(error.value)
