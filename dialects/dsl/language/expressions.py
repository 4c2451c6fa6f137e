"""The nodes of expressions: a method per rule or `-> name` of `grammar.lark`, same order of children."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from . import tree
from .lexing import Token
from .problems import Problems
from .tree import Expression, Identifier, Span

Bracket: TypeAlias = Expression | tree.Slice | tree.Pack | tree.Binder | tree.Argument
Arguments: TypeAlias = Sequence[Expression | tree.Argument]

_LARGEST = 2**64 - 1


def is_binder(item: Bracket) -> bool:
    """Whether what stands between brackets can bind an index: `i`, `..b`, `i: N`, `i: 2..N`."""
    match item:
        case tree.Name():
            return "." not in item.text
        case tree.Slice(start=tree.Name() as name, stop=stop, step=None):
            return stop is not None and "." not in name.text
        case _:
            return isinstance(item, tree.Pack | tree.Binder)


class Expressions:
    """Makes expressions. What the grammar lets through though it makes no sense is reported here."""

    def __init__(self, file: str, text: str, problems: Problems, comments: Sequence[Identifier]) -> None:
        self._file, self._text, self._problems, self._comments = file, text, problems, comments
        self._alone: dict[int, Identifier] = {}

    def wrong(self, code: str, message: str, where: tree.Node | Span, hint: str = "") -> tree.Hole:
        """Reports a mistake and stands in for what cannot be made."""
        self._problems.add(code, message, where, hint=hint)
        return tree.Hole(span=where.span if isinstance(where, tree.Node) else where)

    def values(self, span: Span, *items: Expression) -> list[Expression]:
        return list(items)

    def expressions(self, span: Span, *items: Expression) -> list[Expression]:
        return list(items)

    def elements(self, span: Span, *items: Expression) -> list[Expression]:
        return list(items)

    def one(self, values: Sequence[Expression]) -> Expression:
        """One value, or several as a tuple."""
        if len(values) == 1:
            return values[0]
        return tree.Tuple(span=values[0].span._replace(end=values[-1].span.end), items=tuple(values))

    def conditional(
        self, span: Span, condition: Expression, then: Expression, otherwise: Expression
    ) -> tree.Conditional:
        return tree.Conditional(span=span, condition=condition, then=then, otherwise=otherwise)

    def comprehension(self, span: Span, items: list[Bracket], body: Expression) -> tree.Comprehension:
        return tree.Comprehension(span=span, binders=self.binders(items), body=body)

    def binary(self, span: Span, left: Expression, operator: Token, right: Expression) -> tree.Binary:
        return tree.Binary(span=span, operator=operator.text, left=left, right=right)

    def unary(self, span: Span, operator: Token, operand: Expression) -> tree.Unary:
        return tree.Unary(span=span, operator=operator.text, operand=operand)

    def reduction(
        self, span: Span, reducer: Token, items: list[Bracket], guard: Expression | None, body: Expression
    ) -> tree.Reduction:
        return tree.Reduction(span=span, reducer=reducer.text, binders=self.binders(items), guard=guard, body=body)

    # What follows an operand -----------------------------------------------------------------------------------

    def subscript(
        self, span: Span, value: Expression, items: list[Bracket] | None, outside: Expression | None
    ) -> tree.Subscript:
        return tree.Subscript(span=span, value=value, items=self.subscripts(items or ()), outside=outside)

    def call(self, span: Span, function: Expression, arguments: Arguments | None) -> Expression:
        if isinstance(function, tree.Hole):
            return function
        if not isinstance(function, tree.Name):
            return self.wrong("E011", "this cannot be called: a call begins with the name of a function", function)
        return tree.Call(span=span, function=function, arguments=self._given(arguments))

    def call_with_dims(
        self, span: Span, function: Expression, items: list[Bracket] | None, arguments: Arguments | None
    ) -> Expression:
        if isinstance(function, tree.Hole):
            return function
        if not isinstance(function, tree.Name):
            return self.wrong("E011", "this cannot be called: a call begins with the name of a function", function)
        dims: list[tree.Argument] = []
        for item in items or ():
            if isinstance(item, tree.Argument):
                dims.append(item)
            elif not isinstance(item, tree.Hole):
                self.wrong("E012", "dimensions of a call are given by name: `f[N = 4](x)`", item)
        return tree.Call(span=span, function=function, arguments=self._given(arguments), dims=tuple(dims))

    def reducer_call(self, span: Span, reducer: Token, arguments: Arguments | None) -> tree.Call:
        function = tree.Name(span=reducer.span(self._file), text=reducer.text)
        return tree.Call(span=span, function=function, arguments=self._given(arguments))

    def arguments(self, span: Span, *items: Expression | tree.Argument) -> Arguments:
        return items

    def _given(self, items: Arguments | None) -> tuple[tree.Argument, ...]:
        return tuple(
            item if isinstance(item, tree.Argument) else tree.Argument(span=item.span, name=None, value=item)
            for item in items or ()
        )

    def named(self, span: Span, name: Identifier, value: Expression) -> tree.Argument:
        return tree.Argument(span=span, name=name, value=value)

    def keyword(self, span: Span, token: Token) -> Identifier:
        return Identifier(span=span, text=token.text)

    def item_of(self, span: Span, value: Expression, token: Token) -> tree.Item:
        return tree.Item(span=span, value=value, number=int(token.text[1:][:9]))

    # Operands --------------------------------------------------------------------------------------------------

    def tuple_(self, span: Span, first: Expression, rest: list[Expression] | None) -> tree.Tuple:
        return tree.Tuple(span=span, items=(first, *(rest or ())))

    def array(self, span: Span, items: list[Bracket] | None) -> tree.Array:
        return tree.Array(span=span, items=tuple(self.element(item) for item in items or ()))

    def name(self, span: Span, token: Token) -> tree.Name:
        return tree.Name(span=span, text=token.text)

    def identifier(self, span: Span, token: Token) -> Identifier:
        return Identifier(span=span, text=token.text)

    def number(self, span: Span, token: Token) -> Expression:
        text = token.text.replace("_", "")
        if text[:2].lower() in ("0x", "0b", "0o"):
            value = int(text, 0) if len(text) < 100 and len(text) > 2 else _LARGEST + 1
        elif text.isdecimal():
            value = int(text) if len(text) < 100 else _LARGEST + 1
        else:
            value = float(text)
            if value == float("inf"):
                return self.wrong("E007", "this number is too large for any dtype", span, "write `inf` for infinity")
            return tree.Number(span=span, value=value)
        if value > _LARGEST:
            return self.wrong("E007", "this number is too large for any integer dtype", span)
        return tree.Number(span=span, value=value)

    def special(self, span: Span, token: Token) -> tree.Number:
        return tree.Number(span=span, value=float(token.text))

    def boolean(self, span: Span, token: Token) -> tree.Bool:
        return tree.Bool(span=span, value=token.text == "true")

    def string(self, span: Span, token: Token) -> tree.String:
        parts = token.text[1:-1].split("\\\\")
        if any(p.replace("\\n", "").replace("\\t", "").replace('\\"', "").count("\\") for p in parts):
            self.wrong("E008", 'after `\\` in a string comes one of `\\`, `"`, `n` and `t`', span)
        unescaped = [p.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"') for p in parts]
        return tree.String(span=span, value="\\".join(unescaped))

    # Between brackets ------------------------------------------------------------------------------------------

    def items(self, span: Span, *items: Bracket) -> list[Bracket]:
        return list(items)

    def dims(self, span: Span, *items: Expression | tree.Pack) -> list[Expression | tree.Pack]:
        return list(items)

    def pack(self, span: Span, name: Identifier) -> tree.Pack:
        return tree.Pack(span=span, text=name.text)

    def slice(
        self, span: Span, start: Expression | None, stop: Expression | None, step: Expression | None = None
    ) -> tree.Slice:
        return tree.Slice(span=span, start=start, stop=stop, step=step)

    def range(self, span: Span, name: Expression, start: Expression, stop: Expression) -> tree.Binder | tree.Hole:
        if isinstance(name, tree.Hole):
            return name
        if not is_binder(name):
            return self.wrong("E009", "before the `:` of a range stands the name of an index", name)
        return tree.Binder(span=span, name=self._bound(name), start=start, stop=stop)

    def _bound(self, node: tree.Node) -> Identifier:
        assert isinstance(node, tree.Name)
        return Identifier(span=node.span, text=node.text)

    def binders(self, items: Sequence[Bracket]) -> tuple[tree.Binder, ...]:
        """The items of brackets that bind indices."""
        found: list[tree.Binder] = []
        for item in items:
            match item:
                case tree.Binder():
                    found.append(item)
                case tree.Pack():
                    name = Identifier(span=item.span._replace(start=item.span.end - len(item.text)), text=item.text)
                    found.append(tree.Binder(span=item.span, name=name, pack=True))
                case tree.Name() if is_binder(item):
                    found.append(tree.Binder(span=item.span, name=self._bound(item)))
                case tree.Slice(start=start, stop=stop) if is_binder(item) and start is not None:
                    found.append(tree.Binder(span=item.span, name=self._bound(start), stop=stop))
                case tree.Hole():
                    pass
                case _:
                    self.wrong("E009", "an index is bound here: `i`, `i: N`, `i: 2..N` or `..b`", item)
        return tuple(found)

    def subscripts(self, items: Sequence[Bracket]) -> tuple[Expression | tree.Slice | tree.Pack, ...]:
        """The items of brackets that choose elements."""
        return tuple(item if isinstance(item, tree.Slice | tree.Pack) else self.element(item) for item in items)

    def element(self, item: Bracket) -> Expression:
        """An item of brackets that is a value."""
        match item:
            case tree.Slice():
                return self.wrong("E010", "a slice chooses elements of a tensor: `x[1:3]`; here is none", item)
            case tree.Pack():
                return self.wrong("E010", f"`..{item.text}` stands only among subscripts and dimensions", item)
            case tree.Binder():
                return self.wrong("E010", "a range `i: a..b` stands only where an index is bound", item)
            case tree.Argument():
                return self.wrong("E010", "`name = value` stands only among the arguments of a call", item)
            case _:
                return item
