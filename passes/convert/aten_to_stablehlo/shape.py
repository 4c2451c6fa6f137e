"""ATen's operators on shapes: what moves elements without looking at them. Views are values here like all others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ....compiler.weights import Array
from ....dialects import stablehlo as hlo
from ..onnx_to_stablehlo.taking import take
from .builder import AtenBuilder, Number, Value, element_of, rank_of, shape_of
from .table import lowers


@lowers("view", "reshape", "_unsafe_view", "view_copy", "_reshape_alias", "reshape_copy", "_reshape_copy")
def view(b: AtenBuilder, x: Value, size: Sequence[int], stride: Sequence[int] | None = None) -> Value:
    total = math.prod(shape_of(x))
    wanted = list(size)
    if -1 in wanted:
        known = math.prod(n for n in wanted if n != -1)
        wanted[wanted.index(-1)] = total // known if known else 0
    if math.prod(wanted) != total:
        raise b.fail(f"shape {list(shape_of(x))} does not reshape to {list(size)}")
    return b.reshape(x, wanted)


@lowers("flatten.using_ints")
def flatten(b: AtenBuilder, x: Value, start_dim: int = 0, end_dim: int = -1) -> Value:
    shape = shape_of(x)
    if not shape:
        return b.reshape(x, [1])
    first, last = b.axis(start_dim, len(shape)), b.axis(end_dim, len(shape))
    return b.reshape(x, [*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :]])


@lowers("permute", "permute_copy")
def permute(b: AtenBuilder, x: Value, dims: Sequence[int]) -> Value:
    return b.transpose(x, [b.axis(d, rank_of(x)) for d in dims])


@lowers("transpose.int", "transpose_copy.int", "swapaxes")
def transpose(b: AtenBuilder, x: Value, dim0: int, dim1: int) -> Value:
    rank = rank_of(x)
    order = list(range(rank))
    if not rank:
        return x
    first, second = b.axis(dim0, rank), b.axis(dim1, rank)
    order[first], order[second] = second, first
    return b.transpose(x, order)


@lowers("t", "numpy_T")
def matrix_transpose(b: AtenBuilder, x: Value) -> Value:
    return b.transpose(x, list(reversed(range(rank_of(x)))))


@lowers("mT")
def last_transpose(b: AtenBuilder, x: Value) -> Value:
    return transpose(b, x, -1, -2)


@lowers("expand", "expand_copy")
def expand(b: AtenBuilder, x: Value, size: Sequence[int], *, implicit: bool = False) -> Value:
    own = shape_of(x)
    offset = len(size) - len(own)
    return b.broadcast_to(x, [own[i - offset] if n == -1 else n for i, n in enumerate(size)])


@lowers("squeeze")
def squeeze(b: AtenBuilder, x: Value) -> Value:
    return b.reshape(x, [n for n in shape_of(x) if n != 1])


@lowers("squeeze.dim")
def squeeze_dim(b: AtenBuilder, x: Value, dim: int) -> Value:
    return squeeze_dims(b, x, [dim])


@lowers("squeeze.dims", "squeeze_copy.dims")
def squeeze_dims(b: AtenBuilder, x: Value, dim: Sequence[int]) -> Value:
    shape = shape_of(x)
    dropped = [b.axis(d, len(shape)) for d in dim]
    return b.reshape(x, [n for i, n in enumerate(shape) if n != 1 or i not in dropped])


@lowers("unsqueeze", "unsqueeze_copy")
def unsqueeze(b: AtenBuilder, x: Value, dim: int) -> Value:
    return b.expand_dims(x, [b.axis(dim, rank_of(x) + 1)])


@lowers("select.int", "select_copy.int")
def select(b: AtenBuilder, x: Value, dim: int, index: int | Value) -> Value:
    shape = shape_of(x)
    axis = b.axis(dim, len(shape))
    if not isinstance(index, int):
        raise b.fail("an index that is computed", "it is a number of Python in PyTorch, too")
    place = b.axis(index, shape[axis])
    return b.reshape(b.slice_axis(x, axis, place, place + 1), [*shape[:axis], *shape[axis + 1 :]])


@lowers("slice.Tensor", "slice_copy.Tensor")
def slice_(
    b: AtenBuilder, x: Value, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Value:
    shape = shape_of(x)
    axis = b.axis(dim, len(shape))
    taken = range(shape[axis])[slice(start, end, step)]
    starts, limits, steps = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], limits[axis], steps[axis] = (taken[0], taken[-1] + 1, step) if taken else (0, 0, 1)
    return b.slice(x, starts, limits, steps)


@lowers("narrow")
def narrow(b: AtenBuilder, x: Value, dim: int, start: int, length: int) -> Value:
    return slice_(b, x, dim, start, start + length)


@lowers("split_with_sizes", "split_with_sizes_copy")
def split_with_sizes(b: AtenBuilder, x: Value, split_sizes: Sequence[int], dim: int = 0) -> list[Value]:
    axis = b.axis(dim, rank_of(x))
    ends = np.cumsum(split_sizes).tolist()
    return [b.slice_axis(x, axis, end - n, end) for n, end in zip(split_sizes, ends, strict=True)]


@lowers("split.Tensor")
def split(b: AtenBuilder, x: Value, split_size: int, dim: int = 0) -> list[Value]:
    axis = b.axis(dim, rank_of(x))
    n = shape_of(x)[axis]
    starts = range(0, n, split_size) if n else [0]
    return [b.slice_axis(x, axis, start, min(start + split_size, n)) for start in starts]


@lowers("chunk")
def chunk(b: AtenBuilder, x: Value, chunks: int, dim: int = 0) -> list[Value]:
    n = shape_of(x)[b.axis(dim, rank_of(x))]
    return split(b, x, max(-(-n // chunks), 1), dim)


@lowers("unbind.int", "unbind_copy.int")
def unbind(b: AtenBuilder, x: Value, dim: int = 0) -> list[Value]:
    return [select(b, x, dim, i) for i in range(shape_of(x)[b.axis(dim, rank_of(x))])]


@lowers("cat")
def cat(b: AtenBuilder, tensors: Sequence[Value], dim: int = 0) -> Value:
    values = b.promote(*tensors)
    parts = [x for x in values if shape_of(x) != (0,)]  # these are skipped whatever their rank, for old code's sake
    return b.concatenate(parts, b.axis(dim, rank_of(parts[0]))) if parts else values[0]


@lowers("stack")
def stack(b: AtenBuilder, tensors: Sequence[Value], dim: int = 0) -> Value:
    axis = b.axis(dim, rank_of(tensors[0]) + 1)
    return b.concatenate([b.expand_dims(x, [axis]) for x in b.promote(*tensors)], axis)


@lowers("repeat")
def repeat(b: AtenBuilder, x: Value, repeats: Sequence[int]) -> Value:
    own = [1] * (len(repeats) - rank_of(x)) + list(shape_of(x))
    wide = b.reshape(x, [n for size in own for n in (1, size)])
    apart = [n for pair in zip(repeats, own, strict=True) for n in pair]
    return b.reshape(b.broadcast_to(wide, apart), [n * m for n, m in zip(repeats, own, strict=True)])


@lowers("flip")
def flip(b: AtenBuilder, x: Value, dims: Sequence[int]) -> Value:
    axes = b.axes(dims, rank_of(x))
    return b(hlo.ReverseOp(x, dimensions=axes)) if axes else x


@lowers("roll")
def roll(b: AtenBuilder, x: Value, shifts: Sequence[int] | int, dims: Sequence[int] | int = ()) -> Value:
    moves = [shifts] if isinstance(shifts, int) else list(shifts)
    along = [dims] if isinstance(dims, int) else list(dims)
    if not along:
        return b.reshape(roll(b, b.reshape(x, [math.prod(shape_of(x))]), moves, [0]), shape_of(x))
    for shift, dim in zip(moves, along, strict=True):
        axis = b.axis(dim, rank_of(x))
        n = shape_of(x)[axis]
        if n and shift % n:
            cut = n - shift % n
            x = b.concatenate([b.slice_axis(x, axis, cut, n), b.slice_axis(x, axis, 0, cut)], axis)
    return x


@lowers("constant_pad_nd")
def constant_pad(b: AtenBuilder, x: Value, pad: Sequence[int], value: Number = 0) -> Value:
    low, high = _amounts(rank_of(x), pad)
    return b.pad(x, b.typed(value, element_of(x)), low, high)


def _amounts(rank: int, pad: Sequence[int]) -> tuple[list[int], list[int]]:
    """Before and after each dimension; PyTorch counts from the last."""
    low, high = [0] * rank, [0] * rank
    for i in range(len(pad) // 2):
        low[rank - 1 - i], high[rank - 1 - i] = pad[2 * i], pad[2 * i + 1]
    return low, high


@lowers("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def reflection_pad(b: AtenBuilder, x: Value, padding: Sequence[int]) -> Value:
    return padded_by(b, x, padding, lambda places, n: np.abs((places + n - 1) % max(2 * (n - 1), 1) - (n - 1)))


@lowers("replication_pad1d", "replication_pad2d", "replication_pad3d")
def replication_pad(b: AtenBuilder, x: Value, padding: Sequence[int]) -> Value:
    return padded_by(b, x, padding, lambda places, n: np.clip(places, 0, n - 1))


def padded_by(b: AtenBuilder, x: Value, padding: Sequence[int], place: Callable[[Array, int], Array]) -> Value:
    """`x` with what stands at `place` where the padded coordinates are outside."""
    low, high = _amounts(rank_of(x), padding)
    for axis, (before, after) in enumerate(zip(low, high, strict=True)):
        if before or after:
            n = shape_of(x)[axis]
            x = take(b, x, place(np.arange(-before, n + after), n), axis)
    return x


@lowers("diagonal", "diagonal_copy")
def diagonal(b: AtenBuilder, x: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    """The places of the diagonal in the two dimensions made one."""
    rank = rank_of(x)
    first, second = b.axis(dim1, rank), b.axis(dim2, rank)
    rest = [i for i in range(rank) if i not in (first, second)]
    moved = b.transpose(x, [*rest, first, second])
    *outer, rows, columns = shape_of(moved)
    start_row, start_column = max(-offset, 0), max(offset, 0)
    count = max(min(rows - start_row, columns - start_column), 0)
    line = b.reshape(moved, [*outer, rows * columns])
    start, step = start_row * columns + start_column, columns + 1
    if not count:
        return b.slice_axis(line, len(outer), 0, 0)
    starts, limits, steps = [0] * len(outer), list(outer), [1] * len(outer)
    return b.slice(line, [*starts, start], [*limits, start + (count - 1) * step + 1], [*steps, step])


@lowers("slice_scatter")
def slice_scatter(
    b: AtenBuilder,
    x: Value,
    src: Value,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Value:
    """`src` spread out with a mask of where it stands."""
    shape = shape_of(x)
    axis = b.axis(dim, len(shape))
    taken = range(shape[axis])[slice(start, end, step)]
    if not taken:
        return x
    src = b.convert(b.broadcast_to(src, [len(taken) if i == axis else n for i, n in enumerate(shape)]), element_of(x))
    if step == 1:
        before, after = b.slice_axis(x, axis, 0, taken[0]), b.slice_axis(x, axis, taken[-1] + 1, shape[axis])
        return b.concatenate([part for part in (before, src, after) if shape_of(part)[axis]], axis)
    low, high, interior = ([0] * len(shape) for _ in range(3))
    low[axis], high[axis], interior[axis] = taken[0], shape[axis] - 1 - taken[-1], step - 1
    zero = b.scalar(0, element_of(x))
    spread = b(hlo.PadOp(src, zero, edge_padding_low=low, edge_padding_high=high, interior_padding=interior))
    hit = np.zeros(shape[axis], np.bool_)
    hit[taken.start : taken.stop : step] = True
    return b.select(b.expand_dims(b.constant(hit), [i for i in range(len(shape)) if i != axis]), spread, x)


@lowers("select_scatter")
def select_scatter(b: AtenBuilder, x: Value, src: Value, dim: int, index: int) -> Value:
    axis = b.axis(dim, rank_of(x))
    place = b.axis(index, shape_of(x)[axis])
    return slice_scatter(b, x, b.expand_dims(src, [axis]), axis, place, place + 1)


@lowers("diagonal_scatter")
def diagonal_scatter(b: AtenBuilder, x: Value, src: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    rank = rank_of(x)
    first, second = b.axis(dim1, rank), b.axis(dim2, rank)
    rest = [i for i in range(rank) if i not in (first, second)]
    order = [*rest, first, second]
    moved = b.transpose(x, order)
    *outer, rows, columns = shape_of(moved)
    row, column = max(-offset, 0), max(offset, 0)
    line = b.reshape(moved, [*outer, rows * columns])
    count = shape_of(src)[-1]
    start, step = row * columns + column, columns + 1
    filled = slice_scatter(b, line, src, len(outer), start, start + (count - 1) * step + 1, step)
    back = [order.index(i) for i in range(rank)]
    return b.transpose(b.reshape(filled, shape_of(moved)), back)


@lowers("unfold", "unfold_copy")
def unfold(b: AtenBuilder, x: Value, dimension: int, size: int, step: int) -> Value:
    """Overlapping windows along a dimension, their elements as a new last one."""
    shape = shape_of(x)
    axis = b.axis(dimension, len(shape))
    count = (shape[axis] - size) // step + 1
    parts = [slice_(b, x, axis, i, i + (count - 1) * step + 1, step) for i in range(size)]
    return b.concatenate([b.expand_dims(part, [len(shape)]) for part in parts], len(shape))


@lowers("pixel_shuffle")
def pixel_shuffle(b: AtenBuilder, x: Value, upscale_factor: int) -> Value:
    *outer, c, h, w = shape_of(x)
    k, n = upscale_factor, len(outer)
    parts = b.reshape(x, [*outer, c // (k * k), k, k, h, w])
    order = [*range(n), n, n + 3, n + 1, n + 4, n + 2]
    return b.reshape(b.transpose(parts, order), [*outer, c // (k * k), h * k, w * k])


@lowers("pixel_unshuffle")
def pixel_unshuffle(b: AtenBuilder, x: Value, downscale_factor: int) -> Value:
    *outer, c, h, w = shape_of(x)
    k, n = downscale_factor, len(outer)
    parts = b.reshape(x, [*outer, c, h // k, k, w // k, k])
    order = [*range(n), n, n + 2, n + 4, n + 1, n + 3]
    return b.reshape(b.transpose(parts, order), [*outer, c * k * k, h // k, w // k])
