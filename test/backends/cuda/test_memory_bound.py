# ruff: noqa: E501
"""Memory-bound kernels move each byte once, in whole sectors, 16 at a time, without bank conflicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from lamina.backends.cuda.emulated import EmulatedProgram

Emulated = Callable[..., tuple[EmulatedProgram, int]]
PADDED = """
func.func public @main(%x: tensor<1x48x30x1xf32>) -> tensor<1x58x32x1xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.pad %x, %zero, low = [0, 4, 1, 0], high = [0, 6, 1, 0], interior = [0, 0, 0, 0] : (tensor<1x48x30x1xf32>, tensor<f32>) -> tensor<1x58x32x1xf32>
  return %p : tensor<1x58x32x1xf32>
}
"""
LEAST = {"f32": "0xFF800000", "bf16": "0xFF80", "f16": "0xFC00", "f64": "0xFFF0000000000000", "i8": "-128"}
CHAIN = """
func.func public @main(%x: tensor<24x128xf32>, %y: tensor<24x128xf32>, %b: tensor<128xf32>) -> tensor<24x128xf32> {
  %wide = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<128xf32>) -> tensor<24x128xf32>
  %s = stablehlo.add %x, %wide : tensor<24x128xf32>
  %t = stablehlo.tanh %s : tensor<24x128xf32>
  %r = stablehlo.multiply %t, %y : tensor<24x128xf32>
  return %r : tensor<24x128xf32>
}
"""
HALVES = """
func.func public @main(%x: tensor<8x3x16xf16>) -> tensor<8x3x16xf16> {
  %r = stablehlo.multiply %x, %x : tensor<8x3x16xf16>
  return %r : tensor<8x3x16xf16>
}
"""
SOFTMAX = """
func.func public @main(%x: tensor<ROWSxCOLUMNSxf32>) -> tensor<ROWSxCOLUMNSxf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<ROWSxCOLUMNSxf32>, tensor<f32>) -> tensor<ROWSxf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<ROWSxf32>) -> tensor<ROWSxCOLUMNSxf32>
  %s = stablehlo.subtract %x, %mb : tensor<ROWSxCOLUMNSxf32>
  %p = stablehlo.exponential %s : tensor<ROWSxCOLUMNSxf32>
  %t = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<ROWSxCOLUMNSxf32>, tensor<f32>) -> tensor<ROWSxf32>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0] : (tensor<ROWSxf32>) -> tensor<ROWSxCOLUMNSxf32>
  %r = stablehlo.divide %p, %tb : tensor<ROWSxCOLUMNSxf32>
  return %r : tensor<ROWSxCOLUMNSxf32>
}
"""
NORM = """
func.func public @main(%x: tensor<8x256xf32>) -> tensor<8x256xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %n = stablehlo.constant dense<256.0> : tensor<8xf32>
  %eps = stablehlo.constant dense<1.0e-5> : tensor<8xf32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x256xf32>, tensor<f32>) -> tensor<8xf32>
  %mean = stablehlo.divide %sum, %n : tensor<8xf32>
  %meanb = stablehlo.broadcast_in_dim %mean, dims = [0] : (tensor<8xf32>) -> tensor<8x256xf32>
  %c = stablehlo.subtract %x, %meanb : tensor<8x256xf32>
  %sq = stablehlo.multiply %c, %c : tensor<8x256xf32>
  %ss = stablehlo.reduce(%sq init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x256xf32>, tensor<f32>) -> tensor<8xf32>
  %var = stablehlo.divide %ss, %n : tensor<8xf32>
  %ve = stablehlo.add %var, %eps : tensor<8xf32>
  %r = stablehlo.rsqrt %ve : tensor<8xf32>
  %rb = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<8xf32>) -> tensor<8x256xf32>
  %y = stablehlo.multiply %c, %rb : tensor<8x256xf32>
  return %y : tensor<8x256xf32>
}
"""
TRANSPOSE = """
func.func public @main(%x: tensor<2x64x16x8xf32>, %y: tensor<32x64xf16>) -> (tensor<2x16x64x8xf32>, tensor<2x16x8x64xf32>, tensor<64x32xf16>) {
  %a = stablehlo.transpose %x, dims = [0, 2, 1, 3] : (tensor<2x64x16x8xf32>) -> tensor<2x16x64x8xf32>
  %b = stablehlo.transpose %x, dims = [0, 2, 3, 1] : (tensor<2x64x16x8xf32>) -> tensor<2x16x8x64xf32>
  %c = stablehlo.transpose %y, dims = [1, 0] : (tensor<32x64xf16>) -> tensor<64x32xf16>
  return %a, %b, %c : tensor<2x16x64x8xf32>, tensor<2x16x8x64xf32>, tensor<64x32xf16>
}
"""
TURNED = """
func.func public @main(%x: tensor<ROWSxCOLUMNSxf32>, %y: tensor<COLUMNSxROWSxf32>, %b: tensor<ROWSxf32>) -> tensor<COLUMNSxROWSxf32> {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<ROWSxCOLUMNSxf32>) -> tensor<COLUMNSxROWSxf32>
  %s = stablehlo.add %t, %y : tensor<COLUMNSxROWSxf32>
  %w = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<ROWSxf32>) -> tensor<COLUMNSxROWSxf32>
  %m = stablehlo.multiply %s, %w : tensor<COLUMNSxROWSxf32>
  return %m : tensor<COLUMNSxROWSxf32>
}
"""

LAYER_NORM = """
func.func public @main(%x: tensor<8x4x128xf32>, %g: tensor<128xf32>, %b: tensor<128xf32>) -> tensor<8x4x128xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sq = stablehlo.multiply %x, %x : tensor<8x4x128xf32>
  %ss = stablehlo.reduce(%sq init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<8x4x128xf32>, tensor<f32>) -> tensor<8x4xf32>
  %r = stablehlo.rsqrt %ss : tensor<8x4xf32>
  %rb = stablehlo.broadcast_in_dim %r, dims = [0, 1] : (tensor<8x4xf32>) -> tensor<8x4x128xf32>
  %n = stablehlo.multiply %x, %rb : tensor<8x4x128xf32>
  %gb = stablehlo.broadcast_in_dim %g, dims = [2] : (tensor<128xf32>) -> tensor<8x4x128xf32>
  %s = stablehlo.multiply %n, %gb : tensor<8x4x128xf32>
  %bb = stablehlo.broadcast_in_dim %b, dims = [2] : (tensor<128xf32>) -> tensor<8x4x128xf32>
  %y = stablehlo.add %s, %bb : tensor<8x4x128xf32>
  return %y : tensor<8x4x128xf32>
}
"""
POOLING = """
func.func public @main(%x: tensor<1x16x16x32xf32>) -> tensor<1x8x8x32xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = "stablehlo.reduce_window"(%x, %low) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) {window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>} : (tensor<1x16x16x32xf32>, tensor<f32>) -> tensor<1x8x8x32xf32>
  return %r : tensor<1x8x8x32xf32>
}
"""
ACROSS = """
func.func public @main(%x: tensor<1x16x16x32xf32>) -> tensor<1x16x16x32xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.multiply %x, %x : tensor<1x16x16x32xf32>
  %r = "stablehlo.reduce_window"(%s, %zero) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) {window_dimensions = array<i64: 1, 1, 1, 5>, padding = dense<[[0, 0], [0, 0], [0, 0], [2, 2]]> : tensor<4x2xi64>} : (tensor<1x16x16x32xf32>, tensor<f32>) -> tensor<1x16x16x32xf32>
  return %r : tensor<1x16x16x32xf32>
}
"""
WINDOWS = """
func.func public @main(%x: tensor<INPUTxTYPE>) -> tensor<OUTPUTxTYPE> {
  %low = stablehlo.constant dense<LEAST> : tensor<TYPE>
  %r = "stablehlo.reduce_window"(%x, %low) ({
  ^bb0(%a: tensor<TYPE>, %b: tensor<TYPE>):
    %m = stablehlo.maximum %a, %b : tensor<TYPE>
    stablehlo.return %m : tensor<TYPE>
  }) {window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, STEP, STEP, 1>, window_dilations = array<i64: 1, APART, APART, 1>, padding = dense<[[0, 0], [LOW, HIGH], [LOW, HIGH], [0, 0]]> : tensor<4x2xi64>} : (tensor<INPUTxTYPE>, tensor<TYPE>) -> tensor<OUTPUTxTYPE>
  return %r : tensor<OUTPUTxTYPE>
}
"""
NARROWED = """
func.func public @main(%x: tensor<1x28x28x32xf32>) -> tensor<1x28x28x32xbf16> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = "stablehlo.reduce_window"(%x, %low) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) {window_dimensions = array<i64: 1, 3, 3, 1>, padding = dense<[[0, 0], [1, 1], [1, 1], [0, 0]]> : tensor<4x2xi64>} : (tensor<1x28x28x32xf32>, tensor<f32>) -> tensor<1x28x28x32xf32>
  %n = stablehlo.convert %r : (tensor<1x28x28x32xf32>) -> tensor<1x28x28x32xbf16>
  return %n : tensor<1x28x28x32xbf16>
}
"""
DEPTHWISE = """
func.func public @main(%x: tensor<1x7x7x1024xf32>, %w: tensor<3x3x1x1024xf32>, %b: tensor<1024xf32>) -> tensor<1x7x7x1024xf32> {
  %d = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]}
    {batch_group_count = 1 : i64, feature_group_count = 1024 : i64} : (tensor<1x7x7x1024xf32>, tensor<3x3x1x1024xf32>) -> tensor<1x7x7x1024xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<1x7x7x1024xf32>
  %wide = stablehlo.broadcast_in_dim %b, dims = [3] : (tensor<1024xf32>) -> tensor<1x7x7x1024xf32>
  %s = stablehlo.add %d, %wide : tensor<1x7x7x1024xf32>
  %r = stablehlo.maximum %s, %zero : tensor<1x7x7x1024xf32>
  return %r : tensor<1x7x7x1024xf32>
}
"""
GATHER = """
func.func public @main(%t: tensor<64x128xf32>, %i: tensor<24xi64>) -> tensor<24x128xf32> {
  %g = "stablehlo.gather"(%t, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 128>} : (tensor<64x128xf32>, tensor<24xi64>) -> tensor<24x128xf32>
  return %g : tensor<24x128xf32>
}
"""


def outputs_of(shape: Sequence[int], lines: Sequence[tuple[str, Sequence[int]]]) -> str:
    """A program of one input `%x` of f32 and as many outputs as there are lines, each an op and its shape."""
    given = type_of(shape)
    body = "".join(f"  %r{i} = {op} : {{}} -> {type_of(made)}\n" for i, (op, made) in enumerate(lines))
    signature = f"({given})" if "transpose" in body else f"({given}, tensor<f32>)"
    types = ", ".join(type_of(made) for _, made in lines)
    return f"""func.func public @main(%x: {given}) -> ({types}) {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
{body.replace("{}", signature)}  return {", ".join(f"%r{i}" for i in range(len(lines)))} : {types}
}}"""


def type_of(shape: Sequence[int]) -> str:
    return f"tensor<{''.join(f'{n}x' for n in shape)}f32>"


def softmax(rows: int, columns: int) -> str:
    return SOFTMAX.replace("ROWS", str(rows)).replace("COLUMNS", str(columns))


@pytest.mark.parametrize(
    ("text", "again"),
    [
        (CHAIN, 5 * 128 * 4),
        (HALVES, 0),
        (softmax(8, 256), 0),
        (softmax(5, 384), 0),
        (softmax(3, 2048), 0),
        (NORM, 0),
        (LAYER_NORM, 2 * 512),
    ],
    ids=["chain", "halves", "softmax of warps", "part of a block", "softmax of blocks", "norm", "scaled norm"],
)
def test_bytes_are_those_of_the_roofline(text: str, again: int, tmp_path: Path, emulated: Emulated) -> None:
    """Each input once, each output once; `again`: the bytes of what rows have in common that a second block, or the next thread, asks for."""
    model, nbytes = emulated(text, tmp_path)
    assert len(model.counters) == 1
    [counted] = model.counters
    assert counted.global_read_bytes + counted.global_written_bytes == nbytes + again
    assert counted.full_sectors and counted.bank_conflicts == 0
    loads = {name: n for name, n in counted.instructions.items() if name.startswith(("ld.global", "st.global"))}
    assert loads and all(name.endswith(("v4.b32", "v2.b64")) for name in loads)
    assert not any(name.startswith(("ld.local", "st.local")) for name in counted.instructions)


def test_blocks_of_rows_that_are_not_all_there(tmp_path: Path, emulated: Emulated) -> None:
    """Warps without a row read nothing but what rows have in common."""
    text = LAYER_NORM.replace("8x4x128", "1x37x128").replace("8x4x", "1x37x")
    model, nbytes = emulated(text, tmp_path, late=True)
    [counted] = model.counters
    assert counted.global_read_bytes + counted.global_written_bytes == nbytes + 2 * 2 * 512 and counted.full_sectors


@pytest.mark.parametrize(
    ("rows", "columns"), [(1, 2), (7, 33), (3, 50), (9, 130), (5, 768), (4, 1100), (2, 1030), (6, 2048), (1, 4100)]
)
def test_odd_rows(rows: int, columns: int, tmp_path: Path, emulated: Emulated) -> None:
    model, nbytes = emulated(softmax(rows, columns), tmp_path, late=True)
    [counted] = model.counters
    assert counted.global_written_bytes == rows * columns * 4
    assert counted.global_read_bytes >= rows * columns * 4 and counted.global_read_bytes <= 8 * nbytes


def test_transposes_move_each_byte_once(tmp_path: Path, emulated: Emulated) -> None:
    model, _ = emulated(TRANSPOSE, tmp_path)
    assert len(model.counters) == 3
    for counted in model.counters:
        assert counted.global_read_bytes == counted.global_written_bytes
        assert counted.full_sectors and counted.bank_conflicts == 0


def test_transposes_of_every_order(tmp_path: Path, emulated: Emulated) -> None:
    shape = (32, 64, 32)
    orders = [order for order in permutations(range(3)) if order != (0, 1, 2)]
    lines = [(f"stablehlo.transpose %x, dims = {list(order)}", [shape[d] for d in order]) for order in orders]
    model, _ = emulated(outputs_of(shape, lines), tmp_path)
    assert len(model.counters) == len(orders)
    for counted in model.counters:
        assert counted.global_read_bytes == counted.global_written_bytes == 4 * 32 * 64 * 32
        assert counted.full_sectors and counted.bank_conflicts == 0


def test_reductions_along_every_dimension(tmp_path: Path, emulated: Emulated) -> None:
    """What is along the innermost dimension is written by one thread of a team: a sector is not whole then."""
    shape = (8, 32, 64)
    over = ([0], [1], [0, 1], [2])
    made = [[n for d, n in enumerate(shape) if d not in dims] for dims in over]
    how = "stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions ="
    text = outputs_of(shape, [(f"{how} {dims}", left) for dims, left in zip(over, made, strict=True)])
    model, _ = emulated(text, tmp_path)
    assert len(model.counters) == len(over)
    for counted, left, dims in zip(model.counters, made, over, strict=True):
        assert counted.global_read_bytes == 4 * 8 * 32 * 64 and counted.global_read_sectors == 8 * 32 * 64 // 8
        assert counted.global_written_bytes == 4 * np.prod(left) and counted.bank_conflicts == 0
        assert counted.full_sectors or 2 in dims


@pytest.mark.parametrize(
    ("shape", "over", "team"),
    [
        ((8, 32, 64), [0, 2], 64),  # a block for each number
        ((4, 32, 24), [0, 2], 32),  # a warp
        ((16, 40, 8), [0, 2], 32),
        ((3, 8, 4, 16), [0, 2, 3], 32),
        ((2, 20, 1024), [0, 1, 2], 1024),  # all of it, more than a row
    ],
)
def test_reductions_around_a_dimension(
    shape: tuple[int, ...], over: list[int], team: int, tmp_path: Path, emulated: Emulated
) -> None:
    """A team of threads for each number, whose neighbours read neighbours: whole sectors, each once."""
    left = [n for d, n in enumerate(shape) if d not in over]
    text = outputs_of(
        shape,
        [(f"stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = {over}", left)],
    )
    model, _ = emulated(text, tmp_path, late=True)
    [counted], [launched] = model.counters, model.built.launches
    assert launched.block[0] == max(team, 128 if team <= 32 else team)
    assert counted.global_read_bytes == 4 * np.prod(shape) == 32 * counted.global_read_sectors
    assert counted.global_written_bytes == 4 * np.prod(left) and counted.bank_conflicts == 0


@pytest.mark.parametrize("dtype", ["f64", "bf16", "i64", "i16", "i8"])
def test_odd_reductions_around_a_dimension(dtype: str, tmp_path: Path, emulated: Emulated) -> None:
    """No whole number of each thread, nor of points of a block."""
    zero = "0" if dtype[0] == "i" else "0.0"
    text = f"""func.func public @main(%x: tensor<3x7x41x{dtype}>) -> tensor<7x{dtype}> {{
      %zero = stablehlo.constant dense<{zero}> : tensor<{dtype}>
      %m = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [0, 2] : (tensor<3x7x41x{dtype}>, tensor<{dtype}>) -> tensor<7x{dtype}>
      return %m : tensor<7x{dtype}>
    }}"""
    model, _ = emulated(text, tmp_path, late=True)
    assert any(name.startswith("shfl") for name in model.counters[0].instructions)


def test_a_pad_is_written_once(tmp_path: Path, emulated: Emulated) -> None:
    """In whole sectors; rows that are read begin in the midst of one."""
    model, nbytes = emulated(PADDED, tmp_path, late=True)
    [counted] = model.counters
    assert counted.global_read_bytes + counted.global_written_bytes == nbytes
    assert counted.global_written_sectors == 58 * 32 // 8 and counted.global_read_sectors <= 48 * (30 // 8 + 2)


def test_pooling_reads_each_window_once(tmp_path: Path, emulated: Emulated) -> None:
    model, nbytes = emulated(POOLING, tmp_path)
    [counted] = model.counters
    assert counted.global_read_bytes + counted.global_written_bytes == nbytes and counted.full_sectors


def windows(
    given: Sequence[int], dtype: str = "f32", *, step: int = 1, apart: int = 1, pad: tuple[int, int] = (1, 1)
) -> str:
    """The highest of 3x3 around each point."""
    low, high = pad
    made = [n if d in (0, 3) else (n + low + high - 2 * apart - 1) // step + 1 for d, n in enumerate(given)]
    told = {"INPUT": "x".join(map(str, given)), "OUTPUT": "x".join(map(str, made)), "TYPE": dtype}
    told |= {"LEAST": LEAST[dtype], "STEP": step, "APART": apart, "LOW": low, "HIGH": high}  # pyright: ignore
    text = WINDOWS
    for word, value in told.items():
        text = text.replace(word, str(value))
    return text


@pytest.mark.parametrize(
    ("text", "most"),
    [
        (windows((1, 7, 7, 1024)), 1.0),  # a block has whole images
        (windows((1, 9, 9, 2048), step=2, pad=(0, 0)), 1.0),
        (windows((1, 12, 12, 32)), 1.0),  # though blocks are few
        (windows((2, 24, 24, 16)), 1.05),  # parts of an image, and what lies around them
        (windows((1, 48, 48, 8)), 1.05),  # the tile that moves least of those that cost as much
        (windows((1, 56, 56, 16)), 1.06),
        (windows((8, 20, 20, 32)), 1.0),
        (windows((8, 17, 17, 32), step=2, pad=(0, 1)), 1.0),
        (DEPTHWISE, 1.0),  # with the pad before and what follows, and with weights and bias
    ],
    ids=[
        "whole",
        "whole, stride",
        "small",
        "parts",
        "few channels",
        "more channels",
        "images",
        "images, stride",
        "depthwise",
    ],
)
def test_windows_that_overlap_are_read_once(text: str, most: float, tmp_path: Path, emulated: Emulated) -> None:
    model, nbytes = emulated(text, tmp_path, near=1e-5)  # sums of nine products of up to 100
    [counted] = model.counters
    moved = 32 * (counted.global_read_sectors + counted.global_written_sectors)
    assert moved <= most * nbytes and counted.bank_conflicts == 0
    assert counted.global_read_bytes + counted.global_written_bytes == moved


def test_tiles_of_windows_write_whole_sectors(tmp_path: Path, emulated: Emulated) -> None:
    """Eight channels are a sector of what is read, and half of one of what is written."""
    model, _ = emulated(NARROWED, tmp_path, near=0.1)
    [counted] = model.counters
    assert 32 * counted.global_written_sectors == counted.global_written_bytes == 28 * 28 * 32 * 2


def test_windows_that_step_ask_banks_once(tmp_path: Path, emulated: Emulated) -> None:
    """So do points, nine times each, and what brings their tile: places are exchanged."""
    model, _ = emulated(windows((1, 33, 33, 8), step=2, pad=(0, 0)), tmp_path)
    [counted] = model.counters
    assert (
        not counted.bank_conflicts
        and any(name.startswith("xor") for name in counted.instructions)
        and counted.instructions["ld.shared.b32"]
    )


@pytest.mark.parametrize(
    "text",
    [
        windows((2, 23, 19, 24), step=2, pad=(0, 0)),  # tiles that the points do not fill
        windows((1, 20, 20, 16), apart=2, pad=(2, 2)),
        windows((1, 12, 12, 20), "f64"),
        windows((1, 20, 20, 24), "bf16"),
        windows((1, 20, 20, 24), "i8"),
    ],
    ids=["odd", "dilated", "f64", "bf16", "i8"],
)
def test_odd_windows(text: str, tmp_path: Path, emulated: Emulated) -> None:
    model, _ = emulated(text, tmp_path, late=True)
    [counted] = model.counters
    assert counted.instructions.get("bar.sync")


def test_gathers_read_the_rows_that_are_asked_for(tmp_path: Path, emulated: Emulated) -> None:
    model, _ = emulated(GATHER, tmp_path)
    [counted] = model.counters
    row = 128 * 4
    assert counted.global_written_bytes == 24 * row and counted.global_written_sectors == 24 * row // 32
    # a warp has a row, whose number it reads once; a thread four of its elements
    assert counted.global_read_bytes <= 24 * (row + 8)
    assert counted.instructions["ld.global.nc.b64"] == 1 and counted.instructions["st.global.b32"] == 4


@pytest.mark.parametrize(("rows", "columns"), [(9, 8), (33, 40), (64, 32)])
def test_turned_and_combined(rows: int, columns: int, tmp_path: Path, emulated: Emulated) -> None:
    text = TURNED.replace("ROWS", str(rows)).replace("COLUMNS", str(columns))
    model, _ = emulated(text, tmp_path, late=True)
    [counted] = model.counters
    assert counted.bank_conflicts == 0 and counted.instructions.get("bar.sync")
    assert counted.global_written_bytes == rows * columns * 4


def test_windows_along_the_innermost_dimension(tmp_path: Path, emulated: Emulated) -> None:
    """As of local response normalisation, with its pad. Rows of 36 are no whole warps: two of them ask for a sector."""
    model, nbytes = emulated(ACROSS, tmp_path, near=1e-5)
    [counted] = model.counters
    assert counted.global_read_bytes + counted.global_written_bytes == nbytes and counted.bank_conflicts == 0
    assert 32 * counted.global_read_sectors <= 1.25 * counted.global_read_bytes


@pytest.mark.parametrize(
    ("wide", "dims", "whole"),
    [
        ("64", [3], 1.1),  # a bias of channels
        ("2x64", [0, 3], 1.1),  # of an image
        ("12x64", [2, 3], 1.15),
    ],
    ids=["channels", "image", "columns"],
)
def test_what_points_have_in_common(
    wide: str, dims: Sequence[int], whole: float, tmp_path: Path, emulated: Emulated
) -> None:
    """A thread does several points, and reads what is the same for them once."""
    text = f"""func.func public @main(%x: tensor<2x12x12x64xf32>, %g: tensor<{wide}xf32>) -> tensor<2x12x12x64xf32> {{
      %w = stablehlo.broadcast_in_dim %g, dims = {list(dims)} : (tensor<{wide}xf32>) -> tensor<2x12x12x64xf32>
      %y = stablehlo.multiply %x, %w : tensor<2x12x12x64xf32>
      return %y : tensor<2x12x12x64xf32>
    }}"""
    model, nbytes = emulated(text, tmp_path, late=True)
    [counted] = model.counters
    moved = 32 * (counted.global_read_sectors + counted.global_written_sectors)
    assert moved <= whole * nbytes and counted.full_sectors and not counted.bank_conflicts


def test_one_row_of_a_norm_is_all_that_is_read(tmp_path: Path, emulated: Emulated) -> None:
    text = (
        LAYER_NORM.replace("8x4x128", "1x37x128")
        .replace("8x4x", "1x37x")
        .replace("-> tensor<1x37x128xf32> {", "-> tensor<1x1x128xf32> {", 1)
    )
    text = text.replace(
        "  return %y : tensor<1x37x128xf32>",
        "  %f = stablehlo.slice %y [0:1, 3:4, 0:128] : (tensor<1x37x128xf32>) -> tensor<1x1x128xf32>\n  return %f : tensor<1x1x128xf32>",
    )
    model, _ = emulated(text, tmp_path, late=True)
    [counted] = model.counters
    assert counted.global_read_bytes == 3 * 128 * 4 == 3 * counted.global_written_bytes and counted.full_sectors


def test_rows_that_values_choose_are_read_in_whole_sectors(tmp_path: Path, emulated: Emulated) -> None:
    """Of the rows of a table, as of experts; and each index by one warp of many."""
    text = """
func.func public @main(%which: tensor<80xi64>, %table: tensor<4x26x32xf32>) -> tensor<80x26x32xbf16> {
  %rows = "stablehlo.gather"(%table, %which) {dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 26, 32>} : (tensor<4x26x32xf32>, tensor<80xi64>) -> tensor<80x26x32xf32>
  %r = stablehlo.convert %rows : (tensor<80x26x32xf32>) -> tensor<80x26x32xbf16>
  return %r : tensor<80x26x32xbf16>
}
"""
    model, _ = emulated(text, tmp_path)
    [counted] = model.counters
    moved = 32 * (counted.global_read_sectors + counted.global_written_sectors)
    assert moved <= 1.02 * 80 * 26 * 32 * (4 + 2)  # an index is a quarter of a sector
    assert 32 * counted.global_written_sectors == counted.global_written_bytes
