"""The `gpu` dialect: what a thread of a launched kernel is told, and what threads do together.

The names are MLIR's. A kernel is a `func.func` with the attribute `gpu.kernel`; launches have constant sizes.
"""

from xdsl.ir import Dialect

from .ops import (
    BLOCK_SIZE,
    GRID_SIZE,
    KERNEL,
    ROLLED,
    AllReduceOp,
    BarrierOp,
    BlockIdOp,
    DynamicSharedMemoryOp,
    LaunchFuncOp,
    ShuffleOp,
    SubgroupBroadcastOp,
    SubgroupReduceOp,
    ThreadIdOp,
)

GPU = Dialect(
    "gpu",
    [
        AllReduceOp,
        BarrierOp,
        BlockIdOp,
        DynamicSharedMemoryOp,
        LaunchFuncOp,
        ShuffleOp,
        SubgroupBroadcastOp,
        SubgroupReduceOp,
        ThreadIdOp,
    ],
)

__all__ = [
    "BLOCK_SIZE",
    "GPU",
    "GRID_SIZE",
    "KERNEL",
    "ROLLED",
    "AllReduceOp",
    "BarrierOp",
    "BlockIdOp",
    "DynamicSharedMemoryOp",
    "LaunchFuncOp",
    "ShuffleOp",
    "SubgroupBroadcastOp",
    "SubgroupReduceOp",
    "ThreadIdOp",
]
