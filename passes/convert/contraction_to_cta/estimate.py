"""What is to be expected of a schedule before anything runs: how many blocks there is room for, and what limits them.

Each part of a GPU needs some time at least, counted in clocks: what multiplies, shared memory, the L2 cache, memory,
and the chain of steps of one block after another (Williams et al., "Roofline", CACM 2009, with a roof for each part;
tiles that do not divide and waves as in NVIDIA's "Matrix Multiplication Background"). The longest is a lower bound of
the time. Nothing here is a measurement: it says which schedules are worth one. Where in doubt it is kind to a schedule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import MemRefType

from ....compiler.dtypes import dtype_of
from ....compiler.gpu import Gpu
from ....dialects.gpu.ops import WARP
from .problem import Matrix, Problem
from .schedule import FMA, MMA, WGMMA, Schedule

FOR_SUMS, OTHERS = 5 / 4, 44  # registers of a thread for each sum and for all else: about what ptxas gives it
MOST_REGISTERS = 255  # of a thread
REGISTERS_TOGETHER = 8  # of a thread: registers are given in eights
RESERVED = 1 << 10  # bytes of shared memory that a block takes besides (NVIDIA's tuning guides of Ampere and Hopper)
BARRIERS = 1 << 10  # for the alignment of stages, and barriers
SCHEDULERS = 4  # of a multiprocessor: each has a quarter of what multiplies
LANES = 4  # numbers that a thread reads of shared memory at a time
WARPS_OF_GROUP = 4
SUM = 4  # bytes of a part of a sum
SPARE = 1 / 8  # of what is not the limit is seen: parts work at the same time, but wait for each other now and then

MULTIPLY, SHARED, L2, MEMORY, LATENCY = "multiply", "shared", "L2", "memory", "latency"


@dataclass(frozen=True)
class Estimate:
    """What limits a schedule. `blocks` are those of a multiprocessor at a time, `clocks` what each part needs."""

    tiles: int
    blocks: int
    room: str  # what there is too little of for more blocks
    waves: float
    padding: float  # part of all multiply-adds that are none of the problem
    clocks: Mapping[str, float]
    sums: float = 0  # clocks until a second kernel has added the parts of sums

    @property
    def bound(self) -> float:
        """Clocks that it takes at least."""
        return max(self.clocks.values()) + self.sums

    @property
    def limit(self) -> str:
        """What needs that long."""
        return max(self.clocks, key=lambda name: self.clocks[name])

    @property
    def rank(self) -> float:
        """What schedules are ordered by: the bound, and a part of all else, which tells apart those of one bound."""
        return self.bound + SPARE * (sum(self.clocks.values()) - max(self.clocks.values()))


def ceil_div(a: int, b: int) -> int:
    """The number of `b` that hold `a`.

    >>> ceil_div(9, 4)
    3
    """
    return -(-a // b)


def room(schedule: Schedule, element_bytes: int, gpu: Gpu) -> tuple[int, str]:
    """How many blocks a multiprocessor holds at a time, and what it has too little of for more.

    Warpgroups stay and take tile after tile, one block for each multiprocessor.

    >>> from ....compiler.gpu import Gpu
    >>> gpu = Gpu(108, 65536, 164 << 10, 2048, 32, {}, 128, 64, 5120, 1100, 500, 2500)
    >>> room(Schedule("mma", 128, 128, 64, 2, 2, 3), 2, gpu)
    (1, 'shared memory')
    >>> room(Schedule("fma", 32, 32, 16, 4, 4), 4, gpu)
    (16, 'registers')
    """
    if schedule.unit == WGMMA:
        return 1, "one stays"
    sums = schedule.rows * schedule.columns // schedule.threads
    registers = ceil_div(int(sums * FOR_SUMS) + OTHERS, REGISTERS_TOGETHER) * REGISTERS_TOGETHER
    registers = min(registers, MOST_REGISTERS, gpu.registers // schedule.threads)  # ptxas knows how many threads share
    shared = schedule.staged_bytes(element_bytes) + BARRIERS + RESERVED
    found = {
        "registers": gpu.registers // (registers * schedule.threads),
        "shared memory": gpu.shared_bytes // shared,
        "threads": gpu.threads // schedule.threads,
        "blocks": gpu.blocks,
    }
    least = min(found, key=lambda name: found[name])
    return found[least], least


def estimate(schedule: Schedule, problem: Problem, gpu: Gpu) -> Estimate:
    """What is to be expected of a problem that is computed so."""
    s, p = schedule, problem
    size = p.element_bytes
    part = ceil_div(p.k, s.splits)
    down, across, steps = ceil_div(p.m, s.rows), ceil_div(p.n, s.columns), ceil_div(part, s.depth)
    tiles = p.batch * s.splits * down * across
    blocks, least = room(s, size, gpu)
    busiest = ceil_div(tiles, gpu.processors)  # tiles of one multiprocessor, at the least
    result = dtype_of(p.result.element).itemsize if s.splits == 1 else s.splits * SUM

    multiply = 2 * s.rows * s.columns * s.depth / gpu.flops[_kind(s, size)]
    shared = (shared_read(s, size) * s.depth + (s.rows + s.columns) * s.depth * size) / gpu.shared_rate
    asked = p.batch * (across * p.m + down * p.n) * p.k * size + p.batch * p.m * p.n * result
    filled = busiest * (min(s.rows, p.m) + min(s.columns, p.n)) * part * size
    memory = sum(map(_nbytes, (p.left, p.right, p.result)))
    clocks = {
        MULTIPLY: busiest * steps * multiply,
        SHARED: busiest * steps * shared,
        L2: max(asked / gpu.l2_rate, filled / gpu.fill_rate),
        MEMORY: memory / gpu.memory_rate,
        LATENCY: _chain(s, tiles, blocks, steps, multiply, gpu),
    }
    done = tiles * s.rows * s.columns * steps * s.depth
    padding = 1 - p.batch * p.m * p.n * p.k / done
    added = p.batch * p.m * p.n * (s.splits + 1) * SUM / gpu.l2_rate + gpu.launch if s.splits > 1 else 0
    return Estimate(tiles, blocks, least, tiles / (gpu.processors * blocks), padding, clocks, added)


def shared_read(s: Schedule, size: int) -> float:
    """Bytes of shared memory that a block reads for a step of 1 of the sum, or what reading them counts as.

    Warps and warpgroups read the rows and columns of their part of the tile; those of one row or column of parts read
    the same again. Of threads a warp reads four numbers of each at a time: what all lanes ask for is read once, but a
    line of all banks goes by each time.

    >>> shared_read(Schedule("wgmma", 128, 256, 64, 2, 1, 4), 2), shared_read(Schedule("mma", 128, 128, 64, 2, 2, 3), 2)
    (1280, 1024)
    """
    if s.unit != FMA:
        return (s.rows * s.across + s.columns * s.down) * size
    line = WARP * LANES
    beside = min(WARP, s.columns // s.across)
    groups = s.across // LANES * max(line, beside * LANES * size)
    groups += s.down // LANES * max(line, WARP // beside * LANES * size)
    return s.threads // WARP * groups


def _chain(s: Schedule, tiles: int, blocks: int, steps: int, multiply: float, gpu: Gpu) -> float:
    """Clocks of what a multiprocessor does one after the other: its tiles by turns, their steps, each at least as long.

    So many steps as there are stages but one are on their way at a time (of threads one), and blocks of few warps have
    part of what multiplies. Warpgroups ask for the first step of a tile while the one before is computed and written.
    """
    warps = {FMA: s.threads // WARP, MMA: s.down * s.across, WGMMA: WARPS_OF_GROUP * s.down}[s.unit]
    multiplied = steps * multiply * SCHEDULERS / min(SCHEDULERS, warps)
    ahead = max(1, s.stages - 1)
    rounds = ceil_div(tiles, gpu.processors * blocks)
    written = rounds * s.rows * s.columns * 4 / gpu.fill_rate
    if s.unit == WGMMA:
        return max(gpu.latency * ceil_div(rounds * steps, ahead), gpu.latency + rounds * multiplied) + written
    return rounds * max(gpu.latency * ceil_div(steps, ahead), gpu.latency + multiplied) + written


def _kind(s: Schedule, size: int) -> str:
    """Which of a GPU's rates is that of a schedule."""
    return f"{MMA}.tf32" if s.unit == MMA and size == 4 else s.unit


def _nbytes(matrix: Matrix) -> int:
    """Bytes of a matrix, which come from memory or go there at least once."""
    type_ = matrix.buffer.type
    assert isinstance(type_, MemRefType)
    elements = prod(size for mode in matrix.layout.modes for size, step in mode.pairs if step)
    return min(elements, prod(type_.get_shape())) * dtype_of(matrix.element).itemsize
