"""Cases in processes of their own: what ends the process, waits or takes too much memory costs one case.

The parent has everything imported and forks a worker for some cases; the worker says which case it begins and how
each ended. What the kernel enforces holds inside machine code, too: the signal of a timer of processor time ends a
case that computes for too long, and the limit on the address space makes an allocation that is too large fail. A case
that sleeps for a minute is ended by the parent.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...compiler.diagnostics import LaminaError
from .kinds import Kind

BATCH = 64  # cases of one worker
PATIENCE = 6  # times as long as it may compute a case may sleep: it may just not be its turn


_OWN = 1 << 30  # bytes mapped by Lamina itself; what else is imported (by tests: PyTorch, JAX) is not a case's


@dataclass(frozen=True)
class Limits:
    """Of one case: seconds of the processor, and bytes of the worker's address space."""

    seconds: float = 10.0
    memory: int = 4 << 30


@dataclass(frozen=True)
class Outcome:
    """How a case ended. `what`: ok, refused, or what was found: traceback, memory, hang, crash.

    `stage` is how far it came, `report` the error's text or what is known of the end, `signature` where it happened.
    """

    number: int
    what: str
    stage: str = ""
    report: str = ""
    signature: str = ""
    seconds: float = 0.0
    memory: int = 0  # bytes, the most that were resident

    @property
    def good(self) -> bool:
        """Whether the file was taken, or refused with a reason."""
        return self.what in ("ok", "refused")


def run_cases(
    kind: Kind, make: Callable[[int], bytes], numbers: Iterator[int], folder: Path, limits: Limits, until: float
) -> Generator[Outcome]:
    """Outcomes of the cases in turn, until the time `until` (of `time.monotonic`) or the end of `numbers`.

    The files and what workers print lie in `folder`.
    """
    pending: list[int] = []
    while time.monotonic() < until:
        while len(pending) < BATCH and (number := next(numbers, None)) is not None:
            pending.append(number)
        if not pending:
            return
        worker = _Worker(kind, make, pending, folder, limits, until)
        with closing(worker.outcomes()) as outcomes:
            for outcome in outcomes:
                pending.remove(outcome.number)
                yield outcome
        if worker.late:
            return


class _Worker:
    """A forked process at work on some cases."""

    def __init__(
        self,
        kind: Kind,
        make: Callable[[int], bytes],
        numbers: Sequence[int],
        folder: Path,
        limits: Limits,
        until: float,
    ):
        self.until = until
        self.limits = limits
        self.errors = folder / "stderr"
        self.late = False
        reader, writer = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            os.close(reader)
            _work(kind, make, list(numbers), folder, limits, until, writer)
        os.close(writer)
        self.reader = reader

    def outcomes(self) -> Generator[Outcome]:
        """What the worker says; a case that it began and did not end is the one that ended it."""
        try:
            begun, waited_out = yield from self._heard()
        except BaseException:  # nobody listens any more
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
            raise
        finally:
            os.close(self.reader)
        _, status = os.waitpid(self.process, 0)
        self.late = time.monotonic() >= self.until
        if begun is not None:
            yield self._ended(begun, status, waited_out)

    def _heard(self) -> Generator[Outcome, None, tuple[int | None, bool]]:
        """Outcomes until the worker is silent for good; the case it was at then, and whether it was ended for it."""
        begun: int | None = None
        woken = time.monotonic()  # when the worker was last seen at work
        now = done = 0
        looked = woken
        rest = b""
        waited_out = False
        while True:
            ready, _, _ = select.select([self.reader], [], [], 0.5)
            slept, looked = time.monotonic() - looked, time.monotonic()
            if not ready:
                if begun is None or slept > 5.0 or (now := _work_done(self.process)) != done:
                    woken, done = time.monotonic(), now
                elif time.monotonic() - woken > self.limits.seconds * PATIENCE and not waited_out:
                    waited_out = True
                    os.kill(self.process, signal.SIGVTALRM)  # says where it is
                    time.sleep(0.5)
                    os.kill(self.process, signal.SIGKILL)
                continue
            data = os.read(self.reader, 1 << 16)
            if not data:
                return begun, waited_out
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                said: dict[str, Any] = json.loads(line)
                if "begin" in said:
                    begun, woken = said["begin"], time.monotonic()
                else:
                    begun = None
                    yield Outcome(**said)

    def _ended(self, number: int, status: int, waited_out: bool) -> Outcome:
        said = self.errors.read_text(errors="replace")[-6000:] if self.errors.exists() else ""
        number_of_signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        if waited_out or number_of_signal == signal.SIGPROF:
            what, seconds = "hang", self.limits.seconds
        else:
            what, seconds = "crash", 0.0
        name = signal.Signals(number_of_signal).name if number_of_signal else f"exit code {os.WEXITSTATUS(status)}"
        return Outcome(number, what, "", f"{name}\n{said}", f"{what} {name} {_stack_place(said)}", seconds)


