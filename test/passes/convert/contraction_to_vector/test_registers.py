"""The innermost loop of a product is multiply-adds on registers, on every kind of machine that is described."""

from __future__ import annotations

import re

import pytest
from xdsl.parser import Parser

from lamina.backends.cpu.emit import Effort, assembly, module_text, optimise
from lamina.compiler.context import LaminaContext
from lamina.compiler.machine import Machine
from lamina.compiler.pipelines import parse_pipeline
from lamina.dialects import all_dialects
from lamina.passes import all_passes

PIPELINE = (
    "convert-contraction-to-vector,canonicalize,cse,convert-affine-to-scf,convert-parallel-to-runtime,"
    "math-expand,canonicalize,cse,convert-scf-to-cf,convert-to-llvm"
)
TEXT = """
func.func public @kernel(%x: memref<120x256xf32>, %w: memref<PANELSx256xLANESxf32>, %y: memref<120x256xf32>)
    attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<120x256xf32>)
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (n floordiv LANES, k, n mod LANES)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<120x256xf32>, memref<PANELSx256xLANESxf32>) outs(%y : memref<120x256xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  func.return
}"""


@pytest.mark.parametrize(
    ("name", "fma", "register", "stack", "sums"),
    [
        ("x86-64", "mulps", "%xmm", "rsp", 12),
        ("x86-64-avx2", "vfmadd", "%ymm", "rsp", 4 * 12),
        ("x86-64-avx512", "vfmadd", "%zmm", "rsp", 4 * 24),
        ("aarch64-neon", "fmla", r"\.4s", r"\[sp", 20),
    ],
)
def test_the_sums_stay_in_registers(name: str, fma: str, register: str, stack: str, sums: int):
    machine = Machine.preset(name)
    ctx = LaminaContext(machine=machine)
    for dialect, factory in all_dialects().items():
        ctx.register_dialect(dialect, factory)
    lanes = machine.lanes(4) * (1 if machine.vectors_are_lines else 2)  # as B is packed
    module = Parser(ctx, TEXT.replace("LANES", str(lanes)).replace("PANELS", str(256 // lanes))).parse_module()
    for pass_ in parse_pipeline(PIPELINE, all_passes()):
        pass_.apply(ctx, module)
    code = assembly(optimise(module_text(module, machine, Effort.TIDY), machine, Effort.TIDY), machine)
    innermost = max(re.split(r"\n(?=\.L\w+:)", code), key=lambda block: block.count(fma)).splitlines()
    last = next(i for i, line in enumerate(innermost) if re.match(r"\s+(j|b\.)", line))
    loop = "\n".join(innermost[: last + 1])
    assert len(re.findall(rf"{fma}.*{register}", loop)) == sums
    assert not re.search(stack, loop)
