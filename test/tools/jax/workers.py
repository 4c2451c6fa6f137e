"""Runs a function on many names in processes that may crash or hang: each then costs one answer and one process."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

RENEWED = 150  # a process starts anew after so many names: JAX keeps every program that it has compiled
PATIENCE = 10  # a process that sleeps takes no processor time: it is given so many times as long

Work = Callable[[str], str]


def answers(work: Work, names: Sequence[str], jobs: int, seconds: float) -> Iterator[tuple[str, str]]:
    """Each name with what `work` says of it, or with how its process ended; in the order in which they finish."""
    waiting = list(reversed(names))
    workers: list[_Worker] = []
    while waiting or workers:
        while waiting and len(workers) < jobs:
            workers.append(_Worker(work))
            workers[-1].ask(waiting.pop())
        wait([worker.connection for worker in workers], timeout=1.0)
        for worker in list(workers):
            answer = worker.answer(seconds)
            if answer is None:
                continue
            yield worker.name, answer
            if worker.alive and waiting and worker.count < RENEWED:
                worker.ask(waiting.pop())
            else:
                worker.end()
                workers.remove(worker)


def _serve(work: Work, connection: Connection) -> None:
    while True:
        name = connection.recv()
        if name is None:
            return
        connection.send(work(name))


@dataclass
class _Worker:
    """One process, and the name it is busy with."""

    work: Work
    name: str = ""
    count: int = 0
    asked: float = 0.0
    began: float = 0.0
    alive: bool = True
    connection: Connection = field(init=False)
    process: BaseProcess = field(init=False)

    def __post_init__(self) -> None:
        self.connection, theirs = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")  # a forked copy of JAX may hang
        self.process = context.Process(target=_serve, args=(self.work, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def ask(self, name: str) -> None:
        self.name, self.count, self.asked, self.began = name, self.count + 1, time.monotonic(), 0.0
        self.began = self._busy()
        self.connection.send(name)

    def answer(self, seconds: float) -> str | None:
        """What has come back; None as long as nothing has and there is time."""
        if self.connection.poll():
            try:
                return self.connection.recv()
            except (EOFError, ConnectionError):
                self.process.join()
                self.alive = False
                return f"crash: the process ended with {self.process.exitcode}"
        if self._busy() <= seconds and time.monotonic() - self.asked <= PATIENCE * seconds:
            return None
        self.process.kill()
        self.alive = False
        return f"time-out: no answer in {seconds:g} s of processor time"

    def _busy(self) -> float:
        """Seconds of processor time that it has taken for this name; the clock says nothing where others compute."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return time.monotonic() - self.asked
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") - self.began

    def end(self) -> None:
        if self.alive:
            self.connection.send(None)
        self.process.join()
        self.connection.close()
