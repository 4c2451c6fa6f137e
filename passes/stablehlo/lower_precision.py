"""stablehlo-lower-precision: contractions of f32 take operands rounded to bfloat16, where that was asked for.

before: %y = stablehlo.dot_general %x, %w ... : (tensor<1x64xf32>, tensor<64x8xf32>) -> tensor<1x8xf32>
after, on machines that multiply pairs of bfloat16:
        %a = stablehlo.convert %x : (tensor<1x64xf32>) -> tensor<1x64xbf16>
        %y = stablehlo.dot_general %a, %v ... : (tensor<1x64xbf16>, tensor<64x8xbf16>) -> tensor<1x8xf32>
after, on machines that have tiles of it (AMX), if tiles multiply these, and pairs where few rows are; an image of an
odd number of channels, which are last, has one more, of zeros, and a sum of 197, of which no part is a tile, 13 more:
vectors would take pairs no faster than single numbers
after, elsewhere, where few rows make reading the weights what takes time: those known at compile time are kept in
bfloat16 and widened where they are read
        %v = stablehlo.constant ... : tensor<64x8xbf16>
        %w = stablehlo.convert %v : (tensor<64x8xbf16>) -> tensor<64x8xf32>
        %y = stablehlo.dot_general %x, %w ... : (tensor<1x64xf32>, tensor<64x8xf32>) -> tensor<1x8xf32>

Sums are f32. Rounding an operand to nearest even changes it by at most 2^-9 of itself; docs/precision.md has what
becomes of whole networks. Weights that do not stay finite keep their contraction in f32.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import ml_dtypes
import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import BFloat16Type, ModuleOp, UnitAttr, f32
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.diagnostics import LaminaError
from ...compiler.dtypes import dtype_of
from ...compiler.rewriting import GreedyRewriter
from ...dialects.amx.types import FEWEST_ROWS, ROW_BYTES, depth_of, rows_of
from ...dialects.arith.marks import FLUSHES
from ...dialects.stablehlo import ConvertOp, ConvolutionOp, DotGeneralOp, PadOp, Window
from ...dialects.stablehlo.canonical.contraction import dot_like
from ...dialects.stablehlo.canonical.rules import Builder, Replacement, RuleTable, element_type, shape_of
from ...dialects.stablehlo.canonical.windows import convolution_like

PRECISIONS = ("f32", "bf16", "tf32")
PAIR = 2  # numbers of bfloat16 in four bytes
WORTH_FILLING = 32  # of what is summed, rows and columns: below, one more pass over operands takes what is won
FUSED = 2 << 20  # bytes of scores in float32, beyond which attention is one kernel: L2 of processors that have tiles
FEW_ROWS = 8  # so many rows are multiplied while the weights come from memory
bf16 = BFloat16Type()


@dataclass(frozen=True)
class LowerPrecision(ModulePass):
    """Rounds operands of contractions; `to` (f32, bf16, tf32) overrides what the context asks for."""

    name = "stablehlo-lower-precision"

    to: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        ours = lamina_context(ctx)
        precision = self.to or ours.precision
        if precision not in PRECISIONS:
            raise LaminaError(f"unknown precision '{precision}'", hint=f"one of {', '.join(PRECISIONS)}")
        if precision == "tf32" and "mma" not in ours.machine.features:
            raise LaminaError(f"{ours.machine.name} multiplies no tf32", hint="precision f32 or bf16")
        if precision in ("f32", "tf32"):  # tf32 is how products are taken, not a type
            return
        machine = ours.machine
        table = tiles if machine.has_tiles("amx-bf16") else pairs if machine.multiplies_bf16 else weights
        GreedyRewriter(ours, table.patterns(ours.weights), fold=False).run(op)


tiles = RuleTable()
pairs = RuleTable()
weights = RuleTable()
Product = DotGeneralOp | ConvolutionOp


@pairs(DotGeneralOp, ConvolutionOp)
def round_both(op: Product, b: Builder) -> Replacement:
    """Both operands in bfloat16, unless channels are convolved one by one: those are no products of matrices."""
    if any(element_type(v) != f32 for v in (*op.operands, op.result)) or _is_depthwise(op):
        return None
    lhs, rhs = _rounded(op.lhs, b), _rounded(op.rhs, b)
    return None if lhs is None or rhs is None else _like(op, lhs, rhs, b)


@tiles(DotGeneralOp)
def round_for_tiles(op: DotGeneralOp, b: Builder) -> Replacement:
    """Both operands, if tiles multiply them, or if what takes time is to read the right one.

    That is not rounded first where it is computed, as keys and values of one token are: rounding would read it as well.
    """
    if has_few_rows(op):
        return None if _would_be_rounded(op.rhs, b) else round_both(op, b)
    numbers = op.dot_dimension_numbers.data
    size = shape_of(op.lhs)[numbers.lhs_contracting_dimensions[-1]] if numbers.lhs_contracting_dimensions else 1
    return round_both(op, b) if depth_of(size, PAIR) else _round_filled_up(op, b)


def _round_filled_up(op: DotGeneralOp, b: Builder) -> Replacement:
    """Both operands with zeros behind what is summed, as many as make the fewest tiles."""
    numbers = op.dot_dimension_numbers.data
    left, right = numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions
    if len(left) != 1 or any(element_type(v) != f32 for v in (*op.operands, op.result)):
        return None
    batch, size = len(numbers.lhs_batching_dimensions), shape_of(op.lhs)[left[0]]
    of_row = len(shape_of(op.lhs)) - 1  # of the result, dimensions of which the last are columns
    rows, columns = prod(shape_of(op.result)[batch:of_row]), prod(shape_of(op.result)[of_row:])
    if min(size, rows, columns) < WORTH_FILLING or prod(shape_of(op.lhs)) * 4 > FUSED:
        return None
    lhs, rhs = _rounded(op.lhs, b), _rounded(op.rhs, b)
    if lhs is None or rhs is None:
        return None
    more = min(range(1, ROW_BYTES // 2), key=lambda n: (size + n) // (depth_of(size + n, PAIR) or 1))
    return _like(op, _with_zeros(lhs, left[0], b, more), _with_zeros(rhs, right[0], b, more), b)


@tiles(ConvolutionOp)
def round_windows_for_tiles(op: ConvolutionOp, b: Builder) -> Replacement:
    """Both operands, if tiles multiply them: channels are last. Of an odd number one more is zeros."""
    dims, window = op.dims, op.window()
    channels, width = dims.input_feature_dimension, shape_of(op.result)[dims.output_spatial_dimensions[-1]]
    count = shape_of(op.lhs)[channels]
    more = count % PAIR
    beside = window.size[-1] if window.dilation[-1] == 1 else 1
    last = channels == len(shape_of(op.lhs)) - 1
    evenly = rows_of(width) >= FEWEST_ROWS or _is_pointwise(window)
    if not (last and evenly and depth_of((count + more) * beside, PAIR)):
        return None
    if not more:
        return round_both(op, b)
    if b.constant_of(op.rhs) is None or any(element_type(v) != f32 for v in op.operands) or _is_depthwise(op):
        return None
    lhs, rhs = _with_zeros(op.lhs, channels, b), _with_zeros(op.rhs, dims.kernel_input_feature_dimension, b)
    return b.value(convolution_like(op, lhs, rhs))


def _is_pointwise(window: Window) -> bool:
    return all(n == 1 for n in (*window.size, *window.strides))


def _with_zeros(value: SSAValue, dimension: int, b: Builder, more: int = 1) -> SSAValue:
    """So many more of a dimension, all zeros."""
    beside = [more * (i == dimension) for i in range(len(shape_of(value)))]
    array = b.constant_of(value)
    if array is not None:
        return b.constant(np.pad(array, [(0, n) for n in beside]), "even")
    none = [0] * len(beside)
    zero = b.constant(np.zeros((), dtype_of(value.type)), "zero")
    return b.value(PadOp(value, zero, edge_padding_low=none, edge_padding_high=beside, interior_padding=none))


@weights(DotGeneralOp)
def round_weights(op: DotGeneralOp, b: Builder) -> Replacement:
    """The constant operand in bfloat16, widened again."""
    if element_type(op.result) != f32 or element_type(op.rhs) != f32 or b.constant_of(op.rhs) is None:
        return None
    if not has_few_rows(op):
        return None
    rounded = _rounded(op.rhs, b)
    return None if rounded is None else _like(op, op.lhs, b.value(ConvertOp(rounded, f32)), b)


def has_few_rows(op: DotGeneralOp) -> bool:
    """Whether what takes time is to read the right operand."""
    numbers = op.dot_dimension_numbers.data
    summed = (*numbers.lhs_batching_dimensions, *numbers.lhs_contracting_dimensions)
    return prod(n for i, n in enumerate(shape_of(op.lhs)) if i not in summed) <= FEW_ROWS


def _is_depthwise(op: Product) -> bool:
    return isinstance(op, ConvolutionOp) and op.feature_group_count.value.data > 1


def _would_be_rounded(value: SSAValue, b: Builder) -> bool:
    """Whether `_rounded` computes something each time."""
    widened = isinstance(value.owner, ConvertOp) and element_type(value.owner.operand) == bf16
    return not widened and b.constant_of(value) is None


def _rounded(value: SSAValue, b: Builder) -> SSAValue | None:
    """`value` in bfloat16; None for a constant with an element that would become infinite."""
    if isinstance(value.owner, ConvertOp) and element_type(value.owner.operand) == bf16:
        return value.owner.operand  # which was widened
    array = b.constant_of(value)
    if array is None:
        rounded = ConvertOp(value, bf16)
        rounded.attributes[FLUSHES] = UnitAttr()
        return b.value(rounded)
    with np.errstate(over="ignore"):
        narrow = np.ascontiguousarray(array).astype(ml_dtypes.bfloat16)
    if not bool(np.isfinite(narrow.astype(np.float32)).all()):
        return None
    return b.constant(narrow, "rounded")


def _like(op: Product, lhs: SSAValue, rhs: SSAValue, b: Builder) -> SSAValue:
    if isinstance(op, DotGeneralOp):
        return b.value(dot_like(op, lhs, rhs))
    return b.value(convolution_like(op, lhs, rhs))
