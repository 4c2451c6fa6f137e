"""linalg: structured ops. Upstream's ops, with what upstream lacks under MLIR's names (see ops)."""

from xdsl.dialects.linalg import Linalg as _Upstream
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import Dialect

from .ops import FillOp, GenericOp, IndexOp, PackOp
from .winograd import (
    WinogradConv2DFmrAttr,
    WinogradFilterTransformOp,
    WinogradInputTransformOp,
    WinogradOp,
    WinogradOutputTransformOp,
)

_OURS = {op.name: op for op in (GenericOp, FillOp, IndexOp, PackOp)}
_WINOGRAD = [WinogradFilterTransformOp, WinogradInputTransformOp, WinogradOutputTransformOp]
_KEPT = [op for op in _Upstream.operations if op.name not in _OURS]

Linalg = Dialect("linalg", [*_KEPT, *_OURS.values(), *_WINOGRAD], [*_Upstream.attributes, WinogradConv2DFmrAttr])

__all__ = [
    "FillOp",
    "GenericOp",
    "IndexOp",
    "IteratorType",
    "IteratorTypeAttr",
    "Linalg",
    "PackOp",
    "WinogradFilterTransformOp",
    "WinogradInputTransformOp",
    "WinogradOp",
    "WinogradOutputTransformOp",
    "YieldOp",
]
