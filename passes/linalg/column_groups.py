"""Reductions over planes, and what goes over the same planes: one kernel, column after column of them.

A softmax over the channels of an image, or a normalisation of them, reads the planes twice or three times. A few
columns at a time (`linalg-strip-columns`) they stay in a cache meanwhile; as kernels of their own, each would read
memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from ...dialects.linalg import GenericOp
from ...dialects.linalg.views import loop_ranges

LEAST_COLUMNS = 64  # fewer are rows of a few vectors


@dataclass(frozen=True)
class Columns:
    """Sizes of loops of more than one step: around, over the planes that are reduced, and over what lies in a plane."""

    around: tuple[int, ...]
    planes: tuple[int, ...]
    inside: tuple[int, ...]

    @property
    def all(self) -> tuple[int, ...]:
        """The sizes of an array with all planes."""
        return self.around + self.planes + self.inside

    @property
    def reduced(self) -> tuple[int, ...]:
        """The sizes of what planes are reduced to."""
        return self.around + self.inside


def live_loops(op: GenericOp) -> list[int]:
    """The loops of more than one step."""
    return [d for d, n in enumerate(loop_ranges(op)) if n != 1]


def reduced_columns(op: Operation) -> Columns | None:
    """The columns of a reduction over planes, each of which is contiguous; None of other ops."""
    if not isinstance(op, GenericOp) or not all(map(in_order, op.maps)):
        return None
    ranges, live = loop_ranges(op), live_loops(op)
    reduced = [i for i, d in enumerate(live) if op.iterators[d] == "reduction"]
    if not reduced or reduced != list(range(reduced[0], reduced[-1] + 1)):
        return None
    sizes = tuple(ranges[d] for d in live)
    found = Columns(sizes[: reduced[0]], sizes[reduced[0] : reduced[-1] + 1], sizes[reduced[-1] + 1 :])
    kept = [d for d in live if op.iterators[d] == "parallel"]
    plain = all(used(m, live) == kept for m in op.maps[len(op.inputs) :])
    whole = any(used(m, live) == live for m in op.maps[: len(op.inputs)])
    return found if plain and whole and prod(found.inside) >= LEAST_COLUMNS else None


def shares_columns(columns: Columns, op: Operation, ours: Sequence[SSAValue]) -> bool:
    """Whether `op` goes over such columns, too, and takes `ours`, made by others that do, where it is."""
    if not isinstance(op, GenericOp) or not all(map(in_order, op.maps)):
        return False
    ranges, live = loop_ranges(op), live_loops(op)
    sizes = tuple(ranges[d] for d in live)
    if "reduction" in op.iterators:
        if reduced_columns(op) != columns:
            return False
    elif sizes not in (columns.all, columns.reduced) or any(used(m, live) != live for m in op.maps[len(op.inputs) :]):
        return False
    planes = slice(len(columns.around), len(columns.around) + len(columns.planes))
    beside = [d for d in live if d not in live[planes]] if sizes == columns.all else live
    for operand, map_ in zip(op.operands, op.maps, strict=True):
        if operand in ours:
            producer = operand.owner
            if not isinstance(producer, GenericOp):
                return False
            whole = "reduction" not in producer.iterators and len(live_loops(producer)) == len(columns.all)
            if used(map_, live) != (live if whole else beside) or (whole and sizes != columns.all):
                return False
    return True


def used(map_: AffineMap, live: Sequence[int]) -> list[int]:
    """The loops among `live` that a map has as subscripts, in its order."""
    return [e.position for e in map_.results if isinstance(e, AffineDimExpr) and e.position in live]


def in_order(map_: AffineMap) -> bool:
    """Whether subscripts are loops, from the outermost in, and constants."""
    loops = [e.position for e in map_.results if isinstance(e, AffineDimExpr)]
    plain = all(isinstance(e, AffineDimExpr) or not e.used_dims() for e in map_.results)
    return plain and loops == sorted(set(loops))
