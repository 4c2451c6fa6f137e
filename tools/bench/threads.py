"""`lamina bench threads`: what it costs to hand work to the threads and to wait for them, with nothing to do.

Regions follow each other at once (workers still spin), after a pause in which they may spin or sleep, or after one in
which they certainly sleep.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
from collections.abc import Callable

from ...backends.cpu.emit import object_code, optimise, with_target
from ...backends.cpu.jit import link, pool
from ...compiler.machine import Machine

PAUSES_US = (0, 5, 20, 100, 1000, 20000)
REPEATS = 15

_REGIONS = """
declare void @lamina_parallel_for(ptr, ptr, ptr, i64)
declare i64 @llvm.readcyclecounter()
define void @lamina_nothing(ptr %closure, i64 %begin, i64 %end) { ret void }
define i64 @lamina_regions(ptr %ctx, i64 %rounds, i64 %tasks, i64 %pause) {
entry:
  br label %round
round:
  %i = phi i64 [ 0, %entry ], [ %next, %region ]
  %sum = phi i64 [ 0, %entry ], [ %total, %region ]
  %start = call i64 @llvm.readcyclecounter()
  br label %wait
wait:
  %now = call i64 @llvm.readcyclecounter()
  %passed = sub i64 %now, %start
  %more = icmp ult i64 %passed, %pause
  br i1 %more, label %wait, label %region
region:
  %before = call i64 @llvm.readcyclecounter()
  call void @lamina_parallel_for(ptr %ctx, ptr @lamina_nothing, ptr null, i64 %tasks)
  %after = call i64 @llvm.readcyclecounter()
  %took = sub i64 %after, %before
  %total = add i64 %sum, %took
  %next = add i64 %i, 1
  %again = icmp ult i64 %next, %rounds
  br i1 %again, label %round, label %done
done:
  ret i64 %total
}
"""


class Regions:
    """Empty parallel regions on a pool of `threads`."""

    def __init__(self, threads: int, machine: Machine):
        self.threads = threads
        self._pool = pool(threads, machine)
        code = object_code(optimise(with_target(_REGIONS, machine), machine), machine)
        self._library = link([code, self._pool.object], ["lamina_regions"])
        types = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
        self._run = ctypes.CFUNCTYPE(ctypes.c_int64, *types)(self._library["lamina_regions"])

    def cycles(self, rounds: int, pause: int) -> float:
        """Ticks of the processor's clock for one region, `pause` ticks after the one before."""
        return self._run(self._pool.context, rounds, self.threads, pause) / rounds


def ticks_per_us(time: Callable[[], float]) -> float:
    """How fast the clock that `Regions` reads runs."""
    alone = Regions(1, Machine.host())
    start = time()
    alone.cycles(1, 50_000_000)
    return 50_000_000 / ((time() - start) * 1e6)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("--threads", type=int, help="how many threads (default: all cores)")


def main(args: argparse.Namespace) -> int:
    """Prints the median and the spread of a region's time after each pause."""
    from time import perf_counter

    machine = Machine.host()
    regions = Regions(args.threads or machine.cores, machine)
    speed = ticks_per_us(perf_counter)
    print(f"an empty parallel region on {regions.threads} threads, in us")
    print(f"{'after us':>9}{'median':>9}{'best':>9}{'worst':>9}")
    for pause in PAUSES_US:
        rounds = max(3, min(2000, 20_000 // max(1, pause)))
        taken = [regions.cycles(rounds, int(pause * speed)) / speed for _ in range(REPEATS)]
        print(f"{pause:>9}{statistics.median(taken):>9.2f}{min(taken):>9.2f}{max(taken):>9.2f}")
    return 0
