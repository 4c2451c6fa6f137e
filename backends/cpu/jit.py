"""Objects in this process without an image, for tools and other processors: linked by LLVM's JIT linker."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import count
from typing import Any

from ...compiler.diagnostics import LaminaError
from ...compiler.machine import Machine
from ...compiler.signature import Array, Signature
from ...compiler.weights import Section
from .emit import llvm, object_code, optimise, with_target
from .native_model import POOL_FUNCTIONS, RUNTIME_FUNCTIONS, NativeModel
from .native_model import Pool as CodePool
from .runtime import call_ir, runtime_digest, runtime_ir

_names = count()
_lock = threading.Lock()


@cache
def _linker() -> Any:
    return llvm().create_lljit_compiler(use_jit_link=True)


def link(objects: Sequence[bytes], symbols: Sequence[str]) -> Mapping[str, int]:
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


def _forget_lock() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget_lock)


@cache
def runtime_object(machine: Machine) -> bytes:
    """The object of the runtime: the thread pool, what the processor lacks, and calls from Python."""
    text = runtime_ir(machine) + call_ir()
    return object_code(optimise(with_target(text, machine), machine), machine)


class Pool(CodePool):
    """A thread pool for code that is linked here, with the `object` of the runtime to link it with."""

    def __init__(self, threads: int, machine: Machine):
        self.object = runtime_object(machine)
        super().__init__(threads, link([self.object], POOL_FUNCTIONS))


_pools: dict[int, Pool] = {}


def pool(threads: int, machine: Machine) -> Pool:
    """The pool shared by everything linked here that uses as many threads."""
    found = _pools.get(threads)
    if found is None or found.process != os.getpid():
        found = _pools[threads] = Pool(threads, machine)
    return found


def native_model(
    objects: Sequence[bytes],
    signature: Signature,
    constants: Array | Section,
    arena_bytes: int,
    machine: Machine,
    *,
    entry: str = "lamina_main",
    threads: int | None = None,
) -> NativeModel:
    """A model of these objects."""
    code = link([*objects, runtime_object(machine)], [entry, *RUNTIME_FUNCTIONS])
    digest = runtime_digest(machine)
    return NativeModel(code, signature, constants, arena_bytes, entry=entry, runtime=digest, threads=threads)
