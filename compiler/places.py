"""Places in the IR, as a person reads them: of locations and of ops."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute, Operation


@dataclass(frozen=True)
class Spot:
    """Where something is: `file`, `line` and `column` if in a text file; the name of the op if it is one."""

    place: str
    operation: str = ""
    file: str = ""
    line: int = 0
    column: int = 0


def described(where: Operation | Attribute) -> Spot:
    """The spot of an op or a location."""
    operation = where.name if isinstance(where, Operation) else ""
    location = where.location if isinstance(where, Operation) else where
    place = describe_location(location)
    found = file_location(location)
    if found is None:
        return Spot(place, operation)
    return Spot(place, operation, found.filename.data, found.line.data, found.column.data)


def file_location(location: Attribute) -> FileLineColLoc | None:
    """The first place in a text file that `location` speaks of, if any."""
    match location:
        case FileLineColLoc():
            return location
        case NameLoc():
            return file_location(location.location)
        case FusedLoc() if isinstance(location.locations, ArrayAttr):
            spots = (file_location(part) for part in location.locations)
            return next((spot for spot in spots if spot is not None), None)
        case CallSiteLoc():
            return file_location(location.callee)
        case _:
            return None


def describe_location(location: Attribute) -> str:
    """A location in the form a person reads: `file:line:col`, an ONNX node's name, or nothing."""
    match location:
        case FileLineColLoc():
            return f"{location.filename.data}:{location.line.data}:{location.column.data}"
        case NameLoc():
            inner = describe_location(location.location)
            return f"{location.desc.data} at {inner}" if inner else location.desc.data
        case FusedLoc() if isinstance(location.locations, ArrayAttr):
            return ", ".join(filter(None, (describe_location(part) for part in location.locations)))
        case CallSiteLoc():
            return describe_location(location.callee)
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
