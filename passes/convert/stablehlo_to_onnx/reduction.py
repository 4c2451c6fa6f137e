"""Reductions, windows, sorting and normalisation."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import IntegerType, TensorType, i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ....compiler.dtypes import dtype_of
from ....compiler.semantics import plain
from ....dialects import stablehlo as hlo
from ....dialects.stablehlo import combiner_of
from ....dialects.stablehlo.constants import constant_value
from .builder import NodeBuilder, Value, element_of, shape_of, size_of
from .elementwise import combined
from .table import writes

_OPERATORS = {"add": "ReduceSum", "multiply": "ReduceProd", "maximum": "ReduceMax", "minimum": "ReduceMin"}
_ON_BITS = {"or": "maximum", "add": "maximum", "and": "minimum", "multiply": "minimum"}


@writes(hlo.ReduceOp)
def reduce(b: NodeBuilder, op: hlo.ReduceOp, *xs: Value) -> Value:
    """One operator for one input and one named combination; its initial value afterwards, if that changes anything."""
    kind = combiner_of(op.regions[0])
    if len(xs) != 2 or kind is None:
        raise b.fail("a reduction by other than one of add, multiply, maximum, minimum, and, or")
    x, start = xs
    axes, result = list(plain(op.properties["dimensions"])), op.results[0]
    element, shape = element_of(x), shape_of(result)
    name = _OPERATORS.get(_ON_BITS.get(kind, kind) if element == i1 else kind)
    if name is None:
        raise b.fail(f"a reduction by {kind} of {element}")
    inner = i32 if element == i1 else element
    if size_of(x) == 0:
        return b.expand(b.reshape(start, [1] * len(shape)), shape)
    y = b.cast(x, inner)
    if axes:
        y = b(name, y, b.ints(axes), shape=shape, element=inner, keepdims=0)
    y = b.cast(y, element)
    if _changes_nothing(b, kind, element, op.operands[1]):
        return y
    return combined(b, kind, y, b.expand(b.reshape(start, [1] * len(shape)), shape))


def _changes_nothing(b: NodeBuilder, kind: str, element: Attribute, start: SSAValue) -> bool:
    """Whether the initial value is known to be the identity of the combination."""
    array = constant_value(start, b.weights) if isinstance(start.owner, Operation) else None
    if array is None:
        return False
    value = array.reshape(-1)[0]
    dtype = dtype_of(element)
    match kind:
        case "add" | "or":
            return bool(value == 0) and not (kind == "or" and dtype != np.bool_)
        case "multiply":
            return bool(value == 1)
        case "and":
            return dtype == np.bool_ and bool(value)
        case "maximum" | "minimum" if dtype == np.bool_:
            return bool(value) == (kind == "minimum")
        case "maximum" | "minimum" if isinstance(element, IntegerType):
            limits = np.iinfo(dtype)
            return int(value) == (limits.min if kind == "maximum" else limits.max)
        case "maximum" | "minimum":
            return bool(np.isinf(value)) and bool(value < 0) == (kind == "maximum")
        case _:
            return False


@writes(hlo.ReduceWindowOp)
def reduce_window(b: NodeBuilder, op: hlo.ReduceWindowOp, *xs: Value) -> Value:
    """Dimensions with a window become spatial: MaxPool for maxima, a Conv with ones for sums."""
    kind = combiner_of(op.regions[0])
    x, start = xs[0], xs[1]
    element = element_of(x)
    if len(xs) != 2 or kind not in ("add", "maximum", "minimum") or isinstance(element, IntegerType):
        raise b.fail("windows of other than sums, maxima and minima of floating-point numbers")
    given = {name: plain(value) for name, value in op.properties.items()}
    own = shape_of(x)
    ones = [1] * len(own)
    sizes = list(given["window_dimensions"])
    steps = list(given.get("window_strides") or ones)
    spread = list(given.get("window_dilations") or ones)
    gaps = [n - 1 for n in given.get("base_dilations") or ones]
    padding = given.get("padding")
    low = [0] * len(own) if padding is None else [int(p) for p in padding[:, 0]]
    high = [0] * len(own) if padding is None else [int(p) for p in padding[:, 1]]
    x = b.pad(x, start, low, high, gaps)
    padded, shape = shape_of(x), shape_of(op.results[0])
    spatial = [d for d in range(len(own)) if sizes[d] > 1 or steps[d] > 1]
    if not spatial:
        return combined(b, kind, x, b.expand(b.reshape(start, ones), shape))
    others = [d for d in range(len(own)) if d not in spatial]
    order = others + spatial
    batch = prod(padded[d] for d in others)
    y = b.reshape(b.transpose(x, order), [batch, 1, *(padded[d] for d in spatial)])
    out = [batch, 1, *(shape[d] for d in spatial)]
    window = {
        "kernel_shape": [sizes[d] for d in spatial],
        "strides": [steps[d] for d in spatial],
        "dilations": [spread[d] for d in spatial],
    }
    if kind == "add":
        weights = b.constant(np.ones([1, 1, *window["kernel_shape"]], dtype_of(element)))
        y = b("Conv", y, weights, shape=out, element=element, **window)
    elif kind == "minimum":
        y = b.like("Neg", b("MaxPool", b.like("Neg", y), shape=out, element=element, **window))
    else:
        y = b("MaxPool", y, shape=out, element=element, **window)
    y = b.transpose(b.reshape(y, [shape[d] for d in order]), sorted(range(len(order)), key=order.__getitem__))
    if _changes_nothing(b, kind, element, op.operands[1]):
        return y
    return combined(b, kind, y, b.expand(b.reshape(start, ones), shape))


@writes(hlo.SortOp)
def sort(b: NodeBuilder, op: hlo.SortOp, *xs: Value) -> list[Value]:
    """TopK of all elements of the key, whose indices take the others along."""
    key, largest = _key(b, op)
    axis = plain(op.properties["dimension"]) if "dimension" in op.properties else -1
    shape = shape_of(xs[key])
    axis %= len(shape)
    types = [xs[key].type, TensorType(i64, shape)]
    count = b.ints([shape[axis]])
    ordered, places = b.all("TopK", [xs[key], count], types, axis=axis, largest=int(largest), sorted=1)
    return [ordered if i == key else b.like("GatherElements", x, places, axis=axis) for i, x in enumerate(xs)]


def _key(b: NodeBuilder, op: hlo.SortOp) -> tuple[int, bool]:
    """Which input is compared, and whether the largest comes first."""
    block = op.regions[0].block
    compare = block.first_op
    if not isinstance(compare, hlo.CompareOp) or compare.next_op is not block.last_op:
        raise b.fail("a sort by more than one comparison")
    sides = [block.args.index(x) if x in block.args else -1 for x in compare.operands]  # pyright: ignore
    direction = plain(compare.properties["comparison_direction"])
    kind = compare.properties.get("compare_type")
    total = kind is not None and plain(kind) == "TOTALORDER"
    if total or -1 in sides or sides[0] == sides[1] or sides[0] // 2 != sides[1] // 2 or direction not in ("LT", "GT"):
        raise b.fail("a sort by other than less or greater")
    return sides[0] // 2, (direction == "GT") == (sides[0] < sides[1])


@writes(hlo.BatchNormInferenceOp)
def batch_norm(
    b: NodeBuilder,
    op: hlo.BatchNormInferenceOp,
    x: Value,
    scale: Value,
    offset: Value,
    mean: Value,
    variance: Value,
) -> Value:
    axis, rank = plain(op.properties["feature_index"]), len(shape_of(x))
    if rank < 2:
        raise b.fail("a batch normalisation without a batch")
    order = [d for d in range(rank) if d != axis]
    order.insert(1, axis)
    epsilon = float(plain(op.properties["epsilon"]))
    y = b.like("BatchNormalization", b.transpose(x, order), scale, offset, mean, variance, epsilon=epsilon)
    return b.transpose(y, sorted(range(rank), key=order.__getitem__))
