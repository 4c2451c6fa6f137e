"""Reads at subscripts that indices alone determine: slices, pads, reversals, reshapes; what is left is a gather.

Before:
    %y = dsl.comprehension [8] { ^bb0(%i: tensor<i64>): %k = stablehlo.multiply %i, %two : tensor<i64>
                                 %a = dsl.access %x[%k] : tensor<16xf32>; dsl.yield %a : tensor<f32> }
After:
    %y = stablehlo.slice %x [0:15:2] : (tensor<16xf32>) -> tensor<8xf32>
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ....compiler.diagnostics import LaminaError
from ....compiler.dtypes import dtype_of
from ....compiler.weights import Array
from ....dialects.dsl import AccessOp, ComprehensionOp
from .blocks import blocks_of
from .builder import element_of, shape_of
from .forms import LARGEST_TABLE, Form, Index, Linear, Table, simplest, tabulate
from .gathers import Subscript, gather, place_of, take, within
from .lifting import Lifted, Lifter, lifts
from .pieces import MOST_PIECES, Piece, pieces_of

LARGEST_CONSTANT = 1 << 16
"""More places than this are computed where the program runs, not kept with it."""


@dataclass
class Read:
    """A tensor being read: each dimension is an index already (`Index`), or still to be read at its form, or kept."""

    value: SSAValue
    dims: list[Index | Form | None]

    def shape(self) -> list[int]:
        return list(shape_of(self.value))


@lifts(AccessOp)
def access(lifter: Lifter, op: AccessOp) -> list[Lifted]:
    """The elements of the source at the subscripts, for all indices."""
    source, forms, subscripts = _source(lifter, op)
    return [read(lifter, source, forms, subscripts, op.outside)]


def _source(lifter: Lifter, op: AccessOp) -> tuple[SSAValue, list[Form | None], list[Subscript]]:
    """The tensor read, the forms of its subscripts, and the subscripts themselves, to be lifted where needed.

    A comprehension inside has the indices it depends on as further axes, which are read as they are.
    """
    forms = [lifter.form(subscript) for subscript in op.subscripts]
    subscripts: list[Subscript] = [
        value if form is None or form is lifter.forms.of(value) else form  # a window's index stands for two
        for value, form in zip(op.subscripts, forms, strict=True)
    ]
    if not lifter.is_inside(op.source):
        return op.source, forms, subscripts
    if not isinstance(op.source.owner, ComprehensionOp):
        raise LaminaError("a tensor that depends on an index cannot be read by subscripts", where=op)
    inner = lifter.comprehension(op.source.owner)
    around = inner.axes[: len(inner.axes) - len(forms)]
    plain = [Linear({index: 1}) for index in around]
    return inner.value, [*plain, *forms], [*plain, *subscripts]


def read(
    lifter: Lifter,
    source: SSAValue,
    forms: Sequence[Form | None],
    subscripts: Sequence[Subscript],
    outside: SSAValue | None,
) -> Lifted:
    """The elements of `source`: subscripts that depend on data by a gather, the others before it by slices."""
    b, sizes = lifter.b, shape_of(source)
    fill = None if outside is None else lifter.lift(outside)
    if 0 in sizes:
        return fill if fill is not None else Lifted(b.constant(_zero(source)))
    if fill is not None and all(_is_within(form, size) for form, size in zip(forms, sizes, strict=True)):
        fill = None
    if fill is not None and fill.axes:  # what is read outside differs from place to place: read, then choose
        inner = read(lifter, source, forms, subscripts, None)
        mask = within(lifter, forms, subscripts, sizes)
        return lifter.select(mask, inner, fill)
    dependent = [subscript for form, subscript in zip(forms, subscripts, strict=True) if not _is_known(form)]
    blocks = blocks_of(forms, {i for subscript in dependent for i in place_of(lifter, subscript).axes})
    if blocks is not None:
        parts = [form if form is None else blocks.rewritten(form) for form in forms]
        places = [s if new is old or new is None else new for s, old, new in zip(subscripts, forms, parts, strict=True)]
        return blocks.merged(lifter, read(lifter, source, parts, places, outside))
    groups, dynamic = _groups(forms)
    for group in list(groups):
        if not _is_small(forms, group):
            groups.remove(group)
            dynamic |= group
    used = {i for d in dynamic for i in _indices(lifter, forms[d], subscripts[d])}
    while touching := [g for g in groups if any(i in used for d in g for i in _indices_of(forms[d]))]:
        for group in touching:
            groups.remove(group)
            dynamic |= group
            used |= {i for d in group for i in _indices_of(forms[d])}
    state = Read(source, [None if d in dynamic else form for d, form in enumerate(forms)])
    positions = list(range(len(sizes)))  # which subscript each dimension still stands for
    scalar = None if fill is None else fill.value
    for group in groups:
        if len(group) > 1:
            _merge(lifter, state, positions, sorted(group), scalar is not None)
    _read_known(lifter, state, positions, scalar)
    if not dynamic:
        return Lifted(state.value, tuple(i for i in state.dims if isinstance(i, Index)))
    places = {positions.index(d): place_of(lifter, subscripts[d]) for d in dynamic}
    axes = [i if isinstance(i, Index) else None for i in state.dims]
    found = gather(lifter, state.value, axes, places)
    if fill is None:
        return found
    chosen = sorted(dynamic)
    picked = [forms[d] for d in chosen], [subscripts[d] for d in chosen], [sizes[d] for d in chosen]
    mask = within(lifter, *picked)
    return lifter.select(mask, found, fill)


def _zero(source: SSAValue) -> Array:
    return np.zeros((), dtype_of(element_of(source)))


def _indices_of(form: Form | None) -> tuple[Index, ...]:
    return () if form is None else form.indices


def _indices(lifter: Lifter, form: Form | None, subscript: Subscript) -> tuple[Index, ...]:
    return place_of(lifter, subscript).axes if form is None else form.indices


def _is_known(form: Form | None) -> bool:
    return form is not None and (isinstance(form, Table) or form.is_known)


def _is_within(form: Form | None, size: int) -> bool:
    """Whether a subscript is known to stay inside its axis."""
    if isinstance(form, Table):
        return bool((form.values >= 0).all() and (form.values < size).all())
    if form is None or not form.is_known:
        return False
    low, high = form.range
    return low >= 0 and high < size


def _groups(forms: Sequence[Form | None]) -> tuple[list[set[int]], set[int]]:
    """The dimensions with known subscripts, those together that share an index; and all other dimensions."""
    groups: list[set[int]] = []
    dynamic: set[int] = set()
    for d, form in enumerate(forms):
        if form is None or not _is_known(form):
            dynamic.add(d)
            continue
        sharing = [g for g in groups if any(i in _indices_of(forms[e]) for e in g for i in form.indices)]
        groups = [g for g in groups if g not in sharing] + [{d}.union(*sharing)]
    return sorted(groups, key=min), dynamic


def _is_small(forms: Sequence[Form | None], group: set[int]) -> bool:
    """Whether a group of dimensions can be tabulated, where it must be."""
    count = prod(i.size for i in {i for d in group for i in _indices_of(forms[d])})
    form = forms[min(group)]
    if len(group) == 1 and isinstance(form, Linear):
        return len(form.indices) < 2 or count <= LARGEST_CONSTANT or _digits(form) is not None
    return count <= LARGEST_TABLE


def _merge(lifter: Lifter, state: Read, positions: list[int], group: list[int], has_outside: bool) -> None:
    """Dimensions whose subscripts share indices become one, read at the place in the flattened dimensions."""
    b = lifter.b
    dims = [positions.index(d) for d in group]
    first = dims[0]
    order = [d for d in range(len(state.dims)) if d not in dims]
    order[first:first] = dims
    state.value = b.transpose(state.value, order)
    state.dims = [state.dims[d] for d in order]
    positions[:] = [positions[d] for d in order]
    sizes = state.shape()[first : first + len(dims)]
    forms = [form for form in state.dims[first : first + len(dims)] if isinstance(form, Linear | Table)]
    indices = tuple(sorted({i for form in forms for i in form.indices}, key=lambda i: i.order))
    place, inside = np.zeros((), np.int64), np.asarray(True)
    for form, size in zip(forms, sizes, strict=True):
        values = tabulate(form, indices)
        inside = inside & (values >= 0) & (values < size)
        place = place * size + np.clip(values, 0, size - 1)
    place = np.where(inside, place, -1) if has_outside else place
    shape = state.shape()
    state.value = b.reshape(state.value, [*shape[:first], prod(sizes), *shape[first + len(dims) :]])
    state.dims[first : first + len(dims)] = [simplest(indices, place)]
    positions[first : first + len(dims)] = [group[0]]


def _read_known(lifter: Lifter, state: Read, positions: list[int], outside: SSAValue | None) -> None:
    """Reads every dimension that has a form, so that all of its indices are dimensions in its place."""
    plans = [
        pieces_of(form, size, outside is not None) if isinstance(form, Linear | Table) else None
        for form, size in zip(state.dims, state.shape(), strict=True)
    ]
    _slice(lifter, state, positions, plans, outside)
    for d in reversed(range(len(state.dims))):
        form, plan = state.dims[d], plans[d]
        if not isinstance(form, Linear | Table) or (plan is not None and len(plan) == 1):
            continue
        if plan is not None and len(plan) <= MOST_PIECES:
            state.value = _join(lifter, state.value, d, plan, outside)
            state.dims[d] = form.indices[0]
        elif not _split(lifter, state, positions, d, form, outside):
            size = state.shape()[d]
            values = tabulate(form, form.indices)
            state.value = take(lifter, state.value, d, values, size, outside)
            state.dims[d : d + 1] = form.indices
            positions[d : d + 1] = [-1] * len(form.indices)
    constant = [d for d, dim in enumerate(state.dims) if isinstance(dim, Linear | Table) and not dim.indices]
    if constant:
        kept = [d for d in range(len(state.dims)) if d not in constant]
        shape = state.shape()
        state.value = lifter.b.reshape(state.value, [shape[d] for d in kept])
        state.dims = [state.dims[d] for d in kept]
        positions[:] = [positions[d] for d in kept]


def _slice(
    lifter: Lifter,
    state: Read,
    positions: list[int],
    plans: Sequence[Sequence[Piece] | None],
    outside: SSAValue | None,
) -> None:
    """Everything that is one strided piece per dimension, with values from outside around it, in one slice."""
    b, shape = lifter.b, state.shape()
    start, limit, steps = [0] * len(shape), list(shape), [1] * len(shape)
    low, high, backwards, repeated = [0] * len(shape), [0] * len(shape), list[int](), dict[int, int]()
    for d, plan in enumerate(plans):
        if plan is None or len(plan) != 1:
            continue
        [piece] = plan
        form = state.dims[d]
        assert isinstance(form, Linear | Table)
        low[d], high[d] = piece.before, piece.after
        start[d], limit[d], steps[d] = piece.slice()
        if piece.step < 0:
            backwards.append(d)
        if piece.step == 0 and piece.count > 1:
            repeated[d] = piece.count
        if form.indices:
            state.dims[d] = form.indices[0]
    if any(plan is not None and len(plan) == 1 and not plan[0].count for plan in plans):
        assert outside is not None
        ones = (plan[0] if plan is not None and len(plan) == 1 else None for plan in plans)
        state.value = b.filled(outside, [n if p is None else p.size for n, p in zip(shape, ones, strict=True)])
        return
    value = b.reverse(b.slice(state.value, start, limit, steps), backwards)
    if repeated:
        wide = [repeated.get(d, n) for d, n in enumerate(shape_of(value))]
        value = b.broadcast(value, wide, range(len(wide)))
    if any((*low, *high)):
        assert outside is not None
        value = b.pad(value, outside, low, high)
    state.value = value


def _join(lifter: Lifter, value: SSAValue, d: int, plan: Sequence[Piece], outside: SSAValue | None) -> SSAValue:
    """The pieces of dimension `d` one after the other."""
    b, shape = lifter.b, list(shape_of(value))
    parts: list[SSAValue] = []

    def fill(count: int) -> None:
        if count:
            assert outside is not None
            parts.append(b.filled(outside, [*shape[:d], count, *shape[d + 1 :]]))

    for piece in plan:
        fill(piece.before)
        start, limit, step = piece.slice()
        lows, highs, steps = [0] * len(shape), list(shape), [1] * len(shape)
        lows[d], highs[d], steps[d] = start, limit, step
        part = b.reverse(b.slice(value, lows, highs, steps), [d] if piece.step < 0 else [])
        if piece.step == 0:
            part = b.broadcast(part, [*shape[:d], piece.count, *shape[d + 1 :]], range(len(shape)))
        parts.append(part)
        fill(piece.after)
    return b.concatenate(parts, d)


def _split(lifter: Lifter, state: Read, positions: list[int], d: int, form: Form, outside: SSAValue | None) -> bool:
    """A dimension read at a sum such as `i * 4 + j` with j < 4 is split by a reshape. Returns whether it was."""
    if not isinstance(form, Linear) or len(form.indices) < 2:
        return False
    b, size, parts = lifter.b, state.shape()[d], _digits(form)
    low, high = form.range
    if parts is None or (outside is None and (low < 0 or high >= size)):
        return False
    total = Index(prod(i.size for i in parts), 0)
    step = min((abs(form.terms[i]) for i in parts if i.size > 1), default=1)
    whole = pieces_of(Linear({total: step}, low), size, outside is not None)
    if whole is None:
        return False
    value = _join(lifter, state.value, d, whole, outside)
    shape = list(shape_of(value))
    value = b.reshape(value, [*shape[:d], *(i.size for i in parts), *shape[d + 1 :]])
    state.value = b.reverse(value, [d + n for n, i in enumerate(parts) if form.terms[i] < 0])
    state.dims[d : d + 1] = parts
    positions[d : d + 1] = [-1] * len(parts)
    return True


def _digits(form: Linear) -> list[Index] | None:
    """The indices from the most significant to the least if they count as digits do: `i * 12 + j * 3 + k * 1`."""
    parts = sorted(form.indices, key=lambda i: (i.size > 1, -abs(form.terms[i])))  # of size 1 anywhere
    wide = [i for i in parts if i.size > 1]
    steps = [abs(form.terms[i]) for i in wide]
    fits = all(big == small * i.size for big, small, i in zip(steps, steps[1:], wide[1:], strict=False))
    return parts if fits else None
