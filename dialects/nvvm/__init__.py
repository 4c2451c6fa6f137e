"""The `nvvm` dialect: instructions of NVIDIA GPUs beside LLVM's own, most of them made from the rows of `table`."""

from xdsl.ir import Dialect

from .ops import OPS, NvvmOp, instruction
from .table import GLOBAL, ROWS, SHARED, Row
from .warpgroups import WgmmaFenceOp, WgmmaOp, WgmmaWaitOp

NVVM = Dialect("nvvm", [*OPS.values(), WgmmaFenceOp, WgmmaOp, WgmmaWaitOp])

__all__ = [
    "GLOBAL",
    "NVVM",
    "OPS",
    "ROWS",
    "SHARED",
    "NvvmOp",
    "Row",
    "WgmmaFenceOp",
    "WgmmaOp",
    "WgmmaWaitOp",
    "instruction",
]
