"""Threads that meet: barriers, shuffles and reductions as NumPy says them, and errors of one that end all."""

import numpy as np
import pytest
from xdsl.parser import Parser

from lamina.compiler.context import LaminaContext
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.interpreter import Interpreter
from lamina.dialects import all_dialects

HOST = """
func.func @main(%x: memref<128xf32>, %y: memref<128xf32>) {{
  gpu.launch_func @k(%x, %y) {{blocks = array<i64: 2, 1, 1>, threads = array<i64: 64, 1, 1>}}
    : memref<128xf32>, memref<128xf32>
  func.return
}}
func.func @k(%x: memref<128xf32>, %y: memref<128xf32>) attributes {{gpu.kernel}} {{
  %b = gpu.block_id x
  %t = gpu.thread_id x
  %i = affine.apply affine_map<(d0, d1) -> (d0 * 64 + d1)> (%b, %t)
  %v = affine.load %x[%i] : memref<128xf32>
  {body}
  affine.store %r, %y[%i] : memref<128xf32>
  func.return
}}
"""
REVERSED = """
  %smem = gpu.dynamic_shared_memory : memref<256xi8, 3 : i32>
  %zero = arith.constant 0 : index
  %room = memref.view %smem[%zero][] : memref<256xi8, 3 : i32> to memref<64xf32, 3 : i32>
  affine.store %v, %room[%t] : memref<64xf32, 3 : i32>
  gpu.barrier
  %r = affine.load %room[63 - %t] : memref<64xf32, 3 : i32>
"""
WAITING = """
  %smem = gpu.dynamic_shared_memory : memref<256xi8, 3 : i32>
  %zero = arith.constant 0 : index
  %true = arith.constant true
  %phases = memref.view %smem[%zero][] : memref<256xi8, 3 : i32> to memref<1xi64, 3 : i32>
  nvgpu.mbarrier.init %phases[%zero] {count = 64 : i64} : memref<1xi64, 3 : i32>
  gpu.barrier
  %r = affine.load %x[%i * 3] : memref<128xf32>
  nvgpu.mbarrier.arrive %phases[%zero] : memref<1xi64, 3 : i32>
  scf.while () : () -> () {
    %over = nvgpu.mbarrier.try_wait.parity %phases[%zero], %zero : memref<1xi64, 3 : i32>
    %more = arith.xori %over, %true : i1
    scf.condition(%more)
  } do {
    scf.yield
  }
"""


def run(body: str, x: np.ndarray) -> np.ndarray:
    ctx = LaminaContext()
    for name, factory in all_dialects().items():
        ctx.register_dialect(name, factory)
    y = np.zeros_like(x)
    Interpreter(ctx).run(Parser(ctx, HOST.format(body=body)).parse_module(), [x, y])
    return y


def test_threads_meet() -> None:
    x = np.random.default_rng(0).standard_normal(128).astype(np.float32)
    blocks = x.reshape(2, 64)
    assert np.array_equal(run(REVERSED, x).reshape(2, 64), blocks[:, ::-1])
    assert np.array_equal(run("%r = gpu.shuffle xor %v, 5 : f32", x), x[np.arange(128) ^ 5])
    maxima = run("%r = gpu.subgroup_reduce maximumf %v cluster(size = 8) : f32", x)
    assert np.array_equal(maxima, x.reshape(16, 8).max(1).repeat(8))
    sums = run("%r = gpu.all_reduce add %v : f32", x)
    assert np.allclose(sums, blocks.sum(1).repeat(64), atol=1e-5) and len(set(sums.tolist())) == 2


def test_an_error_of_one_thread_ends_all() -> None:
    x = np.zeros(128, np.float32)
    with pytest.raises((LaminaError, IndexError)):
        run("gpu.barrier\n %w = affine.load %x[%i * 2] : memref<128xf32>\n %r = gpu.shuffle xor %w, 1 : f32", x)


def test_an_error_of_one_thread_ends_who_waits_for_a_phase() -> None:
    with pytest.raises((LaminaError, IndexError)):
        run(WAITING, np.zeros(128, np.float32))
