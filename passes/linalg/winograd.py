"""linalg-winograd: 3 x 3 convolutions of stride 1 become Winograd's where these are cheaper.

before: %p = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] ... : tensor<1x56x56x64xf32> to tensor<1x58x58x64xf32>
        %y = linalg.generic {maps = [(n, h, w, f, i, j, c) -> (n, h + i, w + j, c), ... -> (i, j, c, f), ...]}
            ins(%p, %g : ..., tensor<3x3x64x64xf32>) outs(%zero : tensor<1x56x56x64xf32>) ...
after:  %u = linalg.winograd_filter_transform fmr(F_4_3) ins(%g : ...) outs(... : tensor<6x6x64x64xf32>)
        %v = linalg.winograd_input_transform {pad = array<i64: 1, 1>} fmr(F_4_3) ins(%x : ...)
            outs(... : tensor<6x6x14x14x1x64xf32>)
        %m = linalg.generic {maps = [(a, b, i, j, n, f, c) -> (a, b, i, j, n, c), ... -> (a, b, c, f), ...]}
            ins(%v, %u : ...) outs(... : tensor<6x6x14x14x1x64xf32>) ...
        %y = linalg.winograd_output_transform fmr(F_4_3) ins(%m : ...) outs(%zero : tensor<1x56x56x64xf32>)

The filter is a constant, which linalg-fold-constants transforms; the padded copy is not needed any more. The
contraction is packed and tiled like any other, and what is done with the convolution's result is done by the output
transform.

A large filter would take four times its memory, and as long to come from there. Where the tiles are so few that they
stay near while all panels pass by, or the filter is huge and a last cache would hold them, it stays as it is, in
panels, and the contraction's kernel transforms two rows of points of a part of a panel at a time, which all tiles then
use. Where filters that are kept transformed would let the weights of a program, more than `FEW_FILTERS`, grow by
`MOST_GROWTH` and more, those stay as they are, too, that twice as many tiles use. None does where all such filters of a
program, transformed, and all of its weights take at most `FEW_FILTERS` and half of the last cache each, which holds
them from run to run then:

        %p = linalg.pack %g outer_dims_perm = [3, 2, 0, 1] inner_dims_pos = [3] inner_tiles = [16] ...
            : tensor<3x3x512x512xf32> -> tensor<32x512x3x3x16xf32>
        %u = linalg.winograd_filter_transform fmr(F_4_3) ins(%p : ...) outs(... : tensor<6x6x32x512x16xf32>)
        %m = linalg.generic {maps = [..., (a, b, i, j, n, f, c) -> (a, b, f floordiv 16, c, f mod 16), ...]}

F(4x4, 3x3) takes 2.25 multiplications per output and channel instead of 9, F(2x2, 3x3) takes 4; but the filter grows
from 9 to 36 or 16 numbers and the transforms cost, so that small images and few channels stay as they are: `cost`
estimates the cycles of each form.

Where much lies between the transforms, the contraction is told in `lamina.block_rows` to share a kernel with both,
which goes through all three steps for so many rows of tiles at a time.

It changes the rounding. Largest error relative to the largest output, against float64, with inputs like activations
(positive, normal) and 16, 64 and 512 channels: F(4x4, 3x3) 5e-7, 9e-7 and 2e-6; F(2x2, 3x3) 1e-7, 3e-7 and 5e-7; the
sum itself 1e-7, 1e-7 and 2e-7. A NaN or infinity makes every output of the tiles that read it NaN or infinite, not
only those whose window holds it. `--no-winograd` leaves this pass out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf, prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import FixedBitwidthType, FloatAttr, IntegerAttr, ModuleOp, TensorType, f32, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.context import lamina_context
from ...compiler.diagnostics import LaminaError
from ...compiler.machine import Machine
from ...compiler.walking import all_ops
from ...dialects.linalg import (
    FillOp,
    GenericOp,
    PackOp,
    WinogradFilterTransformOp,
    WinogradInputTransformOp,
    WinogradOutputTransformOp,
    YieldOp,
)
from ...dialects.linalg.contraction import multiply_add
from ...dialects.tensor import EmptyOp, PadOp
from .grouping import BLOCK_ROWS
from .pack_contractions import is_constant
from .padding import zeros_before

PARALLEL, REDUCTION = "parallel", "reduction"
TILES = (4, 2)
FEW_FILTERS = 16 << 20  # bytes of large transformed filters, and of all weights, up to which filters are kept


@dataclass(frozen=True)
class Winograd(ModulePass):
    """Rewrites the convolutions for which it pays; `tile` 4 or 2: all that are possible, with such tiles; 0: none.

    `kept` overrides up to how many bytes large transformed filters are kept.
    """

    name = "linalg-winograd"

    tile: int | None = None
    kept: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.tile not in (None, 0, *TILES):
            raise LaminaError(f"linalg-winograd has no tiles of {self.tile}", hint="tile=4, tile=2 or tile=0 for none")
        machine = lamina_context(ctx).machine
        generics = [inner for inner in all_ops(op) if isinstance(inner, GenericOp)]
        convolutions = [(each, found) for each in generics if (found := match_convolution(each)) is not None]

        def tiles(room: int, near: int = NEAR_TILES) -> list[int]:
            return [best_tile(c, machine, room, near) if self.tile is None else self.tile for _, c in convolutions]

        weights, room, near = _weights(generics), self.kept, NEAR_TILES
        few = min(FEW_FILTERS, machine.kept_bytes)
        if room is None:
            room = few if weights <= few else 0
        chosen = tiles(room)
        large = sum(
            filter_bytes(c, m) for (_, c), m in zip(convolutions, chosen, strict=True) if m and is_large(c, m, machine)
        )
        if not 0 < large <= room:
            room, chosen = 0, tiles(0)
            kept = [(c, m) for (_, c), m in zip(convolutions, chosen, strict=True) if m and not is_large(c, m, machine)]
            growth = sum(filter_bytes(c, m) - given_bytes(c) for c, m in kept)
            if weights > few and growth > MOST_GROWTH * weights:
                near = 2 * NEAR_TILES
                chosen = tiles(0, near)
        for (generic, c), m in zip(convolutions, chosen, strict=True):
            if m:
                panels = 2 * machine.lanes(4) if not room and is_large(c, m, machine, near) else 0
                rewrite(generic, c, m, 0 if panels else block_rows(c, m, machine), panels)


def _weights(generics: Sequence[GenericOp]) -> int:
    """The bytes of all constants that these read."""
    types = [value.type for value in {value for op in generics for value in op.inputs if is_constant(value)}]
    return sum(
        prod(type_.get_shape()) * type_.element_type.size
        for type_ in types
        if isinstance(type_, TensorType) and isinstance(type_.element_type, FixedBitwidthType)
    )


@dataclass(frozen=True)
class Convolution:
    """A convolution that Winograd's transforms can compute: its input without padding, and its sizes."""

    image: SSAValue
    pad: tuple[int, int]
    batch: int
    rows: int  # of the output, as are columns
    columns: int
    channels: int
    filters: int

    def tiles(self, m: int) -> tuple[int, int]:
        """Rows and columns of tiles that cover an output."""
        return ceil(self.rows / m), ceil(self.columns / m)


