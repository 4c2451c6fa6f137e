"""How many rows a chunk has: each core gets some, and not so few that the stages that run ahead cost much."""

from dataclasses import replace

import pytest
from xdsl.parser import Parser

from lamina.compiler.context import LaminaContext
from lamina.compiler.machine import Machine
from lamina.dialects import all_dialects
from lamina.dialects.affine import ForOp, ParallelOp
from lamina.passes.affine.pipeline_rows import PipelineRows


@pytest.mark.parametrize(
    ("others", "rows", "cores", "chunk"),
    [
        (1, 4096, 2, 256),
        (1, 1536, 4, 192),
        (1, 64, 2, 32),
        (1, 40, 2, 20),
        (1, 32, 1, 32),
        (1, 32, 2, 16),
        (1, 31, 1, None),
        (1, 128, 8, 16),
        (1, 128, 16, None),
        (12, 128, 2, 128),
        (3, 128, 2, 64),
    ],
)
def test_rows_of_a_chunk(others: int, rows: int, cores: int, chunk: int | None):
    shape = f"memref<{others}x{rows}x64xf32>"
    text = f"""
    func.func @f(%x: {shape}, %y: {shape}) {{
      affine.parallel (%p, %r) = (0, 0) to ({others}, {rows}) {{
        affine.for %j = 0 to 64 {{
          %a = affine.load %x[%p, %r, %j] : {shape}
          affine.store %a, %y[%p, %r, %j] : {shape}
        }}
        affine.for %j = 0 to 64 {{
          %a = affine.load %y[%p, %r, %j] : {shape}
          affine.store %a, %y[%p, %r, %j] : {shape}
        }}
      }}
      func.return
    }}"""
    ctx = LaminaContext(machine=replace(Machine.preset("x86-64-avx512"), cores=cores))
    for name, factory in all_dialects().items():
        ctx.register_dialect(name, factory)
    module = Parser(ctx, text).parse_module()
    PipelineRows().apply(ctx, module)
    (outer,) = (op for op in module.walk() if isinstance(op, ParallelOp))
    if chunk is None:
        assert outer.constant_bounds() == ((0, 0), (others, rows))
        return
    chunks = -(-rows // chunk)
    assert outer.constant_bounds() == ((0, 0), (others, chunks))
    loop = next(
        op for op in outer.body.walk() if isinstance(op, ForOp) and any(r for i in op.body.ops for r in i.regions)
    )
    bounds = loop.constant_bounds()
    assert bounds == (0, chunk, 1) if rows % chunk == 0 else bounds is None
