"""Generated programs of `jax.lax`: JAX, the reference semantics and native code agree within the table of tolerances.

Needs JAX (the extra `jax`); `pytest -m slow test/tools/jax` runs all of them, each run of the tests a few.
"""

import sys
from pathlib import Path

import pytest

pytest.importorskip("jax")
sys.path.insert(0, str(Path(__file__).parent))

import sweep
from jax_programs.programs import programs

PROGRAMS = {program.name: program for program in programs()}
SAMPLE = [
    "tanh-float32-7",
    "add-bfloat16-2x1x9",
    "convert-float32-int8",
    "gather_pairs_fill-float32",
    "scatter_add-float16",
    "argmax-int32",
    "sort_two_keys-float32",
    "reduce_pairs-float32",
    "dot_batch_last-bfloat16-float32",
    "conv_grouped_NCHW-float32",
    "scan-float32",
    "random_normal",
]


@pytest.mark.parametrize("name", SAMPLE)
def test_sample(name):
    assert sweep.outcome(PROGRAMS[name]) == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_all(name):
    assert sweep.outcome(PROGRAMS[name]) == ""


def test_there_are_enough():
    assert len(PROGRAMS) >= 1500
