"""`affine-scalrep`: values stay in registers instead of going through memory.

Before:                                            After:
    affine.store %v, %t[%i] : memref<8xf32>            %w = math.exp %v : f32
    %u = affine.load %t[%i] : memref<8xf32>
    %w = math.exp %u : f32

A load takes the value that the same place was last stored or loaded with in its block; a store that is
overwritten before anything reads it, and every store to memory of the kernel's own that nothing reads, goes away.
A loop that updates one place in every iteration carries the value instead (`iter_args`), so that reductions
vectorise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...compiler.walking import all_ops
from ...dialects.affine import ForOp, LoadOp, StoreOp, YieldOp
from ...dialects.memref import AllocaOp
from ...dialects.memref.views import VIEW_OPS, root
from ..bufferization.layout import scratch_of
from .accesses import MemoryAccess, accesses, defined_inside, loop_variables
from .dependence import Iterations, Order, Relation
from .loops import all_loops, erase, functions


@dataclass(frozen=True)
class ScalarReplacement(ModulePass):
    """Loads take stored values, dead stores go away, loops carry what they accumulate."""

    name = "affine-scalrep"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            for loop in reversed(all_loops(function)):
                carry_accumulators(loop)
            for inner in all_ops(function):
                for region in inner.regions:
                    for block in region.blocks:
                        forward_stores(block)
            remove_dead_stores(function)


Place = tuple[SSAValue, tuple[object, ...]]


def _place(access: MemoryAccess) -> Place | None:
    """A key that equal places share; None when the place is not known exactly."""
    if access.subscripts is None or None in access.subscripts:
        op = access.op
        if isinstance(op, LoadOp | StoreOp):
            return access.memref, (op.map.data, tuple(op.indices))
        return None
    return access.memref, tuple(access.subscripts)


def forward_stores(block: Block) -> None:
    """Hands stored and loaded values on to later loads of the same place, and drops overwritten stores."""
    if sum(isinstance(op, LoadOp | StoreOp) for op in block.ops) < 2:
        return
    same = Iterations([Relation(v, v, Order.SAME) for v in loop_variables(block.first_op)] if block.first_op else [])
    known: dict[Place, tuple[MemoryAccess, SSAValue]] = {}
    pending: dict[Place, tuple[MemoryAccess, StoreOp]] = {}  # stores that nothing has read yet
    for op in list(block.ops):
        touched = accesses([op])
        if isinstance(op, LoadOp) and (place := _place(touched[0])) is not None and place in known:
            op.result.replace_all_uses_with(known[place][1])
            erase(op)
            continue
        for access in touched:
            if not access.writes:
                pending = {p: entry for p, entry in pending.items() if not same.may_meet(entry[0], access)}
                if isinstance(op, LoadOp) and (place := _place(access)) is not None:
                    known[place] = access, op.result
                continue
            known = {p: entry for p, entry in known.items() if not same.may_meet(entry[0], access)}
            if isinstance(op, StoreOp) and (place := _place(access)) is not None:
                if place in pending:
                    erase(pending.pop(place)[1])
                known[place] = access, op.value
                pending[place] = access, op


def remove_dead_stores(function: FuncOp) -> None:
    """Drops stores to stack memory and to scratch arguments that nothing reads, and memory that nothing uses."""
    own: list[SSAValue] = [op.memref for op in all_ops(function) if isinstance(op, AllocaOp)]
    own += scratch_of(function)
    read = {a.root for a in accesses([function]) if not a.writes}
    for op in all_ops(function):
        if isinstance(op, StoreOp) and root(op.memref) in own and root(op.memref) not in read:
            erase(op)
    for op in reversed(all_ops(function)):
        if not any(result.first_use for result in op.results) and isinstance(op, (AllocaOp, *VIEW_OPS)):
            erase(op)


def carry_accumulators(loop: ForOp) -> None:
    """Turns `m[p] = f(m[p])` with a fixed place `p` into a carried value: load before, store after the loop."""
    body = loop.body.block
    for store in [op for op in body.ops if isinstance(op, StoreOp)]:
        load = _accumulator_load(loop, store)
        if load is not None:
            loop = _carry(loop, load, store)


def _accumulator_load(loop: ForOp, store: StoreOp) -> LoadOp | None:
    """The load of the place that `store` writes, if nothing else in the loop touches that memory."""
    if any(index is loop.variable or defined_inside(index, loop) for index in store.indices):
        return None
    if defined_inside(store.memref, loop) or not loop.trip_count:
        return None
    memory = root(store.memref)
    touched = [a.op for a in accesses(loop.body.block.ops) if a.root is memory]
    loads = [op for op in touched if op is not store]
    if len(loads) != 1 or not isinstance(loads[0], LoadOp) or loads[0].parent is not loop.body.block:
        return None
    load = loads[0]
    same = load.memref is store.memref and load.map == store.map and tuple(load.indices) == tuple(store.indices)
    return load if same and _before(load, store) else None


def _before(first: Operation, second: Operation) -> bool:
    op = first.next_op
    while op is not None and op is not second:
        op = op.next_op
    return op is second


def _carry(loop: ForOp, load: LoadOp, store: StoreOp) -> ForOp:
    bounds = loop.constant_bounds()
    assert bounds is not None
    block = loop.parent
    assert block is not None
    first = LoadOp(load.memref, load.indices, load.map)
    first.location = load.location
    block.insert_op_before(first, loop)
    body = loop.body.block
    argument = body.insert_arg(load.result.type, len(body.args))
    load.result.replace_all_uses_with(argument)
    last = body.last_op
    assert isinstance(last, YieldOp)
    last.operands = [*last.operands, store.value]
    region = loop.detach_region(loop.body)
    erase(load)
    new = ForOp.from_region(
        [],
        [],
        [*loop.inits, first.result],
        [*loop.result_types, first.result.type],
        bounds[0],
        bounds[1],
        region,
        bounds[2],
    )
    new.location = loop.location
    block.insert_op_before(new, loop)
    _replace_results(loop, new.results)
    store.detach()
    store.operands = [new.results[-1], *store.operands[1:]]
    block.insert_op_after(store, new)
    erase(loop)
    return new


def _replace_results(loop: ForOp, results: Sequence[SSAValue]) -> None:
    for old, new in zip(loop.results, results, strict=False):
        old.replace_all_uses_with(new)
