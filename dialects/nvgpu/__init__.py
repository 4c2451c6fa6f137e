"""The `nvgpu` dialect: what warps and warpgroups of NVIDIA's GPUs do together, and copies that go on by themselves.

The names are MLIR's. Addresses in shared memory are buffers with a number of bytes; fragments of matrices are vectors
of registers, as the PTX manual numbers them.
"""

from xdsl.ir import Dialect

from .asynchronous import (
    ArriveExpectOp,
    ArriveOp,
    AsyncCopyOp,
    AsyncGroupOp,
    AsyncWaitOp,
    CreateDescriptorOp,
    FenceInitOp,
    InitBarrierOp,
    NamedArriveOp,
    NamedSyncOp,
    TensorMapType,
    TmaLoadOp,
    TryWaitOp,
)
from .matrices import (
    Exp2Op,
    LdMatrixOp,
    MaxRegistersOp,
    MmaSyncOp,
    RoundPairOp,
    RoundTf32Op,
    WarpgroupCommitOp,
    WarpgroupFenceOp,
    WarpgroupMmaOp,
    WarpgroupMmaRegistersOp,
    WarpgroupWaitOp,
)

NVGPU = Dialect(
    "nvgpu",
    [
        ArriveExpectOp,
        ArriveOp,
        AsyncCopyOp,
        AsyncGroupOp,
        AsyncWaitOp,
        CreateDescriptorOp,
        Exp2Op,
        FenceInitOp,
        InitBarrierOp,
        LdMatrixOp,
        MaxRegistersOp,
        MmaSyncOp,
        NamedArriveOp,
        NamedSyncOp,
        RoundPairOp,
        RoundTf32Op,
        TmaLoadOp,
        TryWaitOp,
        WarpgroupCommitOp,
        WarpgroupFenceOp,
        WarpgroupMmaOp,
        WarpgroupMmaRegistersOp,
        WarpgroupWaitOp,
    ],
    [TensorMapType],
)

__all__ = [
    "NVGPU",
    "ArriveExpectOp",
    "ArriveOp",
    "AsyncCopyOp",
    "AsyncGroupOp",
    "AsyncWaitOp",
    "CreateDescriptorOp",
    "Exp2Op",
    "FenceInitOp",
    "InitBarrierOp",
    "LdMatrixOp",
    "MaxRegistersOp",
    "MmaSyncOp",
    "NamedArriveOp",
    "NamedSyncOp",
    "RoundPairOp",
    "RoundTf32Op",
    "TensorMapType",
    "TmaLoadOp",
    "TryWaitOp",
    "WarpgroupCommitOp",
    "WarpgroupFenceOp",
    "WarpgroupMmaOp",
    "WarpgroupMmaRegistersOp",
    "WarpgroupWaitOp",
]
