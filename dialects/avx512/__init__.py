"""The `avx512` dialect: what AVX-512 has an instruction for and `arith` and `math` have no word for.

A table that a register holds, looked up lane by lane, and a scaling by powers of two that rounds once: what
exponentials are made of. MLIR's `x86vector` has the second as `avx512.mask.scalef`, of exactly one register; here
vectors have any number of lanes, as everywhere on this level, and `convert-to-llvm` cuts them.
"""

from xdsl.ir import Dialect

from .ops import LANES, PermuteOp, ScaleOp

AVX512 = Dialect("avx512", [PermuteOp, ScaleOp])

__all__ = ["AVX512", "LANES", "PermuteOp", "ScaleOp"]
