"""Reads the arguments of a call: which parameter each is for, and what its annotation says it must be."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from ...language import tree
from ..dims import Dim, Poly
from ..types import TensorType
from ..values import FunctionValue, StringValue, TupleValue, TypeValue, Unbound, Value, describe
from .builder import Builder
from .failure import Failure, Undetermined
from .table import Builtin

Read = Callable[["Reader", tree.Expression], Any]


class Reader:
    """The arguments of one call of a built-in function."""

    def __init__(self, b: Builder, scope: Any):
        self.b = b
        self.scope = scope
        self.unknown = False  # an argument is of unknown type: so is the result
        self.undetermined = False  # an argument is a const that is not bound yet

    def bind(self, function: Builtin, arguments: Sequence[tree.Argument]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of the meaning, by position and by name."""
        given, rest, extra = assign(self.b, function.parameters, arguments)
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for parameter in function.parameters:
            read = self._reading(parameter)
            match parameter.kind:
                case inspect.Parameter.VAR_POSITIONAL:
                    positional += [read(self, node) for node in rest]
                case inspect.Parameter.VAR_KEYWORD:
                    named |= {name: read(self, node) for name, node in extra.items()}
                case _ if parameter.name in given:
                    self.b.places[parameter.name] = given[parameter.name]
                    named[parameter.name] = read(self, given[parameter.name])
                case _:
                    pass
        self.b.places |= extra
        return positional, named

    def _reading(self, parameter: inspect.Parameter) -> Read:
        annotation = str(parameter.annotation).removesuffix(" | None")
        return READINGS[annotation]

    # kinds of arguments

    def value(self, node: tree.Expression) -> Value:
        """A tensor."""
        value = self.b.elaborator.expression(node, self.scope)
        if isinstance(value, Value):
            if value.unknown:
                self.unknown = True
            return value
        raise self._wrong("a tensor", value, node)

    def values(self, node: tree.Expression) -> list[Value]:
        """A list of tensors: `[a, b]`, or a tuple's items."""
        if isinstance(node, tree.Array | tree.Tuple):
            found = [self.value(item) for item in node.items]
        else:
            value = self.b.elaborator.expression(node, self.scope)
            if isinstance(value, TupleValue):
                found = [self.tensor(item, node) for item in value.items]
            elif isinstance(value, Value):
                raise Failure("E553", f"{self.b.name} takes a list of tensors", node, "in brackets: [a, b]")
            else:
                raise self._wrong("a list of tensors", value, node)
        if not found:
            raise Failure("E553", f"{self.b.name} takes at least one tensor", node)
        return found

    def tensor(self, value: Any, node: tree.Expression) -> Value:
        """A value that must be a tensor."""
        if not isinstance(value, Value):
            raise self._wrong("a tensor", value, node)
        self.unknown |= value.unknown
        return value

    def number(self, node: tree.Expression) -> int | float | bool:
        """A number known when compiling."""
        value = self.value(node)
        if isinstance(value.const, int | float):
            return value.const
        if value.unknown or isinstance(value.const, Poly | Unbound):
            self.undetermined = True
            return 0
        raise Failure("E554", "this must be known when compiling", node, "a number, a dimension or a const")

    def integer(self, node: tree.Expression) -> int:
        """A whole number known when compiling."""
        number = self.number(node)
        if isinstance(number, bool) or not isinstance(number, int):
            raise Failure("E553", f"expected a whole number, got {_shown(number)}", node)
        return number

    def boolean(self, node: tree.Expression) -> bool:
        """true or false, known when compiling."""
        number = self.number(node)
        if self.undetermined or self.unknown:
            return False
        if not isinstance(number, bool):
            raise Failure("E553", f"expected true or false, got {_shown(number)}", node)
        return number

    def string(self, node: tree.Expression) -> str:
        """Text in quotes."""
        if not isinstance(node, tree.String):
            raise Failure("E553", "expected text in quotes", node)
        return node.value

    def integers(self, node: tree.Expression) -> tuple[int, ...]:
        """Whole numbers in brackets, or one alone."""
        if isinstance(node, tree.Array):
            return tuple(self.integer(item) for item in node.items)
        return (self.integer(node),)

    def axes(self, node: tree.Expression) -> int | tuple[int, ...]:
        """One axis or several in brackets."""
        if isinstance(node, tree.Array | tree.Tuple):
            return tuple(self.integer(item) for item in node.items)
        return self.integer(node)

    def dim(self, node: tree.Expression) -> Dim:
        """A dimension: a whole number known when compiling, or an expression of symbols."""
        value = self.value(node)
        if value.dim is not None:
            return value.dim
        if value.unknown or isinstance(value.const, Unbound):
            self.undetermined = True
            return 0
        if value.const is None:
            raise Failure("E554", "this must be known when compiling", node, "a number, a dimension or a const")
        raise Failure("E553", f"expected a whole number, got {describe(value)}", node)

    def dims(self, node: tree.Expression) -> tuple[Any, ...]:
        """Dimensions in brackets, or those of a tensor type."""
        if isinstance(node, tree.Array | tree.Tuple):
            return tuple(self.dim(item) for item in node.items)
        value = self.b.elaborator.expression(node, self.scope)
        if isinstance(value, TypeValue):
            return tuple(value.type.shape)
        return (self.dim(node),)

    def pairs(self, node: tree.Expression) -> tuple[tuple[Dim, Dim], ...]:
        """`[[1, 1], [0, 2]]`, one pair `[1, 2]` for all, or one number for all."""
        if not isinstance(node, tree.Array):
            both = self.dim(node)
            return ((both, both),)
        if node.items and not any(isinstance(item, tree.Array) for item in node.items):
            if len(node.items) == 2:
                return ((self.dim(node.items[0]), self.dim(node.items[1])),)
            return tuple((amount, amount) for amount in map(self.dim, node.items))
        found: list[tuple[Dim, Dim]] = []
        for item in node.items:
            if not isinstance(item, tree.Array) or len(item.items) != 2:
                raise Failure("E553", "expected a pair of numbers", item, "as in [1, 1]")
            found.append((self.dim(item.items[0]), self.dim(item.items[1])))
        return tuple(found)

    def type(self, node: tree.Expression) -> TensorType:
        """A tensor type, `f32[M, N]`; `f32` alone is a scalar's."""
        value = self.b.elaborator.expression(node, self.scope)
        if isinstance(value, TypeValue):
            return value.type
        raise self._wrong("a type such as f32[2, 3]", value, node)

    def function(self, node: tree.Expression) -> FunctionValue:
        """A function's name."""
        value = self.b.elaborator.expression(node, self.scope)
        if isinstance(value, FunctionValue):
            return value
        raise self._wrong("a function's name", value, node)

    def _wrong(self, wanted: str, got: object, node: tree.Node) -> Exception:
        if isinstance(got, Value) and got.unknown:
            return Undetermined()  # it has been reported
        assert isinstance(got, Value | TupleValue | TypeValue | FunctionValue | StringValue)
        return Failure("E553", f"{self.b.name} takes {wanted} here, got {describe(got)}", node)


