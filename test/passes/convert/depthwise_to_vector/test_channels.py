"""Depthwise convolutions with channels last against sums of 64 bits, around every boundary of tiles and vectors."""

from __future__ import annotations

import itertools
import platform
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.backends import Options
from lamina.compiler.machine import Machine
from lamina.compiler.parsing import parse_module
from lamina.compiler.program import Program
from lamina.tools.sources import new_context

Array = np.ndarray[Any, np.dtype[Any]]
NAMES = {"float32": "f32", "int16": "i16", "int32": "i32"}


@dataclass(frozen=True)
class Case:
    """x of `shape` by one `window` per channel; `pads`: top, left, bottom, right. `words`: i16 and sums of i32.

    Or each channel is a sum over a group of `width`.
    """

    shape: tuple[int, int, int, int]
    window: tuple[int, int] = (3, 3)
    strides: tuple[int, int] = (1, 1)
    dilations: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (1, 1, 1, 1)
    residual: bool = False
    words: bool = False
    width: int = 1

    def arrays(self, rng: np.random.Generator) -> list[Array]:
        """Image, taps, bias, residual."""
        shapes = (self.shape, (*self.window, self.width, self.shape[3]), self.shape[3:], self.output)
        if not self.words:
            return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
        types = (np.int16, np.int16, np.int32, np.int32)
        return [rng.integers(-(2**15), 2**15, shape).astype(t) for shape, t in zip(shapes, types, strict=True)]

    @property
    def output(self) -> tuple[int, int, int, int]:
        (n, h, w, c), (top, left, bottom, right) = self.shape, self.pads
        sizes = zip((h + top + bottom, w + left + right), self.window, self.dilations, self.strides, strict=True)
        rows, columns = ((size - (taps - 1) * d - 1) // s + 1 for size, taps, d, s in sizes)
        return n, rows, columns, c

    def expected(self, x: Array, k: Array, b: Array, r: Array) -> Array:
        _, rows, columns, _ = self.output
        top, left, bottom, right = self.pads
        wide = np.int64 if self.words else np.float64
        padded = np.pad(x.astype(wide), [(0, 0), (top, bottom), (left, right), (0, 0)])
        total = np.zeros(self.output, wide)
        for i, j in itertools.product(*(range(n) for n in self.window)):
            at = i * self.dilations[0] + self.strides[0] * np.arange(rows)
            along = j * self.dilations[1] + self.strides[1] * np.arange(columns)
            under = padded[:, at[:, None], along]
            for number in range(self.width):
                of_group = np.arange(self.shape[3]) // self.width * self.width + number
                total += under[..., of_group] * k[i, j, number]
        total = (total + b).astype(np.int32) if self.words else total + b
        return np.maximum(total, 0) + (r if self.residual else 0)

    def function(self, name: str) -> str:
        """In the words of the hub: bias, activation, and the residual, which the sums may not be computed twice for."""
        top, left, bottom, right = self.pads
        c, groups = self.shape[3], self.shape[3] // self.width
        few, many = ("i16", "i32") if self.words else ("f32", "f32")
        x, y = ("x".join(map(str, (*shape, many))) for shape in (self.shape, self.output))
        k = f"{self.window[0]}x{self.window[1]}x{self.width}x{c}x{many}"
        given = {letter: type_.replace(many, few) for letter, type_ in (("x", x), ("k", k))}
        return f"""
    func.func private @{name}(%xs: tensor<{given["x"]}>, %ks: tensor<{given["k"]}>, %b: tensor<{c}x{many}>,
        %r: tensor<{y}>) -> tensor<{y}> {{
      %x = stablehlo.convert %xs : (tensor<{given["x"]}>) -> tensor<{x}>
      %k = stablehlo.convert %ks : (tensor<{given["k"]}>) -> tensor<{k}>
      %s = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
          window = {{stride = {list(self.strides)}, pad = [[{top}, {bottom}], [{left}, {right}]],
          rhs_dilate = {list(self.dilations)}}} {{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}}
          : (tensor<{x}>, tensor<{k}>) -> tensor<{y}>
      %w = stablehlo.broadcast_in_dim %b, dims = [3] : (tensor<{c}x{many}>) -> tensor<{y}>
      %t = stablehlo.add %s, %w : tensor<{y}>
      %z = stablehlo.constant dense<{0 if self.words else 0.0}> : tensor<{y}>
      %m = stablehlo.maximum %t, %z : tensor<{y}>
      {"%o = stablehlo.add %m, %r" if self.residual else "%o = stablehlo.add %m, %z"} : tensor<{y}>
      func.return %o : tensor<{y}>
    }}"""


def check(cases: Sequence[Case], target: str = "cpu", threads: int = 2) -> None:
    rng = np.random.default_rng(0)
    functions: list[str] = []
    arguments: list[str] = []
    calls: list[str] = []
    results: list[str] = []
    given: list[Array] = []
    want: list[Array] = []
    for i, case in enumerate(cases):
        arrays = case.arrays(rng)
        want.append(case.expected(*arrays))
        given += arrays
        types = ["tensor<" + "x".join(map(str, (*a.shape, NAMES[a.dtype.name]))) + ">" for a in arrays]
        names = [f"%{letter}{i}" for letter in "xkbr"]
        functions.append(case.function(f"f{i}"))
        arguments += [f"{name}: {type_}" for name, type_ in zip(names, types, strict=True)]
        calls.append(f"%y{i} = func.call @f{i}({', '.join(names)}) : ({', '.join(types)}) -> {types[3]}")
        results.append(types[3])
    values = ", ".join(f"%y{i}" for i in range(len(cases)))
    text = "\n".join(
        [
            f"func.func public @main({', '.join(arguments)}) -> ({', '.join(results)}) {{",
            *calls,
            f"func.return {values} : {', '.join(results)}",
            "}",
            *functions,
        ]
    )
    context = new_context()
    program = Program(parse_module(text, "channels.mlir", context), context)
    assert 'lamina.kernel = "depthwise"' in str(lamina.lower(program.clone(), "linalg", target=target))
    got = lamina.compile(program, target, options=Options(threads=threads, cache=False))(*given)
    for case, result, values in zip(cases, got, want, strict=True):
        error = float(np.abs(result - values).max())
        assert error <= (0 if case.words else 2e-5), f"{case}: {error}"


CASES = [
    Case((1, 14, 14, 32)),
    Case((2, 9, 13, 24), strides=(2, 2), residual=True),
    Case((1, 7, 7, 19), window=(5, 5), pads=(2, 2, 2, 2)),
    Case((2, 8, 8, 16), strides=(2, 2), pads=(0, 0, 1, 1)),
    Case((1, 11, 12, 40), dilations=(2, 3), pads=(2, 3, 2, 3), residual=True),
    Case((3, 5, 6, 8), window=(2, 3), pads=(4, 5, 3, 6)),  # windows that see nothing but zeros
    Case((1, 20, 33, 17), window=(7, 7), strides=(1, 2), pads=(3, 3, 3, 3)),
    Case((1, 6, 6, 16), pads=(0, 0, 0, 0)),
    Case((2, 3, 1, 33), window=(3, 1), pads=(1, 0, 1, 0)),
    Case((1, 4, 5, 16), window=(1, 1), strides=(3, 3), pads=(0, 0, 0, 0)),
    Case((1, 1, 1, 9), residual=True),
    Case((4, 1, 40, 16), window=(1, 3), pads=(0, 1, 0, 1)),  # images of one row
    Case((1, 1, 200, 24), window=(1, 31), pads=(0, 15, 0, 15)),  # and a single one, shared out by columns
    Case((1, 1, 401, 16), window=(1, 9), strides=(1, 2), pads=(0, 8, 0, 0), residual=True),
    Case((1, 14, 15, 20), window=(13, 13), pads=(6, 6, 6, 6)),  # windows too large to be written out
    Case((2, 9, 8, 16), window=(31, 29), pads=(15, 14, 15, 14), residual=True),
    Case((1, 20, 40, 16), window=(12, 12), strides=(2, 3), dilations=(1, 2), pads=(3, 4, 5, 6)),
]


WORDS = [replace(case, words=True) for case in CASES]
GROUPS = [
    Case((1, 14, 14, 32), width=4),
    Case((2, 9, 13, 24), strides=(2, 2), residual=True, width=8),
    Case((1, 7, 7, 40), window=(5, 5), pads=(2, 2, 2, 2), width=8),
    Case((1, 11, 12, 36), dilations=(2, 3), pads=(2, 3, 2, 3), width=4),
    Case((3, 5, 6, 10), window=(2, 3), pads=(4, 5, 3, 6), width=2),  # windows that see nothing but zeros
    Case((1, 20, 33, 18), window=(7, 7), strides=(1, 2), pads=(3, 3, 3, 3), width=2),
    Case((1, 6, 6, 20), pads=(0, 0, 0, 0), residual=True, width=4),
    Case((2, 3, 1, 34), window=(3, 1), pads=(1, 0, 1, 0), width=2),
    Case((4, 1, 40, 16), window=(1, 3), pads=(0, 1, 0, 1), width=8),
    Case((1, 5, 5, 48), width=3),  # which vectors do not consist of
]


def test_numbers() -> None:
    check(CASES)


def test_words() -> None:
    check(WORDS)


def test_groups() -> None:
    check(GROUPS)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="machines by name")
@pytest.mark.parametrize("name", ["x86-64", "x86-64-avx2"])
def test_other_vectors(name: str) -> None:
    if not all(feature in Machine.host().features for feature in Machine.preset(name).features):
        pytest.skip(f"this machine is no {name}")
    check(CASES, f"cpu:{name}", threads=1)
    check(WORDS, f"cpu:{name}", threads=1)
    check(GROUPS, f"cpu:{name}", threads=1)


@pytest.mark.slow
@pytest.mark.parametrize("stride", [1, 2])
def test_every_width(stride: int) -> None:
    check([Case((1, 3, w, 20), strides=(1, stride), residual=bool(w % 2), words=w % 3 == 0) for w in range(1, 36)])
