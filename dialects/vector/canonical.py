"""Simplest forms of vector: a known number in every lane is a constant."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.dialects.vector import BroadcastOp
from xdsl.ir import Attribute

from ...compiler.folding import Folded, folds
from .widen import splat_of


@folds("vector.broadcast")
def broadcast(op: BroadcastOp, constants: Sequence[Attribute | None]) -> Folded | None:
    (constant,) = constants
    return splat_of(constant, op.vector.type) if isinstance(constant, FloatAttr | IntegerAttr) else None
