# ruff: noqa: E501
"""Rows that share sectors, masks or the rows of a table, and columns: what they have in common is read once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina.backends import Options
from lamina.backends.cuda.emulated import EmulatedProgram
from lamina.backends.cuda.target import CudaTarget
from lamina.compiler.program import Program
from lamina.tools.sources import read_program

Emulated = Callable[..., tuple[EmulatedProgram, int]]

# A sum of rows and of columns: four sectors of the one and of the other in a request.
TURNED_ROWS = """
func.func public @main(%x: tensor<2x256x16xf32>, %y: tensor<2x16x256xf32>) -> tensor<2x256x16xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.transpose %y, dims = [0, 2, 1] : (tensor<2x16x256xf32>) -> tensor<2x256x16xf32>
  %a = stablehlo.add %x, %t : tensor<2x256x16xf32>
  %s = stablehlo.reduce(%a init: %zero) applies stablehlo.maximum across dimensions = [2] : (tensor<2x256x16xf32>, tensor<f32>) -> tensor<2x256xf32>
  %w = stablehlo.broadcast_in_dim %s, dims = [0, 1] : (tensor<2x256xf32>) -> tensor<2x256x16xf32>
  %r = stablehlo.subtract %a, %w : tensor<2x256x16xf32>
  return %r : tensor<2x256x16xf32>
}
"""
LEAST = {"f32": "0xFF800000", "bf16": "0xFF80", "f16": "0xFC00", "f64": "0xFFF0000000000000", "i8": "-128"}
MASKED = """
func.func public @main(%x: tensor<XxTYPE>, %m: tensor<MxMASK>) -> tensor<XxTYPE> {
  %low = stablehlo.constant dense<LEAST> : tensor<TYPE>
  %zero = stablehlo.constant dense<0.0> : tensor<TYPE>
  %big = stablehlo.constant dense<-1.0e4> : tensor<XxTYPE>
  %wide = stablehlo.broadcast_in_dim %m, dims = [0, 1, 2, 3] : (tensor<MxMASK>) -> tensor<XxMASK>
  %z = HIDE tensor<XxTYPE>
  %t = stablehlo.reduce(%z init: %low) applies stablehlo.maximum across dimensions = [3] : (tensor<XxTYPE>, tensor<TYPE>) -> tensor<ROWSxTYPE>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1, 2] : (tensor<ROWSxTYPE>) -> tensor<XxTYPE>
  %d = stablehlo.subtract %z, %tb : tensor<XxTYPE>
  %e = stablehlo.exponential %d : tensor<XxTYPE>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<XxTYPE>, tensor<TYPE>) -> tensor<ROWSxTYPE>
  %sb = stablehlo.broadcast_in_dim %s, dims = [0, 1, 2] : (tensor<ROWSxTYPE>) -> tensor<XxTYPE>
  %r = stablehlo.divide %e, %sb : tensor<XxTYPE>
  return %r : tensor<XxTYPE>
}
"""
GATHERED = """
func.func public @main(%which: tensor<12xi64>, %table: tensor<4x72x32xf32>, %x: tensor<12x32xf32>) -> tensor<12x72xf32> {
  %rows = "stablehlo.gather"(%table, %which) {dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 72, 32>} : (tensor<4x72x32xf32>, tensor<12xi64>) -> tensor<12x72x32xf32>
  %xs = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<12x32xf32>) -> tensor<12x72x32xf32>
  %p = stablehlo.multiply %rows, %xs : tensor<12x72x32xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<12x72x32xf32>, tensor<f32>) -> tensor<12x72xf32>
  return %y : tensor<12x72xf32>
}
"""


def masked(shape: Sequence[int], mask: Sequence[int], dtype: str = "f32", of: str = "i1") -> str:
    """Softmax of scores that a mask hides, or is added to."""
    hide = "stablehlo.select %wide, %x, %big : tensor<XxMASK>," if of == "i1" else "stablehlo.add %x, %wide :"
    told = {"HIDE": hide, "X": "x".join(map(str, shape)), "ROWS": "x".join(map(str, shape[:-1]))}
    text = MASKED.replace("MxMASK", "x".join(map(str, mask)) + "xMASK")
    for word, value in (told | {"MASK": of, "TYPE": dtype, "LEAST": LEAST[dtype]}).items():
        text = text.replace(word, value)
    return text


def columns(shape: Sequence[int], over: Sequence[int], dtype: str = "f32") -> str:
    """What lies along some dimensions, without their mean, and scaled by what is left."""
    whole, left = ("x".join(map(str, each)) for each in (shape, [n for d, n in enumerate(shape) if d not in over]))
    kept = [d for d in range(len(shape)) if d not in over]
    count = float(np.prod([shape[d] for d in over]))
    text = f"""func.func public @main(%x: tensor<WHOLE>) -> tensor<WHOLE> {{
      %zero = stablehlo.constant dense<0.0> : tensor<TYPE>
      %n = stablehlo.constant dense<{count}> : tensor<LEFT>
      %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = {list(over)} : (tensor<WHOLE>, tensor<TYPE>) -> tensor<LEFT>
      %mean = stablehlo.divide %sum, %n : tensor<LEFT>
      %wide = stablehlo.broadcast_in_dim %mean, dims = {kept} : (tensor<LEFT>) -> tensor<WHOLE>
      %c = stablehlo.subtract %x, %wide : tensor<WHOLE>
      %square = stablehlo.multiply %c, %c : tensor<WHOLE>
      %squares = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = {list(over)} : (tensor<WHOLE>, tensor<TYPE>) -> tensor<LEFT>
      %some = stablehlo.add %squares, %n : tensor<LEFT>
      %r = stablehlo.rsqrt %some : tensor<LEFT>
      %scale = stablehlo.broadcast_in_dim %r, dims = {kept} : (tensor<LEFT>) -> tensor<WHOLE>
      %y = stablehlo.multiply %c, %scale : tensor<WHOLE>
      return %y : tensor<WHOLE>
    }}"""
    return text.replace("WHOLE", f"{whole}x{dtype}").replace("LEFT", f"{left}x{dtype}").replace("TYPE", dtype)


def sectors(model: EmulatedProgram) -> int:
    """Bytes of all sectors that the program's kernels moved."""
    return sum(32 * (counted.global_read_sectors + counted.global_written_sectors) for counted in model.counters)


