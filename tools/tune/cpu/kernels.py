"""Kernels of one problem as machine code of this CPU, with any schedule and panels of any width."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr
from xdsl.ir import BlockArgument

from ....backends.cpu.build import Part, compile_part, load_passes
from ....backends.cpu.jit import Pool, link
from ....backends.cpu.memory import aligned_bytes
from ....backends.cpu.pipeline import KERNEL_PHASES
from ....compiler.diagnostics import LaminaError
from ....compiler.dtypes import dtype_of
from ....compiler.program import Program
from ....compiler.schedules import SCHEDULE
from ....compiler.signature import Array
from ....compiler.workers import parallel_map, usable_cores
from ....passes.convert.contraction_to_vector.analysis import Panels, analyse
from ..kernels import random
from .candidates import Candidate

SYMBOL = "lamina_candidate"


@dataclass(frozen=True)
class Lowered:
    """A program on the level of buffers, and the kernels of one problem in it."""

    program: Program
    kernels: tuple[func.FuncOp, ...]


class Maker:
    """Compiles the kernels of one problem: `lowered(lanes)` gives them with panels of that width."""

    def __init__(self, lowered: Callable[[int], Lowered | None], pool: Pool):
        self._lowered = lowered
        self._pool = pool

    def __call__(self, wanted: Sequence[tuple[Candidate, int]]) -> Mapping[tuple[Candidate, int], _Code]:
        """The code of kernels by candidate and number, less what the compiler refuses."""
        parts: list[tuple[Part, Program, func.FuncOp]] = []
        compiled: list[tuple[Candidate, int]] = []
        for candidate, number in wanted:
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
        return {each: _Code(objects[i], parts[i][2], self._pool) for i, each in enumerate(compiled) if objects.get(i)}


class _Code:
    """Machine code with data to run on.

    One thread is timed by its own CPU time, which others on the machine disturb least; several by the wall clock.
    """

    def __init__(self, data: bytes, kernel: func.FuncOp, pool: Pool):
        self._library: Any = link([data, pool.object], [SYMBOL])
        self._kernel = kernel
        self._timer = time.thread_time if pool.threads == 1 else time.perf_counter
        self._arrays = _arrays(kernel)
        types = [ctypes.c_void_p] * (len(self._arrays) + 1)
        function = ctypes.CFUNCTYPE(None, *types)(self._library[SYMBOL])
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in self._arrays]
        self._call: Callable[[], None] = lambda: function(*pointers, pool.context)

    def outputs(self) -> list[Array]:
        """The arrays that the kernel writes, after a call on fresh data."""
        for array, fresh in zip(self._arrays, _fill(self._kernel), strict=True):
            array[...] = fresh
        self._call()
        return [self._arrays[i].copy() for i in _written(self._kernel)]

    def sample(self, repeats: int) -> float:
        """The seconds that so many calls take."""
        begin = self._timer()
        for _ in range(repeats):
            self._call()
        return max(1e-9, self._timer() - begin)


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
            arrays.append(random(type_.get_shape(), dtype_of(type_), i))
    return arrays


def _panels(type_: MemRefType, layout: Panels, columns: int, seed: int) -> Array:
    """[.., panel, k.., lane] of a matrix [.., columns, k..] that does not depend on the lanes (and `group` behind)."""
    shape = list(type_.get_shape())
    lane = len(shape) - (2 if layout.group > 1 else 1)
    panels = -(-columns // layout.lanes)
    axis = next(i for i, size in enumerate(shape[:lane]) if size == panels)
    inner = [*shape[axis + 1 : lane], *shape[lane + 1 :]]
    dense = random([*shape[:axis], columns, *inner], dtype_of(type_), seed)
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
