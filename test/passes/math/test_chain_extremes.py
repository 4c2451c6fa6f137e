"""Chains of maxima and minima mean what they meant, for NaN, infinities and zeros in every place."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.parser import Parser

from lamina.compiler.context import LaminaContext
from lamina.compiler.machine import Machine
from lamina.dialects import all_dialects
from lamina.passes.math.chain_extremes import ChainExtremes

Kernel = Callable[..., None]
NUMBERS = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5)
LANES = 7


def chained(text: str) -> str:
    """IR text after the pass, for a machine that it is for, whatever this one is."""
    ctx = LaminaContext(machine=Machine.preset("x86-64-avx512"))
    for name, dialect in all_dialects().items():
        ctx.register_dialect(name, dialect)
    module = Parser(ctx, text).parse_module()
    ChainExtremes().apply(ctx, module)
    module.verify()
    return str(module)


@pytest.mark.parametrize("type_", ["f32", "f64"])
@pytest.mark.parametrize("constant", [None, "start", 1.0])
@pytest.mark.parametrize(("op", "meaning"), [("maximumf", np.maximum), ("minimumf", np.minimum)])
def test_every_combination(kernel: Kernel, op: str, meaning: Any, constant: object, type_: str):
    cases = np.array(list(itertools.product(NUMBERS, repeat=4)))
    rows, vector = len(cases) // LANES, f"vector<{LANES}x{type_}>"
    x = np.ascontiguousarray(cases.T).reshape(4, rows, LANES).astype({"f32": np.float32, "f64": np.float64}[type_])
    y = np.zeros((rows, LANES), x.dtype)
    start = (-np.inf if op == "maximumf" else np.inf) if constant == "start" else constant
    memory = f"memref<4x{rows}x{LANES}x{type_}>"
    loads = "\n".join(f"%x{i} = affine.vector_load %x[{i}, %i, 0] : {memory}, {vector}" for i in range(4))
    bits = 0 if start is None else int(np.array(start, x.dtype).view(f"u{x.itemsize}"))
    text = f"""
    func.func public @kernel(%x: {memory}, %y: memref<{rows}x{LANES}x{type_}>) {{
      %one = arith.constant {hex(bits)} : {type_}
      %all = vector.broadcast %one : {type_} to {vector}
      affine.for %i = 0 to {rows} {{
        {loads}
        %a = arith.{op} %x0, %{"x3" if start is None else "all"} fastmath<nsz> : {vector}
        %b = arith.{op} %a, %x1 fastmath<nsz> : {vector}
        %c = arith.{op} %x2, %b fastmath<nsz> : {vector}
        affine.vector_store %c, %y[%i, 0] : memref<{rows}x{LANES}x{type_}>, {vector}
      }}
      func.return
    }}"""
    after = chained(text)
    assert f"arith.{op}" not in after
    kernel(after, "math-expand", [x, y])
    expected = meaning.reduce([x[0], x[1], x[2], x[3] if start is None else np.full_like(x[3], start)])
    np.testing.assert_array_equal(y, expected)
