"""The `scf` dialect: structured control flow where bounds or conditions depend on data."""

from xdsl.dialects.scf import (
    ConditionOp,
    ExecuteRegionOp,
    ForOp,
    IfOp,
    IndexSwitchOp,
    ReduceOp,
    ReduceReturnOp,
    WhileOp,
    YieldOp,
)
from xdsl.ir import Dialect

from .ops import ParallelOp

Scf = Dialect(
    "scf",
    [
        ConditionOp,
        ExecuteRegionOp,
        ForOp,
        IfOp,
        IndexSwitchOp,
        ParallelOp,
        ReduceOp,
        ReduceReturnOp,
        WhileOp,
        YieldOp,
    ],
    [],
)

__all__ = [
    "ConditionOp",
    "ExecuteRegionOp",
    "ForOp",
    "IfOp",
    "IndexSwitchOp",
    "ParallelOp",
    "ReduceOp",
    "ReduceReturnOp",
    "Scf",
    "WhileOp",
    "YieldOp",
]
