"""Which kernels are ones of rows, and where each row's part of a buffer lies."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ....dialects.linalg import FillOp, GenericOp, IndexOp
from ....dialects.linalg.views import linear_form, loop_ranges
from ....dialects.memref import LoadOp
from ...linalg.combiners import combiners

LONGEST = 1 << 15  # elements of a row: 1024 threads with 32 each
LONGEST_APART = 1 << 10  # where they are no neighbours: 32 threads with 32 each
SECTOR = 32  # bytes: what lies beside each of them comes with it
ROOM = 96 << 10  # bytes of shared memory for that


@dataclass(frozen=True)
class Rows:
    """The rows of a kernel: sizes of its loops, and which of them go along a row."""

    loops: tuple[int, ...]
    along: tuple[bool, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Of the dimensions that number rows."""
        return tuple(n for n, along in zip(self.loops, self.along, strict=True) if not along)

    @property
    def length(self) -> int:
        """Elements of a row."""
        return prod(n for n, along in zip(self.loops, self.along, strict=True) if along)


@dataclass(frozen=True)
class Place:
    """Where a row's part of a buffer begins, by the row's numbers, and elements between neighbours of the row.

    0 is one number for all of a row. `own`: no other row has its part there.
    """

    start: AffineMap
    step: int
    own: bool


def rows_of(function: FuncOp) -> Rows | None:
    """The rows that all loops of a kernel share, None where it is not one of rows."""
    ops = list(function.body.block.ops)
    generics = [op for op in ops if isinstance(op, GenericOp)]
    reducing = next((op for op in generics if "reduction" in op.iterators), None)
    if reducing is None or not all(isinstance(op, GenericOp | FillOp | arith.ConstantOp | ReturnOp) for op in ops):
        return None
    filled = {op.output for op in ops if isinstance(op, FillOp)}
    last = {value: op for op in ops if isinstance(op, GenericOp | FillOp) for value in _written(op)}
    if any(isinstance(last[value], FillOp) for value in filled):  # a whole buffer, not a part of each row
        return None
    ranges = loop_ranges(reducing)
    live = [d for d, n in enumerate(ranges) if n != 1]
    rows = Rows(tuple(ranges[d] for d in live), tuple(reducing.iterators[d] == "reduction" for d in live))
    if not 1 < rows.length <= LONGEST or not all(_fits(op, rows, last) for op in generics):
        return None
    if not _keeps_order(generics, rows) or not _near_enough(generics, rows):
        return None
    return rows


def _near_enough(generics: Sequence[GenericOp], rows: Rows) -> bool:
    """Whether rows whose numbers lie apart are gone through more than once, and find room with their neighbours."""
    places = {v: place_of(op, i, rows) for op in generics for i, v in enumerate(op.operands)}
    apart = [value for value, place in places.items() if place is not None and place.step > 1]
    passes = sum(1 for op in generics if (split := _split(op, rows)) is not None and split[1])
    return not apart or (passes > 1 and rows.length <= LONGEST_APART and len(apart) * rows.length * SECTOR <= ROOM)


def _written(op: GenericOp | FillOp) -> Sequence[SSAValue]:
    return op.outputs if isinstance(op, GenericOp) else [op.output]


def _fits(op: GenericOp, rows: Rows, written: Collection[SSAValue]) -> bool:
    """Whether a generic walks the rows, and reduces over all of a row if at all."""
    split = _split(op, rows)
    if split is None:
        return False
    kinds = set(op.iterators[d] for d in split[1])
    if any(op.iterators[d] != "parallel" for d in split[0]) or len(kinds) > 1:
        return False
    buffers = [i for i, value in enumerate(op.operands) if isinstance(value.type, MemRefType)]
    if any(place_of(op, i, rows) is None for i in buffers) or not _reads_rows(op, rows, written):
        return False
    outputs = [place_of(op, i, rows) for i in range(len(op.inputs), len(op.operands))]
    along = bool(split[1]) and "reduction" not in kinds
    if not all(place is not None and place.own and (place.step > 0) == along for place in outputs):
        return False
    return "reduction" not in kinds or combiners(op) is not None


