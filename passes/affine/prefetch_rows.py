"""affine-prefetch-rows: while the caches hold a row that is gone through again, memory brings the next one.

before:
    affine.parallel (%r) = (0) to (4096) {
      %highest = affine.for %i = 0 to 1024 step 16 ... { affine.vector_load %x[%r, %i]; arith.maximumf }
      %total = affine.for %i = 0 to 1024 step 16 ... { affine.vector_load %x[%r, %i]; math.exp; ... }
    }
after:
    affine.parallel (%r) = (0) to (4096) {
      %next = affine.min affine_map<(d0) -> (d0 + 1, 4095)>(%r)
      %highest = affine.for ...                                      // as it was
      %total = affine.for %i = 0 to 1024 step 16 ... {
        memref.prefetch %x[%next, %i], read, locality<3>, data
        affine.vector_load %x[%r, %i]; math.exp; ...
      }
    }

The first loop waits for memory and the others do not ask it for anything, so that they take their times one after the
other; processors fetch ahead on their own, but not beyond a page, which is what such a row often is. Of the loops that
read a row again the one that works longest asks for the next row, or for one at least `AHEAD` bytes away. Rows of
arrays that the second cache holds are left alone, and rows that leave no room there for a second one. On Zen 4 and 5
loops that write ask where no other can, on Zen 4 not if they compute functions: of 4096 rows of 1024 numbers a softmax
took 1.5 ms there and takes 1.2, a layer norm 1.3 and 1.1; on Zen 5 a layer norm 0.77 and 0.70.

Where `affine-pipeline-rows` has loops go through several rows at once, they ask for what is behind the last of these:
into the first cache if that has room, as on Zen 5 (48 KB), else into the second. With 32 KB on Zen 4 layer norms of
8192 rows of 768 and of 1024 numbers take 1.1 and 1.5 ms so, and 2.1 and 3.3 if nobody asks; shorter rows of a softmax
the processor fetches itself while powers are computed, which asking makes up to 1.08 times as slow.

Nor does a processor fetch what data tell: a loop that loads from places of a row that a list has, at least as many as
the row has lines, asks for a share of the next row in each iteration, so that memory is read in its order. 512 columns
of 4096x4096 numbers took 2.5 ms so, without 4.7 to 8.8; measured on Sapphire Rapids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.machine import Machine
from ...dialects.affine import ApplyOp, ForOp, MinOp, ParallelOp, VectorLoadOp, VectorStoreOp
from ...dialects.affine.linear_forms import memref_shape
from ...dialects.memref import LoadOp, PrefetchOp
from .accesses import map_subscripts
from .loops import all_loops, element_bytes, functions, insert_before, is_innermost, stride_along, work

AHEAD = 2048  # bytes: what memory delivers until a row that was asked for is there
AHEAD_TOGETHER = 8192  # where a loop that `affine-pipeline-rows` made reads and writes all the time
PAGE = 4096  # bytes: no processor fetches beyond one on its own
_Place = tuple[SSAValue, object]  # a buffer, and where a whole loop reads it


@dataclass(frozen=True)
class PrefetchRows(ModulePass):
    """Asks for the next row while one is gone through again; `bytes` overrides how large an array must be."""

    name = "affine-prefetch-rows"

    bytes: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = lamina_context(ctx).machine
        least = machine.l2_bytes if self.bytes is None else self.bytes
        for function in functions(op):
            nests = [each for each in function.body.walk() if isinstance(each, ParallelOp)]
            for outer in [*nests, *all_loops(function)]:
                loops = [each for each in outer.body.block.ops if isinstance(each, ForOp) and is_innermost(each)]
                for loop in loops:
                    near = machine.l1_bytes // 6 >= AHEAD_TOGETHER
                    for row, load in _read_ahead(loop, outer, least, machine):
                        _ask(loop, load, row, None, machine.cache_line, 3 if near else 2)
                found = _rows(outer)
                if found is None:
                    continue
                variable, last, step = found
                for loop, load in _read_again(loops, variable, least, machine):
                    near = element_bytes(load.memref) * _length(loop) <= machine.l1_bytes // 4
                    _ask(loop, load, variable, (last, step), machine.cache_line, 3 if near else 2)
                for loop in loops:
                    for load in _told_by_data(loop, variable, least, machine):
                        _ask_in_order(loop, load, variable, (last, step))


def _rows(outer: ForOp | ParallelOp) -> tuple[SSAValue, int, int] | None:
    """The variable that changes fastest from iteration to iteration, its last value and its step."""
    bounds = outer.constant_bounds()
    if bounds is None:
        return None
    if isinstance(outer, ForOp):
        lower, upper, step = outer.constant_bounds() or (0, 0, 1)
    else:
        lower, upper, step = bounds[0][-1], bounds[1][-1], outer.steps.data[-1].value.data  # pyright: ignore
    last = lower + (upper - 1 - lower) // step * step
    return (outer.body.block.args[0 if isinstance(outer, ForOp) else -1], last, step) if last > lower else None


def _length(loop: ForOp) -> int:
    lower, upper, _ = loop.constant_bounds() or (0, 0, 1)
    return upper - lower


def _writes(loop: ForOp) -> bool:
    return any(isinstance(op, VectorStoreOp) for op in loop.body.block.ops)


def _computes(loop: ForOp) -> bool:
    return any(op.name.startswith("math.") for op in loop.body.block.ops)


def _read_again(
    loops: Sequence[ForOp], variable: SSAValue, least: int, machine: Machine
) -> list[tuple[ForOp, VectorLoadOp]]:
    """Loads of rows that loops before have read, each in the loop of those that works longest."""

    def rank(loop: ForOp) -> tuple[bool, int]:
        return not machine.asks_rather_while_reading or not _writes(loop), work([loop])

    most = machine.l2_bytes // 4
    seen: set[_Place] = set()
    chosen: dict[_Place, tuple[ForOp, VectorLoadOp]] = {}
    for loop in loops:
        here: dict[_Place, VectorLoadOp] = {}
        for load in loop.body.block.ops:
            if isinstance(load, VectorLoadOp) and (place := _place(loop, load, variable, least, most)) is not None:
                here.setdefault(place, load)
        for place, load in here.items():
            if place not in seen or (not machine.asks_while_writing and _writes(loop) and _computes(loop)):
                continue
            if place not in chosen or rank(loop) > rank(chosen[place][0]):
                chosen[place] = loop, load
        seen |= here.keys()
    return list(chosen.values())


def _read_ahead(
    loop: ForOp, outer: ForOp | ParallelOp, least: int, machine: Machine
) -> list[tuple[SSAValue, VectorLoadOp]]:
    """Of each array that a pipelined loop reads rows of: the load of its last row, and that row."""
    found: dict[SSAValue, tuple[int, SSAValue, VectorLoadOp]] = {}
    loads = [op for op in loop.body.block.ops if isinstance(op, VectorLoadOp)]
    computes = not machine.asks_while_writing and _writes(loop) and _computes(loop)
    if computes and all(_length(loop) * element_bytes(op.memref) < PAGE for op in loads):
        return []
    for load in loads:
        for row in load.indices:
            if not isinstance(row.owner, MinOp) or outer.body.block.args[0] not in row.owner.operands:
                continue
            ahead = row.owner.map.data.results[0].eval([0] * len(row.owner.operands), [])
            whole = _place(loop, load, row, least, machine.l2_bytes // 4) is not None
            if whole and (load.memref not in found or found[load.memref][0] < ahead):
                found[load.memref] = ahead, row, load
    return [(row, load) for _, row, load in found.values()]


def _place(loop: ForOp, load: VectorLoadOp, variable: SSAValue, least: int, most: int) -> _Place | None:
    """What row a load reads in a loop, if it is one of a large array's that lie one behind another."""
    shape, size, bounds = memref_shape(load.memref), element_bytes(load.memref), loop.constant_bounds()
    if shape is None or not size or bounds is None or stride_along(load, loop.variable) != 1:
        return None
    total = size
    for extent in shape:
        total *= extent
    length = (bounds[1] - bounds[0]) * size
    apart = (stride_along(load, variable) or 0) * size
    if total < least or not length <= most or apart < length:
        return None
    return load.memref, (bounds[:2], _without(load, loop.variable))  # by as many at a time as the loop likes


