"""Convolutions that stand alone keep the layout they have, where they are as fast in it.

Channels last pays for two transposes, at the ends of what it spreads over. A convolution that no other one feeds, and
that feeds none, would pay both for itself. With channels before space, as ONNX has them, those are fast that have rows
of an image to take for vectors: depthwise ones, those without a window, which are products of two matrices, and those
of few channels (in a group), whose filters stay near while the rows pass by; but where rows leave the last of their
vectors half empty, and filters do not, that is more to compute than the transposes are to move. Where a stride skips
columns, what each column of a window reads is made a channel of its own:

    %y = stablehlo.convolution(%x, %w) ..., window = {stride = [2, 2]} : (1x3x9x9, 4x3x3x3) -> 1x4x4x4
    %p = concatenate of %x[..., 0:7:2], %x[..., 1:8:2], %x[..., 2:9:2]                      -> 1x9x9x4
    %y = stablehlo.convolution(%p, %v) ..., window = {stride = [2, 1]} : (1x9x9x4, 4x9x3x1) -> 1x4x4x4

Where many such columns lie side by side, that is a transpose; where whole patches do, they are the columns of a matrix,
and the convolution a product. Along one dimension it is, too:

    %p = concatenate of %x[..., 0:9], %x[..., 1:10], %x[..., 2:11]                          -> 1x240x9
    %y = stablehlo.dot_general %w, %p : (4x240, 240x9) -> 4x9

A dilated one is a convolution without dilation on every d-th row and column: the transposes, which it pays anyhow, make
images of these, and then 3 x 3 is Winograd's:

    %p = transpose of %x as 1x64x28x2x28x2                                                  -> 4x28x28x64
    %y = stablehlo.convolution(%p, %v), window = {pad = [[1, 1], [1, 1]]} : (4x28x28x64, 3x3x64x64) -> 4x28x28x64

One whose result is turned anyhow, as that of a vision transformer whose patches become rows, is no such convolution.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...compiler.machine import Machine
from ...compiler.rewriting import Pattern
from ...compiler.weights import WeightStore
from ...dialects.linalg.depthwise import MOST_STRIDE
from ...dialects.stablehlo import (
    BroadcastInDimOp,
    ConcatenateOp,
    ConvolutionOp,
    DotGeneralOp,
    PadOp,
    ReshapeOp,
    TransposeOp,
    Window,
)
from ...dialects.stablehlo.attributes import ints
from ...dialects.stablehlo.canonical.arithmetic import ELEMENTWISE
from ...dialects.stablehlo.canonical.rules import Builder, Replacement, RuleTable, defining, element_type, shape_of
from ...dialects.stablehlo.canonical.windows import convolution_like
from ...dialects.stablehlo.conv_dimensions import ConvDimensions, with_channels_last

FEWEST_POINTS = 16  # of an image without which its rows are no vectors
HIGH = 11  # rows of a window, with more of which padding counts
FEWEST_COLUMNS = 12  # of an image that are most of a vector or two
MANY_COLUMNS = 8  # of windows side by side, from which on a transpose is as fast as a copy of each
MOST_CHANNELS = 16  # of a group; filters of more do not stay near, and those of 3 x 3 are better off with Winograd
TURNED = 10  # multiply-adds that turning one number of the result takes as long as; measured on Sapphire Rapids
COPIED = 5  # the same for copying what a column of windows reads
FEW_FILTERS = 4  # too few to be a vector, of which so many numbers in all do stay near
NEAR = 1 << 12


class LoneConvolutions:
    """The rules for those of one module: products in place of some, the others kept from the rules of layout."""

    def __init__(self, module: ModuleOp, machine: Machine):
        lone = lone_convolutions(module)
        self._products = {op for op in lone if is_pointwise(op) and not is_depthwise(op)}
        self._patches = {op for op in lone if is_of_patches(op)} - self._products
        self._lines = {op for op in lone if is_of_lines(op)} - self._products - self._patches
        self._rows = {op for op in lone if is_of_rows(op) and not wastes_rows(op, machine)} - self._patches
        self._dilated = {op for op in lone if is_dilated_evenly(op)} - self._rows
        self._kept: set[Operation] = {op for op in lone if is_depthwise(op) or op in self._rows}
        self._images: set[Operation] = set()  # reshapes of products to images
        self._table = RuleTable()
        self._table(ConvolutionOp)(self._product)
        self._table(ConvolutionOp)(self._of_patches)
        self._table(ConvolutionOp)(self._of_lines)
        self._table(ConvolutionOp)(self._without_skips)
        self._table(ConvolutionOp)(self._without_dilation)
        self._table(*ELEMENTWISE)(self._elementwise)

    def patterns(
        self, weights: WeightStore, op_type: type[Operation], others: tuple[Pattern, ...]
    ) -> tuple[Pattern, ...]:
        """The rules for `op_type`, then `others`, except on what is kept."""
        own = self._table.patterns(weights)(op_type)
        return (*own, *(self._except_kept(other) for other in others)) if op_type is ConvolutionOp else (*own, *others)

    def _except_kept(self, pattern: Pattern) -> Pattern:
        def match(op: Operation, rewriter: PatternRewriter) -> None:
            if op not in self._kept:
                pattern(op, rewriter)

        return match

    def _product(self, op: ConvolutionOp, b: Builder) -> Replacement:
        """The filters as rows times the image as columns, for each image and group."""
        if op not in self._products:
            return None
        return self._product_with(op, op.rhs, self._points(op, b), b)

    def _of_patches(self, op: ConvolutionOp, b: Builder) -> Replacement:
        """The product with patches as columns."""
        if op not in self._patches:
            return None
        (batch, channels, *_), size = shape_of(op.lhs), op.window().size
        n, count = len(size), shape_of(op.rhs)[0]
        apart = [side for pair in zip(shape_of(op.result)[2:], size, strict=True) for side in pair]
        order = (0, 1, *range(3, 2 * n + 2, 2), *range(2, 2 * n + 2, 2))
        columns = b.transpose(b.reshape(op.lhs, (batch, channels, *apart)), order)
        image = b.reshape(columns, (batch, channels * prod(size), *shape_of(op.result)[2:]))
        return self._product_with(op, b.reshape(op.rhs, (count, channels * prod(size), *[1] * n)), image, b)

    def _of_lines(self, op: ConvolutionOp, b: Builder) -> Replacement:
        """The product with what each tap of the windows reads, as channels."""
        if op not in self._lines:
            return None
        window, (filters, channels, taps) = op.window(), shape_of(op.rhs)
        planes = self._planes(self._padded(op, b), shape_of(op.result)[-1], window, False, b)
        rows = b.reshape(b.transpose(op.rhs, (0, 2, 1)), (filters, taps * channels, 1))
        return self._product_with(op, rows, planes, b)

    def _product_with(self, op: ConvolutionOp, filters_of: SSAValue, image: SSAValue, b: Builder) -> Replacement:
        (batch, channels, *space), filters, (groups, _) = shape_of(image), shape_of(filters_of)[0], _groups(op)
        several = [count for count in (batch, groups) if count > 1]
        n = len(several)
        split = [groups] if groups > 1 else []
        rows = b.reshape(filters_of, (*split, filters // groups, channels // groups))
        product = DotGeneralOp(
            b.broadcast(rows, (*several, *shape_of(rows)[-2:]), tuple(range(n - len(split), n + 2))),
            b.reshape(image, (*several, channels // groups, prod(space))),
            lhs_batching_dimensions=range(n),
            rhs_batching_dimensions=range(n),
            lhs_contracting_dimensions=(n + 1,),
            rhs_contracting_dimensions=(n,),
            precision_config=op.precision_config,
            element_type=element_type(op.result),
        )
        return self._image(b.value(product), shape_of(op.result), b)

    def _without_skips(self, op: ConvolutionOp, b: Builder) -> Replacement:
        """What each column of a window reads as a channel of its own."""
        *steps, stride = op.window().strides
        if op not in self._rows or stride == 1:
            return None
        window = op.window()
        *taps, columns = window.size
        *dilations, dilation = window.dilation
        padded = self._padded(op, b)
        batch, channels, *space = shape_of(padded)
        width = shape_of(op.result)[-1]
        filters, inner = shape_of(op.rhs)[:2]
        order = [0, len(space) + 1, 1, *range(2, len(space) + 1)]
        together = _groups(op)[0] > 1  # the channels of a group
        if together:
            order[1:3] = order[2:0:-1]
        beside = stride == columns and dilation == 1 and space[-1] == width * stride
        if beside and columns >= MANY_COLUMNS:
            split = b.reshape(padded, (batch, channels, *space[:-1], width, columns))
            places = [1, len(space) + 2] if together else [len(space) + 2, 1]
            joined = b.transpose(split, (0, *places, *range(2, len(space) + 2)))
        else:
            joined = self._planes(padded, width, window, together, b)
        new = convolution_like(
            op,
            b.reshape(joined, (batch, channels * columns, *space[:-1], width)),
            b.reshape(b.transpose(op.rhs, order), (filters, inner * columns, *taps, 1)),
            window_strides=(*steps, 1),
            rhs_dilation=(*dilations, 1),
            window_reversal=None,
            padding=[(0, 0)] * len(space),
        )
        self._kept.add(new)
        return b.value(new)

    def _padded(self, op: ConvolutionOp, b: Builder) -> SSAValue:
        """The image with the zeros around it."""
        low, high = zip(*op.window().padding, strict=True)
        if not any((*low, *high)):
            return op.lhs
        return b.value(
            PadOp(
                op.lhs,
                b.constant(np.zeros((), np.float32), "zero"),
                edge_padding_low=(0, 0, *low),
                edge_padding_high=(0, 0, *high),
                interior_padding=(0,) * (len(low) + 2),
            )
        )

    def _planes(self, image: SSAValue, width: int, window: Window, together: bool, b: Builder) -> SSAValue:
        """What each column of a window reads, side by side; where channels stay together, of one after the other."""
        (batch, channels, *space), stride, dilation = shape_of(image), window.strides[-1], window.dilation[-1]
        planes: list[SSAValue] = []
        for column in range(window.size[-1]):
            start = (*[0] * (len(space) + 1), column * dilation)
            limit = (batch, channels, *space[:-1], column * dilation + (width - 1) * stride + 1)
            planes.append(b.slice(image, start, limit, (*[1] * len(start[1:]), stride)))
        if together:
            planes = [b.reshape(plane, (batch, channels, 1, *space[:-1], width)) for plane in planes]
        return b.value(ConcatenateOp(planes, dimension=2 if together else 1))

    def _without_dilation(self, op: ConvolutionOp, b: Builder) -> Replacement:
        """An image for each row and column among those that a dilated window skips, channels last."""
        if op not in self._dilated:
            return None
        window, (batch, channels, height, width) = op.window(), shape_of(op.lhs)
        down, across = window.dilation
        parts = b.reshape(op.lhs, (batch, channels, height // down, down, width // across, across))
        images = batch * down * across
        new = convolution_like(
            op,
            b.reshape(b.transpose(parts, (0, 3, 5, 2, 4, 1)), (images, height // down, width // across, channels)),
            b.transpose(op.rhs, (2, 3, 1, 0)),
            dimension_numbers=with_channels_last(2),
            padding=[(low // d, high // d) for (low, high), d in zip(window.padding, window.dilation, strict=True)],
            rhs_dilation=None,
        )
        _, filters, *space = shape_of(op.result)
        apart = b.reshape(b.value(new), (batch, down, across, space[0] // down, space[1] // across, filters))
        return b.reshape(b.transpose(apart, (0, 5, 3, 1, 4, 2)), shape_of(op.result))

    def _points(self, op: ConvolutionOp, b: Builder) -> SSAValue:
        """The image at those points that are read."""
        shape, strides = shape_of(op.lhs), (1, 1, *op.window().strides)
        return b.slice(op.lhs, [0] * len(shape), shape, strides)

    def _image(self, columns: SSAValue, shape: Sequence[int], b: Builder) -> SSAValue:
        image = ReshapeOp(columns, shape)
        self._images.add(image)
        return b.value(image)

    def _elementwise(self, op: Operation, b: Builder) -> Replacement:
        """What is done to an image made of a product is done to the product."""
        image = next((v.owner for v in op.operands if v.owner in self._images), None)
        if not isinstance(image, ReshapeOp):
            return None
        shape, wide = shape_of(image.operand), shape_of(op.results[0])
        operands: list[SSAValue] = []
        for operand in op.operands:
            repeat = defining(operand, BroadcastInDimOp)
            if repeat is not None and set(dims := ints(repeat.broadcast_dimensions)) <= {1}:
                among = shape[len(shape) - 1 - _channel_dimensions(shape, wide) : -1] if dims else ()
                at = [len(shape) - 1 - len(among) + i for i in range(len(among))]
                operands.append(b.broadcast(b.reshape(repeat.operand, among), shape, at))
            else:
                operands.append(b.reshape(operand, shape) if shape_of(operand) == wide else operand)
        return self._image(b.like(op, operands, shape), wide, b)


def _channel_dimensions(product: Sequence[int], image: Sequence[int]) -> int:
    """How many dimensions of a product are the channels of the image: those in a group, and the group."""
    return 1 if product[-2] == image[1] else 2


def lone_convolutions(module: ModuleOp) -> set[ConvolutionOp]:
    """The convolutions of float32 images, channels first, whose function holds none before or after them."""
    found: set[ConvolutionOp] = set()
    for function in module.ops:
        if isinstance(function, FuncOp):
            for block in function.body.blocks:
                found.update(op for op in _lone(block) if is_channels_first(op) and not _between_transposes(op))
    return found


def is_channels_first(op: ConvolutionOp) -> bool:
    """Whether all operands are laid out as ONNX has them, and are of float32."""
    n = len(op.dims.input_spatial_dimensions)
    space = tuple(range(2, n + 2))
    first = ConvDimensions(0, 1, space, 1, 0, space, 0, 1, space)
    return op.dims == first and all(element_type(v) == f32 for v in (op.lhs, op.rhs, op.result))


def is_depthwise(op: ConvolutionOp) -> bool:
    """Whether every channel of a two-dimensional image has a window of its own, with one result.

    Not windows as high as half of the image: with channels last, their rows that meet padding are left out.
    """
    features, channels = shape_of(op.rhs)[:2]
    window, (groups, _) = op.window(), _groups(op)
    plain = all(n == 1 for n in window.base_dilation) and window.strides[-1] <= MOST_STRIDE
    if not plain or len(shape_of(op.lhs)) != 4 or channels != 1 or not groups == features == shape_of(op.lhs)[1] > 1:
        return False
    return window.size[0] <= HIGH or 2 * window.size[0] < shape_of(op.lhs)[2]


def is_of_rows(op: ConvolutionOp) -> bool:
    """Whether a two-dimensional image has few channels in a group, and rows that are vectors."""
    window, shape = op.window(), shape_of(op.result)
    plain = all(n == 1 for n in window.base_dilation) and not any(window.reversal) and _groups(op)[1] == 1
    filters, channels = shape_of(op.rhs)[:2]
    near = channels <= MOST_CHANNELS or (filters <= FEW_FILTERS and prod(shape_of(op.rhs)) <= NEAR)
    alone = filters == 1 and channels <= MOST_CHANNELS
    small = near and prod(window.size) > 1 and (filters > _groups(op)[0] or alone)
    padded = window.strides[-1] == 1 or all(side >= 0 for pair in window.padding for side in pair)
    return plain and small and padded and len(shape) == 4 and shape[-1] >= FEWEST_COLUMNS and not is_depthwise(op)


def wastes_rows(op: ConvolutionOp, machine: Machine) -> bool:
    """Whether rows fill so much less of their vectors than filters do that two transposes are less than that.

    11 x 11 windows that go 4 further, from 3 channels to 64 on 55 x 55 points, take 0.68 ms so instead of 0.93, 8 x 8
    from 4 to 32 on 20 x 20 29 us instead of 57; measured on Sapphire Rapids.
    """
    if machine.gpu or max(_groups(op)) > 1:
        return False
    window, (filters, channels, *taps), width = op.window(), shape_of(op.rhs), shape_of(op.result)[-1]
    lanes = machine.lanes(4)
    wasted = prod(taps) * channels * (_share(width, lanes) - _share(filters, lanes))
    *steps, across = window.strides
    planes = channels * taps[-1] * prod(steps) / filters if across > 1 else 0
    return wasted + planes * COPIED >= TURNED


def _share(size: int, lanes: int) -> float:
    """The lanes of the vectors that `size` numbers take, for each of them."""
    return -(-size // lanes) * lanes / max(1, size)


def is_of_patches(op: ConvolutionOp) -> bool:
    """Whether windows of many columns lie side by side and cover the image."""
    window, shape = op.window(), shape_of(op.result)
    plain = all(n == 1 for n in (*window.base_dilation, *window.dilation, *_groups(op))) and not any(window.reversal)
    beside = window.strides == window.size and not any(any(pair) for pair in window.padding)
    whole = all(n == m * k for n, m, k in zip(shape_of(op.lhs)[2:], shape[2:], window.size, strict=True))
    return plain and beside and whole and window.size[-1] >= MANY_COLUMNS and prod(shape[2:]) >= FEWEST_POINTS


def is_of_lines(op: ConvolutionOp) -> bool:
    """Whether windows along one dimension are less to copy than transposes before and after would be."""
    window, (*_, width) = op.window(), shape_of(op.result)
    plain = all(n == 1 for n in (*window.base_dilation, *_groups(op))) and not any(window.reversal)
    if not plain or len(shape_of(op.result)) != 3 or width < FEWEST_POINTS:
        return False
    (filters, channels, taps), read = shape_of(op.rhs), shape_of(op.lhs)[-1]
    padded = all(side >= 0 for pair in window.padding for side in pair)
    return padded and taps * channels * width <= channels * read + filters * width


def is_dilated_evenly(op: ConvolutionOp) -> bool:
    """Whether a 3 x 3 window takes every d-th row and column, and d divides the image and the zeros around it."""
    window, shape = op.window(), shape_of(op.lhs)
    others = (*window.base_dilation, *window.strides, *_groups(op))
    plain = len(shape) == 4 and all(n == 1 for n in others) and not any(window.reversal) and window.size == (3, 3)
    sizes = zip(shape[2:], window.padding, window.dilation, strict=True)
    even = plain and all(n % d == low % d == high % d == 0 and low >= 0 <= high for n, (low, high), d in sizes)
    return even and any(d > 1 for d in window.dilation) and 0 not in shape_of(op.result)


def is_pointwise(op: ConvolutionOp) -> bool:
    """Whether filters have no window, and images are large enough for rows of vectors."""
    window = op.window()
    plain = all(n == 1 for n in (*window.size, *window.base_dilation, _groups(op)[1]))
    return plain and not any(any(pair) for pair in window.padding) and prod(shape_of(op.result)[2:]) >= FEWEST_POINTS


def _groups(op: ConvolutionOp) -> tuple[int, int]:
    return op.feature_group_count.value.data, op.batch_group_count.value.data


def _lone(block: Block) -> list[ConvolutionOp]:
    """The convolutions of a block from which no way leads to another, whatever is on the way."""
    ops = list(block.ops)
    holding = [op for op in ops if any(isinstance(inner, ConvolutionOp) for inner in op.walk())]
    fed: set[Operation] = set()  # from a convolution
    feeding: set[Operation] = set()
    for op in ops:
        if any(v.owner in fed or v.owner in holding for inner in op.walk() for v in inner.operands):
            fed.add(op)
    for op in reversed(ops):
        if op in fed and (op in feeding or op in holding):
            feeding.update(v.owner for inner in op.walk() for v in inner.operands if isinstance(v.owner, Operation))
    return [op for op in holding if isinstance(op, ConvolutionOp) and op not in fed and op not in feeding]


def _between_transposes(op: ConvolutionOp) -> bool:
    """Whether a transpose is near, which channels last might save: next to it, or behind what transposes move past."""
    source = op.lhs
    while (reshape := defining(source, ReshapeOp)) is not None:
        source = reshape.operand
    near: dict[Operation, None] = {use.operation: None for use in op.result.uses}
    for reader in (left := list(near)):
        if isinstance(reader, (ReshapeOp, *ELEMENTWISE)):
            later = [use.operation for use in reader.results[0].uses if use.operation not in near]
            near |= dict.fromkeys(later)
            left += dict.fromkeys(later)
    return isinstance(source.owner, TransposeOp) or any(isinstance(reader, TransposeOp) for reader in near)
