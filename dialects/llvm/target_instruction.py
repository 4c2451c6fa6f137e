"""Instructions of one target as ops: calls of an intrinsic or of inline assembly, told by the op itself."""

from __future__ import annotations

from abc import ABC, abstractmethod

from xdsl.irdl import IRDLOperation


class TargetInstruction(IRDLOperation, ABC):
    """An op that is one call in LLVM IR: its operands in order, and one result or none."""

    @property
    @abstractmethod
    def callee(self) -> str:
        """What is called, as LLVM IR spells it: `@llvm.nvvm.barrier0`, or `asm sideeffect "...", "..."`."""

    @property
    def immediates(self) -> tuple[str, ...]:
        """Arguments behind the operands that are constants: `i32 0`."""
        return ()

    @property
    def call_attributes(self) -> tuple[str, ...]:
        """What LLVM must know of the call itself: `convergent`."""
        return ()
