"""Fourier transforms of all kinds and of awkward lengths, against NumPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.parser import Parser

import lamina
from lamina.compiler.interpreter import Interpreter
from lamina.compiler.program import Program
from lamina.passes.stablehlo.expand_fft import ExpandFft
from lamina.tools.sources import new_context

Array = np.ndarray[Any, Any]


def native(text: str, x: Array) -> Array:
    context = new_context()
    [found] = lamina.compile(Program(Parser(context, text).parse_module(), context))(x)
    return found


def program(kind: str, operand: str, result: str, lengths: tuple[int, ...]) -> str:
    return f"""func.func @main(%x: {operand}) -> {result} {{
      %y = stablehlo.fft %x, type = {kind}, length = {list(lengths)} : ({operand}) -> {result}
      func.return %y : {result}
    }}"""


def case(kind: str, lengths: tuple[int, ...], part: str = "f64") -> tuple[str, Array, Array]:
    """A program, an input, and what it is to give."""
    half = (*lengths[:-1], lengths[-1] // 2 + 1)
    rng = np.random.default_rng(sum(lengths))
    shapes = {"RFFT": (lengths, half), "IRFFT": (half, lengths)}.get(kind, (lengths, lengths))
    types = [f"tensor<3x{'x'.join(map(str, shape))}x{{}}>" for shape in shapes]
    types = [
        t.format(part if kind == real else f"complex<{part}>") for t, real in zip(types, ("RFFT", "IRFFT"), strict=True)
    ]
    x = rng.standard_normal((3, *shapes[0]))
    x = x if kind == "RFFT" else x + 1j * rng.standard_normal(x.shape)
    function = {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn, "IRFFT": np.fft.irfftn}[kind]
    return program(kind, types[0], types[1], lengths), x, function(x, lengths, tuple(range(1, len(lengths) + 1)))


@pytest.mark.parametrize("kind", ["FFT", "IFFT", "RFFT", "IRFFT"])
@pytest.mark.parametrize("lengths", [(1,), (2,), (7,), (64,), (67,), (130,), (134,), (1024,), (3, 5), (2, 66, 3)])
def test_against_numpy(kind: str, lengths: tuple[int, ...]):
    text, x, expected = case(kind, lengths)
    context = new_context()
    module = Parser(context, text).parse_module()
    ExpandFft().apply(context, module)
    module.verify()
    assert not any(op.name == "stablehlo.fft" for op in module.walk())
    [found] = Interpreter(context).run(module, [x])
    assert np.abs(found - expected).max() <= 1e-14 * np.abs(expected).max() * np.sqrt(max(lengths))


def test_natively():
    text, x, expected = case("FFT", (2, 66), "f32")
    found = native(text, x.astype(np.complex64))
    assert np.abs(found - expected).max() <= 1e-6 * np.abs(expected).max()


def test_what_is_not_finite_spreads():
    text, x, _ = case("FFT", (7,))
    x[1, 3] = np.inf
    found = native(text, x)
    assert np.isfinite(found[[0, 2]]).all() and not np.isfinite(found[1]).any()


def test_of_nothing():
    x = np.zeros((0, 8), np.complex64)
    kind = "tensor<0x8xcomplex<f32>>"
    assert native(program("FFT", kind, kind, (8,)), x).shape == (0, 8)
