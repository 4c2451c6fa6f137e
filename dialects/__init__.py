"""The dialects, in lowering order: LEVELS is the staircase, and a table of contents that loads nothing.

Where a dialect of xDSL lacks ops of MLIR that the descent needs, the folder here holds them and its `Dialect`
(the upstream ops and ours under MLIR's own names) takes the upstream one's place in our context.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from xdsl.ir import Dialect

from ..compiler.semantics import MODULES

# level -> dialects that enter there. "lamina" paths are relative to this package, others are xDSL's.
LEVELS: dict[str, dict[str, str]] = {
    "source": {"builtin": "xdsl.dialects.builtin:Builtin", "func": "xdsl.dialects.func:Func"},
    "dsl": {"dsl": ".dsl:DSL"},
    "onnx": {"onnx": ".onnx:ONNX"},
    "stablehlo": {
        "stablehlo": ".stablehlo:StableHLO",
        "chlo": ".stablehlo:CHLO",
        "quant": ".stablehlo:Quant",
        "check": ".stablehlo:Check",
    },
    "linalg": {
        "linalg": ".linalg:Linalg",
        "linalg_ext": ".linalg_ext:LinalgExt",
        "tensor": ".tensor:Tensor",
        "arith": ".arith:Arith",
        "math": ".math:Math",
    },
    "buffers": {"memref": ".memref:MemRef", "bufferization": "xdsl.dialects.bufferization:Bufferization"},
    "loops": {"affine": ".affine:Affine", "scf": ".scf:Scf"},
    "vector": {"vector": ".vector:Vector", "dot": ".dot:Dot", "amx": ".amx:AMX", "x86": ".x86:X86"},
    "tiles": {"cta": ".cta:CTA"},
    "gpu": {"gpu": ".gpu:GPU", "nvgpu": ".nvgpu:NVGPU"},
    "systolic": {"accel": ".accel:ACCEL", "tile": ".tile:TILE", "pipe": ".pipe:PIPE", "systolic": ".systolic:SYSTOLIC"},
    "llvm": {"cf": "xdsl.dialects.cf:Cf", "llvm": ".llvm:LLVM", "nvvm": ".nvvm.dialect:NVVM"},
}

# dialect -> the module whose import declares what its ops mean
SEMANTICS: dict[str, str] = {
    "dsl": ".dsl.semantics",
    "stablehlo": ".stablehlo.semantics",
    "chlo": ".stablehlo.semantics",
    "check": ".stablehlo.semantics",
    "linalg": ".linalg.semantics",
    "linalg_ext": ".linalg_ext.semantics",
    "tensor": ".tensor.semantics",
    "arith": ".arith.semantics",
    "math": ".math.semantics",
    "memref": ".memref.semantics",
    "affine": ".affine.semantics",
    "scf": ".scf.semantics",
    "vector": ".vector.semantics",
    "dot": ".dot.semantics",
    "amx": ".amx.semantics",
    "x86": ".x86.semantics",
    "cta": ".cta.semantics",
    "gpu": ".gpu.semantics",
    "nvgpu": ".nvgpu.semantics",
    "accel": ".accel.semantics",
    "tile": ".tile.semantics",
}
MODULES.update({name: __name__ + path for name, path in SEMANTICS.items()})


def load_dialect(path: str) -> Dialect:
    """The `Dialect` object at `module:NAME`; a leading dot means a module of this package."""
    module, _, name = path.partition(":")
    return getattr(import_module(module, __name__), name)


def all_dialects() -> dict[str, Callable[[], Dialect]]:
    """Every dialect name with the function that loads it."""
    return {name: (lambda path=path: load_dialect(path)) for level in LEVELS.values() for name, path in level.items()}


@cache
def load_canonical(dialect: str) -> None:
    """Imports the `canonical.py` of a dialect here, if it has one: its folds and patterns then are in the tables."""
    known = {name for level in LEVELS.values() for name in level}
    if dialect in known and find_spec(f".{dialect}", __name__) and find_spec(f".{dialect}.canonical", __name__):
        import_module(f".{dialect}.canonical", __name__)
