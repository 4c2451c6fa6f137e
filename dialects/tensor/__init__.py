"""tensor: whole-tensor values, their slices, paddings and reshapes. Upstream's dialect holds all that we need."""

from xdsl.dialects.tensor import (
    CollapseShapeOp,
    ConcatOp,
    EmptyOp,
    ExpandShapeOp,
    ExtractOp,
    ExtractSliceOp,
    FromElementsOp,
    InsertOp,
    InsertSliceOp,
    PadOp,
    Tensor,
    YieldOp,
)

__all__ = [
    "CollapseShapeOp",
    "ConcatOp",
    "EmptyOp",
    "ExpandShapeOp",
    "ExtractOp",
    "ExtractSliceOp",
    "FromElementsOp",
    "InsertOp",
    "InsertSliceOp",
    "PadOp",
    "Tensor",
    "YieldOp",
]
