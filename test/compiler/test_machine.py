"""What a machine does is asked of its features, and of its processor where these do not tell how fast."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lamina.compiler.machine import Machine

TILES = "amx-tile", "amx-bf16"


@pytest.mark.parametrize(
    "cpu, features, told",
    [
        ("znver4", ("avx512bf16",), True),
        ("cooperlake", ("avx512bf16",), True),
        ("emeraldrapids", ("avx512bf16",), False),
        ("emeraldrapids", ("avx512bf16", *TILES), True),
        ("x86-64-v4", (), False),
    ],
)
def test_pairs_of_bfloat16_are_multiplied_where_that_is_faster(cpu: str, features: tuple[str, ...], told: bool):
    plain = Machine.preset("x86-64-avx512")
    assert replace(plain, cpu=cpu, features=(*plain.features, *features)).multiplies_bf16 is told
