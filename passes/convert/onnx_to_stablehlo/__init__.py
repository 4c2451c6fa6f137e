"""From the onnx level to the hub: a table of operators, in ONNX's chapters, and the pass that reads it."""

from .builder import GraphBuilder, Value
from .driver import ConvertOnnxToStablehlo
from .table import find, lowers, operators

__all__ = ["ConvertOnnxToStablehlo", "GraphBuilder", "Value", "find", "lowers", "operators"]
