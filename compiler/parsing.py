"""Reading IR text: xDSL's parser with what a compiler needs besides.

Every op and block argument gets its place (`file:line:col` of the op's name) unless the text states one with
`loc(...)`; aliases of locations may follow their use, as `mlir-opt` prints them; an undefined value is reported
where it is used; bytes of `dense_resource` go to the context's weight store, not to a table of the process.
Whatever goes wrong is a LaminaError with a place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    DenseResourceAttr,
    FileLineColLoc,
    LocationAttr,
    ModuleOp,
)
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue, TypeAttribute
from xdsl.parser import ParserState, UnresolvedOperand
from xdsl.utils.exceptions import MultipleSpansParseError, ParseError, PyRDLError, VerifyException
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from .collector import collector_paused
from .context import LaminaContext
from .diagnostics import Diagnostic, LaminaError
from .lexing import Lexer
from .literals import LiteralParser
from .locations import SourceLines
from .resources import blob_to_array, bytes_from_hex, resource_keys

_Parsed = TypeVar("_Parsed")

# What op and attribute parsers of xDSL raise on text they did not expect, besides ParseError.
UNFORESEEN = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    TypeError,
    ValueError,
    VerifyException,
    PyRDLError,
)
_WIDE_INTEGER = re.compile(r"[su]?i\d{6,}")  # of 100,000 bits or more
# Types that need no parser to find their end; the same text always means the same type.
_SIMPLE_TYPE = re.compile(r"(?:(?:tensor|memref|vector)<[0-9x?]*[a-z][a-z0-9]*>|[a-z][a-z0-9]*)(?![\w$.<])")
MOST_PARTS = 1 << 20  # of what an alias stands for: aliases of aliases stand for any number
_ALIAS = re.compile(r"[#!][A-Za-z_][\w$.]*")
_LOCATION_ALIAS = re.compile(r"^(#loc\w*)\s*=\s*(loc\(.*\))\s*$", re.MULTILINE)


def parse_module(text: str, name: str, ctx: LaminaContext) -> ModuleOp:
    """The module that `text` holds, with the places of its ops; an implicit module where it names none.

    Raises LaminaError with file, line and column when the text is not valid IR. The module is not verified.
    """
    with collector_paused():
        return LaminaParser(ctx, text, name).parse_whole()


def parse_attribute(ctx: LaminaContext, text: str) -> Attribute:
    """The attribute that `text` is. Raises LaminaError with the column when it is none, or more than one."""
    return LaminaParser(ctx, text, "attribute").parse_one_attribute()


class LaminaParser(LiteralParser):
    """xDSL's parser with locations, placed errors, and resources of its own."""

    ctx: LaminaContext  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, ctx: LaminaContext, text: str, name: str):
        self.lines = SourceLines(text, name)
        super().__init__(ctx, "", name)
        try:
            self._parser_state = ParserState(Lexer(Input(text, name)))
        except ParseError as error:  # the first token is read at once
            raise LaminaError(error.msg, where=self.lines.location(error.span.start)) from error
        self.file_metadata: dict[str, dict[str, str | bool]] = {}
        self._types: dict[str, TypeAttribute] = {}
        self._forward_uses: dict[str, Span] = {}
        self._blobs: dict[str, bytes] = {}
        self._resource_uses: dict[str, DenseResourceAttr] = {}
        self._alias_sizes: dict[str, int] = {}  # written out, with what it refers to
        self._later_aliases = dict(_LOCATION_ALIAS.findall(text)) if "loc(#" in text else {}

    # Errors

    def parse_whole(self) -> ModuleOp:
        """The whole input as a module. Raises LaminaError."""
        module = self._placed(self._parse_top_level)
        self._store_blobs(module)
        return module

    def parse_one_attribute(self) -> Attribute:
        """The whole input as an attribute. Raises LaminaError."""

        def parse() -> Attribute:
            attribute = self.parse_attribute()
            if self._current_token.kind != MLIRTokenKind.EOF:
                self.raise_error("expected the end of the attribute")
            return attribute

        return self._placed(parse)

    def _placed(self, parse: Callable[[], _Parsed]) -> _Parsed:
        """What `parse` gives; whatever goes wrong is a LaminaError with a place."""
        try:
            return parse()
        except MultipleSpansParseError as error:
            notes = tuple(self._diagnostic("note", s, m or error.ref_text or "here") for s, m in error.refs)
            raise LaminaError(error.msg, where=self._place(error.span), notes=notes) from error
        except ParseError as error:
            raise LaminaError(error.msg, where=self._place(error.span)) from error
        except UNFORESEEN as error:
            message = f"cannot be read: {error or type(error).__name__}"
            raise LaminaError(message, where=self._place(self._current_token.span)) from error
        except RecursionError as error:
            raise LaminaError("nested too deeply", where=self._place(self._current_token.span)) from error

    def _place(self, span: Span[str] | Span[bytes]) -> FileLineColLoc:
        return self.lines.location(min(span.start, len(self.lexer.input.content)))

    def _diagnostic(self, severity: str, span: Span[str] | Span[bytes], message: str) -> Diagnostic:
        return Diagnostic.at(severity, message, self._place(span))

    def _parse_top_level(self) -> ModuleOp:
        ops: list[Operation] = []
        while self._current_token.kind != MLIRTokenKind.EOF:
            if self._current_token.kind in (MLIRTokenKind.HASH_IDENT, MLIRTokenKind.EXCLAMATION_IDENT):
                self._parse_alias_def()
            elif self._current_token.kind == MLIRTokenKind.FILE_METADATA_BEGIN:
                self._parse_file_metadata_dictionary()
            elif (op := self.parse_optional_operation()) is not None:
                ops.append(op)
            else:
                self.raise_error("expected an operation")
        for name in self.forward_ssa_references:
            self.raise_error(f"use of undeclared value %{name}", self._forward_uses.get(name))
        if len(ops) == 1 and isinstance(ops[0], ModuleOp):
            return ops[0]
        return ModuleOp(ops)

    # Operations and the values they define

    def parse_operation(self) -> Operation:
        """xDSL's, and the op stands at its name; an exception inside an op's own parser becomes a placed error."""
        bound_results = self._parse_op_result_list()
        name_token = self._current_token
        try:
            op = self._parse_named_operation()
        except VerifyException as error:
            self.raise_error(str(error), name_token.span)
        except UNFORESEEN as error:
            name = name_token.text.strip('"')
            self.raise_error(f"'{name}' op cannot be read: {error or type(error).__name__}", name_token.span)
        if op.location is UNKNOWN_LOC:
            op.location = self.lines.location(name_token.span.start)

        bound = sum(size for _, size in bound_results)
        if bound and len(op.results) != bound:
            self.raise_error(f"operation has {len(op.results)} results, but {bound} names are given", name_token.span)
        index = 0
        for span, size in bound_results:
            self._register_ssa_definition(span.text[1:], op.results[index : index + size], span)
            index += size
        return op

    def _parse_named_operation(self) -> Operation:
        stack = self._parser_state.dialect_stack
        name_token = self._parse_optional_token(MLIRTokenKind.BARE_IDENT)
        if name_token is not None:
            op_type = self._op_type(name_token.text, name_token.span)
            stack.append(op_type.dialect_name())
            op = op_type.parse(self)
            stack.pop()
            if (location := self.parse_optional_location()) is not None:
                op.location = location
            return op
        span = self._current_token.span
        name = self.expect(self.parse_optional_str_literal, "operation name expected")
        op_type = self._op_type(name, span)
        stack.append(op_type.dialect_name())
        op = self._parse_generic_operation(op_type)
        stack.pop()
        return op

    def _op_type(self, name: str, span: Span) -> type[Operation]:
        op_type = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if op_type is None:
            dialect = name.partition(".")[0]
            known = dialect in self.ctx.registered_dialect_names or dialect in {
                d.name for d in self.ctx.loaded_dialects
            }
            what = f"dialect '{dialect}' has no such operation" if known else f"there is no dialect '{dialect}'"
            self.raise_error(f"unknown operation '{name}': {what}", span)
        return op_type

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        super()._register_ssa_definition(name, values, span)
        for value in values:
            if isinstance(value, BlockArgument) and value.location is UNKNOWN_LOC:
                value.location = self.lines.location(span.start)

    def resolve_operand(self, operand: UnresolvedOperand, type: Attribute) -> SSAValue:  # pyright: ignore[reportIncompatibleMethodOverride]
        if operand.operand_name not in self.ssa_values:
            self._forward_uses.setdefault(operand.operand_name, operand.span)
        return super().resolve_operand(operand, type)

    def parse_optional_type(self) -> TypeAttribute | None:
        token = self._current_token
        if token.kind is not MLIRTokenKind.BARE_IDENT:
            return super().parse_optional_type()
        if _WIDE_INTEGER.fullmatch(token.text):  # its range is computed by who checks a number of it
            self.raise_error(f"integers of '{token.text}' are too wide", token.span)
        match = _SIMPLE_TYPE.match(self.lexer.input.content, token.span.start)
        if match is None:
            return super().parse_optional_type()
        known = self._types.get(match[0])
        if known is not None:
            self._resume_from(match.end())
            return known
        type_ = super().parse_optional_type()
        if type_ is not None:
            self._types[match[0]] = type_
        return type_

    def parse_optional_argument(self, expect_type: bool = True) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """xDSL's, with the place that the text may state; an argument keeps its own."""
        argument = super().parse_optional_argument(expect_type)  # pyright: ignore[reportArgumentType, reportCallIssue]
        if argument is not None and self._current_token.text == "loc":
            self.parse_optional_location()
        return argument

    # Location aliases that are defined after their use

    def _parse_location(self) -> LocationAttr:
        token = self._current_token
        if token.kind == MLIRTokenKind.HASH_IDENT and token.text not in self.attribute_aliases:
            definition = self._later_aliases.get(token.text)
            if definition is not None:
                inner = LaminaParser(self.ctx, definition, self.lexer.input.name)
                inner.attribute_aliases = self.attribute_aliases
                inner._later_aliases = {k: v for k, v in self._later_aliases.items() if k != token.text}
                location = inner.parse_optional_location()
                assert location is not None, definition
                self.attribute_aliases[token.text] = location
        location = super()._parse_location()
        # of a range of lines and columns the start stays
        if isinstance(location, FileLineColLoc) and self.parse_optional_keyword("to"):
            self.parse_optional_integer()
            self.parse_punctuation(":")
            self.parse_integer()
        return location

    def _parse_alias_def(self) -> None:
        token = self._current_token
        if token.text in self._later_aliases:
            self.attribute_aliases.pop(token.text, None)
        super()._parse_alias_def()
        text = self.lexer.input.content[token.span.end : self._current_token.span.start]
        size = 1 + text.count(",") + sum(self._alias_sizes.get(name, 0) for name in _ALIAS.findall(text))
        if size > MOST_PARTS:
            self.raise_error(f"'{token.text}' stands for something of {size} parts, at most {MOST_PARTS}", token.span)
        self._alias_sizes[token.text] = size

    # Resources

    def _parse_dialect_resource_handle(self, dialect_name: str, interface: OpAsmDialectInterface) -> str:
        key = self.parse_optional_identifier()
        return self.parse_str_literal(" for resource handle") if key is None else key

    def _parse_builtin_dense_resource_attr(self) -> DenseResourceAttr:
        attr = super()._parse_builtin_dense_resource_attr()
        self._resource_uses.setdefault(attr.resource_handle.data, attr)
        return attr

    def _parse_resource(self, dialect_name: str, interface: OpAsmDialectInterface) -> None:
        key = self._parse_dialect_resource_handle(dialect_name, interface)
        self.parse_punctuation(":")
        start = self.pos
        try:
            self._blobs[key] = bytes_from_hex(self.parse_str_literal())
        except ValueError as error:
            self.raise_error(f"resource '{key}': {error}", start)

    def _parse_external_resources(self) -> None:
        self.parse_comma_separated_list(self.Delimiter.BRACES, self._parse_external_resource_group)

    def _parse_external_resource_group(self) -> None:
        group = self.file_metadata.setdefault(self.parse_identifier(), {})
        self.parse_punctuation(":")

        def entry() -> None:
            key = self.parse_identifier()
            self.parse_punctuation(":")
            flag = self.parse_optional_boolean()
            group[key] = self.parse_str_literal() if flag is None else flag

        self.parse_comma_separated_list(self.Delimiter.BRACES, entry)

    def _store_blobs(self, module: ModuleOp) -> None:
        """Keeps the weights that the module refers to; those that it only lists are bytes."""
        for key in dict.fromkeys((*self._resource_uses, *resource_keys(module))) if self._blobs else ():
            if key in self._blobs and key not in self.ctx.weights:
                use = self._resource_uses.get(key)
                self.ctx.weights.add(blob_to_array(key, self._blobs[key], use.type if use else None), key)
