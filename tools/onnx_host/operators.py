"""ONNX's operators on strings, sequences and optionals, in NumPy and lists."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...compiler.weights import Array
from ...dialects.onnx.types import numpy_dtype

HOST_OPERATORS: dict[str, Callable[..., list[Any]]] = {}


PREPARED_OPERATORS: dict[str, Callable[..., Callable[..., list[Any]]]] = {}  # of attributes; they give the function


def on_host(*names: str) -> Callable[[Callable[..., list[Any]]], Callable[..., list[Any]]]:
    """Registers the decorated function, of a node's inputs and attributes, for the operators `names`."""

    def register(function: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
        HOST_OPERATORS.update(dict.fromkeys(names, function))
        return function

    return register


def prepared_on_host(
    name: str,
) -> Callable[[Callable[..., Callable[..., list[Any]]]], Callable[..., Callable[..., list[Any]]]]:
    """Registers the decorated function, which makes that of a node's inputs of its attributes, for an operator."""

    def register(prepare: Callable[..., Callable[..., list[Any]]]) -> Callable[..., Callable[..., list[Any]]]:
        PREPARED_OPERATORS[name] = prepare
        return prepare

    return register


def _number(x: Array | None, otherwise: int) -> int:
    return otherwise if x is None else int(x.reshape(-1)[0])


def text_of(value: bytes | str) -> str:
    """A string of a model file, or one that came in."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def strings(values: Sequence[Any], shape: Sequence[int]) -> Array:
    """A tensor of strings."""
    result = np.empty(len(values), dtype=object)
    result[:] = [text_of(value) for value in values]
    return result.reshape(tuple(shape))


# sequences


@on_host("SequenceConstruct")
def sequence_construct(*values: Any) -> list[Any]:
    return [list(values)]


@on_host("SequenceEmpty")
def sequence_empty(dtype: int = 1) -> list[Any]:
    return [[]]


@on_host("SequenceLength")
def sequence_length(values: list[Any]) -> list[Any]:
    return [np.array(len(values), np.int64)]


@on_host("SequenceAt")
def sequence_at(values: list[Any], position: Array) -> list[Any]:
    return [values[_number(position, 0)]]


@on_host("SequenceInsert")
def sequence_insert(values: list[Any], value: Any, position: Array | None = None) -> list[Any]:
    at = _number(position, len(values))
    if not -len(values) <= at <= len(values):
        raise IndexError(f"position {at} in a sequence of {len(values)}")
    return [[*values[:at], value, *values[at:]]]


@on_host("SequenceErase")
def sequence_erase(values: list[Any], position: Array | None = None) -> list[Any]:
    at = range(len(values))[_number(position, -1)]
    return [[*values[:at], *values[at + 1 :]]]


@on_host("SplitToSequence")
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


@on_host("ConcatFromSequence")
def concat_from_sequence(values: list[Array], axis: int, new_axis: int = 0) -> list[Any]:
    return [np.stack(values, axis) if new_axis else np.concatenate(values, axis)]


# optionals


@on_host("Optional")
def optional(value: Any = None, type: Any = None) -> list[Any]:
    return [value]


@on_host("OptionalHasElement")
def optional_has_element(value: Any = None) -> list[Any]:
    return [np.array(value is not None)]


@on_host("OptionalGetElement")
def optional_get_element(value: Any) -> list[Any]:
    if value is None:
        raise ValueError("the optional has no value")
    return [value]


@on_host("Identity")
def identity(value: Any) -> list[Any]:
    return [value]


# strings


@on_host("StringConcat")
def string_concat(x: Array, y: Array) -> list[Any]:
    x, y = np.broadcast_arrays(x, y)
    return [strings([a + b for a, b in zip(x.reshape(-1), y.reshape(-1), strict=True)], x.shape)]


@on_host("RegexFullMatch")
def regex_full_match(x: Array, pattern: bytes | str = "") -> list[Any]:
    try:
        wanted = re.compile(text_of(pattern))
    except re.error as error:
        raise ValueError(f"pattern {text_of(pattern)!r}: {error}") from error
    found = [wanted.fullmatch(text_of(text)) is not None for text in x.reshape(-1)]
    return [np.array(found, np.bool_).reshape(x.shape)]


@on_host("StringSplit")
def string_split(x: Array, delimiter: bytes | str = "", maxsplit: int = -1) -> list[Any]:
    parts = [text_of(text).split(text_of(delimiter) or None, maxsplit) for text in x.reshape(-1)]
    counts = np.array([len(part) for part in parts], np.int64).reshape(x.shape)
    most = int(counts.max(initial=0))
    padded = [word for part in parts for word in (*part, *[""] * (most - len(part)))]
    return [strings(padded, [*x.shape, most]), counts]


@on_host("StringNormalizer")
def string_normalizer(
    x: Array,
    case_change_action: bytes | str = "NONE",
    is_case_sensitive: int = 0,
    locale: bytes | str = "",
    stopwords: Sequence[bytes | str] = (),
) -> list[Any]:
    action = text_of(case_change_action)
    stops = {text_of(word) if is_case_sensitive else text_of(word).lower() for word in stopwords}
    kept = [t for t in map(text_of, x.reshape(-1)) if (t if is_case_sensitive else t.lower()) not in stops]
    changed = [t.lower() if action == "LOWER" else t.upper() if action == "UPPER" else t for t in kept] or [""]
    return [strings(changed, [1, len(changed)] if x.ndim == 2 else [len(changed)])]


@on_host("Constant")
def constant(**attributes: Any) -> list[Any]:
    """Only those of strings come here."""
    if "value_string" in attributes:
        return [strings([attributes["value_string"]], [])]
    if "value_strings" in attributes:
        return [strings(attributes["value_strings"], [len(attributes["value_strings"])])]
    from onnx import numpy_helper

    array = numpy_helper.to_array(attributes["value"])
    return [strings(array.reshape(-1).tolist(), array.shape)]


@on_host("Cast")
def cast(x: Array, to: int, saturate: int = 1, round_mode: bytes | str = "up") -> list[Any]:
    from onnx import TensorProto

    if to == TensorProto.STRING:
        return [strings([_printed(value) for value in x.reshape(-1)], x.shape)]
    dtype = numpy_dtype(to)
    read: Callable[[str], Any] = int if dtype.kind in "iu" else float
    values = [read(text_of(text)) for text in x.reshape(-1)]
    return [np.array(values, dtype if dtype.kind in "iu" else np.float64).astype(dtype).reshape(x.shape)]


def _printed(value: Any) -> str:
    if isinstance(value, str | bytes):
        return text_of(value)
    return str(value)


@on_host("CastLike")
def cast_like(x: Array, like: Array, saturate: int = 1, round_mode: bytes | str = "up") -> list[Any]:
    from onnx import TensorProto, helper

    text = like.dtype.kind in "OUT"
    return cast(x, TensorProto.STRING if text else helper.np_dtype_to_tensor_dtype(like.dtype))
