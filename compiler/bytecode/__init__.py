"""MLIR's bytecode: the binary form of a module, versions 0 to 6 (`mlir/docs/BytecodeFormat.md`).

    module = read_bytecode(data, "model.mlirbc", context, {"vhlo": codec})

Dialects write their attributes, types and properties in ways of their own; whoever knows one gives a `DialectCodec`.
Those of `builtin` are known here.
"""

from .ir import read_bytecode
from .sections import MAGIC
from .stream import Stream
from .tables import DialectCodec, EntryReader

__all__ = ["MAGIC", "DialectCodec", "EntryReader", "Stream", "read_bytecode"]
