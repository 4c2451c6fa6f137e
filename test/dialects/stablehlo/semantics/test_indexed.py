"""gather and scatter against the specification's own element-by-element definition."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from lamina.compiler.interpreter import Interpreter
from lamina.compiler.weights import WeightStore
from lamina.dialects.stablehlo import GatherOp, ScatterOp
from lamina.dialects.stablehlo.constants import make_constant

Array = np.ndarray[Any, np.dtype[Any]]
WEIGHTS = WeightStore()


def evaluate(op: Any, *args: Array) -> list[Array]:
    return Interpreter(WEIGHTS).evaluate(op, args)


def value(array: Array):
    return make_constant(array, WEIGHTS)


def full_index(d: dict[str, Any], index: tuple[int, ...], window: str, prefix: str, indices: Array, rank: int):
    """(start vector by operand dim, batching index by operand dim, window index) of a result place."""
    window_dims = d[window]
    batch = [i for dim, i in enumerate(index) if dim not in window_dims]
    at = list(batch)
    vector_dim = d["index_vector_dim"]
    if vector_dim < indices.ndim:
        at.insert(vector_dim, slice(None))  # pyright: ignore
    vector = np.atleast_1d(indices[tuple(at)])
    batching = np.zeros(rank, int)
    names = ("operand_batching_dims", "start_indices_batching_dims")
    if prefix == "scatter":
        names = ("input_batching_dims", "scatter_indices_batching_dims")
    for operand_dim, index_dim in zip(d[names[0]], d[names[1]], strict=True):
        batching[operand_dim] = batch[index_dim - (vector_dim < index_dim)]
    return vector, batching, [i for dim, i in enumerate(index) if dim in window_dims]


# ruff: noqa: E501
GATHERS: list[tuple[tuple[int, ...], Any, list[int], dict[str, Any]]] = [
    ((5, 4), [[0, 3], [9, -2]], [1, 4], {"offset_dims": [2], "collapsed_slice_dims": [0], "start_index_map": [0], "index_vector_dim": 2}),
    ((3, 4, 2), [[0, 0], [1, 0], [2, 1], [2, 3]], [1, 2, 2], {"offset_dims": [1, 2], "collapsed_slice_dims": [0], "start_index_map": [1, 0], "index_vector_dim": 1}),
    ((3, 4, 2), [[0, 1], [2, 1], [0, 2]], [2, 1, 2], {"offset_dims": [0, 2, 1], "collapsed_slice_dims": [], "start_index_map": [0, 1], "index_vector_dim": 1}),
    ((2, 4, 3), [[[1], [2]], [[0], [3]]], [1, 1, 3], {"offset_dims": [2], "collapsed_slice_dims": [1], "operand_batching_dims": [0], "start_indices_batching_dims": [1], "start_index_map": [1], "index_vector_dim": 2}),
    ((4, 3), 2, [1, 3], {"offset_dims": [0], "collapsed_slice_dims": [0], "start_index_map": [0], "index_vector_dim": 0}),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "indices", "sizes", "dims"), GATHERS)
def test_gather(shape: tuple[int, ...], indices: Any, sizes: list[int], dims: dict[str, Any]) -> None:
    operand = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    starts = np.array(indices, np.int64)
    dims = {"operand_batching_dims": [], "start_indices_batching_dims": []} | dims
    if dims["offset_dims"] == [0, 2, 1]:
        dims["offset_dims"] = [1, 2, 3]
    op = GatherOp(value(operand), value(starts), slice_sizes=sizes, **dims)
    [actual] = evaluate(op, operand, starts)
    for index in np.ndindex(*actual.shape):
        vector, batching, offset = full_index(dims, index, "offset_dims", "gather", starts, len(shape))
        place = batching
        for k, dim in enumerate(dims["start_index_map"]):
            place[dim] += np.clip(vector[k], 0, shape[dim] - sizes[dim])
        skipped = [*dims["collapsed_slice_dims"], *dims["operand_batching_dims"]]
        kept = [dim for dim in range(len(shape)) if dim not in skipped]
        for dim, i in zip(kept, offset, strict=True):
            place[dim] += i
        assert actual[index] == operand[tuple(place)]


SCATTERS: list[tuple[tuple[int, ...], Any, tuple[int, ...], dict[str, Any]]] = [
    ((5, 4), [[0], [3], [0], [7]], (4, 4), {"update_window_dims": [1], "inserted_window_dims": [0], "scatter_dims_to_operand_dims": [0], "index_vector_dim": 1}),
    ((3, 4, 2), [[0, 2], [2, 3], [-1, 0]], (3, 2, 2), {"update_window_dims": [1, 2], "inserted_window_dims": [0], "scatter_dims_to_operand_dims": [0, 1], "index_vector_dim": 1}),
    ((2, 4, 3), [[1, 2, 1], [0, 3, 4]], (2, 3, 3), {"update_window_dims": [2], "inserted_window_dims": [1], "input_batching_dims": [0], "scatter_indices_batching_dims": [0], "scatter_dims_to_operand_dims": [1], "index_vector_dim": 2}),
]  # fmt: skip


@pytest.mark.parametrize(("combine", "case"), list(itertools.product(["add", "maximum"], SCATTERS)))
def test_scatter(combine: str, case: Any) -> None:
    shape, indices, update_shape, dims = case
    rng = np.random.default_rng(0)
    operand = rng.integers(-9, 9, shape).astype(np.int32)
    updates = rng.integers(-9, 9, update_shape).astype(np.int32)
    starts = np.array(indices, np.int32)
    dims = {"input_batching_dims": [], "scatter_indices_batching_dims": []} | dims
    op = ScatterOp([value(operand)], value(starts), [value(updates)], update_computation=combine, **dims)
    [actual] = evaluate(op, operand, starts, updates)
    expected = operand.copy()
    for index in np.ndindex(*update_shape):
        vector, place, window = full_index(dims, index, "update_window_dims", "scatter", starts, len(shape))
        for k, dim in enumerate(dims["scatter_dims_to_operand_dims"]):
            place[dim] += vector[k]
        skipped = [*dims["inserted_window_dims"], *dims["input_batching_dims"]]
        for dim, i in zip([d for d in range(len(shape)) if d not in skipped], window, strict=True):
            place[dim] += i
        if all(0 <= p < n for p, n in zip(place, shape, strict=True)):
            at = tuple(place)
            both = expected[at], updates[index]
            expected[at] = sum(both) if combine == "add" else max(both)
    np.testing.assert_array_equal(actual, expected)
