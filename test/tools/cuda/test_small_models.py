"""Models as a whole: every kernel is assembled without spills, and runs in the emulator as the reference does.

The small ones always; with the marker `slow` all others, PyTorch's and those of $LAMINA_MODELS included.
"""

import pytest

from lamina.tools.cuda.check_kernels import PRECISIONS, SEEDS, cases_of, check, merged
from lamina.tools.cuda.compile_models import TARGETS, compile_model
from lamina.tools.cuda.every_model import every_model

assert SEEDS == 5
MODELS = every_model()
SMALL = [name for name in MODELS if ".lam" in name or name.endswith((" float", " int8"))] + ["conv_net", "transformer"]


@pytest.mark.parametrize("name", SMALL)
def test_every_kernel_of_small_models(name: str) -> None:
    _check(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MODELS if name not in SMALL])
def test_every_kernel_of_large_models(name: str) -> None:
    _check(name)


def _check(name: str) -> None:
    program = MODELS[name]()
    for row in (row for precision in PRECISIONS for row in compile_model(name, lambda: program, TARGETS, precision)):
        assert not row.spill_bytes and row.told in ("", "not assembled: no ptxas") and row.kernels
    cases = merged([case for precision in PRECISIONS for case in cases_of(name, program, TARGETS, precision)])
    for case in cases:
        outcomes = check(case)
        assert {target for outcome in outcomes for target in outcome.targets} == set(case.targets)
        assert all(not outcome.told for outcome in outcomes), (case.stands_for, outcomes)
