"""The `nvvm` dialect: instructions of NVIDIA GPUs beside LLVM's own, most of them made from the rows of `table`."""

from .ops import NvvmOp, instruction, op_class
from .table import GLOBAL, ROWS, SHARED, Row
from .warpgroups import WgmmaFenceOp, WgmmaOp, WgmmaWaitOp

__all__ = [
    "GLOBAL",
    "ROWS",
    "SHARED",
    "NvvmOp",
    "Row",
    "WgmmaFenceOp",
    "WgmmaOp",
    "WgmmaWaitOp",
    "instruction",
    "op_class",
]
