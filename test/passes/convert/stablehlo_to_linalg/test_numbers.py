# ruff: noqa: E501
"""Every hub op means the same before and after the conversion, on edge values too; and mlir-opt reads the result."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser

from lamina.compiler.context import LaminaContext
from lamina.compiler.dtypes import dtype_of
from lamina.compiler.interpreter import Interpreter
from lamina.dialects import all_dialects
from lamina.passes.convert.stablehlo_to_linalg import ConvertStablehloToLinalg

MLIR_OPT = shutil.which("mlir-opt-22")

EDGES = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    np.inf,
    -np.inf,
    np.nan,
    1e30,
    -1e30,
    3e-39,
    300.7,
    -129.2,
    7.0,
]


def context() -> LaminaContext:
    ctx = LaminaContext()
    for name, dialect in all_dialects().items():
        ctx.register_dialect(name, dialect)
    return ctx


def parse(text: str) -> tuple[LaminaContext, ModuleOp]:
    ctx = context()
    module = Parser(ctx, text).parse_module()
    module.verify()
    return ctx, module


def sample(type_: Any, seed: int, edges: bool) -> Any:
    rng = np.random.default_rng(seed)
    dtype, shape = dtype_of(type_), type_.get_shape()
    element = type_.element_type
    if isinstance(element, IntegerType):
        if dtype == np.bool_:
            return rng.integers(0, 2, shape).astype(bool)
        info = np.iinfo(dtype)
        small = rng.integers(0 if info.min == 0 else -9, 10, shape).astype(dtype)
        extreme = rng.choice(np.array([info.min, info.max, 0, 1, info.max // 2], dtype), shape)
        return np.where(rng.random(shape) < (0.3 if edges else 0), extreme, small).astype(dtype)
    values = rng.standard_normal(shape) * 3
    if edges:
        values = np.where(rng.random(shape) < 0.5, rng.choice(EDGES, shape), values)
    with np.errstate(all="ignore"):
        return values.astype(dtype)


def check(
    text: str, *, edges: bool = False, inputs: list[Any] | None = None, tolerance: float = 1e-6, oracle: bool = True
) -> None:
    ctx, module = parse(text)
    main = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
    given = [sample(t, i, edges) for i, t in enumerate(main.function_type.inputs)]
    for i, value in enumerate(inputs or []):
        if value is not None:
            given[i] = value
    with np.errstate(all="ignore"):
        expected = Interpreter(ctx).run(module, given)
        ConvertStablehloToLinalg().apply(ctx, module)
        module.verify()
        signless = [x.view(f"i{x.itemsize}") if x.dtype.kind == "u" else x for x in given]
        actual = Interpreter(ctx).run(module, signless)
    for got, wanted in zip(actual, expected, strict=True):
        got = got.view(wanted.dtype) if wanted.dtype.kind == "u" else got
        assert got.shape == wanted.shape and got.dtype == wanted.dtype
        loose = tolerance if wanted.dtype.itemsize >= 4 else 1e-2
        if wanted.dtype.kind in "iub":
            np.testing.assert_array_equal(got, wanted)
        else:
            np.testing.assert_allclose(got.astype(np.float64), wanted.astype(np.float64), rtol=loose, atol=loose)
    if MLIR_OPT and oracle:
        result = subprocess.run(
            [MLIR_OPT, "--allow-unregistered-dialect", "-o", "/dev/null"],
            input=str(module),
            text=True,
            capture_output=True,
        )
        assert result.returncode == 0, result.stderr + str(module)


def unary(op: str, type_: str, result: str | None = None) -> str:
    sign = f"tensor<40x{type_}>" if result is None else f"(tensor<40x{type_}>) -> tensor<40x{result}>"
    return f"""func.func public @main(%x: tensor<40x{type_}>) -> tensor<40x{result or type_}> {{
      %0 = {op} %x : {sign}
      func.return %0 : tensor<40x{result or type_}> }}"""


def binary(op: str, type_: str, attributes: str = "") -> str:
    return f"""func.func public @main(%x: tensor<60x{type_}>, %y: tensor<60x{type_}>) -> tensor<60x{type_}> {{
      %0 = stablehlo.{op} %x, %y : tensor<60x{type_}>
      func.return %0 : tensor<60x{type_}> }}"""


FLOAT_UNARY = [
    "abs",
    "ceil",
    "cosine",
    "exponential",
    "exponential_minus_one",
    "floor",
    "log",
    "log_plus_one",
    "logistic",
    "negate",
    "round_nearest_afz",
    "round_nearest_even",
    "rsqrt",
    "sign",
    "sine",
    "sqrt",
    "tan",
    "tanh",
    "cbrt",
]


@pytest.mark.parametrize("type_", ["f32", "f64", "f16", "bf16"])
@pytest.mark.parametrize("op", FLOAT_UNARY)
def test_float_functions(op: str, type_: str) -> None:
    check(unary(f"stablehlo.{op}", type_), edges=op not in ("cosine", "sine", "tan"))


@pytest.mark.parametrize("op", ["abs", "negate", "not", "popcnt", "count_leading_zeros", "sign"])
@pytest.mark.parametrize("type_", ["i8", "i32", "i64"])
def test_integer_functions(op: str, type_: str) -> None:
    check(unary(f"stablehlo.{op}", type_), edges=True, oracle=type_ in ("f32", "ui8"))


def test_other_functions() -> None:
    check(unary("stablehlo.is_finite", "f32", "i1"), edges=True)
    check(unary("stablehlo.not", "i1"))
    check(unary("stablehlo.not", "ui8"), edges=True)
    check(
        "func.func public @main(%x: tensor<40xf32>) -> tensor<40xf32> { %0 = chlo.erf %x : tensor<40xf32> -> tensor<40xf32> func.return %0 : tensor<40xf32> }"
    )
    for format_ in ("e5m10", "e8m7", "e4m3", "e8m23"):
        check(
            f"func.func public @main(%x: tensor<40xf32>) -> tensor<40xf32> {{ %0 = stablehlo.reduce_precision %x, format = {format_} : tensor<40xf32> func.return %0 : tensor<40xf32> }}",
            edges=True,
        )


@pytest.mark.parametrize(
    "op", ["add", "subtract", "multiply", "divide", "maximum", "minimum", "remainder", "power", "atan2"]
)
@pytest.mark.parametrize("type_", ["f32", "f64", "bf16"])
def test_float_arithmetic(op: str, type_: str) -> None:
    check(binary(op, type_), edges=True, oracle=type_ in ("f32", "ui8"))


INTEGER = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "maximum",
    "minimum",
    "remainder",
    "power",
    "and",
    "or",
    "xor",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
]


@pytest.mark.parametrize("op", INTEGER)
@pytest.mark.parametrize("type_", ["i8", "i32", "i64", "ui8", "ui32", "ui64"])
def test_integer_arithmetic(op: str, type_: str) -> None:
    check(binary(op, type_), edges=True, oracle=type_ in ("f32", "ui8"))


@pytest.mark.parametrize("op", ["add", "multiply", "maximum", "minimum", "and", "or", "xor"])
def test_boolean_arithmetic(op: str) -> None:
    check(binary(op, "i1"))


@pytest.mark.parametrize("direction", ["EQ", "NE", "GE", "GT", "LE", "LT"])
@pytest.mark.parametrize("type_", ["f32", "f16", "i8", "ui8", "i1"])
def test_comparisons(direction: str, type_: str) -> None:
    for kind in ("", ", TOTALORDER") if type_[0] == "f" else ("",):
        text = f"""func.func public @main(%x: tensor<50x{type_}>, %y: tensor<50x{type_}>) -> tensor<50xi1> {{
          %0 = stablehlo.compare {direction}, %x, %y{kind} : (tensor<50x{type_}>, tensor<50x{type_}>) -> tensor<50xi1>
          func.return %0 : tensor<50xi1> }}"""
        check(text, edges=True, oracle=type_ in ("f32", "ui8"))


@pytest.mark.parametrize("source", ["f32", "f16", "bf16", "f64", "i8", "ui8", "i32", "ui32", "i64", "ui64", "i1"])
@pytest.mark.parametrize("target", ["f32", "bf16", "f64", "i8", "ui8", "i32", "ui32", "i64", "ui64", "i1"])
def test_conversions(source: str, target: str) -> None:
    check(unary("stablehlo.convert", source, target), edges=True, oracle=source == "f32")


@pytest.mark.parametrize("low, high", [(0, 255), (-128, 127), (-3, 300), (7, 7), ("0x7FC00000", 255)])
@pytest.mark.parametrize("target", ["ui8", "i8", "i32"])
def test_conversions_of_clamped_numbers(low: float | str, high: int, target: str):
    """What was clamped saturates, or not, as before."""
    low = low if isinstance(low, str) else float(low)
    text = f"""
    func.func @main(%x: tensor<40xf32>) -> tensor<40x{target}> {{
      %low = stablehlo.constant dense<{low}> : tensor<f32>
      %lows = stablehlo.broadcast_in_dim %low, dims = [] : (tensor<f32>) -> tensor<40xf32>
      %high = stablehlo.constant dense<{float(high)}> : tensor<40xf32>
      %0 = stablehlo.maximum %x, %lows : tensor<40xf32>
      %1 = stablehlo.minimum %0, %high : tensor<40xf32>
      %2 = stablehlo.convert %1 : (tensor<40xf32>) -> tensor<40x{target}>
      func.return %2 : tensor<40x{target}>
    }}"""
    check(text, edges=True)


MOVEMENT = {
    "transpose": ("tensor<2x3x4xf32>", "stablehlo.transpose %x, dims = [2, 0, 1]", "tensor<4x2x3xf32>"),
    "broadcast": ("tensor<3x1xf32>", "stablehlo.broadcast_in_dim %x, dims = [1, 2]", "tensor<2x3x4xf32>"),
    "broadcast_swapped": ("tensor<3x4xf32>", "stablehlo.broadcast_in_dim %x, dims = [2, 0]", "tensor<4x2x3xf32>"),
    "broadcast_scalar": ("tensor<f32>", "stablehlo.broadcast_in_dim %x, dims = []", "tensor<2x3xf32>"),
    "slice": ("tensor<5x7xf32>", "stablehlo.slice %x [1:4, 0:7:2]", "tensor<3x4xf32>"),
    "reverse": ("tensor<3x4xf32>", "stablehlo.reverse %x, dims = [0, 1]", "tensor<3x4xf32>"),
    "reshape_merge": ("tensor<2x3x4xf32>", "stablehlo.reshape %x", "tensor<6x4xf32>"),
    "reshape_split": ("tensor<6x4xf32>", "stablehlo.reshape %x", "tensor<2x3x2x2xf32>"),
    "reshape_mixed": ("tensor<2x3x4xf32>", "stablehlo.reshape %x", "tensor<3x8xf32>"),
    "reshape_unit": ("tensor<1x2x1x3xf32>", "stablehlo.reshape %x", "tensor<2x3x1xf32>"),
    "reshape_to_scalar": ("tensor<1x1xf32>", "stablehlo.reshape %x", "tensor<f32>"),
    "reshape_from_scalar": ("tensor<f32>", "stablehlo.reshape %x", "tensor<1x1xf32>"),
    "reshape_empty": ("tensor<0x3xf32>", "stablehlo.reshape %x", "tensor<3x0x2xf32>"),
    "slice_empty": ("tensor<5x3xf32>", "stablehlo.slice %x [2:2, 0:3]", "tensor<0x3xf32>"),
}


@pytest.mark.parametrize("name", MOVEMENT)
def test_movement(name: str) -> None:
    source, op, target = MOVEMENT[name]
    arrow = f"{source}" if name == "reverse" else f"({source}) -> {target}"
    check(f"func.func public @main(%x: {source}) -> {target} {{ %0 = {op} : {arrow}\n func.return %0 : {target} }}")


@pytest.mark.parametrize(
    "low,high,interior",
    [
        ([1, 2], [0, 1], [0, 0]),
        ([0, 0], [0, 0], [1, 2]),
        ([-1, 2], [1, -2], [0, 1]),
        ([-5, 0], [3, 0], [0, 0]),
        ([0, 0], [-3, 0], [0, 0]),
    ],
)
def test_pad(low: list[int], high: list[int], interior: list[int]) -> None:
    shape = [max(0, 3 + low[0] + high[0] + 2 * interior[0]), max(0, 4 + low[1] + high[1] + 3 * interior[1])]
    target = f"tensor<{shape[0]}x{shape[1]}xf32>"
    check(f"""func.func public @main(%x: tensor<3x4xf32>, %v: tensor<f32>) -> {target} {{
      %0 = stablehlo.pad %x, %v, low = {low}, high = {high}, interior = {interior} : (tensor<3x4xf32>, tensor<f32>) -> {target}
      func.return %0 : {target} }}""")


PROGRAMS = {
    "concatenate": """func.func public @main(%x: tensor<2x3xf32>, %y: tensor<2x0xf32>, %z: tensor<2x1xf32>) -> tensor<2x4xf32> {
      %0 = stablehlo.concatenate %x, %y, %z, dim = 1 : (tensor<2x3xf32>, tensor<2x0xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
      func.return %0 : tensor<2x4xf32> }""",
    "iota": """func.func public @main() -> (tensor<2x3xf32>, tensor<4xi32>) {
      %0 = stablehlo.iota dim = 1 : tensor<2x3xf32>
      %1 = stablehlo.iota dim = 0 : tensor<4xi32>
      func.return %0, %1 : tensor<2x3xf32>, tensor<4xi32> }""",
    "select_clamp": """func.func public @main(%p: tensor<4x5xi1>, %q: tensor<i1>, %x: tensor<4x5xf32>, %y: tensor<4x5xf32>, %l: tensor<f32>) -> (tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>) {
      %0 = stablehlo.select %p, %x, %y : tensor<4x5xi1>, tensor<4x5xf32>
      %1 = stablehlo.select %q, %x, %y : (tensor<i1>, tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
      %2 = stablehlo.clamp %l, %x, %y : (tensor<f32>, tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
      func.return %0, %1, %2 : tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32> }""",
    "reduce_sum": """func.func public @main(%x: tensor<3x4x5xf32>) -> tensor<4xf32> {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0, 2] : (tensor<3x4x5xf32>, tensor<f32>) -> tensor<4xf32>
      func.return %0 : tensor<4xf32> }""",
    "reduce_sum_halves": """func.func public @main(%x: tensor<3x400xf16>) -> tensor<3xf16> {
      %z = stablehlo.constant dense<0.0> : tensor<f16>
      %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<3x400xf16>, tensor<f16>) -> tensor<3xf16>
      func.return %0 : tensor<3xf16> }""",
    "reduce_max_unsigned": """func.func public @main(%x: tensor<3x4xui8>, %z: tensor<ui8>) -> tensor<3xui8> {
      %0 = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [1] : (tensor<3x4xui8>, tensor<ui8>) -> tensor<3xui8>
      func.return %0 : tensor<3xui8> }""",
    "argmax": """func.func public @main(%x: tensor<3x7xf32>) -> (tensor<3xf32>, tensor<3xi32>) {
      %i = stablehlo.iota dim = 1 : tensor<3x7xi32>
      %m = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %z = stablehlo.constant dense<0> : tensor<i32>
      %0:2 = stablehlo.reduce(%x init: %m), (%i init: %z) across dimensions = [1] : (tensor<3x7xf32>, tensor<3x7xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)
        reducer(%a: tensor<f32>, %b: tensor<f32>) (%ai: tensor<i32>, %bi: tensor<i32>) {
          %c = stablehlo.compare GT, %b, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
          %v = stablehlo.select %c, %b, %a : tensor<i1>, tensor<f32>
          %w = stablehlo.select %c, %bi, %ai : tensor<i1>, tensor<i32>
          stablehlo.return %v, %w : tensor<f32>, tensor<i32>
        }
      func.return %0#0, %0#1 : tensor<3xf32>, tensor<3xi32> }""",
    "reduce_empty": """func.func public @main(%x: tensor<3x0xf32>, %z: tensor<f32>) -> tensor<3xf32> {
      %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<3x0xf32>, tensor<f32>) -> tensor<3xf32>
      func.return %0 : tensor<3xf32> }""",
    "pool": """func.func public @main(%x: tensor<1x7x7x3xf32>) -> tensor<1x4x4x3xf32> {
      %m = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %0 = "stablehlo.reduce_window"(%x, %m) <{window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>, padding = dense<[[0, 0], [1, 1], [1, 1], [0, 0]]> : tensor<4x2xi64>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %v = stablehlo.maximum %a, %b : tensor<f32>
          stablehlo.return %v : tensor<f32>
      }) : (tensor<1x7x7x3xf32>, tensor<f32>) -> tensor<1x4x4x3xf32>
      func.return %0 : tensor<1x4x4x3xf32> }""",
    "cumulative_sum": """func.func public @main(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 1, 7>, padding = dense<[[0, 0], [6, 0]]> : tensor<2x2xi64>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %v = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %v : tensor<f32>
      }) : (tensor<5x7xf32>, tensor<f32>) -> tensor<5x7xf32>
      func.return %0 : tensor<5x7xf32> }""",
    "cumulative_product_down": """func.func public @main(%x: tensor<5x7xf32>) -> tensor<5x7xf32> {
      %z = stablehlo.constant dense<1.0> : tensor<f32>
      %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 5, 1>, padding = dense<[[4, 0], [0, 0]]> : tensor<2x2xi64>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %v = stablehlo.multiply %a, %b : tensor<f32>
          stablehlo.return %v : tensor<f32>
      }) : (tensor<5x7xf32>, tensor<f32>) -> tensor<5x7xf32>
      func.return %0 : tensor<5x7xf32> }""",
    "cumulative_sum_backwards": """func.func public @main(%x: tensor<5x7xi32>) -> tensor<5x7xi32> {
      %z = stablehlo.constant dense<0> : tensor<i32>
      %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 1, 7>, padding = dense<[[0, 0], [0, 6]]> : tensor<2x2xi64>}> ({
        ^bb0(%a: tensor<i32>, %b: tensor<i32>):
          %v = stablehlo.add %a, %b : tensor<i32>
          stablehlo.return %v : tensor<i32>
      }) : (tensor<5x7xi32>, tensor<i32>) -> tensor<5x7xi32>
      func.return %0 : tensor<5x7xi32> }""",
    "window_dilated": """func.func public @main(%x: tensor<5x6xi32>, %z: tensor<i32>) -> tensor<7x3xi32> {
      %0 = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 2>, base_dilations = array<i64: 2, 1>, window_dilations = array<i64: 2, 1>}> ({
        ^bb0(%a: tensor<i32>, %b: tensor<i32>):
          %v = stablehlo.add %a, %b : tensor<i32>
          stablehlo.return %v : tensor<i32>
      }) : (tensor<5x6xi32>, tensor<i32>) -> tensor<7x3xi32>
      func.return %0 : tensor<7x3xi32> }""",
    "dot": """func.func public @main(%x: tensor<2x3x4xf32>, %y: tensor<4x5xf32>) -> tensor<2x3x5xf32> {
      %0 = stablehlo.dot_general %x, %y, contracting_dims = [2] x [0] : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
      func.return %0 : tensor<2x3x5xf32> }""",
    "dot_batched": """func.func public @main(%x: tensor<3x2x4xf16>, %y: tensor<5x2x4xf16>) -> tensor<2x3x5xf16> {
      %0 = stablehlo.dot_general %x, %y, batching_dims = [1] x [1], contracting_dims = [2] x [2] : (tensor<3x2x4xf16>, tensor<5x2x4xf16>) -> tensor<2x3x5xf16>
      func.return %0 : tensor<2x3x5xf16> }""",
    "dot_quantised": """func.func public @main(%x: tensor<3x4xui8>, %y: tensor<4x5xi8>) -> tensor<3x5xi32> {
      %0 = stablehlo.convert %x : (tensor<3x4xui8>) -> tensor<3x4xi32>
      %1 = stablehlo.convert %y : (tensor<4x5xi8>) -> tensor<4x5xi32>
      %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<3x4xi32>, tensor<4x5xi32>) -> tensor<3x5xi32>
      func.return %2 : tensor<3x5xi32> }""",
    "gather_rows": """func.func public @main(%x: tensor<6x4xf32>, %i: tensor<2x3xi64>) -> tensor<2x3x4xf32> {
      %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 4>}> : (tensor<6x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
      func.return %0 : tensor<2x3x4xf32> }""",
    "gather_points": """func.func public @main(%x: tensor<6x4xf32>, %i: tensor<2x5xi32>) -> tensor<5x2x3xf32> {
      %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [1, 0], index_vector_dim = 0>, slice_sizes = array<i64: 2, 3>}> : (tensor<6x4xf32>, tensor<2x5xi32>) -> tensor<5x2x3xf32>
      func.return %0 : tensor<5x2x3xf32> }""",
    "scatter": """func.func public @main(%x: tensor<6x4xf32>, %i: tensor<3x1xi64>, %u: tensor<3x4xf32>) -> tensor<6x4xf32> {
      %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %v = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %v : tensor<f32>
      }) : (tensor<6x4xf32>, tensor<3x1xi64>, tensor<3x4xf32>) -> tensor<6x4xf32>
      func.return %0 : tensor<6x4xf32> }""",
    "dynamic_slice": """func.func public @main(%x: tensor<6x4xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<2x4xf32> {
      %0 = stablehlo.dynamic_slice %x, %i, %j, sizes = [2, 4] : (tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
      func.return %0 : tensor<2x4xf32> }""",
    "dynamic_update_slice": """func.func public @main(%x: tensor<6x4xf32>, %u: tensor<2x3xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<6x4xf32> {
      %0 = stablehlo.dynamic_update_slice %x, %u, %i, %j : (tensor<6x4xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
      func.return %0 : tensor<6x4xf32> }""",
    "sort": """func.func public @main(%x: tensor<3x9xi32>, %y: tensor<3x9xf32>) -> (tensor<3x9xi32>, tensor<3x9xf32>) {
      %0:2 = "stablehlo.sort"(%x, %y) <{dimension = 1 : i64, is_stable = true}> ({
        ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<f32>):
          %v = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %v : tensor<i1>
      }) : (tensor<3x9xi32>, tensor<3x9xf32>) -> (tensor<3x9xi32>, tensor<3x9xf32>)
      func.return %0#0, %0#1 : tensor<3x9xi32>, tensor<3x9xf32> }""",
    "if": """func.func public @main(%p: tensor<i1>, %x: tensor<3xf32>) -> tensor<3xf32> {
      %0 = "stablehlo.if"(%p) ({
        %1 = stablehlo.negate %x : tensor<3xf32>
        stablehlo.return %1 : tensor<3xf32>
      }, {
        stablehlo.return %x : tensor<3xf32>
      }) : (tensor<i1>) -> tensor<3xf32>
      func.return %0 : tensor<3xf32> }""",
    "case": """func.func public @main(%p: tensor<i32>, %x: tensor<3xf32>) -> tensor<3xf32> {
      %0 = "stablehlo.case"(%p) ({
        %1 = stablehlo.negate %x : tensor<3xf32>
        stablehlo.return %1 : tensor<3xf32>
      }, {
        stablehlo.return %x : tensor<3xf32>
      }, {
        %2 = stablehlo.exponential %x : tensor<3xf32>
        stablehlo.return %2 : tensor<3xf32>
      }) : (tensor<i32>) -> tensor<3xf32>
      func.return %0 : tensor<3xf32> }""",
    "while": """func.func public @main(%n: tensor<i32>, %x: tensor<3xf32>) -> tensor<3xf32> {
      %z = stablehlo.constant dense<0> : tensor<i32>
      %0:2 = stablehlo.while(%i = %z, %v = %x) : tensor<i32>, tensor<3xf32>
        cond {
          %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        } do {
          %one = stablehlo.constant dense<1> : tensor<i32>
          %j = stablehlo.add %i, %one : tensor<i32>
          %w = stablehlo.add %v, %v : tensor<3xf32>
          stablehlo.return %j, %w : tensor<i32>, tensor<3xf32>
        }
      func.return %0#1 : tensor<3xf32> }""",
    "batch_norm": """func.func public @main(%x: tensor<2x3x4xf32>, %s: tensor<3xf32>, %o: tensor<3xf32>, %m: tensor<3xf32>, %v: tensor<3xf32>) -> tensor<2x3x4xf32> {
      %w = stablehlo.abs %v : tensor<3xf32>
      %0 = "stablehlo.batch_norm_inference"(%x, %s, %o, %m, %w) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
      func.return %0 : tensor<2x3x4xf32> }""",
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    edges = name in ("scatter", "gather_rows", "gather_points", "dynamic_slice", "dynamic_update_slice")
    text = PROGRAMS[name]
    inputs: list[Any] = []
    if name == "while":
        inputs = [np.int32(3).reshape(())]
    check(text, edges=edges and "i32" in text and "window" not in name, inputs=inputs, tolerance=1e-5)


CONVOLUTIONS = {
    "nhwc": ("1x8x8x4", "3x3x4x6", "1x4x4x6", "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "stride = [2, 2], pad = [[1, 1], [1, 1]]", 1, 1),
    "nchw": ("2x4x7x6", "5x4x3x1", "2x5x5x6", "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]", "", 1, 1),
    "pointwise": ("1x5x5x4", "1x1x4x3", "1x5x5x3", "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "", 1, 1),
    "dilated": ("1x9x9x2", "3x3x2x3", "1x5x5x3", "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "rhs_dilate = [2, 2]", 1, 1),
    "transposed": ("1x4x4x2", "3x3x2x3", "1x9x9x3", "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "pad = [[2, 2], [2, 2]], lhs_dilate = [2, 2]", 1, 1),
    "reversed": ("1x5x5x2", "3x3x2x3", "1x3x3x3", "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "reverse = [true, false]", 1, 1),
    "depthwise": ("1x6x6x8", "3x3x1x8", "1x4x4x8", "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "", 8, 1),
    "depthwise_nchw": ("1x8x6x6", "8x1x3x3", "1x8x4x4", "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]", "", 8, 1),
    "depthwise_multiplied": ("1x6x6x4", "3x3x1x8", "1x4x4x8", "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "", 4, 1),
    "grouped": ("1x6x6x8", "3x3x2x12", "1x4x4x12", "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "", 4, 1),
    "grouped_nchw": ("2x8x6x6", "12x2x3x3", "2x12x4x4", "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]", "", 4, 1),
    "batch_grouped": ("4x6x6x3", "3x3x3x6", "2x4x4x6", "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "", 1, 2),
    "batch_depthwise": ("4x6x6x3", "3x3x3x4", "1x4x4x4", "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "", 1, 4),
    "one_channel": ("1x6x6x1", "1x1x1x1", "1x6x6x1", "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "", 1, 1),
    "line": ("2x3x9", "4x3x3", "2x4x7", "[b, f, 0]x[o, i, 0]->[b, f, 0]", "", 1, 1),
    "cut": ("1x8x8x4", "2x2x4x6", "1x6x5x6", "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "pad = [[-1, 0], [0, -2]]", 1, 1),
    "cut_nchw": ("2x4x7x6", "5x4x2x1", "2x5x7x1", "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]", "pad = [[-1, 2], [-2, -3]]", 1, 1),
    "cut_away": ("1x3x3x4", "2x1x4x6", "1x5x3x6", "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "pad = [[-5, 8], [4, -4]]", 1, 1),
    "cut_steps": ("1x9x9x4", "2x1x4x6", "1x3x3x6", "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "stride = [2, 3], pad = [[-2, 0], [-1, -1]]", 1, 1),
    "cut_pointwise": ("1x5x5x4", "1x1x4x3", "1x3x4x3", "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "pad = [[0, -2], [-1, 0]]", 1, 1),
    "cut_spread": ("1x4x4x2", "2x2x2x3", "1x5x4x3", "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "pad = [[-1, 0], [0, -2]], lhs_dilate = [2, 2]", 1, 1),
    "cut_3x3": ("1x8x8x4", "3x3x4x6", "1x5x4x6", "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "pad = [[-1, 0], [0, -2]]", 1, 1),
    "cut_depthwise": ("1x8x8x8", "2x2x1x8", "1x6x5x8", "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "pad = [[-1, 0], [0, -2]]", 8, 1),
    "cut_grouped": ("1x6x6x8", "2x3x2x12", "1x4x4x12", "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "pad = [[-1, 0], [-1, 1]]", 4, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name: str) -> None:
    x, w, y, dims, window, groups, batches = CONVOLUTIONS[name]
    check(f"""func.func public @main(%x: tensor<{x}xf32>, %w: tensor<{w}xf32>) -> tensor<{y}xf32> {{
      %0 = stablehlo.convolution(%x, %w) dim_numbers = {dims}, window = {{{window}}} {{batch_group_count = {batches} : i64, feature_group_count = {groups} : i64}} : (tensor<{x}xf32>, tensor<{w}xf32>) -> tensor<{y}xf32>
      func.return %0 : tensor<{y}xf32> }}""", tolerance=1e-4)  # fmt: skip


@pytest.mark.parametrize("element", ["f32", "bf16", "i32"])
@pytest.mark.parametrize("direction", ["GE", "LT"])
@pytest.mark.parametrize(
    "x, y, window",
    [
        ("1x6x4x2", "1x3x2x2", "window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>"),
        ("5x7", "3x7", "window_dimensions = array<i64: 3, 3>, window_strides = array<i64: 2, 1>, padding = dense<1> : tensor<2x2xi64>"),
        ("3", "5", "window_dimensions = array<i64: 2>, padding = dense<[[3, 0]]> : tensor<1x2xi64>, window_strides = array<i64: 1>"),
        ("0x2", "0x1", "window_dimensions = array<i64: 1, 2>"),
    ],
)  # fmt: skip
def test_select_and_scatter(x: str, y: str, window: str, direction: str, element: str) -> None:
    """Overlapping windows, padding alone in two of them, NaN, nothing at all."""
    check(f"""func.func public @main(%x: tensor<{x}x{element}>, %s: tensor<{y}x{element}>) -> tensor<{x}x{element}> {{
      %zero = stablehlo.constant dense<{"0" if element == "i32" else "0.5"}> : tensor<{element}>
      %0 = "stablehlo.select_and_scatter"(%x, %s, %zero) <{{{window}}}> ({{
      ^bb0(%a: tensor<{element}>, %b: tensor<{element}>):
        %p = stablehlo.compare {direction}, %a, %b : (tensor<{element}>, tensor<{element}>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      }}, {{
      ^bb0(%a: tensor<{element}>, %b: tensor<{element}>):
        %t = stablehlo.add %a, %b : tensor<{element}>
        stablehlo.return %t : tensor<{element}>
      }}) : (tensor<{x}x{element}>, tensor<{y}x{element}>, tensor<{element}>) -> tensor<{x}x{element}>
      func.return %0 : tensor<{x}x{element}> }}""", edges=True, oracle=False)  # fmt: skip


@pytest.mark.parametrize(
    "x, y",
    [("3x4xf32", "3x4x4xui8"), ("3x2x4xui8", "3x2xf32"), ("5xi32", "5x2xi16"), ("2xf16", "2xbf16"), ("3xf64", "3x2xui32"),
     ("3x8xi8", "3xf64"), ("0x2xi16", "0xf32"), ("2xbf16", "f32")],
)  # fmt: skip
def test_bitcasts_of_other_width(x: str, y: str) -> None:
    check(f"""func.func public @main(%x: tensor<{x}>) -> tensor<{y}> {{
      %0 = stablehlo.bitcast_convert %x : (tensor<{x}>) -> tensor<{y}>
      func.return %0 : tensor<{y}> }}""", edges="i" in x)  # fmt: skip
