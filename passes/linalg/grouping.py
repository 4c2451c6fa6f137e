"""Which ops become one kernel: contractions with their epilogues, rows of reductions with what shares their rows.

So do reductions over planes with what goes over the same planes (`column_groups`).

Groups are numbered as they begin. A group only takes in an op whose other operands cannot depend on the group: all
that these depend on began earlier, or the op is the only user of what it takes from the group. So groups never form
a cycle, and each decision looks at one op: the whole is linear.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue, Use
from xdsl.ir.affine import AffineDimExpr, AffineMap

from ...dialects.linalg import (
    FillOp,
    GenericOp,
    IndexOp,
    PackOp,
    WinogradFilterTransformOp,
    WinogradInputTransformOp,
    WinogradOp,
    WinogradOutputTransformOp,
    YieldOp,
)
from ...dialects.linalg.contraction import match_contraction
from ...dialects.linalg.depthwise import match_depthwise
from ...dialects.linalg.pool import match_pool
from ...dialects.linalg.views import linear_form, loop_ranges
from ...dialects.linalg_ext import AttentionOp, MatmulNBitsOp
from ...dialects.tensor import (
    CollapseShapeOp,
    ConcatOp,
    EmptyOp,
    ExpandShapeOp,
    ExtractOp,
    ExtractSliceOp,
    InsertOp,
    InsertSliceOp,
    PadOp,
)
from .column_groups import Columns, reduced_columns, shares_columns
from .padding import zeros_before

# Ops with fewer points than this may share a kernel without sharing rows.
SMALL = 1 << 14

# On a contraction between Winograd's transforms: all three are one kernel, so many rows of tiles after the other. On a
# depthwise convolution and contractions around it: these are one kernel, so many rows of the result after the other.
BLOCK_ROWS = "lamina.block_rows"
GOES_ON = "lamina.goes_on"  # a unit attribute: in the kernel of what it reads
ALONE = "lamina.alone"  # a unit attribute: a kernel of its own

_ROOTS = (
    GenericOp,
    AttentionOp,
    MatmulNBitsOp,
    WinogradOp,
    PadOp,
    ConcatOp,
    InsertSliceOp,
    ExtractSliceOp,
    PackOp,
    InsertOp,
    scf.ForOp,
)


@dataclass
class Group:
    """Ops that become one kernel, in the order of the block."""

    number: int
    members: list[Operation] = field(default_factory=list[Operation])
    rows: tuple[int, ...] | None = None  # sizes of the leading parallel loops that all members share
    columns: Columns | None = None  # that a reduction over planes began with
    contraction: bool = False
    accumulates: bool = False  # begun by a reduction whose elementwise readers may become its epilogue
    depends: int = -1  # the highest number of a group that anything here may depend on


@dataclass
class Plan:
    """The groups of one block."""

    roundings: bool = False
    pools: bool = False
    columns: bool = False
    groups: list[Group] = field(default_factory=list[Group])
    group_of: dict[Operation, Group] = field(default_factory=dict[Operation, Group])
    views: set[Operation] = field(default_factory=set[Operation])  # slices that kernels read where they lie


def is_sinkable(op: Operation) -> bool:
    """Ops that are repeated inside each kernel that uses them: scalars, and what destinations begin as."""
    if isinstance(op, EmptyOp):
        return True
    if isinstance(op, FillOp):
        return all(_is_destination(use.operation, use.index) for use in op.res[0].uses)
    if op.regions or not op.results or not all(not isinstance(r.type, TensorType) for r in op.results):
        return False
    return isinstance(op, ExtractOp) or op.name.startswith(("arith.", "math."))


def _is_destination(user: Operation, operand: int) -> bool:
    match user:
        case GenericOp() | AttentionOp():
            return operand >= len(user.inputs)
        case InsertSliceOp() | InsertOp() | WinogradOp():
            return operand == 1
        case MatmulNBitsOp():
            return operand == len(user.operands) - 1
        case _:
            return False


def operands_of(op: Operation) -> list[SSAValue]:
    """What an op uses from outside itself, captures of its regions included."""
    if not op.regions:
        return list(op.operands)
    inner: set[SSAValue] = set()
    used: dict[SSAValue, None] = dict.fromkeys(op.operands)
    for nested in op.walk():
        for region in nested.regions:
            for block in region.blocks:
                inner.update(block.args)
        if nested is not op:
            inner.update(nested.results)
            used.update(dict.fromkeys(nested.operands))
    return [value for value in used if value not in inner]


def plan_groups(
    block: Block, roundings: bool = False, pools: bool = False, columns: bool = False, slices: bool = False
) -> Plan:
    """Groups of the ops of `block`, captures counted as uses. Ops left out stay where they are.

    With `roundings` what only rounds a contraction's result is part of its group, whoever else reads that. With `pools`
    what pads an image for a pool by rows is part of the pool's. With `columns` what goes over planes is part of the
    group of what reduces them. With `slices` what only goes element by element over a slice reads it where it lies.
    """
    plan = Plan(roundings=roundings, pools=pools, columns=columns)
    depends: dict[SSAValue, int] = {}
    parts: set[Operation] = set()  # elementwise ops and slices that will join the concatenation or padding they are for
    for op in block.ops:
        used = operands_of(op)
        if slices and _is_view(op):
            plan.views.add(op)
            depends[op.results[0]] = max((depends.get(v, -1) for v in used), default=-1)
            continue
        if isinstance(op, FillOp) and not is_sinkable(op):
            group = _begin(plan, op)
        elif _is_root(op) and ((home := _home(plan, op, used, depends)) is not None or not _is_part(op)):
            group = home or _begin(plan, op)
            if isinstance(op, ConcatOp | PadOp):
                _take_parts(plan, group, op, parts)
                used = [v for member in group.members for v in operands_of(member)]
        else:
            if isinstance(op, GenericOp | ExtractSliceOp):
                parts.add(op)
            reach = max((depends.get(v, -1) for v in used), default=-1)
            depends.update(dict.fromkeys(op.results, reach))
            continue
        if group.accumulates or group.columns is not None:  # these take whole arrays
            for view in [owner for owner in dict.fromkeys(map(_owner, used)) if owner in plan.views]:
                plan.views.remove(view)
                copied = _begin(plan, view)
                copied.depends = max(copied.number, depends[view.results[0]])
                depends[view.results[0]] = copied.depends
        outside = [depends.get(v, -1) for v in used if plan.group_of.get(_owner(v)) is not group]
        group.depends = max([group.depends, group.number, *outside])
        for member in group.members:
            depends.update(dict.fromkeys(member.results, group.depends))
    return plan


def _is_root(op: Operation) -> bool:
    return isinstance(op, _ROOTS) and not runs_kernels(op) and not is_free(op)


def runs_kernels(op: Operation) -> bool:
    """Whether an op is a loop around structured ops: one of the caller's, unlike those that go element by element."""
    if not isinstance(op, scf.ForOp):
        return False
    return any(map(runs_kernels, op.body.block.ops)) or any(
        any(isinstance(value.type, TensorType) for value in (*each.results, *each.operands))
        for each in op.body.block.ops
        if not isinstance(each, scf.ForOp | ExtractOp | InsertOp | scf.YieldOp)
    )


