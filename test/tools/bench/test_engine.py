import argparse
import json
import os
from xml.etree import ElementTree

import numpy as np
import pytest

from lamina.compiler.diagnostics import LaminaError
from lamina.tools.bench import engine
from lamina.tools.bench.cases import Case
from lamina.tools.bench.engine import disagreement, fill, judge
from lamina.tools.bench.peers import OURS, PEERS, Peer
from lamina.tools.bench.plot import chart
from lamina.tools.bench.report import Row
from lamina.tools.bench.worker import Prepared, cores
from lamina.tools.main import main

SYSTEMS = """
import os
import numpy as np
from lamina.tools.bench.cases import Graph, normal
from lamina.tools.bench.peers import Unsupported

def relu():
    graph = Graph({"x": normal(0, 3, 5)})
    return graph.workload(graph.node("Relu", "x"), np.float32, (3, 5))

def good(task):
    [x] = task.workload.inputs.values()
    return lambda: [np.maximum(x, 0)]

def counting(task):
    marks = os.environ["LAMINA_CACHE"] + "/mark"
    seen = os.path.exists(marks)
    open(marks, "w").close()
    [x] = task.workload.inputs.values()
    assert task.settings.cache
    if not seen:
        return lambda: [x]  # wrong, unless another process follows
    return lambda: [np.maximum(x, 0)]

def wrong(task):
    [x] = task.workload.inputs.values()
    return lambda: [x]

def failing(task):
    raise ValueError("no Relu here")

def dying(task):
    os._exit(3)

def unable(task):
    raise Unsupported("not written")
"""


@pytest.fixture
def case(tmp_path, monkeypatch):
    """A case and systems that the workers find; ours is one of them, which compiles nothing."""
    (tmp_path / "fake_systems.py").write_text(SYSTEMS)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("good", "wrong", "failing", "dying", "unable"):
        monkeypatch.setitem(PEERS, name, Peer(f"fake_systems:{name}"))
    monkeypatch.setitem(PEERS, OURS, Peer("fake_systems:good"))
    monkeypatch.setattr(engine, "ROUND_S", 0.001)
    from fake_systems import relu  # pyright: ignore

    return Case("relu_3x5", "tiny", relu, bound="copy")


def arguments(**given):
    parser = argparse.ArgumentParser()
    engine.add_arguments(parser)
    args = parser.parse_args([])
    return argparse.Namespace(**{**vars(args), "rounds": 2, **given})


def test_peers_that_fail_are_said_and_left_out(case, tmp_path, capsys):
    file, plot = tmp_path / "rows.json", tmp_path / "plot.svg"
    args = arguments(peers="failing,dying,unable,wrong,good", json=file, plot=plot)
    assert engine.run_group("tiny", [case], args) == 0
    told = capsys.readouterr().err
    assert "failing on relu_3x5: ValueError: no Relu here" in told
    assert "dying on relu_3x5: its process died (exit status 3)" in told
    assert "wrong on relu_3x5: its result is off by" in told
    assert "unable" not in told
    data = json.loads(file.read_text())
    assert {"group", "machine", "systems", "rows", "means"} <= data.keys()
    [row] = data["rows"]
    assert (row["case"], row["threads"], row["best"], row["error"]) == ("relu_3x5", 1, "good", 0.0)
    assert row["ms"].keys() == row["compile_s"].keys() == row["memory_mb"].keys() == {OURS, "good"}
    assert row["speed"] > 0 and row["rate"] > 0 and row["ceiling"] > 0
    assert ElementTree.parse(plot).getroot().tag.endswith("svg")


def test_ours_that_fails_is_a_row_and_the_next_case_goes_on(case, monkeypatch, capsys):
    monkeypatch.setitem(PEERS, OURS, Peer("fake_systems:dying"))
    assert engine.run_group("tiny", [case, case], arguments(peers="good")) == 1
    assert capsys.readouterr().out.count("failed: its process died") >= 2


def test_fresh_processes_run_what_another_has_compiled(case, monkeypatch, tmp_path):
    monkeypatch.setenv("LAMINA_CACHE", str(tmp_path / "mine"))
    monkeypatch.setitem(PEERS, OURS, Peer("fake_systems:counting"))
    file = tmp_path / "rows.json"
    assert engine.run_group("tiny", [case, case], arguments(peers="good", json=file), fresh=True) == 0
    assert not (tmp_path / "mine").exists()
    assert [row["failures"] for row in json.loads(file.read_text())["rows"]] == [{}, {}]


def test_ours_that_nobody_agrees_with_is_wrong(case, monkeypatch, capsys):
    monkeypatch.setitem(PEERS, OURS, Peer("fake_systems:wrong"))
    assert engine.run_group("tiny", [case], arguments(peers="good")) == 1
    assert "WRONG" in capsys.readouterr().out


