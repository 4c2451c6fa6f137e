"""What both transforms share: walking tiles and channels, and a matrix applied to a few vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, FloatAttr, IndexType, MemRefType, VectorType, f32
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ....compiler.machine import WORTH_FORKING, Machine
from ....dialects import affine, memref, vector
from ....dialects.linalg.winograd import Matrix
from ..contraction_to_vector.loops import D, Loops, compress

Index = SSAValue | None  # None is 0


@dataclass(frozen=True)
class Run:
    """Neighbouring tiles of a row, `first` to `last`, of which the columns `low` to `high` are inside the image."""

    first: int
    last: int
    low: int
    high: int


def runs(tiles: int, inside: Callable[[int], tuple[int, int]]) -> list[Run]:
    """Tiles 0 to `tiles` in runs that are inside alike."""
    found: list[Run] = []
    for (low, high), group in groupby(range(tiles), inside):
        members = list(group)
        found.append(Run(members[0], members[-1] + 1, low, max(low, high)))
    return found


@dataclass(frozen=True)
class Channels:
    """`count` channels in vectors of `lanes`, of which `valid` are channels."""

    count: int
    lanes: int
    valid: int

    @staticmethod
    def of(count: int, machine: Machine, overlap: bool = True) -> Channels:
        """One register each; the last overlaps the one before where they do not divide, if it may, else all are
        narrower. Fewer channels than lanes are masked."""
        lanes = machine.lanes(4)
        if count < lanes:
            return Channels(count, 1 << (count - 1).bit_length(), count)
        while not overlap and count % lanes:
            lanes //= 2
        return Channels(count, lanes, lanes)

    @property
    def type(self) -> VectorType:
        """A vector of channels."""
        return VectorType(f32, [self.lanes])

    def each(self, code: Loops, body: Callable[[Index], None]) -> None:
        """The first channel of every vector."""
        if self.count <= self.lanes:
            body(None)
            return

        def once(start: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            if self.count % self.lanes:
                both = AffineMap(1, 0, (D(0), AffineExpr.constant(self.count - self.lanes)))
                start = code(affine.MinOp([start], AffineMapAttr(both))).result
            body(start)
            return ()

        code.serial(AffineExpr.constant(0), AffineExpr.constant(self.count), (), (), once, self.lanes)


class Walk:
    """Writes the walk over the tiles of an image; `alpha` inputs and `m` outputs along each side of a tile."""

    def __init__(self, code: Loops, channels: Channels):
        self.code = code
        self.channels = channels
        self.mask: SSAValue | None = None
        self.zero: SSAValue | None = None

    def rows(self, batch: int, rows: int, work: int, cores: int, body: Callable[[Index, Index], None]) -> None:
        """`body(image, row of tiles)`, for threads where all together are `work` operations and that is enough."""
        code = self.code

        def once(task: SSAValue) -> None:
            image = code.index(D(0) // rows, task) if batch > 1 else None
            row = code.index(D(0) % rows, task) if batch > 1 else task
            self.begin()
            body(image, row if rows > 1 else None)

        if batch * rows > 1 and cores > 1 and work >= WORTH_FORKING:
            code.parallel(batch * rows, once)
        else:
            code.serial(AffineExpr.constant(0), AffineExpr.constant(batch * rows), (), (), lambda i, _: once(i) or ())

    def begin(self) -> None:
        """The values that every tile uses, made where a task begins."""
        type_ = self.channels.type
        self.zero = splat(self.code, 0.0, type_)
        if self.channels.valid < self.channels.lanes:
            self.mask = self.code(vector.ConstantMaskOp(self.channels.valid, self.channels.lanes)).result

    def columns(self, found: Sequence[Run], body: Callable[[Run, Index], None]) -> None:
        """`body(run, column of tiles)` for every tile of a row."""
        for run in found:
            if run.last - run.first == 1:
                at = self.code.index(AffineExpr.constant(run.first)) if run.first else None
                body(run, at)
                continue

            def once(column: SSAValue, carried: Sequence[SSAValue], run: Run = run) -> Sequence[SSAValue]:
                body(run, column)
                return ()

            self.code.serial(AffineExpr.constant(run.first), AffineExpr.constant(run.last), (), (), once)

    def load(self, base: SSAValue, expr: AffineExpr, *operands: Index) -> SSAValue:
        """A vector of channels."""
        return self.code.load_vector(self.channels.type, base, expr, *operands, mask=self.mask, otherwise=self.zero)

    def store(self, value: SSAValue, base: SSAValue, expr: AffineExpr, *operands: Index) -> None:
        """A vector of channels."""
        self.code.store_vector(value, base, expr, *operands, mask=self.mask)


class Scratch:
    """rows x columns vectors on the stack."""

    def __init__(self, code: Loops, rows: int, columns: int, type_: VectorType):
        self.code = code
        self.type = type_
        (self.lanes,) = type_.get_shape()
        self.columns = columns
        self.flat = code(memref.AllocaOp.get(f32, 64, [rows * columns * self.lanes])).memref
        assert isinstance(self.flat.type, MemRefType)

    def place(self, row: AffineExpr | int, column: AffineExpr | int) -> AffineExpr:
        """The position of a vector."""
        return (AffineExpr.constant(0) + row) * (self.columns * self.lanes) + (
            AffineExpr.constant(0) + column
        ) * self.lanes

    def load(self, row: AffineExpr | int, column: AffineExpr | int, *operands: Index) -> SSAValue:
        """One vector."""
        return self.code.load_vector(self.type, self.flat, self.place(row, column), *operands)

    def store(self, value: SSAValue, row: AffineExpr | int, column: AffineExpr | int, *operands: Index) -> None:
        """One vector."""
        self.code.store_vector(value, self.flat, self.place(row, column), *operands)


def between(
    code: Loops, lower: Sequence[AffineExpr], upper: Sequence[AffineExpr], at: Index, body: Callable[[SSAValue], None]
) -> None:
    """`for i` from the largest of `lower` to the smallest of `upper`, which are over `at`."""
    block = Block(arg_types=[IndexType()])

    def once() -> Sequence[SSAValue]:
        body(block.args[0])
        return ()

    code.into(block, once)
    (low, low_values), (high, high_values) = (_bounds(exprs, at) for exprs in (lower, upper))
    code(affine.ForOp.from_region(low_values, high_values, [], [], low, high, Region(block), 1))


def _bounds(exprs: Sequence[AffineExpr], at: Index) -> tuple[AffineMapAttr, list[SSAValue]]:
    maps = [compress(e, (at,)) for e in exprs]
    count = max(map.num_dims for map, _ in maps)
    values = next(values for map, values in maps if map.num_dims == count)
    return AffineMapAttr(AffineMap(count, 0, tuple(map.results[0] for map, _ in maps))), values


def splat(code: Loops, number: float, type_: VectorType) -> SSAValue:
    """The number in every lane."""
    return code(vector.splat(FloatAttr(number, f32), type_)).result


def transform(code: Loops, matrix: Matrix, values: Sequence[SSAValue | None], zero: SSAValue) -> list[SSAValue]:
    """matrix times values (None is 0), a vector per row.

    Pairs of columns or rows that are equal but for signs, as points p and -p give, are computed together.
    """
    type_ = zero.type
    assert isinstance(type_, VectorType)
    rows = [list(row) for row in matrix]
    known = list(values)
    for i in range(1, len(known) - 1, 2):
        left, right = known[i], known[i + 1]
        if left is not None and right is not None and all(abs(row[i]) == abs(row[i + 1]) for row in rows):
            known[i] = code(arith.AddfOp(left, right)).result
            known[i + 1] = code(arith.SubfOp(left, right)).result
            for row in rows:
                same = row[i] == row[i + 1]
                row[i], row[i + 1] = (row[i], 0.0) if same else (0.0, row[i])
    results: list[SSAValue] = []
    while len(results) < len(rows):
        number = len(results)
        row = rows[number]
        following = rows[number + 1] if number + 1 < len(rows) else row
        even = [a if a == b else 0.0 for a, b in zip(row, following, strict=True)]
        odd = [a if a == -b else 0.0 for a, b in zip(row, following, strict=True)]
        paired = any(odd) and any(even) and all(e or o or not a for e, o, a in zip(even, odd, row, strict=True))
        if following is row or not paired:
            results.append(combination(code, row, known) or zero)
            continue
        base, (factor, rest) = combination(code, even, known), scaled(code, odd, known)
        results += [add(code, base, sign * factor, rest, type_) or zero for sign in (1.0, -1.0)]
    return results


def scaled(code: Loops, row: Sequence[float], values: Sequence[SSAValue | None]) -> tuple[float, SSAValue | None]:
    """row times values as a number times a vector, so that a sum takes one multiplication less."""
    factor = next((c for c, v in zip(row, values, strict=True) if c and v is not None), 1.0)
    return factor, combination(code, [c / factor for c in row], values)


def combination(code: Loops, row: Sequence[float], values: Sequence[SSAValue | None]) -> SSAValue | None:
    """row times values; None where that is 0."""
    terms = [(c, v) for c, v in zip(row, values, strict=True) if c and v is not None]
    terms.sort(key=lambda term: abs(term[0]) != 1.0)  # sums first, then fused multiply-adds
    total: SSAValue | None = None
    for factor, value in terms:
        type_ = value.type
        assert isinstance(type_, VectorType)
        total = add(code, total, factor, value, type_)
    return total


def add(
    code: Loops, total: SSAValue | None, factor: float, value: SSAValue | None, type_: VectorType
) -> SSAValue | None:
    """total + factor * value."""
    if value is None:
        return total
    if total is None:
        return value if factor == 1.0 else code(arith.MulfOp(value, splat(code, factor, type_))).result
    if abs(factor) == 1.0:
        return code((arith.AddfOp if factor > 0 else arith.SubfOp)(total, value)).result
    return code(vector.FMAOp(value, splat(code, factor, type_), total)).res
