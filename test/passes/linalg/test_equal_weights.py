"""Weights that are equal, as of tied layers that an exporter wrote twice, are packed and kept once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import lamina
from lamina.backends import Options
from lamina.tools.main import main

N = 1100  # a packing of 4.8 MB is made only when it is written


def test_equal_weights_are_packed_once(tmp_path: Path):
    rng = np.random.default_rng(0)
    w = rng.standard_normal((N, N), np.float32)
    other = w.copy()
    other[N // 2, 7] += 1
    nodes = [helper.make_node("MatMul", [f"h{i}", f"w{i}"], [f"h{i + 1}"]) for i in range(3)]
    weights = [numpy_helper.from_array(each, f"w{i}") for i, each in enumerate((w, w.copy(), other))]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, N]) for name in ("h0", "h3")]
    graph = helper.make_graph(nodes, "tied", ends[:1], ends[1:], weights)
    file = tmp_path / "tied.onnx"
    file.write_bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString()
    )

    x = rng.standard_normal((2, N), np.float32)
    got = lamina.compile(file, options=Options(cache=False))(x)[0]
    want = x.astype(np.float64) @ w @ w @ other
    assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max()

    assert main(["compile", str(file), "--emit", "buffers", "-o", str(tmp_path / "tied.mlir")]) == 0
    assert (tmp_path / "tied.mlir").read_text().count("_packed") == 2
