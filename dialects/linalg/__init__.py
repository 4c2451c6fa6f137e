"""linalg: structured ops. Upstream's ops, with what upstream lacks under MLIR's names (see ops)."""

from xdsl.dialects.linalg import Linalg as _Upstream
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import Dialect

from .ops import FillOp, GenericOp, IndexOp, PackOp

_OURS = {op.name: op for op in (GenericOp, FillOp, IndexOp, PackOp)}
_KEPT = [op for op in _Upstream.operations if op.name not in _OURS]

Linalg = Dialect("linalg", [*_KEPT, *_OURS.values()], [*_Upstream.attributes])

__all__ = ["FillOp", "GenericOp", "IndexOp", "IteratorType", "IteratorTypeAttr", "Linalg", "PackOp", "YieldOp"]
