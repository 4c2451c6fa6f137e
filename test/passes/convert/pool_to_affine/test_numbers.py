"""Pools of planes, and with channels last, against the reference: odd sizes, all paddings, NaN, zeros of both signs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import lamina
from lamina.backends import Options
from lamina.compiler.program import Program
from lamina.tools.sources import read_program

FLOATS = {"bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
DTYPES = {"i1": np.bool_, "i8": np.int8, "ui8": np.uint8, "i32": np.int32, "i64": np.int64} | FLOATS


@dataclass(frozen=True)
class Case:
    """A pool with `kind` from `start` on over two dimensions of `shape`, each of which has a pair of `pads`.

    They are the last ones, or there are so many `behind`.
    """

    kind: str
    element: str
    start: str
    shape: tuple[int, ...]
    window: tuple[int, int] = (3, 3)
    strides: tuple[int, int] = (2, 2)
    dilations: tuple[int, int] = (1, 1)
    pads: tuple[tuple[int, int], tuple[int, int]] = ((1, 1), (1, 1))
    behind: int = 0

    def program(self, folder: Path) -> Program:
        """The case as a program, with something elementwise behind it."""
        outer, last = len(self.shape) - 2 - self.behind, [1] * self.behind
        inner = self.shape[outer : outer + 2]
        given = {
            "window_dimensions": [1] * outer + list(self.window) + last,
            "window_strides": [1] * outer + list(self.strides) + last,
            "window_dilations": [1] * outer + list(self.dilations) + last,
        }
        pads = [[0, 0]] * outer + [list(pad) for pad in self.pads] + [[0, 0]] * self.behind
        reach = [(n - 1) * d + 1 for n, d in zip(self.window, self.dilations, strict=True)]
        padded = [n + sum(pad) for n, pad in zip(inner, self.pads, strict=True)]
        sizes = [(n - r) // s + 1 for n, r, s in zip(padded, reach, self.strides, strict=True)]
        result = "x".join(map(str, [*self.shape[:outer], *sizes, *self.shape[outer + 2 :]]))
        source, scalar = f"tensor<{'x'.join(map(str, self.shape))}x{self.element}>", f"tensor<{self.element}>"
        result = f"tensor<{result}x{self.element}>"
        attributes = ", ".join(f"{name} = array<i64: {', '.join(map(str, each))}>" for name, each in given.items())
        path = folder / "pool.mlir"
        path.write_text(f"""func.func @main(%x: {source}, %b: {result}) -> {result} {{
          %z = stablehlo.constant dense<{self.start}> : {scalar}
          %y = "stablehlo.reduce_window"(%x, %z) <{{{attributes},
              padding = dense<{pads}> : tensor<{len(pads)}x2xi64>}}> ({{
          ^bb0(%a: {scalar}, %b0: {scalar}):
            %r = stablehlo.{self.kind} %a, %b0 : {scalar}
            stablehlo.return %r : {scalar}
          }}) : ({source}, {scalar}) -> {result}
          %s = stablehlo.add %y, %b : {result}
          return %s : {result}
        }}""")
        found = read_program(str(path))
        assert isinstance(found, Program)
        return found

    def inputs(self, program: Program) -> list[np.ndarray]:
        """Numbers with what is rare among them."""
        rng = np.random.default_rng(len(self.shape))
        x, b = (rng.standard_normal([int(n) for n in each.shape]) * 9 for each in program.signature.inputs)
        if self.element in FLOATS and self.kind != "add":
            for rare in (np.nan, np.inf, -np.inf, 0.0, -0.0):
                x[rng.random(self.shape) < 0.02] = rare
        dtype = DTYPES[self.element]
        return [np.abs(v).astype(dtype) if self.element.startswith("ui") else v.astype(dtype) for v in (x, b)]


LOW = {
    "f32": "0xff800000",
    "f64": "0xfff0000000000000",
    "bf16": "0xff80",
    "i8": "-128",
    "ui8": "0",
    "i32": "0x80000000",
}
CASES = {
    "rows that do not fill vectors": Case("maximum", "f32", LOW["f32"], (1, 5, 23, 37)),
    "blocks of rows": Case("maximum", "f32", LOW["f32"], (2, 3, 150, 210)),
    "few planes": Case("maximum", "f32", LOW["f32"], (300, 410)),
    "one plane of few columns": Case("maximum", "f32", LOW["f32"], (9, 9)),
    "doubles": Case("minimum", "f64", "0x7ff0000000000000", (7, 20, 31), (2, 5), (1, 3), pads=((0, 1), (2, 4))),
    "bytes": Case("maximum", "i8", LOW["i8"], (4, 40, 70), (3, 4), (2, 4), pads=((2, 0), (3, 1))),
    "bytes without a sign": Case("maximum", "ui8", LOW["ui8"], (4, 40, 70), (3, 3), (1, 1)),
    "least of bytes without a sign": Case("minimum", "ui8", "255", (4, 30, 40), (3, 3), (3, 3)),
    "sums": Case("add", "f32", "0.0", (6, 33, 47), (4, 3), (3, 2), pads=((3, 2), (1, 2))),
    "sums of halves": Case("add", "bf16", "0.0", (6, 33, 47)),
    "halves": Case("maximum", "bf16", LOW["bf16"], (6, 33, 47)),
    "products": Case("multiply", "i32", "1", (3, 18, 22), (2, 2), (1, 1), pads=((1, 1), (1, 0))),
    "truths": Case("or", "i1", "false", (3, 18, 22)),
    "bits": Case("and", "i64", "-1", (3, 18, 22), (3, 2), (2, 2), pads=((1, 1), (1, 1))),
    "holes": Case("maximum", "f32", LOW["f32"], (3, 40, 50), dilations=(2, 3), pads=((2, 2), (3, 3))),
    "no padding": Case("maximum", "f32", LOW["f32"], (3, 40, 50), pads=((0, 0), (0, 0))),
    "columns only": Case("maximum", "f32", LOW["f32"], (3, 20, 50), (1, 5), (1, 1), pads=((0, 0), (2, 2))),
    "a window without a row": Case("maximum", "f32", LOW["f32"], (3, 9, 50), (2, 3), (1, 2), pads=((3, 3), (1, 1))),
    "columns outside of the image": Case(
        "maximum", "f32", LOW["f32"], (3, 9, 5), (3, 3), (1, 2), pads=((1, 1), (7, 9))
    ),
    "a start that counts": Case("maximum", "f32", "1.0", (3, 20, 50)),
    "a sum that starts with a number": Case("add", "i32", "3", (3, 20, 50)),
    "a large window": Case("maximum", "f32", LOW["f32"], (3, 20, 50), (7, 7), (1, 1), pads=((3, 3), (3, 3))),
    "channels": Case("maximum", "f32", LOW["f32"], (2, 23, 17, 37), behind=1),
    "channels of an image": Case("maximum", "f32", LOW["f32"], (151, 90, 24), (3, 2), (1, 2), behind=1),
    "channels, several dimensions outside": Case("minimum", "i32", "0x7FFFFFFF", (2, 3, 9, 8, 21), behind=1),
    "channels, no padding": Case("maximum", "f32", LOW["f32"], (3, 40, 50, 16), pads=((0, 0), (0, 0)), behind=1),
    "channels, padding on one side": Case(
        "maximum", "f32", LOW["f32"], (1, 9, 12, 40), pads=((0, 1), (0, 1)), behind=1
    ),
    "channels, sums": Case("add", "f32", "0.0", (2, 11, 14, 33), (3, 5), (1, 3), pads=((2, 1), (4, 2)), behind=1),
    "channels, halves": Case("maximum", "bf16", LOW["bf16"], (2, 11, 14, 33), behind=1),
    "channels, bytes": Case("maximum", "ui8", LOW["ui8"], (2, 11, 14, 70), behind=1),
    "channels, holes": Case(
        "maximum", "f32", LOW["f32"], (2, 13, 14, 8), dilations=(2, 3), pads=((2, 2), (3, 3)), behind=1
    ),
    "channels, a window without a column": Case(
        "maximum", "f32", LOW["f32"], (2, 9, 5, 16), (2, 3), (1, 1), pads=((0, 0), (4, 4)), behind=1
    ),
    "channels, a start that counts": Case("maximum", "f32", "1.0", (2, 9, 9, 16), behind=1),
    "channels, many kinds": Case(
        "maximum", "f32", LOW["f32"], (2, 20, 20, 16), (7, 7), (1, 1), pads=((3, 3), (3, 3)), behind=1
    ),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_as_the_reference(name: str, threads: int, tmp_path: Path):
    case = CASES[name]
    program = case.program(tmp_path)
    inputs = case.inputs(program)
    (ours,) = lamina.compile(program, options=Options(threads=threads), cache=False)(*inputs)
    (right,) = lamina.interpret(program, inputs)
    if case.kind == "add" and case.element != "i32":
        rtol, atol = (1e-2, 1e-1) if case.element == "bf16" else (1e-5, 1e-4)
        np.testing.assert_allclose(np.float64(ours), np.float64(right), rtol, atol)
    else:
        wide = np.float64 if case.element == "bf16" else ours.dtype  # whose NaN NumPy takes for numbers
        np.testing.assert_array_equal(ours.astype(wide), right.astype(wide))
