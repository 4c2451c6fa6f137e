"""A compiled model in this process: its code, its constants, its arenas and its threads. Needs no compiler."""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...compiler.diagnostics import LaminaError
from ...compiler.signature import Array, Signature, dtype_named
from ...compiler.weights import Section
from .outputs import OutputMemory

ALIGNMENT = 64
POOL_FUNCTIONS = ("lamina_pool_create", "lamina_pool_destroy", "lamina_parallel_for", "lamina_pool_threads")
_POINTER = ctypes.c_void_p
_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int32, _POINTER, _POINTER, _POINTER, _POINTER, _POINTER)


class Pool:
    """A thread pool of this process, run by `code`, which has `POOL_FUNCTIONS`. A child made by fork makes its own."""

    def __init__(self, threads: int, code: Mapping[str, int]):
        self.code = code
        self.threads = threads
        self.process = os.getpid()
        create = ctypes.CFUNCTYPE(_POINTER, ctypes.c_int32)(code["lamina_pool_create"])
        self.context = create(threads)
        if not self.context:
            raise LaminaError("no memory for the thread pool")
        destroy = ctypes.CFUNCTYPE(None, _POINTER)(code["lamina_pool_destroy"])
        weakref.finalize(self, _destroy, destroy, self.context, self.process, code)


def _destroy(destroy: Any, context: int, process: int, code: Mapping[str, int]) -> None:
    if os.getpid() == process:  # threads do not survive a fork
        destroy(context)


_pools: dict[tuple[int, str], Pool] = {}
_lock = threading.Lock()


def shared_pool(threads: int, runtime: str, code: Mapping[str, int]) -> Pool:
    """The pool of every model of this process that uses as many threads and the same `runtime` (its digest)."""
    with _lock:
        found = _pools.get((threads, runtime))
        if found is None or found.process != os.getpid():
            found = _pools[threads, runtime] = Pool(threads, code)
    return found


def _forget_lock() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget_lock)


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
    """Calls are re-entrant: each takes an arena of its own from a free list.

    `code` has the addresses of `entry` and of `POOL_FUNCTIONS`, for as long as it is there; `runtime` is the digest of
    the runtime in it.
    """

    def __init__(
        self,
        code: Mapping[str, int],
        signature: Signature,
        constants: Array | Section,
        arena_bytes: int,
        *,
        entry: str = "lamina_main",
        runtime: str = "",
        threads: int | None = None,
    ):
        self.signature = signature
        self.arena_bytes = arena_bytes
        self._code = code
        self._runtime = runtime
        self._threads = threads or len(os.sched_getaffinity(0))
        self._pool = shared_pool(self._threads, runtime, code)
        self._entry = _ENTRY(code[entry])
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
            self._pool = shared_pool(self._threads, self._runtime, self._code)
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
