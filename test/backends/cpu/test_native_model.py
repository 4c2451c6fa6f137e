"""How a call hands arrays over."""

from __future__ import annotations

import numpy as np
import pytest

from lamina.backends.cpu import native_model


@pytest.mark.parametrize("way", ["_address", "_told_address"])
def test_where_the_elements_of_an_array_begin(way: str) -> None:
    base = np.arange(12, dtype=np.float32).reshape(3, 4)
    frozen = base[1:, 2:]
    frozen.flags.writeable = False
    for array in (base, frozen, base[::-1], np.zeros((0, 4)), np.array(3.0)):
        assert getattr(native_model, way)(array) == array.ctypes.data
