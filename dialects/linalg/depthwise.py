"""Recognises depthwise convolutions of images, with channels before space or last: a window of each has one sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import ShapedType, f32, i16, i32
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

from .contraction import multiply_add
from .ops import GenericOp
from .views import linear_form

ITERATORS = [[*["parallel"] * 4, *["reduction"] * n] for n in (2, 3)]
WORDS = [i16, i16, i32]
MOST_TAPS = 49  # all of which are code; of larger windows those in one column are, or in a row with channels last
MOST_ALONG = 64  # of those
MOST_STRIDE = 2  # along a row
FEWEST_COLUMNS = 4  # of the output
FEWEST_CHANNELS = 8  # that are worth a vector where they come last
MOST_WIDTH = 8  # channels of a group: each of them has code of its own
MOST_SCRATCH = 1 << 14  # elements of the rows under one row of windows


@dataclass(frozen=True)
class Depthwise:
    """y[n, c, h, w] += x[n, c, h * stride + i * dilation, ...] * k[c, i, j]: rows, then columns in each pair.

    With `channels_last`: y[n, h, w, c] += x[n, h * stride + i * dilation, ..., c] * k[i, j, c]. `image` is the size of
    x, which holds every window, `output` that of y. Channels last may be in groups, of `width` each, that a convolution
    sums up: y[n, h, w, c] += x[n, ..., c // width * width + l] * k[i, j, l, c] for every l below `width`.
    """

    batch: int
    channels: int
    image: tuple[int, int]
    output: tuple[int, int]
    window: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    channels_last: bool = False
    width: int = 1

    @property
    def space(self) -> tuple[int, int]:
        """Which dimensions of x and y are rows and columns."""
        return (1, 2) if self.channels_last else (2, 3)

    @property
    def reach(self) -> tuple[int, int]:
        """Rows and columns that a window spans."""
        return tuple((n - 1) * d + 1 for n, d in zip(self.window, self.dilations, strict=True))  # pyright: ignore


def match_depthwise(op: GenericOp) -> Depthwise | None:
    """What `op` computes, where it is such a convolution with few taps, rows of some length and any size.

    It is of float32, or, with channels last, of 16-bit integers that add up in 32 bits. Its loops are (n, c, h, w, i,
    j), (n, h, w, c, i, j) or, with groups, of float32, (n, h, w, c, i, j, l); subscripts of dimensions of one element
    may be 0.
    """
    if list(op.iterators) not in ITERATORS or multiply_add(op) != (0, 1):
        return None
    types = [v.type for v in op.operands]
    if not all(isinstance(t, ShapedType) and t.has_static_shape() for t in types):
        return None
    elements = [getattr(t, "element_type", None) for t in types]
    layouts = (False, True) if elements == [f32] * 3 else (True,) if elements == WORDS and _is_signed(op) else ()
    if len(op.iterators) == len(ITERATORS[1]):
        layouts = (True,) if elements == [f32] * 3 else ()
    shapes = [t.get_shape() for t in cast("list[ShapedType]", types)]
    return next((found for last in layouts if (found := _match(op, shapes, last)) is not None), None)


def _is_signed(op: GenericOp) -> bool:
    """Whether both factors are extended as signed numbers."""
    return all(use.operation.name == "arith.extsi" for arg in op.body.block.args[:2] for use in arg.uses)


def _match(op: GenericOp, shapes: list[tuple[int, ...]], channels_last: bool) -> Depthwise | None:
    image, taps, output = shapes
    read, kernel, write = (m.results for m in op.maps)
    rows, columns, channel = (1, 2, 3) if channels_last else (2, 3, 1)
    if write != tuple(AffineDimExpr(d) for d in range(4)) or len(read) != 4:
        return None
    used = {e.position: n for e, n in zip(kernel, taps, strict=True) if isinstance(e, AffineDimExpr)}
    grouped = len(op.iterators) == len(ITERATORS[1])
    order = [4, 5, *[6] * grouped, channel] if channels_last else [channel, 4, 5]
    if list(used) != order or any(n != 1 for e, n in zip(kernel, taps, strict=True) if not _dim(e)):
        return None
    width = used.get(6, 1)
    one = AffineDimExpr(channel) // width * width + AffineDimExpr(6) if grouped else AffineDimExpr(channel)
    if not _is(read[0], 0, image[0]) or read[channel] != one or not 1 <= width <= MOST_WIDTH:
        return None
    steps = [_steps(read[space], space, 4 + i, image[space]) for i, space in enumerate((rows, columns))]
    if steps[0] is None or steps[1] is None:
        return None
    (s, d), (t, e) = steps[0], steps[1]
    sizes = (image[rows], image[columns]), (output[rows], output[columns]), (used[4], used[5])
    found = Depthwise(output[0], output[channel], *sizes, (s, t), (d, e), channels_last, width)
    return found if _is_served(found) else None


def _is_served(c: Depthwise) -> bool:
    if c.channels_last:
        few = c.window[1] <= MOST_ALONG and (c.width == 1 or c.window[0] * c.window[1] <= MOST_TAPS)
        return few and c.channels >= FEWEST_CHANNELS and 0 not in (c.batch, *c.output)
    few = c.window[0] * c.window[1] <= MOST_TAPS or (c.window[0] <= MOST_ALONG and c.strides[1] == 1)
    large = c.output[1] >= FEWEST_COLUMNS and min(c.image) >= 2 and 0 not in (c.batch, c.channels, *c.output)
    fits = c.reach[0] * (c.image[1] + c.reach[1]) <= MOST_SCRATCH
    return few and c.strides[1] <= MOST_STRIDE and large and fits


def _dim(expr: AffineExpr) -> bool:
    return isinstance(expr, AffineDimExpr)


def _is(expr: AffineExpr, dim: int, size: int) -> bool:
    return expr == AffineDimExpr(dim) or (size == 1 and expr == AffineConstantExpr(0))


def _steps(expr: AffineExpr, space: int, tap: int, size: int) -> tuple[int, int] | None:
    """(stride, dilation) where the subscript is `space * stride + tap * dilation`, or that of the only element."""
    if size == 1 and expr == AffineConstantExpr(0):
        return 1, 1
    form = linear_form(expr)
    if form is None or form[1] or set(form[0]) != {space, tap} or min(form[0].values()) < 1:
        return None
    return form[0][space], form[0][tap]
