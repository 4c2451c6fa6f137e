"""Kernels of one problem, compiled with any schedule and timed against each other on the same data."""

from __future__ import annotations

import ctypes
import math
import time
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr
from xdsl.ir import BlockArgument

from ...backends.cpu.build import Part, compile_part, load_passes
from ...backends.cpu.jit import Pool, link
from ...backends.cpu.native_model import aligned_bytes
from ...backends.cpu.pipeline import KERNEL_PHASES
from ...compiler.diagnostics import LaminaError
from ...compiler.dtypes import dtype_of
from ...compiler.program import Program
from ...compiler.schedules import SCHEDULE
from ...compiler.signature import Array
from ...compiler.workers import parallel_map, usable_cores
from ...passes.convert.contraction_to_vector.analysis import Panels, analyse
from .candidates import Candidate
from .search import Ratio

SYMBOL = "lamina_candidate"
SAMPLE = 5e-4  # seconds that one sample of a pair lasts at least
BRIEF, LONG = (0.06, 9), (0.25, 25)  # seconds and pairs that a comparison takes at least
LONGEST = 6.0  # and at most
ERRORS = {2: 3e-2, 4: 1e-4, 8: 1e-10}  # by element size: what another order of additions may change, of the largest


@dataclass(frozen=True)
class Lowered:
    """A program on the level of buffers, and the kernels of one problem in it."""

    program: Program
    kernels: tuple[func.FuncOp, ...]


class KernelBench:
    """Compares candidates of one problem: `lowered(lanes)` gives its kernels with panels of that width.

    One thread is timed by its own CPU time, which others on the machine disturb least; several by the wall clock.
    """

    def __init__(
        self,
        lowered: Callable[[int], Lowered | None],
        calls: Sequence[int],
        pool: Pool,
        clock: Callable[[], float] = time.perf_counter,
    ):
        self._lowered = lowered
        self._calls = calls
        self._pool = pool
        self._clock = clock
        self._timer = time.thread_time if pool.threads == 1 else time.perf_counter
        self._most_called = max(range(len(calls)), key=lambda i: calls[i])
        self._codes: dict[tuple[Candidate, int], _Code | None] = {}
        self.problems: list[str] = []  # candidates whose numbers were wrong: defects of ours

    def compare(self, base: Candidate, others: Sequence[Candidate]) -> list[Ratio | None]:
        """Brief comparisons on the kernel that is called most."""
        number = self._most_called
        self._compile([(candidate, number) for candidate in (base, *others)])
        result = [self._ratio(base, other, [number], BRIEF) for other in others]
        for other in others:
            self._codes.pop((other, number), None)  # what wins is compiled again; the rest is not kept
        return result

    def confirm(self, base: Candidate, other: Candidate) -> Ratio | None:
        """A long comparison of all kernels, each as often as the model calls it."""
        numbers = list(range(len(self._calls)))
        self._compile([(candidate, number) for candidate in (base, other) for number in numbers])
        return self._ratio(base, other, numbers, LONG)

    def seconds(self, candidate: Candidate) -> float:
        """How long all calls of the problem in the model take."""
        numbers = range(len(self._calls))
        self._compile([(candidate, number) for number in numbers])
        total = 0.0
        for number in numbers:
            code = self._codes[candidate, number]
            if code is not None:
                code.call()
                repeats = self._repeats(code)
                samples = sorted(self._sample(code, repeats) for _ in range(5))
                total += samples[2] / repeats * self._calls[number]
        return total

    def _compile(self, wanted: Sequence[tuple[Candidate, int]]) -> None:
        """Makes the code that is not there yet; None for what the compiler refuses."""
        todo = [each for each in dict.fromkeys(wanted) if each not in self._codes]
        parts: list[tuple[Part, Program, func.FuncOp]] = []
        compiled: list[tuple[Candidate, int]] = []
        for candidate, number in todo:
            lowered = self._lowered(candidate.lanes)
            if lowered is None:
                continue
            function = lowered.kernels[number].clone()
            function.properties["sym_name"] = StringAttr(SYMBOL)
            function.properties["sym_visibility"] = StringAttr("public")
            function.attributes[SCHEDULE] = StringAttr(str(candidate.schedule))
            part = Part(str(candidate), ModuleOp([function]), "", KERNEL_PHASES)
            parts.append((part, lowered.program, lowered.kernels[number]))
            compiled.append((candidate, number))
        load_passes(KERNEL_PHASES)

        def work(i: int) -> bytes:
            try:
                return compile_part(parts[i][0], parts[i][1].context)
            except Exception:  # a schedule that the compiler cannot do is none
                return b""

        objects: dict[int, bytes] = {}
        with suppress(LaminaError):  # a compiler process died: what is missing counts as refused
            objects.update(parallel_map(work, len(parts), usable_cores(), [part.name for part, _, _ in parts]))
        self._codes |= dict.fromkeys(todo)
        for i, each in enumerate(compiled):
            if objects.get(i):
                self._codes[each] = _Code(objects[i], parts[i][2], self._pool)

    def _ratio(
        self, base: Candidate, other: Candidate, numbers: Sequence[int], effort: tuple[float, int]
    ) -> Ratio | None:
        pairs = [(self._codes[base, number], self._codes[other, number]) for number in numbers]
        codes = [(a, b) for a, b in pairs if a is not None and b is not None]
        if len(codes) != len(pairs):
            return None
        for a, b in codes:
            if not a.agrees(b):
                self.problems.append(f"{other} gives other numbers than {base}")
                return None
        repeats = [self._repeats(a) for a, _ in codes]
        weights = [self._calls[number] / count for number, count in zip(numbers, repeats, strict=True)]
        seconds, least = effort
        start = self._clock()
        times: list[tuple[float, float]] = []
        while (now := self._clock() - start) < seconds or (len(times) < least and now < LONGEST) or len(times) < 3:
            sums = [0.0, 0.0]
            for (a, b), count, weight in zip(codes, repeats, weights, strict=True):
                for side in (0, 1) if len(times) % 2 else (1, 0):  # who goes first takes turns
                    sums[side] += self._sample((a, b)[side], count) * weight
            times.append((sums[0], sums[1]))
        return Ratio.of(times)

    def _repeats(self, code: _Code) -> int:
        return max(1, math.ceil(SAMPLE / max(1e-7, self._sample(code, 1))))

    def _sample(self, code: _Code, repeats: int) -> float:
        begin = self._timer()
        for _ in range(repeats):
            code.call()
        return max(1e-9, self._timer() - begin)


