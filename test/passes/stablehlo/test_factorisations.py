"""Calls of LAPACK mean the same before and after they become loops: LU, QR, eigenvalues, singular values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lamina.passes.stablehlo.expand_library_calls import ExpandLibraryCalls

from .test_expansions import numbers, outcomes, same, tensor

Array = np.ndarray[Any, Any]
LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


def call(name: str, operands: list[Array], results: list[Array], options: str = "") -> str:
    """A program of one call, whose results have the types of these arrays; `~` in the name is the element type's."""
    target = name.replace("~", LETTERS[operands[0].dtype.name])
    given = ", ".join(f"%x{i}: {kind(x)}" for i, x in enumerate(operands))
    taken, makes = ", ".join(map(kind, operands)), ", ".join(map(kind, results))
    names = ", ".join(f"%x{i}" for i in range(len(operands)))
    made = ", ".join(f"%y#{i}" for i in range(len(results))) if len(results) > 1 else "%y"
    return f"""func.func @main({given}) -> ({makes}) {{
      %y{f":{len(results)}" if len(results) > 1 else ""} = "stablehlo.custom_call"({names})
        <{{api_version = 4 : i32, call_target_name = "lapack_{target}_ffi"}}>
        {{mhlo.backend_config = {{{options}}}}} : ({taken}) -> ({makes})
      func.return {made} : {makes}
    }}"""


def kind(x: Array) -> str:
    """The type of an array, as text."""
    return f"tensor<{'x'.join([*map(str, x.shape), 'i32'])}>" if x.dtype == np.int32 else tensor(x)


def empty(shape: tuple[int, ...], like: Array, dtype: Any = None) -> Array:
    return np.empty((*like.shape[:-2], *shape), dtype or like.dtype)


def rank_two(shape: tuple[int, ...], dtype: Any) -> Array:
    """Matrices whose columns are the sums of two."""
    return numbers((*shape[:-1], 2), dtype) @ numbers((*shape[:-2], 2, shape[-1]), dtype)


REAL, COMPLEX = np.float64, np.complex128
CASES = [((1, 1), REAL), ((5, 5), COMPLEX), ((4, 3), REAL), ((2, 3, 4), COMPLEX), ((0, 3, 3), REAL)]


@pytest.mark.parametrize("shape, dtype", CASES)
def test_lu(shape: tuple[int, ...], dtype: Any):
    a = numbers(shape, dtype)
    text = call("~getrf", [a], [a, empty((min(shape[-2:]),), a, np.int32), empty((), a, np.int32)])
    for x in (a, rank_two(shape, dtype), np.zeros_like(a)):
        expected, found = outcomes(text, [x], ExpandLibraryCalls())
        assert np.array_equal(found[1], expected[1])
        assert same(found[0], expected[0])


@pytest.mark.parametrize("shape, dtype", CASES)
def test_qr(shape: tuple[int, ...], dtype: Any):
    a = numbers(shape, dtype)
    taus = empty((min(shape[-2:]),), a)
    text = call("~geqrf", [a], [a, taus])
    for x in (a, np.zeros_like(a)):
        expected, found = outcomes(text, [x], ExpandLibraryCalls())
        assert all(same(p, q) for p, q in zip(found, expected, strict=True))
    if shape[-2] >= shape[-1]:
        factors, taus = outcomes(text, [a], ExpandLibraryCalls())[1]
        routine = "~ungqr" if np.dtype(dtype).kind == "c" else "~orgqr"
        expected, [q] = outcomes(call(routine, [a, taus], [a]), [factors, taus], ExpandLibraryCalls())
        assert same(q, expected[0])
        assert same(q @ np.triu(factors)[..., : shape[-1], :], a)


@pytest.mark.parametrize(
    "shape, dtype, triangle",
    [
        ((1, 1), REAL, "L"),
        ((2, 2), COMPLEX, "U"),
        ((5, 5), REAL, "U"),
        ((2, 2, 4, 4), COMPLEX, "L"),
        ((0, 3, 3), REAL, "L"),
    ],
)
def test_eigenvalues(shape: tuple[int, ...], dtype: Any, triangle: str):
    a = numbers(shape, dtype)
    routine = "~heevd" if np.dtype(dtype).kind == "c" else "~syevd"
    options = f"mode = 86 : ui8, uplo = {ord(triangle)} : ui8"
    text = call(routine, [a], [a, empty((shape[-1],), a, np.float64), empty((), a, np.int32)], options)
    expected, found = outcomes(text, [a], ExpandLibraryCalls())
    assert all(same(p, q, 1e-11) for p, q in zip(found, expected, strict=True))


