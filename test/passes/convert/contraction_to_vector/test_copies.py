"""Copies of rows of A: the numbers are those of NumPy whatever the strips, blocks of k and tasks leave over."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp
from xdsl.parser import Parser

import lamina
from lamina.backends import Options
from lamina.compiler.context import LaminaContext
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.machine import Machine
from lamina.compiler.schedules import Schedules
from lamina.dialects import all_dialects
from lamina.passes.convert.contraction_to_vector import ConvertContractionToVector
from lamina.passes.convert.contraction_to_vector.analysis import analyse
from lamina.passes.convert.contraction_to_vector.copies import task_elements
from lamina.passes.convert.contraction_to_vector.emit import shares
from lamina.passes.convert.contraction_to_vector.schedule import Problem, Schedule, choose

AVX2 = replace(Machine.preset("x86-64-avx2"), cores=1)


def product(m: int, n: int, k: int, schedule: str, threads: int = 1, batch: int = 0, turned: bool = False) -> None:
    lead, dims = (f"{batch}x", "b, ") if batch else ("", "")
    left = f"{lead}{k}x{m}" if turned else f"{lead}{m}x{k}"
    axes = [d + bool(batch) for d in ((0, 0) if turned else (1, 0))]
    batching = "batching_dims = [0] x [0], " if dims else ""
    text = f"""
    func.func public @main(%x: tensor<{left}xf32> {{lamina.name = "x"}},
        %w: tensor<{lead}{k}x{n}xf32> {{lamina.name = "w"}})
        -> (tensor<{lead}{m}x{n}xf32> {{lamina.name = "y"}}) {{
      %0 = stablehlo.dot_general %x, %w, {batching}contracting_dims = [{axes[0]}] x [{axes[1]}]
          : (tensor<{left}xf32>, tensor<{lead}{k}x{n}xf32>) -> tensor<{lead}{m}x{n}xf32>
      func.return %0 : tensor<{lead}{m}x{n}xf32>
    }}"""
    batched = f"b{batch} " if batch else ""
    where = "a=k0,m0 " if turned else ""
    name = f"matmul f32 {batched}m{m} n{n} k{k} {where}b=computed"
    schedules = Schedules.parse(f'[contractions]\n"{name}" = "{schedule} copy=1"', "test")
    with TemporaryDirectory() as folder:
        file = Path(folder, "product.mlir")
        file.write_text(text)
        model = lamina.compile(file, options=Options(threads=threads, cache=False, schedules=schedules))
    rng = np.random.default_rng(m * n + k)
    lead_shape = (batch,) if batch else ()
    x = rng.standard_normal((*lead_shape, *((k, m) if turned else (m, k))), np.float32)
    w = rng.standard_normal((*lead_shape, k, n), np.float32)
    (got,) = model(x, w)
    wide = x.astype(np.float64)
    want = (np.swapaxes(wide, -1, -2) if turned else wide) @ w.astype(np.float64)
    assert np.abs(got - want).max() <= 4e-7 * k**0.5 * np.abs(want).max()


@pytest.mark.parametrize(
    ("m", "n", "k", "schedule"),
    [
        (37, 50, 64, "rows=6"),  # strips of two heights, columns beyond the last panel
        (37, 48, 61, "rows=5 row_blocks=3 depth=16"),  # k by elements, a block of k that is short
        (24, 33, 96, "rows=4 row_blocks=4 depth=40 ahead=0"),  # blocks of k in squares, the last one short
        (13, 16, 24, "rows=13 row_blocks=1"),  # a strip higher than a vector
    ],
)
def test_numbers(m: int, n: int, k: int, schedule: str):
    product(m, n, k, schedule)


def test_tasks_have_copies_of_their_own():
    product(67, 160, 256, "rows=6 row_blocks=4 panel_blocks=2 depth=64", threads=2)
    product(16, 128, 128, "rows=4 depth=32", threads=2, batch=5)


def test_rows_that_are_not_contiguous():
    product(21, 40, 32, "rows=6 depth=16", turned=True)


def test_large_matrices_are_copied():
    def copied(rows: int, columns: int, depth: int, **others: Any) -> int:
        return choose(Problem(1, rows, columns, depth, 4, 16, (depth,), copies=True, **others), AVX2).copy

    assert copied(2048, 2048, 2048) == copied(128, 3072, 768) == copied(128, 768, 3072) == 1
    assert copied(128, 768, 768) == copied(4096, 64, 64) == 0
    assert choose(Problem(1, 2048, 2048, 2048, 4, 16, (2048,)), AVX2).copy == 0

    # channels first: steps of k are lines of their own, of which a tile has more than fit in its sets of L1
    assert (
        copied(1024, 256, 256, apart=4096) == copied(4096, 64, 64, apart=16384) == copied(49, 512, 512, apart=196) == 1
    )
    assert (
        copied(784, 128, 128, apart=3136) == copied(3136, 16, 64, apart=12544) == copied(1024, 256, 256, apart=4) == 0
    )


@pytest.mark.parametrize(("element", "bits"), [("f32", 32), ("bf16", 16), ("i8", 8)])
def test_the_copies_of_each_task_begin_with_a_line(element: str, bits: int):
    text = f"""
    func.func private @kernel(%x: memref<75x72x{element}>, %w: memref<2x72x16x{element}>, %y: memref<75x32x{element}>)
        attributes {{lamina.kernel = "contraction"}} {{
      linalg.generic {{indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
          affine_map<(m, n, k) -> (n floordiv 16, k, n mod 16)>, affine_map<(m, n, k) -> (m, n)>],
          iterator_types = ["parallel", "parallel", "reduction"]}}
          ins(%x, %w : memref<75x72x{element}>, memref<2x72x16x{element}>) outs(%y : memref<75x32x{element}>) {{
      ^bb0(%l: {element}, %r: {element}, %o: {element}):
        %p = arith.mul{"i" if element == "i8" else "f"} %l, %r : {element}
        %s = arith.add{"i" if element == "i8" else "f"} %o, %p : {element}
        linalg.yield %s : {element}
      }}
      func.return
    }}"""
    ctx = LaminaContext(machine=AVX2)
    for name, factory in all_dialects().items():
        ctx.register_dialect(name, factory)
    (function,) = Parser(ctx, text).parse_module().body.block.ops
    assert isinstance(function, FuncOp)
    kernel = analyse(function)
    (share,) = shares(kernel, Schedule(6, row_blocks=3, copy=1), 16, AVX2)
    elements = task_elements(kernel, 0, share.strips, share.tasks, AVX2)
    assert elements * bits // 8 % 64 == 0 and elements >= 75 * 72 // 3


def test_copies_without_room_are_an_error():
    ctx = LaminaContext(machine=AVX2)
    for name, factory in all_dialects().items():
        ctx.register_dialect(name, factory)
    text = """
    func.func private @kernel(%x: memref<6x64xf32>, %w: memref<2x64x16xf32>, %y: memref<6x32xf32>, %c: memref<8xf32>)
        attributes {lamina.kernel = "contraction", lamina.copies, lamina.schedule = "rows=6 copy=1"} {
      linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
          affine_map<(m, n, k) -> (n floordiv 16, k, n mod 16)>, affine_map<(m, n, k) -> (m, n)>],
          iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%x, %w : memref<6x64xf32>, memref<2x64x16xf32>) outs(%y : memref<6x32xf32>) {
      ^bb0(%l: f32, %r: f32, %o: f32):
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %o, %p : f32
        linalg.yield %s : f32
      }
      func.return
    }"""
    with pytest.raises(LaminaError, match="no room"):
        ConvertContractionToVector().apply(ctx, Parser(ctx, text).parse_module())
