"""ONNX's operators on strings, sequences and optionals, in NumPy and lists."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..compiler.weights import Array

HOST_OPERATORS: dict[str, Callable[..., list[Any]]] = {}


def _host(*names: str) -> Callable[[Callable[..., list[Any]]], Callable[..., list[Any]]]:
    def register(function: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
        HOST_OPERATORS.update(dict.fromkeys(names, function))
        return function

    return register


def _number(x: Array | None, otherwise: int) -> int:
    return otherwise if x is None else int(x.reshape(-1)[0])


def _text(value: bytes | str) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _strings(values: Sequence[Any], shape: Sequence[int]) -> Array:
    result = np.empty(len(values), dtype=object)
    result[:] = [_text(value) for value in values]
    return result.reshape(tuple(shape))


# sequences


@_host("SequenceConstruct")
def sequence_construct(*values: Any) -> list[Any]:
    return [list(values)]


@_host("SequenceEmpty")
def sequence_empty(dtype: int = 1) -> list[Any]:
    return [[]]


@_host("SequenceLength")
def sequence_length(values: list[Any]) -> list[Any]:
    return [np.array(len(values), np.int64)]


@_host("SequenceAt")
def sequence_at(values: list[Any], position: Array) -> list[Any]:
    return [values[_number(position, 0)]]


@_host("SequenceInsert")
def sequence_insert(values: list[Any], value: Any, position: Array | None = None) -> list[Any]:
    at = _number(position, len(values))
    if not -len(values) <= at <= len(values):
        raise IndexError(f"position {at} in a sequence of {len(values)}")
    return [[*values[:at], value, *values[at:]]]


@_host("SequenceErase")
def sequence_erase(values: list[Any], position: Array | None = None) -> list[Any]:
    at = range(len(values))[_number(position, -1)]
    return [[*values[:at], *values[at + 1 :]]]


@_host("SplitToSequence")
def split_to_sequence(x: Array, split: Array | None = None, axis: int = 0, keepdims: int = 1) -> list[Any]:
    n = x.shape[axis]
    if split is None:
        parts = np.split(x, n, axis)
        return [parts if keepdims else [part.squeeze(axis) for part in parts]]
    if split.ndim == 0:
        return [np.split(x, range(int(split), n, int(split)), axis)]
    if int(split.sum()) != n:
        raise ValueError(f"parts {split.tolist()} do not add up to {n}")
    return [np.split(x, np.cumsum(split)[:-1].tolist(), axis)]


@_host("ConcatFromSequence")
def concat_from_sequence(values: list[Array], axis: int, new_axis: int = 0) -> list[Any]:
    return [np.stack(values, axis) if new_axis else np.concatenate(values, axis)]


# optionals


@_host("Optional")
def optional(value: Any = None, type: Any = None) -> list[Any]:
    return [value]


@_host("OptionalHasElement")
def optional_has_element(value: Any = None) -> list[Any]:
    return [np.array(value is not None)]


@_host("OptionalGetElement")
def optional_get_element(value: Any) -> list[Any]:
    if value is None:
        raise ValueError("the optional has no value")
    return [value]


@_host("Identity")
def identity(value: Any) -> list[Any]:
    return [value]


# strings


@_host("StringConcat")
def string_concat(x: Array, y: Array) -> list[Any]:
    x, y = np.broadcast_arrays(x, y)
    return [_strings([a + b for a, b in zip(x.reshape(-1), y.reshape(-1), strict=True)], x.shape)]


@_host("Equal")
def equal(x: Array, y: Array) -> list[Any]:
    x, y = np.broadcast_arrays(x, y)
    same = [_text(a) == _text(b) for a, b in zip(x.reshape(-1), y.reshape(-1), strict=True)]
    return [np.array(same, np.bool_).reshape(x.shape)]


@_host("RegexFullMatch")
def regex_full_match(x: Array, pattern: bytes | str = "") -> list[Any]:
    try:
        wanted = re.compile(_text(pattern))
    except re.error as error:
        raise ValueError(f"pattern {_text(pattern)!r}: {error}") from error
    found = [wanted.fullmatch(_text(text)) is not None for text in x.reshape(-1)]
    return [np.array(found, np.bool_).reshape(x.shape)]


@_host("StringSplit")
def string_split(x: Array, delimiter: bytes | str = "", maxsplit: int = -1) -> list[Any]:
    parts = [_text(text).split(_text(delimiter) or None, maxsplit) for text in x.reshape(-1)]
    counts = np.array([len(part) for part in parts], np.int64).reshape(x.shape)
    most = int(counts.max(initial=0))
    padded = [word for part in parts for word in (*part, *[""] * (most - len(part)))]
    return [_strings(padded, [*x.shape, most]), counts]


@_host("StringNormalizer")
def string_normalizer(
    x: Array,
    case_change_action: bytes | str = "NONE",
    is_case_sensitive: int = 0,
    locale: bytes | str = "",
    stopwords: Sequence[bytes | str] = (),
) -> list[Any]:
    action = _text(case_change_action)
    stops = {_text(word) if is_case_sensitive else _text(word).lower() for word in stopwords}
    kept = [t for t in map(_text, x.reshape(-1)) if (t if is_case_sensitive else t.lower()) not in stops]
    changed = [t.lower() if action == "LOWER" else t.upper() if action == "UPPER" else t for t in kept] or [""]
    return [_strings(changed, [1, len(changed)] if x.ndim == 2 else [len(changed)])]


@_host("LabelEncoder")
def label_encoder(x: Array, **attributes: Any) -> list[Any]:
    def table(side: str) -> list[Any]:
        from onnx import numpy_helper

        tensor = attributes.get(f"{side}_tensor")
        if tensor is not None:
            return [_key(value) for value in numpy_helper.to_array(tensor).reshape(-1).tolist()]
        kinds = ("strings", "int64s", "floats")
        values: list[Any] = next((attributes[f"{side}_{k}"] for k in kinds if f"{side}_{k}" in attributes), [])
        return [_key(value) for value in values]

    keys, values = table("keys"), table("values")
    default, dtype = _default(attributes)
    known = dict(zip(keys, values, strict=True))
    found = [known.get(_key(value), default) for value in x.reshape(-1).tolist()]
    if dtype is None:
        return [_strings(found, x.shape)]
    return [np.array(found, dtype).reshape(x.shape)]


def _key(value: Any) -> Any:
    """What equals find each other by; NaN equals itself here."""
    if isinstance(value, float) and value != value:
        return "nan"
    return _text(value) if isinstance(value, bytes) else value


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
        return _text(attributes.get("default_string", "_Unused")), None
    if "values_int64s" in attributes:
        return attributes.get("default_int64", -1), np.int64
    return attributes.get("default_float", -0.0), np.float32