def _is_view(op: Operation) -> bool:
    """Whether an op is a slice that others only read element by element."""
    if not isinstance(op, ExtractSliceOp) or len(op.operands) > 1:
        return False
    uses = list(op.result.uses)
    return bool(uses) and all(_goes_over(use) and use.operation.parent is op.parent for use in uses)


def _goes_over(use: Use) -> bool:
    """Whether an op reads a value element by element."""
    op = use.operation
    return isinstance(op, GenericOp) and is_elementwise(op) and use.index < len(op.inputs)


def _is_part(op: Operation) -> bool:
    """Whether an op computes, element by element, what a concatenation or padding takes: in its place right away.

    A slice counts: alone it would be a copy.
    """
    elementwise = isinstance(op, ExtractSliceOp) or (isinstance(op, GenericOp) and is_elementwise(op))
    if not elementwise or is_free(op) or len(op.results) != 1 or not op.results[0].has_one_use():
        return False
    [use] = op.results[0].uses
    return (
        isinstance(use.operation, ConcatOp | PadOp)
        and not _is_around_image(use.operation)
        and use.operation.parent is op.parent
        and use.index < _parts(use.operation)
    )


def _is_around_image(op: Operation) -> bool:
    """Whether an op pads the image of a depthwise convolution, which reads it without the padding."""
    users = [use.operation for use in op.results[0].uses]
    return isinstance(op, PadOp) and any(isinstance(user, GenericOp) and match_depthwise(user) for user in users)


def _parts(op: ConcatOp | PadOp) -> int:
    return len(op.operands) if isinstance(op, ConcatOp) else 1


def _take_parts(plan: Plan, group: Group, op: ConcatOp | PadOp, parts: set[Operation]) -> None:
    """Puts what the op's parts are computed by before it into its group."""
    for value in op.operands[: _parts(op)]:
        owner = value.owner
        if isinstance(owner, Operation) and owner in parts:
            parts.remove(owner)
            group.members.insert(len(group.members) - 1, owner)
            plan.group_of[owner] = group


def _owner(value: SSAValue) -> Operation:
    return value.owner if isinstance(value.owner, Operation) else _NOBODY


_NOBODY = func.ReturnOp()


