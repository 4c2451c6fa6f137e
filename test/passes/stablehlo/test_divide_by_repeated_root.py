"""Quotients by roots of rows, which become products with reciprocals: all kinds of numbers by all kinds of roots."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import lamina

KINDS = {"float32": (np.float32, TensorProto.FLOAT), "float64": (np.float64, TensorProto.DOUBLE)}


def _numbers(dtype: type[np.floating]) -> np.ndarray:
    info = np.finfo(dtype)
    special = [0.0, info.smallest_subnormal, info.smallest_normal, 1.0, 3.0, info.max, np.inf, np.nan]
    spread = 2.0 ** np.random.default_rng(0).uniform(info.minexp / 2, info.maxexp / 2, 25)
    positive = np.array([*special, *spread], dtype)
    return np.concatenate([positive, -positive])


@pytest.mark.parametrize("target", ["cpu:x86-64", "cpu"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("more", ["", "Add", "Max"])
def test_products_with_reciprocals_are_the_quotients(kind: str, more: str, target: str) -> None:
    dtype, told = KINDS[kind]
    x = _numbers(dtype)
    v = x[:, None]
    nodes = [helper.make_node("Sqrt", ["v"], ["root"])]
    if more:
        nodes.append(helper.make_node(more, ["root", "c"], ["far"]))
    nodes.append(helper.make_node("Div", ["x", "far" if more else "root"], ["y"]))
    c = dtype(1e-12)
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(n, told, list(a.shape)) for n, a in (("x", x), ("v", v))],
        [helper.make_tensor_value_info("y", told, None)],
        [numpy_helper.from_array(np.array(c), "c")] if more else [],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (found,) = lamina.compile(model, target)(x, v)
    with np.errstate(all="ignore"):
        root = np.sqrt(v)
        root = np.maximum(root, c) if more == "Max" else root + c if more else root
        right = x / root
        apart = np.abs(found.astype(np.longdouble) - x.astype(np.longdouble) / root)
        near = apart <= 1.5 * np.maximum(np.spacing(np.abs(right)), np.finfo(dtype).smallest_subnormal)
    same = (found == right) | (np.isnan(found) & np.isnan(right))
    assert np.all(same | near), (x[np.nonzero(~(same | near))[1]], found[~(same | near)], right[~(same | near)])
    assert np.array_equal(np.signbit(found[right == 0]), np.signbit(right[right == 0]))
