"""Random programs of the language give what NumPy gives, on both targets."""

from __future__ import annotations

import warnings

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from lamina import dsl
from lamina.tools.random_dsl import Generator, Program

SETTINGS = settings(deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """A random program with inputs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # 8-bit numbers wrap around
        return Generator(lambda low, high: draw(st.integers(low, high))).program()


def run(program: Program, target: str) -> None:
    """Compiles it and compares the outputs with NumPy's."""
    try:
        program.check(dsl.compile(program.text, target=target).main(*program.inputs))
    except Exception as wrong:
        wrong.add_note(f"{program.text}\non {program.inputs}\nNumPy says {program.outputs}")
        raise


@settings(SETTINGS, max_examples=1000)
@given(programs())
def test_interpret(program: Program) -> None:
    run(program, "interpret")


@settings(SETTINGS, max_examples=15)
@given(programs())
def test_cpu(program: Program) -> None:
    run(program, "cpu")


@pytest.mark.slow
@settings(SETTINGS, max_examples=20_000)
@given(programs())
def test_many(program: Program) -> None:
    run(program, "interpret")


@pytest.mark.slow
@settings(SETTINGS, max_examples=500)
@given(programs())
def test_many_on_cpu(program: Program) -> None:
    run(program, "cpu")


@pytest.mark.parametrize(("operator", "known"), [("or", True), ("and", False)])
def test_a_known_side_that_decides_for_a_tensor(operator: str, known: bool) -> None:
    """Alone it is a truth value, whatever the other side is; where a tensor is declared it is spread over that."""
    number = int(known)
    declared = f"fn main(x: f32[2, 4]) -> bool[2, 4] = bool(i8({number})) {operator} bool(x)"
    assert dsl.compile(declared, target="interpret").main(np.zeros((2, 4), np.float32)).tolist() == [[known] * 4] * 2
    alone = f"fn main(x: f32[2, 4]) -> bool = bool(i8({number})) {operator} bool(x)"
    assert dsl.compile(alone, target="interpret").main(np.zeros((2, 4), np.float32)) == known
