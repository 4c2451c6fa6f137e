"""Quantised models for machines that multiply bytes give the numbers of the reference, level by level."""

from __future__ import annotations

import numpy as np
import pytest

import lamina
from lamina.compiler.interpreter import Interpreter
from lamina.compiler.machine import Machine
from lamina.compiler.parsing import parse_module
from lamina.compiler.program import Program
from lamina.tools.sources import new_context


def program(text: str, **weights: np.ndarray) -> Program:
    context = new_context()
    for name, array in weights.items():
        text = text.replace(f"@{name}", f"dense_resource<{context.weights.add(array, name)}>")
    return Program(parse_module(text, "bytes.mlir", context), context)


def drawn(shape: tuple[int, ...], dtype: type, seed: int) -> np.ndarray:
    """Half of the elements at the ends of the range."""
    rng = np.random.default_rng(seed)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    return np.where(rng.random(shape) < 0.5, rng.choice([low, high], shape), rng.integers(low, high + 1, shape)).astype(
        dtype
    )


def product(m: int, k: int, n: int, x: str, zero: int, w: np.ndarray | None = None) -> tuple[Program, np.ndarray]:
    w = (drawn((k, n), np.int8, 5) if w is None else w).astype(np.int32)
    text = f"""
    func.func public @main(%x: tensor<{m}x{k}x{x}>) -> tensor<{m}x{n}xi32> {{
      %a = stablehlo.convert %x : (tensor<{m}x{k}x{x}>) -> tensor<{m}x{k}xi32>
      %z = stablehlo.constant dense<{zero}> : tensor<{m}x{k}xi32>
      %d = stablehlo.subtract %a, %z : tensor<{m}x{k}xi32>
      %w = stablehlo.constant @w : tensor<{k}x{n}xi32>
      %y = stablehlo.dot_general %d, %w, contracting_dims = [1] x [0]
          : (tensor<{m}x{k}xi32>, tensor<{k}x{n}xi32>) -> tensor<{m}x{n}xi32>
      func.return %y : tensor<{m}x{n}xi32>
    }}"""
    return program(text, w=w), w


def convolution(stride: int) -> tuple[Program, np.ndarray]:
    w = drawn((3, 3, 5, 18), np.int8, 6).astype(np.int32)
    out = (9 + 2 - 3) // stride + 1
    text = f"""
    func.func public @main(%x: tensor<1x9x9x5xui8>) -> tensor<1x{out}x{out}x18xi32> {{
      %a = stablehlo.convert %x : (tensor<1x9x9x5xui8>) -> tensor<1x9x9x5xi32>
      %z = stablehlo.constant dense<200> : tensor<1x9x9x5xi32>
      %d = stablehlo.subtract %a, %z : tensor<1x9x9x5xi32>
      %w = stablehlo.constant @w : tensor<3x3x5x18xi32>
      %y = stablehlo.convolution(%d, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
          window = {{stride = [{stride}, {stride}], pad = [[1, 1], [1, 1]]}}
          {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
          : (tensor<1x9x9x5xi32>, tensor<3x3x5x18xi32>) -> tensor<1x{out}x{out}x18xi32>
      func.return %y : tensor<1x{out}x{out}x18xi32>
    }}"""
    return program(text, w=w), w


def meaning(low: Program, level: str, data: np.ndarray) -> np.ndarray:
    """The output; below the hub types do not tell signs."""
    signed = data if level.startswith("stablehlo") else data.view(np.int8)
    return Interpreter(low.context).run(low.module, [signed])[0]


TARGETS = ["x86-64-amx", "aarch64-neon"]  # bytes without and with signs
PAIRS = "x86_64-unknown-linux-gnu"  # AVX2: sums of two products of bytes, which saturate


def paired(k: int, n: int, beyond: int = 0) -> np.ndarray:
    """Weights whose neighbours add up to 128 with either sign, one pair of them to `beyond` more."""
    even = np.random.default_rng(7).integers(1, 128, (-(-k // 2), n))
    w = np.stack([even, 128 - even], axis=1).reshape(-1, n)[:k]
    w[2 * (k // 4), n // 2] += beyond
    return w * np.random.default_rng(8).choice([-1, 1], n)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("x", "dtype", "zero"), [("ui8", np.uint8, 0), ("ui8", np.uint8, 255), ("i8", np.int8, -128)])
def test_products_by_the_meaning_of_each_level(target: str, x: str, dtype: type, zero: int):
    source, w = product(20, 68, 37, x, zero)
    data = drawn((20, 68), dtype, 1)
    want = ((data.astype(np.int64) - zero) @ w).astype(np.int32)
    for level in ("stablehlo-canonical", "linalg"):
        low = lamina.lower(source, level, target=f"cpu:{target}")
        np.testing.assert_array_equal(meaning(low, level, data), want, err_msg=level)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("stride", [1, 2])
def test_convolutions_by_the_meaning_of_each_level(target: str, stride: int):
    source, w = convolution(stride)
    data = drawn((1, 9, 9, 5), np.uint8, 2)
    padded = np.pad(data.astype(np.int64) - 200, ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))[:, ::stride, ::stride]
    want = np.einsum("nhwckl,klcf->nhwf", windows, w)
    for level in ("stablehlo-canonical", "linalg"):
        low = lamina.lower(source, level, target=f"cpu:{target}")
        np.testing.assert_array_equal(meaning(low, level, data), want, err_msg=level)


@pytest.mark.parametrize("unsigned", [False, True])
def test_machine_code_of_bytes(unsigned: bool, monkeypatch: pytest.MonkeyPatch):
    """As for such machines, on this one: fours of bytes are multiplied in plain arithmetic where nothing better is."""
    monkeypatch.setattr(Machine, "multiplies_bytes", property(lambda _: True))
    monkeypatch.setattr(Machine, "wants_unsigned_bytes", property(lambda _: unsigned))
    source, w = product(13, 35, 21, "ui8", 99)
    data = drawn((13, 35), np.uint8, 3)
    (y,) = lamina.compile(source, cache=False)(data)
    np.testing.assert_array_equal(y, (data.astype(np.int64) - 99) @ w)
    image = drawn((1, 9, 9, 5), np.uint8, 4)
    source, _ = convolution(2)
    np.testing.assert_array_equal(lamina.compile(source, cache=False)(image)[0], lamina.interpret(source, [image])[0])


@pytest.mark.parametrize("beyond", [0, 1])
@pytest.mark.parametrize(
    ("shape", "x", "zero"), [((6, 34, 35), "ui8", 0), ((5, 33, 16), "ui8", 255), ((1, 62, 40), "i8", 3)]
)
def test_pairs_of_bytes_never_saturate(beyond: int, shape: tuple[int, int, int], x: str, zero: int):
    """The largest sums that 16 bits hold, and those one beyond, which 16 bits are not asked to hold."""
    m, k, n = shape
    source, w = product(m, k, n, x, zero, paired(k, n, beyond))
    dtype = np.uint8 if x == "ui8" else np.int8
    data = drawn((m, k), dtype, 1)
    data[0] = np.iinfo(dtype).max
    want = ((data.astype(np.int64) - zero) @ w).astype(np.int32)
    assert ("lamina.pairs_fit" in str(lamina.lower(source, "linalg", target=f"cpu:{PAIRS}").module)) == (not beyond)
    for level in ("stablehlo-canonical", "linalg"):
        low = lamina.lower(source, level, target=f"cpu:{PAIRS}")
        np.testing.assert_array_equal(meaning(low, level, data), want, err_msg=level)
    np.testing.assert_array_equal(lamina.compile(source, cache=False)(data)[0], want)
