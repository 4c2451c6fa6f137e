"""ONNX's test models on random inputs: a few at each run, all of them with `-m slow`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import onnx_random

SAMPLE = {
    "asinh": "test_asinh",
    "sinh": "test_sinh",
    "gemm": "test_gemm_all_attributes",
    "topk": "test_top_k",
    "reduce_log_sum_exp": "test_reduce_log_sum_exp_keepdims_example",
    "gatherelements": "test_gather_elements_0",
    "layernormalization": "test_layer_normalization_2d_axis1",
    "where": "test_where_long_example",
}


@pytest.mark.parametrize(("module", "name"), SAMPLE.items())
def test_a_few(module: str, name: str) -> None:
    case = next(case for case in onnx_random.cases_of(module) if case.name == name)
    assert onnx_random.outcome(case, 1, "cpu") == "pass"


def test_what_steers_is_kept() -> None:
    case = next(case for case in onnx_random.cases_of("slice") if case.name == "test_slice")
    assert onnx_random.steering(case.model) == {"starts", "ends", "axes", "steps"}


@pytest.mark.slow
def test_all() -> None:
    judged = onnx_random.run_apart(list(onnx_random.cases()), lambda case: onnx_random.outcome(case, 0, "cpu"), 300)
    kinds = ("wrong", "error", "crash", "timeout")
    wrong = {case.name: said for case, said in judged if said.startswith(kinds)}
    assert not wrong, wrong
