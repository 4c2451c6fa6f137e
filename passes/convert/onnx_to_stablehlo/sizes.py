"""Sizes that data decide, as numbers to compute with: tensors of integers that shapes are made of.

A `Size` is an i64 of rank 0, with the least and the most it can be. The elements of a small tensor of integers are
known ones and such sizes; what moves them is the operator's own rule, applied to their numbers in a list.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i64

from ....compiler.dtypes import dtype_of
from ....compiler.weights import Array
from .builder import GraphBuilder, Value, element_of, shape_of

_MOST_ENTRIES = 64  # of a tensor that is looked at


@dataclass(frozen=True)
class Size:
    """A size that data decide: `value` is an i64 of rank 0, from `least` to `most`; dimensions are never below 0."""

    value: Value
    most: int
    least: int = 0


Entry = Size | int
Entries = Array  # of objects, each an Entry; or of truth values that are known
Usual = Callable[[Sequence[Value | None]], list[Value]]  # an operator's own rule

# what the operands at these places hold is moved by the operator; the others say how
_MOVES: Mapping[str, Sequence[int] | None] = {
    "Cast": (0,),
    "Concat": None,  # all
    "Flatten": (0,),
    "Gather": (0,),
    "Identity": (0,),
    "Reshape": (0,),
    "Slice": (0,),
    "Squeeze": (0,),
    "Transpose": (0,),
    "Unsqueeze": (0,),
    "Where": (1, 2),
}
_JOINS = {
    "Add": "add",
    "Sub": "subtract",
    "Mul": "multiply",
    "Div": "divide",
    "Min": "minimum",
    "Max": "maximum",
}
_FOLDS = {"ReduceMin": "minimum", "ReduceMax": "maximum", "ReduceProd": "multiply", "ReduceSum": "add"}
_OF_NUMBERS: Mapping[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": lambda x, y: int(x / y),
    "minimum": min,
    "maximum": max,
}


class Undecided(Exception):
    """Entries that cannot be told apart, or no sizes."""


def most_of(entry: Entry) -> int:
    """The largest that an entry can be."""
    return entry.most if isinstance(entry, Size) else entry


def least_of(entry: Entry) -> int:
    """The smallest that an entry can be."""
    return entry.least if isinstance(entry, Size) else entry


def value_of(b: GraphBuilder, entry: Entry) -> Value:
    """An entry as an i64 of rank 0."""
    return entry.value if isinstance(entry, Size) else b.scalar(entry, i64)


def combined(b: GraphBuilder, kind: str, x: Entry, y: Entry) -> Entry:
    """add, subtract, multiply, divide, minimum or maximum of two entries. Raises Undecided where none is bounded."""
    if not isinstance(x, Size) and not isinstance(y, Size):
        if kind == "divide" and y == 0:
            raise Undecided
        return _OF_NUMBERS[kind](x, y)
    if kind in ("add", "subtract") or (kind == "multiply" and not (isinstance(x, Size) and isinstance(y, Size))):
        return _sum(b, kind, x, y)
    if kind in ("minimum", "maximum"):
        below, above = (x, y) if kind == "minimum" else (y, x)
        if most_of(below) <= least_of(above):
            return x
        if most_of(above) <= least_of(below):
            return y
    elif least_of(x) < 0 or least_of(y) < (1 if kind == "divide" else 0):
        raise Undecided
    elif kind == "divide" and y == 1:
        return x
    value, of = getattr(b, kind)(value_of(b, x), value_of(b, y)), _OF_NUMBERS[kind]
    if kind == "divide":
        return Size(value, of(most_of(x), least_of(y)), of(least_of(x), most_of(y)))
    return Size(value, of(most_of(x), most_of(y)), of(least_of(x), least_of(y)))


_Terms = Mapping[Size, int]  # how often each is taken


def _sum(b: GraphBuilder, kind: str, x: Entry, y: Entry) -> Entry:
    """A sum of sizes that are none themselves, each so many times: what cancels is gone, what was made is found."""
    (first, terms), (second, others) = _terms(b, x), _terms(b, y)
    if kind == "multiply":
        number, by = (second * first, y if isinstance(x, Size) else x)
        counts = {size: n * most_of(by) for size, n in (terms or others).items()}
    else:
        sign = 1 if kind == "add" else -1
        number = first + sign * second
        counts = {size: terms.get(size, 0) + sign * others.get(size, 0) for size in (*terms, *others)}
    counts = {size: n for size, n in counts.items() if n}
    if not counts:
        return number
    if number == 0 and list(counts.values()) == [1]:
        return next(iter(counts))
    key = number, frozenset(counts.items())
    if key not in b.sums:
        value = getattr(b, kind)(value_of(b, x), value_of(b, y))
        most = number + sum(n * (size.most if n > 0 else size.least) for size, n in counts.items())
        least = number + sum(n * (size.least if n > 0 else size.most) for size, n in counts.items())
        b.sums[key] = Size(value, most, least)
        b.sums[value] = number, counts
    return b.sums[key]


def _terms(b: GraphBuilder, entry: Entry) -> tuple[int, _Terms]:
    if not isinstance(entry, Size):
        return entry, {}
    return b.sums.get(entry.value, (0, {entry: 1}))


def entries_of(b: GraphBuilder, x: Value | None) -> Entries | None:
    """The entries of a small tensor of integers: of known numbers, or of sizes."""
    if x is None:
        return None
    if x in b.sizes:
        return b.sizes[x]
    known = b.constant_value(x)
    if known is None or known.size > _MOST_ENTRIES or known.dtype.kind not in "iub":
        return None
    return known.astype(object)


def compute(
    b: GraphBuilder, operator: str, operands: Sequence[Value | None], attributes: Mapping[str, Any], usual: Usual
) -> Entries | None:
    """The entries of the only result of an operator on tensors of sizes, where they can be told."""
    entries = [entries_of(b, x) for x in operands]
    known = [each for each in entries if each is not None]
    try:
        if operator in _MOVES:
            return _moved(b, operator, operands, entries, usual)
        if operator in _FOLDS and entries[0] is not None and entries[0].size:
            return _folded(b, _FOLDS[operator], entries, attributes)
        if len(known) < len(entries):
            return None
        if operator in _JOINS:
            return reduce(lambda x, y: _each(lambda m, n: combined(b, _JOINS[operator], m, n), x, y), known)
        if operator == "Equal":
            return _each(_equal, *known)
    except (Undecided, ValueError):
        pass
    return None


def _each(join: Callable[[Entry, Entry], Entry | bool], x: Entries, y: Entries) -> Entries:
    """What `join` makes of each two entries."""
    return np.asarray(np.frompyfunc(join, 2, 1)(x, y), object)


def _moved(
    b: GraphBuilder,
    operator: str,
    operands: Sequence[Value | None],
    entries: Sequence[Entries | None],
    usual: Usual,
) -> Entries | None:
    """The rule of the operator, on the places of the entries in a list of all."""
    places = _MOVES[operator]
    listed: list[Entry] = []
    stand_ins = list(operands)
    for i in range(len(operands)) if places is None else places:
        held = entries[i]
        x = operands[i]
        if held is None or x is None or (operator == "Cast" and dtype_of(element_of(x)).kind not in "iu"):
            return None
        numbers = np.arange(len(listed), len(listed) + held.size).reshape(held.shape)
        stand_ins[i] = b.constant(numbers.astype(dtype_of(element_of(x))))
        listed += held.reshape(-1).tolist()
    if operator == "Where":
        decided = entries[0]
        if decided is None or any(isinstance(each, Size) for each in decided.reshape(-1)):
            return None
        stand_ins[0] = b.constant(decided.astype(np.bool_))
    [result, *_] = usual(stand_ins)
    where = b.constant_value(result)
    if where is None or where.dtype.kind not in "iu":
        return None
    found = np.empty(where.size, object)
    found[:] = [listed[int(place)] for place in where.reshape(-1)]
    return found.reshape(where.shape)


def _equal(x: Entry, y: Entry) -> bool:
    if x == y:
        return True
    if most_of(x) < least_of(y) or most_of(y) < least_of(x):
        return False
    raise Undecided


def _folded(
    b: GraphBuilder, kind: str, entries: Sequence[Entries | None], attributes: Mapping[str, Any]
) -> Entries | None:
    """All entries in one. Reductions of some axes alone are none of sizes."""
    held = entries[0]
    assert held is not None
    axes = entries[1] if len(entries) > 1 else attributes.get("axes")
    if held.ndim > 1 or (axes is None and len(entries) > 1):
        return None
    result = np.empty((1,) * held.ndim if attributes.get("keepdims", 1) else (), object)
    result[...] = reduce(lambda x, y: combined(b, kind, x, y), held.reshape(-1).tolist())
    return result


def vector(b: GraphBuilder, entries: Sequence[Entry]) -> Value:
    """Entries as an i64 tensor of one dimension, whose entries are known from now on."""
    if not any(isinstance(entry, Size) for entry in entries):
        return b.constant(np.array(entries, np.int64))
    result = b.concatenate([b.reshape(value_of(b, entry), [1]) for entry in entries], 0)
    held = np.empty(len(entries), object)
    held[:] = list(entries)
    b.sizes[result] = held
    return result


def shape_entries(b: GraphBuilder, x: Value) -> list[Entry]:
    """The sizes of a value's dimensions."""
    sizes = b.extents.get(x, {})
    return [Size(sizes[i], n) if i in sizes else n for i, n in enumerate(shape_of(x))]


def product(b: GraphBuilder, entries: Sequence[Entry]) -> Entry:
    """All of them multiplied."""
    known = math.prod(entry for entry in entries if not isinstance(entry, Size))
    return reduce(lambda x, y: combined(b, "multiply", x, y), [e for e in entries if isinstance(e, Size)], known)
