"""A transformer layer from ONNX: its attention is one kernel, and every level means the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import lamina

BATCH, TOKENS, HEADS, DEPTH = 2, 37, 3, 20
WIDTH = HEADS * DEPTH


def layer(path: Path, causal: bool, guarded: bool) -> Path:
    """Projections, heads, scores, a mask (a constant or an input), softmax, values, heads together, projection."""
    rng = np.random.default_rng(0)
    weights = {f"w{c}": rng.standard_normal((WIDTH, WIDTH)) * 0.2 for c in "qkvo"}
    constants = {name: value.astype(np.float32) for name, value in weights.items()}
    constants |= {"scale": np.float32(DEPTH**-0.5), "zero": np.float32(0)}
    constants["heads"] = np.array([BATCH, TOKENS, HEADS, DEPTH])
    constants["rows"] = np.array([BATCH, TOKENS, WIDTH])
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [BATCH, TOKENS, WIDTH])]
    if causal:
        constants["mask"] = np.triu(np.full((TOKENS, TOKENS), np.finfo(np.float32).min, np.float32), 1)
    else:
        inputs.append(helper.make_tensor_value_info("mask", TensorProto.FLOAT, [BATCH, 1, 1, TOKENS]))
    nodes: list[onnx.NodeProto] = []

    def node(kind: str, arguments: str, result: str, **attributes: Any) -> None:
        nodes.append(helper.make_node(kind, arguments.split(), [result], **attributes))

    for c, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        node("MatMul", f"x w{c}", f"{c}0")
        node("Reshape", f"{c}0 heads", f"{c}1")
        node("Transpose", f"{c}1", c, perm=order)
    node("MatMul", "q k", "s0")
    node("Mul", "s0 scale", "s1")
    node("Add", "s1 mask", "s2")
    node("Softmax", "s2", "p", axis=-1)
    if guarded:
        node("IsNaN", "p", "nan")
        node("Where", "nan zero p", "p1")
    node("MatMul", f"{'p1' if guarded else 'p'} v", "o0")
    node("Transpose", "o0", "o1", perm=[0, 2, 1, 3])
    node("Reshape", "o1 rows", "o2")
    node("MatMul", "o2 wo", "y")
    initializers = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [BATCH, TOKENS, WIDTH])]
    graph = helper.make_graph(nodes, "layer", inputs, outputs, initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.mark.parametrize(("causal", "guarded"), [(True, False), (False, True)])
def test_a_layer(tmp_path: Path, causal: bool, guarded: bool):
    path = layer(tmp_path / "layer.onnx", causal, guarded)
    rng = np.random.default_rng(1)
    inputs = [rng.standard_normal((BATCH, TOKENS, WIDTH)).astype(np.float32)]
    if not causal:
        mask = np.where(rng.random((BATCH, 1, 1, TOKENS)) < 0.3, -np.inf, 0).astype(np.float32)
        mask[1] = -np.inf  # an empty text
        inputs.append(mask)
    expected = lamina.interpret(lamina.import_onnx(path), inputs)[0]
    assert np.isfinite(expected).all()
    lowered = lamina.lower(lamina.import_onnx(path), to="linalg")
    assert "linalg_ext.attention" in str(lowered.module)
    np.testing.assert_allclose(lamina.interpret(lowered, inputs)[0], expected, rtol=1e-4, atol=1e-5)
    for threads in (1, 2):
        model = lamina.compile(path, threads=threads)
        kinds = [kernel["kind"] for kernel in model.artefact.manifest["kernels"]]
        assert kinds.count("attention") == 1
        np.testing.assert_allclose(model(*inputs)[0], expected, rtol=1e-4, atol=1e-5)
