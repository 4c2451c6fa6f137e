"""What a reader finds in a buffer whose writers each fill a box of it: the values that were stored, computed again.

Pads and concatenations are such buffers: a copy in the middle and constants around it, or parts side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf, prod
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr, IndexType, MemRefType, NoneAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineConstraintKind, AffineDimExpr, AffineExpr, AffineMap, AffineSet
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.dtypes import dtype_of
from ...compiler.effects import is_pure
from ...compiler.locations import locate
from ...compiler.walking import all_ops
from ...dialects.affine import ApplyOp, ForOp, IfOp, LoadOp, ParallelOp, StoreOp, YieldOp
from ...dialects.memref import LoadOp as GatherOp
from ...dialects.memref.views import root
from ..affine.accesses import map_subscripts
from ..affine.loops import erase
from ..bufferization.layout import scratch_of
from .bands import band_of, sizes_of
from .kernels import placed
from .team_points import SECTOR, team_of
from .turned_boxes import boxes_of
from .widen_points import plan_of

LOADS = 16  # of one buffer that are replaced: each becomes a chain of conditions
WRITERS = 24
CHEAP = 4  # operations that may be done again for each element of a window


@dataclass(frozen=True)
class Box:
    """What a nest stores in [low, high) of a buffer; `variables` tells which subscript each of its loops is."""

    nest: ParallelOp
    store: StoreOp
    low: tuple[int, ...]
    high: tuple[int, ...]
    variables: Mapping[SSAValue, int]  # the subscript that each loop is, but for `low`
    slice: tuple[Operation, ...]  # what computes the value

    @property
    def points(self) -> int:
        """How many elements there are."""
        return prod(b - a for a, b in zip(self.low, self.high, strict=True))

    @property
    def constant(self) -> Attribute | None:
        """The value, where it is a constant."""
        owner = self.store.value.owner
        return owner.value if isinstance(owner, arith.ConstantOp) else None

    def meets(self, other: Box) -> bool:
        """Whether both write an element."""
        sides = zip(self.low, self.high, other.low, other.high, strict=True)
        return all(a < d and c < b for a, b, c, d in sides)


def hand_on(function: FuncOp) -> bool:
    """Lets the reader of one buffer of the kernel's own take what was stored there; whether there was any."""
    block = function.body.block
    return any(_replaced(buffer, block) for buffer in scratch_of(function))


def _replaced(buffer: SSAValue, block: Block) -> bool:
    order = {op: i for i, op in enumerate(block.ops)}
    users: dict[Operation, list[Operation]] = {}
    for use in buffer.uses:
        users.setdefault(_top(use.operation, block), []).append(use.operation)
    writers = [op for op in users if any(isinstance(each, StoreOp) for each in users[op])]
    readers = [op for op in users if op not in writers]
    nests = [op for op in users if isinstance(op, ParallelOp)]
    if not readers or not writers or len(nests) < len(users) or len(users) > WRITERS:
        return False
    if max(map(order.__getitem__, writers)) > min(map(order.__getitem__, readers)):
        return False
    loads = [op for reader in readers for op in users[reader] if isinstance(op, LoadOp) and not op.map.data.num_symbols]
    if len(loads) < sum(len(users[reader]) for reader in readers) or len(loads) > LOADS:
        return False
    boxes = [box_of(nest, buffer) for nest in nests if nest in writers]
    found = [box for box in boxes if box is not None]
    found.sort(key=lambda box: order[box.nest])
    chain = _chain(found, buffer) if len(found) == len(boxes) else None
    if chain is None or not _may_wait(found, max(readers, key=order.__getitem__), order):
        return False
    sources = sum(box.constant is None for box in chain)
    if len(chain) > 1 and any(team_of(n) or (sources > 1 and boxes_of(n)) for n in nests if n in readers):
        return False  # they take no conditions, or but those between one source and constants, and gain more
    several = len(readers) > 1
    if (several or any(isinstance(op.parent_op(), ForOp) for op in loads)) and not _worth(found, loads, several):
        return False
    for load in loads:
        _Read(load, chain).put()
    for box in found:
        erase(box.store)
    return True


def join_parts(function: FuncOp) -> None:
    """Lets one nest write a result whose parts, each of a nest, share sectors: the value that each point's part has."""
    block = function.body.block
    for buffer in block.args:
        nests = list(dict.fromkeys(_top(use.operation, block) for use in buffer.uses))
        order = {op: i for i, op in enumerate(block.ops)}
        boxes = [box_of(nest, buffer) for nest in nests if isinstance(nest, ParallelOp)]
        found = sorted((box for box in boxes if box is not None), key=lambda box: order[box.nest])
        if len(found) < len(nests) or not 1 < len(found) <= LOADS or not (any(map(_narrow, found)) or _pads(found)):
            continue
        chain = _chain(found, buffer)
        last = found[-1].nest
        if chain is None or len(chain) < 2 or not _may_wait(found, last, order):
            continue
        load = _copied(buffer, last)
        _Read(load, chain).put()
        for box in found:
            erase(box.store)


