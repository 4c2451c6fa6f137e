"""Slices side by side: each is read where it lies, from the first element on or not, whatever the sizes and types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto
from onnx import helper as h
from onnx import numpy_helper as nh

import lamina

RNG = np.random.default_rng(28)
SIZES = {"odd": (1, 10, 7, 3), "line": (2, 9, 5, 16), "rows": (3, 17, 33), "flat": (19,)}


def windows(shape: tuple[int, ...], along: int, beside: int, width: int, dtype: Any, pad: bool) -> ModelProto:
    """What begins at 0, 1 and 2 of dimension `along`, concatenated along `beside`; with `pad`, the first one padded."""
    nodes, constants, parts = [], [nh.from_array(np.array([along]), "axes")], []
    for start in range(3):
        constants += [
            nh.from_array(np.array([n]), f"{name}{start}") for name, n in (("b", start), ("e", start + width))
        ]
        nodes.append(h.make_node("Slice", ["x", f"b{start}", f"e{start}", "axes"], [f"s{start}"]))
        parts.append(f"s{start}")
    result = [width if i == along else n for i, n in enumerate(shape)]
    result[beside] *= 3
    if pad:
        around = [0] * (2 * len(shape))
        around[beside] = around[beside + len(shape)] = 2
        constants.append(nh.from_array(np.array(around), "around"))
        nodes.append(h.make_node("Pad", ["s0", "around"], ["padded"]))
        parts[0], result[beside] = "padded", result[beside] + 4
    nodes.append(h.make_node("Concat", parts, ["y"], axis=beside))
    element = h.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = h.make_graph(
        nodes,
        "windows",
        [h.make_tensor_value_info("x", element, shape)],
        [h.make_tensor_value_info("y", element, result)],
        constants,
    )
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int64], ids=lambda t: np.dtype(t).name)
@pytest.mark.parametrize("pad", [False, True], ids=["bare", "padded"])
@pytest.mark.parametrize("name", SIZES)
def test_slices_from_the_first_on(name: str, pad: bool, dtype: Any) -> None:
    shape = SIZES[name]
    for along in range(len(shape)):
        if shape[along] < 4:
            continue
        width = shape[along] - 2
        for beside in {0, len(shape) - 1}:
            x = RNG.integers(-100, 100, shape).astype(dtype)
            parts = [np.take(x, range(start, start + width), axis=along) for start in range(3)]
            if pad:
                parts[0] = np.pad(parts[0], [(2, 2) if i == beside else (0, 0) for i in range(len(shape))])
            compiled = lamina.compile(windows(shape, along, beside, width, dtype, pad))
            [y] = compiled(x)
            np.testing.assert_array_equal(y, np.concatenate(parts, beside))
