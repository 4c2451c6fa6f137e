"""What lowered kernels compute, against NumPy: conversions, division, masks, vectors, views."""

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

Array = np.ndarray[Any, np.dtype[Any]]
CallKernel = Callable[..., None]


def elementwise(body: str, types: Sequence[str], count: int, result: str) -> str:
    """A kernel that applies `body` (from %x, %y, … to %r) to `count` elements one by one."""
    names = "xyz"[: len(types)]
    parameters = ", ".join(f"%{n}s: memref<{count}x{t}>" for n, t in zip(names, types, strict=True))
    loads = "\n".join(f"%{n} = affine.load %{n}s[%i] : memref<{count}x{t}>" for n, t in zip(names, types, strict=True))
    return f"""
      func.func public @kernel({parameters}, %out: memref<{count}x{result}>) attributes {{lamina.kernel = "loops"}} {{
        affine.parallel (%i) = (0) to ({count}) {{
          {loads}
          {body}
          affine.store %r, %out[%i] : memref<{count}x{result}>
        }}
        func.return
      }}"""


INTEGERS = np.array([0, 1, -1, 7, -7, 8, -8, 100, -100, 2**31 - 1, -(2**31), 13], np.int32)


@pytest.mark.parametrize(
    ("op", "meaning"),
    [
        ("arith.ceildivsi", lambda a, b: -(-a.astype(np.int64) // b)),
        ("arith.floordivsi", lambda a, b: a.astype(np.int64) // b),
        ("arith.divsi", lambda a, b: np.trunc(a / b)),
        ("arith.remsi", lambda a, b: np.fmod(a.astype(np.int64), b)),
        ("arith.maxsi", np.maximum),
        ("arith.minui", lambda a, b: np.minimum(a.view(np.uint32), b.view(np.uint32)).view(np.int32)),
        (
            "arith.ceildivui",
            lambda a, b: (-(-a.view(np.uint32).astype(np.int64) // b.view(np.uint32))).astype(np.uint32),
        ),
    ],
)
def test_integer_division_and_extremes(op: str, meaning: Callable[[Array, Array], Array], kernel: CallKernel):
    a = np.repeat(INTEGERS, 4)
    b = np.tile(np.array([3, -3, 8, 1], np.int32), len(INTEGERS))
    out = np.zeros_like(a)
    text = elementwise(f"%r = {op} %x, %y : i32", ["i32", "i32"], len(a), "i32")
    kernel(text, "canonicalize", [a, b, out])
    np.testing.assert_array_equal(out, meaning(a, b).astype(np.int64).astype(np.int32))


@pytest.mark.parametrize("divisor", [1, 3, 8])
def test_affine_division_rounds_down_and_mod_is_not_negative(divisor: int, kernel: CallKernel):
    a = np.arange(-20, 21, dtype=np.int64)
    out = np.zeros((len(a), 3), np.int64)
    map_ = f"affine_map<(d0) -> (d0 floordiv {divisor})>", f"affine_map<(d0) -> (d0 mod {divisor})>"
    text = f"""
      func.func public @kernel(%in: memref<41xindex>, %out: memref<41x3xindex>) attributes {{lamina.kernel = "loops"}}
      {{
        affine.for %i = 0 to 41 {{
          %x = affine.load %in[%i] : memref<41xindex>
          %f = affine.apply {map_[0]}(%x)
          %m = affine.apply {map_[1]}(%x)
          %c = affine.apply affine_map<(d0) -> (d0 ceildiv {divisor})>(%x)
          affine.store %f, %out[%i, 0] : memref<41x3xindex>
          affine.store %m, %out[%i, 1] : memref<41x3xindex>
          affine.store %c, %out[%i, 2] : memref<41x3xindex>
        }}
        func.return
      }}"""
    kernel(text, "canonicalize", [a, out])
    np.testing.assert_array_equal(out, np.stack([a // divisor, a % divisor, -(-a // divisor)], 1))


FLOATS = np.array(
    [0.0, -0.0, 1.0, -1.5, 1e-40, 65504, 65519.99, 65520, 1e-8, 3.0e38, np.inf, -np.inf, np.nan, 1.0009765625, 0.1],
    np.float64,
)


@pytest.mark.parametrize("source", [np.float32, np.float64])
@pytest.mark.parametrize(("name", "target"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_rounding_to_half_precisions(source: Any, name: str, target: Any, kernel: CallKernel):
    rng = np.random.default_rng(0)
    ties = 1 + np.arange(64) / 2**12 + 2.0**-40 * rng.integers(-1, 2, 64)
    x = np.concatenate([FLOATS, ties, rng.standard_normal(200)]).astype(source)
    out = np.zeros(len(x), target)
    word = "f32" if source is np.float32 else "f64"
    text = elementwise(f"%r = arith.truncf %x : {word} to {name}", [word], len(x), name)
    kernel(text, "canonicalize", [x, out])
    with np.errstate(over="ignore"):
        exact = [np.float64(v) for v in x]
        want = np.array([_nearest(v, target) for v in exact], target)
    np.testing.assert_array_equal(out.astype(np.float64), want.astype(np.float64))


def _nearest(value: np.float64, target: Any) -> Any:
    """The nearest of the target's numbers, ties to even, without rounding twice."""
    if target is np.float16 or not np.isfinite(value):
        return np.float16(value) if target is np.float16 else target(value)
    guess = np.float32(value).view(np.uint32) & np.uint32(0xFFFF0000)
    near = [np.uint32(g).view(np.float32) for g in (guess, guess + np.uint32(0x10000))]
    distances = [abs(np.float64(n) - value) for n in near]
    if distances[0] == distances[1]:
        return target(near[0] if not (guess >> np.uint32(16)) & np.uint32(1) else near[1])
    return target(near[int(np.argmin(distances))])


def test_bfloat16_arithmetic_is_rounded_once(kernel: CallKernel):
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(100).astype(ml_dtypes.bfloat16) for _ in range(2))
    out = np.zeros(100, ml_dtypes.bfloat16)
    text = elementwise("%r = arith.mulf %x, %y : bf16", ["bf16", "bf16"], 100, "bf16")
    kernel(text, "canonicalize", [a, b, out])
    np.testing.assert_array_equal(out, (a.astype(np.float32) * b.astype(np.float32)).astype(ml_dtypes.bfloat16))


def test_float_extremes_and_nan(kernel: CallKernel):
    values = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan], np.float32)
    a, b = (grid.ravel() for grid in np.meshgrid(values, values))
    for op, meaning in (("maximumf", np.maximum), ("minimumf", np.minimum), ("maxnumf", np.fmax), ("minnumf", np.fmin)):
        out = np.zeros_like(a)
        text = elementwise(f"%r = arith.{op} %x, %y : f32", ["f32", "f32"], len(a), "f32")
        kernel(text, "canonicalize", [a, b, out])
        np.testing.assert_array_equal(out, meaning(a, b), err_msg=op)


def test_extremes_that_need_not_look_for_nan(kernel: CallKernel):
    values = np.array([0.5, -2.0, 3.0, np.inf, -np.inf, 1.0, -1.0, 7.0], np.float32)
    for op, kind, meaning in (("maximumf", "maximumf", np.max), ("minimumf", "minimumf", np.min)):
        text = f"""
          func.func public @kernel(%x: memref<8xf32>, %y: memref<8xf32>) attributes {{lamina.kernel = "loops"}} {{
            %c0 = arith.constant 0 : index
            %c1 = arith.constant 1 : index
            %v = vector.load %x[%c0] : memref<8xf32>, vector<8xf32>
            %first = memref.load %x[%c1] : memref<8xf32>
            %r = vector.reduction <{kind}>, %v, %first fastmath<nnan,nsz> : vector<8xf32> into f32
            %s = vector.reduction <{kind}>, %v fastmath<nsz> : vector<8xf32> into f32
            memref.store %r, %y[%c0] : memref<8xf32>
            memref.store %s, %y[%c1] : memref<8xf32>
            func.return
          }}"""
        for start in range(8):
            x, y = np.roll(values, start), np.zeros(8, np.float32)
            kernel(text, "canonicalize", [x, y])
            assert y[0] == y[1] == meaning(x), op
    body = "%r = arith.maximumf %x, %y fastmath<nnan> : f32"
    x, y = np.array([1, 5, np.nan, 2], np.float32), np.array([3, 4, 1, np.nan], np.float32)
    out = np.zeros(4, np.float32)
    kernel(elementwise(body, ["f32", "f32"], 4, "f32"), "canonicalize", [x, y, out])
    np.testing.assert_array_equal(out, [3, 5, 1, np.nan])


def test_bools_are_bytes(kernel: CallKernel):
    a = np.array([True, False, True, True] * 4)
    x = np.arange(16, dtype=np.float32)
    out = np.zeros(16, np.bool_)
    body = """
      %five = arith.constant 5.0 : f32
      %less = arith.cmpf olt, %y, %five : f32
      %r = arith.andi %x, %less : i1"""
    kernel(elementwise(body, ["i1", "f32"], 16, "i1"), "canonicalize", [a, x, out])
    np.testing.assert_array_equal(out, a & (x < 5))


VECTORS = """
  func.func public @kernel(%x: memref<21xf32>, %index: memref<8xindex>, %out: memref<6x8xf32>, %sums: memref<4xf32>)
      attributes {lamina.kernel = "loops"} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c5 = arith.constant 5 : index
    %c16 = arith.constant 16 : index
    %c21 = arith.constant 21 : index
    %pad = arith.constant -1.0 : f32
    %left = arith.subi %c21, %c16 : index
    %mask = vector.create_mask %left : vector<8xi1>
    %else = vector.broadcast %pad : f32 to vector<8xf32>
    %tail = vector.maskedload %x[%c16], %mask, %else : memref<21xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
    vector.store %tail, %out[%c0, %c0] : memref<6x8xf32>, vector<8xf32>
    %read = vector.transfer_read %x[%c16], %pad : memref<21xf32>, vector<8xf32>
    vector.store %read, %out[%c1, %c0] : memref<6x8xf32>, vector<8xf32>
    %v = vector.load %x[%c1] : memref<21xf32>, vector<8xf32>
    %fused = vector.fma %v, %v, %tail : vector<8xf32>
    vector.store %fused, %out[%c2, %c0] : memref<6x8xf32>, vector<8xf32>
    %swapped = vector.shuffle %v, %tail [7, 6, 5, 4, 8, 9, 10, 11] : vector<8xf32>, vector<8xf32>
    vector.store %swapped, %out[%c3, %c0] : memref<6x8xf32>, vector<8xf32>
    %where = vector.load %index[%c0] : memref<8xindex>, vector<8xindex>
    %all = vector.constant_mask [6] : vector<8xi1>
    %found = vector.gather %x[%c0] [%where], %all, %else
      : memref<21xf32>, vector<8xindex>, vector<8xi1>, vector<8xf32> into vector<8xf32>
    vector.store %found, %out[%c4, %c0] : memref<6x8xf32>, vector<8xf32>
    vector.maskedstore %out[%c5, %c0], %mask, %v : memref<6x8xf32>, vector<8xi1>, vector<8xf32>
    %sum = vector.reduction <add>, %v : vector<8xf32> into f32
    memref.store %sum, %sums[%c0] : memref<4xf32>
    %more = vector.reduction <add>, %v, %sum : vector<8xf32> into f32
    memref.store %more, %sums[%c1] : memref<4xf32>
    %max = vector.reduction <maximumf>, %v : vector<8xf32> into f32
    memref.store %max, %sums[%c2] : memref<4xf32>
    %one = vector.extract %v[3] : f32 from vector<8xf32>
    memref.store %one, %sums[%c3] : memref<4xf32>
    func.return
  }"""


def test_vector_ops(kernel: CallKernel):
    x = np.arange(21, dtype=np.float32) + 0.5
    index = np.array([20, 3, 0, 7, 7, 1, 10**9, 10**9], np.int64)  # the last two are masked off
    out, sums = np.full((6, 8), 9, np.float32), np.zeros(4, np.float32)
    kernel(VECTORS, "canonicalize", [x, index, out, sums])
    tail = np.array([*x[16:], -1, -1, -1], np.float32)
    v = x[1:9]
    np.testing.assert_array_equal(out[0], tail)
    np.testing.assert_array_equal(out[1], tail)
    np.testing.assert_array_equal(out[2], v * v + tail)
    np.testing.assert_array_equal(out[3], [*v[7:3:-1], *tail[:4]])
    np.testing.assert_array_equal(out[4], [*x[index[:6]], -1, -1])
    np.testing.assert_array_equal(out[5], [*v[:5], 9, 9, 9])
    np.testing.assert_allclose(sums, [v.sum(), 2 * v.sum(), v.max(), v[3]])


def test_small_tables_are_globals(kernel: CallKernel):
    text = """
      "memref.global"() <{sym_name = "weights", sym_visibility = "private", constant, type = memref<4xf32>,
        initial_value = dense<[1.5, 2.0, -3.0, 0.25]> : tensor<4xf32>}> : () -> ()
      "memref.global"() <{sym_name = "flags", sym_visibility = "private", constant, type = memref<4xi1>,
        initial_value = dense<[true, false, false, true]> : tensor<4xi1>}> : () -> ()
      func.func public @kernel(%out: memref<4xf32>) attributes {lamina.kernel = "loops"} {
        %w = memref.get_global @weights : memref<4xf32>
        %f = memref.get_global @flags : memref<4xi1>
        affine.for %i = 0 to 4 {
          %x = affine.load %w[%i] : memref<4xf32>
          %flag = affine.load %f[%i] : memref<4xi1>
          %y = arith.negf %x : f32
          %r = arith.select %flag, %x, %y : f32
          affine.store %r, %out[%i] : memref<4xf32>
        }
        func.return
      }"""
    out = np.zeros(4, np.float32)
    kernel(text, "canonicalize", [out])
    np.testing.assert_array_equal(out, [1.5, -2.0, 3.0, 0.25])