def _work_done(process: int) -> int:
    """The processor's time that a process has had, in ticks; always the same where nobody says."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def _stack_place(text: str) -> str:
    """The innermost of our functions in a stack that `faulthandler` wrote."""
    for line in text.splitlines():
        if line.startswith("  File ") and "/tools/fuzz/" not in line and "/lamina/" in line:
            return line.rpartition("/lamina/")[2].replace('"', "")
    return ""


def _work(
    kind: Kind,
    make: Callable[[int], bytes],
    numbers: Sequence[int],
    folder: Path,
    limits: Limits,
    until: float,
    writer: int,
) -> None:
    """The worker's life; it does not return."""
    code = 0
    gc.freeze()  # what is there is not copied by collections
    try:
        errors = os.open(folder / "stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(errors, 1)
        os.dup2(errors, 2)
        faulthandler.enable(errors)
        faulthandler.register(signal.SIGVTALRM, errors)  # where a case is, shortly before it is ended
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        most = limits.memory + max(0, _mapped() - _OWN)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        warnings.simplefilter("ignore")
        for number in numbers:
            if time.monotonic() >= until:
                break
            os.write(writer, json.dumps({"begin": number}).encode() + b"\n")
            os.ftruncate(errors, 0)
            os.lseek(errors, 0, os.SEEK_SET)
            outcome = run_case(kind, number, make(number), folder, limits)
            os.write(writer, json.dumps(asdict(outcome)).encode() + b"\n")
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        code = 3
    os._exit(code)


def run_case(kind: Kind, number: int, data: bytes, folder: Path, limits: Limits) -> Outcome:
    """One case in this process, which a hang or a crash ends."""
    path = folder / f"case{kind.suffix}"
    path.write_bytes(data)
    stage = ""

    def reached(name: str) -> None:
        nonlocal stage
        stage = name

    _reset_peak()
    what, report, signature = "ok", "", ""
    start = time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, limits.seconds * 0.8)
    signal.setitimer(signal.ITIMER_PROF, limits.seconds)
    try:
        kind.use(path, reached)
    except LaminaError as error:
        what, report, signature = _refusal(error)
    except BaseException as error:
        what = "memory" if isinstance(error, MemoryError) else "traceback"
        report, signature = _short("".join(traceback.format_exception(error))), _place(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    seconds = time.process_time() - start
    memory = _peak()
    gc.collect()
    return Outcome(number, what, stage, report, signature, seconds, memory)


def _refusal(error: LaminaError) -> tuple[str, str, str]:
    """A refusal needs words, and not those of a defect."""
    text = str(error)
    if not error.message.strip() or "internal error" in text or "Traceback (most" in text:
        return "traceback", f"no message of an error: {text!r}\n" + _short(traceback.format_exc()), _place(error)
    return "refused", text.splitlines()[0][:200], ""


def _short(text: str) -> str:
    return text if len(text) < 8000 else f"{text[:3000]}\n...\n{text[-4000:]}"


def _place(error: BaseException) -> str:
    """The error's type and the innermost function of ours, the same for what has the same cause."""
    while error.__cause__ is not None:
        error = error.__cause__
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "/lamina/" in f.filename and "/tools/fuzz/" not in f.filename] or frames
    if not ours:
        return type(error).__name__
    last = ours[-1]
    return f"{type(error).__name__} {last.filename.rpartition('/lamina/')[2]}:{last.lineno} {last.name}"


def _reset_peak() -> None:
    with suppress(OSError):  # not Linux: the peak is that of the worker so far
        Path("/proc/self/clear_refs").write_text("5")


def _mapped() -> int:
    """Bytes of address space that this process has."""
    with open("/proc/self/statm") as sizes:
        return int(sizes.read().split()[0]) * resource.getpagesize()


def _peak() -> int:
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
