"""The errors that docs/math.md states, over all of f32: a dense sample of the bit patterns, one in 17 when slow."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lamina.compiler.machine import Machine

Array = np.ndarray[Any, np.dtype[Any]]
Kernel = Callable[..., None]
SIZE = 1 << 22
X86 = Machine.host().triple.startswith("x86_64")
MACHINES = ["", *["x86-64"] * X86]  # this one, and one that has no tables in registers, nor fused multiply-adds
PAGE = Path(__file__).parents[3] / "docs" / "math.md"
FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
}


def text(name: str, type_: str) -> str:
    """`math.name` on vectors."""
    return f"""
    func.func public @kernel(%x: memref<{SIZE}x{type_}>, %y: memref<{SIZE}x{type_}>) {{
      affine.for %i = 0 to {SIZE} step 8 {{
        %a = affine.vector_load %x[%i] : memref<{SIZE}x{type_}>, vector<8x{type_}>
        %b = math.{name} %a : vector<8x{type_}>
        affine.vector_store %b, %y[%i] : memref<{SIZE}x{type_}>, vector<8x{type_}>
      }}
      func.return
    }}"""


def worst(name: str, stride: int, kernel: Kernel) -> tuple[float, float]:
    """The largest error in ulp, and where; infinite where NaN, infinities or the sign of zero are wrong."""
    most, where = 0.0, 0.0
    for first in range(0, 1 << 32, SIZE * stride):
        bits = np.arange(first, min(first + SIZE * stride, 1 << 32), stride, dtype=np.uint64).astype(np.uint32)
        x = np.resize(bits, SIZE).view(np.float32)
        got = np.zeros_like(x)
        kernel(text(name, "f32"), "math-expand", [x, got])
        with np.errstate(all="ignore"):
            wide = x.astype(np.float64)
            if name == "erf":
                want = np.zeros_like(wide)
                kernel(text(name, "f64"), "math-expand", [wide, want])
            else:
                want = FUNCTIONS[name](wide)
            rounded = want.astype(np.float32)
            error = np.abs(got - want) / np.spacing(np.abs(rounded)).astype(np.float64)
        same = (got == rounded) & (np.signbit(got) == np.signbit(rounded)) | np.isnan(got) & np.isnan(rounded)
        error = np.where(same, np.minimum(np.nan_to_num(error), 0.5), error)
        broken = ~same & (~np.isfinite(got) | (got == 0) & (rounded == 0))
        # the largest finite number beside infinity is one ulp off
        edge = np.isinf(got) ^ np.isinf(rounded)
        near = edge & ~np.isnan(got) & (np.minimum(np.abs(got), np.abs(rounded)) > np.float32(3.402823e38))
        error = np.where(near, 1.0, np.where(broken, np.inf, error))
        place = int(np.argmax(error))
        if error[place] > most:
            most, where = float(error[place]), float(x[place])
    return most, where


@pytest.mark.parametrize("machine", MACHINES)
def test_exp_of_what_is_not_above_zero(machine: str, kernel: Kernel):
    bits = np.arange(1 << 31, (0x7F80 << 16) + (1 << 31) + 1, 521, dtype=np.uint64).astype(np.uint32)
    special = np.array(
        [0.0, -0.0, -np.inf, np.nan, -87.33655, -87.4, -103.9, -104.0, -104.1, -132.39, -132.4, -1e9], np.float32
    )
    x = np.resize(np.concatenate([special, bits.view(np.float32)]), SIZE)
    got = np.zeros_like(x)
    attributed = text("exp", "f32").replace("%a :", "%a {below_one} :")
    kernel(attributed, "math-expand", [x, got], machine=machine)
    with np.errstate(all="ignore"):
        want = np.exp(x.astype(np.float64))
        error = np.abs(got - want) / np.spacing(want.astype(np.float32)).astype(np.float64)
    assert np.array_equal(np.isnan(x), np.isnan(got))
    assert np.nanmax(error) <= documented()["exp"]
    assert got[2] == 0 and got[0] == 1


@pytest.mark.parametrize("machine", MACHINES)
def test_exp_as_a_weight(machine: str, kernel: Kernel):
    bits = np.arange(1 << 31, (0x7F80 << 16) + (1 << 31) + 1, 521, dtype=np.uint64).astype(np.uint32)
    special = np.array([0.0, -0.0, -np.inf, np.nan, -86.99, -87.0, -87.33655, -87.4, -100.0, -104.0, -1e9], np.float32)
    x = np.resize(np.concatenate([special, bits.view(np.float32)]), SIZE)
    got = np.zeros_like(x)
    kernel(text("exp", "f32").replace("%a :", "%a {weight} :"), "math-expand", [x, got], machine=machine)
    least = float(np.finfo(np.float32).tiny)
    with np.errstate(all="ignore"):
        want = np.exp(x.astype(np.float64))
        error = np.abs(got - want) / np.spacing(want.astype(np.float32)).astype(np.float64)
    assert np.array_equal(np.isnan(x), np.isnan(got))
    assert np.max(error[want >= 2 * least]) <= documented()["exp"]
    assert np.all((got == 0) | (got >= least) | np.isnan(got))  # what is slow to multiply
    assert np.nanmax(np.abs(got - want)[want < 2 * least]) <= 1.7e-38
    assert np.all(got[want < least] == 0) and got[0] == 1


def erf_of_a_quotient(kernel: Kernel, end: str) -> tuple[Array, Array, Array]:
    """x over all of f32, `end` of erf(x / sqrt 2) in f32, and erf of the exact quotient."""
    bits = np.arange(0, 1 << 32, 1021, dtype=np.uint64).astype(np.uint32)
    x = np.resize(np.concatenate([np.array([0.0, -0.0, np.inf, -np.inf, np.nan], np.float32), bits.view("f4")]), SIZE)
    got, want = np.zeros_like(x), np.zeros(SIZE)
    body = f"""
        %root = arith.constant dense<1.41421354> : vector<8xf32>
        %one = arith.constant dense<1.0> : vector<8xf32>
        %q = arith.divf %a, %root : vector<8xf32>
        %r = math.erf %q : vector<8xf32>
        {end}"""
    kernel(text("erf", "f32").replace("%b = math.erf %a : vector<8xf32>", body), "math-expand", [x, got])
    with np.errstate(all="ignore"):
        quotient = x.astype(np.float64) / float(np.float32(np.sqrt(2)))
        kernel(text("erf", "f64"), "math-expand", [quotient, want])
    assert np.array_equal(np.isnan(got), np.isnan(x))
    return x, got, want


def test_erf_of_a_quotient(kernel: Kernel):
    _, got, want = erf_of_a_quotient(kernel, "%b = arith.mulf %r, %one : vector<8xf32>")
    with np.errstate(all="ignore"):
        rounded = want.astype(np.float32)
        error = np.abs(got - want) / np.spacing(np.abs(rounded)).astype(np.float64)
    stated = re.search(r"of a quotient by a constant ([\d.]+)", PAGE.read_text())
    assert stated is not None
    assert np.nanmax(np.where(np.abs(rounded) < 1e-37, 0, error)) <= float(stated[1])
    assert [*got[:4]] == [0, 0, 1, -1] and not np.signbit(got[0]) and np.signbit(got[1])


def test_erf_beside_one(kernel: Kernel):
    _, got, want = erf_of_a_quotient(kernel, "%b = arith.addf %r, %one : vector<8xf32>")
    stated = re.search(r"what is added to 1 ([\d.]+) ulp of 1", PAGE.read_text())
    assert stated is not None
    assert np.nanmax(np.abs(got - (1 + want))) <= float(stated[1]) * np.spacing(np.float32(1))
    assert [*got[:4]] == [1, 1, 2, 0]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_exp_beside_one(kernel: Kernel, element: str, machine: str):
    stated = re.search(r"beside 1 ([\d.]+) ulp of 1 \+ e\^x", PAGE.read_text())
    assert stated is not None
    bits = np.arange(0, 1 << 32, 1021, dtype=np.uint64).astype(np.uint32)
    edges = np.array([0, -0.0, np.inf, -np.inf, np.nan, 88.3, 88.4, 88.72, 88.73, 89, 90, 3e38, -87.3, -87.4], "f4")
    with np.errstate(invalid="ignore"):
        x = np.resize(np.concatenate([edges, bits.view("f4")]), SIZE).astype({"f32": "f4", "f64": "f8"}[element])
    if element == "f64":
        x[: SIZE // 2] *= 8  # to where e^x is infinite, and beyond
    got = np.zeros_like(x)
    body = f"""
        %one = arith.constant dense<1.0> : vector<8x{element}>
        %e = math.exp %a : vector<8x{element}>
        %b = arith.addf %e, %one : vector<8x{element}>"""
    whole = text("exp", element).replace(f"%b = math.exp %a : vector<8x{element}>", body)
    kernel(whole, "math-expand", [x, got], machine=machine)
    with np.errstate(all="ignore"):
        want = np.exp(x.astype(np.longdouble)) + 1
        rounded = want.astype(x.dtype)
        error = np.abs(got - want) / np.spacing(rounded)
        edge = np.isinf(got) | np.isinf(rounded)  # the largest finite number beside infinity is one ulp off
        largest = np.minimum(got, rounded) >= np.finfo(x.dtype).max * (1 - 4 * np.finfo(x.dtype).eps)
    assert np.array_equal(np.isnan(got), np.isnan(x))
    assert largest[edge & ~np.isnan(x)].all()
    assert np.nanmax(np.where(edge, 0, error)) <= float(stated[1])


def documented() -> dict[str, float]:
    """Function and stated bound, from the table of the page."""
    rows = re.findall(r"^\| `math\.(\w+)` \| ([\d.]+) \|", PAGE.read_text(), re.MULTILINE)
    return {name: float(bound) for name, bound in rows}


def test_the_page_names_every_function():
    assert set(documented()) == {*FUNCTIONS, "erf"}
    assert max(documented().values()) <= 4


@pytest.mark.parametrize("name", [*FUNCTIONS, "erf"])
def test_errors_are_as_documented(name: str, kernel: Kernel):
    error, where = worst(name, 1021, kernel)
    assert error <= documented()[name], f"{name}({where!r}): {error:.3f} ulp"


@pytest.mark.skipif("avx512f" not in Machine.host().features, reason="this machine has no AVX-512")
@pytest.mark.parametrize("name", ["exp", "erf"])
@pytest.mark.parametrize(
    ("machine", "what"), [("x86-64-avx512", r"`math.{}`[^.]* below ([\d.]+) ulp"), ("x86-64-avx2", r"{}` \| ([\d.]+)")]
)
def test_with_and_without_tables(name: str, machine: str, what: str, kernel: Kernel):
    stated = re.search(what.format(name), PAGE.read_text())
    assert stated is not None
    error, where = worst(name, 1021, partial(kernel, machine=machine))
    assert error <= float(stated[1]), f"{name}({where!r}): {error:.3f} ulp"


@pytest.mark.skipif(not X86, reason="this machine is no x86-64")
def test_exp_without_tables(kernel: Kernel):
    error, where = worst("exp", 1021, partial(kernel, machine="x86-64"))
    assert error <= documented()["exp"], f"exp({where!r}): {error:.3f} ulp"


@pytest.mark.skipif("avx2" not in Machine.host().features, reason="this machine has no AVX2")
def test_exp_by_short_table(kernel: Kernel):
    stated = re.search(r"With AVX2 [^.]*\.py`[^.]*\. The error of `math.exp` is below ([\d.]+) ulp", PAGE.read_text())
    assert stated is not None
    error, where = worst("exp", 1021, partial(kernel, machine="x86-64-avx2"))
    assert error <= float(stated[1]), f"exp({where!r}): {error:.3f} ulp"


@pytest.mark.skipif("avx512f" not in Machine.host().features, reason="this machine has no AVX-512")
def test_erf_by_table_ends_at_one(kernel: Kernel):
    x = np.resize(np.append(np.linspace(0, 12, SIZE - 3), [40, 3e38, np.inf]), SIZE).astype(np.float32)
    got = np.zeros_like(x)
    kernel(text("erf", "f32"), "math-expand", [x, got], machine="x86-64-avx512")
    assert got.max() == 1 and np.all(got[x >= 3.87] == 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FUNCTIONS, "erf"])
def test_errors_are_as_documented_densely(name: str, kernel: Kernel):
    error, where = worst(name, 17, kernel)
    assert error <= documented()[name], f"{name}({where!r}): {error:.3f} ulp"
