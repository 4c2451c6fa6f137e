"""Rounding to bfloat16 and to halves where LLVM asks for it by name: the runtime has the functions."""

from __future__ import annotations

import ctypes
from typing import Any

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
  %from = getelementptr WIDE, ptr %x, i64 %i
  %value = load WIDE, ptr %from
  %rounded = call NARROW @FUNCTION(WIDE %value)
  %to = getelementptr NARROW, ptr %y, i64 %i
  store NARROW %rounded, ptr %to
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


def check_rounding(function: str, wide: str, narrow: str, x: np.ndarray[Any, Any], dtype: Any) -> None:
    """The runtime's `function` rounds each of `x` as NumPy does."""
    machine = Machine.host()
    probe = PROBE.replace("FUNCTION", function).replace("WIDE", wide).replace("NARROW", narrow)
    code = object_code(optimise(with_target(runtime_ir(machine) + probe, machine), machine), machine)
    found = np.zeros(x.size, dtype)
    linked = link([code], ["probe"])  # lives as long as this
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(linked["probe"])
    run(x.ctypes.data, found.ctypes.data, x.size)
    with np.errstate(invalid="ignore", over="ignore"):
        expected = x.astype(dtype)
    same = (found.view(np.uint16) == expected.view(np.uint16)) | (np.isnan(found) & np.isnan(expected))
    assert same.all()


def test_every_kind_of_number():
    bits = np.random.default_rng(0).integers(0, 1 << 32, 1 << 16, np.uint32)
    halfway = (np.arange(1 << 16, dtype=np.uint32) << 16) | 0x8000  # and the NaN among them
    x = np.concatenate([bits, halfway, halfway - 1, halfway + 1]).view(np.float32)
    check_rounding("__truncsfbf2", "float", "bfloat", x, ml_dtypes.bfloat16)


def test_doubles_become_halves_in_one_rounding():
    halves = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float64)
    halfway = np.concatenate([(halves[1:] + halves[:-1]) / 2, [65520.0, 1e300, np.inf, np.nan]])
    around = [halves, halfway, np.nextafter(halfway, 0), np.nextafter(halfway, np.inf)]
    x = np.concatenate([*around, *(-part for part in around)])
    check_rounding("__truncdfhf2", "double", "half", x, np.float16)


def test_a_program_in_which_llvm_makes_halves_of_doubles():
    text = """func.func @main(%a: tensor<f16>, %b: tensor<f16>) -> tensor<f16> {
      %r = stablehlo.atan2 %a, %b : tensor<f16>
      %s = stablehlo.divide %r, %a : tensor<f16>
      %u = stablehlo.maximum %s, %b : tensor<f16>
      func.return %u : tensor<f16>
    }"""
    context = new_context()
    [found] = lamina.compile(Program(Parser(context, text).parse_module(), context))(np.float16(3), np.float16(0.25))
    assert abs(found - np.arctan2(3, 0.25) / 3) < 1e-3


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
