"""linalg-block-separable: a depthwise convolution is to share a kernel with the contractions before and behind it.

before: %e = linalg.generic ... ins(%x, %w) outs(... : tensor<1x56x56x144xf32>)         // 1 x 1, with its epilogue
        %p = tensor.pad %e low[0, 1, 1, 0] high[0, 1, 1, 0] ...
        %d = linalg.generic {maps = [(n, h, w, c, i, j) -> (n, h + i, w + j, c), ...]} ins(%p, %k) outs(...)
        %y = linalg.generic ... ins(%d, %v) outs(... : tensor<1x56x56x24xf32>)          // 1 x 1
after:  the same, with `lamina.block_rows = 14` on all four, and `lamina.goes_on` on all but the first

Networks for small devices widen an image, convolve it by channels, and narrow it again (MobileNetV2, Sandler et al.
2018): what lies between is six times as large as what comes in and goes out, and of large images outgrows the
second-level cache. `linalg-outline-kernels` puts what is marked into one kernel, which goes through all three for so
many rows at a time. The rows of the widened image that two blocks read are computed twice.

Only where that pays: much lies between, blocks of it fit the cache with all filters, at most a tenth is computed twice,
and cores get equal shares. Channels come last, as `stablehlo-propagate-layout` leaves them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, prod

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType, UnitAttr, f32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.machine import Machine
from ...compiler.walking import all_ops
from ...dialects.linalg import GenericOp, IndexOp
from ...dialects.linalg.depthwise import Depthwise, match_depthwise
from ...dialects.linalg.views import linear_form
from ...dialects.tensor import ExtractOp, PadOp
from .grouping import BLOCK_ROWS, GOES_ON, fits_tiles, is_elementwise, is_tiled_contraction
from .pack_contractions import is_constant
from .padding import zeros_before

TWICE = 0.15  # of the work before, that may be done twice
BETWEEN = 0.5  # of the second-level cache, for what lies between
FILTERS = 0.25  # and for all filters
STRIP = 0.125  # and for the rows that windows make before they are taken, if it is more than one


@dataclass(frozen=True)
class BlockSeparable(ModulePass):
    """Marks what is to share a kernel; `rows` of a block instead of those that the cost model says, 0 for none."""

    name = "linalg-block-separable"

    rows: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = lamina_context(ctx).machine
        for generic in [inner for inner in all_ops(op) if isinstance(inner, GenericOp)]:
            if (chain := match_chain(generic)) is not None:
                rows = block_rows(chain, machine) if self.rows is None else min(self.rows, chain.windows.output[0])
                if rows:
                    _mark(chain.members, rows)


def _mark(members: Sequence[Operation], rows: int) -> None:
    for member in members:
        member.attributes[BLOCK_ROWS] = IntegerAttr(rows, i64)
    for member in members[1:]:
        member.attributes[GOES_ON] = UnitAttr()


@dataclass(frozen=True)
class Chain:
    """A depthwise convolution, the zeros around its image, and contractions that make the image and take the result."""

    windows: Depthwise
    convolution: GenericOp
    pad: PadOp | None
    before: GenericOp | None
    behind: GenericOp | None

    @property
    def members(self) -> list[Operation]:
        """Those that are marked."""
        found = (self.before, self.pad if self.before is not None else None, self.convolution, self.behind)
        return [op for op in found if op is not None]

    @property
    def height(self) -> int:
        """Rows of the image without zeros around it."""
        image = self.convolution.inputs[0] if self.pad is None else self.pad.source
        assert isinstance(image.type, TensorType)
        return image.type.get_shape()[1]

    def rows_before(self, rows: int) -> int:
        """Rows of the image that so many rows of the result read, at most."""
        c = self.windows
        return min(self.height, (rows - 1) * c.strides[0] + c.reach[0])


def match_chain(op: GenericOp) -> Chain | None:
    """What is around a depthwise convolution of float32 with channels last; None where there is no contraction."""
    windows = match_depthwise(op)
    if windows is None or not windows.channels_last or windows.width > 1 or not _is_f32(op):
        return None
    image, pad = op.inputs[0], op.inputs[0].owner
    if isinstance(pad, PadOp):
        if zeros_before(pad, windows.space) is None or not pad.result.has_one_use():
            return None
        image = pad.source
    else:
        pad = None
    before = next((each for each in _back(image) if is_row_contraction(each)), None)
    if before is not None and BLOCK_ROWS in before.attributes:
        before = None  # it takes the result of another one
    behind = next((each for each in _forth(op) if is_row_contraction(each) and _takes_rows(each)), None)
    if before is None and behind is None:
        return None
    return Chain(windows, op, pad, before, behind)


def is_row_contraction(op: GenericOp) -> bool:
    """Whether `op` multiplies rows of an image by a constant matrix: each row of the result reads rows of its own."""
    if op.iterators[:4] != ("parallel",) * 4 or not is_tiled_contraction(op) or not _is_f32(op):
        return False
    result = [expr.position for expr in op.maps[2].results if isinstance(expr, AffineDimExpr)]
    forms = [linear_form(expr) for expr in op.maps[0].results]
    plain = result == [0, 1, 2, 3] and len(op.maps[2].results) == 4 and None not in forms
    return plain and is_constant(op.inputs[1]) and not any(d in op.maps[1].used_dims() for d in range(3))


def _takes_rows(op: GenericOp) -> bool:
    """Whether each row of the result reads one row alone."""
    return op.maps[0].results[1] == AffineExpr.dimension(1)


def _is_f32(op: GenericOp) -> bool:
    return all(isinstance(v.type, TensorType) and v.type.element_type == f32 for v in op.operands)


def _back(value: SSAValue) -> Iterator[GenericOp]:
    """What makes a value that nothing else reads: elementwise ops, then what these are the epilogue of."""
    while isinstance(value.owner, GenericOp) and value.has_one_use():
        op = value.owner
        yield op
        if not _is_epilogue(op):
            return
        identity = AffineMap.identity(len(op.iterators))
        same = [v for v, m in zip(op.inputs, op.maps, strict=False) if m == identity and isinstance(v.owner, GenericOp)]
        if len(same) != 1:
            return
        [value] = same


def _forth(op: GenericOp) -> Iterator[GenericOp]:
    """What reads a value and nothing else does: elementwise ops, then what these are for."""
    while len(op.res) == 1 and op.res[0].has_one_use():
        [use] = op.res[0].uses
        if not isinstance(use.operation, GenericOp) or use.operation.parent is not op.parent:
            return
        op = use.operation
        yield op
        if not _is_epilogue(op) or use.index >= len(op.inputs):
            return


def _is_epilogue(op: GenericOp) -> bool:
    """Whether tiles in registers can do what `op` does with sums."""
    inside = any(isinstance(inner, IndexOp | ExtractOp) for inner in op.body.block.ops)
    return is_elementwise(op) and fits_tiles(op) and len(op.res) == 1 and not inside


def block_rows(chain: Chain, machine: Machine) -> int:
    """Rows of the result after which what lies between fills a part of the second-level cache; 0 for no blocks."""
    c, cache = chain.windows, machine.l2_bytes
    widths = [0 if chain.before is None else _width(chain.before), 0 if chain.behind is None else c.output[1]]
    each = [4 * width * c.channels for width in widths]  # bytes of a row before and behind

    def between(rows: int) -> float:
        return each[0] * chain.rows_before(rows) + max(each[1], min(each[1] * rows, STRIP * cache))

    whole = c.batch * (each[0] * chain.height + each[1] * c.output[0])
    if whole < cache or _filters(chain) > FILTERS * cache:
        return 0
    fitting = [rows for rows in range(1, c.output[0] + 1) if between(rows) <= BETWEEN * cache]
    good = [rows for rows in fitting if _is_even(rows, c, machine) and _twice(rows, chain) <= TWICE]
    return max(good, key=lambda rows: (c.output[0] % rows == 0, rows), default=0)


def _twice(rows: int, chain: Chain) -> float:
    """The part of the rows before that is computed again."""
    blocks = ceil(chain.windows.output[0] / rows)
    return blocks * chain.rows_before(rows) / chain.height - 1 if chain.before is not None else 0.0


def _is_even(rows: int, c: Depthwise, machine: Machine) -> bool:
    """Whether cores get equal shares of the blocks, and have room each for theirs in what lies between."""
    blocks = ceil(c.output[0] / rows) * c.batch
    return machine.cores * ceil(blocks / machine.cores) <= 1.1 * blocks


def _width(op: GenericOp) -> int:
    return op.outputs[0].type.get_shape()[2]  # pyright: ignore


def _filters(chain: Chain) -> int:
    """Bytes of all filters."""
    filters = [op.inputs[1].type for op in (chain.before, chain.convolution, chain.behind) if op is not None]
    return sum(4 * prod(type_.get_shape()) for type_ in filters if isinstance(type_, TensorType))
