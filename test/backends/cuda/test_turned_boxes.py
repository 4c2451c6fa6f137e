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
# As of layers of patches that become half as many: parts of the result have even columns, and odd ones.
PAIRS = """
func.func public @main(%x: tensor<2x3x32xNUMBERxTYPE>) -> tensor<2x6x32xHALFxTYPE> {
  %e = stablehlo.slice %x [0:2, 0:3, 0:32, 0:NUMBER:2] : (tensor<2x3x32xNUMBERxTYPE>) -> tensor<2x3x32xHALFxTYPE>
  %o = stablehlo.slice %x [0:2, 0:3, 0:32, 1:NUMBER:2] : (tensor<2x3x32xNUMBERxTYPE>) -> tensor<2x3x32xHALFxTYPE>
  %r = stablehlo.concatenate %e, %o, dim = 1 : (tensor<2x3x32xHALFxTYPE>, tensor<2x3x32xHALFxTYPE>) -> tensor<2x6x32xHALFxTYPE>
  return %r : tensor<2x6x32xHALFxTYPE>
}
"""
# As of a state space whose steps are known: what it reads at each lies between what it reads at others.
STEPS = """
func.func public @main(%h: tensor<2x64x4xf32>, %x: tensor<2x64x3x4xf32>) -> (tensor<2x64x4xf32>, tensor<2x64x4xf32>, tensor<2x64x4xf32>) {
  %a0 = stablehlo.slice %x [0:2, 0:64, 0:1, 0:4] : (tensor<2x64x3x4xf32>) -> tensor<2x64x1x4xf32>
  %a1 = stablehlo.slice %x [0:2, 0:64, 1:2, 0:4] : (tensor<2x64x3x4xf32>) -> tensor<2x64x1x4xf32>
  %a2 = stablehlo.slice %x [0:2, 0:64, 2:3, 0:4] : (tensor<2x64x3x4xf32>) -> tensor<2x64x1x4xf32>
  %b0 = stablehlo.reshape %a0 : (tensor<2x64x1x4xf32>) -> tensor<2x64x4xf32>
  %b1 = stablehlo.reshape %a1 : (tensor<2x64x1x4xf32>) -> tensor<2x64x4xf32>
  %b2 = stablehlo.reshape %a2 : (tensor<2x64x1x4xf32>) -> tensor<2x64x4xf32>
  %h0 = stablehlo.add %h, %b0 : tensor<2x64x4xf32>
  %h1 = stablehlo.multiply %h0, %b1 : tensor<2x64x4xf32>
  %h2 = stablehlo.add %h1, %b2 : tensor<2x64x4xf32>
  return %h0, %h1, %h2 : tensor<2x64x4xf32>, tensor<2x64x4xf32>, tensor<2x64x4xf32>
}
"""
# As of a norm of columns: rows are no whole sectors, each has numbers of its own, and all have a row in common.
ODD = """
func.func public @main(%x: tensor<ROWSxCOLUMNSxf32>, %g: tensor<ROWSxf32>, %b: tensor<ROWSxf32>, %v: tensor<COLUMNSxf32>) -> tensor<ROWSxCOLUMNSxTYPE> {
  %wv = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<COLUMNSxf32>) -> tensor<ROWSxCOLUMNSxf32>
  %wg = stablehlo.broadcast_in_dim %g, dims = [0] : (tensor<ROWSxf32>) -> tensor<ROWSxCOLUMNSxf32>
  %wb = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<ROWSxf32>) -> tensor<ROWSxCOLUMNSxf32>
  %m = stablehlo.multiply %x, %wv : tensor<ROWSxCOLUMNSxf32>
  %n = stablehlo.multiply %m, %wg : tensor<ROWSxCOLUMNSxf32>
  %s = stablehlo.add %n, %wb : tensor<ROWSxCOLUMNSxf32>
  %c = stablehlo.convert %s : (tensor<ROWSxCOLUMNSxf32>) -> tensor<ROWSxCOLUMNSxTYPE>
  return %c : tensor<ROWSxCOLUMNSxTYPE>
}
"""


def told(text: str, **words: object) -> str:
    for word, value in words.items():
        text = text.replace(word, str(value))
    return text


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
        told(PAIRS, NUMBER=32, HALF=16, TYPE="f32"),
        told(PAIRS, NUMBER=64, HALF=32, TYPE="bf16"),
        STEPS,
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
        "even and odd columns",
        "even and odd columns in bf16",
        "steps between steps",
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


@pytest.mark.parametrize(("rows", "columns"), [(128, 69), (768, 37), (96, 197), (33, 31)])
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_what_odd_rows_have_in_common_comes_once(
    rows: int, columns: int, dtype: str, tmp_path: Path, emulated: Emulated
) -> None:
    """Warps that go on from one row to the next meet no bank of what rows share twice."""
    text = told(ODD, ROWS=rows, COLUMNS=columns, TYPE=dtype)
    model, nbytes = emulated(text, tmp_path, late=True, near=1e-6 if dtype == "f32" else 1e-2)
    [counted] = model.counters
    moved = counted.global_read_sectors + counted.global_written_sectors
    assert 32 * moved <= 1.08 * nbytes + 16 * 32 and counted.bank_conflicts == 0


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


def test_pads_of_an_image_that_lies_as_it_is_read(tmp_path: Path, emulated: Emulated) -> None:
    """One image alone: nothing is turned, and points have nothing in common that could come in once."""
    text = """
func.func public @main(%x: tensor<1x128x128x3xbf16>, %w: tensor<7x7x3x8xbf16>) -> tensor<1x8x8x8xf32> {
  %d = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [16, 16], pad = [[3, 3], [3, 3]]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x128x128x3xbf16>, tensor<7x7x3x8xbf16>) -> tensor<1x8x8x8xf32>
  return %d : tensor<1x8x8x8xf32>
}
"""
    model, _ = emulated(text, tmp_path, near=1e-3)
    assert len(model.built.launches) == 2
