"""A conv net and a transformer block, whole, in the emulator against the reference."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina.backends import Options
from lamina.backends.cuda.emulated import EmulatedProgram
from lamina.backends.cuda.target import CudaTarget

SOURCE = Path(__file__).resolve().parents[2] / "levels" / "models.py"


@pytest.mark.parametrize(
    ("name", "precision", "most"),
    [("conv_net", "f32", 1e-5), ("transformer", "f32", 1e-5), ("transformer", "bf16", 1e-2)],
)
def test_models_run_in_the_emulator(name: str, precision: str, most: float) -> None:
    spec = importlib.util.spec_from_file_location("models", SOURCE)
    assert spec is not None and spec.loader is not None
    models = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(models)
    program = lamina.import_onnx(getattr(models, name)())
    shape = tuple(int(n) for n in program.signature.inputs[0].shape)
    x = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    model = CudaTarget("sm_90a").compile(program, Options(cache=False, emulate=True, precision=precision))
    assert isinstance(model, EmulatedProgram)
    [expected] = lamina.interpret(program, [x])
    for late in (False, True):
        model.late = late
        [found] = model.run([x])
        assert np.abs(found - expected).max() <= most * np.abs(expected).max()
    assert all(counted.bank_conflicts == 0 for counted in model.counters)
    for kernel in model.built.kernels.values():
        assert kernel.resources is None or kernel.resources.spill_bytes == 0
