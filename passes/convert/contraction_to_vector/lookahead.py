"""Fetching the next panels of B while the tiles of these are computed.

Weights of a large model come from memory: without this, the first tile of every panel waits for all of it. The tiles
of a panel share the work: each asks for a part of the next panel, a row every `ahead` rounds of its innermost loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import FixedBitwidthType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ....dialects.affine.linear_forms import memref_shape
from .analysis import Contraction
from .loops import D, Loops
from .spot import TilePlace

LINE_BYTES = 64


@dataclass(frozen=True)
class Lookahead:
    """`walk` is where a row lies in its panel, over (start, loops over k...); a block of k has `rows` of them.

    After a panel's block comes the same block of the next panels; with `panels_first` the next one of the same panel.
    """

    code: Loops
    contraction: Contraction
    flats: Mapping[SSAValue, SSAValue]
    walk: AffineExpr
    rows: int
    ahead: int
    panels_first: bool = False

    def start(
        self, place: TilePlace, panels: int, number: tuple[int, SSAValue | None], block: SSAValue | None
    ) -> SSAValue:
        """Where the part begins that this tile asks for; the last ones ask for what is there already."""
        packed, value = self.contraction.panels, self.contraction.b.value
        shape = memref_shape(value)
        assert packed is not None and shape is not None
        size = self.rows * packed.lanes
        reach = size // self.ahead  # how far the loops over k get from the start
        batch, _, panel = place.operands
        first = place.columns.first // packed.lanes
        further = size if self.panels_first else panels * packed.stride
        next_ = place.outer(self.contraction.b.form, 0) + (D(2) + first) * packed.stride + further
        constant, strip = number
        part = (D(3) + constant) * reach + D(4) * (size - reach)
        last = AffineExpr.constant(prod(shape) - further)
        return self.code.least([next_ + part, last], batch, None, panel, strip, block)

    def ask(self, start: SSAValue, panels: int, ks: Sequence[SSAValue]) -> None:
        """Asks for one row of each of the next panels."""
        packed, element = self.contraction.panels, self.contraction.b.element
        assert packed is not None and isinstance(element, FixedBitwidthType)
        line = LINE_BYTES * 8 // element.bitwidth
        row = self.walk // self.ahead + D(0)
        for panel in range(panels):
            for lane in range(0, packed.lanes, line):
                place = row + panel * packed.stride + lane
                self.code.prefetch(self.flats[self.contraction.b.value], place, start, *ks)
