"""Few elements side by side, and elements a few steps apart, against the reference: every type, odd sizes."""

from __future__ import annotations

import platform
from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina.backends import Options
from lamina.compiler.program import Program
from lamina.tools.sources import read_program

TARGETS = ["cpu", *(["cpu:x86-64-avx2", "cpu:x86-64"] if platform.machine() == "x86_64" else [])]
TYPES = {"f32": np.float32, "f64": np.float64, "i8": np.int8, "i16": np.int16, "i64": np.int64}


def program(element: str, rows: int, n: int, parts: int, step: int, folder: Path) -> Program:
    """y[r, i, j] = x[r, i * step] + w[j]: repeated, and with something of each."""
    length = (n - 1) * step + 1
    wide, thin, out = (f"tensor<{rows}x{size}x{element}>" for size in (length, n, f"{n}x{parts}"))
    given = f"tensor<{parts}x{element}>"
    path = folder / "side_by_side.mlir"
    path.write_text(f"""func.func @main(%x: {wide}, %w: {given}) -> ({out}, {out}, {thin}) {{
      %s = stablehlo.slice %x [0:{rows}, 0:{length}:{step}] : ({wide}) -> {thin}
      %a = stablehlo.broadcast_in_dim %s, dims = [0, 1] : ({thin}) -> {out}
      %b = stablehlo.broadcast_in_dim %w, dims = [2] : ({given}) -> {out}
      %y = stablehlo.add %a, %b : {out}
      %t = stablehlo.add %s, %s : {thin}
      return %a, %y, %t : {out}, {out}, {thin}
    }}""")
    found = read_program(str(path))
    assert isinstance(found, Program)
    return found


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("target", TARGETS)
def test_as_the_reference(target: str, element: str, tmp_path: Path):
    rng = np.random.default_rng(len(element))
    for parts in (2, 3, 4):
        rows, step = int(rng.integers(1, 4)), int(rng.integers(1, 6))
        n = int(rng.choice([3, 7, 8, 16, 17, 31, 33, 100]))
        source = program(element, rows, n, parts, step, tmp_path)
        x, w = (rng.integers(-50, 50, i.shape).astype(TYPES[element]) for i in source.signature.inputs)
        compiled = lamina.compile(source, target, options=Options(cache=False))
        for ours, right in zip(compiled(x, w), lamina.interpret(source, [x, w]), strict=True):
            np.testing.assert_array_equal(ours, right)
