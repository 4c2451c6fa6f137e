"""Tree ensembles of ai.onnx.ml: their tables become a forest (trees.py)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32

from ....compiler.dtypes import dtype_of
from ....compiler.weights import Array
from .builder import GraphBuilder, Value, element_of
from .reduction import arg_max
from .scores import ML, floats, labelled, like, transformed
from .table import lowers
from .trees import MODES, Forest, Node, aggregate, forest_of_tables, leaf_rows, untouched


@lowers("TreeEnsemble", domain=ML, since=5)
def tree_ensemble(
    b: GraphBuilder,
    x: Value,
    *,
    aggregate_function: int = 1,
    leaf_targetids: Sequence[int],
    leaf_weights: Array,
    membership_values: Array | None = None,
    n_targets: int = 1,
    nodes_falseleafs: Sequence[int],
    nodes_falsenodeids: Sequence[int],
    nodes_featureids: Sequence[int],
    nodes_hitrates: Array | None = None,
    nodes_missing_value_tracks_true: Sequence[int] | None = None,
    nodes_modes: Array,
    nodes_splits: Array,
    nodes_trueleafs: Sequence[int],
    nodes_truenodeids: Sequence[int],
    post_transform: int = 0,
    tree_roots: Sequence[int],
) -> Value:
    how = ("AVERAGE", "SUM", "MIN", "MAX")[aggregate_function]
    leaves = np.full((len(leaf_targetids), n_targets), untouched(how, element_of(x)), leaf_weights.dtype)
    leaves[np.arange(len(leaf_targetids)), list(leaf_targetids)] = leaf_weights
    missing = nodes_missing_value_tracks_true or [0] * len(nodes_featureids)
    nodes: list[Node] = []
    members = [] if membership_values is None else membership_values.tolist()

    def child(place: int, is_leaf: int) -> int:
        return -place - 1 if is_leaf else place

    for i, feature in enumerate(nodes_featureids):
        yes, no = child(nodes_truenodeids[i], nodes_trueleafs[i]), child(nodes_falsenodeids[i], nodes_falseleafs[i])
        mode = MODES[int(nodes_modes[i])]
        nodes.append(Node(feature, mode, float(nodes_splits[i]), yes, no, bool(missing[i])))
    for node in list(nodes):
        if node.mode == "BRANCH_MEMBER":
            _as_comparisons(b, node, members, nodes)
    roots = [
        child(nodes_truenodeids[r], 1)
        if nodes_trueleafs[r] and nodes_falseleafs[r] and nodes_truenodeids[r] == nodes_falsenodeids[r]
        else r
        for r in tree_roots
    ]
    scores = aggregate(b, leaf_rows(b, x, Forest(nodes, roots, leaves)), how)
    return transformed(b, scores, ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")[post_transform])


def _as_comparisons(b: GraphBuilder, node: Node, members: list[float], nodes: list[Node]) -> None:
    """A node that asks for one of several values becomes a chain of nodes that each ask for one."""
    end = next((i for i, value in enumerate(members) if math.isnan(value)), None)
    if end is None:
        raise b.fail("membership_values has fewer sets than there are nodes that ask for one")
    values, no, missing = members[:end], node.no, node.missing
    del members[: end + 1]
    node.mode = "BRANCH_EQ"
    node.split = values[0] if values else math.nan
    current = node
    for value in values[1:]:
        current.no = len(nodes)
        current = Node(node.feature, "BRANCH_EQ", value, node.yes, no, missing)
        nodes.append(current)


@lowers("TreeEnsembleRegressor", domain=ML)
def tree_ensemble_regressor(
    b: GraphBuilder,
    x: Value,
    *,
    aggregate_function: str = "SUM",
    base_values: Sequence[float] | None = None,
    base_values_as_tensor: Array | None = None,
    n_targets: int = 1,
    nodes_falsenodeids: Sequence[int],
    nodes_featureids: Sequence[int],
    nodes_hitrates: Sequence[float] | None = None,
    nodes_hitrates_as_tensor: Array | None = None,
    nodes_missing_value_tracks_true: Sequence[int] | None = None,
    nodes_modes: Sequence[str],
    nodes_nodeids: Sequence[int],
    nodes_treeids: Sequence[int],
    nodes_truenodeids: Sequence[int],
    nodes_values: Sequence[float] | None = None,
    nodes_values_as_tensor: Array | None = None,
    post_transform: str = "NONE",
    target_ids: Sequence[int],
    target_nodeids: Sequence[int],
    target_treeids: Sequence[int],
    target_weights: Sequence[float] | None = None,
    target_weights_as_tensor: Array | None = None,
) -> Value:
    weights = target_weights if target_weights_as_tensor is None else target_weights_as_tensor
    fill = untouched(aggregate_function, f32)
    leaves = _leaves(target_treeids, target_nodeids, target_ids, weights, n_targets, fill)
    splits = nodes_values if nodes_values_as_tensor is None else nodes_values_as_tensor
    nodes = _nodes(nodes_featureids, nodes_modes, splits, nodes_missing_value_tracks_true)
    forest = forest_of_tables(
        nodes_treeids, nodes_nodeids, nodes, nodes_truenodeids, nodes_falsenodeids, leaves, np.full(n_targets, fill)
    )
    scores = _ensemble(b, x, forest, aggregate_function, base_values, base_values_as_tensor)
    return transformed(b, scores, post_transform)


def _nodes(
    features: Sequence[int], modes: Sequence[str], splits: Sequence[float] | Array | None, missing: Sequence[int] | None
) -> list[tuple[int, str, float, bool]]:
    bounds = [] if splits is None else map(float, splits)
    return list(zip(features, modes, bounds, map(bool, missing or [0] * len(modes)), strict=True))


def _ensemble(
    b: GraphBuilder, x: Value, forest: Forest, how: str, base: Sequence[float] | None, base_tensor: Array | None
) -> Value:
    """f32, whatever the input."""
    wide = floats(b, x)
    forest.leaves = forest.leaves.astype(dtype_of(element_of(wide)))
    scores = aggregate(b, leaf_rows(b, wide, forest), how)
    offset = base if base_tensor is None else base_tensor
    if offset is not None and len(offset):
        scores = b.add(scores, like(b, offset, scores))
    return b.convert(scores, f32)


def _leaves(
    trees: Sequence[int],
    nodes: Sequence[int],
    targets: Sequence[int],
    weights: Sequence[float] | Array | None,
    count: int,
    fill: float,
) -> dict[tuple[int, int], Array]:
    leaves: dict[tuple[int, int], Array] = {}
    for tree, node, target, weight in zip(trees, nodes, targets, [] if weights is None else weights, strict=True):
        row = leaves.setdefault((tree, node), np.full(count, fill))
        row[target] = weight if row[target] == fill else row[target] + weight
    return leaves


@lowers("TreeEnsembleClassifier", domain=ML)
def tree_ensemble_classifier(
    b: GraphBuilder,
    x: Value,
    *,
    base_values: Sequence[float] | None = None,
    base_values_as_tensor: Array | None = None,
    class_ids: Sequence[int],
    class_nodeids: Sequence[int],
    class_treeids: Sequence[int],
    class_weights: Sequence[float] | None = None,
    class_weights_as_tensor: Array | None = None,
    classlabels_int64s: Sequence[int] = (),
    classlabels_strings: Sequence[str] = (),
    nodes_falsenodeids: Sequence[int],
    nodes_featureids: Sequence[int],
    nodes_hitrates: Sequence[float] | None = None,
    nodes_hitrates_as_tensor: Array | None = None,
    nodes_missing_value_tracks_true: Sequence[int] | None = None,
    nodes_modes: Sequence[str],
    nodes_nodeids: Sequence[int],
    nodes_treeids: Sequence[int],
    nodes_truenodeids: Sequence[int],
    nodes_values: Sequence[float] | None = None,
    nodes_values_as_tensor: Array | None = None,
    post_transform: str = "NONE",
) -> list[Value]:
    if classlabels_strings and b.wanted[0]:
        raise b.fail("labels that are strings have no generated code")
    count = len(classlabels_int64s or classlabels_strings)
    weights = class_weights if class_weights_as_tensor is None else class_weights_as_tensor
    leaves = _leaves(class_treeids, class_nodeids, class_ids, weights, count, 0.0)
    splits = nodes_values if nodes_values_as_tensor is None else nodes_values_as_tensor
    nodes = _nodes(nodes_featureids, nodes_modes, splits, nodes_missing_value_tracks_true)
    forest = forest_of_tables(
        nodes_treeids, nodes_nodeids, nodes, nodes_truenodeids, nodes_falsenodeids, leaves, np.zeros(count)
    )
    scores = _ensemble(b, x, forest, "SUM", base_values, base_values_as_tensor)
    if len(set(class_ids)) == 1:  # two classes, told by the score of one
        if count != 2:
            raise b.fail(f"scores of one class for {count} labels")
        one = b.slice_axis(scores, 1, class_ids[0], class_ids[0] + 1)
        plain = post_transform in ("NONE", "PROBIT")
        other = b.subtract(1.0, one) if plain else b.negate(one)
        scores = b.concatenate([other, one], 1)
    scores = transformed(b, scores, post_transform)
    return [labelled(b, arg_max(b, scores, axis=1, keepdims=0), classlabels_int64s), scores]
