"""What is summed, taken apart: factors that depend on the summed indices, and what can stand outside of the sum."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from xdsl.dialects.builtin import AnyFloat, ComplexType, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects import stablehlo as hlo
from .builder import element_of
from .forms import Index
from .lifting import Lifted, Lifter


@dataclass
class Product:
    """`inner` factors times `outer` ones, divided by `divisors`, negated if `negative`."""

    inner: list[SSAValue] = field(default_factory=list[SSAValue])
    outer: list[SSAValue] = field(default_factory=list[SSAValue])
    divisors: list[SSAValue] = field(default_factory=list[SSAValue])
    negative: bool = False

    def around(self, lifter: Lifter, total: Lifted) -> Lifted:
        """The sum of the inner factors with what stands outside."""
        for factor in self.outer:
            total = lifter.binary(hlo.MultiplyOp, total, lifter.lift(factor))
        for divisor in self.divisors:
            total = lifter.binary(hlo.DivideOp, total, lifter.lift(divisor))
        if self.negative:
            total = Lifted(lifter.b(hlo.NegateOp(total.value)), total.axes)
        return total


def product_of(lifter: Lifter, value: SSAValue, indices: Collection[Index]) -> Product:
    """The factors of `value`. Those that do not depend on `indices` are outer ones."""
    product = Product()
    stack = [value]
    while stack:
        value = stack.pop()
        if lifter.depends(value).isdisjoint(indices):
            product.outer.append(value)
            continue
        op = value.owner
        if isinstance(op, hlo.MultiplyOp) and lifter.is_inside(value):
            stack += [op.rhs, op.lhs]
        elif isinstance(op, hlo.NegateOp) and lifter.is_inside(value):
            product.negative = not product.negative
            stack.append(op.operand)
        elif isinstance(op, hlo.DivideOp) and _divides_out(lifter, op, indices):
            product.divisors.append(op.rhs)
            stack.append(op.lhs)
        else:
            product.inner.append(value)
    return product


def _divides_out(lifter: Lifter, op: hlo.DivideOp, indices: Collection[Index]) -> bool:
    """Whether a quotient can be divided after the sum: one of floats by what no summed index is in."""
    exact = isinstance(element_of(op.results[0]), AnyFloat | ComplexType)
    return exact and lifter.is_inside(op.results[0]) and lifter.depends(op.rhs).isdisjoint(indices)


@dataclass(frozen=True)
class Terms:
    """A sum or difference of two values."""

    op: type[hlo.BinaryOp]
    values: tuple[SSAValue, SSAValue]


def terms_of(lifter: Lifter, value: SSAValue, indices: Collection[Index]) -> Terms | None:
    """The two terms of `value` if they are better summed over `indices` apart: one of them would be a contraction."""
    op = value.owner
    if not isinstance(op, hlo.AddOp | hlo.SubtractOp) or not lifter.is_inside(value):
        return None
    for term in (op.lhs, op.rhs):
        inner = [lifter.depends(factor) for factor in product_of(lifter, term, indices).inner]
        if len(inner) > 1 and frozenset[Index]().union(*inner) not in inner:
            return Terms(type(op), (op.lhs, op.rhs))
    return None


def narrow(value: SSAValue) -> SSAValue:
    """What a factor was before it was widened; a contraction can widen it itself."""
    op = value.owner
    if isinstance(op, Operation) and isinstance(op, hlo.ConvertOp):
        before, after = element_of(op.operand), element_of(value)
        if _widens(before, after):
            return op.operand
    return value


def _widens(before: Attribute, after: Attribute) -> bool:
    if isinstance(before, AnyFloat) and isinstance(after, AnyFloat):
        return before.bitwidth in (16, 32) and before.bitwidth < after.bitwidth
    if isinstance(before, IntegerType) and isinstance(after, IntegerType):
        same = before.signedness == after.signedness
        return same and 1 < before.width.data < after.width.data
    return False
