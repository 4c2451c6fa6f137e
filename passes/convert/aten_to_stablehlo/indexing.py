"""ATen's operators that choose elements by index: gathers, scatters, embeddings.

PyTorch raises for an index that is out of range; code compiled from here takes the nearest for reading and drops what
is written.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Attribute, Region

from ....dialects import stablehlo as hlo
from ..onnx_to_stablehlo import indexing as onnx
from ..onnx_to_stablehlo.limits import identity
from ..onnx_to_stablehlo.regions import replace_region
from ..onnx_to_stablehlo.selection import compress
from .builder import AtenBuilder, Number, Operand, Value, element_of, is_bool, is_float, rank_of, shape_of
from .reduction import cumsum
from .table import lowers

Indices = Sequence[Value | None]


@lowers("embedding")
def embedding(
    b: AtenBuilder,
    weight: Value,
    indices: Value,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Value:
    return onnx.gather(b, weight, indices, axis=0)


@lowers("index_select")
def index_select(b: AtenBuilder, x: Value, dim: int, index: Value) -> Value:
    if not rank_of(x):
        return x
    return onnx.gather(b, x, index if rank_of(index) else b.reshape(index, [1]), axis=dim)


@lowers("gather")
def gather(b: AtenBuilder, x: Value, dim: int, index: Value, *, sparse_grad: bool = False) -> Value:
    if not rank_of(x):
        return b.broadcast_to(x, shape_of(index))
    if not rank_of(index):
        return b.reshape(onnx.gather_elements(b, x, b.reshape(index, [1]), axis=dim), [])
    return onnx.gather_elements(b, x, index, axis=dim)


def _places(b: AtenBuilder, x: Value, indices: Indices) -> tuple[Value, list[int], int, int]:
    """Index vectors `[..., k]`, the k dimensions they speak of, where the indexed ones go, and how many these are."""
    if any(index is not None and is_bool(index) for index in indices):
        raise b.fail("indexing by truth values gives a shape that depends on them", "torch.where keeps the shape")
    shape = shape_of(x)
    along = [i for i, index in enumerate(indices) if index is not None]
    chosen = [
        onnx.from_front(b, b.convert(index, i64), shape[i]) for i, index in enumerate(indices) if index is not None
    ]
    common = b.broadcast_shape(*(shape_of(index) for index in chosen))
    rank = len(common)
    vectors = b.concatenate([b.expand_dims(b.broadcast_to(index, common), [rank]) for index in chosen], rank)
    adjacent = along == list(range(along[0], along[0] + len(along)))
    return vectors, along, along[0] if adjacent else 0, rank


@lowers("index.Tensor", "_unsafe_index.Tensor")
def index(b: AtenBuilder, x: Value, indices: Indices) -> Value:
    """NumPy's indexing: what is indexed comes where it was, or in front when it was apart."""
    present = [(i, index) for i, index in enumerate(indices) if index is not None]
    if len(present) == 1 and is_bool(present[0][1]):
        return _where(b, x, present[0][1], present[0][0])
    if len(present) == 1 and not is_bool(present[0][1]):
        return onnx.gather(b, x, present[0][1], axis=present[0][0])
    vectors, along, at, rank = _places(b, x, indices)
    rest = rank_of(x) - len(along)
    return b(
        hlo.GatherOp(
            x,
            vectors,
            offset_dims=[i if i < at else i + rank for i in range(rest)],
            collapsed_slice_dims=along,
            start_index_map=along,
            index_vector_dim=rank,
            slice_sizes=[1 if i in along else n for i, n in enumerate(shape_of(x))],
        )
    )


def _where(b: AtenBuilder, x: Value, mask: Value, at: int) -> Value:
    """What a mask over the dimensions from `at` on shows, one after the other."""
    shape, depth = shape_of(x), rank_of(mask)
    if shape_of(mask) != shape[at : at + depth]:
        raise b.fail(f"a mask of shape {list(shape_of(mask))} on a tensor of shape {list(shape)}")
    flat = b.reshape(x, [*shape[:at], _count(mask), *shape[at + depth :]])
    return compress(b, flat, b.reshape(mask, [_count(mask)]), axis=at)


@lowers("index_put", "_unsafe_index_put")
def index_put(b: AtenBuilder, x: Value, indices: Indices, values: Value, accumulate: bool = False) -> Value:
    values = b.convert(values, element_of(x))
    present = [index for index in indices if index is not None]
    if len(present) == 1 and is_bool(present[0]) and _is_one(values) and indices[0] is not None:
        mask = b.reshape(present[0], [*shape_of(present[0]), *[1] * (rank_of(x) - rank_of(present[0]))])
        value = b.reshape(values, [])
        return b.select(b.broadcast_to(mask, shape_of(x)), b.add(x, value) if accumulate else value, x)
    vectors, along, at, rank = _places(b, x, indices)
    rest = [n for i, n in enumerate(shape_of(x)) if i not in along]
    common = shape_of(vectors)[:-1]
    updates = b.broadcast_to(values, [*rest[:at], *common, *rest[at:]])
    return b(
        hlo.ScatterOp(
            [x],
            vectors,
            [updates],
            update_computation=_combiner(b, "sum" if accumulate else None, x),
            update_window_dims=[i if i < at else i + rank for i in range(len(rest))],
            inserted_window_dims=along,
            scatter_dims_to_operand_dims=along,
            index_vector_dim=rank,
        )
    )


