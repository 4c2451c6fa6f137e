"""ONNX by name, models as functions, arrays from files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from lamina.compiler.weights import WeightStore
from lamina.dialects.dsl.load import bind, check, instantiate, load_file
from lamina.tools.sources import new_context

Evaluate = Callable[..., list[Any]]
ProblemOf = Callable[..., Any]
X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
W = np.ones((4, 3), np.float32)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("onnx.Relu(x)", np.maximum(X, 0)),
        ("onnx.Gemm(x, w, transB=1)", X @ W.T),
        ("onnx.Gemm(x, w, C=1.5, transB=1, beta=2.0)", X @ W.T + 3),
        ("onnx.Concat(x, x, axis=1)", np.concatenate([X, X], 1)),
        ("onnx.Reshape(x, [3, -1])", X.reshape(3, 2)),
        ("onnx.Transpose(x, perm=[1, 0])", X.T),
        ("onnx.Clip(x, max=1.0)", np.minimum(X, 1)),
        ("onnx.Cast(x, to=i32)", X.astype(np.int32)),
        ("onnx.Gelu(x) * 0", X * 0),
        ("onnx.ReduceSum(x, [1], keepdims=0)", X.sum(1)),
        ("onnx.Split(x, axis=1, num_outputs=3, outputs=3).2", X[:, 2:]),
        ("onnx.LayerNormalization(x, ones(f32[3])) * 0", X * 0),
        ("onnx.Add(onnx.Relu(x), 1)", np.maximum(X, 0) + 1),
    ],
)
def test_operators(evaluate: Evaluate, expression: str, expected: Any) -> None:
    found = evaluate(f"fn main(x: f32[2, 3], w: f32[4, 3]) = {expression}", X, W)
    np.testing.assert_allclose(found[0], expected, rtol=1e-5)
    assert found[0].dtype == expected.dtype


def test_operators_with_symbolic_dimensions(evaluate: Evaluate) -> None:
    text = "fn main[N, M](x: f32[N, M]) -> f32[M, N] = onnx.Transpose(x) * 2"
    np.testing.assert_array_equal(evaluate(text, X)[0], X.T * 2)


@pytest.mark.parametrize(
    ("expression", "code", "text"),
    [
        ("onnx.Relux(x)", "E556", "onnx.Relu"),
        ("onnx.Gemm(x)", "E550", "2 to 3 inputs"),
        ("onnx.Gemm(x, x, transC=1)", "E551", "trans"),
        ("onnx.Transpose(x)[0, 0, 0]", "E", ""),
        ("onnx.Gemm(x, x)", "E557", ""),
        ("onnx.Concat(x, x)", "E550", "axis"),
    ],
)
def test_errors(problem_of: ProblemOf, expression: str, code: str, text: str) -> None:
    problem = problem_of(f"fn main(x: f32[2, 3]) = {expression}", X)
    assert problem.code.startswith(code), problem
    assert text in f"{problem.message} {problem.hint}", problem


def save_model(path: Path, dim: str | int = "batch") -> None:
    nodes = [helper.make_node("MatMul", ["data", "w"], ["p"]), helper.make_node("Relu", ["p"], ["prob"])]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("data", TensorProto.FLOAT, [dim, 3])],
        [helper.make_tensor_value_info("prob", TensorProto.FLOAT, [dim, 4])],
        [numpy_helper.from_array(W.T.copy(), "w")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def test_a_model_is_a_function(evaluate: Evaluate, tmp_path: Path) -> None:
    save_model(tmp_path / "small.onnx")
    text = 'model small from "small.onnx"\nfn main[N](x: f32[N, 3]) -> f32[N, 4] = small(x) + small(data=x)'
    expected = 2 * np.maximum(X @ W.T, 0)
    np.testing.assert_allclose(evaluate(text, X, base=tmp_path)[0], expected)
    np.testing.assert_allclose(evaluate(text, X[:1], base=tmp_path)[0], expected[:1])


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ('model m from "none.onnx"', "E720", "does not exist"),
        ('model m from "../small.onnx"', "E720", "below"),
        ('model m from "/small.onnx"', "E720", "below"),
        ('model m from "bad.onnx"', "E723", "not an ONNX model"),
        ('model m from "small.onnx"\nfn main(x: f32[2, 4]) = m(x)', "E557", "3"),
        ('model m from "small.onnx"\nfn main(x: i32[2, 3]) = m(x)', "E557", "i32"),
        ('model m from "small.onnx"\nfn main(x: f32[2, 3]) = m(x, x)', "E550", "1 argument"),
        ('model m from "small.onnx"\nfn main(x: f32[2, 3]) = m(dada=x)', "E551", "data"),
        ('param w from "none.npy"', "E720", "does not exist"),
        ('param w from "../w.npy"', "E720", "below"),
        ('param w from "bad.npy"', "E723", ""),
        ('param w from "w.txt"', "E721", ".txt"),
        ('param w: f32[3, 4] from "w.npy"', "E724", "4"),
        ('param w: f64[4, 3] from "w.npy"', "E724", "f64"),
        ('param w from "w.npy" key "w"', "E722", "one array"),
        ('param w from "m.safetensors"', "E722", "say which"),
        ('param w from "m.safetensors" key "layer.wieght"', "E722", "layer.weight"),
        ('param w from "bad.safetensors" key "x"', "E723", "damaged"),
    ],
)
def test_files_that_do_not_fit(problem_of: ProblemOf, tmp_path: Path, text: str, code: str, message: str) -> None:
    save_model(tmp_path / "small.onnx")
    save_arrays(tmp_path)
    for name in ("bad.onnx", "bad.npy", "bad.safetensors", "w.txt"):
        (tmp_path / name).write_text("no such thing")
    if "fn main" not in text:
        use = "m(x)" if text.startswith("model") else "x + w"
        text += f"\nfn main(x: f32[4, 3]) = {use}"
    problem = problem_of(text, np.ones((4, 3), np.float32), base=tmp_path)
    assert problem.code == code, problem
    assert message in f"{problem.message} {problem.hint}", problem


def save_arrays(path: Path) -> None:
    np.save(path / "w.npy", W)
    store = WeightStore()
    keys = [store.add(W, "layer.weight"), store.add(np.arange(4, dtype=np.float32), "layer.bias")]
    store.save(path / "m.safetensors", keys)


def test_params(evaluate: Evaluate, tmp_path: Path) -> None:
    save_arrays(tmp_path)
    text = """
    param w: f32[4, 3] from "w.npy"
    param v from "m.safetensors" key "layer.weight"
    param b: f32[4] from "m.safetensors" key "layer.bias"
    fn main[N](x: f32[N, 3]) -> f32[N, 4] = x @ transpose(w) + x @ transpose(v) + b
    """
    np.testing.assert_allclose(evaluate(text, X, base=tmp_path)[0], 2 * X @ W.T + np.arange(4))


def test_params_are_mapped_and_names_in_their_types_bound(tmp_path: Path) -> None:
    np.save(tmp_path / "table.npy", np.arange(400, dtype=np.float32).reshape(100, 4))
    np.save(tmp_path / "half.npy", np.ones(3, ml_dtypes.bfloat16))
    files = tmp_path / "program.lam"
    files.write_text(
        'param table: f32[V, D] from "table.npy"\nparam half: bf16[N] from "half.npy"\n'
        "fn main(i: i64[2]) -> (f32[2, 4], bf16[3]) = take(table, i), half"
    )
    context = new_context()
    program = load_file(files)
    assert not check(program).errors
    instantiate(program, bind(program, "main", [("i64", (2,))]), context)
    (key,) = context.weights
    assert isinstance(context.weights.get(key), np.memmap)
