"""Meanings of `cta`: blocks one after the other; a view is its buffer in one dimension, seen by the layout."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import cast

import numpy as np
from xdsl.ir import SSAValue

from ...compiler.layouts import Layout
from ...compiler.semantics import Call, Region, Spec, semantics
from ...compiler.weights import Array
from .attributes import ViewType
from .ops import PipelineOp, ProgramOp


@semantics("cta.program")
def program(*, regions: Sequence[Region], call: Call) -> tuple[()]:
    """All tiles of the result in order."""
    sizes, tile = cast(ProgramOp, call.op).extents
    for place in product(*(range(0, size, step) for size, step in zip(sizes, tile, strict=True))):
        regions[0](*(np.asarray(i, np.int64) for i in place))
    return ()


@semantics("cta.view")
def view(buffer: Array) -> Array:
    """The buffer's elements in the order of memory."""
    return buffer.reshape(-1)


def _places(view: SSAValue, at: Sequence[Array], shape: tuple[int, ...]) -> tuple[Array, Array]:
    """For each element of a tile where it is in the buffer, and whether it is in the matrix."""
    type_ = view.type
    assert isinstance(type_, ViewType)
    indices = [int(start) + np.arange(count) for start, count in zip(at[1:], shape, strict=True)]
    valid = [index < size for index, size in zip(indices, type_.sizes[1:], strict=True)]
    known = [np.where(ok, index, 0) for ok, index in zip(valid, indices, strict=True)]

    def of(layout: Layout, first: int) -> Array:
        matrix, rows, columns = map(_along, layout.modes)
        return first + matrix[int(at[0])] + rows[known[0]][:, None] + columns[known[1]][None, :]

    inside = valid[0][:, None] & valid[1][None, :]
    for border in type_.borders:
        subscript = of(border.layout.data, border.first.data)
        inside = inside & (subscript >= 0) & (subscript < border.size.data)
    return np.where(inside, of(type_.layout.data, type_.first.data), 0), inside


def _along(mode: Layout) -> Array:
    return np.array(mode.places(), np.int64)


@semantics("cta.load")
def load(buffer: Array, *at: Array, result: Spec, call: Call) -> Array:
    """Elements of the buffer, zeros outside the matrix."""
    assert result.shape is not None
    places, inside = _places(call.op.operands[0], at, result.shape)
    return np.where(inside, buffer[places], np.zeros((), buffer.dtype))


@semantics("cta.store")
def store(value: Array, buffer: Array, *at: Array, call: Call) -> tuple[()]:
    """Elements of the buffer change, but for those outside the matrix."""
    places, inside = _places(call.op.operands[1], at, value.shape)
    buffer[places[inside]] = value[inside]
    return ()


@semantics("cta.dot")
def dot(lhs: Array, rhs: Array, acc: Array, *, precision: str = "") -> Array:
    """A product of matrices in f32. What `precision` allows is not used."""
    return acc + lhs.astype(np.float32) @ rhs.astype(np.float32)


@semantics("cta.map")
def map_(*inputs: Array, regions: Sequence[Region], result: Spec) -> Array:
    """The region on whole tiles at once."""
    assert result.shape is not None
    [value] = regions[0].lifted(*inputs)
    return np.broadcast_to(value, result.shape)


@semantics("cta.reduce")
def reduce(input: Array, *, kind: str) -> Array:
    """Rows combined."""
    return {"add": np.add, "maximumf": np.maximum}[kind].reduce(input, 1, keepdims=True)


@semantics("cta.numbers")
def numbers(first: Array, *, result: Spec) -> Array:
    """One after the other."""
    assert result.shape is not None
    return (int(first) + np.arange(result.shape[0] * result.shape[1])).astype(np.int32).reshape(result.shape)


@semantics("cta.share")
def share(value: Array) -> Array:
    """The tile itself."""
    return value


@semantics("cta.pipeline")
def pipeline(*operands: Array, regions: Sequence[Region], call: Call) -> list[Array]:
    """Each step's tiles are made and used."""
    op = cast(PipelineOp, call.op)
    carried = list(operands[: len(op.inits)])
    end = op.size.value.data if op.end is None else int(operands[-1])
    for k in range(0, end, op.step.value.data):
        here = np.asarray(k, np.int64)
        carried = regions[1](here, *regions[0](here), *carried)
    return carried
