"""Contractions compiled through register tiles give the numbers of NumPy, whatever the shape leaves over."""

from __future__ import annotations

from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np
import pytest
from xdsl.parser import Parser

from lamina.backends.cpu.build import build
from lamina.backends.cpu.jit import native_model
from lamina.compiler.context import LaminaContext
from lamina.compiler.descent import Phase
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.machine import Machine
from lamina.compiler.signature import Signature, TensorSpec
from lamina.dialects import all_dialects

PASSES = (
    "convert-contraction-to-vector{OPTIONS}",
    "convert-linalg-to-affine",
    "affine-vectorize",
    "canonicalize",
    "cse",
    "convert-affine-to-scf",
    "convert-parallel-to-runtime",
    "canonicalize",
    "cse",
    "convert-scf-to-cf",
    "convert-to-llvm",
)
NAMES = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "i8": "int8", "i32": "int32"}
MULTIPLY_ADD = {
    "f32": "%p = arith.mulf %l, %r : f32\n%s = arith.addf %o, %p : f32",
    "f64": "%p = arith.mulf %l, %r : f64\n%s = arith.addf %o, %p : f64",
    "f16": "%p = arith.mulf %l, %r : f16\n%s = arith.addf %o, %p : f16",
    "bf16": "%p = arith.mulf %l, %r : bf16\n%s = arith.addf %o, %p : bf16",
    "i8": "%u = arith.extsi %l : i8 to i32\n%v = arith.extsi %r : i8 to i32\n"
    "%p = arith.muli %u, %v : i32\n%s = arith.addi %o, %p : i32",
}


@dataclass(frozen=True)
class Case:
    """A contraction as text: shapes of A, B, C, the maps, the iterators; `epilogue` is text over %y, %e."""

    shapes: tuple[tuple[int, ...], ...]
    maps: tuple[str, str, str]
    iterators: str
    element: str = "f32"
    epilogue: str = ""
    extra: tuple[int, ...] = (1,)
    options: str = ""
    cores: int = 2

    @property
    def sum_element(self) -> str:
        return "i32" if self.element == "i8" else self.element


def memref(shape: tuple[int, ...], element: str) -> str:
    return f"memref<{''.join(f'{d}x' for d in shape)}{element}>"


def text(case: Case) -> str:
    a, b, c = (memref(s, e) for s, e in zip(case.shapes, (case.element, case.element, case.sum_element), strict=True))
    extra = memref(case.extra, case.sum_element)
    zero = "0" if case.sum_element == "i32" else "0.0"
    words = ", ".join(f'"{"parallel" if i == "p" else "reduction"}"' for i in case.iterators)
    maps = ", ".join(f"affine_map<{m}>" for m in case.maps)
    rank = ", ".join(f"d{i}" for i in range(len(case.shapes[2])))
    elementwise = ", ".join(['"parallel"'] * len(case.shapes[2]))
    epilogue = case.epilogue.format(
        id=f"affine_map<({rank}) -> ({rank})>", rank=rank, par=f"[{elementwise}]", c=c, extra=extra
    )
    return f"""
    func.func public @main(%a: {a}, %b: {b}, %e: {extra}, %y: {c}, %arena: memref<64xi8>, %constants: memref<64xi8>)
        attributes {{lamina.inputs = 3 : i64, lamina.outputs = 1 : i64}} {{
      func.call @kernel(%a, %b, %e, %y) : ({a}, {b}, {extra}, {c}) -> ()
      func.return
    }}
    func.func private @kernel(%a: {a}, %b: {b}, %e: {extra}, %y: {c}) attributes {{lamina.kernel = "contraction"}} {{
      %zero = arith.constant {zero} : {case.sum_element}
      linalg.fill ins(%zero : {case.sum_element}) outs(%y : {c})
      linalg.generic {{indexing_maps = [{maps}], iterator_types = [{words}]}} ins(%a, %b : {a}, {b}) outs(%y : {c}) {{
      ^bb0(%l: {case.element}, %r: {case.element}, %o: {case.sum_element}):
        {MULTIPLY_ADD[case.element]}
        linalg.yield %s : {case.sum_element}
      }}
      {epilogue}
      func.return
    }}"""


