"""The `nvvm` dialect: instructions of NVIDIA GPUs beside LLVM's own, made from the rows of `table`."""

from xdsl.ir import Dialect

from .ops import OPS, NvvmOp, instruction
from .table import ROWS, Row

NVVM = Dialect("nvvm", list(OPS.values()))

__all__ = ["NVVM", "OPS", "ROWS", "NvvmOp", "Row", "instruction"]
