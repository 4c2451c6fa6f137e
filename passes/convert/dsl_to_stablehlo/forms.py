"""What a subscript is as a function of the indices: a linear combination, a table of numbers, or neither.

Linear ones are read off the arithmetic. What depends on indices alone but is not written linearly, such as
`(i + 1) % N` or `o // 4`, is evaluated for all indices, and the numbers tell: often they are linear after all, or
linear in pieces. How the arithmetic was written does not matter then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from xdsl.ir import Operation, SSAValue

from ....compiler.interpreter import Interpreter
from ....compiler.weights import Array, WeightStore
from ....dialects import stablehlo as hlo
from ....dialects.stablehlo.constants import constant_value
from ....dialects.stablehlo.semantics.regions import ELEMENTWISE

LARGEST_TABLE = 1 << 22
"""A subscript is tabulated for up to so many values of its indices."""


@dataclass(frozen=True, eq=False)
class Index:
    """One axis of what is being computed; `order` says how far outside it was bound (lowest first)."""

    size: int
    order: float


Symbol = Index | SSAValue


@dataclass(frozen=True)
class Linear:
    """`constant` plus each symbol times its coefficient; a symbol that is no index is a scalar from outside."""

    terms: Mapping[Symbol, int] = field(default_factory=dict[Symbol, int])
    constant: int = 0

    def plus(self, other: Linear, times: int = 1) -> Linear:
        """The sum of this and `times` the other."""
        terms = dict(self.terms)
        for symbol, coefficient in other.terms.items():
            terms[symbol] = terms.get(symbol, 0) + times * coefficient
        return Linear({s: c for s, c in terms.items() if c}, self.constant + times * other.constant)

    def scaled(self, times: int) -> Linear:
        """This multiplied by a number."""
        return Linear().plus(self, times)

    @property
    def indices(self) -> tuple[Index, ...]:
        """The indices it depends on, outermost first."""
        return tuple(sorted((s for s in self.terms if isinstance(s, Index)), key=lambda i: i.order))

    @property
    def is_known(self) -> bool:
        """Whether it depends on indices alone."""
        return all(isinstance(symbol, Index) for symbol in self.terms)

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest value, both included, for indices that all take at least one."""
        ends = [(0, c * (s.size - 1)) for s, c in self.terms.items() if isinstance(s, Index)]
        return self.constant + sum(map(min, ends)), self.constant + sum(map(max, ends))


@dataclass(frozen=True)
class Table:
    """The value for all values of `indices`, each on its axis."""

    indices: tuple[Index, ...]
    values: Array


Form = Linear | Table
Known = Form | None


def grid(indices: Sequence[Index]) -> list[Array]:
    """The values of each index, on its own axis."""
    rank = len(indices)
    return [np.arange(x.size).reshape([x.size if d == i else 1 for d in range(rank)]) for i, x in enumerate(indices)]


def tabulate(form: Form, indices: Sequence[Index]) -> Array:
    """The values of a known form over `indices`, which hold those of the form; axes it does not need have size 1."""
    if isinstance(form, Table):
        order = [form.indices.index(i) for i in indices if i in form.indices]
        shape = [i.size if i in form.indices else 1 for i in indices]
        return form.values.transpose(order).reshape(shape)
    axes = dict(zip(indices, grid(indices), strict=True))
    total = np.full([1] * len(indices), form.constant)
    for symbol, coefficient in form.terms.items():
        assert isinstance(symbol, Index)
        total = total + coefficient * axes[symbol]
    return total


def simplest(indices: Sequence[Index], values: Array) -> Form:
    """The form with these values: linear where they are, without the indices that they do not depend on."""
    shape = [i.size for i in indices]
    values = np.broadcast_to(values, shape)
    kept = [d for d in range(len(shape)) if shape[d] > 1 and (values != values.take([0], d)).any()]
    used = tuple(indices[d] for d in kept)
    values = values[tuple(slice(None) if d in kept else 0 for d in range(len(shape)))]
    if values.dtype != np.int64:
        return Table(used, values)
    origin = int(values[(0,) * len(used)])
    steps = [int(values[tuple(int(d == axis) for d in range(len(used)))]) - origin for axis in range(len(used))]
    linear = Linear({i: step for i, step in zip(used, steps, strict=True) if step}, origin)
    return linear if (tabulate(linear, used) == values).all() else Table(used, values)


class Forms:
    """The forms of values inside a body. `bound` has those of its arguments; `is_inside` tells what depends on them."""

    def __init__(self, weights: WeightStore, is_inside: Callable[[SSAValue], bool]):
        self.weights = weights
        self.bound: dict[SSAValue, Linear] = {}
        self._is_inside = is_inside
        self._known: dict[SSAValue, Known] = {}

    def of(self, value: SSAValue) -> Known:
        """The form of `value`, None where it depends on data."""
        if value in self.bound:
            return self.bound[value]
        if value not in self._known:
            self._known[value] = self._find(value)
        return self._known[value]

    def _find(self, value: SSAValue) -> Known:
        if not self._is_inside(value):
            array = constant_value(value, self.weights)
            if array is None:
                return Linear({value: 1})
            return Linear({}, int(array)) if array.dtype == np.int64 else Table((), array)
        op = value.owner
        if not isinstance(op, Operation) or op.name not in ELEMENTWISE:
            return None
        forms = [self.of(operand) for operand in op.operands]
        match op, forms:
            case hlo.AddOp(), [Linear() as a, Linear() as b]:
                return a.plus(b)
            case hlo.SubtractOp(), [Linear() as a, Linear() as b]:
                return a.plus(b, -1)
            case hlo.NegateOp(), [Linear() as a]:
                return a.scaled(-1)
            case (hlo.MultiplyOp(), [Linear() as a, Linear(constant=times) as b]) if not b.terms:
                return a.scaled(times)
            case (hlo.MultiplyOp(), [Linear(constant=times) as a, Linear() as b]) if not a.terms:
                return b.scaled(times)
            case _:
                return self._evaluate(op, forms)

    def _evaluate(self, op: Operation, forms: Sequence[Known]) -> Known:
        known = [f for f in forms if isinstance(f, Table) or (isinstance(f, Linear) and f.is_known)]
        if len(known) != len(forms):
            return None
        found = {i for form in known for i in form.indices}
        indices = tuple(sorted(found, key=lambda i: i.order))
        if prod(i.size for i in indices) > LARGEST_TABLE:
            return None
        interpreter = Interpreter(self.weights)
        interpreter.lifted = True
        with np.errstate(all="ignore"):
            [values] = interpreter.evaluate(op, [tabulate(form, indices) for form in known])
        return simplest(indices, values)