class _Code:
    """A kernel's machine code with data to run on, which depends on the kernel but not on the schedule."""

    def __init__(self, data: bytes, kernel: func.FuncOp, pool: Pool):
        self._library: Any = link([data, pool.object], [SYMBOL])
        self._kernel = kernel
        self._arrays = _arrays(kernel)
        types = [ctypes.c_void_p] * (len(self._arrays) + 1)
        function = ctypes.CFUNCTYPE(None, *types)(self._library[SYMBOL])
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in self._arrays]
        self.call: Callable[[], None] = lambda: function(*pointers, pool.context)

    def outputs(self) -> list[Array]:
        """The arrays that the kernel writes, after a call on fresh data."""
        for array, fresh in zip(self._arrays, _fill(self._kernel), strict=True):
            array[...] = fresh
        self.call()
        return [self._arrays[i].copy() for i in _written(self._kernel)]

    def agrees(self, other: _Code) -> bool:
        """Whether both give the same numbers, but for the order of additions."""
        return all(_close(a, b) for a, b in zip(self.outputs(), other.outputs(), strict=True))


def _close(a: Array, b: Array) -> bool:
    if a.dtype.kind in "iub":
        return bool(np.array_equal(a, b))
    wide, other = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(wide)
    if not np.array_equal(finite, np.isfinite(other)):
        return False
    bound = ERRORS.get(a.dtype.itemsize, 1e-4) * max(1e-30, float(np.abs(wide[finite]).max(initial=0.0)))
    return bool(np.abs(wide - other)[finite].max(initial=0.0) <= bound)


def _arrays(kernel: func.FuncOp) -> list[Array]:
    arrays: list[Array] = []
    for fresh in _fill(kernel):
        array = aligned_bytes(fresh.nbytes).view(fresh.dtype).reshape(fresh.shape)
        array[...] = fresh
        arrays.append(array)
    return arrays


def _fill(kernel: func.FuncOp) -> list[Array]:
    """Numbers for the arguments of a kernel: the same whatever the width of the panels."""
    contraction = analyse(kernel).contraction
    arrays: list[Array] = []
    for i, type_ in enumerate(kernel.function_type.inputs.data):
        assert isinstance(type_, MemRefType)
        if contraction.panels is not None and contraction.b.value is kernel.args[i]:
            arrays.append(_panels(type_, contraction.panels, contraction.columns, i))
        else:
            arrays.append(_random(type_.get_shape(), dtype_of(type_), i))
    return arrays


def _random(shape: Sequence[int], dtype: np.dtype[Any], seed: int) -> Array:
    rng = np.random.default_rng(zlib.crc32(f"{seed}".encode()))
    if dtype.kind in "iub":
        return rng.integers(0, 2 if dtype.kind == "b" else 5, tuple(shape)).astype(dtype)
    return rng.standard_normal(tuple(shape), np.float32).astype(dtype)


def _panels(type_: MemRefType, layout: Panels, columns: int, seed: int) -> Array:
    """[.., panel, k.., lane] of a matrix [.., columns, k..] that does not depend on the lanes (and `group` behind)."""
    shape = list(type_.get_shape())
    lane = len(shape) - (2 if layout.group > 1 else 1)
    panels = -(-columns // layout.lanes)
    axis = next(i for i, size in enumerate(shape[:lane]) if size == panels)
    inner = [*shape[axis + 1 : lane], *shape[lane + 1 :]]
    dense = _random([*shape[:axis], columns, *inner], dtype_of(type_), seed)
    padded = np.zeros([*shape[:axis], panels * layout.lanes, *inner], dense.dtype)
    padded[(slice(None),) * axis + (slice(columns),)] = dense
    split = padded.reshape([*shape[:axis], panels, layout.lanes, *inner])
    return np.ascontiguousarray(np.moveaxis(split, axis + 1, lane))


def _written(kernel: func.FuncOp) -> list[int]:
    """The arguments that the kernel's structured ops write, less the scratch that they pack into."""
    scratch = {packing.dest for packing in analyse(kernel).packings}
    values = {value for op in kernel.walk() for value in getattr(op, "outputs", ())}
    found = values - scratch
    return sorted(value.index for value in found if isinstance(value, BlockArgument) and value in kernel.args)
