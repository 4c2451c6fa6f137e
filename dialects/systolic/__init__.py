"""The `systolic` dialect: the instructions of a systolic array, one op per word of the binary."""

from xdsl.ir import Dialect

from .ops import OPS, InstructionOp, ProgramOp, all_ops

SYSTOLIC = Dialect("systolic", list(all_ops()))

__all__ = ["OPS", "SYSTOLIC", "InstructionOp", "ProgramOp"]
