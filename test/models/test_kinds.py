"""Networks of many kinds with random weights, through ONNX, `torch.export` and `torch.compile`, against PyTorch.

Needs the extra `torch`; run with `pytest -m slow test/models/test_kinds.py`.
"""

import pytest

pytest.importorskip("torch")
from lamina.tools.architectures.check import ROUTES, check
from lamina.tools.architectures.kinds import KINDS

TOLERANCE = 1e-4  # of the largest value: tens of layers of float32, some by Winograd's transforms


@pytest.mark.slow
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("name", KINDS)
def test_matches_pytorch(name, route):
    outcome = check(name, route)
    assert not outcome.reason, outcome.reason
    assert outcome.error <= TOLERANCE
