"""Tiles that threads hold in registers: who has which places, and what is computed there.

A thread has some rows of a tile, and of each row pieces of a few neighbours; the threads of a warp that share a row
exchange what they need by shuffles. A tile of one column is a number for each row, one of one row a piece for each
place along it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import math, vector
from xdsl.dialects.arith import ConstantOp, SubiOp
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FixedBitwidthType,
    FloatAttr,
    IntegerAttr,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from ....dialects import arith, scf
from ....dialects.affine import LoadOp as ElementLoadOp
from ....dialects.affine import StoreOp as ElementStoreOp
from ....dialects.affine import VectorLoadOp, VectorStoreOp
from ....dialects.cta import LoadOp, MapOp, NumbersOp, ReduceOp, StoreOp, ViewOp, ViewType, YieldOp
from ....dialects.cta.ops import tile_type
from ....dialects.gpu import ShuffleOp
from ....dialects.nvgpu import Exp2Op, RoundPairOp
from ....dialects.vector.widen import Widener
from .kernel import Coordinate, Global, Kernel

COMBINE: dict[str, type[Operation]] = {"add": arith.AddfOp, "maximumf": arith.MaximumfOp}


@dataclass(frozen=True)
class Spread:
    """The rows of a thread, how many threads share each, which of them this one is, and the neighbours of a piece."""

    rows: tuple[Coordinate, ...]
    sharing: int
    place: AffineExpr
    most: int

    def lanes(self, columns: int) -> int:
        """Neighbours of a piece of a tile that has so many columns."""
        return min(self.most, columns // self.sharing)

    def pieces(self, columns: int) -> list[Coordinate]:
        """Where each piece of a row begins."""
        lanes = self.lanes(columns)
        return [Coordinate(self.place * lanes, start) for start in range(0, columns, self.sharing * lanes)]


Held = list[list[SSAValue]]
"""A tile in registers: for each row of the thread its pieces; just one row, or numbers for pieces, where it is flat."""


class Registers:
    """Writes what a thread does with tiles that it holds."""

    def __init__(self, kernel: Kernel, spread: Spread, corner: Sequence[SSAValue]):
        self.k, self.spread, self.corner = kernel, spread, corner
        self.held: dict[SSAValue, Held] = {}
        self.ahead: dict[SSAValue, tuple[SSAValue, SSAValue]] = {}  # of numbers of columns: the thread's, and constants

    def put(self, op: type[Operation], *operands: SSAValue) -> SSAValue:
        """The result of an op of floats."""
        properties = {"fastmath": arith.FastMathFlagsAttr("none")}
        made = op.create(operands=operands, result_types=[operands[0].type], properties=properties)
        return self.k.put(made).results[0]

    def types(self, tile: SSAValue) -> list[list[Attribute]]:
        """The types of a tile's parts."""
        type_ = tile_type(tile)
        rows, columns = type_.get_shape()
        part = type_.element_type if columns == 1 else VectorType(type_.element_type, [self.spread.lanes(columns)])
        count = 1 if columns == 1 else len(self.spread.pieces(columns))
        return [[part] * count for _ in range(1 if rows == 1 else len(self.spread.rows))]

    def constant(self, op: arith.ConstantOp) -> None:
        """A tile that is the same everywhere."""
        assert isinstance(op.value, DenseIntOrFPElementsAttr)
        types = self.types(op.result)
        part, attribute = types[0][0], next(iter(op.value.get_attrs()))
        if isinstance(part, VectorType):
            assert isinstance(attribute, FloatAttr)
            number = attribute.value.data
            attribute = DenseIntOrFPElementsAttr.from_list(cast("VectorType[AnyFloat]", part), [number])
        value = self.k.early(arith.ConstantOp(attribute)).result  # pyright: ignore
        self.held[op.result] = [[value] * len(row) for row in types]

    def numbers(self, op: NumbersOp) -> None:
        """The numbers of rows or columns. Those of columns are one number of the thread and constants."""
        kernel = self.k
        first = kernel.arguments[op.first]
        rows, columns = tile_type(op.result).get_shape()

        def number(at: Coordinate) -> SSAValue:
            index = kernel.plus(kernel.both(first, kernel.of_thread(at.thread)), at.more)
            return kernel.put(arith.IndexCastOp(index, i32)).result

        if columns == 1:
            self.held[op.result] = [[number(row)] for row in self.spread.rows]
            return
        assert rows == 1
        wide = VectorType(i32, [self.spread.lanes(columns)])
        pieces = self.spread.pieces(columns)
        base = number(Coordinate(pieces[0].thread))
        same = kernel.put(vector.BroadcastOp(base, wide)).results[0]
        found: list[SSAValue] = []
        for piece in pieces:
            numbers = list(range(piece.more, piece.more + wide.get_shape()[0]))
            ahead = kernel.early(arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(wide, numbers))).result
            found.append(kernel.put(arith.AddiOp.create(operands=[same, ahead], result_types=[wide])).results[0])
            self.ahead[found[-1]] = base, ahead
        self.held[op.result] = [found]

    def map(self, op: MapOp) -> None:
        """The same computation for each part."""
        _, columns = tile_type(op.result).get_shape()
        body = op.body.block
        found: Held = []
        for i, row in enumerate(self.types(op.result)):
            found.append([])
            for j in range(len(row)):
                widener = Widener(self.k.b, self.spread.lanes(columns) if columns > 1 else 1)
                for argument, tile in zip(body.args, op.inputs, strict=True):
                    parts = self.held[tile]
                    own = parts[i if len(parts) > 1 else 0]
                    widener.values[argument] = own[j if len(own) > 1 else 0]
                found[i].append(self._computed(body, widener, wide=columns > 1))
        self.held[op.result] = found

    def _computed(self, body: Block, widener: Widener, *, wide: bool) -> SSAValue:
        for op in body.ops:
            match op:
                case YieldOp():
                    value = widener.value(op.values[0])
                    return widener.vector(value) if wide else value
                case math.Exp2Op():
                    widener.values[op.result] = self._power(widener.value(op.operand))
                case arith.TruncFOp() if self._is_pair(op, widener):
                    pair = RoundPairOp(widener.value(op.input), op.result.type)
                    widener.values[op.result] = self.k.put(pair).result
                case _ if op.name == arith.CmpiOp.name and self._is_ahead(op, widener):
                    widener.values[op.results[0]] = self._compared(op, widener)
                case _:
                    widener.widen(op)
        raise AssertionError("a map without a result")

    def _is_ahead(self, op: Operation, widener: Widener) -> bool:
        """Whether numbers of columns are compared with one that a thread knows when it runs."""
        left, right = (widener.value(value) for value in op.operands)
        return left in self.ahead and not isinstance(right.owner, ConstantOp) and right.type == i32

    def _compared(self, op: Operation, widener: Widener) -> SSAValue:
        """Numbers of columns against one number: constants against the difference, so that they need no registers."""
        base, ahead = self.ahead[widener.value(op.operands[0])]
        apart = self.k.put(SubiOp(widener.value(op.operands[1]), base)).result
        properties = op.properties.copy()
        type_ = VectorType(i1, [widener.lanes])
        made = arith.CmpiOp.create(operands=[ahead, widener.vector(apart)], result_types=[type_], properties=properties)
        return self.k.put(made).result

    def _is_pair(self, op: arith.TruncFOp, widener: Widener) -> bool:
        value, type_ = widener.value(op.input), op.result.type
        return (
            isinstance(value.type, VectorType) and widener.lanes == 2 and cast(FixedBitwidthType, type_).bitwidth == 16
        )

    def _power(self, value: SSAValue) -> SSAValue:
        """2 to the power of a number, or of each of some."""
        if not isinstance(value.type, VectorType):
            return self.k.put(Exp2Op(value)).result
        found = value
        for lane in range(value.type.get_shape()[0]):
            power = self.k.put(Exp2Op(self.lane(value, lane))).result
            found = self.k.put(vector.InsertOp(power, found, [lane])).results[0]
        return found

    def lane(self, value: SSAValue, lane: int) -> SSAValue:
        """One number of a piece."""
        assert isinstance(value.type, VectorType)
        return self.k.put(vector.ExtractOp(value, [lane], value.type.element_type)).result

    def reduce(self, op: ReduceOp) -> None:
        """Each row to one number: first what a thread has, then by shuffles what others have."""
        combine = COMBINE[op.kind.data]
        found: Held = []
        for first, *others in self.held[op.input]:
            for other in others:
                first = self.put(combine, first, other)
            assert isinstance(first.type, VectorType)
            number, *more = (self.lane(first, lane) for lane in range(first.type.get_shape()[0]))
            for other in more:
                number = self.put(combine, number, other)
            offset = 1
            while offset < self.spread.sharing:
                number = self.put(combine, number, self.k.put(ShuffleOp(number, offset)).result)
                offset *= 2
            found.append([number])
        self.held[op.result] = found

    def load(self, op: LoadOp) -> None:
        """A tile of a view, each thread its parts; zeros outside the matrix."""
        place = _place(self.k, op.view)
        rows, columns = tile_type(op.result).get_shape()
        corner = [self.k.arguments[index] for index in op.at]
        at_rows = self.spread.rows if rows > 1 else (Coordinate(self.spread.place * 0),)
        found: Held = []
        for row in at_rows:
            at_row = self._moved(corner[1], row)
            tall = self._inside(place, 1, at_row, rows)
            if columns == 1:
                found.append([self._element(place, [corner[0], at_row, corner[2]], tall)])
                continue
            pieces = self.spread.pieces(columns)
            found.append([self._piece(place, [*corner[:1], at_row, corner[2]], tall, p, columns) for p in pieces])
        self.held[op.result] = found

    def _moved(self, start: SSAValue, at: Coordinate) -> SSAValue:
        return self.k.plus(self.k.both(start, self.k.of_thread(at.thread)), at.more)

    def _inside(self, place: Global, mode: int, at: SSAValue, tile: int) -> list[SSAValue]:
        size = place.view.sizes[mode]
        return [self.k.below(at, size)] if tile > 1 and size % tile else []

    def _piece(
        self, place: Global, corner: Sequence[SSAValue], tall: list[SSAValue], piece: Coordinate, columns: int
    ) -> SSAValue:
        kernel, lanes = self.k, self.spread.lanes(columns)
        first = self._moved(corner[2], piece)
        if place.view.width(2, lanes) == lanes:
            inside = kernel.all_of([*tall, *self._inside(place, 2, first, columns)])
            return self._element(place, [*corner[:2], first], [] if inside is None else [inside], lanes)
        wide = VectorType(place.view.element_type, [lanes])
        found: SSAValue = kernel.early(arith.ConstantOp(_zeros(wide))).result
        for lane in range(lanes):
            here = kernel.plus(first, lane)
            inside = [*tall, *self._inside(place, 2, here, columns)]
            number = self._element(place, [*corner[:2], here], inside)
            found = kernel.put(vector.InsertOp(number, found, [lane])).results[0]
        return found

    def _element(self, place: Global, at: Sequence[SSAValue], inside: list[SSAValue], lanes: int = 1) -> SSAValue:
        """Neighbours of a row, or one element; zeros where it is not inside."""
        kernel, element = self.k, place.view.element_type
        indices, map_ = place.index(at)
        if lanes == 1:
            load: Operation = ElementLoadOp(place.buffer, indices, map_)
        else:
            load = VectorLoadOp(place.buffer, indices, map_, VectorType(element, [lanes]))
            load.attributes["alignment"] = _alignment(place, lanes)
        condition = kernel.all_of(inside)
        if condition is None:
            return kernel.put(load).results[0]
        type_ = load.results[0].type
        nothing = kernel.early(arith.ConstantOp(_zero(type_))).result  # pyright: ignore
        yes, no = Block([load, scf.YieldOp(load.results[0])]), Block([scf.YieldOp(nothing)])
        return kernel.either(condition, [type_], yes, no)[0]

    def store(self, op: StoreOp) -> None:
        """A tile into a view; what lies outside the matrix is dropped."""
        kernel, place = self.k, _place(self.k, op.view)
        rows, columns = tile_type(op.value).get_shape()
        corner = [kernel.arguments[index] for index in op.at]
        lanes = self.spread.lanes(columns)
        width = place.view.width(2, lanes)
        for row, parts in zip(self.spread.rows, self.held[op.value], strict=True):
            at_row = self._moved(corner[1], row)
            with kernel.when(kernel.all_of(self._inside(place, 1, at_row, rows))):
                for piece, value in zip(self.spread.pieces(columns), parts, strict=True):
                    for start in range(0, lanes, width):
                        at = self._moved(corner[2], piece + start)
                        with kernel.when(kernel.all_of(self._inside(place, 2, at, columns))):
                            self._keep(place, value, range(start, start + width), [corner[0], at_row, at])

    def _keep(self, place: Global, value: SSAValue, lanes: range, at: Sequence[SSAValue]) -> None:
        kernel = self.k
        indices, map_ = place.index(at)
        if len(lanes) == 1:
            kernel.put(ElementStoreOp(self.lane(value, lanes[0]), place.buffer, indices, map_))
            return
        assert isinstance(value.type, VectorType)
        part = value if len(lanes) == value.type.get_shape()[0] else kernel.part(value, list(lanes))
        store = VectorStoreOp(part, place.buffer, indices, map_)
        store.attributes["alignment"] = _alignment(place, len(lanes))
        kernel.put(store)


def _place(kernel: Kernel, value: SSAValue) -> Global:
    view = value.owner
    assert isinstance(view, ViewOp) and isinstance(view.result.type, ViewType)
    return Global(kernel, view.buffer, view.result.type)


def _alignment(place: Global, lanes: int) -> IntegerAttr:
    return IntegerAttr(lanes * (cast(FixedBitwidthType, place.view.element_type).bitwidth // 8), i64)


def _zeros(type_: VectorType) -> DenseIntOrFPElementsAttr:
    return DenseIntOrFPElementsAttr.from_list(cast("VectorType[AnyFloat]", type_), [0.0])


def _zero(type_: Attribute) -> Attribute:
    return _zeros(type_) if isinstance(type_, VectorType) else FloatAttr(0.0, cast(AnyFloat, type_))
