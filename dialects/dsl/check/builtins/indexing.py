"""Built-in functions that choose elements by index tensors. Indices outside are clamped."""

from __future__ import annotations

from . import kinds
from .builder import Builder, Dim, Extent, Pack, Value, hlo, ints, ssa
from .table import Type, builtin


@builtin("take", "gather")
def take(b: Builder, x: Value, indices: Value, axis: int = 0) -> Value:
    """The slices of x along an axis that `indices`, of any rank, names: `take(table, ids)` looks up rows."""
    x = b.settle(x)
    indices = kinds.accept(b, indices, kinds.INTEGERS, "indices")
    along = b.axis(x, axis)
    rank = len(indices.type.shape)
    own = x.type.shape
    shape: list[Extent] = [*own[:along], *indices.type.shape, *own[along + 1 :]]
    if b.emits and own[along] == 0 and b.count(indices) != 0:
        raise b.fail("E350", f"nothing to take along axis {axis} of {x.type}", "x")
    return b.emit(
        lambda: hlo.GatherOp(
            ssa(x),
            ssa(indices),
            offset_dims=[i for i in range(len(shape)) if not along <= i < along + rank],
            collapsed_slice_dims=[along],
            start_index_map=[along],
            index_vector_dim=rank,
            slice_sizes=[1 if i == along else n for i, n in enumerate(ints(own))],
        ),
        x.type.dtype,
        shape,
    )


@builtin("take_along_axis")
def take_along_axis(b: Builder, x: Value, indices: Value, axis: int) -> Value:
    """For each place of `indices` the element of x there, but at the index along the axis."""
    x = b.settle(x)
    indices = kinds.accept(b, indices, kinds.INTEGERS, "indices")
    along = b.axis(x, axis)
    rank = len(x.type.shape)
    if len(indices.type.shape) != rank:
        raise b.fail("E350", f"indices are {indices.type}, x is {x.type}: they need one rank", "indices")
    for i, (have, want) in enumerate(zip(x.type.shape, indices.type.shape, strict=True)):
        if i != along and b.differ(have, want):
            raise b.fail("E350", f"axis {i} has {have} elements in x, {want} in the indices", "indices")
    shape = indices.type.shape
    if any(isinstance(extent, Pack) for extent in shape):
        return b.emit(lambda: hlo.ReshapeOp(ssa(x), ints(shape)), x.type.dtype, shape)
    dtype = indices.type.dtype
    parts = [indices if d == along else b.iota(dtype, shape, d) for d in range(rank)]
    places = b.concat([b.expand(part, rank) for part in parts], rank)
    return b.emit(
        lambda: hlo.GatherOp(
            ssa(x),
            ssa(places),
            collapsed_slice_dims=list(range(rank)),
            start_index_map=list(range(rank)),
            index_vector_dim=rank,
            slice_sizes=[1] * rank,
        ),
        x.type.dtype,
        shape,
    )


@builtin("one_hot")
def one_hot(b: Builder, indices: Value, depth: Dim, dtype: Type | None = None, axis: int = -1) -> Value:
    """1 where the new axis counts to the index, else 0; all 0 for an index outside. f32 unless said otherwise."""
    indices = kinds.accept(b, indices, kinds.INTEGERS, "indices")
    along = b.axis(indices, axis, extra=1)
    shape = list(indices.type.shape)
    shape.insert(along, depth)
    wide = b.broadcast(indices, shape, [i for i in range(len(shape)) if i != along])
    hit = b.compare(wide, b.iota(indices.type.dtype, shape, along), "EQ")
    return b.convert(hit, "f32" if dtype is None else dtype.dtype)


@builtin("dynamic_slice")
def dynamic_slice(b: Builder, x: Value, start: Value, size: Dim, axis: int = 0) -> Value:
    """`size` elements along an axis from a computed start, which is clamped so that they are inside."""
    x = b.settle(x)
    start = kinds.accept(b, start, kinds.INTEGERS, "start")
    if start.type.shape:
        raise b.fail("E350", f"the start is one number, got {start.type}", "start")
    along = b.axis(x, axis)
    have = b.size(x, along)
    if isinstance(size, int) and isinstance(have, int) and not 0 <= size <= have:
        raise b.fail("E350", f"{size} elements of the {have} along axis {axis}", "size")
    shape = [size if i == along else n for i, n in enumerate(x.type.shape)]
    zero = b.scalar(0, start.type.dtype)
    return b.emit(
        lambda: hlo.DynamicSliceOp(
            ssa(x), [ssa(start if i == along else zero) for i in range(len(shape))], slice_sizes=ints(shape)
        ),
        x.type.dtype,
        shape,
    )
