"""From the hub back to ONNX: a table of hub ops, and the pass that reads it."""

from .driver import ConvertStablehloToOnnx

__all__ = ["ConvertStablehloToOnnx"]
