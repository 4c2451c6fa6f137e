"""What is expected of schedules, and which are left to be measured: facts that hold of all of them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from lamina.backends import Options
from lamina.backends.cuda.architectures import ARCHITECTURES, architecture
from lamina.backends.cuda.target import CudaTarget
from lamina.compiler.schedules import Schedules
from lamina.passes.convert.contraction_to_cta.choice import default_schedule
from lamina.passes.convert.contraction_to_cta.estimate import (
    BARRIERS,
    FOR_SUMS,
    LATENCY,
    MULTIPLY,
    OTHERS,
    RESERVED,
    Estimate,
    estimate,
    room,
)
from lamina.passes.convert.contraction_to_cta.given import UNITS, fault_of
from lamina.passes.convert.contraction_to_cta.problem import Problem, problem_of
from lamina.passes.convert.contraction_to_cta.schedule import WGMMA, Schedule
from lamina.tools.sources import read_program
from lamina.tools.tune.cuda.candidates import Field, grid

MATMUL = """
func.func public @main(%a: tensor<{m}x{k}x{t}>, %b: tensor<{k}x{n}x{t}>) -> tensor<{m}x{n}xf32> {{
  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<{m}x{k}x{t}>, tensor<{k}x{n}x{t}>) -> tensor<{m}x{n}xf32>
  return %d : tensor<{m}x{n}xf32>
}}
"""  # noqa: E501
SHAPES = [
    ("sm_80", 1000, 300, 200, "f32"),
    ("sm_80", 64, 768, 3072, "bf16"),
    ("sm_90a", 4096, 4096, 4096, "bf16"),
    ("sm_90a", 7, 1000, 512, "bf16"),
]


@cache
def product(name: str, m: int, n: int, k: int, element: str) -> tuple[Problem, Field]:
    """A product of matrices, and its schedules."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "m.mlir"
        path.write_text(MATMUL.format(m=m, n=n, k=k, t=element))
        program = read_program(str(path))
    lowered = CudaTarget(name).lower(program, "buffers", Options(schedules=Schedules()))  # pyright: ignore
    [kernel] = [op for op in lowered.module.ops if "lamina.kernel" in op.attributes]
    problem = problem_of(kernel)  # pyright: ignore[reportArgumentType]
    assert problem is not None
    return problem, Field(problem, architecture(name).machine, "f32", architecture(name).gpu)


