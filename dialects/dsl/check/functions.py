"""Functions: their bodies, checked once generically or walked once per instance; calls of them on values."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import FunctionType
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from ..language import tree
from ..language.problems import Label
from . import annotations, statements
from .dims import Dim, Extent, Pack, evaluate, symbol, symbols_of
from .facts import Facts
from .matching import Given, Match, Matcher, Mismatch, assign
from .scope import Scope
from .signatures import Bound, Instance, Signature, parts, scope_of
from .types import UNKNOWN, TensorType, TupleType, Type, ir_type, is_unknown
from .values import AnyValue, FunctionValue, TupleValue, Value, describe, unknown

if TYPE_CHECKING:
    from .elaborator import Elaborator

DEEPEST = 128
"""Instances of functions may call each other so deep: recursion ends when compiling."""


@dataclass(eq=False)
class Expectation:
    """One `expect` of a test: the two sides among the results of the test's module, the right one None for a condition.

    `within` is the tolerance of `~=`.
    """

    node: tree.Expect
    left: int
    right: int | None
    within: float


@dataclass(eq=False)
class Frame:
    """A body that is being walked. `result` is its declared type with all names bound; a test has `expectations`."""

    name: str
    result: Type | None
    declared: tree.Node | None
    expectations: list[tuple[tree.Expect, Value, Value | None, float]] | None = None
    loops: int = 0
    ways: int = 0  # `if`s met that return in one arm


# Checking ----------------------------------------------------------------------------------------------------------


def check_function(e: Elaborator, signature: Signature) -> None:
    """Checks a function for all dimensions and dtypes at once."""
    if signature.checked:
        return
    signature.checked = signature.walking = True
    facts, e.facts = e.facts, Facts()
    depth, e.depth = e.depth, 0
    try:
        bound = signature.generic()
        scope = scope_of(e, signature, bound)
        for constraint in signature.node.constraints:
            value = e.tensor(constraint, scope)
            _want_bool(e, value, constraint)
            if value.const is False:
                e.error("E311", "this can never hold", constraint)
            statements.assume(e, constraint, scope, True)
        for p in signature.parameters:
            if p.node.default is not None:
                check_default(e, signature, p.node, p.type, scope)
            if not p.const:
                scope.define(p.node.name, value_of(p.type, p.node.name), "parameter", used=True)
        signature.inferred = kind_of_result(walk(e, signature, scope, bound))
    finally:
        signature.walking = False
        e.facts, e.depth = facts, depth
    warn_unused(e, scope, _names_in_head(signature.node))


def _names_in_head(node: tree.Function) -> set[str]:
    """The names that the types and constraints of a function use."""
    heads: list[tree.Node] = [*(p.type for p in node.parameters), *node.constraints]
    if node.result is not None:
        heads.append(node.result)
    found: set[str] = set()
    for inner in (part for head in heads for part in head.walk()):
        match inner:
            case tree.Name() | tree.Pack():
                found.add(inner.text)
            case tree.TensorType():
                found.add(inner.dtype.text)
            case _:
                pass
    return found


def check_default(e: Elaborator, signature: Signature, p: tree.Parameter, kind: Type, scope: Scope) -> None:
    """The default of a parameter against its type."""
    assert p.default is not None
    value = e.expression(p.default, scope, kind)
    const = isinstance(p.type, tree.TensorType) and p.type.const
    if const and isinstance(value, Value) and not value.unknown and value.const is None:
        e.error("E507", f"'{p.name.text}' is a const: its default must be known when compiling", p.default)
    elif isinstance(kind, TensorType) and not kind.shape:
        annotations.check(e, value, kind, p.default, f"'{p.name.text}'", p.type, keep_const=True)


def warn_unused(e: Elaborator, scope: Scope, used: Container[str] = ()) -> None:
    """Warns about names that are defined and never used; `used` are generic names that something uses."""
    for entry in scope.log:
        if entry.used or entry.where is None or (entry.kind in ("dim", "pack", "type") and entry.name in used):
            continue
        if entry.kind in ("let", "var"):
            e.warn("W901", f"'{entry.name}' is never used", entry.where, f"leave it out, or call it _{entry.name}")
        elif entry.kind in ("dim", "pack", "type"):
            e.warn("W902", f"'{entry.name}' in brackets is never used", entry.where, "leave it out")


def _want_bool(e: Elaborator, value: Value, node: tree.Node) -> None:
    if not value.unknown and (value.type != TensorType("bool") or value.const is None):
        e.error("E305", "a constraint is a condition on dimensions and consts", node)


def walk(e: Elaborator, signature: Signature, scope: Scope, bound: Bound) -> AnyValue | None:
    """Walks the body of a function in a scope that has its parameters; gives what it returns."""
    node = signature.node
    kind = None if signature.result is None else bound.type(signature.result)
    e.frames.append(Frame(signature.name, kind, node.result))
    try:
        value = statements.run(e, node.body.statements, scope.child())
    finally:
        e.frames.pop()
    if value is None:
        return e.error("E510", f"'{signature.name}' does not return a value on every way", node.name)
    return value


def kind_of_result(value: AnyValue | None) -> Type:
    """The type of what was returned."""
    return value.type if isinstance(value, Value | TupleValue) else UNKNOWN


def value_of(kind: Type, node: tree.Node | None) -> Value | TupleValue:
    """A value of which the type is known."""
    if isinstance(kind, TupleType):
        return TupleValue(tuple(value_of(item, node) for item in kind.items), node)
    return Value(kind, node=node)


# Calls -------------------------------------------------------------------------------------------------------------


def call(
    e: Elaborator,
    signatures: Sequence[Signature],
    given: Sequence[Given],
    dims: Mapping[str, tuple[Dim, tree.Node]],
    node: tree.Node,
) -> AnyValue:
    """The call of the overload that the arguments fit."""
    match = select(e, signatures, given, dims, node)
    if match is None or match.uncertain or not complete(e, match, node):
        if match is not None and match.signature.result is not None:
            return _as_declared(match.signature.result, node)
        return unknown(node)
    if not constraints_hold(e, match, node):
        return unknown(node)
    bound = match.bound
    try:
        if e.failed:
            return _as_declared(match.signature.result or UNKNOWN, node)
        if e.builder is None:
            return value_of(bound.type(result_of(e, match.signature, node)), node)
        return emit_call(e, match, bound, node)
    except ZeroDivisionError:
        return e.error("E312", f"a dimension of '{match.signature.name}' divides by 0 here", node)


def _as_declared(kind: Type, node: tree.Node) -> Value | TupleValue:
    """After an error only this is known of the result: how many values it has."""
    if isinstance(kind, TupleType):
        return TupleValue(tuple(_as_declared(item, node) for item in kind.items), node)
    return unknown(node)


def select(
    e: Elaborator,
    signatures: Sequence[Signature],
    given: Sequence[Given],
    dims: Mapping[str, tuple[Dim, tree.Node]],
    node: tree.Node,
) -> Match | None:
    """The overload that the arguments fit: the first where numbers keep their dtypes, i64 or f32, else the first.

    None after an error.
    """
    failures: list[Mismatch] = []
    matches: list[Match] = []
    for signature in signatures:
        try:
            match = Match(signature, assign(signature, given, node))
            matches.append(Matcher(e, match, node).run(dims))
        except Mismatch as failure:
            failures.append(failure)
    if matches:
        return min(matches, key=_changed)
    if any(isinstance(g.value, Value) and g.value.unknown for g in given):
        return None
    if len(failures) == 1:
        found = failures[0]
        e.error(found.code, found.message, found.where, *found.labels, hint=found.hint)
        return None
    shown = ", ".join(describe(g.value) for g in given)
    hint = "there are\n" + "\n".join(str(s) for s in signatures)
    e.error("E505", f"no '{signatures[0].name}' takes ({shown})", node, hint=hint)
    return None


def _changed(match: Match) -> int:
    """How many numbers written out take a dtype that is not their own."""
    kinds = {p.name: p.type for p in match.signature.parameters}
    return sum(
        isinstance(value := given.value, Value)
        and value.weak
        and isinstance(kind := kinds[name], TensorType)
        and match.bound.dtype(kind.dtype) != value.type.dtype
        for name, given in match.arguments.items()
    )


def complete(e: Elaborator, match: Match, node: tree.Node) -> bool:
    """Whether every name is bound now."""
    own = match.signature
    for pack in own.packs:
        match.packs.setdefault(pack, ())
    for name in own.dims:
        if name not in match.dims:
            hint = f"give it: {own.name}[{name}=…](…)"
            e.error("E305", f"{name} of '{own.name}' does not follow from the arguments", node, hint=hint)
            return False
    for name in own.variables:
        if name not in match.dtypes:
            e.error("E305", f"the dtype {name} of '{own.name}' does not follow from the arguments", node)
            return False
    return True


def constraints_hold(e: Elaborator, match: Match, node: tree.Node) -> bool:
    """Reports the first constraint that what is bound breaks; that no dimension is negative is one too."""
    own = match.signature
    if not _sizes_hold(e, match, node):
        return False
    if not own.node.constraints:
        return True
    scope = scope_of(e, own, match.bound)
    for constraint in own.node.constraints:
        value = e.tensor(constraint, scope)
        if value.const is False:
            names = {n.text for n in constraint.walk() if isinstance(n, tree.Name)}
            told = ", ".join(f"{n} = {v}" for n, v in sorted(match.dims.items()) if n in names)
            labels = [Label(node.span, told or "broken here"), Label(constraint.span, "required here")]
            e.error("E311", f"'{own.name}' has a constraint that does not hold: {told}", node, *labels)
            return False
    return True


def _sizes_hold(e: Elaborator, match: Match, node: tree.Node) -> bool:
    """Whether no dimension in the head of a function becomes negative."""
    own, bound = match.signature, match.bound
    heads = [p.type for p in own.parameters] + ([own.result] if own.result is not None else [])
    sizes: list[Extent] = [*(symbol(name) for name in own.dims)]
    while heads:
        kind = heads.pop()
        if isinstance(kind, TupleType):
            heads += kind.items
        elif isinstance(kind, TensorType):
            sizes += kind.shape
    for size in sizes:
        if isinstance(size, Pack):
            continue
        try:
            value = evaluate(size, bound.dims)
        except ZeroDivisionError:
            continue  # reported where the type is made
        if isinstance(value, int) and value < 0:
            names = sorted(str(name) for name in symbols_of(size) if str(name) in match.dims)
            told = ", ".join(f"{name} = {match.dims[name]}" for name in names)
            message = f"a dimension of '{own.name}' would be negative: {size} is {value}"
            e.error("E303", message, node, Label(node.span, told))
            return False
    return True


def result_of(e: Elaborator, signature: Signature, node: tree.Node) -> Type:
    """The type of the result in the function's symbols, from its head or from its body."""
    if signature.result is not None:
        return signature.result
    if signature.walking:
        hint = "declare what it gives: -> type"
        e.error("E508", f"'{signature.name}' calls itself, so its result must be declared", node, hint=hint)
        return UNKNOWN
    check_function(e, signature)
    return UNKNOWN if signature.inferred is None else signature.inferred


