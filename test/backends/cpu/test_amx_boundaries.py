"""Products and windows on the tiles of this machine: sizes around every boundary of a tile, two, a panel, a depth.

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
    return serialised(nodes, inputs, outputs, weights), given, want


def serialised(nodes: list, inputs: list, outputs: list, weights: list) -> bytes:
    graph = helper.make_graph(nodes, "boundaries", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10).SerializeToString()


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


# (width of the result, channels, filters, window, stride): around rows of one tile and of two, parts of a tile's depth
WINDOWS = [
    *((width, 32, 33, 3, 1) for width in (*range(4, 10), *range(13, 19), 21, 28, *range(30, 35))),
    *((14, channels, 16, 3, 1) for channels in (2, 3, 4, 5, 8, 16, 24, 31, 33, 34, 48, 62, 64, 66, 96, 130)),
    *((12, 48, filters, 3, 2) for filters in (1, 15, 16, 17, 31, 32, 64, 65)),
    *((16, channels, 24, 1, 2) for channels in (16, 24, 40, 144)),
    *((10, channels, 40, size, 1) for channels in (3, 64) for size in (2, 5, 7)),
]


def windows(kind: str) -> tuple[bytes, list[np.ndarray], list[np.ndarray]]:
    """A model of convolutions, each before one without a window, and what it should give: whole numbers, exactly."""
    rng = np.random.default_rng(7)
    nodes, weights, inputs, outputs, given, want = [], [], [], [], [], []
    element, dtype = (TensorProto.FLOAT, np.float32) if kind == "bf16" else (TensorProto.INT8, np.int8)
    for i, (width, channels, filters, size, stride) in enumerate(WINDOWS):
        height = 2 if i % 2 else 3
        reach = [stride * (n - 1) + size for n in (height, width)]
        x = rng.integers(-1, 2, (1, channels, *reach)).astype(dtype)
        w = rng.integers(-1, 2, (filters, channels, size, size)).astype(dtype)
        seen = np.lib.stride_tricks.sliding_window_view(x[0].astype(np.int64), (size, size), (1, 2))
        y = np.einsum("cyxrs,fcrs->fyx", seen[:, ::stride, ::stride], w.astype(np.int64))[None]
        names = [f"x{i}", f"w{i}"]
        weights.append(numpy_helper.from_array(w, f"w{i}"))
        if kind == "bf16":
            v = rng.integers(-1, 2, (32, filters, 1, 1)).astype(dtype)
            weights.append(numpy_helper.from_array(v, f"v{i}"))
            nodes.append(helper.make_node("Conv", names, [f"t{i}"], strides=[stride] * 2))
            nodes.append(helper.make_node("Conv", [f"t{i}", f"v{i}"], [f"y{i}"]))
            y = np.einsum("fyx,of->oyx", y[0], v[:, :, 0, 0].astype(np.int64))[None]
        else:
            nodes.append(helper.make_node("ConvInteger", names, [f"y{i}"], strides=[stride] * 2))
        inputs.append(helper.make_tensor_value_info(f"x{i}", element, x.shape))
        result = TensorProto.FLOAT if kind == "bf16" else TensorProto.INT32
        outputs.append(helper.make_tensor_value_info(f"y{i}", result, y.shape))
        given.append(x)
        want.append(y)
    return serialised(nodes, inputs, outputs, weights), given, want


@pytest.mark.parametrize(("kind", "threads"), [("bf16", 2), ("int8", 1)])
def test_windows(kind: str, threads: int, tmp_path):
    data, given, want = windows(kind)
    (tmp_path / "m.onnx").write_bytes(data)
    options = Options(threads=threads, cache=False, precision="bf16" if kind == "bf16" else "f32")
    got = lamina.compile(tmp_path / "m.onnx", options=options)(*given)
    for case, result, right in zip(WINDOWS, got, want, strict=True):
        np.testing.assert_array_equal(result, right, err_msg=str(case))


@pytest.mark.parametrize("kind", ["bf16", "int8"])
def test_large_windows_by_threads(kind: str, tmp_path):
    rng = np.random.default_rng(3)
    dtype = np.float32 if kind == "bf16" else np.int8
    x = rng.integers(-1, 2, (2, 256, 16, 30)).astype(dtype)
    w = rng.integers(-1, 2, (96, 256, 3, 3)).astype(dtype)
    element, result = (
        (TensorProto.FLOAT, TensorProto.FLOAT) if kind == "bf16" else (TensorProto.INT8, TensorProto.INT32)
    )
    node = helper.make_node("Conv" if kind == "bf16" else "ConvInteger", ["x", "w"], ["y"])
    sides = [
        helper.make_tensor_value_info(name, type_, shape)
        for name, type_, shape in (("x", element, x.shape), ("y", result, (2, 96, 14, 28)))
    ]
    (tmp_path / "m.onnx").write_bytes(serialised([node], sides[:1], sides[1:], [numpy_helper.from_array(w, "w")]))
    seen = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (3, 3), (2, 3))
    want = np.einsum("bcyxrs,fcrs->bfyx", seen, w.astype(np.float64), optimize=True)
    for threads in (1, 2):
        options = Options(threads=threads, cache=False, precision="bf16" if kind == "bf16" else "f32")
        [got] = lamina.compile(tmp_path / "m.onnx", options=options)(x)
        np.testing.assert_array_equal(got, want)
