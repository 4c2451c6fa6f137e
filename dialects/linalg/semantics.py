"""What linalg ops mean: bodies are evaluated on whole iteration spaces at once.

Contractions go through np.matmul and associative reductions through NumPy's own; what is left runs its
reduction loops one step at a time, on all parallel points together.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, cast

import numpy as np
from xdsl.ir import BlockArgument, Operation

from ...compiler.semantics import Call, Region, semantics
from ...compiler.weights import Array
from .contraction import Contraction, match_contraction
from .ops import GenericOp
from .views import loop_ranges, open_grids, view
from .winograd import WinogradInputTransformOp, WinogradOp, matrices

# The loop indices of the generics being evaluated, innermost last.
_GRIDS: list[list[Array]] = []


@semantics("linalg.index")
def index(*, dim: int) -> Array:
    return _GRIDS[-1][dim]


def _given(op: Operation, outputs: Sequence[Array], results: Sequence[Array]) -> list[Array]:
    """On tensors the op returns its results; on buffers it writes them to its outputs."""
    if op.results:
        return list(results)
    for output, result in zip(outputs, results, strict=True):
        output[...] = result
    return []


@semantics("linalg.fill")
def fill(value: Array, output: Array, *, call: Call) -> list[Array]:
    return _given(call.op, [output], [np.full_like(output, value)])


@semantics("linalg.pack")
def pack(source: Array, dest: Array, padding: Array | None = None, *, call: Call) -> list[Array]:
    op = cast(Any, call.op)
    return _given(op, [dest], [packed(source, op.positions, op.tiles, op.permutation, padding)])


def packed(
    source: Array, positions: Sequence[int], tiles: Sequence[int], permutation: Sequence[int], padding: Any = None
) -> Array:
    """linalg.pack on an array: `positions` tiled by `tiles`, outer dimensions permuted, ragged ends padded."""
    rank = source.ndim
    pads = [(0, 0)] * rank
    for position, tile in zip(positions, tiles, strict=True):
        pads[position] = (0, -source.shape[position] % tile)
    if any(high for _, high in pads):
        source = np.pad(source, pads, constant_values=0 if padding is None else padding)
    split: list[int] = []
    outer_axis: list[int] = []
    inner_axis: dict[int, int] = {}
    tile_of = dict(zip(positions, tiles, strict=True))
    for dim, size in enumerate(source.shape):
        outer_axis.append(len(split))
        if dim in tile_of:
            inner_axis[dim] = len(split) + 1
            split += [size // tile_of[dim], tile_of[dim]]
        else:
            split.append(size)
    axes = [outer_axis[p] for p in permutation] + [inner_axis[p] for p in positions]
    return np.ascontiguousarray(source.reshape(split).transpose(axes))


@semantics("linalg.winograd_filter_transform")
def winograd_filter_transform(filter: Array, output: Array, *, call: Call) -> list[Array]:
    m = cast(WinogradOp, call.op).m
    if filter.ndim == 5:
        panels = [filter_transform(m, panel, 0, m + 2) for panel in filter.transpose(0, 2, 3, 1, 4)]
        return _given(call.op, [output], [np.stack(panels, axis=2) if panels else output])
    return _given(call.op, [output], [filter_transform(m, filter, 0, m + 2)])


def filter_transform(m: int, filter: Array, start: int, stop: int) -> Array:
    """Rows `start` to `stop` of G g GT: [rows, m + 2, channels, filters]."""
    g = np.array(matrices(m).filter)
    both = np.einsum("ai,bj->abij", g[start:stop], g).reshape(-1, 9)
    wide = both.astype(filter.dtype) @ filter.reshape(9, -1)
    return wide.reshape(stop - start, m + 2, *filter.shape[2:])


@semantics("linalg.winograd_input_transform")
def winograd_input_transform(image: Array, output: Array, *, call: Call) -> list[Array]:
    op = cast(WinogradInputTransformOp, call.op)
    bt = np.array(matrices(op.m).input)
    rows, columns = (op.m * count + 2 for count in output.shape[2:4])
    top, left = op.padding
    padded = np.zeros((image.shape[0], rows, columns, image.shape[3]))
    seen = image[:, : max(0, rows - top), : max(0, columns - left)]
    padded[:, top : top + seen.shape[1], left : left + seen.shape[2]] = seen
    tiles = np.lib.stride_tricks.sliding_window_view(padded, (op.alpha, op.alpha), axis=(1, 2))[:, :: op.m, :: op.m]
    with np.errstate(invalid="ignore"):
        result = np.einsum("ai,nhwcij,bj->abhwnc", bt, tiles, bt, optimize=True)
    return _given(op, [output], [result.astype(output.dtype)])


@semantics("linalg.winograd_output_transform")
def winograd_output_transform(tiles: Array, output: Array, *, call: Call) -> list[Array]:
    op = cast(WinogradOp, call.op)
    at = np.array(matrices(op.m).output)
    with np.errstate(invalid="ignore"):
        result = np.einsum("ka,abhwnf,lb->nhkwlf", at, tiles.astype(np.float64), at, optimize=True)
    rows, columns = (op.m * count for count in tiles.shape[2:4])
    batch, height, width, filters = output.shape
    whole = result.reshape(batch, rows, columns, filters)[:, :height, :width]
    return _given(op, [output], [output + whole.astype(output.dtype)])


@semantics("linalg.generic")
def generic(*operands: Array, call: Call, regions: Sequence[Region]) -> list[Array]:
    op = cast(GenericOp, call.op)
    return _given(op, operands[len(op.inputs) :], _generic(op, operands, regions))


def _generic(op: GenericOp, operands: Sequence[Array], regions: Sequence[Region]) -> list[Array]:
    ranges = loop_ranges(op)
    if 0 in ranges:
        return [np.array(out) for out in operands[len(op.inputs) :]]
    contraction = match_contraction(op)
    if contraction is not None and (result := _contract(op, contraction, operands, ranges)) is not None:
        return [result]
    views = [view(a, m, ranges) for a, m in zip(operands, op.maps, strict=True)]
    outputs = views[len(op.inputs) :]
    reduced = [d for d, kind in enumerate(op.iterators) if kind != "parallel"]
    if not reduced:
        values = _body(regions[0], views, open_grids(ranges))
    elif (combined := _reduce(op, regions[0], views, ranges, reduced)) is not None:
        values = combined
    else:
        values = _stepwise(op, regions[0], views, ranges, reduced)
    results: list[Array] = []
    maps = op.maps[len(op.inputs) :]
    for value, old, out, map_ in zip(values, outputs, operands[len(op.inputs) :], maps, strict=True):
        results.append(_written(out, map_, ranges, np.asarray(value).astype(old.dtype, copy=False)))
    return results


def _body(region: Region, args: Sequence[Array], grids: list[Array]) -> list[Array]:
    _GRIDS.append(grids)
    try:
        return region(*args)
    finally:
        _GRIDS.pop()


def _written(out: Array, map_: Any, ranges: Sequence[int], value: Array) -> Array:
    """A copy of `out` with `value` written through the map: by strides where the map is linear, else by position."""
    result = np.array(out)
    seen = view(result, map_, ranges)
    if np.may_share_memory(seen, result):
        offset = seen.__array_interface__["data"][0] - result.__array_interface__["data"][0]
        target = np.ndarray(seen.shape, result.dtype, result, offset, seen.strides)
        target[...] = np.broadcast_to(value, target.shape)
    else:
        positions = view(np.arange(result.size).reshape(result.shape), map_, ranges)
        result.reshape(-1)[positions] = np.broadcast_to(value, positions.shape)
    return result


_ASSOCIATIVE: dict[str, Any] = {
    "arith.addf": np.add,
    "arith.mulf": np.multiply,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "arith.addi": np.add,
    "arith.muli": np.multiply,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
}


def _reduce(
    op: GenericOp, region: Region, views: Sequence[Array], ranges: Sequence[int], reduced: Sequence[int]
) -> list[Array] | None:
    """Bodies that yield `combine(acc, x)` with an associative op and x an input: one NumPy reduction."""
    block = op.body.block
    terminator = cast(Operation, block.last_op)
    if len(op.outputs) != 1 or block.first_op is None or block.first_op.next_op is not terminator:
        return None
    combine = block.first_op
    ufunc = _ASSOCIATIVE.get(combine.name)
    accumulator = block.args[-1]
    others = [v for v in combine.operands if v is not accumulator]
    if ufunc is None or len(others) != 1 or terminator.operands[0] is not combine.results[0]:
        return None
    source = others[0]
    if not isinstance(source, BlockArgument) or source.block is not block:
        return None
    x, init = views[source.index], views[-1]
    if x.dtype == np.bool_ and combine.name not in ("arith.andi", "arith.ori", "arith.xori"):
        return None
    shape = [size if d in reduced or x.shape[d] != 1 else 1 for d, size in enumerate(ranges)]
    wide = np.float32 if x.dtype.itemsize == 2 and x.dtype.kind in "fV" and "i" not in combine.name[-2:] else x.dtype
    total = ufunc.reduce(
        np.broadcast_to(x, shape).astype(wide, copy=False), axis=tuple(reduced), keepdims=True, dtype=wide
    )
    return [ufunc(init.astype(wide, copy=False), total).astype(init.dtype)]


def _stepwise(
    op: GenericOp, region: Region, views: Sequence[Array], ranges: Sequence[int], reduced: Sequence[int]
) -> list[Array]:
    inputs, accumulators = views[: len(op.inputs)], list(views[len(op.inputs) :])
    written = [any(v.shape[d] != 1 for d in reduced) for v in accumulators]  # each step has a place of its own
    accumulators = [np.array(v) if steps else v for v, steps in zip(accumulators, written, strict=True)]
    grids = open_grids(ranges)
    for point in product(*(range(ranges[d]) for d in reduced)):
        at = dict(zip(reduced, point, strict=True))
        here = [_at(v, at) for v in inputs]
        olds = [_at(v, at) if steps else v for v, steps in zip(accumulators, written, strict=True)]
        step_grids = [np.full((1,) * len(ranges), at[d]) if d in at else g for d, g in enumerate(grids)]
        values = _body(region, [*here, *olds], step_grids)
        for i, (steps, old, value) in enumerate(zip(written, olds, values, strict=True)):
            if steps:
                old[...] = value
            else:
                accumulators[i] = value
    return accumulators


def _at(array: Array, point: dict[int, int]) -> Array:
    """`array` at one point of the reduction, its axes kept."""
    return array[
        tuple(
            slice(point[d], point[d] + 1) if d in point and size != 1 else slice(None)
            for d, size in enumerate(array.shape)
        )
    ]


def _as_extended(op: GenericOp, index: int, x: Array) -> Array:
    """An operand of a product, without sign where the body extends it so."""
    unsigned = any(use.operation.name == "arith.extui" for use in op.body.block.args[index].uses)
    return x.view(f"u{x.dtype.name}") if unsigned and x.dtype.kind == "i" else x


def _contract(op: GenericOp, c: Contraction, operands: Sequence[Array], ranges: Sequence[int]) -> Array | None:
    """acc + A·B as one batched matmul in the accumulator's type."""
    a, b = (view(_as_extended(op, i, operands[i]), op.maps[i], ranges) for i in (c.lhs, c.rhs))
    acc = operands[-1]
    dtype = acc.dtype

    def arranged(x: Array, *groups: Sequence[int]) -> Array:
        order = [d for group in groups for d in group]
        rest = [d for d in range(len(ranges)) if d not in order]
        x = x.transpose(*order, *rest)
        sizes = [int(np.prod([ranges[d] for d in group], dtype=np.int64)) for group in groups]
        full = [ranges[d] for d in order]
        return np.broadcast_to(x.reshape(x.shape[: len(order)]), full).reshape(sizes).astype(dtype, copy=False)

    product_ = np.matmul(arranged(a, c.batch, c.m, c.k), arranged(b, c.batch, c.k, c.n))
    order = [*c.batch, *c.m, *c.n]
    shaped = product_.reshape([ranges[d] for d in order])
    positions = [cast(Any, expr).position for expr in op.maps[-1].results]
    return acc + shaped.transpose([order.index(d) for d in positions])
