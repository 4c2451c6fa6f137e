# pyright: reportUnsupportedDunderAll=false
"""Lamina: a multi-level IR compiler for machine learning.

The public names live here and load on first use, so that `import lamina` stays cheap.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "compile": ".tools.api",
    "load": ".tools.api",
    "import_onnx": ".tools.api",
    "export_onnx": ".tools.export",
    "lower": ".tools.api",
    "interpret": ".tools.api",
    "dsl": ".tools.dsl",
    "jax": ".tools.jax_programs",
    "onnx_backend": ".tools.onnx_backend",
    "seed": ".compiler.random_keys",
    "unsupported": ".tools.sources",
    "LaminaError": ".compiler.diagnostics",
}
__all__ = [
    "LaminaError",
    "compile",
    "dsl",
    "export_onnx",
    "import_onnx",
    "interpret",
    "jax",
    "load",
    "lower",
    "onnx_backend",
    "seed",
    "unsupported",
]


def __getattr__(name: str) -> Any:
    where = _PUBLIC.get(name)
    if where is None:
        raise AttributeError(f"module 'lamina' has no attribute {name!r}")
    module = import_module(where, __name__)
    return module if where.endswith("." + name) else getattr(module, name)
