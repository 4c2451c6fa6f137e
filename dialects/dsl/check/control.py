"""Control flow: conditions known when compiling choose, others become `stablehlo.if` and `stablehlo.while`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from xdsl.ir import Block, Region, SSAValue

from ... import stablehlo as hlo
from ..language import tree
from ..language.problems import Label
from . import promotion
from .facts import Facts
from .scope import Entry, Scope
from .types import UNKNOWN, DType, TensorType, TupleType, Type, ir_type
from .values import AnyValue, TupleValue, Unbound, Value, describe, unknown

if TYPE_CHECKING:
    from .elaborator import Elaborator
    from .statements import Rest


def condition(e: Elaborator, node: tree.Expression, scope: Scope) -> Value:
    """A scalar of bools."""
    value = e.tensor(node, scope)
    if value.unknown:
        return value
    if value.type.dtype != "bool":
        return e.error("E601", f"a condition is a bool, got {value.type}", node, hint="compare it: x != 0")
    if not value.scalar:
        hint = "select(c, a, b) chooses element by element; any(c) and all(c) are single values"
        return e.error("E601", f"a condition is a single bool, got {value.type}", node, hint=hint)
    return value


@contextmanager
def assuming(e: Elaborator, node: tree.Expression, scope: Scope, holds: bool) -> Generator[Scope]:
    """A scope in which a condition holds or does not; what that says about dimensions is believed inside."""
    from .statements import assume

    outer = e.facts
    if not e.emits:
        e.facts = Facts(outer)
        assume(e, node, scope, holds)
    try:
        yield scope.assuming(node, holds)
    finally:
        e.facts = outer


# Branches ----------------------------------------------------------------------------------------------------------


Arm = Callable[[], "list[AnyValue] | None"]


def branch(
    e: Elaborator, chosen: Value, arms: tuple[Arm, Arm], node: tree.Node, wanted: DType | None = None
) -> list[AnyValue] | None:
    """`stablehlo.if` of two arms that give values of the same types; None where one gives none.

    Numbers written out in both take the dtype `wanted`, if one is known.
    """
    blocks = (Block(), Block()) if e.emits else (None, None)
    given: list[list[AnyValue] | None] = []
    for arm, block in zip(arms, blocks, strict=True):
        if block is None:
            given.append(arm())
        else:
            with e.inside(block):
                given.append(arm())
    one, two = given
    if one is None or two is None:
        return None
    if isinstance(chosen.const, Unbound):  # only one of the arms will be there
        kinds = [_either(e, a, b) for a, b in zip(one, two, strict=True)]
    else:
        kinds = [_common(e, a, b, node, wanted) for a, b in zip(one, two, strict=True)]
    if not e.emits or blocks[0] is None:
        return [_typed(kind, node) for kind in kinds]
    for block, values in zip(blocks, given, strict=True):
        assert block is not None and values is not None
        with e.inside(block):
            parts = [part for value, kind in zip(values, kinds, strict=True) for part in _take(e, value, kind, node)]
            if not e.emits or any(part.ssa is None for part in parts):
                return [unknown(node) for _ in kinds]
            e.insert(hlo.ReturnOp([part.ssa for part in parts if part.ssa is not None]), node)
    assert chosen.ssa is not None and blocks[0] is not None and blocks[1] is not None
    op = hlo.IfOp(chosen.ssa, Region(blocks[0]), Region(blocks[1]))
    e.insert(op, node)
    return rebuild(kinds, op.results, node)


def rebuild(kinds: Sequence[Type], values: Sequence[SSAValue], node: tree.Node) -> list[AnyValue]:
    """Values of these types from their tensors in order."""
    rest = iter(values)

    def build(kind: Type) -> Value | TupleValue:
        if isinstance(kind, TupleType):
            return TupleValue(tuple(build(item) for item in kind.items), node)
        return Value(kind, next(rest), node=node)

    return [build(kind) for kind in kinds]


def _typed(kind: Type, node: tree.Node) -> AnyValue:
    if isinstance(kind, TupleType):
        return TupleValue(tuple(_typed(item, node) for item in kind.items), node)
    return Value(kind, node=node)


def _common(e: Elaborator, a: AnyValue, b: AnyValue, node: tree.Node, wanted: DType | None) -> Type:
    """The one type of what two arms give; unknown after an error."""
    if isinstance(a, TupleValue) and isinstance(b, TupleValue) and len(a.items) == len(b.items):
        return TupleType(tuple(_common(e, x, y, node, None) for x, y in zip(a.items, b.items, strict=True)))
    if isinstance(a, Value) and isinstance(b, Value):
        if a.unknown or b.unknown:
            return a.type if b.unknown else b.type
        from .annotations import fits

        if fits(e, b.type.shape, a.type.shape):
            dtype = _dtype(a, b, wanted)
            if dtype is not None:
                return TensorType(dtype, a.type.shape)
    places = [
        Label(v.node.span, f"is {describe(v)}")
        for v in (a, b)
        if isinstance(v, Value | TupleValue) and v.node is not None
    ]
    e.error("E605", f"both arms must give the same type: {describe(a)} and {describe(b)}", node, *places)
    return unknown().type


def _either(e: Elaborator, a: AnyValue, b: AnyValue) -> Type:
    """The type of both, unknown where they differ."""
    from .annotations import fits

    if isinstance(a, Value) and isinstance(b, Value) and not a.unknown and not b.unknown:
        dtype = _dtype(a, b, None)
        if dtype is not None and fits(e, b.type.shape, a.type.shape):
            return TensorType(dtype, a.type.shape)
    if isinstance(a, TupleValue) and isinstance(b, TupleValue) and len(a.items) == len(b.items):
        return TupleType(tuple(_either(e, x, y) for x, y in zip(a.items, b.items, strict=True)))
    return UNKNOWN


def _dtype(a: Value, b: Value, wanted: DType | None) -> Any:
    if a.weak and b.weak:
        if wanted is not None and promotion.takes(a, wanted) and promotion.takes(b, wanted):
            return wanted
        return "f32" if "f32" in (a.type.dtype, b.type.dtype) else "i64"
    if a.weak:
        return b.type.dtype if promotion.takes(a, b.type.dtype) else None
    if b.weak:
        return a.type.dtype if promotion.takes(b, a.type.dtype) else None
    return a.type.dtype if a.type.dtype == b.type.dtype else None


def _take(e: Elaborator, value: AnyValue, kind: Type, node: tree.Node) -> list[Value]:
    if isinstance(value, TupleValue) and isinstance(kind, TupleType):
        return [part for item, own in zip(value.items, kind.items, strict=True) for part in _take(e, item, own, node)]
    assert isinstance(value, Value)
    if value.unknown or not isinstance(kind, TensorType):
        return [unknown(node)]
    return [e.coerce(value, kind.dtype, node)]


def conditional(e: Elaborator, node: tree.Conditional, scope: Scope, expected: Type | None) -> AnyValue:
    """`if c { a } else { b }`: in index notation both are computed and one is taken, else only one is."""
    chosen = condition(e, node.condition, scope)
    if isinstance(chosen.const, bool):
        return e.expression(node.then if chosen.const else node.otherwise, scope, expected)

    def arm(part: tree.Expression, holds: bool) -> list[AnyValue]:
        with assuming(e, node.condition, scope, holds) as inner:
            return [e.expression(part, inner, expected)]

    wanted = expected.dtype if isinstance(expected, TensorType) else None

    if scope.index is not None:
        then, otherwise = arm(node.then, True)[0], arm(node.otherwise, False)[0]
        if not isinstance(then, Value) or not isinstance(otherwise, Value):
            return e.error("E605", "in index notation both arms are single values", node)
        if then.unknown or otherwise.unknown or chosen.unknown:
            return unknown(node)
        if then.scalar and otherwise.scalar:
            dtype = _dtype(then, otherwise, wanted)
            if dtype is not None and then.weak:
                then = e.coerce(then, dtype, node.then)
            one, two = e.broadcast_together((then, otherwise), node)
            return e.emit(lambda: hlo.SelectOp(chosen.ssa, one.ssa, two.ssa), one.type, node)  # pyright: ignore
    found = branch(e, chosen, (lambda: arm(node.then, True), lambda: arm(node.otherwise, False)), node, wanted)
    return unknown(node) if found is None or chosen.unknown else found[0]


def if_(e: Elaborator, node: tree.If, scope: Scope, rest: Rest) -> tuple[AnyValue | None, bool]:
    """An `if` with all that comes behind it: what is returned, and whether the rest has been walked with it."""
    from .statements import run

    chosen = condition(e, node.condition, scope)
    blocks = (node.then.statements, node.otherwise.statements if node.otherwise is not None else ())
    inner = [statement for block in blocks for statement in block]
    returns = any(isinstance(part, tree.Return) for statement in inner for part in statement.walk())
    if isinstance(chosen.const, bool):
        block = blocks[not chosen.const]
        return run(e, block, scope.block(), rest if returns else ()), returns
    if returns:
        return _returning(e, node, chosen, blocks, scope, rest), True
    changed = assigned(inner, scope)

    def arm(block: Sequence[tree.Statement], holds: bool) -> list[AnyValue]:
        before = [entry.value for entry in changed]
        with assuming(e, node.condition, scope, holds) as inside:
            run(e, block, inside.block())
        after = [entry.value for entry in changed]
        for entry, value in zip(changed, before, strict=True):
            entry.value = value
        return after

    values = branch(e, chosen, (lambda: arm(blocks[0], True), lambda: arm(blocks[1], False)), node)
    for entry, value in zip(changed, values or (), strict=True):
        entry.value = value
    return None, False


MOST_WAYS = 200
"""So many times an `if` of a function may return in one arm: what is behind it is walked once more for each."""


def _returning(
    e: Elaborator,
    node: tree.If,
    chosen: Value,
    blocks: Sequence[Sequence[tree.Statement]],
    scope: Scope,
    rest: Rest,
) -> AnyValue | None:
    """An arm that returns ends there; one that does not goes on with what is behind, up to the function's end."""
    from .statements import run

    frame = e.frames[-1]
    frame.ways += 1
    if frame.loops:
        hint = "set a var in the loop and return it behind"
        return e.error("E602", "a function cannot return from inside a loop", node, hint=hint)
    if frame.ways > MOST_WAYS:
        hint = "set a var in the arms and return it once, or make functions of parts"
        return e.error("E608", f"'{frame.name}' returns on more than {MOST_WAYS} ways", node, hint=hint)
    entries = variables(scope)

    def arm(block: Sequence[tree.Statement], holds: bool) -> list[AnyValue] | None:
        before = [entry.value for entry in entries]
        with assuming(e, node.condition, scope, holds) as inside:
            (behind, own), *outer = rest
            own = inside.child() if own is scope else own
            value = run(e, block, inside.block(), ((behind, own), *outer))
        for entry, old in zip(entries, before, strict=True):
            entry.value = old
        return None if value is None else [value]

    found = branch(e, chosen, (lambda: arm(blocks[0], True), lambda: arm(blocks[1], False)), node)
    return None if found is None else found[0]


