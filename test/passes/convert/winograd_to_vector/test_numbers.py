"""Convolutions by Winograd's transforms give the numbers of the sum itself, whatever the shape leaves over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import lamina
from lamina.backends import Options
from lamina.passes.linalg import winograd

# Largest error relative to the largest output, against float64: what the pass's documentation states, at 512 channels.
LIMIT = {2: 2e-6, 4: 6e-6}
AVX2 = "cpu:x86-64-avx2"  # whose caches decide about blocks; any x86-64 of today runs it


@dataclass(frozen=True)
class Case:
    """A convolution N x C x H x W to F filters; `pads` as ONNX has them: top, left, bottom, right."""

    shape: tuple[int, int, int, int]
    filters: int
    pads: tuple[int, int, int, int] = (1, 1, 1, 1)
    after: tuple[str, ...] = ()

    @property
    def output(self) -> tuple[int, int, int, int]:
        n, _, h, w = self.shape
        top, left, bottom, right = self.pads
        return n, self.filters, h + top + bottom - 2, w + left + right - 2


def model(case: Case, weights: np.ndarray, bias: np.ndarray) -> onnx.ModelProto:
    nodes = [helper.make_node("Conv", ["x", "w", *(["b"] if "bias" in case.after else [])], ["y0"], pads=case.pads)]
    last = "y0"
    for number, name in enumerate(n for n in case.after if n != "bias"):
        inputs = [last, "r"] if name == "Add" else [last]
        nodes.append(helper.make_node(name, inputs, [f"y{number + 1}"]))
        last = f"y{number + 1}"
    float32 = TensorProto.FLOAT
    inputs = [helper.make_tensor_value_info("x", float32, case.shape)]
    if "Add" in case.after:
        inputs.append(helper.make_tensor_value_info("r", float32, case.output))
    graph = helper.make_graph(
        nodes,
        "conv",
        inputs,
        [helper.make_tensor_value_info(last, float32, case.output)],
        [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(bias, "b")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def expected(case: Case, x: np.ndarray, w: np.ndarray, b: np.ndarray, r: np.ndarray) -> np.ndarray:
    """In float64."""
    top, left, bottom, right = case.pads
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), (top, bottom), (left, right)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    y = np.einsum("nchwij,fcij->nfhw", windows, w.astype(np.float64), optimize=True)
    for name in case.after:
        match name:
            case "bias":
                y = y + b[:, None, None]
            case "Relu":
                y = np.maximum(y, 0)
            case "Add":
                y = y + r
            case "Sigmoid":
                y = 1 / (1 + np.exp(-y))
            case _:
                raise AssertionError(name)
    return y


def check(case: Case, tile: int, target: str = "cpu", threads: int = 2) -> None:
    rng = np.random.default_rng(0)
    x, r = rng.standard_normal(case.shape), rng.standard_normal(case.output)
    w, b = rng.standard_normal((case.filters, case.shape[1], 3, 3)), rng.standard_normal(case.filters)
    w /= np.sqrt(w[0].size)  # so that outputs are about 1
    x, r, w, b = (a.astype(np.float32) for a in (x, r, w, b))
    options = Options(threads=threads, cache=False, winograd=tile)
    compiled = lamina.compile(model(case, w, b), target, options=options)
    (got,) = compiled(*([x, r] if "Add" in case.after else [x]))
    want = expected(case, x, w, b, r)
    error = np.abs(got - want).max() / np.abs(want).max()
    assert error < LIMIT[tile], f"{case}: {error}"


@pytest.mark.parametrize(("size", "tile"), [*((s, 4) for s in range(1, 20)), *((s, 2) for s in (1, 2, 3, 6, 11))])
def test_sizes(size: int, tile: int):
    """Every rest of rows and columns, with channels that leave a rest too."""
    other = (size * 7) % 19 + 1
    check(Case((1, 3 + size, size, other), 25 - size, after=("bias", "Relu")), tile)


@pytest.mark.parametrize("tile", [2, 4])
@pytest.mark.parametrize("pads", [(0, 0, 0, 0), (0, 1, 2, 3), (2, 0, 1, 1), (5, 7, 0, 9)])
def test_paddings(pads: tuple[int, int, int, int], tile: int):
    check(Case((2, 8, 7, 9), 8, pads), tile)


@pytest.mark.parametrize(("channels", "filters"), [(1, 1), (2, 9), (7, 8), (8, 16), (13, 31), (64, 3), (512, 5)])
def test_channels(channels: int, filters: int):
    check(Case((1, channels, 6, 5), filters), 4)


@pytest.mark.parametrize("after", [("Add", "Relu"), ("bias", "Sigmoid"), ("Relu", "Add"), ("bias", "Add", "Relu")])
@pytest.mark.parametrize("filters", [16, 19, 5])
def test_epilogues(after: tuple[str, ...], filters: int):
    check(Case((3, 16, 9, 10), filters, after=after), 4)


@pytest.mark.parametrize("tile", [2, 4])
def test_meaning(tile: int):
    """The interpreter on the structured ops: input, filter and output transform around a contraction."""
    case = Case((2, 5, 7, 9), 3, (0, 1, 2, 3), ("bias", "Relu"))
    rng = np.random.default_rng(0)
    x, w, b = (rng.standard_normal(s).astype(np.float32) for s in (case.shape, (3, 5, 3, 3), (3,)))
    program = lamina.import_onnx(model(case, w, b))
    lowered = lamina.lower(program, "linalg", options=Options(winograd=tile))
    assert f"fmr(F_{tile}_3)" in str(lowered)
    (got,) = lamina.interpret(lowered, [x])
    np.testing.assert_allclose(got, expected(case, x, w, b, b), rtol=1e-4, atol=1e-5)


def test_enough_work_for_threads():
    check(Case((1, 32, 40, 41), 32, after=("bias", "Relu")), 4)
    check(Case((5, 32, 12, 12), 33, after=("bias", "Relu")), 2, threads=1)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "case",
    [
        Case((1, 40, 45, 46), 41, after=("bias", "Relu")),
        Case((3, 24, 30, 57), 40, (0, 1, 2, 1), ("Add", "Relu")),
        Case((2, 48, 28, 60), 48, after=("Relu", "Add")),
    ],
)
def test_blocks(case: Case, threads: int):
    """Enough tiles for blocks that go through all three steps in one kernel."""
    w = np.zeros((case.filters, case.shape[1], 3, 3), np.float32)
    options = Options(threads=threads, winograd=4)
    program = lamina.lower(lamina.import_onnx(model(case, w, w[:, 0, 0, 0])), "linalg", target=AVX2, options=options)
    assert "lamina.block_rows" in str(program)
    check(case, 4, AVX2, threads)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "case",
    [
        Case((1, 130, 6, 7), 128, after=("bias", "Relu")),
        Case((2, 208, 9, 5), 112, (0, 1, 2, 1), ("Add", "Relu")),
        Case((1, 1000, 3, 4), 16),
        Case((1, 130, 6, 7), 120, after=("bias", "Relu")),
        Case((2, 208, 9, 5), 113, (0, 1, 2, 1), ("Add", "Relu")),
        Case((1, 1000, 3, 4), 31),
        Case((1, 2000, 3, 4), 9),
    ],
)
def test_large_filters(case: Case, threads: int, monkeypatch: pytest.MonkeyPatch):
    """Filters that are transformed while the convolution runs, as soon as all of a program would take too much."""
    w = np.zeros((case.filters, case.shape[1], 3, 3), np.float32)
    options = Options(threads=threads, winograd=4)
    few = 144 * case.filters * case.shape[1]
    for room, late in ((few, False), (few - 1, True)):
        monkeypatch.setattr(winograd, "FEW_FILTERS", room)
        onnx_model = model(case, w, w[:, 0, 0, 0])
        program = lamina.lower(lamina.import_onnx(onnx_model), "linalg", target=AVX2, options=options)
        assert (f"x{case.shape[1]}x3x3x16xf32>) outs" in str(program)) is late
    check(case, 4, AVX2, threads)


def test_what_is_not_finite_stays_so():
    case = Case((1, 8, 12, 12), 8)
    x = np.ones(case.shape, np.float32)
    x[0, 3, 4, 5], x[0, 2, 9, 9] = np.nan, np.inf
    w = np.ones((8, 8, 3, 3), np.float32)
    compiled = lamina.compile(model(case, w, w[0, :, 0, 0]), options=Options(cache=False, winograd=4))
    (got,) = compiled(x)
    assert not np.isfinite(got[0, :, 3:6, 4:7]).any() and not np.isfinite(got[0, :, 8:11, 8:11]).any()
    assert np.isfinite(got[0, :, :, :3]).all() and np.isfinite(got[0, :, :3]).all()
