"""`lamina targets --measure`: what this machine reaches, measured with generated code, kept for the cost model.

Short runs, of which the best counts: other programs on the machine only ever make slower, and between their turns
there is room for a millisecond.
"""

from __future__ import annotations

import ctypes
import math
import time
import warnings
from collections.abc import Callable
from typing import Any

from ..backends.cpu.emit import object_code, optimise, with_target
from ..backends.cpu.jit import link, pool
from ..backends.cpu.memory import aligned_bytes
from ..compiler.machine import Machine
from ..compiler.measured import Measured
from .bench.peak import Peaks
from .machine_ir import copy_ir, fork_ir, read_ir

Clock = Callable[[], float]
BATCH = 5e-4  # seconds that a timed call takes at least
SECONDS = 0.3  # that calls of one kind are repeated
FORKS = 16
BUSY = 20.0  # microseconds: no idle machine takes so long to fork and join
MEMORY_BYTES = 1 << 28  # as much as is read from memory, unless the last cache is larger
DIGITS = 2  # measured again, a machine should give the same numbers: they are part of the keys of caches


def measure(machine: Machine, clock: Clock = time.perf_counter) -> Measured:
    """Measures for some seconds. Warns when the machine seems to be busy with other things."""
    names = ["lamina_measure_read", "lamina_measure_copy", "lamina_measure_fork"]
    threads = pool(machine.cores, machine)
    text = "\n".join((read_ir(machine), copy_ir(machine), fork_ir()))
    code = object_code(optimise(with_target(text, machine), machine), machine)
    library: Any = link([code, threads.object], names)
    address, number = ctypes.c_void_p, ctypes.c_int64
    read = ctypes.CFUNCTYPE(None, address, number, number)(library[names[0]])
    copy = ctypes.CFUNCTYPE(None, address, address, number, number)(library[names[1]])
    fork = ctypes.CFUNCTYPE(None, address, number)(library[names[2]])
    sizes = working_sets(machine)
    memory = aligned_bytes(sizes[-1])
    memory[:] = 1  # every page is there
    start = memory.ctypes.data
    reads = [_rate(lambda n, s=size: read(start, s, n), size, clock) for size in sizes]
    copies = [_rate(lambda n, s=size // 2: copy(start, start + s, s, n), size, clock) for size in sizes]
    forks = _seconds(lambda n: fork(threads.context, n * FORKS), clock) / FORKS * 1e6
    if forks > BUSY:
        warnings.warn("the machine is busy: measure again when it is not", stacklevel=2)
    return Measured(
        fma_gflops=rounded(Peaks(1, clock, machine).measure("fma", seconds=0.5)),
        read_gbs=tuple(map(rounded, reads)),
        copy_gbs=tuple(map(rounded, copies)),
        fork_join_us=rounded(forks),
    )


def working_sets(machine: Machine) -> tuple[int, int, int, int]:
    """Bytes that lie in L1, in L2, in L3 and in memory, whatever else is there; multiples of a page."""
    page = 4096
    sets = (machine.l1_bytes // 2, machine.l2_bytes // 2, max(machine.l3_bytes // 8, 4 * machine.l2_bytes))
    l1, l2, l3 = (max(page, size // (2 * page) * (2 * page)) for size in sets)
    return l1, l2, l3, max(MEMORY_BYTES, 4 * machine.l3_bytes, 2 * l3)


def rounded(value: float) -> float:
    """`value` to DIGITS significant digits.

    >>> rounded(103.7), rounded(1.876)
    (100.0, 1.9)
    """
    return round(value, DIGITS - 1 - math.floor(math.log10(value))) if value > 0 else 0.0


def _rate(run: Callable[[int], None], touched: int, clock: Clock) -> float:
    """GB/s of a call that touches so many bytes each of the times it is told."""
    return touched / _seconds(run, clock) / 1e9


def _seconds(run: Callable[[int], None], clock: Clock) -> float:
    """Seconds of one time: the best of many calls that each last about BATCH."""
    times = 1
    while True:
        begin = clock()
        run(times)
        best = clock() - begin
        if best >= BATCH or times >= 1 << 24:
            break
        times *= 2
    until = clock() + SECONDS
    while clock() < until:
        begin = clock()
        run(times)
        best = min(best, clock() - begin)
    return best / times
