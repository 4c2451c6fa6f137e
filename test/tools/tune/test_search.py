"""The tuner's decisions, with a measurer and a clock that are made up."""

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import pytest

from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.machine import Machine
from lamina.compiler.schedules import Entry, Schedules
from lamina.passes.convert.contraction_to_vector.schedule import Problem, Schedule
from lamina.tools.tune.cpu.candidates import Candidate, neighbours, other_lanes
from lamina.tools.tune.models import keep_the_best
from lamina.tools.tune.rounds import Turn, parse_budget, settle, spend
from lamina.tools.tune.search import Ratio, Search

DEFAULT = Candidate(16, Schedule(6))
AVX2 = Machine.preset("x86-64-avx2")
PROBLEM = Problem(batch=1, rows=100, columns=64, depth=64, element_bytes=4, lanes=16)


class Clock:
    """Time that passes when something is measured."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class FakeBench:
    """The time of a candidate is a function of it; `lies` are differences that a second look does not confirm."""

    def __init__(self, clock: Clock, seconds, noise: float = 0.0, lies: Sequence[Candidate] = ()):
        self.clock, self.seconds, self.noise, self.lies = clock, seconds, noise, lies
        self.measured: list[Candidate] = []

    def compare(self, base: Candidate, others: Sequence[Candidate]) -> list[Ratio | None]:
        self.clock.now += len(others)
        self.measured += others
        return [Ratio(0.5, 0.0) if c in self.lies else self._ratio(base, c) for c in others]

    def confirm(self, base: Candidate, other: Candidate) -> Ratio | None:
        self.clock.now += 2
        return self._ratio(base, other)

    def _ratio(self, base: Candidate, other: Candidate) -> Ratio | None:
        seconds = self.seconds(other)
        return None if seconds is None else Ratio(seconds / self.seconds(base), self.noise)


def step(candidate: Candidate) -> list[Candidate]:
    """One row more or less."""
    rows = candidate.schedule.rows
    return [replace(candidate, schedule=Schedule(r)) for r in (rows + 1, rows - 1) if r >= 1]


def search(seconds, **options) -> tuple[Search, FakeBench]:
    bench = FakeBench(Clock(), seconds, **options)
    return Search(bench, DEFAULT, step), bench


def rows(candidate: Candidate) -> int:
    return candidate.schedule.rows


def test_it_walks_to_the_best():
    found, bench = search(lambda c: 1 + abs(rows(c) - 2) / 10)
    found.run(lambda: False)
    found.settle()
    assert rows(found.best) == 2 and found.done
    assert found.gain is not None and found.gain.value == pytest.approx(1 / 1.4)
    assert len(bench.measured) == len(set(bench.measured))  # nothing is tried twice


def test_noise_is_no_gain():
    found, _ = search(lambda c: 1 + abs(rows(c) - 5) / 50, noise=0.01)
    found.run(lambda: False)
    found.settle()
    assert found.best == DEFAULT and found.gain is None


def test_what_is_not_confirmed_is_not_taken():
    found, _ = search(lambda c: 1 + abs(rows(c) - 6), lies=[Candidate(16, Schedule(7))])
    found.run(lambda: False)
    assert found.best == DEFAULT


def test_what_cannot_be_compiled_is_passed_over():
    found, _ = search(lambda c: None if rows(c) == 7 else 1 + abs(rows(c) - 4) / 4)
    found.run(lambda: False)
    assert rows(found.best) == 4


def test_seeds_are_tried_first():
    bench = FakeBench(Clock(), lambda c: 0.5 if rows(c) == 12 else 1.0)
    found = Search(bench, DEFAULT, lambda _: [], seeds=[Candidate(16, Schedule(12))])
    found.run(lambda: False)
    assert rows(found.best) == 12


def test_the_budget_is_spent_by_share_and_kept():
    clock = Clock()
    benches = [FakeBench(clock, lambda c: 1 / rows(c)) for _ in range(2)]  # more rows are always better
    turns = [
        Turn(f"p{i}", share, Search(b, DEFAULT, step, batch=1))
        for i, (b, share) in enumerate(zip(benches, (0.25, 0.75), strict=True))
    ]
    told: list[str] = []
    assert spend(turns, 100.0, clock, lambda turn: told.append(turn.name))
    assert told[:2] == ["p1", "p0"]
    assert clock.now <= 100 + 4
    assert len(benches[1].measured) > 2 * len(benches[0].measured)


def test_an_interruption_keeps_what_was_found():
    clock = Clock()

    def seconds(candidate: Candidate) -> float:
        if rows(candidate) > 8:
            raise KeyboardInterrupt
        return 1 / rows(candidate)

    turn = Turn("p", 1.0, Search(FakeBench(clock, seconds), DEFAULT, step))
    assert not spend([turn], 1000.0, clock, lambda _: None)
    settle([turn], 1000.0, clock)
    assert rows(turn.search.best) == 8


def test_what_there_is_no_time_to_confirm_is_given_up():
    clock = Clock()
    turns = [
        Turn(n, s, Search(FakeBench(clock, lambda c: 1 / rows(c)), DEFAULT, step)) for n, s in (("a", 0.1), ("b", 0.9))
    ]
    spend(turns, 20.0, clock, lambda _: None)
    assert all(turn.search.best != DEFAULT for turn in turns)
    settle(turns, clock.now + 1, clock)  # time for one
    assert [turn.search.best == DEFAULT for turn in turns] == [True, False]


class FakeModels:
    """Whole models: their time by the kernels that are tuned."""

    def __init__(self, ratios: dict[frozenset[str], float]):
        self.ratios = ratios

    def ratio(self, schedules: Schedules, until: float) -> Ratio:
        return Ratio(self.ratios[frozenset(schedules.entries)], 0.0)


def won(name: str, gain: float | None) -> Turn:
    ratio = None if gain is None else Ratio(gain, 0.0)
    return Turn(name, 0.3, SimpleNamespace(best=Candidate(16, Schedule(4)), gain=ratio))  # pyright: ignore


@pytest.mark.parametrize(
    ("all_of_them", "clear_ones", "kept", "ratio"),
    [(0.9, 0.8, ["a", "b"], 0.9), (1.01, 0.95, ["a"], 0.95), (1.01, 1.001, [], 1.0)],
)
def test_a_model_never_ends_slower(all_of_them: float, clear_ones: float, kept: list[str], ratio: float):
    models = FakeModels({frozenset("ab"): all_of_them, frozenset("a"): clear_ones})
    turns = [won("a", 0.7), won("b", 0.98), won("c", None)]
    result = keep_the_best(turns, models, 10.0, Clock())
    assert ([turn.name for turn in result[0]], result[1]) == (kept, ratio)


def test_nothing_found_is_not_measured():
    assert keep_the_best([won("c", None)], FakeModels({}), 10.0, Clock()) == ([], 1.0)


def test_neighbours_fit_the_registers_and_the_problem():
    found = neighbours(Schedule(6), PROBLEM, AVX2)
    assert Schedule(5) in found and Schedule(6, row_blocks=2) in found and Schedule(3, panels=2) in found
    assert Schedule(6) not in found and Schedule(6, panels=4) not in found
    assert all(s.rows <= 2 for s in neighbours(Schedule(2), replace(PROBLEM, rows=2), AVX2))


def test_tiles_have_neighbours_of_their_own():
    tiles = replace(PROBLEM, loops=(2048,), depth=2048, in_memory=False, tile=32)
    now = Schedule(32, row_blocks=2, depth=512, ahead=8, copy=1)
    found = neighbours(now, tiles, AVX2)
    assert {s.depth for s in found} == {0, 256, 480, 512, 544, 1024}
    assert {(s.rows, s.panels, s.unroll) for s in found} == {(32, 1, 1)}
    assert {s.copy for s in found} == {0, 1} and {s.ahead for s in found} == {0, 4, 8, 16}
    assert other_lanes(32, AVX2, tiles) == []


def test_neighbours_block_k_and_look_ahead():
    deep = replace(PROBLEM, depth=96, loops=(96,))
    found = neighbours(Schedule(6), deep, AVX2)
    assert Schedule(6, depth=48) in found and Schedule(6, ahead=16) in found
    assert Schedule(6) in neighbours(Schedule(6, depth=48), deep, AVX2)
    assert all(s.depth == 0 for s in neighbours(Schedule(6), replace(deep, in_memory=False), AVX2))
    assert all(s.ahead == 0 for s in neighbours(Schedule(6), replace(deep, packed=False), AVX2))


def test_lanes_are_whole_vectors():
    assert other_lanes(16, AVX2, PROBLEM) == [8, 32]
    assert other_lanes(8, AVX2, PROBLEM) == [16]
    assert other_lanes(16, AVX2, replace(PROBLEM, columns=9)) == [8]
    assert other_lanes(0, AVX2, PROBLEM) == []


def test_a_candidate_is_an_entry():
    assert Candidate.of(Entry({"rows": 4}), DEFAULT) == Candidate(16, Schedule(4))
    assert Candidate.of(DEFAULT.entry, Candidate(8, Schedule(1))) == DEFAULT
    assert Candidate.of(Entry({"colour": 4}), DEFAULT) is None


@pytest.mark.parametrize(("text", "seconds"), [("5m", 300), ("90s", 90), ("0.5h", 1800), ("7", 7)])
def test_budgets(text: str, seconds: float):
    assert parse_budget(text) == seconds


@pytest.mark.parametrize("text", ["", "5 minutes", "-3s", "0", "m"])
def test_wrong_budgets(text: str):
    with pytest.raises(LaminaError, match="is not a time"):
        parse_budget(text)
