"""The stages of a pipeline over rows: which loops can be some, what they may keep, and how much memory they live in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.ir import Operation, SSAValue

from ....compiler.machine import Machine
from ....dialects.affine import ApplyOp, ForOp, LoadOp, MaxOp, MinOp, ParallelOp, StoreOp, YieldOp
from ....dialects.affine.linear_forms import memref_shape
from ....dialects.memref import LoadOp as MemRefLoadOp
from ....dialects.memref.views import root
from ..accesses import MemoryAccess, accesses, map_subscripts
from ..loops import element_bytes, is_innermost
from ..prefetch_rows import AHEAD_TOGETHER

MOST_STAGES = 4
_SIMPLE = (LoadOp, StoreOp, MemRefLoadOp, ApplyOp, MinOp, MaxOp, YieldOp)
_Place = tuple[object, ...]


@dataclass
class Stage:
    """A loop over a row, what is computed before it (of the first one only) and from its results."""

    loop: ForOp
    before: list[Operation] = field(default_factory=list[Operation])
    after: list[Operation] = field(default_factory=list[Operation])

    @property
    def ops(self) -> list[Operation]:
        """All of them, but for the loop itself."""
        return [*self.before, *self.loop.body.block.ops, *self.after]

    @property
    def accesses(self) -> list[MemoryAccess]:
        """Of memory, in program order."""
        return accesses(self.ops)


def stages_of(outer: ParallelOp) -> list[Stage] | None:
    """The loops of which the body consists, if there are a few over the same range, with only scalars between them."""
    found: list[Stage] = []
    before: list[Operation] = []
    for op in outer.body.block.ops:
        if isinstance(op, ForOp):
            bounds = op.constant_bounds()
            if bounds is None or (found and bounds != found[0].loop.constant_bounds()) or not is_innermost(op):
                return None
            found.append(Stage(op, [] if found else before))
        elif not isinstance(op, YieldOp):
            (found[-1].after if found else before).append(op)
    simple = all(_is_simple(op) for stage in found for op in stage.ops)
    return found if simple and 2 <= len(found) <= MOST_STAGES and not outer.results else None


def _is_simple(op: Operation) -> bool:
    return not op.regions and (op.name.startswith(("arith.", "math.")) or isinstance(op, _SIMPLE))


def overwritten(stages: Sequence[Stage]) -> set[SSAValue]:
    """Buffers that the last loop but one stores row by row and only the last one reads, which stores there as well."""
    *_, previous, last = stages
    found: set[SSAValue] = set()
    for store in previous.loop.body.block.ops:
        if not isinstance(store, StoreOp):
            continue
        uses = [(stage, access) for stage in stages for access in stage.accesses if access.root is root(store.memref)]
        others = [(stage, access) for stage, access in uses if access.op is not store]
        place = _place(store, previous.loop)
        same = all(
            stage is last and isinstance(access.op, LoadOp | StoreOp) and _place(access.op, last.loop) == place
            for stage, access in others
        )
        if same and place is not None and any(access.writes for _, access in others):
            found.add(root(store.memref))
    return found


def _place(op: LoadOp | StoreOp, loop: ForOp) -> _Place | None:
    """Where an access is in a loop, as something to compare with one in another loop; None if it stands still there."""
    if op.parent_op() is not loop:
        return None
    subscripts = map_subscripts(op.map.data, op.indices)
    if None in subscripts or not any(s and loop.variable in s.terms for s in subscripts):
        return None
    terms = [
        (s.constant, frozenset((None if k is loop.variable else k, c) for k, c in s.terms.items()))
        for s in subscripts
        if s is not None
    ]
    return op.memref, *terms


def may_overlap(stages: Sequence[Stage], own: set[SSAValue]) -> bool:
    """Whether each buffer that is written is of one stage only, which may write it again, unless it is the last one.

    Stages that run ahead go through a chunk's last row more than once. In each iteration reads come before writes.
    """
    for number, stage in enumerate(stages):
        if _reads_what_it_wrote(stage.loop):
            return False
        found = [access for access in stage.accesses if access.root not in own]
        written = {access.root for access in found if access.writes}
        if number + 1 < len(stages) and any(access.root in written and not access.writes for access in found):
            return False
        others = (access.root for other in stages if other is not stage for access in other.accesses)
        if not written.isdisjoint(others):
            return False
    return True


def _reads_what_it_wrote(loop: ForOp) -> bool:
    """Whether an iteration loads from a buffer after a store to it."""
    written: set[SSAValue] = set()
    for access in accesses(loop.body.block.ops):
        if access.writes:
            written.add(access.root)
        elif access.root in written:
            return True
    return False


def live_bytes(stages: Sequence[Stage], own: set[SSAValue], outer: ParallelOp, machine: Machine) -> int:
    """What has to stay in the first cache: of each array as many rows as there are stages from the first that reads it
    to the last, of a large one what memory is asked for, and what is stored besides."""
    seen: dict[SSAValue, int] = {}
    total = 0
    for number, stage in enumerate(stages):
        _, upper, _ = stage.loop.constant_bounds() or (0, 0, 1)
        for access in stage.accesses:
            row = element_bytes(access.memref) * upper
            if access.root not in seen:
                large = prod(memref_shape(access.memref) or ()) * element_bytes(access.memref) >= machine.l2_bytes
                total += row + (max(row, AHEAD_TOGETHER) if large and not access.writes else 0)
            elif access.root in own or _moves(access, outer):
                total += row * (number - seen[access.root])
            seen[access.root] = number
    return total


def _moves(access: MemoryAccess, outer: ParallelOp) -> bool:
    variable = outer.body.block.args[-1]
    return access.subscripts is None or any(s is None or variable in s.terms for s in access.subscripts)
