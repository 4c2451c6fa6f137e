"""Sums of a product in which one factor has windows: convolutions, of any rank, grouped and depthwise ones too.

Before:
    sum[c, r, s] x[n, c, 2 * p + r - 1, 2 * q + s - 1 ? 0] * k[o, c, r, s]
After:
    stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
        window = {stride = [2, 2], pad = [[1, 1], [1, 1]]}
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod

import numpy as np
from xdsl.ir import Attribute, SSAValue

from ....compiler.dtypes import dtype_of
from ....dialects import stablehlo as hlo
from ....dialects.dsl import ReduceKind
from ....dialects.dsl.neutral import neutral
from .builder import element_of
from .forms import Index
from .lifting import Lifted, Lifter
from .products import narrow
from .windows import Windowed, read_windows, windows_of


def convolve(lifter: Lifter, values: Sequence[SSAValue], reduced: Sequence[Index]) -> Lifted | None:
    """The sum over `reduced` of a product of two factors as a convolution; None where it is none."""
    element = element_of(values[0])
    narrowed = [narrow(value) for value in values]
    if element_of(narrowed[0]) == element_of(narrowed[1]):
        values = narrowed
    for image, kernel in (values, values[::-1]):
        windows = windows_of(lifter, image, reduced)
        elsewhere = lifter.depends(kernel)
        windows = tuple(window for window in windows if window.place not in elsewhere)
        if not windows:
            continue
        zero = np.zeros((), dtype_of(element_of(image)))
        found = read_windows(lifter, image, windows, zero)
        if found is not None:
            return _convolution(lifter, found, lifter.lift(kernel), reduced, element)
    return None


def _convolution(
    lifter: Lifter, image: Windowed, kernel: Lifted, reduced: Collection[Index], element: Attribute
) -> Lifted:
    b, x, k = lifter.b, image.lifted, kernel
    taps = [window.tap for window in image.windows]
    spatial = [window.index for window in image.windows]
    alone = [axis for axis in k.axes if axis in reduced and axis not in (*x.axes, *taps)]
    if alone:
        dims = [k.axes.index(axis) for axis in alone]
        kept = tuple(axis for axis in k.axes if axis not in alone)
        start = b.constant(neutral(ReduceKind.SUM, dtype_of(k.element)))
        k = Lifted(b.reduce("add", k.value, start, dims), kept)
    features = [axis for axis in x.axes if axis in reduced]
    groups = [axis for axis in x.axes if axis not in (*features, *spatial) and axis in k.axes]
    batch = [axis for axis in x.axes if axis not in (*features, *spatial, *groups)]
    outputs = [axis for axis in k.axes if axis not in (*groups, *features, *taps)]
    x_value, x_dims = _arranged(lifter, x, [batch, [*groups, *features], *([axis] for axis in spatial)])
    k_value, k_dims = _arranged(lifter, k, [[*groups, *outputs], features, *([axis] for axis in taps)])
    backwards = [k_dims[2 + i] for i, window in enumerate(image.windows) if window.step < 0]
    parts = [batch, [*groups, *outputs], *([window.place] for window in image.windows)]
    order = sorted(range(len(parts)), key=lambda i: (min((a.order for a in parts[i]), default=0), i))
    y_dims = [order.index(i) for i in range(len(parts))]
    convolution = hlo.ConvolutionOp(
        x_value,
        b.reverse(k_value, sorted(backwards)),
        dimension_numbers=hlo.ConvDimensions(
            x_dims[0],
            x_dims[1],
            tuple(x_dims[2:]),
            k_dims[1],
            k_dims[0],
            tuple(k_dims[2:]),
            y_dims[0],
            y_dims[1],
            tuple(y_dims[2:]),
        ),
        window_strides=[window.stride for window in image.windows],
        padding=[list(pads) for pads in image.padding],
        lhs_dilation=[1] * len(taps),
        rhs_dilation=[abs(window.step) for window in image.windows],
        feature_group_count=prod(axis.size for axis in groups),
        element_type=element,
    )
    axes = tuple(axis for i in order for axis in parts[i])
    value = b.reshape(b(convolution), [axis.size for axis in axes])
    absent = [axis for axis in reduced if axis not in (*x.axes, *kernel.axes, *taps)]
    result = Lifted(value, axes)
    if not absent:
        return result
    count = np.asarray(prod(axis.size for axis in absent)).astype(dtype_of(element))
    return lifter.binary(hlo.MultiplyOp, result, Lifted(b.constant(count)))


def _arranged(lifter: Lifter, lifted: Lifted, parts: Sequence[Sequence[Index]]) -> tuple[SSAValue, list[int]]:
    """The tensor with one dimension for each part, in the order it has them if it has them one by one.

    Returns the dimension of each part. Axes that it does not depend on are repeated.
    """
    wanted = [axis for part in parts for axis in part]
    missing = [axis for axis in wanted if axis not in lifted.axes]
    if missing:
        axes = (*lifted.axes, *missing)
        lifted = Lifted(lifter.expand(lifted, axes), axes)
    order = list(range(len(parts)))
    if all(len(part) <= 1 for part in parts):
        order.sort(key=lambda i: lifted.axes.index(parts[i][0]) if parts[i] else -1)
    value = lifter.expand(lifted, [axis for i in order for axis in parts[i]])
    value = lifter.b.reshape(value, [prod(axis.size for axis in parts[i]) for i in order])
    return value, [order.index(i) for i in range(len(parts))]
