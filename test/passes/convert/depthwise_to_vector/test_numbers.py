"""Depthwise convolutions of planes against the sums in float64, around every boundary of tiles, blocks and vectors."""

from __future__ import annotations

import itertools
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import lamina
from lamina.backends import Options
from lamina.compiler.machine import Machine

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Case:
    """x of `shape` by one `window` per channel; `pads` as ONNX has them: top, left, bottom, right."""

    shape: tuple[int, int, int, int]
    window: tuple[int, int] = (3, 3)
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (1, 1, 1, 1)
    residual: bool = False

    @property
    def output(self) -> tuple[int, ...]:
        reach = [(n - 1) * d + 1 for n, d in zip(self.window, self.dilations, strict=True)]
        sizes = (self.shape[2 + i] + self.pads[i] + self.pads[2 + i] - reach[i] for i in range(2))
        return (*self.shape[:2], *(size // s + 1 for size, s in zip(sizes, self.strides, strict=True)))


def expected(case: Case, x: Array, w: Array, b: Array, r: Array) -> Array:
    top, left, bottom, right = case.pads
    (height, width), (s, t), (d, e) = case.output[2:], case.strides, case.dilations
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), (top, bottom), (left, right)])
    total = np.zeros(case.output)
    for i, j in itertools.product(*(range(n) for n in case.window)):
        rows, columns = i * d + s * np.arange(height), j * e + t * np.arange(width)
        total += padded[:, :, rows[:, None], columns] * w[:, 0, i, j, None, None]
    total = np.maximum(total + b[:, None, None], 0)
    return total + r if case.residual else total


def network(cases: Sequence[Case]) -> tuple[ModelProto, dict[str, Array], list[Array]]:
    """All convolutions in one model, with bias and activation, some with a residual; inputs, and what comes out."""
    rng = np.random.default_rng(0)
    nodes: list[Any] = []
    weights: dict[str, Array] = {}
    inputs: dict[str, Array] = {}
    want: list[Array] = []
    for number, case in enumerate(cases):
        channels = case.shape[1]
        shapes = {"x": case.shape, "w": (channels, 1, *case.window), "b": (channels,), "r": case.output}
        arrays = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
        want.append(expected(case, **arrays))
        names = {name: f"{name}{number}" for name in ("x", "w", "b", "r", "c", "a", "y")}
        inputs |= {names[name]: arrays[name] for name in ("x", *(["r"] if case.residual else []))}
        weights |= {names[name]: arrays[name] for name in ("w", "b")}
        attributes: dict[str, Any] = {
            "strides": case.strides,
            "dilations": case.dilations,
            "pads": case.pads,
            "group": channels,
        }
        nodes.append(helper.make_node("Conv", [names[n] for n in "xwb"], [names["c"]], **attributes))
        nodes.append(helper.make_node("Relu", [names["c"]], [names["a" if case.residual else "y"]]))
        if case.residual:
            nodes.append(helper.make_node("Add", [names["a"], names["r"]], [names["y"]]))
    graph = helper.make_graph(
        nodes,
        "depthwise",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape) for name, value in inputs.items()],
        [helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, result.shape) for i, result in enumerate(want)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), inputs, want


def check(cases: Sequence[Case], target: str = "cpu", threads: int = 2) -> None:
    model, inputs, want = network(cases)
    got = lamina.compile(model, target, options=Options(threads=threads, cache=False))(**inputs)
    for case, result, values in zip(cases, got, want, strict=True):
        error = float(np.abs(result - values).max())
        assert error <= 1e-5, f"{case}: {error}"


CASES = [
    Case((1, 3, 7, 7)),
    Case((2, 19, 9, 13), residual=True),  # more small planes than are copied at once, the last ones fewer
    Case((1, 3, 11, 4), window=(5, 2), pads=(2, 0, 2, 0)),  # three columns are too few: as any other sum
    Case((1, 2, 17, 5), pads=(0, 0, 0, 0), strides=(2, 1), window=(2, 2)),
    Case((1, 3, 12, 15), strides=(2, 2)),
    Case((2, 3, 15, 12), strides=(2, 2), pads=(0, 0, 1, 1), residual=True),
    Case((1, 2, 13, 18), strides=(3, 2), window=(5, 5), pads=(2, 2, 2, 2)),
    Case((1, 3, 21, 20), dilations=(2, 3), pads=(2, 3, 2, 3)),
    Case((1, 2, 20, 23), dilations=(3, 2), strides=(2, 2), pads=(4, 1, 0, 3), residual=True),
    Case((1, 2, 3, 3), pads=(4, 5, 3, 6), window=(2, 3)),  # windows that see nothing but zeros
    Case((3, 2, 16, 33), window=(7, 7), pads=(3, 3, 3, 3)),
    Case((1, 3, 150, 131)),  # more rows than fit beside the processor
    Case((1, 2, 149, 130), strides=(2, 2), residual=True),
    Case((1, 4, 10, 9), strides=(1, 3)),
    Case((1, 3, 14, 17), window=(13, 13), pads=(6, 6, 6, 6)),  # windows too large to be written out
    Case((2, 2, 20, 21), window=(31, 5), pads=(15, 2, 15, 2), residual=True),
    Case((1, 2, 30, 40), window=(12, 9), strides=(2, 1), dilations=(1, 2), pads=(3, 4, 5, 6)),
    Case((1, 2, 30, 40), window=(12, 9), strides=(1, 2), pads=(3, 4, 5, 6)),  # columns that a stride skips: any sum
]


def test_numbers() -> None:
    check(CASES)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="machines by name")
@pytest.mark.parametrize("name", ["x86-64", "x86-64-avx512"])
def test_other_vectors(name: str) -> None:
    if not all(feature in Machine.host().features for feature in Machine.preset(name).features):
        pytest.skip(f"this machine is no {name}")
    check(CASES, f"cpu:{name}", threads=1)


@pytest.mark.slow
@pytest.mark.parametrize("stride", [1, 2])
def test_every_width_and_height(stride: int) -> None:
    sizes = [*range(3, 37), *range(62, 68)]
    check(
        [
            Case(
                (1, 1 + n % 3 + 1, n, m),
                (min(n, 2 + n % 4), min(m, 2 + m % 4)),
                (stride, stride),
                pads=(1, n % 2, 0, m % 3),
            )
            for n, m in zip(sizes, [*sizes[5:], *sizes[:5]], strict=True)
        ]
    )
