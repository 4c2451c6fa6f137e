"""Products of small integers around every boundary of their register tile, to the bit.

Weights of 7 bits, whose pairs of products fit in 16 bits, and of 8, whose do not: other kernels where there is no VNNI.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto
from onnx import helper as h
from onnx import numpy_helper as nh

import lamina
from lamina.compiler.machine import Machine

Array = np.ndarray[Any, np.dtype[Any]]
TOGETHER = 48  # shapes in one module
LANES = Machine.host().lanes(4)
HEIGHTS = [1, 2, 3, 4, 5, 6, 7, 8, 11, 13]
WIDTHS = sorted({*range(4, 6), *(multiple * LANES + d for multiple in (1, 2, 4) for d in range(-2, 3))})
DEPTHS = [2, 3, 4, 5, 6, 7, 8, 9, 15, 17, 31, 33, 66]


def check(shapes: list[tuple[int, int, int]], bits: int) -> None:
    rng = np.random.default_rng(0)
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    for start in range(0, len(shapes), TOGETHER):
        part = shapes[start : start + TOGETHER]
        lefts = [
            np.where(rng.random((m, k)) < 0.5, 255, rng.integers(0, 256, (m, k))).astype(np.uint8) for m, _, k in part
        ]
        rights = [rng.choice([low, low + 1, 0, high], (k, n)).astype(np.int8) for _, n, k in part]
        graph = h.make_graph(
            [h.make_node("MatMulInteger", [f"a{i}", f"b{i}"], [f"y{i}"]) for i in range(len(part))],
            "boundaries",
            [h.make_tensor_value_info(f"a{i}", TensorProto.UINT8, a.shape) for i, a in enumerate(lefts)],
            [h.make_tensor_value_info(f"y{i}", TensorProto.INT32, (m, n)) for i, (m, n, _) in enumerate(part)],
            [nh.from_array(b, f"b{i}") for i, b in enumerate(rights)],
        )
        model = h.make_model(graph, opset_imports=[h.make_opsetid("", 21)], ir_version=10)
        got = lamina.compile(model, cache=False)(*lefts)
        for shape, a, b, y in zip(part, lefts, rights, got, strict=True):
            np.testing.assert_array_equal(y, a.astype(np.int64) @ b, err_msg=str(shape))


@pytest.mark.parametrize("bits", [7, 8])
def test_each(bits: int) -> None:
    lists = (HEIGHTS, WIDTHS, DEPTHS)
    turns = [itertools.cycle(values) for values in lists]
    check([(next(turns[0]), next(turns[1]), next(turns[2])) for _ in range(max(map(len, lists)))], bits)


@pytest.mark.slow
@pytest.mark.parametrize("bits", [7, 8])
def test_pairs(bits: int) -> None:
    depths = itertools.cycle(DEPTHS)
    check([(m, n, next(depths)) for m, n in itertools.product(HEIGHTS, WIDTHS)], bits)
