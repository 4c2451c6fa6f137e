"""Running kernels of the tile level: on the tile level itself, and as programs of a machine."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from lamina.compiler.interpreter import Interpreter
from lamina.compiler.systolic_machine import SystolicMachine
from lamina.compiler.weights import WeightStore
from lamina.dialects.systolic.checker import check_program
from lamina.dialects.systolic.encoding import Instruction, instruction
from lamina.dialects.systolic.numerics import requantize
from lamina.dialects.systolic.semantics import Chip
from lamina.passes.convert.tile_to_pipe.driver import stream_of
from lamina.passes.systolic.geometry import Convolution
from lamina.passes.systolic.semaphores import instructions_of

Array = np.ndarray[Any, Any]


def program_of(function: FuncOp, arrays: Sequence[Array]) -> tuple[list[Instruction], Array, list[int]]:
    """A kernel as a program, DRAM with its arguments one behind the other, and where each of them is."""
    stream = stream_of(function)
    stream.verify()
    starts = list(np.cumsum([7, *(array.nbytes for array in arrays)]))  # not aligned to anything
    dram = np.zeros(starts[-1], np.uint8)
    for start, array in zip(starts, arrays, strict=False):
        dram[start : start + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    moves = [instruction("ar", reg=i + 1, set=1, delta=int(start)) for i, start in enumerate(starts[:-1])]
    return [*moves, *instructions_of(stream), instruction("halt")], dram, [int(s) for s in starts]


def run_on_chip(function: FuncOp, machine: SystolicMachine, arrays: Sequence[Array]) -> Array:
    """What the program, which must be free of races, leaves in the last argument."""
    program, dram, starts = program_of(function, arrays)
    check_program(program, machine, dram.size)
    Chip(machine, dram).run(program)
    last = arrays[-1]
    return dram[starts[-2] : starts[-1]].view(last.dtype).reshape(last.shape)


def run_on_tiles(function: FuncOp, arrays: Sequence[Array]) -> Array:
    """What the tile level's own meaning leaves in the last argument."""
    copies = [array.copy() for array in arrays]
    module = ModuleOp([function.clone()])
    only = next(op for op in module.ops if isinstance(op, FuncOp))
    Interpreter(WeightStore()).run(only, copies)
    return copies[-1]


def operands(c: Convolution, machine: SystolicMachine, rng: np.random.Generator) -> tuple[list[Array], Array]:
    """Random arguments of a kernel, and the result that is right for a pad of -3 and a zero point of 4."""
    (height, width), (kh, kw), windows = c.image, c.kernel, c.windows(machine.rows)
    x = rng.integers(-128, 128, (height, width, c.channels)).astype(np.int8)
    w = rng.integers(-127, 128, (kh, kw, c.channels, c.filters)).astype(np.int8)
    bias = rng.integers(-1000, 1000, c.filters).astype(np.int32)
    scale = (rng.uniform(0.5, 2, c.filters) / (74 * 2 * np.sqrt(c.channels * kh * kw))).astype(np.float32)
    (top, left, bottom, right), (sh, sw), (dh, dw), out = c.pads, c.strides, c.dilations, c.out
    around = np.pad(x, ((top, bottom), (left, right), (0, 0)), constant_values=-3).astype(np.int64)
    total = np.zeros((*out, c.filters), np.int64)
    for i in range(kh):
        for j in range(kw):
            rows = slice(i * dh, i * dh + (out[0] - 1) * sh + 1, sh)
            total += around[rows, j * dw : j * dw + (out[1] - 1) * sw + 1 : sw] @ w[i, j].astype(np.int64)
    right_result = requantize(total.astype(np.int32), bias, scale, 4, -128, 127)
    blocks, planes = ceil(c.filters / machine.cols), ceil(windows.run / machine.rows)
    flat = w.reshape(kh, 1, kw * c.channels, c.filters) if windows.packed else w
    padded = np.zeros((*flat.shape[:2], planes * machine.rows, blocks * machine.cols), np.int8)
    padded[:, :, : flat.shape[2], : c.filters] = flat
    tiles = padded.reshape(-1, planes, machine.rows, blocks, machine.cols).transpose(3, 1, 0, 2, 4).copy()
    table = np.zeros((blocks * machine.cols, 2), np.int32)
    table[: c.filters, 0], table[: c.filters, 1] = bias, scale.view(np.int32)
    image = x.reshape(windows.rows, windows.row_bytes)
    y = np.zeros((*windows.out, c.filters), np.int8)
    return [image, tiles, table.reshape(blocks, machine.cols, 2), y], right_result.reshape(y.shape)
