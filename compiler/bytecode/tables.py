"""The attributes and types of a bytecode file, each read when it is first needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from xdsl.dialects.builtin import DictionaryAttr, LocationAttr, StringAttr
from xdsl.ir import Attribute, Block, Data, Operation, Region, SSAValue, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..context import LaminaContext
from ..parsing import parse_attribute
from ..resources import blob_to_array
from .sections import ATTRIBUTE_OFFSETS, ATTRIBUTES, Header, OpName
from .stream import Stream

PORTABLE = "give a portable artefact (stablehlo.serialize_portable_artifact), or text"
"""The hint where a dialect is met whose bytecode is not stable."""
DEEPEST = 100
"""How deep attributes may nest."""
LARGEST = 1 << 18
"""How many parts an attribute may have, those that are there many times counted as often."""

Item = TypeVar("Item")


@irdl_attr_definition
class UnreadAttr(Data[str]):
    """An attribute of a dialect that nobody here knows, such as how a tensor is to be sharded.

    It is left out where it is an annotation; where it is needed there is an error.
    """

    name = "bytecode.unread"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        with parser.in_angle_brackets():
            return parser.parse_str_literal()

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.data)


@dataclass(frozen=True)
class RawOp:
    """An op as the file has it; attributes and properties are under the names of the dialect that wrote them."""

    name: OpName
    operands: list[SSAValue]
    result_types: list[Attribute]
    attributes: dict[str, Attribute]
    properties: Stream | dict[str, Attribute] | None
    regions: list[Region]
    successors: list[Block]
    parent: str
    """The name of the op around it, as the file has it."""


class DialectCodec(Protocol):
    """How a dialect keeps its attributes, types and ops in bytecode."""

    def attribute(self, reader: EntryReader) -> Attribute:
        """The attribute whose encoding is ahead."""
        ...

    def type(self, reader: EntryReader) -> TypeAttribute:
        """The type whose encoding is ahead."""
        ...

    def op(self, raw: RawOp, tables: Tables, context: LaminaContext) -> Operation:
        """The op. May raise LaminaError or VerifyException."""
        ...


@dataclass
class _Entry:
    dialect: str
    stream: Stream
    custom: bool
    value: Attribute | None = None
    size: int = 0
    busy: bool = False


class Tables:
    """Attributes and types by number."""

    def __init__(self, header: Header, context: LaminaContext, codecs: dict[str, DialectCodec]):
        self.header = header
        self.context = context
        self.codecs = codecs
        self._depth = 0
        self._resources: dict[int, str] = {}
        data, offsets = header.sections[ATTRIBUTES], header.sections[ATTRIBUTE_OFFSETS]
        counts = offsets.count(), offsets.count()
        self._attributes, self._types = (self._entries(count, data, offsets) for count in counts)
        if len(offsets):
            raise offsets.fail("unexpected bytes after the offsets of attributes and types")

    def _entries(self, count: int, data: Stream, offsets: Stream) -> list[_Entry]:
        entries: list[_Entry] = []
        while len(entries) < count:
            dialect = self.header.dialect(offsets)
            for _ in range(offsets.count()):
                size, custom = offsets.flagged()
                entries.append(_Entry(dialect, data.part(size), custom))
        if len(entries) > count:
            raise offsets.fail(f"expected {count} attributes or types, got {len(entries)}")
        return entries

    def attribute(self, stream: Stream, index: int) -> Attribute:
        """The attribute of that number; `stream` is where it is named."""
        return self._read(stream, self._attributes, index, "attribute").value  # pyright: ignore[reportReturnType]

    def type(self, stream: Stream, index: int) -> TypeAttribute:
        """The type of that number; `stream` is where it is named."""
        return self._read(stream, self._types, index, "type").value  # pyright: ignore[reportReturnType]

    def size(self, index: int, kind: str) -> int:
        """How many parts an attribute or type has that was read."""
        return (self._attributes if kind == "attribute" else self._types)[index].size

    def reader(self, stream: Stream) -> EntryReader:
        """What reads attributes and types whose numbers are in `stream`."""
        return EntryReader(self, stream)

    def resource(self, stream: Stream, type_: Attribute) -> str:
        """The key of the resource that the next number of `stream` names; its array is in the weight store."""
        index = stream.varint()
        if index >= len(self.header.resources):
            raise stream.fail(f"there is no resource {index}, only {len(self.header.resources)}")
        if index not in self._resources:
            key, blob = self.header.resources[index]
            if blob is not None:
                key = self.context.weights.add(blob_to_array(key, blob, type_), key)  # pyright: ignore
            self._resources[index] = key
        return self._resources[index]

    def _read(self, stream: Stream, entries: list[_Entry], index: int, what: str) -> _Entry:
        if index >= len(entries):
            raise stream.fail(f"there is no {what} {index}, only {len(entries)}")
        entry = entries[index]
        if entry.value is not None:
            return entry
        if entry.busy or self._depth > DEEPEST:
            raise entry.stream.fail(f"{what} {index} {'contains itself' if entry.busy else 'is nested too deeply'}")
        entry.busy = True
        self._depth += 1
        reader = self.reader(entry.stream)
        try:
            entry.value = self._decode(entry, reader, what)
        except VerifyException as error:
            raise entry.stream.fail(f"{what} {index}: {error}") from error
        finally:
            self._depth -= 1
        if len(entry.stream):
            raise entry.stream.fail(f"unexpected bytes after {what} {index}")
        entry.size, entry.busy = reader.size, False
        return entry

    def _decode(self, entry: _Entry, reader: EntryReader, what: str) -> Attribute:
        codec = self.codecs.get(entry.dialect)
        if codec is None and what == "attribute":
            entry.stream.at = entry.stream.end
            return UnreadAttr(entry.dialect)
        if not entry.custom:
            value = parse_attribute(self.context, entry.stream.text())
        elif codec is None:
            raise entry.stream.fail(f"types of dialect '{entry.dialect}' cannot be read from bytecode", PORTABLE)
        else:
            value = codec.attribute(reader) if what == "attribute" else codec.type(reader)
        if what == "type" and not isinstance(value, TypeAttribute):
            raise entry.stream.fail(f"expected a type, got {value}")
        return value


class EntryReader:
    """Reads one encoded thing; attributes and types in it are numbers of the tables."""

    def __init__(self, tables: Tables, stream: Stream):
        self.tables = tables
        self.stream = stream
        self.size = 1

    def attribute(self) -> Attribute:
        """The attribute that the next number names."""
        return self._attribute_at(self.stream.varint())

    def optional_attribute(self) -> Attribute | None:
        """The same, or None where there is none."""
        index, present = self.stream.flagged()
        return self._attribute_at(index) if present else None

    def _attribute_at(self, index: int) -> Attribute:
        value = self.tables.attribute(self.stream, index)
        self._grow(self.tables.size(index, "attribute"))
        return value

    def type(self) -> TypeAttribute:
        """The type that the next number names."""
        index = self.stream.varint()
        value = self.tables.type(self.stream, index)
        self._grow(self.tables.size(index, "type"))
        return value

    def list(self, read: Callable[[], Item]) -> list[Item]:
        """How many, and so many things."""
        return [read() for _ in range(self.stream.count())]

    def attributes(self) -> list[Attribute]:
        """A list of attributes."""
        return self.list(self.attribute)

    def types(self) -> list[TypeAttribute]:
        """A list of types."""
        return self.list(self.type)

    def string(self) -> str:
        """The string that the next number names."""
        return self.tables.header.string(self.stream)

    def dictionary(self) -> DictionaryAttr:
        """Pairs of a name and an attribute; those that nobody can read are left out."""
        pairs = self.list(lambda: (self.string_attribute().data, self.attribute()))
        return DictionaryAttr({key: value for key, value in pairs if not isinstance(value, UnreadAttr)})

    def string_attribute(self) -> StringAttr:
        """The next attribute, which must be a string."""
        value = self.attribute()
        if not isinstance(value, StringAttr):
            raise self.stream.fail(f"expected a string, got {value}")
        return value

    def location(self) -> LocationAttr:
        """The next attribute, which must be a location."""
        value = self.attribute()
        if not isinstance(value, LocationAttr):
            raise self.stream.fail(f"expected a location, got {value}")
        return value

    def _grow(self, size: int) -> None:
        self.size += size
        if self.size > LARGEST:
            raise self.stream.fail("an attribute has too many parts")
