"""What CHLO's functions become computes what they mean, at ordinary places and at the odd ones."""

import ml_dtypes
import numpy as np
import pytest

import lamina
from lamina.compiler.interpreter import Interpreter
from lamina.compiler.parsing import parse_module
from lamina.compiler.verifier import verify
from lamina.passes import all_passes
from lamina.tools.sources import new_context

ODD = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0, -2.0, 0.5, 1e-30, 1e30, -0.99999994, 0.99999994])

KINDS = {
    **{"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f64": np.float64},
    **{"i8": np.int8, "i32": np.int32, "i64": np.int64, "ui8": np.uint8, "ui32": np.uint32},
}


def both(text, inputs):
    """The results of a program before and after the pass."""
    context = new_context()
    module = parse_module(text, "chlo", context)
    verify(module)
    before = Interpreter(context).run(module, inputs)
    all_passes()["stablehlo-decompose-chlo"]()().apply(context, module)
    verify(module)
    assert not any(op.dialect_name() == "chlo" for op in module.walk())
    return before, Interpreter(context).run(module, inputs)


def grid(low, high, dtype=np.float32):
    return np.concatenate([np.linspace(low, high, 101), ODD]).astype(dtype)


@pytest.mark.parametrize(
    "name, low, high, dtype",
    [
        ("erfc", -6, 12, "f32"),
        ("erf_inv", -1, 1, "f32"),
        ("lgamma", -20, 40, "f32"),
        ("digamma", -20, 40, "f32"),
        ("bessel_i1e", -30, 30, "f32"),
        ("erfc", -6, 12, "f64"),
        ("is_inf", -1, 1, "f16"),
        ("is_pos_inf", -1, 1, "f32"),
        ("is_neg_inf", -1, 1, "f32"),
    ],
)
def test_of_one(name, low, high, dtype):
    x = grid(low, high, {"f16": np.float16, "f32": np.float32, "f64": np.float64}[dtype])
    kind, result = f"tensor<{x.size}x{dtype}>", f"tensor<{x.size}x{'i1' if name.startswith('is_') else dtype}>"
    text = f"func.func public @main(%x: {kind}) -> {result} {{\n%r = chlo.{name} %x : {kind} -> {result}\n"
    [right], [got] = both(text + f"func.return %r : {result}\n}}", [x])
    if name.startswith("is_"):
        np.testing.assert_array_equal(got, right)
        return
    np.testing.assert_allclose(got, right, 2e-7 if dtype == "f32" else 1e-14, 1e-7 if name == "lgamma" else 0)


@pytest.mark.parametrize("name", ["zeta", "polygamma", "next_after"])
def test_of_two(name):
    a, b = np.meshgrid(np.float32([-1, 0, 1, 2, 3, 5, 1.5, 0.5]), grid(-3, 9))
    kind = f"tensor<{a.size}xf32>"
    text = f"func.func public @main(%a: {kind}, %b: {kind}) -> {kind} {{\n%r = chlo.{name} %a, %b : {kind}, {kind} -> "
    [right], [got] = both(f"{text}{kind}\nfunc.return %r : {kind}\n}}", [a.reshape(-1), b.reshape(-1)])
    np.testing.assert_allclose(got, right, 0 if name == "next_after" else 2e-7)


@pytest.mark.parametrize("dtype", ["i32", "ui8"])
def test_upper_half(dtype):
    numbers = np.array([0, 1, 77, 127, -1, -128, 100], np.int8).astype(np.int32) * (1 if dtype == "ui8" else 9999999)
    x = numbers.astype(np.uint8 if dtype == "ui8" else np.int32)
    kind = f"tensor<7x{dtype}>"
    text = f"func.func public @main(%a: {kind}, %b: {kind}) -> {kind} {{\n%r = chlo.mulhi %a, %b : {kind}, {kind} -> "
    [right], [got] = both(f"{text}{kind}\nfunc.return %r : {kind}\n}}", [x, x[::-1].copy()])
    np.testing.assert_array_equal(got, right)


RAGGED = "#chlo.ragged_dot<lhs_batching_dimensions = [{}], rhs_batching_dimensions = [{}], "
RAGGED += "lhs_contracting_dimensions = [{}], rhs_contracting_dimensions = [{}], lhs_ragged_dimensions = [{}], "
RAGGED += "rhs_group_dimensions = [{}]>"


