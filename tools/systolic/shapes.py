"""Cycles of the products and convolutions that others publish, on the timing model of a machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from ...compiler.systolic_machine import SystolicMachine
from ...dialects.systolic.encoding import instruction
from ...dialects.systolic.timing import simulate
from ...passes.convert.tile_to_pipe.driver import stream_of
from ...passes.systolic.contraction import contraction_kernel
from ...passes.systolic.geometry import Convolution
from ...passes.systolic.schedule import search
from ...passes.systolic.semaphores import instructions_of

# M, K and N: cubes, the products of ResNet-50 that Exo schedules for Gemmini, and few rows
_PRODUCTS = (
    *((n, n, n) for n in (64, 256, 512, 1024)),
    *((12544, 64, 256), (12544, 256, 64), (3136, 128, 512), (3136, 512, 128), (784, 256, 1024)),
    (32, 2048, 2048),
)
# side of the image, channels and filters of Exo's 3x3 convolutions, one image
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


@dataclass(frozen=True)
class Row:
    """What a problem takes: `scalesim` cycles by SCALE-Sim's formula, which lets nothing overlap."""

    name: str
    times: int
    cycles: int
    share: float  # of the products that the array can make in these cycles
    scalesim: int


def shapes() -> Iterator[tuple[str, int, Convolution]]:
    """Name, how often it occurs, and the problem."""
    for m, k, n in _PRODUCTS:
        yield f"{m}x{k}x{n}", 1, Convolution((1, m), k, n)
    for side, channels, filters in _CONVOLUTIONS:
        problem = Convolution((side, side), channels, filters, (3, 3), pads=(1, 1, 1, 1))
        yield f"3x3 {channels}->{filters} of {side}x{side}", 1, problem
    for side, channels, filters, kernel, stride, times in _RESNET50:
        pads = (kernel // 2, kernel // 2, kernel // 2, kernel // 2)
        problem = Convolution((side, side), channels, filters, (kernel, kernel), (stride, stride), pads=pads)
        name = f"resnet50 {kernel}x{kernel}/{stride} {channels}->{filters} of {side}x{side}"
        yield name, times, problem


def measured(problem: Convolution, machine: SystolicMachine, name: str = "", times: int = 1) -> Row:
    """The kernel of a problem, from its tiles to its program, on the timing model."""
    windows = problem.windows(machine.rows)
    kernel = contraction_kernel("kernel", windows, search(windows, machine), machine, 0, (0, -128, 127))
    program = [*instructions_of(stream_of(kernel)), instruction("halt")]
    cycles = simulate(program, machine).cycles
    share = problem.products / (cycles * machine.rows * machine.cols)
    return Row(name, times, cycles, share, scalesim(problem, machine))


def scalesim(problem: Convolution, machine: SystolicMachine) -> int:
    """SCALE-Sim's cycles, weights kept: ceil(K/R) ceil(N/C) (M + 2R + C - 2) - 1."""
    (height, width), (kh, kw) = problem.out, problem.kernel
    folds = ceil(problem.channels * kh * kw / machine.rows) * ceil(problem.filters / machine.cols)
    return folds * (height * width + 2 * machine.rows + machine.cols - 2) - 1
