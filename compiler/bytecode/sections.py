"""The sections of a bytecode file, and the tables in them that name things: strings, dialects, ops, resources."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..diagnostics import LaminaError
from .stream import Stream

MAGIC = b"ML\xefR"
OLDEST, NEWEST = 0, 6

STRING, DIALECT, ATTRIBUTES, ATTRIBUTE_OFFSETS, IR, RESOURCE, RESOURCE_OFFSETS, DIALECT_VERSION, PROPERTIES = range(9)
_NAMES = (
    "string",
    "dialect",
    "attribute",
    "attribute offset",
    "IR",
    "resource",
    "resource offset",
    "dialect version",
    "properties",
)


@dataclass(frozen=True)
class OpName:
    """The name of an op, and whether its dialect was known to the producer, which decides how properties are kept."""

    dialect: str
    name: str
    registered: bool

    def __str__(self) -> str:
        return f"{self.dialect}.{self.name}"


@dataclass
class Header:
    """What the file says before any IR."""

    version: int
    producer: str
    sections: dict[int, Stream]
    strings: list[str] = field(default_factory=list[str])
    dialects: list[str] = field(default_factory=list[str])
    op_names: list[OpName] = field(default_factory=list[OpName])
    resources: list[tuple[str, memoryview | None]] = field(default_factory=list[tuple[str, "memoryview | None"]])
    properties: list[Stream] = field(default_factory=list[Stream])

    def string(self, stream: Stream) -> str:
        """The string that the next number of `stream` names."""
        return self.string_at(stream, stream.varint())

    def string_at(self, stream: Stream, index: int) -> str:
        """The string of that number."""
        if index >= len(self.strings):
            raise stream.fail(f"there is no string {index}, only {len(self.strings)}")
        return self.strings[index]

    def dialect(self, stream: Stream) -> str:
        """The dialect that the next number of `stream` names."""
        index = stream.varint()
        if index >= len(self.dialects):
            raise stream.fail(f"there is no dialect {index}, only {len(self.dialects)}")
        return self.dialects[index]


def read_header(data: bytes | memoryview, name: str) -> Header:
    """All tables of a file but those of attributes and types. Raises LaminaError for a damaged file."""
    stream = Stream(memoryview(data), name)
    if bytes(stream.take(min(4, len(stream)))) != MAGIC:
        raise LaminaError("is not MLIR bytecode: it does not begin with 'ML\\xefR'", where=name)
    version = stream.varint()
    if not OLDEST <= version <= NEWEST:
        raise stream.fail(f"bytecode of version {version} cannot be read, only {OLDEST} to {NEWEST}")
    header = Header(version, stream.text(), {})
    while len(stream):
        kind, section = read_section(stream)
        if kind in header.sections:
            raise stream.fail(f"the {_NAMES[kind]} section is there twice")
        header.sections[kind] = section
    for kind in (STRING, DIALECT, ATTRIBUTES, ATTRIBUTE_OFFSETS, IR):
        if kind not in header.sections:
            raise stream.fail(f"there is no {_NAMES[kind]} section")
    _read_strings(header, header.sections[STRING])
    _read_dialects(header, header.sections[DIALECT])
    if RESOURCE in header.sections and RESOURCE_OFFSETS in header.sections:
        _read_resources(header, header.sections[RESOURCE], header.sections[RESOURCE_OFFSETS])
    if PROPERTIES in header.sections:
        _read_properties(header, header.sections[PROPERTIES])
    return header


def read_section(stream: Stream) -> tuple[int, Stream]:
    """The kind and the content of the next section."""
    head = stream.byte()
    kind, aligned = head & 0x7F, head >> 7
    if kind >= len(_NAMES):
        raise stream.fail(f"a section of the unknown kind {kind}")
    length = stream.varint()
    if aligned:
        stream.align(stream.varint())
    return kind, stream.part(length)


def _read_strings(header: Header, section: Stream) -> None:
    lengths = [section.varint() for _ in range(section.count())]
    end = section.end
    for length in lengths:  # of the last string first
        if not 0 < length <= end - section.at:
            raise section.fail(f"a string of {length} bytes does not fit its section")
        header.strings.append(section.decoded(end - length, end - 1))
        end -= length
    if end != section.at:
        raise section.fail("unexpected bytes between the lengths of strings and the strings")
    header.strings.reverse()


def _read_dialects(header: Header, section: Stream) -> None:
    for _ in range(section.count()):
        index, versioned = section.flagged() if header.version >= 1 else (section.varint(), False)
        header.dialects.append(header.string_at(section, index))
        if versioned and read_section(section)[0] != DIALECT_VERSION:
            raise section.fail("expected the version of a dialect")
    if header.version >= 4:
        section.varint()  # the number of ops
    while len(section):
        dialect = header.dialect(section)
        for _ in range(section.count()):
            index, registered = section.flagged() if header.version >= 5 else (section.varint(), True)
            header.op_names.append(OpName(dialect, header.string_at(section, index), registered))


def _read_resources(header: Header, section: Stream, offsets: Stream) -> None:
    """Blobs that belong to dialects, in the order that handles count them; the others are passed over."""
    for _ in range(offsets.count()):
        header.string(offsets)
        for _ in range(offsets.count()):
            header.string(offsets)
            section.skip(offsets.varint())
            offsets.byte()
    while len(offsets):
        header.dialect(offsets)
        for _ in range(offsets.count()):
            key, entry = header.string(offsets), section.part(offsets.varint())
            header.resources.append((key, _blob(entry) if offsets.byte() == 0 and len(entry) else None))


def _blob(entry: Stream) -> memoryview:
    alignment, size = entry.varint(), entry.varint()
    entry.align(alignment)
    return entry.take(size)


def _read_properties(header: Header, section: Stream) -> None:
    for _ in range(section.count()):
        header.properties.append(section.part(section.varint()))
