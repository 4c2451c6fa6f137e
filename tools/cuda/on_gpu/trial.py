"""One program on the GPU: whether it is right, and how long it takes beside its peers."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ....backends.cuda.device import DeviceProgram
from ....backends.cuda.driver import Driver, DriverError
from ....backends.cuda.target import CudaTarget
from ....compiler.artefact import Artefact
from ....compiler.diagnostics import LaminaError
from ....compiler.signature import Array
from ...api import interpret
from ...bench.cases import Workload
from ...sources import read_program, whole
from . import clock, peers
from .cases import Timed
from .errors import APART, apart, error_of
from .jobs import CODE, ONNX, Data, Job, data_of
from .table import Row

FAR = 0.25  # who is farther off than this, of the largest value, computed something else


class GpuLost(Exception):
    """The GPU does nothing more for this process; the message says what was being done."""


@contextmanager
def watched(driver: Driver, doing: str) -> Generator[None]:
    """Raises GpuLost for an error after which the GPU is lost, whoever told of it."""
    try:
        yield
    except Exception as error:
        if _lost(driver, error):
            raise GpuLost(f"{doing}: {error}") from error
        raise


def _lost(driver: Driver, error: Exception) -> bool:
    if isinstance(error, DriverError) and error.lost:
        return True
    try:
        driver("cuCtxSynchronize")
    except DriverError as told:
        return told.lost
    return False


@dataclass
class Trial:
    """What the programs of one run share. `left` is told who was left out of what, and why."""

    driver: Driver
    target: CudaTarget
    device: str = peers.CUDA  # of PyTorch
    left: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def check(self, job: Job, folder: Path) -> Row:
        """What a job made, against the reference: launch by launch, then as a graph."""
        with watched(self.driver, job.name):
            try:
                return self._checked(job, data_of(folder), self.loaded(folder))
            except Exception as error:
                return self._failed(job.group, job.name, error)

    def _failed(self, group: str, name: str, error: Exception) -> Row:
        """A row that says so, whoever failed: one program of many. Raises the error where the GPU is lost."""
        if _lost(self.driver, error):
            raise error
        told = str(error) if isinstance(error, LaminaError) else f"{type(error).__name__}: {error}"
        return Row(group, name, told=" ".join(told.split())[:200])

    def _checked(self, job: Job, data: Data, model: DeviceProgram) -> Row:
        found = [model.run(data.inputs) for _ in range(2)]
        worst = max((error_of(job.measure, each, data.expected) for each in found), key=lambda e: (e != e, e))
        emulator = ""
        if data.emulated:
            off = error_of(APART, found[0], data.emulated)
            equal = all(a.tobytes() == b.tobytes() for a, b in zip(found[0], data.emulated, strict=True))
            emulator = "equal" if equal else f"{off:.0e}"
        return Row(job.group, job.name, worst, job.limit, emulator)

    def loaded(self, folder: Path) -> DeviceProgram:
        """A job's code on the GPU."""
        model = self.target.load(Artefact.load(folder / CODE))
        assert isinstance(model, DeviceProgram)
        return model

    def time(self, case: Timed, folder: Path) -> Row:
        """A program beside its peers."""
        with watched(self.driver, case.name):
            try:
                assert case.build is not None
                return self._timed(case, case.build(), self.loaded(folder))
            except Exception as error:
                return self._failed(case.group, case.name, error)

    def _timed(self, case: Timed, workload: Workload, model: DeviceProgram) -> Row:
        [found] = model.run(list(workload.inputs.values()))
        [expected] = self._reference(workload)
        error = apart(found, expected)
        samples = {clock.OURS: clock.ours(model)}
        arrays = (*workload.inputs.values(), *workload.constants.values(), found)
        moved = sum(array.nbytes for array in arrays)
        if case.group == "memory":
            samples["copy"] = clock.Copy(self.driver, moved // 2)
        elif peers.have("torch"):
            peers.precise(tf32=case.precision == "tf32")
            for name, make in peers.of(case, workload, self.device).items():
                self._join(samples, name, case.name, make, [expected])
        return self._row(case, error, case.limit, samples, moved)

    def _reference(self, workload: Workload) -> list[Array]:
        """What the result should be: PyTorch's in f32 where it is installed."""
        if peers.have("torch"):
            return peers.reference(workload, self.device)
        return interpret(whole(read_program(workload.model)), list(workload.inputs.values()))

    def time_network(self, case: Timed, job: Job, folder: Path) -> Row:
        """A network of PyTorch, as `job` made it, beside its peers."""
        with watched(self.driver, case.name):
            try:
                return self._timed_network(case, job, data_of(folder), self.loaded(folder), folder / ONNX)
            except Exception as error:
                return self._failed(case.group, case.name, error)

    def _timed_network(self, case: Timed, job: Job, data: Data, model: DeviceProgram, onnx: Path) -> Row:
        error = error_of(job.measure, model.run(data.inputs), data.expected)
        samples = {clock.OURS: clock.ours(model)}
        inputs = {spec.name: array for spec, array in zip(model.signature.inputs, data.inputs, strict=True)}
        name = case.name.partition(" ")[0]
        made = peers.of_network(name, case.precision, self.device, onnx, inputs, model.signature)
        for peer, make in made.items():
            expected = [] if peer == peers.ONNX_RUNTIME else data.expected
            self._join(samples, peer, case.name, make, expected)
        return self._row(case, error, job.limit, samples, 0)

    def _join(
        self,
        samples: dict[str, clock.Sample],
        name: str,
        what: str,
        make: peers.Making,
        expected: Sequence[Array],
    ) -> None:
        """One peer more, if it takes the case and gives what is expected."""
        try:
            call = make()
            if expected:
                found = peers.arrays(call())
                off = max(apart(a, b) for a, b in zip(found, expected, strict=False))
                if not off <= FAR:
                    raise peers.Unsupported(f"its result is off by {off:.0e}")
            samples[name] = clock.waited_for(call) if name == peers.ONNX_RUNTIME else clock.Graphed(call)
        except Exception as error:
            if _lost(self.driver, error):
                raise
            why = str(error).strip().splitlines() or [type(error).__name__]
            self.left.append((f"{name} of {what}", why[0][:100]))

    def _row(self, case: Timed, error: float, limit: float, samples: Mapping[str, clock.Sample], moved: int) -> Row:
        times = clock.rounds(samples)
        seconds = clock.medians(times)
        ours = seconds.pop(clock.OURS)
        rate = f"{case.operations / ours / 1e12:.1f} TFLOP/s" if case.operations else ""
        if case.group == "memory":
            rate = f"{moved / ours / 1e9:.0f} GB/s"
        return Row(case.group, case.name, error, limit, "", ours, rate, seconds, clock.ratio(times))
