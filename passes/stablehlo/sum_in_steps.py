"""stablehlo-sum-in-steps: the sum of many points of an image is that of the sums of its rows.

before: %y = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1, 2]
            : (1x160x160x48) -> 1x48
after:  %r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [2] : (1x160x160x48) -> 1x160x48
        %y = stablehlo.reduce(%r init: %z) applies stablehlo.add across dimensions = [1] : (1x160x48) -> 1x48

Where channels are last, as `stablehlo-propagate-layout` leaves them, each is summed by itself, one number after the
other, and roundings grow with their number: with 25,600 they are nine times those of two steps, which take no longer,
and of which the first is done by several threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects.stablehlo import ReduceOp
from ...dialects.stablehlo.attributes import ints
from ...dialects.stablehlo.canonical.rules import Builder, Replacement, shape_of
from ...dialects.stablehlo.constants import dtype_of
from ...dialects.stablehlo.semantics.regions import single_op
from .one_rule import apply_rule

FEWEST = 4096  # points, of which fewer are summed as they come


@dataclass(frozen=True)
class SumInSteps(ModulePass):
    """Rewrites sums of floats along several dimensions that are not the last."""

    name = "stablehlo-sum-in-steps"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rule(ctx, op, rows_first, ReduceOp)


def rows_first(op: ReduceOp, b: Builder) -> Replacement:
    """The sum along the last of the dimensions, then along the others."""
    if len(op.inputs) != 1 or single_op(op.body) != "stablehlo.add":
        return None
    (value,), dimensions = op.inputs, sorted(ints(op.dimensions))
    shape, dtype = shape_of(value), dtype_of(value.type)
    along = [i for i in dimensions if shape[i] > 1]
    if len(along) < 2 or len(shape) - 1 in dimensions or prod(shape[i] for i in along) < FEWEST or dtype.kind != "f":
        return None
    zero = b.constant(np.zeros((), dtype), "zero")
    rows = b.value(ReduceOp([value], [zero], dimensions=[along[-1]], body=op.body.clone()))
    others = [i - (i > along[-1]) for i in dimensions if i != along[-1]]
    return b.value(ReduceOp([rows], op.init_values, dimensions=others, body=op.body.clone()))