def apply(e: Elaborator, function: FunctionValue, values: Sequence[AnyValue], node: tree.Node) -> AnyValue:
    """See `Elaborator.apply`."""
    if not function.overloads:
        hint = f"write a function that calls it: fn f(x: …) = {function.name}(x)"
        return e.error("E506", f"'{function.name}' is not a function of the program", function.node or node, hint=hint)
    return call(e, function.overloads, [Given(v, function.node or node) for v in values], {}, node)


def symbol_of(e: Elaborator, function: FunctionValue, values: Sequence[AnyValue], node: tree.Node) -> str:
    """See `Elaborator.symbol_of`."""
    match = select(e, function.overloads, [Given(v, function.node or node) for v in values], {}, node)
    if match is None or not complete(e, match, node) or not constraints_hold(e, match, node):
        return ""
    return instance(e, match.signature, match.bound, node).symbol


# Instances ---------------------------------------------------------------------------------------------------------


def flatten(value: AnyValue) -> list[Value]:
    """The tensors that a value consists of, in order."""
    if isinstance(value, TupleValue):
        return [part for item in value.items for part in flatten(item)]
    assert isinstance(value, Value)
    return [value]


def unflatten(kind: Type, values: Sequence[SSAValue], node: tree.Node | None) -> Value | TupleValue:
    """A value of this type from its tensors."""
    rest = iter(values)

    def build(part: Type) -> Value | TupleValue:
        if isinstance(part, TupleType):
            return TupleValue(tuple(build(item) for item in part.items), node)
        return Value(part, next(rest), node=node)

    return build(kind)


