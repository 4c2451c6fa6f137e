"""A process per system: it prepares one case after the other and times it when asked to.

Each system has a process of its own, so that nobody's idle threads spin on another's cores, pinned to as many cores as
it has threads; what it imports and the threads it starts stay between the cases of a group.
"""

from __future__ import annotations

import gc
import multiprocessing as mp
import os
import signal
import tempfile
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ...compiler.diagnostics import LaminaError
from .cases import Case
from .memory_use import MemoryUse
from .peak import Peaks
from .peers import Call, Peer, Settings, Task, Unsupported
from .timing import CLOCKS, median_time

PATIENCE = 600  # seconds that a system may take to answer
THREADS_OF = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TVM_NUM_THREADS")
CACHE = "LAMINA_CACHE"  # the environment variable that says where ours keeps compiled code
CEILINGS = "ceilings"  # the name of the worker that measures what the machine can do


class Failed(Exception):
    """A system did not do what it was asked to; the message says why."""


@dataclass(frozen=True)
class Prepared:
    """A case is ready: seconds to prepare it, seconds of a run, MB that it needed, bytes it must touch."""

    compile_s: float
    run_s: float
    memory_mb: float
    running_mb: float
    moved: int


class Worker:
    """This side of a system's process. A process that died is started again for the next case."""

    def __init__(self, system: str, peer: Peer | None, settings: Settings):
        self.system = system
        self._arguments = (peer, settings)
        self._process: Any = None
        self._pipe: Connection | None = None

    def start(self) -> None:
        """Starts the process, if there is none."""
        if self._process is not None:
            return
        context = mp.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, *self._arguments), daemon=True)
        with _surroundings(self._arguments[1].threads):
            self._process.start()
        theirs.close()

    def ask(self, verb: str, *arguments: Any) -> Any:
        """The answer to a request. Raises Failed, also when the process died or gave none in time, and Unsupported."""
        self.start()
        assert self._pipe is not None
        try:
            self._pipe.send((verb, arguments))
            good, answer = self._pipe.recv() if self._pipe.poll(PATIENCE) else (None, f"no answer in {PATIENCE} s")
        except (EOFError, OSError):
            self._process.join(5)
            good, answer = None, f"its process died (exit status {self._process.exitcode})"
        if good is None:
            self.stop()
        if isinstance(answer, Unsupported):
            raise answer
        if not good:
            raise Failed(answer)
        return answer

    @contextmanager
    def alone(self, others: Iterable[Worker]) -> Generator[None]:
        """Meanwhile the processes of the others stand still: threads that wait by spinning would take our cores."""
        still = [worker for worker in others if worker is not self and worker._process is not None]
        for worker in still:
            os.kill(worker._process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for worker in still:
                os.kill(worker._process.pid, signal.SIGCONT)

    def stop(self) -> None:
        """Ends the process."""
        if self._process is None:
            return
        if self._pipe is not None:
            self._pipe.close()
        self._process.join(1)
        self._process.kill()
        self._process = self._pipe = None


def cores(threads: int) -> list[int]:
    """The cores that `threads` threads are pinned to: the first ones allowed, no two of them halves of one core.

    Raises LaminaError when there are fewer.
    """
    allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    if threads < 1 or threads > len(allowed):
        raise LaminaError(f"cannot pin {threads} threads to {len(allowed)} cores")
    seen: dict[str, int] = {}
    for core in allowed:
        siblings = Path(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list")
        seen.setdefault(siblings.read_text() if siblings.is_file() else str(core), core)
    return sorted([*seen.values(), *(c for c in allowed if c not in seen.values())][:threads])


@contextmanager
def new_cache() -> Generator[None]:
    """Processes started meanwhile have an empty cache of compiled code, in common."""
    before = os.environ.get(CACHE)
    with tempfile.TemporaryDirectory() as folder:
        os.environ[CACHE] = folder
        try:
            yield
        finally:
            os.environ.pop(CACHE) if before is None else os.environ.update({CACHE: before})


@contextmanager
def _surroundings(threads: int) -> Generator[None]:
    """What a new process inherits: the cores it may use and how many threads libraries start as they are loaded."""
    before = {name: os.environ.get(name) for name in THREADS_OF}
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    os.environ.update(dict.fromkeys(THREADS_OF, str(threads)))
    if allowed is not None:
        os.sched_setaffinity(0, cores(threads))
    try:
        yield
    finally:
        if allowed is not None:
            os.sched_setaffinity(0, allowed)
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


def serve(pipe: Connection, peer: Peer | None, settings: Settings) -> None:
    """The other side: answers requests until the pipe is closed."""
    for stream in (1, 2):  # some peers print what they do; why one failed comes through the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    with suppress(EOFError, OSError, KeyboardInterrupt), tempfile.TemporaryDirectory() as scratch:
        server = _Server(peer, settings, Path(scratch))
        while True:
            verb, arguments = pipe.recv()
            try:
                pipe.send((True, getattr(server, verb)(*arguments)))
            except Unsupported as reason:
                pipe.send((False, reason))
            except Exception as error:
                pipe.send((False, f"{type(error).__name__}: {error}"))


class _Server:
    """What a worker can be asked for: the methods without an underscore."""

    def __init__(self, peer: Peer | None, settings: Settings, scratch: Path):
        self._peer, self._settings, self._scratch = peer, settings, scratch
        self._clock = CLOCKS[settings.clock]
        self._call: Call | None = None
        self._outputs: Any = None
        self._peaks: Peaks | None = None

    def prepare(self, case: Case) -> Prepared:
        """Makes a case ready to run and runs it twice."""
        assert self._peer is not None
        self.drop()
        function = self._peer.load()
        folder = Path(tempfile.mkdtemp(dir=self._scratch))
        workload = case.build()
        task = Task(workload, workload.file(folder), folder, self._settings)
        memory = MemoryUse()
        start = time.perf_counter()
        self._call = function(task)
        compiled = time.perf_counter()
        self._outputs = self._call()
        memory_mb = memory.peak_mb()
        memory.again()
        warm = time.perf_counter()
        self._call()
        seconds = time.perf_counter() - warm
        arrays = (*workload.inputs.values(), *workload.constants.values(), *self._outputs)
        return Prepared(
            compiled - start, seconds, memory_mb, memory.peak_mb(), case.moved or sum(a.nbytes for a in arrays)
        )

    def outputs(self) -> Any:
        """The outputs of the first run, once."""
        outputs, self._outputs = self._outputs, None
        return outputs

    def time(self, seconds: float) -> float:
        """Seconds of the median run of a round that takes about `seconds`."""
        assert self._call is not None
        return median_time(self._call, self._clock, seconds)

    def drop(self) -> None:
        """Forgets the case."""
        self._call = self._outputs = None
        gc.collect()

    def ceiling(self, bound: str, moved: int) -> float:
        """What the machine reaches now: GFLOP/s, or GB/s over `moved` bytes."""
        self._peaks = self._peaks or Peaks(self._settings.threads, self._clock)
        return self._peaks.measure(bound, moved)
