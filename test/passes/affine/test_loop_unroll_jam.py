"""From how many places rows that are summed up are read, by processor."""

from dataclasses import replace

import pytest
from xdsl.parser import Parser

from lamina.compiler.context import LaminaContext
from lamina.compiler.machine import Machine
from lamina.dialects import all_dialects
from lamina.dialects.affine import LoadOp
from lamina.passes.affine.loop_unroll_jam import LoopUnrollJam

ROWS = """
func.func @rows(%x: memref<1024x1024xf32>, %y: memref<1024xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 1024 {
    %s = affine.for %k = 0 to 1024 iter_args(%acc = %zero) -> (f32) {
      %l = affine.load %x[%i, %k] : memref<1024x1024xf32>
      %t = arith.addf %acc, %l : f32
      affine.yield %t : f32
    }
    affine.store %s, %y[%i] : memref<1024xf32>
  }
  func.return
}
"""
TOTAL = """
func.func @total(%x: memref<1024x1024xf32>, %y: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  %total = affine.for %i = 0 to 1024 iter_args(%so_far = %zero) -> (f32) {
    %s = affine.for %k = 0 to 1024 iter_args(%acc = %so_far) -> (f32) {
      %l = affine.load %x[%i, %k] : memref<1024x1024xf32>
      %t = arith.addf %acc, %l : f32
      affine.yield %t : f32
    }
    affine.yield %s : f32
  }
  affine.store %total, %y[] : memref<f32>
  func.return
}
"""


@pytest.mark.parametrize(
    ("text", "cpu", "places"),
    [(ROWS, "x86-64-v3", 4), (ROWS, "znver4", 2), (TOTAL, "x86-64-v3", 4), (TOTAL, "znver4", 8)],
    ids=["rows", "rows-znver4", "total", "total-znver4"],
)
def test_from_how_many_places_rows_are_read(text: str, cpu: str, places: int):
    assert loads(text, cpu) == places


@pytest.mark.parametrize(("rows", "places"), [(1, 1), (3, 3), (8, 8), (9, 9)])
def test_a_total_of_few_rows_is_read_from_as_many_places(rows: int, places: int):
    text = TOTAL.replace("memref<1024x1024xf32>", f"memref<{rows}x1048576xf32>")
    text = text.replace("%i = 0 to 1024", f"%i = 0 to {rows}").replace("%k = 0 to 1024", "%k = 0 to 1048576")
    assert loads(text, "znver4") == places  # of nine the last for itself


def loads(text: str, cpu: str) -> int:
    ctx = LaminaContext(machine=replace(Machine.preset("x86-64"), cpu=cpu, l2_bytes=1 << 20))
    for name, factory in all_dialects().items():
        ctx.register_dialect(name, factory)
    module = Parser(ctx, text).parse_module()
    LoopUnrollJam().apply(ctx, module)
    return sum(isinstance(op, LoadOp) for op in module.walk())
