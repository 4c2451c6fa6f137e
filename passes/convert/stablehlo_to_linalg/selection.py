"""The derivative of pooling: each window picks one place, and its element of the source goes there.

Loops over the windows, in order, carry the result. Inside, loops over the places of a window carry what is picked:
where that is, its value, and whether there is one yet, for places in the padding are passed by.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, i1
from xdsl.ir import Block, Region, SSAValue

from ....compiler.conversion import RuleBuilder
from ....dialects import stablehlo as hlo
from ....dialects.tensor import ExtractOp, InsertOp
from .indexing import loop_nest
from .rules import RULES, Scalars, filled, result_type, scalar_of, tensor_type
from .scalars import scalar_region


@RULES.lowers(hlo.SelectAndScatterOp)
def select_and_scatter(op: hlo.SelectAndScatterOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    """A window whose places are all padding gives its element to nobody."""
    operand, source, init = operands
    type_ = result_type(op)
    element = type_.element_type
    if tensor_type(operand).element_type != element:
        raise b.fail("a scatter that accumulates in another type than the operand's is not lowered to linalg")
    target = filled(b, scalar_of(b, init), type_)
    shape, places = type_.get_shape(), tensor_type(source).get_shape()
    if 0 in shape or 0 in places:
        return target
    window = op.window()
    origin = [low for low, _ in window.padding]

    def one_window(s: Scalars, at: Sequence[SSAValue], totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
        corner = [
            s(arith.SubiOp(s(arith.MuliOp(i, _index(s, stride))), _index(s, low)))
            for i, stride, low in zip(at, window.strides, origin, strict=True)
        ]
        *chosen, _, found = _picked(op, operand, s, corner)
        old = s(ExtractOp(totals[0], chosen, element))
        new = s(ExtractOp(source, at, element))
        [combined] = scalar_region(s, op.scatter.block, [old, new])
        return [s(InsertOp(s(arith.SelectOp(found, combined, old)), totals[0], chosen))]

    return loop_nest(b, places, [target], one_window)[0]


def _picked(
    op: hlo.SelectAndScatterOp, operand: SSAValue, s: Scalars, corner: Sequence[SSAValue]
) -> Sequence[SSAValue]:
    """Where the window picks, the value there, and whether any of its places is inside the operand."""
    shape, sizes = tensor_type(operand).get_shape(), op.window().size
    element = tensor_type(operand).element_type
    wide = [i for i, size in enumerate(sizes) if size > 1]

    def visit(s: Scalars, taps: Sequence[SSAValue], state: Sequence[SSAValue]) -> Sequence[SSAValue]:
        where, inside = list(corner), s.constant(1, i1)
        for dim, tap in zip(wide, taps, strict=True):
            where[dim] = s(arith.AddiOp(where[dim], tap))
        for dim, size in enumerate(shape):
            here = s(arith.CmpiOp(where[dim], _index(s, size), "ult"))
            inside = s(arith.AndIOp(inside, here))
            where[dim] = s(arith.SelectOp(here, where[dim], _index(s, 0)))
        value = s(ExtractOp(operand, where, element))
        *_, best, found = state
        [selected] = scalar_region(s, op.select.block, [best, value])
        outside = s(arith.XOrIOp(inside, s.constant(1, i1)))
        keep = s(arith.OrIOp(s(arith.AndIOp(selected, found)), outside))
        kept = [s(arith.SelectOp(keep, old, new)) for old, new in zip(state[:-1], [*where, value], strict=True)]
        return [*kept, s(arith.OrIOp(found, inside))]

    def level(s: Scalars, taps: list[SSAValue], state: Sequence[SSAValue]) -> Sequence[SSAValue]:
        if len(taps) == len(wide):
            return visit(s, taps, state)
        bounds = [_index(s, v) for v in (0, sizes[wide[len(taps)]], 1)]
        body = Block(arg_types=[IndexType(), *(v.type for v in state)])
        body.add_op(scf.YieldOp(*level(Scalars(body), [*taps, body.args[0]], body.args[1:])))
        loop = scf.ForOp(bounds[0], bounds[1], bounds[2], state, Region(body))
        s(loop)
        return loop.results

    nowhere = [_index(s, 0) for _ in shape]
    return level(s, [], [*nowhere, s(ExtractOp(operand, nowhere, element)), s.constant(0, i1)])


def _index(s: Scalars, value: int) -> SSAValue:
    return s.constant(value, IndexType())
