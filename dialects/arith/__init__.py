"""The arith dialect: integer and float arithmetic on scalars, vectors and tensors; xDSL's and what it lacks of MLIR's."""

from xdsl.dialects import arith
from xdsl.ir import Dialect

from .ops import IndexCastUIOp, RemFOp

Arith = Dialect("arith", [*arith.Arith.operations, IndexCastUIOp, RemFOp], list(arith.Arith.attributes))

__all__ = ["Arith", "IndexCastUIOp", "RemFOp"]
