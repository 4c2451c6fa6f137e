"""Eigenvalues of Hermitian matrices and singular values of any, by Jacobi's rotations.

Each round turns n/2 pairs of columns that have nothing in common, so that a round is a few operations on whole
matrices; n - 1 rounds, a sweep, meet every pair once (the schedule of a tournament). Sweeps end when nothing is left
to turn. Eigenvalues: Golub and Van Loan, Matrix Computations, 8.5; singular values, one-sided: 8.6.

Vectors are determined up to a factor of magnitude 1: it makes the largest component real and positive.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import ComplexType, TensorType, i32

from ...compiler.dtypes import dense_attribute, dtype_of
from ...dialects.stablehlo import CompareOp, ConstantOp, GatherOp, PadOp, RemainderOp, ReturnOp, SortOp, single_block
from .elements import Elements, choose
from .expansion import counted_loop
from .factorisations import householder, reflected
from .matrices import adjoint, along, conjugate, filled, numbered, of_real, real, reduced, spread, times

_SWEEPS = 40  # far more than it takes: convergence is quadratic, and a thousand columns take about ten


def eigenpairs(a: Elements) -> tuple[Elements, Elements]:
    """Eigenvalues in ascending order, and eigenvectors as columns, of Hermitian matrices."""
    rank, size = len(a.shape), a.shape[-1]
    scale = _scale(a)
    even = _padded(a / along(of_real(scale, a), a), size % 2, size % 2)
    limit = _length2(even, [rank - 2, rank - 1]) * _epsilon(even) ** 2

    def turn(r: Elements, state: Sequence[Elements]) -> Sequence[Elements]:
        a, vectors = state
        partner = _partners(r, a.shape[-1])
        meeting = _diagonal(_taken(a, partner))
        cosine, sine = _rotation(real(_diagonal(a)), meeting, partner, meeting.abs().like(0.0))
        turned = _turned(a, partner, cosine, sine)
        turned = adjoint(_turned(adjoint(turned), partner, cosine, sine))
        met = numbered(a, rank - 1).equals(spread(partner, a.shape, [rank - 2]))
        return [choose(met, a.like(0.0), turned), _turned(vectors, partner, cosine, sine)]

    def sweep(_: Elements, state: Sequence[Elements]) -> Sequence[Elements]:
        a, vectors, going = state
        a, vectors = counted_loop(going.insert, a.shape[-1] - 1, [a, vectors], turn)
        rest = _length2(choose(_on_diagonal(a), a.like(0.0), a), [rank - 2, rank - 1])
        return [a, vectors, _any(rest > limit.within(going.insert))]

    even, vectors, _ = counted_loop(
        a.insert, _SWEEPS, [even, _identity(even), _truth(a, value=True)], sweep, while_last=True
    )
    vectors = vectors.part(rank - 2, 0, size).part(rank - 1, 0, size)
    values, places = _sorted(real(_diagonal(even)).part(rank - 2, 0, size), "LT")
    vectors = _permuted(vectors, places)
    return values * along(scale, values), vectors * _across(conjugate(_phases(vectors)), vectors)


def singular_triples(a: Elements, *, whole: bool) -> tuple[Elements, Elements, Elements]:
    """U, the singular values in descending order, and Vᴴ; square U and V where they are wanted `whole`."""
    rank, (height, width) = len(a.shape), a.shape[-2:]
    if height < width:
        right, values, left = singular_triples(adjoint(a), whole=whole)
        return _in_phase(adjoint(left), values, adjoint(right))
    scale = _scale(a)
    even = _padded(a / along(of_real(scale, a), a), 0, width % 2)
    tolerance = _epsilon(even)

    def turn(r: Elements, state: Sequence[Elements]) -> Sequence[Elements]:
        a, vectors, going = state
        partner = _partners(r, a.shape[-1])
        lengths = _length2(a, [rank - 2])
        meeting = reduced(conjugate(a) * _taken(a, partner), "add", 0.0, [rank - 2])
        least = lengths.sqrt() * _taken(lengths, partner).sqrt() * tolerance
        cosine, sine = _rotation(lengths, meeting, partner, least)
        going = going | _any(meeting.abs() > least)
        return [_turned(a, partner, cosine, sine), _turned(vectors, partner, cosine, sine), going]

    def sweep(_: Elements, state: Sequence[Elements]) -> Sequence[Elements]:
        a, vectors, going = state
        none = _truth(going, value=False)
        return counted_loop(going.insert, a.shape[-1] - 1, [a, vectors, none], turn)

    columns = even.shape[-1]
    vectors = _identity(filled(even, (*even.shape[:-2], columns, columns), even.element_type, 0.0))
    even, vectors, _ = counted_loop(a.insert, _SWEEPS, [even, vectors, _truth(a, value=True)], sweep, while_last=True)
    even, vectors = even.part(rank - 1, 0, width), vectors.part(rank - 2, 0, width).part(rank - 1, 0, width)
    values, places = _sorted(_length2(even, [rank - 2]).sqrt(), "GT")
    reflectors, factors = householder(_permuted(even, places))  # orthogonal even where a singular value is zero
    negative = real(_diagonal(reflectors)) < 0.0
    sign = of_real(_ones_after(choose(negative, values.like(-1.0), 1.0), height - width if whole else 0), reflectors)
    left = reflected(_padded(reflectors, 0, height - width) if whole else reflectors, factors)
    return _in_phase(left * _across(sign, left), values * along(scale, values), adjoint(_permuted(vectors, places)))


def _in_phase(left: Elements, values: Elements, right: Elements) -> tuple[Elements, Elements, Elements]:
    """The same product, the largest component of each left vector real and positive."""
    phases = _phases(left)
    known = phases.part(len(phases.shape) - 1, 0, values.shape[-1])
    both = _ones_after(known, right.shape[-2] - values.shape[-1])
    rows = spread(both, right.shape, range(len(both.shape)))
    return left * _across(conjugate(phases), left), values, right * rows


def _phases(vectors: Elements) -> Elements:
    """The largest component of each column over its magnitude; 1 where that is zero."""
    rank, height = len(vectors.shape), vectors.shape[-2]
    size, rows = vectors.abs(), numbered(vectors, rank - 2)
    largest = size.equals(_across(reduced(size, "maximum", 0.0, [rank - 2]), size))
    first = reduced(choose(largest, rows, height), "minimum", height, [rank - 2])
    found = reduced(choose(rows.equals(_across(first, rows)), vectors, 0.0), "add", 0.0, [rank - 2])
    size = found.abs()
    return choose(
        size.equals(0.0), found.like(1.0), found / of_real(choose(size.equals(0.0), size.like(1.0), size), found)
    )


def _rotation(diagonal: Elements, meeting: Elements, partner: Elements, least: Elements) -> tuple[Elements, Elements]:
    """Cosine and sine, for each column and its partner, that make what they have in common (`meeting`) zero.

    Only where its magnitude is more than `least`. The sines of the two are each other's negative conjugate.
    """
    size = meeting.abs()
    angle = (_taken(diagonal, partner) - diagonal) / (size * 2.0)
    own = numbered(meeting, len(meeting.shape) - 1)
    first = own < spread(partner, own.shape, [len(own.shape) - 1])
    positive = (angle > 0.0) | (angle.equals(0.0) & first)
    tangent = 1.0 / (angle.abs() + (angle * angle + 1.0).sqrt())
    tangent = choose(size > least, choose(positive, tangent, -tangent), 0.0)
    cosine = 1.0 / (tangent * tangent + 1.0).sqrt()
    whole = choose(size > least, size, size.like(1.0))
    return cosine, meeting * of_real(tangent * cosine / whole, meeting)


def _turned(a: Elements, partner: Elements, cosine: Elements, sine: Elements) -> Elements:
    """Each column turned with its partner."""
    return a * _across(of_real(cosine, a), a) + _taken(a, partner) * _across(_taken(sine, partner), a)


def _partners(r: Elements, count: int) -> Elements:
    """Whom each of `count` columns, an even number, meets in round `r` of a tournament."""
    own = numbered(filled(r, (count,), i32, 0), 0)
    others = filled(r, (count,), i32, count - 1)
    number = spread(r, (count,), [])
    partner = own.of(RemainderOp((number - own + others).value, others.value))
    partner = choose(partner.equals(own), others, partner)
    of_last = own.of(RemainderOp((number * (count // 2)).value, others.value))
    return choose(own.equals(others), of_last, partner)


def _taken(x: Elements, places: Elements) -> Elements:
    """`x` with the last index replaced by that in `places`."""
    rank = len(x.shape)
    return x.of(
        GatherOp(
            x.value,
            places.value,
            offset_dims=list(range(rank - 1)),
            collapsed_slice_dims=[rank - 1],
            start_index_map=[rank - 1],
            index_vector_dim=1,
            slice_sizes=[*x.shape[:-1], 1],
        )
    )


def _sorted(values: Elements, direction: str) -> tuple[Elements, Elements]:
    """Each vector in order, and where its elements were."""
    last = len(values.shape) - 1
    places = numbered(values, last)
    scalars = [TensorType(kind, []) for kind in (*[values.element_type] * 2, i32, i32)]
    region, block = single_block(scalars)
    compare = CompareOp(*block.args[:2], comparison_direction=direction, compare_type="TOTALORDER")
    block.add_ops([compare, ReturnOp([compare.result])])
    ordered = values.insert(SortOp([values.value, places.value], region, dimension=last, is_stable=True))
    first, second = (Elements(values.insert, result) for result in ordered.results)
    return first, second


def _permuted(matrix: Elements, places: Elements) -> Elements:
    """The columns at these places, which differ for each matrix."""
    size, rank = places.shape[-1], len(matrix.shape)
    shape = (*places.shape[:-1], size, size)
    chosen = filled(matrix, shape, matrix.element_type, 1.0)
    one = numbered(chosen, rank - 2).equals(spread(places, shape, [*range(rank - 2), rank - 1]))
    return times(matrix, choose(one, chosen, 0.0))


def _across(x: Elements, like: Elements) -> Elements:
    """A vector with an element for each column, in every row."""
    return spread(x, like.shape, [*range(len(like.shape) - 2), len(like.shape) - 1])


def _on_diagonal(a: Elements) -> Elements:
    return numbered(a, len(a.shape) - 2).equals(numbered(a, len(a.shape) - 1))


def _identity(like: Elements) -> Elements:
    return choose(_on_diagonal(like), like.like(1.0), 0.0)


def _diagonal(a: Elements) -> Elements:
    """The diagonal as a vector, as long as there are columns."""
    return reduced(choose(_on_diagonal(a), a, 0.0), "add", 0.0, [len(a.shape) - 2])


def _scale(a: Elements) -> Elements:
    """The largest magnitude of each matrix, 1 where that is zero."""
    rank = len(a.shape)
    largest = reduced(a.abs(), "maximum", 0.0, [rank - 2, rank - 1])
    return choose(largest.equals(0.0), largest.like(1.0), largest)


def _length2(a: Elements, axes: Sequence[int]) -> Elements:
    """The sum of the squares of the magnitudes."""
    return reduced(real(a * conjugate(a)), "add", 0.0, axes)


def _epsilon(a: Elements) -> float:
    kind = a.element_type.element_type if isinstance(a.element_type, ComplexType) else a.element_type
    return float(np.finfo(dtype_of(kind)).eps)


def _any(x: Elements) -> Elements:
    return reduced(x, "or", False, range(len(x.shape)))


def _truth(near: Elements, *, value: bool) -> Elements:
    return near.of(ConstantOp(dense_attribute(np.array(value))))


def _padded(a: Elements, rows: int, columns: int) -> Elements:
    """With so many rows and columns of zeros after it."""
    if not rows and not columns:
        return a
    none = [0] * len(a.shape)
    after = [*none[:-2], rows, columns]
    zero = filled(a, (), a.element_type, 0.0)
    return a.of(PadOp(a.value, zero.value, edge_padding_low=none, edge_padding_high=after, interior_padding=none))


def _ones_after(x: Elements, count: int) -> Elements:
    """A vector with so many ones after it."""
    if not count:
        return x
    none = [0] * len(x.shape)
    one = filled(x, (), x.element_type, 1.0)
    after = [*none[:-1], count]
    return x.of(PadOp(x.value, one.value, edge_padding_low=none, edge_padding_high=after, interior_padding=none))