def _pads(boxes: Sequence[Box]) -> bool:
    """Whether all but one are constants, around points that are taken one by one."""
    inside = [box.nest for box in boxes if box.constant is None]
    return len(inside) == 1 and not any(map(plan_of, inside)) and not any(map(team_of, inside))


def _narrow(box: Box) -> bool:
    """Whether rows of a box are part of a row and of a sector."""
    type_ = box.store.memref.type
    assert isinstance(type_, MemRefType)
    columns = box.high[-1] - box.low[-1]
    return columns < type_.get_shape()[-1] and columns * dtype_of(type_).itemsize < SECTOR


def _copied(buffer: SSAValue, last: ParallelOp) -> LoadOp:
    """A nest behind another one that writes each element of a buffer over itself; the load of it."""
    type_ = buffer.type
    assert isinstance(type_, MemRefType)
    block = Block(arg_types=[IndexType()] * type_.get_num_dims())
    indices = cast("list[SSAValue[IndexType]]", list(block.args))
    identity = AffineMapAttr(AffineMap.identity(len(indices)))
    load = LoadOp(buffer, indices, identity)
    block.add_ops([load, StoreOp(load.result, buffer, indices, identity), YieldOp.get()])
    nest = ParallelOp.of([0] * len(indices), list(type_.get_shape()), Region(block))
    Rewriter.insert_op(placed(nest, last), InsertPoint.after(last))
    return load


def _worth(boxes: Sequence[Box], loads: Sequence[LoadOp], several: bool) -> bool:
    """Whether loads in loops or of several readers may compute the values: cheap ones, with as little that is read."""
    again = sum(map(_times, loads)) / max(sum(box.points for box in boxes), 1)
    if again <= 1:
        return True
    costly = max(sum(not isinstance(op, arith.ConstantOp | LoadOp | ApplyOp) for op in box.slice) for box in boxes)
    read = max(sum(isinstance(op, LoadOp | GatherOp) for op in box.slice) for box in boxes)
    return costly <= CHEAP and (not several or read * again <= read + 1 + again)


def _times(load: LoadOp) -> float:
    """How often a load in a nest is run."""
    times, op = 1, load.parent_op()
    while isinstance(op, ForOp | ParallelOp | IfOp):
        if isinstance(op, ForOp):
            if op.trip_count is None:
                return inf
            times *= op.trip_count
        elif isinstance(op, ParallelOp):
            sizes = sizes_of([op])
            if sizes is None:
                return inf
            times *= prod(sizes)
        op = op.parent_op()
    return times


def _top(op: Operation, block: Block) -> Operation:
    """The op of `block` that `op` is or is in."""
    while op.parent is not block:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


def box_of(nest: ParallelOp, buffer: SSAValue) -> Box | None:
    """What a nest stores; None where that is no box, or where it does more with the buffer."""
    band = band_of(nest)
    sizes = sizes_of(band)
    uses = [op for op in all_ops(nest) if any(root(v) is buffer for v in op.operands if isinstance(v.type, MemRefType))]
    if sizes is None or len(uses) != 1 or not isinstance(uses[0], StoreOp) or uses[0].parent is not band[-1].body.block:
        return None
    store = uses[0]
    type_ = store.memref.type
    if store.memref is not buffer or not isinstance(type_, MemRefType) or not isinstance(type_.layout, NoneAttr):
        return None
    ranges: dict[SSAValue, int] = dict(zip([v for loop in band for v in loop.body.block.args], sizes, strict=True))
    low: list[int] = []
    high: list[int] = []
    variables: dict[SSAValue, int] = {}
    for i, subscript in enumerate(map_subscripts(store.map.data, store.indices)):
        if subscript is None or len(subscript.terms) > 1 or any(v not in ranges for v in subscript.terms):
            return None
        extent = 1
        for variable, factor in subscript.terms.items():
            if factor != 1 or variable in variables:
                return None
            variables[variable] = i
            extent = ranges[variable]
        low.append(subscript.constant)
        high.append(subscript.constant + extent)
    if any(v not in variables and n > 1 for v, n in ranges.items()):
        return None
    needed = _slice(store.value, band[-1].body.block)
    return None if needed is None else Box(nest, store, tuple(low), tuple(high), variables, needed)


def _slice(value: SSAValue, block: Block) -> tuple[Operation, ...] | None:
    """The ops of `block` that compute a value, in order; None where some of them do more than load and compute."""
    needed: set[Operation] = set()
    waiting = [value]
    while waiting:
        owner = waiting.pop().owner
        if isinstance(owner, Operation) and owner.parent is block and owner not in needed:
            inner = all_ops(owner)
            if any(isinstance(op, ForOp) for op in inner):
                return None
            if not all(isinstance(op, LoadOp | GatherOp | IfOp | YieldOp) or is_pure(op) for op in inner):
                return None
            needed.add(owner)
            waiting += [operand for op in inner for operand in op.operands]
    return tuple(op for op in block.ops if op in needed)


