"""The `dot` dialect: sums of products of neighbours, the instruction that low-precision arithmetic is made of.

One op for what processors call vpmaddwd, vpdpbusd, vdpbf16ps, sdot or usdot: each lane of the accumulator takes in the
dot product of a group of neighbouring narrow elements. MLIR has an op per instruction (in `x86vector`, `arm_neon`);
here the meaning is one, and `convert-dot-to-llvm` knows which instruction a machine has for it.
"""

from xdsl.ir import Dialect

from .ops import ProductOp

Dot = Dialect("dot", [ProductOp])

__all__ = ["Dot", "ProductOp"]
