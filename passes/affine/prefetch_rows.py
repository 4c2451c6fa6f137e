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
arrays that the second cache holds are left alone, and rows that leave no room there for a second one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, FixedBitwidthType, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...dialects.affine import ApplyOp, ForOp, MinOp, ParallelOp, VectorLoadOp
from ...dialects.affine.linear_forms import memref_shape
from ...dialects.memref import PrefetchOp
from .accesses import map_subscripts
from .loops import all_loops, functions, insert_before, is_innermost, stride_along, work

AHEAD = 2048  # bytes: what memory delivers until a row that was asked for is there
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
                found = _rows(outer)
                if found is None:
                    continue
                variable, last, step = found
                loops = [each for each in outer.body.block.ops if isinstance(each, ForOp) and is_innermost(each)]
                for loop, load in _read_again(loops, variable, least, machine.l2_bytes // 4):
                    near = _bytes(load.memref) * _length(loop) <= machine.l1_bytes // 4
                    _ask(loop, load, variable, (last, step), machine.cache_line, 3 if near else 2)


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


def _bytes(buffer: SSAValue) -> int:
    """Of an element; 0 if it has no such size."""
    element = buffer.type.element_type  # pyright: ignore
    return element.bitwidth // 8 if isinstance(element, FixedBitwidthType) else 0


def _length(loop: ForOp) -> int:
    lower, upper, _ = loop.constant_bounds() or (0, 0, 1)
    return upper - lower


def _read_again(loops: Sequence[ForOp], variable: SSAValue, least: int, most: int) -> list[tuple[ForOp, VectorLoadOp]]:
    """Loads of rows that loops before have read, each in the loop of those that works longest."""
    seen: set[_Place] = set()
    chosen: dict[_Place, tuple[ForOp, VectorLoadOp]] = {}
    for loop in loops:
        here: dict[_Place, VectorLoadOp] = {}
        for load in loop.body.block.ops:
            if isinstance(load, VectorLoadOp) and (place := _place(loop, load, variable, least, most)) is not None:
                here.setdefault(place, load)
        for place, load in here.items():
            if place in seen and (place not in chosen or work([loop]) > work([chosen[place][0]])):
                chosen[place] = loop, load
        seen |= here.keys()
    return list(chosen.values())


def _place(loop: ForOp, load: VectorLoadOp, variable: SSAValue, least: int, most: int) -> _Place | None:
    """What row a load reads in a loop, if it is one of a large array's that lie one behind another."""
    shape, size, bounds = memref_shape(load.memref), _bytes(load.memref), loop.constant_bounds()
    if shape is None or not size or bounds is None or stride_along(load, loop.variable) != 1:
        return None
    total = size
    for extent in shape:
        total *= extent
    length = (bounds[1] - bounds[0]) * size
    apart = (stride_along(load, variable) or 0) * size
    if total < least or not length <= most or apart < length:
        return None
    return load.memref, (bounds, _without(load, loop.variable))


def _without(load: VectorLoadOp, variable: SSAValue) -> object:
    """Where it reads in the loop's first iterations, as something to compare."""
    subscripts = map_subscripts(load.map.data, load.indices) or ()
    return tuple(
        s and (s.constant, frozenset((k, c) for k, c in s.terms.items() if k is not variable)) for s in subscripts
    )


def _ask(loop: ForOp, load: VectorLoadOp, variable: SSAValue, rows: tuple[int, int], line: int, locality: int) -> None:
    """Asks, before a load, for what the same load will read some rows later; at the end for the last row again."""
    size = _bytes(load.memref)
    last, step = rows
    ahead = -(-AHEAD // (_length(loop) * size)) * step
    later = (AffineExpr.dimension(0) + ahead, AffineExpr.constant(last))
    row = insert_before(MinOp([variable], AffineMapAttr(AffineMap(1, 0, later))), loop).result
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
