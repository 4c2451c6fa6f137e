"""The FMA peak of this machine, measured: what the vector units do when nothing but registers is touched."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ...backends.cpu.emit import object_code, optimise
from ...backends.cpu.jit import link
from ...compiler.machine import Machine

ROUNDS = 4_000_000  # some milliseconds, beside which starting a thread is nothing
CHAINS = 12  # independent sums: more than the latency of the multiply-add times its ports


def peak_ir(machine: Machine) -> str:
    """LLVM IR of `void lamina_peak(ptr data)`: ROUNDS times CHAINS independent multiply-adds of one register."""
    lanes = machine.lanes(4)
    type_ = f"<{lanes} x float>"
    body: list[str] = []
    for c in range(CHAINS):
        place = f"getelementptr float, ptr %data, i64 {c * lanes}"
        body.append(f"  %p{c} = {place}\n  %init{c} = load {type_}, ptr %p{c}, align 4")
    body.append("  br label %loop\nloop:\n  %i = phi i64 [ 0, %entry ], [ %next, %loop ]")
    body += [f"  %s{c} = phi {type_} [ %init{c}, %entry ], [ %t{c}, %loop ]" for c in range(CHAINS)]
    fma = f"call {type_} @llvm.fma.v{lanes}f32({type_} %x, {type_} %y, {type_} %s{{c}})"
    body += [f"  %t{c} = {fma.format(c=c)}" for c in range(CHAINS)]
    body.append("  %next = add i64 %i, 1\n  %more = icmp ult i64 %next, " + str(ROUNDS))
    body.append("  br i1 %more, label %loop, label %done\ndone:")
    body += [f"  store {type_} %t{c}, ptr %p{c}, align 4" for c in range(CHAINS)]
    head = f"  %x = load {type_}, ptr %data, align 4\n  %y = load {type_}, ptr %data, align 4"
    declared = f"declare {type_} @llvm.fma.v{lanes}f32({type_}, {type_}, {type_})"
    lines = "\n".join(body)
    return (
        f'target triple = "{machine.triple}"\ndefine void @lamina_peak(ptr %data) {{\n'
        f"entry:\n{head}\n{lines}\n  ret void\n}}\n{declared}\n"
    )


class Peak:
    """Measures the peak again and again, beside what is compared with it: clocks and neighbours change."""

    def __init__(self, machine: Machine | None = None):
        self.machine = machine or Machine.host()
        self._library = link(
            [object_code(optimise(peak_ir(self.machine), self.machine), self.machine)], ["lamina_peak"]
        )
        self._run: Callable[[int], None] = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._library["lamina_peak"])
        self.operations = 2 * ROUNDS * CHAINS * self.machine.lanes(4)

    def measure(self, threads: int = 1, repeats: int = 6) -> float:
        """GFLOP/s of `threads` threads at once, the best of `repeats`."""
        data = [np.zeros(CHAINS * 64, np.float32) for _ in range(threads)]
        best = float("inf")
        with ThreadPoolExecutor(threads) as pool:
            for _ in range(repeats):
                start = time.perf_counter()
                list(pool.map(lambda array: self._run(array.ctypes.data), data))
                best = min(best, time.perf_counter() - start)
        return self.operations * threads / best / 1e9
