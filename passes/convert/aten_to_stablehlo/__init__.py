"""From PyTorch's operators (ATen, as `torch.export` and AOTAutograd write them) to the hub: a table, in chapters.

The graphs themselves are PyTorch's; who reads them (`tools/pytorch`) calls these lowerings node by node. Nothing here
imports PyTorch.
"""

from .builder import AtenBuilder
from .table import find, lowers, operators

__all__ = ["AtenBuilder", "find", "lowers", "operators"]
