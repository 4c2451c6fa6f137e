"""Builds, checks and times the CUDA target on the GPU of this machine: `python -m lamina.tools.cuda.on_gpu`.

First what is right: small programs to the bit as the emulator, every model of the tests and networks of PyTorch against
the reference, as processes that need no GPU finish them. Then, with the GPU alone, how long programs take beside
copies, cuBLAS, cuDNN, PyTorch's attention and compiler, and ONNX Runtime. One table, each group's worst first, and an
end in time: what did not fit is named. Exit code 1 where a result is wrong, 2 without a GPU or when it is lost.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from ....backends.cuda.driver import Driver, driver
from ....backends.cuda.target import CudaTarget
from ....compiler.diagnostics import LaminaError
from ....compiler.workers import apart
from ..conformance import Outcome, conform
from . import jobs as make
from . import peers
from .cases import Timed, timed
from .jobs import Job, Told
from .table import GROUPS, Report, Row, line
from .trial import GpuLost, Trial, watched

LIMIT = 570  # seconds for all of it
CHECKING = 0.5  # of them, at most, until the GPU is left to what is timed
TIMED_GROUPS = tuple(group.name for group in GROUPS if group.against)
NO_TIME = "for want of time"


@dataclass(frozen=True)
class Plan:
    """What is to be done: what is checked, instructions besides, and what is timed."""

    checks: Sequence[Job] = ()
    timed: Sequence[Timed] = ()
    conform: Callable[[Driver], Iterable[Outcome]] | None = None


def plan(groups: Sequence[str], *, small: bool) -> Plan:
    """That of the command's arguments; all groups where none are named."""

    def wanted(group: str) -> bool:
        return (group in groups or not groups) and not (small and group not in ("conformance", "small"))

    checks = make.smalls() if wanted("small") else []
    if wanted("torch") or wanted("networks"):
        checks += make.networks(timed=wanted("networks"))
    checks += make.all_models() if wanted("models") else []
    return Plan(checks, [case for case in timed() if wanted(case.group)], conform if wanted("conformance") else None)


def ask_gpu() -> tuple[str, tuple[int, int]]:
    """The GPU's name and capability, asked for by another process: this one has not touched it when it forks.

    Raises LaminaError without one.
    """

    def ask() -> bytes:
        found = driver()
        return json.dumps([found.name, *found.capability]).encode()

    name, major, minor = json.loads(apart(ask, "ask for the GPU", memory=1 << 50))
    return name, (major, minor)


def target_of(capability: tuple[int, int]) -> CudaTarget:
    """What suits the GPU best."""
    return CudaTarget("sm_90a" if capability == (9, 0) else "sm_80")


