"""Networks exported from PyTorch with random weights, by both exporters, against PyTorch's own outputs.

Needs the extra `torch`, which makes the models; run with `pytest -m slow`.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina.tools.compare import compare

pytestmark = pytest.mark.slow
NAMES = ("mobilenet_v2", "resnet50", "bert_base", "gpt2_prefill", "gpt2_decode", "vit_b16", "llama_small")


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """Where the models lie: $LAMINA_MODELS, or freshly exported."""
    if "LAMINA_MODELS" in os.environ:
        return Path(os.environ["LAMINA_MODELS"])
    made = tmp_path_factory.mktemp("models")
    subprocess.run([sys.executable, "-m", "lamina.tools.models", str(made), *NAMES], check=True)
    return made


@pytest.mark.parametrize("target", ["cpu", "interpret"])
@pytest.mark.parametrize("exporter", ["dynamo", "legacy"])
@pytest.mark.parametrize("name", NAMES)
def test_against_pytorch(directory, name, exporter, target):
    case = np.load(directory / f"{name}.npz")
    model = lamina.compile(directory / f"{name}.{exporter}.onnx", target)
    outputs = model(**{key.removeprefix("in."): case[key] for key in case.files if key.startswith("in.")})
    expected = [case[key] for key in case.files if key.startswith("out.")]
    assert len(outputs) == len(expected)
    for spec, got, right in zip(model.signature.outputs, outputs, expected, strict=True):
        result = compare(spec.name, got, right)
        assert result.good, str(result)
