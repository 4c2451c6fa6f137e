"""The `cta` dialect: what one block of threads does, as a program on whole tiles, which knows no threads.

Tiles are values of tensor type. Where they come from and go to are views: matrices (and stacks of them) seen in a
buffer by a layout. A `cta.pipeline` owns the shared memory that a loop's tiles go through: how many stages, in which
layout each tile lies there.
"""

from xdsl.ir import Dialect

from .attributes import BorderAttr, LayoutAttr, SharedAttr, ViewType
from .ops import (
    DotOp,
    LoadOp,
    MapOp,
    NumbersOp,
    PipelineOp,
    ProgramOp,
    ReduceOp,
    ShareOp,
    StageOp,
    StoreOp,
    ViewOp,
    YieldOp,
)

CTA = Dialect(
    "cta",
    [
        DotOp,
        LoadOp,
        MapOp,
        NumbersOp,
        PipelineOp,
        ProgramOp,
        ReduceOp,
        ShareOp,
        StageOp,
        StoreOp,
        ViewOp,
        YieldOp,
    ],
    [BorderAttr, LayoutAttr, SharedAttr, ViewType],
)

__all__ = [
    "CTA",
    "BorderAttr",
    "DotOp",
    "LayoutAttr",
    "LoadOp",
    "MapOp",
    "NumbersOp",
    "PipelineOp",
    "ProgramOp",
    "ReduceOp",
    "ShareOp",
    "SharedAttr",
    "StageOp",
    "StoreOp",
    "ViewOp",
    "ViewType",
    "YieldOp",
]