def _maps() -> tuple[AffineMap, AffineMap, AffineMap]:
    n, h, w, f, i, j, c = (AffineExpr.dimension(d) for d in range(7))
    return AffineMap(7, 0, (n, h + i, w + j, c)), AffineMap(7, 0, (i, j, c, f)), AffineMap(7, 0, (n, h, w, f))


_CONVOLUTION = _maps()
_ITERATORS = (*[PARALLEL] * 4, *[REDUCTION] * 3)


def match_convolution(op: GenericOp) -> Convolution | None:
    """What `op` convolves, where it is a 3 x 3 convolution of float32 of stride 1 whose filter is a constant."""
    if op.maps != _CONVOLUTION or op.iterators != _ITERATORS or multiply_add(op) is None:
        return None
    image, filter_ = op.inputs
    types = [v.type for v in op.operands]
    if not all(isinstance(t, TensorType) and t.element_type == f32 and t.has_static_shape() for t in types):
        return None
    kernel, result = (cast("TensorType", t).get_shape() for t in types[1:])
    if kernel[:2] != (3, 3) or 0 in (*kernel, *result) or not is_constant(filter_):
        return None
    if kernel[3] == 1:  # a sum over channels: nothing would be shared by what the input's transform makes
        return None
    image, pad = _without_padding(image)
    return Convolution(image, pad, *result[:3], *kernel[2:])


def _without_padding(image: SSAValue) -> tuple[SSAValue, tuple[int, int]]:
    """The tensor that `image` is with rows and columns of zeros around it, and how many come first."""
    pad = image.owner
    if not isinstance(pad, PadOp):
        return image, (0, 0)
    before = zeros_before(pad, (1, 2))
    return (image, (0, 0)) if before is None else (pad.source, (before[0], before[1]))


