"""The `x86` dialect: what AVX2 or AVX-512 have an instruction for and `arith` and `math` have no word for.

A table that a register holds, looked up lane by lane, and a scaling by powers of two that rounds once: what
exponentials are made of; and a rounding to bfloat16 that takes one instruction, as it knows no subnormal numbers.
MLIR's `x86vector` has the second as `avx512.mask.scalef`, of exactly one register; here vectors have any number of
lanes, as everywhere on this level, and `convert-to-llvm` cuts them.
"""

from xdsl.ir import Dialect

from .ops import LANES, PermuteOp, ScaleOp, ToBFloat16Op

X86 = Dialect("x86", [PermuteOp, ScaleOp, ToBFloat16Op])

__all__ = ["LANES", "X86", "PermuteOp", "ScaleOp", "ToBFloat16Op"]
