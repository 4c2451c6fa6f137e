"""Kernels of structured ops whose loops a pass of their own writes: which they are, and what takes the ops' place."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import LocationAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.rewriter import InsertPoint

from ...dialects.linalg import FillOp, GenericOp, WinogradOp
from .contraction_to_vector.loops import Loops


def kernels_of(module: ModuleOp, kind: str) -> list[FuncOp]:
    """Those that `linalg-outline-kernels` called so."""
    functions = [op for op in module.body.block.ops if isinstance(op, FuncOp)]
    return [function for function in functions if function.attributes.get("lamina.kernel") == StringAttr(kind)]


def replace_structured(function: FuncOp, location: LocationAttr, write: Callable[[Loops], None]) -> None:
    """Lets `write` put loops at the end of a kernel, all at `location`; the structured ops go."""
    block = function.body.block
    old = list(block.ops)
    end = block.last_op
    assert isinstance(end, ReturnOp)
    write(Loops(InsertPoint.before(end)))
    before = set(old)
    for new in block.ops:
        if new not in before:
            for inner in new.walk():
                inner.location = location
    for op in reversed(old):
        if isinstance(op, GenericOp | FillOp | WinogradOp):
            op.detach()
            op.erase()
