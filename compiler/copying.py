"""Copies of ops with all that is inside: what xDSL's `clone` gives, with one pass over them less."""

from __future__ import annotations

from typing import TypeVar

from xdsl.ir import Operation, SSAValue

from .walking import all_ops

OpT = TypeVar("OpT", bound=Operation)


def copied(op: OpT, *, names: bool = True) -> OpT:
    """A copy of `op` that may be changed freely; without `names` values are called nothing.

    >>> from xdsl.dialects.builtin import ModuleOp
    >>> str(copied(ModuleOp([ModuleOp([])]))).count("builtin.module")
    2
    """
    values: dict[SSAValue, SSAValue] = {}
    copy = op.clone(values, clone_name_hints=names, clone_operands=False)
    for old, new in zip(all_ops(op), all_ops(copy), strict=True):
        if operands := old._operands:  # pyright: ignore[reportPrivateUsage]
            new.operands = [values.get(operand, operand) for operand in operands]
    return copy
