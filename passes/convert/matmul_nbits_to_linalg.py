"""convert-matmul-nbits-to-linalg: products with weights of a few bits take these packed, in panels of a vector's lanes.

before: %y = stablehlo.composite "lamina.matmul_nbits" %x, %packed, %scales {composite_attributes = {bits = 4, ...}}
            : (tensor<3x256xf32>, tensor<24x8x16xui8>, tensor<24x8xf32>) -> tensor<3x24xf32>
after:  %p = linalg.pack %packed ... inner_tiles = [16, 4] : ... -> tensor<2x32x16x4xi8>
        %s = linalg.pack %scales ... inner_tiles = [16] : ... -> tensor<2x8x16xf32>
        ... each block of %x as bytes and a scale, with accuracy_level = 4; the sum of each block times -8
        %y = linalg_ext.matmul_nbits(%bytes, %p, %s, %sums, %x_scales, %empty) {bits = 4}

Rows of groups that have a matrix each ("lamina.grouped_matmul_nbits") become a loop over tiles of them, which cuts the
tile's own panels out of those of all groups.

Weights less their zero points are not formed: Σ x (w - z) = Σ x w - z Σ x. Zero points of columns, where they differ
from 2^(bits - 1), are a product of their own, of the sums of the blocks. Blocks of more than 128 elements become
several with one scale. Decompositions that nobody refers to go. With --precision bf16, rows that fill tiles of AMX are
rounded to bfloat16, as are elements times scales.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    Signedness,
    TensorType,
    bf16,
    f32,
    i8,
    i32,
)
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.diagnostics import LaminaError
from ...compiler.dtypes import dense_attribute, dtype_of
from ...compiler.machine import Machine
from ...dialects import stablehlo as hlo
from ...dialects.amx.types import ROW_BYTES, ROWS
from ...dialects.linalg import PackOp
from ...dialects.linalg_ext import MatmulNBitsOp
from ...dialects.stablehlo.composites import GROUPED_MATMUL_NBITS, MATMUL_NBITS
from ...dialects.tensor import EmptyOp
from ..stablehlo.elements import Elements, before, choose
from ..stablehlo.matrices import cut, filled
from ..stablehlo.ragged_rows import group_by_group
from .composite_replacement import integer_said, replace_composites

BYTE = IntegerType(8, Signedness.UNSIGNED)
LONGEST = 128  # elements of a block; longer ones come in parts


@dataclass(frozen=True)
class ConvertMatmulNBitsToLinalg(ModulePass):
    """Lowers the composites; `lanes` overrides the width of a panel, `precision` what the context asks for."""

    name = "convert-matmul-nbits-to-linalg"

    lanes: int | None = None
    precision: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        ours = lamina_context(ctx)
        lanes = self.lanes or ours.machine.lanes(4)
        narrow = (self.precision or ours.precision) == "bf16"
        replace_composites(op, MATMUL_NBITS, lambda composite: [_plain(composite, lanes, ours.machine, narrow).value])
        replace_composites(
            op, GROUPED_MATMUL_NBITS, lambda composite: [_grouped(composite, lanes, ours.machine, narrow).value]
        )


def _plain(op: hlo.CompositeOp, lanes: int, machine: Machine, narrow: bool) -> Elements:
    """One matrix for all rows."""
    x, *matrix = (Elements(before(op), value) for value in op.inputs)
    bits = _checked_bits(op, x, matrix)
    return _Weights.of(matrix, bits, lanes).times(x, integer_said(op, "accuracy_level") == 4, machine, narrow)


def _grouped(op: hlo.CompositeOp, lanes: int, machine: Machine, narrow: bool) -> Elements:
    """Tiles of rows, each by the matrix of its group: a slice of what all of them become."""
    x, sizes, *matrices = (Elements(before(op), value) for value in op.inputs)
    bits, rounded = _checked_bits(op, x, matrices, sizes), integer_said(op, "accuracy_level") == 4
    weights = _Weights.of(matrices, bits, lanes)
    if not (x.shape[0] and sizes.shape[0]):
        return filled(x, (x.shape[0], weights.columns), f32, 0)

    def product(rows: Elements, group: Elements) -> Elements:
        return weights.of_group(group).times(rows, rounded, machine, narrow)

    return group_by_group(x, sizes, (weights.columns, f32), product)


@dataclass(frozen=True)
class _Weights:
    """A matrix, or a stack of such, as `linalg_ext.matmul_nbits` takes it: panels of columns, the scales of blocks.

    `off` [N, blocks] is what zero points are off the middle, times scales. Blocks are of `size` elements.
    """

    bits: int
    columns: int
    blocks: int
    size: int
    panels: Elements
    scales: Elements
    off: Elements | None

    @staticmethod
    def of(matrix: Sequence[Elements], bits: int, lanes: int) -> _Weights:
        """From bytes [..., N, blocks, width], scales and zero points [..., N, blocks]."""
        packed, scales, *zeros = matrix
        *stack, columns, blocks, width = packed.shape
        scales = scales.convert(f32)
        off = (float(1 << (bits - 1)) - zeros[0].convert(f32)) * scales if zeros else None
        words = packed.of(hlo.BitcastConvertOp(packed.value, i8)).reshape(*stack, columns, blocks * width)
        panels, factors = _packed(words, (lanes, 4)), _packed(scales, (lanes,))
        return _Weights(bits, columns, blocks, width * 8 // bits, panels, factors, off)

    def of_group(self, group: Elements) -> _Weights:
        """One matrix of a stack."""

        def own(each: Elements) -> Elements:
            return cut(each.within(group.insert), 0, group)

        off = None if self.off is None else own(self.off)
        return replace(self, panels=own(self.panels), scales=own(self.scales), off=off)

    def times(self, x: Elements, rounded: bool, machine: Machine, narrow: bool) -> Elements:
        """Rows times the matrix; `rounded` to bytes a block first, or `narrow` to bfloat16 where that fills tiles."""
        (rows, depth), blocks, size, bits = x.shape, self.blocks, self.size, self.bits
        x = _padded(x, 1, blocks * size - depth)
        x = _by_blocks(x.reshape(rows, blocks, size * bits // 32, 4, 8 // bits))
        x_scales, sum_type, scales = None, f32, self.scales
        if rounded:
            x, x_scales = _as_bytes(x)
            sum_type = i32
        whole, whole_scales = x, x_scales
        part = next(d for d in range(min(LONGEST, size), 0, -1) if size % d == 0 and d * bits % 32 == 0)
        if part != size:  # parts of a block have its scale each, and fit into registers and caches
            count = size // part
            x = x.of(hlo.TransposeOp(x.reshape(blocks, rows, count, part).value, permutation=[0, 2, 1, 3]))
            x = x.reshape(blocks * count, rows, part)
            scales = _repeated(scales, count, 1)
            x_scales = None if x_scales is None else _repeated(x_scales, count, 0)
        total = _sum(x.convert(sum_type))
        narrow = narrow and not rounded and fills_tiles(machine, scales.shape[-1], rows, part)
        out = EmptyOp([], TensorType(f32, [rows, self.columns]))
        x.insert(out)
        product = MatmulNBitsOp.of(
            [(x.convert(bf16) if narrow else x).value, self.panels.value, scales.value],
            None if narrow else (total * -(1 << (bits - 1))).value,
            None if x_scales is None else x_scales.value,
            out.tensor,
            bits,
        )
        result = x.of(product)
        if self.off is None:
            return result
        total = (total if part == size else _sum(whole.convert(sum_type))).convert(f32)
        sums = total if whole_scales is None else total * whole_scales
        off = hlo.DotGeneralOp(
            sums.value, self.off.value, lhs_contracting_dimensions=[0], rhs_contracting_dimensions=[1]
        )
        return result + x.of(off)


def fills_tiles(machine: Machine, lanes: int, rows: int, block: int) -> bool:
    """Whether rows fill a tile of bfloat16, whose columns are a panel's and whose rows lie within a block."""
    tiles = machine.has_tiles("amx-bf16") and "avx512bf16" in machine.features
    return tiles and lanes == ROWS and rows >= ROWS and block % (ROW_BYTES // 2) == 0


def _checked_bits(op: hlo.CompositeOp, x: Elements, matrix: Sequence[Elements], sizes: Elements | None = None) -> int:
    """How many an element has. Raises LaminaError where operands and result are not as the composites have them."""
    bits, name = integer_said(op, "bits"), op.composite_name.data
    types = [cast("TensorType[Attribute]", value.type) for value in (*op.inputs, *op.results)]
    stack = [] if sizes is None else sizes.shape[:1]
    ranks = [len(stack) + 3, *[len(stack) + 2] * (len(matrix) - 1)]
    if bits in (2, 4, 8) and len(matrix) in (2, 3) and len(x.shape) == 2 and ranks == [len(m.shape) for m in matrix]:
        (rows, depth), (columns, blocks, width) = x.shape, matrix[0].shape[-3:]
        factor = matrix[1].element_type
        expected = [TensorType(f32, (rows, depth)), *([] if sizes is None else [TensorType(i32, stack)])]
        expected += [TensorType(BYTE, (*stack, columns, blocks, width))]
        expected += [TensorType(factor, (*stack, columns, blocks))] * (len(matrix) - 1)
        expected.append(TensorType(f32, (rows, columns)))
        whole = width > 0 and width % 4 == 0 and -(-depth * bits // (8 * width)) == blocks
        if types == expected and isinstance(factor, AnyFloat) and whole:
            return bits
    told = ", ".join(map(str, types))
    wanted = "rows of f32, ui8 [N, blocks, bytes], scales and zero points [N, blocks], a result of f32"
    if sizes is not None:
        wanted = f"{wanted.replace('[N', '[G, N')}, i32 [G] after the rows"
    raise LaminaError(f'composite "{name}" of {bits} bits with {told}; expected {wanted}', where=op)


def _as_bytes(x: Elements) -> tuple[Elements, Elements]:
    """Blocks [b, m, k] as bytes and what they are times, [b, m]: NaN where a block is not finite."""
    low = x.of(hlo.ConstantOp(_scalar(-np.inf)))
    largest = x.of(hlo.ReduceOp([x.abs().value], [low.value], dimensions=[2], body="maximum"))
    scale = largest / 127.0
    normal = float(np.finfo(np.float32).tiny)
    inverse = choose(scale >= normal, 1.0 / scale, 0.0).broadcast(x.shape, (0, 1))
    whole = x.of(hlo.RoundNearestEvenOp((x * inverse).value))
    finite = x.of(hlo.IsFiniteOp(scale.value))
    return whole.convert(i8), choose(finite, scale, float("nan"))


def _scalar(number: float) -> Any:
    return dense_attribute(np.array(number, np.float32))


def _sum(x: Elements) -> Elements:
    """Over the last of three dimensions."""
    zero = dense_attribute(np.zeros((), np.int32 if isinstance(x.element_type, IntegerType) else np.float32))
    return x.of(hlo.ReduceOp([x.value], [x.of(hlo.ConstantOp(zero)).value], dimensions=[2], body="add"))


def _by_blocks(x: Elements) -> Elements:
    """Rows of blocks as blocks of rows, whose words have those elements together that have one place in their bytes."""
    rows, blocks, words, four, pieces = x.shape
    turned = x.of(hlo.TransposeOp(x.value, permutation=[1, 0, 2, 4, 3]))
    return turned.reshape(blocks, rows, words * four * pieces)


def _padded(x: Elements, dimension: int, more: int) -> Elements:
    """With `more` zeros at the end of a dimension."""
    if not more:
        return x
    zero = x.of(hlo.ConstantOp(dense_attribute(np.zeros((), dtype_of(x.element_type)))))
    none = [0] * len(x.shape)
    high = [more if i == dimension else 0 for i in range(len(x.shape))]
    return x.of(hlo.PadOp(x.value, zero.value, edge_padding_low=none, edge_padding_high=high, interior_padding=none))


def _repeated(x: Elements, count: int, dimension: int) -> Elements:
    """Each place of a dimension so many times in a row."""
    before, after = x.shape[: dimension + 1], x.shape[dimension + 1 :]
    kept = tuple(d for d in range(len(x.shape) + 1) if d != dimension + 1)
    return x.broadcast((*before, count, *after), kept).reshape(*before[:-1], before[-1] * count, *after)


def _packed(x: Elements, tiles: Sequence[int]) -> Elements:
    """The last two dimensions in tiles of the first of them, the last ones filled up with zeros."""
    lead = len(x.shape) - 2
    outer = [*x.shape[:lead], *(-(-size // tile) for size, tile in zip(x.shape[lead:], (*tiles, 1), strict=False))]
    empty = EmptyOp([], TensorType(x.element_type, [*outer, *tiles]))
    number = FloatAttr(0.0, f32) if x.element_type == f32 else IntegerAttr(0, i8)
    zero = arith.ConstantOp(number)
    places = [lead + i for i in range(len(tiles))]
    pack = PackOp(x.value, empty.tensor, places, list(tiles), padding_value=zero.result)
    for op in (empty, zero, pack):
        x.insert(op)
    return Elements(x.insert, pack.results[0])