@pytest.mark.parametrize(
    "numbers, lhs, rhs, result",
    [
        (("", "", "1", "1", "0", "0"), (6, 3), (3, 3, 4), (6, 4)),  # rows
        (("0", "1", "2", "2", "1", "0"), (2, 6, 3), (3, 2, 3, 4), (2, 6, 4)),  # rows of each batch
        (("", "", "1", "0", "1", ""), (5, 6), (6, 4), (3, 5, 4)),  # what is summed over
        (("0", "0", "2", "1", "2", ""), (2, 5, 6), (2, 6, 4), (3, 2, 5, 4)),
        (("0", "0", "2", "1", "0", ""), (6, 5, 3), (6, 3, 4), (6, 5, 4)),  # the batch
    ],
)
def test_ragged_products(numbers, lhs, rhs, result):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in (lhs, rhs))
    kinds = [f"tensor<{'x'.join(map(str, shape))}xf32>" for shape in (lhs, rhs, result)]
    types = f"({kinds[0]}, {kinds[1]}, tensor<3xi32>) -> {kinds[2]}"
    text = f"func.func public @main(%a: {kinds[0]}, %b: {kinds[1]}, %g: tensor<3xi32>) -> {kinds[2]} {{\n"
    attributes = f"ragged_dot_dimension_numbers = {RAGGED.format(*numbers)}"
    text += f'%r = "chlo.ragged_dot"(%a, %b, %g) <{{{attributes}}}> : {types}'
    sizes = np.array([2, 0, 3], np.int32)
    [right], [got] = both(f"{text}\nfunc.return %r : {kinds[2]}\n}}", [a, b, sizes])
    np.testing.assert_allclose(got, right, 1e-5, 1e-6)
    if numbers == ("", "", "1", "1", "0", "0"):
        np.testing.assert_allclose(right, np.concatenate([a[:2] @ b[0], a[2:5] @ b[2], np.zeros((1, 4))]), 1e-5, 1e-6)


@pytest.mark.parametrize("summed", [1, 2], ids=["matrices", "turned"])
@pytest.mark.parametrize(
    "sizes",
    [[3, 0, 3, 1], [0, 0, 0, 7], [7, 0, 0, 0], [0, 0, 0, 0], [1, 2, 1, 0], [40, 1, 0, 59], [25, 25, 25, 25], [1], [9]],
    ids=str,
)
@pytest.mark.parametrize("kind", ["f32", "bf16", "i32"])
def test_rows_in_groups_are_tiles(sizes, summed, kind, tmp_path):
    """However many rows a group has, also none; those of no group are zeros."""
    rows, depth, width, groups = sum(sizes) + (sizes[0] == 1) or 5, 3, 4, len(sizes)
    rng = np.random.default_rng(0)
    dtype = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "i32": np.int32}[kind]
    matrices = (groups, depth, width) if summed == 1 else (groups, width, depth)
    a, b = (rng.integers(-9, 9, shape).astype(dtype) for shape in ((rows, depth), matrices))
    kinds = [f"tensor<{'x'.join(map(str, shape))}x{kind}>" for shape in ((rows, depth), matrices, (rows, width))]
    types = f"({kinds[0]}, {kinds[1]}, tensor<{groups}xi64>) -> {kinds[2]}"
    text = f"func.func public @main(%a: {kinds[0]}, %b: {kinds[1]}, %g: tensor<{groups}xi64>) -> {kinds[2]} {{\n"
    attributes = f"ragged_dot_dimension_numbers = {RAGGED.format('', '', '1', summed, '0', '0')}"
    text += f'%r = "chlo.ragged_dot"(%a, %b, %g) <{{{attributes}}}> : {types}\nfunc.return %r : {kinds[2]}\n}}'
    inputs = [a, b, np.array(sizes, np.int64)]
    [right], [got] = both(text, inputs)
    ends = np.cumsum(sizes)
    turned = b if summed == 1 else b.transpose(0, 2, 1)
    parts = [a[end - n : end].astype(np.float64) @ m for n, end, m in zip(sizes, ends, turned, strict=True)]
    whole = np.concatenate([*parts, np.zeros((rows - ends[-1], width))]).astype(dtype)
    np.testing.assert_array_equal(right, whole)
    np.testing.assert_array_equal(got, whole)
    path = tmp_path / "rows.mlir"
    path.write_text(text)
    [native] = lamina.compile(path)(*inputs)
    np.testing.assert_array_equal(native, whole)