def variables(scope: Scope | None) -> list[Entry]:
    """All `var`s that can be seen."""
    found: list[Entry] = []
    while scope is not None:
        found += [entry for entry in scope.entries.values() if entry.kind == "var"]
        scope = scope.parent
    return found


def assigned(statements: Sequence[tree.Statement], scope: Scope) -> list[Entry]:
    """The `var`s of outside that statements assign, in order."""
    found: dict[Entry, None] = {}
    for statement in statements:
        for node in statement.walk():
            names: Sequence[str] = ()
            if isinstance(node, tree.Let) and not node.keyword:
                names = [target.text for target in node.targets]
            elif (isinstance(node, tree.Define) and not node.keyword) or isinstance(node, tree.Update):
                names = (node.target.text,)
            for name in names:
                entry = scope.find(name)
                if entry is not None and entry.kind == "var":
                    found[entry] = None
    return list(found)


# Loops -------------------------------------------------------------------------------------------------------------


def while_(e: Elaborator, node: tree.While, scope: Scope) -> None:
    """`while c { … }`."""
    carried = assigned(node.body.statements, scope)
    if not carried:
        hint = "the condition never changes: a loop changes `var`s of outside"
        e.error("E606", "this loop changes nothing", node, hint=hint)
        return

    def test(_: Value | None) -> Value:
        return condition(e, node.condition, scope)

    def body(_: Value | None) -> Value | None:
        _body(e, node.body, scope.block())
        return None

    loop(e, node, carried, None, test, body)


