"""dsl: programs written as text, with index notation. See `language/tree.py` for what the language is.

Of the language only index notation has ops of its own (`ops.py`); the rest of a program is hub ops from the start.
"""

from xdsl.ir import Dialect

from .ops import (
    ARG_KINDS,
    BOOL_KINDS,
    AccessOp,
    ComprehensionOp,
    IndexedOp,
    ReduceKind,
    ReduceKindAttr,
    ReduceOp,
    YieldOp,
)

DSL = Dialect("dsl", [ComprehensionOp, ReduceOp, AccessOp, YieldOp], [ReduceKindAttr])

__all__ = [
    "ARG_KINDS",
    "BOOL_KINDS",
    "DSL",
    "AccessOp",
    "ComprehensionOp",
    "IndexedOp",
    "ReduceKind",
    "ReduceKindAttr",
    "ReduceOp",
    "YieldOp",
]