def run(case: Case) -> tuple[list[np.ndarray], np.ndarray]:
    """The inputs drawn and what the machine code gives."""
    ctx = LaminaContext(machine=replace(Machine.host(), cores=case.cores))
    for name, factory in all_dialects().items():
        ctx.register_dialect(name, factory)
    module = Parser(ctx, text(case)).parse_module()
    passes = tuple(p.replace("{OPTIONS}", f'{{schedule="{case.options}"}}' if case.options else "") for p in PASSES)
    built = build(module, ctx, phases=[Phase("llvm", "", passes)], jobs=1)
    specs = [
        (shape, NAMES[e])
        for shape, e in zip(
            (*case.shapes[:2], case.extra, case.shapes[2]),
            (case.element, case.element, case.sum_element, case.sum_element),
            strict=True,
        )
    ]
    tensors = [TensorSpec(f"t{i}", shape, dtype) for i, (shape, dtype) in enumerate(specs)]
    signature = Signature(tuple(tensors[:3]), tuple(tensors[3:]))
    rng = np.random.default_rng(0)
    dtypes = [np.dtype(getattr(ml_dtypes, d, None) or d) for _, d in specs]
    inputs = [
        rng.integers(-5, 6, shape).astype(d) if d.kind == "i" else rng.standard_normal(shape).astype(d)
        for (shape, _), d in zip(specs[:3], dtypes, strict=False)
    ]
    model = native_model(built.objects, signature, np.zeros(64, np.uint8), 64, ctx.machine, threads=case.cores)
    return inputs, model.run(inputs)[0]


def panels(b: np.ndarray, lanes: int) -> np.ndarray:
    """What [n // lanes, k.., lanes] panels stand for: [k.., n]."""
    return np.moveaxis(b, 0, -2).reshape(*b.shape[1:-1], b.shape[0] * b.shape[-1])


def check(got: np.ndarray, want: np.ndarray, depth: int) -> None:
    eps = {2: 8e-3, 4: 1.2e-7, 8: 2.2e-16}[got.dtype.itemsize]
    bound = eps * (depth + 4) ** 0.5 * 4
    np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=bound, atol=bound * depth**0.5)


MATMUL = ("(m, n, k) -> (m, k)", "(m, n, k) -> (n floordiv 16, k, n mod 16)", "(m, n, k) -> (m, n)")
SHAPES = [(1, 16, 1), (1, 100, 64), (2, 1000, 20), (3, 7, 5), (5, 33, 17), (13, 100, 64), (49, 24, 31), (128, 48, 130)]


