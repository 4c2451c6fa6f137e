"""What is done where there is a GPU, on a driver that launches in the emulator, with PyTorch on the processor."""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lamina.backends.cuda import assembler, build, target
from lamina.backends.cuda.driver import Driver
from lamina.backends.cuda.target import CudaTarget
from lamina.tools import models
from lamina.tools.api import interpret
from lamina.tools.cuda.conformance import Outcome, conform
from lamina.tools.cuda.on_gpu import __main__ as on_gpu
from lamina.tools.cuda.on_gpu import cases, clock, jobs, peers, trial
from lamina.tools.cuda.on_gpu.__main__ import Plan, conformance_row, run_all
from lamina.tools.cuda.on_gpu.errors import APART, COMPARED, SPREAD, error_of
from lamina.tools.cuda.on_gpu.jobs import Data, Job
from lamina.tools.cuda.on_gpu.table import GROUPS, Report, Row
from lamina.tools.cuda.programs import product, softmax, sum_of
from lamina.tools.sources import read_program, whole

DEVICE = Path(__file__).resolve().parents[2] / "backends" / "cuda" / "test_device.py"
MS = 0.002  # what everything takes on the fake GPU, however often


def fake_library(**arguments: Any) -> Any:
    spec = importlib.util.spec_from_file_location("device", DEVICE)
    assert spec is not None and spec.loader is not None
    device = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(device)
    return device.FakeLibrary(**arguments)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A GPU whose launches are emulated, which everything on is the same time."""
    library = fake_library(capability=(9, 0))
    driver = Driver(library)
    for module in (target, on_gpu):
        monkeypatch.setattr(module, "driver", lambda: driver)
    monkeypatch.setattr(build, "assemble", lambda ptx, name: assembler.Assembled(b""))  # the driver compiles PTX
    monkeypatch.setattr(clock, "SAMPLE_S", 0)
    return library


@pytest.fixture
def no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "have", lambda *packages: False)  # pyright: ignore


def tiny(group: str, part: str) -> cases.Timed:
    """A program of the table at sizes for the emulator."""
    found = next(case for case in cases.timed(16) if case.group == group and part in case.name)
    return found


def done(report: Report) -> str:
    return "\n".join(report.lines())


def wrong(job: Job) -> Job:
    """The same where the reference gives something else."""

    def make(target: CudaTarget, folder: Path) -> Any:
        found = job.make(target, folder)
        assert found is not None
        artefact, data = found
        return artefact, Data(data.inputs, [2 * array for array in data.expected], data.emulated)

    return replace(job, make=make)


@pytest.mark.usefixtures("no_torch")
def test_checks_then_times(gpu: Any, tmp_path: Path) -> None:
    checks = [jobs.small(product(20, 24, 40, "bf16")), jobs.small(softmax(3, 40))]
    timed = [tiny("memory", "softmax"), tiny("gemm", "bf16 nk")]
    file, told = tmp_path / "found.json", list[str]()
    report = run_all(Plan(checks, timed), json_file=file, tell=told.append)
    assert report.status == 0 and len(told) == 4, done(report)
    assert report.gpu == "NVIDIA A10, sm_90a"
    assert {row.group for row in report.rows[:2]} == {"small"} and all(
        row.emulator == "equal" for row in report.rows[:2]
    )
    softmaxed, multiplied = report.rows[2:]
    assert softmaxed.seconds == softmaxed.peers["copy"] == MS and softmaxed.ratio == 1
    assert softmaxed.rate == f"{2 * 16 * 16 * 4 / MS / 1e9:.0f} GB/s" and softmaxed.error < 1e-6
    assert multiplied.rate == f"{2 * 4096**3 / MS / 1e12:.1f} TFLOP/s" and multiplied.ratio is None
    lines = done(report)
    assert "memory: 1 programs, all right; 1.00 of a copy of as many bytes (geometric mean), worst 1.00" in lines
    assert "goal 0.9: met" in lines and "gemm: 1 programs, all right, nothing to compare times with" in lines
    assert "left out, PyTorch is not installed: peers" in lines and lines.endswith("\nall right")
    read = json.loads(file.read_text())
    assert read["groups"]["memory"] == {"goal": 0.9, "mean": 1.0, "worst": 1.0, "met": True} and len(read["rows"]) == 4


@pytest.mark.usefixtures("no_torch")
def test_wrong_results_are_named(gpu: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fails(target: CudaTarget, folder: Path) -> Any:
        raise ValueError("no such thing")

    checks = [jobs.small(sum_of(64)), wrong(jobs.small(softmax(3, 40))), Job("models", "broken", fails)]
    monkeypatch.setattr(on_gpu, "plan", lambda groups, small: Plan(checks))  # pyright: ignore
    assert on_gpu.main([]) == 1
    out = capsys.readouterr().out
    assert "WRONG: small softmax 3x40 f32, models broken" in out.splitlines()[-1]
    assert "ValueError: no such thing" in out and "small: 2 programs, 1 WRONG" in out
    rows = [line for line in out.splitlines() if line.startswith("small ")]
    assert "softmax" in rows[0] and "(at most 1e-05)" in rows[0]  # the worst first


def test_a_timed_program_that_is_wrong(gpu: Any, monkeypatch: pytest.MonkeyPatch, no_torch: None) -> None:
    monkeypatch.setattr(trial, "interpret", lambda program, inputs: [2 * a for a in interpret(program, inputs)])  # pyright: ignore
    report = run_all(Plan(timed=[tiny("memory", "softmax")]))
    assert report.status == 1 and "WRONG: memory softmax" in done(report)


def test_no_gpu(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_gpu, "driver", lambda: Driver(type("Library", (), {"cuInit": lambda code: 100})))  # pyright: ignore
    assert on_gpu.main(["--small"]) == 2
    told = capsys.readouterr()
    assert "no GPU" in told.err and len(told.err.splitlines()) == 1 and not told.out


@pytest.mark.usefixtures("no_torch")
@pytest.mark.parametrize("function", ["cuStreamSynchronize", "cuCtxSynchronize"])
def test_a_gpu_that_is_lost(function: str, gpu: Any, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    """Whoever is told of it: ours, or what is asked after something else failed."""

    def lose(line: str) -> None:
        gpu.fails[function] = 700
        if function == "cuCtxSynchronize":
            gpu.fails["cuGraphLaunch"] = 1

    report = run_all(Plan([jobs.small(sum_of(64))], [tiny("memory", "softmax")]), tell=lose)
    assert report.status == 2 and len(report.rows) == 1
    lines = done(report).splitlines()
    assert "sum of 64 f32" in lines[2] and lines[-1].startswith("the GPU was lost: softmax 32768x1024")


@pytest.mark.usefixtures("no_torch")
def test_what_there_is_no_time_for_is_named(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMINA_JOBS", "2")  # processes, which can be ended

    def slow(target: CudaTarget, folder: Path) -> Any:
        time.sleep(60)

    checks = [jobs.small(sum_of(64)), Job("models", "large", slow), Job("models", "larger", slow)]
    start = time.monotonic()
    report = run_all(Plan(checks, [replace(tiny("memory", "softmax"), needs=1000)]), limit=12)
    assert time.monotonic() - start < 50 and report.status == 0
    assert "left out, for want of time: models large, models larger, memory softmax" in done(report)
    assert [row.name for row in report.rows] == ["sum of 64 f32"]
    assert "nothing was checked" in done(run_all(Plan(checks), limit=0))


def test_instructions_that_differ_from_the_emulator(gpu: Any, no_torch: None) -> None:
    outcomes = [
        Outcome("add.f32", 3, 3, 0, True),
        Outcome("ex2.approx", 4, 2, 1e-7, True),
        Outcome("mma", 2, 1, 1, False),
    ]
    assert [conformance_row(each).good for each in outcomes] == [True, True, False]

    def found(driver: Driver) -> Iterator[Outcome]:
        assert driver.capability == (9, 0)
        yield from outcomes

    report = run_all(Plan(conform=found))
    assert report.status == 1 and "conformance: 3 programs, 1 WRONG" in done(report)
    assert "1 of 2 equal" in done(report) and "2/4" in done(report) and "add.f32" not in done(report)


def test_rounds_and_ratios() -> None:
    """Everybody is asked in every round, for as many runs as fill a sample; the ratio is that of rounds."""
    asked: list[tuple[str, int]] = []

    def sample(name: str, seconds: float) -> clock.Sample:
        def each(count: int) -> float:
            asked.append((name, count))
            return count * seconds

        return each

    times = clock.rounds({"ours": sample("ours", 0.002), "a": sample("a", 0.001), "b": sample("b", 0.02)})
    assert asked[3:6] == [("ours", 5), ("a", 10), ("b", 1)] and len(asked) == 3 * (2 + clock.ROUNDS)
    assert asked[6:9] == asked[9:12] == asked[3:6]
    assert clock.ratio(times) == pytest.approx(0.5)  # of the best, a
    assert clock.ratio({"ours": [1.0, 2.0, 4.0], "a": [3.0, 2.0, 2.0]}) == 1.0
    assert clock.ratio({"ours": [1.0]}) is None


def test_goals() -> None:
    report = Report("GPU")
    for name, ratio in (("a", 1.0), ("b", 0.64), ("c", 0.8)):
        report.rows.append(Row("conv", name, seconds=1e-5, peers={"cuDNN": ratio * 1e-5}, ratio=ratio))
    report.rows.append(Row("attention", "d", seconds=1e-5, peers={"x": 2e-5, "y": 1e-5}, ratio=1.0))
    report.rows.append(Row("skinny", "e", seconds=1e-5, peers={"cuBLAS": 1e-6}, ratio=0.1))
    lines = done(report)
    assert "conv: 3 programs, all right; 0.80 of cuDNN (geometric mean), worst 0.64 (b), goal 0.8: not met" in lines
    assert "attention: 1 programs" in lines and "goal 0.8: met" in lines
    assert "skinny: 1 programs, all right; 0.10 of cuBLAS (geometric mean), worst 0.10 (e)\n" in lines
    assert [line.split()[1] for line in lines.splitlines()[2:7]] == ["e", "d", "b", "c", "a"]
    assert lines.endswith("all right; goals not met: conv") and report.status == 0


@pytest.mark.parametrize(
    ("measure", "found", "expected", "error"),
    [
        (APART, [1.0, 2.0], [1.0, 4.0], 0.5),
        (SPREAD, [3.0, 0.0], [3.0, 4.0], 0.8),
        (COMPARED, [np.nan, 2.0], [np.nan, 4.0], 0.5),
        (APART, [np.nan, 2.0], [1.0, 2.0], np.nan),
        (SPREAD, [1.0], [0.0], np.inf),
        (APART, [1.0], [1.0, 1.0], np.inf),
    ],
)
def test_errors(measure: str, found: Sequence[float], expected: Sequence[float], error: float) -> None:
    told = error_of(measure, [np.array(found)], [np.array(expected)])
    assert told == pytest.approx(error, nan_ok=True) and Row("small", "", told, 0.4).good is False
    assert error_of(measure, [], [np.array(expected)]) == np.inf


def test_the_plan() -> None:
    whole_plan = on_gpu.plan([], small=False)
    groups = {job.group for job in whole_plan.checks} | {case.group for case in whole_plan.timed}
    wanted = {group.name for group in GROUPS} - {"conformance"} | {jobs.WARM}
    assert groups == wanted if peers.have("torch", "transformers") else wanted - {"torch", jobs.WARM}
    assert {job.group for job in on_gpu.plan([], small=True).checks} == {"small"}
    only = on_gpu.plan(["conv"], small=False)
    assert not only.checks and {case.group for case in only.timed} == {"conv"} and only.conform is None
    assert whole_plan.conform is conform
    first = [case.group for case in whole_plan.timed[:7]]
    assert len(set(first)) == 7  # one of each, if time should be short
    names = [(case.group, case.name) for case in whole_plan.timed]
    assert len(set(names)) == len(names)


REDUCED = {
    "gemm": 64, "f32-gemm": 64, "skinny": 64, "attention": 64, "conv": 16, "memory": 32,
}  # fmt: skip


@pytest.mark.parametrize("group", REDUCED)
def test_timed_programs_compile_and_peers_compute_the_same(group: str) -> None:
    """On the processor, where PyTorch has no cuDNN and refuses some backends of attention."""
    seen: set[str] = set()
    for case in cases.timed(REDUCED[group]):
        if case.group != group or case.build is None or (key := repr((case.build, case.precision))) in seen:
            continue
        seen.add(key)
        workload = case.build()
        program = whole(read_program(workload.model))
        built = CudaTarget("sm_90a").built(program, jobs.Options(precision=case.precision))[1]
        assert len(built.launches) <= (2 if "7x7" in case.name or group in ("conv", "memory") else 1), case.name
        if not peers.have("torch"):
            continue
        [expected] = interpret(program, list(workload.inputs.values()))
        [reference] = peers.reference(workload, "cpu")
        assert error_of(APART, [reference], [expected]) <= case.limit, case.name
        for name, make in peers.of(case, workload, "cpu").items():
            try:
                found = peers.arrays(make()())
            except RuntimeError:
                assert name in ("SDPA efficient", "SDPA cudnn")
                continue
            assert error_of(APART, found, [expected]) <= case.limit, (case.name, name)
    assert seen


class FakeCuda:
    """As much of PyTorch's as records graphs and times them: a millisecond for each call."""

    def __init__(self, *, refuses: bool):
        self.refuses, self.recording, self.recorded, self.calls = refuses, False, 0, 0
        self.cuda = self

    def call(self) -> None:
        if self.recording:
            self.recorded += 1
            if self.refuses:
                raise RuntimeError("operation not permitted when stream is capturing")
        else:
            self.calls += 1

    @contextmanager
    def stream(self, stream: Any) -> Generator[None]:
        yield

    @contextmanager
    def graph(self, graph: Any) -> Generator[None]:
        self.recording = True
        try:
            yield
        finally:
            self.recording = False

    def Stream(self) -> Any:
        return self

    def CUDAGraph(self) -> Any:
        return self

    def Event(self, enable_timing: bool) -> Any:
        at: list[int] = []
        event = SimpleNamespace(at=at, record=lambda: at.append(self.calls), synchronize=lambda: None)
        event.elapsed_time = lambda stop: float(stop.at[0] - at[0])
        return event

    def synchronize(self) -> None:
        pass

    def replay(self) -> None:
        self.calls += self.recorded


