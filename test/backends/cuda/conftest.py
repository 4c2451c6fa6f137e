"""What the tests of kernels share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina.backends import Options
from lamina.backends.cuda.emulated import EmulatedProgram
from lamina.backends.cuda.target import CudaTarget
from lamina.compiler.program import Program
from lamina.compiler.signature import dtype_named
from lamina.tools.sources import read_program


def _emulated(text: str, folder: Path, *, late: bool = False, near: float = 1e-6) -> tuple[EmulatedProgram, int]:
    """The program after a run that agreed with the reference, and the bytes of its inputs and outputs."""
    path = folder / "m.mlir"
    path.write_text(text)
    program = read_program(str(path))
    assert isinstance(program, Program)
    model = CudaTarget("sm_80").compile(program, Options(cache=False, emulate=True))
    assert isinstance(model, EmulatedProgram)
    rng = np.random.default_rng(0)
    inputs = [
        (3 * rng.standard_normal(tuple(map(int, spec.shape)))).astype(dtype_named(spec.dtype))
        for spec in program.signature.inputs
    ]
    model.late = late
    outputs = model.run(inputs)
    for found, expected in zip(outputs, lamina.interpret(program, inputs), strict=True):
        assert np.allclose(found.astype(np.float64), expected.astype(np.float64), rtol=1e-5, atol=near)
    return model, sum(array.nbytes for array in (*inputs, *outputs))


@pytest.fixture
def emulated() -> Callable[..., tuple[EmulatedProgram, int]]:
    """Runs a program in the emulator, and compares it with the reference."""
    return _emulated