def _neutral(reduce: str, element: Attribute) -> Number:
    """What changes nothing under a reduction."""
    kinds = {"sum": "add", "prod": "multiply", "amax": "maximum", "amin": "minimum"}
    return identity(kinds[reduce], element)


def _is_one(x: Value) -> bool:
    return all(n == 1 for n in shape_of(x))


def _combiner(b: AtenBuilder, reduce: str | None, x: Value) -> str | Region:
    """The region of a scatter; None keeps the update."""
    kinds = {
        "sum": "add",
        "add": "add",
        "prod": "multiply",
        "multiply": "multiply",
        "amax": "maximum",
        "amin": "minimum",
    }
    if reduce is None:
        return replace_region(element_of(x))
    if reduce not in kinds:
        raise b.fail(f"reduction '{reduce}' is not supported")
    if is_bool(x):
        return {"sum": "or", "add": "or", "amax": "or"}.get(reduce, "and")
    return kinds[reduce]


def _scatter(b: AtenBuilder, x: Value, dim: int, index: Value, src: Value, reduce: str | None) -> Value:
    if not rank_of(x):
        line, places, updates = (b.reshape(v, [1]) for v in (x, index, src))
        return b.reshape(_scatter(b, line, 0, places, updates, reduce), [])
    if 0 in shape_of(index):
        return x
    shape = shape_of(index)
    src = b.slice(src, [0] * len(shape), shape)
    rank = rank_of(x)
    return b(
        hlo.ScatterOp(
            [x],
            onnx.all_coordinates(b, x, index, b.axis(dim, rank)),
            [b.convert(src, element_of(x))],
            update_computation=_combiner(b, reduce, x),
            inserted_window_dims=list(range(rank)),
            scatter_dims_to_operand_dims=list(range(rank)),
            index_vector_dim=rank,
        )
    )


@lowers("scatter.src")
def scatter(b: AtenBuilder, x: Value, dim: int, index: Value, src: Value) -> Value:
    return _scatter(b, x, dim, index, src, None)


@lowers("scatter.value")
def scatter_value(b: AtenBuilder, x: Value, dim: int, index: Value, value: Number) -> Value:
    return _scatter(b, x, dim, index, b.broadcast_to(b.typed(value, element_of(x)), shape_of(index)), None)


@lowers("scatter.reduce")
def scatter_reduced(b: AtenBuilder, x: Value, dim: int, index: Value, src: Value, *, reduce: str) -> Value:
    return _scatter(b, x, dim, index, src, reduce)


@lowers("scatter_add")
def scatter_add(b: AtenBuilder, x: Value, dim: int, index: Value, src: Value) -> Value:
    return _scatter(b, x, dim, index, src, "sum")


@lowers("scatter_reduce.two")
def scatter_reduce(
    b: AtenBuilder, x: Value, dim: int, index: Value, src: Value, reduce: str, *, include_self: bool = True
) -> Value:
    if not include_self:  # what is written to starts from what changes nothing
        hit = _scatter(b, b.zeros(shape_of(x), i1), dim, index, b.broadcast_to(b.scalar(True, i1), shape_of(src)), None)
        start = _neutral({"mean": "sum"}.get(reduce, reduce), element_of(x))
        base = b.select(hit, start, x)
    else:
        base = x
    if reduce != "mean":
        return _scatter(b, base, dim, index, src, reduce)
    one = b.broadcast_to(b.scalar(1, element_of(x)), shape_of(src))
    own = b.broadcast_to(b.scalar(int(include_self), element_of(x)), shape_of(x))
    count = _scatter(b, own, dim, index, one, "sum")
    total = _scatter(b, base, dim, index, src, "sum")
    return b.divide(total, b.maximum(count, b.scalar(1, element_of(x))))


@lowers("index_add")
def index_add(b: AtenBuilder, x: Value, dim: int, index: Value, source: Value, *, alpha: Number = 1) -> Value:
    source = b.convert(source, element_of(x))
    added = source if alpha == 1 else b.multiply(source, b.typed(alpha, element_of(x)))
    places: list[Value | None] = [None] * b.axis(dim, rank_of(x))
    return index_put(b, x, [*places, index], added, True)


@lowers("index_copy")
def index_copy(b: AtenBuilder, x: Value, dim: int, index: Value, source: Value) -> Value:
    places: list[Value | None] = [None] * b.axis(dim, rank_of(x))
    return index_put(b, x, [*places, index], source)


@lowers("index_fill.int_Scalar")
def index_fill(b: AtenBuilder, x: Value, dim: int, index: Value, value: Operand) -> Value:
    places: list[Value | None] = [None] * b.axis(dim, rank_of(x))
    return index_put(b, x, [*places, index], b.typed(value, element_of(x)))