def _begin(plan: Plan, op: Operation) -> Group:
    group = Group(len(plan.groups))
    group.members.append(op)
    group.contraction = isinstance(op, GenericOp) and is_tiled_contraction(op)
    group.accumulates = group.contraction or isinstance(op, WinogradOutputTransformOp)
    group.accumulates |= isinstance(op, GenericOp) and is_windowed_reduction(op)
    group.rows = None if group.contraction else row_sizes(op)
    group.columns = reduced_columns(op) if plan.columns and not group.contraction else None
    plan.groups.append(group)
    plan.group_of[op] = group
    return group


def _home(plan: Plan, op: Operation, used: list[SSAValue], depends: dict[SSAValue, int]) -> Group | None:
    """The group of a producer that may take `op` in, extended by it."""
    if ALONE in op.attributes:
        return None
    found = {g.number: g for v in used if (g := plan.group_of.get(_owner(v))) is not None}
    found = {number: g for number, g in found.items() if ALONE not in g.members[-1].attributes}
    for number in sorted(found, reverse=True):
        group = found[number]
        ours = [v for v in used if plan.group_of.get(_owner(v)) is group]
        others = [v for v in used if plan.group_of.get(_owner(v)) is not group]
        if _packs_for(group, op, ours):
            group.contraction = group.accumulates = True
        elif _pads_for(group, op, ours, plan.pools):
            group.accumulates = True
        elif _has_filters_transformed(group, op, ours):
            pass
        elif _goes_on(group, op, ours):
            group.accumulates = isinstance(op, WinogradOutputTransformOp)
        elif GOES_ON in op.attributes and all(v.owner is group.members[-1] and v.has_one_use() for v in ours):
            group.contraction = group.accumulates = True
        elif _is_epilogue(group, op, ours, plan.roundings):
            pass
        elif any(depends.get(v, -1) >= number for v in others):
            continue
        elif group.columns is not None and shares_columns(group.columns, op, ours):
            pass
        elif (rows := _shared_rows(group, op, ours)) is not None:
            group.rows = rows
        else:
            continue
        group.members.append(op)
        plan.group_of[op] = group
        return group
    return None


def is_tiled_contraction(op: GenericOp) -> bool:
    """Whether a generic is a contraction that a register tile pays for."""
    found = match_contraction(op)
    return found is not None and bool(found.n) and "parallel" in op.iterators


def is_windowed_reduction(op: GenericOp) -> bool:
    """Whether a generic reduces over windows (pooling, depthwise convolution) and writes in the order of its loops."""
    return (
        "reduction" in op.iterators
        and len(op.outputs) == 1
        and not all(_is_plain(m) for m in op.maps)
        and all(isinstance(e, AffineDimExpr) and e.position == i for i, e in enumerate(op.maps[-1].results))
    )


def is_elementwise(op: Operation) -> bool:
    """A parallel generic whose results are written in the order of its loops."""
    return (
        isinstance(op, GenericOp)
        and all(i == "parallel" for i in op.iterators)
        and all(m == AffineMap.identity(m.num_dims) for m in op.maps[len(op.inputs) :])
    )


def _is_epilogue(group: Group, op: Operation, ours: list[SSAValue], roundings: bool) -> bool:
    """An elementwise op on the reduction's own domain and the only user of what it reads from it, or a rounding."""
    if not group.accumulates or not isinstance(op, GenericOp) or not is_elementwise(op) or len(ours) != 1:
        return False
    [value] = ours
    shared = any(use.operation is not op for use in value.uses)
    two = (
        roundings and group.contraction and _only_rounds(op) and all(GOES_ON not in m.attributes for m in group.members)
    )
    if value.owner is not group.members[-1] or (shared and not two):
        return False
    tiled = group.contraction or isinstance(group.members[0], WinogradOp)
    if tiled and not fits_tiles(op):
        return False
    identity = AffineMap.identity(len(op.iterators))
    if any(isinstance(inner, IndexOp | ExtractOp) for inner in op.body.block.ops):
        return False
    return all(op.maps[i] == identity for i, v in enumerate(op.operands) if v is value)


def _only_rounds(op: GenericOp) -> bool:
    """Whether an op is the rounding of one array to a narrower type of floats, and nothing else."""
    body = list(op.body.block.ops)
    return len(op.inputs) == 1 and len(body) == 2 and isinstance(body[0], arith.TruncFOp)


def fits_tiles(op: GenericOp) -> bool:
    """Whether an elementwise op takes its operands along rows, as tiles in registers are.

    What lies across them is added by a kernel of its own, and what takes a single element has none.
    """
    ranges = loop_ranges(op)
    return bool(ranges) and (ranges[-1] == 1 or all(map(_along_rows, op.maps)))


