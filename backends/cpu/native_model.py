"""A compiled model in this process: its code, its constants, its arenas and its threads. Needs no compiler."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import prod
from typing import Any

import numpy as np

from ...compiler.diagnostics import LaminaError
from ...compiler.signature import Array, Signature, dtype_named
from ...compiler.weights import Section
from .direct_call import NAME as DIRECT_CALL
from .direct_call import DirectCall, possible
from .memory import ALIGNMENT, aligned_bytes, ask_for_large_pages
from .outputs import OutputMemory

POOL_FUNCTIONS = ("lamina_pool_create", "lamina_pool_destroy", "lamina_parallel_for", "lamina_pool_threads")
RUNTIME_FUNCTIONS = (*POOL_FUNCTIONS, DIRECT_CALL)
_POINTER = ctypes.c_void_p
_ENTRY = ctypes.CFUNCTYPE(ctypes.c_int32)  # without argument types: those of a frame are converted already


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
_process = ctypes.c_int64(os.getpid())


def shared_pool(threads: int, runtime: str, code: Mapping[str, int]) -> Pool:
    """The pool of every model of this process that uses as many threads and the same `runtime` (its digest)."""
    with _lock:
        found = _pools.get((threads, runtime))
        if found is None or found.process != _process.value:
            found = _pools[threads, runtime] = Pool(threads, code)
    return found


def _in_child() -> None:
    global _lock
    _lock = threading.Lock()
    _process.value = os.getpid()


os.register_at_fork(after_in_child=_in_child)


def _told_address(array: Array) -> int:
    return array.__array_interface__["data"][0]


def _read_address(array: Array) -> int:
    """The first field of NumPy's array objects, in a fifth of the time that it takes to ask for it."""
    return _POINTER.from_address(id(array) + object.__basicsize__).value or 0


def _fastest_address() -> Callable[[Array], int]:
    """`_read_address` where objects lie so."""
    probe = np.zeros(3)
    reads = sys.implementation.name == "cpython" and _read_address(probe) == _told_address(probe)
    return _read_address if reads else _told_address


_address = _fastest_address()


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
    ask_for_large_pages(constants)
    return constants


class _Frame:
    """What one call at a time hands over: an arena and lists of pointers, converted once for all calls."""

    __slots__ = ("arena", "arguments", "inputs", "outputs")

    def __init__(self, counts: tuple[int, int], arena_bytes: int, constants: Array, pool: Pool):
        self.arena = aligned_bytes(arena_bytes)
        self.inputs, self.outputs = ((_POINTER * max(1, count))() for count in counts)
        others = (_address(self.arena), _address(constants), pool.context)
        self.arguments = (self.inputs, self.outputs, *map(_POINTER, others))


class NativeModel:
    """Calls are re-entrant: each takes a frame of its own from a free list.

    `code` has the addresses of `entry` and of `RUNTIME_FUNCTIONS`, for as long as it is there; `runtime` is the digest
    of the runtime in it.
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
        try:
            self._entry = _ENTRY(code[entry])
        except KeyError as error:
            raise LaminaError(f"the code has no function '{entry}'") from error
        self._constants = _placed(constants)
        self._frames: list[_Frame] = []
        sizes = [prod(int(d) for d in s.shape) * dtype_named(s.dtype).itemsize for s in signature.inputs]
        self._largest = max(range(len(sizes)), key=sizes.__getitem__, default=0)
        self._lenders = {output: given for given, output in signature.aliases}
        self._outputs = [OutputMemory(tuple(int(d) for d in s.shape), dtype_named(s.dtype)) for s in signature.outputs]

        self.direct: DirectCall | None = None
        with suppress(KeyError):  # a runtime of before
            if possible() and not signature.aliases:
                self.direct = DirectCall(code[DIRECT_CALL], signature, self._outputs, self._largest, _process, code)

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """One inference on arrays already checked against the signature.

        Results are arrays that nobody else has, or inputs whose memory they are computed in.
        """
        if self.direct is not None:
            outputs = self.direct.call(*inputs)
            if outputs is None:
                self._prepare(self.direct)
                outputs = self.direct.call(*map(np.ascontiguousarray, inputs))
            if outputs is not None:
                return outputs
        return self._run(inputs)

    def _prepare(self, direct: DirectCall) -> None:
        """Whatever a direct call waits for, but the end of another one."""
        self._here()
        with _lock:
            if not direct.ready:
                frame = self._frame()
                direct.prepare((self._entry, *frame.arguments), (frame, self._constants))
            direct.offer()

    def _here(self) -> None:
        """Takes threads of this process: a child made by fork has none of its parent's."""
        if self._pool.process != _process.value:
            self._pool = shared_pool(self._threads, self._runtime, self._code)
            self._frames.clear()

    def _frame(self) -> _Frame:
        counts = len(self.signature.inputs), len(self.signature.outputs)
        return _Frame(counts, self.arena_bytes, self._constants, self._pool)

    def _run(self, inputs: Sequence[Array]) -> list[Array]:
        self._here()
        self.signature.lend(inputs)
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = self._frame()
        arrays: list[Array] = []  # alive until the call is over
        for i, given in enumerate(inputs):
            array = np.ascontiguousarray(given)
            arrays.append(array)
            frame.inputs[i] = _address(array)
        outputs: list[Array] = []
        beside = frame.inputs[self._largest] or 0
        for i, memory in enumerate(self._outputs):
            lender = self._lenders.get(i)
            array = memory.take(beside) if lender is None else inputs[lender]
            outputs.append(array)
            frame.outputs[i] = _address(array)
        status = self._entry(*frame.arguments)
        self._frames.append(frame)
        if status:
            raise LaminaError(f"the compiled model failed with status {status}")
        return outputs

    def __call__(self, inputs: Sequence[Any]) -> list[Array]:
        """One inference; inputs in order, each checked for dtype and shape."""
        return self.run(self.signature.bind(inputs, {}))
