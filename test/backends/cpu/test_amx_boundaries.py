"""Products on the tiles of this machine: sizes around every boundary of a tile, of two, of a panel, of a tile's depth.

Many shapes go through one compilation. The models multiply bfloat16 (the rounding behind it is an
epilogue) and bytes of both signs; from 256 columns on, rows of the left operand are copied into tiles.
"""

from __future__ import annotations

import itertools
import random

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import lamina
from lamina.backends import Options
from lamina.compiler.machine import Machine

pytestmark = pytest.mark.skipif(
    not {"amx-tile", "amx-bf16", "amx-int8"} <= set(Machine.host().features), reason="this machine has no AMX"
)
ROWS = [*range(1, 7), *range(14, 19), *range(30, 35), *range(62, 67)]
COLUMNS = [*range(1, 4), *range(14, 19), *range(30, 35), *range(62, 67), *range(254, 259), 290]
DEPTHS = {"bf16": [*range(1, 5), *range(30, 35), 64, 96], "int8": [*range(1, 7), *range(62, 67), 128, 192]}
BF16 = np.dtype(ml_dtypes.bfloat16)
Shape = tuple[int, int, int]


def shapes(kind: str) -> list[Shape]:
    """Each number of each side, beside numbers of the other two drawn at random, and all corners of one tile."""
    draw = random.Random(kind)
    sides = (ROWS, COLUMNS, DEPTHS[kind])
    found = [tuple(v if j == i else draw.choice(s) for j, s in enumerate(sides)) for i in range(3) for v in sides[i]]
    one = 32 if kind == "bf16" else 64
    found += list(itertools.product((31, 32, 33), (256, 287, 288), (one - 2, one, one + 2)))
    return [(m, n, k) for m, n, k in found]


def products(kind: str, some: list[Shape], signed: bool) -> tuple[bytes, list[np.ndarray], list[np.ndarray]]:
    """A model of products with constant right sides, its inputs, and what it should give."""
    rng = np.random.default_rng(len(some))
    nodes, weights, inputs, outputs, given, want = [], [], [], [], [], []
    op = "MatMul" if kind == "bf16" else "MatMulInteger"
    element = TensorProto.BFLOAT16 if kind == "bf16" else TensorProto.INT8 if signed else TensorProto.UINT8
    result = TensorProto.BFLOAT16 if kind == "bf16" else TensorProto.INT32
    for i, (m, n, k) in enumerate(some):
        if kind == "bf16":
            x, w = rng.standard_normal((m, k)).astype(BF16), rng.standard_normal((k, n)).astype(BF16)
        else:
            x = (
                rng.integers(-128, 128, (m, k)).astype(np.int8)
                if signed
                else rng.integers(0, 256, (m, k)).astype(np.uint8)
            )
            w = rng.integers(-128, 128, (k, n)).astype(np.int8)
        y = x.astype(np.float64) @ w.astype(np.float64)
        nodes.append(helper.make_node(op, [f"x{i}", f"w{i}"], [f"y{i}"]))
        weights.append(numpy_helper.from_array(w, f"w{i}"))
        inputs.append(helper.make_tensor_value_info(f"x{i}", element, x.shape))
        outputs.append(helper.make_tensor_value_info(f"y{i}", result, y.shape))
        given.append(x)
        want.append(y)
    graph = helper.make_graph(nodes, "products", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    return model.SerializeToString(), given, want


@pytest.mark.parametrize(("kind", "signed", "every"), [("bf16", True, 1), ("int8", False, 1), ("int8", True, 4)])
def test_sizes(kind: str, signed: bool, every: int, tmp_path):
    some = shapes(kind)[::every]
    data, given, want = products(kind, some, signed)
    (tmp_path / "m.onnx").write_bytes(data)
    got = lamina.compile(tmp_path / "m.onnx", options=Options(threads=1, cache=False))(*given)
    for shape, result, right in zip(some, got, want, strict=True):
        if kind == "int8":
            np.testing.assert_array_equal(result, right, err_msg=str(shape))
        else:
            np.testing.assert_allclose(result.astype(np.float64), right, rtol=2**-8, atol=1e-3, err_msg=str(shape))


def test_large_products_by_threads(tmp_path):
    some: list[Shape] = [(257, 321, 130), (128, 768, 768), (100, 1000, 65), (257, 321, 1056), (33, 70, 2112)]
    for kind, signed in (("bf16", True), ("int8", False)):
        data, given, want = products(kind, some, signed)
        (tmp_path / "m.onnx").write_bytes(data)
        got = lamina.compile(tmp_path / "m.onnx", options=Options(threads=2, cache=False))(*given)
        for result, right in zip(got, want, strict=True):
            np.testing.assert_allclose(result.astype(np.float64), right, rtol=2**-8 * (kind == "bf16"), atol=1e-2)
