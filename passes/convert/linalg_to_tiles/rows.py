"""Which kernels are ones of rows, and where each row's part of a buffer lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType, NoneAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ....dialects.linalg import FillOp, GenericOp
from ....dialects.linalg import YieldOp as LinalgYieldOp
from ....dialects.linalg.views import linear_form, loop_ranges
from ...gpu.combining import COMBINERS

LONGEST = 1 << 15  # elements of a row: 1024 threads with 32 each


@dataclass(frozen=True)
class Rows:
    """The rows of a kernel: sizes of the dimensions that number them, and elements of each."""

    sizes: tuple[int, ...]
    length: int


@dataclass(frozen=True)
class Place:
    """Where a row's part of a buffer begins, by the row's numbers, and whether it is one number or as long as the row.

    `own`: no other row has its part there.
    """

    start: AffineMap
    columns: bool
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
    count = reducing.iterators.index("reduction")
    sizes = tuple(n for n in ranges[:count] if n != 1)
    rows = Rows(sizes, prod(ranges[count:]))
    if not 1 < rows.length <= LONGEST or not all(_fits(op, rows) for op in generics):
        return None
    return rows if _keeps_order(generics, rows) else None


def _written(op: GenericOp | FillOp) -> Sequence[SSAValue]:
    return op.outputs if isinstance(op, GenericOp) else [op.output]


def _fits(op: GenericOp, rows: Rows) -> bool:
    """Whether a generic walks the rows, and reduces over all of a row if at all."""
    split = _split(op, rows)
    if split is None:
        return False
    kinds = set(op.iterators[d] for d in split[1])
    if any(op.iterators[d] != "parallel" for d in split[0]) or len(kinds) > 1:
        return False
    if any(inner.regions or inner.name.startswith(("linalg.index", "memref.")) for inner in op.body.block.ops):
        return False
    buffers = [i for i, value in enumerate(op.operands) if isinstance(value.type, MemRefType)]
    if any(place_of(op, i, rows) is None for i in buffers):
        return False
    outputs = [place_of(op, i, rows) for i in range(len(op.inputs), len(op.operands))]
    along = bool(split[1]) and "reduction" not in kinds
    if not all(place is not None and place.own and place.columns == along for place in outputs):
        return False
    return "reduction" not in kinds or combiners(op) is not None


def _split(op: GenericOp, rows: Rows) -> tuple[list[int], list[int]] | None:
    """The dimensions that number rows and those along them, without those of one step; None where they differ."""
    ranges = loop_ranges(op)
    live = [d for d, n in enumerate(ranges) if n != 1]
    leading, rest = live[: len(rows.sizes)], live[len(rows.sizes) :]
    if tuple(ranges[d] for d in leading) != rows.sizes:
        return None
    return (leading, rest) if not rest or prod(ranges[d] for d in rest) == rows.length else None


def place_of(op: GenericOp, index: int, rows: Rows) -> Place | None:
    """Where a row's part of an operand is; None for anything but one number, or numbers that lie next to each other."""
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
    if any(steps.values()) and list(steps.values()) != together:
        return None
    return Place(AffineMap(len(leading), 0, tuple(start)), any(steps.values()), alone >= set(leading))


def combiners(op: GenericOp) -> list[tuple[str, Operation, SSAValue]] | None:
    """For each output of a reduction: the kind, the op that combines, and what is combined; None for other bodies."""
    block = op.body.block
    last = block.last_op
    assert isinstance(last, LinalgYieldOp)
    accumulators = block.args[len(op.inputs) :]
    found: list[tuple[str, Operation, SSAValue]] = []
    for value, accumulator in zip(last.operands, accumulators, strict=True):
        owner = value.owner
        uses = [use.operation for use in accumulator.uses]
        if not isinstance(owner, Operation) or owner.name not in COMBINERS or uses != [owner]:
            return None
        if len(list(value.uses)) != 1:
            return None
        [other] = [v for v in owner.operands if v is not accumulator] or [None]
        if other is None:
            return None
        found.append((COMBINERS[owner.name], owner, other))
    return found


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
