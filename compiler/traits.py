"""Traits of op classes, asked once per class: xDSL searches the list at every question."""

from __future__ import annotations

from functools import cache
from typing import TypeVar

from xdsl.ir import Operation
from xdsl.traits import IsolatedFromAbove, OpTrait

TraitT = TypeVar("TraitT", bound=OpTrait)


@cache
def class_has(op_type: type[Operation], trait: type[OpTrait]) -> bool:
    """Whether ops of `op_type` have `trait`; unregistered ops have none.

    >>> from xdsl.dialects.arith import ConstantOp
    >>> from xdsl.traits import ConstantLike
    >>> class_has(ConstantOp, ConstantLike)
    True
    """
    return op_type.has_trait(trait, value_if_unregistered=False)


@cache
def class_traits(op_type: type[Operation], trait: type[TraitT]) -> tuple[TraitT, ...]:
    """The traits of `op_type` that are of the kind `trait`."""
    return tuple(op_type.get_traits_of_type(trait))


def has(op: Operation, trait: type[OpTrait]) -> bool:
    """Whether `op` has `trait`."""
    return class_has(type(op), trait)


@cache
def _class_might_have(op_type: type[Operation], trait: type[OpTrait]) -> bool:
    return op_type.has_trait(trait, value_if_unregistered=True)


def might_have(op: Operation, trait: type[OpTrait]) -> bool:
    """Whether `op` has `trait`, or is of a dialect nobody registered, so that it cannot be known."""
    return _class_might_have(type(op), trait)


_LOOPS = frozenset({"scf", "affine"})


def owns_its_values(op: Operation) -> bool:
    """Whether what is computed inside the regions of `op` should stay there and not be shared with what is around.

    True but for loops and branches: the body of a structured op or of a reduction is a function of its arguments,
    and passes that move such an op rely on its using nothing else.
    """
    return op.name.partition(".")[0] not in _LOOPS or has(op, IsolatedFromAbove)
