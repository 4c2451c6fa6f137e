"""Recognises pools of images: reductions over windows in the last two dimensions, or in those before the last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import ShapedType
from xdsl.ir import Operation
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from .ops import GenericOp, YieldOp
from .views import linear_form

# What may be combined in any order, by columns first.
COMBINING = (
    arith.AddfOp,
    arith.MulfOp,
    arith.MaximumfOp,
    arith.MinimumfOp,
    arith.AddiOp,
    arith.MuliOp,
    arith.MaxSIOp,
    arith.MinSIOp,
    arith.MaxUIOp,
    arith.MinUIOp,
    arith.AndIOp,
    arith.OrIOp,
    arith.XOrIOp,
)
MOST_STRIDE = 4  # along a row: vectors take elements so far apart by shuffles
MOST_TAPS = 16  # of a window along one dimension: all of them are code
FEWEST_COLUMNS = 4  # of the output
FEWEST_CHANNELS = 8  # that are worth a vector where they come last
PAYS = 1.2  # times fewer loads, stores and combinations of vectors


@dataclass(frozen=True)
class Side:
    """One dimension: `size` elements, `output` windows of `taps` elements."""

    size: int
    output: int
    taps: int
    stride: int
    dilation: int

    @property
    def reach(self) -> int:
        """Elements under all windows."""
        return (self.output - 1) * self.stride + (self.taps - 1) * self.dilation + 1


@dataclass(frozen=True)
class Pool:
    """y[..., h, w] = combination of x[..., h * stride + i * dilation, w * stride + j * dilation] over all i and j.

    With `channels` (not 0) those are the last dimension of both. `op` combines an element with what there is so far.
    """

    op: Operation
    outer: tuple[int, ...]
    rows: Side
    columns: Side
    channels: int = 0

    @property
    def pays_by_columns(self) -> bool:
        """Whether combining the elements of each column first, and these to windows, is less work for vectors."""
        if self.channels:
            return False
        taps, stride = self.columns.taps, self.columns.stride
        load = 2 * stride - 1  # and the shuffles that put it together
        return self.rows.taps * taps * (load + 1) >= PAYS * (stride * (2 * self.rows.taps + 1) + taps * (load + 1))


def match_pool(op: GenericOp) -> Pool | None:
    """What `op` computes, where it is a pool of rows or channels of some length.

    Its loops are (..., h, w, i, j), or with channels (..., h, w, c, i, j).
    """
    return _match(op, 0) or _match(op, 1)


def _match(op: GenericOp, behind: int) -> Pool | None:
    """The pool with so many dimensions behind rows and columns."""
    kinds = list(op.iterators)
    rank = kinds.count("parallel")
    if len(op.inputs) != 2 or len(op.outputs) != 1 or len(kinds) != rank + 2:
        return None
    types = [v.type for v in op.operands]
    known = all(isinstance(t, ShapedType) and t.has_static_shape() for t in types)
    if not known or kinds[:rank] != ["parallel"] * rank:
        return None
    image, window, output = (t.get_shape() for t in cast("list[ShapedType]", types))
    combining = _combining(op)
    read, taps, write = (m.results for m in op.maps)
    loops = [AffineDimExpr(d) for d in range(len(kinds))]
    if combining is None or list(taps) != loops[rank:] or list(write) != loops[:rank] or len(read) != rank:
        return None
    first = rank - 2 - behind
    space = range(first, first + 2)
    others = [d for d in range(rank) if d not in space]
    if first < 0 or not all(_is(read[d], d, image[d]) for d in others) or 0 in (*image, *window, *output):
        return None
    sides = [_side(read[d], d, d - first + rank, image[d], output[d], window[d - first]) for d in space]
    if any(side is None for side in sides):
        return None
    rows, columns = cast("list[Side]", sides)
    if behind:
        served = max(rows.taps, columns.taps) <= MOST_TAPS and output[-1] >= FEWEST_CHANNELS
        return Pool(combining, output[:first], rows, columns, output[-1]) if served else None
    return Pool(combining, output[:first], rows, columns) if are_served(rows, columns) else None


def are_served(rows: Side, columns: Side) -> bool:
    """Whether windows are of rows and columns, not too many, and results are rows of some length."""
    few = all(1 < side.taps <= MOST_TAPS for side in (rows, columns))
    return few and columns.stride <= MOST_STRIDE and columns.output >= FEWEST_COLUMNS


def _combining(op: GenericOp) -> Operation | None:
    """The only op of the body, of an element and what there is so far."""
    body = list(op.body.block.ops)
    element, extent, total = op.body.block.args
    if len(body) != 2 or not isinstance(body[0], COMBINING) or not isinstance(body[1], YieldOp) or extent.first_use:
        return None
    return body[0] if {*body[0].operands} == {element, total} and body[1].operands[0] is body[0].results[0] else None


def _is(expr: AffineExpr, dim: int, size: int) -> bool:
    return expr == AffineDimExpr(dim) or (size == 1 and expr == AffineConstantExpr(0))


def _side(expr: AffineExpr, dim: int, tap: int, size: int, output: int, taps: int) -> Side | None:
    """The dimension whose subscript is `dim * stride + tap * dilation`."""
    form = linear_form(expr)
    if form is None or form[1] or set(form[0]) != {dim, tap} or min(form[0].values()) < 1:
        return None
    return Side(size, output, taps, form[0][dim], form[0][tap])
