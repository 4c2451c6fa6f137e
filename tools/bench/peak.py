"""The ceilings of this machine, measured: multiply-adds and dot products of registers alone, bytes copied and read."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from ...backends.cpu.emit import object_code, optimise, with_target
from ...backends.cpu.jit import link
from ...backends.cpu.memory import aligned_bytes
from ...compiler.machine import Machine
from ...compiler.signature import Array
from ...passes.convert.dot_to_llvm import INSTRUCTIONS, Instruction
from .cases import COMPUTE
from .timing import Clock, median_time

ROUNDS = 4_000_000  # some milliseconds, beside which starting a thread is nothing
CHAINS = 12  # independent sums: more than the latency of the multiply-add times its ports
LINE = 64 * 4  # bytes that the reading loop takes at a time
TILES = 4  # independent sums in tiles, of the eight that there are
TILE_TURNS = 32  # a product of tiles takes so many times as long as one of vectors
TILE_PRODUCTS = {"int8": "llvm.x86.tdpbssd.internal", "bf16": "llvm.x86.tdpbf16ps.internal"}
TILE_PAIRS = {"int8": 16 * 16 * 64, "bf16": 16 * 16 * 32}  # that one of them multiplies and adds
GROUP = {"i8": 4, "i16": 2, "bf16": 2}  # neighbours that one sum takes in
DOTS = {"int8": ("i8", "i16"), "bf16": ("bf16",)}  # ceiling -> elements of the operands of its instructions
STREAMS = (1, 4, 8)  # places that are read at the same time; which way is faster depends on the prefetchers
SECONDS = 0.05  # of each way, as a case's turn takes
BATCH_S = 0.004  # how long a measured batch of copies takes at least: handing it to a thread is nothing beside


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


def dot_ir(machine: Machine, instruction: Instruction) -> str:
    """LLVM IR of `void lamina_dot(ptr data)`: ROUNDS times CHAINS of an instruction for sums of products."""
    scalar = {"bf16": "bfloat"}.get(instruction.element, instruction.element)
    sums = f"<{instruction.lanes} x {'float' if instruction.element == 'bf16' else 'i32'}>"
    operand = f"<{instruction.lanes * GROUP[instruction.element]} x {scalar}>"
    size = instruction.lanes * 4
    head: list[str] = []
    body: list[str] = []
    done: list[str] = []
    for c in range(CHAINS):
        head.append(
            f"  %p{c} = getelementptr i8, ptr %data, i64 {c * size}\n  %init{c} = load {sums}, ptr %p{c}, align 4"
        )
        body.append(f"  %s{c} = phi {sums} [ %init{c}, %entry ], [ %t{c}, %loop ]")
        done.append(f"  store {sums} %t{c}, ptr %p{c}, align 4")
    for c in range(CHAINS):
        if instruction.accumulates:
            body.append(f"  %t{c} = call {sums} @{instruction.name}({sums} %s{c}, {operand} %x, {operand} %x)")
        else:  # an operand that changes, or the product would be computed once
            body.append(f"  %v{c} = bitcast {sums} %s{c} to {operand}")
            body.append(f"  %d{c} = call {sums} @{instruction.name}({operand} %v{c}, {operand} %x)")
            body.append(f"  %t{c} = add {sums} %s{c}, %d{c}")
    types = f"{sums}, " * instruction.accumulates + f"{operand}, {operand}"
    before, loop, after = ("\n".join(part) for part in (head, body, done))
    return (
        f'target triple = "{machine.triple}"\ndeclare {sums} @{instruction.name}({types})\n'
        f"define void @lamina_dot(ptr %data) {{\nentry:\n  %x = load {operand}, ptr %data, align 4\n{before}\n"
        f"  br label %loop\nloop:\n  %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n{loop}\n"
        f"  %next = add i64 %i, 1\n  %more = icmp ult i64 %next, {ROUNDS}\n"
        f"  br i1 %more, label %loop, label %done\ndone:\n{after}\n  ret void\n}}\n"
    )


def tile_ir(element: str) -> str:
    """LLVM IR of `void lamina_tiles(ptr data)`: ROUNDS / TILE_TURNS times TILES products of tiles of AMX."""
    product = TILE_PRODUCTS[element]
    body = [f"  %s{c} = phi x86_amx [ %zero{c}, %entry ], [ %t{c}, %loop ]" for c in range(TILES)]
    sizes = "i16 16, i16 64"
    for c in range(TILES):
        x, y = f"%a{c // 2}", f"%b{c % 2}"
        body.append(f"  %t{c} = call x86_amx @{product}({sizes}, i16 64, x86_amx %s{c}, x86_amx {x}, x86_amx {y})")
    head = [f"  %zero{c} = call x86_amx @llvm.x86.tilezero.internal({sizes})" for c in range(TILES)]
    load, store = "llvm.x86.tileloadd64.internal", "llvm.x86.tilestored64.internal"
    head += [f"  %{name} = call x86_amx @{load}({sizes}, ptr %data, i64 64)" for name in ("a0", "a1", "b0", "b1")]
    done = [f"  call void @{store}({sizes}, ptr %data, i64 64, x86_amx %t{c})" for c in range(TILES)]
    before, loop, after = ("\n".join(part) for part in (head, body, done))
    return (
        f"declare x86_amx @llvm.x86.tilezero.internal(i16, i16)\ndeclare x86_amx @{load}(i16, i16, ptr, i64)\n"
        f"declare void @{store}(i16, i16, ptr, i64, x86_amx)\n"
        f"declare x86_amx @{product}(i16, i16, i16, x86_amx, x86_amx, x86_amx)\n"
        f"define void @lamina_tiles(ptr %data) {{\nentry:\n{before}\n  br label %loop\nloop:\n"
        f"  %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n{loop}\n  %next = add i64 %i, 1\n"
        f"  %more = icmp ult i64 %next, {ROUNDS // TILE_TURNS}\n"
        f"  br i1 %more, label %loop, label %done\ndone:\n{after}\n  ret void\n}}\n"
    )


def widest(machine: Machine, elements: Sequence[str]) -> Instruction | None:
    """The instruction for operands of such elements that does most at a time; None where there is none."""
    fitting = [i for i in INSTRUCTIONS if i.element in elements and i.runs_on(machine)]
    return max(fitting, key=lambda i: i.lanes * GROUP[i.element], default=None)


def read_ir(machine: Machine, streams: int) -> str:
    """LLVM IR of `void lamina_read_<streams>(ptr data, i64 bytes, ptr sums)`, which loads and sums every byte.

    So many parts of `bytes` each lie behind one another and are read side by side.
    """
    vector = machine.vector_bytes
    type_ = f"<{vector // 4} x i32>"
    step = max(LINE // streams, vector)
    body: list[str] = []
    phis: list[str] = []
    kept: list[str] = []
    for part in range(streams * step // vector):
        stream, offset = divmod(part * vector, step)
        phis.append(f"  %s{part} = phi {type_} [ zeroinitializer, %entry ], [ %t{part}, %loop ]")
        body.append(f"  %b{part} = mul i64 %bytes, {stream}\n  %o{part} = add i64 %i, {offset}")
        body.append(f"  %a{part} = add i64 %b{part}, %o{part}\n  %p{part} = getelementptr i8, ptr %data, i64 %a{part}")
        body.append(f"  %v{part} = load {type_}, ptr %p{part}, align 4\n  %t{part} = add {type_} %s{part}, %v{part}")
        kept.append(f"  %q{part} = getelementptr i8, ptr %sums, i64 {part * vector}")
        kept.append(f"  store {type_} %t{part}, ptr %q{part}, align 4")
    lines, stores = "\n".join([*phis, *body]), "\n".join(kept)
    return (
        f'target triple = "{machine.triple}"\n'
        f"define void @lamina_read_{streams}(ptr %data, i64 %bytes, ptr %sums) {{\n"
        f"entry:\n  br label %loop\nloop:\n  %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n{lines}\n"
        f"  %next = add i64 %i, {step}\n  %more = icmp ult i64 %next, %bytes\n"
        f"  br i1 %more, label %loop, label %done\ndone:\n{stores}\n  ret void\n}}\n"
    )


def copy_ir(machine: Machine) -> str:
    """LLVM IR of `void lamina_copy(ptr to, ptr from, i64 bytes)`, whose stores pass the caches by."""
    vector = machine.vector_bytes
    type_ = f"<{vector // 4} x i32>"
    body: list[str] = []
    for part in range(LINE // vector):
        body.append(f"  %o{part} = add i64 %i, {part * vector}\n  %p{part} = getelementptr i8, ptr %from, i64 %o{part}")
        body.append(f"  %v{part} = load {type_}, ptr %p{part}, align {vector}")
        body.append(f"  %q{part} = getelementptr i8, ptr %to, i64 %o{part}")
        body.append(f"  store {type_} %v{part}, ptr %q{part}, align {vector}, !nontemporal !0")
    lines = "\n".join(body)
    return (
        f'target triple = "{machine.triple}"\n'
        f"define void @lamina_copy(ptr noalias %to, ptr noalias %from, i64 %bytes) {{"
        f"\nentry:\n  br label %loop\nloop:\n  %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n{lines}\n"
        f"  %next = add i64 %i, {LINE}\n  %more = icmp ult i64 %next, %bytes\n"
        f"  br i1 %more, label %loop, label %done\ndone:\n  ret void\n}}\n!0 = !{{i32 1}}\n"
    )


class Peaks:
    """Measures the ceilings again and again, beside what is compared with them: clocks and neighbours change."""

    def __init__(self, threads: int = 1, clock: Clock = time.perf_counter, machine: Machine | None = None):
        self.machine = machine or Machine.host()
        objects = [
            object_code(optimise(ir, self.machine), self.machine)
            for ir in (
                peak_ir(self.machine),
                copy_ir(self.machine),
                *(read_ir(self.machine, streams) for streams in STREAMS),
            )
        ]
        self._library = link(
            objects, ["lamina_peak", "lamina_copy", *(f"lamina_read_{streams}" for streams in STREAMS)]
        )
        self._multiply: Callable[[int], None] = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._library["lamina_peak"])
        self._copy: Callable[..., None] = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(
            self._library["lamina_copy"]
        )
        read = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
        self._reads: dict[int, Callable[..., None]] = {n: read(self._library[f"lamina_read_{n}"]) for n in STREAMS}
        self._threads = threads
        self._clock = clock
        self._pool = ThreadPoolExecutor(threads)
        self._dots: dict[str, tuple[Any, Callable[[int], None]]] = {}  # libraries, and their only function
        self._memory: tuple[int, list[Array]] = (0, [])

    def measure(self, bound: str, moved: int = 0, seconds: float = SECONDS) -> float:
        """The ceiling `bound`: GFLOP/s of "fma"; of "int8" and "bf16" by tiles, else by the instruction for sums of
        neighbours' products, else by multiply-adds; GB/s of "copy" and "read" over `moved` bytes.

        Each way is run for `seconds`, of which the median run counts, as of the cases: clocks that a processor has
        for its first milliseconds of multiply-adds are not those that it keeps.
        """
        if bound in TILE_PAIRS and self.machine.has_tiles(f"amx-{bound}"):
            run = self._compiled(f"tiles of {bound}", "lamina_tiles", lambda: with_target(tile_ir(bound), self.machine))
            return self._operations(run, ROUNDS // TILE_TURNS * TILES * TILE_PAIRS[bound], seconds)
        if bound in DOTS and (instruction := widest(self.machine, DOTS[bound])):
            run = self._compiled(instruction.name, "lamina_dot", lambda: dot_ir(self.machine, instruction))
            return self._operations(run, ROUNDS * CHAINS * instruction.lanes * GROUP[instruction.element], seconds)
        if bound in COMPUTE:
            return self._operations(self._multiply, ROUNDS * CHAINS * self.machine.lanes(4), seconds)
        return self._traffic(bound, moved, seconds)

    def _compiled(self, what: str, function: str, ir: Callable[[], str]) -> Callable[[int], None]:
        """The only function of `ir`, which is compiled once."""
        if what not in self._dots:
            library = link([object_code(optimise(ir(), self.machine), self.machine)], [function])
            self._dots[what] = library, ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library[function])
        return self._dots[what][1]

    def _operations(self, run: Callable[[int], None], products: int, seconds: float) -> float:
        """GFLOP/s of all threads at once where a run multiplies and adds so many pairs."""
        data = [np.zeros(CHAINS * 64, np.float32) for _ in range(self._threads)]
        operations = 2 * products * self._threads
        return operations / self._median(lambda t: run(data[t].ctypes.data), seconds) / 1e9

    def _traffic(self, bound: str, moved: int, seconds: float) -> float:
        """Each thread its own slice; a copy reads one half of the bytes and writes the other."""
        unit = 2 * LINE * max(STREAMS)
        share = max(moved // self._threads // unit, 1) * unit
        if self._memory[0] != share:
            self._memory = (share, [aligned_bytes(share) for _ in range(self._threads)])
            for array in self._memory[1]:
                array[...] = 1  # every page is there
        starts = [array.ctypes.data for array in self._memory[1]]
        sums = [np.zeros(LINE * max(STREAMS), np.uint8) for _ in range(self._threads)]

        def read(streams: int, thread: int) -> None:
            self._reads[streams](starts[thread], share // streams, sums[thread].ctypes.data)

        def copy(by: Callable[..., object], thread: int) -> None:
            by(starts[thread] + share // 2, starts[thread], share // 2)

        ways = (
            [partial(copy, by) for by in (ctypes.memmove, self._copy)]
            if bound == "copy"
            else [partial(read, streams) for streams in STREAMS]
        )
        return share * self._threads / min(self._of_one(way, seconds) for way in ways) / 1e9

    def _of_one(self, once: Callable[[int], None], seconds: float) -> float:
        """Seconds of one run on all threads, in batches."""
        once(0)
        begin = self._clock()
        once(0)
        count = max(1, int(BATCH_S / (self._clock() - begin)))
        return self._median(lambda thread: [once(thread) for _ in range(count)], seconds) / count

    def _median(self, work: Callable[[int], object], seconds: float) -> float:
        """Seconds of the median turn of all threads at once."""
        if self._threads == 1:
            return median_time(lambda: work(0), self._clock, seconds)
        threads = range(self._threads)
        return median_time(lambda: list(self._pool.map(work, threads)), self._clock, seconds)