def test_native_code(tmp_path):
    path = tmp_path / "chlo.mlir"
    results = "tensor<2x5xf32>, tensor<2x2xf32>, tensor<2x2xi32>"
    path.write_text(f"""func.func public @main(%x: tensor<2x5xf32>, %v: tensor<5xf32>) -> ({results}) {{
  %a = chlo.broadcast_multiply %x, %v : (tensor<2x5xf32>, tensor<5xf32>) -> tensor<2x5xf32>
  %b = chlo.lgamma %a : tensor<2x5xf32> -> tensor<2x5xf32>
  %c = chlo.next_after %b, %a : tensor<2x5xf32>, tensor<2x5xf32> -> tensor<2x5xf32>
  %t, %i = chlo.top_k(%c, k = 2) : tensor<2x5xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)
  func.return %c, %t, %i : {results}
}}
""")
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(shape).astype(np.float32) for shape in ((2, 5), (5,))]
    for got, right in zip(lamina.compile(path)(*inputs), lamina.interpret(path, inputs), strict=True):
        np.testing.assert_allclose(got, right, 2e-6)


@pytest.mark.parametrize(
    "name, a, b, right",
    [
        ("zeta", 2, 1, np.pi**2 / 6),
        ("zeta", 4, 1, np.pi**4 / 90),
        ("polygamma", 1, 1, np.pi**2 / 6),
        ("polygamma", 3, 0.5, np.pi**4),
        ("polygamma", 0, 1, -0.5772156649015329),
    ],
)
def test_known_values(name, a, b, right):
    text = f"func.func public @main(%a: tensor<f64>, %b: tensor<f64>) -> tensor<f64> {{\n%r = chlo.{name} %a, %b : "
    text += "tensor<f64>, tensor<f64> -> tensor<f64>\nfunc.return %r : tensor<f64>\n}"
    for [got] in both(text, [np.array(a, np.float64), np.array(b, np.float64)]):
        np.testing.assert_allclose(got, right, 1e-13)


def test_bessel():
    text = "func.func public @main(%a: tensor<3xf64>) -> tensor<3xf64> {\n%r = chlo.bessel_i1e %a : tensor<3xf64> -> "
    text += "tensor<3xf64>\nfunc.return %r : tensor<3xf64>\n}"
    for [got] in both(text, [np.array([1.0, -1.0, 20.0])]):
        np.testing.assert_allclose(got, [0.20791041534970845, -0.20791041534970845, 0.08750622218328867], 1e-13)


@pytest.mark.parametrize(("n", "k"), [(14, 14), (14, 3), (65, 1), (300, 7), (700, 600)])
@pytest.mark.parametrize("kind", KINDS)
def test_largest_at_odd_places(n: int, k: int, kind: str):
    rng, dtype = np.random.default_rng(0), KINDS[kind]
    x = rng.integers(0, 40, (3, n)).astype(dtype)  # with many ties
    if kind.startswith(("f", "bf")):
        with np.errstate(over="ignore"):
            x[0] = np.resize(ODD, n).astype(dtype)
        x[1, ::3] = -x[1, ::3]
    text = f"""
func.func @main(%x: tensor<3x{n}x{kind}>) -> (tensor<3x{k}x{kind}>, tensor<3x{k}xi32>) {{
  %v, %i = chlo.top_k(%x, k = {k}) : tensor<3x{n}x{kind}> -> (tensor<3x{k}x{kind}>, tensor<3x{k}xi32>)
  func.return %v, %i : tensor<3x{k}x{kind}>, tensor<3x{k}xi32>
}}"""
    (values, places), (got, where) = both(text, [x])
    np.testing.assert_array_equal(where, places)
    assert np.asarray(got).tobytes() == np.asarray(values).tobytes()  # zeros with their signs, too
