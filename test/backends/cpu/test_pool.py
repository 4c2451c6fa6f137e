"""The thread pool: every index once, from several threads, inside each other, after a fork, and fast."""

import ctypes
import os
import threading
import time

import numpy as np
import pytest

from lamina.backends.cpu.jit import Pool, link, pool
from lamina.compiler.machine import Machine

TASK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


@pytest.fixture(scope="module")
def three() -> Pool:
    return Pool(3, Machine.host())


def parallel_for(used: Pool) -> ctypes.CFUNCTYPE:
    library = link([used.object], ["lamina_parallel_for"])
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, TASK, ctypes.c_void_p, ctypes.c_int64)(
        library["lamina_parallel_for"]
    )
    function.library = library  # keeps the code
    return function


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 100])
def test_every_index_runs_once(three: Pool, count: int):
    seen = np.zeros(count + 1, np.int64)
    threads: set[int] = set()

    def task(_: int | None, begin: int, end: int) -> None:
        seen[begin:end] += 1
        threads.add(threading.get_ident())

    run = parallel_for(three)
    for _ in range(20):
        run(three.context, TASK(task), None, count)
    assert seen[:count].tolist() == [20] * count
    assert seen[count] == 0
    assert len(threads) <= 3


def test_without_a_pool_the_caller_does_it(three: Pool):
    parts: list[tuple[int, int]] = []
    parallel_for(three)(None, TASK(lambda _, begin, end: parts.append((begin, end))), None, 5)
    assert parts == [(0, 5)]


def test_nested_and_concurrent_calls_finish(three: Pool):
    run = parallel_for(three)
    total = np.zeros(64, np.int64)
    lock = threading.Lock()

    def inner(_: int | None, begin: int, end: int) -> None:
        with lock:
            total[begin:end] += 1

    inner_task = TASK(inner)

    def outer(_: int | None, begin: int, end: int) -> None:
        for _ in range(begin, end):
            run(three.context, inner_task, None, 64)

    outer_task = TASK(outer)
    callers = [threading.Thread(target=lambda: run(three.context, outer_task, None, 6)) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
        assert not caller.is_alive()
    assert total.tolist() == [24] * 64


def test_sleeping_workers_wake(three: Pool):
    run = parallel_for(three)
    count = np.zeros(1, np.int64)
    task = TASK(lambda _, begin, end: count.__iadd__(end - begin))
    for _ in range(3):
        time.sleep(0.02)  # much longer than they spin
        run(three.context, task, None, 1)
        run(three.context, task, None, 3)
    assert count[0] == 12


def test_a_forked_child_makes_its_own_pool():
    machine = Machine.host()
    parent = pool(2, machine)
    child = os.fork()
    if child == 0:
        mine = pool(2, machine)
        ran: list[int] = []
        parallel_for(mine)(mine.context, TASK(lambda _, begin, end: ran.append(end - begin)), None, 2)
        os._exit(0 if mine is not parent and sum(ran) == 2 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_caller_does_what_sleeping_workers_do_not(three: Pool):
    run = parallel_for(three)
    callers: list[int] = []

    def task(_: int | None, begin: int, end: int) -> None:
        callers.extend([threading.get_ident()] * (end - begin))
        if threading.get_ident() != threading.main_thread().ident:
            time.sleep(0.001)

    held = TASK(task)
    for _ in range(50):
        time.sleep(0.005)  # longer than workers spin: they have to be woken, and the caller does not wait for that
        run(three.context, held, None, 3)
    assert len(callers) == 150
    assert callers.count(threading.get_ident()) > 50


def test_more_threads_than_processors():
    many = Pool(4 * (os.cpu_count() or 1), Machine.host())
    run = parallel_for(many)
    seen = np.zeros(1000, np.int64)
    held = TASK(lambda _, begin, end: seen[begin:end].__iadd__(1))
    for _ in range(200):
        run(many.context, held, None, len(seen))
    assert (seen == 200).all()
