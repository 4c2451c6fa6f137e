"""Models as a whole: every kernel is assembled without spills, and runs in the emulator as the reference does.

The small ones and the networks of the onnx package always, three in float32 alone; with the marker `slow` all others,
PyTorch's and those of $LAMINA_MODELS included.
"""

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
MANY = ("densenet121", "inception_v1", "inception_v2")  # kernels: in bfloat16 more than all others, mostly alike
ALL = [(name, precision) for name in MODELS for precision in PRECISIONS]
ALWAYS = [(n, p) for n, p in ALL if n in (*NAMES, *SMALL) and (p == "f32" or n not in MANY)]


@pytest.mark.parametrize(("name", "precision"), ALWAYS)
def test_every_kernel_of_models(name: str, precision: str) -> None:
    _check(name, precision)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "precision"), [each for each in ALL if each not in ALWAYS])
def test_every_kernel_of_large_models(name: str, precision: str) -> None:
    _check(name, precision)


def _check(name: str, precision: str) -> None:
    lowered, tiles = tiled(MODELS[name](), TARGETS, precision)
    once = LoweredOnce(Options(precision=precision))
    for target, program in tiles.items():
        row = compile_kernels(name, program, target, once)
        assert not row.spill_bytes and row.told in ("", "not assembled: no ptxas") and row.kernels
    for case in cases_of(name, lowered, tiles, precision):
        outcome = _outcome(case)
        assert not outcome.told, (case.stands_for, outcome)


_CHECKED: dict[tuple[str, str], Outcome] = {}  # by program and architecture: every fifth stands in several


def _outcome(case: Case) -> Outcome:
    key = case.text, case.targets[0]
    if key not in _CHECKED:
        _CHECKED[key] = check(case)
    return _CHECKED[key]
