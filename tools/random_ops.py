"""The ops that random programs are made of: one maker per family, valid by construction."""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation

from ..compiler.dtypes import element_type_of
from ..dialects import stablehlo as hlo
from ..dialects.stablehlo.chlo import ErfOp
from .random_programs import DTYPES, LARGEST, MAKERS, Generator, dtype, makes, shape

FLOAT_FUNCTIONS = (
    hlo.ExponentialOp,
    hlo.ExponentialMinusOneOp,
    hlo.LogisticOp,
    hlo.TanhOp,
    hlo.SineOp,
    hlo.CosineOp,
    hlo.CbrtOp,
    hlo.SqrtOp,
    hlo.RsqrtOp,
    hlo.LogOp,
    hlo.LogPlusOneOp,
    ErfOp,
    hlo.FloorOp,
    hlo.CeilOp,
    hlo.RoundNearestAfzOp,
    hlo.RoundNearestEvenOp,
)
ANY_BINARY = (hlo.AddOp, hlo.MultiplyOp, hlo.MaximumOp, hlo.MinimumOp)
NUMBER_BINARY = (hlo.SubtractOp, hlo.DivideOp, hlo.RemainderOp, hlo.PowerOp)
INTEGER_BINARY = (
    hlo.AndOp,
    hlo.OrOp,
    hlo.XorOp,
    hlo.ShiftLeftOp,
    hlo.ShiftRightLogicalOp,
    hlo.ShiftRightArithmeticOp,
)
COMBINERS = {"b": ("and", "or"), "f": ("add", "maximum", "minimum", "multiply")}
DIRECTIONS = ("EQ", "NE", "LT", "LE", "GT", "GE")


@makes
def unary(g: Generator) -> Operation | None:
    x = g.value()
    if x is None:
        return None
    match dtype(x).kind:
        case "f":
            common = (hlo.NegateOp, hlo.AbsOp, hlo.SignOp, hlo.IsFiniteOp)
            return g.pick((*FLOAT_FUNCTIONS, *common))(x)
        case "i":
            return g.pick((hlo.NegateOp, hlo.AbsOp, hlo.SignOp, hlo.NotOp, hlo.PopcntOp, hlo.CountLeadingZerosOp))(x)
        case "u":
            return g.pick((hlo.NotOp, hlo.PopcntOp, hlo.CountLeadingZerosOp))(x)
        case _:
            return hlo.NotOp(x)


@makes
def binary(g: Generator) -> Operation | None:
    x = g.value()
    if x is None:
        return None
    kinds = {
        "f": (*ANY_BINARY, *ANY_BINARY, *NUMBER_BINARY, hlo.Atan2Op),
        "b": (hlo.AndOp, hlo.OrOp, hlo.XorOp, hlo.AddOp, hlo.MaximumOp),
    }
    y = g.like(x)
    left, right = (x, y) if g.choose(0, 1) else (y, x)
    return g.pick(kinds.get(dtype(x).kind, (*ANY_BINARY, *NUMBER_BINARY, *INTEGER_BINARY)))(left, right)


@makes
def compare(g: Generator) -> Operation | None:
    x = g.value()
    return None if x is None else hlo.CompareOp(x, g.like(x), comparison_direction=g.pick(DIRECTIONS))


@makes
def select(g: Generator) -> Operation | None:
    x = g.value()
    if x is None:
        return None
    preds = [v for v in g.values if dtype(v).kind == "b" and shape(v) in ((), shape(x))]
    pred = g.pick(preds) if preds else g.constant(g.numbers(shape(x), np.dtype(bool)))
    return hlo.SelectOp(pred, x, g.like(x))


@makes
def clamp(g: Generator) -> Operation | None:
    x = g.value("fiu")
    if x is None:
        return None
    low, high = (g.constant(g.numbers((), dtype(x))) for _ in range(2))
    return hlo.ClampOp(low, x, high)


@makes
def convert(g: Generator) -> Operation | None:
    x = g.value()
    return None if x is None else hlo.ConvertOp(x, element_type_of(np.dtype(g.pick(DTYPES))))


