"""Networks of `torchvision` and `timm` with random weights, through ONNX, against PyTorch.

Needs the extras `torch` and `vision`; run with `pytest -m slow test/models/test_networks.py`.
"""

import pytest

pytest.importorskip("torch")
pytest.importorskip("torchvision")
pytest.importorskip("timm")
from lamina.tools.architectures.check import check
from lamina.tools.architectures.networks import NETWORKS

TOLERANCE = 1e-4  # of the largest value: tens of layers of float32, some by Winograd's transforms


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_matches_pytorch(name):
    outcome = check(name, "onnx")
    assert not outcome.reason, outcome.reason
    assert outcome.error <= TOLERANCE
