"""Decision trees in hub ops: all trees of all rows step down together, one gather of the node tables a level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute

from ....compiler.diagnostics import LaminaError
from ....compiler.dtypes import dtype_of
from ....compiler.weights import Array
from ....dialects import stablehlo as hlo
from .builder import GraphBuilder, Value, element_of, shape_of

DIRECTIONS = {"BRANCH_LEQ": "LE", "BRANCH_LT": "LT", "BRANCH_GTE": "GE", "BRANCH_GT": "GT", "BRANCH_EQ": "EQ"} | {
    "BRANCH_NEQ": "NE"
}
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER")
_DEEPEST = 256


@dataclass
class Node:
    """An inner node; a child of -k - 1 is leaf k."""

    feature: int
    mode: str
    split: float
    yes: int
    no: int
    missing: bool  # whether NaN goes to `yes`


@dataclass
class Forest:
    """Trees with their leaves: leaf k gives row k of `leaves` [leaves, targets]."""

    nodes: list[Node]
    roots: list[int]
    leaves: Array


def leaf_rows(b: GraphBuilder, x: Value, forest: Forest) -> Value:
    """What each tree gives for each row of `x`: [rows, trees, targets]."""
    features = [node.feature for node in forest.nodes]
    if features and not 0 <= min(features) <= max(features) < shape_of(x)[1]:
        raise b.fail(f"a tree asks for feature {max(features)} of {shape_of(x)[1]}")
    depth, table = _depth(b, forest), _laid_out(forest, dtype_of(element_of(x)))
    every = [shape_of(x)[0], len(table.roots)]
    at = b.constant(table.roots)  # of all rows alike at first
    for _ in range(depth):
        word, bound = (b.broadcast_to(_look_up(b, numbers, at), every) for numbers in (table.words, table.splits))
        value = _of_rows(b, x, b.binary(hlo.AndOp, _shifted(b, word, FLAGS), (1 << table.feature_bits) - 1))
        stays: Value | None = None  # at the first of two children
        for mode in table.modes:
            here = b.compare(value, bound, DIRECTIONS[mode])
            if len(table.modes) > 1:
                asked = b.binary(hlo.AndOp, _shifted(b, word, MODE), (1 << FLAGS - MODE) - 1)
                here = b.logical_and(here, b.compare(asked, MODES.index(mode), "EQ"))
            stays = here if stays is None else b.logical_or(stays, here)
        assert stays is not None
        if table.missing:
            absent = b.logical_and(b.compare(value, value, "NE"), _bit(b, word, MISSING))
            stays = b.logical_or(stays, absent)
        stays = b.logical_or(stays, _bit(b, word, LEAF))
        low = FLAGS + table.feature_bits
        first = _shifted(b, word, low) if table.first is None else b.broadcast_to(_look_up(b, table.first, at), every)
        at = b.add(first, b.convert(b(hlo.NotOp(stays)), i32))
    return _look_up(b, table.leaves, b.broadcast_to(at, every))


LEAF, MISSING, MODE, FLAGS = 0, 1, 2, 5  # where in a word they begin; behind the flags the feature, then the children
_WORD = 31


@dataclass(frozen=True)
class _Table:
    """A forest by places: the two children of a node lie side by side, so that one number leads to both.

    A leaf leads to itself, so that short trees wait for the deep ones. `first`, the place of the first child, is apart
    where it does not fit into the `words`.
    """

    roots: Array
    words: Array
    splits: Array
    leaves: Array
    first: Array | None
    feature_bits: int
    modes: list[str]
    missing: bool


def _laid_out(forest: Forest, dtype: np.dtype[Any]) -> _Table:
    nodes = forest.nodes
    pairs = {pair: 2 * i for i, pair in enumerate(dict.fromkeys((node.yes, node.no) for node in nodes))}
    places = [child for pair in pairs for child in pair]
    roots = range(len(places), len(places) + len(forest.roots))
    places += forest.roots
    feature_bits = max((node.feature for node in nodes), default=0).bit_length()
    fits = FLAGS + feature_bits + len(places).bit_length() <= _WORD
    length = len(places) + 1  # a child more than there is, so that no place can be outside
    words, splits, first = np.zeros(length, np.int32), np.zeros(length, dtype), np.zeros(length, np.int32)
    leaves = np.zeros((length, *forest.leaves.shape[1:]), forest.leaves.dtype)
    for place, child in enumerate(places):
        if child < 0:
            words[place], first[place], leaves[place] = 1 << LEAF, place, forest.leaves[-child - 1]
            continue
        node = nodes[child]
        words[place] = node.missing << MISSING | MODES.index(node.mode) << MODE | node.feature << FLAGS
        splits[place], first[place] = node.split, pairs[node.yes, node.no]
    return _Table(
        np.array(roots, np.int32),
        words | first << FLAGS + feature_bits if fits else words,
        splits,
        leaves,
        None if fits else first,
        feature_bits,
        sorted({node.mode for node in nodes}),
        any(node.missing for node in nodes),
    )


def _shifted(b: GraphBuilder, word: Value, by: int) -> Value:
    return b.binary(hlo.ShiftRightLogicalOp, word, by)


def _bit(b: GraphBuilder, word: Value, which: int) -> Value:
    return b.compare(b.binary(hlo.AndOp, word, 1 << which), 0, "NE")


def _depth(b: GraphBuilder, forest: Forest) -> int:
    """How many steps the deepest tree takes. Raises LaminaError for trees that run in circles."""
    level = {root for root in forest.roots if root >= 0}
    depth = 0
    while level:
        depth += 1
        if depth > _DEEPEST:
            raise b.fail(f"the trees are deeper than {_DEEPEST}, or run in circles")
        level = {child for i in level for child in (forest.nodes[i].yes, forest.nodes[i].no) if child >= 0}
    return depth


def _look_up(b: GraphBuilder, table: Array, at: Value) -> Value:
    """Rows of a constant table at places inside."""
    rank = len(shape_of(at))
    return b(
        hlo.GatherOp(
            b.constant(table, name="tree"),
            at,
            offset_dims=list(range(rank, rank + table.ndim - 1)),
            collapsed_slice_dims=[0],
            start_index_map=[0],
            index_vector_dim=rank,
            slice_sizes=[1, *table.shape[1:]],
        )
    )


def _of_rows(b: GraphBuilder, x: Value, columns: Value) -> Value:
    """x[i, columns[i, t]]."""
    return b(
        hlo.GatherOp(
            x,
            b.expand_dims(columns, [2]),
            collapsed_slice_dims=[1],
            operand_batching_dims=[0],
            start_indices_batching_dims=[0],
            start_index_map=[1],
            index_vector_dim=2,
            slice_sizes=[1, 1],
        )
    )


def aggregate(b: GraphBuilder, given: Value, how: str) -> Value:
    """What all trees together give: [rows, targets]."""
    match how:
        case "SUM":
            return b.reduce("add", given, [1])
        case "AVERAGE":
            return b.divide(b.reduce("add", given, [1]), float(shape_of(given)[1]))
        case "MIN" | "MAX":
            return b.reduce("minimum" if how == "MIN" else "maximum", given, [1])
        case _:
            raise b.fail(f"aggregate_function '{how}' is none of SUM, AVERAGE, MIN, MAX")


def untouched(how: str, element: Attribute) -> float:
    """What a leaf gives for the targets it does not speak of."""
    largest = float(np.finfo(dtype_of(element)).max)
    return {"MIN": largest, "MAX": -largest}.get(how, 0.0)


def forest_of_tables(
    trees: Sequence[int],
    ids: Sequence[int],
    nodes: Sequence[tuple[int, str, float, bool]],
    yes: Sequence[int],
    no: Sequence[int],
    leaves: dict[tuple[int, int], Array],
    empty: Array,
) -> Forest:
    """A forest told by columns: `nodes` are (feature, mode, split, missing); leaves by (tree, node).

    Raises LaminaError for nodes that are not there, and trees without a root.
    """
    keys = list(zip(trees, ids, strict=True))
    inner = [i for i, node in enumerate(nodes) if node[1] != "LEAF"]
    number = {keys[i]: k for k, i in enumerate(inner)}
    ends = [key for i, key in enumerate(keys) if nodes[i][1] == "LEAF"]
    number |= {key: -k - 1 for k, key in enumerate(ends)}
    for i in inner:
        for child in (yes[i], no[i]):
            if (trees[i], child) not in number:
                raise LaminaError(f"tree {trees[i]} has no node {child}, which node {ids[i]} leads to")
    built = [
        Node(*nodes[i][:3], number[trees[i], yes[i]], number[trees[i], no[i]], nodes[i][3])  # pyright: ignore
        for i in inner
    ]
    below = {(trees[i], child) for i in inner for child in (yes[i], no[i])}
    tops: dict[int, int] = {}
    for key in keys:
        if key not in below:
            tops.setdefault(key[0], number[key])
    if circles := [tree for tree in dict.fromkeys(trees) if tree not in tops]:
        raise LaminaError(f"tree {circles[0]} has no root: it runs in circles")
    roots = [tops[tree] for tree in dict.fromkeys(trees)]
    return Forest(built, roots, np.stack([leaves.get(key, empty) for key in ends]))
