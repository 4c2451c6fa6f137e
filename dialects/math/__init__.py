"""The math dialect: elementary functions on scalars, vectors and tensors; xDSL's, as MLIR has it."""

from xdsl.dialects.math import Math

__all__ = ["BELOW_ONE", "WEIGHT", "Math"]

BELOW_ONE = "below_one"  # a unit attribute of math.exp: its operand is never above 0, so that its result is at most 1
WEIGHT = "weight"  # the same, and a result that is no normal number is 0: it is a factor beside one that is 1
