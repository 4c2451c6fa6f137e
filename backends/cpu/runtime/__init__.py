"""The runtime that generated code calls: the thread pool, as LLVM IR text for a target."""

from __future__ import annotations

from importlib import resources

from ....compiler.diagnostics import LaminaError

# architecture -> number of the futex system call, spin-wait hint
_LINUX = {
    "x86_64": (202, "call void @llvm.x86.sse2.pause()"),
    "aarch64": (98, "call void @llvm.aarch64.hint(i32 1)"),
    "riscv64": (98, "fence acquire"),
}


def pool_ir(triple: str) -> str:
    """The thread pool's LLVM IR for `triple`. Raises LaminaError for a target the pool does not know."""
    architecture = triple.partition("-")[0]
    if "linux" not in triple or architecture not in _LINUX:
        raise LaminaError(f"the thread pool has no version for {triple}", hint=f"Linux on {', '.join(_LINUX)}")
    futex, pause = _LINUX[architecture]
    text = (resources.files(__package__ or "") / "pool.ll").read_text()
    return text.replace("{futex}", str(futex)).replace("{pause}", pause)
