"""linalg-pack-contractions: the right operand of a contraction is laid out in panels as the register tile reads it.

before: %c = linalg.generic {maps = [(m, n, k) -> (m, k), (m, n, k) -> (k, n), (m, n, k) -> (m, n)]}
            ins(%a, %b : tensor<13x64xf32>, tensor<64x100xf32>) ...
after:  %p = linalg.pack %b padding_value(%zero : f32) outer_dims_perm = [1, 0] inner_dims_pos = [1]
            inner_tiles = [16] into %e : tensor<64x100xf32> -> tensor<7x64x16xf32>
        %c = linalg.generic {maps = [(m, n, k) -> (m, k), (m, n, k) -> (n floordiv 16, k, n mod 16), ...]}
            ins(%a, %p : tensor<13x64xf32>, tensor<7x64x16xf32>) ...

The operand that carries the result's innermost loop comes second. Panels are [batch..., n / lanes, k..., lanes]; the
last one is filled up with zeros, which the kernel never stores. Two vectors of columns per panel, with a single row
(matrix times vector) too: there nothing but the stream through B matters, and one core fetches from several places
at once nearly twice as fast as from one, so that many narrow panels side by side are better than few wide ones. A
right operand computed at run time is packed when it is read often enough to pay; one that is contiguous along n
already and read by few rows is not. A constant stack of matrices of which a computed one is read is packed as a whole.
Contractions with fewer than four columns stay as they are. A schedule given for a problem (`ctx.schedules`) may name
another number of lanes.

Narrow integers (and bfloat16, where the machine multiplies pairs of it) whose products add up in 32 bits are packed in
groups of as many neighbours along k as fill those (`dot.product` takes them in one step), where the left operand is
contiguous along k:

        %p = linalg.pack %b padding_value(%zero : i16) outer_dims_perm = [1, 0] inner_dims_pos = [1, 0]
            inner_tiles = [16, 2] into %e : tensor<63x100xi16> -> tensor<7x32x16x2xi16>
        maps = [(m, n, k) -> (m, k), (m, n, k) -> (n floordiv 16, k floordiv 2, n mod 16, k mod 2), ...]
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    FixedBitwidthType,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    TensorType,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.context import lamina_context
from ...compiler.diagnostics import LaminaError
from ...compiler.machine import Machine
from ...compiler.schedules import LANES, Schedules
from ...compiler.walking import all_ops
from ...dialects.dot.ops import group_of, sum_type
from ...dialects.linalg import GenericOp, PackOp, WinogradFilterTransformOp
from ...dialects.linalg.contraction import Contraction, match_contraction
from ...dialects.linalg.problem_name import problem_name
from ...dialects.linalg.views import loop_ranges
from ...dialects.tensor import CollapseShapeOp, EmptyOp, ExpandShapeOp, ExtractSliceOp
from .hoist_constants import is_constant_argument, outermost
from .reshapes import collapse, element_type, tensor_shape

MOST_LANES = 128
FEWEST_COLUMNS = 4
FEWEST_ROWS = 4  # a computed right operand is packed only where at least so many rows read it
VECTORS_OF_BYTES = 4  # of floats in a panel of bytes


@dataclass(frozen=True)
class PackContractions(ModulePass):
    """Packs right operands; `lanes` overrides the width of a panel."""

    name = "linalg-pack-contractions"

    lanes: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        context = lamina_context(ctx)
        for generic in [inner for inner in all_ops(op) if isinstance(inner, GenericOp)]:
            found = match_contraction(generic)
            if found is not None and found.n:
                self.pack(generic, found, context.machine, context.schedules)

    def pack(self, op: GenericOp, c: Contraction, machine: Machine, schedules: Schedules) -> None:
        """Packs one contraction where that pays."""
        b = op.operands[c.rhs]
        type_ = b.type
        n = cast(AffineDimExpr, op.maps[2].results[-1]).position
        if not isinstance(type_, TensorType) or n not in c.n:
            return
        along, group = grouped(op, c, machine)
        if group == 1 and not isinstance(_sums(op), AnyFloat):
            return
        map_ = op.maps[c.rhs]
        if not all(isinstance(e, AffineDimExpr | AffineConstantExpr) for e in map_.results):
            return
        dims = [e.position for e in map_.results if isinstance(e, AffineDimExpr)]
        ranges = loop_ranges(op)
        rows = prod(ranges[d] for d in c.m)
        if len(set(dims)) != len(dims) or ranges[n] < FEWEST_COLUMNS:
            return
        stack = _stack_of(b, tuple(ranges[d] for d in dims))
        constant = is_constant(b) or stack is not None
        if rows < FEWEST_ROWS and not constant:
            return
        lanes = self.lanes or _given_lanes(op, schedules, constant)
        sum_bytes = max(4, cast("FixedBitwidthType", type_.element_type).bitwidth // 8)
        if lanes is None and isinstance(type_.element_type, IntegerType) and group == 1:
            lanes = _lanes_of_bytes(machine, ranges[n])
        lanes = lanes or _lanes(machine, sum_bytes, ranges[n], group)
        summed = sorted((d for d in dims if d in c.k), key=lambda d: d == along)  # a group's elements: innermost of all
        order = [*(d for d in c.batch if d in dims), *(d for d in c.n if d != n), n, *summed]
        tiles = {n: lanes, along: group} if group > 1 else {n: lanes}
        places = {dims.index(d): tile for d, tile in tiles.items()}
        outside = [dims.index(d) for d in order]
        if stack is not None:
            packed = _out_of_stack(op, stack, outside, places)
        else:
            packed = _in_panels(op, _without_constants(op, b, map_), outside, places)
        outer = [AffineExpr.dimension(d) // tiles[d] if d in tiles else AffineExpr.dimension(d) for d in order]
        inner = [AffineExpr.dimension(d) % tile for d, tile in tiles.items()]
        _replace(op, c, packed, AffineMap(map_.num_dims, 0, (*outer, *inner)))


def is_constant(value: SSAValue) -> bool:
    """Whether the value is a constant, perhaps seen with another shape or transformed by Winograd."""
    while isinstance(value.owner, CollapseShapeOp | ExpandShapeOp | WinogradFilterTransformOp):
        value = value.owner.operands[0]
    return isinstance(value.owner, arith.ConstantOp) or is_constant_argument(value)


def origin(constant: bool) -> str:
    """What names of problems say of a packed right operand: nothing of a constant."""
    return "" if constant else "computed"


def _given_lanes(op: GenericOp, schedules: Schedules, constant: bool) -> int | None:
    """The lanes that a file or the tuning database gives. Raises LaminaError for no width of vectors."""
    if not schedules.entries:
        return None
    entry = schedules.get(problem_name(op, origin(constant)) or "")
    if entry is None or LANES not in entry.values:
        return None
    lanes = entry.number(LANES)
    if lanes & (lanes - 1) or not 1 <= lanes <= MOST_LANES:
        if not schedules.strict:
            return None
        raise LaminaError(f"{lanes} lanes", where=entry.where, hint=f"expected a power of two up to {MOST_LANES}")
    return lanes


def _lanes(machine: Machine, element_bytes: int, columns: int, group: int) -> int:
    """Two vectors; one where it holds all columns, or is a line of the cache, or a few hold them with less waste."""
    vector = machine.lanes(element_bytes)
    vectors = -(-columns // vector)
    one = vectors == 1 or (group == 1 and (vectors in (3, 5) or machine.vectors_are_lines))
    return vector if one else 2 * vector


def _lanes_of_bytes(machine: Machine, columns: int) -> int:
    """Vectors of floats that bytes become, so many that these are a line of the cache where a vector is one."""
    vector = machine.lanes(4)
    return min(VECTORS_OF_BYTES * vector, max(vector, 1 << (columns - 1).bit_length()))


def _zero(element: Attribute) -> FloatAttr | IntegerAttr:
    return IntegerAttr(0, element) if isinstance(element, IntegerType) else FloatAttr(0.0, cast(AnyFloat, element))


def _insert(op: Operation, before: Operation) -> None:
    op.location = before.location
    Rewriter.insert_op(op, InsertPoint.before(before))


def _without_constants(op: GenericOp, b: SSAValue, map_: AffineMap) -> SSAValue:
    """`b` without its dimensions of one element that the map reads at a constant."""
    type_ = cast(TensorType, b.type)
    shape = type_.get_shape()
    kept = [i for i, e in enumerate(map_.results) if isinstance(e, AffineDimExpr)]
    if len(kept) == len(shape) or any(shape[i] != 1 for i in range(len(shape)) if i not in kept):
        return b
    groups: list[list[int]] = [[] for _ in kept]
    for i in range(len(shape)):
        groups[max(0, sum(1 for k in kept if k <= i) - 1)].append(i)
    return collapse(b, groups, op)


def grouped(op: GenericOp, c: Contraction, machine: Machine) -> tuple[int, int]:
    """The loop over k whose neighbours add up in one step, and how many do: 1 where there is no such loop."""
    type_ = cast("TensorType[Attribute]", op.operands[c.rhs].type)
    left = cast("TensorType[Attribute]", op.operands[c.lhs].type)
    sums = _sums(op)
    pairs = isinstance(type_.element_type, IntegerType) or machine.multiplies_bf16
    group = group_of(type_.element_type) if pairs else 0
    inner = op.maps[c.lhs].results[-1:]
    if not group or left.element_type != type_.element_type or sums != sum_type(type_.element_type) or not inner:
        return -1, 1
    if (
        not isinstance(inner[0], AffineDimExpr)
        or inner[0].position not in c.k
        or loop_ranges(op)[inner[0].position] < 2
    ):
        return -1, 1
    return inner[0].position, group


def _sums(op: GenericOp) -> Attribute:
    return cast("TensorType[Attribute]", op.outputs[0].type).element_type


def _out_of_stack(op: GenericOp, stack: ExtractSliceOp, order: list[int], tiles: dict[int, int]) -> SSAValue:
    """The matrix that `stack` cuts out, in panels: cut out of all of them in panels."""
    lead = len(tensor_shape(stack.source)) - len(order)
    order = [*range(lead), *(lead + d for d in order)]
    panels = _in_panels(outermost(op), stack.source, order, {lead + d: tile for d, tile in tiles.items()})
    sizes = [1] * lead + [*tensor_shape(panels)[lead:]]
    computed = iter(stack.offsets)
    starts = [next(computed) if start == DYNAMIC_INDEX else start for start in stack.static_offsets.get_values()]
    starts = [*starts[:lead], *(0 for _ in sizes[lead:])]
    cut = ExtractSliceOp(panels, starts, sizes, [1] * len(sizes), TensorType(element_type(panels), sizes))
    _insert(cut, op)
    return collapse(cut.result, [[*range(lead + 1)], *([d] for d in range(lead + 1, len(sizes)))], op)


def _in_panels(before: Operation, b: SSAValue, order: list[int], tiles: dict[int, int]) -> SSAValue:
    """`linalg.pack` of a value whose dimensions `order` names, from the outside to the inside."""
    type_ = cast("TensorType[Attribute]", b.type)
    shape = type_.get_shape()
    outer = [-(-shape[d] // tiles.get(d, 1)) for d in order]
    zero = arith.ConstantOp(_zero(type_.element_type))
    empty = EmptyOp([], TensorType(type_.element_type, [*outer, *tiles.values()]))
    ragged = any(shape[d] % tile for d, tile in tiles.items())
    pack = PackOp(
        b,
        empty.tensor,
        [*tiles],
        list(tiles.values()),
        padding_value=zero.result if ragged else None,
        outer_dims_perm=order,
    )
    for new in (zero, empty, pack) if ragged else (empty, pack):
        _insert(new, before)
    assert pack.result is not None
    return pack.result


def _stack_of(b: SSAValue, shape: tuple[int, ...]) -> ExtractSliceOp | None:
    """What cuts `b`, but for dimensions of one element of that shape, out of a constant that is a stack of such."""
    while isinstance(b.owner, CollapseShapeOp | ExpandShapeOp):
        b = b.owner.operands[0]
    if not isinstance(cut := b.owner, ExtractSliceOp) or not cut.offsets or not is_constant(cut.source):
        return None
    lead = len(tensor_shape(cut.source)) - len(shape)
    one = lead > 0 and tensor_shape(cut.source)[lead:] == shape
    return cut if one and tuple(cut.static_sizes.get_values()) == (1,) * lead + shape else None


def _replace(op: GenericOp, c: Contraction, packed: SSAValue, map_: AffineMap) -> None:
    """The contraction on the packed operand, which comes second."""
    body = op.detach_region(op.body)
    if c.lhs == 1:
        first, second, _ = body.block.args
        new_first, new_second = body.block.insert_arg(second.type, 2), body.block.insert_arg(first.type, 3)
        second.replace_all_uses_with(new_first)
        first.replace_all_uses_with(new_second)
        body.block.erase_arg(first)
        body.block.erase_arg(second)
    inputs = [op.operands[c.lhs], packed]
    new = GenericOp.of(inputs, list(op.outputs), [op.maps[c.lhs], map_, op.maps[2]], op.iterators, body)
    new.attributes |= op.attributes
    _insert(new, op)
    new.res[0].name_hint = op.res[0].name_hint
    op.res[0].replace_all_uses_with(new.res[0])
    op.detach()
    op.erase()
