"""Dimensions: numbers, or polynomials with integer coefficients over symbols, `//`, `%`, `min` and `max`.

A `Dim` is an `int` wherever its value is known, else a `Poly` in normal form, so that equal sums are equal objects:

>>> M, K = symbol("M"), symbol("K")
>>> 2 * (M + K) == K + 2 * M + K
True
>>> print((4 * M + 2) // 2, (8 * M + 3) % 8, M * K // K)
2*M + 1 3 M

`evaluate` puts values for symbols, `solve` finds one symbol from an equation that is linear in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

__all__ = [
    "Apply",
    "Dim",
    "Extent",
    "Pack",
    "Poly",
    "Symbol",
    "bounds",
    "evaluate",
    "maximum",
    "minimum",
    "opaque",
    "pack_size",
    "solve",
    "symbol",
    "symbols_of",
]


@dataclass(frozen=True)
class Symbol:
    """A dimension or `const int` that is known when bound; `least` is the smallest value it can have, if known."""

    name: str
    least: int | None = 0

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Pack:
    """`..B` in a shape: any number of dimensions. Gone in instance mode."""

    name: str

    def __str__(self) -> str:
        return f"..{self.name}"


@dataclass(frozen=True)
class Apply:
    """`//`, `%`, `min` or `max` of two dimensions, where it cannot be simplified."""

    function: str
    left: Dim
    right: Dim

    def __str__(self) -> str:
        if self.function in ("min", "max"):
            return f"{self.function}({self.left}, {self.right})"
        return f"{_factor(self.left)}{self.function}{_factor(self.right)}"


Atom: TypeAlias = "Symbol | Apply"
Monomial: TypeAlias = "tuple[tuple[Atom, int], ...]"


class Poly:
    """A sum of monomials with integer coefficients: not a number, so it has at least one symbol."""

    __slots__ = ("_hash", "_text", "terms")

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]):
        self.terms = terms
        self._hash = hash(terms)
        self._text = ""

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Poly) and self._hash == other._hash and self.terms == other.terms)

    def __str__(self) -> str:
        if not self._text:
            self._text = "".join(_shown(self.terms))
        return self._text

    __repr__ = __str__

    def __add__(self, other: Dim) -> Dim:
        return _sum(self, other, 1)

    def __radd__(self, other: Dim) -> Dim:
        return _sum(self, other, 1)

    def __sub__(self, other: Dim) -> Dim:
        return _sum(self, other, -1)

    def __rsub__(self, other: Dim) -> Dim:
        return _sum(-self, other, 1)

    def __neg__(self) -> Poly:
        return Poly(tuple((monomial, -factor) for monomial, factor in self.terms))

    def __mul__(self, other: Dim) -> Dim:
        if isinstance(other, int):
            return Poly(tuple((m, f * other) for m, f in self.terms)) if other else 0
        found: dict[Monomial, int] = {}
        for left, a in self.terms:
            for right, b in other.terms:
                key = _product(left, right)
                found[key] = found.get(key, 0) + a * b
        return _collect(found)

    def __rmul__(self, other: Dim) -> Dim:
        return self * other

    def __pow__(self, power: int) -> Dim:
        result: Dim = 1
        for _ in range(power):
            result = result * self
        return result

    def __floordiv__(self, other: Dim) -> Dim:
        return _divide(self, other)[0]

    def __rfloordiv__(self, other: Dim) -> Dim:
        return _divide(other, self)[0]

    def __mod__(self, other: Dim) -> Dim:
        return _divide(self, other)[1]

    def __rmod__(self, other: Dim) -> Dim:
        return _divide(other, self)[1]


Dim: TypeAlias = int | Poly
Extent: TypeAlias = int | Poly | Pack
"""What a shape consists of."""

MOST_TERMS = 1000  # of a product: multiplied out, a product of sums grows without end


def symbol(name: str, least: int | None = 0) -> Poly:
    """The dimension called `name`."""
    return _atom(Symbol(name, least))


def pack_size(pack: Pack) -> Poly:
    """The product of the dimensions of a pack."""
    return symbol(f"size({pack})")


def _atom(atom: Atom) -> Poly:
    return Poly(((((atom, 1),), 1),))


def terms_of(dim: Dim) -> tuple[tuple[Monomial, int], ...]:
    """The monomials of a dimension with their factors; of a number the empty monomial."""
    return dim.terms if isinstance(dim, Poly) else (((), dim),) if dim else ()


def _order(entry: tuple[Monomial, int]) -> tuple[int, str]:
    return (-sum(power for _, power in entry[0]), " ".join(str(atom) for atom, _ in entry[0]))


def _collect(found: Mapping[Monomial, int]) -> Dim:
    terms = [(monomial, factor) for monomial, factor in found.items() if factor]
    if not terms:
        return 0
    if len(terms) == 1:
        return terms[0][1] if not terms[0][0] else Poly(tuple(terms))
    return Poly(tuple(sorted(terms, key=_order)))


def _sum(left: Poly, right: Dim, sign: int) -> Dim:
    found = dict(left.terms)
    for monomial, factor in terms_of(right):
        found[monomial] = found.get(monomial, 0) + sign * factor
    return _collect(found)


def _product(left: Monomial, right: Monomial) -> Monomial:
    if not left or not right:
        return left or right
    powers: dict[Atom, int] = dict(left)
    for atom, power in right:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items(), key=lambda entry: str(entry[0])))


def _quotient(monomial: Monomial, by: Monomial) -> Monomial | None:
    powers: dict[Atom, int] = dict(monomial)
    for atom, power in by:
        left = powers.get(atom, 0) - power
        if left < 0:
            return None
        powers[atom] = left
    return tuple((atom, power) for atom, power in powers.items() if power)


def _divide(dim: Dim, by: Dim) -> tuple[Dim, Dim]:
    """Quotient and remainder, rounded to minus infinity. Raises ZeroDivisionError for the number 0 alone."""
    if isinstance(dim, int) and isinstance(by, int):
        return dim // by, dim % by
    if dim == by:
        return 1, 0
    if dim == 0:
        return 0, 0
    whole: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    divisor = terms_of(by)
    if not divisor:
        raise ZeroDivisionError
    if len(divisor) == 1:
        (below, factor) = divisor[0]
        for monomial, n in terms_of(dim):
            quotient = _quotient(monomial, below)
            share = n // factor if quotient is not None else 0
            if quotient is not None and share:
                whole[quotient] = share
            if n - share * factor:
                rest[monomial] = n - share * factor
    else:  # an exact multiple of a sum
        times, left = _multiple(dim, by)
        whole, rest = dict(terms_of(times)), dict(terms_of(left))
    remainder = _collect(rest)
    if isinstance(remainder, int) and isinstance(by, int):
        return _collect(whole) + remainder // by, remainder % by
    if remainder == 0:
        return _collect(whole), 0
    return _collect(whole) + _atom(Apply("//", remainder, by)), _atom(Apply("%", remainder, by))


def _multiple(dim: Dim, by: Dim) -> tuple[Dim, Dim]:
    """Long division by a sum: the part that is a multiple, and what is left, 0 or the whole."""
    (lead, factor), *_ = terms_of(by)
    times: Dim = 0
    left: Dim = dim
    for _ in range(8):
        if left == 0:
            return times, 0
        step: Dim | None = None
        for monomial, n in terms_of(left):
            quotient = _quotient(monomial, lead)
            if quotient is not None and n % factor == 0:
                step = _collect({quotient: n // factor})
                break
        if step is None:
            break
        times, left = times + step, left - step * by
    return (times, 0) if left == 0 else (0, dim)


def minimum(left: Dim, right: Dim) -> Dim:
    """The smaller of two dimensions."""
    return _choose("min", left, right)


def maximum(left: Dim, right: Dim) -> Dim:
    """The larger of two dimensions."""
    return _choose("max", left, right)


def _choose(function: str, left: Dim, right: Dim) -> Dim:
    low, high = bounds(left - right)
    if high is not None and high <= 0:
        return left if function == "min" else right
    if low is not None and low >= 0:
        return right if function == "min" else left
    if str(right) < str(left):
        left, right = right, left
    return _atom(Apply(function, left, right))


def _factor(dim: Dim) -> str:
    return f"({dim})" if isinstance(dim, Poly) and (len(dim.terms) > 1 or "*" in str(dim)) else str(dim)


def _shown(terms: tuple[tuple[Monomial, int], ...]) -> Iterator[str]:
    for i, (monomial, factor) in enumerate(terms):
        size = abs(factor)
        parts = [
            (f"({atom})" if isinstance(atom, Apply) and atom.function in ("//", "%") and (size > 1 or len(monomial) > 1)
             else str(atom)) + (f"**{power}" if power > 1 else "")
            for atom, power in monomial
        ]  # fmt: skip
        if size != 1 or not parts:
            parts.insert(0, str(size))
        yield (" - " if factor < 0 else " + ") if i else ("-" if factor < 0 else "")
        yield "*".join(parts)


def symbols_of(dim: Dim) -> set[Symbol]:
    """The symbols in a dimension, also inside `//` and the like."""
    found: set[Symbol] = set()
    for monomial, _ in terms_of(dim):
        for atom, _ in monomial:
            found |= {atom} if isinstance(atom, Symbol) else symbols_of(atom.left) | symbols_of(atom.right)
    return found


def opaque(dim: Dim) -> bool:
    """Whether `//`, `%`, `min` or `max` is left in a dimension, so that two that look different may be equal."""
    return any(isinstance(atom, Apply) for monomial, _ in terms_of(dim) for atom, _ in monomial)


def apply(function: str, left: Dim, right: Dim) -> Dim:
    """`left function right` for `+ - * // % min max`. Raises ZeroDivisionError, OverflowError beyond MOST_TERMS."""
    match function:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            if len(terms_of(left)) * len(terms_of(right)) > MOST_TERMS:
                raise OverflowError
            return left * right
        case "//":
            return left // right
        case "%":
            return left % right
        case "min":
            return minimum(left, right)
        case "max":
            return maximum(left, right)
        case _:
            raise ValueError(function)


def evaluate(dim: Dim, values: Mapping[str, Dim]) -> Dim:
    """The dimension with values, which may hold symbols themselves, put for symbols by name.

    Raises ZeroDivisionError where a value divides by 0.
    """
    if isinstance(dim, int) or not values:
        return dim
    total: Dim = 0
    for monomial, factor in dim.terms:
        product: Dim = factor
        for atom, power in monomial:
            value: Dim
            if isinstance(atom, Symbol):
                found = values.get(atom.name)
                value = _atom(atom) if found is None else found
            else:
                value = apply(atom.function, evaluate(atom.left, values), evaluate(atom.right, values))
            for _ in range(power):
                product = product * value
        total = total + product
    return total


def solve(dim: Dim, unknown: Symbol, value: Dim) -> Dim | None:
    """What `unknown` is where `dim == value`, if `dim` is linear in it and the answer is whole; else None.

    >>> N = symbol("N")
    >>> solve(2 * N + 1, Symbol("N"), 9)
    4
    """
    rest: Dim = value
    factor = 0
    for monomial, n in terms_of(dim):
        if monomial == ((unknown, 1),):
            factor = n
        elif any(unknown in ({atom} if isinstance(atom, Symbol) else symbols_of(_atom(atom))) for atom, _ in monomial):
            return None
        else:
            rest = rest - _collect({monomial: n})
    if not factor:
        return None
    whole, remainder = _divide(rest, factor)
    return whole if remainder == 0 else None


Bounds: TypeAlias = "tuple[int | None, int | None]"


def bounds(dim: Dim) -> Bounds:
    """The smallest and the largest value a dimension can have, None where there is no limit.

    >>> bounds(symbol("N") % 4 + 1)
    (1, 4)
    """
    if isinstance(dim, int):
        return dim, dim
    low: int | None = 0
    high: int | None = 0
    for monomial, factor in dim.terms:
        least, most = _monomial_bounds(monomial)
        if factor < 0:
            least, most = most, least
        low = None if low is None or least is None else low + factor * least
        high = None if high is None or most is None else high + factor * most
    return low, high


def _monomial_bounds(monomial: Monomial) -> Bounds:
    least, most = 1, 1
    for atom, power in monomial:
        low, high = (atom.least, None) if isinstance(atom, Symbol) else _apply_bounds(atom)
        if low is None or low < 0:
            return (low, high) if len(monomial) == 1 and power == 1 else (None, None)
        least *= low**power
        most = None if most is None or high is None else most * high**power
    return least, most


def _apply_bounds(atom: Apply) -> Bounds:
    (low, high), (least, most) = bounds(atom.left), bounds(atom.right)
    match atom.function:
        case "%" if least is not None and least >= 0:
            return 0, None if most is None else most - 1
        case "//" if isinstance(atom.right, int) and atom.right > 0:
            return (None if low is None else low // atom.right), (None if high is None else high // atom.right)
        case "//" if low is not None and low >= 0 and least is not None and least >= 0:
            return 0, high
        case "min":
            known = [n for n in (high, most) if n is not None]
            return (None if low is None or least is None else min(low, least)), min(known, default=None)
        case "max":
            known = [n for n in (low, least) if n is not None]
            return max(known, default=None), (None if high is None or most is None else max(high, most))
        case _:
            return None, None
