"""Weights live here, not in the IR: the IR holds `dense_resource<key>`, this store the bytes behind the key."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


class WeightStore:
    """Arrays by key. Arrays are shared, never copied: memory-mapped files and zero-stride splats stay as they are."""

    def __init__(self) -> None:
        self._arrays: dict[str, Array] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def get(self, key: str) -> Array:
        """The array behind `key`. Raises KeyError when there is none."""
        return self._arrays[key]

    def add(self, array: Array, name: str = "weight") -> str:
        """Takes `array` in under a fresh key made from `name`; the same object twice gives the same key."""
        known = self._arrays.get(name)
        if known is array:
            return name
        key, n = name, 0
        while key in self._arrays:
            if self._arrays[key] is array:
                return key
            n += 1
            key = f"{name}_{n}"
        self._arrays[key] = array
        return key

    def digest(self, key: str) -> str:
        """SHA-256 of dtype, shape and bytes."""
        array = self._arrays[key]
        h = hashlib.sha256(f"{array.dtype}{array.shape}".encode())
        h.update(np.ascontiguousarray(array).data)
        return h.hexdigest()
