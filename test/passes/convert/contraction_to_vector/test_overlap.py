"""How many bytes of A a window's rows share, and that other rows share none."""

from __future__ import annotations

import pytest
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser

from lamina.compiler.context import LaminaContext
from lamina.dialects import all_dialects
from lamina.passes.convert.contraction_to_vector import overlapping_bytes
from lamina.passes.convert.contraction_to_vector.analysis import analyse


def text(a: str, place: str) -> str:
    """Four batches of 20 x 16 results over 8 taps of 6 channels."""
    return f"""
func.func private @kernel(%x: {a}, %w: memref<4x8x6x16xf32>, %y: memref<4x20x16xf32>)
    attributes {{lamina.kernel = "contraction"}} {{
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<4x20x16xf32>)
  linalg.generic {{indexing_maps = [affine_map<(b, m, n, k, c) -> ({place})>,
      affine_map<(b, m, n, k, c) -> (b, k, c, n)>, affine_map<(b, m, n, k, c) -> (b, m, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}}
      ins(%x, %w : {a}, memref<4x8x6x16xf32>) outs(%y : memref<4x20x16xf32>) {{
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }}
  func.return
}}"""


@pytest.mark.parametrize(
    ("a", "place", "expected"),
    [
        ("memref<4x27x6xf32>", "b, m + k, c", 4 * 27 * 6),
        ("memref<27x6xf32>", "m + k, c", 4 * 27 * 6),
        ("memref<4x20x8x6xf32>", "b, m, k, c", 0),
        ("memref<20x8x6xf32>", "m, k, c", 0),
    ],
)
def test_bytes(a: str, place: str, expected: int) -> None:
    ctx = LaminaContext()
    for dialect, factory in all_dialects().items():
        ctx.register_dialect(dialect, factory)
    function = Parser(ctx, text(a, place)).parse_module().body.block.first_op
    assert isinstance(function, FuncOp)
    assert overlapping_bytes(analyse(function).contraction) == expected
