"""Writing loops over tiles: segments of tiles of one size, loops, and indices that are sums of theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.affine import ApplyOp, YieldOp
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ...dialects.affine.ops import ForOp


@dataclass(frozen=True)
class Segment:
    """`count` tiles of `size`, from `start` on."""

    start: int
    count: int
    size: int


def segments(total: int, size: int) -> list[Segment]:
    """`total` in tiles of `size`, and what is left in one more.

    >>> segments(10, 4)
    [Segment(start=0, count=2, size=4), Segment(start=8, count=1, size=2)]
    """
    whole = total // size
    found = [Segment(0, whole, size)] if whole else []
    return [*found, Segment(whole * size, 1, total % size)] if total % size else found


def edged(total: int, size: int, edge: int) -> list[Segment]:
    """Segments before which tiles grow from `edge` on, by doubling, and behind which they shrink; 0 is not at all.

    >>> [(s.count, s.size) for s in edged(20, 4, 1)]
    [(1, 1), (1, 2), (3, 4), (1, 2), (1, 2), (1, 1)]
    """
    small: list[int] = []
    while edge and edge < size and 2 * (sum(small) + edge) < total:
        small.append(edge)
        edge *= 2
    inner = sum(small)
    growing = [Segment(sum(small[:i]), 1, n) for i, n in enumerate(small)]
    whole = [Segment(inner + s.start, s.count, s.size) for s in segments(total - 2 * inner, size)]
    shrinking = [Segment(total - sum(small[: i + 1]), 1, n) for i, n in enumerate(small)]
    return [*growing, *whole, *reversed(shrinking)]


class Nest:
    """Where ops are added; `loop` goes into a loop and out of it again."""

    def __init__(self, block: Block):
        self.block = block
        self.constants: dict[tuple[Block, int], SSAValue] = {}

    def loop(self, segment: Segment) -> Iterator[SSAValue]:
        """Gives the index of the first of a tile once; ops are then added inside the loop over the segment's tiles."""
        if segment.count == 1:
            yield self.constant(segment.start)
            return
        body = Block(arg_types=[IndexType()])
        outer = self.block
        outer.add_op(ForOp.of(segment.start, segment.start + segment.count * segment.size, body, step=segment.size))
        self.block = body
        yield body.args[0]
        body.add_op(YieldOp.get())
        self.block = outer

    def add_op(self, op: Operation) -> None:
        """Adds an op without a result."""
        self.block.add_op(op)

    def add(self, op: Operation, hint: str | None = None) -> SSAValue:
        """Adds an op and gives its result."""
        self.block.add_op(op)
        op.results[0].name_hint = hint
        return op.results[0]

    def constant(self, value: int) -> SSAValue:
        """An index constant, one for each block."""
        key = (self.block, value)
        if key not in self.constants:
            self.constants[key] = self.add(ConstantOp(IntegerAttr(value, IndexType())))
        return self.constants[key]

    def affine(self, terms: Sequence[tuple[SSAValue, int]], shift: int) -> SSAValue:
        """The sum of values times factors, and of `shift`."""
        if shift == 0 and len(terms) == 1 and terms[0][1] == 1:
            return terms[0][0]
        expression: AffineExpr = AffineExpr.constant(shift)
        for i, (_, factor) in enumerate(terms):
            expression = expression + AffineExpr.dimension(i) * factor
        map_ = AffineMapAttr(AffineMap(len(terms), 0, (expression,)))
        return self.add(ApplyOp([value for value, _ in terms], map_))

    def divided(self, value: SSAValue, by: int) -> SSAValue:
        """A value that is a multiple of `by`, divided."""
        if by == 1:
            return value
        return self.add(ApplyOp([value], AffineMapAttr(AffineMap(1, 0, (AffineExpr.dimension(0) // by,)))))
