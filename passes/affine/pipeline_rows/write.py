"""Writes a pipeline over rows: chunks of rows, in each a loop over rows whose body does all stages at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from xdsl.dialects.builtin import AffineMapAttr, IndexType
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from ....dialects.affine import ApplyOp, ForOp, LoadOp, MinOp, ParallelOp, StoreOp, YieldOp
from ....dialects.memref import AllocaOp
from ....dialects.memref.views import root
from ..loops import OpT, erase, new_parallel, substitute, terminated
from .stages import Stage

PAGE = 4096  # bytes: large arrays begin close behind a page's begin, and so should what is read and written beside them


class Pipeline:
    """Writes the loop over chunks in place of `outer`."""

    def __init__(self, outer: ParallelOp, stages: Sequence[Stage], own: set[SSAValue], rows: int, size: int):
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
        self.outside = dict[SSAValue, SSAValue](zip(outer.body.block.args, self.block.args, strict=True))
        self.needed = self._needed()
        self.kept: dict[SSAValue, SSAValue] = {}

    def _needed(self) -> dict[SSAValue, tuple[int, int]]:
        """What a stage computes for later ones: its stage, and how many rows later it is needed at last."""
        defined: dict[SSAValue, int] = {
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
        inside: dict[SSAValue, list[SSAValue]] = {v: [*islice(carried, len(each))] for v, each in handed.items()}
        self._together(body, inside)
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
        known = dict(self.outside)
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

    def _one(self, stage: Stage, known: dict[SSAValue, SSAValue]) -> None:
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
        at: BlockArgument = Block(arg_types=[IndexType()]).args[0]
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
        substitute(at, place, [self.chunk, index], body)