def _body(e: Elaborator, block: tree.Block, scope: Scope) -> None:
    from .statements import run

    e.frames[-1].loops += 1
    try:
        run(e, block.statements, scope)
    finally:
        e.frames[-1].loops -= 1


def for_(e: Elaborator, node: tree.For, scope: Scope) -> None:
    """`for t in a..b step s { … }`: the counter is a scalar that is not known when compiling."""
    start, stop = e.scalar(node.start, scope), e.scalar(node.stop, scope)
    step = _step(e, node, scope)
    reach = None
    if start.dim is not None and stop.dim is not None:
        reach = (start.dim, stop.dim) if step > 0 else (stop.dim + 1, start.dim + 1)
        if e.facts.less(reach[0], reach[1]) is False:
            reach = None  # it never runs
    for side, part in ((start, node.start), (stop, node.stop)):
        if not side.unknown and (side.type.dtype == "f32" or not _whole(side)):
            e.error("E604", f"a loop counts whole numbers, got {side.type}", part)
            start = unknown(node)
    start, stop = e.broadcast_together((start, stop), node) if not start.unknown and not stop.unknown else (start, stop)
    carried = assigned(node.body.statements, scope)
    if not carried:
        e.warn("W904", "this loop changes nothing", node.index, "assign a `var` of outside in it")
        if e.emits:
            return
    kind = start.type if not start.unknown else TensorType("i64")
    by = e.coerce(Value(TensorType("i64"), const=step, weak=True, node=node.step or node.index), kind.dtype, node)

    def test(counter: Value | None) -> Value:
        assert counter is not None
        direction = "LT" if step > 0 else "GT"
        return e.emit(
            lambda: hlo.CompareOp(counter.ssa, stop.ssa, comparison_direction=direction),  # pyright: ignore
            TensorType("bool"),
            node.stop,
        )

    def body(counter: Value | None) -> Value | None:
        assert counter is not None
        inner = scope.block()
        value = Value(counter.type, counter.ssa, node=node.index, range=reach)
        inner.define(node.index, value, "loop")
        if not e.emits:
            e.types[node.index] = value
        _body(e, node.body, inner)
        return e.emit(lambda: hlo.AddOp(counter.ssa, by.ssa), counter.type, node.index)  # pyright: ignore

    loop(e, node, carried, Value(kind, start.ssa, node=node.start), test, body)


