"""Built-in functions that move elements without looking at them."""

from __future__ import annotations

from collections.abc import Sequence

from ..values import TupleValue
from . import kinds
from .builder import Builder, Dim, Extent, Pack, Value
from .table import Axes, Dims, Ints, Pairs, Type, Values, builtin


@builtin("reshape")
def reshape(b: Builder, x: Value, shape: Dims) -> Value:
    """The same elements, row by row, in another shape: `reshape(x, [A, B*C])`, one size may be -1."""
    x = b.settle(x)
    wanted = list(shape)
    total = b.count(x)
    if wanted.count(-1) > 1:
        raise b.fail("E353", "only one size can follow from the others", "shape")
    if -1 in wanted:
        rest = b.divide(total, b.product(n for n in wanted if n != -1))
        if rest is None:
            raise b.fail("E353", f"{x.type} has {total} elements, which the other sizes do not divide", "shape")
        wanted[wanted.index(-1)] = rest
    if b.differ(total, b.product(wanted)):
        there = b.product(wanted)
        raise b.fail("E353", f"{x.type} has {total} elements, the shape [{_listed(wanted)}] has {there}", "shape")
    return b.reshape(x, wanted)


def _listed(shape: Sequence[Extent]) -> str:
    return ", ".join(map(str, shape))


@builtin("transpose")
def transpose(b: Builder, x: Value, axes: Ints | None = None) -> Value:
    """Axis i of the result is axis `axes[i]` of x; without axes all are reversed."""
    x = b.settle(x)
    rank = len(b.flat_shape(x))
    order = list(reversed(range(rank))) if axes is None else [b.axis(x, axis, "axes") for axis in axes]
    if sorted(order) != list(range(rank)):
        raise b.fail("E351", f"axes {list(axes or ())} are no order of the {rank} axes of {x.type}", "axes")
    return b.transpose(x, order)


@builtin("swapaxes")
def swapaxes(b: Builder, x: Value, axis1: int, axis2: int) -> Value:
    """Two axes exchanged."""
    x = b.settle(x)
    order = list(range(len(x.type.shape)))
    p, q = b.axis(x, axis1, "axis1"), b.axis(x, axis2, "axis2")
    order[p], order[q] = q, p
    return b.transpose(x, order)


@builtin("moveaxis")
def moveaxis(b: Builder, x: Value, source: int, destination: int) -> Value:
    """One axis put at another place, the others in their order."""
    x = b.settle(x)
    at, to = b.axis(x, source, "source"), b.axis(x, destination, "destination")
    order = [i for i in range(len(x.type.shape)) if i != at]
    order.insert(to, at)
    return b.transpose(x, order)


@builtin("broadcast", "broadcast_to")
def broadcast(b: Builder, x: Value, shape: Dims) -> Value:
    """x in a larger shape, by NumPy's rule: axes of size 1 and missing ones in front are repeated."""
    x = b.settle(x)
    own = x.type.shape
    offset = len(shape) - len(own)
    packs = any(isinstance(extent, Pack) for extent in (*own, *shape))
    if not packs:
        if offset < 0:
            raise b.fail("E350", f"{x.type} has more axes than the shape [{_listed(shape)}]", "shape")
        for have, want in zip(own, shape[offset:], strict=True):
            if have != 1 and b.differ(have, want):
                raise b.fail(
                    "E350", f"{x.type} does not broadcast to [{_listed(shape)}]: {have} is not {want}", "shape"
                )
    return b.broadcast_to(x, shape)


@builtin("concat", "concatenate")
def concat(b: Builder, tensors: Values, axis: int = 0) -> Value:
    """Tensors one after the other along an axis; they agree in the others."""
    values = b.same_dtype(tensors, "tensors")
    along = b.axis(values[0], axis)
    _agree(b, values, along)
    return b.concat(values, along)


def _agree(b: Builder, values: Values, except_axis: int | None) -> None:
    first = values[0]
    for value in values[1:]:
        if len(value.type.shape) != len(first.type.shape):
            raise b.fail("E350", f"{b.name} takes tensors of one rank, got {first.type} and {value.type}", value.node)
        for i, (n, m) in enumerate(zip(first.type.shape, value.type.shape, strict=True)):
            if i != except_axis and b.differ(n, m):
                raise b.fail("E350", f"axis {i} has {n} elements in {first.type}, {m} in {value.type}", value.node)


