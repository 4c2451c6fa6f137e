"""Encoders of ai.onnx.ml on strings and maps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...compiler.weights import Array
from .operators import on_host, prepared_on_host, strings, text_of


@prepared_on_host("LabelEncoder")
def label_encoder(**attributes: Any) -> Callable[[Array], list[Any]]:
    def table(side: str) -> list[Any]:
        from onnx import numpy_helper

        tensor = attributes.get(f"{side}_tensor")
        if tensor is not None:
            return [_key(value) for value in numpy_helper.to_array(tensor).reshape(-1).tolist()]
        kinds = ("strings", "int64s", "floats")
        values: list[Any] = next((attributes[f"{side}_{k}"] for k in kinds if f"{side}_{k}" in attributes), [])
        return [_key(value) for value in values]

    if "classes_strings" in attributes:  # of ai.onnx.ml 1: both ways between words and their places
        return partial(_between_places, _texts(attributes["classes_strings"]), attributes)
    keys, values = table("keys"), table("values")
    default, dtype = _default(attributes)
    known = dict(zip(keys, values, strict=True))
    places = strings(values, [len(values)]) if dtype is None and keys == list(range(len(keys))) else None

    def encode(x: Array) -> list[Any]:
        if places is not None and x.dtype.kind in "iu" and x.size and 0 <= x.min() <= x.max() < len(places):
            return [places[x]]
        found = [known.get(_key(value), default) for value in x.reshape(-1).tolist()]
        if dtype is None:
            return [strings(found, x.shape)]
        return [np.array(found, dtype).reshape(x.shape)]

    return encode


def _between_places(words: Sequence[str], attributes: Mapping[str, Any], x: Array) -> list[Any]:
    if x.dtype.kind in "OU":
        places = {word: place for place, word in enumerate(words)}
        default = attributes.get("default_int64", -1)
        found = [places.get(text_of(value), default) for value in x.reshape(-1).tolist()]
        return [np.array(found, np.int64).reshape(x.shape)]
    default = attributes.get("default_string", "_Unused")
    found = [words[n] if 0 <= n < len(words) else default for n in x.reshape(-1).tolist()]
    return [strings(found, x.shape)]


def _texts(values: Sequence[bytes | str]) -> list[str]:
    return [text_of(value) for value in values]


def _key(value: Any) -> Any:
    """What equals find each other by; NaN equals itself here."""
    if isinstance(value, float) and value != value:
        return "nan"
    return text_of(value) if isinstance(value, bytes) else value


def _default(attributes: dict[str, Any]) -> tuple[Any, Any]:
    """What unknown keys become, and the dtype of results; None for strings."""
    from onnx import numpy_helper

    if "values_tensor" in attributes:
        array = numpy_helper.to_array(attributes["values_tensor"])
        dtype = None if array.dtype.kind in "OU" else array.dtype
        if "default_tensor" in attributes:
            return _key(numpy_helper.to_array(attributes["default_tensor"]).reshape(-1).tolist()[0]), dtype
        return ("_Unused" if dtype is None else -1 if array.dtype.kind == "i" else -0.0), dtype
    if "values_strings" in attributes:
        return text_of(attributes.get("default_string", "_Unused")), None
    if "values_int64s" in attributes:
        return attributes.get("default_int64", -1), np.int64
    return attributes.get("default_float", -0.0), np.float32


@on_host("CategoryMapper")
def category_mapper(
    x: Array,
    cats_int64s: Sequence[int] = (),
    cats_strings: Sequence[bytes | str] = (),
    default_int64: int = -1,
    default_string: bytes | str = "_Unused",
) -> list[Any]:
    names = _texts(cats_strings)
    if x.dtype.kind == "O":
        numbers = dict(zip(names, cats_int64s, strict=True))
        found = [numbers.get(text_of(name), default_int64) for name in x.reshape(-1)]
        return [np.array(found, np.int64).reshape(x.shape)]
    known = dict(zip(cats_int64s, names, strict=True))
    return [strings([known.get(number, default_string) for number in x.reshape(-1).tolist()], x.shape)]


@on_host("ZipMap")
def zip_map(
    x: Array, classlabels_int64s: Sequence[int] = (), classlabels_strings: Sequence[bytes | str] = ()
) -> list[Any]:
    """A map from label to value for each row, their values as numbers."""
    labels = _texts(classlabels_strings) or list(classlabels_int64s)
    rows = x.reshape(1, -1) if x.ndim == 1 else x
    return [[dict(zip(labels, row, strict=True)) for row in rows.astype(np.float64).tolist()]]


_CASTS = {"TO_FLOAT": np.float32, "TO_INT64": np.int64}


@on_host("CastMap")
def cast_map(
    values: Mapping[int, Any],
    cast_to: bytes | str = "TO_FLOAT",
    map_form: bytes | str = "DENSE",
    max_map: int = 1,
) -> list[Any]:
    sparse = text_of(map_form) == "SPARSE"
    kind = text_of(cast_to)
    if sparse and any(not 0 <= key < max_map for key in values):
        raise ValueError(f"a key of the map is not below {max_map}")
    zero: Any = "" if kind == "TO_STRING" else 0
    chosen = [values.get(key, zero) for key in (range(max_map) if sparse else sorted(values))]
    if kind == "TO_STRING":
        return [strings([str(value) for value in chosen], [1, len(chosen)])]
    return [np.array([float(value) for value in chosen]).astype(_CASTS[kind]).reshape(1, -1)]


@on_host("DictVectorizer")
def dict_vectorizer(
    values: Mapping[Any, Any],
    int64_vocabulary: Sequence[int] = (),
    string_vocabulary: Sequence[bytes | str] = (),
) -> list[Any]:
    words = _texts(string_vocabulary) or list(int64_vocabulary)
    if unknown := [key for key in values if key not in words]:
        raise ValueError(f"{unknown[0]!r} is not in the vocabulary")
    some = np.asarray(next(iter(values.values()), np.float32(0)))
    if some.dtype.kind in "OU":
        return [strings([values.get(word, "") for word in words], [len(words)])]
    return [np.array([values.get(word, 0) for word in words], some.dtype)]
