"""How attention is cut into tiles, and by what it is computed: data, chosen by sizes, types and the machine."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import BFloat16Type, FixedBitwidthType, Float16Type, MemRefType
from xdsl.ir import Attribute, SSAValue

from ....compiler.diagnostics import LaminaError
from ....compiler.layouts import Layout, coalesced, concatenated
from ....compiler.machine import Machine
from ....dialects.affine.linear_forms import access
from ....dialects.linalg_ext import AttentionOp
from ..contraction_to_cta.schedule import ENOUGH, FMA, MMA, WGMMA, Schedule, copied_in_boxes

NARROWEST = 16  # columns of a tile: a step of the sum of one instruction
PANEL = 64  # more columns than these come in such panels
DEEPEST = 128  # columns whose sums fit into the registers of a warp's threads
LARGE, SMALL = 64, 32  # queries of a block, 16 a warp, and keys of a step
GROUP, SHORT, LONG = 64, 64, 128  # queries of a warpgroup, and keys of a step
MOST_MASKS = 2  # whose numbers fit into registers beside scores, sums and weights of a warpgroup
ACROSS = 16  # threads that share a query, where threads multiply: half a warp


def padded(columns: int) -> int:
    """Columns of a tile that has so many.

    >>> [padded(n) for n in (7, 20, 64, 80)]
    [16, 32, 64, 128]
    """
    if columns > PANEL:
        return -(-columns // PANEL) * PANEL
    return max(NARROWEST, 1 << (columns - 1).bit_length())


def schedule_of(op: AttentionOp, machine: Machine) -> Schedule:
    """How it is cut: warpgroups or warps multiply 16 bits, threads f32. `depth` is how many keys a step takes."""
    *batch, queries, depth, keys, columns = op.ranges()
    if max(depth, columns) > DEEPEST:
        raise LaminaError(f"attention is at most {DEEPEST} columns deep", where=op)
    element = tile_element(op.inputs[0])
    assert isinstance(element, FixedBitwidthType)
    masks = sum(_is_matrix(op, 3 + i) for i in range(len(op.inputs) - 3))
    if WGMMA in machine.features and masks <= MOST_MASKS and fits_groups(op):
        return choose_groups(prod(batch), queries, columns, SHORT if masks else keys)
    return choose(prod(batch), queries, columns, element.bitwidth)


def fits_groups(op: AttentionOp) -> bool:
    """Whether warpgroups can multiply, and more than half of what they multiply counts.

    Queries, keys and values, which are of one type, have 16 bits, and the copy engine can bring them.
    """
    loops = op.loops
    m, k1, k2, n = range(loops - 4, loops)
    *_, queries, depth, _, columns = op.ranges()
    if not isinstance(tile_element(op.inputs[0]), BFloat16Type | Float16Type):
        return False
    layouts = [layout_of(op, number, *dims) for number, dims in enumerate(((m, k1), (k1, k2), (k2, n)))]
    return 2 * min(queries, depth, columns) > PANEL and all(map(copied_in_boxes, layouts))


def _is_matrix(op: AttentionOp, number: int) -> bool:
    """Whether an operand differs from query to query and from key to key."""
    m, _, k2, _ = range(op.loops - 4, op.loops)
    return all(any(stride for _, stride in mode.pairs) for mode in layout_of(op, number, m, k2).modes[1:])


def choose_groups(batch: int, queries: int, columns: int, keys: int) -> Schedule:
    """Two warpgroups where there are blocks enough of them, or one; many keys a step where that leaves some steps.

    >>> choose_groups(12, 1024, 64, 1024)
    Schedule(unit='wgmma', rows=128, columns=64, depth=128, down=2, across=1, stages=2, splits=1)
    >>> choose_groups(12, 128, 80, 64)
    Schedule(unit='wgmma', rows=64, columns=128, depth=64, down=1, across=1, stages=2, splits=1)
    """
    down = 2 if batch * -(-queries // (2 * GROUP)) >= ENOUGH else 1
    return Schedule(WGMMA, down * GROUP, -(-columns // PANEL) * PANEL, LONG if keys > 2 * LONG else SHORT, down, 1, 2)


def choose(batch: int, queries: int, columns: int, bits: int) -> Schedule:
    """Blocks of many queries where there are enough of them.

    >>> choose(12, 512, 64, 16)
    Schedule(unit='mma', rows=64, columns=64, depth=64, down=4, across=1, stages=2, splits=1)
    >>> choose(1, 20, 20, 32)
    Schedule(unit='fma', rows=32, columns=32, depth=32, down=4, across=2, stages=1, splits=1)
    """
    rows = keys = LARGE if batch * -(-queries // LARGE) >= ENOUGH else SMALL
    if bits == 16:
        return Schedule(MMA, rows, padded(columns), keys, rows // 16, 1, 2)
    wide = max(padded(columns), 2 * ACROSS)
    return Schedule(FMA, rows, wide, keys, 4, wide // ACROSS)


def layout_of(op: AttentionOp, number: int, rows: int, columns: int) -> Layout:
    """An operand as matrices over two of the loops. Raises LaminaError for a buffer that is not row-major."""
    ranges, outer = op.ranges(), op.loops - 4
    form = access(op.operands[number], op.maps[number])
    if form is None:
        raise LaminaError("attention on a buffer that is not row-major", where=op)
    modes = [
        coalesced(Layout(tuple(ranges[d] for d in dims), tuple(form.coefficients[d] for d in dims)))
        if dims
        else Layout(1, 0)
        for dims in (
            [d for d in reversed(range(outer)) if ranges[d] != 1],
            *([d] if ranges[d] != 1 else [] for d in (rows, columns)),
        )
    ]
    return concatenated(*modes)


def tile_element(buffer: SSAValue) -> Attribute:
    """The type of a buffer's elements."""
    assert isinstance(buffer.type, MemRefType)
    return buffer.type.element_type
