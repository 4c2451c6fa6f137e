"""Models as a whole: every kernel is assembled without spills, and runs in the emulator as the reference does.

The small ones and the networks of the onnx package always, three in float32 alone; with the marker `slow` all others,
PyTorch's and those of $LAMINA_MODELS included.
"""

from collections.abc import Sequence

import pytest

from lamina.backends import Options
from lamina.tools.cuda.check_kernels import PRECISIONS, SEEDS, Case, Outcome, cases_of, check, tiled
from lamina.tools.cuda.compile_models import TARGETS, compile_kernels
from lamina.tools.cuda.every_model import every_model
from lamina.tools.cuda.lowered_once import LoweredOnce
from lamina.tools.light_models import NAMES

assert SEEDS == 5
MODELS = every_model()
SMALL = [name for name in MODELS if ".lam" in name or name.endswith((" float", " int8"))] + ["conv_net", "transformer"]
MANY = ("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "shufflenet", "squeezenet", "vgg19", "zfnet512")
ALWAYS = {name: PRECISIONS[: 1 if name in MANY else None] for name in MODELS if name in (*NAMES, *SMALL)}
SLOW = {name: PRECISIONS[len(ALWAYS.get(name, ())) :] for name in MODELS}


@pytest.mark.parametrize("name", ALWAYS)
def test_every_kernel_of_models(name: str) -> None:
    _check(name, ALWAYS[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, precisions in SLOW.items() if precisions])
def test_every_kernel_of_large_models(name: str) -> None:
    _check(name, SLOW[name])


def _check(name: str, precisions: Sequence[str]) -> None:
    """One precision after the other: what stays the same is looked at once."""
    assembled: set[str] = set()
    for precision in precisions:
        lowered, tiles = tiled(MODELS[name](), TARGETS, precision)
        once = LoweredOnce(Options(precision=precision))
        for target, program in tiles.items():
            if (text := f"{target} {program}") not in assembled:
                row = compile_kernels(name, program, target, once)
                assert not row.spill_bytes and row.told in ("", "not assembled: no ptxas") and row.kernels
                assembled.add(text)
        for case in cases_of(name, lowered, tiles, precision):
            outcome = _outcome(case)
            assert not outcome.told, (case.stands_for, outcome)


_CHECKED: dict[tuple[str, str], Outcome] = {}  # by program and architecture: every fifth stands in several


def _outcome(case: Case) -> Outcome:
    key = case.text, case.targets[0]
    if key not in _CHECKED:
        _CHECKED[key] = check(case)
    return _CHECKED[key]
