"""Decision trees in hub ops: all trees of all rows step down together, one gather of the node tables a level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute

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
    nodes = forest.nodes
    count = len(nodes)
    features, missing, modes = [n.feature for n in nodes], [n.missing for n in nodes], [n.mode for n in nodes]
    splits = np.array([n.split for n in nodes], dtype_of(element_of(x)))
    rows, trees = shape_of(x)[0], len(forest.roots)
    if features and not 0 <= min(features) <= max(features) < shape_of(x)[1]:
        raise b.fail(f"a tree asks for feature {max(features)} of {shape_of(x)[1]}")

    def place(child: int) -> int:  # leaves stand behind the nodes
        return child if child >= 0 else count - child - 1

    # a leaf leads to itself, so that short trees wait for the deep ones
    itself = [count + k for k in range(len(forest.leaves))]
    yes = np.array([*(place(n.yes) for n in nodes), *itself], np.int32)
    no = np.array([*(place(n.no) for n in nodes), *itself], np.int32)
    waiting = [0] * len(itself)
    feature = np.array([*features, *waiting], np.int32)
    split = np.concatenate([splits, np.zeros(len(itself), splits.dtype)])
    at = b.broadcast_to(b.constant(np.array([place(r) for r in forest.roots], np.int32)), [rows, trees])
    used = sorted(set(modes))
    for _ in range(_depth(b, forest)):
        value = _of_rows(b, x, _look_up(b, feature, at))
        bound = _look_up(b, split, at)
        goes: Value | None = None
        for mode in used:
            here = b.compare(value, bound, DIRECTIONS[mode])
            if len(used) > 1:
                which = np.array([*(m == mode for m in modes), *(False for _ in itself)])
                here = b.logical_and(here, _look_up(b, which, at))
            goes = here if goes is None else b.binary(hlo.OrOp, goes, here)
        assert goes is not None
        if any(missing):
            absent = b.logical_and(b.compare(value, value, "NE"), _look_up(b, np.array([*missing, *waiting], bool), at))
            goes = b.binary(hlo.OrOp, goes, absent)
        at = b.select(goes, _look_up(b, yes, at), _look_up(b, no, at))
    leaf = b.subtract(at, b.scalar(count, i32)) if count else at
    return _look_up(b, forest.leaves, leaf)


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
    """A forest told by columns: `nodes` are (feature, mode, split, missing); leaves by (tree, node)."""
    keys = list(zip(trees, ids, strict=True))
    inner = [i for i, node in enumerate(nodes) if node[1] != "LEAF"]
    number = {keys[i]: k for k, i in enumerate(inner)}
    ends = [key for i, key in enumerate(keys) if nodes[i][1] == "LEAF"]
    number |= {key: -k - 1 for k, key in enumerate(ends)}
    built = [
        Node(*nodes[i][:3], number[trees[i], yes[i]], number[trees[i], no[i]], nodes[i][3])  # pyright: ignore
        for i in inner
    ]
    first = dict.fromkeys(trees)
    roots: list[int] = []
    for tree in first:
        below = {child for i in inner if trees[i] == tree for child in ((tree, yes[i]), (tree, no[i]))}
        roots.append(next(number[key] for key in keys if key[0] == tree and key not in below))
    return Forest(built, roots, np.stack([leaves.get(key, empty) for key in ends]))