def _without(load: VectorLoadOp, variable: SSAValue) -> object:
    """Where it reads in the loop's first iterations, as something to compare."""
    subscripts = map_subscripts(load.map.data, load.indices) or ()
    return tuple(
        s and (s.constant, frozenset((k, c) for k, c in s.terms.items() if k is not variable)) for s in subscripts
    )


def _told_by_data(loop: ForOp, variable: SSAValue, least: int, machine: Machine) -> list[LoadOp]:
    """Loads from places of a row of a large array that are not known before; one of each row."""
    found: dict[tuple[SSAValue, ...], LoadOp] = {}
    bounds = loop.constant_bounds()
    for load in loop.body.block.ops if bounds is not None else ():
        if not isinstance(load, LoadOp) or not load.indices:
            continue
        shape, size = memref_shape(load.memref), element_bytes(load.memref)
        if shape is None or not size or load.indices[-1].owner.parent_block() is not loop.body.block:
            continue
        *outer, _ = load.indices
        rounds, row = len(range(*bounds)), shape[-1] * size  # pyright: ignore
        whole = prod(shape) * size >= least and machine.cache_line < row <= machine.l2_bytes // 4
        still = all(index.owner.parent_block() is not loop.body.block for index in outer)
        walks = any(variable in (index, *_operands(index)) for index in outer)
        if whole and still and walks and rounds * machine.cache_line >= row:
            found.setdefault((load.memref, *outer), load)
    return list(found.values())