def test_speed_is_the_median_of_the_rounds_against_the_best_peer():
    row = Row("gemm", "mm", "square", 1, "fma")
    prepared = dict.fromkeys((OURS, "slow", "fast"), Prepared(1.0, 0.1, 10.0, 8.0, 1000))
    times = {OURS: [0.2, 0.1, 0.1], "slow": [0.4] * 3, "fast": [0.2, 0.15, 0.1]}
    fill(row, Case("mm", "square", lambda: None, operations=10**9), prepared, times, [20.0, 40.0, 80.0])
    assert (row.best, row.speed, row.ms["slow"]) == ("fast", 1.0, 400.0)
    assert row.spread == pytest.approx(0.5)
    assert (row.rate, row.ceiling, row.share) == (pytest.approx(10.0), 40.0, pytest.approx(0.25))


def test_who_is_left_out_is_who_disagrees_with_the_others(capsys):
    one, other = [np.ones(4, np.float32)], [np.full(4, 2, np.float32)]
    row = Row("gemm", "mm", "square", 1, "fma")
    judge(row, {OURS: one, "a": one, "b": other}, 1e-3)
    assert not row.wrong and list(row.failures) == ["b"]
    row = Row("gemm", "mm", "square", 1, "fma")
    judge(row, {OURS: other, "a": one}, 1e-3)
    assert row.wrong and not row.failures


def test_disagreement_of_what_was_rounded_is_relative_to_the_largest():
    a, b = np.array([[100.0, 0.2, np.inf]]), np.array([[100.0, 0.1, np.inf]])
    assert disagreement([a], [b]) == pytest.approx(0.1)  # of a hundredth of the largest
    assert disagreement([a], [b], of_largest=True) == pytest.approx(0.001)
    assert disagreement([np.zeros(3)], [np.zeros(3)], of_largest=True) == 0
    assert disagreement([np.ones(3)], [np.zeros(3)], of_largest=True) == np.inf
    assert disagreement([a], [-b], of_largest=True) == np.inf  # infinities of other signs


def test_disagreement_of_integers_counts_in_ones():
    a = [np.array([250, 3], np.uint8)]
    assert disagreement(a, [np.array([251, 3], np.uint8)]) == 1.0
    assert disagreement(a, [np.array([250, 3, 1], np.uint8)]) == np.inf
    assert disagreement(a, []) == np.inf


def test_more_threads_than_cores():
    with pytest.raises(LaminaError, match="cannot pin 1000 threads"):
        cores(1000)
    assert len(cores(1)) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--peers", "onyx"], "no peer 'onyx'"),
        (["--threads", "one"], "'one' are no thread counts"),
        (["--only", "nothing_like_it"], "no case has 'nothing_like_it'"),
        (["--rounds", "0"], "0 rounds are too few"),
        (["--threads", "2", "--cpu-time"], "--cpu-time is for one thread"),
    ],
)
def test_wrong_arguments_are_told(words, said, capsys):
    if "2" in words and (os.cpu_count() or 1) < 2:
        pytest.skip("one core")
    assert main(["bench", "gemm", *words]) == 2
    assert said in capsys.readouterr().err


def test_ours_against_a_real_peer(tmp_path, capsys):
    file = tmp_path / "rows.json"
    words = ["--only", "mm_64x64x64_const", "--rounds", "1", "--peers", "onnxruntime,numpy", "--json", str(file)]
    assert main(["bench", "gemm", *words]) == 0
    [row] = json.loads(file.read_text())["rows"]
    assert row["ms"].keys() == {OURS, "onnxruntime", "numpy"} and row["error"] < 1e-4
    assert "geometric mean" in capsys.readouterr().out


def test_charts_are_well_formed_and_sorted():
    svg = chart("a < b & c", [("good", 2.0), ("<bad>", 0.5), ("failed", None)])
    texts = [element.text for element in ElementTree.fromstring(svg).iter() if element.tag.endswith("text")]
    assert texts[0] == "a < b & c"
    assert [t for t in texts if t in ("good", "<bad>", "failed")] == ["failed", "failed", "<bad>", "good"]
    assert ElementTree.fromstring(chart("nothing", [])) is not None


@pytest.mark.parametrize("group", ["gemm", "conv", "memory", "attention", "recurrent", "operators"])
def test_every_case_builds_a_model_that_onnx_accepts(group):
    import importlib

    import onnx

    cases = importlib.import_module(f"lamina.tools.bench.{group}").cases()
    assert len({case.name for case in cases}) == len(cases)
    for case in cases:
        large = any(part in case.name for part in ("4096x", "16M", "50257x", "1024x1024"))
        if case.operations < 3e7 and not large:  # building those takes long and tells nothing more
            work = case.build()
            onnx.checker.check_model(work.model, full_check=True)
            assert [i.name for i in work.model.graph.input] == list(work.inputs)
