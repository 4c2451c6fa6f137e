"""The nodes that the rules of `grammar.lark` make: a method per rule or `-> name` there, same order of children."""

from __future__ import annotations

from collections.abc import Sequence

from . import tree
from .expressions import Bracket, Expressions, is_binder
from .lexing import Token
from .tree import Expression, Identifier, Span

_UPDATES = ("+=", "*=", "max=", "min=")


class Builder(Expressions):
    """Makes the nodes of one file. What the grammar lets through though it makes no sense is reported here."""

    # Files -----------------------------------------------------------------------------------------------------

    def file(self, span: Span, *items: tree.Definition) -> tree.File:
        return tree.File(span=span, text=self._text, items=items, comments=tuple(self._comments))

    def import_(self, span: Span, path: tree.String, alias: Identifier | None) -> tree.Import:
        return tree.Import(span=span, path=path, alias=alias)

    def const(self, span: Span, name: Identifier, type: tree.Type | None, value: Expression) -> tree.Const:
        return tree.Const(span=span, name=name, type=type, value=value)

    def param(
        self, span: Span, name: Identifier, type: tree.Type | None, path: tree.String, key: tree.String | None
    ) -> tree.Param:
        return tree.Param(span=span, name=name, type=type, path=path, key=key)

    def model(self, span: Span, name: Identifier, path: tree.String) -> tree.Model:
        return tree.Model(span=span, name=name, path=path)

    def test(self, span: Span, name: tree.String, body: tree.Block) -> tree.Test | tree.Hole:
        if name.span.start == name.span.end:  # put in by the recovery
            return tree.Hole(span=span)
        return tree.Test(span=span, name=name, body=body)

    def function(
        self,
        span: Span,
        name: Identifier,
        dims: Sequence[tree.DimParameter] | None,
        parameters: Sequence[tree.Parameter] | None,
        result: tree.Type | None,
        constraints: Sequence[Expression] | None,
        body: tree.Block,
    ) -> tree.Function:
        return tree.Function(
            span=span,
            name=name,
            dims=tuple(dims or ()),
            parameters=tuple(parameters or ()),
            result=result,
            constraints=tuple(constraints or ()),
            body=body,
            doc=self.doc(span),
        )

    def doc(self, span: Span) -> str:
        """The comment lines directly above, without their marks."""
        if not self._alone:
            self._alone = {c.span.line: c for c in self._comments if self._fills_line(c.span)}
        lines: list[str] = []
        line = span.line - 1
        while (comment := self._alone.get(line)) is not None:
            lines.append(comment.text.lstrip("#").removeprefix(" ").rstrip())
            line -= 1
        return "\n".join(reversed(lines))

    def _fills_line(self, span: Span) -> bool:
        return not self._text[span.start - span.column + 1 : span.start].strip()

    def short_body(self, span: Span, values: list[Expression]) -> tree.Block:
        value = self.one(values)
        return tree.Block(span=value.span, statements=(tree.Return(span=value.span, value=value),))

    def generic(self, span: Span, name: Identifier, kind: Identifier | None = None) -> tree.DimParameter:
        return tree.DimParameter(span=span, name=name, kind=kind)

    def generic_pack(self, span: Span, name: Identifier) -> tree.DimParameter:
        return tree.DimParameter(span=span, name=name, pack=True)

    def parameter(self, span: Span, name: Identifier, type: tree.Type, default: Expression | None) -> tree.Parameter:
        return tree.Parameter(span=span, name=name, type=type, default=default)

    # Types -----------------------------------------------------------------------------------------------------

    def tensor_type(
        self, span: Span, dtype: Identifier, dims: Sequence[Expression | tree.Pack] | None
    ) -> tree.TensorType:
        return tree.TensorType(span=span, dtype=dtype, dims=tuple(dims or ()))

    def const_type(
        self, span: Span, dtype: Identifier, dims: Sequence[Expression | tree.Pack] | None
    ) -> tree.TensorType:
        return tree.TensorType(span=span, dtype=dtype, dims=tuple(dims or ()), const=True)

    def tuple_type(self, span: Span, *items: tree.Type) -> tree.Type:
        return tree.TupleType(span=span, items=items)

    def generics(self, span: Span, *items: tree.DimParameter) -> tuple[tree.DimParameter, ...]:
        return items

    def parameters(self, span: Span, *items: tree.Parameter) -> tuple[tree.Parameter, ...]:
        return items

    # Statements ------------------------------------------------------------------------------------------------

    def block(self, span: Span, *statements: tree.Statement) -> tree.Block:
        return tree.Block(span=span, statements=statements)

    def targets(self, span: Span, *items: Identifier) -> list[Identifier]:
        return list(items)

    def _let(
        self,
        span: Span,
        keyword: str,
        targets: list[Identifier],
        type: tree.Type | None,
        values: list[Expression],
    ) -> tree.Statement:
        if type is not None and len(targets) > 1:
            self.wrong("E013", "a type can be given when one name is defined, here are several", type)
        return tree.Let(span=span, keyword=keyword, targets=tuple(targets), type=type, value=self.one(values))

    def let(
        self, span: Span, targets: list[Identifier], type: tree.Type | None, values: list[Expression]
    ) -> tree.Statement:
        return self._let(span, "let", targets, type, values)

    def var(
        self, span: Span, targets: list[Identifier], type: tree.Type | None, values: list[Expression]
    ) -> tree.Statement:
        return self._let(span, "var", targets, type, values)

    def assignment(
        self, span: Span, targets: list[Identifier], type: tree.Type | None, values: list[Expression]
    ) -> tree.Statement:
        return self._let(span, "", targets, type, values)

    def _define(
        self,
        span: Span,
        keyword: str,
        target: Identifier,
        items: list[Bracket],
        type: tree.Type | None,
        value: Expression,
    ) -> tree.Statement:
        binders = self.binders(items)
        return tree.Define(span=span, keyword=keyword, target=target, binders=binders, type=type, value=value)

    def let_define(
        self, span: Span, target: Identifier, items: list[Bracket], type: tree.Type | None, value: Expression
    ) -> tree.Statement:
        return self._define(span, "let", target, items, type, value)

    def var_define(
        self, span: Span, target: Identifier, items: list[Bracket], type: tree.Type | None, value: Expression
    ) -> tree.Statement:
        return self._define(span, "var", target, items, type, value)

    def define(
        self,
        span: Span,
        target: Identifier,
        items: list[Bracket],
        type: tree.Type | None,
        value: Expression,
        guard: Expression | None,
    ) -> tree.Statement:
        """`y[...] = e` without a keyword: a definition when the brackets hold plain indices, else an update."""
        if guard is None and all(is_binder(item) for item in items):
            return self._define(span, "", target, items, type, value)
        if type is not None:
            self.wrong("E013", "an update keeps the type of what it changes: leave the type out", type)
        return self._update(span, target, items, "=", value, guard)

    def update(self, span: Span, *tokens: Token) -> Token:
        return Token("", "".join(t.text for t in tokens), span.start, span.end, span.line, span.column)

    def update_items(
        self,
        span: Span,
        target: Identifier,
        items: list[Bracket],
        operator: Token,
        value: Expression,
        guard: Expression | None,
    ) -> tree.Statement:
        if operator.text not in _UPDATES:
            hint = "add the negated value" if operator.text == "-=" else ""
            message = f"elements cannot be updated by `{operator.text}`, only by `=`, `+=`, `*=`, `max=` and `min=`"
            return self.wrong("E014", message, operator.span(self._file), hint)
        return self._update(span, target, items, operator.text, value, guard)

    def _update(
        self,
        span: Span,
        target: Identifier,
        items: list[Bracket],
        operator: str,
        value: Expression,
        guard: Expression | None,
    ) -> tree.Statement:
        name = tree.Name(span=target.span, text=target.text)
        return tree.Update(
            span=span, target=name, items=self.subscripts(items), operator=operator, value=value, guard=guard
        )

    def update_whole(self, span: Span, target: Identifier, operator: Token, value: Expression) -> tree.Statement:
        """`x += e` is `x = x + e`."""
        name = tree.Name(span=target.span, text=target.text)
        if operator.text[0] in "+-*/":
            changed = tree.Binary(span=span, operator=operator.text[0], left=name, right=value)
        elif operator.text in _UPDATES:
            function = tree.Name(span=operator.span(self._file)._replace(end=operator.end - 1), text=operator.text[:-1])
            arguments = tuple(tree.Argument(span=each.span, name=None, value=each) for each in (name, value))
            changed = tree.Call(span=span, function=function, arguments=arguments)
        else:
            return self.wrong("E014", f"there is no update by `{operator.text}`", operator.span(self._file))
        return tree.Let(span=span, keyword="", targets=(target,), type=None, value=changed)

    def return_(self, span: Span, values: list[Expression]) -> tree.Return:
        return tree.Return(span=span, value=self.one(values))

    def for_(
        self,
        span: Span,
        index: Identifier,
        start: Expression,
        stop: Expression,
        step: Expression | None,
        body: tree.Block,
    ) -> tree.For:
        return tree.For(span=span, index=index, start=start, stop=stop, step=step, body=body)

    def while_(self, span: Span, condition: Expression, body: tree.Block) -> tree.While | tree.Hole:
        if isinstance(condition, tree.Bool) and condition.span.start == condition.span.end:  # put in by the recovery
            return tree.Hole(span=span)
        return tree.While(span=span, condition=condition, body=body)

    def if_(self, span: Span, condition: Expression, then: tree.Block, otherwise: tree.Block | None) -> tree.If:
        return tree.If(span=span, condition=condition, then=then, otherwise=otherwise)

    def else_if(self, span: Span, statement: tree.If) -> tree.Block:
        return tree.Block(span=span, statements=(statement,))

    def expect(self, span: Span, value: Expression) -> tree.Expect:
        """`expect a == b` compares exactly; in parentheses, `expect (a == b)`, it is a condition like any other."""
        if isinstance(value, tree.Binary) and value.operator == "==":
            bare = not self._text[span.start + len("expect") : value.span.start].strip()
            if bare:
                return tree.Expect(span=span, left=value.left, operator="==", right=value.right, within=None)
        return tree.Expect(span=span, left=value, operator="", right=None, within=None)

    def expect_close(self, span: Span, left: Expression, right: Expression, within: Expression | None) -> tree.Expect:
        return tree.Expect(span=span, left=left, operator="~=", right=right, within=within)
