"""Reductions: a product becomes a contraction, windows a reduce_window, anything else the elements and a reduce.

Before:
    %m = dsl.reduce max [8] { ^bb0(%j: tensor<i64>): %a = dsl.access %x[%i, %j] : tensor<4x8xf32>; dsl.yield %a ... }
After:
    %m = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [1]
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import AnyFloat, TensorType, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....compiler.dtypes import dtype_of
from ....dialects import stablehlo as hlo
from ....dialects.dsl import ARG_KINDS, ReduceKind, ReduceOp
from ....dialects.dsl.neutral import neutral
from ....dialects.stablehlo.shapes import scalar
from .builder import element_of
from .contractions import Factor, contract
from .convolutions import convolve
from .forms import Index, Linear
from .guards import contract_where
from .lifting import Lifted, Lifter, lifts
from .products import Product, narrow, product_of, terms_of
from .splitting import with_blocks
from .windows import reduce_windows, windows_of

COMBINERS = {
    ReduceKind.SUM: "add",
    ReduceKind.PROD: "multiply",
    ReduceKind.MAX: "maximum",
    ReduceKind.MIN: "minimum",
    ReduceKind.ANY: "or",
    ReduceKind.ALL: "and",
}


@lifts(ReduceOp)
def reduce(lifter: Lifter, op: ReduceOp) -> list[Lifted]:
    """What the elements combine to, for all indices around."""
    kind, value, b = op.kind.data, op.yielded[0], lifter.b
    indices = lifter.bind(op)
    if 0 in op.sizes:
        dtype = dtype_of(op.result.type)
        return [Lifted(b.constant(np.zeros((), dtype) if kind in ARG_KINDS else neutral(kind, dtype)))]
    if kind in ARG_KINDS:
        return [_place(lifter, kind, _guarded(lifter, kind, value, op.guard), indices[0])]
    if kind is not ReduceKind.SUM:
        return [_combined(lifter, kind, value, op.guard, indices)]
    return [_sum(lifter, value, op.guard, indices)]


def _sum(lifter: Lifter, value: SSAValue, guard: SSAValue | None, indices: Sequence[Index]) -> Lifted:
    """A sum: of a product as a contraction, of several products one by one, of anything else of its elements."""
    product = product_of(lifter, value, indices)
    inner = product.inner
    if len(inner) == 1 and (terms := terms_of(lifter, inner[0], indices)) is not None:
        left, right = (_sum(lifter, term, guard, indices) for term in terms.values)
        return product.around(lifter, lifter.binary(terms.op, left, right))
    if len(inner) > 1 and not (guard is None and all(windows_of(lifter, factor, indices) for factor in inner)):

        def contracted(lifter: Lifter) -> Lifted | None:
            return _contracted(lifter, inner, guard, indices)

        total = with_blocks(lifter, inner, indices, contracted)
        if total is not None:
            return product.around(lifter, total)
    if len(inner) != 1:  # no contraction, or the elements are all the same, but for the guard
        product = Product([value])
    return product.around(lifter, _combined(lifter, ReduceKind.SUM, product.inner[0], guard, indices))


def _contracted(
    lifter: Lifter, values: Sequence[SSAValue], guard: SSAValue | None, indices: Sequence[Index]
) -> Lifted | None:
    """The sum of the product of several values; None where the guard cannot go to the factors."""
    if len(values) == 2 and guard is None and (total := convolve(lifter, values, indices)) is not None:
        return total
    element = element_of(values[0])
    narrowed = [narrow(value) for value in values]
    if len(values) != 2 or element_of(narrowed[0]) != element_of(narrowed[1]):
        narrowed = values
    factors = [Factor(lifter.lift(value), element) for value in narrowed]
    present = {axis for factor in factors for axis in factor.lifted.axes}
    summed = [index for index in indices if index in present]
    if guard is None:
        total = contract(lifter, factors, summed)
    elif (total := contract_where(lifter, factors, lifter.lift(guard), summed)) is None:
        return None
    return times(lifter, total, prod(index.size for index in indices if index not in present))


def _combined(
    lifter: Lifter, kind: ReduceKind, value: SSAValue, guard: SSAValue | None, indices: Sequence[Index]
) -> Lifted:
    """All elements, then one reduction."""
    b = lifter.b
    dtype = dtype_of(element_of(value))
    if guard is None:
        windows = reduce_windows(lifter, COMBINERS[kind], value, indices, neutral(kind, dtype))
        if windows is not None:
            elements, taps = windows
            indices = [index for index in indices if index not in taps]
        else:
            elements = lifter.lift(value)
    else:
        elements = _guarded(lifter, kind, value, guard)
    missing = [index for index in indices if index not in elements.axes]
    count = prod(index.size for index in missing)
    if kind is ReduceKind.PROD or (kind is ReduceKind.SUM and int(np.asarray(count).astype(dtype)) != count):
        axes = (*elements.axes, *missing)
        elements, count = Lifted(lifter.expand(elements, axes), axes), 1
    dims = [d for d, index in enumerate(elements.axes) if index in indices]
    kept = tuple(index for index in elements.axes if index not in indices)
    total = Lifted(b.reduce(COMBINERS[kind], elements.value, b.constant(neutral(kind, dtype)), dims), kept)
    return times(lifter, total, count) if kind is ReduceKind.SUM else total


def _guarded(lifter: Lifter, kind: ReduceKind, value: SSAValue, guard: SSAValue | None) -> Lifted:
    """The elements, neutral where the guard is false."""
    elements = lifter.lift(value)
    if guard is None:
        return elements
    fill = Lifted(lifter.b.constant(neutral(kind, dtype_of(elements.element))))
    return lifter.select(lifter.lift(guard), elements, fill)


def times(lifter: Lifter, lifted: Lifted, count: int) -> Lifted:
    """`count` times the elements."""
    if count == 1:
        return lifted
    factor = np.asarray(count).astype(dtype_of(lifted.element))
    return lifter.binary(hlo.MultiplyOp, lifted, Lifted(lifter.b.constant(factor)))


def _place(lifter: Lifter, kind: ReduceKind, elements: Lifted, index: Index) -> Lifted:
    """The first place of the extreme, a NaN being one: a reduction of pairs."""
    b = lifter.b
    if index not in elements.axes:
        return Lifted(b.constant(np.int64(0)))
    dim = elements.axes.index(index)
    places = lifter.expand(lifter.linear(Linear({index: 1})), elements.axes)
    starts = [b.constant(neutral(kind, dtype_of(elements.element))), b.constant(np.int64(np.iinfo(np.int64).max))]
    body = _first_of_pairs(elements.element, "GT" if kind is ReduceKind.ARGMAX else "LT")
    pairs = hlo.ReduceOp([elements.value, places], starts, dimensions=[dim], body=body)
    b.insert(pairs)
    kept = tuple(each for each in elements.axes if each is not index)
    return Lifted(pairs.results[1], kept)


def _first_of_pairs(element: Attribute, direction: str) -> Region:
    """((a, i), (b, j)) -> the pair that comes first: NaN before numbers, then by `direction`, then the lower place."""
    types = [scalar(element), TensorType(i64, [])]
    block = Block(arg_types=[*types, *types])
    a, i, b, j = block.args

    def compare(left: SSAValue, right: SSAValue, how: str) -> SSAValue:
        op = hlo.CompareOp(left, right, comparison_direction=how)
        block.add_op(op)
        return op.results[0]

    def made(op: Operation) -> SSAValue:
        block.add_op(op)
        return op.results[0]

    better, equal = compare(a, b, direction), compare(a, b, "EQ")
    if isinstance(element, AnyFloat):
        left, right = compare(a, a, "NE"), compare(b, b, "NE")
        better = made(hlo.OrOp(better, made(hlo.AndOp(left, made(hlo.NotOp(right))))))
        equal = made(hlo.OrOp(equal, made(hlo.AndOp(left, right))))
    first = made(hlo.OrOp(better, made(hlo.AndOp(equal, compare(i, j, "LT")))))
    block.add_op(hlo.ReturnOp([made(hlo.SelectOp(first, a, b)), made(hlo.SelectOp(first, i, j))]))
    return Region(block)
