"""Windows: an axis read at `stride * p + step * r`, where p stays and r is reduced.

Before:
    %m = dsl.reduce max [3] { ^bb0(%r: tensor<i64>): ... dsl.access %x[%n, 2 * %p + %r] : tensor<2x9xf32> ... }
After:
    %m = "stablehlo.reduce_window"(%x, %lowest) <{window_dimensions = array<i64: 1, 3>, window_strides = ...}>
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import Operation, SSAValue

from ....compiler.weights import Array
from ....dialects import stablehlo as hlo
from ....dialects.dsl import AccessOp
from ....dialects.stablehlo.constants import constant_value
from .accesses import read
from .builder import shape_of
from .forms import Form, Index, Linear
from .lifting import Lifted, Lifter, Window


@dataclass(frozen=True)
class Windowed:
    """A value whose axes are the indices of `windows` instead of their places and taps, and the padding it needs."""

    lifted: Lifted
    windows: tuple[Window, ...]
    padding: tuple[tuple[int, int], ...]


def windows_of(lifter: Lifter, value: SSAValue, reduced: Collection[Index]) -> tuple[Window, ...]:
    """The windows of what `value` reads, () where there are none or one index is in two of them."""
    found: dict[tuple[Index, Index, int, int], Window] = {}
    for access in accesses_of(lifter, value):
        for subscript in access.subscripts:
            form = lifter.form(subscript)
            if form is None or len(form.indices) != 2 or (isinstance(form, Linear) and not form.is_known):
                continue
            taps = [index for index in form.indices if index in reduced]
            places = [index for index in form.indices if index not in reduced]
            if len(taps) != 1:
                continue
            for stride, step in _steps(form, places[0], taps[0]):
                low, high = Linear({places[0]: stride, taps[0]: step}).range
                key = (places[0], taps[0], stride, step)
                window = Window(*key, lifter.index(high - low + 1), low)
                if window.rewritten(form) is not form:
                    found.setdefault(key, window)
                    break
    used = [index for window in found.values() for index in (window.place, window.tap)]
    return tuple(found.values()) if len(used) == len(set(used)) else ()


def _steps(form: Form, place: Index, tap: Index) -> Iterator[tuple[int, int]]:
    """The strides and steps that a window may have: of a table, such as wraps around, those where windows overlap."""
    if isinstance(form, Linear):
        if form.terms[place] > 0:
            yield form.terms[place], form.terms[tap]
        return
    for stride in range(1, tap.size):
        for step in (1, -1, 2, -2, 3, -3):
            if stride <= abs(step) * (tap.size - 1):
                yield stride, step


def accesses_of(lifter: Lifter, value: SSAValue) -> Iterator[AccessOp]:
    """The reads that `value` is computed from."""
    seen: set[Operation] = set()
    stack = [value]
    while stack:
        owner = stack.pop().owner
        if not isinstance(owner, Operation) or owner in seen or not lifter.is_inside(owner.results[0]):
            continue
        seen.add(owner)
        for op in owner.walk():
            stack += op.operands
            if isinstance(op, AccessOp):
                yield op


def read_windows(lifter: Lifter, value: SSAValue, windows: Sequence[Window], padding: Array | None) -> Windowed | None:
    """`value` over the indices of `windows`; None where it depends on their places or taps in another way too.

    A plain read whose value out of bounds is `padding` is left without it, to be padded by who uses the windows.
    """
    parts = {index for window in windows for index in (window.place, window.tap)}
    op = value.owner
    if isinstance(op, AccessOp) and not lifter.is_inside(op.source):
        plain = _read_plain(lifter, op, windows, padding)
        if plain is not None:
            return None if parts & set(plain.lifted.axes) else plain
    lifted = lifter.fork(windows=windows).lift(value)
    if parts & set(lifted.axes):
        return None
    return Windowed(lifted, tuple(windows), ((0, 0),) * len(windows))


def _read_plain(lifter: Lifter, op: AccessOp, windows: Sequence[Window], padding: Array | None) -> Windowed | None:
    """A read of whole axes where the windows are, for these to be padded; None where that does not do."""
    known = None if op.outside is None else constant_value(op.outside, lifter.b.weights)
    pads_itself = padding is not None and known is not None and np.array_equal(known, padding)
    forms = [lifter.form(subscript) for subscript in op.subscripts]
    made: list[Window] = []
    pads: list[tuple[int, int]] = []
    for window in windows:
        at = [d for d, f in enumerate(forms) if isinstance(f, Linear) and window.rewritten(f) is not f]
        if len(at) != 1:
            return None
        [d] = at
        form, size = forms[d], shape_of(op.source)[d]
        assert isinstance(form, Linear)
        low, high = form.range
        before, after = -low, high - size + 1
        if (before > 0 or after > 0) and not pads_itself:
            return None
        first, last, most = max(low, 0), min(high, size - 1), after + window.stride - 1
        if low <= 0 <= most:  # what the last stride leaves over needs no slice, and may be padding
            last, after = size - 1, before if max(after, 1) <= before <= most else after  # as a person would pad
        if first > last:
            return None
        index = lifter.index(last - first + 1)
        made.append(Window(window.place, window.tap, window.stride, window.step, index, window.low))
        pads.append((max(before, 0), max(after, 0)))
        forms[d] = Linear({index: 1}, first)
    lifted = read(lifter, op.source, forms, list(op.subscripts), op.outside)
    return Windowed(lifted, tuple(made), tuple(pads))


def reduce_windows(
    lifter: Lifter, combiner: str, value: SSAValue, reduced: Collection[Index], neutral: Array
) -> tuple[Lifted, set[Index]] | None:
    """The reduction of `value` over the taps of its windows, and these; None where it has none."""
    windows = windows_of(lifter, value, reduced)
    found = read_windows(lifter, value, windows, neutral) if windows else None
    if found is None:
        return None
    axes = found.lifted.axes
    sizes, strides, dilations = [1] * len(axes), [1] * len(axes), [1] * len(axes)
    padding = [(0, 0)] * len(axes)
    result = list(axes)
    for window, pads in zip(found.windows, found.padding, strict=True):
        d = axes.index(window.index)
        sizes[d], strides[d], dilations[d] = window.tap.size, window.stride, abs(window.step)
        padding[d], result[d] = pads, window.place
    reduction = hlo.ReduceWindowOp(
        [found.lifted.value],
        [lifter.b.constant(neutral)],
        window_dimensions=sizes,
        window_strides=strides,
        window_dilations=dilations,
        padding=padding,
        body=combiner,
    )
    return Lifted(lifter.b(reduction), tuple(result)), {window.tap for window in found.windows}
