"""`lamina tune` as a whole: real kernels, made-up times."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

import lamina
from lamina.backends import Options
from lamina.backends.cpu.target import CpuTarget
from lamina.compiler.machine import Machine
from lamina.compiler.schedules import Schedules
from lamina.passes.convert.contraction_to_vector.schedule import Schedule
from lamina.tools.main import main
from lamina.tools.sources import read_program, whole
from lamina.tools.tune import command
from lamina.tools.tune.cpu.candidates import Candidate
from lamina.tools.tune.cpu.subjects import CpuTuned
from lamina.tools.tune.kernels import KernelBench
from lamina.tools.tune.models import ModelBench
from lamina.tools.tune.rounds import Turn
from lamina.tools.tune.search import Ratio
from lamina.tools.tune.subjects import Subjects

NAME = "matmul f32 m21 n48 k24"
LANES = Machine.host().lanes(4)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LAMINA_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def model(tmp_path: Path) -> str:
    """y = relu(x @ w) @ v, and relu(x @ w) itself."""
    rng = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)
        for name, shape in (("w", (24, 48)), ("v", (48, 9)))
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("MatMul", ["b", "v"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", (21, 24)), ("y", None)))
    path = tmp_path / "m.onnx"
    graph = helper.make_graph(nodes, "g", [x], [y], weights)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    return str(path)


@pytest.fixture
def wins(monkeypatch: pytest.MonkeyPatch):
    """Kernels with one vector a panel and 3 rows are fastest; whole models take `ratio`."""

    class Told:
        ratio = 0.9
        stops_at = 0  # the comparison at which somebody presses ctrl-C
        comparisons = 0
        asked: list[Schedules] = []

    told = Told()
    told.asked = []

    def seconds(candidate: Candidate) -> float:
        return 1 + (candidate.lanes != LANES) + abs(candidate.schedule.rows - 3) / 10

    def compare(self: KernelBench[Candidate], base: Candidate, others: Sequence[Candidate]) -> list[Ratio | None]:
        told.comparisons += 1
        if told.comparisons == told.stops_at:
            raise KeyboardInterrupt
        return [Ratio(seconds(other) / seconds(base), 0.0) for other in others]

    def model_ratio(self: ModelBench, schedules: Schedules, until: float) -> Ratio:
        told.asked.append(schedules)
        return Ratio(told.ratio, 0.0)

    monkeypatch.setattr(KernelBench, "compare", compare)
    monkeypatch.setattr(KernelBench, "confirm", lambda self, base, other: compare(self, base, [other])[0])
    monkeypatch.setattr(ModelBench, "ratio", model_ratio)
    return told


def test_the_lock_file_replays_to_the_same_code(model: str, wins, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["tune", model, "-o", "m.schedules", "--budget", "60s"]) == 0
    shown = capsys.readouterr().out
    assert NAME in shown and "1.111 times as fast" in shown
    found = Schedules.read("m.schedules")
    assert set(found.entries) == {NAME, "matmul f32 m21 n9 k48"}
    assert {k: found.entries[NAME].values[k] for k in ("lanes", "rows")} == {"lanes": LANES, "rows": 3}
    program = whole(read_program(model))
    (asked,) = wins.asked
    measured = CpuTarget().compile_artefact(program, Options(schedules=asked))
    replayed = CpuTarget().compile_artefact(program, Options(schedules=found, cache=False))
    assert replayed.objects == measured.objects
    assert replayed.objects != CpuTarget().compile_artefact(program, Options(cache=False)).objects
    tuned = lamina.compile(model)  # the database has it too
    assert tuned.artefact.objects == measured.objects
    x = np.random.default_rng(1).standard_normal((21, 24)).astype(np.float32)
    np.testing.assert_allclose(tuned(x)[0], lamina.interpret(program, [x])[0], rtol=1e-4, atol=1e-4)


def test_a_model_that_gets_slower_keeps_the_default(model: str, wins):
    wins.ratio = 1.02
    assert main(["tune", model, "-o", "m.schedules", "--budget", "60s"]) == 0
    program = whole(read_program(model))
    replayed = CpuTarget().compile_artefact(program, Options(schedules=Schedules.read("m.schedules"), cache=False))
    assert replayed.objects == CpuTarget().compile_artefact(program, Options(cache=False)).objects
    assert CpuTarget().database(None).read().entries == {}


def test_an_interruption_keeps_the_best_so_far(model: str, wins, capsys: pytest.CaptureFixture[str]):
    wins.stops_at = 2  # in the middle of the first problem's neighbours
    assert main(["tune", model, "-o", "m.schedules", "--budget", "60s", "--no-database"]) == 0
    assert "interrupted" in capsys.readouterr().err
    assert len(wins.asked) == 1 and len(wins.asked[0].entries) == 1
    ((name, entry),) = wins.asked[0].entries.items()
    assert Schedules.read("m.schedules").entries[name].values == entry.values
    assert not list(Path("cache").glob("tuning/*"))


def test_an_interruption_of_the_end_leaves_no_file(model: str, wins, monkeypatch: pytest.MonkeyPatch):
    def stopped(self: ModelBench, schedules: Schedules, until: float) -> Ratio:
        raise KeyboardInterrupt

    monkeypatch.setattr(ModelBench, "ratio", stopped)
    assert main(["tune", model, "-o", "m.schedules", "--budget", "60s"]) == 130
    assert not list(Path().glob("*.schedules"))


def test_given_schedules_are_where_it_begins(model: str, wins, monkeypatch: pytest.MonkeyPatch):
    def first_only(turns: Sequence[Turn], *_: object) -> bool:
        for turn in turns:
            turn.search.run(lambda tried=turn.search.tried: len(tried) > 1)
        return True

    monkeypatch.setattr(command, "spend", first_only)
    Path("mine.schedules").write_text(f'[contractions]\n"{NAME}" = "lanes={LANES} rows=4"\n')
    assert main(["tune", model, "-o", "m.schedules", "--schedules", "mine.schedules", "--budget", "60s"]) == 0
    assert Schedules.read("m.schedules").entries[NAME].values["rows"] == 4


def test_wrong_arguments_are_told(model: str, capsys: pytest.CaptureFixture[str]):
    assert main(["tune", model, "--budget", "soon"]) == 2
    assert main(["tune", model, "-o", "none/m.schedules"]) == 2
    assert "no such directory" in capsys.readouterr().err


def subjects_of(model: str) -> Subjects[Candidate]:
    tuned = CpuTuned(1)
    return tuned.subjects(tuned.canonical(whole(read_program(model))), Schedules())


def test_candidates_are_compiled_and_agree(model: str):
    subjects = subjects_of(model)
    (search,) = [turn.search for turn in subjects.turns() if turn.name == NAME]
    others = [Candidate(16, Schedule(2)), Candidate(8, Schedule(4)), Candidate(32, Schedule(3, row_blocks=2))]
    ratios = search.bench.compare(search.default, [*others, Candidate(64, Schedule(10**6))])
    assert [ratio is not None for ratio in ratios] == [True, True, True, False] or subjects.faults() == []
    assert all(ratio is not None for ratio in ratios[:3])
    assert search.bench.confirm(search.default, others[1]) is not None


def test_wrong_numbers_are_refused_and_told(model: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("lamina.tools.tune.kernels._close", lambda a, b, error: False)
    subjects = subjects_of(model)
    search = subjects.turns()[0].search
    assert search.bench.compare(search.default, [Candidate(16, Schedule(2))]) == [None]
    assert "gives other numbers" in subjects.faults()[0]
