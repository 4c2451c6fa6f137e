"""Where in index notation something stands: the indices that are bound, and which expressions depend on them.

An index is an entry of kind `index` in a scope; a pack of indices is one under its name with dots, `..b`, whose value
is a tuple. `Scope.index` is the `Notation` around.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import i64
from xdsl.ir import Block

from ... import stablehlo as hlo
from ...stablehlo.shapes import scalar
from ..language import tree
from ..language.problems import Label, Problems
from .dims import Dim, Extent, Pack
from .scope import Scope
from .types import TensorType, Type
from .values import TupleValue, Value

if TYPE_CHECKING:
    from .elaborator import Elaborator

INDEX = TensorType("i64")


@dataclass(frozen=True, eq=False)
class Index:
    """An index, or a pack of them, with its values: `start` up to `start + extents[0]`; a pack counts from 0.

    `extents` is None where the range is not known after an error. A pack in a shape makes the extents of a pack of
    indices a pack, while checking.
    """

    where: tree.Identifier
    extents: tuple[Extent, ...] | None
    start: Dim = 0
    pack: bool = False
    own: bool = False  # whether the range is written, not inferred

    @property
    def name(self) -> str:
        """The name it is found by in a scope."""
        return f"..{self.where.text}" if self.pack else self.where.text


@dataclass(eq=False)
class Notation:
    """One piece of index notation in the walk, and what is around it.

    `types` are those of subscripted expressions, shared by the whole piece.
    """

    outer: Notation | None = None
    indices: dict[str, Index] = field(default_factory=dict[str, Index])
    types: dict[tree.Node, Type] = field(default_factory=dict[tree.Node, Type])
    itself: str | None = None  # the name that a recurrence defines

    def inner(self) -> Notation:
        """A piece inside this one."""
        return Notation(self, types=self.types, itself=self.itself)

    def all(self) -> Iterator[Index]:
        """Every index that is bound here."""
        here: Notation | None = self
        while here is not None:
            yield from here.indices.values()
            here = here.outer

    def find(self, name: str) -> Index | None:
        """The index of a name, of this piece or one around it."""
        here: Notation | None = self
        while here is not None:
            if name in here.indices:
                return here.indices[name]
            here = here.outer
        return None


def notation_of(scope: Scope) -> Notation:
    """A new piece of notation inside of what is around."""
    return scope.index.inner() if isinstance(scope.index, Notation) else Notation()


def is_index(scope: Scope, name: str) -> bool:
    """Whether a name is an index here, or what is being defined by a recurrence."""
    entry = scope.find(name)
    return entry is not None and entry.kind == "index"


def depends(node: tree.Node | None, scope: Scope) -> bool:
    """Whether an expression uses an index of the notation around it."""
    if node is None or scope.index is None:
        return False
    for inner in node.walk():
        if isinstance(inner, tree.Name) and is_index(scope, inner.text):
            return True
        if isinstance(inner, tree.Pack) and is_index(scope, f"..{inner.text}"):
            return True
    return False


def enter(e: Elaborator, scope: Scope, notation: Notation, indices: Sequence[Index]) -> tuple[Scope, Block | None]:
    """The scope of a body with these indices, and in instance mode the block whose arguments they are.

    The block is filled by the caller: `with filling(e, block):`. Names of indices are defined by `define_indices`.
    There is none after an error in a range: then the body is only typed.
    """
    for index in indices:
        notation.indices[index.name] = index
    sizes = sum(len(index.extents or ()) for index in indices)
    known = all(index.extents is not None for index in indices)
    block = Block(arg_types=[scalar(i64)] * sizes) if e.emits and known else None
    return scope.child(index=notation), block


def define_indices(e: Elaborator, scope: Scope, indices: Sequence[Index], args: Sequence[Value]) -> None:
    """Gives the indices their values, one for each extent, which count from 0."""
    position = 0
    for index in indices:
        count = len(index.extents or ()) if index.extents is not None else 1
        values: list[Value] = []
        for number in range(count):
            value = args[position] if position < len(args) else Value(INDEX, node=index.where)
            position += 1
            if index.extents is not None:
                extent = index.extents[number]
                value = shifted(e, value, index.start, extent, index.where)
            values.append(value)
        defined = TupleValue(tuple(values), index.where) if index.pack else values[0]
        entry = scope.define(index.name, defined, "index", used=index.where.text.startswith("_"))
        entry.where = index.where
        if not e.emits and not index.pack:
            e.types[index.where] = values[0]


def shifted(e: Elaborator, value: Value, start: Dim, extent: Extent, node: tree.Node) -> Value:
    """An index that counts from `start`, with its range; `value` counts from 0."""
    if isinstance(extent, Pack):
        return value
    if start != 0:
        first = e.settle(Value(INDEX, const=start, weak=True, node=node))
        value = e.emit(lambda: hlo.AddOp(value.ssa, first.ssa), INDEX, node)  # pyright: ignore[reportArgumentType]
    return replace(value, range=(start, start + extent), node=node)


def arguments(block: Block | None) -> list[Value]:
    """The arguments of a block of indices as values."""
    return [] if block is None else [Value(INDEX, argument) for argument in block.args]


@contextmanager
def filling(e: Elaborator, block: Block | None) -> Generator[None]:
    """Emits into a block, where there is one; else only types."""
    if block is None:
        with typing_only(e):
            yield
    else:
        with e.inside(block):
            yield


@contextmanager
def typing_only(e: Elaborator) -> Generator[None]:
    """Walks without emitting: the types are found, and what is wrong is reported."""
    builder, e.builder = e.builder, None
    try:
        yield
    finally:
        e.builder = builder


@contextmanager
def trial(e: Elaborator, node: tree.Node) -> Generator[Problems]:
    """Walks without emitting, and keeps to itself what is wrong below `node` and the types found there."""
    builder, problems, types = e.builder, e.problems, e.types
    e.builder, e.problems, e.types = None, Problems(), {}
    try:
        yield e.problems
    finally:
        tried, found = e.problems, e.types
        e.builder, e.problems, e.types = builder, problems, types
        for problem in tried.found:
            if not _within(problem.span, node.span) and problem not in problems.found:
                problems.found.append(problem)
        for each, kind in found.items():
            if not _within(each.span, node.span):
                types.setdefault(each, kind)


def _within(inner: tree.Span, outer: tree.Span) -> bool:
    return inner.file == outer.file and outer.start <= inner.start and inner.end <= outer.end


_LEVELS = ("or", "and", "== != < <= > >=", "|", "^", "&", "<< >>", "+ -", "* / // % @", "**")
_LEVEL = {operator: level for level, group in enumerate(_LEVELS) for operator in group.split()}


def text_of(node: tree.Node, level: int = 0) -> str:
    """An expression as text, for messages: short, in normal form; in parentheses if it binds looser than `level`."""
    match node:
        case tree.Name() | tree.Identifier():
            return node.text
        case tree.Pack():
            return f"..{node.text}"
        case tree.Number():
            return str(node.value)
        case tree.Bool():
            return str(node.value).lower()
        case tree.Unary():
            return f"{node.operator}{' ' if node.operator == 'not' else ''}{text_of(node.operand, 9)}"
        case tree.Binary():
            own = _LEVEL.get(node.operator, 9)
            space = "" if own > 7 else " "
            text = f"{text_of(node.left, own)}{space}{node.operator}{space}{text_of(node.right, own + 1)}"
            return f"({text})" if own < level else text
        case tree.Subscript():
            outside = f" ? {text_of(node.outside)}" if node.outside is not None else ""
            return f"{text_of(node.value, 10)}[{', '.join(map(text_of, node.items))}{outside}]"
        case tree.Call():
            return f"{node.function.text}({', '.join(text_of(a.value) for a in node.arguments)})"
        case _:
            return "…"


def counted(count: int, noun: str, plural: str = "") -> str:
    """A number of things: `1 axis`, `2 axes`."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def label(node: tree.Node, text: str) -> Label:
    """What is to be said at a node."""
    return Label(node.span, text)
