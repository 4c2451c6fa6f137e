"""Vectorised loops give the numbers of NumPy for every trip count, and touch nothing beside their elements."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

TRIPS = [1, 2, 3, 7, 8, 9, 15, 16, 31, 32, 33, 45, 63, 64, 77, 130, 197]
Kernel = Callable[..., None]


def guarded(shape: tuple[int, ...], dtype: str = "float32") -> tuple[np.ndarray, np.ndarray]:
    """An array of -7 and its middle, so that stray stores show."""
    size = int(np.prod(shape))
    whole = np.full(size + 128, -7, dtype)
    return whole, whole[64 : 64 + size].reshape(shape)


def untouched(whole: np.ndarray) -> bool:
    return bool((whole[:64] == -7).all() and (whole[-64:] == -7).all())


@pytest.mark.parametrize("n", TRIPS)
@pytest.mark.parametrize("in_place", [False, True])
def test_elementwise(kernel: Kernel, n: int, in_place: bool):
    source = "%y" if in_place else "%x"
    x = np.random.default_rng(0).standard_normal((3, n), dtype=np.float32)
    whole, y = guarded((3, n))
    y[...] = x
    text = f"""
    func.func public @kernel(%x: memref<3x{n}xf32>, %y: memref<3x{n}xf32>) {{
      %two = arith.constant 2.0 : f32
      affine.for %i = 0 to 3 {{
        affine.for %j = 0 to {n} {{
          %a = affine.load {source}[%i, %j] : memref<3x{n}xf32>
          %b = arith.mulf %a, %two : f32
          %c = arith.cmpf ogt, %b, %a : f32
          %d = arith.select %c, %b, %a : f32
          affine.store %d, %y[%i, %j] : memref<3x{n}xf32>
        }}
      }}
      func.return
    }}"""
    kernel(text, "affine-vectorize", [x, y])
    np.testing.assert_array_equal(y, np.maximum(2 * x, x))
    assert untouched(whole)


@pytest.mark.parametrize("n", TRIPS)
def test_reductions(kernel: Kernel, n: int):
    x = np.random.default_rng(0).standard_normal((2, n), dtype=np.float32)
    whole, y = guarded((2, 2))
    text = f"""
    func.func public @kernel(%x: memref<2x{n}xf32>, %y: memref<2x2xf32>) {{
      %zero = arith.constant 1.0 : f32
      %low = arith.constant 0xFF800000 : f32
      affine.for %i = 0 to 2 {{
        %s, %m = affine.for %j = 0 to {n} iter_args(%p = %zero, %q = %low) -> (f32, f32) {{
          %a = affine.load %x[%i, %j] : memref<2x{n}xf32>
          %b = arith.addf %a, %p : f32
          %c = arith.maximumf %q, %a : f32
          affine.yield %b, %c : f32, f32
        }}
        affine.store %s, %y[%i, 0] : memref<2x2xf32>
        affine.store %m, %y[%i, 1] : memref<2x2xf32>
      }}
      func.return
    }}"""
    kernel(text, "affine-vectorize", [x, y])
    np.testing.assert_allclose(y[:, 0], 1 + x.sum(1, dtype=np.float64), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(y[:, 1], x.max(1))
    x[0, n // 2] = np.nan
    kernel(text, "affine-vectorize", [x, y])
    assert np.isnan(y[0]).all() and not np.isnan(y[1]).any()
    assert untouched(whole)


@pytest.mark.parametrize("n", [5, 24, 100])
def test_integers_indices_and_gathers(kernel: Kernel, n: int):
    x = np.random.default_rng(0).integers(-100, 100, (n, 3)).astype(np.int8)
    whole, y = guarded((n,), "int32")
    text = f"""
    func.func public @kernel(%x: memref<{n}x3xi8>, %y: memref<{n}xi32>) {{
      affine.for %j = 0 to {n} {{
        %a = affine.load %x[%j, 1] : memref<{n}x3xi8>
        %b = arith.extsi %a : i8 to i32
        %k = affine.apply affine_map<(d0) -> (d0 * 2 + 1)>(%j)
        %i = arith.index_cast %k : index to i32
        %c = arith.muli %b, %i : i32
        %d = arith.addi %c, %b : i32
        %e = arith.maxsi %d, %i : i32
        affine.store %e, %y[%j] : memref<{n}xi32>
      }}
      func.return
    }}"""
    kernel(text, "affine-vectorize", [x, y])
    k = 2 * np.arange(n) + 1
    b = x[:, 1].astype(np.int32)
    np.testing.assert_array_equal(y, np.maximum(b * k + b, k))
    assert untouched(whole)


@pytest.mark.parametrize("shape", [(8, 8), (9, 56), (20, 17), (64, 33), (7, 40)])
def test_transposition_with_arithmetic(kernel: Kernel, shape: tuple[int, int]):
    rows, columns = shape
    rng = np.random.default_rng(0)
    x, b = rng.standard_normal((columns, rows), dtype=np.float32), rng.standard_normal(rows, dtype=np.float32)
    z = rng.standard_normal((rows, columns), dtype=np.float32)
    whole, y = guarded((rows, columns))
    text = f"""
    func.func public @kernel(%x: memref<{columns}x{rows}xf32>, %b: memref<{rows}xf32>,
                             %z: memref<{rows}x{columns}xf32>, %y: memref<{rows}x{columns}xf32>) {{
      affine.parallel (%i) = (0) to ({rows}) {{
        %c = affine.load %b[%i] : memref<{rows}xf32>
        affine.for %j = 0 to {columns} {{
          %a = affine.load %x[%j, %i] : memref<{columns}x{rows}xf32>
          %d = arith.addf %a, %c : f32
          %e = affine.load %z[%i, %j] : memref<{rows}x{columns}xf32>
          %f = arith.mulf %d, %e : f32
          affine.store %f, %y[%i, %j] : memref<{rows}x{columns}xf32>
        }}
      }}
      func.return
    }}"""
    kernel(text, "affine-vectorize", [x, b, z, y])
    np.testing.assert_array_equal(y, (x.T + b[:, None]) * z)
    assert untouched(whole)


@pytest.mark.parametrize("n", TRIPS)
@pytest.mark.parametrize("backwards", [False, True])
def test_every_other_element_and_elements_backwards(kernel: Kernel, n: int, backwards: bool):
    source, x = guarded((3, n if backwards else 2 * n - 1))  # nothing behind the last element may be read
    x[...] = np.random.default_rng(0).standard_normal(x.shape, dtype=np.float32)
    whole, y = guarded((3, n))
    place = f"-%j + {n - 1}" if backwards else "%j * 2"
    text = f"""
    func.func public @kernel(%x: memref<3x{x.shape[1]}xf32>, %y: memref<3x{n}xf32>) {{
      affine.for %i = 0 to 3 {{
        affine.for %j = 0 to {n} {{
          %a = affine.load %x[%i, {place}] : memref<3x{x.shape[1]}xf32>
          affine.store %a, %y[%i, %j] : memref<3x{n}xf32>
        }}
      }}
      func.return
    }}"""
    kernel(text, "affine-vectorize", [x, y])
    np.testing.assert_array_equal(y, x[:, ::-1] if backwards else x[:, ::2])
    assert untouched(whole) and untouched(source)


@pytest.mark.parametrize("permutation", [(2, 1, 0), (0, 2, 1), (1, 2, 0), (2, 0, 1)])
@pytest.mark.parametrize("shape", [(9, 3, 17), (8, 5, 8), (33, 2, 70), (65, 4, 64)])
def test_transposes_of_three_dimensions(kernel: Kernel, permutation: tuple[int, ...], shape: tuple[int, ...]):
    x = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    want = x.transpose(permutation)
    whole, y = guarded(want.shape)
    source, target = ("memref<" + "x".join(map(str, a.shape)) + "xf32>" for a in (x, want))
    subscripts = ", ".join(f"%i{permutation.index(d)}" for d in range(3))
    text = f"""
    func.func public @kernel(%x: {source}, %y: {target}) {{
      affine.for %i0 = 0 to {want.shape[0]} {{
        affine.for %i1 = 0 to {want.shape[1]} {{
          affine.for %i2 = 0 to {want.shape[2]} {{
            %a = affine.load %x[{subscripts}] : {source}
            affine.store %a, %y[%i0, %i1, %i2] : {target}
          }}
        }}
      }}
      func.return
    }}"""
    kernel(text, "affine-loop-interchange,affine-loop-tile,affine-vectorize", [x, y])
    np.testing.assert_array_equal(y, want)
    assert untouched(whole)


@pytest.mark.parametrize("type_, dtype", [("i8", "int8"), ("i16", "int16")])
@pytest.mark.parametrize("shape", [(16, 16), (8, 9), (15, 40), (17, 33), (70, 64)])
def test_transpositions_of_narrow_elements(kernel: Kernel, shape: tuple[int, int], type_: str, dtype: str):
    rows, columns = shape
    x = np.random.default_rng(0).integers(-128, 128, (columns, rows)).astype(dtype)
    whole, y = guarded(shape, dtype)
    text = f"""
    func.func public @kernel(%x: memref<{columns}x{rows}x{type_}>, %y: memref<{rows}x{columns}x{type_}>) {{
      %one = arith.constant 1 : {type_}
      affine.for %i = 0 to {rows} {{
        affine.for %j = 0 to {columns} {{
          %a = affine.load %x[%j, %i] : memref<{columns}x{rows}x{type_}>
          %b = arith.xori %a, %one : {type_}
          affine.store %b, %y[%i, %j] : memref<{rows}x{columns}x{type_}>
        }}
      }}
      func.return
    }}"""
    kernel(text, "affine-loop-tile,affine-vectorize", [x, y])
    np.testing.assert_array_equal(y, x.T ^ 1)
    assert untouched(whole)


@pytest.mark.parametrize("shape", [(77, 100), (64, 333), (91, 73)])
def test_tiles_that_stick_out(kernel: Kernel, shape: tuple[int, int]):
    x = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    whole, y = guarded(shape[::-1])
    columns, rows = shape
    text = f"""
    func.func public @kernel(%x: memref<{columns}x{rows}xf32>, %y: memref<{rows}x{columns}xf32>) {{
      affine.for %i = 0 to {rows} {{
        affine.for %j = 0 to {columns} {{
          %a = affine.load %x[%j, %i] : memref<{columns}x{rows}xf32>
          affine.store %a, %y[%i, %j] : memref<{rows}x{columns}xf32>
        }}
      }}
      func.return
    }}"""
    kernel(text, "affine-loop-tile,affine-vectorize", [x, y])
    np.testing.assert_array_equal(y, x.T)
    assert untouched(whole)


@pytest.mark.parametrize("shape", [(9, 1, 801), (8, 3, 400), (3, 2, 800)])
def test_rows_taken_into_one(kernel: Kernel, shape: tuple[int, int, int]):
    x = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    whole, y = guarded(shape[1:])
    y[...] = 0
    planes, rows, columns = shape
    text = f"""
    func.func public @kernel(%x: memref<{planes}x{rows}x{columns}xf32>, %y: memref<{rows}x{columns}xf32>) {{
      affine.for %k = 0 to {planes} {{
        affine.for %i = 0 to {rows} {{
          affine.for %j = 0 to {columns} {{
            %s = affine.load %y[%i, %j] : memref<{rows}x{columns}xf32>
            %a = affine.load %x[%k, %i, %j] : memref<{planes}x{rows}x{columns}xf32>
            %t = arith.addf %s, %a : f32
            affine.store %t, %y[%i, %j] : memref<{rows}x{columns}xf32>
          }}
        }}
      }}
      func.return
    }}"""
    kernel(text, "affine-loop-unroll-jam,affine-scalrep,affine-vectorize", [x, y])
    want = np.zeros_like(y)
    for plane in x:  # in this order
        want += plane
    np.testing.assert_array_equal(y, want)
    assert untouched(whole)
