"""Generated programs of `jax.lax`: JAX, the reference semantics and native code agree within the table of tolerances.

Needs JAX (the extra `jax`); `pytest -m slow test/tools/jax` runs all of them, each run of the tests a few.
"""

import sys
from pathlib import Path

import pytest

pytest.importorskip("jax", reason="these programs are made by JAX: pip install '.[jax]'")
sys.path.insert(0, str(Path(__file__).parent))

import sweep
from jax_programs.programs import programs
from misbehaving import misbehave
from workers import answers

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
    "rng_bits_three_fry-uint16-1-5",
    "div-complex64-7",
    "reduce_prod-complex64-0",
    "irfft2-complex64",
    "cholesky-complex64-4x4",
    "triangular_solve-float32-True-True-True-False",
    "max_pool_overlapping_gradient-bfloat16",
    "bitcast-uint8-float32",
    "logsumexp-bfloat16",
]


@pytest.mark.parametrize("name", SAMPLE)
def test_sample(name):
    assert sweep.outcome(PROGRAMS[name]) == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_all(name):
    assert sweep.outcome(PROGRAMS[name]) == ""


@pytest.mark.parametrize("answer", ["crash", "time-out"])
def test_a_program_that_ends_its_process_costs_itself_only(answer):
    names = ["good", answer, "better"]
    found = dict(answers(misbehave, names, jobs=1, seconds=3))
    assert list(found) == names and found["good"] == found["better"] == "" and found[answer].startswith(answer)


def test_there_are_enough():
    assert len(PROGRAMS) >= 1500
