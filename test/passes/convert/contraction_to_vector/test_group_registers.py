"""The innermost loop of a product of narrow numbers is the machine's own instruction on sums in registers."""

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
    "canonicalize,cse,convert-scf-to-cf,convert-dot-to-llvm,convert-to-llvm"
)
TEXT = """
func.func public @kernel(%x: memref<120x256xTYPE>, %w: memref<PANELSxDEPTHxLANESxGROUPxTYPE>, %y: memref<120x256xi32>)
    attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%y : memref<120x256xi32>)
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (n floordiv LANES, k floordiv GROUP, n mod LANES, k mod GROUP)>,
      affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : memref<120x256xTYPE>, memref<PANELSxDEPTHxLANESxGROUPxTYPE>) outs(%y : memref<120x256xi32>) {
  ^bb0(%l: TYPE, %r: TYPE, %o: i32):
    %u = arith.LEFT %l : TYPE to i32
    %v = arith.extsi %r : TYPE to i32
    %p = arith.muli %u, %v : i32
    %s = arith.addi %o, %p : i32
    linalg.yield %s : i32
  }
  func.return
}"""
STACK = {"x86_64": "rsp", "aarch64": r"\[sp"}


def in_floats(text: str) -> str:
    """The same product of bfloat16 with sums in f32."""
    for old, new in (("extsi", "extf"), ("muli", "mulf"), ("addi", "addf"), ("constant 0", "constant 0.0")):
        text = text.replace(old, new)
    return text.replace("i32", "f32").replace("i16", "bf16")


@pytest.mark.parametrize(
    ("name", "bits", "left", "instruction", "count"),
    [
        ("x86-64-avx2", 16, "extsi", r"vpmaddwd.*%ymm", 12),
        ("x86-64-avx512", 16, "extsi", r"vpmaddwd.*%zmm", 20),
        ("x86_64-unknown-linux-gnu,avxvnni", 16, "extsi", r"vpdpwssd.*%ymm", 12),
        ("x86_64-unknown-linux-gnu,avxvnni", 8, "extui", r"vpdpbusd.*%ymm", 12),
        ("x86_64-unknown-linux-gnu,avxvnniint8", 8, "extsi", r"vpdpbssd.*%ymm", 12),
        ("x86_64-unknown-linux-gnu,avx512f,avx512vnni", 8, "extui", r"vpdpbusd.*%zmm", 20),
        ("aarch64-neon", 8, "extsi", r"sdot.*\.4s", 20),
        ("x86-64-avx512,avx512bf16", 16, "extf", r"vdpbf16ps.*%zmm", 20),
    ],
)
def test_the_sums_stay_in_registers(name: str, bits: int, left: str, instruction: str, count: int):
    machine = Machine.for_triple(name)
    ctx = LaminaContext(machine=machine)
    for dialect, factory in all_dialects().items():
        ctx.register_dialect(dialect, factory)
    lanes, group = 2 * machine.lanes(4), 32 // bits
    text = TEXT.replace("LANES", str(lanes)).replace("PANELS", str(256 // lanes)).replace("TYPE", f"i{bits}")
    text = text.replace("DEPTH", str(256 // group)).replace("GROUP", str(group)).replace("LEFT", left)
    module = Parser(ctx, in_floats(text) if left == "extf" else text).parse_module()
    for pass_ in parse_pipeline(PIPELINE, all_passes()):
        pass_.apply(ctx, module)
    code = assembly(optimise(module_text(module, machine, Effort.TIDY), machine, Effort.TIDY), machine)
    blocks = re.split(r"\n(?=\.L\w+:)", code)
    innermost = max(blocks, key=lambda block: len(re.findall(instruction, block))).splitlines()
    last = next(i for i, line in enumerate(innermost) if re.match(r"\s+(j|b\.)", line))
    loop = "\n".join(innermost[: last + 1])
    assert len(re.findall(instruction, loop)) == count
    assert not re.search(STACK[machine.triple.partition("-")[0]], loop)
