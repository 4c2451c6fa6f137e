"""The `affine` dialect: loops, accesses and conditions whose bounds and subscripts are affine in loop variables.

Import the ops from here: where a class of ours extends xDSL's, this is the one the parser builds.
"""

from xdsl.dialects.affine import ApplyOp, YieldOp
from xdsl.ir import Dialect

from .ops import (
    ForOp,
    IfOp,
    LoadOp,
    MaxOp,
    MinOp,
    ParallelOp,
    StoreOp,
    VectorLoadOp,
    VectorStoreOp,
)

NONTEMPORAL = "nontemporal"  # an attribute of vector stores that pass the caches by: the bytes they are aligned to

Affine = Dialect(
    "affine",
    [
        ApplyOp,
        ForOp,
        IfOp,
        LoadOp,
        MaxOp,
        MinOp,
        ParallelOp,
        StoreOp,
        VectorLoadOp,
        VectorStoreOp,
        YieldOp,
    ],
    [],
)

__all__ = [
    "NONTEMPORAL",
    "Affine",
    "ApplyOp",
    "ForOp",
    "IfOp",
    "LoadOp",
    "MaxOp",
    "MinOp",
    "ParallelOp",
    "StoreOp",
    "VectorLoadOp",
    "VectorStoreOp",
    "YieldOp",
]