@lowers("embedding_dense_backward")
def embedding_dense_backward(
    b: AtenBuilder, grad_output: Value, indices: Value, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Value:
    if scale_grad_by_freq:
        raise b.fail("scale_grad_by_freq is not supported")
    width = shape_of(grad_output)[-1]
    flat = b.reshape(indices, [_count(indices)])
    grads = b.reshape(grad_output, [_count(indices), width])
    if padding_idx >= 0:  # a place that is outside is dropped
        flat = b.select(b.compare(flat, padding_idx, "EQ"), num_weights, flat)
    return b(
        hlo.ScatterOp(
            [b.zeros([num_weights, width], element_of(grad_output))],
            b.expand_dims(flat, [1]),
            [grads],
            update_computation="add",
            update_window_dims=[1],
            inserted_window_dims=[0],
            scatter_dims_to_operand_dims=[0],
            index_vector_dim=1,
        )
    )


def _count(x: Value) -> int:
    return math.prod(shape_of(x))


@lowers("masked_scatter")
def masked_scatter(b: AtenBuilder, x: Value, mask: Value, source: Value) -> Value:
    """The places of the mask, in order, take the elements of the source, in order."""
    shape = b.broadcast_shape(shape_of(x), shape_of(mask))
    wide, taken = b.broadcast_to(x, shape), b.reshape(b.broadcast_to(mask, shape), [math.prod(shape)])
    order = b.subtract(cumsum(b, taken, 0), 1)
    flat = b.reshape(b.convert(source, element_of(x)), [_count(source)])
    values = onnx.gather(b, flat, b.maximum(order, 0), axis=0)
    return b.select(b.reshape(taken, shape), b.reshape(values, shape), wide)


@lowers("one_hot")
def one_hot(b: AtenBuilder, x: Value, num_classes: int = -1) -> Value:
    if num_classes < 0:
        raise b.fail("one_hot without a number of classes has a shape that depends on the values")
    rank = rank_of(x)
    places = b.iota([1] * rank + [num_classes], rank, i64)
    return b.convert(b.compare(b.expand_dims(x, [rank]), places, "EQ"), i64)


@lowers("isin.Tensor_Tensor")
def isin(
    b: AtenBuilder, elements: Value, test_elements: Value, *, assume_unique: bool = False, invert: bool = False
) -> Value:
    rank = rank_of(elements)
    flat = b.reshape(test_elements, [1] * rank + [_count(test_elements)])
    each, tested = b.promote(b.expand_dims(elements, [rank]), flat)
    found = b.reduce("or", b.compare(each, tested, "EQ"), [rank])
    return b(hlo.NotOp(found)) if invert else found


@lowers("bucketize.Tensor")
def bucketize(b: AtenBuilder, x: Value, boundaries: Value, *, out_int32: bool = False, right: bool = False) -> Value:
    """How many boundaries lie below; NaN is above all."""
    return searchsorted(b, boundaries, x, out_int32=out_int32, right=right)


@lowers("searchsorted.Tensor")
def searchsorted(
    b: AtenBuilder,
    sorted_sequence: Value,
    x: Value,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Value | None = None,
) -> Value:
    if sorter is not None:
        raise b.fail("a sorter is not supported")
    rank = rank_of(x)
    if rank_of(sorted_sequence) == 1:
        edges = b.reshape(sorted_sequence, [1] * rank + [shape_of(sorted_sequence)[0]])
    else:
        edges = b.expand_dims(sorted_sequence, [rank - 1])
    edges, values = b.promote(edges, b.expand_dims(x, [rank]))
    below = b.compare(edges, values, "LE" if right or side == "right" else "LT")
    if is_float(values):
        below = b.either(*b.broadcast(below, b.compare(values, values, "NE")))
    return b.reduce("add", b.convert(below, i32 if out_int32 else i64), [rank])


@lowers("histc")
def histc(b: AtenBuilder, x: Value, bins: int = 100, min: Number = 0, max: Number = 0) -> Value:
    """How many numbers fall into each of `bins` equal parts of [min, max]; of all, where these are the same."""
    element, line = element_of(x), b.reshape(x, [math.prod(shape_of(x))])
    low, high = b.scalar(min, element), b.scalar(max, element)
    if min == max:
        if shape_of(line)[0]:
            low, high = (b.reduce(kind, line, [0]) for kind in ("minimum", "maximum"))
        alone = b.compare(low, high, "EQ")
        low, high = b.select(alone, b.subtract(low, 1.0), low), b.select(alone, b.add(high, 1.0), high)
    inside = b.logical_and(b.compare(line, low, "GE"), b.compare(line, high, "LE"))
    part = b.divide(b.multiply(b.subtract(line, low), float(bins)), b.subtract(high, low))
    place = b.binary(hlo.MinimumOp, b.convert(b.select(inside, part, 0.0), i64), bins - 1)
    places = b.select(inside, place, bins)
    counted = index_add(
        b, b.zeros([bins + 1], element), 0, places, b.broadcast_to(b.scalar(1, element), shape_of(line))
    )
    return b.slice_axis(counted, 0, 0, bins)