def _whole(value: Value) -> bool:
    from .types import is_a

    return is_a(value.type.dtype, "int")


def _step(e: Elaborator, node: tree.For, scope: Scope) -> int:
    if node.step is None:
        return 1
    value = e.scalar(node.step, scope)
    if value.unknown:
        return 1
    if not isinstance(value.dim, int):
        if value.dim is None:
            e.error("E604", "the step of a loop is a whole number known when compiling", node.step)
        return 1
    if value.dim == 0:
        e.error("E604", "the step of a loop is 0", node.step)
        return 1
    return value.dim


def loop(
    e: Elaborator,
    node: tree.Node,
    carried: Sequence[Entry],
    counter: Value | None,
    test: Callable[[Value | None], Value],
    body: Callable[[Value | None], Value | None],
) -> None:
    """A loop over the counter, if there is one, and the `var`s: `test` gives its condition, `body` the next counter."""
    from .functions import flatten

    kinds: list[Type] = [v.type for entry in carried if isinstance(v := entry.value, Value | TupleValue)]
    if not e.emits:
        before = [entry.value for entry in carried]
        for entry, kind in zip(carried, kinds, strict=True):
            entry.value = _typed(kind, node)
        test(counter)
        body(counter)
        for entry, old in zip(carried, before, strict=True):
            entry.value = _typed(old.type, node) if isinstance(old, Value | TupleValue) else old
        return
    start = [part for entry in carried for part in flatten(entry.value)]
    if counter is not None:
        start.insert(0, counter)
    if any(part.ssa is None for part in start):
        return
    types = [ir_type(part.type) for part in start]
    regions: list[Region] = []
    for part in (test, body):
        block = Block(arg_types=types)
        for argument in block.args:
            argument.location = e.location(node)
        regions.append(Region(block))
        arguments = list(block.args)
        own = Value(counter.type, arguments.pop(0), node=counter.node) if counter is not None else None
        for entry, value in zip(carried, rebuild(kinds, arguments, node), strict=True):
            entry.value = value
        with e.inside(block):
            given = part(own)
            ends = [given] if given is not None else []
            if part is body:
                ends += [inner for entry in carried for inner in flatten(entry.value)]
            else:
                ends = [e.settle(ends[0])]
            if not e.emits or any(end.ssa is None for end in ends):
                return
            e.insert(hlo.ReturnOp([end.ssa for end in ends if end.ssa is not None]), node)
    op = hlo.WhileOp([part.ssa for part in start if part.ssa is not None], *regions)
    e.insert(op, node)
    results = list(op.results)[counter is not None :]
    for entry, value in zip(carried, rebuild(kinds, results, node), strict=True):
        entry.value = value
