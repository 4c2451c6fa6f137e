"""linalg_ext: structured ops that upstream's linalg lacks, under IREE's name for their dialect.

Attention stays one op from where it is recognised down to loops: its softmax ties two contractions together over all
keys, which no loop nest of one `linalg.generic` can say. So does a product with weights of a few bits, whose words are
read once for all that is in them. Nothing else is here: what linalg can say is said in linalg.
"""

from xdsl.ir import Dialect

from .matmul_nbits import MatmulNBitsOp
from .ops import AttentionOp, YieldOp

LinalgExt = Dialect("linalg_ext", [AttentionOp, MatmulNBitsOp, YieldOp])

__all__ = ["AttentionOp", "LinalgExt", "MatmulNBitsOp", "YieldOp"]
