"""What is assumed of dimensions: the constraints of the function that is being checked."""

from __future__ import annotations

from .dims import Dim, Poly, Symbol, bounds, evaluate, opaque, solve, symbol, symbols_of


class Facts:
    """Equations between dimensions, as replacements of symbols: `K % 8 == 0` makes K eight times a new symbol.

    >>> facts = Facts()
    >>> M, K = symbol("M"), symbol("K")
    >>> facts.assume_equal(K % 8, 0)
    >>> facts.equal(K // 8 * 8, K), facts.equal(M, K), facts.equal(M, M + 1)
    (True, None, False)
    """

    def __init__(self, outer: Facts | None = None):
        self.replacements: dict[str, Dim] = dict(outer.replacements) if outer else {}

    def reduce(self, dim: Dim) -> Dim:
        """The dimension with all that is assumed put in."""
        if isinstance(dim, int) or not self.replacements:
            return dim
        try:
            return evaluate(dim, self.replacements)
        except ZeroDivisionError:
            return dim

    def equal(self, left: Dim, right: Dim) -> bool | None:
        """Whether two dimensions are equal in every instance, in none (False), or that cannot be told (None)."""
        if left == right:
            return True
        low, high = bounds(self.reduce(left - right))
        if low == high == 0:
            return True
        return False if (low is not None and low > 0) or (high is not None and high < 0) else None

    def may_differ(self, left: Dim, right: Dim) -> bool:
        """Whether two dimensions must count as different while checking: not equal, as far as that can be told."""
        known = self.equal(left, right)
        return known is False or (known is None and not opaque(self.reduce(left - right)))

    def less(self, left: Dim, right: Dim) -> bool | None:
        """Whether left < right in every instance, in none, or that cannot be told."""
        low, high = bounds(self.reduce(left - right))
        if high is not None and high < 0:
            return True
        return False if low is not None and low >= 0 else None

    def assume_equal(self, left: Dim, right: Dim) -> None:
        """From here on `left == right`."""
        left, right = self.reduce(left), self.reduce(right)
        if left == right:
            return
        if isinstance(left, int):
            left, right = right, left
        if isinstance(left, Poly) and right == 0 and (multiple := _remainder(left)) is not None:
            value, by = multiple
            if isinstance(value, Poly) and len(names := symbols_of(value)) == 1:
                (name,) = names
                if value == symbol(name.name, name.least):
                    quotient = symbol(f"({value} // {by})", name.least)
                    self._replace(name, quotient * by)
            return
        for one, other in ((left, right), (right, left)):
            for name in sorted(symbols_of(one), key=str):
                if name not in symbols_of(other) and (found := solve(one, name, other)) is not None:
                    self._replace(name, found)
                    return

    def _replace(self, name: Symbol, value: Dim) -> None:
        one = {name.name: value}
        self.replacements = {known: evaluate(dim, one) for known, dim in self.replacements.items()} | one


def _remainder(dim: Poly) -> tuple[Dim, Dim] | None:
    """a and b where the dimension is `a % b`."""
    if len(dim.terms) != 1 or dim.terms[0][1] != 1 or len(dim.terms[0][0]) != 1:
        return None
    atom, power = dim.terms[0][0][0]
    if isinstance(atom, Symbol) or power != 1 or atom.function != "%":
        return None
    return atom.left, atom.right