@dataclass
class Run:
    """A plan under way, with what was found so far; `tell` is told each row as it comes."""

    plan: Plan
    target: CudaTarget
    report: Report
    folder: Path
    end: float
    tell: Callable[[str], object]
    device: str = peers.CUDA
    json_file: Path | None = None
    ready: dict[str, Path] = field(default_factory=dict[str, Path])  # folders of what can be timed, by job

    def all(self) -> None:
        """Everything. Raises GpuLost, and LaminaError without a GPU."""
        if peers.have("torch"):
            peers.torch_module()  # once, for all processes
        else:
            self.report.leave("peers", "PyTorch is not installed")
        begin = time.monotonic()
        trial: Trial | None = None
        jobs = self._jobs()
        waiting = set(range(len(jobs)))
        until = begin + (self.end - begin) * CHECKING
        with closing(make.made(jobs, self.target, self.folder, until)) as done:
            for number, told in done:
                trial = trial or Trial(driver(), self.target, self.device)
                waiting.discard(number)
                self._one(trial, jobs[number], self.folder / str(number), told)
        for number in sorted(waiting):
            self.report.leave(f"{jobs[number].group} {jobs[number].name}", NO_TIME)
        trial = trial or Trial(driver(), self.target, self.device)
        if self.plan.conform is not None:
            with watched(trial.driver, "conformance"):
                for outcome in self.plan.conform(trial.driver):
                    row = conformance_row(outcome)
                    self.report.rows.append(row)
                    if not row.good:
                        self.tell(line(row.cells))
        self._time(trial, {job.name: job for job in jobs if job.group == "torch"})

    def _jobs(self) -> list[Job]:
        """In the order in which they are begun: small ones, code that is timed, then whole models."""
        code = [make.code_of(case) for case in self.plan.timed if case.build is not None]
        first = [job for job in self.plan.checks if job.group == "small"]
        return [*first, *code, *(job for job in self.plan.checks if job.group != "small")]

    def _one(self, trial: Trial, job: Job, folder: Path, told: Told) -> None:
        """What a process has made is checked, kept for later, or is an error."""
        if why := told.missing or (told.wrong if job.group == make.WARM else ""):
            self.report.leave(f"{job.group} {job.name}", why)
        elif told.wrong:
            self._add(Row(job.group, job.name, told=told.wrong))
        elif job.group == make.WARM:
            shutil.rmtree(folder)
        elif job.group in TIMED_GROUPS:
            self.ready[f"{job.group} {job.name}"] = folder
        else:
            self._add(trial.check(job, folder))
            if job.group == "torch":
                self.ready[f"networks {job.name}"] = folder
            else:
                shutil.rmtree(folder)

    def _time(self, trial: Trial, networks: dict[str, Job]) -> None:
        """What can be timed, as long as there is time."""
        failed = {(row.group, row.name) for row in self.report.rows}
        for case in self.plan.timed:
            name = f"{case.group} {case.name}"
            if (case.group, case.name) in failed:
                continue  # it was not made, which a row says
            if name not in self.ready:
                if case.build is None:
                    self.report.leave(name, "its network is not there")
                continue
            if time.monotonic() + case.needs > self.end:
                self.report.leave(name, NO_TIME)
                continue
            folder = self.ready[name]
            if case.build is None:
                self._add(trial.time_network(case, networks[case.name], folder))
            else:
                self._add(trial.time(case, folder))
            while trial.left:
                self.report.leave(*trial.left.pop(0))

    def _add(self, row: Row) -> None:
        self.report.rows.append(row)
        self.tell(line(row.cells))
        if self.json_file is not None:  # each time: a run that is cut short leaves what it has
            self.report.write(self.json_file)


def conformance_row(outcome: Outcome) -> Row:
    """An instruction as a row: how many cases were equal to the bit."""
    told = "" if outcome.good else outcome.told or f"{outcome.equal} of {outcome.cases} equal"
    limit = outcome.worst if outcome.good else 0
    return Row("conformance", outcome.form, outcome.worst, limit, f"{outcome.equal}/{outcome.cases}", told=told)


def run_all(
    plan: Plan,
    limit: float = LIMIT,
    *,
    device: str = peers.CUDA,
    json_file: Path | None = None,
    tell: Callable[[str], object] = lambda _: None,
) -> Report:
    """Does what is planned, in so many seconds. Raises LaminaError without a GPU."""
    end = time.monotonic() + limit
    name, capability = ask_gpu()
    target = target_of(capability)
    report = Report(f"{name}, {target.architecture.name}")
    try:
        with TemporaryDirectory(prefix="lamina") as folder:
            Run(plan, target, report, Path(folder), end, tell, device, json_file).all()
    except GpuLost as error:
        report.lost = str(error)
    if json_file is not None:
        report.write(json_file)
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    groups = [group.name for group in GROUPS]
    parser = argparse.ArgumentParser(prog="python -m lamina.tools.cuda.on_gpu", description=__doc__)
    parser.add_argument("--small", action="store_true", help="only what is compared with the emulator")
    parser.add_argument("--only", action="append", default=[], choices=groups, metavar="GROUP", help=", ".join(groups))
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="SECONDS", help=f"(default {LIMIT})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found as JSON, too")
    given = parser.parse_args(arguments)
    tell = partial(print, file=sys.stderr, flush=True)
    try:
        report = run_all(plan(given.only, small=given.small), given.limit, json_file=given.json, tell=tell)
    except LaminaError as error:
        print(error, file=sys.stderr)
        return 2
    for each in report.lines():
        print(each)
    return report.status


if __name__ == "__main__":
    sys.exit(main())
