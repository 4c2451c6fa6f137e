"""What waits for memory, compiled, on odd sizes and special values: against NumPy."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper

import lamina

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(0)
SIZES = [(3, 7), (17, 64), (9, 131)]


def model(
    op: str, x: Array, constants: dict[str, Array], outputs: list[tuple[str, int]], **attributes: Any
) -> ModelProto:
    """One operator on `x`."""
    node = helper.make_node(op, ["x", *constants], [name for name, _ in outputs], **attributes)
    value = helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
    results = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs]
    weights = [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()]
    graph = helper.make_graph([node], "g", [value], results, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def run(op: str, x: Array, constants: dict[str, Array] | None = None, kind: int = 1, **attributes: Any) -> Array:
    """The first result on one thread."""
    compiled = lamina.compile(model(op, x, constants or {}, [("y", kind)], **attributes), threads=1, cache=False)
    found: Any = compiled(x)
    return found[0] if isinstance(found, (list, tuple)) else found


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(("exclusive", "reverse"), [(0, 0), (1, 1)])
def test_cumulative_sums(shape: tuple[int, int], axis: int, exclusive: int, reverse: int):
    x = RNG.standard_normal(shape).astype(np.float32)
    got = run("CumSum", x, {"axis": np.array(axis)}, exclusive=exclusive, reverse=reverse)
    wide = np.flip(x, axis) if reverse else x
    sums = np.cumsum(wide.astype(np.float64), axis) - (wide if exclusive else 0)
    np.testing.assert_allclose(got, np.flip(sums, axis) if reverse else sums, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("size", [7, 16, 113])
def test_pooling_by_two(size: int):
    x = RNG.standard_normal((1, 3, size, size)).astype(np.float32)
    x[0, 0, size // 2, size // 2] = np.nan
    x[0, 1, 0, 0] = np.inf
    got = run("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::2, ::2]
    np.testing.assert_array_equal(got, windows.max((-1, -2)))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("n", [1, 7, 33, 131])
@pytest.mark.parametrize(("op", "last"), [("ArgMax", 0), ("ArgMax", 1), ("ArgMin", 0), ("ArgMin", 1)])
def test_arg_max(n: int, op: str, last: int, axis: int):
    x = RNG.integers(-3, 4, (40, n)).astype(np.float32)  # with many ties
    x[1, n // 2], x[2, 0], x[3], x[4] = np.nan, -np.inf, -np.inf, np.nan
    given = x if axis else np.ascontiguousarray(x.T)
    got = run(op, given, kind=7, axis=axis, keepdims=0, select_last_index=last)
    choose = np.argmax if op == "ArgMax" else np.argmin
    want = n - 1 - choose(x[:, ::-1], axis=1) if last else choose(x, axis=1)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("n", "k", "axis"), [(7, 7, 0), (33, 4, 1), (64, 3, 0), (131, 12, 1)])
@pytest.mark.parametrize("largest", [0, 1])
def test_top_k(n: int, k: int, axis: int, largest: int):
    x = RNG.integers(-9, 10, (9, n) if axis else (n, 9)).astype(np.float32)  # with many ties
    rows = x if axis else x.T
    rows[1, n // 2], rows[2, 0], rows[3], rows[4], rows[5, 0] = np.nan, -np.inf, -np.inf, np.inf, np.inf
    order = np.argsort(-rows if largest else rows, axis=1, kind="stable")  # NaN last
    if largest:  # NaN counts as the largest
        order[1] = [n // 2, *(i for i in order[1] if i != n // 2)]
    results = [("y", 1), ("i", 7)]
    compiled = lamina.compile(
        model("TopK", x, {"k": np.array([k])}, results, axis=axis, largest=largest), threads=1, cache=False
    )
    found: Any = compiled(x)
    values, places = (v if axis else v.T for v in found)
    np.testing.assert_array_equal(places, order[:, :k])
    np.testing.assert_array_equal(values, np.take_along_axis(rows, order[:, :k], 1))


@pytest.mark.parametrize(
    ("n", "k", "largest"), [(8, 8, 0), (33, 2, 1), (131, 130, 0), (513, 513, 1), (777, 9, 0), (5000, 50, 1)]
)
@pytest.mark.parametrize("kind", ["float32", "float16", "float64", "int32", "int64", "int8", "uint8", "uint32"])
def test_top_k_of_every_kind(n: int, k: int, kind: str, largest: int):
    """Around the sizes of blocks, with many ties, and what a type has at its ends."""
    x = RNG.integers(0, 50, (3, n)).astype(kind)
    if x.dtype.kind == "f":
        x[0, ::7], x[1, ::5], x[1, 1::5], x[2, ::3] = np.nan, -np.inf, np.inf, -0.0
        key = np.where(np.isnan(x), np.inf, x.astype(np.float64)) * (-1 if largest else 1)
    else:
        ends = np.iinfo(kind)
        x[0, ::7], x[1, ::5] = ends.min, ends.max
        key = x.astype(object) * (-1 if largest else 1)
    nan = np.isnan(x) if x.dtype.kind == "f" else np.zeros(x.shape, bool)
    last = nan ^ bool(largest)  # NaN counts as the largest

    def order_of(r: int) -> list[int]:
        return sorted(range(n), key=lambda i: (last[r, i], 0 if nan[r, i] else key[r, i], i))[:k]

    order = np.array([order_of(r) for r in range(3)])
    results = [("y", helper.np_dtype_to_tensor_dtype(x.dtype)), ("i", 7)]
    compiled = lamina.compile(model("TopK", x, {"k": np.array([k])}, results, largest=largest), threads=1, cache=False)
    values, places = compiled(x)  # pyright: ignore
    np.testing.assert_array_equal(places, order)
    want = np.take_along_axis(x, order, 1)
    assert np.asarray(values).tobytes() == want.tobytes()  # zeros with their signs, too


def test_few_of_many_are_not_found_by_sorting_all():
    x = np.zeros((1, 50257), np.float32)
    given = lamina.import_onnx(model("TopK", x, {"k": np.array([50])}, [("y", 1), ("i", 7)]))
    program = lamina.lower(given, "stablehlo")
    ops = [op for op in program.module.walk() if op.name.startswith("stablehlo.")]
    sizes: list[Any] = [v.type.get_shape() for op in ops for v in op.results]  # pyright: ignore
    assert max(map(prod, sizes)) < 500 * 500
    assert "stablehlo.sort" not in {op.name for op in ops}


@pytest.mark.parametrize(("shape", "axis"), [((2, 5, 7), 1), ((3, 5, 9), 2), ((4, 3, 6), 0), ((1, 33, 7), 1)])
def test_concatenation_between_elementwise_ops_and_padding(shape: tuple[int, ...], axis: int):
    sizes = (3, 5, 6)
    parts = [
        RNG.standard_normal([n if i == axis else s for i, s in enumerate(shape)]).astype(np.float32) for n in sizes
    ]
    parts[0].flat[0], parts[1].flat[-1] = np.nan, np.inf
    total = [sum(sizes) if i == axis else 1 for i in range(3)]
    scale = RNG.standard_normal(total).astype(np.float32)
    pads = np.array([0, 0, 1, 0, 0, 2])
    nodes = [
        helper.make_node("Relu", ["a"], ["r"]),
        helper.make_node("Concat", ["r", "b", "c"], ["k"], axis=axis),
        helper.make_node("Mul", ["k", "s"], ["m"]),
        helper.make_node("Neg", ["m"], ["n"]),
        helper.make_node("Pad", ["n", "p"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info(name, 1, part.shape) for name, part in zip("abc", parts, strict=True)]
    weights = [numpy_helper.from_array(scale, "s"), numpy_helper.from_array(pads, "p")]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", 1, None)], weights)
    whole = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    found: Any = lamina.compile(whole, threads=1, cache=False)(*parts)
    got = found[0] if isinstance(found, (list, tuple)) else found
    want = -np.concatenate([np.maximum(parts[0], 0), *parts[1:]], axis) * scale
    np.testing.assert_array_equal(got, np.pad(want, ((0, 0), (0, 0), (1, 2))))


@pytest.mark.parametrize("shape", [(6, 48, 300), (5, 32, 1700), (4, 37, 61)])
@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin", "ReduceSum"])
def test_reductions_of_the_first_dimension(shape: tuple[int, ...], op: str):
    x = RNG.standard_normal(shape).astype(np.float32)
    x[2, 1, 5], x[0, 3, 7], x[-1, -1, -1] = np.nan, np.inf, -np.inf
    want = {"ReduceMax": np.max, "ReduceMin": np.min, "ReduceSum": np.sum}[op](x, 0)
    got = run(op, x, {"axes": np.array([0])}, keepdims=0)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("shape", [(5, 9), (3, 128), (2, 3, 77)])
@pytest.mark.parametrize("special", [None, np.nan, np.inf, -np.inf])
def test_softmax(shape: tuple[int, ...], special: float | None):
    x = (RNG.standard_normal(shape) * 30).astype(np.float32)
    if special is not None:
        x[0, ..., 2] = special
        x[1] = -np.inf
    with np.errstate(all="ignore"):
        powers = np.exp((x - x.max(-1, keepdims=True)).astype(np.float64))
        want = powers / powers.sum(-1, keepdims=True)
    np.testing.assert_allclose(run("Softmax", x, axis=-1), want, rtol=1e-6, atol=1e-44)


LARGE = [((258, 700), (1,)), ((257, 700), (0, 1)), ((3, 301, 303), (1,)), ((1031, 257), (0,)), ((2, 90001), (1,))]


@pytest.mark.parametrize(("shape", "axes"), LARGE)
@pytest.mark.parametrize("op", ["ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceProd"])
def test_reductions_of_what_no_cache_holds(op: str, shape: tuple[int, ...], axes: tuple[int, ...]):
    """Several rows at a time, from places far apart, and those that are left."""
    x = RNG.standard_normal(shape).astype(np.float32)
    if op == "ReduceProd":
        x = np.exp(x / 100)
    want = getattr(np, op.removeprefix("Reduce").lower())
    given = {"axes": np.array(axes)}
    np.testing.assert_allclose(
        run(op, x, given, keepdims=0), want(x.astype(np.float64), axis=axes), rtol=2e-4, atol=2e-4
    )
    place = tuple(n - 1 for n in shape)
    x[place] = np.nan
    np.testing.assert_array_equal(np.isnan(run(op, x, given, keepdims=0)), np.isnan(want(x, axis=axes)))
