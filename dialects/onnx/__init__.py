"""The onnx level: a model as its file says it, operator by operator, mirrored from ONNX's schema registry."""

from xdsl.ir import Operation

from ...compiler.context import OpenDialect
from .ops import NoValueOp, OnnxOp, YieldOp, is_absent, op_class, op_name
from .types import MapType, OptionalType, SequenceType, StringType, UnknownType

__all__ = [
    "ONNX",
    "MapType",
    "NoValueOp",
    "OnnxOp",
    "OptionalType",
    "SequenceType",
    "StringType",
    "UnknownType",
    "YieldOp",
    "is_absent",
    "op_class",
    "op_name",
]


class _Onnx(OpenDialect):
    def find_operation(self, name: str) -> type[Operation] | None:
        return op_class(name)


ONNX = _Onnx("onnx", [], [StringType, UnknownType, SequenceType, OptionalType, MapType])
