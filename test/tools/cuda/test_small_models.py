"""Models as a whole: every kernel is assembled without spills, and runs in the emulator as the reference does.

The small ones and the networks of the onnx package always; with the marker `slow` all others, PyTorch's and those of
$LAMINA_MODELS included.
"""

import pytest

from lamina.backends import Options
from lamina.backends.cuda.target import CudaTarget
from lamina.tools.cuda.check_kernels import PRECISIONS, SEEDS, cases_of, check
from lamina.tools.cuda.compile_models import TARGETS, compile_model
from lamina.tools.cuda.every_model import every_model
from lamina.tools.light_models import NAMES

assert SEEDS == 5
MODELS = every_model()
SMALL = [name for name in MODELS if ".lam" in name or name.endswith((" float", " int8"))] + ["conv_net", "transformer"]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", [*NAMES, *SMALL])
def test_every_kernel_of_models(name: str, precision: str) -> None:
    _check(name, precision)


@pytest.mark.slow
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", [name for name in MODELS if name not in (*NAMES, *SMALL)])
def test_every_kernel_of_large_models(name: str, precision: str) -> None:
    _check(name, precision)


def _check(name: str, precision: str) -> None:
    kernels = CudaTarget(TARGETS[0]).lower(MODELS[name](), "linalg", Options(precision=precision))
    for row in compile_model(name, kernels.clone, TARGETS, precision):
        assert not row.spill_bytes and row.told in ("", "not assembled: no ptxas") and row.kernels
    for case in cases_of(name, kernels, TARGETS, precision):
        outcomes = check(case)
        assert {target for outcome in outcomes for target in outcome.targets} == set(case.targets)
        assert all(not outcome.told for outcome in outcomes), (case.stands_for, outcomes)
