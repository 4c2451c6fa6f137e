"""PyTorch as a source of programs: exported programs, and a backend for `torch.compile`.

Nothing here imports PyTorch before it is used; it is the extra `torch`.
"""

from .dynamo import backend
from .exported import ExportedModel, load_exported
from .graph import unsupported

__all__ = ["ExportedModel", "backend", "load_exported", "unsupported"]
