"""stablehlo-separate-windows: a pool over rectangles is one over columns, and one over rows of its results.

before: %y = reduce_window(%x) maximum, window [1, 5, 5, 1], padding [[0, 0], [2, 2], [2, 2], [0, 0]]
after:  %c = reduce_window(%x) maximum, window [1, 5, 1, 1], padding [[0, 0], [2, 2], [0, 0], [0, 0]]
        %y = reduce_window(%c) maximum, window [1, 1, 5, 1], padding [[0, 0], [0, 0], [2, 2], [0, 0]]

Two times five elements for each result instead of 25, and a store and a load of what lies between. Where steps are
larger than one, more columns are reduced than there are results in a row, so it pays for large windows, or for windows
along the last dimension, whose elements a step apart vectors have to gather. Windows of rows of planes
(`convert-pool-to-affine`) stay one op.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import BFloat16Type, Float16Type, ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...dialects.linalg.pool import Side, are_served
from ...dialects.stablehlo import MaximumOp, MinimumOp, ReduceWindowOp
from ...dialects.stablehlo.canonical.rules import Builder, Replacement, element_type, shape_of
from ...dialects.stablehlo.canonical.windows import is_plain
from .one_rule import apply_rule

LANES = 16
PAYS = 1.5  # times fewer loads, stores and combinations of vectors
MOST_KINDS = 169  # rows of windows, in code for each kind of row
MOST_COLUMNS = 1024
SHUFFLED = 4  # elements apart that vectors still take, with a load and a shuffle more for each


@dataclass(frozen=True)
class SeparateWindows(ModulePass):
    """Takes windows apart by dimension, the outermost first, where that is less work."""

    name = "stablehlo-separate-windows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rule(ctx, op, outermost_first, ReduceWindowOp)


def outermost_first(op: ReduceWindowOp, b: Builder) -> Replacement:
    """The first dimension of a window by itself, then the others."""
    if not is_plain(op, b) or not _may_round_twice(op):
        return None
    window = op.window()
    along = [d for d, size in enumerate(window.size) if size > 1]
    if len(along) < 2 or any(size == 1 and window.padding[d] != (0, 0) for d, size in enumerate(window.size)):
        return None
    if _goes_by_rows(op):
        return None
    last = len(window.size) - 1
    step = window.strides[last] if window.size[last] > 1 else 1
    load = 2 * step - 1 if step <= SHUFFLED else LANES
    rest = along[1:]
    taps, columns = prod(window.size[d] for d in rest), prod(window.strides[d] for d in rest)
    first = window.size[along[0]]
    apart = 2 * first * columns + columns + taps * (load + 1)
    if first * taps * (load + 1) < PAYS * apart:
        return None
    between = _alone(op, op.inputs[0], along[:1], b)
    return _alone(op, between, rest, b)


def _goes_by_rows(op: ReduceWindowOp) -> bool:
    """Whether the code for both parts is one kernel anyway, by blocks of rows (`convert-pool-to-affine`)."""
    window, shape, result = op.window(), shape_of(op.inputs[0]), shape_of(op.results[0])
    if any(size != 1 for size in window.size[:-2]) or {*window.dilation, *window.base_dilation} != {1}:
        return False
    values = zip(shape, result, window.size, window.strides, window.dilation, strict=True)
    rows, columns = [Side(*each) for each in values][-2:]
    (low, high), kinds = window.padding[-2], 1 + sum(-(-n // rows.stride) for n in window.padding[-2])
    inside = max(low, high) < rows.taps <= shape[-2] and kinds * rows.taps <= MOST_KINDS
    return inside and columns.size <= MOST_COLUMNS and are_served(rows, columns)


def _may_round_twice(op: ReduceWindowOp) -> bool:
    """Whether what lies between may be of the type of the result: sums of halves are not to be rounded in between."""
    chooses = isinstance(op.body.block.first_op, MaximumOp | MinimumOp)
    return chooses or not isinstance(element_type(op.results[0]), Float16Type | BFloat16Type)


def _alone(op: ReduceWindowOp, value: SSAValue, dims: Sequence[int], b: Builder) -> SSAValue:
    """The part of a window along some of its dimensions."""
    window, rank = op.window(), len(op.window().size)

    def where(given: Sequence[int]) -> list[int]:
        return [given[d] if d in dims else 1 for d in range(rank)]

    return b.value(
        ReduceWindowOp(
            [value],
            op.init_values,
            body=op.body.clone(),
            window_dimensions=where(window.size),
            window_strides=where(window.strides),
            base_dilations=where(window.base_dilation),
            window_dilations=where(window.dilation),
            padding=[window.padding[d] if d in dims else (0, 0) for d in range(rank)],
        )
    )
