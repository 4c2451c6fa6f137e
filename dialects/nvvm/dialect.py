"""All ops of `nvvm`, which who prints or parses them loads."""

from xdsl.ir import Dialect

from .ops import op_class
from .table import ROWS
from .warpgroups import WgmmaFenceOp, WgmmaOp, WgmmaWaitOp

NVVM = Dialect("nvvm", [*(op_class(row.name) for row in ROWS), WgmmaFenceOp, WgmmaOp, WgmmaWaitOp])
