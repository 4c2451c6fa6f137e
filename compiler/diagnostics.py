"""What is told to a person: one error type with a place, what was got, what was expected, what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.ir import Attribute, Operation


@dataclass(frozen=True)
class Diagnostic:
    """One message about one place of the input; `severity` is error, warning, remark or note.

    `file`, `line` and `column` are set when the place is in a text file; `place` is what a person reads, which
    may also be the name of an ONNX node. `notes` are further places, each a Diagnostic of its own.
    """

    severity: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    place: str = ""
    notes: tuple[Diagnostic, ...] = field(default=())

    @staticmethod
    def at(
        severity: str, message: str, where: Operation | Attribute | str | None, notes: tuple[Diagnostic, ...] = ()
    ) -> Diagnostic:
        """A diagnostic about an op (its name opens the message), a location, or a place given as text."""
        if isinstance(where, str) or where is None:
            return Diagnostic(severity, message, place=where or "", notes=notes)
        from .places import described  # heavy: only who speaks of the IR pays

        spot = described(where)
        if spot.operation and severity != "note":
            message = f"'{spot.operation}' op {message}"
        return Diagnostic(severity, message, spot.file, spot.line, spot.column, place=spot.place, notes=notes)

    def __str__(self) -> str:
        text = f"{self.severity}: {self.message}"
        return f"{self.place}: {text}" if self.place else text


class LaminaError(Exception):
    """Bad input or an impossible request, said in one paragraph.

    Command-line tools print it on stderr and exit with 2; it never stands for a defect of ours.
    `where` is an op, a location, or text that names the place; `notes` are texts or diagnostics of other places.

    >>> str(LaminaError("expected 2 inputs, got 3", where="m.onnx", hint="drop one"))
    'm.onnx: error: expected 2 inputs, got 3 (drop one)'
    """

    def __init__(
        self,
        message: str,
        *,
        where: Operation | Attribute | str | None = None,
        hint: str | None = None,
        notes: tuple[str | Diagnostic, ...] = (),
    ):
        super().__init__(message)
        self.message = message
        self.where = _place_of(where)
        self.hint = hint
        self.notes = tuple(Diagnostic("note", n) if isinstance(n, str) else n for n in notes)
        text = f"{message} ({hint})" if hint else message
        self.diagnostic = Diagnostic.at("error", text, where, self.notes)

    def __str__(self) -> str:
        return "\n".join([str(self.diagnostic), *(f"  {note}" for note in self.notes)])


class ValuesNeeded(LaminaError):
    """What is compiled depends on more than shapes: on the values of some inputs, by their places in `inputs`.

    Whoever has the values compiles again with them put in; to anybody else it is an error like others.
    """

    def __init__(
        self,
        message: str,
        inputs: Iterable[int],
        *,
        where: Operation | Attribute | str | None = None,
        hint: str | None = None,
    ):
        super().__init__(message, where=where, hint=hint)
        self.inputs = tuple(sorted(inputs))


def _place_of(where: Operation | Attribute | str | None) -> str:
    if isinstance(where, str) or where is None:
        return where or ""
    from .places import describe_place  # heavy: only who speaks of the IR pays

    return describe_place(where)


class DiagnosticEngine:
    """Where passes report what is not an error: remarks and warnings. A driver listens; nobody else need."""

    def __init__(self) -> None:
        self.listeners: list[Callable[[Diagnostic], None]] = []

    def emit(self, severity: str, message: str, where: Operation | Attribute | str | None = None) -> None:
        """Tells every listener. `severity` is warning, remark or note."""
        self.tell(Diagnostic.at(severity, message, where))

    def tell(self, diagnostic: Diagnostic) -> None:
        """Passes `diagnostic` on to every listener."""
        for listener in self.listeners:
            listener(diagnostic)


def render(diagnostic: Diagnostic, sources: Mapping[str, str]) -> str:
    """`diagnostic` with the source line it speaks of and a caret below, when `sources` has the file; notes follow.

    >>> print(render(Diagnostic("error", "no such op", "a.mlir", 1, 3, "a.mlir:1:3"), {"a.mlir": "  foo.bar"}))
    a.mlir:1:3: error: no such op
      foo.bar
      ^
    """
    lines = [str(diagnostic)]
    source = sources.get(diagnostic.file)
    if source is not None and diagnostic.line > 0:
        text = _line_of(source, diagnostic.line)
        if len(text) <= 400:
            lines += [text, " " * (diagnostic.column - 1) + "^"]
    lines += [render(note, sources) for note in diagnostic.notes]
    return "\n".join(lines)


def _line_of(source: str, number: int) -> str:
    start = 0
    for _ in range(number - 1):
        start = source.find("\n", start) + 1
        if start == 0:
            return ""
    end = source.find("\n", start)
    return source[start : end if end >= 0 else len(source)].replace("\t", " ")
