"""Reference semantics of the hub: what each op does to arrays, in NumPy, the shortest true form.

The specification is StableHLO's `docs/spec.md`. One file per family of ops; `evaluate` runs one op.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ....compiler.interpreter import Interpreter
from ....compiler.weights import Array, WeightStore
from . import (
    checks,
    chlo,
    collective,
    contraction,
    control,
    conversion,
    elementwise,
    gather,
    linear_algebra,
    normalization,
    quantized,
    random,
    reduction,
    shape,
    special,
)
from .checks import CheckFailed

__all__ = [
    "CheckFailed",
    "checks",
    "chlo",
    "collective",
    "contraction",
    "control",
    "conversion",
    "elementwise",
    "evaluate",
    "gather",
    "linear_algebra",
    "normalization",
    "quantized",
    "random",
    "reduction",
    "shape",
    "special",
]


def evaluate(op: Operation, args: Sequence[Array], weights: WeightStore | None = None) -> list[Array]:
    """The results of one op on `args`; `weights` is needed for constants kept in the store."""
    return Interpreter(weights or WeightStore()).evaluate(op, args)
