"""Guarded sums of products: zeros in a factor where the guard is false, and care for what a zero does not undo.

Before:
    sum[j where j <= i] p[i, j] * v[j, d]
After:
    %masked = stablehlo.select %guard, %p, %zeros
    %y = "stablehlo.if"(%all_of_v_finite) ({ stablehlo.dot_general %masked, %v ... },
                                           { the sum of the guarded products, one by one })
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Block, Region
from xdsl.rewriter import InsertPoint

from ....compiler.dtypes import dtype_of
from ....dialects import stablehlo as hlo
from .builder import element_of
from .contractions import Factor, contract
from .forms import Index
from .lifting import Lifted, Lifter, union


def contract_where(lifter: Lifter, factors: Sequence[Factor], where: Lifted, summed: Sequence[Index]) -> Lifted | None:
    """The sum over `summed` of the product where `where` holds; None where that is better done product by product:
    no factor can hold the zeros, or one factor has all indices already."""
    masked = [factor for factor in factors if set(where.axes) <= set(factor.lifted.axes)]
    others = [factor for factor in factors if factor not in masked]
    every = {axis for factor in factors for axis in factor.lifted.axes}
    if not masked or any(set(factor.lifted.axes) == every for factor in factors):
        return None
    zeros = [Factor(_masked(lifter, factor.lifted, where), factor.element) for factor in masked]
    if not isinstance(masked[0].element, AnyFloat) or not others:
        return contract(lifter, [*zeros, *others], summed)
    return _checked(lifter, factors, [*zeros, *others], others, where, summed)


def _masked(lifter: Lifter, lifted: Lifted, where: Lifted) -> Lifted:
    zero = Lifted(lifter.b.constant(np.zeros((), dtype_of(lifted.element))))
    return lifter.select(where, lifted, zero)


def _checked(
    lifter: Lifter,
    factors: Sequence[Factor],
    zeros: Sequence[Factor],
    others: Sequence[Factor],
    where: Lifted,
    summed: Sequence[Index],
) -> Lifted:
    """The contraction with zeros where the `others` are finite; else each product is guarded: 0 * inf is not 0."""
    b = lifter.b
    finite: Lifted | None = None
    for factor in others:
        each = b(hlo.IsFiniteOp(factor.lifted.value))
        every = Lifted(b.reduce("and", each, b.constant(np.array(True)), range(len(factor.lifted.axes))))
        finite = every if finite is None else lifter.binary(hlo.AndOp, finite, every)
    assert finite is not None
    blocks, results = (Block(), Block()), list[Lifted]()
    with lifter.scope(), b.inside(InsertPoint.at_end(blocks[0])):
        results.append(contract(lifter, zeros, summed))
    with lifter.scope(), b.inside(InsertPoint.at_end(blocks[1])):
        product: Lifted | None = None
        for factor in factors:
            wide = factor.widened(b)
            product = wide if product is None else lifter.binary(hlo.MultiplyOp, product, wide)
        assert product is not None
        results.append(contract(lifter, [Factor(_masked(lifter, product, where), element_of(product.value))], summed))
    axes = union([results[0].axes, results[1].axes])
    for block, result in zip(blocks, results, strict=True):
        with b.inside(InsertPoint.at_end(block)):
            b.insert(hlo.ReturnOp([lifter.expand(result, axes)]))
    return Lifted(b(hlo.IfOp(finite.value, *map(Region, blocks))), axes)