@makes
def broadcast(g: Generator) -> Operation | None:
    x = g.value(rank=(0, 3))
    if x is None:
        return None
    sizes, dims = list(shape(x)), list(range(len(shape(x))))
    for _ in range(g.choose(1, 4 - len(sizes))):
        at = g.choose(0, len(sizes))
        sizes.insert(at, g.pick((1, 2, 3, 5, 8)))
        dims = [d + (d >= at) for d in dims]
    new = [n * g.pick((1, 4)) if n == 1 else n for n in sizes]
    return hlo.BroadcastInDimOp(x, shape=new, broadcast_dimensions=dims) if math.prod(new) <= LARGEST else None


@makes
def transpose(g: Generator) -> Operation | None:
    x = g.value(rank=(2, 5))
    if x is None:
        return None
    rest, order = list(range(len(shape(x)))), []
    while rest:
        order.append(rest.pop(g.choose(0, len(rest) - 1)))
    return hlo.TransposeOp(x, permutation=order)


@makes
def reshape(g: Generator) -> Operation | None:
    x = g.value()
    if x is None:
        return None
    sizes = [n for n in shape(x) if n != 1]
    if len(sizes) > 1 and g.choose(0, 1):
        at = g.choose(0, len(sizes) - 2)
        sizes[at : at + 2] = [sizes[at] * sizes[at + 1]]
    elif sizes and (split := [d for d in range(2, 9) if sizes[-1] and sizes[-1] % d == 0]):
        divisor = g.pick(split)
        sizes[-1:] = [sizes[-1] // divisor, divisor]
    if len(sizes) < 5 and g.choose(0, 1):
        sizes.insert(g.choose(0, len(sizes)), 1)
    return hlo.ReshapeOp(x, sizes)


@makes
def slice_(g: Generator) -> Operation | None:
    x = g.value(rank=(1, 5))
    if x is None:
        return None
    start = [g.choose(0, n // 2) for n in shape(x)]
    limit = [g.choose(s, n) for s, n in zip(start, shape(x), strict=True)]
    return hlo.SliceOp(x, start_indices=start, limit_indices=limit, strides=[g.choose(1, 3) for _ in start])


@makes
def dynamic_slice(g: Generator) -> Operation | None:
    x = g.value(rank=(1, 4))
    if x is None:
        return None
    starts = [g.constant(np.array(g.choose(-2, n + 2), np.int32)) for n in shape(x)]
    sizes = [g.choose(min(1, n), n) for n in shape(x)]
    return hlo.DynamicSliceOp(x, starts, slice_sizes=sizes)


@makes
def pad(g: Generator) -> Operation | None:
    x = g.value(rank=(1, 4))
    if x is None:
        return None
    value = g.constant(g.numbers((), dtype(x)))
    low, high, gap = ([g.choose(bottom, 2) for _ in shape(x)] for bottom in (-1, 0, 0))
    low = [max(lo, -n) for lo, n in zip(low, shape(x), strict=True)]
    return hlo.PadOp(x, value, edge_padding_low=low, edge_padding_high=high, interior_padding=gap)


@makes
def concatenate(g: Generator) -> Operation | None:
    x = g.value(rank=(1, 4))
    if x is None:
        return None
    dim = g.choose(0, len(shape(x)) - 1)
    other = list(shape(x))
    other[dim] = g.choose(0, 5)
    parts = [x, g.constant(g.numbers(other, dtype(x))), g.like(x)]
    return hlo.ConcatenateOp(parts[: g.choose(2, 3)], dimension=dim)


@makes
def reverse(g: Generator) -> Operation | None:
    x = g.value(rank=(1, 4))
    if x is None:
        return None
    return hlo.ReverseOp(x, dimensions=[d for d in range(len(shape(x))) if g.choose(0, 1)])


@makes
def iota(g: Generator) -> Operation | None:
    sizes = g.new_shape() or [5]
    element = element_type_of(np.dtype(g.pick(("float32", "int32", "int64"))))
    return hlo.IotaOp(TensorType(element, sizes), g.choose(0, len(sizes) - 1))


@makes
def reduce(g: Generator) -> Operation | None:
    x = g.value(rank=(1, 5))
    if x is None:
        return None
    kind = g.pick(COMBINERS.get(dtype(x).kind, ("add", "maximum", "minimum", "and", "or", "xor")))
    init = g.constant(g.numbers((), dtype(x)))
    dims = [d for d in range(len(shape(x))) if g.choose(0, 1)]
    return hlo.ReduceOp([x], [init], dimensions=dims, body=kind)


@makes
def reduce_window(g: Generator) -> Operation | None:
    x = g.value("fi", rank=(1, 4))
    if x is None:
        return None
    init = g.constant(g.numbers((), dtype(x)))
    rank = len(shape(x))
    return hlo.ReduceWindowOp(
        [x],
        [init],
        body=g.pick(("add", "maximum", "minimum")),
        window_dimensions=[g.choose(1, max(1, min(3, n))) for n in shape(x)],
        window_strides=[g.choose(1, 2) for _ in range(rank)],
        window_dilations=[g.choose(1, 2) for _ in range(rank)],
        base_dilations=[g.pick((1, 1, 1, 2)) for _ in range(rank)],
        padding=[[g.choose(0, 1), g.choose(0, 2)] for _ in range(rank)],
    )


@makes
def dot_general(g: Generator) -> Operation | None:
    x = g.value("fi", rank=(1, 4))
    if x is None:
        return None
    rank = len(shape(x))
    contracted = g.choose(0, rank - 1)
    batch = [d for d in range(rank) if d != contracted and not g.choose(0, 2)]
    free = g.pick((1, 3, 8, 17))
    sizes = [*(shape(x)[d] for d in batch), shape(x)[contracted], free]
    y = g.constant(g.numbers(sizes, dtype(x)))
    return hlo.DotGeneralOp(
        x,
        y,
        lhs_batching_dimensions=batch,
        rhs_batching_dimensions=range(len(batch)),
        lhs_contracting_dimensions=[contracted],
        rhs_contracting_dimensions=[len(batch)],
    )


@makes
def convolution(g: Generator) -> Operation | None:
    x = g.value("f", rank=(3, 4))
    if x is None or 0 in shape(x):
        return None
    space = len(shape(x)) - 2
    features = shape(x)[1]
    groups = g.pick([d for d in (1, 1, 2, features) if features % d == 0])
    outputs = groups * g.pick((1, 2, 5))
    kernel = [g.choose(1, 3) for _ in range(space)]
    if math.prod(kernel) * outputs * features > LARGEST:
        return None
    spatial = ", ".join(map(str, range(space)))
    return hlo.ConvolutionOp(
        x,
        g.constant(g.numbers([outputs, features // groups, *kernel], dtype(x))),
        dimension_numbers=f"[b, f, {spatial}]x[o, i, {spatial}]->[b, f, {spatial}]",
        window_strides=[g.choose(1, 2) for _ in range(space)],
        padding=[[g.choose(0, 2), g.choose(0, 2)] for _ in range(space)],
        lhs_dilation=[g.pick((1, 1, 1, 2)) for _ in range(space)],
        rhs_dilation=[g.pick((1, 1, 2)) for _ in range(space)],
        feature_group_count=groups,
    )


@makes
def gather(g: Generator) -> Operation | None:
    x = g.value(rank=(1, 3))
    if x is None or 0 in shape(x):
        return None
    axis, rank, count = g.choose(0, len(shape(x)) - 1), len(shape(x)), g.choose(1, 6)
    rows = g.constant(np.array([g.choose(-1, shape(x)[axis]) for _ in range(count)], np.int64))
    return hlo.GatherOp(
        x,
        rows,
        slice_sizes=[1 if d == axis else n for d, n in enumerate(shape(x))],
        offset_dims=[d for d in range(rank) if d != axis],
        collapsed_slice_dims=[axis],
        start_index_map=[axis],
        index_vector_dim=1,
    )


@makes
def softmax(g: Generator) -> Operation | None:
    x = g.value("f", rank=(1, 4))
    if x is None:
        return None
    axis = g.choose(0, len(shape(x)) - 1)
    kept = [d for d in range(len(shape(x))) if d != axis]
    lowest = g.constant(np.array(-np.inf, dtype(x)))
    largest = g.add(hlo.ReduceOp([x], [lowest], dimensions=[axis], body="maximum"))
    shifted = g.add(hlo.SubtractOp(x, g.add(hlo.BroadcastInDimOp(largest, shape=shape(x), broadcast_dimensions=kept))))
    powers = g.add(hlo.ExponentialOp(shifted))
    zero = g.constant(np.array(0, dtype(x)))
    total = g.add(hlo.ReduceOp([powers], [zero], dimensions=[axis], body="add"))
    return hlo.DivideOp(powers, g.add(hlo.BroadcastInDimOp(total, shape=shape(x), broadcast_dimensions=kept)))


MAKERS.extend([unary, unary, binary, binary, binary])  # these have most ops to choose from
