"""Work in forked copies of the process, and what may go wrong in one."""

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.workers import ProcessDied, alongside, apart, parallel_map


def test_work_is_done_in_other_processes():
    parent = os.getpid()
    results = dict(parallel_map(lambda i: f"{i} {os.getpid() != parent}".encode(), 5, 2, list("abcde")))
    assert results == {i: f"{i} True".encode() for i in range(5)}


def test_no_warning_of_threads():
    program = """
import os, warnings
os.register_at_fork(before=lambda: warnings.warn("os.fork() was called with threads, as JAX says", RuntimeWarning))
from lamina.compiler.workers import parallel_map
print(len(list(parallel_map(lambda i: b"", 3, 2, list("abc")))))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("3\n", "")


def test_large_results_arrive_whole():
    results = dict(parallel_map(lambda i: bytes([i]) * 300_000, 4, 2, list("abcd")))
    assert all(results[i] == bytes([i]) * 300_000 for i in range(4))


def test_an_error_keeps_its_words():
    def work(i: int) -> bytes:
        if i == 1:
            raise LaminaError("cannot do it", where="model.onnx", hint="try less")
        return b""

    with pytest.raises(LaminaError, match=r"model.onnx: error: cannot do it \(try less\)"):
        list(parallel_map(work, 3, 2, list("abc")))


def test_a_crash_names_what_was_compiled():
    def work(i: int) -> bytes:
        if i == 2:
            os.kill(os.getpid(), signal.SIGSEGV)
        return b"good"

    with pytest.raises(LaminaError, match=r"SIGSEGV.*while compiling @c"):
        list(parallel_map(work, 3, 2, ["@a", "@b", "@c"]))


def test_a_full_disk_is_one_in_another_process_too():
    def full() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match="No space left") as caught, alongside(full, "fill the disk"):
        pass
    assert caught.value.errno == errno.ENOSPC


def test_apart_gives_the_result_of_another_process():
    assert apart(lambda: str(os.getpid()).encode(), "say its number") != str(os.getpid()).encode()


def test_apart_keeps_the_words_of_an_error():
    def work() -> bytes:
        raise LaminaError("cannot do it", where="model.onnx", hint="try less")

    with pytest.raises(LaminaError, match=r"model.onnx: error: cannot do it \(try less\)"):
        apart(work, "try")


def _crash() -> bytes:
    os.kill(os.getpid(), signal.SIGSEGV)
    return b""


def _compute() -> bytes:
    while True:
        pass


@pytest.mark.parametrize(("work", "signal_name"), [(_crash, "SIGSEGV"), (_compute, "SIGXCPU")])
def test_the_end_of_the_process_is_an_error(work: Callable[[], bytes], signal_name: str):
    with pytest.raises(ProcessDied, match=rf"the process died \({signal_name}\) that was to try"):
        apart(work, "try", seconds=1)


def test_memory_has_an_end():
    def take() -> bytes:
        try:
            return bytes(1 << 28)
        except MemoryError:
            return b"none left"

    assert apart(take, "take memory", memory=1 << 26) == b"none left"


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_is_not_ready_in_time_is_not_waited_for(jobs: int) -> None:
    def work(i: int) -> bytes:
        time.sleep(0.01 if i < 2 else 60 if jobs > 1 else 0.6)
        return b"done"

    start = time.monotonic()
    done = dict(parallel_map(work, 6, jobs, list("abcdef"), until=start + 0.5))
    assert {0, 1} <= done.keys() < set(range(6)) and time.monotonic() - start < 20
