"""The `pipe` dialect: instructions of a systolic array in the order of their dispatch, ordered by tokens.

Each op is one instruction without its semaphores, and gives a token that stands for its completion. Tokens are the
only order between units; what `after(...)` names has completed before the op starts.
"""

from xdsl.ir import Dialect

from .ops import OPS, RunOp, StepOp, StreamOp, TokenType, all_ops, packed

PIPE = Dialect("pipe", list(all_ops()), [TokenType])

__all__ = ["OPS", "PIPE", "RunOp", "StepOp", "StreamOp", "TokenType", "packed"]