def _reads_rows(op: GenericOp, rows: Rows, written: Collection[SSAValue]) -> bool:
    """Whether what is read at computed places is a number for all of a row, or the row that begins there."""
    places = [place_of(op, i, rows) for i in range(len(op.operands))]
    args = zip(op.body.block.args, places, strict=True)
    differ: set[SSAValue] = {argument for argument, place in args if place is not None and place.step}
    columns: set[SSAValue] = set()
    for inner in op.body.block.ops:
        if isinstance(inner, IndexOp):
            if is_column(inner, op, rows):
                columns.add(inner.result)
        elif isinstance(inner, LoadOp):
            type_, indices = inner.memref.type, list(inner.indices)
            if inner.memref in written or not isinstance(type_, MemRefType) or not isinstance(type_.layout, NoneAttr):
                return False
            along = bool(indices) and indices[-1] in columns
            if any(v in differ or v in columns for v in (indices[:-1] if along else indices)):
                return False
            if along:
                differ.add(inner.res)
        elif inner.regions or inner.name.startswith("memref.") or any(v in columns for v in inner.operands):
            return False
        elif any(v in differ for v in inner.operands):
            differ.update(inner.results)
    split = _split(op, rows)
    return not columns or (split is not None and len(split[1]) == 1)


def is_column(index: IndexOp, op: GenericOp, rows: Rows) -> bool:
    """Whether an index goes along the row."""
    split = _split(op, rows)
    return split is not None and index.dim.value.data in split[1]


def number_of(index: IndexOp, op: GenericOp, rows: Rows) -> int | None:
    """Which of a row's numbers an index is; None where it is always 0."""
    split = _split(op, rows)
    dim = index.dim.value.data
    return split[0].index(dim) if split is not None and dim in split[0] else None


def _split(op: GenericOp, rows: Rows) -> tuple[list[int], list[int]] | None:
    """The dimensions that number rows and those along them, without those of one step; None where they differ."""
    ranges = loop_ranges(op)
    live = [d for d, n in enumerate(ranges) if n != 1]
    sizes = tuple(ranges[d] for d in live)
    if sizes == rows.loops:
        pairs = [*zip(live, rows.along, strict=True)]
        return [d for d, along in pairs if not along], [d for d, along in pairs if along]
    count = len(rows.sizes)
    trailing = not any(rows.along[:count]) and prod(sizes[count:]) == rows.length
    if sizes[:count] != rows.sizes or (len(sizes) > count and not trailing):
        return None
    return live[:count], live[count:]


def place_of(op: GenericOp, index: int, rows: Rows) -> Place | None:
    """Where a row's part of an operand is; None for anything but one number, or numbers equally far apart."""
    type_ = op.operands[index].type
    split = _split(op, rows)
    forms = [linear_form(expr) for expr in op.maps[index].results]
    if not isinstance(type_, MemRefType) or not isinstance(type_.layout, NoneAttr) or split is None:
        return None
    ranges, shape = loop_ranges(op), type_.get_shape()
    leading, rest = split
    steps = dict.fromkeys(rest, 0)  # elements between neighbours along the row
    start: list[AffineExpr] = []
    alone: set[int] = set()  # the row's numbers of which each is a place of its own
    for d, form in enumerate(forms):
        if form is None:
            return None
        factors, constant = form
        for loop in rest:
            steps[loop] += factors.get(loop, 0) * prod(shape[d + 1 :])
        moving = {loop: factor for loop, factor in factors.items() if factor and ranges[loop] != 1}
        if list(moving.values()) == [1]:
            alone |= moving.keys()
        terms = [AffineExpr.dimension(i) * moving[loop] for i, loop in enumerate(leading) if loop in moving]
        start.append(sum(terms, AffineExpr.constant(constant)).simplify(len(leading), 0))
    together = [prod(ranges[inner] for inner in rest[i + 1 :]) for i in range(len(rest))]
    step = steps[rest[-1]] if rest else 0
    if step < 0 or list(steps.values()) != [step * n for n in together]:
        return None
    return Place(AffineMap(len(leading), 0, tuple(start)), step, alone >= set(leading))


def _keeps_order(generics: Sequence[GenericOp], rows: Rows) -> bool:
    """Whether what is read of a buffer that the kernel writes is what the same row wrote, in the same form."""
    written: dict[SSAValue, Place | None] = {}
    for op in generics:
        for i, value in enumerate(op.outputs):
            written.setdefault(value, place_of(op, len(op.inputs) + i, rows))
    return all(
        place_of(op, i, rows) == written[value]
        for op in generics
        for i, value in enumerate(op.operands)
        if value in written
    )
