"""Objects linked once, when they are made, into an image that a process only maps: no linker, no LLVM at run time.

    magic "LAMI0001", length of the header (8 bytes)
    header (JSON)  bytes, text: the size in memory and that of its executable part, whole pages
                   words: [offset, symbol of libc or offset in the image] of each address to fill in
                   exports: symbol -> offset
    contents       code, and calls of libc through `words`; then constants and words

Code is position independent, so that nothing but the words is written. x86-64 and ELF; elsewhere LLVM's JIT links.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...compiler.diagnostics import LaminaError

MAGIC = b"LAMI0001"
PAGE = 4096
HEAD = struct.Struct("<8sQ")

_FILE = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_X86_64 = 62
_SYMBOLS, _WITH_ADDENDS, _ZEROS = 2, 4, 8  # kinds of sections
_ALLOCATED, _EXECUTABLE = 2, 4
_LOCAL, _WEAK = 0, 2
_RESERVED = 0xFF00  # section numbers from here on are not sections
_ABSOLUTE, _RELATIVE, _CALL, _FROM_GOT = 1, 2, 4, (9, 41, 42)  # relocations of x86-64
_JUMP = b"\xff\x25"  # jmp *word(%rip)


class Unlinkable(LaminaError):
    """Objects of another machine or format, or with what this linker does not know."""


@dataclass
class _Section:
    contents: bytes
    align: int
    executable: bool
    offset: int = -1


@dataclass
class _Symbol:
    name: str
    section: _Section | None  # None: defined elsewhere
    value: int
    binding: int


@dataclass
class _Object:
    """One relocatable ELF file."""

    sections: dict[int, _Section] = field(default_factory=dict[int, _Section])
    symbols: list[_Symbol] = field(default_factory=list[_Symbol])
    relocations: list[tuple[_Section, int, int, _Symbol, int]] = field(
        default_factory=list[tuple[_Section, int, int, _Symbol, int]]
    )  # where, offset, kind, to what, addend


def _parse(data: bytes) -> _Object:
    if data[:6] != b"\x7fELF\x02\x01":
        raise Unlinkable("not a 64-bit little-endian ELF object")
    head = _FILE.unpack_from(data)
    if head[2] != _X86_64:
        raise Unlinkable("not an object of x86-64")
    headers = [_SECTION.unpack_from(data, head[6] + i * head[11]) for i in range(head[12])]
    names = headers[head[13]]
    result = _Object()
    for i, (name, kind, flags, _, offset, size, _, _, align, _) in enumerate(headers):
        if flags & _ALLOCATED and _text(data, names[4] + name) != ".eh_frame":  # nothing unwinds through kernels
            contents = bytes(size) if kind == _ZEROS else data[offset : offset + size]
            result.sections[i] = _Section(contents, max(1, align), bool(flags & _EXECUTABLE))
    for _, kind, _, _, offset, size, link, _, _, entry in headers:
        if kind == _SYMBOLS:
            result.symbols = [
                _symbol(data, headers[link][4], result, _SYMBOL.unpack_from(data, at))
                for at in range(offset, offset + size, entry)
            ]
    for _, kind, _, _, offset, size, _, of, _, entry in headers:
        if kind == _WITH_ADDENDS and of in result.sections:
            for at in range(offset, offset + size, entry):
                where, info, addend = _RELOCATION.unpack_from(data, at)
                target = result.symbols[info >> 32]
                result.relocations.append((result.sections[of], where, info & 0xFFFFFFFF, target, addend))
    return result


def _symbol(data: bytes, names: int, of: _Object, entry: tuple[int, int, int, int, int, int]) -> _Symbol:
    name, info, _, section, value, _ = entry
    if section >= _RESERVED and info & 15 != 4:  # 4: the name of the source file
        raise Unlinkable("a symbol that is in no section")
    return _Symbol(_text(data, names + name), of.sections.get(section), value, info >> 4)


def _text(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode()


class _Linker:
    """Lays sections out one after the other and fills in what they say of each other."""

    def __init__(self, objects: Sequence[_Object]):
        self.objects = objects
        self.globals: dict[str, _Symbol] = {}
        for symbol in (symbol for each in objects for symbol in each.symbols):
            known = self.globals.get(symbol.name)
            if symbol.section is None or symbol.binding == _LOCAL:
                continue
            if known is not None and _WEAK not in (known.binding, symbol.binding):
                raise Unlinkable(f"'{symbol.name}' is defined twice")
            if known is None or known.binding == _WEAK:
                self.globals[symbol.name] = symbol
        self.image = bytearray()
        self.slots: dict[str | int, int] = {}  # what each word for code holds
        self.words: list[tuple[int, str | int]] = []
        self.jumps: dict[str, int] = {}

    def link(self, exports: Sequence[str]) -> bytes:
        """The image, which gives the addresses of `exports`."""
        self._place(executable=True)
        outside = {s.name for o in self.objects for *_, s, _ in o.relocations if self._defined(s) is None}
        for name in sorted(outside):
            self.jumps[name] = len(self.image)
            self.image += _JUMP + bytes(6)
        self._fill_page()
        text = len(self.image)
        self._place(executable=False)
        self._align(8)
        for each in self.objects:
            for relocation in each.relocations:
                self._relocate(*relocation)
        for name, offset in self.jumps.items():
            struct.pack_into("<i", self.image, offset + 2, self._slot(name) - offset - 6)
        self._fill_page()
        missing = [name for name in exports if name not in self.globals]
        if missing:
            raise Unlinkable(f"'{missing[0]}' is not defined")
        words = self.words + [(offset, target) for target, offset in self.slots.items()]
        told = {
            "bytes": len(self.image),
            "text": text,
            "words": words,
            "exports": {name: self._address(self.globals[name]) for name in exports},
        }
        header = json.dumps(told).encode()
        return HEAD.pack(MAGIC, len(header)) + header + bytes(self.image)

    def _place(self, executable: bool) -> None:
        for section in (s for each in self.objects for s in each.sections.values() if s.executable == executable):
            self._align(section.align)
            section.offset = len(self.image)
            self.image += section.contents

    def _align(self, to: int) -> None:
        self.image += bytes(-len(self.image) % to)

    def _fill_page(self) -> None:
        self._align(PAGE)

    def _defined(self, symbol: _Symbol) -> _Symbol | None:
        return symbol if symbol.binding == _LOCAL else self.globals.get(symbol.name)

    def _address(self, symbol: _Symbol) -> int:
        assert symbol.section is not None
        return symbol.section.offset + symbol.value

    def _slot(self, target: str | int) -> int:
        """The offset of the word that holds an address of libc's or of the image's."""
        if target not in self.slots:
            self.slots[target] = len(self.image)
            self.image += bytes(8)
        return self.slots[target]

    def _relocate(self, section: _Section, where: int, kind: int, symbol: _Symbol, addend: int) -> None:
        place = section.offset + where
        defined = self._defined(symbol)
        if kind == _ABSOLUTE and not section.executable and defined is not None:
            self.words.append((place, self._address(defined) + addend))
            return
        if kind in _FROM_GOT:
            target = self._slot(symbol.name if defined is None else self._address(defined))
        elif defined is not None and kind in (_RELATIVE, _CALL):
            target = self._address(defined)
        elif kind == _CALL:
            target = self.jumps[symbol.name]
        else:
            raise Unlinkable(f"relocation {kind} of '{symbol.name}'")
        struct.pack_into("<i", self.image, place, target + addend - place)


def link_image(objects: Sequence[bytes], exports: Sequence[str]) -> bytes:
    """The image of `objects` that gives the addresses of `exports`.

    Raises Unlinkable for objects that are not of x86-64, and LaminaError for a symbol defined twice or not at all.
    """
    return _Linker([_parse(data) for data in objects]).link(exports)