def rewrite(op: GenericOp, c: Convolution, m: int, block: int, lanes: int = 0) -> None:
    """Puts the transforms and the contraction in the place of `op`, `block` rows of tiles at a time (0: all).

    With `lanes`, the filter lies in panels of so many and is transformed when the convolution runs.
    """
    alpha, (rows, columns) = m + 2, c.tiles(m)

    def insert(new: Operation) -> SSAValue:
        new.location = op.location
        Rewriter.insert_op(new, InsertPoint.before(op))
        return new.results[0]

    def empty(*shape: int) -> SSAValue:
        return insert(EmptyOp([], TensorType(f32, shape)))

    zero = insert(arith.ConstantOp(FloatAttr(0.0, f32)))
    if lanes:
        panels = ceil(c.filters / lanes)
        place, filled = empty(panels, c.channels, 3, 3, lanes), zero if c.filters % lanes else None
        packed = PackOp(op.inputs[1], place, [3], [lanes], padding_value=filled, outer_dims_perm=[3, 2, 0, 1])
        filter_ = WinogradFilterTransformOp(m, insert(packed), empty(alpha, alpha, panels, c.channels, lanes))
    else:
        filter_ = WinogradFilterTransformOp(m, op.inputs[1], empty(alpha, alpha, c.channels, c.filters))
    image = WinogradInputTransformOp(m, c.image, empty(alpha, alpha, rows, columns, c.batch, c.channels), c.pad)
    inputs = [insert(image), insert(filter_)]
    sums = insert(FillOp(zero, empty(alpha, alpha, rows, columns, c.batch, c.filters)))
    iterators = [*[PARALLEL] * 6, REDUCTION]
    contraction = GenericOp.of(inputs, [sums], _contraction_maps(lanes), iterators, _multiply_add())
    if block:
        contraction.attributes[BLOCK_ROWS] = IntegerAttr(block, i64)
    products = insert(contraction)
    new = insert(WinogradOutputTransformOp(m, products, op.outputs[0]))
    new.name_hint = op.res[0].name_hint
    op.res[0].replace_all_uses_with(new)
    padded = op.inputs[0].owner
    op.detach()
    op.erase()
    if isinstance(padded, PadOp) and not padded.result.uses:
        padded.detach()
        padded.erase()


