"""What is concatenated is written where it belongs: neighbours stay whole, whatever the sizes, types and makers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto
from onnx import helper as h
from onnx import numpy_helper as nh

import lamina
from lamina.backends import Options
from lamina.backends import target as find_target
from lamina.tools.main import main
from lamina.tools.sources import read_program

Array = np.ndarray[Any, np.dtype[Any]]
RNG = np.random.default_rng(20)
WIDTHS = (1, 3, 8, 15, 16, 17, 31, 32, 33, 50)


def branches(channels: tuple[int, ...], *, axis: int = 1, size: tuple[int, int] = (9, 7), depth: int = 5) -> ModelProto:
    """Convolutions of an image, 1x1 and 3x3 in turn, a pool of it, and all of them side by side, twice."""
    stem = RNG.standard_normal((depth, depth, 1, 1)).astype(np.float32)
    nodes, weights, parts = [h.make_node("Conv", ["x", "stem"], ["s"])], [nh.from_array(stem, "stem")], []
    for i, count in enumerate(channels):
        window = 1 + 2 * (i % 2)
        kernel = RNG.standard_normal((count, depth, window, window)).astype(np.float32)
        weights += [
            nh.from_array(kernel, f"w{i}"),
            nh.from_array(RNG.standard_normal(count).astype(np.float32), f"b{i}"),
        ]
        nodes.append(h.make_node("Conv", ["s", f"w{i}", f"b{i}"], [f"c{i}"], pads=[window // 2] * 4))
        nodes.append(h.make_node("Relu", [f"c{i}"], [f"r{i}"]))
        parts.append(f"r{i}")
    if axis == 1:
        nodes.append(h.make_node("MaxPool", ["s"], ["pool"], kernel_shape=[3, 3], pads=[1] * 4, strides=[1, 1]))
        parts.append("pool")
    nodes.append(h.make_node("Concat", parts, ["all"], axis=axis))
    shape = [1, sum(channels) + depth, *size] if axis == 1 else [len(channels), channels[0], *size]
    last = RNG.standard_normal((3, shape[1], 1, 1)).astype(np.float32)
    weights.append(nh.from_array(last, "last"))
    nodes.append(h.make_node("Conv", ["all", "last"], ["y"]))
    outputs = [
        h.make_tensor_value_info("y", TensorProto.FLOAT, [shape[0], 3, *size]),
    ]
    inputs = [h.make_tensor_value_info("x", TensorProto.FLOAT, [1, depth, *size])]
    graph = h.make_graph(nodes, "branches", inputs, outputs, weights)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=9)


def products(widths: tuple[int, ...], rows: int, depth: int) -> ModelProto:
    """Products of one matrix with several, side by side."""
    weights = [nh.from_array(RNG.standard_normal((depth, n)).astype(np.float32), f"w{i}") for i, n in enumerate(widths)]
    nodes = [h.make_node("MatMul", ["x", f"w{i}"], [f"p{i}"]) for i in range(len(widths))]
    nodes.append(h.make_node("Concat", [f"p{i}" for i in range(len(widths))], ["side"], axis=1))
    nodes.append(h.make_node("Tanh", ["side"], ["y"]))
    return h.make_model(
        h.make_graph(
            nodes,
            "products",
            [h.make_tensor_value_info("x", TensorProto.FLOAT, [rows, depth])],
            [h.make_tensor_value_info("y", TensorProto.FLOAT, [rows, sum(widths)])],
            weights,
        ),
        opset_imports=[h.make_opsetid("", 20)],
        ir_version=9,
    )


def agrees(model: ModelProto, target: str = "cpu", tolerance: float = 1e-5, **options: Any) -> None:
    """Machine code and the reference give the same."""
    shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    x = RNG.standard_normal(shape).astype(np.float32)
    right = lamina.compile(model, "interpret")(x)
    got = lamina.compile(model, target, options=Options(**options))(x)
    for mine, expected in zip(got, right, strict=True):
        assert np.abs(mine - expected).max(initial=0) <= tolerance * max(1.0, np.abs(expected).max(initial=0))


def in_place(model: ModelProto) -> int:
    """How many calls write a part of a larger buffer."""
    buffers = find_target("cpu").lower(read_program(model), "buffers", Options(cache=False))  # pyright: ignore
    return sum(" func.call @" in line and "_in_" in line.partition("(")[0] for line in str(buffers).splitlines())


@pytest.mark.parametrize("machine", ["cpu", "cpu:x86-64", "cpu:x86-64-avx2"])
def test_widths_around_the_vectors(machine: str):
    for first in range(0, len(WIDTHS), 2):
        agrees(branches((*WIDTHS[first:], *WIDTHS[:first])[:4]), machine)


@pytest.mark.parametrize(("rows", "depth"), [(1, 40), (6, 3), (33, 64)])
def test_products(rows: int, depth: int):
    agrees(products((17, 64, 5), rows, depth))
    agrees(products((16, 16), rows, depth), threads=2)


@pytest.mark.parametrize("machine", ["cpu", "cpu:x86-64-avx2"])
@pytest.mark.parametrize("widths", [(32, 48), (17, 33), (3, 8)])
def test_rounded_operands(machine: str, widths: tuple[int, ...]):
    agrees(branches(widths), machine, 5e-2, precision="bf16")
    agrees(branches(widths, depth=32), machine, 5e-2, precision="bf16")


def test_with_winograd():
    agrees(branches((32, 48), depth=16), winograd=2)
    agrees(branches((32, 48), depth=16), winograd=4, tolerance=1e-4)


@pytest.mark.parametrize("machine", ["cpu", "cpu:x86-64-avx2"])
def test_bytes(machine: str, tmp_path: Path):
    onnx.save(branches((32, 17), depth=16), tmp_path / "float.onnx")
    bytes_ = str(tmp_path / "bytes.onnx")
    assert main(["quantize", str(tmp_path / "float.onnx"), "-o", bytes_]) == 0
    assert main(["run", bytes_, "--precision", "int8", "--target", machine, "--check", "--tolerance", "0"]) == 0


def test_images_one_after_the_other():
    agrees(branches((16, 16), axis=0))


def test_how_many_write_in_place():
    assert in_place(branches((16, 32, 17))) == 4  # the pool as well
    assert in_place(products((17, 64, 5), 33, 8)) == 3
    assert in_place(branches((16, 16), axis=0)) == 2
