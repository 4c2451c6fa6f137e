"""Operators on tensors whose size data decide, which are as large as they can be, with their true size beside them.

A rule here is given the operator's own rule (`usual`), which works on the largest size, and says how large the results
are. What would take part but does not count is cut off or replaced first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i64

from ....dialects import stablehlo as hlo
from .builder import GraphBuilder, Value, element_of, rank_of, shape_of
from .loops import while_loop
from .sizes import Entry, Size, Undecided, compute, entries_of, most_of, product, shape_entries, value_of, vector

Extents = Mapping[int, Value]


@dataclass
class Node:
    """An operator at hand."""

    b: GraphBuilder
    operator: str
    operands: list[Value | None]
    attributes: Mapping[str, Any]
    usual_in: Callable[[GraphBuilder, Sequence[Value | None]], list[Value]]

    def usual(self, operands: Sequence[Value | None]) -> list[Value]:
        """The results of the operator's own rule."""
        return self.usual_in(self.b, operands)

    def operand(self, index: int) -> Value:
        """An operand that must be there."""
        found = self.operands[index] if index < len(self.operands) else None
        if found is None:
            raise self.b.fail(f"input {index} is required")
        return found

    def given(self, index: int) -> Value | None:
        """An operand that may be left out."""
        return self.operands[index] if index < len(self.operands) else None

    def extents(self, index: int = 0) -> Extents:
        """The sizes of an operand that data decide."""
        x = self.given(index)
        return {} if x is None else self.b.extents.get(x, {})

    def only(self, *indices: int) -> None:
        """Raises LaminaError where an operand at another place has a size that data decide."""
        if any(self.extents(i) for i in range(len(self.operands)) if i not in indices):
            raise self.unsupported()

    def unsupported(self) -> Exception:
        """The error of what has no rule."""
        return self.b.fail("works on a tensor whose shape depends on data, which is not supported")

    def entries(self, index: int, what: str) -> list[Entry]:
        """The entries of an operand that shapes are made of."""
        x = self.operand(index)
        held = entries_of(self.b, x)
        return list(self.b.ints(x, what)) if held is None else held.reshape(-1).tolist()

    def axis(self, default: int, rank: int) -> int:
        """The attribute `axis`, counted from the front."""
        return self.b.axis(int(self.attributes.get("axis", default)), rank)

    def put(self, result: Value, extents: Extents) -> Value:
        """A result with its sizes; a value of its own where it is an operand that has others."""
        b = self.b
        if result in self.operands and b.extents.get(result, {}) != extents:
            result = b(hlo.ReshapeOp(result, list(shape_of(result))))
        if extents:
            b.extents[result] = dict(extents)
        return result


_AT_ONCE = 64  # regions of images that are looked at before it is seen whether there are more
Rule = Callable[[Node], list[Value]]
RULES: dict[str, Rule] = {}
CHAPTERS = ("bounded_moves", "bounded_choices")  # beside this one; most models need none


def bounded(*operators: str) -> Callable[[Rule], Rule]:
    """Registers the decorated rule."""

    def register(rule: Rule) -> Rule:
        for name in operators:
            assert name not in RULES, name
            RULES[name] = rule
        return rule

    return register


def lower_bounded(
    b: GraphBuilder,
    operator: str,
    operands: list[Value | None],
    attributes: Mapping[str, Any],
    usual: Callable[[GraphBuilder, Sequence[Value | None]], list[Value]],
) -> list[Value]:
    """The results of an operator of which some operands have sizes that data decide, or are computed from such.

    Raises LaminaError for an operator without a rule.
    """
    for chapter in CHAPTERS:
        import_module(f".{chapter}", __package__)
    node = Node(b, operator, operands, attributes, usual)
    open_ = any(x in b.extents for x in operands if x is not None)
    rule = RULES.get(operator)
    if open_ and rule is None:
        raise node.unsupported()
    entries = None if open_ else compute(b, operator, operands, attributes, node.usual)
    try:
        results = node.usual(operands) if rule is None or entries is not None else rule(node)
    except Undecided as error:
        raise node.unsupported() from error
    if entries is not None and b.constant_value(results[0]) is None:
        b.sizes[results[0]] = entries
    return results


def counts(b: GraphBuilder, x: Value, extents: Extents) -> Value:
    """Which elements of `x` count: truth values that broadcast to it."""
    rank, found = rank_of(x), None
    for axis, size in extents.items():
        shape = [shape_of(x)[axis] if i == axis else 1 for i in range(rank)]
        inside = b.compare(b.iota(shape, axis, i64), size, "LT")
        found = inside if found is None else b.logical_and(found, inside)
    assert found is not None
    return found