def _along_rows(map_: AffineMap) -> bool:
    """A linear access that the innermost loop walks element by element, or not at all."""
    innermost = map_.num_dims - 1
    used = [innermost in e.used_dims() for e in map_.results]
    plain = not any(used) or (sum(used) == 1 and used[-1] and isinstance(map_.results[-1], AffineDimExpr))
    return plain and all(linear_form(e) is not None for e in map_.results)


def _goes_on(group: Group, op: Operation, ours: list[SSAValue]) -> bool:
    """A contraction after an input transform that is to share its kernel, and the output transform after that."""
    last = group.members[-1]
    alone = all(value.owner is last and value.has_one_use() for value in ours)
    if isinstance(last, WinogradInputTransformOp):
        return alone and isinstance(op, GenericOp) and BLOCK_ROWS in op.attributes
    return alone and BLOCK_ROWS in last.attributes and isinstance(op, WinogradOutputTransformOp)


def _packs_for(group: Group, op: Operation, ours: list[SSAValue]) -> bool:
    """A contraction and the packing of its right operand."""
    return (
        len(group.members) == 1
        and isinstance(group.members[0], PackOp)
        and isinstance(op, GenericOp)
        and is_tiled_contraction(op)
        and all(use.operation is op for use in ours[0].uses)
    )


def _has_filters_transformed(group: Group, op: Operation, ours: list[SSAValue]) -> bool:
    """A contraction whose filters Winograd's transform makes right before they are used."""
    [first, *others] = group.members
    alone = not others and all(value.has_one_use() for value in ours)
    return alone and isinstance(first, WinogradFilterTransformOp) and isinstance(op, GenericOp)


def _pads_for(group: Group, op: Operation, ours: list[SSAValue], pools: bool) -> bool:
    """A depthwise convolution and the zeros around its image, or, of `pools`, a pool and what is around its image."""
    pad = group.members[0]
    alone = len(group.members) == 1 and all(value.has_one_use() for value in ours)
    if not alone or not isinstance(pad, PadOp) or not isinstance(op, GenericOp):
        return False
    if pools and match_pool(op) is not None:
        return True
    found = match_depthwise(op)
    return found is not None and zeros_before(pad, found.space) is not None


def row_sizes(op: Operation) -> tuple[int, ...] | None:
    """The leading parallel loops in which an op walks its results in order, or None where it has no such form.

    Here and below, loops of one step do not count.
    """
    if not isinstance(op, GenericOp) or not all(_is_plain(m) for m in op.maps):
        return None
    ranges = loop_ranges(op)
    live = [d for d, n in enumerate(ranges) if n != 1]
    count = 0
    outs = op.maps[len(op.inputs) :]
    while (
        count < len(live)
        and op.iterators[live[count]] == "parallel"
        and all(_leads(m, live[: count + 1], ranges) for m in outs)
    ):
        count += 1
    return tuple(ranges[d] for d in live[:count])


def _is_plain(map_: AffineMap) -> bool:
    """Every subscript is a loop or a constant."""
    return all(isinstance(e, AffineDimExpr) or not e.used_dims() for e in map_.results)


def _leads(map_: AffineMap, loops: list[int], ranges: tuple[int, ...]) -> bool:
    """The first subscripts are `loops`."""
    dims = [e.position for e in map_.results if isinstance(e, AffineDimExpr) and ranges[e.position] != 1]
    return dims[: len(loops)] == loops


def _shared_rows(group: Group, op: Operation, ours: list[SSAValue]) -> tuple[int, ...] | None:
    """The rows that the group and `op` have in common, None where they should not share a kernel."""
    if group.rows is None or not isinstance(op, GenericOp) or is_tiled_contraction(op):
        return None
    mine = row_sizes(op)
    if mine is None or not all(v in op.operands for v in ours):
        return None
    ranges = loop_ranges(op)
    live = [d for d, n in enumerate(ranges) if n != 1]
    reads = [op.maps[i] for i, v in enumerate(op.operands) if v in ours]
    count = 0
    for a, b in zip(group.rows, mine, strict=False):
        if a != b or not all(_leads(m, live[: count + 1], ranges) for m in reads):
            break
        count += 1
    if len(live) - count > 2 or (count == 0 and prod(ranges) > SMALL):
        return None
    return mine[:count]


def is_movement(op: Operation) -> bool:
    """An op that computes nothing."""
    if isinstance(op, GenericOp):
        return all(isinstance(inner, YieldOp | IndexOp | ExtractOp) for inner in op.body.block.ops)
    return not isinstance(op, scf.ForOp)


def is_free(op: Operation) -> bool:
    """An op of the caller that costs nothing: a constant or a view, rows of a constant from a computed one on too."""
    if isinstance(op, ExtractSliceOp):
        return bool(op.offsets)
    return isinstance(op, arith.ConstantOp | CollapseShapeOp | ExpandShapeOp)
