"""Recognising a softmax among structured ops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap
from xdsl.traits import ConstantLike

from ...dialects.linalg import FillOp, GenericOp
from ...dialects.linalg.views import loop_ranges
from .grouping import is_elementwise
from .roundings import Half, half_of, is_rounding, unrounded

_POWER = ["arith.subf", "math.exp"]
_UNE, _UNO = 13, 14  # predicates of arith.cmpf that hold of a value and itself where it is not a number


@dataclass(frozen=True)
class Softmax:
    """exp(x - max x) / sum of it along dimensions of x. `ops` are its parts, the last one first.

    With `zero_undefined`, probabilities that are not a number are replaced by 0.
    """

    x: SSAValue
    ops: tuple[GenericOp, ...]
    zero_undefined: bool


def match_softmax(value: SSAValue, *, rounds: bool = False, anywhere: bool = False) -> Softmax | None:
    """The softmax along the last dimension whose only result is `value`, if nothing else uses what is on the way.

    With `rounds`, numbers on the way may be rounded to the 16 bits of its probabilities, and widened again. With
    `anywhere`, it may be along any dimensions.
    """
    half = half_of(value) if rounds else None
    quotient = value.owner
    if not isinstance(quotient, GenericOp) or not is_elementwise(quotient) or len(quotient.inputs) != 2:
        return None
    zero_undefined = _divides(quotient, half)
    if zero_undefined is None:
        return None
    powers, total = quotient.inputs[0], quotient.inputs[1].owner
    shifted = powers.owner
    if not _reduces(total, powers, "arith.addf", 0.0, half) or not isinstance(shifted, GenericOp):
        return None
    assert isinstance(total, GenericOp)
    if not anywhere and total.iterators.index("reduction") != len(total.iterators) - 1:
        return None
    if not is_elementwise(shifted) or len(shifted.inputs) != 2 or _names(shifted, half) != _POWER:
        return None
    difference = computing(shifted, half)[0]
    if [unrounded(v, half) for v in difference.operands] != list(shifted.body.block.args[:2]):
        return None
    x, highest = shifted.inputs[0], shifted.inputs[1].owner
    if not _reduces(highest, x, "arith.maximumf", -inf, half):
        return None
    assert isinstance(highest, GenericOp)
    if highest.iterators != total.iterators or not _reads_rows(shifted, highest) or not _reads_rows(quotient, total):
        return None
    users: list[tuple[SSAValue, set[Operation]]] = [
        (powers, {quotient, total}),
        (x, {shifted, highest}),
        (total.res[0], {quotient}),
        (highest.res[0], {shifted}),
    ]
    if any({use.operation for use in v.uses} != wanted for v, wanted in users):
        return None
    return Softmax(x, (quotient, total, shifted, highest), zero_undefined)


def computing(op: GenericOp, half: Half | None) -> list[Operation]:
    """The ops of a body but for constants, roundings and the terminator."""
    return [
        inner
        for inner in op.body.block.ops
        if inner.next_op is not None and not inner.has_trait(ConstantLike) and not is_rounding(inner, half)
    ]


def _names(op: GenericOp, half: Half | None) -> list[str]:
    return [inner.name for inner in computing(op, half)]


def _divides(op: GenericOp, half: Half | None) -> bool | None:
    """Whether the body is a quotient of its inputs (False), one with 0 where it is no number (True); else None."""
    ops = computing(op, half)
    yielded = unrounded(cast(Operation, op.body.block.last_op).operands[0], half)
    if not ops or ops[0].name != "arith.divf":
        return None
    if [unrounded(value, half) for value in ops[0].operands] != list(op.body.block.args[:2]):
        return None
    quotient = ops[0].results[0]
    if len(ops) == 1:
        return False if yielded is quotient else None
    if len(ops) != 3 or not isinstance(ops[1], arith.CmpfOp) or ops[2].name != "arith.select":
        return None
    unordered = ops[1].predicate.value.data in (_UNE, _UNO)
    condition, yes, no = ops[2].operands[0], *(unrounded(value, half) for value in ops[2].operands[1:])
    compared = [unrounded(value, half) for value in ops[1].operands]
    same = compared == [quotient, quotient] and condition is ops[1].results[0]
    plain = yes is not quotient and no is quotient and constant_float(yes) == 0.0
    return True if unordered and same and plain and yielded is ops[2].results[0] else None


def constant_float(value: SSAValue) -> float | None:
    """The number that a scalar constant is."""
    op = value.owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, FloatAttr):
        return op.value.value.data
    return None


def filled_with(value: SSAValue) -> float | None:
    """The number that a tensor is filled with."""
    return constant_float(value.owner.value) if isinstance(value.owner, FillOp) else None


def _reduces(op: object, x: SSAValue, name: str, start: float, half: Half | None) -> bool:
    """Whether `op` combines `x` along some dimensions with the op called `name`, beginning with `start`."""
    if not isinstance(op, GenericOp) or list(op.inputs) != [x] or len(op.outputs) != 1:
        return False
    rank = len(op.iterators)
    if "reduction" not in op.iterators or op.maps[0] != AffineMap.identity(rank):
        return False
    ops = computing(op, half)
    given = {unrounded(value, half) for inner in ops for value in inner.operands}
    combines = [inner.name for inner in ops] == [name] and given == set(op.body.block.args)
    ranges = loop_ranges(op)
    dims = [e.position for e in op.maps[1].results if isinstance(e, AffineDimExpr)]
    rows = [d for d in range(rank) if ranges[d] != 1 and op.iterators[d] == "parallel"]
    return combines and [d for d in dims if ranges[d] != 1] == rows and filled_with(op.outputs[0]) == start


def _reads_rows(reader: GenericOp, reduction: GenericOp) -> bool:
    """Whether `reader` takes its first input element by element and as its second that row's result of `reduction`."""
    rank = len(reader.iterators)
    ranges = loop_ranges(reader)
    if reader.maps[0] != AffineMap.identity(rank) or len(reader.maps[1].results) != len(reduction.maps[1].results):
        return False
    return all(_same(a, b, ranges) for a, b in zip(reader.maps[1].results, reduction.maps[1].results, strict=True))


def _same(a: object, b: object, ranges: Sequence[int]) -> bool:
    """Whether two subscripts are the same loop; loops of one step are as good as 0."""

    def plain(expr: object) -> object:
        if isinstance(expr, AffineDimExpr):
            return expr.position if ranges[expr.position] != 1 else "0"
        return "0" if isinstance(expr, AffineConstantExpr) and expr.value == 0 else None

    return plain(a) is not None and plain(a) == plain(b)
