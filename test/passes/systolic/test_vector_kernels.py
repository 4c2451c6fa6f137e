"""Kernels of the vector unit: each level gives what the layer's meaning gives."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import FunctionType, TensorType, i8, i32
from xdsl.dialects.func import FuncOp, ReturnOp

from lamina.compiler.interpreter import Interpreter
from lamina.compiler.systolic_machine import SystolicMachine
from lamina.compiler.weights import WeightStore
from lamina.dialects import accel
from lamina.dialects.accel.ops import window_properties
from lamina.dialects.systolic.numerics import requantize
from lamina.passes.convert.accel_to_tile.kernels import Kernels, geometry_of
from lamina.passes.systolic.geometry import Convolution
from lamina.passes.systolic.groups import diagonal, group_of
from lamina.passes.systolic.packing import blocked, blocked_lanes, table_of

sys.path.insert(0, str(Path(__file__).parent))
from machine_runs import run_on_chip, run_on_tiles

MACHINES = ["tiny4", "8x16", "16x8", "gemmini16"]


def check(make: Any, machine: SystolicMachine, arrays: list[Any]) -> None:
    """The layer that `make` gives, by its own meaning and by its kernel."""
    kinds = [TensorType(i32 if a.dtype == np.int32 else i8, a.shape) for a in arrays]
    function = FuncOp("f", FunctionType.from_lists(kinds, []))
    op = make(*function.args)
    function.body.block.add_ops([op, ReturnOp(op.result)])
    function.function_type = FunctionType.from_lists(kinds, [op.result.type])
    function.verify()
    [right] = Interpreter(WeightStore()).run(function, arrays)
    kernel = Kernels().kernel(op, machine)
    kernel.verify()
    given = [*arrays, np.zeros(right.shape, np.int8)]
    shaped = [a.reshape(t.get_shape()) for a, t in zip(given, kernel.function_type.inputs.data, strict=True)]
    assert np.array_equal(run_on_tiles(kernel, shaped).reshape(right.shape), right)
    assert np.array_equal(run_on_chip(kernel, machine, shaped).reshape(right.shape), right)


def images(rng: np.random.Generator, *shape: int) -> Any:
    return rng.integers(-128, 128, (1, *shape)).astype(np.int8)


def windows(g: Convolution, pad: int) -> Any:
    return window_properties(g.kernel, g.strides, g.dilations, g.pads, pad)


@pytest.mark.parametrize("name", MACHINES)
def test_depthwise(name: str) -> None:
    machine, rng = SystolicMachine.preset(name), np.random.default_rng(1)
    for g in (
        Convolution((9, 8), 19, 19, (3, 3), (2, 1), (1, 2), (1, 0, 2, 1)),
        Convolution((7, 7), 4, 4, (7, 7)),
        Convolution((25, 5), 6, 6, (25, 5)),  # larger than what the unit walks over at once
    ):
        weights = np.ones((*g.kernel, g.channels), np.int8)
        if g.kernel[0] < 8:
            weights = rng.integers(-127, 128, weights.shape).astype(np.int8)
        bias = rng.integers(-99, 99, g.channels).astype(np.int32)
        scale = rng.uniform(0.001, 0.01, g.channels).astype(np.float32)
        arrays = [images(rng, *g.image, g.channels), blocked_lanes(weights, machine), table_of(bias, scale, machine)]
        shape = 1, *g.out, g.filters

        def layer(x: Any, w: Any, t: Any, g: Convolution = g, shape: Any = shape) -> Any:
            return accel.DepthwiseOp((x, w, t), shape, windows(g, 5), (-3, -100, 90))

        check(layer, machine, arrays)


@pytest.mark.parametrize("groups", [2, 3])
def test_groups(groups: int) -> None:
    """Groups that are computed together as one are zero across; each group reads and writes its channels only."""
    machine, rng = SystolicMachine.preset("tiny4"), np.random.default_rng(5)
    whole = Convolution((6, 7), 12, 18, (3, 2), (1, 2), pads=(1, 1, 1, 0))
    weights = rng.integers(-127, 128, (3, 2, 12 // 6, 18)).astype(np.int8)  # six groups
    one = group_of(whole, groups).windows(machine.rows)
    blocks = np.stack([blocked(part, one, machine) for part in diagonal(weights, 6, groups)])
    bias, scale = rng.integers(-99, 99, 18).astype(np.int32), np.full(18, 0.004, np.float32)
    halves = zip(np.split(bias, groups), np.split(scale, groups), strict=True)
    tables = np.stack([table_of(b, s, machine) for b, s in halves])
    x = images(rng, 6, 7, 12)
    parts = [(x[..., 2 * g : 2 * g + 2], weights[..., 3 * g : 3 * g + 3]) for g in range(6)]
    right = [sums_of(part, w, whole) for part, w in parts]
    expected = requantize(np.concatenate(right, axis=3).astype(np.int32), bias, scale, -3, -100, 90)
    kinds = [TensorType(i32 if a.dtype == np.int32 else i8, a.shape) for a in (x, blocks, tables)]
    function = FuncOp("f", FunctionType.from_lists(kinds, []))
    op = accel.GroupedConvOp(tuple(function.args), (1, *whole.out, 18), windows(whole, 5), (-3, -100, 90))
    function.body.block.add_ops([op, ReturnOp(op.result)])
    function.function_type = FunctionType.from_lists(kinds, [op.result.type])
    function.verify()
    [meant] = Interpreter(WeightStore()).run(function, [x, blocks, tables])
    assert np.array_equal(meant, expected)


def sums_of(x: Any, weights: Any, g: Convolution) -> Any:
    top, left, bottom, right = g.pads
    around = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=5).astype(np.int64)
    (height, width), (sh, sw) = g.out, g.strides
    total = np.zeros((1, height, width, weights.shape[3]), np.int64)
    for r, q in np.ndindex(g.kernel):
        window = around[:, r : r + (height - 1) * sh + 1 : sh, q : q + (width - 1) * sw + 1 : sw]
        total += window @ weights[r, q].astype(np.int64)
    return total


@pytest.mark.parametrize("name", MACHINES)
def test_max_pool(name: str) -> None:
    machine, rng = SystolicMachine.preset(name), np.random.default_rng(2)
    g = Convolution((9, 11), 21, 21, (3, 2), (2, 2), (1, 1), (1, 1, 0, 1))
    check(lambda x: accel.MaxPoolOp(x, (1, *g.out, 21), windows(g, -128)), machine, [images(rng, 9, 11, 21)])


@pytest.mark.parametrize("name", MACHINES)
def test_add(name: str) -> None:
    machine, rng = SystolicMachine.preset(name), np.random.default_rng(3)
    arrays = [images(rng, 13, 7, 21), images(rng, 13, 7, 21)]
    check(lambda a, b: accel.AddOp(a, b, (0.7, 0.31, -2.5), (1, -120, 110)), machine, arrays)


@pytest.mark.parametrize("name", MACHINES)
def test_sum_behind_a_convolution(name: str) -> None:
    """As either addend, with tiles of several sizes and blocks that are not full."""
    machine, rng = SystolicMachine.preset(name), np.random.default_rng(4)
    for g, behind in (
        (Convolution((7, 9), 6, 21, (3, 3), pads=(1, 1, 1, 1)), True),
        (Convolution((1, 83), 33, 9), False),
    ):
        weights = rng.integers(-127, 128, (*g.kernel, g.channels, g.filters)).astype(np.int8)
        bias = rng.integers(-99, 99, g.filters).astype(np.int32)
        scale = rng.uniform(0.001, 0.01, g.filters).astype(np.float32)
        arrays = [images(rng, *g.image, g.channels), blocked(weights, g.windows(machine.rows), machine)]
        arrays += [table_of(bias, scale, machine), images(rng, *g.out, g.filters)]

        def layer(x: Any, w: Any, t: Any, r: Any, g: Convolution = g, behind: bool = behind) -> Any:
            conv = accel.ConvOp((x, w, t), (1, *g.out, g.filters), windows(g, 5), (-3, -100, 90))
            addends = (r, conv.result) if behind else (conv.result, r)
            add = accel.AddOp(*addends, (0.7, 0.31, -2.5), (1, -120, 110))
            fused = accel.ConvAddOp(conv, add, r)
            add.erase()
            conv.erase()
            return fused

        check(layer, machine, arrays)


@pytest.mark.parametrize("name", MACHINES)
def test_pool_behind_a_convolution(name: str) -> None:
    """Blocks that are not whole are left out, of rows and of columns; tiles are of whole blocks."""
    machine, rng = SystolicMachine.preset(name), np.random.default_rng(7)
    for g, block in (
        (Convolution((9, 11), 6, 21, (3, 3), pads=(1, 1, 1, 1)), (2, 2)),
        (Convolution((40, 26), 5, 7, (2, 3)), (3, 2)),
        (Convolution((17, 9), 20, 4, (1, 1), (2, 1)), (1, 4)),
    ):
        weights = rng.integers(-127, 128, (*g.kernel, g.channels, g.filters)).astype(np.int8)
        bias = rng.integers(-99, 99, g.filters).astype(np.int32)
        scale = rng.uniform(0.001, 0.01, g.filters).astype(np.float32)
        arrays = [images(rng, *g.image, g.channels), blocked(weights, g.windows(machine.rows), machine)]
        arrays.append(table_of(bias, scale, machine))

        def layer(x: Any, w: Any, t: Any, g: Convolution = g, block: Any = block) -> Any:
            conv = accel.ConvOp((x, w, t), (1, *g.out, g.filters), windows(g, 5), (-3, -100, 90))
            shape = 1, g.out[0] // block[0], g.out[1] // block[1], g.filters
            pool = accel.MaxPoolOp(conv.result, shape, window_properties(block, block, (1, 1), (0, 0, 0, 0), -128))
            fused = accel.ConvPoolOp(conv, pool)
            pool.erase()
            conv.erase()
            return fused

        check(layer, machine, arrays)


@pytest.mark.parametrize("name", MACHINES)
def test_copies(name: str) -> None:
    """All channels of an image, blocks that are not full, too, come between those of another."""
    machine, rng = SystolicMachine.preset(name), np.random.default_rng(8)
    for pixels, channels in ((300, 21), (5, 3)):
        x, y = images(rng, pixels, channels)[0], np.zeros((1, pixels, channels + 4), np.int8)
        kernel = Kernels().copy(pixels, channels, channels + 4, machine)
        kernel.verify()
        for run in (run_on_tiles, lambda k, arrays: run_on_chip(k, machine, arrays)):
            made = run(kernel, [x.reshape(1, -1), y.copy()])
            assert np.array_equal(made[0, :, :channels], x) and not made[0, :, channels:].any()


@pytest.mark.parametrize("name", MACHINES)
def test_products_of_two_images(name: str) -> None:
    """The second as it lies in DRAM: blocks that are not full, the last rows of a matrix, fewer rows than the array."""
    machine, rng = SystolicMachine.preset(name), np.random.default_rng(6)
    for m, k, n in ((7, 70, 21), (40, 3, 5), (1, 64, 33), (130, 32, 16)):
        scale = np.full(n, 0.004, np.float32)
        arrays = [images(rng, 1, m, k), images(rng, 1, k, n), table_of(np.zeros(n, np.int32), scale, machine)]

        def layer(a: Any, b: Any, t: Any, shape: Any = (1, 1, m, n)) -> Any:
            return accel.ProductOp((a, b, t), shape, 1, (-3, -100, 90))

        check(layer, machine, arrays)


def test_geometry_is_kept() -> None:
    g = Convolution((9, 11), 21, 21, (3, 2), (2, 2), (1, 1), (1, 1, 0, 1))
    constant = ConstantOp.create(result_types=[TensorType(i8, [1, 9, 11, 21])])
    assert geometry_of(accel.MaxPoolOp(constant.results[0], (1, *g.out, 21), windows(g, -128))) == g
