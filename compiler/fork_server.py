"""A copy of this process, made while it is small, that forks for it: a fork takes as long as a process has pages.

It keeps the memory that this process had then, so that it ends when nothing was asked of it for a while. A process that
knows that it will grow may `start` it before.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from .diagnostics import LaminaError
from .forks import NUMBER, ProcessDied, collected, copy_of_this_process, reaped, serve
from .workers import apart

IDLE = 5  # seconds


class ForkServer:
    """The copy of one process, `owner`, which waits `idle` seconds for work. Threads ask it one after the other."""

    def __init__(self, idle: int = IDLE) -> None:
        self.owner, self._idle = os.getpid(), idle
        self._lock = threading.Lock()
        self._busy = False  # whether an answer is due
        self._start()

    def _start(self) -> None:
        requests, self._requests = os.pipe()
        self._results, results = os.pipe()
        self.pid = copy_of_this_process()
        if self.pid == 0:
            _wait(requests, results, self._idle)
        os.close(requests)
        os.close(results)

    def ask(self, work: Callable[[], bytes], name: str) -> bytes:
        """What `work`, which `name` names and which is pickled, gives in a forked copy of the server.

        Raises the LaminaError or OSError that `work` raised, or ProcessDied naming the work.
        """
        request = pickle.dumps((work, name))
        with self._lock:
            if self._busy:  # who asked last was interrupted
                self._restart()
            statuses: list[str] = []
            for _ in range(2):  # it may have ended in peace
                answer = self._answer(request)
                if answer is not None:
                    return answer
                statuses = self._restart()
        raise ProcessDied(f"the process died ({', '.join(statuses)}) that was to {name}")

    def _answer(self, request: bytes) -> bytes | None:
        """None where there is no server any more."""
        self._busy = True
        left = memoryview(NUMBER.pack(len(request)) + request)
        with suppress(BrokenPipeError):
            while left:
                left = left[os.write(self._requests, left) :]
        try:
            answer = next((payload for _, payload in collected([self._results])), None)
        except (LaminaError, OSError, RuntimeError):  # of the work
            self._busy = False
            raise
        self._busy = False
        return answer

    def _restart(self) -> list[str]:
        """Says how the one before ended."""
        os.close(self._requests)
        ended = reaped({self._results: self.pid})
        self._start()
        self._busy = False
        return ended


def _wait(requests: int, results: int, idle: int) -> NoReturn:
    """The server's life. Of the files that its owner has open, it would keep from others that they are closed."""
    kept = sorted((requests, results))
    os.closerange(3, kept[0])
    os.closerange(kept[0] + 1, kept[1])
    os.closerange(kept[1] + 1, os.sysconf("SC_OPEN_MAX"))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)

    def work(size: int) -> bytes:
        signal.alarm(0)
        request = bytearray()
        while len(request) < size:
            piece = os.read(requests, size - len(request))
            if not piece:
                raise EOFError  # the owner is gone
            request += piece
        asked, name = pickle.loads(request)
        try:
            return apart(asked, name)
        finally:
            signal.alarm(idle)

    signal.alarm(idle)
    serve(work, requests, results)


_servers: list[ForkServer] = []


def start(idle: int = IDLE) -> None:
    """Makes the server of this process now, if there is none; it waits so many seconds for work."""
    if hasattr(os, "fork") and (not _servers or _servers[0].owner != os.getpid()):  # this process may itself be a copy
        _servers[:] = [ForkServer(idle)]


def apart_from_server(work: Callable[[], bytes], name: str) -> bytes:
    """What `work`, which `name` names and which is pickled, gives in a process of its own, as `workers.apart` does."""
    if not hasattr(os, "fork"):
        return work()
    start()
    return _servers[0].ask(work, name)
