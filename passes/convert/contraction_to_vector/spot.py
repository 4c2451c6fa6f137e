"""A place in a register tile: one row of one panel, and where it lies in each array."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType, VectorType
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr

from ....dialects import vector
from ....dialects.affine.linear_forms import Linear, flat_position
from .analysis import Contraction
from .loops import D, Loops

BATCH, ROW, PANEL = D(0), D(1), D(2)  # the operands that place a tile


@dataclass(frozen=True)
class Columns:
    """A run of panels: the first column, how many panels, their vectors' lanes, how many of those are columns."""

    first: int
    panels: int
    lanes: int
    valid: int

    @property
    def masked(self) -> bool:
        """Whether some lanes lie beyond the last column."""
        return self.valid < self.lanes


class TilePlace:
    """Where a tile is: `operands` are its batch, first row and first panel; `shared` is what it loaded already."""

    def __init__(
        self,
        code: Loops,
        contraction: Contraction,
        columns: Columns,
        operands: tuple[SSAValue | None, SSAValue | None, SSAValue | None],
    ):
        self.code = code
        self.contraction = contraction
        self.columns = columns
        self.operands = operands
        self.shared: dict[object, SSAValue] = {}
        self.rows: dict[tuple[Linear, int], AffineExpr] = {}
        self.panel_lanes = contraction.panels.lanes if contraction.panels else columns.lanes

    @property
    def lanes(self) -> int:
        """Lanes of each vector."""
        return self.columns.lanes

    def fresh(self) -> TilePlace:
        """The same place, for ops in a region of their own."""
        return TilePlace(self.code, self.contraction, self.columns, self.operands)

    def outer(self, form: Linear, row: int) -> AffineExpr:
        """The part of an array's flat position that the batch and row number `row` of the tile give."""
        if (form, row) not in self.rows:
            self.rows[form, row] = self._outer(form, row)
        return self.rows[form, row]

    def _outer(self, form: Linear, row: int) -> AffineExpr:
        expr = AffineExpr.constant(form.offset)
        for dims, index in ((self.contraction.batch, BATCH), (self.contraction.m, ROW + row)):
            sizes = [self.contraction.sizes[d] for d in dims]
            expr = expr + flat_position(form.over(dims), sizes, index)
        return expr

    def position(self, form: Linear, row: int, panel: int) -> AffineExpr:
        """The flat position in an array of this row's and panel's first lane, over `operands`."""
        n = self.contraction.n
        along = form.coefficients[n] if n >= 0 else 0
        if not along:
            return self.outer(form, row)
        return self.outer(form, row) + ((PANEL + panel) * self.panel_lanes + self.columns.first) * along

    def once(self, key: object, make: Callable[[], SSAValue]) -> SSAValue:
        """What `make()` gave the first time for this key."""
        if key not in self.shared:
            self.shared[key] = make()
        return self.shared[key]

    def mask(self) -> SSAValue | None:
        """The lanes that are columns, None for all."""
        if not self.columns.masked:
            return None
        return self.once("mask", lambda: self.code(vector.ConstantMaskOp(self.columns.valid, self.lanes)).result)

    def zeros(self, type_: VectorType) -> SSAValue:
        """A vector of zeros."""
        return self.once(
            type_,
            lambda: self.code(vector.BroadcastOp(zero(self.code, type_.element_type), type_)).vector,
        )

    def load(self, flat: SSAValue, element: Attribute, expr: AffineExpr) -> SSAValue:
        """The columns' elements from flat position `expr` on; each is loaded once per tile."""
        type_ = VectorType(element, [self.lanes])

        def make() -> SSAValue:
            mask = self.mask()
            otherwise = self.zeros(type_) if mask is not None else None
            return self.code.load_vector(type_, flat, expr, *self.operands, mask=mask, otherwise=otherwise)

        return self.once((flat, expr), make)


def zero(code: Loops, element: Attribute) -> SSAValue:
    """The number 0 of this type."""
    if isinstance(element, AnyFloat):
        return code(arith.ConstantOp(FloatAttr(0.0, element))).result
    assert isinstance(element, IntegerType)
    return code(arith.ConstantOp(IntegerAttr(0, element))).result
