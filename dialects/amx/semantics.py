"""Meanings of `amx`: a tile is an array of two dimensions."""

from __future__ import annotations

import numpy as np

from ...compiler.semantics import Spec, semantics
from ...compiler.strided import memory_of, position_in
from ...compiler.weights import Array


def _positions(base: Array, operands: tuple[Array, ...], given: bool, shape: tuple[int, ...]) -> Array:
    """Where each element of a tile lies in the memory of the base; the last operand is the stride if that is given."""
    indices = operands[:-1] if given else operands
    step = int(operands[-1]) if given else base.strides[-2] // base.itemsize
    return position_in(base, indices) + np.arange(shape[0])[:, None] * step + np.arange(shape[1])


@semantics("amx.tile_zero")
def tile_zero(*, result: Spec) -> Array:
    """Nothing but zeros."""
    assert result.shape is not None
    return np.zeros(result.shape, result.dtype)


@semantics("amx.tile_load")
def tile_load(base: Array, *rest: Array, result: Spec) -> Array:
    """Rows from memory."""
    assert result.shape is not None
    return memory_of(base)[_positions(base, rest, len(rest) > base.ndim, result.shape)]


@semantics("amx.tile_store")
def tile_store(base: Array, *rest: Array) -> tuple[()]:
    """Rows in memory change."""
    at = base.ndim
    value, places = rest[at], (*rest[:at], *rest[at + 1 :])
    memory_of(base)[_positions(base, places, len(places) > at, value.shape)] = value
    return ()


def _in_pairs(rhs: Array, group: int) -> Array:
    """The right matrix with its rows one below the other."""
    rows, wide = rhs.shape
    return rhs.reshape(rows, wide // group, group).transpose(0, 2, 1).reshape(rows * group, wide // group)


@semantics("amx.tile_mulf")
def tile_mulf(lhs: Array, rhs: Array, acc: Array) -> Array:
    """A product of matrices in float32."""
    return acc + lhs.astype(np.float32) @ _in_pairs(rhs, 2).astype(np.float32)


@semantics("amx.tile_muli")
def tile_muli(lhs: Array, rhs: Array, acc: Array, *, isZextLhs: object = None, isZextRhs: object = None) -> Array:
    """A product of matrices of integers, modulo 2^32."""
    left = lhs.view(np.uint8) if isZextLhs is not None else lhs
    right = np.ascontiguousarray(rhs).view(np.uint8) if isZextRhs is not None else rhs
    return (acc + left.astype(np.int64) @ _in_pairs(right, 4).astype(np.int64)).astype(np.int32)
