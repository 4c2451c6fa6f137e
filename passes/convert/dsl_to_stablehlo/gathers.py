"""Reads at subscripts that depend on data, or on indices in no simple way: dynamic slices and gathers.

Before:
    %r = dsl.access %ids[%t] : tensor<5xi64>
    %a = dsl.access %table[%r, %d] : tensor<100x8xf32>
After:
    %a = stablehlo.gather(%table, %ids) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], ...}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.ir import SSAValue

from ....compiler.weights import Array
from ....dialects import stablehlo as hlo
from .builder import shape_of
from .forms import Form, Index, Linear, Table
from .lifting import Lifted, Lifter, union

Subscript = SSAValue | Form


def place_of(lifter: Lifter, subscript: Subscript) -> Lifted:
    """A subscript as numbers."""
    if isinstance(subscript, Table):
        return Lifted(lifter.b.constant(subscript.values), subscript.indices)
    return lifter.linear(subscript) if isinstance(subscript, Linear) else lifter.lift(subscript)


def gather(lifter: Lifter, value: SSAValue, dims: Sequence[Index | None], places: Mapping[int, Lifted]) -> Lifted:
    """Dimensions in `places` are read there, clamped to be inside; the others are the indices in `dims`."""
    b, shape = lifter.b, shape_of(value)
    chosen = sorted(places)
    kept = [d for d in range(len(shape)) if d not in chosen]
    sizes = [1 if d in chosen else n for d, n in enumerate(shape)]
    rest = tuple(index for index in dims if index is not None)
    axes = union(places[d].axes for d in chosen)
    if not axes:
        starts = [places[d].value if d in chosen else lifter.number(0).value for d in range(len(shape))]
        part = b(hlo.DynamicSliceOp(value, starts, slice_sizes=sizes))
        return Lifted(b.reshape(part, [shape[d] for d in kept]), rest)
    indices = [lifter.expand(places[d], axes) for d in chosen]
    rank = len(axes)
    if len(indices) > 1:
        indices = [b.reshape(each, [*shape_of(each), 1]) for each in indices]
    result = b(
        hlo.GatherOp(
            value,
            b.concatenate(indices, rank),
            slice_sizes=sizes,
            offset_dims=range(rank, rank + len(kept)),
            collapsed_slice_dims=chosen,
            start_index_map=chosen,
            index_vector_dim=rank,
        )
    )
    return Lifted(result, (*axes, *rest))


def take(lifter: Lifter, value: SSAValue, d: int, places: Array, size: int, outside: SSAValue | None) -> SSAValue:
    """Dimension `d` read at known places: those of `places` become dimensions where `d` was."""
    b, shape, rank = lifter.b, list(shape_of(value)), places.ndim
    result = b(
        hlo.GatherOp(
            value,
            b.constant(np.clip(places, 0, size - 1)),
            slice_sizes=[1 if e == d else n for e, n in enumerate(shape)],
            offset_dims=[*range(d), *range(d + rank, len(shape) - 1 + rank)],
            collapsed_slice_dims=[d],
            start_index_map=[d],
            index_vector_dim=rank,
        )
    )
    inside = (places >= 0) & (places < size)
    if outside is None or inside.all():
        return result
    wide = shape_of(result)
    mask = b.broadcast(b.constant(inside), wide, range(d, d + rank))
    return b.select(mask, result, b.filled(outside, wide))


def within(
    lifter: Lifter,
    forms: Sequence[Form | None],
    subscripts: Sequence[Subscript],
    sizes: Sequence[int],
) -> Lifted:
    """Where all subscripts are inside their axes; what is known to be is not asked."""
    mask: Lifted | None = None
    for form, subscript, size in zip(forms, subscripts, sizes, strict=True):
        low, high = _range(form)
        tests: list[tuple[int, str]] = []
        if low is None or low < 0:
            tests.append((0, "GE"))
        if high is None or high >= size:
            tests.append((size, "LT"))
        for bound, direction in tests:
            test = lifter.compare(place_of(lifter, subscript), lifter.number(bound), direction)
            mask = test if mask is None else lifter.binary(hlo.AndOp, mask, test)
    return Lifted(lifter.b.constant(np.bool_(True))) if mask is None else mask


def _range(form: Form | None) -> tuple[int | None, int | None]:
    """The least and greatest value of a subscript, None where it is not known."""
    if isinstance(form, Table):
        return int(form.values.min()), int(form.values.max())
    if isinstance(form, Linear) and form.is_known:
        return form.range
    return None, None
