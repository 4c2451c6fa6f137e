"""Where elements lie: an access as a linear form of the loop indices in one flat buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.dialects.memref import SubviewOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineExpr, AffineMap

from ..memref.views import through_subviews


@dataclass(frozen=True)
class Linear:
    """offset + Σ coefficients[d] * index d, counted in elements."""

    coefficients: tuple[int, ...]
    offset: int = 0

    def over(self, dims: Sequence[int]) -> tuple[int, ...]:
        """The coefficients of these dimensions."""
        return tuple(self.coefficients[d] for d in dims)


def row_major_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Elements to skip per step of each dimension.

    >>> row_major_strides([2, 3, 4])
    (12, 4, 1)
    """
    strides = [1] * len(shape)
    for i in reversed(range(len(shape) - 1)):
        strides[i] = strides[i + 1] * shape[i + 1]
    return tuple(strides)


def is_linear(expr: AffineExpr) -> bool:
    """Whether `expr` has neither division nor remainder."""
    if isinstance(expr, AffineBinaryOpExpr):
        return expr.kind in (AffineBinaryOpKind.Add, AffineBinaryOpKind.Mul) and all(
            map(is_linear, (expr.lhs, expr.rhs))
        )
    return True


def linear_form(exprs: Sequence[AffineExpr], strides: Sequence[int], dims: int) -> Linear | None:
    """The flat position of the element at `exprs`, or None where they are not linear."""
    if not all(map(is_linear, exprs)):
        return None

    def at(point: Sequence[int]) -> int:
        return sum(e.eval(point, ()) * s for e, s in zip(exprs, strides, strict=True))

    origin = at([0] * dims)
    units = ([int(i == d) for i in range(dims)] for d in range(dims))
    return Linear(tuple(at(unit) - origin for unit in units), origin)


def memref_shape(value: SSAValue) -> tuple[int, ...] | None:
    """The static shape of a memref of identity layout, else None."""
    type_ = value.type
    if not isinstance(type_, MemRefType) or not type_.has_static_shape() or type_.layout.name != "none":
        return None
    return type_.get_shape()


def view_shape(value: SSAValue) -> tuple[int, ...] | None:
    """The static shape of such a memref, or of a subview of one; else None."""
    whole = value
    while isinstance(whole.owner, SubviewOp):
        whole = whole.owner.source
    if memref_shape(whole) is None or not isinstance(value.type, MemRefType) or not value.type.has_static_shape():
        return None
    return value.type.get_shape()


def access(value: SSAValue, map: AffineMap) -> Linear | None:
    """The linear form of the access `value[map]`, if it has one; of a subview: in the buffer it was taken of."""
    if isinstance(value.owner, SubviewOp) and DYNAMIC_INDEX not in value.owner.static_strides.get_values():
        whole = through_subviews(value, map)
        value, map = whole.memref, whole.map
    shape = memref_shape(value)
    if shape is None or map.num_symbols:
        return None
    return linear_form(map.results, row_major_strides(shape), map.num_dims)


def flat_position(coefficients: Sequence[int], sizes: Sequence[int], flat: AffineExpr) -> AffineExpr:
    """Σ coefficients[i] * index_i, where `flat` counts the indices in row-major order over `sizes`.

    Neighbours that step evenly are taken together, so that a contiguous walk is a plain product:

    >>> str(flat_position([12, 4], [5, 3], AffineExpr.dimension(0)))
    '(d0 * 4)'
    >>> str(flat_position([100, 4], [5, 3], AffineExpr.dimension(0)))
    '(((d0 floordiv 3) * 100) + ((d0 mod 3) * 4))'
    """
    runs: list[tuple[int, int]] = []  # coefficient, size
    for coefficient, size in zip(coefficients, sizes, strict=True):
        if runs and runs[-1][0] == coefficient * size:
            runs[-1] = (coefficient, runs[-1][1] * size)
        else:
            runs.append((coefficient, size))
    result = AffineExpr.constant(0)
    inner = 1
    terms: list[AffineExpr] = []
    for position, (coefficient, size) in reversed(list(enumerate(runs))):
        if coefficient:
            index = flat // inner if inner > 1 else flat
            terms.append((index % size if position else index) * coefficient)
        inner *= size
    for term in reversed(terms):
        result = result + term
    return result
