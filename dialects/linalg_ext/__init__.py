"""linalg_ext: structured ops that upstream's linalg lacks, under IREE's name for their dialect.

Attention stays one op from where it is recognised down to loops: its softmax ties two contractions together over all
keys, which no loop nest of one `linalg.generic` can say. Nothing else is here: what linalg can say is said in linalg.
"""

from xdsl.ir import Dialect

from .ops import AttentionOp, YieldOp

LinalgExt = Dialect("linalg_ext", [AttentionOp, YieldOp])

__all__ = ["AttentionOp", "LinalgExt", "YieldOp"]
