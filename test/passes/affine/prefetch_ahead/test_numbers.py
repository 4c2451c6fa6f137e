"""Asking ahead changes no result, at the end of an array and of another's memory either; where it is done by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from xdsl.parser import Parser

from lamina.compiler.context import LaminaContext
from lamina.compiler.machine import Machine
from lamina.dialects import all_dialects
from lamina.dialects.memref import PrefetchOp
from lamina.passes.affine.prefetch_ahead import PrefetchAhead


def text(rows: int, columns: int, type_: str = "f32") -> str:
    shape = f"memref<{rows}x{columns}x{type_}>"
    return f"""
    func.func public @kernel(%x: {shape}, %y: {shape}) {{
      affine.for %i = 0 to {rows} {{
        affine.for %j = 0 to {columns} {{
          %a = affine.load %x[%i, %j] : {shape}
          %b = math.exp %a : {type_}
          affine.store %b, %y[%i, %j] : {shape}
        }}
      }}
      func.return
    }}"""


@pytest.mark.parametrize(("rows", "columns"), [(1, 5000), (7, 64), (3, 1001), (1, 1)])
@pytest.mark.parametrize("machine", ["", "x86-64-avx2"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers(kernel: Callable[..., None], rows: int, columns: int, machine: str, dtype: type):
    x = np.random.default_rng(0).standard_normal((rows, columns)).astype(dtype)
    y = np.empty_like(x)
    name = "f32" if dtype is np.float32 else "f64"
    kernel(
        text(rows, columns, name),
        "affine-vectorize,affine-prefetch-ahead{bytes=1},math-expand",
        [x, y],
        machine=machine,
    )
    np.testing.assert_allclose(y, np.exp(x), rtol=1e-6)


COMPUTES = """
          %b = math.exp %a : vector<32xf32>
          affine.vector_store %b, %y[%i, %j] : {shape}, vector<32xf32>"""
READS = """
          %s = affine.vector_load %sums[%j] : memref<1024xf32>, vector<32xf32>
          %b = arith.addf %s, %a : vector<32xf32>
          affine.vector_store %b, %sums[%j] : memref<1024xf32>, vector<32xf32>"""


@pytest.mark.parametrize(
    ("body", "cpu", "rows", "asks"),
    [
        (COMPUTES, "znver3", 4096, True),
        (COMPUTES, "znver3", 64, False),
        (COMPUTES, "znver4", 4096, False),
        (COMPUTES, "znver5", 4096, True),
        (COMPUTES, "znver5", 512, False),
        (READS, "znver3", 4096, False),
        (READS, "znver4", 4096, False),
        (READS, "znver5", 4096, True),
        (READS, "znver5", 512, True),
        (READS, "znver5", 64, False),
    ],
)
def test_only_of_large_arrays_and_not_on_all_processors(body: str, cpu: str, rows: int, asks: bool):
    machine = replace(Machine.preset("x86-64-avx2"), cpu=cpu, cores=2, l2_bytes=1 << 20, l3_bytes=32 << 20)
    context = LaminaContext(machine=machine)
    for name, factory in all_dialects().items():
        context.register_dialect(name, factory)
    shape = f"memref<{rows}x1024xf32>"
    module = Parser(
        context,
        f"""
    func.func public @kernel(%x: {shape}, %y: {shape}, %sums: memref<1024xf32>) {{
      affine.for %i = 0 to {rows} {{
        affine.for %j = 0 to 1024 step 32 {{
          %a = affine.vector_load %x[%i, %j] : {shape}, vector<32xf32>{body.format(shape=shape)}
        }}
      }}
      func.return
    }}""",
    ).parse_module()
    PrefetchAhead().apply(context, module)
    assert any(isinstance(op, PrefetchOp) for op in module.walk()) == asks
