"""Rounding to bfloat16 where LLVM asks for it by name: the runtime has the function."""

from __future__ import annotations

import ctypes

import ml_dtypes
import numpy as np
from xdsl.parser import Parser

import lamina
from lamina.backends.cpu.emit import object_code, optimise, with_target
from lamina.backends.cpu.jit import link
from lamina.backends.cpu.runtime import runtime_ir
from lamina.compiler.machine import Machine
from lamina.compiler.program import Program
from lamina.tools.sources import new_context

PROBE = """
define void @probe(ptr %x, ptr %y, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr float, ptr %x, i64 %i
  %value = load float, ptr %from
  %rounded = call bfloat @__truncsfbf2(float %value)
  %to = getelementptr bfloat, ptr %y, i64 %i
  store bfloat %rounded, ptr %to
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


def test_every_kind_of_number():
    machine = Machine.host()
    code = object_code(optimise(with_target(runtime_ir(machine) + PROBE, machine), machine), machine)
    bits = np.random.default_rng(0).integers(0, 1 << 32, 1 << 16, np.uint32)
    halfway = (np.arange(1 << 16, dtype=np.uint32) << 16) | 0x8000  # and the NaN among them
    x = np.concatenate([bits, halfway, halfway - 1, halfway + 1]).view(np.float32)
    found = np.zeros(x.size, ml_dtypes.bfloat16)
    linked = link([code], ["probe"])  # lives as long as this
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(linked["probe"])
    run(x.ctypes.data, found.ctypes.data, x.size)
    with np.errstate(invalid="ignore"):
        expected = x.astype(ml_dtypes.bfloat16)
    same = (found.view(np.uint16) == expected.view(np.uint16)) | (np.isnan(found) & np.isnan(expected))
    assert same.all()


def test_a_program_in_which_llvm_moves_a_rounding():
    text = """func.func @main(%x: tensor<3x6xbf16>) -> tensor<3xbf16> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %none = stablehlo.constant dense<-3.0e38> : tensor<bf16>
      %c = stablehlo.constant dense<0.0> : tensor<3xbf16>
      %m = stablehlo.reduce(%x init: %none) applies stablehlo.maximum across dimensions = [1] : (tensor<3x6xbf16>, tensor<bf16>) -> tensor<3xbf16>
      %f = stablehlo.is_finite %m : (tensor<3xbf16>) -> tensor<3xi1>
      %s = stablehlo.select %f, %m, %c : tensor<3xi1>, tensor<3xbf16>
      %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<3xbf16>) -> tensor<3x6xbf16>
      %d = stablehlo.subtract %x, %b : tensor<3x6xbf16>
      %e = stablehlo.exponential %d : tensor<3x6xbf16>
      %w = stablehlo.convert %e : (tensor<3x6xbf16>) -> tensor<3x6xf32>
      %t = stablehlo.reduce(%w init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<3x6xf32>, tensor<f32>) -> tensor<3xf32>
      %n = stablehlo.convert %t : (tensor<3xf32>) -> tensor<3xbf16>
      %a = stablehlo.abs %n : tensor<3xbf16>
      %l = stablehlo.log %a : tensor<3xbf16>
      %y = stablehlo.add %l, %s : tensor<3xbf16>
      func.return %y : tensor<3xbf16>
    }"""  # noqa: E501
    context = new_context()
    x = np.random.default_rng(0).standard_normal((3, 6)).astype(ml_dtypes.bfloat16)
    [found] = lamina.compile(Program(Parser(context, text).parse_module(), context))(x)
    expected = np.log(np.exp(x.astype(np.float64)).sum(1))
    assert np.allclose(found.astype(np.float64), expected, rtol=2e-2)
