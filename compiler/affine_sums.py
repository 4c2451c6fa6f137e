"""Affine expressions with their terms collected.

xDSL's `simplify` does that, too, but spells out `mod` by `floordiv`, and so loses that it is never negative.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineExpr

_Terms = dict[AffineExpr, int]  # each with the factor that it has
_ADD, _MUL = AffineBinaryOpKind.Add, AffineBinaryOpKind.Mul
_DIV, _MOD = AffineBinaryOpKind.FloorDiv, AffineBinaryOpKind.Mod


def collected(expr: AffineExpr) -> AffineExpr:
    """`expr` as a sum of multiples of terms, and a constant; what a division takes whole is outside of it.

    >>> d, e = AffineExpr.dimension(0), AffineExpr.dimension(1)
    >>> print(collected(d + 3 + (e % 4 + d) * 2 + 1))
    (((d0 * 3) + ((d1 mod 4) * 2)) + 4)
    >>> print(collected((d * 32 + e % 8) // 16), collected((e + d * 4 + 9) % 4))
    ((d0 * 2) + ((d1 mod 8) floordiv 16)) ((d1 + 1) mod 4)
    """
    return _sum(*_terms(expr))


def _sum(terms: Mapping[AffineExpr, int], constant: int) -> AffineExpr:
    total: AffineExpr | None = None
    for term, factor in terms.items():
        part = term if factor == 1 else term * factor
        total = part if total is None else total + part
    if total is None:
        return AffineExpr.constant(constant)
    return total + constant if constant else total


def _terms(expr: AffineExpr) -> tuple[_Terms, int]:
    if isinstance(expr, AffineConstantExpr):
        return {}, expr.value
    if not isinstance(expr, AffineBinaryOpExpr):
        return {expr: 1}, 0
    (left, more), (right, factor) = _terms(expr.lhs), _terms(expr.rhs)
    if expr.kind is _ADD:
        return _added(left, right), more + factor
    if expr.kind is _MUL and not (left and right):
        terms, times = (left, factor) if not right else (right, more)
        return {term: n * times for term, n in terms.items() if times}, more * factor
    if not right and factor > 0 and expr.kind in (_DIV, _MOD):
        return _divided(expr.kind, left, more, factor)
    whole = AffineBinaryOpExpr(expr.kind, _sum(left, more), _sum(right, factor))
    return {whole: 1}, 0


def _divided(kind: AffineBinaryOpKind, terms: _Terms, constant: int, divisor: int) -> tuple[_Terms, int]:
    """A sum `floordiv` or `mod` a positive number: multiples of that come out of it, or are nothing."""
    outside = {term: n // divisor for term, n in terms.items() if n % divisor == 0}
    inside = {term: n for term, n in terms.items() if n % divisor}
    quotient, rest = divmod(constant, divisor)
    if kind is _MOD:
        outside, quotient = {}, rest if not inside else 0
    if inside:
        outside = _added(outside, {_nested(kind, _sum(inside, rest), divisor): 1})
    return outside, quotient


def _nested(kind: AffineBinaryOpKind, expr: AffineExpr, divisor: int) -> AffineExpr:
    """A division of what may be one of the same kind."""
    if isinstance(expr, AffineBinaryOpExpr) and expr.kind is kind and isinstance(expr.rhs, AffineConstantExpr):
        before = expr.rhs.value
        if kind is _DIV and before > 0:
            return AffineBinaryOpExpr(kind, expr.lhs, AffineExpr.constant(before * divisor))
        if kind is _MOD and before > 0 and before % divisor == 0:
            return _sum(*_divided(kind, *_terms(expr.lhs), divisor))
    return AffineBinaryOpExpr(kind, expr, AffineExpr.constant(divisor))


def _added(left: Mapping[AffineExpr, int], right: Mapping[AffineExpr, int]) -> _Terms:
    found = dict(left)
    for term, n in right.items():
        found[term] = found.get(term, 0) + n
    return {term: n for term, n in found.items() if n}