def replaced(b: GraphBuilder, x: Value, extents: Extents, number: float | bool) -> Value:
    """`x`, with a number in the place of what does not count."""
    return b.select(counts(b, x, extents), x, b.scalar(number, element_of(x))) if extents else x


def cut(b: GraphBuilder, x: Value, axis: int, size: int) -> Value:
    """The first of `x` along an axis, if it has more; its sizes stay."""
    if shape_of(x)[axis] <= size:
        return x
    extents = b.extents.get(x, {})
    shorter = b.slice_axis(x, axis, 0, size)
    if extents:
        b.extents[shorter] = dict(extents)
    return shorter


def agreeing(b: GraphBuilder, values: Sequence[Value], skipped: int | None = None) -> tuple[list[Value], Extents]:
    """Values of one shape, as large as the smallest, and the sizes of it; `skipped` is a dimension that may differ."""
    found: dict[int, Value] = {}
    for axis in range(rank_of(values[0])):
        decided = [size for x in values if (size := b.extents.get(x, {}).get(axis)) is not None]
        if decided and axis != skipped:
            least = min(shape_of(x)[axis] for x in values)
            values = [cut(b, x, axis, least) for x in values]
            found[axis] = decided[0]
    return list(values), found


def broadcasting(b: GraphBuilder, values: Sequence[Value]) -> tuple[list[Value], Extents]:
    """Values that broadcast by the largest sizes as they do by the true ones, and the sizes of the result."""
    rank = max(map(rank_of, values))
    found: dict[int, Value] = {}
    for axis in range(rank):
        places = {i: axis - rank + rank_of(x) for i, x in enumerate(values) if axis - rank + rank_of(x) >= 0}
        entries = {i: shape_entries(b, values[i])[d] for i, d in places.items()}
        if not any(isinstance(entry, Size) for entry in entries.values()):
            continue
        size = reduce(lambda x, y: met(b, x, y), entries.values())
        alike = [i for i, entry in entries.items() if is_same(entry, size)]
        most = min(shape_of(values[i])[places[i]] for i in alike) if alike else most_of(size)
        values = [as_large(b, x, places[i], entries[i], size, most) if i in places else x for i, x in enumerate(values)]
        if isinstance(size, Size):
            found[axis] = size.value
    return list(values), found


def met(b: GraphBuilder, x: Entry, y: Entry) -> Entry:
    """The size of a dimension that broadcasts from two: a size that data decide may be 1."""
    if x == 1 or is_same(x, y):
        return y
    if y == 1 or not isinstance(x, Size):
        return x
    if not isinstance(y, Size):
        return y
    alone = b.compare(x.value, 1, "EQ")
    return Size(b.select(alone, y.value, x.value), max(x.most, y.most))


def is_same(x: Entry, y: Entry) -> bool:
    """Whether two sizes are seen to be equal."""
    return x.value is y.value if isinstance(x, Size) and isinstance(y, Size) else x == y


def as_large(b: GraphBuilder, x: Value, axis: int, mine: Entry, size: Entry, most: int) -> Value:
    """`x`, whose size along an axis is `mine`, with `most` elements there of which the first `size` count."""
    if mine == 1:
        return x
    n, rank = shape_of(x)[axis], rank_of(x)
    room = [most - n if i == axis else 0 for i in range(rank)]
    larger = b.pad(x, b.scalar(0, element_of(x)), [0] * rank, room)
    if not isinstance(mine, Size) or is_same(mine, size) or n == 0:
        return larger
    return b.select(b.compare(mine.value, 1, "EQ"), b.slice_axis(x, axis, 0, 1), larger)


# element by element

_ELEMENTWISE = """
    Abs Acos Add And Asin Atan BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast Ceil Celu Clip Cos Div Elu
    Equal Erf Exp Floor Gelu Greater GreaterOrEqual HardSigmoid HardSwish Identity IsInf IsNaN LeakyRelu Less
    LessOrEqual Log Max Mean Min Mish Mod Mul Neg Not Or PRelu Pow Reciprocal Relu Round Selu Sigmoid Sign Sin
    Softplus Softsign Sqrt Sub Sum Tan Tanh ThresholdedRelu Where Xor
"""


@bounded(*_ELEMENTWISE.split())
def elementwise(node: Node) -> list[Value]:
    given = [x for x in node.operands if x is not None]
    values, extents = broadcasting(node.b, given)
    left = iter(values)
    results = node.usual([None if x is None else next(left) for x in node.operands])
    return [node.put(result, extents) for result in results]


