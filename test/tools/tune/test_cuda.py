"""`lamina tune --target cuda` as a whole: a driver that launches in the emulator, and times by a rule."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lamina.backends import Options
from lamina.backends.cuda import assembler, build, driver, target
from lamina.backends.cuda.driver import Driver
from lamina.backends.cuda.emulator.memory import GlobalMemory
from lamina.backends.cuda.target import CudaTarget
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.program import Program
from lamina.compiler.schedules import Schedules
from lamina.passes.convert.contraction_to_cta.schedule import Schedule
from lamina.tools.main import main
from lamina.tools.sources import read_program
from lamina.tools.tune import command
from lamina.tools.tune.cuda import kernels, subjects
from lamina.tools.tune.cuda.candidates import Candidate

DEVICE = Path(__file__).resolve().parents[2] / "backends" / "cuda" / "test_device.py"
M, N, K = 48, 40, 24
NAME = f"matmul f32 m{M} n{N} k{K}"
MODEL = f"""
func.func public @main(%a: tensor<{M}x{K}xf32>, %b: tensor<{K}x{N}xf32>, %c: tensor<{N}xf32>) -> tensor<{M}x{N}xf32> {{
  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<{M}x{K}xf32>, tensor<{K}x{N}xf32>) -> tensor<{M}x{N}xf32>
  %e = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<{N}xf32>) -> tensor<{M}x{N}xf32>
  %f = stablehlo.add %d, %e : tensor<{M}x{N}xf32>
  return %f : tensor<{M}x{N}xf32>
}}
"""  # noqa: E501
ARGUMENTS = ["--target", "cuda", "-o", "m.schedules", "--keep", "5", "--budget", "100s"]
Rule = Callable[[tuple[int, ...], int], float]


def device() -> Any:
    spec = importlib.util.spec_from_file_location("device", DEVICE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FakeLibrary: Any = device().FakeLibrary


class Timed(FakeLibrary):
    """Graphs compute nothing: each of their launches takes the seconds of a rule, by its threads and its blocks."""

    def __init__(self, rule: Rule, **options: Any):
        super().__init__(**options)
        self.memory = GlobalMemory(1 << 24)
        self.rule, self.now, self.times, self.recorded = rule, 0.0, {}, []

    def do_cuEventCreate(self, out: Any, flags: int) -> None:
        out._obj.value = len(self.times) + 1
        self.times[out._obj.value] = 0.0

    def do_cuEventRecord(self, event: Any, stream: Any) -> None:
        self.times[event.value] = self.now

    def do_cuEventElapsedTime(self, out: Any, start: Any, stop: Any) -> None:
        out._obj.value = 1000 * (self.times[stop.value] - self.times[start.value])

    def do_cuLaunchKernel(self, function: Any, *rest: Any) -> None:
        if self.recording is None:
            super().do_cuLaunchKernel(function, *rest)
        else:
            self.recording.append(self.rule(rest[3:6], rest[0] * rest[1] * rest[2]))

    def do_cuGraphLaunch(self, graph: Any, stream: Any) -> None:
        self.now += sum(self.graphs[graph.value - 1])


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMINA_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(build, "assemble", lambda ptx, name: assembler.Assembled(b""))  # the driver compiles PTX
    for name in ("BRIEF", "LONG"):  # made-up times have no noise
        monkeypatch.setattr(f"lamina.tools.tune.kernels.{name}", (0.0, 3))
    Path("m.mlir").write_text(MODEL)


def gpu(monkeypatch: pytest.MonkeyPatch, rule: Rule) -> Timed:
    library = Timed(rule)
    found = Driver(library)
    for module in (target, subjects):
        monkeypatch.setattr(module, "driver", lambda: found)
    return library


MICROSECONDS = {(64, 4): 10, (64, 3): 8, (128, 2): 5}  # by threads and tiles; the first is the default
BEST = (128, 2)  # is not among the candidates that are kept, but next to one of them


def threads_and_tiles(threads: tuple[int, ...], tiles: int) -> float:
    return 1e-6 * MICROSECONDS.get((threads[0], tiles), 20)


def ptx(options: Options) -> list[str]:
    """The code of all kernels of the model."""
    program = read_program("m.mlir")
    assert isinstance(program, Program)
    return [kernel.ptx for kernel in CudaTarget("").built(program, options)[1].kernels.values()]


def default() -> list[str]:
    return ptx(Options(schedules=Schedules()))


def test_what_is_fastest_is_found_and_replays_to_the_same_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    library = gpu(monkeypatch, threads_and_tiles)
    assert main(["tune", "m.mlir", *ARGUMENTS]) == 0
    shown = capsys.readouterr()
    text = Path("m.schedules").read_text()
    assert "Tuned for NVIDIA A10 (sm_80) by lamina tune; 1 of 1 differ" in text and "--target cuda:sm_80" in text
    [(name, entry)] = Schedules.read("m.schedules").entries.items()
    found = Schedule(**entry.values)  # pyright: ignore[reportArgumentType]
    assert name == NAME and NAME in shown.out and "a defect" not in shown.err
    tiles = -(-M // found.rows) * -(-N // found.columns)
    assert (found.threads, tiles) == BEST and "2.000 times as fast" in shown.out
    assert any(graph and len(graph) > 100 for graph in library.graphs)  # 500 µs of some launches of 5 µs

    replayed = ptx(Options(schedules=Schedules.read("m.schedules"), cache=False))
    assert replayed == ptx(Options()) != default()  # the tuning database has it, too
    assert ptx(Options(cache=False)) == default()
    assert [f.name for f in Path("cache/tuning").iterdir()] == ["nvidia-a10-sm_80.schedules"]
    assert ptx(Options(precision="tf32")) == ptx(Options(precision="tf32", cache=False))  # which is tuned for itself
    measured = kernels.alone  # what was timed is what is compiled
    monkeypatch.setattr(driver, "LIBRARY", "libnothing.so.1")
    monkeypatch.setattr(target, "driver", driver.driver.__wrapped__)
    assert ptx(Options()) == default()  # without a GPU nothing is asked of the database
    lowered = CudaTarget("").lower(read_program("m.mlir"), "buffers", Options(schedules=Schedules()))  # pyright: ignore
    [kernel] = [op for op in lowered.module.ops if "lamina.kernel" in op.attributes]
    alone = measured(kernel, Candidate(found), lowered)  # pyright: ignore[reportArgumentType]
    [code] = [k.ptx for k in CudaTarget("").built(alone, Options(schedules=Schedules()))[1].kernels.values()]
    assert [code] == replayed


def test_every_step_is_one_that_kernels_can_be_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu(monkeypatch, threads_and_tiles)
    tuned = subjects.CudaTuned("", keep=5)
    program = tuned.canonical(read_program("m.mlir"))  # pyright: ignore[reportArgumentType]
    [subject] = tuned.subjects(program, Schedules.parse(f'[contractions]\n"{NAME}" = "rows=16 columns=64"', "f")).all
    assert [(c.schedule.rows, c.schedule.columns) for c in subject.seeds] == [(16, 64)]
    first = subject.steps(subject.default)
    assert len(first) == 5 and subject.steps(subject.seeds[0]) == first
    more = subject.steps(Candidate(replace(subject.default.schedule, columns=64)))
    assert set(first) < set(more)
    [wrong] = tuned.subjects(program, Schedules.parse(f'[contractions]\n"{NAME}" = "unit=mma"', "f")).all
    assert wrong.seeds == []


def test_a_model_that_gets_slower_keeps_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu(monkeypatch, threads_and_tiles)
    alone = Timed.do_cuGraphLaunch

    def whole_models_take_longer(self: Timed, graph: Any, stream: Any) -> None:
        launches = self.graphs[graph.value - 1]
        if len(launches) == 1 and launches[0] < 9.5e-6:  # graphs of kernels have many
            self.now += 1.0
        alone(self, graph, stream)

    monkeypatch.setattr(Timed, "do_cuGraphLaunch", whole_models_take_longer)
    monkeypatch.setattr("lamina.tools.tune.kernels._repeats", lambda code: 50)  # pyright: ignore
    assert main(["tune", "m.mlir", *ARGUMENTS]) == 0
    assert "0 of 1 differ from the default" in Path("m.schedules").read_text()
    assert ptx(Options(schedules=Schedules.read("m.schedules"))) == default() == ptx(Options())


def test_what_spills_is_no_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu(monkeypatch, threads_and_tiles)

    def assemble(text: str, name: str) -> assembler.Assembled:
        if ".maxntid 64" not in text:  # all but those with as many threads as the default
            raise LaminaError("kernel kernel spills 8 bytes of registers")
        return assembler.Assembled(b"")

    monkeypatch.setattr(build, "assemble", assemble)
    assert main(["tune", "m.mlir", *ARGUMENTS, "--no-database"]) == 0
    [entry] = Schedules.read("m.schedules").entries.values()
    assert Schedule(**entry.values).threads == 64  # pyright: ignore[reportArgumentType]
    assert not list(Path("cache").glob("tuning/*"))


def test_wrong_numbers_are_refused_and_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gpu(monkeypatch, threads_and_tiles)
    monkeypatch.setattr("lamina.tools.tune.kernels._close", lambda a, b, error: False)  # pyright: ignore
    assert main(["tune", "m.mlir", *ARGUMENTS]) == 0
    assert "gives other numbers" in capsys.readouterr().err
    assert ptx(Options(schedules=Schedules.read("m.schedules"))) == default()


def test_a_kernel_that_fails_is_named_and_nothing_is_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    library = gpu(monkeypatch, threads_and_tiles)
    library.fails["cuStreamSynchronize"] = 700
    assert main(["tune", "m.mlir", *ARGUMENTS]) == 2
    told = capsys.readouterr().err
    assert "unit=fma rows=32 columns=32" in told and "ILLEGAL_ADDRESS" in told and "Traceback" not in told
    assert not Path("m.schedules").exists()


@pytest.mark.parametrize(
    ("library", "arguments", "told"),
    [
        (None, [], "error: there is no driver for CUDA: libnothing.so.1 cannot be loaded (tuning measures; --list"),
        (FakeLibrary(devices=0), [], "error: there is a driver for CUDA, but no GPU (tuning measures; --list"),
        (
            FakeLibrary(capability=(8, 6)),
            ["--target", "cuda:sm_90a"],
            "error: this GPU has compute capability 8.6, sm_90a needs 9.0 exactly",
        ),
        (FakeLibrary(), ["--target", "cuda:sm_12"], "error: unknown architecture 'sm_12'"),
        (FakeLibrary(), ["-o", "nowhere/m.schedules"], "nowhere: error: no such directory"),
        (FakeLibrary(), ["--threads", "2"], "error: --threads is not for target cuda"),
        (FakeLibrary(), ["--keep", "0"], "error: --keep 0 (at least 1)"),
        (FakeLibrary(), ["--target", "cpu"], "error: --keep is not for target cpu"),
        (FakeLibrary(), ["--target", "systolic"], "error: target 'systolic' has no schedules that are measured"),
        (FakeLibrary(), ["--target", "cpu:x86-64"], "error: 'cpu:x86-64' is another machine"),
        (FakeLibrary(), ["--schedules", "none"], "none: error: cannot read the schedules"),
    ],
)
def test_errors_come_before_any_work(
    library: Any, arguments: list[str], told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def found() -> Driver:
        return driver.driver.__wrapped__() if library is None else Driver(library)

    def no_work(*_: object) -> None:
        raise AssertionError("work was begun")

    monkeypatch.setattr(driver, "LIBRARY", "libnothing.so.1")
    monkeypatch.setattr(subjects, "driver", found)
    monkeypatch.setattr(command, "read_program", no_work)
    assert main(["tune", "m.mlir", *ARGUMENTS, *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("lamina tune: ") and told in error
    assert not list(Path().glob("**/*.schedules"))


def test_what_would_be_measured_is_listed_without_a_gpu(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(driver, "LIBRARY", "libnothing.so.1")
    Path("given.schedules").write_text(f'[contractions]\n"{NAME}" = "rows=16 columns=64"\n')
    listed = ["tune", "m.mlir", "--target", "cuda:sm_90a", "--list", "--keep", "3"]
    assert main([*listed, "--schedules", "given.schedules"]) == 0
    first, second, empty, name, counts, head, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith("Nothing was measured") and "sm_90a with 132 multiprocessors, and no times" in first
    assert "what there is too little of" in second and not empty
    assert name == f"{NAME}  # calls: 1, {Path('m.mlir')}:3:8"
    assert counts == f"1299 schedules possible, {len(lines)} kept"
    assert head.split() == ["order", "limited", "by", *["blocks", "room", "tiles", "waves", "padding", "schedule"]]
    assert sum("# the default" in line for line in lines) == 1 == sum("# given" in line for line in lines)
    assert 3 <= len(lines) <= 5 and lines[0].split()[:2] == ["1.00", "latency"]
    orders = [float(line.split()[0]) for line in lines]
    assert orders == sorted(orders)
    assert not list(Path().glob("m.schedules"))
    with pytest.raises(SystemExit):
        main([*listed, "-o", "m.schedules"])
