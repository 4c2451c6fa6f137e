"""ai.onnx.ml in hub ops: scalers and encoders of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32, i64

from ....compiler.weights import Array
from ....dialects import stablehlo as hlo
from .builder import GraphBuilder, Value, element_of, is_float, rank_of, shape_of
from .scores import ML, like, looked_up, matrix
from .table import lowers


@lowers("ArrayFeatureExtractor", domain=ML)
def array_feature_extractor(b: GraphBuilder, x: Value, y: Value) -> Value:
    rows, count = matrix(b, x), math.prod(shape_of(y))
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
    return b.multiply(b.subtract(wide, like(b, offset, wide)), like(b, scale, wide))


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
    return b.select(absent, like(b, values, x), x)


@lowers("OneHotEncoder", domain=ML)
def one_hot_encoder(
    b: GraphBuilder, x: Value, *, cats_int64s: Sequence[int] = (), cats_strings: Sequence[str] = (), zeros: int = 1
) -> Value:
    if cats_strings:
        raise b.fail("OneHotEncoder of strings has no generated code")
    if not zeros:
        raise b.fail("OneHotEncoder that fails for unknown categories is not supported")
    wide = b.expand_dims(x, [rank_of(x)])
    return b.convert(b.compare(wide, like(b, cats_int64s, x), "EQ"), f32)


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
    wanted = like(b, keys, x)
    same = b.compare(wide, wanted, "EQ")
    if is_float(x):  # NaN finds the key NaN
        both = b.logical_and(b.compare(wide, wide, "NE"), b.compare(wanted, wanted, "NE"))
        same = b.logical_or(same, both)
    # the last of equal keys counts, as in a dictionary
    place = b.select(same, b.iota([len(keys)], 0, i64), b.scalar(-1, i64))
    found = b.reduce("maximum", place, [rank_of(x)])
    table = b.constant(np.concatenate([np.atleast_1d(default.astype(values.dtype)), values.reshape(-1)]))
    return looked_up(b, table, b.add(found, 1))
