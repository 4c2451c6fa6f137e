"""Which schedule a product gets unasked: by sizes, types and the machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type

from ....compiler.dtypes import dtype_of
from ....compiler.machine import Machine
from ....dialects.cta.ops import TF32
from .estimate import ceil_div, estimate, room
from .problem import Matrix, Problem
from .schedule import (
    BESIDE,
    ENOUGH,
    FMA,
    GROUPS,
    LARGE,
    MIDDLE,
    MMA,
    PIECE,
    ROW,
    ROW_BYTES,
    SMALL,
    WARPS,
    WGMMA,
    WORD,
    Schedule,
    in_boxes,
)
from .splits import cuts

DEEP = 6  # stages where blocks have a multiprocessor for themselves, or nearly
STEPS = 2  # of a part of a sum at least
SHARED = 1.1  # how much better sums that blocks share must promise to be: a second kernel is no estimate's matter alone


def usual_schedule(problem: Problem, machine: Machine, precision: str, unit: str | None = None) -> Schedule:
    """What suits problems with enough tiles; `unit` overrides what multiplies."""
    size = dtype_of(problem.left.element).itemsize
    unit = unit or unit_for(problem, machine, precision)
    return choose(problem.m, problem.n, problem.batch, unit, size, _single(problem))


def default_schedule(problem: Problem, machine: Machine, precision: str, unit: str | None = None) -> Schedule:
    """What a problem gets unless something else is given; `unit` overrides what multiplies.

    Where tiles are too few for a known GPU the best of few: smaller tiles, more stages, sums that blocks share.
    """
    usual = usual_schedule(problem, machine, precision, unit)
    gpu = machine.gpu
    if gpu is None:
        return usual
    blocks, _ = room(usual, problem.element_bytes, gpu)
    tiles = problem.batch * ceil_div(problem.m, usual.rows) * ceil_div(problem.n, usual.columns)
    if 2 * tiles > gpu.processors * blocks:
        return usual
    choices = _choices(usual.unit, dtype_of(problem.left.element).itemsize, _single(problem))
    if usual.unit == FMA and usual.stages > 1 and problem.m <= ROW.rows:
        choices.append(ROW)
    every = [usual, *_of_few_tiles(problem, machine, choices)]
    return min(every, key=lambda s: estimate(s, problem, gpu).rank * (1 if s.splits == 1 else SHARED))


def _single(problem: Problem) -> bool:
    return any(by_elements(matrix) for matrix in (problem.left, problem.right))


def _of_few_tiles(problem: Problem, machine: Machine, choices: Sequence[Schedule]) -> Iterator[Schedule]:
    """Schedules whose tiles the result fills by more than half, with more stages and splits."""
    size = problem.element_bytes
    for s in choices:
        if s is not choices[-1] and not _filled(s, problem.m, problem.n):  # some must be left
            continue
        splits = [1, *cuts(problem, STEPS * s.depth)]
        for stages in (s.stages, DEEP) if s.stages > 1 else (1,):
            deep = replace(s, stages=stages)
            if deep.staged_bytes(size) + BESIDE <= machine.l1_bytes:
                yield from (replace(deep, splits=count) for count in splits)


def _choices(unit: str, element_bytes: int, single: bool) -> list[Schedule]:
    """What a unit has of schedules for such elements, the largest tiles first."""
    if unit == FMA:
        every = [LARGE, MIDDLE, SMALL]
        return every if element_bytes >= WORD else [replace(s, stages=1) for s in every]
    found = {MMA: WARPS[2:] if single else WARPS, WGMMA: GROUPS}[unit]
    return [replace(s, depth=ROW_BYTES // element_bytes) for s in found]


def _filled(s: Schedule, m: int, n: int) -> bool:
    return s.rows < 2 * m and s.columns < 2 * n


def choose(m: int, n: int, batch: int, unit: str, element_bytes: int, single: bool = False) -> Schedule:
    """The largest tiles of which the result has enough, and that it fills by more than half.

    Where operands come by `single` elements a thread of a large tile would have the places of as many of them as it has
    sums, more than there are registers.

    >>> choose(4096, 4096, 1, "fma", 4) == LARGE, choose(512, 768, 1, "fma", 4) == MIDDLE
    (True, True)
    >>> choose(4096, 4096, 1, "mma", 2)
    Schedule(unit='mma', rows=128, columns=128, depth=64, down=2, across=2, stages=3, splits=1)
    >>> choose(50176, 64, 1, "mma", 2).columns, choose(50176, 64, 1, "mma", 2, single=True).rows
    (64, 64)
    """
    choices = _choices(unit, element_bytes, single)
    full = [s for s in choices if _filled(s, m, n)]
    fits = [s for s in full if batch * ceil_div(m, s.rows) * ceil_div(n, s.columns) >= ENOUGH]
    return fits[0] if fits else choices[-1]


def unit_for(problem: Problem, machine: Machine, precision: str) -> str:
    """What multiplies the matrices of a problem."""
    left, right = problem.left, problem.right
    element = left.element if left.element == right.element else None
    if isinstance(element, BFloat16Type | Float16Type):
        if WGMMA in machine.features and by_warpgroups(problem):
            return WGMMA
        return MMA if MMA in machine.features else FMA
    return MMA if isinstance(element, Float32Type) and precision == TF32 and MMA in machine.features else FMA


def by_warpgroups(problem: Problem) -> bool:
    """Whether all operands of 16-bit elements can be brought while warpgroups multiply.

    Plain matrices by the copy engine, others in pieces of 16 bytes: there warps are better where warpgroups would
    multiply as much padding again.
    """
    gathered = [view for view in (problem.left.view, problem.right.view) if not in_boxes(view)]
    if not gathered:
        return True
    fills = 2 * problem.m > GROUPS[-1].rows and 2 * problem.n >= GROUPS[-1].columns
    return fills and all(max(view.width(mode, PIECE) for mode in (1, 2)) == PIECE for view in gathered)


def by_elements(matrix: Matrix) -> bool:
    """Whether elements of 16 bits come one by one, as of windows of an image of three channels."""
    view = matrix.view
    return dtype_of(matrix.element).itemsize == 2 and max(view.width(mode, 2) for mode in (1, 2)) < 2
