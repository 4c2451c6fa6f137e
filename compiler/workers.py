"""Work done in forked copies of this process.

LLVM holds the GIL, and what native code does to a copy, a crash or a growth without end, is only an error here.
"""

from __future__ import annotations

import faulthandler
import math
import os
import resource
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager

from .forks import NUMBER, ProcessDied, collected, forked, reaped

__all__ = ["ProcessDied", "alongside", "apart", "parallel_map", "usable_cores"]


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
            os.write(queue_write, NUMBER.pack(waiting[sent]))
        except BlockingIOError:
            break  # the pipe is full: the rest is done here at the end
        sent += 1
    os.close(queue_write)
    children = forked(work, queue_read, jobs)
    missing = set(range(count))
    try:
        for i, payload in collected(list(children), until):
            missing.discard(i)
            yield i, payload
    finally:
        statuses = reaped(children)
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
    os.write(queue_write, NUMBER.pack(0))
    os.close(queue_write)

    def serve(_: int) -> bytes:
        work()
        return b""

    children = forked(serve, queue_read, 1)
    try:
        yield
        done = list(collected(list(children))) if needed else []
    finally:
        statuses = reaped(children)
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
    os.write(queue_write, NUMBER.pack(0))
    os.close(queue_write)

    def serve(_: int) -> bytes:
        _confine(seconds, memory)
        return work()

    children = forked(serve, queue_read, 1)
    try:
        done = list(collected(list(children)))
    finally:
        statuses = reaped(children)
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
