"""Contractions around a depthwise convolution, block after block of rows, give the numbers of one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import lamina
from lamina.backends import Options
from lamina.passes.linalg import block_separable

AVX2 = "cpu:x86-64-avx2"


@dataclass(frozen=True)
class Case:
    """x of `shape` N x C x H x W; `stages` of 1 x 1 ("p"), 3 x 3 ("c") and depthwise ("d") convolutions."""

    shape: tuple[int, int, int, int]
    rows: int = 4  # of a block
    stages: str = "pdp"
    widths: tuple[int, ...] = (40, 24, 16)  # filters of each 1 x 1 or 3 x 3
    window: tuple[int, int] = (3, 3)
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (1, 1, 1, 1)
    after: tuple[str, ...] = ("Relu",)  # of every stage
    residual: bool = False
    threads: int = 1
    target: str = "cpu"
    kernels: int = 1

    def model(self, rng: np.random.Generator) -> ModelProto:
        """Stages with bias, one after the other."""
        nodes: list[Any] = []
        weights: list[Any] = []
        last, channels, widths = "x", self.shape[1], list(self.widths)
        for i, stage in enumerate(self.stages):
            window = {"p": (1, 1), "c": (3, 3), "d": self.window}[stage]
            filters = channels if stage == "d" else widths.pop(0)
            depth = 1 if stage == "d" else channels
            weight = rng.standard_normal((filters, depth, *window)) / np.sqrt(depth * np.prod(window))
            for name, values in ((f"w{i}", weight), (f"b{i}", rng.standard_normal(filters))):
                weights.append(numpy_helper.from_array(np.asarray(values, np.float32), name))
            own: dict[str, Any] = {"pads": (window[0] // 2,) * 4}
            if stage == "d":
                own = {"group": channels, "strides": self.strides, "dilations": self.dilations, "pads": self.pads}
            nodes.append(helper.make_node("Conv", [last, f"w{i}", f"b{i}"], [f"c{i}"], kernel_shape=window, **own))
            last, channels = f"c{i}", filters
            for kind in self.after:
                inputs = [last, "six"] if kind == "Min" else [last]
                nodes.append(helper.make_node(kind, inputs, [f"{kind}{i}"]))
                last = f"{kind}{i}"
        if self.residual:
            nodes.append(helper.make_node("Add", [last, "x"], ["sum"]))
            last = "sum"
        weights.append(numpy_helper.from_array(np.array(6, np.float32), "six"))
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)]
        outputs = [helper.make_tensor_value_info(last, TensorProto.FLOAT, None)]
        graph = helper.make_graph(nodes, "separable", inputs, outputs, weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


WIDE = Case((1, 24, 12, 10))
CASES = {
    "wide": WIDE,
    "one block": replace(WIDE, rows=12),
    "a row a block": replace(WIDE, rows=1),
    "the last block begins within the one before": replace(WIDE, rows=5),
    "images": replace(WIDE, shape=(3, 24, 12, 10)),
    "threads": replace(WIDE, shape=(2, 64, 40, 40), widths=(96, 32), threads=2),
    "one column": replace(WIDE, shape=(1, 24, 12, 1)),
    "one row": replace(WIDE, shape=(1, 24, 1, 12)),
    "two columns": replace(WIDE, shape=(1, 24, 12, 2)),
    "two rows": replace(WIDE, shape=(1, 24, 2, 12)),
    "strides": replace(WIDE, shape=(2, 24, 13, 11), strides=(2, 2)),
    "strides of rows": replace(WIDE, strides=(2, 1), pads=(0, 1, 1, 1)),
    "dilated": replace(WIDE, dilations=(2, 2), pads=(2, 2, 2, 2)),
    "5 x 5": replace(WIDE, window=(5, 5), pads=(2, 2, 2, 2)),
    "7 x 7, blocks smaller than what they read twice": replace(WIDE, window=(7, 7), pads=(3, 3, 3, 3), rows=2),
    "3 x 1": replace(WIDE, window=(3, 1), pads=(1, 0, 1, 0)),
    "1 x 3": replace(WIDE, window=(1, 3), pads=(0, 1, 0, 1)),
    "no zeros around": replace(WIDE, pads=(0, 0, 0, 0)),
    "zeros on one side": replace(WIDE, pads=(0, 2, 2, 0)),
    "more zeros than the window": replace(WIDE, pads=(4, 3, 5, 1), rows=3),
    "odd channels": replace(WIDE, shape=(1, 17, 9, 9), widths=(33, 9)),
    "activations": replace(WIDE, after=("Relu", "Min")),
    "sigmoids": replace(WIDE, after=("Sigmoid",)),
    "residual": replace(WIDE, widths=(40, 24), residual=True, rows=5),
    "residual of images": replace(WIDE, shape=(3, 24, 12, 10), widths=(40, 24), residual=True),
    "narrowed only": replace(WIDE, stages="dp", shape=(2, 24, 12, 10)),
    "widened only": replace(WIDE, stages="pd", shape=(2, 24, 12, 10)),
    "widened by 3 x 3": replace(WIDE, stages="cdp", shape=(2, 24, 12, 10)),
    "two": replace(WIDE, stages="pdpdp", kernels=2),
    "avx2": replace(WIDE, target=AVX2, shape=(2, 17, 13, 11), widths=(33, 9), strides=(2, 2)),
    "baseline": replace(WIDE, target="cpu:x86-64", shape=(2, 17, 13, 11), widths=(33, 9), residual=False),
}


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Lets every chain be blocks of so many rows: the sizes here are none for which that pays."""

    def force(rows: int) -> None:
        monkeypatch.setattr(block_separable, "block_rows", lambda chain, _: min(rows, chain.windows.output[0]))

    return force


@pytest.mark.parametrize("name", CASES)
def test_numbers(name: str, forced: Callable[[int], None]) -> None:
    case, rng = CASES[name], np.random.default_rng()
    model, x = case.model(rng), rng.standard_normal(case.shape).astype(np.float32)
    (expected,) = lamina.compile(model, target="interpret")(x)
    forced(case.rows)
    options = Options(threads=case.threads, cache=False)
    lowered = lamina.lower(lamina.import_onnx(model), "linalg", target=case.target, options=options)
    assert str(lowered).count('lamina.kernel = "separable"') == case.kernels
    (got,) = lamina.compile(model, case.target, options=options)(x)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_meaning(forced: Callable[[int], None]) -> None:
    """The interpreter on the structured ops."""
    case, rng = replace(WIDE, shape=(2, 8, 9, 7), widths=(16, 8), strides=(2, 1)), np.random.default_rng()
    model, x = case.model(rng), rng.standard_normal(case.shape).astype(np.float32)
    forced(2)
    lowered = lamina.lower(lamina.import_onnx(model), "linalg", target=AVX2)
    assert 'lamina.kernel = "separable"' in str(lowered)
    (got,) = lamina.interpret(lowered, [x])
    (expected,) = lamina.compile(model, target="interpret")(x)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_not_a_number(forced: Callable[[int], None]) -> None:
    """What is no number reaches the windows that hold it and no others, also where rows are computed twice."""
    model, x = WIDE.model(np.random.default_rng()), np.zeros(WIDE.shape, np.float32)
    x[0, 3, 4, 5], x[0, 7, 11, 9] = np.nan, np.inf
    forced(4)
    (got,) = lamina.compile(model, cache=False)(x)
    (expected,) = lamina.compile(model, target="interpret")(x)
    np.testing.assert_array_equal(np.isfinite(got), np.isfinite(expected))
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
