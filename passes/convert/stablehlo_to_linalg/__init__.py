"""convert-stablehlo-to-linalg: every hub op becomes structured ops on tensors, signs move from types into ops.

before: %y = stablehlo.exponential %x : tensor<2x3xf32>
after:  %0 = tensor.empty() : tensor<2x3xf32>
        %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
            ins(%x : tensor<2x3xf32>) outs(%0 : tensor<2x3xf32>) { ... math.exp ... } -> tensor<2x3xf32>

With `slices` rows of a constant from a computed one on are a view of it (`tensor.extract_slice`) instead of a copy. One
file per chapter of the specification; `scalars` holds what one element becomes, for generics and for the bodies of
reductions alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ComplexType, DenseArrayBase, IntegerType, ModuleOp, Signedness, TensorType, i64
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from ....compiler.context import lamina_context
from ....compiler.conversion import convert
from ....compiler.diagnostics import LaminaError
from . import contractions, control, elementwise, indexing, movement, reductions, selection, sorting
from .indexing import note_bounds, note_views
from .rules import RULES, UNSIGNED

CHAPTERS = (elementwise, movement, reductions, contractions, indexing, selection, sorting, control)


@dataclass(frozen=True)
class ConvertStablehloToLinalg(ModulePass):
    """Lowers stablehlo to linalg, tensor, arith, math and scf; integers become signless."""

    name = "convert-stablehlo-to-linalg"

    slices: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _refuse_complex(op)
        _note_unsigned(op)
        note_bounds(op, lamina_context(ctx).weights)
        if self.slices:
            note_views(op)
        convert(op, RULES, illegal={"stablehlo", "chlo"})


def _refuse_complex(module: ModuleOp) -> None:
    """Complex numbers end above this level: said at the first op that has any."""
    for op in module.walk():
        for value in (*op.operands, *op.results):
            if isinstance(value.type, TensorType) and isinstance(value.type.element_type, ComplexType):
                hint = "stablehlo-split-complex makes pairs of real ones of them"
                raise LaminaError("complex numbers are not lowered to linalg", where=op, hint=hint)


def _note_unsigned(module: ModuleOp) -> None:
    """Marks the ops whose meaning depends on the signs that types are about to lose."""
    for op in module.walk():
        if op.name.startswith(("stablehlo.", "chlo.")):
            unsigned = [i for i, value in enumerate(op.operands) if _is_unsigned(value.type)]
            if unsigned:
                op.attributes[UNSIGNED] = DenseArrayBase.from_list(i64, unsigned)


def _is_unsigned(type_: Attribute) -> bool:
    if isinstance(type_, TensorType):
        type_ = cast(Attribute, type_.element_type)
    return isinstance(type_, IntegerType) and type_.signedness.data == Signedness.UNSIGNED
