"""convert-matmul-nbits-to-linalg: products with weights of a few bits take these packed, in panels of a vector's lanes.

before: %y = stablehlo.composite "lamina.matmul_nbits" %x, %packed, %scales {composite_attributes = {bits = 4, ...}}
            : (tensor<3x256xf32>, tensor<24x8x16xui8>, tensor<24x8xf32>) -> tensor<3x24xf32>
after:  %p = linalg.pack %packed ... inner_tiles = [16, 4] : ... -> tensor<2x32x16x4xi8>
        %s = linalg.pack %scales ... inner_tiles = [16] : ... -> tensor<2x8x16xf32>
        ... each block of %x as bytes and a scale, with accuracy_level = 4; the sum of each block times -8
        %y = linalg_ext.matmul_nbits(%bytes, %p, %s, %sums, %x_scales, %empty) {bits = 4}

Weights less their zero points are not formed: Σ x (w - z) = Σ x w - z Σ x. Zero points of columns, where they differ
from 2^(bits - 1), are a product of their own, of the sums of the blocks. Blocks of more than 128 elements become
several with one scale. Decompositions that nobody refers to go. With --precision bf16, rows that fill tiles of AMX are
rounded to bfloat16, as are elements times scales.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.diagnostics import LaminaError
from ...compiler.dtypes import dense_attribute, dtype_of
from ...compiler.machine import Machine
from ...dialects import stablehlo as hlo
from ...dialects.amx.types import ROW_BYTES, ROWS
from ...dialects.linalg import PackOp
from ...dialects.linalg_ext import MatmulNBitsOp
from ...dialects.stablehlo.composites import MATMUL_NBITS
from ...dialects.tensor import EmptyOp
from ..stablehlo.elements import Elements, before, choose
from .composite_replacement import integer_said, replace_composites

BYTE = IntegerType(8, Signedness.UNSIGNED)
LONGEST = 128  # elements of a block; longer ones come in parts


@dataclass(frozen=True)
class ConvertMatmulNBitsToLinalg(ModulePass):
    """Lowers the composite; `lanes` overrides the width of a panel, `precision` what the context asks for."""

    name = "convert-matmul-nbits-to-linalg"

    lanes: int | None = None
    precision: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        ours = lamina_context(ctx)
        lanes = self.lanes or ours.machine.lanes(4)
        narrow = (self.precision or ours.precision) == "bf16"
        replace_composites(op, MATMUL_NBITS, lambda composite: [_lowered(composite, lanes, ours.machine, narrow).value])


def _lowered(op: hlo.CompositeOp, lanes: int, machine: Machine, narrow: bool) -> Elements:
    bits, rounded = integer_said(op, "bits"), integer_said(op, "accuracy_level") == 4
    _check(op, bits)
    insert = before(op)
    x, packed, scales, *zeros = (Elements(insert, value) for value in op.inputs)
    (rows, depth), (columns, blocks, width) = x.shape, packed.shape
    block = width * 8 // bits
    x = _by_blocks(_padded(x, 1, blocks * block - depth).reshape(rows, blocks, block * bits // 32, 4, 8 // bits))
    x_scales, sum_type = None, f32
    if rounded:
        x, x_scales = _as_bytes(x)
        sum_type = i32
    scales, zeros = scales.convert(f32), [z.convert(f32) for z in zeros]
    size = next(d for d in range(min(LONGEST, block), 0, -1) if block % d == 0 and d * bits % 32 == 0)
    if size != block:  # parts of a block have its scale each, and fit into registers and caches
        parts = block // size
        x = x.of(hlo.TransposeOp(x.reshape(blocks, rows, parts, size).value, permutation=[0, 2, 1, 3]))
        x = x.reshape(blocks * parts, rows, size)
        scales, zeros = _repeated(scales, parts, 1), [_repeated(z, parts, 1) for z in zeros]
        x_scales = None if x_scales is None else _repeated(x_scales, parts, 0)
    total = _sum(x.convert(sum_type))
    narrow = narrow and not rounded and fills_tiles(machine, lanes, rows, size)
    rhs = packed.of(hlo.BitcastConvertOp(packed.value, i8)).reshape(columns, blocks * width)
    middle = 1 << (bits - 1)
    out = EmptyOp([], TensorType(f32, [rows, columns]))
    insert(out)
    product = MatmulNBitsOp.of(
        [(x.convert(bf16) if narrow else x).value, _packed(rhs, (lanes, 4)), _packed(scales, (lanes,))],
        None if narrow else (total * -middle).value,
        None if x_scales is None else x_scales.value,
        out.tensor,
        bits,
    )
    result = x.of(product)
    if not zeros:
        return result
    total = total.convert(f32)
    off = (float(middle) - zeros[0]) * scales
    sums = total if x_scales is None else total * x_scales
    by_sums = hlo.DotGeneralOp(sums.value, off.value, lhs_contracting_dimensions=[0], rhs_contracting_dimensions=[1])
    return result + x.of(by_sums)


def fills_tiles(machine: Machine, lanes: int, rows: int, block: int) -> bool:
    """Whether rows fill a tile of bfloat16, whose columns are a panel's and whose rows lie within a block."""
    tiles = machine.has_tiles("amx-bf16") and "avx512bf16" in machine.features
    return tiles and lanes == ROWS and rows >= ROWS and block % (ROW_BYTES // 2) == 0


def _check(op: hlo.CompositeOp, bits: int) -> None:
    """Raises LaminaError where operands and result are not as MATMUL_NBITS has them."""
    types = [cast("TensorType[Attribute]", value.type) for value in (*op.inputs, *op.results)]
    if bits in (2, 4, 8) and [len(t.get_shape()) for t in types] in ([2, 3, 2, 2], [2, 3, 2, 2, 2]):
        (rows, depth), (columns, blocks, width) = types[0].get_shape(), types[1].get_shape()
        factor = types[2].element_type
        expected = [TensorType(f32, (rows, depth)), TensorType(BYTE, (columns, blocks, width))]
        expected += [TensorType(factor, (columns, blocks))] * (len(op.inputs) - 2)
        expected.append(TensorType(f32, (rows, columns)))
        words = width > 0 and width % 4 == 0
        if types == expected and isinstance(factor, AnyFloat) and words and -(-depth * bits // (8 * width)) == blocks:
            return
    told = ", ".join(map(str, types))
    wanted = "rows of f32, ui8 [N, blocks, bytes], scales and zero points [N, blocks], a result of f32"
    raise LaminaError(f'composite "{MATMUL_NBITS}" of {bits} bits with {told}; expected {wanted}', where=op)


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
    """Each element of a dimension of two so many times in a row."""
    rows, columns = x.shape
    wide = (rows, columns, count) if dimension else (rows, count, columns)
    every = x.broadcast(wide, (0, 1) if dimension else (0, 2))
    return every.reshape(*((rows, columns * count) if dimension else (rows * count, columns)))


def _packed(x: Elements, tiles: Sequence[int]) -> SSAValue:
    """In tiles of the first dimensions, the last ones filled up with zeros."""
    outer = [-(-size // tile) for size, tile in zip(x.shape, (*tiles, 1), strict=False)]
    empty = EmptyOp([], TensorType(x.element_type, [*outer, *tiles]))
    number = FloatAttr(0.0, f32) if x.element_type == f32 else IntegerAttr(0, i8)
    zero = arith.ConstantOp(number)
    pack = PackOp(x.value, empty.tensor, list(range(len(tiles))), list(tiles), padding_value=zero.result)
    for op in (empty, zero, pack):
        x.insert(op)
    return pack.results[0]
