"""Pools over any windows, by columns and rows, against the reference: NaN, infinities, paddings, steps, holes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina.compiler.program import Program
from lamina.tools.sources import read_program

KINDS = {
    "maximum": ("f32", "0xff800000"),
    "minimum": ("f64", "0x7ff0000000000000"),
    "add": ("f32", "0.0"),
    "multiply": ("i32", "1"),
    "and": ("i8", "-1"),
}


def program(kind: str, shape: list[int], window: dict[str, list[int]], pads: list[list[int]], folder: Path) -> Program:
    element, start = KINDS[kind]
    reach = [(n - 1) * d + 1 for n, d in zip(window["window_dimensions"], window["window_dilations"], strict=True)]
    padded = [n + sum(pad) for n, pad in zip(shape, pads, strict=True)]
    sizes = [(n - r) // s + 1 for n, r, s in zip(padded, reach, window["window_strides"], strict=True)]
    source, result = (f"tensor<{'x'.join(map(str, each))}x{element}>" for each in (shape, sizes))
    scalar = f"tensor<{element}>"
    given = ", ".join(f"{name} = array<i64: {', '.join(map(str, each))}>" for name, each in window.items())
    path = folder / "pool.mlir"
    path.write_text(f"""func.func @main(%x: {source}) -> {result} {{
      %z = stablehlo.constant dense<{start}> : {scalar}
      %y = "stablehlo.reduce_window"(%x, %z) <{{{given}, padding = dense<{pads}> : tensor<{len(pads)}x2xi64>}}> ({{
      ^bb0(%a: {scalar}, %b: {scalar}):
        %r = stablehlo.{kind} %a, %b : {scalar}
        stablehlo.return %r : {scalar}
      }}) : ({source}, {scalar}) -> {result}
      return %y : {result}
    }}""")
    found = read_program(str(path))
    assert isinstance(found, Program)
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_as_the_reference(kind: str, seed: int, tmp_path: Path):
    rng = np.random.default_rng([seed, len(kind)])
    spatial = 1 + seed
    sizes = [int(n) for n in rng.integers(1, 14, spatial)]
    window = {
        "window_dimensions": sizes,
        "window_strides": [int(n) for n in rng.integers(1, 7, spatial)],
        "window_dilations": [int(n) for n in rng.integers(1, 3, spatial)],
    }
    pads = [[int(rng.integers(0, n)), int(rng.integers(0, n))] for n in sizes]
    shape = [2 * n + int(rng.integers(0, 20)) for n in sizes]
    channels = int(rng.integers(1, 20))  # first or last
    for each, one in ((window["window_dimensions"], 1), (window["window_strides"], 1), (window["window_dilations"], 1)):
        each.insert(0 if seed % 2 else len(each), one)
    pads.insert(0 if seed % 2 else len(pads), [0, 0])
    shape.insert(0 if seed % 2 else len(shape), channels)
    source = program(kind, shape, window, pads, tmp_path)
    x = (rng.standard_normal(shape) * 3).astype(source.signature.inputs[0].dtype)
    if x.dtype.kind == "f" and kind != "add":
        x[rng.random(shape) < 0.02] = np.nan
        x[rng.random(shape) < 0.02] = np.inf
    (ours,), (right,) = lamina.compile(source, cache=False)(x), lamina.interpret(source, [x])
    np.testing.assert_allclose(ours, right, rtol=1e-5 if kind == "add" else 0, atol=1e-4 if kind == "add" else 0)