@pytest.mark.parametrize("refuses", [False, True])
def test_work_of_pytorch_as_graphs(refuses: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = FakeCuda(refuses=refuses)
    monkeypatch.setattr(clock, "torch_module", lambda: torch)
    sample = clock.Graphed(torch.call)
    assert torch.calls == 3  # before it is recorded
    assert sample(4) == 0.004 and torch.calls == 3 + 2 * 4
    assert sample(4) == 0.004 and torch.recorded == (1 if refuses else 4)


def test_networks_of_pytorch(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exported, checked in f32 and bf16 against PyTorch's own f32, and timed beside it; a peer that fails is named."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")

    def network() -> models.Exported:
        inner = torch.nn.Sequential(torch.nn.Linear(24, 40), torch.nn.Tanh(), torch.nn.Linear(40, 8))
        module = models._wrap(inner, lambda m, x: (m(x),))  # pyright: ignore[reportPrivateUsage]
        return models.Exported(module, {"x": torch.randn(3, 24)}, ["y"])

    def graphed(call: peers.Call) -> clock.Sample:
        call()
        return lambda count: count * 0.003

    monkeypatch.setitem(models.MODELS, "tiny", network)
    monkeypatch.setitem(models.MODELS, "refused", lambda: 1 / 0)
    monkeypatch.setattr(jobs, "NETWORKS", ("tiny", "refused"))
    monkeypatch.setattr(clock, "Graphed", graphed)
    monkeypatch.setattr(peers, "compiled", lambda *arguments: 1 / 0)  # pyright: ignore
    checks = jobs.networks(timed=True)
    timed = [
        cases.Timed("networks", f"{name} {kind}", 0, precision=kind)
        for name in ("tiny", "refused")
        for kind in cases.PRECISIONS
    ]
    report = run_all(Plan(checks, timed), device="cpu")
    lines = done(report)
    assert report.status == 0 and len(report.rows) == 4, lines
    errors = {row.name: row.error for row in report.rows if row.group == "torch"}
    assert errors["tiny f32"] < 1e-5 and 1e-5 < errors["tiny bf16"] < jobs.ROUGH_LIMIT
    rows = [row for row in report.rows if row.group == "networks"]
    assert all(list(row.peers) == ["PyTorch"] and row.ratio == pytest.approx(0.003 / MS) for row in rows)
    assert "left out, its network is not there: networks refused f32, networks refused bf16" in lines
    assert "left out, PyTorch does not export it: ZeroDivisionError: division by zero: torch refused f32" in lines
    assert "division by zero" in lines and "ONNX Runtime of tiny f32" in lines
