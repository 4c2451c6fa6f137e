"""stablehlo-split-taps: a convolution whose far taps meet much padding is a sum of one for each tap, of what it meets.

before: %y = stablehlo.convolution(%x, %w), window = {pad = [[12, 12]], rhs_dilate = [12]}
            : (1x28x2048, 3x2048x256) -> 1x28x256
after:  %a = stablehlo.convolution(%x, %w[1])                                      -> 1x28x256
        %b = stablehlo.convolution(%x[0:16], %w[0])                                -> 1x16x256
        %c = stablehlo.convolution(%x[12:28], %w[2])                               -> 1x16x256
        %d = %a with %a[12:28] + %b written to 12
        %y = %d with %d[0:16] + %c written to 0

So in DeepLab's pyramid of 3 x 3 taps, on 28 x 28 points: of what taps that are 12 points apart multiply a half are
zeros of the padding, of those 24 apart four fifths, and images of 52 x 52 and 76 x 76 points would be written for them.
Of 2048 to 256 channels the second takes 11 ms instead of 80. Taps that meet nothing but padding are gone by then
(`stablehlo-simplify`).

Results are read again for each tap: where a quarter of the products is saved, 15 to 27 % of the time is, where an
eighth is, none; measured with AVX-512, of 32 to 2048 channels.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...compiler.signature import Array
from ...dialects.stablehlo import AddOp, ConvolutionOp, DynamicUpdateSliceOp, PadOp
from ...dialects.stablehlo.canonical.rules import Builder, Replacement, element_type, shape_of
from ...dialects.stablehlo.canonical.windows import convolution_like
from .one_rule import apply_rule

MOST_TAPS = 25
SHARE = 0.75  # of the products that are left, at most
LEAST = 1 << 22  # products that are saved
DEPTH = 32  # channels that a tap sums over: fewer do not pay for reading results again


@dataclass(frozen=True)
class SplitTaps(ModulePass):
    """Rewrites convolutions by constant, finite filters, in one group, where that saves enough."""

    name = "stablehlo-split-taps"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rule(ctx, op, tap_by_tap, ConvolutionOp)


@dataclass(frozen=True)
class _Meeting:
    """The results along a dimension for which a tap meets the image, and the first element that it meets."""

    first: int
    count: int
    start: int


@dataclass(frozen=True)
class _Tap:
    """A tap by its place in the window, and what it meets along each dimension."""

    place: tuple[int, ...]
    meetings: tuple[_Meeting, ...]

    @property
    def results(self) -> int:
        """For how many results it meets the image."""
        return prod(each.count for each in self.meetings)


def share_left(op: ConvolutionOp) -> float:
    """The share of its products that a convolution has tap by tap; 1 where it stays whole."""
    taps = _far_taps(op)
    return sum(tap.results for tap in taps) / (prod(op.window().size) * _results(op)) if taps else 1.0


def tap_by_tap(op: ConvolutionOp, b: Builder) -> Replacement:
    """Constant filters only: 0 times a number is 0, times an infinity it is not."""
    taps = _far_taps(op)
    filters = b.constant_of(op.rhs) if taps else None
    if filters is None or not np.isfinite(filters).all():
        return None
    most, *others = sorted(taps, key=lambda tap: -tap.results)
    total = _among_zeros(op, _product(op, filters, most, b), most, b)
    for tap in others:
        total = _added(op, total, _product(op, filters, tap, b), tap, b)
    return total


def _far_taps(op: ConvolutionOp) -> list[_Tap]:
    """The taps that meet the image for some results, where products by each alone save enough; else none."""
    window, taps, results = op.window(), prod(op.window().size), _results(op)
    ones = (*window.base_dilation, op.feature_group_count.value.data, op.batch_group_count.value.data)
    plain = all(n == 1 for n in ones) and not any(window.reversal) and element_type(op.result) == f32
    far = max(window.dilation, default=1) > 1  # what lies side by side others do better
    depth = shape_of(op.lhs)[op.dims.input_feature_dimension]
    if not (plain and far and taps <= MOST_TAPS and depth >= DEPTH and results):
        return []
    met = _taps(op)
    whole, left = taps * results, sum(tap.results for tap in met)
    products = prod(shape_of(op.result)) // results * depth  # of a tap for a result
    return met if left <= SHARE * whole and (whole - left) * products >= LEAST else []


def _results(op: ConvolutionOp) -> int:
    """The places of a result."""
    return prod(shape_of(op.result)[i] for i in op.dims.output_spatial_dimensions)


def _taps(op: ConvolutionOp) -> list[_Tap]:
    """Those that meet the image for some results."""
    window, d = op.window(), op.dims
    image = [shape_of(op.lhs)[i] for i in d.input_spatial_dimensions]
    results = [shape_of(op.result)[i] for i in d.output_spatial_dimensions]
    along: list[list[tuple[int, _Meeting]]] = []
    for i, (stride, step) in enumerate(zip(window.strides, window.dilation, strict=True)):
        met: list[tuple[int, _Meeting]] = []
        for place in range(window.size[i]):
            at = place * step - window.padding[i][0]  # the element that it meets for the first result
            first, end = max(0, -(at // stride)), min(results[i], (image[i] - 1 - at) // stride + 1)
            if first < end:
                met.append((place, _Meeting(first, end - first, first * stride + at)))
        along.append(met)
    return [_Tap(tuple(place for place, _ in each), tuple(met for _, met in each)) for each in product(*along)]


def _product(op: ConvolutionOp, filters: Array, tap: _Tap, b: Builder) -> SSAValue:
    """What a tap adds to the results for which it meets the image."""
    window, d, shape = op.window(), op.dims, shape_of(op.lhs)
    starts, limits, strides = [0] * len(shape), [*shape], [1] * len(shape)
    kept: list[slice] = [slice(None)] * filters.ndim
    for i, (place, met) in enumerate(zip(tap.place, tap.meetings, strict=True)):
        at = d.input_spatial_dimensions[i]
        starts[at], strides[at] = met.start, window.strides[i]
        limits[at] = met.start + (met.count - 1) * window.strides[i] + 1
        kept[d.kernel_spatial_dimensions[i]] = slice(place, place + 1)
    read = b.slice(op.lhs, starts, limits, strides)
    filter_ = b.constant(np.ascontiguousarray(filters[tuple(kept)]), "tap")
    return b.value(convolution_like(op, read, filter_, window_strides=None, padding=None, rhs_dilation=None))


def _among_zeros(op: ConvolutionOp, part: SSAValue, tap: _Tap, b: Builder) -> SSAValue:
    """The part where it belongs, zeros elsewhere."""
    low, high = [0] * len(shape_of(part)), [0] * len(shape_of(part))
    for at, met in zip(op.dims.output_spatial_dimensions, tap.meetings, strict=True):
        low[at], high[at] = met.first, shape_of(op.result)[at] - met.first - met.count
    if not any((*low, *high)):
        return part
    zero = b.constant(np.zeros((), np.float32), "zero")
    edges = {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": [0] * len(low)}
    return b.value(PadOp(part, zero, **edges))


def _added(op: ConvolutionOp, total: SSAValue, part: SSAValue, tap: _Tap, b: Builder) -> SSAValue:
    """The results so far, with the part added where it belongs."""
    starts, limits = [0] * len(shape_of(part)), [*shape_of(part)]
    for at, met in zip(op.dims.output_spatial_dimensions, tap.meetings, strict=True):
        starts[at], limits[at] = met.first, met.first + met.count
    more = b.value(AddOp(b.slice(total, starts, limits, [1] * len(starts)), part))
    places = [b.constant(np.array(start, np.int32), "start") for start in starts]
    return b.value(DynamicUpdateSliceOp(total, more, places))