@pytest.mark.parametrize(
    ("text", "most"),
    [
        (masked((1, 1, 72, 9), (1, 1, 72, 9), of="f32"), 1.0),  # eight rows of a block are nine sectors
        (masked((1, 2, 12, 50), (1, 2, 12, 50), of="f32"), 1.0),
        (masked((1, 1, 33, 197), (1, 1, 33, 197), of="f32"), 1.0),
        (masked((2, 4, 16, 64), (2, 1, 16, 64), of="f32"), 1.0),  # all heads of a block's rows
        (masked((1, 3, 16, 8), (1, 1, 16, 8), of="f32"), 1.0),
        (masked((3, 4, 8, 9), (3, 1, 8, 9), of="f32"), 1.0),
        (masked((2, 4, 9, 9), (2, 1, 9, 9)), 1.06),  # images begin in the midst of a sector
        (masked((2, 4, 9, 9), (2, 1, 9, 9), of="f32"), 1.06),
        (columns((2, 59, 16), [1]), 1.0),  # eight neighbours are a sector
        (columns((2, 16, 256), [1]), 1.0),  # a warp takes two rows that lie apart
        (TURNED_ROWS, 1.0),
        (
            TURNED_ROWS.replace("256", "37").replace("16", "768"),
            1.19,
        ),  # sixteen neighbours begin anywhere: three sectors
    ],
    ids=[
        "nine",
        "fifty",
        "odd",
        "mask",
        "short mask",
        "odd mask",
        "odd images",
        "heads side by side",
        "columns",
        "short columns",
        "rows and columns",
        "rows and odd columns",
    ],
)
def test_rows_that_share_sectors_or_masks(text: str, most: float, tmp_path: Path, emulated: Emulated) -> None:
    """What rows have in common, a sector or a mask, comes into shared memory once."""
    model, nbytes = emulated(text, tmp_path)
    [counted] = model.counters
    assert sectors(model) <= most * nbytes + 3 * 31 and counted.bank_conflicts == 0 and counted.instructions["bar.sync"]


@pytest.mark.parametrize(
    "text",
    [
        masked((2, 3, 5, 7), (2, 1, 5, 7)),
        masked((2, 3, 4, 33), (1, 3, 4, 33), "bf16", "bf16"),
        masked((1, 5, 3, 40), (1, 1, 1, 40), "f16", "f16"),
        masked((2, 2, 11, 10), (2, 2, 11, 1), "f64", "f64"),
        masked((2, 1, 3, 130), (1, 1, 3, 130)),
        masked((0, 2, 3, 9), (0, 1, 3, 9)),
        masked((1, 1, 1, 50), (1, 1, 1, 50)),
        columns((3, 37, 11), [1]),
        columns((2, 2, 5, 3), [1, 2], "bf16"),
        columns((40, 9), [0], "f64"),
        columns((2, 1030, 8), [1]),
    ],
    ids=["i1", "bf16", "one for all", "a number each", "long", "none", "one", *(f"columns {i}" for i in range(4))],
)
def test_odd_rows_that_share(text: str, tmp_path: Path, emulated: Emulated) -> None:
    emulated(text, tmp_path, late=True)