def _operands(index: SSAValue) -> Sequence[SSAValue]:
    """What an index is computed from."""
    return index.owner.operands if isinstance(index.owner, ApplyOp) else ()


def _later(loop: ForOp, variable: SSAValue, rows: tuple[int, int] | None, length: int) -> SSAValue:
    """The next row of so many bytes, or one far enough away; at the end the last one, if it is told."""
    if rows is None:
        far = AffineExpr.dimension(0) + -(-AHEAD_TOGETHER // length)
        return insert_before(ApplyOp([variable], AffineMapAttr(AffineMap(1, 0, (far,)))), loop).result
    last, step = rows
    ahead = -(-AHEAD // length) * step
    later = (AffineExpr.dimension(0) + ahead, AffineExpr.constant(last))
    return insert_before(MinOp([variable], AffineMapAttr(AffineMap(1, 0, later))), loop).result


def _ask_in_order(loop: ForOp, load: LoadOp, variable: SSAValue, rows: tuple[int, int]) -> None:
    """Asks, before a load, for this iteration's share of a later row."""
    shape, bounds = memref_shape(load.memref), loop.constant_bounds()
    assert shape is not None and bounds is not None
    row = _later(loop, variable, rows, shape[-1] * element_bytes(load.memref))
    places: list[SSAValue] = []
    for index in load.indices[:-1]:
        if isinstance(index.owner, ApplyOp) and variable in index.owner.operands:
            operands = [row if operand is variable else operand for operand in index.owner.operands]
            index = insert_before(ApplyOp(operands, index.owner.map), loop).result
        places.append(row if index is variable else index)
    first, end, _ = bounds
    common = gcd(shape[-1], end - first)
    share = (AffineExpr.dimension(0) - first) * (shape[-1] // common)
    if end - first != common:
        share = share // ((end - first) // common)
    places.append(insert_before(ApplyOp([loop.variable], AffineMapAttr(AffineMap(1, 0, (share,)))), load).result)
    insert_before(PrefetchOp(load.memref, places, locality=2), load)


def _ask(
    loop: ForOp, load: VectorLoadOp, variable: SSAValue, rows: tuple[int, int] | None, line: int, locality: int
) -> None:
    """Asks, before a load, for what the same load will read some rows later; at the end for the last row again."""
    size = element_bytes(load.memref)
    row = _later(loop, variable, rows, _length(loop) * size)
    operands = [row if operand is variable else operand for operand in load.indices]
    (lanes,) = load.result.type.get_shape()  # pyright: ignore
    map_ = load.map.data
    for lane in range(0, lanes, line // size):
        results = [*map_.results[:-1], map_.results[-1] + lane]
        places: list[SSAValue] = []
        for result in results:
            new: Operation = ApplyOp(operands, AffineMapAttr(AffineMap(map_.num_dims, map_.num_symbols, (result,))))
            places.append(insert_before(new, load).results[0])
        insert_before(PrefetchOp(load.memref, places, locality=locality), load)
