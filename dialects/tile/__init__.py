"""The `tile` dialect: pieces of tensors in the memories of an accelerator, and what its units do with them.

Memory spaces are names: "dram", "spm" (rows of bytes beside the array), "acc" (rows of sums), "tab" (biases and
scales). A piece lives in one of the slots of the ring that its op names, until the ring comes round to that slot; how
many rows and slots a ring has is said by the function's attribute `tile.rings`.
"""

from xdsl.ir import Dialect

from .memory import RINGS, Ring, rings_attribute, rings_of
from .ops import (
    AddOp,
    ContractOp,
    DepthwiseOp,
    LoadOp,
    MaxOp,
    PatchOp,
    RequantizeOp,
    StoreOp,
    SumsOp,
    WeightsOp,
)

TILE = Dialect(
    "tile", [AddOp, ContractOp, DepthwiseOp, LoadOp, MaxOp, PatchOp, RequantizeOp, StoreOp, SumsOp, WeightsOp]
)

__all__ = [
    "RINGS",
    "TILE",
    "AddOp",
    "ContractOp",
    "DepthwiseOp",
    "LoadOp",
    "MaxOp",
    "PatchOp",
    "RequantizeOp",
    "Ring",
    "StoreOp",
    "SumsOp",
    "WeightsOp",
    "rings_attribute",
    "rings_of",
]