def test_rows_of_no_numbers(tmp_path: Path) -> None:
    """What is no number in a row stays there, and hides no other row."""
    path = tmp_path / "m.mlir"
    path.write_text(masked((2, 3, 4, 9), (2, 1, 4, 9), of="f32"))
    program = read_program(str(path))
    assert isinstance(program, Program)
    x, m = np.ones((2, 3, 4, 9), np.float32), np.zeros((2, 1, 4, 9), np.float32)
    x[0, 1, 2, 3], x[1, 0, 0, 8], m[1, 0, 3, 0] = np.nan, np.inf, np.nan
    model = CudaTarget("sm_80").compile(program, Options(cache=False, emulate=True))
    [found], [expected] = model.run([x, m]), lamina.interpret(program, [x, m])
    assert np.array_equal(np.isnan(found), np.isnan(expected)) and np.isnan(found).any(axis=-1).sum() == 5
    assert np.allclose(found, expected, equal_nan=True)


@pytest.mark.parametrize(("words", "columns", "dtype"), [(24, 128, "f32"), (7, 33, "f32"), (9, 40, "bf16")])
def test_gathered_rows_stay_in_registers(
    words: int, columns: int, dtype: str, tmp_path: Path, emulated: Emulated
) -> None:
    """A norm of the rows of a table that numbers say is one launch."""
    row, one, all_ = f"{words}x{columns}x{dtype}", f"{words}x{dtype}", f"tensor<64x{columns}x{dtype}>"
    text = f"""func.func public @main(%t: {all_}, %i: tensor<{words}xi64>) -> tensor<{row}> {{
      %zero = stablehlo.constant dense<0.0> : tensor<{dtype}>
      %g = "stablehlo.gather"(%t, %i) {{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, {columns}>}} : ({all_}, tensor<{words}xi64>) -> tensor<{row}>
      %q = stablehlo.multiply %g, %g : tensor<{row}>
      %s = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<{row}>, tensor<{dtype}>) -> tensor<{one}>
      %r = stablehlo.rsqrt %s : tensor<{one}>
      %w = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<{one}>) -> tensor<{row}>
      %y = stablehlo.multiply %g, %w : tensor<{row}>
      return %y : tensor<{row}>
    }}"""
    model, _ = emulated(text, tmp_path, late=True)
    [counted] = model.counters
    nbytes = words * columns * (2 if dtype == "bf16" else 4)
    assert counted.global_written_bytes == nbytes <= counted.global_read_bytes
    if columns == 128:
        assert sectors(model) <= 2 * nbytes + words * 32


def test_rows_that_are_gathered_are_multiplied_where_they_lie(tmp_path: Path, emulated: Emulated) -> None:
    """Each row is read once, and so is a vector by a block; the index by the four rows of a warp."""
    model, _ = emulated(GATHERED, tmp_path, near=1e-5)
    [counted] = model.counters
    points, row = 12 * 72, 32 * 4 // 32
    assert counted.global_block_sectors == points * row + 12 * (row + 1)
    assert counted.global_read_sectors == points * row + 12 * row + points // 4
    assert counted.global_written_bytes == points * 4 and counted.bank_conflicts == 0


@pytest.mark.parametrize("dtype", ["f64", "f16", "bf16", "i64", "i32", "i16"])
def test_rows_of_other_types(dtype: str, tmp_path: Path, emulated: Emulated) -> None:
    zero = "0" if dtype[0] == "i" else "0.0"
    text = f"""func.func public @main(%x: tensor<3x40x{dtype}>, %y: tensor<1x4096x{dtype}>) -> (tensor<3x{dtype}>, tensor<1x{dtype}>) {{
      %zero = stablehlo.constant dense<{zero}> : tensor<{dtype}>
      %m = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [1] : (tensor<3x40x{dtype}>, tensor<{dtype}>) -> tensor<3x{dtype}>
      %n = stablehlo.reduce(%y init: %zero) applies stablehlo.minimum across dimensions = [1] : (tensor<1x4096x{dtype}>, tensor<{dtype}>) -> tensor<1x{dtype}>
      return %m, %n : tensor<3x{dtype}>, tensor<1x{dtype}>
    }}"""
    model, _ = emulated(text, tmp_path)
    assert all("shfl.sync.bfly.b32" in name or "shfl" not in name for c in model.counters for name in c.instructions)
    assert any(name.startswith("shfl") for counted in model.counters for name in counted.instructions)