def test_eigenvalues_that_are_equal():
    a = np.diag([2.0, 1.0, 2.0, 1.0, 2.0]) + 0.0
    text = call("~syevd", [a], [a, empty((5,), a), empty((), a, np.int32)], "mode = 86 : ui8, uplo = 76 : ui8")
    values, vectors = outcomes(text, [a], ExpandLibraryCalls())[1][1::-1]
    assert np.array_equal(values, [1, 1, 2, 2, 2])
    assert same((vectors * values) @ vectors.T, a)


@pytest.mark.parametrize(
    "shape, dtype, mode",
    [
        ((1, 1), REAL, "S"),
        ((4, 4), COMPLEX, "A"),
        ((5, 3), REAL, "A"),
        ((5, 3), COMPLEX, "S"),
        ((2, 3, 4), REAL, "S"),
        ((2, 3, 4), COMPLEX, "A"),
        ((4, 3), REAL, "N"),
        ((0, 3, 3), REAL, "S"),
    ],
)
def test_singular_values(shape: tuple[int, ...], dtype: Any, mode: str):
    a = numbers(shape, dtype)
    height, width = shape[-2:]
    least = min(height, width)
    left, right = (height, width) if mode == "A" else (least, least)
    kinds = [a, empty((least,), a, np.float64), empty((height, left), a), empty((right, width), a)]
    text = call("~gesdd", [a], [*kinds, empty((), a, np.int32)], f"mode = {ord(mode)} : ui8")
    for x in (a, rank_two(shape, dtype) * 1e-200, np.zeros_like(a)):
        expected, found = outcomes(text, [x], ExpandLibraryCalls())
        _, values, u, v, _ = found
        size = max(1e-300, np.abs(x).max(initial=0))
        assert same(values / size, expected[1] / size, 1e-11)
        if mode != "N":
            assert same((u[..., :least] * values[..., None, :]) @ v[..., :least, :] / size, x / size, 1e-11)
            for unitary in (np.swapaxes(u, -1, -2).conj() @ u, v @ np.swapaxes(v, -1, -2).conj()):
                assert same(unitary, np.broadcast_to(np.eye(unitary.shape[-1]), unitary.shape), 1e-11)
        if x is a and mode == "S":
            assert same(u, expected[2], 1e-10)


def test_what_is_not_finite_stays_so():
    a = np.array([[[1.0, np.nan], [np.nan, 1.0]], [[2.0, 0.0], [0.0, 3.0]]])
    text = call("~syevd", [a], [a, empty((2,), a), empty((), a, np.int32)], "mode = 86 : ui8, uplo = 76 : ui8")
    for made in outcomes(text, [a], ExpandLibraryCalls()):
        assert np.isnan(made[1][0]).all()
        assert np.array_equal(made[1][1], [2, 3])


def test_lu_natively():
    a = numbers((2, 4, 4), np.float32)
    text = call("~getrf", [a], [a, empty((4,), a, np.int32), empty((), a, np.int32)])
    expected, _, native = outcomes(text, [a], ExpandLibraryCalls(), native=True)
    assert np.array_equal(native[1], expected[1])
    assert same(native[0], expected[0], 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_singular_and_eigenvalues_natively(dtype: Any):
    a = numbers((7, 7), dtype)
    real = empty((7,), a, np.float32)
    text = call("~gesdd", [a], [a, real, a, a, empty((), a, np.int32)], "mode = 83 : ui8")
    expected, _, native = outcomes(text, [a], ExpandLibraryCalls(), native=True)
    assert all(same(p, q, 1e-4) for p, q in zip(native, expected, strict=True))
    routine = "~heevd" if np.dtype(dtype).kind == "c" else "~syevd"
    text = call(routine, [a], [a, real, empty((), a, np.int32)], "mode = 86 : ui8, uplo = 76 : ui8")
    expected, _, native = outcomes(text, [a], ExpandLibraryCalls(), native=True)
    assert all(same(p, q, 1e-4) for p, q in zip(native, expected, strict=True))
