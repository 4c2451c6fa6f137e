"""The runtime that generated code calls, as LLVM IR text: the thread pool, and what the processor lacks."""

from __future__ import annotations

import hashlib
from importlib import resources

from ....compiler.diagnostics import LaminaError
from ....compiler.machine import Machine

# architecture -> number of the futex system call, spin-wait hint
_LINUX = {
    "x86_64": (202, "call void @llvm.x86.sse2.pause()"),
    "aarch64": (98, "call void @llvm.aarch64.hint(i32 1)"),
    "riscv64": (98, "fence acquire"),
}
CHUNKS = 8  # of each thread's range: what a processor of half the speed leaves to another is a third of that range
PATIENCE = 16 * 1024  # a few tenths of a millisecond: kernels that one thread does alone are shorter


def runtime_ir(machine: Machine) -> str:
    """The runtime's LLVM IR for `machine`. Raises LaminaError for a target that the thread pool does not know."""
    triple = machine.triple
    architecture = triple.partition("-")[0]
    if "linux" not in triple or architecture not in _LINUX:
        raise LaminaError(f"the thread pool has no version for {triple}", hint=f"Linux on {', '.join(_LINUX)}")
    futex, pause = _LINUX[architecture]
    text = _text("pool.ll").replace("{futex}", str(futex)).replace("{pause}", pause)
    text = text.replace("{chunks}", str(CHUNKS)).replace("{patience}", str(PATIENCE))
    text += _text("bfloats.ll") + _text("double_to_half.ll")
    return text if machine.converts_halves else text + _text("halves.ll")


def runtime_digest(machine: Machine) -> str:
    """Changes when the runtime does: pools are shared only by code that agrees on how they lie in memory."""
    return hashlib.sha256(runtime_ir(machine).encode()).hexdigest()[:16]


def call_ir() -> str:
    """What Python calls; programs in C have no use for it."""
    return _text("call.ll")


def startup_ir(machine: Machine) -> str:
    """What a program in C does for `machine` when it is loaded; here `lamina` does it."""
    return _text("tiles.ll") if "amx-tile" in machine.features else ""


def _text(name: str) -> str:
    return (resources.files(__package__ or "") / name).read_text()
