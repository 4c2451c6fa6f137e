"""The meaning of `dot`."""

from __future__ import annotations

import numpy as np

from ...compiler.semantics import semantics
from ...compiler.weights import Array


def _wide(x: Array, unsigned: object, lanes: int) -> Array:
    """Elements in 64 bits, a row for each lane."""
    if x.dtype.kind == "i":
        return (x.view(f"u{x.dtype.name}") if unsigned else x).astype(np.int64).reshape(lanes, -1)
    return x.astype(np.float32).reshape(lanes, -1)


@semantics("dot.product")
def product(
    lhs: Array,
    rhs: Array,
    acc: Array,
    *,
    unsigned_lhs: object = None,
    unsigned_rhs: object = None,
    pairs_fit: object = None,
) -> Array:
    """The accumulator plus the dot product of each group."""
    left, right = _wide(lhs, unsigned_lhs is not None, acc.size), _wide(rhs, unsigned_rhs is not None, acc.size)
    return (acc + (left * right).sum(axis=1, dtype=left.dtype)).astype(acc.dtype)
