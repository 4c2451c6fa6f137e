"""linalg-simplify-softmax: what the rows of a softmax let its parts leave out.

before:
    %highest = linalg.generic ... ins(%x) { arith.maximumf %acc, %a fastmath<nsz> }
    %powers = linalg.generic ... ins(%x, %highest) { arith.subf; math.exp }
    %total = linalg.generic ... ins(%powers) { arith.addf }
    %p = linalg.generic ... ins(%powers, %total) { arith.divf %e, %t }
after:
    %highest = linalg.generic ... ins(%x) { arith.maximumf %acc, %a fastmath<nnan,nsz> }
    %powers = linalg.generic ... ins(%x, %highest) { arith.subf; math.exp {below_one} }
    %total = linalg.generic ... ins(%powers) { arith.addf }
    %p = linalg.generic ... ins(%powers, %total) { %r = arith.divf 1.0, %t; arith.mulf %e, %r }

Where the sum is not along the last dimension, reciprocals are an op of their own, of as many numbers as there are sums:
    %r = linalg.generic ... ins(%total) { arith.divf 1.0, %t }
    %p = linalg.generic ... ins(%powers, %r) { arith.mulf %e, %r }

The maximum need not look for NaN: a row that has one has it in its total too, and so in every result. No power is
above 1. A total lies between 1 and the row's length, or is NaN, so that its reciprocal is as good as the quotient to
one rounding; it is one division for each row, also where the product is rounded to 16 bits. Quotients of 16 bits, whose
reciprocals would be rounded coarsely, stay.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import Float32Type, Float64Type, FloatAttr, ModuleOp, TensorType, UnitAttr
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.walking import all_ops
from ...dialects.linalg import GenericOp, YieldOp
from ...dialects.math import BELOW_ONE
from ...dialects.tensor import EmptyOp
from .softmax import Softmax, match_softmax

_ANY = arith.FastMathFlagsAttr([FastMathFlag.NO_NANS, FastMathFlag.NO_SIGNED_ZEROS])


@dataclass(frozen=True)
class SimplifySoftmax(ModulePass):
    """Cheaper maxima, powers and quotients in softmax."""

    name = "linalg-simplify-softmax"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for generic in [inner for inner in all_ops(op) if isinstance(inner, GenericOp)]:
            for result in generic.results:
                found = match_softmax(result, rounds=True, anywhere=True)
                if found is not None:
                    simplify(found)


def simplify(softmax: Softmax) -> None:
    """Rewrites the bodies of its parts."""
    quotient, total, shifted, highest = softmax.ops
    for op in highest.body.walk():
        if isinstance(op, arith.MaximumfOp):
            op.properties["fastmath"] = _ANY
    for op in shifted.body.walk():
        if isinstance(op, math.ExpOp):
            op.attributes[BELOW_ONE] = UnitAttr()
    for op in list(quotient.body.walk()):
        if not isinstance(op, arith.DivfOp) or not isinstance(op.result.type, Float32Type | Float64Type):
            continue
        factor = op.rhs
        if total.iterators[-1] == "reduction":
            factor = _one_over(op.rhs, InsertPoint.before(op), op)
        elif op.rhs is quotient.body.block.args[1]:
            quotient.operands[1] = _reciprocals(quotient.inputs[1], quotient)
        else:
            continue
        product = arith.MulfOp(op.lhs, factor)
        product.location = op.location
        Rewriter.insert_op(product, InsertPoint.before(op))
        op.result.replace_all_uses_with(product.result)
        Rewriter.erase_op(op)


def _one_over(value: SSAValue, at: InsertPoint, like: Operation) -> SSAValue:
    """The reciprocal of a number."""
    assert isinstance(value.type, Float32Type | Float64Type)
    one = arith.ConstantOp(FloatAttr(1.0, value.type))
    reciprocal = arith.DivfOp(one.result, value)
    one.location = reciprocal.location = like.location
    Rewriter.insert_op([one, reciprocal], at)
    return reciprocal.result


def _reciprocals(totals: SSAValue, at: GenericOp) -> SSAValue:
    """The reciprocals of an array, before `at`."""
    assert isinstance(totals.type, TensorType)
    rank = totals.type.get_num_dims()
    block = Block(arg_types=[totals.type.element_type] * 2)
    end = YieldOp(_one_over(block.args[0], InsertPoint.at_end(block), at))
    block.add_op(end)
    empty = EmptyOp([], totals.type)
    identity = AffineMap.identity(rank)
    new = GenericOp.of([totals], [empty.tensor], [identity, identity], ["parallel"] * rank, Region(block))
    end.location = empty.location = new.location = at.location
    Rewriter.insert_op([empty, new], InsertPoint.before(at))
    return new.res[0]
