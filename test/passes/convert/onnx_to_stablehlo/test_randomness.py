"""Random numbers: with a seed those of ONNX's reference, without one fresh, of the right spread, and Threefry's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import lamina
from lamina.compiler.artefact import Artefact
from lamina.compiler.diagnostics import LaminaError
from lamina.dialects.stablehlo.semantics.random import threefry2x32

FLOATS = [TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16]


def one_node(operator: str, inputs: list[Any], kinds: list[int], **attributes: Any) -> Any:
    names, results = [f"x{i}" for i in range(len(inputs))], [f"y{i}" for i in range(len(kinds))]
    given = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in zip(names, inputs, strict=True)
    ]
    outputs = [helper.make_tensor_value_info(name, kind, None) for name, kind in zip(results, kinds, strict=True)]
    graph = helper.make_graph([helper.make_node(operator, names, results, **attributes)], "g", given, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


@pytest.fixture
def seeded() -> Any:
    lamina.seed(3)
    yield
    lamina.seed(None)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("operator", ["RandomUniform", "RandomNormal"])
def test_with_a_seed(operator: str, kind: int) -> None:
    model = one_node(operator, [], [kind], shape=[3, 5], dtype=kind, seed=7.0)
    [want] = ReferenceEvaluator(model).run(None, {})
    [got] = lamina.compile(model, "interpret")()
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def test_dropout_with_a_seed() -> None:
    x = np.random.default_rng(0).standard_normal((4, 50)).astype(np.float32)
    inputs = [x, np.array(0.3, np.float32), np.array(True)]
    model = one_node("Dropout", inputs, [TensorProto.FLOAT, TensorProto.BOOL], seed=5)
    want = ReferenceEvaluator(model).run(None, {f"x{i}": value for i, value in enumerate(inputs)})
    for got, expected in zip(lamina.compile(model, "interpret")(*inputs), want, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_fresh_numbers_are_threefry(seeded: None) -> None:
    """The same on both targets, others at each call and in each operator."""
    model = one_node("RandomUniform", [], [TensorProto.FLOAT], shape=[10, 13])
    first = [lamina.compile(model, "interpret")()[0] for _ in range(2)]
    lamina.seed(3)
    compiled = lamina.compile(model, "cpu")
    second = [compiled()[0] for _ in range(2)]
    np.testing.assert_array_equal(first, second)
    key = tuple(int(word) for word in np.random.default_rng(3).integers(0, 2**32, 2, np.uint32))
    words, _ = threefry2x32(key, np.arange(130, dtype=np.uint32), np.full(130, 1, np.uint32))  # pyright: ignore
    np.testing.assert_array_equal(second[0].reshape(-1), (words >> np.uint32(8)).astype(np.float32) / np.float32(2**24))
    assert not (second[0] == second[1]).any()


def test_saved_with_a_key_of_each_call(tmp_path: Any) -> None:
    path = tmp_path / "m.lamx"
    lamina.compile(one_node("RandomUniform", [], [TensorProto.FLOAT], shape=[10]), "cpu").save(path)
    assert Artefact.load(path).signature.random
    model = lamina.load(path)
    assert not model.signature.inputs and not (model()[0] == model()[0]).any()


@pytest.mark.parametrize("kind", FLOATS)
def test_spread(seeded: None, kind: int) -> None:
    def draw(operator: str, **options: Any) -> Any:
        model = one_node(operator, [], [kind], shape=[100, 200], dtype=kind, **options)
        return lamina.compile(model, "interpret")()[0].astype(np.float64)

    uniform = draw("RandomUniform", low=-1.0, high=3.0)
    assert uniform.min() >= -1 and uniform.max() < 3
    counts, _ = np.histogram(uniform, 8, (-1, 3))
    assert abs(counts - 2500).max() < 250
    normal = draw("RandomNormal", mean=2.0, scale=3.0)
    assert abs(normal.mean() - 2) < 0.1 and abs(normal.std() - 3) < 0.1
    assert abs((((normal - 2) / 3) ** 4).mean() - 3) < 0.3


def test_choices(seeded: None) -> None:
    x = np.log(np.array([[0.1, 0.2, 0.7], [0.25, 0.25, 0.5]], np.float32)) + 3
    model = one_node("Multinomial", [x], [TensorProto.INT32], sample_size=10000)
    [rows] = lamina.compile(model, "interpret")(x)
    shares = np.stack([np.bincount(row) for row in rows]) / 10000
    np.testing.assert_allclose(shares, [[0.1, 0.2, 0.7], [0.25, 0.25, 0.5]], atol=0.02)
    p = np.full((100, 100), 0.3, np.float32)
    [hits] = lamina.compile(one_node("Bernoulli", [p], [TensorProto.INT64], dtype=TensorProto.INT64), "interpret")(p)
    assert set(np.unique(hits)) == {0, 1} and abs(hits.mean() - 0.3) < 0.02


def test_the_backend_refuses_what_nobody_can_compare() -> None:
    with pytest.raises(LaminaError, match="RandomUniform"):
        lamina.onnx_backend.prepare(one_node("RandomUniform", [], [TensorProto.FLOAT], shape=[3]))
