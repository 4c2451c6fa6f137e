"""Sizes around every boundary of the register tile: rows, panel columns, depth, batch, strips of a convolution.

Many shapes go through one compilation, each instruction set of this machine by name.
"""

from __future__ import annotations

import itertools
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto
from onnx import helper as h
from onnx import numpy_helper as nh

import lamina
from lamina.compiler.machine import Machine
from lamina.passes.convert.contraction_to_vector.schedule import max_rows

Array = np.ndarray[Any, np.dtype[Any]]
TOGETHER = 48  # shapes in one module


def runs_here(name: str) -> bool:
    if platform.machine() not in ("x86_64", "AMD64"):
        return name == "host"
    host = Machine.host()
    return name == "host" or all(feature in host.features for feature in Machine.preset(name).features)


MACHINES = [
    pytest.param(name, marks=pytest.mark.skipif(not runs_here(name), reason=f"this machine is no {name}"))
    for name in ("host", "x86-64", "x86-64-avx512")
]


@dataclass(frozen=True)
class Tile:
    """The boundaries of a machine's register tile for f32."""

    rows: int
    lanes: int

    @staticmethod
    def of(name: str) -> Tile:
        machine = Machine.host() if name == "host" else Machine.preset(name)
        return Tile(max_rows(machine, 2), machine.lanes(4))

    @property
    def heights(self) -> list[int]:
        return list(range(1, self.rows + 3))

    @property
    def widths(self) -> list[int]:
        near = [multiple * self.lanes + d for multiple in (1, 2, 4) for d in range(-2, 3)]
        return sorted({n for n in near if n > 0} | {1, 2, 3})


DEPTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 17, 31, 33]
RUNNING = [254, 255, 256, 257, 258, 510, 514]  # blocks of k


@dataclass(frozen=True)
class Case:
    """Operands' shapes, what to do with them in ONNX and in NumPy; constants are weights."""

    shapes: tuple[tuple[int, ...], ...]
    op: str
    meaning: Callable[..., Array]
    attributes: tuple[tuple[str, Any], ...] = ()
    constant: tuple[int, ...] = ()
    relu: bool = False


def drawn(case: Case, number: int) -> list[Array]:
    rng = np.random.default_rng(number)
    return [rng.standard_normal(shape).astype(np.float32) for shape in case.shapes]


def net(cases: Sequence[Case]) -> tuple[ModelProto, dict[str, Array], list[Array]]:
    """One model of all cases, its inputs, and what it should give, in f64."""
    nodes: list[NodeProto] = []
    weights: dict[str, Array] = {}
    inputs: dict[str, Array] = {}
    want: list[Array] = []
    for i, case in enumerate(cases):
        operands = drawn(case, i)
        names = [f"a{i}_{j}" for j in range(len(operands))]
        for j, (name, operand) in enumerate(zip(names, operands, strict=True)):
            (weights if j in case.constant else inputs)[name] = operand
        nodes.append(h.make_node(case.op, names, [f"r{i}" if case.relu else f"y{i}"], **dict(case.attributes)))
        result = case.meaning(*(operand.astype(np.float64) for operand in operands))
        if case.relu:
            nodes.append(h.make_node("Relu", [f"r{i}"], [f"y{i}"]))
            result = np.maximum(result, 0)
        want.append(result)
    float_ = TensorProto.FLOAT
    graph = h.make_graph(
        nodes,
        "boundaries",
        [h.make_tensor_value_info(name, float_, value.shape) for name, value in inputs.items()],
        [h.make_tensor_value_info(f"y{i}", float_, result.shape) for i, result in enumerate(want)],
        [nh.from_array(value, name) for name, value in weights.items()],
    )
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 21)], ir_version=10), inputs, want


