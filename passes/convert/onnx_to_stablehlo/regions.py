"""The small regions that sorts, scatters and reductions of pairs need."""

from __future__ import annotations

from xdsl.dialects.builtin import AnyFloat, TensorType
from xdsl.ir import Attribute, Block, Region

from ....dialects import stablehlo as hlo


def replace_region(element: Attribute) -> Region:
    """(old, new) -> new."""
    block = Block(arg_types=[TensorType(element, [])] * 2)
    block.add_op(hlo.ReturnOp([block.args[1]]))
    return Region(block)


def compare_region(elements: list[Attribute], direction: str) -> Region:
    """Orders tuples by their first component: (a0, b0, a1, b1, ...) -> a0 `direction` b0, floats in total order."""
    block = Block(arg_types=[TensorType(element, []) for element in elements for _ in range(2)])
    compared = hlo.CompareOp(block.args[0], block.args[1], comparison_direction=direction)
    block.add_ops([compared, hlo.ReturnOp([compared])])
    return Region(block)


def best_of_pairs(element: Attribute, index: Attribute, direction: str, *, last: bool) -> Region:
    """((a, i), (b, j)) -> the pair whose value is first under `direction`; of equals the lower index, or the higher.

    NaN comes first, and all NaN are equal.
    """
    types = [TensorType(element, []), TensorType(index, [])]
    block = Block(arg_types=[*types, *types])
    a, i, b, j = block.args
    better = hlo.CompareOp(a, b, comparison_direction=direction)
    equal = hlo.CompareOp(a, b, comparison_direction="EQ")
    earlier = hlo.CompareOp(i, j, comparison_direction="GT" if last else "LT")
    tie = hlo.AndOp(equal, earlier)
    first = hlo.OrOp(better, tie)
    block.add_ops([better, equal, earlier, tie, first])
    if isinstance(element, AnyFloat):
        a_is_nan = hlo.CompareOp(a, a, comparison_direction="NE")
        b_is_not = hlo.CompareOp(b, b, comparison_direction="EQ")
        wins = hlo.OrOp(b_is_not, earlier)
        alone = hlo.AndOp(a_is_nan, wins)
        first = hlo.OrOp(first, alone)
        block.add_ops([a_is_nan, b_is_not, wins, alone, first])
    value, place = hlo.SelectOp(first, a, b), hlo.SelectOp(first, i, j)
    block.add_ops([value, place, hlo.ReturnOp([value, place])])
    return Region(block)
