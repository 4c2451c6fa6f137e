"""Rules for tensors whose size data decide: what moves elements, and what makes tensors of such a size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from xdsl.dialects.builtin import i64

from ....dialects import stablehlo as hlo
from .bounded import Extents, Node, agreeing, as_large, bounded, counts, is_same, met, replaced
from .builder import GraphBuilder, Value, element_of, rank_of, shape_of
from .indexing import column_of
from .sizes import Entry, Size, combined, most_of, product, shape_entries, value_of, vector
from .taking import gather_along, take

_END = 1 << 62  # from here on an end is that of the tensor


def _decided(entries: Sequence[Entry]) -> Extents:
    """The sizes that data decide, by dimension."""
    return {i: entry.value for i, entry in enumerate(entries) if isinstance(entry, Size)}


@bounded("Transpose")
def transpose(node: Node) -> list[Value]:
    rank = rank_of(node.operand(0))
    order = list(node.attributes.get("perm") or reversed(range(rank)))
    [result] = node.usual(node.operands)
    return [node.put(result, {order.index(axis): size for axis, size in node.extents().items()})]


@bounded("Unsqueeze")
def unsqueeze(node: Node) -> list[Value]:
    [result] = node.usual(node.operands)
    rank = rank_of(result)
    new = {node.b.axis(int(a), rank) for a in _axes(node, "axes of Unsqueeze") or ()}
    kept = [i for i in range(rank) if i not in new]
    return [node.put(result, {kept[axis]: size for axis, size in node.extents().items()})]


@bounded("Squeeze")
def squeeze(node: Node) -> list[Value]:
    own = shape_of(node.operand(0))
    axes = _axes(node, "axes of Squeeze")
    if axes is None and any(own[axis] == 1 for axis in node.extents()):
        raise node.unsupported()
    dropped = [i for i, n in enumerate(own) if n == 1] if axes is None else [node.b.axis(a, len(own)) for a in axes]
    kept = [i for i in range(len(own)) if i not in dropped]
    [result] = node.usual(node.operands)
    return [node.put(result, {kept.index(i): size for i, size in node.extents().items() if i in kept})]


def _axes(node: Node, what: str) -> list[int] | None:
    given = node.given(1)
    if given is not None:
        return node.b.ints(given, what)
    return node.attributes.get("axes")


@bounded("Flatten")
def flatten(node: Node) -> list[Value]:
    [result] = node.usual(node.operands)
    return [node.put(result, _reshaped(node, shape_of(result)))]


@bounded("Reshape")
def reshape(node: Node) -> list[Value]:
    b, x = node.b, node.operand(0)
    own = shape_of(x)
    wanted = node.entries(1, "shape of Reshape")
    if not node.attributes.get("allowzero"):
        if any(entry == 0 and i >= len(own) for i, entry in enumerate(wanted)):
            raise b.fail(f"the shape copies a dimension that {list(own)} lacks")
        wanted = [shape_entries(b, x)[i] if entry == 0 else entry for i, entry in enumerate(wanted)]
    shape = [most_of(entry) for entry in wanted]
    total = math.prod(own)
    open_ = [i for i, n in enumerate(shape) if n == -1]
    if not open_ and math.prod(shape) != total:
        open_ = [i for i, entry in enumerate(wanted) if isinstance(entry, Size)]
    rest = math.prod(n for i, n in enumerate(shape) if i not in open_)
    if open_:
        if len(open_) > 1 or not rest or total % rest:
            raise b.fail(f"{list(own)} cannot take a shape of at most {shape}")
        shape[open_[0]] = total // rest
    if math.prod(shape) != total:
        raise b.fail(f"{list(own)} cannot take a shape of at most {shape}")
    extents = dict(_reshaped(node, shape))
    extents |= {i: entry.value for i, entry in enumerate(wanted) if isinstance(entry, Size) and i in extents}
    return [node.put(b.reshape(x, shape), extents)]


def _reshaped(node: Node, shape: Sequence[int]) -> Extents:
    """The sizes in another shape: what counts must stay together, at the front of what it is put together with."""
    b, x = node.b, node.operand(0)
    own, extents = shape_of(x), node.extents()
    found: dict[int, Value] = {}
    for old, new in _groups(own, shape) if math.prod(own) else ():
        there = [i for i in old if i in extents]
        if not there:
            continue
        [first, *more] = there
        if more or any(own[i] != 1 for i in old if i < first):
            raise b.fail("does not keep together what counts of a tensor whose shape depends on data")
        place = next((i for i in new if shape[i] != 1), new[0] if new else None)
        if place is None:
            raise node.unsupported()
        inner, outer = math.prod(own[first + 1 : old[-1] + 1]), math.prod(shape[place + 1 : new[-1] + 1])
        size = combined(b, "multiply", inner, Size(extents[first], own[first]))
        found[place] = extents[first] if inner == outer else value_of(b, combined(b, "divide", size, outer))
    return found


def _groups(own: Sequence[int], shape: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """Neighbouring dimensions of two shapes of as many elements, the fewest that have as many on either side."""
    i = j = 0
    while i < len(own) or j < len(shape):
        old, new = [i] if i < len(own) else [], [j] if j < len(shape) else []
        i, j = i + len(old), j + len(new)
        while (left := math.prod(own[k] for k in old)) != (right := math.prod(shape[k] for k in new)):
            if left < right:
                old.append(i)
                i += 1
            else:
                new.append(j)
                j += 1
        yield old, new


@bounded("Gather")
def gather(node: Node) -> list[Value]:
    b, x, indices = node.b, node.operand(0), node.operand(1)
    along = node.axis(0, rank_of(x))
    own = node.extents()
    if along in own:
        indices = _from_front(b, indices, own[along])
    rank = rank_of(indices)
    extents = {axis + (rank - 1 if axis > along else 0): size for axis, size in own.items() if axis != along}
    extents |= {along + axis: size for axis, size in node.extents(1).items()}
    return [node.put(result, extents) for result in node.usual([x, indices])]


def _from_front(b: GraphBuilder, indices: Value, sizes: Value) -> Value:
    """Indices counted from the front, of dimensions whose `sizes` data decide."""
    known = b.constant_value(indices)
    if known is not None and known.min(initial=0) >= 0:
        return indices
    return b.select(b.compare(indices, 0, "LT"), b.add(indices, b.convert(sizes, element_of(indices))), indices)


@bounded("GatherElements")
def gather_elements(node: Node) -> list[Value]:
    x, indices = node.operand(0), node.operand(1)
    size = node.extents().get(node.axis(0, rank_of(x)))
    if size is not None:
        indices = _from_front(node.b, indices, size)
    return [node.put(result, node.extents(1)) for result in node.usual([x, indices])]


@bounded("GatherND")
def gather_nd(node: Node) -> list[Value]:
    if node.attributes.get("batch_dims"):
        raise node.unsupported()
    x, indices = node.operand(0), node.operand(1)
    depth, rank = shape_of(indices)[-1], rank_of(indices) - 1
    own = node.extents()
    if rank in node.extents(1):
        raise node.unsupported()
    if any(axis < depth for axis in own):
        indices = _from_front(node.b, indices, vector(node.b, shape_entries(node.b, x)[:depth]))
    extents = {**node.extents(1), **{axis - depth + rank: size for axis, size in own.items() if axis >= depth}}
    return [node.put(result, extents) for result in node.usual([x, indices])]


@bounded("ScatterElements", "ScatterND")
def scatter(node: Node) -> list[Value]:
    """What does not count is written behind the end, where nothing is."""
    b, x, indices, updates = node.b, node.operand(0), node.operand(1), node.operand(2)
    extents = node.extents(1)
    if node.operator == "ScatterElements":
        along = node.axis(0, rank_of(x))
        outside, own = shape_of(x)[along], node.extents().get(along)
        [indices, updates], extents = agreeing(b, [indices, updates])
        column = column_of(b, indices, along)
        if column is not None and set(extents) <= {along}:  # still seen to be one
            size = {0: extents[along]} if extents else {}
            shape = [shape_of(column)[0] if d == along else 1 for d in range(rank_of(x))]
            column = replaced(b, column if own is None else _from_front(b, column, own), size, outside)
            indices, extents = b.broadcast_to(b.reshape(column, shape), shape_of(indices)), {}
        elif own is not None:
            indices = _from_front(b, indices, own)
    else:
        rank = rank_of(indices) - 1
        outside = shape_of(x)[0]
        if rank in extents or rank_of(updates) < rank:
            raise node.unsupported()
        size = min(shape_of(indices)[0], shape_of(updates)[0]) if rank else 0
        if rank and shape_of(indices)[0] != shape_of(updates)[0]:
            indices, updates = (b.slice_axis(each, 0, 0, size) for each in (indices, updates))
        if any(axis < shape_of(indices)[-1] for axis in node.extents()):
            indices = _from_front(b, indices, vector(b, shape_entries(b, x)[: shape_of(indices)[-1]]))
    if extents:
        indices = b.select(counts(b, indices, extents), indices, b.scalar(outside, element_of(indices)))
    return [node.put(result, node.extents()) for result in node.usual([x, indices, updates])]


@bounded("Slice")
def slice_(node: Node) -> list[Value]:
    """Along each axis in turn; where its size, the start or the end is decided by data, steps must be 1."""
    b, x = node.b, node.operand(0)
    rank = rank_of(x)
    by_input = node.given(1) is not None
    attributes = node.attributes
    starts: list[Entry] = node.entries(1, "starts of Slice") if by_input else list(attributes["starts"])
    ends: list[Entry] = node.entries(2, "ends of Slice") if by_input else list(attributes["ends"])
    axes = node.b.ints(node.operand(3), "axes of Slice") if node.given(3) is not None else attributes.get("axes")
    steps = node.b.ints(node.operand(4), "steps of Slice") if node.given(4) is not None else [1] * len(starts)
    along = list(range(len(starts))) if axes is None else [b.axis(int(axis), rank) for axis in axes]
    sizes = shape_entries(b, x)
    for axis, start, end, step in zip(along, starts, ends, steps, strict=True):
        if not any(isinstance(entry, Size) for entry in (sizes[axis], start, end)):
            taken = range(shape_of(x)[axis])[most_of(start) : most_of(end) : step]
            x = take(b, x, np.array(taken, np.int64), axis)
            sizes[axis] = len(taken)
            continue
        if step != 1 or (isinstance(sizes[axis], Size) and not isinstance(start, Size) and start < 0):
            raise node.unsupported()
        first, last = (_within(b, entry, sizes[axis]) for entry in (start, end))
        length = combined(b, "maximum", combined(b, "subtract", last, first), 0)
        most = max(min(most_of(length), shape_of(x)[axis]), 0)
        if isinstance(first, Size):
            places = b.add(b.iota([most], 0, i64), first.value)
            x = gather_along(b, x, places, axis)
        else:
            x = b.slice_axis(x, axis, first, min(first + most, shape_of(x)[axis]))
        sizes[axis] = length
    return [node.put(x, _decided(sizes))]


def _within(b: GraphBuilder, entry: Entry, size: Entry) -> Entry:
    """A start or an end as a place in a dimension."""
    if not isinstance(entry, Size):
        if entry >= _END:
            return size
        if entry < 0:
            return combined(b, "maximum", combined(b, "add", size, entry), 0)
    return combined(b, "minimum", entry, size)


@bounded("Pad")
def pad(node: Node) -> list[Value]:
    """At the end of a dimension whose size data decide, or by as much as they decide, only with one number."""
    b, x = node.b, node.operand(0)
    node.only(0)
    rank = rank_of(x)
    by_input = node.given(1) is not None
    amounts: list[Entry] = node.entries(1, "pads of Pad") if by_input else list(node.attributes["pads"])
    axes = list(range(rank)) if node.given(3) is None else b.ints(node.operand(3), "axes of Pad")
    sizes, low, high, opened = shape_entries(b, x), [0] * rank, [0] * rank, False
    fill = b.scalar(0, element_of(x)) if node.given(2) is None else b.reshape(node.operand(2), [])
    for axis, before, after in zip(axes, amounts[: len(axes)], amounts[len(axes) :], strict=True):
        i = b.axis(axis, rank)
        if isinstance(before, Size) or ((isinstance(sizes[i], Size) or isinstance(after, Size)) and before < 0):
            raise node.unsupported()
        open_ = (isinstance(sizes[i], Size) and (before or after != 0)) or isinstance(after, Size)
        if open_ and node.attributes.get("mode", "constant") != "constant":
            raise node.unsupported()
        opened = opened or open_
        if open_ and i in node.extents():
            x = b.select(counts(b, x, {i: node.extents()[i]}), x, fill)
        sizes[i] = combined(b, "add", combined(b, "add", sizes[i], before), after)
        low[i], high[i] = before, most_of(sizes[i]) - before - shape_of(x)[i]
    padded = [b.pad(x, fill, low, high)] if opened else node.usual(node.operands)
    return [node.put(result, _decided(sizes)) for result in padded]


@bounded("Split")
def split(node: Node) -> list[Value]:
    node.only(0)
    if node.axis(0, rank_of(node.operand(0))) in node.extents():
        raise node.unsupported()
    return [node.put(result, node.extents()) for result in node.usual(node.operands)]


@bounded("Concat")
def concat(node: Node) -> list[Value]:
    """Along a dimension whose size data decide, each part is written over what does not count of the one before."""
    b = node.b
    values = [x for x in node.operands if x is not None]
    along = node.axis(0, rank_of(values[0]))
    values, extents = agreeing(b, values, skipped=along)
    sizes = [shape_entries(b, x)[along] for x in values]
    if not any(isinstance(each, Size) for each in sizes):
        return [node.put(result, extents) for result in node.usual(values)]
    if len(values) == 1:
        return [node.put(values[0], {**extents, along: value_of(b, sizes[0])})]
    rank = rank_of(values[0])
    room = [0] * rank
    room[along] = sum(shape_of(x)[along] for x in values[1:])
    whole = b.pad(values[0], b.scalar(0, element_of(values[0])), [0] * rank, room)
    end = sizes[0]
    for x, size in zip(values[1:], sizes[1:], strict=True):
        zero = b.scalar(0, i64)
        places = [value_of(b, end) if i == along else zero for i in range(rank)]
        whole = b(hlo.DynamicUpdateSliceOp(whole, x, places))
        end = combined(b, "add", end, size)
    return [node.put(whole, {**extents, along: value_of(b, end)})]


@bounded("Expand")
def expand(node: Node) -> list[Value]:
    b, x = node.b, node.operand(0)
    wanted = node.entries(1, "shape of Expand")
    own = shape_entries(b, x)
    rank = max(len(own), len(wanted))
    own, wanted = [1] * (rank - len(own)) + own, [1] * (rank - len(wanted)) + wanted
    sizes = [met(b, mine, other) for mine, other in zip(own, wanted, strict=True)]
    for axis, (mine, size) in enumerate(zip(own, sizes, strict=True)):
        at = axis - rank + rank_of(x)
        if isinstance(mine, Size) and not is_same(mine, size):
            x = as_large(b, x, at, mine, size, most_of(size))
    shape = [shape_of(x)[at] if (at := i - rank + rank_of(x)) >= 0 else 1 for i in range(rank)]
    shape = [n if is_same(mine, size) else most_of(size) for n, mine, size in zip(shape, own, sizes, strict=True)]
    return [node.put(b.broadcast_to(x, shape), _decided(sizes))]


@bounded("ConstantOfShape")
def constant_of_shape(node: Node) -> list[Value]:
    wanted = node.entries(0, "shape of ConstantOfShape")
    most = node.b.constant(np.array([most_of(entry) for entry in wanted], np.int64))
    return [node.put(result, _decided(wanted)) for result in node.usual([most])]


@bounded("Range")
def arange(node: Node) -> list[Value]:
    """Counts up by one to a size that data decide."""
    [first], [end], [step] = (node.entries(i, "bounds of Range") for i in range(3))
    if isinstance(first, Size) or step != 1:
        raise node.unsupported()
    length = combined(node.b, "maximum", combined(node.b, "subtract", end, first), 0)
    most = node.b.constant(np.array(first + most_of(length)).astype(np.int64))
    most = node.b.convert(most, element_of(node.operand(0)))
    results = node.usual([node.operand(0), most, node.operand(2)])
    return [node.put(result, _decided([length])) for result in results]


@bounded("Tile")
def tile(node: Node) -> list[Value]:
    """Only along dimensions that have one element."""
    b, x = node.b, node.operand(0)
    repeats = node.entries(1, "repeats of Tile")
    sizes = shape_entries(b, x)
    if len(repeats) != len(sizes) or any(most_of(n) != 1 and m != 1 for n, m in zip(sizes, repeats, strict=True)):
        raise node.unsupported()
    sizes = [product(b, pair) for pair in zip(sizes, repeats, strict=True)]
    return [node.put(b.broadcast_to(x, [most_of(size) for size in sizes]), _decided(sizes))]
