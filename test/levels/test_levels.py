"""Every level of three small models prints, parses back, verifies, and computes the same from there on."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina.backends.cpu.pipeline import LEVELS
from lamina.compiler.parsing import parse_module
from lamina.compiler.program import Program
from lamina.compiler.verifier import verify
from lamina.tools.compare import compare

MLIR_OPT = shutil.which("mlir-opt-22") or shutil.which("mlir-opt")
UPSTREAM = ("linalg", "buffers", "affine", "vector", "llvm")  # which upstream reads: what is our own there is generic


def load_models():
    spec = importlib.util.spec_from_file_location("models", Path(__file__).with_name("models.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MODELS = load_models()


@pytest.fixture(scope="module", params=["conv_net", "transformer", "few_bits"])
def case(request):
    program = lamina.import_onnx(getattr(MODELS, request.param)())
    shape = program.signature.inputs[0].shape
    x = np.random.default_rng(5).standard_normal(shape).astype(np.float32)
    return program, x, lamina.interpret(program, [x])[0]


@pytest.mark.parametrize("level", LEVELS)
def test_level(case, level):
    program, x, expected = case
    lowered = program if level == "onnx" else lamina.lower(program, to=level)
    text = str(lowered)
    again = Program(parse_module(text, f"{level}.mlir", lowered.context), lowered.context)
    verify(again.module)
    assert str(again) == text
    (got,) = lamina.compile(again, cache=False)(x)
    result = compare(level, got, expected, 1e-4)
    assert result.good, str(result)
    if level in ("stablehlo", "stablehlo-canonical", "linalg"):
        (got,) = lamina.interpret(again, [x])
        assert compare(level, got, expected, 1e-4).good


@pytest.mark.skipif(MLIR_OPT is None, reason="the upstream mlir-opt is not installed (Debian: mlir-22-tools)")
@pytest.mark.parametrize("level", UPSTREAM)
def test_upstream_reads_it(case, level):
    program = lamina.lower(case[0], to=level)
    done = subprocess.run(
        [MLIR_OPT, "--allow-unregistered-dialect"], input=str(program), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[:2000]


@pytest.mark.skipif(MLIR_OPT is None, reason="the upstream mlir-opt is not installed (Debian: mlir-22-tools)")
def test_upstream_reads_exponentials_of_avx512():
    """On every machine: ops of our own on the level of vectors are in the generic form."""
    source = Path(__file__).parents[1] / "passes" / "math" / "exp_by_table.mlir"
    words = [sys.executable, "-m", "lamina.tools.opt", str(source), "--machine", "x86-64-avx512", "-p", "math-expand"]
    ours = subprocess.run(words, capture_output=True, text=True)
    assert ours.returncode == 0 and '"x86.scalef"' in ours.stdout, ours.stderr
    done = subprocess.run([MLIR_OPT, "--allow-unregistered-dialect"], input=ours.stdout, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]
