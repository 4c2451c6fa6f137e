"""Holds the compiler against NumPy: products and convolutions of random shapes on random machines.

Each becomes a program as a layer does, which must be free of races and hangs and give NumPy's bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp

from ...compiler.diagnostics import LaminaError
from ...compiler.systolic_machine import SystolicMachine
from ...dialects.systolic.checker import check_program
from ...dialects.systolic.encoding import Instruction, instruction
from ...dialects.systolic.numerics import requantize
from ...dialects.systolic.semantics import Chip
from ...passes.convert.tile_to_pipe.driver import stream_of
from ...passes.systolic.contraction import contraction_kernel
from ...passes.systolic.geometry import Convolution
from ...passes.systolic.packing import blocked, table_of
from ...passes.systolic.schedule import search
from ...passes.systolic.semaphores import instructions_of

MACHINES = ("tiny4", "edge8", "8x16", "16x8", "gemmini16", "vta16")
PAD, POST = -3, (4, -128, 127)
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Tally:
    """What was tried; `faults` tells of each shape that went wrong."""

    shapes: int
    instructions: int
    faults: tuple[str, ...]


def random_problem(rng: np.random.Generator) -> Convolution:
    """A product or a convolution: odd, tiny, of no multiples."""
    if rng.random() < 0.5:
        m, k, n = (int(v) for v in rng.integers(1, 60, 3))
        return Convolution((1, m), k, n)
    numbers = [int(v) for v in rng.integers(1, 4, 6)]
    pads = [int(v) for v in rng.integers(0, 2, 4)]
    image = int(rng.integers(7, 13)), int(rng.integers(7, 13))
    channels, filters = int(rng.integers(1, 40)), int(rng.integers(1, 40))
    kernel, strides = (numbers[0], numbers[1]), (numbers[2], numbers[3])
    dilations = min(numbers[4], 2), min(numbers[5], 2)
    return Convolution(image, channels, filters, kernel, strides, dilations, (pads[0], pads[1], pads[2], pads[3]))


def operands(
    c: Convolution, machine: SystolicMachine, rng: np.random.Generator, matrix: bool = False
) -> tuple[list[Array], Array]:
    """Random arguments of a kernel, and the result that is right for `PAD` and `POST`; weights in blocks, or not."""
    (height, width), (kh, kw), windows = c.image, c.kernel, c.windows(machine.rows)
    x = rng.integers(-128, 128, (height, width, c.channels)).astype(np.int8)
    w = rng.integers(-127, 128, (kh, kw, c.channels, c.filters)).astype(np.int8)
    bias = rng.integers(-1000, 1000, c.filters).astype(np.int32)
    scale = (rng.uniform(0.5, 2, c.filters) / (74 * 2 * np.sqrt(c.channels * kh * kw))).astype(np.float32)
    (top, left, bottom, right), (sh, sw), (dh, dw), out = c.pads, c.strides, c.dilations, c.out
    around = np.pad(x, ((top, bottom), (left, right), (0, 0)), constant_values=PAD).astype(np.int64)
    total = np.zeros((*out, c.filters), np.int64)
    for i in range(kh):
        for j in range(kw):
            rows = slice(i * dh, i * dh + (out[0] - 1) * sh + 1, sh)
            total += around[rows, j * dw : j * dw + (out[1] - 1) * sw + 1 : sw] @ w[i, j].astype(np.int64)
    right_result = requantize(total.astype(np.int32), bias, scale, *POST)
    image = x.reshape(windows.rows, windows.row_bytes)
    y = np.zeros((*windows.out, c.filters), np.int8)
    arrays = [image, w[0, 0] if matrix else blocked(w, windows, machine), table_of(bias, scale, machine), y]
    return arrays, right_result.reshape(y.shape)


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


def try_shapes(numbers: Sequence[int], tell: Callable[[str], None] = lambda _: None) -> Tally:
    """Compiles, proves and runs the random shapes with these numbers; each number gives the same shape and machine."""
    faults: list[str] = []
    instructions = 0
    for done, number in enumerate(numbers, 1):
        rng = np.random.default_rng(number)
        machine, problem = SystolicMachine.preset(str(rng.choice(MACHINES))), random_problem(rng)
        matrix = problem.image[0] == 1 and rng.random() < 0.3  # a product of two activations
        windows = replace(problem.windows(machine.rows), matrix=matrix)
        try:
            function = contraction_kernel("k", windows, search(windows, machine), machine, PAD, POST)
            arrays, right = operands(problem, machine, rng, matrix)
            program, dram, starts = program_of(function, arrays)
            instructions += len(program)
            check_program(program, machine, dram.size)
            Chip(machine, dram).run(program)
            if not np.array_equal(dram[starts[-2] : starts[-1]].view(np.int8).reshape(right.shape), right):
                faults.append(f"shape {number}, {problem} on {machine.name}: bytes differ")
        except LaminaError as error:
            faults.append(f"shape {number}, {problem} on {machine.name}: {error}")
        search.cache_clear()  # no two are alike
        if done % 500 == 0:
            tell(f"{done} shapes, {instructions} instructions, {len(faults)} wrong")
    return Tally(len(numbers), instructions, tuple(faults))
