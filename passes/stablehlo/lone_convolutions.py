"""Convolutions that stand alone keep the layout they have, where they are as fast in it.

Channels last pays for two transposes, at the ends of what it spreads over. A convolution that no other one feeds, and
that feeds none, would pay both for itself. With channels before space, as ONNX has them, those are fast that have rows
of an image to take for vectors: depthwise ones, and those without a window, which are products of two matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...compiler.rewriting import Pattern
from ...compiler.weights import WeightStore
from ...dialects.linalg.depthwise import MOST_STRIDE
from ...dialects.stablehlo import BroadcastInDimOp, ConvolutionOp, DotGeneralOp, ReshapeOp, SliceOp, TransposeOp
from ...dialects.stablehlo.attributes import ints
from ...dialects.stablehlo.canonical.arithmetic import ELEMENTWISE
from ...dialects.stablehlo.canonical.rules import Builder, Replacement, RuleTable, defining, element_type, shape_of
from ...dialects.stablehlo.conv_dimensions import ConvDimensions

FEWEST_POINTS = 16  # of an image without which its rows are no vectors


class LoneConvolutions:
    """The rules for those of one module: products in place of some, the others kept from the rules of layout."""

    def __init__(self, module: ModuleOp):
        lone = lone_convolutions(module)
        self._products = {op for op in lone if is_pointwise(op)}
        self._kept = {op for op in lone if is_depthwise(op)}
        self._images: set[Operation] = set()  # reshapes of products to images
        self._table = RuleTable()
        self._table(ConvolutionOp)(self._product)
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
        """The filters as rows times the image as columns."""
        if op not in self._products:
            return None
        image = self._points(op, b)
        (batch, channels, *space), filters = shape_of(image), shape_of(op.rhs)[0]
        several = [batch] if batch > 1 else []
        n = len(several)
        rows = b.reshape(op.rhs, (filters, channels))
        product = DotGeneralOp(
            b.broadcast(rows, (*several, filters, channels), (n, n + 1)),
            b.reshape(image, (*several, channels, prod(space))),
            lhs_batching_dimensions=range(n),
            rhs_batching_dimensions=range(n),
            lhs_contracting_dimensions=(n + 1,),
            rhs_contracting_dimensions=(n,),
            precision_config=op.precision_config,
            element_type=element_type(op.result),
        )
        return self._image(b.value(product), shape_of(op.result), b)

    def _points(self, op: ConvolutionOp, b: Builder) -> SSAValue:
        """The image at those points that are read."""
        shape, strides = shape_of(op.lhs), (1, 1, *op.window().strides)
        if all(n == 1 for n in strides):
            return op.lhs
        return b.value(SliceOp(op.lhs, start_indices=[0] * len(shape), limit_indices=shape, strides=strides))

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
                operands.append(b.broadcast(repeat.operand, shape, [len(shape) - 2 for _ in dims]))
            else:
                operands.append(b.reshape(operand, shape) if shape_of(operand) == wide else operand)
        return self._image(b.like(op, operands, shape), wide, b)


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
    """Whether every channel of a two-dimensional image has a window of its own, with one result."""
    features, channels = shape_of(op.rhs)[:2]
    window, (groups, _) = op.window(), _groups(op)
    plain = all(n == 1 for n in window.base_dilation) and window.strides[-1] <= MOST_STRIDE
    return plain and len(shape_of(op.lhs)) == 4 and channels == 1 and groups == features == shape_of(op.lhs)[1] > 1


def is_pointwise(op: ConvolutionOp) -> bool:
    """Whether filters have no window, and images are large enough for rows of vectors."""
    window = op.window()
    plain = all(n == 1 for n in (*window.size, *window.base_dilation, *_groups(op)))
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
    """Whether a neighbour is a transpose, which channels last might save."""
    neighbours = [op.lhs.owner, *(use.operation for use in op.result.uses)]
    return any(isinstance(neighbour, TransposeOp) for neighbour in neighbours)
