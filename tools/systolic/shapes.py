"""Cycles of the products and convolutions that others publish, on the timing model of a machine or on its hardware."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from ...backends.systolic.verilator import run_all
from ...compiler.diagnostics import LaminaError
from ...compiler.systolic_machine import SystolicMachine
from ...dialects.systolic.encoding import instruction
from ...dialects.systolic.timing import simulate
from ...passes.systolic.contraction import contraction_kernel
from ...passes.systolic.geometry import Convolution
from ...passes.systolic.schedule import entering, search
from .random_shapes import PAD, POST, operands, program_of

# M, K and N: cubes, the products of ResNet-50 that Exo schedules for Gemmini, and few rows
_PRODUCTS = (
    *((n, n, n) for n in (64, 256, 512, 1024)),
    *((12544, 64, 256), (12544, 256, 64), (3136, 128, 512), (3136, 512, 128), (784, 256, 1024)),
    (32, 2048, 2048),
)
# side of the image, channels and filters of Exo's 3x3 convolutions, of one image and of four as Exo's
_CONVOLUTIONS = ((56, 64, 64), (28, 128, 128), (14, 256, 256))
# ResNet-50, 224x224, stride in the 3x3: side of the image, channels, filters, kernel, stride, how many of the kind
_RESNET50 = (
    (224, 3, 64, 7, 2, 1),
    *((56, 64, 64, 1, 1, 1), (56, 64, 64, 3, 1, 3), (56, 64, 256, 1, 1, 4), (56, 256, 64, 1, 1, 2)),
    *((56, 256, 128, 1, 1, 1), (56, 128, 128, 3, 2, 1), (28, 128, 512, 1, 1, 4), (56, 256, 512, 1, 2, 1)),
    *((28, 512, 128, 1, 1, 3), (28, 128, 128, 3, 1, 3)),
    *((28, 512, 256, 1, 1, 1), (28, 256, 256, 3, 2, 1), (14, 256, 1024, 1, 1, 6), (28, 512, 1024, 1, 2, 1)),
    *((14, 1024, 256, 1, 1, 5), (14, 256, 256, 3, 1, 5)),
    *((14, 1024, 512, 1, 1, 1), (14, 512, 512, 3, 2, 1), (7, 512, 2048, 1, 1, 3), (14, 1024, 2048, 1, 2, 1)),
    *((7, 2048, 512, 1, 1, 2), (7, 512, 512, 3, 1, 2)),
)


# BERT-base, 128 tokens: M, K and N, how many programs of the kind, and how many products one has, of each head
_BERT = (
    *((128, 768, 768, 48, 1), (128, 768, 3072, 12, 1), (128, 3072, 768, 12, 1)),
    *((128, 64, 128, 12, 12), (128, 128, 64, 12, 12)),
)
RESNET50, BERT = "resnet50", "bert"
_BATCH = 4


@dataclass(frozen=True)
class Shape:
    """A problem with its name: `times` programs of it are in its network, of `repeats` such problems each.

    Of a product of two activations the second is a matrix, which is not there in blocks.
    """

    name: str
    problem: Convolution
    times: int = 1
    repeats: int = 1
    matrix: bool = False


@dataclass(frozen=True)
class Row:
    """What a shape takes: `scalesim` cycles by SCALE-Sim's formula, which lets nothing overlap."""

    shape: Shape
    cycles: int
    ideal: int  # cycles in which the array makes as many products at its peak
    scalesim: int

    @property
    def faster(self) -> bool:
        """Whether it takes fewer cycles than SCALE-Sim's formula tells."""
        return self.cycles < self.scalesim


