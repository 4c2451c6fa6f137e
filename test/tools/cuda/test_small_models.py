"""Small models as a whole: every kernel is assembled without spills, and runs in the emulator as the reference does.

All models, with PyTorch's and those of $LAMINA_MODELS: `python -m lamina.tools.cuda.compile_models`, `check_kernels`.
"""

import pytest

from lamina.tools.cuda.check_kernels import PRECISIONS, SEEDS, cases_of, check, merged
from lamina.tools.cuda.compile_models import TARGETS, compile_model
from lamina.tools.cuda.every_model import every_model

assert SEEDS == 5
SMALL = (
    "ds_cnn float",
    "ds_cnn int8",
    "conv_net",
    "transformer",
    "attention.lam",
    "fft.lam",
    "gpt_block.lam",
    "kmeans.lam",
    "lstm.lam",
    "mandelbrot.lam",
    "nbody.lam",
    "quantized_matmul.lam",
)


@pytest.mark.parametrize("name", SMALL)
def test_every_kernel_of_small_models(name: str) -> None:
    program = every_model()[name]()
    for row in compile_model(name, lambda: program, TARGETS, "f32"):
        assert not row.spill_bytes and row.told in ("", "not assembled: no ptxas") and row.kernels
    cases = merged([case for precision in PRECISIONS for case in cases_of(name, program, TARGETS, precision)])
    for case in cases:
        outcomes = check(case)
        assert {target for outcome in outcomes for target in outcome.targets} == set(case.targets)
        assert all(not outcome.told for outcome in outcomes), (case.stands_for, outcomes)
