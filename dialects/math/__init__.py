"""The math dialect: elementary functions on scalars, vectors and tensors; xDSL's, as MLIR has it."""

from xdsl.dialects.math import Math

__all__ = ["Math"]
