"""affine-pipeline-rows: the loops that go through a row again run at the same time, each on a row of its own.

before:
    affine.parallel (%r) = (0) to (4096) {
      %highest = affine.for %j = 0 to 1024 ... { affine.load %x[%r, %j]; arith.maximumf }
      %total = affine.for %j = 0 to 1024 ... { affine.load %x[%r, %j]; math.exp; affine.store %y[%r, %j]; arith.addf }
      affine.for %j = 0 to 1024 { affine.load %y[%r, %j]; arith.mulf; affine.store %y[%r, %j] }
    }
after:
    affine.parallel (%c) = (0) to (16) {
      %row = memref.alloca() : memref<1024xf32>
      ... the first loop of row %c * 256, the second loop of it, the first loop of the row behind it
      affine.for %i = 0 to 256 iter_args(%highest, %total) {
        %next = affine.min (%c * 256 + %i + 1, %c * 256 + 255)
        %last = affine.min (%c * 256 + %i + 2, %c * 256 + 255)
        affine.for %j = 0 to 1024 ... {
          affine.load %row[%j]; arith.mulf
          affine.load %x[%next, %j]; math.exp; arith.addf
          affine.load %x[%last, %j]; arith.maximumf
          affine.store %y[%c * 256 + %i, %j]
          affine.store %row[%j]
        }
      }
    }

This is software pipelining (Lam, PLDI 1988) of the loop over rows, whose iterations are independent, with a whole inner
loop as a stage. One after the other, the first loop waits for memory while nothing is computed, the last fills memory
while nothing is read, and each ends with a sum over lanes that all wait for; together, the processor always has some of
each to do. What one loop writes for the next, if that overwrites it, stays in a row of its own, so that the array is
written once and nothing reads it. At the end of a chunk the stages that run ahead go through its last row again, and
nobody asks for what they find. All reads of an iteration stand before its writes: a load behind a store whose address
has the same last twelve bits waits for it.

The rows that are gone through together have to be in the first cache. A softmax of 4096 rows of 1024 numbers took 0.82
ms on Zen 5 and takes @@@.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, IndexType, MemRefType, ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.context import lamina_context
from ...compiler.machine import Machine
from ...dialects.affine import ApplyOp, ForOp, LoadOp, MaxOp, MinOp, ParallelOp, StoreOp, YieldOp
from ...dialects.affine.linear_forms import memref_shape
from ...dialects.memref import AllocaOp
from ...dialects.memref import LoadOp as MemRefLoadOp
from ...dialects.memref.views import root
from .accesses import MemoryAccess, accesses, map_subscripts
from .loops import OpT, element_bytes, erase, functions, is_innermost, new_parallel, substitute, terminated

LEAST = 32  # rows of a chunk at least: some stages run once or twice more for each chunk
MOST = 256
MOST_STAGES = 4
AHEAD = 8192
PAGE = 4096  # bytes: large arrays begin close behind a page's begin, and so should what is read and written beside them
_PURE = (LoadOp, StoreOp, MemRefLoadOp, ApplyOp, MinOp, MaxOp)
_Place = tuple[object, ...]


@dataclass(frozen=True)
class PipelineRows(ModulePass):
    """Loops that go through a row again run at the same time, on rows behind one another."""

    name = "affine-pipeline-rows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = lamina_context(ctx).machine
        for function in functions(op):
            for outer in [each for each in function.body.walk() if isinstance(each, ParallelOp)]:
                stages = _stages(outer)
                if stages is None:
                    continue
                own = _overwritten(stages)
                rows = _row_count(outer)
                if rows >= LEAST and _may(stages, own) and _live_bytes(stages, own, outer, machine) <= machine.l1_bytes:
                    _Pipeline(outer, stages, own, rows, _chunk(rows, machine)).write()


@dataclass
class _Stage:
    """A loop over a row, what is computed before it (of the first one only) and from its results."""

    loop: ForOp
    before: list[Operation] = field(default_factory=list[Operation])
    after: list[Operation] = field(default_factory=list[Operation])

    @property
    def ops(self) -> list[Operation]:
        return [*self.before, *self.loop.body.block.ops, *self.after]

    @property
    def accesses(self) -> list[MemoryAccess]:
        return accesses(self.ops)


def _stages(outer: ParallelOp) -> list[_Stage] | None:
    """The loops of which the body consists, if there are a few over the same range, with only scalars between them."""
    found: list[_Stage] = []
    before: list[Operation] = []
    for op in outer.body.block.ops:
        if isinstance(op, ForOp):
            bounds = op.constant_bounds()
            if bounds is None or (found and bounds != found[0].loop.constant_bounds()) or not is_innermost(op):
                return None
            found.append(_Stage(op, [] if found else before))
        elif not isinstance(op, YieldOp):
            (found[-1].after if found else before).append(op)
    simple = all(_is_simple(op) for stage in found for op in stage.ops)
    return found if simple and 2 <= len(found) <= MOST_STAGES and not outer.results else None


def _is_simple(op: Operation) -> bool:
    return not op.regions and (op.name.startswith(("arith.", "math.")) or isinstance(op, (*_PURE, YieldOp)))


def _row_count(outer: ParallelOp) -> int:
    bounds = outer.constant_bounds()
    whole = bounds is not None and bounds[0][-1] == 0 and outer.steps.data[-1].value.data == 1
    return bounds[1][-1] if bounds is not None and whole else 0


def _chunk(rows: int, machine: Machine) -> int:
    """Rows of a chunk: two chunks for each core, if they are long enough; all chunks equally long."""
    size = min(MOST, max(LEAST, -(-rows // (2 * machine.cores))))
    return -(-rows // -(-rows // size))


def _overwritten(stages: Sequence[_Stage]) -> set[SSAValue]:
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


def _may(stages: Sequence[_Stage], own: set[SSAValue]) -> bool:
    """Whether each buffer that is written is of one stage only, and may be written again but by the last one."""
    for number, stage in enumerate(stages):
        found = [access for access in stage.accesses if access.root not in own]
        written = {access.root for access in found if access.writes}
        if number + 1 < len(stages) and any(access.root in written and not access.writes for access in found):
            return False
        others = (access.root for other in stages if other is not stage for access in other.accesses)
        if not written.isdisjoint(others):
            return False
    return True


def _live_bytes(stages: Sequence[_Stage], own: set[SSAValue], outer: ParallelOp, machine: Machine) -> int:
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
                total += row + (max(row, AHEAD) if large and not access.writes else 0)
            elif access.root in own or _moves(access, outer):
                total += row * (number - seen[access.root])
            seen[access.root] = number
    return total


def _moves(access: MemoryAccess, outer: ParallelOp) -> bool:
    variable = outer.body.block.args[-1]
    return access.subscripts is None or any(s is None or variable in s.terms for s in access.subscripts)


class _Pipeline:
    """Writes the loop over chunks in place of `outer`."""

    def __init__(self, outer: ParallelOp, stages: Sequence[_Stage], own: set[SSAValue], rows: int, size: int):
        self.outer = outer
        self.stages = stages
        self.own = own
        self.rows = rows
        self.size = size
        self.block = Block(arg_types=[IndexType()] * len(outer.body.block.args))
        for new, old in zip(self.block.args, outer.body.block.args, strict=True):
            new.name_hint = old.name_hint
        self.variable = outer.body.block.args[-1]
        self.chunk = self.block.args[-1]
        self.outside = dict(zip(outer.body.block.args, self.block.args, strict=True))
        self.needed = self._needed()
        self.kept: dict[SSAValue, SSAValue] = {}

    def _needed(self) -> dict[SSAValue, tuple[int, int]]:
        """What a stage computes for later ones: its stage, and how many rows later it is needed at last."""
        defined = {
            result: number
            for number, stage in enumerate(self.stages)
            for op in (*stage.before, stage.loop, *stage.after)
            for result in op.results
        }
        found: dict[SSAValue, tuple[int, int]] = {}
        for number, stage in enumerate(self.stages):
            for op in (*stage.ops, stage.loop):
                for operand in op.operands:
                    start = defined.get(operand, number)
                    if start < number:
                        found[operand] = start, number - start
        return found

    def write(self) -> None:
        """Chunks, each with its first rows' first stages, and a loop over rows."""
        for buffer in self.own:
            element = buffer.type.element_type  # pyright: ignore
            _, upper, _ = self.stages[0].loop.constant_bounds() or (0, 0, 1)
            self.kept[buffer] = self._put(AllocaOp.get(element, PAGE, [upper]), self.block).memref
        handed: dict[SSAValue, list[SSAValue]] = {value: [] for value in self.needed}
        count = len(self.stages)
        for step in range(count - 1):
            before = {value: list(each) for value, each in handed.items()}
            for number in reversed(range(step + 1)):
                known = self._known(number, before)
                known[self.variable] = self._row(step - number, None, self.block)
                self._one(self.stages[number], known)
                self._hand(number, known, handed)
        inits = [value for each in handed.values() for value in each]
        body = Block(arg_types=[IndexType(), *(value.type for value in inits)])
        carried = iter(body.args[1:])
        before = {value: [next(carried) for _ in each] for value, each in handed.items()}
        self._together(body, before)
        rows = self._rows_loop(body, inits)
        self.block.add_op(rows)
        bounds = self.outer.constant_bounds()
        assert bounds is not None
        upper = [*bounds[1][:-1], -(-self.rows // self.size)]
        parallel = new_parallel(upper, terminated(self.block, self.outer), self.outer)
        parallel.properties["steps"] = self.outer.steps
        parallel.properties["lowerBoundsMap"] = self.outer.lowerBoundsMap
        Rewriter.insert_op(parallel, InsertPoint.before(self.outer))
        erase(self.outer)

    def _rows_loop(self, body: Block, inits: Sequence[SSAValue]) -> ForOp:
        if self.rows % self.size == 0:
            loop = ForOp.of(0, self.size, body, inits=inits)
        else:
            left = AffineExpr.constant(self.rows) - AffineExpr.dimension(0) * self.size
            upper = AffineMapAttr(AffineMap(1, 0, (AffineExpr.constant(self.size), left)))
            types = [value.type for value in inits]
            loop = ForOp.from_region([], [self.chunk], inits, types, 0, upper, Region(body))
        loop.location = self.outer.location
        return loop

    def _known(self, number: int, handed: dict[SSAValue, list[SSAValue]]) -> dict[SSAValue, SSAValue]:
        """What a stage finds in place of the values that earlier ones computed of its row."""
        known: dict[SSAValue, SSAValue] = dict(self.outside)
        for value, (start, _) in self.needed.items():
            lag = number - start
            if 0 < lag <= len(handed[value]):
                known[value] = handed[value][lag - 1]
        return known

    def _hand(self, number: int, known: dict[SSAValue, SSAValue], handed: dict[SSAValue, list[SSAValue]]) -> None:
        """Hands on what a stage has computed, the newest first."""
        for value, (start, most) in self.needed.items():
            if start == number:
                handed[value] = [known[value], *handed[value]][:most]

    def _row(self, ahead: int, index: SSAValue | None, block: Block) -> SSAValue:
        """The row so many behind the chunk's first, or behind a row of it, but no further than its last one."""
        operands = [self.chunk] if index is None else [self.chunk, index]
        start = AffineExpr.dimension(0) * self.size
        place = start + ahead if index is None else start + AffineExpr.dimension(1) + ahead
        places = [place]
        if index is not None:
            places.append(start + (self.size - 1))
        if self.rows % self.size and ahead:
            places.append(AffineExpr.constant(self.rows - 1))
        map_ = AffineMapAttr(AffineMap(len(operands), 0, tuple(places)))
        return self._put(ApplyOp(operands, map_) if len(places) == 1 else MinOp(operands, map_), block).results[0]

    def _put(self, op: OpT, block: Block) -> OpT:
        op.location = self.outer.location
        block.add_op(op)
        return op

    def _one(self, stage: _Stage, known: dict[SSAValue, SSAValue]) -> None:
        """A stage as it was, of one row."""
        for op in (*stage.before, stage.loop, *stage.after):
            new = op.clone(known)
            self.block.add_op(new)
            if op is stage.loop:
                for old, inner in zip(stage.loop.body.block.ops, list(new.regions[0].block.ops), strict=True):
                    self._keep(old, inner, new.regions[0].block.args[0])

    def _keep(self, old: Operation, new: Operation, index: SSAValue) -> Operation:
        """An access of what stays in a row of its own instead of `new`."""
        if not isinstance(old, LoadOp | StoreOp) or root(old.memref) not in self.kept:
            return new
        last = old.parent_op() is self.stages[-1].loop
        if last and isinstance(old, StoreOp):
            return new
        kept = self.kept[root(old.memref)]
        map_ = AffineMapAttr(AffineMap.identity(1))
        element = kept.type.element_type  # pyright: ignore
        if isinstance(new, StoreOp):
            other = StoreOp(new.value, kept, [index], map_)
        else:
            other = LoadOp(kept, [index], map_, element)
        other.location = old.location
        if new.parent_block() is not None:
            Rewriter.replace_op(new, other)
        else:
            new.erase()
        return other

    def _together(self, body: Block, handed: dict[SSAValue, list[SSAValue]]) -> None:
        """All stages at once, the last one of the row that the loop is at."""
        stages, index = self.stages, body.args[0]
        known = [self._known(number, handed) for number in range(len(stages))]
        at = Block(arg_types=[IndexType()]).args[0]
        for number in range(len(stages)):
            ahead = len(stages) - 1 - number
            known[number][self.variable] = self._row(ahead, index, body) if ahead else at
        for op in stages[0].before:
            body.add_op(op.clone(known[0]))
        inner = Block(arg_types=[IndexType()])
        inner.args[0].name_hint = stages[0].loop.variable.name_hint
        inits: list[SSAValue] = []
        yields: list[SSAValue] = []
        stores: list[Operation] = []
        for number in reversed(range(len(stages))):
            loop, mine = stages[number].loop, known[number]
            mine[loop.variable] = inner.args[0]
            for argument, init in zip(loop.carried, loop.inits, strict=True):
                inits.append(mine.get(init, init))
                mine[argument] = inner.insert_arg(argument.type, len(inner.args))
            for op in loop.body.block.ops:
                if isinstance(op, YieldOp):
                    yields += [mine.get(value, value) for value in op.arguments]
                    continue
                new = self._keep(op, op.clone(mine), inner.args[0])
                for old, result in zip(op.results, new.results, strict=True):
                    mine[old] = result
                if isinstance(new, StoreOp):
                    stores.append(new)
                else:
                    inner.add_op(new)
        for store in stores:
            inner.add_op(store)
        lower, upper, step = stages[0].loop.constant_bounds() or (0, 0, 1)
        merged = ForOp.of(lower, upper, terminated(inner, stages[0].loop, *yields), step=step, inits=inits)
        self._put(merged, body)
        results = iter(merged.results)
        after = {value: list(each) for value, each in handed.items()}
        for number in reversed(range(len(stages))):
            for result in stages[number].loop.results:
                known[number][result] = next(results)
            for op in stages[number].after:
                body.add_op(op.clone(known[number]))
            self._hand(number, known[number], after)
        terminated(body, self.outer, *(value for each in after.values() for value in each))
        place = AffineExpr.dimension(0) * self.size + AffineExpr.dimension(1)
        assert isinstance(at, BlockArgument)
        substitute(at, place, [self.chunk, index], body)
