"""What an expression is: a tensor, a tuple of values, a type, a text, or a function.

A value that is known when compiling has `const`: a number, or while a function is checked generically, a `Poly` of
the dimensions or `UNBOUND`. Numbers written out, dimensions and `const` parameters are *weak*: they take the dtype
of what they meet. A constant has no `ssa` until `Elaborator.settle` or `coerce` makes one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from ..language.tree import Model, Node
from .dims import Dim, Poly
from .types import UNKNOWN, TensorType, TupleType, Type, UnknownType

if TYPE_CHECKING:
    from .modules import Module
    from .signatures import Signature


class Unbound:
    """The value of a `const` parameter while its function is checked generically."""

    def __str__(self) -> str:
        return "a const"


UNBOUND = Unbound()
Const: TypeAlias = "int | float | bool | Poly | Unbound | np.ndarray[Any, Any]"


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor, a scalar being one of rank 0. `type` may be `UNKNOWN`, and so is that of an erroneous expression.

    `range` is the first value and the one behind the last of a scalar that counts: an index or a loop's counter.
    """

    type: Any  # TensorType | UnknownType: the latter only where `is_unknown`, which callers test first
    ssa: SSAValue | None = None
    const: Const | None = None
    weak: bool = False
    node: Node | None = None
    range: tuple[Dim, Dim] | None = None

    @property
    def unknown(self) -> bool:
        """Whether it was wrong, or cannot be told yet."""
        return isinstance(self.type, UnknownType)

    @property
    def scalar(self) -> bool:
        """Whether it has rank 0."""
        return isinstance(self.type, TensorType) and not self.type.shape

    @property
    def dim(self) -> Dim | None:
        """The value as a dimension, if it is a whole number known when compiling."""
        if isinstance(self.const, bool) or not isinstance(self.const, int | Poly):
            return None
        return self.const

    def at(self, node: Node) -> Value:
        """The same value as written at another place."""
        return Value(self.type, self.ssa, self.const, self.weak, node, self.range)


@dataclass(frozen=True, eq=False)
class TupleValue:
    """Several values."""

    items: tuple[AnyValue, ...]
    node: Node | None = None

    @property
    def type(self) -> Type:
        """The types of the items; unknown if one of them is no value."""
        kinds = [item.type for item in self.items if isinstance(item, Value | TupleValue)]
        return TupleType(tuple(kinds)) if len(kinds) == len(self.items) else UNKNOWN


@dataclass(frozen=True, eq=False)
class TypeValue:
    """A type where a value could be: the argument of `zeros(f32[M, N])`, or the function of a cast, `f32(x)`."""

    type: TensorType
    node: Node | None = None


@dataclass(frozen=True, eq=False)
class StringValue:
    """A text."""

    text: str
    node: Node | None = None


@dataclass(frozen=True, eq=False)
class FunctionValue:
    """A function by its name: its overloads, or `builtin` where it is built in."""

    name: str
    overloads: tuple[Signature, ...] = ()
    builtin: bool = False
    model: tuple[Model, Module] | None = None
    node: Node | None = None


AnyValue: TypeAlias = Value | TupleValue | TypeValue | StringValue | FunctionValue


def unknown(node: Node | None = None) -> Value:
    """A value nothing is known of: fits everywhere, causes no further errors."""
    return Value(UNKNOWN, node=node)


def describe(value: AnyValue) -> str:
    """What a value is, for messages."""
    match value:
        case Value() if value.weak and isinstance(value.const, np.ndarray):
            return f"a written tensor of shape {list(value.const.shape)}"
        case Value() if value.weak and not isinstance(value.const, Unbound):
            return f"the number {value.const}"
        case Value():
            return str(value.type)
        case TupleValue():
            return f"a tuple of {len(value.items)} values"
        case TypeValue():
            return f"the type {value.type}"
        case StringValue():
            return "a text"
        case FunctionValue():
            return f"the function '{value.name}'"