@builtin("stack")
def stack(b: Builder, tensors: Values, axis: int = 0) -> Value:
    """Tensors of one shape along a new axis."""
    values = b.same_dtype(tensors, "tensors")
    _agree(b, values, None)
    along = b.axis(values[0], axis, extra=1)
    return b.concat([b.expand(value, along) for value in values], along)


@builtin("split")
def split(b: Builder, x: Value, parts: Ints, axis: int = 0) -> TupleValue:
    """A tuple of parts along an axis: so many equal ones, or ones of these sizes."""
    x = b.settle(x)
    along = b.axis(x, axis)
    size = b.size(x, along)
    if len(parts) == 1 and not b.is_list("parts"):
        part = b.divide(size, parts[0]) if parts[0] > 0 else None
        if part is None:
            raise b.fail("E350", f"axis {axis} has {size} elements, which is no multiple of {parts[0]}", "parts")
        sizes: list[Dim] = [part] * parts[0]
    else:
        sizes = list(parts)
        if any(n < 0 for n in parts) or b.differ(sum(parts), size):
            raise b.fail("E350", f"the parts have {sum(parts)} elements, axis {axis} has {size}", "parts")
    found: list[Value] = []
    start: Dim = 0
    for part in sizes:
        found.append(b.slice_axis(x, along, start, start + part))
        start = start + part
    return b.tuple(found)


@builtin("squeeze")
def squeeze(b: Builder, x: Value, axis: Axes = None) -> Value:
    """Without axes of size 1: these, or all there are."""
    x = b.settle(x)
    if axis is None:
        dropped = [i for i, n in enumerate(b.flat_shape(x)) if n == 1]
    else:
        dropped = b.axes(x, axis)
        for i in dropped:
            if b.differ(b.size(x, i), 1):
                raise b.fail("E350", f"axis {i} of {x.type} has not 1 element, but {x.type.shape[i]}", "axis")
    return b.reshape(x, [extent for i, extent in enumerate(x.type.shape) if i not in dropped])


@builtin("expand_dims")
def expand_dims(b: Builder, x: Value, axis: Ints) -> Value:
    """With axes of size 1 put in, so that they are at these places of the result."""
    x = b.settle(x)
    places = sorted(b.axis(x, n, extra=len(axis)) for n in axis)
    if len(set(places)) != len(places):
        raise b.fail("E351", f"axes {list(axis)} name one place twice", "axis")
    for place in places:
        x = b.expand(x, place)
    return x


@builtin("tile")
def tile(b: Builder, x: Value, repeats: Dims) -> Value:
    """The tensor so many times along each axis."""
    x = b.settle(x)
    own = list(b.flat_shape(x))
    own = [1] * (len(repeats) - len(own)) + own
    times = [1] * (len(own) - len(repeats)) + list(repeats)
    apart: list[Extent] = [n for pair in zip(times, own, strict=True) for n in pair]
    wide = b.broadcast(b.reshape(x, own), apart, range(1, 2 * len(own), 2))
    return b.reshape(wide, [n * m for n, m in zip(times, own, strict=True)])


@builtin("pad")
def pad(b: Builder, x: Value, widths: Pairs, value: Value | None = None, mode: str = "constant") -> Value:
    """x with so many elements before and after each axis: `pad(x, [[1, 1], [0, 2]])`, or one pair for all.

    They are `value` (0), or with mode "edge" the nearest element, "reflect" and "wrap" as NumPy does.
    Negative widths crop.
    """
    x = b.settle(x)
    rank = len(b.flat_shape(x))
    pairs = list(widths) * rank if len(widths) == 1 else list(widths)
    if len(pairs) != rank:
        raise b.fail("E350", f"{len(pairs)} pairs of widths for the {rank} axes of {x.type}", "widths")
    fill = b.scalar(0, x.type.dtype) if value is None else b.coerce(value, x.type.dtype, "value")
    if fill.type.shape:
        raise b.fail("E350", f"pad takes one value, got {fill.type}", "value")
    if mode == "constant":
        return b.pad(x, fill, [low for low, _ in pairs], [high for _, high in pairs])
    if mode not in ("edge", "reflect", "wrap"):
        raise b.fail("E553", f'there is no mode "{mode}"', "mode", "constant, edge, reflect or wrap")
    for axis, (low, high) in enumerate(pairs):
        x = _padded(b, x, axis, low, high, mode)
    return x


