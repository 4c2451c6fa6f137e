"""Meanings of `memref`: a memref is a NumPy array that is changed in place; views share its memory."""

from __future__ import annotations

import numpy as np

from ...compiler.semantics import Call, Spec, semantics
from ...compiler.weights import Array
from .views import kept_dims


@semantics("memref.alloc", "memref.alloca")
def alloc(*sizes: Array, result: Spec) -> Array:
    """Fresh memory, filled with a value that betrays a read before the first write."""
    assert result.shape is not None and result.dtype is not None
    poison = np.nan if result.dtype.kind == "f" else 0x55
    return np.full(result.shape, poison).astype(result.dtype)


@semantics("memref.dealloc")
def dealloc(memref: Array) -> tuple[()]:
    """Nothing to do: memory is collected."""
    return ()


@semantics("memref.load")
def load(memref: Array, *indices: Array) -> Array:
    """One element; inside a `linalg.generic`, one for each point of the iteration space."""
    return memref[tuple(np.asarray(i) for i in indices)]


@semantics("memref.store")
def store(value: Array, memref: Array, *indices: Array) -> tuple[()]:
    """One element changes."""
    memref[tuple(map(int, indices))] = value
    return ()


@semantics("memref.prefetch")
def prefetch(memref: Array, *indices: Array) -> tuple[()]:
    """Nothing: a hint."""
    return ()


@semantics("memref.extract_aligned_pointer_as_index")
def pointer(source: Array) -> Array:
    """The address of the first element."""
    return np.asarray(source.ctypes.data, np.int64)


@semantics("memref.copy")
def copy(source: Array, destination: Array) -> tuple[()]:
    """All elements."""
    destination[...] = source
    return ()


@semantics("memref.view")
def view(source: Array, shift: Array, *sizes: Array, result: Spec) -> Array:
    """A piece of a byte buffer seen as an array."""
    assert result.shape is not None and result.dtype is not None
    nbytes = int(np.prod(result.shape)) * result.dtype.itemsize
    return source[int(shift) : int(shift) + nbytes].view(result.dtype).reshape(result.shape)


@semantics("memref.collapse_shape", "memref.expand_shape", "memref.cast")
def reshape(source: Array, *sizes: Array, result: Spec) -> Array:
    """The same memory in another shape."""
    assert result.shape is not None
    shaped = source.reshape(result.shape)
    assert not source.size or np.may_share_memory(shaped, source)
    return shaped


@semantics("memref.reinterpret_cast")
def reinterpret_cast(source: Array, *dynamic: Array, result: Spec, call: Call) -> Array:
    """Memory addressed by another offset, shape and strides (all static)."""
    assert result.shape is not None
    properties = call.op.properties
    (offset,) = properties["static_offsets"].get_values()  # pyright: ignore
    strides = properties["static_strides"].get_values()  # pyright: ignore
    flat = source.reshape(-1)[offset:]
    steps = [stride * source.itemsize for stride in strides]  # pyright: ignore
    return np.lib.stride_tricks.as_strided(flat, result.shape, steps)


@semantics("memref.subview")
def subview(source: Array, *dynamic: Array, result: Spec, call: Call) -> Array:
    """A box of an array (static offsets, sizes and strides); dimensions of size one may be dropped."""
    assert result.shape is not None
    names = ("static_offsets", "static_sizes", "static_strides")
    boxes = zip(*(call.op.properties[name].get_values() for name in names), strict=True)  # pyright: ignore
    sizes = call.op.properties["static_sizes"].get_values()  # pyright: ignore
    kept = kept_dims(sizes, result.shape)
    slices = [slice(o, o + (n - 1) * s + 1, s) for o, n, s in boxes]  # pyright: ignore
    return source[tuple(piece if dim in kept else piece.start for dim, piece in enumerate(slices))]


@semantics("memref.dim")
def dim(source: Array, index: Array) -> Array:
    """The size of one dimension."""
    return np.int64(source.shape[int(index)])  # pyright: ignore
