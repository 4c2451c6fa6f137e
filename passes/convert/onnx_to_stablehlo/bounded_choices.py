"""Rules for tensors whose size data decide: what looks at all elements; those that do not count are replaced."""

from __future__ import annotations

import math
from collections.abc import Callable

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute

from .bounded import Extents, Node, bounded, counts, replaced
from .builder import Value, element_of, is_bool, is_float, rank_of, shape_of
from .limits import extreme
from .selection import non_zero
from .sizes import Size, combined, most_of, product, shape_entries, value_of
from .sorting import top
from .suppression import suppressed

_Number = Callable[[Attribute], float | bool]


def _lowest(element: Attribute) -> float | bool:
    return extreme(element, largest=False)


def _highest(element: Attribute) -> float | bool:
    return extreme(element, largest=True)


_LEAVES_ALONE: dict[str, _Number] = {  # reduction -> what changes no result of it
    "ReduceSum": lambda element: 0,
    "ReduceMean": lambda element: 0,
    "ReduceMax": _lowest,
    "ReduceMin": _highest,
    "ReduceProd": lambda element: 1,
    "ReduceL1": lambda element: 0,
    "ReduceL2": lambda element: 0,
    "ReduceSumSquare": lambda element: 0,
    "ReduceLogSum": lambda element: 0,
    "ReduceLogSumExp": _lowest,
}


@bounded(*_LEAVES_ALONE)
def reduction(node: Node) -> list[Value]:
    b, x = node.b, node.operand(0)
    rank = rank_of(x)
    given = node.given(1)
    axes = node.attributes.get("axes") if given is None else b.ints(given, f"axes of {node.operator}")
    if not axes and node.attributes.get("noop_with_empty_axes"):
        axes = []
    elif not axes:
        axes = None
    reduced = b.axes(axes, rank)
    inside = {axis: size for axis, size in node.extents().items() if axis in reduced}
    x = replaced(b, x, inside, _LEAVES_ALONE[node.operator](element_of(x)))
    if inside and node.operator == "ReduceMean":
        count = product(b, [shape_entries(b, node.operand(0))[axis] for axis in reduced])
        total = b.reduce("add", x, reduced, bool(node.attributes.get("keepdims", 1)))
        result = b.divide(total, b.convert(value_of(b, count), element_of(x)))
    else:
        [result] = node.usual([x, *node.operands[1:]])
    kept = list(range(rank)) if node.attributes.get("keepdims", 1) else [i for i in range(rank) if i not in reduced]
    return [node.put(result, {kept.index(i): size for i, size in node.extents().items() if i not in reduced})]


@bounded("Softmax", "LogSoftmax")
def softmax(node: Node) -> list[Value]:
    b, x = node.b, node.operand(0)
    rank = rank_of(x)
    rows = b.opset < 13  # of all dimensions from there on
    along = list(range(node.axis(1, rank), rank)) if rows else [node.axis(-1, rank)]
    inside = {axis: size for axis, size in node.extents().items() if axis in along}
    if inside and not is_float(x):
        raise node.unsupported()
    return [node.put(result, node.extents()) for result in node.usual([replaced(b, x, inside, -math.inf)])]


@bounded("ArgMax", "ArgMin")
def place_of_best(node: Node) -> list[Value]:
    b, x = node.b, node.operand(0)
    along = node.axis(0, rank_of(x))
    if along in node.extents() and node.attributes.get("select_last_index"):
        raise node.unsupported()
    inside = _along(node, along)
    worst = (_lowest if node.operator == "ArgMax" else _highest)(element_of(x))
    [result] = node.usual([replaced(b, x, inside, worst)])
    kept = [i for i in range(rank_of(x)) if i != along or node.attributes.get("keepdims", 1)]
    return [node.put(result, {kept.index(i): size for i, size in node.extents().items() if i != along})]


def _along(node: Node, axis: int) -> Extents:
    return {i: size for i, size in node.extents().items() if i == axis}


@bounded("CumSum")
def sums_so_far(node: Node) -> list[Value]:
    [axis] = node.b.ints(node.operand(1), "axis of CumSum")
    if node.attributes.get("reverse") and node.b.axis(axis, rank_of(node.operand(0))) in node.extents():
        raise node.unsupported()
    return [node.put(result, node.extents()) for result in node.usual(node.operands)]


@bounded("TopK")
def first_of_many(node: Node) -> list[Value]:
    """As many as there are at most, of which as many count as are wanted, and there."""
    b, x = node.b, node.operand(0)
    along = node.axis(-1, rank_of(x))
    largest = bool(node.attributes.get("largest", 1))
    [wanted] = [node.attributes["k"]] if node.given(1) is None else node.entries(1, "k of TopK")
    inside = _along(node, along)
    if inside:
        last = math.nan if is_float(x) and not largest else extreme(element_of(x), largest=not largest)
        wanted = combined(b, "minimum", wanted, Size(inside[along], shape_of(x)[along]))
        x = replaced(b, x, inside, last)
    results = top(b, x, min(most_of(wanted), shape_of(x)[along]), along, largest)
    extents = dict(node.extents())
    if isinstance(wanted, Size):
        extents[along] = wanted.value
    return [node.put(result, extents) for result in results]


@bounded("NonZero")
def places_of_what_is_not_zero(node: Node) -> list[Value]:
    b, x = node.b, node.operand(0)
    if x not in b.places:
        mask = x if is_bool(x) else b.compare(x, 0, "NE")
        b.places[x] = non_zero(b, b.logical_and(*b.broadcast(mask, counts(b, x, node.extents()))))
    return [b.places[x]]


@bounded("NonMaxSuppression")
def suppression(node: Node) -> list[Value]:
    b, scores = node.b, node.operand(1)
    boxes = node.operand(0)
    sizes = [size for size in (node.extents(0).get(1), node.extents(1).get(2)) if size is not None]
    if set(node.extents(0)) - {1} or set(node.extents(1)) - {2}:
        raise node.unsupported()
    n = min(shape_of(boxes)[1], shape_of(scores)[2])
    boxes, scores = b.slice_axis(boxes, 1, 0, n), b.slice_axis(scores, 2, 0, n)
    valid = b.compare(b.iota([1, 1, n], 2, i64), sizes[0], "LT") if sizes else None
    limits = [node.given(i) for i in (2, 3, 4)]
    centred = bool(node.attributes.get("center_point_box", 0))
    return [suppressed(b, boxes, scores, *limits, centred=centred, valid=valid)]
