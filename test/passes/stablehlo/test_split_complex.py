"""Complex functions mean the same as pairs of real ones, on edge values too, and natively."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.parser import Parser

import lamina
from lamina.compiler.interpreter import Interpreter
from lamina.compiler.program import Program
from lamina.passes.stablehlo.split_complex import SplitComplex
from lamina.tools.sources import new_context

Array = np.ndarray[Any, Any]
FINITE = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 3.0, -2.5, 1e30, -1e30, 1e-30, 3e-39, 300.7, -129.2, 88.0, 0.999999]
ENDLESS = [np.inf, -np.inf, np.nan]


def grid(parts: list[float], dtype: Any) -> Array:
    values = np.empty(len(parts) ** 2, dtype)
    values.real, values.imag = np.repeat(parts, len(parts)), np.tile(parts, len(parts))
    return values


def outcomes(text: str, inputs: list[Array]) -> tuple[list[Array], list[Array]]:
    """What a program gives before and after the pass; complex arrays go in and out part by part."""
    context = new_context()
    module = Parser(context, text).parse_module()
    expected = Interpreter(context).run(module, inputs)
    SplitComplex().apply(context, module)
    module.verify()
    real = [x.view(x.real.dtype).reshape(*x.shape, 2) if x.dtype.kind == "c" else x for x in inputs]
    found = Interpreter(context).run(module, real)
    return expected, [f.view(e.dtype).reshape(e.shape) for e, f in zip(expected, found, strict=True)]


def native(text: str, inputs: list[Array]) -> list[Array]:
    context = new_context()
    return list(lamina.compile(Program(Parser(context, text).parse_module(), context))(*inputs))


def near(a: Array, b: Array, ulps: Any) -> Array:
    """Where complex numbers are the same, or their distance is small for their size."""
    with np.errstate(all="ignore"):
        close = np.abs(a - b) <= ulps * np.finfo(b.dtype).eps * np.abs(b)
    same = [(p == q) | (np.isnan(p) & np.isnan(q)) for p, q in ((a.real, b.real), (a.imag, b.imag))]
    return close | (same[0] & same[1])


def elementwise(name: str, kind: str, inputs: list[Array]) -> tuple[Array, Array]:
    type_ = f"tensor<{inputs[0].size}xcomplex<{kind}>>"
    result = type_ if name != "abs" else f"tensor<{inputs[0].size}x{kind}>"
    signature = type_ if name != "abs" else f"({type_}) -> {result}"
    arguments = ", ".join(f"%{i}: {type_}" for i in range(len(inputs)))
    operands = ", ".join(f"%{i}" for i in range(len(inputs)))
    text = f"""func.func @main({arguments}) -> {result} {{
      %y = stablehlo.{name} {operands} : {signature}
      func.return %y : {result}
    }}"""
    expected, found = outcomes(text, inputs)
    return expected[0], found[0]


UNARY = (
    *("abs", "cbrt", "cosine", "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic"),
    *("negate", "rsqrt", "sign", "sine", "sqrt", "tan", "tanh"),
)
EVERYWHERE = ("abs", "negate", "rsqrt", "sign", "sqrt")  # the others differ in which NaN an infinite number leads to


@pytest.mark.parametrize("kind, dtype", [("f32", np.complex64), ("f64", np.complex128)])
@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, kind: str, dtype: Any):
    values = grid(FINITE + ENDLESS if name in EVERYWHERE else FINITE, dtype)
    if name == "exponential_minus_one":
        values = values[np.abs(values.real) < 80]  # beyond, NumPy's imaginary part of a real number is NaN
    expected, found = elementwise(name, kind, [values])
    assert near(found, expected, 16).all()


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "power"])
def test_binary(name: str):
    values = grid(FINITE + ENDLESS, np.complex128)
    rng = np.random.default_rng(0)
    x, y = values[rng.integers(0, values.size, (2, 3000))]
    ulps: Any = 16
    if name == "power":
        finite = np.isfinite(x) & np.isfinite(y) & (np.abs(y) < 1e3)
        x, y = x[finite], y[finite]
        with np.errstate(all="ignore"):
            ulps = 16 * np.nan_to_num(1 + np.abs(y * np.log(x)))  # the error of the exponent
    expected, found = elementwise(name, "f64", [x, y])
    subnormal = (np.abs(expected) < 1e-300) & (expected != 0)
    beyond = np.isinf(found) & np.isnan(expected) & (name == "power")  # too large: NumPy may say NaN
    assert (near(found, expected, ulps) | subnormal | beyond).all()


PROGRAM = """
func.func @main(%x: tensor<3x2xcomplex<f32>>, %k: tensor<i32>) -> (tensor<2x3xcomplex<f32>>, tensor<3x2xi1>, tensor<complex<f32>>) {
  %one = stablehlo.constant dense<(1.0, -2.0)> : tensor<complex<f32>>
  %i = stablehlo.iota dim = 1 : tensor<3x2xcomplex<f32>>
  %b = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<complex<f32>>) -> tensor<3x2xcomplex<f32>>
  %y = stablehlo.add %i, %b : tensor<3x2xcomplex<f32>>
  %e = stablehlo.compare NE, %x, %y : (tensor<3x2xcomplex<f32>>, tensor<3x2xcomplex<f32>>) -> tensor<3x2xi1>
  %c = "stablehlo.case"(%k) ({
    stablehlo.return %x : tensor<3x2xcomplex<f32>>
  }, {
    %n = stablehlo.negate %x : tensor<3x2xcomplex<f32>>
    stablehlo.return %n : tensor<3x2xcomplex<f32>>
  }) : (tensor<i32>) -> tensor<3x2xcomplex<f32>>
  %t = stablehlo.transpose %c, dims = [1, 0] : (tensor<3x2xcomplex<f32>>) -> tensor<2x3xcomplex<f32>>
  %p = stablehlo.dot_general %c, %t, contracting_dims = [1] x [0] : (tensor<3x2xcomplex<f32>>, tensor<2x3xcomplex<f32>>) -> tensor<3x3xcomplex<f32>>
  %s = stablehlo.reduce(%p init: %one) applies stablehlo.multiply across dimensions = [0, 1] : (tensor<3x3xcomplex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
  func.return %t, %e, %s : tensor<2x3xcomplex<f32>>, tensor<3x2xi1>, tensor<complex<f32>>
}
"""  # noqa: E501


def test_a_program_natively():
    rng = np.random.default_rng(1)
    x = (rng.standard_normal((3, 2)) + 1j * rng.standard_normal((3, 2))).astype(np.complex64)
    x[1, 1] = 2 - 2j
    inputs = [x, np.array(1, np.int32)]
    expected, found = outcomes(PROGRAM, inputs)
    for values in (found, native(PROGRAM, inputs)):
        assert all(near(a, b, 64).all() for a, b in zip(values, expected, strict=True) if b.dtype.kind == "c")
        assert np.array_equal(values[1], expected[1])


def test_nothing_of_no_elements():
    text = """func.func @main(%x: tensor<0x2xcomplex<f32>>) -> tensor<0x2xcomplex<f32>> {
      %y = stablehlo.sqrt %x : tensor<0x2xcomplex<f32>>
      func.return %y : tensor<0x2xcomplex<f32>>
    }"""
    assert native(text, [np.zeros((0, 2), np.complex64)])[0].shape == (0, 2)