def _chain(boxes: Sequence[Box], buffer: SSAValue) -> list[Box] | None:
    """Boxes in the order in which they are asked, the last one without; None where nobody wrote some of the buffer."""
    type_ = buffer.type
    if not boxes or not isinstance(type_, MemRefType):
        return None
    if any(a.meets(b) for a, b in combinations(boxes, 2)):
        return list(reversed(boxes)) if boxes[0].points == prod(type_.get_shape()) else None
    if sum(box.points for box in boxes) != prod(type_.get_shape()):
        return None
    ordered = sorted(boxes, key=lambda box: (box.constant is not None, -box.points))
    while len(ordered) > 1 and ordered[-1].constant is not None and ordered[-1].constant == ordered[-2].constant:
        ordered.pop()
    return ordered


def _may_wait(boxes: Sequence[Box], reader: Operation, order: Mapping[Operation, int]) -> bool:
    """Whether what was stored is the same when the reader computes it."""
    for box in boxes:
        loads = [op for each in box.slice for op in all_ops(each) if isinstance(op, LoadOp | GatherOp)]
        loaded = {root(op.memref) for op in loads}
        for other, place in order.items():
            if order[box.nest] <= place <= order[reader]:
                written = [root(op.memref) for op in all_ops(other) if isinstance(op, StoreOp)]
                known = all(isinstance(op, StoreOp) or _harmless(op) for op in all_ops(other))
                if not known or any(buffer in loaded for buffer in written):
                    return False
    return True


def _harmless(op: Operation) -> bool:
    return isinstance(op, LoadOp | GatherOp | IfOp | ForOp | ParallelOp | YieldOp) or is_pure(op)


class _Read:
    def __init__(self, load: LoadOp, chain: Sequence[Box]):
        self.load, self.chain = load, chain
        type_ = load.memref.type
        assert isinstance(type_, MemRefType)
        self.shape = type_.get_shape()

    def put(self) -> None:
        """The value in the place of the load."""
        b = Builder(InsertPoint.before(self.load))
        place = [self._coordinate(b, expr) for expr in self.load.map.data.results]
        value = self._value(b, list(self.chain), place)
        before = self.load.prev_op
        if before is not None:
            locate(before, self.load.location)
        self.load.result.replace_all_uses_with(value)
        erase(self.load)

    def _coordinate(self, b: Builder, expr: AffineExpr) -> SSAValue:
        if isinstance(expr, AffineDimExpr):
            return self.load.indices[expr.position]
        used = sorted(expr.used_dims())
        dims = [AffineExpr.dimension(used.index(d) if d in used else 0) for d in range(self.load.map.data.num_dims)]
        map = AffineMap(len(used), 0, (expr.replace_dims_and_symbols(dims, []),))
        return b.insert(ApplyOp([self.load.indices[d] for d in used], AffineMapAttr(map))).result

    def _value(self, b: Builder, chain: Sequence[Box], place: Sequence[SSAValue]) -> SSAValue:
        box, *others = chain
        conditions: list[AffineConstraintExpr] = []
        asked: list[SSAValue] = []
        for at, low, high, extent in zip(place, box.low, box.high, self.shape, strict=True):
            sides = ([AffineExpr.dimension(len(asked)) - low] if low > 0 else []) + (
                [AffineExpr.constant(high - 1) - AffineExpr.dimension(len(asked))] if high < extent else []
            )
            zero = AffineExpr.constant(0)
            conditions += [AffineConstraintExpr(AffineConstraintKind.ge, side, zero) for side in sides]
            asked += [at] if sides else []
        if not others or not conditions:
            return self._computed(b, box, place)
        yes, no = Block(), Block()
        for block, value in (
            (yes, lambda b: self._computed(b, box, place)),
            (no, lambda b: self._value(b, others, place)),
        ):
            inside = Builder(InsertPoint.at_end(block))
            inside.insert(YieldOp.get(value(inside)))
        condition = AffineSetAttr(AffineSet(len(asked), 0, tuple(conditions)))
        return b.insert(IfOp(condition, asked, [self.load.result.type], Region(yes), Region(no))).results[0]

    def _computed(self, b: Builder, box: Box, place: Sequence[SSAValue]) -> SSAValue:
        """What the nest of a box stored at a place."""
        values: dict[SSAValue, SSAValue] = {}
        for loop in band_of(box.nest):
            for variable in loop.body.block.args:
                i = box.variables.get(variable)
                steps = AffineExpr.dimension(0) - box.low[i] if i is not None else AffineExpr.constant(0)
                if i is not None and not box.low[i]:
                    values[variable] = place[i]
                else:
                    map = AffineMapAttr(AffineMap(int(i is not None), 0, (steps,)))
                    values[variable] = b.insert(ApplyOp([place[i]] if i is not None else [], map)).result
        for op in box.slice:
            b.insert(op.clone(values))
        return values.get(box.store.value, box.store.value)