@bounded("CastLike")
def cast_like(node: Node) -> list[Value]:
    return [node.put(result, node.extents()) for result in node.usual(node.operands)]


# a result for each of a batch, whose size data decide


@bounded(
    "AveragePool",
    "BatchNormalization",
    "Conv",
    "ConvTranspose",
    "DepthToSpace",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "InstanceNormalization",
    "LRN",
    "MaxPool",
    "Resize",
    "SpaceToDepth",
    "Upsample",
)
def batched(node: Node) -> list[Value]:
    node.only(0)
    results = node.usual(node.operands)
    own = shape_of(node.operand(0))
    if set(node.extents()) != {0} or len(own) != rank_of(results[0]) or own[0] != shape_of(results[0])[0]:
        raise node.unsupported()
    if node.attributes.get("training_mode"):
        raise node.unsupported()  # statistics of all there can be
    return [node.put(result, node.extents()) for result in results]


@bounded("Gemm")
def gemm(node: Node) -> list[Value]:
    node.only(0)
    rows = 1 if node.attributes.get("transA") else 0
    if set(node.extents()) != {rows}:
        raise node.unsupported()
    return [node.put(result, {0: node.extents()[rows]}) for result in node.usual(node.operands)]


@bounded("MatMul")
def matmul(node: Node) -> list[Value]:
    node.only(0)
    x, y = node.operand(0), node.operand(1)
    batches = {axis for axis in node.extents() if axis != rank_of(x) - 2}
    if rank_of(x) - 1 in batches or (rank_of(y) > 2 and (batches or rank_of(y) != rank_of(x))):
        raise node.unsupported()
    return [node.put(result, node.extents()) for result in node.usual(node.operands)]


@bounded("RoiAlign", "MaxRoiPool")
def regions_of_images(node: Node) -> list[Value]:
    node.only(1, 2)
    extents = node.extents(1)
    if set(extents) != {0}:
        raise node.unsupported()
    b, size = node.b, shape_of(node.operand(1))[0]
    operands = [cut(b, x, 0, size) if i == 2 and x is not None else x for i, x in enumerate(node.operands)]
    if size <= _AT_ONCE:
        return [node.put(result, extents) for result in node.usual(operands)]

    def goes_on(c: GraphBuilder, state: Sequence[Value]) -> Value:
        return c.compare(state[0], extents[0], "LT")

    def step(c: GraphBuilder, state: Sequence[Value]) -> list[Value]:
        first, found = state
        some = [x if i == 0 or x is None else _from(c, x, first, _AT_ONCE) for i, x in enumerate(operands)]
        [result] = node.usual_in(c, some)
        zero = c.scalar(0, i64)
        places = [first] + [zero] * (rank_of(result) - 1)
        return [c.add(first, _AT_ONCE), c(hlo.DynamicUpdateSliceOp(found, result, places))]

    [one] = node.usual([x if i == 0 or x is None else b.slice_axis(x, 0, 0, 1) for i, x in enumerate(operands)])
    room = b.broadcast_to(b.scalar(0, element_of(one)), [size, *shape_of(one)[1:]])
    return [node.put(while_loop(b, [b.scalar(0, i64), room], goes_on, step)[1], extents)]


def _from(b: GraphBuilder, x: Value, first: Value, count: int) -> Value:
    """So many rows of `x`; the last ones where there are fewer left."""
    zero = b.scalar(0, i64)
    places = [first] + [zero] * (rank_of(x) - 1)
    return b(hlo.DynamicSliceOp(x, places, slice_sizes=[count, *shape_of(x)[1:]]))


@bounded("LayerNormalization", "RMSNormalization")
def along_rows(node: Node) -> list[Value]:
    node.only(0)
    if max(node.extents()) >= node.axis(-1, rank_of(node.operand(0))):
        raise node.unsupported()
    return [node.put(node.usual(node.operands)[0], node.extents())]


# sizes themselves


@bounded("Shape")
def shape(node: Node) -> list[Value]:
    from_, to = node.attributes.get("start", 0), node.attributes.get("end")
    return [vector(node.b, shape_entries(node.b, node.operand(0))[from_:to])]


@bounded("Size")
def size(node: Node) -> list[Value]:
    entry = product(node.b, shape_entries(node.b, node.operand(0)))
    result = value_of(node.b, entry)
    held = np.empty((), object)
    held[()] = entry
    node.b.sizes[result] = held
    return [result]
