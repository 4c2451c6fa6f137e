"""Kernels of products and convolutions: each level gives what NumPy gives, on machines of every shape."""

import sys
from pathlib import Path

import numpy as np
import pytest

from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.systolic_machine import SystolicMachine
from lamina.passes.systolic.contraction import contraction_kernel
from lamina.passes.systolic.geometry import Convolution, Windows
from lamina.passes.systolic.schedule import Schedule, search
from lamina.tools.systolic.random_shapes import MACHINES, PAD, POST, operands, random_problem, try_shapes
from lamina.tools.systolic.shapes import measured, shapes

sys.path.insert(0, str(Path(__file__).parent))
from machine_runs import run_on_chip, run_on_tiles


def check(c: Convolution, machine: SystolicMachine, rng: np.random.Generator, schedule: Schedule | None = None) -> None:
    windows = c.windows(machine.rows)
    function = contraction_kernel("k", windows, schedule or search(windows, machine), machine, PAD, POST)
    function.verify()
    arrays, right = operands(c, machine, rng)
    assert np.array_equal(run_on_tiles(function, arrays), right), (c, machine.name)
    assert np.array_equal(run_on_chip(function, machine, arrays), right), (c, machine.name)


@pytest.mark.parametrize("name", MACHINES)
def test_random_problems(name: str) -> None:
    rng = np.random.default_rng(MACHINES.index(name))
    for _ in range(4):
        check(random_problem(rng), SystolicMachine.preset(name), rng)


def test_random_shapes_by_number() -> None:
    tally = try_shapes(range(3))
    assert tally.shapes == 3 and tally.instructions > 0 and not tally.faults


@pytest.mark.slow
def test_many_random_problems() -> None:
    assert not try_shapes(range(2000)).faults


@pytest.mark.parametrize("images_first", [True, False])
def test_every_kind_of_schedule(images_first: bool) -> None:
    """Rings that come round in the middle of the channels, tiles that do not divide, several blocks of filters."""
    machine, rng = SystolicMachine.preset("tiny4"), np.random.default_rng(5)
    c = Convolution((7, 6), 18, 14, (3, 2), (1, 1), (1, 1), (1, 0, 1, 1))
    for planes, parts, slots in ((2, 3, (2, 2, 2, 2)), (5, 1, (1, 1, 1, 1)), (1, 2, (2, 3, 1, 4))):
        check(c, machine, rng, Schedule((2, 4), planes, parts, images_first, slots))


def test_patches_that_begin_alike() -> None:
    """The second part of one window's bytes begins where the first part of another does, and is shorter."""
    c = Convolution((7, 8), 4, 5, (2, 3), (1, 1), (2, 1), (1, 0, 0, 1))
    schedule = Schedule((6, 2), 1, 1, True, (8, 2, 4, 1))
    check(c, SystolicMachine.preset("8x16"), np.random.default_rng(7), schedule)


def test_small_tiles_at_both_ends() -> None:
    """Tiles that grow and shrink, along columns and along rows."""
    machine, rng = SystolicMachine.preset("tiny4"), np.random.default_rng(6)
    flat, high = Convolution((1, 41), 9, 6), Convolution((13, 6), 5, 6, (3, 3), pads=(1, 1, 1, 1))
    for c, out, edge in ((flat, (1, 12), 3), (high, (4, 6), 1)):
        for images_first in (True, False):
            schedule = Schedule(out, 2, 1, images_first, (2, 2, 2, 2), edge)
            assert len(schedule.tiles(c.windows(4))[c is flat]) > 4
            check(c, machine, rng, schedule)


@pytest.mark.parametrize("machine", ["gemmini16", "big32"])
def test_faster_than_scalesim(machine: str) -> None:
    """Where there is the least to gain: the first layer of ResNet-50, which the host gathers, and its shortest."""
    hard = ("resnet50 7x7/2 3->64 of 224x224", "resnet50 1x1/1 64->64 of 56x56")
    rows = [measured(shape, SystolicMachine.preset(machine)) for shape in shapes() if shape.name in hard]
    assert len(rows) == 2 and all(row.faster for row in rows), rows


def test_first_layers_take_rows_of_the_kernel() -> None:
    c = Convolution((12, 13), 3, 8, (7, 7), (2, 2), (1, 1), (3, 3, 3, 3))
    windows = c.windows(16)
    assert windows.packed and windows.taps == (7, 1) and windows.run == 21
    check(c, SystolicMachine.preset("gemmini16"), np.random.default_rng(1))


def test_what_does_not_fit_is_told() -> None:
    wide = Windows(40000, 8, (1, 1), 8, (40000, 1), (1, 8), (1, 1), (1, 1), (1, 8), (0, 0), 4, 4)
    with pytest.raises(
        LaminaError, match="not even the smallest tile fits on machine 'tiny4': 8 channels of windows of 40000x1"
    ):
        search(wide, SystolicMachine.preset("tiny4"))
