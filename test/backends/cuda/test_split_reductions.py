"""Reductions with few results: parts and their combination, as right as the whole, and what they read read once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lamina.backends.cuda.emulated import EmulatedProgram

Emulated = Callable[..., tuple[EmulatedProgram, int]]
TEXT = """
func.func public @main(%x: tensor<{x}x{t}>) -> tensor<{y}{t}> {{
  %init = stablehlo.constant dense<{init}> : tensor<{t}>
  %r = stablehlo.reduce(%x init: %init) applies stablehlo.{op} across dimensions = [{dims}] : (tensor<{x}x{t}>, tensor<{t}>) -> tensor<{y}{t}>
  return %r : tensor<{y}{t}>
}}
"""  # noqa: E501
CASES = {
    "columns": ("1x56x56x48", "1x48x", "f32", "0.0", "add", "1, 2"),
    "few long columns": ("33000x5", "5x", "f32", "3.0", "add", "0"),
    "columns of integers": ("1024x130", "130x", "i32", "-7", "maximum", "0"),
    "columns of truth values": ("2048x96", "96x", "i1", "false", "or", "0"),
    "columns in between": ("3x700x70", "3x70x", "f32", "0xFF800000", "maximum", "1"),
    "all": ("256x640", "", "f32", "0.0", "add", "0, 1"),
    "one row": ("2x81920", "2x", "f32", "0x7F800000", "minimum", "1"),
    "products of integers": ("4096x40", "40x", "i32", "3", "multiply", "0"),
}


@pytest.mark.parametrize("case", CASES)
def test_parts_are_as_right_as_the_whole(case: str, emulated: Emulated, tmp_path: Path) -> None:
    x, y, t, init, op, dims = CASES[case]
    text = TEXT.format(x=x, y=y, t=t, init=init, op=op, dims=dims)
    model, nbytes = emulated(text, tmp_path, near=1e-3)  # of sums of thousands of numbers
    first, second = model.built.launches
    assert np.prod(first.grid) >= 8 * np.prod(second.grid)
    moved = sum(c.global_block_sectors + c.global_written_sectors for c in model.counters) * 32
    assert moved <= 1.3 * nbytes  # the parts come on top
