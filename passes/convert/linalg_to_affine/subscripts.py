"""Subscripts that ops compute, as affine expressions of loops and of what no loop changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap


@dataclass
class Subscripts:
    """Collects what accesses at computed indices need: of the variables `loops` those they use, and symbols.

    `fixed` says whether a value is there before all loops.
    """

    loops: Sequence[SSAValue]
    fixed: Callable[[SSAValue], bool]
    dims: list[SSAValue] = field(default_factory=list[SSAValue])
    symbols: list[SSAValue] = field(default_factory=list[SSAValue])

    @property
    def operands(self) -> list[SSAValue]:
        """What the map is applied to."""
        return [*self.dims, *self.symbols]

    def map_of(self, indices: Sequence[SSAValue]) -> AffineMap | None:
        """The map from `operands` to the indices, None where one of them is not affine."""
        results: list[AffineExpr] = []
        for index in indices:
            if (expr := self._expr(index)) is None:
                return None
            results.append(expr)
        return AffineMap(len(self.dims), len(self.symbols), tuple(results))

    def _expr(self, value: SSAValue) -> AffineExpr | None:
        if value in self.loops:
            return AffineExpr.dimension(_place(self.dims, value))
        match value.owner:
            case arith.ConstantOp(value=IntegerAttr() as number):
                return AffineExpr.constant(number.value.data)
            case arith.AddiOp() | arith.SubiOp() as op if not self.fixed(value):
                left, right = self._expr(op.lhs), self._expr(op.rhs)
                if left is None or right is None:
                    return None
                return left + right if isinstance(op, arith.AddiOp) else left - right
            case _ if self.fixed(value):
                return AffineExpr.symbol(_place(self.symbols, value))
            case _:
                return None


def _place(values: list[SSAValue], value: SSAValue) -> int:
    if value not in values:
        values.append(value)
    return values.index(value)


def erase_unused(values: Iterable[SSAValue]) -> None:
    """Erases the sums among `values`, listed in order, that nothing uses now that accesses have them."""
    for value in reversed(dict.fromkeys(values)):
        if isinstance(op := value.owner, arith.AddiOp | arith.SubiOp) and not value.uses:
            op.detach()
            op.erase()
