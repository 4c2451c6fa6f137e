"""The llvm dialect: xDSL's ops and what the descent needs beyond them, under MLIR's names and syntax."""

from xdsl.dialects import llvm as upstream
from xdsl.ir import Dialect, Operation

from . import addressing, instructions, intrinsics
from .tiles import X86AMXType


def _ops_of(*modules: object) -> list[type[Operation]]:
    """The op classes a module defines, in their order; abstract bases have no definition of their own."""
    return [
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Operation)
        and value.__module__ == getattr(module, "__name__", "")
        and "name" in vars(value)
    ]


_ours = _ops_of(addressing, instructions, intrinsics)
_replaced = {op.name for op in _ours}

LLVM = Dialect(
    "llvm",
    [*(op for op in upstream.LLVM.operations if op.name not in _replaced), *_ours],
    [*upstream.LLVM.attributes, X86AMXType],
)
