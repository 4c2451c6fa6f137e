"""Recognising contractions: generics that multiply two operands and add up into the third."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import ShapedType
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from .ops import GenericOp
from .views import loop_ranges

PAIRS_FIT = "lamina.pairs_fit"  # marks contractions whose `dot.product` may promise it
_EXTENSIONS = ("arith.extsi", "arith.extui", "arith.extf", "arith.sitofp")


@dataclass(frozen=True)
class Contraction:
    """Loops by role. `lhs` and `rhs` are operand numbers; `n` holds the loops only the right operand shares
    with the result, `m` only the left one, `batch` both, `k` is summed over.

    Convolutions are contractions whose left operand is indexed by sums: `m` and `k` loops meet in one subscript.
    """

    lhs: int
    rhs: int
    batch: tuple[int, ...]
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]


def multiply_add(op: GenericOp) -> tuple[int, int] | None:
    """The operand numbers (l, r) where the body is `acc + ext(l) * ext(r)`; None for any other body."""
    if len(op.outputs) != 1 or len(op.body.block.args) != 3:
        return None
    terminator = cast(Operation, op.body.block.last_op)
    add = terminator.operands[0].owner
    accumulator = op.body.block.args[2]
    if not isinstance(add, Operation) or add.name not in ("arith.addf", "arith.addi"):
        return None
    if accumulator not in add.operands:
        return None
    product = add.operands[1] if add.operands[0] is accumulator else add.operands[0]
    multiply = product.owner
    if not isinstance(multiply, Operation) or multiply.name != add.name.replace("add", "mul"):
        return None
    left, right = (_argument(op, value) for value in multiply.operands)
    if left is None or right is None or {left, right} != {0, 1}:
        return None
    return left, right


def _argument(op: GenericOp, value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, Operation) and owner.name in _EXTENSIONS:
        value = owner.operands[0]
    return value.index if isinstance(value, BlockArgument) and value.block is op.body.block else None


def match_contraction(op: GenericOp) -> Contraction | None:
    """The roles of the loops where `op` is a contraction, else None.

    The right operand is the one whose own loops include the result's innermost dimension. A generic with a loop
    that is in neither operand, or summed over in one only (a row sum written as a product, say), is none; but loops
    of one step may be idle, and count as `m`.
    """
    operands = multiply_add(op)
    if operands is None or not all(isinstance(v.type, ShapedType) for v in op.operands):
        return None
    out = op.maps[2]
    if not _is_projection(out):
        return None
    in_out = [cast(AffineDimExpr, expr).position for expr in out.results]
    used = [_used(op.maps[0]), _used(op.maps[1])]
    reduced = {d for d, kind in enumerate(op.iterators) if kind == "reduction"}
    if reduced & set(in_out):
        return None
    idle = [d for d in in_out if d not in used[0] and d not in used[1]]
    if any(loop_ranges(op)[d] != 1 for d in idle):
        return None
    if not reduced or not all(d in used[0] and d in used[1] for d in reduced):
        return None
    lhs, rhs = 0, 1
    if in_out and in_out[-1] in used[0] and in_out[-1] not in used[1]:
        lhs, rhs = 1, 0
    return Contraction(
        lhs,
        rhs,
        batch=tuple(d for d in in_out if d in used[0] and d in used[1]),
        m=tuple(d for d in in_out if d not in used[rhs]),
        n=tuple(d for d in in_out if d in used[rhs] and d not in used[lhs]),
        k=tuple(sorted(reduced)),
    )


def _used(map_: AffineMap) -> set[int]:
    return {d for expr in map_.results for d in expr.used_dims()}


def _is_projection(map_: AffineMap) -> bool:
    """Every result is a loop of its own."""
    dims = [expr.position for expr in map_.results if isinstance(expr, AffineDimExpr)]
    return len(dims) == len(map_.results) == len(set(dims))