@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_matmul(m: int, n: int, k: int):
    inputs, got = run(Case(((m, k), (-(-n // 16), k, 16), (m, n)), MATMUL, "ppr"))
    check(got, inputs[0] @ panels(inputs[1], 16)[:, :n], k)


@pytest.mark.parametrize(
    ("m", "n", "k", "options"),
    [
        (1, 17, 8, ""),
        (13, 33, 24, ""),
        (21, 49, 64, "rows=6 depth=24"),
        (6, 17, 20, ""),
        (29, 18, 256, ""),
        (17, 19, 272, "rows=8 depth=160"),
        (25, 36, 512, "rows=6 row_blocks=2 depth=128"),
        (9, 20, 264, ""),
        (9, 21, 256, ""),
        (1100, 34, 2048, "rows=8 row_blocks=2"),
        (16, 52, 4096, ""),
    ],
)
def test_few_columns_more_than_panels(m: int, n: int, k: int, options: str):
    inputs, got = run(Case(((m, k), (-(-n // 16), k, 16), (m, n)), MATMUL, "ppr", options=options))
    check(got, inputs[0] @ panels(inputs[1], 16)[:, :n], k)


@pytest.mark.parametrize(
    "options",
    [
        "rows=1",
        "rows=3 panels=2",
        "rows=6 row_blocks=3 panel_blocks=2",
        "rows=4 unroll=4",
        "rows=6 depth=16",
        "rows=5 panels=2 depth=24 row_blocks=2",
        "rows=6 ahead=8",
        "rows=4 panels=2 panel_blocks=2 depth=32 ahead=8 unroll=2",
        "rows=6 row_blocks=2 ahead=16 unroll=3",
        "rows=6 depth=24 ahead=16",
        "rows=6 ahead=4 unroll=8",
        "rows=6 depth=32 ahead=16 unroll=32",
    ],
)
def test_given_schedules(options: str):
    inputs, got = run(Case(((61, 64), (9, 64, 16), (61, 137)), MATMUL, "ppr", options=options))
    check(got, inputs[0] @ panels(inputs[1], 16)[:, :137], 64)


@pytest.mark.parametrize("element", ["f64", "f16", "bf16", "i8"])
def test_element_types(element: str):
    inputs, got = run(Case(((9, 40), (2, 40, 16), (9, 21)), MATMUL, "ppr", element=element))
    a, b = (x.astype(np.float64) for x in inputs[:2])
    check(got, a @ panels(b, 16)[:, :21], 40)


def test_sums_of_16_bits_do_not_wait_in_memory():
    with pytest.raises(LaminaError, match="stay in registers over all of k"):
        run(Case(((9, 40), (2, 40, 16), (9, 21)), MATMUL, "ppr", element="f16", options="rows=4 depth=8"))


def test_heads_in_the_middle_and_b_in_place():
    maps = ("(h, m, n, k) -> (m, h, k)", "(h, m, n, k) -> (k, h, n)", "(h, m, n, k) -> (m, h, n)")
    inputs, got = run(Case(((11, 3, 20), (20, 3, 37), (11, 3, 37)), maps, "pppr"))
    check(got, np.einsum("mhk,khn->mhn", *inputs[:2]), 20)


CONV = (
    "(n, oh, ow, f, kh, kw, c) -> (n, oh * 2 + kh, ow * 2 + kw, c)",
    "(n, oh, ow, f, kh, kw, c) -> (f floordiv 16, kh, kw, c, f mod 16)",
    "(n, oh, ow, f, kh, kw, c) -> (n, oh, ow, f)",
)
RESIDUAL = """
  linalg.generic {{indexing_maps = [affine_map<({rank}) -> (d3)>, {id}], iterator_types = {par}}}
      ins(%e : {extra}) outs(%y : {c}) {{
  ^bb0(%c: f32, %d: f32):
    %z = arith.constant 0.0 : f32
    %s = arith.addf %d, %c : f32
    %v = arith.maximumf %s, %z : f32
    linalg.yield %v : f32
  }}"""


@pytest.mark.parametrize("options", ["", "rows=6 depth=1", "rows=5 depth=2 panels=2", "rows=6 ahead=5"])
def test_convolution_with_bias_and_relu(options: str):
    shapes = ((2, 15, 15, 5), (2, 3, 3, 5, 16), (2, 7, 7, 24))
    inputs, got = run(Case(shapes, CONV, "pppprrr", epilogue=RESIDUAL, extra=(24,), options=options))
    windows = np.lib.stride_tricks.sliding_window_view(inputs[0], (3, 3), axis=(1, 2))[:, ::2, ::2]
    weights = panels(inputs[1], 16)[..., :24]
    want = np.einsum("nhwckl,klcf->nhwf", windows, weights) + inputs[2]
    check(got, np.maximum(want, 0), 45)


def test_grouped_and_dilated_convolution():
    maps = (
        "(n, g, oh, ow, f, kh, kw, c) -> (n, oh + kh * 2, ow + kw * 2, g, c)",
        "(n, g, oh, ow, f, kh, kw, c) -> (g, f floordiv 16, kh, kw, c, f mod 16)",
        "(n, g, oh, ow, f, kh, kw, c) -> (n, oh, ow, g, f)",
    )
    inputs, got = run(Case(((1, 9, 9, 2, 3), (2, 1, 3, 3, 3, 16), (1, 5, 5, 2, 10)), maps, "ppppprrr"))
    windows = np.lib.stride_tricks.sliding_window_view(inputs[0], (5, 5), axis=(1, 2))[..., ::2, ::2]
    want = np.einsum("nhwgckl,gklcf->nhwgf", windows, inputs[1][:, 0, ..., :10])
    check(got, want, 27)