def _shown(number: object) -> str:
    return str(number).lower() if isinstance(number, bool) else str(number)


READINGS: Mapping[str, Read] = {
    "Value": Reader.value,
    "Values": Reader.values,
    "int": Reader.integer,
    "bool": Reader.boolean,
    "str": Reader.string,
    "Number": Reader.number,
    "Ints": Reader.integers,
    "Axes": Reader.axes,
    "Dim": Reader.dim,
    "Dims": Reader.dims,
    "Pairs": Reader.pairs,
    "Type": Reader.type,
    "Function": Reader.function,
}


def assign(
    b: Builder, parameters: Sequence[inspect.Parameter], arguments: Sequence[tree.Argument]
) -> tuple[dict[str, tree.Expression], list[tree.Expression], dict[str, tree.Expression]]:
    """Which argument is for which parameter; those for `*rest`; those for `**named`."""
    by_position = [p for p in parameters if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    names = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    takes_rest = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    takes_names = any(p.kind is p.VAR_KEYWORD for p in parameters)
    given: dict[str, tree.Expression] = {}
    rest: list[tree.Expression] = []
    extra: dict[str, tree.Expression] = {}
    for argument in arguments:
        if argument.name is None:
            position = len(given) + len(rest)
            if extra or any(a.name for a in arguments[: arguments.index(argument)]):
                raise Failure("E553", "arguments by position come before those by name", argument)
            if position < len(by_position):
                given[by_position[position].name] = argument.value
            elif takes_rest:
                rest.append(argument.value)
            else:
                most = len(by_position)
                raise Failure(
                    "E550",
                    f"{b.name} takes at most {most} argument{'s' * (most != 1)} by position",
                    argument,
                    _signature(b, parameters),
                )
            continue
        name = argument.name.text
        if name in given or name in extra:
            raise Failure("E552", f"'{name}' is given twice", argument.name)
        if name in names:
            given[name] = argument.value
        elif takes_names:
            extra[name] = argument.value
        else:
            close = get_close_matches(name, names, 1)
            hint = f"did you mean '{close[0]}'?" if close else _signature(b, parameters)
            raise Failure("E551", f"{b.name} has no parameter '{name}'", argument.name, hint)
    for p in parameters:
        if p.default is p.empty and p.name not in given and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            raise Failure("E550", f"{b.name} needs '{p.name}'", b.node, _signature(b, parameters))
    return given, rest, extra


def _signature(b: Builder, parameters: Sequence[inspect.Parameter]) -> str:
    return Builtin.show(b.name, parameters)
