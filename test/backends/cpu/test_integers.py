"""Products of small integers through pairs and register tiles are exact, whatever shapes and values leave over."""

from __future__ import annotations

import numpy as np
import pytest

import lamina
from lamina.compiler.parsing import parse_module
from lamina.compiler.program import Program
from lamina.tools.sources import new_context

# around the tile of 6 rows, the panel of 16 columns and the pair along k
SHAPES = [(4, 17, 1), (5, 16, 2), (6, 15, 3), (7, 33, 4), (13, 4, 5), (12, 31, 33), (1, 19, 7), (3, 16, 9)]


def program(text: str) -> Program:
    context = new_context()
    return Program(parse_module(text, "integers.mlir", context), context)


def product(m: int, n: int, k: int, x: str = "ui8", w: str = "i8", zero: int = 0, transposed: bool = False) -> str:
    shape, dims = (f"{n}x{k}", 1) if transposed else (f"{k}x{n}", 0)
    return f"""
    func.func public @main(%x: tensor<{m}x{k}x{x}>, %w: tensor<{shape}x{w}>) -> tensor<{m}x{n}xi32> {{
      %a = stablehlo.convert %x : (tensor<{m}x{k}x{x}>) -> tensor<{m}x{k}xi32>
      %z = stablehlo.constant dense<{zero}> : tensor<{m}x{k}xi32>
      %d = stablehlo.subtract %a, %z : tensor<{m}x{k}xi32>
      %b = stablehlo.convert %w : (tensor<{shape}x{w}>) -> tensor<{shape}xi32>
      %y = stablehlo.dot_general %d, %b, contracting_dims = [1] x [{dims}]
          : (tensor<{m}x{k}xi32>, tensor<{shape}xi32>) -> tensor<{m}x{n}xi32>
      func.return %y : tensor<{m}x{n}xi32>
    }}"""


def exact(x: np.ndarray, w: np.ndarray, zero: int) -> np.ndarray:
    return ((x.astype(np.int64) - zero) @ w.astype(np.int64)).astype(np.int32)


def drawn(shape: tuple[int, int], dtype: type, seed: int) -> np.ndarray:
    """Half of the elements at the ends of the range."""
    rng = np.random.default_rng(seed)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return np.where(rng.random(shape) < 0.5, rng.choice([low, high], shape), rng.integers(low, high + 1, shape)).astype(
        dtype
    )


@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_every_remainder(m: int, n: int, k: int):
    model = lamina.compile(program(product(m, n, k, zero=131)), cache=False, threads=1)
    x, w = drawn((m, k), np.uint8, m), drawn((k, n), np.int8, n)
    np.testing.assert_array_equal(model(x, w)[0], exact(x, w, 131))


@pytest.mark.parametrize(
    ("x", "w", "transposed"),
    [("ui8", "ui8", False), ("i8", "i8", True), ("i8", "ui8", False), ("i16", "i16", False), ("i16", "i8", True)],
)
def test_signs_and_widths(x: str, w: str, transposed: bool):
    names = {"ui8": np.uint8, "i8": np.int8, "i16": np.int16}
    a, b = drawn((9, 37), names[x], 1), drawn((21, 37) if transposed else (37, 21), names[w], 2)
    model = lamina.compile(program(product(9, 21, 37, x, w, transposed=transposed)), cache=False)
    np.testing.assert_array_equal(model(a, b)[0], exact(a, b.T if transposed else b, 0))


@pytest.mark.parametrize(("x", "w"), [(255, -128), (255, 127), (0, -128)])
def test_extremes_everywhere(x: int, w: int):
    """vpmaddubsw would saturate here, and the sums are as large as those of the longest products."""
    a, b = np.full((6, 66_000), x, np.uint8), np.full((66_000, 16), w, np.int8)
    model = lamina.compile(program(product(6, 16, 66_000, zero=255 - x)), cache=False)
    np.testing.assert_array_equal(model(a, b)[0], exact(a, b, 255 - x))


def test_sums_wrap_as_those_of_32_bits_do():
    a, b = np.full((4, 4), -32768, np.int16), np.full((4, 16), -32768, np.int16)
    model = lamina.compile(program(product(4, 16, 4, "i16", "i16")), cache=False)
    np.testing.assert_array_equal(model(a, b)[0], exact(a, b, 0))


def convolution(height: int, channels: int, features: int, stride: int, weights: np.ndarray) -> str:
    out = (height + 2 - 3) // stride + 1
    x, y = f"1x{height}x{height}x{channels}", f"1x{out}x{out}x{features}"
    text = np.array2string(weights, separator=", ", threshold=weights.size).replace("\n", "")
    return f"""
    func.func public @main(%x: tensor<{x}xui8>) -> tensor<{y}xui8> {{
      %a = stablehlo.convert %x : (tensor<{x}xui8>) -> tensor<{x}xi32>
      %z = stablehlo.constant dense<7> : tensor<{x}xi32>
      %d = stablehlo.subtract %a, %z : tensor<{x}xi32>
      %b = stablehlo.constant dense<{text}> : tensor<3x3x{channels}x{features}xi32>
      %c = stablehlo.convolution(%d, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
          window = {{stride = [{stride}, {stride}], pad = [[1, 1], [1, 1]]}}
          {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
          : (tensor<{x}xi32>, tensor<3x3x{channels}x{features}xi32>) -> tensor<{y}xi32>
      %f = stablehlo.convert %c : (tensor<{y}xi32>) -> tensor<{y}xf32>
      %s = stablehlo.constant dense<0.015625> : tensor<{y}xf32>
      %g = stablehlo.multiply %f, %s : tensor<{y}xf32>
      %h = stablehlo.round_nearest_even %g : tensor<{y}xf32>
      %low = stablehlo.constant dense<0.0> : tensor<{y}xf32>
      %high = stablehlo.constant dense<255.0> : tensor<{y}xf32>
      %i = stablehlo.maximum %h, %low : tensor<{y}xf32>
      %j = stablehlo.minimum %i, %high : tensor<{y}xf32>
      %k = stablehlo.convert %j : (tensor<{y}xf32>) -> tensor<{y}xui8>
      func.return %k : tensor<{y}xui8>
    }}"""


@pytest.mark.parametrize(
    ("height", "channels", "features", "stride"), [(9, 3, 19, 2), (7, 8, 16, 1), (6, 5, 4, 1), (5, 1, 33, 2)]
)
def test_quantised_convolution(height: int, channels: int, features: int, stride: int):
    weights = drawn((9 * channels, features), np.int8, 3).reshape(3, 3, channels, features)
    x = drawn((height * height, channels), np.uint8, 4).reshape(1, height, height, channels)
    padded = np.pad(x.astype(np.int64) - 7, ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))[:, ::stride, ::stride]
    sums = np.einsum("nhwckl,klcf->nhwf", windows, weights.astype(np.int64)).astype(np.float32)
    want = np.clip(np.rint(sums * np.float32(1 / 64)), 0, 255).astype(np.uint8)
    model = lamina.compile(program(convolution(height, channels, features, stride, weights)), cache=False)
    np.testing.assert_array_equal(model(x)[0], want)
