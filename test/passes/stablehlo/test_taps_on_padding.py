"""Windows whose ends only meet padding, against the reference."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import lamina
from lamina.dialects.stablehlo.canonical import windows


@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize(("pads", "dilation"), [((2, 2), 2), ((4, 4), 4), ((0, 6), 3), ((5, 7), 5), ((9, 9), 4)])
def test_what_is_left_out_counts_for_nothing(group: int, stride: int, pads: tuple[int, int], dilation: int) -> None:
    rng = np.random.default_rng(stride * dilation)
    low, high = pads
    weights = rng.standard_normal((4, 4 // group, 3, 2)).astype(np.float32)
    node = helper.make_node(
        "Conv",
        ["x", "w"],
        ["y"],
        pads=[low, high, high, low],
        dilations=[dilation] * 2,
        strides=[stride, 1],
        group=group,
    )
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4, 3, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    x = rng.standard_normal((2, 4, 3, 4)).astype(np.float32)
    (right,), (found,) = (lamina.compile(model, target)(x) for target in ("interpret", "cpu"))
    assert found.shape == right.shape
    assert np.abs(found - right).max(initial=0) <= 1e-5 * np.abs(right).max(initial=1)


CASES = [
    (size, stride, dilation, low, places)
    for size in (1, 2, 3, 5, 8)
    for stride in (1, 2, 3)
    for dilation in (1, 2, 4, 7)
    for low in (0, 1, 4, 9)
    if (places := (size + 2 * low - 3 * dilation - 1) // stride + 1) > 0
]


def test_a_tap_is_kept_where_it_meets_the_image() -> None:
    for size, stride, dilation, low, places in CASES:
        for tap in range(4):
            first = tap * dilation - low
            meets = any(0 <= first + j * stride < size for j in range(places))
            assert windows._meets(first, stride, places - 1, size) == meets  # pyright: ignore[reportPrivateUsage]