def shapes() -> Iterator[Shape]:
    """All of them."""
    for m, k, n in _PRODUCTS:
        yield Shape(f"{m}x{k}x{n}", Convolution((1, m), k, n))
    for side, channels, filters in _CONVOLUTIONS:
        problem = Convolution((side, side), channels, filters, (3, 3), pads=(1, 1, 1, 1))
        yield Shape(f"3x3 {channels}->{filters} of {side}x{side}", problem)
        yield Shape(f"4 times 3x3 {channels}->{filters} of {side}x{side}", problem, repeats=_BATCH)
    for side, channels, filters, kernel, stride, times in _RESNET50:
        pads = (kernel // 2, kernel // 2, kernel // 2, kernel // 2)
        problem = Convolution((side, side), channels, filters, (kernel, kernel), (stride, stride), pads=pads)
        yield Shape(f"{RESNET50} {kernel}x{kernel}/{stride} {channels}->{filters} of {side}x{side}", problem, times)
    for m, k, n, times, heads in _BERT:
        name = f"{heads} times {m}x{k}x{n}" if heads > 1 else f"{m}x{k}x{n}"
        yield Shape(f"{BERT} {name}", Convolution((1, m), k, n), times, heads, matrix=heads > 1)


def measured(shape: Shape, machine: SystolicMachine, hardware: bool = False) -> Row:
    """The kernel of a shape, from its tiles to its program; kernels run one behind the other.

    What has so few channels is a first layer, whose image the host may gather. On the hardware it computes with random
    numbers: LaminaError where these or the cycles are not those of NumPy and of the timing model.
    """
    problem = shape.problem
    if problem.channels < 4:
        problem = entering(problem, machine)
    windows = replace(problem.windows(machine.rows), matrix=shape.matrix)
    kernel = contraction_kernel("kernel", windows, search(windows, machine), machine, PAD, POST)
    arrays, right = operands(problem, machine, np.random.default_rng(problem.products), shape.matrix)
    once, dram, starts = program_of(kernel, arrays)
    *once, halt = once
    program = [*once]
    for _ in range(shape.repeats - 1):
        program += [instruction("bar"), *once]
    program.append(halt)
    cycles = simulate(program, machine).cycles
    if hardware:
        [run] = run_all(machine, [(program, dram, cycles + 1)])
        run.check()
        if run.cycles != cycles:
            raise LaminaError(f"the hardware took {run.cycles} cycles, the model says {cycles}", where=shape.name)
        if not np.array_equal(run.dram[starts[-2] : starts[-1]].view(np.int8).reshape(right.shape), right):
            raise LaminaError("the hardware's bytes are not NumPy's", where=shape.name)
    peak = machine.rows * machine.cols
    ideal, formula = shape.problem.products // peak, scalesim(shape.problem, machine)
    return Row(shape, cycles, shape.repeats * ideal, shape.repeats * formula)


def report(machine: SystolicMachine, chosen: Sequence[str] = (), hardware: bool = False) -> Iterator[str]:
    """A line for each shape whose name has a word of `chosen` (all without one), and one for each network."""
    rows: list[Row] = []
    for shape in shapes():
        if chosen and not any(word in shape.name for word in chosen):
            continue
        row = measured(shape, machine, hardware)
        rows.append(row)
        yield _line(shape.name, row.cycles, row.ideal, row.scalesim)
    for prefix, what in ((RESNET50, "convolutions"), (BERT, "products of the encoder")):
        of_it = [row for row in rows if row.shape.name.startswith(prefix)]
        if of_it:
            columns = _columns(of_it)
            sums = (sum(row.shape.times * n for row, n in zip(of_it, column, strict=True)) for column in columns)
            yield _line(f"{prefix}: {what}", *sums)
            yield f"{prefix}: {sum(row.faster for row in of_it)} of {len(of_it)} kinds faster than SCALE-Sim's formula"


def _columns(rows: list[Row]) -> tuple[list[int], list[int], list[int]]:
    return [r.cycles for r in rows], [r.ideal for r in rows], [r.scalesim for r in rows]


def _line(name: str, cycles: int, ideal: int, formula: int) -> str:
    return f"{name:<36} {cycles:>10} cycles {100 * ideal / cycles:6.2f} %   SCALE-Sim {formula:>10}"


def scalesim(problem: Convolution, machine: SystolicMachine) -> int:
    """SCALE-Sim's cycles, weights kept: ceil(K/R) ceil(N/C) (M + 2R + C - 2) - 1."""
    (height, width), (kh, kw) = problem.out, problem.kernel
    folds = ceil(problem.channels * kh * kw / machine.rows) * ceil(problem.filters / machine.cols)
    return folds * (height * width + 2 * machine.rows + machine.cols - 2) - 1
