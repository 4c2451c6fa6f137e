"""Tensors whose size data decide, through what follows: against ONNX Runtime, with none, one, some and all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx.parser import parse_model

import lamina
from lamina.compiler.diagnostics import LaminaError

Array = np.ndarray[Any, np.dtype[Any]]
ROWS = 12
HEAD = """
    zero = Constant <value = int64[1] {0}> ()
    one = Constant <value = int64[1] {1}> ()
    two = Constant <value = int64[1] {2}> ()
    five = Constant <value = int64[1] {5}> ()
    none = Constant <value = int64[1] {-1}> ()
    found = NonZero (m)
    places = Squeeze (found, zero)
    y = Gather (x, places)
    column = Gather <axis = 1> (y, two)
    row = Squeeze (column, one)
    shape = Shape (y)
    n = Gather (shape, zero)
"""


def model_of(body: str, results: str) -> Any:
    """`y` [n, 5], its column `row` [n], and `n` for rows of `x` [12, 5] where `m` [12] holds; `z` are other rows."""
    text = f"""<ir_version: 9, opset_import: ["" : 18]>
    g (float[{ROWS}, 5] x, bool[{ROWS}] m, float[{ROWS}, 5] z) => ({results}) {{ {HEAD} {body} }}"""
    return parse_model(text)


def inputs(kept: str) -> list[Array]:
    rng = np.random.default_rng(len(kept))
    mask = {"none": np.zeros(ROWS, bool), "all": np.ones(ROWS, bool), "one": np.arange(ROWS) == 7}.get(kept)
    mask = rng.uniform(size=ROWS) < 0.5 if mask is None else mask
    return [rng.standard_normal((ROWS, 5), np.float32), mask, rng.standard_normal((ROWS, 5), np.float32)]


def agree(model: Any, target: str, *kept: str) -> None:
    session = onnxruntime.InferenceSession(model.SerializeToString())
    compiled = lamina.compile(model, target)
    for each in kept:
        given = inputs(each)
        wanted: Any = session.run(None, dict(zip("xmz", given, strict=True)))
        for got, want in zip(compiled(*given), wanted, strict=True):
            assert got.shape == want.shape and got.dtype == want.dtype, each
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6, err_msg=each)


CASES = {
    "arithmetic": ("a = Mul (y, y) b = Add (a, row2) row2 = Unsqueeze (row, one) r = Relu (b)", "float[p, 5] r"),
    "a row for each": ("e = Expand (one, n) f = Cast <to = 1> (e) r = Add (row, f)", "float[p] r"),
    "transposed": ("t = Transpose <perm = [1, 0]> (y) r = Neg (t)", "float[5, p] r"),
    "as one row": ("r = Reshape (y, none)", "float[p] r"),
    "as rows of one": ("s = Constant <value = int64[3] {-1, 1, 5}> () r = Reshape (y, s)", "float[p, 1, 5] r"),
    "by a computed shape": ("s = Concat <axis = 0> (n, one, five) r = Reshape (y, s)", "float[p, 1, 5] r"),
    "flattened": ("u = Unsqueeze (y, two) r = Flatten <axis = 1> (u)", "float[p, 5] r"),
    "sums": (
        "a = ReduceSum <keepdims = 0> (y, zero) b = ReduceSum <keepdims = 0> (y, one) c = ReduceL2 (y, zero)",
        "float[5] a, float[p] b, float[1, 5] c",
    ),
    "softmax of rows": ("r = Softmax <axis = 1> (y)", "float[p, 5] r"),
    "sums so far": ("r = CumSum (y, zero)", "float[p, 5] r"),
    "joined": ("a = Concat <axis = 0> (y, z) r = Concat <axis = 0> (a, y)", "float[p, 5] r"),
    "side by side": ("r = Concat <axis = 1> (y, column)", "float[p, 6] r"),
    "the first three": ("e = Constant <value = int64[1] {3}> () r = Slice (y, zero, e, zero)", "float[p, 5] r"),
    "without the last": ("r = Slice (y, zero, none, zero)", "float[p, 5] r"),
    "from the second on": (
        "e = Constant <value = int64[1] {9223372036854775807}> () r = Slice (y, one, e, zero)",
        "float[p, 5] r",
    ),
    "as many of others": ("r = Slice (z, zero, n, zero)", "float[p, 5] r"),
    "the others": ("e = Constant <value = int64[1] {100}> () r = Slice (z, n, e, zero)", "float[p, 5] r"),
    "every other column": (
        "e = Constant <value = int64[1] {5}> () r = Slice (y, one, e, one, two)",
        "float[p, 2] r",
    ),
    "a filled one": ("r = ConstantOfShape <value = float[1] {3.0}> (shape)", "float[p, 5] r"),
    "counted": (
        "o = Constant <value = int64 {0}> () s = Constant <value = int64 {1}> () l = Squeeze (n) r = Range (o, l, s)",
        "int64[p] r",
    ),
    "its size": ("r = Size (y)", "int64 r"),
    "its shape": ("r = Identity (shape)", "int64[2] r"),
    "chosen again": (
        """o = Constant <value = float {0.0}> () c = Greater (row, o) f = NonZero (c) t = Transpose (f)
        r = GatherND (y, t)""",
        "float[p, 5] r",
    ),
    "written back": (
        "u = Unsqueeze (places, one) e = Expand (u, shape) v = Neg (y) r = ScatterElements <axis = 0> (x, e, v)",
        f"float[{ROWS}, 5] r",
    ),
    "written back by rows": (
        "u = Unsqueeze (places, one) v = Neg (y) r = ScatterND (x, u, v)",
        f"float[{ROWS}, 5] r",
    ),
    "products": ("t = Transpose (z) r = MatMul (y, t)", f"float[p, {ROWS}] r"),
    "with weights": ("r = Gemm <transB = 1> (y, z)", f"float[p, {ROWS}] r"),
    "the largest few": (
        """h = Constant <value = int64[1] {4}> () a = Concat <axis = 0> (h, n) k = ReduceMin <keepdims = 0> (a)
        l = Reshape (k, none) v, i = TopK (row, l) r = Gather (y, i)""",
        "float[p] v, int64[p] i, float[p, 5] r",
    ),
    "the smallest of all": ("v, i = TopK <largest = 0> (row, n)", "float[p] v, int64[p] i"),
    "one of two sizes": (
        """e = Constant <value = int64 {3}> () l = Squeeze (n) c = Greater (l, e)
        r = If (c) <then_branch = t () => (float[q, 5] a) { a = Neg (y) },
                    else_branch = f () => (float[q, 5] b) { b = Concat <axis = 0> (y, z) }>""",
        "float[p, 5] r",
    ),
    "from behind": (
        """i = Constant <value = int64[2] {-1, 0}> () a = Concat <axis = 0> (y, z) r = Gather (a, i)
        j = Constant <value = int64[1, 1] {-2}> () q = GatherND (a, j)""",
        "float[2, 5] r, float[1, 5] q",
    ),
    "boxes": (
        """a = Constant <value = int64[2] {0, 1}> () b = Constant <value = int64[1] {4}> () s = Abs (y)
        c = Slice (s, zero, b, one) d = Unsqueeze (c, zero) e = Unsqueeze (row, a)
        o = Constant <value = float[1] {0.3}> () k = Constant <value = int64[1] {5}> ()
        r = NonMaxSuppression (d, e, k, o)""",
        "int64[p, 3] r",
    ),
    "padded to all rows": (
        f"""w = Constant <value = int64[1] {{{ROWS}}}> () a = Sub (w, n) f = Constant <value = float {{7.0}}> ()
        o = Constant <value = int64[3] {{0, 0, 0}}> () c = Slice (o, zero, one, zero) b = Concat <axis = 0> (c, c, a, c)
        r = Pad (y, b, f) g = Mul (a, five) d = Reshape (y, none) h = Concat <axis = 0> (c, g) e = Pad (d, h)
        s = Constant <value = int64[2] {{{ROWS}, 5}}> () q = Reshape (e, s)""",
        f"float[{ROWS}, 5] r, float[{ROWS}, 5] q",
    ),
    "padded": ("w = Constant <value = int64[4] {1, 1, 2, 0}> () r = Pad (y, w)", "float[p, 6] r"),
    "one row for all, where there are more": (
        """f = Slice (y, zero, one, zero) a = Add (f, y) g = Expand (f, shape) c = Less (f, y) r = Where (c, a, g)""",
        "float[p, 5] r",
    ),
    "found twice": (
        """o = Constant <value = float {0.0}> () c = Greater (row, o) f = NonZero (c) g = NonZero (c)
        i = Squeeze (f, zero) j = Squeeze (g, zero) a = Gather (y, i) b = Gather (y, j) r = Mul (a, b)""",
        "float[p, 5] r",
    ),
    "padded beside what data decide": (
        'w = Constant <value = int64[4] {0, 1, 0, 2}> () r = Pad <mode = "edge"> (y, w)',
        "float[p, 8] r",
    ),
    "as the type of another": ("r = CastLike (y, shape)", "int64[p, 5] r"),
    "as the type of one whose size data decide": ("r = CastLike (z, places)", f"int64[{ROWS}, 5] r"),
    "written from behind": (
        """i = Constant <value = int64[1] {-1}> () j = Unsqueeze (i, one) t = Concat <axis = 0> (y, z)
        u = Slice (z, zero, one, zero) r = ScatterND (t, j, u) f = Expand (j, s) s = Shape (u)
        q = ScatterElements <axis = 0> (t, f, u)""",
        "float[p, 5] r, float[p, 5] q",
    ),
    "split and padded": (
        """s = Constant <value = int64[2] {2, 3}> () a, b = Split <axis = 1> (y, s)
        w = Constant <value = int64[4] {0, 1, 0, 0}> () r = Pad (a, w)
        d = Slice (b, zero, one, one) q = Squeeze (d, one)""",
        "float[p, 3] r, float[p] q",
    ),
}


@pytest.mark.parametrize("target", ["interpret", "cpu"])
@pytest.mark.parametrize("case", CASES)
def test_against_onnx_runtime(case: str, target: str) -> None:
    agree(model_of(*CASES[case]), target, "none", "one", "some", "all")


def test_one_row_meets_a_size_that_is_known() -> None:
    body = f"""s = Constant <value = int64[2] {{{ROWS}, 5}}> () a = Expand (y, s) b = Add (z, y) c = Add (row, o)
        o = Constant <value = float[1] {{2.0}}> ()"""
    agree(model_of(body, f"float[{ROWS}, 5] a, float[{ROWS}, 5] b, float[p] c"), "cpu", "one", "all")


def test_means_of_integers() -> None:
    body = "i = Cast <to = 7> (y) h = Constant <value = int64[1] {100}> () j = Mul (i, h) r = ReduceMean (j, zero)"
    agree(model_of(body, "int64[1, 5] r"), "cpu", "one", "some", "all")


@pytest.mark.parametrize(
    ("body", "results"),
    [
        ("r = ReduceMean <keepdims = 0> (y, zero) q = ReduceMax <keepdims = 0> (y, zero)", "float[5] r, float[5] q"),
        ("r = Softmax <axis = 0> (y)", "float[p, 5] r"),
        ("r = ArgMax <keepdims = 0> (y) q = ArgMin <axis = 1> (y)", "int64[5] r, int64[p, 1] q"),
    ],
)
def test_what_is_of_nothing_undefined(body: str, results: str) -> None:
    agree(model_of(body, results), "cpu", "one", "some", "all")


@pytest.mark.parametrize(
    ("body", "results"),
    [
        ("t = Transpose (y) r = Reshape (t, none)", "float[p] r"),
        ('w = Constant <value = int64[4] {1, 0, 0, 0}> () r = Pad <mode = "edge"> (y, w)', "float[p, 5] r"),
        ("t = Transpose (y) r = MatMul (t, y)", "float[5, 5] r"),
        ("r = Tile (y, shape)", "float[p, q] r"),
        ("t = Concat <axis = 0> (none, n) r = Tile (column, t)", "float[p, q] r"),
        ("r = ReverseSequence <batch_axis = 1, time_axis = 0> (y, five)", "float[p, q] r"),
    ],
)
def test_what_has_no_rule_is_told(body: str, results: str) -> None:
    with pytest.raises(LaminaError, match="depends on data"):
        lamina.compile(model_of(body, results))


def test_what_may_be_negative_is_not_taken_for_a_size() -> None:
    """n - 1 is -1 where there is nothing. Whether it is, is not decided before: the program is made for the values."""
    body = "a = Sub (n, one) e = Equal (a, none) s = Where (e, five, a) r = ConstantOfShape (s)"
    agree(model_of(body, "float[p] r"), "cpu", "none", "one", "some")


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reduction", ["none", "add"])
def test_rows_that_are_scattered_as_elements(axis: int, reduction: str) -> None:
    """Indices that are spread out from a column: those from behind and those twice as well."""
    shape = ["2, 1", "1, 3"][axis]
    model = parse_model(
        f"""<ir_version: 9, opset_import: ["" : 18]>
        g (float[4, 3] x, int64[{shape}] i, float[{["2, 3", "4, 3"][axis]}] u) => (float[4, 3] r) {{
            s = Shape (u) e = Expand (i, s)
            r = ScatterElements <axis = {axis}, reduction = "{reduction}"> (x, e, u)
        }}"""
    )
    rng = np.random.default_rng(axis)
    x, u = rng.standard_normal((4, 3), np.float32), rng.standard_normal(((2, 3), (4, 3))[axis], np.float32)
    for places in ([-1, 1, 0], [0, -2, -3]) if reduction == "none" else ([1, 1, 1], [-1, 2, 2]):
        i = np.array(places[: 2 + axis]).reshape([2, 1] if axis == 0 else [1, 3])
        session = onnxruntime.InferenceSession(model.SerializeToString())
        result: Any = session.run(None, {"x": x, "i": i, "u": u})
        for target in ("interpret", "cpu"):
            np.testing.assert_allclose(lamina.compile(model, target)(x, i, u)[0], result[0], rtol=1e-6)