def check(cases: Sequence[Case], name: str) -> None:
    target = "cpu" if name == "host" else f"cpu:{name}"
    wrong: list[str] = []
    for start in range(0, len(cases), TOGETHER):
        part = cases[start : start + TOGETHER]
        model, inputs, want = net(part)
        got = lamina.compile(model, target, cache=False)(**inputs)
        for case, result, expected in zip(part, got, want, strict=True):
            depth = max(1, int(np.prod(case.shapes[1])) // max(1, expected.shape[-1]))
            bound = 4 * np.finfo(np.float32).eps * (depth + 4) ** 0.5
            if not np.allclose(result, expected, rtol=bound, atol=bound * depth**0.5):
                worst = np.abs(result - expected).max()
                wrong.append(f"{case.op} {case.shapes} {dict(case.attributes)} {case.constant}: off by {worst:.3g}")
    assert not wrong, "\n".join(wrong)


def matmul(rows: int, columns: int, depth: int, constant: bool, batch: tuple[int, ...] = ()) -> Case:
    shapes = ((*batch, rows, depth), (*batch, depth, columns))
    return Case(shapes, "MatMul", np.matmul, constant=(1,) if constant else ())


def gemm(rows: int, columns: int, depth: int, trans_a: bool, trans_b: bool, constant: bool) -> Case:
    """With a bias and a ReLU behind it."""

    def meaning(a: Array, b: Array, c: Array) -> Array:
        return (a.T if trans_a else a) @ (b.T if trans_b else b) + c

    a = (depth, rows) if trans_a else (rows, depth)
    b = (columns, depth) if trans_b else (depth, columns)
    attributes = (("transA", int(trans_a)), ("transB", int(trans_b)))
    return Case((a, b, (columns,)), "Gemm", meaning, attributes, (1, 2) if constant else (), relu=True)


def vector_matrix(columns: int, depth: int, constant: bool) -> Case:
    return Case(((depth,), (depth, columns)), "MatMul", np.matmul, constant=(1,) if constant else ())


def matrix_vector(rows: int, depth: int, constant: bool) -> Case:
    return Case(((rows, depth), (depth,)), "MatMul", np.matmul, constant=(0,) if constant else ())


@dataclass(frozen=True)
class Window:
    """A convolution's kernel, stride, padding, dilation and groups."""

    kernel: int
    stride: int = 1
    pad: int = 0
    dilation: int = 1
    groups: int = 1


def convolution(channels: int, filters: int, height: int, width: int, window: Window) -> Case:
    """Over one image that gives `height` x `width` results."""

    def extent(size: int) -> int:
        return (size - 1) * window.stride + (window.kernel - 1) * window.dilation + 1 - 2 * window.pad

    def meaning(x: Array, w: Array) -> Array:
        x = np.pad(x, ((0, 0), (0, 0), (window.pad, window.pad), (window.pad, window.pad)))
        result = np.zeros((1, filters, height, width))
        per_group = filters // window.groups
        for i, j in np.ndindex(window.kernel, window.kernel):
            top, left = i * window.dilation, j * window.dilation
            rows = slice(top, top + (height - 1) * window.stride + 1, window.stride)
            columns = slice(left, left + (width - 1) * window.stride + 1, window.stride)
            for group in range(window.groups):
                own = slice(group * per_group, (group + 1) * per_group)
                read = slice(group * channels // window.groups, (group + 1) * channels // window.groups)
                result[:, own] += np.einsum("nchw,oc->nohw", x[:, read, rows, columns], w[own, :, i, j])
        return result

    shapes = (
        (1, channels, extent(height), extent(width)),
        (filters, channels // window.groups, window.kernel, window.kernel),
    )
    attributes = (
        ("strides", [window.stride] * 2),
        ("pads", [window.pad] * 4),
        ("dilations", [window.dilation] * 2),
        ("group", window.groups),
    )
    return Case(shapes, "Conv", meaning, attributes, (1,))


def all_pairs(tile: Tile) -> Iterator[tuple[int, int, int]]:
    """Every height with every width, depths taken in turn, and every depth."""
    depths = itertools.cycle(DEPTHS)
    for rows, columns in itertools.product(tile.heights, tile.widths):
        yield rows, columns, next(depths)
    yield from every_value(tile)


def every_value(tile: Tile) -> Iterator[tuple[int, int, int]]:
    """Every height, every width and every depth, each with others taken in turn."""
    lists = (tile.heights, tile.widths, (*DEPTHS, *RUNNING))
    turns = [itertools.cycle(values) for values in lists]
    for _ in range(max(map(len, lists))):
        rows, columns, depth = map(next, turns)
        yield rows, columns, depth


SIZES = pytest.mark.parametrize(
    "sizes", [pytest.param(every_value, id="each"), pytest.param(all_pairs, id="pairs", marks=pytest.mark.slow)]
)
Sizes = Callable[[Tile], Iterator[tuple[int, int, int]]]


@SIZES
@pytest.mark.parametrize("constant", [True, False], ids=["constant", "dynamic"])
@pytest.mark.parametrize("name", MACHINES)
def test_products(name: str, constant: bool, sizes: Sizes):
    check([matmul(*each, constant) for each in sizes(Tile.of(name))], name)


@SIZES
@pytest.mark.parametrize("name", MACHINES)
def test_transposed_operands(name: str, sizes: Sizes):
    how = itertools.cycle(itertools.product([False, True], [False, True], [True, False]))
    check([gemm(*each, *next(how)) for each in sizes(Tile.of(name))], name)


@SIZES
@pytest.mark.parametrize("name", MACHINES)
def test_batches(name: str, sizes: Sizes):
    batches = itertools.cycle([((2,), True), ((3,), False), ((2, 2), False), ((5,), True)])
    check(
        [
            matmul(*each, constant, batch)
            for each, (batch, constant) in zip(sizes(Tile.of(name)), batches, strict=False)
        ],
        name,
    )


@pytest.mark.parametrize("name", MACHINES)
def test_vectors_times_matrices(name: str):
    tile = Tile.of(name)
    depths = itertools.cycle(DEPTHS)
    widths = [*tile.widths, *(8 * tile.lanes + d for d in range(-2, 3))]
    cases = [vector_matrix(n, next(depths), constant) for n in widths for constant in (True, False)]
    cases += [vector_matrix(5, k, True) for k in RUNNING]
    cases += [matrix_vector(n, k, constant) for n, k in zip(widths, depths, strict=False) for constant in (True, False)]
    cases += [matrix_vector(tile.rows + 1, k, False) for k in RUNNING]
    check(cases, name)


WINDOWS = [
    Window(1),
    Window(3),
    Window(3, pad=1),
    Window(3, stride=2, pad=1),
    Window(1, stride=2),
    Window(3, dilation=2, pad=2),
    Window(5, pad=2),
    Window(3, pad=1, groups=2),
]


@pytest.mark.parametrize("pairs", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["each", "pairs"])
@pytest.mark.parametrize("name", MACHINES)
def test_convolutions(name: str, pairs: bool):
    tile = Tile.of(name)
    windows, channels, heights = (itertools.cycle(values) for values in (WINDOWS, [3, 1, 2, 8, 4, 17], [1, 2, 3, 7]))
    widths = [*tile.heights, *(2 * tile.rows + d for d in range(-2, 3))]
    filters = itertools.cycle(n for n in tile.widths if n > 3)
    chosen = itertools.product(widths, tile.widths) if pairs else zip(widths * 2, filters, strict=False)
    cases: list[Case] = []
    for width, outputs in chosen:
        window = next(windows)
        grouped = [window.groups * -(-n // window.groups) for n in (next(channels), outputs)]
        cases.append(convolution(*grouped, next(heights), width + (width == window.pad), window))
    check(cases, name)


@pytest.mark.parametrize("name", MACHINES)
def test_depthwise_convolutions(name: str):
    tile = Tile.of(name)
    windows = itertools.cycle([Window(3, pad=1), Window(3, stride=2, pad=1), Window(5, pad=2), Window(3)])
    widths = itertools.cycle([7, 1, 2, 3, 8, 9, 14, 17])
    cases: list[Case] = []
    for channels in tile.widths:
        window = next(windows)
        each = Window(window.kernel, window.stride, window.pad, 1, channels)
        cases.append(convolution(channels, channels, 3 + channels % 3, max(3, next(widths)), each))
    check(cases, name)
