"""The type of a tile."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, FixedBitwidthType, IntAttr, ShapedType
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

ROWS = 16
ROW_BYTES = 64
FEWEST_ROWS = 4  # a tile of fewer is mostly empty
FEWEST_BYTES = ROW_BYTES // 4  # of a row: tiles of fewer are no faster than vectors


def rows_of(run: int) -> int:
    """The rows of a tile, where so many rows are evenly apart: an equal part of them.

    >>> rows_of(28), rows_of(7), rows_of(17)
    (14, 7, 1)
    """
    return next(n for n in range(ROWS, 0, -1) if run % n == 0)


def depth_of(size: int, group: int) -> int:
    """How much of `size` numbers that are summed is in a tile of `group` in four bytes: an equal part, whole groups.

    0 where there is none that is worth it.

    >>> depth_of(144, 2), depth_of(64, 4), depth_of(197, 2), depth_of(4, 2)
    (24, 64, 0, 0)
    """
    parts = range(ROW_BYTES * group // 4, FEWEST_BYTES * group // 4 - 1, -group)
    return next((n for n in parts if size % n == 0), 0)


@irdl_attr_definition
class TileType(ParametrizedAttribute, TypeAttribute, ShapedType):
    """`!amx.tile<16x64xi8>`: at most 16 rows of at most 64 bytes."""

    name = "amx.tile"
    shape: ArrayAttr[IntAttr]
    element_type: Attribute

    @staticmethod
    def of(shape: Sequence[int], element: Attribute) -> TileType:
        """A tile type from plain numbers."""
        return TileType(ArrayAttr([IntAttr(n) for n in shape]), element)

    def get_num_dims(self) -> int:
        """Two."""
        return 2

    def get_shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return tuple(n.data for n in self.shape)

    @property
    def row_bytes(self) -> int:
        """The bytes of one row."""
        assert isinstance(self.element_type, FixedBitwidthType)
        return self.get_shape()[1] * (self.element_type.bitwidth // 8)

    def verify(self) -> None:
        shape = self.get_shape()
        if len(shape) != 2 or not isinstance(self.element_type, FixedBitwidthType):
            raise VerifyException(f"a tile has rows and columns of numbers, got {list(shape)}")
        if not 0 < shape[0] <= ROWS or not 0 < self.row_bytes <= ROW_BYTES or self.row_bytes % 4:
            raise VerifyException(f"a tile has at most {ROWS} rows of at most {ROW_BYTES} bytes, whole fours of them")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            shape, element = parser.parse_ranked_shape()
        return [ArrayAttr([IntAttr(n) for n in shape]), element]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string("".join(f"{n}x" for n in self.get_shape()))
            printer.print_attribute(self.element_type)