def _padded(b: Builder, x: Value, axis: int, low: Dim, high: Dim, mode: str) -> Value:
    """Along one axis, with elements of x itself."""
    size = b.size(x, axis)
    if not b.emits:
        shape = [low + size + high if i == axis else n for i, n in enumerate(x.type.shape)]
        return b.reshape(x, shape)  # only its type matters
    assert isinstance(size, int) and isinstance(low, int) and isinstance(high, int)
    if low < 0 or high < 0:
        raise b.fail("E350", f'mode "{mode}" cannot crop', "widths")
    limit = size - 1 if mode == "reflect" else size
    if (max(low, high) > limit and mode != "edge") or size == 0:
        raise b.fail("E350", f'mode "{mode}" gives at most {limit} elements along axis {axis}', "widths")
    before = [_border(b, x, axis, low, mode, True)] if low else []
    after = [_border(b, x, axis, high, mode, False)] if high else []
    return b.concat([*before, x, *after], axis)


def _border(b: Builder, x: Value, axis: int, count: int, mode: str, at_start: bool) -> Value:
    """`count` elements to put before or after an axis."""
    size = b.number(b.size(x, axis))
    match mode:
        case "edge":
            start = 0 if at_start else size - 1
            shape = [count if i == axis else n for i, n in enumerate(x.type.shape)]
            return b.broadcast(b.slice_axis(x, axis, start, start + 1), shape, range(len(shape)))
        case "wrap":
            start = size - count if at_start else 0
            return b.slice_axis(x, axis, start, start + count)
        case _:
            start = 1 if at_start else size - 1 - count
            return b.reverse(b.slice_axis(x, axis, start, start + count), [axis])


@builtin("reverse", "flip")
def reverse(b: Builder, x: Value, axis: Axes = None) -> Value:
    """Backwards along axes."""
    x = b.settle(x)
    return b.reverse(x, b.axes(x, axis))


@builtin("roll")
def roll(b: Builder, x: Value, shift: Ints, axis: Ints | None = None) -> Value:
    """Each element so many places further along an axis; what leaves at the end comes in at the start."""
    x = b.settle(x)
    if axis is None:
        if len(shift) != 1:
            raise b.fail("E553", "several shifts need several axes", "shift")
        flat = b.reshape(x, [b.count(x)])
        return b.reshape(_rolled(b, flat, 0, shift[0]), x.type.shape)
    shifts = list(shift) * len(axis) if len(shift) == 1 else list(shift)
    if len(shifts) != len(axis):
        raise b.fail("E553", f"{len(shifts)} shifts for {len(axis)} axes", "shift")
    for by, which in zip(shifts, axis, strict=True):
        x = _rolled(b, x, b.axis(x, which), by)
    return x


def _rolled(b: Builder, x: Value, axis: int, shift: int) -> Value:
    size = b.size(x, axis)
    if not isinstance(size, int):
        return x  # of the same type
    by = shift % size if size else 0
    if not by:
        return x
    return b.concat([b.slice_axis(x, axis, size - by, size), b.slice_axis(x, axis, 0, size - by)], axis)


@builtin("slice")
def slice_(b: Builder, x: Value, start: Dims, stop: Dims, step: Ints | None = None) -> Value:
    """`x[start:stop:step]` along every axis, bounds within the tensor; `x[1:, ::2]` is the short form."""
    x = b.settle(x)
    own = b.flat_shape(x)
    steps = [1] * len(own) if step is None else list(step)
    for name, given in (("start", start), ("stop", stop), ("step", steps)):
        if len(given) != len(own):
            raise b.fail("E350", f"{len(given)} numbers for the {len(own)} axes of {x.type}", name)
    for i, (first, last, by, size) in enumerate(zip(start, stop, steps, own, strict=True)):
        if by < 1:
            raise b.fail(
                "E553", f"step {by} along axis {i}: steps are 1 or more", "step", "reverse turns an axis around"
            )
        if all(isinstance(n, int) for n in (first, last, size)) and not 0 <= first <= last <= size:  # pyright: ignore
            raise b.fail("E350", f"{first}:{last} is not within the {size} elements of axis {i}", "start")
    return b.slice(x, start, stop, steps)


@builtin("size")
def size(b: Builder, x: Value, axis: int | None = None) -> Value:
    """How many elements a tensor has, or an axis of it, as a number known when compiling."""
    return b.dim_value(b.count(x) if axis is None else b.size(x, b.axis(x, axis)))


@builtin("cast")
def cast(b: Builder, x: Value, like: Value) -> Value:
    """x with the dtype of another tensor; `f32(x)` names one."""
    return b.convert(b.settle(x), like.type.dtype)


__all__ = ["Type", "kinds"]
