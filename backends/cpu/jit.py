"""Objects in this process: linked by LLVM's JIT linker, called through ctypes, which lets go of the GIL."""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from collections.abc import Sequence
from functools import cache
from itertools import count
from typing import Any

import numpy as np

from ...compiler.diagnostics import LaminaError
from ...compiler.dtypes import dtype_named
from ...compiler.machine import Machine
from ...compiler.signature import Array, Signature
from ...compiler.weights import Section
from .emit import llvm, object_code, optimise, with_target
from .outputs import OutputMemory
from .runtime import runtime_ir

ALIGNMENT = 64
_POINTER = ctypes.c_void_p
_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int32, _POINTER, _POINTER, _POINTER, _POINTER, _POINTER)
_names = count()
_lock = threading.Lock()


@cache
def _linker() -> Any:
    return llvm().create_lljit_compiler(use_jit_link=True)


def link(objects: Sequence[bytes], symbols: Sequence[str]) -> Any:
    """Links objects against this process; the result maps each symbol to its address and keeps the code alive.

    Raises LaminaError naming what is missing when the objects are not complete.
    """
    builder = llvm().JITLibraryBuilder().add_current_process()
    for data in objects:
        builder.add_object_img(data)
    for symbol in symbols:
        builder.export_symbol(symbol)
    with _lock:
        try:
            return builder.link(_linker(), f"lamina{next(_names)}")
        except RuntimeError as error:
            raise LaminaError(f"the compiled code cannot be loaded: {error}") from error


class Pool:
    """The thread pool of this process for one thread count. A child made by fork makes its own."""

    def __init__(self, threads: int, machine: Machine):
        names = ("lamina_pool_create", "lamina_pool_destroy", "lamina_parallel_for", "lamina_pool_threads")
        self.object = object_code(optimise(with_target(runtime_ir(machine), machine), machine), machine)
        self._library = link([self.object], names)
        create = ctypes.CFUNCTYPE(_POINTER, ctypes.c_int32)(self._library["lamina_pool_create"])
        self.threads = threads
        self.process = os.getpid()
        self.context = create(threads)
        if not self.context:
            raise LaminaError("no memory for the thread pool")
        destroy = ctypes.CFUNCTYPE(None, _POINTER)(self._library["lamina_pool_destroy"])
        weakref.finalize(self, _destroy, destroy, self.context, self.process)


def _destroy(destroy: Any, context: int, process: int) -> None:
    if os.getpid() == process:  # threads do not survive a fork
        destroy(context)


_pools: dict[int, Pool] = {}


def pool(threads: int, machine: Machine) -> Pool:
    """The pool shared by every model of this process that uses as many threads."""
    with _lock:
        found = _pools.get(threads)
    if found is None or found.process != os.getpid():
        made = Pool(threads, machine)
        with _lock:
            found = _pools[threads] = made
    return found


def _forget_locks() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget_locks)


def aligned_bytes(size: int) -> Array:
    """Fresh memory that starts on a cache line."""
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size]


def _address(array: Array) -> int:
    return array.__array_interface__["data"][0]


def _placed(constants: Array | Section) -> Array:
    """The constants where the code can address them: where they are, if that is on a cache line."""
    if isinstance(constants, Section):
        memory = aligned_bytes(constants.nbytes)
        constants.write(memory)
        return memory
    if constants.nbytes and _address(constants) % ALIGNMENT:
        memory = aligned_bytes(constants.nbytes)
        memory[:] = constants
        return memory
    return constants


class NativeModel:
    """A compiled model in this process. Calls are re-entrant: each takes an arena of its own from a free list."""

    def __init__(
        self,
        objects: Sequence[bytes],
        signature: Signature,
        constants: Array | Section,
        arena_bytes: int,
        machine: Machine,
        *,
        entry: str = "lamina_main",
        threads: int | None = None,
    ):
        self.signature = signature
        self.arena_bytes = arena_bytes
        self._machine = machine
        self._threads = threads or len(os.sched_getaffinity(0))
        self._pool = pool(self._threads, machine)
        self._library = link([*objects, self._pool.object], [entry])
        self._entry = _ENTRY(self._library[entry])
        self._constants = _placed(constants)
        self._arenas: list[Array] = []
        self._outputs = [OutputMemory(tuple(int(d) for d in s.shape), dtype_named(s.dtype)) for s in signature.outputs]
        self._input_array = _POINTER * max(1, len(signature.inputs))
        self._output_array = _POINTER * max(1, len(signature.outputs))

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """One inference on arrays already checked against the signature; results are arrays that nobody else has."""
        arrays = [np.ascontiguousarray(array) for array in inputs]
        outputs = [memory.take() for memory in self._outputs]
        if self._pool.process != os.getpid():
            self._pool = pool(self._threads, self._machine)
        try:
            arena = self._arenas.pop()
        except IndexError:
            arena = aligned_bytes(self.arena_bytes)
        status = self._entry(
            self._input_array(*map(_address, arrays)),
            self._output_array(*map(_address, outputs)),
            _address(arena),
            _address(self._constants),
            self._pool.context,
        )
        self._arenas.append(arena)
        if status:
            raise LaminaError(f"the compiled model failed with status {status}")
        return outputs

    def __call__(self, inputs: Sequence[Any]) -> list[Array]:
        """One inference; inputs in order, each checked for dtype and shape."""
        return self.run(self.signature.bind(inputs, {}))
