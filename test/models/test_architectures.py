"""Architectures of `transformers`, small and with random weights, through ONNX and `torch.export`, against PyTorch.

Needs the extra `torch`; run with `pytest -m slow test/models/test_architectures.py`.
"""

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
from lamina.tools.architectures.check import check
from lamina.tools.architectures.table import ARCHITECTURES

TOLERANCE = 1e-5  # of the largest value


@pytest.mark.slow
@pytest.mark.parametrize("route", ["onnx", "export"])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_matches_pytorch(name, route):
    outcome = check(name, route)
    assert not outcome.reason, outcome.reason
    assert outcome.error <= TOLERANCE


@pytest.mark.parametrize("name", ["Llama", "ResNet"])
def test_reference(name):
    outcome = check(name, "export", "interpret")
    assert not outcome.reason and outcome.error <= TOLERANCE