def _contraction_maps(lanes: int) -> list[AffineMap]:
    a, b, i, j, n, f, c = (AffineDimExpr(d) for d in range(7))
    filter_ = (a, b, f // lanes, c, f % lanes) if lanes else (a, b, c, f)
    return [AffineMap(7, 0, exprs) for exprs in ((a, b, i, j, n, c), filter_, (a, b, i, j, n, f))]


def _multiply_add() -> Region:
    block = Block(arg_types=[f32] * 3)
    product = arith.MulfOp(block.args[0], block.args[1])
    total = arith.AddfOp(block.args[2], product)
    block.add_ops([product, total, YieldOp(total)])
    return Region(block)


# Which form: estimates in cycles of one core.

STRIP = 6  # rows of a register tile
NEAR, FAR = 14.0, 6.0  # bytes per cycle that are written or streamed: to the last level cache, from memory
STRIDED = 4.0  # bytes per cycle that a register tile or a transform reads back, row by row
STEPS = 6  # cycles per vector and point of a transform, both passes
START = 20_000  # cycles that two more kernels take to begin
FILTER_STEPS = 2.2  # cycles per eight numbers and point of a filter's transform: the second-level cache's, not vectors'
LARGE_FILTER = 2 << 20  # bytes from which on a transformed filter is not kept
NEAR_TILES = 4 << 20  # bytes of tiles that all panels of a filter may read again
MOST_GROWTH = 0.25  # of all weights: what kept filters may take more than as they are, or twice as many tiles are read
HUGE_FILTER = 64 << 20  # bytes from which on memory counts more than the time of reading tiles again
FAR_TILES = 16 << 20  # bytes of tiles that all panels of such a filter may read again
MOST_AGAIN = (
    2  # times what lies between the transforms that blocks may read of the filter: else that goes to L3 and back
)
GAIN = 0.85  # of the cost of the sums: less is not worth another rounding


def best_tile(c: Convolution, machine: Machine, room: int = 0, near: int = NEAR_TILES) -> int:
    """4 or 2 for the cheapest tiles, 0 where the convolution as it is costs less.

    With `room`, filters lie in the last cache, and large ones stay transformed, of so many bytes at most.
    """
    costs = {0: direct_cost(c, machine, room) * GAIN} | {m: cost(c, m, machine, room, near) for m in TILES}
    return min(costs, key=lambda m: (costs[m], m))


def direct_cost(c: Convolution, machine: Machine, room: int = 0) -> float:
    """The sums as they are: all multiplications, while the filter's bytes come, and the padded copy."""
    points, taps = c.batch * c.rows * c.columns, 9 * c.channels
    copied = 8 * points * c.channels if any(c.pad) else 0
    products = contraction_cost(points, taps, c.filters, machine)
    return max(products, given_bytes(c) / (NEAR if room else FAR)) + copied / NEAR


def given_bytes(c: Convolution) -> int:
    """What a filter takes as it is."""
    return 4 * 9 * c.channels * c.filters


def filter_bytes(c: Convolution, m: int) -> int:
    """What a transformed filter takes."""
    return 4 * (m + 2) ** 2 * c.channels * c.filters


def is_large(c: Convolution, m: int, machine: Machine, near: int = NEAR_TILES) -> bool:
    """Whether the filter may stay as it is: a large one, in panels, and `near` bytes of tiles for each of them at most.

    More tiles use a filter for longer than it takes to come from memory, and would themselves have to come again.
    """
    (rows, columns), points = c.tiles(m), 4 * (m + 2) ** 2
    filter_ = filter_bytes(c, m)
    large = filter_ > LARGE_FILTER
    few = points * c.batch * rows * columns * c.channels < (FAR_TILES if filter_ > HUGE_FILTER else near)
    return large and few


def cost(c: Convolution, m: int, machine: Machine, room: int = 0, near: int = NEAR_TILES) -> float:
    """F(m x m, 3 x 3): a contraction per point, while the filter's bytes come, the transforms, what lies between."""
    rows, columns = c.tiles(m)
    points, tiles, lanes = (m + 2) ** 2, c.batch * rows * columns, machine.lanes(4)
    transforms = STEPS * points * tiles * (ceil(c.channels / lanes) + ceil(c.filters / lanes))
    between = 4 * points * tiles * (c.channels + c.filters)
    filter_ = filter_bytes(c, m)
    if block := block_rows(c, m, machine):
        moved = (between + c.batch * ceil(rows / block) * filter_) / NEAR
    else:
        slow = max(1.0, 2 * between / machine.l3_bytes)  # what outgrows the caches
        moved = between * slow * (1 / NEAR + 1 / STRIDED)
    products = points * contraction_cost(tiles, c.channels, c.filters, machine)
    if is_large(c, m, machine, near) and not room:
        moved = between * (1 / NEAR + 1 / STRIDED)
        transforms += FILTER_STEPS * points * c.channels * c.filters / 8
        filter_ = given_bytes(c)
    if room and filter_ > room:
        return inf
    return START + max(products, filter_ / (NEAR if room else FAR)) + transforms + moved


def block_rows(c: Convolution, m: int, machine: Machine) -> int:
    """Rows of tiles after which what lies between the transforms fills half of the second-level cache.

    0, for all of them, where that saves nothing: little lies between, the filter, which every block reads, is large,
    or much more is read of it so than lies between, or blocks do not share out evenly over the cores.
    """
    (rows, columns), points = c.tiles(m), (m + 2) ** 2
    tile_bytes = 4 * points * (c.channels + c.filters)
    block = max(1, round(machine.l2_bytes / 2 / (tile_bytes * columns)))
    blocks = ceil(rows / block) * c.batch
    between, filter_ = tile_bytes * rows * columns * c.batch, filter_bytes(c, m)
    small = between < 2 * machine.l2_bytes
    large_filter = filter_ > machine.l3_bytes // 6 or blocks * filter_ > MOST_AGAIN * between
    uneven = ceil(blocks / machine.cores) * machine.cores > 1.1 * blocks
    return 0 if small or large_filter or uneven else block


def contraction_cost(rows: int, depth: int, columns: int, machine: Machine) -> float:
    """rows x depth times depth x columns by register tiles, most of them at nine tenths of the peak."""
    vectors = ceil(columns / machine.lanes(4))
    return ceil(rows / STRIP) * STRIP * depth * vectors / machine.fma_ports / 0.9
