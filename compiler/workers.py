"""Work done in forked copies of this process.

LLVM holds the GIL, and what native code does to a copy, a crash or a growth without end, is only an error here.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import math
import os
import resource
import selectors
import signal
import struct
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NoReturn

from .diagnostics import LaminaError

_HEADER = struct.Struct("<IBQ")  # which item, whether it went well, bytes that follow
_NUMBER = struct.Struct("<I")


class ProcessDied(LaminaError):
    """The process that was at work ended without a result."""


def usable_cores() -> int:
    """The processors this process may run on; `LAMINA_JOBS` limits what compilation takes."""
    told = os.environ.get("LAMINA_JOBS", "")
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, int(told)) if told.isdigit() else available


def parallel_map(
    work: Callable[[int], bytes], count: int, jobs: int, names: Sequence[str], *, until: float = math.inf
) -> Iterator[tuple[int, bytes]]:
    """`(i, work(i))` for each i below `count`, in the order they are ready, from `jobs` forked processes.

    What is not ready `until` then, as `time.monotonic` counts, is not waited for: its processes are ended.
    Raises the LaminaError or OSError that `work` raised, or ProcessDied naming the item.
    """
    jobs = min(jobs, count)
    if jobs <= 1 or not hasattr(os, "fork"):
        yield from ((i, work(i)) for i in range(count) if time.monotonic() < until)
        return
    queue_read, queue_write = os.pipe()  # whoever is free takes the next number
    os.set_blocking(queue_write, False)
    waiting = list(range(count))
    sent = 0
    while sent < count:
        try:
            os.write(queue_write, _NUMBER.pack(waiting[sent]))
        except BlockingIOError:
            break  # the pipe is full: the rest is done here at the end
        sent += 1
    os.close(queue_write)
    children = _fork(work, queue_read, jobs)
    missing = set(range(count))
    try:
        for i, payload in _collect(list(children), until):
            missing.discard(i)
            yield i, payload
    finally:
        statuses = _reap(children)
    if time.monotonic() >= until:
        return
    for i in sorted(missing & set(range(sent, count))):
        missing.discard(i)
        yield i, work(i)
    if missing:
        first = min(missing)
        raise ProcessDied(
            f"the compiler process died ({', '.join(statuses)}) while compiling {names[first]}",
            hint="LAMINA_JOBS=1 compiles in this process",
        )


@contextmanager
def alongside(work: Callable[[], None], name: str, *, needed: bool = True) -> Generator[None]:
    """Does `work`, which `name` names, in a forked copy of this process while the body runs; ends when both are done.

    Work that is not `needed` is stopped at the end of the body, however far it got and however it went.
    Raises the LaminaError or OSError that `work` raised, or ProcessDied naming the work.
    """
    if not hasattr(os, "fork"):
        if needed:
            work()
        yield
        return
    queue_read, queue_write = os.pipe()
    os.write(queue_write, _NUMBER.pack(0))
    os.close(queue_write)

    def serve(_: int) -> bytes:
        work()
        return b""

    children = _fork(serve, queue_read, 1)
    try:
        yield
        done = list(_collect(list(children))) if needed else []
    finally:
        statuses = _reap(children)
    if needed and not done:
        raise ProcessDied(f"the process died ({', '.join(statuses)}) that was to {name}")


def apart(work: Callable[[], bytes], name: str, *, seconds: int = 60, memory: int = 2 << 30) -> bytes:
    """What `work`, which `name` names, gives in a forked copy of this process.

    It may compute for so many seconds and take so many bytes. Raises the LaminaError or OSError that `work` raised,
    or ProcessDied naming the work.
    """
    if not hasattr(os, "fork"):
        return work()
    queue_read, queue_write = os.pipe()
    os.write(queue_write, _NUMBER.pack(0))
    os.close(queue_write)

    def serve(_: int) -> bytes:
        _confine(seconds, memory)
        return work()

    children = _fork(serve, queue_read, 1)
    try:
        done = list(_collect(list(children)))
    finally:
        statuses = _reap(children)
    if not done:
        raise ProcessDied(f"the process died ({', '.join(statuses)}) that was to {name}")
    return done[0][1]


def _confine(seconds: int, memory: int) -> None:
    """Limits what this process takes from here on; its end leaves no traces."""
    faulthandler.disable()
    with open("/proc/self/statm", "rb") as sizes:
        memory += int(sizes.read().split()[0]) * resource.getpagesize()
    for limit, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds)):
        soft, hard = resource.getrlimit(limit)
        if soft == resource.RLIM_INFINITY or most < soft:
            resource.setrlimit(limit, (most, hard))


def _fork(work: Callable[[int], bytes], queue: int, jobs: int) -> dict[int, int]:
    """Starts `jobs` copies that take numbers from `queue`; the pipe of each with its process."""
    sys.stdout.flush()
    sys.stderr.flush()
    children: dict[int, int] = {}
    gc.freeze()
    try:
        for _ in range(jobs):
            read, write = os.pipe()
            pid = _copy_of_this_process()
            if pid == 0:
                os.close(read)
                _serve(work, queue, write)
            os.close(write)
            children[read] = pid
    finally:
        gc.unfreeze()
        os.close(queue)
    return children


def _copy_of_this_process() -> int:
    """What `os.fork` gives, without the warnings of JAX and Python 3.12 in a process with threads.

    They warn of locks that other threads held: the copy runs our own code, takes none of theirs, and ends by `_exit`.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r".*fork\(\)")
        return os.fork()


def _serve(work: Callable[[int], bytes], queue: int, out: int) -> NoReturn:
    code = 0
    try:
        while number := os.read(queue, _NUMBER.size):
            (i,) = _NUMBER.unpack(number)
            try:
                good, payload = 1, work(i)
            except LaminaError as error:
                told = {"message": error.message, "where": error.where, "hint": error.hint, "notes": error.notes}
                good, payload = 0, json.dumps(told).encode()
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


def _collect(pipes: list[int], until: float = math.inf) -> Iterator[tuple[int, bytes]]:
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
    return LaminaError(told["message"], where=told["where"], hint=told["hint"], notes=tuple(told["notes"]))


def _reap(children: dict[int, int]) -> list[str]:
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