def emit_call(e: Elaborator, match: Match, bound: Bound, node: tree.Node) -> AnyValue:
    """The call of the instance for what is bound."""
    own = match.signature
    operands: list[SSAValue] = []
    for p in own.parameters:
        if p.const:
            continue
        given = match.arguments[p.name]
        value = annotations.check(e, given.value, bound.type(p.type), given.node, f"'{p.name}'")
        for part in flatten(value):
            if part.ssa is None:
                return unknown(node)
            operands.append(part.ssa)
    made = instance(e, own, bound, node)
    if not made.done or is_unknown(made.result):
        return unknown(node)
    op = CallOp(made.symbol, operands, [ir_type(part) for part in parts(made.result)])
    e.insert(op, node)
    return unflatten(made.result, op.results, node)


def instance(e: Elaborator, signature: Signature, bound: Bound, node: tree.Node) -> Instance:
    """The function of the module for a signature and what is bound, made when first asked for."""
    key = (signature.node, bound.key)
    known = e.instances.get(key)
    if known is not None:
        if not known.done:
            e.error("E508", f"'{signature.name}' calls itself with the same dimensions, without end", node)
        return known
    made = Instance(e.fresh_symbol(signature.name))
    e.instances[key] = made
    if len(e.frames) >= DEEPEST:
        hint = "recursion unrolls when compiling: it must end, by an `if` on dimensions or consts"
        e.error("E508", f"'{signature.name}' calls itself more than {DEEPEST} deep", node, hint=hint)
        return made
    kinds = {p.name: bound.type(p.type) for p in signature.parameters if not p.const}
    built = build(e, signature, bound, kinds, made.symbol, "private")
    made.done = True
    if built is not None:
        made.result = built[1]
    return made