def expected(schedule: Schedule, name: str, m: int, n: int, k: int, element: str = "bf16") -> Estimate:
    return estimate(schedule, product(name, m, n, k, element)[0], architecture(name).gpu)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_what_is_kept_can_be_made_and_has_the_default(shape: tuple[str, int, int, int, str]) -> None:
    problem, field = product(*shape)
    machine = architecture(shape[0]).machine
    default = default_schedule(problem, machine, "f32")
    assert default in field.ordered  # the grid has what is chosen unasked
    every = [s for unit in UNITS for s in grid(unit, problem.element_bytes)]
    possible = {s for s in every if fault_of(s, problem, machine, "f32") is None}
    assert {s for s in field.ordered if s.splits == 1} == possible and len(possible) > 100
    shared = [s for s in field.ordered if s.splits > 1]
    assert all(fault_of(s, problem, machine, "f32") is None and expected(s, *shape).waves > 0 for s in shared)
    possible |= set(shared)
    for count in (1, 5, 1000):
        kept = field.kept(count, [default])
        assert default in kept and set(kept) <= set(possible)
        assert len(kept) <= count + 1
        ranks = [each.rank for each in kept.values()]
        assert ranks == sorted(ranks)
    assert next(iter(field.kept(1))) == next(iter(field.ordered))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_facts_of_every_estimate(shape: tuple[str, int, int, int, str]) -> None:
    name, m, n, k, _ = shape
    gpu = architecture(name).gpu
    for s, found in product(*shape)[1].ordered.items():
        assert found.tiles == -(-m // s.rows) * -(-n // s.columns) * s.splits
        assert found.waves == pytest.approx(found.tiles / (gpu.processors * found.blocks))
        assert 0 <= found.padding < 1
        assert (found.padding == 0) == (m % s.rows == n % s.columns == k // s.splits % s.depth == 0)
        assert found.bound == found.clocks[found.limit] + found.sums <= found.rank
        assert found.rank <= sum(found.clocks.values()) + found.sums and (found.sums > gpu.launch) == (s.splits > 1)
        useful = 2 * m * n * k / (gpu.processors * max(gpu.flops.values()))
        assert found.clocks[MULTIPLY] >= useful  # nothing is faster than what multiplies fastest
        assert found.clocks[LATENCY] >= gpu.latency


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_room_is_what_limits_allow(name: str) -> None:
    """Blocks are put on a multiprocessor one by one, until it has too little of something."""
    gpu = architecture(name).gpu
    told: set[str] = set()
    for element, size in (("f32", 4), ("bf16", 2)):
        for s in product(name, 512, 512, 512, element)[1].ordered:
            blocks, least = room(s, size, gpu)
            told.add(least)
            if s.unit == WGMMA:
                assert blocks == 1  # takes tile after tile
                continue
            sums = s.rows * s.columns // s.threads
            of_thread = -(-int(FOR_SUMS * sums + OTHERS) // 8) * 8
            each = {
                "registers": (min(255, of_thread, gpu.registers // s.threads) * s.threads, gpu.registers),
                "shared memory": (s.staged_bytes(size) + RESERVED + BARRIERS, gpu.shared_bytes),
                "threads": (s.threads, gpu.threads),
                "blocks": (1, gpu.blocks),
            }
            count = 0
            while all((count + 1) * needs <= has for needs, has in each.values()):
                count += 1
            assert blocks == count >= 1
            needs, has = each[least]
            assert (count + 1) * needs > has
    assert {"registers", "shared memory"} <= told


def test_fewer_tiles_than_multiprocessors_take_as_long_as_one() -> None:
    tile = Schedule("mma", 64, 64, 64, 2, 2, 3)
    one, some, all_of_them, more = (expected(tile, "sm_80", 64 * tiles, 64, 512) for tiles in (1, 50, 108, 109))
    assert one.clocks[MULTIPLY] == some.clocks[MULTIPLY] == all_of_them.clocks[MULTIPLY]
    assert more.clocks[MULTIPLY] == 2 * one.clocks[MULTIPLY]  # one more tile, and all wait for it
    assert one.clocks[LATENCY] == more.clocks[LATENCY]  # there is room for two on each
    assert one.waves < some.waves < all_of_them.waves < more.waves < 1


def test_more_work_never_takes_less() -> None:
    tile = Schedule("wgmma", 128, 128, 64, 2, 1, 4)
    sizes = [512, 1000, 1024, 3000, 8192]
    for axis in range(3):
        shapes = [[1024, 1024, 1024] for _ in sizes]
        for shape, size in zip(shapes, sizes, strict=True):
            shape[axis] = size
        found = [expected(tile, "sm_90a", *shape) for shape in shapes]
        for part in found[0].clocks:
            clocks = [each.clocks[part] for each in found]
            assert clocks == sorted(clocks), part


def test_stages_hide_how_long_memory_takes() -> None:
    tile = Schedule("wgmma", 64, 64, 64, 1, 1, 2)
    chains = [expected(replace(tile, stages=n), "sm_90a", 64, 64, 4096).clocks[LATENCY] for n in range(2, 9)]
    assert chains == sorted(chains, reverse=True) and chains[0] > 3 * chains[-1]


def test_the_faster_unit_comes_first_where_multiplying_is_the_limit() -> None:
    for name, unit in (("sm_80", "mma"), ("sm_90a", "wgmma")):
        field = product(name, 4096, 4096, 4096, "bf16")[1]
        first, found = next(iter(field.ordered.items()))
        assert first.unit == unit and first.rows * first.columns >= 128 * 128
        threads = min(each.rank for s, each in field.ordered.items() if s.unit == "fma")
        assert threads > 4 * found.rank


def test_one_tile_of_many_does_not_fill_what_is_kept() -> None:
    field = product("sm_80", 1000, 300, 200, "f32")[1]
    kept = field.kept(24)
    assert len(kept) == 24
    tiles = [(s.unit, s.rows, s.columns) for s in kept]
    assert all(tiles.count(tile) <= 2 for tile in tiles) and len(set(tiles)) >= 12


def test_what_is_beside_a_schedule_differs_in_one_number_or_one_side() -> None:
    problem, field = product("sm_90a", 4096, 4096, 4096, "bf16")
    default = default_schedule(problem, field.machine, "f32")
    beside = field.beside(default)
    assert replace(default, stages=3) in beside and replace(default, columns=192) in beside
    assert replace(default, rows=64, down=1) in beside and default not in beside
    assert all(s.unit == default.unit for s in beside)
