"""The `vector` dialect: register tiles. xDSL's ops and those of MLIR that it lacks, one face for both.

Vectors are 1-D when they leave this level, of any power-of-two length: LLVM splits what is
wider than a register. Arithmetic on them is `arith` and `math` with vector operands.
"""

from xdsl.dialects.vector import (
    BitcastOp,
    BroadcastOp,
    CombiningKindAttr,
    CombiningKindFlag,
    CreateMaskOp,
    ExtractOp,
    FMAOp,
    InsertOp,
    LoadOp,
    MaskedLoadOp,
    MaskedStoreOp,
    PrintOp,
    ShuffleOp,
    StoreOp,
    TransferReadOp,
    TransferWriteOp,
)
from xdsl.ir import Dialect

from .ops import ConstantMaskOp, GatherOp, ReductionOp, ScatterOp, StepOp
from .widen import Widener, is_vector, splat

Vector = Dialect(
    "vector",
    [
        BitcastOp,
        BroadcastOp,
        ConstantMaskOp,
        CreateMaskOp,
        ExtractOp,
        FMAOp,
        GatherOp,
        InsertOp,
        LoadOp,
        MaskedLoadOp,
        MaskedStoreOp,
        PrintOp,
        ReductionOp,
        ScatterOp,
        ShuffleOp,
        StepOp,
        StoreOp,
        TransferReadOp,
        TransferWriteOp,
    ],
    [CombiningKindAttr],
)

__all__ = [
    "BitcastOp",
    "BroadcastOp",
    "CombiningKindAttr",
    "CombiningKindFlag",
    "ConstantMaskOp",
    "CreateMaskOp",
    "ExtractOp",
    "FMAOp",
    "GatherOp",
    "InsertOp",
    "LoadOp",
    "MaskedLoadOp",
    "MaskedStoreOp",
    "PrintOp",
    "ReductionOp",
    "ScatterOp",
    "ShuffleOp",
    "StepOp",
    "StoreOp",
    "TransferReadOp",
    "TransferWriteOp",
    "Vector",
    "Widener",
    "is_vector",
    "splat",
]
