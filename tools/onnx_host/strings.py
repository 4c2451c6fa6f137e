"""Operators that only move or compare strings: the compiled code does it with numbers that stand for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import NodeProto, helper

from ...compiler.diagnostics import LaminaError
from ...compiler.weights import Array
from .operators import strings, text_of

BY_NUMBERS = frozenset(
    (
        *("ArrayFeatureExtractor", "CenterCropPad", "Compress", "Concat", "DepthToSpace", "Equal", "Expand", "Flatten"),
        *("Gather", "GatherElements", "GatherND", "NonZero", "OneHot", "OneHotEncoder", "Pad", "Reshape"),
        *("ReverseSequence", "Scatter", "ScatterElements", "ScatterND", "Shape", "Size", "Slice", "SpaceToDepth"),
        *("Split", "Squeeze", "TensorScatter", "TfIdfVectorizer", "Tile", "Transpose", "Trilu", "Unique", "Unsqueeze"),
        "Where",
    )
)
_WORDS = {"pool_strings": "pool_int64s", "cats_strings": "cats_int64s"}


class Numbered:
    """A node on numbers instead of strings. Those are ordered as the strings are, for `Unique`."""

    def __init__(self, node: NodeProto):
        self.node = NodeProto()
        self.node.CopyFrom(node)
        self._words: dict[str, int] | None = None
        self._categories = strict_categories(node)
        for attribute in node.attribute:
            if attribute.name in _WORDS.values() and self._categories is None:
                raise LaminaError(f"'{attribute.name}' for strings", where=node.name or node.op_type)
            if attribute.name in _WORDS:
                words = [text_of(word) for word in attribute.strings]
                self._words = {word: number for number, word in enumerate(dict.fromkeys(words))}
                self.node.attribute.remove(attribute)
                numbers = [self._words[word] for word in words]
                self.node.attribute.append(helper.make_attribute(_WORDS[attribute.name], numbers))
        if self._categories is not None:
            zeros = next(attribute for attribute in self.node.attribute if attribute.name == "zeros")
            zeros.i = 1
        if node.op_type == "Pad" and (len(node.input) < 3 or not node.input[2]):
            del self.node.input[2:]
            self.node.input.extend([f"{node.output[0]}/padding", *node.input[3:]])

    def numbers(self, inputs: Sequence[Any]) -> tuple[dict[str, Array], list[str]]:
        """The inputs by name with numbers for strings, and the strings that numbers stand for.

        Raises ValueError for a category that a OneHotEncoder does not know, where it shall fail for those.
        """
        named = dict(zip(self.node.input, inputs, strict=False))
        for name in self.node.input:
            if name.endswith("/padding"):
                named[name] = strings([""], [])
        if self._categories is not None:
            given = [text_of(x) if isinstance(x, bytes | str) else x for x in inputs[0].reshape(-1).tolist()]
            if unknown := [x for x in given if x not in self._categories]:
                raise ValueError(f"{unknown[0]!r} is none of its {len(self._categories)} categories")
        texts = {name: array for name, array in named.items() if array is not None and array.dtype.kind in "OU"}
        words = self._words
        if words is None:
            every = {"", *(text_of(text) for array in texts.values() for text in array.reshape(-1))}  # "" is 0
            words = {word: number for number, word in enumerate(sorted(every))}
        for name, array in texts.items():
            found = [words.get(text_of(text), -1) for text in array.reshape(-1)]
            named[name] = np.array(found, np.int64).reshape(array.shape)
        return named, list(words)


def strict_categories(node: NodeProto) -> frozenset[Any] | None:
    """All that a OneHotEncoder takes, where it shall fail for others; None for other nodes. Code cannot fail."""
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    if node.op_type != "OneHotEncoder" or attributes.get("zeros", 1):
        return None
    return frozenset((*map(text_of, attributes.get("cats_strings", ())), *attributes.get("cats_int64s", ())))


def worded(numbers: Array, words: Sequence[str]) -> Array:
    """The strings that numbers stand for."""
    return strings([words[number] for number in numbers.reshape(-1)], numbers.shape)
