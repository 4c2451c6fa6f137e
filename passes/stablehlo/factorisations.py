"""LU and QR factors of batches of matrices, column by column, as LAPACK leaves them (getrf, geqrf, orgqr)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i32

from .elements import Elements, choose
from .expansion import counted_loop
from .matrices import (
    along,
    conjugate,
    cut,
    everywhere,
    filled,
    imaginary,
    numbered,
    of_real,
    outer,
    put,
    real,
    reduced,
    spread,
    times_matrix,
)


def lu(a: Elements) -> tuple[Elements, Elements]:
    """Both factors in one matrix, and with which row, counted from 1, each row was exchanged."""
    rank, (height, width) = len(a.shape), a.shape[-2:]
    count = min(height, width)

    def column(j: Elements, state: Sequence[Elements]) -> Sequence[Elements]:
        a, pivots = state
        rows, columns = numbered(a, rank - 2), numbered(a, rank - 1)
        current = cut(a, rank - 1, j)
        places = numbered(current, rank - 2)
        size = choose(places >= everywhere(j, places), _taxicab(current), -1.0)
        largest = along(reduced(size, "maximum", -1.0, [rank - 2]), size)
        pivot = reduced(choose(size.equals(largest), places, height), "minimum", height, [rank - 2])
        pivot = choose(pivot < height, pivot, everywhere(j, pivot))  # of NaN none is the largest
        here, chosen = rows.equals(everywhere(j, rows)), rows.equals(along(pivot, rows))
        upper = reduced(choose(chosen, a, 0.0), "add", 0.0, [rank - 2])
        across = [*range(rank - 2), rank - 1]
        a = choose(chosen, spread(cut(a, rank - 2, j), a.shape, across), a)
        a = choose(here, spread(upper, a.shape, across), a)
        diagonal = cut(upper, rank - 2, j)
        divides = ~diagonal.equals(0.0)
        current = cut(a, rank - 1, j)
        below = (places > everywhere(j, places)) & along(divides, places)
        factor = choose(below, current / along(diagonal, current), current)
        inside = (rows > everywhere(j, rows)) & (columns > everywhere(j, rows)) & along(divides, rows)
        a = choose(inside, a - outer(factor, upper), a)
        return [put(a, factor, rank - 1, j), put(pivots, pivot + 1, rank - 2, j)]

    pivots = filled(a, (*a.shape[:-2], count), i32, 0)
    factors, pivots = counted_loop(a.insert, count, [a, pivots], column)
    return factors, pivots


def householder(a: Elements) -> tuple[Elements, Elements]:
    """R on and above the diagonal, below it the vectors of the reflectors whose product is Q, and their factors.

    The reflector of column j is 1 - tau v vᴴ, where v is 0 above row j and 1 in it (LAPACK's geqrf).
    """
    rank = len(a.shape)
    count = min(a.shape[-2:])

    def column(j: Elements, state: Sequence[Elements]) -> Sequence[Elements]:
        a, factors = state
        current = cut(a, rank - 1, j)
        places = numbered(current, rank - 2)
        below, here = places > everywhere(j, places), places.equals(everywhere(j, places))
        alpha, tail = cut(current, rank - 2, j), choose(below, current, 0.0)
        rest = reduced(real(tail * conjugate(tail)), "add", 0.0, [rank - 2])
        length = (real(alpha * conjugate(alpha)) + rest).sqrt()
        beta = of_real(choose(real(alpha) < 0.0, length, -length), alpha)
        nothing = rest.equals(0.0)
        if alpha.element_type != rest.element_type:
            nothing = nothing & imaginary(alpha).equals(0.0)
        tau = choose(nothing, alpha.like(0.0), (beta - alpha) / beta)
        scale = choose(nothing, alpha.like(1.0), alpha - beta)
        tail = tail / along(scale, tail)
        vector = choose(here, tail.like(1.0), tail)
        change = outer(vector * along(conjugate(tau), vector), times_matrix(conjugate(vector), a))
        columns = numbered(a, rank - 1)
        a = choose(columns > everywhere(j, columns), a - change, a)
        made = choose(here, along(choose(nothing, alpha, beta), current), choose(below, tail, current))
        return [put(a, made, rank - 1, j), put(factors, tau, rank - 2, j)]

    factors = filled(a, (*a.shape[:-2], count), a.element_type, 0.0)
    made, factors = counted_loop(a.insert, count, [a, factors], column)
    return made, factors


def reflected(a: Elements, factors: Elements) -> Elements:
    """The first columns of Q, as many as `a` has, which holds the vectors of its reflectors (LAPACK's orgqr)."""
    rank = len(a.shape)
    count = factors.shape[-1]

    def reflector(step: Elements, state: Sequence[Elements]) -> Sequence[Elements]:
        [q] = state
        j = step.like(count - 1) - step
        current = cut(a.within(step.insert), rank - 1, j)
        places = numbered(current, rank - 2)
        tail = choose(places > everywhere(j, places), current, 0.0)
        vector = choose(places.equals(everywhere(j, places)), tail.like(1.0), tail)
        tau = cut(factors.within(step.insert), rank - 2, j)
        return [q - outer(vector * along(tau, vector), times_matrix(conjugate(vector), q))]

    diagonal = numbered(a, rank - 2).equals(numbered(a, rank - 1))
    [q] = counted_loop(a.insert, count, [choose(diagonal, a.like(1.0), 0.0)], reflector)
    return q


def _taxicab(x: Elements) -> Elements:
    """The magnitude that LAPACK compares: that of the real part and that of the imaginary one, added."""
    parts = real(x).abs()
    return parts if x.element_type == parts.element_type else parts + imaginary(x).abs()
