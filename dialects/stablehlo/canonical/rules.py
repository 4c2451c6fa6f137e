"""The table of simplifications of the hub, and what a rule has in hand.

A rule sees one op and gives the values that replace its results, or None when it does not apply. It inserts ops
through the builder, and only when it then succeeds:

    @simplifies(TransposeOp)
    def transpose_of_nothing(op: TransposeOp, b: Builder) -> Replacement:
        return op.operand if is_identity(ints(op.permutation)) else None
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ....compiler.rewriting import Pattern
from ....compiler.weights import Array, WeightStore, is_splat_view
from .. import BroadcastInDimOp, ReshapeOp, SliceOp, TransposeOp
from ..constants import constant_value, make_constant
from ..quant import quantized_values

OpT = TypeVar("OpT", bound=Operation)
Replacement = SSAValue | Sequence[SSAValue] | None
Rule = Callable[[Any, "Builder"], Replacement]

SMALL = 64  # elements that may be looked at, or computed, without asking


class RuleTable:
    """Rules by op class; `patterns` gives them to a `GreedyRewriter`."""

    def __init__(self) -> None:
        self._rules: dict[type[Operation], list[Rule]] = {}

    def __call__(self, *ops: type[Operation]) -> Callable[[Rule], Rule]:
        """Registers the decorated rule for each of `ops`, after the rules they have."""

        def register(rule: Rule) -> Rule:
            for op in ops:
                self._rules.setdefault(op, []).append(rule)
            return rule

        return register

    def patterns(self, weights: WeightStore) -> Callable[[type[Operation]], tuple[Pattern, ...]]:
        """The rules as patterns that read and add constants in `weights`."""

        def pattern(rule: Rule) -> Pattern:
            def match(op: Operation, rewriter: PatternRewriter) -> None:
                if quantized_values(op):
                    return  # what holds of numbers does not hold of the integers that stand for them
                new = rule(op, Builder(rewriter, weights))
                if new is not None:
                    rewriter.replace(op, (), [new] if isinstance(new, SSAValue) else list(new))

            return match

        return lambda op_type: tuple(pattern(rule) for rule in self._rules.get(op_type, ()))


simplifies = RuleTable()


class Builder:
    """Inserts ops before the one a rule looks at, and reads and makes constants."""

    def __init__(self, rewriter: PatternRewriter, weights: WeightStore):
        self.rewriter = rewriter
        self.weights = weights

    def __call__(self, op: OpT) -> OpT:
        """Inserts `op` and returns it."""
        return self.rewriter.insert(op)

    def value(self, op: Operation) -> SSAValue:
        """Inserts `op` and returns its only result."""
        return self(op).results[0]

    def constant_of(self, value: SSAValue) -> Array | None:
        """The elements of `value` if it is a constant; do not write to them."""
        return constant_value(value, self.weights)

    def splat_of(self, value: SSAValue) -> Any:
        """The one element that `value` repeats, as a NumPy scalar, if it is known."""
        owner = value.owner
        while isinstance(owner, BroadcastInDimOp | ReshapeOp | TransposeOp):
            owner = owner.operand.owner
        if not isinstance(owner, Operation):
            return None
        array = constant_value(owner, self.weights)
        if array is None or array.size == 0:
            return None
        first = array[(0,) * array.ndim]
        if is_splat_view(array):
            return first
        return first if array.size <= SMALL and bool((array == first).all()) else None

    def constant(self, array: Array, name: str = "folded") -> SSAValue:
        """A constant with the elements of `array`."""
        return self.value(make_constant(np.asarray(array), self.weights, name))

    def splat(self, element: Any, type_: TensorType) -> SSAValue:
        """`element` (a NumPy scalar of the type's dtype) in every place of a tensor of `type_`."""
        scalar = self.constant(np.asarray(element))
        shape = type_.get_shape()
        return self.broadcast(scalar, shape, ()) if shape else scalar

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """`value` in `shape`, itself where it has it."""
        return value if shape_of(value) == tuple(shape) else self.value(ReshapeOp(value, shape))

    def transpose(self, value: SSAValue, permutation: Sequence[int]) -> SSAValue:
        """`value` transposed, itself where the permutation does nothing."""
        if is_identity(permutation):
            return value
        return self.value(TransposeOp(value, permutation=list(permutation)))

    def slice(self, value: SSAValue, start: Sequence[int], limit: Sequence[int], step: Sequence[int]) -> SSAValue:
        """Every `step`-th element from `start` up to `limit` along each dimension, `value` itself where that is all."""
        if not any(start) and tuple(limit) == shape_of(value) and all(n == 1 for n in step):
            return value
        return self.value(SliceOp(value, start_indices=list(start), limit_indices=list(limit), strides=list(step)))

    def broadcast(self, value: SSAValue, shape: Sequence[int], dims: Sequence[int]) -> SSAValue:
        """`value` repeated to `shape`, itself where that does nothing."""
        if shape_of(value) == tuple(shape) and is_identity(dims):
            return value
        return self.value(BroadcastInDimOp(value, shape=list(shape), broadcast_dimensions=list(dims)))

    def like(self, op: Operation, operands: Sequence[SSAValue], shape: Sequence[int]) -> SSAValue:
        """An elementwise op as `op`, on other operands, with a result of another shape."""
        kind = TensorType(element_type(op.results[0]), shape)
        new = type(op).create(
            operands=operands,
            result_types=[kind],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
        )
        return self.value(new)


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The shape of a tensor value."""
    return cast("TensorType[Attribute]", value.type).get_shape()


def element_type(value: SSAValue) -> Attribute:
    """The element type of a tensor value."""
    return cast("TensorType[Attribute]", value.type).element_type


def tensor_type(value: SSAValue) -> TensorType[Attribute]:
    """The type of a tensor value."""
    return cast("TensorType[Attribute]", value.type)


def defining(value: SSAValue, op_type: type[OpT]) -> OpT | None:
    """The op that makes `value`, if it is an `op_type`."""
    return value.owner if isinstance(value.owner, op_type) else None


def is_identity(permutation: Sequence[int]) -> bool:
    """Whether `permutation` is 0, 1, 2, ..."""
    return all(i == p for i, p in enumerate(permutation))


def inverse(permutation: Sequence[int]) -> tuple[int, ...]:
    """The permutation that undoes this one.

    >>> inverse((2, 0, 1))
    (1, 2, 0)
    """
    result = [0] * len(permutation)
    for i, p in enumerate(permutation):
        result[p] = i
    return tuple(result)


def compact(array: Array) -> Array:
    """`array` without repeated elements along zero-stride dimensions (size 1 there): broadcasts back to it."""
    return array[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in array.strides)]
