"""How many rows a tile of a transpose reads, by processor and size of the result."""

from dataclasses import replace

import pytest
from xdsl.parser import Parser

from lamina.compiler.context import LaminaContext
from lamina.compiler.machine import Machine
from lamina.dialects import all_dialects
from lamina.dialects.affine import ForOp
from lamina.passes.affine.loop_tile import LoopTile


def tiled(rows: int, columns: int, element: str, machine: Machine) -> list[ForOp]:
    """The loops that turning so many rows becomes, outermost first."""
    text = f"""
    func.func @transpose(%x: memref<{rows}x{columns}x{element}>, %y: memref<{columns}x{rows}x{element}>) {{
      affine.for %i = 0 to {columns} {{
        affine.for %j = 0 to {rows} {{
          %v = affine.load %x[%j, %i] : memref<{rows}x{columns}x{element}>
          affine.store %v, %y[%i, %j] : memref<{columns}x{rows}x{element}>
        }}
      }}
      func.return
    }}"""
    ctx = LaminaContext(machine=machine)
    for name, factory in all_dialects().items():
        ctx.register_dialect(name, factory)
    module = Parser(ctx, text).parse_module()
    LoopTile().apply(ctx, module)
    return [op for op in module.walk() if isinstance(op, ForOp)]


@pytest.mark.parametrize(
    ("cpu", "rows", "element", "expected"),
    [
        ("znver4", 2048, "f32", 16),
        ("znver4", 1024, "f32", 32),  # caches hold the result
        ("znver4", 2000, "f32", 16),
        ("znver4", 2008, "f32", 40),  # which 16 do not divide
        ("znver4", 4096, "bf16", 32),  # 16 of which are half a line
        ("x86-64-v4", 2048, "f32", 32),
        ("x86-64-v4", 400, "f32", 16),  # whole squares of 16
        ("x86-64-v4", 400, "bf16", 40),  # of 8
    ],
)
def test_rows_of_a_tile(cpu: str, rows: int, element: str, expected: int):
    machine = replace(Machine.preset("x86-64-avx512"), cpu=cpu, cores=2, l3_bytes=60 << 20)
    loops = tiled(rows, 4096, element, machine)
    bounds = loops[-1].constant_bounds()
    assert len(loops) == 4 and (bounds[1] if bounds else 40) == expected


@pytest.mark.parametrize(
    ("rows", "columns", "element", "expected"),
    [
        (4096, 4096, "f32", (16, 64)),
        (4000, 4096, "f32", (16, 32)),  # which 64 do not divide
        (4096, 4008, "f32", (24, 32)),  # no whole lines of columns: as anywhere
        (2048, 1024, "f32", (32, 32)),  # caches hold the result
        (4096, 4096, "f64", (8, 64)),
    ],
)
def test_tiles_where_a_vector_is_half_of_a_line(rows: int, columns: int, element: str, expected: tuple[int, int]):
    loops = tiled(rows, columns, element, replace(Machine.preset("x86-64-avx2"), cores=2))
    bounds = [loop.constant_bounds() for loop in loops[2:]]
    assert len(loops) == 4 and tuple(each[1] if each else 0 for each in bounds) == expected


@pytest.mark.parametrize(
    ("rows", "columns", "element", "expected"),
    [
        (512, 64, "f32", (16, 64)),
        (768, 192, "f32", (16, 64)),
        (8192, 256, "f32", (16, 64)),
        (3136, 256, "f32", (32, 32)),  # rows of the result begin at many places
        (512, 512, "f32", (32, 32)),  # no short rows
        (256, 64, "f32", (32, 32)),  # these are filled at once
        (512, 72, "f32", (48, 32)),  # no whole vectors
        (512, 64, "f16", (32, 32)),  # of two bytes: as anywhere
    ],
)
def test_tiles_of_short_rows(rows: int, columns: int, element: str, expected: tuple[int, int]):
    loops = tiled(rows, columns, element, replace(Machine.preset("x86-64-avx512"), cpu="znver5"))
    assert len(loops) == 4
    assert tuple(bounds[1] for loop in loops[2:] if (bounds := loop.outer_bounds())) == expected
