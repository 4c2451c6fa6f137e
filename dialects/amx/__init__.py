"""The `amx` dialect, as MLIR has it: tiles of 16 rows of 64 bytes, and products of them.

A tile is a value; which of the eight tile registers holds it, and the configuration of their shapes, is LLVM's to say.
"""

from xdsl.ir import Dialect

from .ops import NONTEMPORAL, TileLoadOp, TileMulFOp, TileMulIOp, TileStoreOp, TileZeroOp
from .types import TileType

AMX = Dialect("amx", [TileLoadOp, TileMulFOp, TileMulIOp, TileStoreOp, TileZeroOp], [TileType])

__all__ = ["AMX", "NONTEMPORAL", "TileLoadOp", "TileMulFOp", "TileMulIOp", "TileStoreOp", "TileType", "TileZeroOp"]