def build(
    e: Elaborator, signature: Signature, bound: Bound, kinds: Mapping[str, Type], symbol: str, visibility: str
) -> tuple[FuncOp, Type] | None:
    """The function with arguments of these types; None after an error."""
    assert e.builder is not None
    inputs = [ir_type(part) for kind in kinds.values() for part in parts(kind)]
    block = Block(arg_types=inputs)
    facts, e.facts = e.facts, Facts()
    depth, e.depth = e.depth, 0
    try:
        with e.inside(block):
            scope = scope_of(e, signature, bound)
            position = 0
            for p in signature.parameters:
                if p.name not in kinds:
                    continue
                count = len(parts(kinds[p.name]))
                arguments = block.args[position : position + count]
                for argument in arguments:
                    argument.name_hint = p.name if p.name.isascii() else None
                scope.define(p.node.name, unflatten(kinds[p.name], arguments, p.node.name), "parameter", used=True)
                position += count
            for p in signature.parameters:
                if p.name not in kinds and not p.const and p.node.default is not None:
                    value = e.expression(p.node.default, scope, bound.type(p.type))
                    value = annotations.check(e, value, bound.type(p.type), p.node.default, f"'{p.name}'", p.node.type)
                    scope.define(p.node.name, value, "parameter", used=True)
            result = walk(e, signature, scope, bound)
            found = finish(e, result, signature.node)
    finally:
        e.facts, e.depth = facts, depth
    if found is None:
        return None
    return _function(e, symbol, block, visibility, signature.node), found


def finish(e: Elaborator, result: AnyValue | None, node: tree.Node) -> Type | None:
    """Ends the current block with what is returned; None after an error."""
    if not isinstance(result, Value | TupleValue):
        return None
    values = flatten(result)
    if not e.emits or any(part.ssa is None for part in values):
        return None
    e.insert(ReturnOp(*[part.ssa for part in values if part.ssa is not None]), node)
    return result.type


def _function(e: Elaborator, symbol: str, block: Block, visibility: Any, node: tree.Node) -> FuncOp:
    assert e.builder is not None and block.last_op is not None
    kind = FunctionType.from_lists(list(block.arg_types), [v.type for v in block.last_op.operands])
    function = FuncOp(symbol, kind, Region(block), visibility)
    location = e.builder.location(node)
    function.location = location
    for argument in block.args:
        argument.location = location
    e.builder.module.body.block.add_op(function)
    return function


def function_of(e: Elaborator, symbol: str, block: Block, visibility: str, node: tree.Node) -> FuncOp:
    """A function of the module with this body."""
    return _function(e, symbol, block, visibility, node)
