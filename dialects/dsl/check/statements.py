"""Statements in order: definitions, assignments, returns; control flow is in `control.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from ..language import tree
from ..language.problems import Label
from . import annotations, control
from .dims import Poly
from .scope import Entry, Scope
from .types import TensorType, Type
from .values import AnyValue, TupleValue, Value, describe, unknown

if TYPE_CHECKING:
    from .elaborator import Elaborator

Outcome: TypeAlias = "AnyValue | None"
"""What was returned; None where the walk goes on."""

conditional = control.conditional


Rest: TypeAlias = "tuple[tuple[Sequence[tree.Statement], Scope], ...]"
"""What comes behind the blocks that a statement stands in, innermost first."""


def run(e: Elaborator, statements: Sequence[tree.Statement], scope: Scope, after: Rest = ()) -> Outcome:
    """Walks statements, then those of `after`: what is behind an `if` that may return belongs to its arms."""
    e.depth += 1
    try:
        for i, node in enumerate(statements):
            rest = statements[i + 1 :]
            if isinstance(node, tree.If):
                outcome, done = control.if_(e, node, scope, ((rest, scope), *after))
            else:
                outcome, done = statement(e, node, scope), isinstance(node, tree.Return)
            if done:
                if rest and isinstance(node, tree.Return):
                    e.warn("W903", "this is never reached: the function has returned", rest[0])
                return outcome
        if not after:
            return None
        (next_, outer), *more = after
        return run(e, next_, outer, tuple(more))
    finally:
        e.depth -= 1


def statement(e: Elaborator, node: tree.Statement, scope: Scope) -> Outcome:
    """Walks one statement that is not an `if`."""
    match node:
        case tree.Let():
            let(e, node, scope)
        case tree.Define():
            _index(e).define(e, node, scope)
        case tree.Update():
            _index(e).update(e, node, scope)
        case tree.Return():
            return return_(e, node, scope)
        case tree.For():
            control.for_(e, node, scope)
        case tree.While():
            control.while_(e, node, scope)
        case tree.If():
            control.if_(e, node, scope, (((), scope),))
        case tree.Expect():
            expect(e, node, scope)
        case tree.Hole():
            pass
    return None


def _index(e: Elaborator):
    from . import index

    return index


# Definitions -------------------------------------------------------------------------------------------------------


def let(e: Elaborator, node: tree.Let, scope: Scope) -> None:
    """`let y = e`, `var y = e`, `y = e`, `let a, b = e`."""
    variables = [_variable(node, target, scope) for target in node.targets]
    kind = None if node.type is None else e.type(node.type, scope)
    expected = kind
    if expected is None and len(variables) == 1 and variables[0] is not None:
        expected = variables[0].value.type if isinstance(variables[0].value, Value | TupleValue) else None
    value = e.expression(node.value, scope, expected)
    if len(node.targets) == 1:
        what = f"'{node.targets[0].text}'"
        if kind is not None:
            value = annotations.check(e, value, kind, node.value, what, node.type, keep_const=node.keyword == "let")
        put(e, node, node.targets[0], variables[0], value, scope)
        return
    items = _items(e, node, value)
    for target, variable, item in zip(node.targets, variables, items, strict=True):
        put(e, node, target, variable, item, scope)


def _variable(node: tree.Let, target: tree.Identifier, scope: Scope) -> Entry | None:
    entry = scope.find(target.text) if node.keyword == "" else None
    return entry if entry is not None and entry.kind == "var" else None


def _outer(name: str, scope: Scope) -> Entry | None:
    """A value of an outer block that an assignment seems to mean."""
    entry = None if name in scope.entries else scope.find(name)
    return entry if entry is not None and entry.kind in ("let", "parameter") and scope.nested else None


def _items(e: Elaborator, node: tree.Let, value: AnyValue) -> Sequence[AnyValue]:
    count = len(node.targets)
    if isinstance(value, TupleValue):
        if len(value.items) == count:
            return value.items
        message = f"{count} names for {len(value.items)} values"
        names = tree.Span(
            node.span.file,
            node.targets[0].span.start,
            node.targets[-1].span.end,
            node.targets[0].span.line,
            node.targets[0].span.column,
        )
        labels = (Label(names, f"{count} names"), Label(node.value.span, f"{len(value.items)} values"))
        e.error("E513", message, names, *labels)
    elif not (isinstance(value, Value) and value.unknown):
        e.error("E513", f"{count} names for one value: {describe(value)}", node.value)
    return [unknown(node.value)] * count


def put(
    e: Elaborator, node: tree.Node, target: tree.Identifier, variable: Entry | None, value: AnyValue, scope: Scope
) -> None:
    """Gives a name its value: assigns a `var`, else defines."""
    if not isinstance(value, Value | TupleValue):
        value = e.error("E105", f"only tensors and tuples have names, this is {describe(value)}", node)
    if variable is not None:
        assign(e, variable, value, target, scope)
    elif isinstance(node, tree.Let) and not node.keyword and (outer := _outer(target.text, scope)) is not None:
        labels = (Label(outer.where.span, "defined here, by let"),) if outer.where is not None else ()
        hint = f"`var {outer.name} = …` can be assigned, `let {outer.name} = …` makes a new one for this block"
        message = f"'{outer.name}' is not a var, so this block cannot change it"
        e.error("E106", message, target, Label(target.span, "assigned here"), *labels, hint=hint)
    elif isinstance(node, tree.Let) and node.keyword == "var":
        scope.define(target, settled(e, value), "var")
    else:
        scope.define(target, value, "let")
    if not e.emits:
        e.types[target] = value


def settled(e: Elaborator, value: AnyValue) -> AnyValue:
    """A value that changes at run time: numbers get dtypes of their own, nothing of it is known when compiling."""
    if isinstance(value, TupleValue):
        return TupleValue(tuple(settled(e, item) for item in value.items), value.node)
    if isinstance(value, Value):
        value = e.settle(value)
        return Value(value.type, value.ssa, node=value.node)
    return value


def assign(e: Elaborator, entry: Entry, value: AnyValue, target: tree.Identifier, scope: Scope) -> None:
    """`y = e` of a `var`: its type stays."""
    if entry.where is not None:
        e.definitions[target] = entry.where
    old = entry.value
    if isinstance(old, Value) and old.unknown:
        entry.value = settled(e, value)
        return
    kind: Type = old.type if isinstance(old, Value | TupleValue) else TensorType("i64")
    node = value.node if isinstance(value, Value | TupleValue) and value.node is not None else target
    if not _same_form(e, value, kind):
        if isinstance(value, Value) and value.unknown:
            return
        labels = [Label(target.span, f"is {describe(value)} here")]
        if entry.where is not None:
            labels.append(Label(entry.where.span, f"is {kind}"))
        hint = f"`let {entry.name} = …` makes another value of this name"
        if isinstance(value, Value) and isinstance(kind, TensorType) and value.type.shape == kind.shape:
            hint = f"cast it: {kind.dtype}(…), or define it with its type: var {entry.name}: {value.type}"
        e.error("E603", f"'{entry.name}' keeps its type: {kind}, not {describe(value)}", target, *labels, hint=hint)
        return
    checked = annotations.check(e, value, kind, node, f"'{entry.name}'")
    if not (isinstance(checked, Value) and checked.unknown):
        entry.value = settled(e, checked)


def _same_form(e: Elaborator, value: AnyValue, kind: Type) -> bool:
    if isinstance(kind, TensorType):
        from .promotion import takes

        return (
            isinstance(value, Value)
            and not value.unknown
            and annotations.fits(e, value.type.shape, kind.shape)
            and (takes(value, kind.dtype) if value.weak else value.type.dtype == kind.dtype)
        )
    return isinstance(value, TupleValue)


# Returns and tests -------------------------------------------------------------------------------------------------


def return_(e: Elaborator, node: tree.Return, scope: Scope) -> AnyValue:
    """The value of a function, of the type declared for it."""
    frame = e.frames[-1]
    if frame.expectations is not None:
        return e.error("E607", "a test returns nothing", node, hint="expect a == b")
    if frame.loops:
        e.expression(node.value, scope)
        hint = "set a var in the loop and return it behind"
        return e.error("E602", "a function cannot return from inside a loop", node, hint=hint)
    value = e.expression(node.value, scope, frame.result)
    if not isinstance(value, Value | TupleValue):
        return e.error("E105", f"a function returns tensors, this is {describe(value)}", node.value)
    if frame.result is not None:
        return annotations.check(e, value, frame.result, node.value, "the result", frame.declared)
    return _settled_result(e, value)


def _settled_result(e: Elaborator, value: AnyValue) -> AnyValue:
    if isinstance(value, TupleValue):
        return TupleValue(tuple(_settled_result(e, item) for item in value.items), value.node)
    return e.settle(value) if isinstance(value, Value) else value


def expect(e: Elaborator, node: tree.Expect, scope: Scope) -> None:
    """`expect a == b`: both sides in one shape and dtype, kept for the test's module."""
    frame = e.frames[-1]
    left = e.tensor(node.left, scope)
    within = 1e-6
    right: Value | None = None
    if node.right is not None:
        right = e.tensor(node.right, scope)
        left, right = e.broadcast_together((left, right), node)
    elif not left.unknown and left.type.dtype != "bool":
        left = e.error("E206", f"expected a condition, got {left.type}", node.left, hint="expect a == b")
    left = e.settle(left)
    if node.within is not None:
        tolerance = e.tensor(node.within, scope)
        if isinstance(tolerance.const, int | float):
            within = float(tolerance.const)
        elif not tolerance.unknown:
            e.error("E507", "the tolerance must be known when compiling", node.within)
    if frame.expectations is None or frame.loops:
        e.error("E607", "expect stands in a test, outside of loops", node)
        return
    frame.expectations.append((node, left, right, within))


def assume(e: Elaborator, condition: tree.Expression, scope: Scope, holds: bool) -> None:
    """From here on a condition on dimensions holds (or does not)."""
    match condition:
        case tree.Unary(operator="not"):
            assume(e, condition.operand, scope, not holds)
        case tree.Binary(operator="and") if holds:
            assume(e, condition.left, scope, True)
            assume(e, condition.right, scope, True)
        case tree.Binary(operator="or") if not holds:
            assume(e, condition.left, scope, False)
            assume(e, condition.right, scope, False)
        case tree.Binary(operator="==" | "!="):
            if (condition.operator == "==") != holds:
                return
            left, right = e.expression(condition.left, scope), e.expression(condition.right, scope)
            if not isinstance(left, Value) or not isinstance(right, Value) or left.dim is None or right.dim is None:
                return
            if isinstance(left.dim, Poly) or isinstance(right.dim, Poly):
                e.facts.assume_equal(left.dim, right.dim)
        case _:
            pass
