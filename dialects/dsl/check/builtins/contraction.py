"""Built-in products of tensors: the hub's own dot_general and convolution under short names."""

from __future__ import annotations

from xdsl.ir import Attribute

from . import kinds
from .builder import Builder, Dim, Extent, Value, hlo, ssa
from .table import Ints, Pairs, Type, builtin


@builtin("dot")
def dot(
    b: Builder, x: Value, y: Value, contract: Pairs | None = None, batch: Pairs = (), dtype: Type | None = None
) -> Value:
    """Products summed over pairs of axes: `dot(x, y, contract=[[1, 0]], batch=[[0, 0]])`.

    Without `contract` the last axis of x and the last but one of y (its only one), as NumPy's dot. The axes of the
    result are the batch axes, the others of x, the others of y. With `dtype` sums are held in it, as in
    `dot(x, y, dtype=i32)` of i8.
    """
    x, y = b.same_dtype([x, y], "y")
    accepted = kinds.accept(b, x, kinds.ANY)
    n, m = len(b.flat_shape(accepted)), len(b.flat_shape(y))
    if n == 0 or m == 0:
        raise b.fail("E350", "dot takes no scalars", "x" if n == 0 else "y", "multiply: x * y")
    summed = _axis_pairs(b, x, y, ((n - 1, max(m - 2, 0)),) if contract is None else contract, "contract")
    shared = _axis_pairs(b, x, y, batch, "batch")
    for left, right in (*summed, *shared):
        p, q = b.size(x, left), b.size(y, right)
        if b.differ(p, q):
            raise b.fail("E350", f"axis {left} of {x.type} has {p} elements, axis {right} of {y.type} has {q}", "y")
    used_x, used_y = {p for p, _ in (*summed, *shared)}, {q for _, q in (*summed, *shared)}
    if len(used_x) != len(summed) + len(shared) or len(used_y) != len(used_x):
        raise b.fail("E351", "an axis is named twice", "contract" if contract is not None else "batch")
    shape: list[Extent] = [x.type.shape[p] for p, _ in shared]
    shape += [extent for i, extent in enumerate(x.type.shape) if i not in used_x]
    shape += [extent for i, extent in enumerate(y.type.shape) if i not in used_y]
    wanted = x.type.dtype if dtype is None else dtype.dtype
    return b.emit(
        lambda: hlo.DotGeneralOp(
            ssa(x),
            ssa(y),
            lhs_contracting_dimensions=[p for p, _ in summed],
            rhs_contracting_dimensions=[q for _, q in summed],
            lhs_batching_dimensions=[p for p, _ in shared],
            rhs_batching_dimensions=[q for _, q in shared],
            element_type=_held_in(dtype),
        ),
        wanted,
        shape,
    )


def _held_in(dtype: Type | None) -> Attribute | None:
    return None if dtype is None else kinds.element_type(dtype.dtype)


def _axis_pairs(b: Builder, x: Value, y: Value, pairs: Pairs, at: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for p, q in pairs:
        if not isinstance(p, int) or not isinstance(q, int):
            raise b.fail("E554", "axes must be known when compiling", at)
        found.append((b.axis(x, p, at), b.axis(y, q, at)))
    return found


@builtin("conv")
def conv(
    b: Builder,
    x: Value,
    w: Value,
    strides: Ints = (1,),
    padding: Pairs = ((0, 0),),
    dilation: Ints = (1,),
    groups: int = 1,
    input_dilation: Ints = (1,),
    channels_last: bool = False,
    dtype: Type | None = None,
) -> Value:
    """The convolution of x[n, c, …] with w[o, c / groups, …]; with channels_last of x[n, …, c] with w[…, c, o].

    strides, dilation and padding (pairs of elements before and after) are given per spatial axis, or one for all.
    """
    x, w = b.same_dtype([x, w], "w")
    kinds.accept(b, x, kinds.NUMBER)
    rank = len(b.flat_shape(x))
    if len(b.flat_shape(w)) != rank or rank < 3:
        raise b.fail("E350", f"x is {x.type}, w is {w.type}: they need one rank of at least 3", "w")
    spatial = rank - 2
    places = list(range(1, rank - 1)) if channels_last else list(range(2, rank))
    kernel = list(range(spatial)) if channels_last else list(range(2, rank))
    channels, inner, outer = (rank - 1, rank - 2, rank - 1) if channels_last else (1, 1, 0)
    steps, holes = _each(b, strides, spatial, "strides"), _each(b, dilation, spatial, "dilation")
    spread = _each(b, input_dilation, spatial, "input_dilation")
    pads = list(padding) * spatial if len(padding) == 1 else list(padding)
    if len(pads) != spatial:
        raise b.fail("E350", f"{len(pads)} pairs of padding for {spatial} spatial axes", "padding")
    if groups < 1:
        raise b.fail("E553", f"groups is {groups}", "groups")
    if b.differ(b.size(x, channels), b.size(w, inner) * groups):
        raise b.fail(
            "E350",
            f"x has {b.size(x, channels)} channels, w takes {b.size(w, inner)} in {groups} group{'s' * (groups > 1)}",
            "w",
        )
    sizes: list[Dim] = []
    for i in range(spatial):
        have = (b.size(x, places[i]) - 1) * spread[i] + 1 + pads[i][0] + pads[i][1]
        reach = (b.size(w, kernel[i]) - 1) * holes[i] + 1
        sizes.append((have - reach) // steps[i] + 1)
    shape = [b.size(x, 0), *sizes, b.size(w, outer)] if channels_last else [b.size(x, 0), b.size(w, outer), *sizes]
    numbers = ", ".join(map(str, range(spatial)))
    layout = (
        f"[b, {numbers}, f]x[{numbers}, i, o]->[b, {numbers}, f]"
        if channels_last
        else f"[b, f, {numbers}]x[o, i, {numbers}]->[b, f, {numbers}]"
    )
    return b.emit(
        lambda: hlo.ConvolutionOp(
            ssa(x),
            ssa(w),
            dimension_numbers=layout,
            window_strides=steps,
            padding=[[b.number(low), b.number(high)] for low, high in pads],
            lhs_dilation=spread,
            rhs_dilation=holes,
            feature_group_count=groups,
            element_type=_held_in(dtype),
        ),
        x.type.dtype if dtype is None else dtype.dtype,
        shape,
    )


def _each(b: Builder, given: Ints, count: int, at: str) -> list[int]:
    numbers = list(given) * count if len(given) == 1 else list(given)
    if len(numbers) != count:
        raise b.fail("E350", f"{len(numbers)} numbers for {count} spatial axes", at)
    if any(n < 1 for n in numbers):
        raise b.fail("E553", f"{min(numbers)} is too small, the least is 1", at)
    return numbers
