"""stablehlo-split-complex: every complex tensor becomes two real ones, which is what machines compute with.

before: func.func @main(%x: tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>> {
          %y = stablehlo.multiply %x, %x : tensor<3xcomplex<f32>>
          ...
after:  func.func @main(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
          %re, %im = ...                                   // slices of %x
          %0 = stablehlo.multiply %re, %re : tensor<3xf32>
          %1 = stablehlo.multiply %im, %im : tensor<3xf32>
          %2 = stablehlo.subtract %0, %1 : tensor<3xf32>   // and so on; at the end the parts are put side by side
          ...

A function that is called from outside takes and gives the parts side by side, in a last dimension of two: that is
how they lie in memory. Private functions, loops, branches and the bodies of reductions take two values for one.
Fourier transforms and factorisations of matrices are expanded before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ....compiler.context import lamina_context
from ....compiler.conversion import convert
from ....compiler.diagnostics import LaminaError
from . import contractions, elementwise, movement, structure
from .boundary import double_attributes, interleave, is_private
from .parts import SPLIT, is_complex

CHAPTERS = (elementwise, movement, contractions, structure)
PASSED_ON = {
    *("func.func", "func.call", "func.return", "stablehlo.return", "stablehlo.optimization_barrier"),
    *("stablehlo.while", "stablehlo.if", "stablehlo.case"),
    *("stablehlo.reduce", "stablehlo.reduce_window", "stablehlo.scatter"),
}
"""Ops that take two values in the place of one as they are."""


@dataclass(frozen=True)
class SplitComplex(ModulePass):
    """Complex tensors become pairs of real ones."""

    name = "stablehlo-split-complex"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not any(_has_complex(inner) for inner in op.walk()):
            return
        for function in op.ops:
            if isinstance(function, FuncOp):
                (double_attributes if is_private(function) else interleave)(function)
        rules = replace(SPLIT, table=SPLIT.table | movement.constants(lamina_context(ctx).weights))
        for inner in op.walk():
            if type(inner) not in rules.table and inner.name not in PASSED_ON and _has_complex(inner):
                raise LaminaError("no target but 'interpret' computes this with complex numbers", where=inner)
        convert(op, rules, illegal=set())


def _has_complex(op: Operation) -> bool:
    if isinstance(op, FuncOp):
        return any(map(is_complex, (*op.function_type.inputs, *op.function_type.outputs)))
    if any(is_complex(value.type) for value in (*op.operands, *op.results)):
        return True
    return any(is_complex(arg.type) for region in op.regions for block in region.blocks for arg in block.args)
