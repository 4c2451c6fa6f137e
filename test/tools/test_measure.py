"""What is measured of a machine: kept, shown, picked up, and used; the clock is made up."""

from dataclasses import replace
from pathlib import Path

import pytest

from lamina.backends import Options
from lamina.backends.cpu.recall import identity_of
from lamina.compiler.machine import WORTH_FORKING, Machine, forget_measurements
from lamina.compiler.measured import Measured
from lamina.passes.convert.contraction_to_vector.schedule import Problem, choose
from lamina.tools import measure
from lamina.tools.main import main

FOUND = Measured(100.0, (210.0, 100.0, 80.0, 24.0), (210.0, 100.0, 76.0, 20.0), 1.5)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LAMINA_CACHE", str(tmp_path))
    yield
    forget_measurements()


def test_what_is_measured_is_kept_and_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    assert Machine.host().measured is None
    assert main(["targets"]) == 0
    assert "nothing yet" in capsys.readouterr().out
    assert Machine.host().measured is None  # never by itself
    monkeypatch.setattr(measure, "measure", lambda machine: FOUND)
    assert main(["targets", "--measure"]) == 0
    shown = capsys.readouterr().out
    assert "100 GFLOP/s a core" in shown and "memory 24" in shown and "1.5 µs" in shown
    assert Machine.host().measured == FOUND


def test_what_is_measured_is_part_of_what_a_model_was_compiled_for():
    before = identity_of("", Options())
    FOUND.write(Machine.host().measured_file)
    assert identity_of("", Options()) != before


def test_a_damaged_file_is_told_and_ignored():
    file = Machine.host().measured_file
    FOUND.write(file)
    file.write_text(file.read_text().replace("fork_join_us", "fork"))
    forget_measurements()
    with pytest.warns(UserWarning, match="not what `lamina targets --measure` writes"):
        assert Machine.host().measured is None


def test_threads_are_started_where_it_pays():
    base = replace(Machine.preset("x86-64-avx2"), cores=2)
    slow, quick, busy = (replace(base, measured=replace(FOUND, fork_join_us=us)) for us in (9.0, 0.1, 500.0))
    assert base.worth_forking == WORTH_FORKING
    assert slow.worth_forking == 10 * 50_000 * 2 and quick.worth_forking == 110_000
    assert busy.worth_forking == 10 * WORTH_FORKING
    problem = Problem(batch=1, rows=64, columns=64, depth=100, element_bytes=4, lanes=16)  # 410,000 multiply-adds
    tasks = {s.row_blocks * s.panel_blocks for s in (choose(problem, machine) for machine in (base, quick))}
    assert tasks == {2} and choose(problem, slow).row_blocks == 1


def test_the_loops_run(monkeypatch: pytest.MonkeyPatch):
    ticks = iter(range(10**9))
    machine = replace(Machine.host(), l3_bytes=1 << 20, cores=2)
    monkeypatch.setattr(measure, "MEMORY_BYTES", 1 << 22)
    with pytest.warns(UserWarning, match="the machine is busy"):  # each look at this clock is a second
        found = measure.measure(machine, lambda: float(next(ticks)))
    assert all(value > 0 for value in (found.fma_gflops, *found.copy_gbs, *found.read_gbs, found.fork_join_us))


def test_working_sets_lie_in_their_caches():
    machine = Machine.preset("x86-64-avx2")
    sets = measure.working_sets(machine)
    limits = (0, machine.l1_bytes, machine.l2_bytes, machine.l3_bytes)
    assert all(size % 4096 == 0 and size > limit for size, limit in zip(sets, limits, strict=True))
    assert all(size < limit for size, limit in zip(sets, limits[1:], strict=False))
