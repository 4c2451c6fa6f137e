"""Random bits, factorisations and triangular systems mean the same before and after they are expanded."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from xdsl.parser import Parser
from xdsl.passes import ModulePass

import lamina
from lamina.compiler.interpreter import Interpreter
from lamina.compiler.program import Program
from lamina.passes.stablehlo.expand_library_calls import ExpandLibraryCalls
from lamina.passes.stablehlo.expand_linear_algebra import ExpandLinearAlgebra
from lamina.passes.stablehlo.expand_random import ExpandRandom
from lamina.tools.sources import new_context

Array = np.ndarray[Any, Any]


def outcomes(text: str, inputs: list[Array], *passes: ModulePass, native: bool = False) -> list[list[Array]]:
    """What a program gives by the reference, after the passes, and as native code if that is asked for."""
    context = new_context()
    module = Parser(context, text).parse_module()
    program = Program(module.clone(), context)
    before = {op.name for op in module.walk()}
    found = [Interpreter(context).run(module, inputs)]
    for each in passes:
        each.apply(context, module)
    module.verify()
    assert before - {op.name for op in module.walk()}
    found.append(Interpreter(context).run(module, inputs))
    return [*found, list(lamina.compile(program)(*inputs))] if native else found


def random_bits(algorithm: str, words: int, shape: tuple[int, ...], element: str) -> str:
    state, bits = f"tensor<{words}xui64>", f"tensor<{'x'.join([*map(str, shape), element])}>"
    return f"""func.func @main(%s: {state}) -> ({state}, {bits}) {{
      %n, %b = stablehlo.rng_bit_generator %s, algorithm = {algorithm} : ({state}) -> ({state}, {bits})
      func.return %n, %b : {state}, {bits}
    }}"""


@pytest.mark.parametrize("algorithm, words", [("THREE_FRY", 2), ("PHILOX", 2), ("PHILOX", 3)])
def test_random_bits(algorithm: str, words: int):
    state = np.array([0x0123456789ABCDEF, 2**64 - 2, 2**64 - 1], np.uint64)[:words]  # the counter carries
    for shape, element in product(
        [(), (5,), (3, 5), (2, 3), (3, 1, 4), (0, 3)], ["ui8", "ui16", "ui32", "ui64", "i32"]
    ):
        text = random_bits(algorithm, words, shape, element)
        for expected, found in zip(*outcomes(text, [state], ExpandRandom()), strict=True):
            assert np.array_equal(found, expected), (shape, element)


def test_random_bits_natively():
    text = random_bits("PHILOX", 3, (3, 5), "ui32")
    expected, _, native = outcomes(text, [np.array([1, 2**64 - 2, 3], np.uint64)], ExpandRandom(), native=True)
    assert all(np.array_equal(a, b) for a, b in zip(native, expected, strict=True))


def numbers(shape: tuple[int, ...], dtype: Any) -> Array:
    rng = np.random.default_rng(sum(shape))
    values = rng.standard_normal(shape)
    return (values + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else values).astype(dtype)


def tensor(x: Array) -> str:
    parts = x.real.dtype.itemsize * 8
    element = f"complex<f{parts}>" if x.dtype.kind == "c" else f"f{parts}"
    return f"tensor<{'x'.join([*map(str, x.shape), element])}>"


def same(a: Array, b: Array, limit: float = 1e-12) -> bool:
    return np.allclose(a, b, rtol=limit, atol=limit, equal_nan=True)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (2, 3, 4, 4), (0, 0), (0, 3, 3)])
@pytest.mark.parametrize("lower", [True, False])
def test_cholesky(shape: tuple[int, ...], lower: bool, dtype: Any):
    x = numbers(shape, dtype)
    a = x @ np.conj(np.swapaxes(x, -1, -2)) + 3 * np.eye(shape[-1])
    other = np.triu_indices(shape[-1], 1) if lower else np.tril_indices(shape[-1], -1)
    a[(..., *other)] = np.nan  # nobody reads it
    text = f"""func.func @main(%a: {tensor(a)}) -> {tensor(a)} {{
      %l = stablehlo.cholesky %a, lower = {str(lower).lower()} : {tensor(a)}
      func.return %l : {tensor(a)}
    }}"""
    expected, found = outcomes(text, [a], ExpandLinearAlgebra())
    assert same(found[0], expected[0]) and (np.isfinite(expected[0]).all())


def test_cholesky_of_what_is_not_positive():
    a = np.diag([4.0, 9.0, -1.0, 16.0, 25.0])
    text = f"""func.func @main(%a: {tensor(a)}) -> ({tensor(a)}, tensor<i32>) {{
      %0:2 = "stablehlo.custom_call"(%a) <{{api_version = 4 : i32, call_target_name = "lapack_dpotrf_ffi"}}>
        {{mhlo.backend_config = {{uplo = 76 : ui8}}}} : ({tensor(a)}) -> ({tensor(a)}, tensor<i32>)
      func.return %0#0, %0#1 : {tensor(a)}, tensor<i32>
    }}"""
    passes = (ExpandLibraryCalls(), ExpandLinearAlgebra())
    for found in outcomes(text, [a], *passes, native=True):
        assert found[1] == 1 and np.array_equal(np.isnan(np.diag(found[0])), [False, False, True, True, True])


SIDES = list(product([True, False], [True, False], [True, False], ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"]))


@pytest.mark.parametrize("left, lower, unit, transposed", SIDES)
def test_triangular_solve(left: bool, lower: bool, unit: bool, transposed: str):
    for dtype, batch in ((np.float64, ()), (np.complex128, (2, 3))):
        n = 4 if left else 3
        a, b = numbers((*batch, n, n), dtype) + 4 * np.eye(n), numbers((*batch, 4, 3), dtype)
        other = np.triu_indices(n, 1) if lower else np.tril_indices(n, -1)
        a[(..., *other)] = np.nan  # nobody reads it
        text = f"""func.func @main(%a: {tensor(a)}, %b: {tensor(b)}) -> {tensor(b)} {{
          %x = "stablehlo.triangular_solve"(%a, %b) <{{left_side = {str(left).lower()}, lower = {str(lower).lower()},
            unit_diagonal = {str(unit).lower()}, transpose_a = #stablehlo<transpose {transposed}>}}>
            : ({tensor(a)}, {tensor(b)}) -> {tensor(b)}
          func.return %x : {tensor(b)}
        }}"""
        expected, found = outcomes(text, [a, b], ExpandLinearAlgebra())
        assert same(found[0], expected[0]) and np.isfinite(expected[0]).all()


def test_systems_natively():
    a, b = numbers((2, 5, 5), np.float32) + 4 * np.eye(5, dtype=np.float32), numbers((2, 5, 3), np.float32)
    config = "{side = 76 : ui8, uplo = 85 : ui8, trans_x = 84 : ui8, diag = 78 : ui8}"
    text = f"""func.func @main(%a: {tensor(a)}, %b: {tensor(b)}) -> {tensor(b)} {{
      %x = "stablehlo.custom_call"(%a, %b) <{{api_version = 4 : i32, call_target_name = "lapack_strsm_ffi"}}>
        {{mhlo.backend_config = {config}}} : ({tensor(a)}, {tensor(b)}) -> {tensor(b)}
      func.return %x : {tensor(b)}
    }}"""
    expected, found, native = outcomes(text, [a, b], ExpandLibraryCalls(), ExpandLinearAlgebra(), native=True)
    assert same(found[0], expected[0], 1e-5) and same(native[0], expected[0], 1e-5)
    assert same(np.swapaxes(np.triu(a), -1, -2) @ native[0], b, 1e-5)
