"""Convolutions tap by tap against the whole ones: strides, dilations, uneven padding, one to three dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import lamina
from lamina.compiler.program import Program
from lamina.compiler.walking import all_ops
from lamina.dialects.stablehlo import ConvolutionOp
from lamina.passes.stablehlo import split_taps
from lamina.passes.stablehlo.split_taps import SplitTaps


@pytest.fixture(autouse=True)
def however_little_it_saves(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"LEAST": 0, "DEPTH": 1, "SHARE": 0.999}.items():
        monkeypatch.setattr(split_taps, name, value)


@pytest.mark.parametrize(
    ("x", "w", "attributes"),
    [
        pytest.param((2, 5, 13), (7, 5, 3), {"dilations": [4], "pads": [4, 4]}, id="one dimension"),
        pytest.param((1, 3, 9), (4, 3, 4), {"dilations": [5], "pads": [14, 3], "strides": [2]}, id="none everywhere"),
        pytest.param((2, 4, 11, 7), (33, 4, 3, 3), {"dilations": [5, 3], "pads": [5, 3, 5, 3]}, id="images"),
        pytest.param(
            (1, 4, 12, 9), (5, 4, 3, 2), {"dilations": [4, 5], "pads": [3, 0, 6, 5], "strides": [3, 2]}, id="strided"
        ),
        pytest.param((1, 4, 6, 6), (5, 4, 1, 5), {"dilations": [1, 2], "pads": [0, 6, 0, 4]}, id="a row of taps"),
        pytest.param(
            (1, 3, 4, 5, 6), (6, 3, 2, 3, 1), {"dilations": [3, 2, 1], "pads": [3, 2, 0, 0, 2, 1]}, id="volumes"
        ),
        pytest.param((1, 4, 9, 9), (6, 4, 3, 3), {"dilations": [8, 8], "pads": [9, 9, 9, 9]}, id="past the image"),
    ],
)
@pytest.mark.parametrize("among", [False, True])
def test_as_the_whole_window(x: tuple[int, ...], w: tuple[int, ...], attributes: dict[str, Any], among: bool) -> None:
    """Alone, and with convolutions around, whose channels are last."""
    rng = np.random.default_rng(len(x))
    ones = (1,) * (len(x) - 2)
    shapes = {"w": w, "b": w[:1], "before": (w[1], w[1], *ones), "after": (3, w[0], *ones)}
    nodes = [
        helper.make_node("Conv", ["x", "before"], ["i"]),
        helper.make_node("Conv", ["i" if among else "x", "w", "b"], ["c"], **attributes),
        helper.make_node("Relu", ["c"], ["r" if among else "y"]),
        helper.make_node("Conv", ["r", "after"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes if among else nodes[1:3],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [
            numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)
            for name, shape in shapes.items()
            if among or name in "wb"
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    values = rng.standard_normal(x).astype(np.float32)
    (right,), (found,) = (lamina.compile(model, target)(values) for target in ("interpret", "cpu"))
    assert found.shape == right.shape
    assert np.abs(found - right).max() <= 1e-5 * np.abs(right).max()
    canonical = lamina.lower(model, "stablehlo-canonical")
    count = len(_convolutions(canonical))
    SplitTaps().apply(canonical.context, canonical.module)
    assert len(_convolutions(canonical)) > count


def _convolutions(program: Program) -> list[ConvolutionOp]:
    return [op for op in all_ops(program.module) if isinstance(op, ConvolutionOp)]
