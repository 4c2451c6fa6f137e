"""Arrays copied so that what were rows are lanes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import VectorType, f32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ..contraction_to_vector.squares import transpose
from .vectors import D, Vectors


@dataclass(frozen=True)
class Columns:
    """Rows of an array, one for each lane: element (row, column) lies at base + row * row_step + column * step."""

    flat: SSAValue
    base: SSAValue
    row_step: int
    step: int
    count: int


def blocks(count: int, size: int) -> tuple[int, AffineExpr]:
    """How many blocks of `size` cover `count` things, and where each begins; the last ones overlap."""
    number = -(-count // size)
    if count % size == 0 or number == 1:
        return number, D(0) * size
    return number, (D(0) * (count - size)) // (number - 1)


def load_lanes(code: Vectors, source: Columns, scratch: SSAValue, lanes: int, vectors: int) -> None:
    """scratch[column, row] = source(row, column) for `vectors` times `lanes` rows."""
    width = lanes * vectors
    type_ = VectorType(f32, [lanes])
    if source.row_step == 1:

        def straight(column: SSAValue | None) -> None:
            for group in range(vectors):
                place = D(0) + D(1) * source.step + group * lanes
                value = code.load_vector(type_, source.flat, place, source.base, column)
                code.store_vector(value, scratch, D(0) * width + group * lanes, column)

        code.count(source.count, straight)
        return
    if source.step != 1 or source.count < lanes:

        def single(column: SSAValue | None) -> None:
            for row in range(width):
                place = D(0) + D(1) * source.step + row * source.row_step
                code.store(code.load(source.flat, place, source.base, column), scratch, D(0) * width + row, column)

        code.count(source.count, single)
        return
    number, start = blocks(source.count, lanes)

    def square(block: SSAValue | None) -> None:
        column = code.index(start, block)
        for group in range(vectors):
            rows = [
                code.load_vector(
                    type_, source.flat, D(0) + D(1) + (group * lanes + row) * source.row_step, source.base, column
                )
                for row in range(lanes)
            ]
            for ahead, value in enumerate(transpose(code, rows)):
                code.store_vector(value, scratch, (D(0) + ahead) * width + group * lanes, column)

    code.count(number, square)


def store_lanes(
    code: Vectors,
    scratch: SSAValue,
    target: Columns,
    lanes: int,
    vectors: int,
    change: Callable[[SSAValue, int], SSAValue],
) -> None:
    """target(row, column) = change(scratch[column, row]), which gets a vector over the rows and its number."""
    width = lanes * vectors
    type_ = VectorType(f32, [lanes])

    def changed(column: SSAValue | None, ahead: int, group: int) -> SSAValue:
        return change(code.load_vector(type_, scratch, (D(0) + ahead) * width + group * lanes, column), group)

    if target.step != 1 or target.count < lanes:

        def single(column: SSAValue | None) -> None:
            for group in range(vectors):
                code.store_vector(changed(column, 0, group), scratch, D(0) * width + group * lanes, column)
            for row in range(width):
                value = code.load(scratch, D(0) * width + row, column)
                place = D(0) + D(1) * target.step + row * target.row_step
                code.store(value, target.flat, place, target.base, column)

        code.count(target.count, single)
        return
    number, start = blocks(target.count, lanes)

    def square(block: SSAValue | None) -> None:
        column = code.index(start, block)
        for group in range(vectors):
            columns = [changed(column, ahead, group) for ahead in range(lanes)]
            for row, value in enumerate(transpose(code, columns)):
                place = D(0) + D(1) + (group * lanes + row) * target.row_step
                code.store_vector(value, target.flat, place, target.base, column)

    code.count(number, square)
