"""Forked copies of this process: how they start, are given work, tell what came of it, and end."""

from __future__ import annotations

import json
import math
import os
import selectors
import signal
import struct
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NoReturn

from .collector import collect_seldom
from .diagnostics import LaminaError

NUMBER = struct.Struct("<I")
_HEADER = struct.Struct("<IBQ")  # which item, whether it went well, bytes that follow


class ProcessDied(LaminaError):
    """The process that was at work ended without a result."""


def forked(work: Callable[[int], bytes], queue: int, jobs: int) -> dict[int, int]:
    """Starts `jobs` copies that take numbers from `queue`; the pipe of each with its process."""
    children: dict[int, int] = {}
    try:
        for _ in range(jobs):
            read, write = os.pipe()
            pid = copy_of_this_process()
            if pid == 0:
                os.close(read)
                serve(work, queue, write)
            os.close(write)
            children[read] = pid
    finally:
        os.close(queue)
    return children


def copy_of_this_process() -> int:
    """What `os.fork` gives, without the warnings of JAX and Python 3.12 in a process with threads.

    They warn of locks that other threads held: the copy runs our own code, takes none of theirs, and ends by `_exit`.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r".*fork\(\)")
        pid = os.fork()
    if pid == 0:
        collect_seldom()
    return pid


def serve(work: Callable[[int], bytes], queue: int, out: int) -> NoReturn:
    """A copy's life: does the work of each number in `queue`, writes to `out` what came of it, and ends."""
    code = 0
    try:
        while number := os.read(queue, NUMBER.size):
            (i,) = NUMBER.unpack(number)
            try:
                good, payload = 1, work(i)
            except LaminaError as error:
                told = {"message": error.message, "where": error.where, "hint": error.hint, "notes": error.notes}
                good, payload = 4 if isinstance(error, ProcessDied) else 0, json.dumps(told).encode()
            except OSError as error:
                good, payload = 3, json.dumps([error.errno, error.strerror]).encode()
            except Exception:
                good, payload = 2, traceback.format_exc().encode()
            data = memoryview(_HEADER.pack(i, good, len(payload)) + payload)
            while data:
                data = data[os.write(out, data) :]
    except BaseException:
        code = 1
    finally:
        os._exit(code)


def collected(pipes: list[int], until: float = math.inf) -> Iterator[tuple[int, bytes]]:
    """What copies write to `pipes`, as it comes, until all have ended, or `until` then. Raises what work has raised."""
    buffers = {pipe: bytearray() for pipe in pipes}
    with selectors.DefaultSelector() as selector:
        for pipe in pipes:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            left = until - time.monotonic()
            if left <= 0:
                return
            for key, _ in selector.select(None if math.isinf(left) else left):
                data = os.read(key.fd, 1 << 20)
                if not data:
                    selector.unregister(key.fd)
                    continue
                buffer = buffers[key.fd]
                buffer += data
                while len(buffer) >= _HEADER.size:
                    i, good, size = _HEADER.unpack_from(buffer)
                    if len(buffer) < _HEADER.size + size:
                        break
                    payload = bytes(buffer[_HEADER.size : _HEADER.size + size])
                    del buffer[: _HEADER.size + size]
                    if good != 1:
                        raise _failure(good, payload)
                    yield i, payload


def _failure(kind: int, payload: bytes) -> Exception:
    if kind == 2:
        return RuntimeError("in a compiler process:\n" + payload.decode())
    if kind == 3:
        return OSError(*json.loads(payload))
    told = json.loads(payload)
    error = ProcessDied if kind == 4 else LaminaError
    return error(told["message"], where=told["where"], hint=told["hint"], notes=tuple(told["notes"]))


def reaped(children: dict[int, int]) -> list[str]:
    """Waits for every child, stopping those still at work; says how each ended badly."""
    ended: list[str] = []
    for pipe, pid in children.items():
        os.close(pipe)
        done, status = os.waitpid(pid, os.WNOHANG)
        if not done:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) != signal.SIGTERM:
            ended.append(signal.Signals(os.WTERMSIG(status)).name)
    return ended or ["without a word"]
