"""Asking for the next row changes no result, whatever the rows' length, and at the last row asks for nothing beyond."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from xdsl.parser import Parser

from lamina.compiler.context import LaminaContext
from lamina.compiler.machine import Machine
from lamina.dialects import all_dialects
from lamina.dialects.affine import ForOp
from lamina.dialects.memref import PrefetchOp
from lamina.passes.affine.prefetch_rows import PrefetchRows


@pytest.mark.parametrize("rows", [2, 5])
@pytest.mark.parametrize("columns", [64, 391, 1000])
@pytest.mark.parametrize("machine", ["", "x86-64-avx2"])
def test_numbers(kernel: Callable[..., None], rows: int, columns: int, machine: str):
    shape = f"memref<{rows}x{columns}xf32>"
    text = f"""
    func.func public @kernel(%x: {shape}, %y: {shape}) {{
      %zero = arith.constant 0.0 : f32
      affine.parallel (%i) = (0) to ({rows}) {{
        %sum = affine.for %j = 0 to {columns} iter_args(%s = %zero) -> (f32) {{
          %a = affine.load %x[%i, %j] : {shape}
          %t = arith.addf %s, %a fastmath<reassoc> : f32
          affine.yield %t : f32
        }}
        affine.for %j = 0 to {columns} {{
          %a = affine.load %x[%i, %j] : {shape}
          %b = arith.addf %a, %sum : f32
          affine.store %b, %y[%i, %j] : {shape}
        }}
      }}
      func.return
    }}"""
    x = np.random.default_rng(0).integers(-9, 9, (rows, columns)).astype(np.float32)
    y = np.empty_like(x)
    kernel(text, "affine-vectorize,affine-prefetch-rows{bytes=64}", [x, y], machine=machine)
    np.testing.assert_array_equal(y, x + x.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("picked", [16, 37])
def test_places_that_data_tell(kernel: Callable[..., None], picked: int):
    text = f"""
    func.func public @kernel(%places: memref<{picked}xindex>, %x: memref<5x250xf32>, %y: memref<5x{picked}xf32>) {{
      affine.parallel (%i) = (0) to (5) {{
        affine.for %j = 0 to {picked} {{
          %place = affine.load %places[%j] : memref<{picked}xindex>
          %a = memref.load %x[%i, %place] : memref<5x250xf32>
          affine.store %a, %y[%i, %j] : memref<5x{picked}xf32>
        }}
      }}
      func.return
    }}"""
    rng = np.random.default_rng(0)
    x, places = rng.standard_normal((5, 250)).astype(np.float32), rng.integers(0, 250, picked)
    y = np.empty((5, picked), np.float32)
    kernel(text, "affine-prefetch-rows{bytes=64}", [places, x, y])
    np.testing.assert_array_equal(y, x[:, places])


def loop(body: str) -> str:
    return (
        f"affine.for %j = 0 to 1024 step 16 {{ %a = affine.vector_load %x[%i, %j] : {SHAPE}, vector<16xf32> {body} }}"
    )


SHAPE = "memref<4096x1024xf32>"
SUM = '"test.op"(%a) : (vector<16xf32>) -> ()'
SCALE = f"affine.vector_store %a, %y[%i, %j] : {SHAPE}, vector<16xf32>"
POWERS = f"%b = math.exp %a : vector<16xf32> affine.vector_store %b, %y[%i, %j] : {SHAPE}, vector<16xf32>"


@pytest.mark.parametrize(
    ("bodies", "asking", "on_zen_4", "on_zen_5"),
    [
        ((SUM, POWERS), 1, None, 1),
        ((SUM, SUM, POWERS), 2, 1, 1),
        ((SUM, SCALE), 1, 1, 1),
        ((SUM, SUM, SCALE), 2, 1, 1),
    ],
    ids=["softmax", "two sums and powers", "root mean square", "layer norm"],
)
def test_who_asks_where_writing_and_asking_get_in_each_others_way(
    bodies: tuple[str, ...], asking: int, on_zen_4: int | None, on_zen_5: int
):
    rows = "".join(map(loop, bodies))
    text = f"func.func @f(%x: {SHAPE}, %y: {SHAPE}) {{ affine.parallel (%i) = (0) to (4096) {{ {rows} }} func.return }}"
    for cpu, expected in (("x86-64-v4", asking), ("znver4", on_zen_4), ("znver5", on_zen_5)):
        ctx = LaminaContext(machine=replace(Machine.preset("x86-64-avx512"), cpu=cpu), allow_unregistered=True)
        for name, factory in all_dialects().items():
            ctx.register_dialect(name, factory)
        module = Parser(ctx, text).parse_module()
        PrefetchRows().apply(ctx, module)
        loops = [op for op in module.walk() if isinstance(op, ForOp)]
        found = [i for i, each in enumerate(loops) if any(op.name == "memref.prefetch" for op in each.walk())]
        assert found == ([] if expected is None else [expected])


@pytest.mark.parametrize(("columns", "ahead"), [(1024, 2), (256, 8), (4096, 1)])
def test_pipelines_ask_for_what_is_behind_their_last_row(columns: int, ahead: int):
    shape = f"memref<8192x{columns}xf32>"
    text = f"""
    func.func @f(%x: {shape}, %y: {shape}) {{
      affine.for %i = 0 to 256 {{
        %next = affine.min affine_map<(d0) -> (d0 + 1, 255)>(%i)
        %last = affine.min affine_map<(d0) -> (d0 + 2, 255)>(%i)
        affine.for %j = 0 to {columns} step 16 {{
          %a = affine.vector_load %x[%i, %j] : {shape}, vector<16xf32>
          %c = affine.vector_load %x[%last, %j] : {shape}, vector<16xf32>
          %b = affine.vector_load %x[%next, %j] : {shape}, vector<16xf32>
          %d = math.exp %c : vector<16xf32>
          affine.vector_store %a, %y[%i, %j] : {shape}, vector<16xf32>
        }}
      }}
      func.return
    }}"""
    l1 = {"x86-64-v4": 48 << 10, "znver4": 32 << 10, "znver5": 48 << 10}
    for cpu, asks in (("x86-64-v4", True), ("znver4", columns >= 1024), ("znver5", True)):
        ctx = LaminaContext(machine=replace(Machine.preset("x86-64-avx512"), cpu=cpu, l1_bytes=l1[cpu]))
        for name, factory in all_dialects().items():
            ctx.register_dialect(name, factory)
        module = Parser(ctx, text).parse_module()
        PrefetchRows().apply(ctx, module)
        found = [op for op in module.walk() if op.name == "memref.prefetch"]
        assert len(found) == asks
        for op in found:
            assert isinstance(op, PrefetchOp)
            assert op.localityHint.value.data == (3 if l1[cpu] > 32 << 10 else 2)
            assert f"(d0 + {ahead})" in str(op.operands[1].owner.operands[0].owner)  # pyright: ignore
            assert "%last" in str(op.operands[1].owner.operands[0].owner)  # pyright: ignore
