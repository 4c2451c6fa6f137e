"""The arith dialect: integer and float arithmetic on scalars, vectors and tensors; xDSL's, as MLIR has it."""

from xdsl.dialects.arith import Arith

__all__ = ["Arith"]
