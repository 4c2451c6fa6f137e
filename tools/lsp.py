"""`lamina lsp`: a language server for `.lam` files on standard input and output.

Diagnostics when a file is opened or changed, the inferred type of what the cursor is on, go to definition,
formatting. The protocol is spoken by `pygls` (`pip install 'lamina[lsp]'`); what is said comes from the checker.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from .. import __version__
from ..compiler.diagnostics import LaminaError
from ..dialects.dsl.check.values import FunctionValue, TupleValue, TypeValue, Value
from ..dialects.dsl.language.problems import Problem
from ..dialects.dsl.language.tree import Identifier, Span
from ..dialects.dsl.load import STANDARD, Analysis, Files, analyse, load_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command takes none of its own."""
    parser.add_argument("--stdio", action="store_true", help="accepted for editors that ask for it; always so")


def main(args: argparse.Namespace) -> int:
    """Serves until the editor leaves."""
    try:
        server = build_server()
    except ImportError as error:
        raise LaminaError("the language server needs pygls", hint="pip install 'lamina[lsp]'") from error
    server.start_io()
    return 0


class Document:
    """One open file: its text, what the checker found, and positions as the protocol counts them."""

    def __init__(self, uri: str, text: str):
        path = Path(unquote(urlparse(uri).path))
        self.uri = uri
        self.name = str(path)
        self.text = text
        self.files: Files = load_file(text, self.name, path.parent)
        self.analysis: Analysis = analyse(self.files)

    def offset(self, line: int, character: int) -> int:
        """The offset of a position; characters count in UTF-16 units."""
        lines = self.text.split("\n")
        if line >= len(lines):
            return len(self.text)
        units = place = 0
        for place, letter in enumerate(lines[line] + "\n"):  # noqa: B007
            if units >= character:
                break
            units += _units(letter)
        return sum(len(each) + 1 for each in lines[:line]) + place

    def problems(self) -> list[Problem]:
        """What is wrong in this file."""
        return [p for p in self.analysis.problems.found if p.span.file == self.name]

    def hover(self, offset: int) -> tuple[Span, str] | None:
        """What is known of the smallest thing at an offset that something is known of."""
        node = _smallest(self.analysis.types, self.name, offset)
        if node is None:
            return None
        told = _told(self.analysis.types[node])
        name = self.text[node.span.start : node.span.end]
        if isinstance(node, Identifier) or name.isidentifier():
            told = told if told.startswith("fn ") else f"{name}: {told}"
        return node.span, told

    def definition(self, offset: int) -> Span | None:
        """Where the name at an offset is defined."""
        node = _smallest(self.analysis.definitions, self.name, offset)
        return None if node is None else self.analysis.definitions[node].span

    def text_of(self, file: str) -> str:
        """The text of a file of the program."""
        return self.files.texts.get(file, self.text)


def _units(text: str) -> int:
    return sum(2 if ord(letter) > 0xFFFF else 1 for letter in text)


def position(text: str, offset: int) -> tuple[int, int]:
    """Line and character, from 0, in UTF-16 units, of an offset.

    >>> position("a\\n\\N{GRINNING FACE}b", 3)
    (1, 2)
    """
    before = text[:offset]
    line = before.count("\n")
    return line, _units(before[before.rfind("\n") + 1 :])


def _smallest(nodes: Any, file: str, offset: int) -> Any:
    around = [n for n in nodes if n.span.file == file and n.span.start <= offset <= n.span.end]
    return min(around, key=lambda n: (n.span.end - n.span.start, not isinstance(n, Identifier)), default=None)


def _told(known: Any) -> str:
    match known:
        case Value():
            return f"{known.type}" if known.const is None else f"{known.type} = {known.const}"
        case TupleValue():
            return f"({', '.join(_told(item) for item in known.items)})"
        case FunctionValue():
            return "\n".join(str(s) for s in known.overloads) or f"{known.name}(…)"
        case TypeValue():
            return f"type {known.type}"
        case _:
            return str(known)


def build_server() -> Any:
    """The server, ready to be started. Raises ImportError without pygls."""
    from lsprotocol import types as lsp
    from pygls.lsp.server import LanguageServer

    server = LanguageServer("lamina", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Full)
    documents: dict[str, Document] = {}

    def range_of(span: Span, text: str) -> Any:
        start, end = position(text, span.start), position(text, span.end)
        return lsp.Range(lsp.Position(*start), lsp.Position(*end))

    def location(span: Span, document: Document) -> Any:
        return lsp.Location(uri_of(span.file), range_of(span, document.text_of(span.file)))

    def diagnostic(problem: Problem, document: Document) -> Any:
        related = [
            lsp.DiagnosticRelatedInformation(
                lsp.Location(uri_of(label.span.file), range_of(label.span, document.text_of(label.span.file))),
                label.text,
            )
            for label in problem.labels
            if label.text
        ]
        error = problem.severity == "error"
        return lsp.Diagnostic(
            range=range_of(problem.span, document.text),
            message=f"{problem.message}\n{problem.hint}" if problem.hint else problem.message,
            severity=lsp.DiagnosticSeverity.Error if error else lsp.DiagnosticSeverity.Warning,
            code=problem.code,
            source="lamina",
            related_information=related or None,
        )

    def uri_of(file: str) -> str:
        path = STANDARD / file.removeprefix("std/") if file.startswith("std/") else Path(file)
        return path.absolute().as_uri()

    def read(uri: str) -> Document:
        text = server.workspace.get_text_document(uri).source
        found = documents.get(uri)
        if found is None or found.text != text:
            found = documents[uri] = Document(uri, text)
        return found

    def publish(uri: str) -> None:
        document = read(uri)
        found = [diagnostic(problem, document) for problem in document.problems()]
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri=uri, diagnostics=found))

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: Any) -> None:
        publish(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: Any) -> None:
        publish(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: Any) -> None:
        documents.pop(params.text_document.uri, None)

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: Any) -> Any:
        document = read(params.text_document.uri)
        found = document.hover(document.offset(params.position.line, params.position.character))
        if found is None:
            return None
        content = lsp.MarkupContent(lsp.MarkupKind.Markdown, f"```lamina\n{found[1]}\n```")
        return lsp.Hover(content, range_of(found[0], document.text))

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def definition(params: Any) -> Any:
        document = read(params.text_document.uri)
        span = document.definition(document.offset(params.position.line, params.position.character))
        return None if span is None else location(span, document)

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def formatting(params: Any) -> Any:
        from .dsl.reading import WrongProgram, format

        document = read(params.text_document.uri)
        try:
            text = format(document.text)
        except WrongProgram:
            return None  # its syntax errors are shown already
        end = position(document.text, len(document.text))
        return [lsp.TextEdit(lsp.Range(lsp.Position(0, 0), lsp.Position(*end)), text)]

    return server


__all__ = ["Document", "add_arguments", "build_server", "main", "position"]
