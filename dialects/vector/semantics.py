"""Meanings of `vector`: vectors are arrays; memory is addressed by position."""

from __future__ import annotations

from typing import cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, DenseArrayBase, IntegerType

from ...compiler.semantics import Call, Spec, semantics
from ...compiler.strided import memory_of, position_in
from ...compiler.weights import Array


def _lanes(base: Array, indices: tuple[Array, ...], lanes: int, mask: Array | None = None) -> Array:
    """Positions in the memory of the base of each lane; lanes that are masked off point at 0."""
    positions = position_in(base, indices) + np.arange(lanes)
    return positions if mask is None else np.where(mask, positions, 0)


@semantics("vector.load")
def load(base: Array, *indices: Array, result: Spec) -> Array:
    """Consecutive elements."""
    assert result.shape is not None
    return memory_of(base)[_lanes(base, indices, result.shape[0])]


@semantics("vector.store")
def store(value: Array, base: Array, *indices: Array) -> tuple[()]:
    """Consecutive elements change."""
    memory_of(base)[_lanes(base, indices, value.size)] = value
    return ()


@semantics("vector.maskedload")
def maskedload(base: Array, *rest: Array) -> Array:
    """Consecutive elements where the mask is set, else the pass-through's."""
    *indices, mask, pass_thru = rest
    return np.where(mask, memory_of(base)[_lanes(base, tuple(indices), mask.size, mask)], pass_thru)


@semantics("vector.maskedstore")
def maskedstore(base: Array, *rest: Array) -> tuple[()]:
    """Elements change where the mask is set."""
    *indices, mask, value = rest
    memory_of(base)[_lanes(base, tuple(indices), mask.size)[mask]] = value[mask]
    return ()


@semantics("vector.gather")
def gather(base: Array, *rest: Array) -> Array:
    """Elements at a start plus a vector of offsets, where the mask is set."""
    *offsets, indices, mask, pass_thru = rest
    positions = np.where(mask, position_in(base, tuple(offsets)) + indices, 0)
    return np.where(mask, memory_of(base)[positions], pass_thru)


@semantics("vector.scatter")
def scatter(base: Array, *rest: Array) -> tuple[()]:
    """Elements change at a start plus a vector of offsets, where the mask is set; later lanes win."""
    *offsets, indices, mask, value = rest
    memory_of(base)[(position_in(base, tuple(offsets)) + indices)[mask]] = value[mask]
    return ()


@semantics("vector.broadcast")
def broadcast(source: Array, *, result: Spec) -> Array:
    """The same value in every lane, or in every leading dimension."""
    assert result.shape is not None
    return np.broadcast_to(source, result.shape)


@semantics("vector.fma")
def fma(lhs: Array, rhs: Array, acc: Array) -> Array:
    """lhs * rhs + acc, rounded once for float32 and narrower."""
    if lhs.dtype.itemsize >= 8:
        return lhs * rhs + acc
    return (lhs.astype(np.float64) * rhs.astype(np.float64) + acc.astype(np.float64)).astype(lhs.dtype)


@semantics("vector.create_mask")
def create_mask(*sizes: Array, result: Spec) -> Array:
    """The leading lanes set."""
    assert result.shape is not None
    return np.arange(result.shape[0]) < int(sizes[0])


@semantics("vector.constant_mask")
def constant_mask(*, mask_dim_sizes: list[int], result: Spec) -> Array:
    """The leading lanes set."""
    assert result.shape is not None
    return np.arange(result.shape[0]) < mask_dim_sizes[0]


@semantics("vector.step")
def step(*, result: Spec) -> Array:
    """0, 1, 2, …"""
    assert result.shape is not None
    return np.arange(result.shape[0], dtype=np.int64)


@semantics("vector.bitcast")
def bitcast(source: Array, *, result: Spec) -> Array:
    """The same bits as another element type."""
    assert result.dtype is not None
    return np.ascontiguousarray(source).view(result.dtype)


@semantics("vector.shuffle")
def shuffle(v1: Array, v2: Array, *, mask: list[int]) -> Array:
    """Lanes picked from both vectors laid end to end."""
    return np.concatenate([v1, v2])[mask]


@semantics("vector.extract")
def extract(source: Array, *dynamic: Array, call: Call) -> Array:
    """One element, or one slice of the leading dimensions."""
    return source[_position(call, dynamic)]


@semantics("vector.insert")
def insert(value: Array, dest: Array, *dynamic: Array, call: Call) -> Array:
    """`dest` with one element or slice replaced."""
    changed = dest.copy()
    changed[_position(call, dynamic)] = value
    return changed


def _position(call: Call, dynamic: tuple[Array, ...]) -> tuple[int, ...]:
    static = cast(DenseArrayBase[IntegerType], call.op.properties["static_position"]).get_values()
    values = iter(dynamic)
    return tuple(int(next(values)) if p == DYNAMIC_INDEX else int(p) for p in static)


_REDUCTIONS = {
    "add": np.add,
    "mul": np.multiply,
    "minsi": np.minimum,
    "maxsi": np.maximum,
    "minimumf": np.minimum,
    "maximumf": np.maximum,
    "minnumf": np.fmin,
    "maxnumf": np.fmax,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


@semantics("vector.reduction")
def reduction(source: Array, *acc: Array, kind: str, result: Spec) -> Array:
    """All lanes combined, with the accumulator if there is one."""
    if kind in ("minui", "maxui"):
        unsigned = source.view(f"u{source.dtype.name}")
        chosen = (np.minimum if kind == "minui" else np.maximum).reduce(
            np.concatenate([unsigned, *(a.reshape(1).view(unsigned.dtype) for a in acc)])
        )
        return chosen.astype(unsigned.dtype).view(result.dtype)
    return _REDUCTIONS[kind].reduce(np.concatenate([source, *(a.reshape(1) for a in acc)]), dtype=result.dtype)
