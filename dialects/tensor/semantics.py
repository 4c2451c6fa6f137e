"""What tensor ops mean on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ...compiler.semantics import Call, Region, Spec, semantics
from ...compiler.weights import Array


@semantics("tensor.empty")
def empty(*sizes: Array, result: Spec) -> Array:
    """Unspecified contents; here zeros, so that runs repeat."""
    return np.zeros(cast(tuple[int, ...], result.shape), result.dtype)


@semantics("tensor.collapse_shape", "tensor.expand_shape", "tensor.cast")
def reshape(source: Array, *sizes: Array, result: Spec) -> Array:
    return source.reshape(cast(tuple[int, ...], result.shape))


@semantics("tensor.concat")
def concat(*inputs: Array, dim: int) -> Array:
    return np.concatenate(inputs, axis=dim)


@semantics("tensor.extract")
def extract(source: Array, *indices: Array) -> Array:
    """On arrays of indices: gathers. Out-of-range indices are undefined in MLIR, an error here."""
    return source[tuple(np.asarray(i) for i in indices)]


@semantics("tensor.insert")
def insert(scalar: Array, dest: Array, *indices: Array) -> Array:
    copy = np.array(dest)
    copy[tuple(int(i) for i in indices)] = scalar
    return copy


@semantics("tensor.from_elements")
def from_elements(*elements: Array, result: Spec) -> Array:
    return np.array([np.asarray(e) for e in elements], result.dtype).reshape(cast(Any, result.shape))


@semantics("tensor.splat")
def splat(value: Array, *sizes: Array, result: Spec) -> Array:
    return np.full(cast(Any, result.shape), value, result.dtype)


@semantics("tensor.dim")
def dim(source: Array, axis: Array) -> Array:
    return np.asarray(source.shape[int(axis)], np.int64)


_DYNAMIC = -(2**63)


def _slices(op: Any, operands: Sequence[Array]) -> tuple[slice, ...]:
    """The slice a static-or-dynamic offset/size/stride list denotes; operands in the op's order."""
    dynamic = iter(int(v) for v in operands)
    lists = [
        [next(dynamic) if value == _DYNAMIC else value for value in op.properties[name].get_values()]
        for name in ("static_offsets", "static_sizes", "static_strides")
    ]
    return tuple(
        slice(offset, offset + (size - 1) * stride + 1 if size else offset, stride)
        for offset, size, stride in zip(*lists, strict=True)
    )


@semantics("tensor.extract_slice")
def extract_slice(source: Array, *operands: Array, call: Call, result: Spec) -> Array:
    return source[_slices(call.op, operands)].reshape(cast(Any, result.shape))


@semantics("tensor.insert_slice")
def insert_slice(source: Array, dest: Array, *operands: Array, call: Call) -> Array:
    copy = np.array(dest)
    where = _slices(call.op, operands)
    copy[where] = source.reshape(copy[where].shape)
    return copy


@semantics("tensor.pad")
def pad(source: Array, *amounts: Array, call: Call, regions: Sequence[Region], result: Spec) -> Array:
    """The padding value is evaluated once: it may not depend on the indices."""
    low: Sequence[int] = cast(Any, call.op).static_low.get_values()
    rank = source.ndim
    [value] = regions[0](*(np.zeros((), np.int64) for _ in range(rank)))
    padded = np.full(cast(Any, result.shape), value, source.dtype)
    padded[tuple(slice(l, l + n) for l, n in zip(low, source.shape, strict=True))] = source
    return padded
