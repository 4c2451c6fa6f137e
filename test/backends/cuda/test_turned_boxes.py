# ruff: noqa: E501
"""What reads along another dimension than it writes, of few channels or many dimensions, moves each byte once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from lamina.backends.cuda.emulated import EmulatedProgram

Emulated = Callable[..., tuple[EmulatedProgram, int]]
TURNED = """
func.func public @main(%x: tensor<INPUTxTYPE>) -> tensor<OUTPUTxTYPE> {
  %t = stablehlo.transpose %x, dims = ORDER : (tensor<INPUTxTYPE>) -> tensor<OUTPUTxTYPE>
  return %t : tensor<OUTPUTxTYPE>
}
"""
# The product keeps the transpose and its pad in one kernel.
IMAGE = """
func.func public @main(%x: tensor<1x3x64x64xf32>, %w: tensor<4x4x3x8xf32>) -> tensor<1xMADExMADEx8xf32> {
  %t = stablehlo.transpose %x, dims = [0, 2, 3, 1] : (tensor<1x3x64x64xf32>) -> tensor<1x64x64x3xf32>
  %d = stablehlo.convolution(%t, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [4, 4], pad = [[LOW, BEHIND], [LOW, BEHIND]]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x64x64x3xf32>, tensor<4x4x3x8xf32>) -> tensor<1xMADExMADEx8xf32>
  return %d : tensor<1xMADExMADEx8xf32>
}
"""
# As of a state space: each of two factors stands still along a dimension, one lies along another than the result.
SCALED = """
func.func public @main(%d: tensor<2x9x64xf32>, %b: tensor<2x9x10xf32>) -> tensor<2x64x9x4xf32> {
  %t = stablehlo.transpose %d, dims = [0, 2, 1] : (tensor<2x9x64xf32>) -> tensor<2x64x9xf32>
  %u = stablehlo.broadcast_in_dim %t, dims = [0, 1, 2] : (tensor<2x64x9xf32>) -> tensor<2x64x9x4xf32>
  %s = stablehlo.slice %b [0:2, 0:9, 2:6] : (tensor<2x9x10xf32>) -> tensor<2x9x4xf32>
  %v = stablehlo.broadcast_in_dim %s, dims = [0, 2, 3] : (tensor<2x9x4xf32>) -> tensor<2x64x9x4xf32>
  %m = stablehlo.multiply %u, %v : tensor<2x64x9x4xf32>
  return %m : tensor<2x64x9x4xf32>
}
"""


def turned(shape: Sequence[int], order: Sequence[int], dtype: str = "f32") -> str:
    told = {"INPUT": shape, "OUTPUT": [shape[d] for d in order]}
    text = TURNED.replace("ORDER", str(list(order))).replace("TYPE", dtype)
    for word, sizes in told.items():
        text = text.replace(word, "x".join(map(str, sizes)))
    return text


def image(low: int, behind: int) -> str:
    told = {"LOW": low, "BEHIND": behind, "MADE": (64 + low + behind) // 4}
    text = IMAGE
    for word, number in told.items():
        text = text.replace(word, str(number))
    return text


@pytest.mark.parametrize(
    "text",
    [
        *(turned((16, 16, 4, columns), (0, 1, 3, 2)) for columns in (10, 12, 34, 36, 60, 68)),
        turned((16, 16, 4, 12), (0, 1, 3, 2), "bf16"),
        turned((2, 16, 4, 4, 4, 4), (0, 2, 4, 3, 5, 1)),
        turned((64, 3, 32), (0, 2, 1)),
        turned((64, 32, 4), (0, 2, 1), "f16"),
        turned((2, 8, 16, 32), (0, 2, 3, 1), "f16"),
        turned((7, 7, 256), (2, 0, 1)),
        turned((37, 768), (1, 0), "bf16"),
        turned((256, 192), (1, 0), "bf16"),
        turned((3, 32, 14, 16), (3, 0, 1, 2)),
    ],
    ids=[
        *(f"{columns} channels by fours" for columns in (10, 12, 34, 36, 60, 68)),
        "channels by fours in bf16",
        "six dimensions",
        "three channels",
        "to four channels",
        "half a sector of channels",
        "images of 7 x 7",
        "rows of 37 in bf16",
        "tiles of two dimensions",
        "columns of patches",
    ],
)
def test_each_byte_is_moved_once(text: str, tmp_path: Path, emulated: Emulated) -> None:
    """Where no gap keeps banks apart, warps take points that lie apart."""
    model, nbytes = emulated(text, tmp_path)
    [counted] = model.counters
    assert counted.global_read_bytes + counted.global_written_bytes == nbytes and counted.full_sectors
    assert counted.bank_conflicts == 0


@pytest.mark.parametrize(("low", "behind"), [(1, 1), (3, 3), (0, 1), (2, 0)])
def test_images_are_turned_with_their_pads(low: int, behind: int, tmp_path: Path, emulated: Emulated) -> None:
    """They are read in whole sectors wherever pads let rows begin; blocks write parts of a sector at their ends only."""
    side = 64 + low + behind
    model, _ = emulated(image(low, behind), tmp_path, near=1e-4)
    counted = model.counters[0]
    assert counted.global_read_bytes == 3 * 64 * 64 * 4 == 32 * counted.global_read_sectors
    assert counted.global_written_bytes == 3 * side * side * 4
    assert 32 * counted.global_written_sectors <= 1.03 * counted.global_written_bytes and counted.bank_conflicts == 0


def test_what_stands_still_comes_once(tmp_path: Path, emulated: Emulated) -> None:
    model, _ = emulated(SCALED, tmp_path)
    [counted] = model.counters
    assert counted.instructions.get("bar.sync") and 32 * counted.global_written_sectors == 2 * 64 * 9 * 4 * 4
    assert counted.bank_conflicts == 0


@pytest.mark.parametrize(
    "text",
    [
        turned((5, 7, 4, 33), (0, 1, 3, 2)),
        turned((9, 3, 50), (2, 0, 1), "bf16"),
        turned((6, 5, 7, 9), (3, 0, 2, 1), "i8"),
        turned((4, 33, 6), (0, 2, 1), "f64"),
        turned((3, 1000), (1, 0), "i64"),
    ],
    ids=["rows of 33", "bf16", "i8", "f64", "i64"],
)
def test_odd_ones(text: str, tmp_path: Path, emulated: Emulated) -> None:
    emulated(text, tmp_path, late=True)
