"""ONNX's own node tests, converted and interpreted. A short list by default, all of them with `-m slow`."""

from __future__ import annotations

import warnings
from collections import Counter
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import onnx.backend.test.case.node as node
import pytest
from onnx import ModelProto, TensorProto, numpy_helper

from lamina.compiler.context import LaminaContext
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.interpreter import Interpreter
from lamina.dialects import all_dialects
from lamina.dialects.onnx.load import load_model
from lamina.passes.convert.onnx_to_stablehlo import ConvertOnnxToStablehlo

MODULES = {  # what the short list takes from: cases are generated when their module is imported
    "conv": ["test_basic_conv_with_padding", "test_conv_with_strides_and_asymmetric_padding"],
    "convtranspose": ["test_convtranspose", "test_convtranspose_dilations"],
    "batch_normalization": ["test_batchnorm_epsilon"],
    "layernormalization": ["test_layer_normalization_4d_axis1"],
    "lrn": ["test_lrn"],
    "softmax": ["test_softmax_axis_0"],
    "gemm": ["test_gemm_all_attributes"],
    "matmul": ["test_matmul_4d"],
    "einsum": ["test_einsum_batch_matmul"],
    "gathernd": ["test_gathernd_example_int32_batch_dim1"],
    "gatherelements": ["test_gather_elements_negative_indices"],
    "scatternd": ["test_scatternd_add"],
    "slice": ["test_slice_negative_axes", "test_slice_neg_steps"],
    "reshape": ["test_reshape_zero_and_negative_dim"],
    "pad": ["test_reflect_pad", "test_constant_pad"],
    "cumsum": ["test_cumsum_1d_reverse_exclusive"],
    "topk": ["test_top_k_smallest"],
    "argmax": ["test_argmax_keepdims_random_select_last_index"],
    "resize": ["test_resize_upsample_scales_cubic", "test_resize_downsample_sizes_linear_pytorch_half_pixel"],
    "attention": ["test_attention_4d_causal"],
    "mod": ["test_mod_mixed_sign_int32"],
    "gelu": ["test_gelu_default_1"],
    "reduce_log_sum_exp": ["test_reduce_log_sum_exp_keepdims_random"],
}
SHORT = [(module, case) for module, cases in MODULES.items() for case in cases]


@cache
def _cases() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.random.seed(0)
        return {case.name: case for case in node.collect_testcases(None)}


FIXED = {"scales", "roi", "axis", "axes", "depth", "repeats", "k"}


def frozen(model: ModelProto, inputs: list[Any]) -> tuple[ModelProto, list[Any]]:
    """The model with its integer inputs as initialisers: shapes, axes and counts must be known to us."""
    copy = ModelProto()
    copy.CopyFrom(model)
    kept: list[Any] = []
    for info, value in zip(model.graph.input, inputs, strict=True):
        array = np.asarray(value)
        if array.size <= 64 and (array.dtype == np.int64 or array.ndim == 0 or info.name in FIXED):
            copy.graph.initializer.append(numpy_helper.from_array(array, info.name))
        else:
            kept.append(array)
    return copy, kept


def run(model: ModelProto, inputs: list[Any]) -> list[Any]:
    ctx = LaminaContext()
    for name, load in all_dialects().items():
        ctx.register_dialect(name, load)
    module = load_model(model, ctx)
    module.verify()
    ConvertOnnxToStablehlo().apply(ctx, module)
    module.verify()
    return Interpreter(ctx.weights).run(module, inputs)


def outcome(case: Any) -> str:
    """`pass`, `wrong: ...`, or the error that refused the model."""
    for inputs, expected in case.data_sets:
        if any(isinstance(x, list) or x is None for x in (*inputs, *expected)):
            return "refused: sequences and optionals"
        inputs = [numpy_helper.to_array(x) if isinstance(x, TensorProto) else x for x in inputs]
        expected = [numpy_helper.to_array(x) if isinstance(x, TensorProto) else x for x in expected]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    actual = run(case.model, inputs)
                except LaminaError:
                    actual = run(*frozen(case.model, inputs))
        except LaminaError as error:
            return f"refused: {error}"
        for got, want in zip(actual, expected, strict=False):
            want = np.asarray(want)
            if got.shape != want.shape or got.dtype != want.dtype:
                return f"wrong: {got.dtype}{got.shape} for {want.dtype}{want.shape}"
            rtol = 2**-6 if "bfloat" in str(want.dtype) else max(case.rtol, 1e-3)
            if not np.allclose(got.astype(float), want.astype(float), rtol, case.atol, equal_nan=True):
                return "wrong: values"
    return "pass"


@pytest.mark.parametrize(("module", "name"), SHORT)
def test_node_case(module: str, name: str) -> None:
    import_module(f"onnx.backend.test.case.node.{module}")
    case = next(case for case in node._NodeTestCases if case.name == name)
    assert outcome(case) == "pass"


@pytest.mark.slow
def test_all_node_cases() -> None:
    """No wrong answer anywhere, and no fewer answers than we had."""
    outcomes = {name: outcome(case) for name, case in _cases().items()}
    wrong = {name: result for name, result in outcomes.items() if result.startswith("wrong")}
    counts = Counter(result.partition(":")[0] for result in outcomes.values())
    assert not wrong, wrong
    assert counts["pass"] >= 1660, counts
