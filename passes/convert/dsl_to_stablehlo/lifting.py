"""From a body on scalars to ops on tensors: every value gets an axis for each index that it depends on, and no other.

`x[i, k]` is lifted to `x` itself, with the axes (i, k); `x[i, k] * w[k, j]` would have the axes (i, k, j). Lifting goes
from what is yielded to what it needs, so that a sum can look at its body before anything of it is made.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....compiler.diagnostics import LaminaError
from ....compiler.dtypes import dtype_of
from ....compiler.weights import Array
from ....dialects import stablehlo as hlo
from ....dialects.dsl import ComprehensionOp, IndexedOp
from ....dialects.stablehlo.semantics.regions import ELEMENTWISE
from .builder import Builder, element_of, shape_of
from .forms import Form, Forms, Index, Linear, Table, simplest, tabulate


@dataclass(frozen=True)
class Lifted:
    """A scalar for each value of some indices: dimension d of the tensor is the index `axes[d]`."""

    value: SSAValue
    axes: tuple[Index, ...] = ()

    @property
    def element(self) -> Attribute:
        """The type of the scalar."""
        return element_of(self.value)


def union(axes: Iterable[Sequence[Index]]) -> tuple[Index, ...]:
    """All of the axes. Where one of the given has them all, as it orders them, else the outermost first."""
    given = [tuple(each) for each in axes]
    every = {index for each in given for index in each}
    for each in given:
        if len(each) == len(every):
            return each
    return tuple(sorted(every, key=lambda index: index.order))


Rule = Callable[["Lifter", Any], Sequence[Lifted]]
_RULES: dict[type[Operation], Rule] = {}


def lifts(*ops: type[Operation]) -> Callable[[Rule], Rule]:
    """Declares the decorated function as what gives the lifted results of `ops`."""

    def register(rule: Rule) -> Rule:
        _RULES.update(dict.fromkeys(ops, rule))
        return rule

    return register


@dataclass(frozen=True)
class Window:
    """`place` and `tap` that occur only together, as `stride * place + step * tap`; `index` stands for that sum.

    `index` counts from `low`, the least value of the sum.
    """

    place: Index
    tap: Index
    stride: int
    step: int
    index: Index
    low: int

    def rewritten(self, form: Form | None) -> Form | None:
        """`form` with the sum as one index, where it has it."""
        if isinstance(form, Table):
            found = self._along(form)
            return form if found is None else simplest((self.index,), found)
        if form is None or form.terms.get(self.place) != self.stride or form.terms.get(self.tap) != self.step:
            return form
        rest = {symbol: c for symbol, c in form.terms.items() if symbol not in (self.place, self.tap)}
        return Linear({**rest, self.index: 1}, form.constant + self.low)

    def _along(self, form: Table) -> Array | None:
        """The numbers of a table of place and tap by their sum; None where they are not a function of that."""
        pair = (self.place, self.tap)
        if set(form.indices) != set(pair):
            return None
        sums = tabulate(Linear({self.place: self.stride, self.tap: self.step}), pair) - self.low
        values = tabulate(form, pair)
        found = np.zeros(self.index.size, values.dtype)
        found[sums] = values
        return found if (found[sums] == values).all() else None


class Lifter:
    """Lifts what is inside one op of index notation; `b` is where the ops made go."""

    def __init__(self, root: Operation, b: Builder):
        self.root = root
        self.b = b
        self.forms = Forms(b.weights, self.is_inside)
        self.lifted: dict[SSAValue, Lifted] = {}
        self.mask: Lifted | None = None  # the elements that matter; None for all
        self._inside: dict[SSAValue, bool] = {}
        self._depends: dict[SSAValue, frozenset[Index]] = {}
        self._bound: dict[IndexedOp, tuple[Index, ...]] = {}
        self._windows: tuple[Window, ...] = ()
        self._numbers = count(1)

    def fork(self, *, bound: Mapping[SSAValue, Linear] | None = None, windows: Sequence[Window] = ()) -> Lifter:
        """A lifter for the same body to which some indices are made of others, or windows are indices of their own."""
        other = Lifter(self.root, self.b)
        other.forms.bound = {**self.forms.bound, **(bound or {})}
        other.mask, other._bound, other._numbers = self.mask, dict(self._bound), self._numbers
        other._windows = (*self._windows, *windows)
        return other

    # indices

    def bind(self, op: IndexedOp) -> tuple[Index, ...]:
        """The indices of `op`, made at the first question."""
        if op not in self._bound:
            self._bound[op] = tuple(self.index(size) for size in op.sizes)
            for argument, index in zip(op.indices, self._bound[op], strict=True):
                self.forms.bound.setdefault(argument, Linear({index: 1}))
        return self._bound[op]

    def index(self, size: int) -> Index:
        """A new index, further inside than those there are."""
        return Index(size, next(self._numbers))

    def is_inside(self, value: SSAValue) -> bool:
        """Whether `value` is made inside the op that is lifted."""
        if value not in self._inside:
            block = value.owner if isinstance(value.owner, Block) else value.owner.parent
            parent = None if block is None else block.parent_op()
            self._inside[value] = parent is not None and self.root.is_ancestor(parent)
        return self._inside[value]

    def form(self, value: SSAValue) -> Form | None:
        """What `value` is as a function of the indices, if it does not depend on data."""
        form = self.forms.of(value)
        for window in self._windows if form is not None else ():
            form = window.rewritten(form)
        return form

    def depends(self, value: SSAValue) -> frozenset[Index]:
        """The indices that `value` may depend on."""
        if value in self.forms.bound:
            return frozenset(self.forms.bound[value].indices)
        if value not in self._depends:
            self._depends[value] = frozenset()
            if value in self.lifted:
                self._depends[value] = frozenset(self.lifted[value].axes)
            elif self.is_inside(value) and isinstance(value.owner, Operation):
                self._depends[value] = self.read_by(value.owner)
        return self._depends[value]

    def read_by(self, op: Operation) -> frozenset[Index]:
        """The indices that what `op` reads, operands and values captured by its regions, may depend on."""
        found: set[Index] = set()
        for inner in op.walk():
            for operand in inner.operands:
                block = operand.owner if isinstance(operand.owner, Block) else operand.owner.parent
                if block is None or not op.is_ancestor(block):
                    found |= self.depends(operand)
        return frozenset(found)

    # values

    def lift(self, value: SSAValue) -> Lifted:
        """`value` for all indices at once."""
        if value not in self.lifted:
            if value in self.forms.bound:
                self.lifted[value] = self.linear(self.forms.bound[value])
            elif not self.is_inside(value):
                self.lifted[value] = Lifted(value)
            else:
                assert isinstance(value.owner, Operation), "arguments of regions are bound before their use"
                self.lifted.update(zip(value.owner.results, self.lift_op(value.owner), strict=True))
        return self.lifted[value]

    def lift_op(self, op: Operation) -> Sequence[Lifted]:
        """The results of `op` for all indices at once, made anew."""
        rule = _RULES.get(type(op))
        with self.b.at(op.location):
            if rule is not None:
                return rule(self, op)
            if op.name in ELEMENTWISE or op.dialect_name() == "chlo":
                return [self._elementwise(op)]
        raise LaminaError(f"'{op.name}' cannot be applied for each index", where=op)

    def _elementwise(self, op: Operation) -> Lifted:
        operands = [self.lift(operand) for operand in op.operands]
        [result] = op.results
        if not isinstance(result.type, TensorType) or result.type.get_num_dims():
            raise LaminaError(
                f"'{op.name}' gives {result.type} for each index",
                where=op,
                hint="what depends on an index is a scalar",
            )
        axes = union(operand.axes for operand in operands)
        shape = [index.size for index in axes]
        made = type(op).create(
            operands=[self.expand(operand, axes) for operand in operands],
            result_types=[TensorType(result.type.element_type, shape)],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
        )
        value = self.b(made)
        value.name_hint = result.name_hint
        return Lifted(value, axes)

    def comprehension(self, op: ComprehensionOp) -> Lifted:
        """The elements of `op`, with its own indices as the last axes."""
        own = self.bind(op)
        if 0 in op.sizes:
            return Lifted(self.b.constant(np.zeros(op.sizes, dtype_of(op.result.type))), own)
        body = self.lift(op.yielded[0])
        around = [index for index in body.axes if index not in own]
        axes = (*around, *own)
        return Lifted(self.expand(body, axes), axes)

    @contextmanager
    def scope(self) -> Generator[None]:
        """What is lifted inside, which may be made in a region, is not known afterwards."""
        before, self.lifted = self.lifted, dict(self.lifted)
        yield
        self.lifted = before

    # axes

    def expand(self, lifted: Lifted, axes: Sequence[Index]) -> SSAValue:
        """The tensor with exactly these axes in this order; they hold all that `lifted` has."""
        order = sorted(range(len(lifted.axes)), key=lambda d: axes.index(lifted.axes[d]))
        value = self.b.transpose(lifted.value, order)
        sizes, dims = [index.size for index in axes], [axes.index(lifted.axes[d]) for d in order]
        if lifted.axes and prod(sizes) == prod(shape_of(value)):
            return self.b.reshape(value, sizes)
        return self.b.broadcast(value, sizes, dims)

    def linear(self, form: Linear) -> Lifted:
        """The numbers of a linear form."""
        total: Lifted | None = None
        for symbol, coefficient in form.terms.items():
            term = Lifted(self.b.iota(symbol.size), (symbol,)) if isinstance(symbol, Index) else Lifted(symbol)
            if coefficient != 1:
                term = self.binary(hlo.MultiplyOp, term, self.number(coefficient))
            total = term if total is None else self.binary(hlo.AddOp, total, term)
        if total is None:
            return self.number(form.constant)
        return self.binary(hlo.AddOp, total, self.number(form.constant)) if form.constant else total

    def number(self, value: int) -> Lifted:
        """A constant of type i64."""
        return Lifted(self.b.constant(np.int64(value)))

    def binary(self, op: type[hlo.BinaryOp], left: Lifted, right: Lifted) -> Lifted:
        """A hub op on two lifted values."""
        axes = union((left.axes, right.axes))
        return Lifted(self.b(op(self.expand(left, axes), self.expand(right, axes))), axes)

    def compare(self, left: Lifted, right: Lifted, direction: str) -> Lifted:
        """A comparison of two lifted values."""
        axes = union((left.axes, right.axes))
        compared = hlo.CompareOp(self.expand(left, axes), self.expand(right, axes), comparison_direction=direction)
        return Lifted(self.b(compared), axes)

    def select(self, predicate: Lifted, on_true: Lifted, on_false: Lifted) -> Lifted:
        """A choice between two lifted values."""
        axes = union((on_true.axes, predicate.axes, on_false.axes))
        operands = [self.expand(each, axes) for each in (predicate, on_true, on_false)]
        return Lifted(self.b.select(*operands), axes)
