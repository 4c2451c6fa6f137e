"""A server that forks for this process: what it gives, how it fails, and that it does not stay."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import pytest

from lamina.compiler import fork_server
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.fork_server import ForkServer, apart_from_server
from lamina.compiler.forks import NUMBER, ProcessDied


def _number() -> bytes:
    return f"{os.getpid()} {os.getppid()}".encode()


def _complain() -> bytes:
    raise LaminaError("cannot do it", where="model.onnx", hint="try less")


def _crash() -> bytes:
    os.kill(os.getpid(), signal.SIGSEGV)
    return b""


def _length(data: bytes) -> bytes:
    return bytes(len(data))


def _wait(seconds: float) -> bytes:
    time.sleep(seconds)
    return b"late"


def test_each_piece_of_work_has_a_process_of_its_own():
    first, second = (tuple(map(int, apart_from_server(_number, "say its number").split())) for _ in range(2))
    assert len({os.getpid(), first[0], second[0], first[1]}) == 4 and first[1] == second[1]


def test_requests_and_results_larger_than_a_pipe():
    assert apart_from_server(partial(_length, bytes(1 << 20)), "count") == bytes(1 << 20)


def test_an_error_keeps_its_words_and_the_server_goes_on():
    with pytest.raises(LaminaError, match=r"model.onnx: error: cannot do it \(try less\)"):
        apart_from_server(_complain, "try")
    with pytest.raises(ProcessDied, match=r"the process died \(SIGSEGV\) that was to try"):
        apart_from_server(_crash, "try")
    assert apart_from_server(partial(_length, b"abc"), "count") == bytes(3)


def _write_to_nobody() -> bytes:
    raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def test_a_broken_pipe_of_the_work_is_no_end_of_the_server():
    server = ForkServer()
    before = server.pid
    with pytest.raises(BrokenPipeError):
        server.ask(_write_to_nobody, "write")
    assert server.pid == before


def test_a_server_that_has_ended_is_made_anew():
    server = ForkServer()
    before = server.ask(_number, "say its number").split()[1]
    os.kill(server.pid, signal.SIGALRM)
    assert server.ask(_number, "say its number").split()[1] != before


def test_it_ends_when_nothing_is_asked_of_it():
    server = ForkServer(1)
    assert server.ask(partial(_wait, 1.5), "wait") == b"late"  # that it works does not count
    _, status = os.waitpid(server.pid, 0)
    assert os.WTERMSIG(status) == signal.SIGALRM


def test_it_ends_when_its_owner_does_in_the_middle_of_a_request():
    server = ForkServer()
    os.write(server._requests, NUMBER.pack(100) + b"some")  # pyright: ignore[reportPrivateUsage]
    os.close(server._requests)  # pyright: ignore[reportPrivateUsage]
    os.close(server._results)  # pyright: ignore[reportPrivateUsage]
    _, status = os.waitpid(server.pid, 0)
    assert os.WIFEXITED(status)


def test_the_answer_to_who_was_interrupted_is_not_that_to_the_next():
    server = ForkServer()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            server.ask(partial(_wait, 0.5), "wait")
    finally:
        signal.signal(signal.SIGALRM, before)
    assert server.ask(partial(_length, b"abc"), "count") == bytes(3)


def test_threads_and_copies_of_the_process_may_ask():
    found: list[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(apart_from_server(_number, "say"))) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(set(found)) == 4
    assert int(apart_from_server(_ask, "ask again")) != os.getpid()


def _ask() -> bytes:
    return apart_from_server(_number, "say its number").split()[1]


def test_it_ends_with_its_owner_and_keeps_no_file_of_it_open():
    program = """
import os, pickle
from functools import partial
from lamina.compiler.fork_server import apart_from_server
read, write = os.pipe()
print("once")
apart_from_server(partial(bytes, 3), "count")
os.close(write)
assert os.read(read, 1) == b""  # which waits while another process has it open
"""
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("once\n", "") and time.monotonic() - start < fork_server.IDLE
