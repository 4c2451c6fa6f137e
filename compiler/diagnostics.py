"""What is told to a person: one error type with a place, what was got, what was expected, what to do."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute, Operation


class LaminaError(Exception):
    """Bad input or an impossible request, said in one paragraph.

    Command-line tools print it on stderr and exit with 2; it never stands for a defect of ours.

    >>> str(LaminaError("expected 2 inputs, got 3", where="m.onnx", hint="drop one"))
    'm.onnx: error: expected 2 inputs, got 3 (drop one)'
    """

    def __init__(
        self,
        message: str,
        *,
        where: Operation | Attribute | str | None = None,
        hint: str | None = None,
        notes: tuple[str, ...] = (),
    ):
        super().__init__(message)
        self.message = message
        self.where = describe_place(where)
        self.hint = hint
        self.notes = notes

    def __str__(self) -> str:
        text = f"{self.where}: error: {self.message}" if self.where else f"error: {self.message}"
        if self.hint:
            text += f" ({self.hint})"
        return "\n".join([text, *(f"  note: {note}" for note in self.notes)])


@dataclass(frozen=True)
class Diagnostic:
    """One message about one place of the input; `severity` is error, warning, remark or note."""

    severity: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    notes: tuple[str, ...] = field(default=())


def describe_location(loc: Attribute) -> str:
    """A location in the form a person reads: `file:line:col`, an ONNX node's name, or nothing."""
    match loc:
        case FileLineColLoc():
            return f"{loc.filename.data}:{loc.line.data}:{loc.column.data}"
        case NameLoc():
            inner = describe_location(loc.location)
            return f"{loc.desc.data} at {inner}" if inner else loc.desc.data
        case FusedLoc() if isinstance(loc.locations, ArrayAttr):
            return ", ".join(filter(None, (describe_location(part) for part in loc.locations)))
        case CallSiteLoc():
            return describe_location(loc.callee)
        case _:
            return ""


def describe_place(where: Operation | Attribute | str | None) -> str:
    """Where an error is: a string as given, a location, or an op with its location."""
    if where is None:
        return ""
    if isinstance(where, str):
        return where
    if isinstance(where, Operation):
        place = describe_location(where.location)
        return f"{place}: '{where.name}'" if place else f"'{where.name}'"
    return describe_location(where)
