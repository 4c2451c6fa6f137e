"""Random hub programs mean the same after every pass, and on every target, as by the reference semantics."""

from __future__ import annotations

from collections.abc import Sequence

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import lamina
from lamina.compiler.interpreter import Interpreter
from lamina.compiler.tolerance import bounded_reference
from lamina.compiler.weights import Array
from lamina.passes import all_passes
from lamina.tools import random_ops, random_regions
from lamina.tools.random_programs import MAKERS, Case, Generator

PIPELINES = {
    "simplify": ["stablehlo-simplify"],
    "fold": ["stablehlo-fold-constants"],
    "layout": ["stablehlo-propagate-layout"],
    "all": [
        "canonicalize",
        "cse",
        "stablehlo-simplify",
        "stablehlo-fold-constants",
        "stablehlo-propagate-layout",
        "stablehlo-simplify",
        "stablehlo-fold-constants",
    ],
}
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
assert random_ops and random_regions  # they register the makers


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A random program with inputs, in which every op verifies."""
    case = Generator(lambda low, high: draw(st.integers(low, high))).case()
    case.program.module.verify()
    return case


def check(case: Case, outputs: Sequence[Array], what: str) -> None:
    """`outputs` are the reference's, as far as the table of tolerances lets them differ."""
    expected = bounded_reference(case.program.module, case.inputs, case.program.context)
    for i, (actual, right) in enumerate(zip(outputs, expected, strict=True)):
        assert actual.shape == right.value.shape and actual.dtype == right.value.dtype
        wrong = right.wrong(actual)
        if wrong.any():
            at = tuple(np.argwhere(wrong)[0])
            raise AssertionError(
                f"{what}: result {i} at {at}: {actual[at]}, expected {right.value[at]} within {right.bound[at]}\n{case}"
            )


@pytest.mark.parametrize("name", PIPELINES)
def test_passes_keep_meaning(name: str) -> None:
    @QUICK
    @given(cases())
    def run(case: Case) -> None:
        changed = case.program.clone()
        for pass_name in PIPELINES[name]:
            all_passes()[pass_name]()().apply(changed.context, changed.module)
            changed.module.verify()
        check(case, Interpreter(changed.context).run(changed.module, case.inputs), name)

    run()


def compiled(case: Case) -> list[Array]:
    """The outputs of native code."""
    return lamina.compile(case.program.clone(), target="cpu", threads=1, cache=False)(*case.inputs)


@settings(QUICK, max_examples=15)
@given(cases())
def test_cpu_agrees(case: Case) -> None:
    check(case, compiled(case), "cpu")


@pytest.mark.slow
@settings(QUICK, max_examples=5000)
@given(cases())
def test_cpu_agrees_on_5000(case: Case) -> None:
    check(case, compiled(case), "cpu")


def test_every_maker_makes() -> None:
    assert len(MAKERS) >= 20
