"""ai.onnx.ml in hub ops: linear models, scalers, encoders and trees over numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import Float64Type, f32, i64

from ....compiler.dtypes import dtype_of
from ....compiler.weights import Array
from ....dialects import stablehlo as hlo
from .builder import GraphBuilder, Value, element_of, is_float, rank_of, shape_of
from .normalization import softmax
from .reduction import arg_max
from .table import lowers
from .trees import MODES, Forest, Node, aggregate, forest_of_tables, leaf_rows, untouched

ML = "ai.onnx.ml"


def _floats(b: GraphBuilder, x: Value) -> Value:
    """What models compute in: f64 stays, all else is f32."""
    return x if isinstance(element_of(x), Float64Type) else b.convert(x, f32)


def _like(b: GraphBuilder, numbers: Sequence[float] | Array, x: Value) -> Value:
    return b.constant(np.asarray(numbers).astype(dtype_of(element_of(x))))


def _matrix(b: GraphBuilder, x: Value) -> Value:
    return b.reshape(x, [1, *shape_of(x)]) if rank_of(x) == 1 else x


@lowers("ArrayFeatureExtractor", domain=ML)
def array_feature_extractor(b: GraphBuilder, x: Value, y: Value) -> Value:
    rows, count = _matrix(b, x), math.prod(shape_of(y))
    rank = rank_of(rows)
    return b(
        hlo.GatherOp(
            rows,
            b.reshape(y, [count]),
            offset_dims=list(range(rank - 1)),
            collapsed_slice_dims=[rank - 1],
            start_index_map=[rank - 1],
            index_vector_dim=1,
            slice_sizes=[*shape_of(rows)[:-1], 1],
        )
    )


@lowers("Binarizer", domain=ML)
def binarizer(b: GraphBuilder, x: Value, *, threshold: float = 0.0) -> Value:
    return b.convert(b.compare(x, threshold if is_float(x) else math.floor(threshold), "GT"), element_of(x))


@lowers("Scaler", domain=ML)
def scaler(b: GraphBuilder, x: Value, *, offset: Sequence[float] = (0.0,), scale: Sequence[float] = (1.0,)) -> Value:
    wide = b.convert(x, f32)
    return b.multiply(b.subtract(wide, _like(b, offset, wide)), _like(b, scale, wide))


@lowers("Normalizer", domain=ML)
def normalizer(b: GraphBuilder, x: Value, *, norm: str = "MAX") -> Value:
    wide = b.convert(x, f32)
    last = [rank_of(x) - 1]
    match norm:
        case "MAX":
            size = b.reduce("maximum", b.abs(wide), last, keepdims=True)
        case "L1":
            size = b.reduce("add", b.abs(wide), last, keepdims=True)
        case "L2":
            size = b.sqrt(b.reduce("add", b.multiply(wide, wide), last, keepdims=True))
        case _:
            raise b.fail(f"norm '{norm}' is none of MAX, L1, L2")
    return b.divide(wide, b.maximum(size, 1e-30))


@lowers("Imputer", domain=ML)
def imputer(
    b: GraphBuilder,
    x: Value,
    *,
    imputed_value_floats: Sequence[float] = (),
    imputed_value_int64s: Sequence[int] = (),
    replaced_value_float: float = 0.0,
    replaced_value_int64: int = 0,
) -> Value:
    values = imputed_value_floats if is_float(x) else imputed_value_int64s
    replaced = replaced_value_float if is_float(x) else replaced_value_int64
    if len(values) not in (1, shape_of(x)[-1]):
        raise b.fail(f"{len(values)} imputed values for {shape_of(x)[-1]} columns")
    absent = b.compare(x, x, "NE") if math.isnan(replaced) else b.compare(x, replaced, "EQ")
    return b.select(absent, _like(b, values, x), x)


@lowers("OneHotEncoder", domain=ML)
def one_hot_encoder(
    b: GraphBuilder, x: Value, *, cats_int64s: Sequence[int] = (), cats_strings: Sequence[str] = (), zeros: int = 1
) -> Value:
    if cats_strings:
        raise b.fail("OneHotEncoder of strings has no generated code")
    if not zeros:
        raise b.fail("OneHotEncoder that fails for unknown categories is not supported")
    wide = b.expand_dims(x, [rank_of(x)])
    return b.convert(b.compare(wide, _like(b, cats_int64s, x), "EQ"), f32)


@lowers("FeatureVectorizer", domain=ML)
def feature_vectorizer(b: GraphBuilder, *values: Value, inputdimensions: Sequence[int] | None = None) -> Value:
    parts: list[Value] = []
    for i, value in enumerate(values):
        rows = b.convert(b.reshape(value, [shape_of(value)[0], 1]) if rank_of(value) == 1 else value, f32)
        own = shape_of(rows)[1]
        wanted = inputdimensions[i] if inputdimensions else own
        parts.append(b.pad(rows, b.scalar(0.0, f32), [0, 0], [0, wanted - own]))
    return b.concatenate(parts, 1)


@lowers("LabelEncoder", domain=ML, since=2)
def label_encoder(
    b: GraphBuilder,
    x: Value,
    *,
    keys_floats: Sequence[float] | None = None,
    keys_int64s: Sequence[int] | None = None,
    keys_strings: Sequence[str] | None = None,
    keys_tensor: Array | None = None,
    values_floats: Sequence[float] | None = None,
    values_int64s: Sequence[int] | None = None,
    values_strings: Sequence[str] | None = None,
    values_tensor: Array | None = None,
    default_float: float = -0.0,
    default_int64: int = -1,
    default_string: str = "_Unused",
    default_tensor: Array | None = None,
) -> Value:
    if (
        keys_strings is not None
        or values_strings is not None
        or "object"
        in (
            str(getattr(keys_tensor, "dtype", "")),
            str(getattr(values_tensor, "dtype", "")),
        )
    ):
        raise b.fail("LabelEncoder of strings has no generated code")
    keys = keys_tensor if keys_tensor is not None else np.array(keys_floats or keys_int64s or [])
    values: Array
    default: Array
    if values_tensor is not None:
        values = values_tensor
        default = np.zeros((), values.dtype) if default_tensor is None else default_tensor.reshape(())
    elif values_floats is not None:
        values, default = np.array(values_floats, np.float32), np.array(default_float, np.float32)
    else:
        values, default = np.array(values_int64s, np.int64), np.array(default_int64, np.int64)
    wide = b.expand_dims(x, [rank_of(x)])
    wanted = _like(b, keys, x)
    same = b.compare(wide, wanted, "EQ")
    if is_float(x):  # NaN finds the key NaN
        both = b.logical_and(b.compare(wide, wide, "NE"), b.compare(wanted, wanted, "NE"))
        same = b.binary(hlo.OrOp, same, both)
    # the last of equal keys counts, as in a dictionary
    place = b.select(same, b.iota([len(keys)], 0, i64), b.scalar(-1, i64))
    found = b.reduce("maximum", place, [rank_of(x)])
    table = b.constant(np.concatenate([np.atleast_1d(default.astype(values.dtype)), values.reshape(-1)]))
    return b(
        hlo.GatherOp(
            table,
            b.add(found, 1),
            collapsed_slice_dims=[0],
            start_index_map=[0],
            index_vector_dim=rank_of(x),
            slice_sizes=[1],
        )
    )


@lowers("LinearRegressor", domain=ML)
def linear_regressor(
    b: GraphBuilder,
    x: Value,
    *,
    coefficients: Sequence[float] = (),
    intercepts: Sequence[float] = (),
    post_transform: str = "NONE",
    targets: int = 1,
) -> Value:
    return transformed(b, _linear(b, _matrix(b, x), coefficients, intercepts, targets), post_transform)


def _linear(
    b: GraphBuilder, x: Value, coefficients: Sequence[float], intercepts: Sequence[float], targets: int
) -> Value:
    wide = b.convert(x, f32)
    matrix = np.array(coefficients, np.float32).reshape(targets, -1)
    if matrix.shape[1] != shape_of(x)[1]:
        raise b.fail(f"{matrix.size} coefficients for {targets} targets of {shape_of(x)[1]} features")
    scores = b.dot(wide, b.constant(matrix), ([1], [1]))
    return b.add(scores, _like(b, intercepts, scores)) if intercepts else scores


def transformed(b: GraphBuilder, scores: Value, how: str) -> Value:
    """The scores after `post_transform`."""
    match how:
        case "NONE":
            return scores
        case "LOGISTIC":
            return b(hlo.LogisticOp(scores))
        case "SOFTMAX":
            return softmax(b, scores, axis=1)
        case "SOFTMAX_ZERO":  # what is zero counts, but as if it were e^-max
            top = b.reduce("maximum", scores, [1], keepdims=True)
            zero = b.compare(b.abs(scores), 1e-7, "LE")
            grown = b.select(
                zero,
                b.multiply(scores, b.exponential(b.negate(top))),
                b.exponential(b.subtract(scores, top)),
            )
            total = b.reduce("add", grown, [1], keepdims=True)
            return b.select(b.compare(total, 0.0, "EQ"), b.scalar(0.5, element_of(scores)), b.divide(grown, total))
        case _:
            raise b.fail(f"post_transform '{how}' is not supported")


@lowers("LinearClassifier", domain=ML)
def linear_classifier(
    b: GraphBuilder,
    x: Value,
    *,
    classlabels_ints: Sequence[int] = (),
    classlabels_strings: Sequence[str] = (),
    coefficients: Sequence[float],
    intercepts: Sequence[float] = (),
    multi_class: int = 0,
    post_transform: str = "NONE",
) -> list[Value]:
    if classlabels_strings and b.wanted[0]:
        raise b.fail("labels that are strings have no generated code")
    features = shape_of(x)[-1]
    scores = _linear(b, _matrix(b, x), coefficients, intercepts, len(coefficients) // features)
    if shape_of(scores)[1] == 1 and len(classlabels_ints or classlabels_strings) == 2:
        scores = b.concatenate([b.negate(scores), scores], 1)
    scores = transformed(b, scores, post_transform)
    if shape_of(scores)[1] == 1:
        hit = b.compare(b.reshape(scores, shape_of(scores)[:1]), 0.0 if post_transform == "NONE" else 0.5, "GE")
        label = classlabels_ints[0] if classlabels_ints else 1
        return [b.select(hit, b.scalar(label, i64), b.scalar(0, i64)), scores]
    return [_labels(b, arg_max(b, scores, axis=1, keepdims=0), classlabels_ints), scores]


def _labels(b: GraphBuilder, places: Value, labels: Sequence[int]) -> Value:
    if not labels or list(labels) == list(range(len(labels))):
        return places
    return array_feature_extractor_1(b, b.constant(np.array(labels, np.int64)), places)


def array_feature_extractor_1(b: GraphBuilder, table: Value, places: Value) -> Value:
    """Elements of a table of one dimension."""
    rank = rank_of(places)
    return b(
        hlo.GatherOp(
            table,
            places,
            collapsed_slice_dims=[0],
            start_index_map=[0],
            index_vector_dim=rank,
            slice_sizes=[1],
        )
    )


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
    missing = nodes_missing_value_tracks_true or [0] * len(nodes_modes)
    nodes = list(zip(nodes_featureids, nodes_modes, map(float, splits or ()), map(bool, missing), strict=True))
    forest = forest_of_tables(
        nodes_treeids, nodes_nodeids, nodes, nodes_truenodeids, nodes_falsenodeids, leaves, np.full(n_targets, fill)
    )
    scores = _ensemble(b, x, forest, aggregate_function, base_values, base_values_as_tensor)
    return transformed(b, scores, post_transform)


def _ensemble(
    b: GraphBuilder, x: Value, forest: Forest, how: str, base: Sequence[float] | None, base_tensor: Array | None
) -> Value:
    """f32, whatever the input."""
    wide = _floats(b, x)
    forest.leaves = forest.leaves.astype(dtype_of(element_of(wide)))
    scores = aggregate(b, leaf_rows(b, wide, forest), how)
    offset = base if base_tensor is None else base_tensor
    if offset is not None and len(offset):
        scores = b.add(scores, _like(b, offset, scores))
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
    missing = nodes_missing_value_tracks_true or [0] * len(nodes_modes)
    nodes = list(zip(nodes_featureids, nodes_modes, map(float, splits or ()), map(bool, missing), strict=True))
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
    return [_labels(b, arg_max(b, scores, axis=1, keepdims=0), classlabels_int64s), scores]
