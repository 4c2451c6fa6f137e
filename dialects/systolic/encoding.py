"""Instructions as records, and as words of 128 bits."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from itertools import chain
from operator import itemgetter, le
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from ...compiler.diagnostics import LaminaError
from .fields import NONE, Field
from .instructions import BY_OPCODE, LAYOUT_NAMES, LAYOUTS, OPCODE_BITS, SPECS, WORD_BITS, Spec

WORD_BYTES = WORD_BITS // 8
_HALF = (1 << 64) - 1


class Instruction(tuple[int, ...]):
    """One instruction: the values of its fields in their order, which are attributes as well.

    >>> instruction("wl", src=64, rows=4, wait0=2)
    systolic.wl src=0x40 rows=4 wait(2)
    """

    __slots__ = ()
    spec: ClassVar[Spec]
    names: ClassVar[tuple[str, ...]]

    if TYPE_CHECKING:
        count: int  # pyright: ignore[reportIncompatibleMethodOverride]

        def __getattr__(self, name: str) -> int: ...

    def values(self) -> tuple[int, ...]:
        """The values of the fields, in their order."""
        return tuple(self)

    def changed(self, **values: int) -> Instruction:
        """The instruction with other values of some fields."""
        told = list(self)
        for name, value in values.items():
            told[self.names.index(name)] = value
        return type(self)(told)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and tuple.__eq__(self, cast("Instruction", other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple[int, ...].__hash__  # of its own kind alone, which costs half

    def __repr__(self) -> str:
        return f"systolic.{self.spec.name}{text_of(self)}"


def _record(spec: Spec) -> type[Instruction]:
    fields: dict[str, Any] = {field.name: property(itemgetter(at)) for at, field in enumerate(spec.fields)}
    names = tuple(field.name for field in spec.fields)
    return type(spec.name.capitalize(), (Instruction,), {"__slots__": (), "spec": spec, "names": names, **fields})


RECORDS: dict[str, type[Instruction]] = {name: _record(spec) for name, spec in SPECS.items()}
_LOW = {name: tuple(field.low for field in spec.fields) for name, spec in SPECS.items()}
_HIGH = {name: tuple(field.high for field in spec.fields) for name, spec in SPECS.items()}


def instruction(kind: str, /, **values: int | str | float) -> Instruction:
    """The instruction called `kind`; choices may be given by their word.

    >>> instruction("mm", a=0, acc=0, n0=4, swap=1).n1
    1

    Raises LaminaError for a field that is missing, unknown or out of its range.
    """
    spec = SPECS.get(kind)
    if spec is None:
        raise LaminaError(f"there is no instruction '{kind}'", hint=f"one of {', '.join(SPECS)}")
    result = RECORDS[kind](_filled(spec.fields, values, kind))
    check(result)
    return result


def _filled(fields: Sequence[Field], values: dict[str, Any], what: str) -> list[int]:
    rest = dict(values)
    found: list[int] = []
    for field in fields:
        value = rest.pop(field.name, field.default)
        if value is None:
            raise LaminaError(f"'{field.name}' of {what} is missing", hint=field.doc)
        if isinstance(value, str):
            if value not in field.choices:
                raise LaminaError(f"'{field.name}' of {what} is '{value}'", hint=f"one of {', '.join(field.choices)}")
            value = field.choices.index(value)
        elif field.kind == "float" and isinstance(value, float):
            value = float_bits(value)
        found.append(int(value))
    if rest:
        known = ", ".join(field.name for field in fields)
        raise LaminaError(f"{what} has no '{next(iter(rest))}'", hint=f"it has {known}" if known else None)
    return found


def check(instruction: Instruction, where: str | None = None) -> None:
    """Raises LaminaError if a value is one that the field cannot hold, or the instruction makes no sense by itself."""
    spec = instruction.spec
    if not (all(map(le, _LOW[spec.name], instruction)) and all(map(le, instruction, _HIGH[spec.name]))):
        for field, value in zip(spec.fields, instruction, strict=True):
            _check_range(field, value, spec.name, where)
    if spec.has_semaphores:
        for first, second in ((0, 1), (2, 3)):
            a, b = instruction[first], instruction[second]
            if b != NONE and (a == NONE or a >= b):
                names = instruction.names
                raise LaminaError(
                    f"{names[second]} of {spec.name} is {b}, {names[first]} {a}",
                    where=where,
                    hint="two semaphores are told in rising order; one alone is the first",
                )
    for rule in spec.rules:
        if all((getattr(instruction, name) == value) == same for name, same, value in rule.conditions):
            raise LaminaError(f"{spec.name}: {rule.problem}", where=where)


def _check_range(field: Field, value: int, what: str, where: str | None = None) -> None:
    if not field.low <= value <= field.high:
        raise LaminaError(
            f"'{field.name}' of {what} is {value}", where=where, hint=f"from {field.low} to {field.high}: {field.doc}"
        )


def encode(instruction: Instruction) -> int:
    """The word of an instruction, as a number.

    >>> hex(encode(instruction("loop", count=3)))
    '0x3000008'
    """
    spec = instruction.spec
    word = spec.opcode
    for field in spec.fields:
        word |= field.pack(getattr(instruction, field.name)) << spec.offsets[field.name]
    return word


def decode(word: int, where: str | None = None) -> Instruction:
    """The instruction in a word. Raises LaminaError for an unknown opcode, an illegal value or a reserved bit."""
    spec = BY_OPCODE.get(word & ((1 << OPCODE_BITS) - 1))
    if spec is None:
        raise LaminaError(
            f"no instruction has opcode {word & ((1 << OPCODE_BITS) - 1)}", where=where, hint=f"word {word:#034x}"
        )
    values = [field.unpack((word >> spec.offsets[field.name]) & ((1 << field.bits) - 1)) for field in spec.fields]
    result = RECORDS[spec.name](values)
    check(result, where)
    if encode(result) != word:
        raise LaminaError(f"reserved bits of {spec.name} are not 0", where=where, hint=f"word {word:#034x}")
    return result


def encode_all(program: Sequence[Instruction]) -> bytes:
    """The words of instructions, little-endian, one after the other: all of a kind at once."""
    words = np.zeros((len(program), 2), np.uint64)
    places: dict[str, list[int]] = {}
    for at, instruction in enumerate(program):
        places.setdefault(instruction.spec.name, []).append(at)
    for name, ats in places.items():
        spec = SPECS[name]
        wide = any(field.bits == WORD_BITS // 2 for field in spec.fields)  # these alone are unsigned throughout
        values = chain.from_iterable([program[at] for at in ats])
        rows = np.fromiter(values, np.uint64 if wide else np.int64, len(ats) * len(spec.fields)).view(np.uint64)
        words[ats] = _packed(spec, rows.reshape(len(ats), len(spec.fields)))
    return words.astype("<u8").tobytes()


def _packed(spec: Spec, rows: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The words of instructions of one kind, whose fields are columns, as two halves."""
    halves = np.zeros((len(rows), 2), np.uint64)
    halves[:, 0] = spec.opcode
    for column, field in enumerate(spec.fields):
        offset, values = spec.offsets[field.name], rows[:, column]
        if field.kind == "optional":
            values = np.where(values == np.uint64(NONE & _HALF), 0, values | np.uint64(1 << (field.bits - 1)))
        values = values & np.uint64((1 << field.bits) - 1)
        if offset < 64:
            halves[:, 0] |= values << np.uint64(offset)
            if offset + field.bits > 64:
                halves[:, 1] |= values >> np.uint64(64 - offset)
        else:
            halves[:, 1] |= values << np.uint64(offset - 64)
    return halves


def decode_all(data: bytes, where: str = "program") -> list[Instruction]:
    """The instructions in bytes. Raises LaminaError that tells which one is illegal."""
    if len(data) % WORD_BYTES:
        raise LaminaError(f"{len(data)} bytes are no whole number of instructions", where=where)
    return [
        decode(int.from_bytes(data[at : at + WORD_BYTES], "little"), f"{where}, instruction {at // WORD_BYTES}")
        for at in range(0, len(data), WORD_BYTES)
    ]


def layout_value(name: str, **values: int | float) -> int:
    """The 64 bits of a configuration register laid out as `name`; floats are given as floats.

    >>> hex(layout_value("stride", s0=4, s1=64, d1=8))
    '0x8000040000004'
    """
    layout = LAYOUTS[name]
    bits, offset = 0, 0
    for field, value in zip(layout.fields, _filled(layout.fields, values, name), strict=True):
        _check_range(field, value, name)
        bits |= field.pack(value) << offset
        offset += field.bits
    return bits


def layout_fields(name: str, value: int) -> dict[str, int]:
    """The fields of a configuration register laid out as `name`; floats as their bits."""
    found: dict[str, int] = {}
    for field in LAYOUTS[name].fields:
        found[field.name] = field.unpack(value & ((1 << field.bits) - 1))
        value >>= field.bits
    return found


def configure(reg: int, layout: str, **values: int | float) -> Instruction:
    """The `cfg` that writes register `reg` laid out as `layout`.

    >>> configure(1, "stride", s0=4, s1=0, d1=0)
    systolic.cfg 1 stride(s0=4 d1=0)
    """
    return instruction("cfg", reg=reg, layout=layout, value=layout_value(layout, **values))


def float_bits(value: float) -> int:
    """The bits of the f32 nearest to `value`."""
    return struct.unpack("<I", struct.pack("<f", value))[0]


def text_of(instruction: Instruction) -> str:
    """What stands behind the name in the text of an instruction, with a blank before it."""
    spec = instruction.spec
    if spec.name == "cfg":
        return f" {instruction.reg} {_layout_text(instruction)}"
    words = [
        word for field in spec.payload if (word := _field_text(field, getattr(instruction, field.name), instruction))
    ]
    if spec.has_semaphores:
        for verb in ("wait", "signal"):
            told = [str(v) for n in "01" if (v := getattr(instruction, verb + n)) != NONE]
            words += [f"{verb}({', '.join(told)})"] if told else []
    return "".join(f" {word}" for word in words)


def _field_text(field: Field, value: int, of: Instruction) -> str:
    if field.kind == "register":
        return ""
    register = getattr(of, f"{field.name}_r") if f"{field.name}_r" in of.names else 0
    if value == field.default and not register:
        return ""
    if field.kind == "flag":
        return field.name
    if field.kind == "choice":
        return f"{field.name}={field.choices[value]}"
    text = f"{value:#x}" if field.hexadecimal else str(value)
    return f"{field.name}={text}{f'+r{register}' if register else ''}"


def _layout_text(cfg: Instruction) -> str:
    name = LAYOUT_NAMES[cfg.layout]
    if name == "raw":
        return f"raw({cfg.value:#x})"
    fields = layout_fields(name, cfg.value)
    if sum(f.pack(fields[f.name]) << o for f, o in _offsets(name)) != cfg.value or not _legal(name, fields):
        return f"{name} raw({cfg.value:#x})"
    told = [
        f"{f.name}={fields[f.name]:#x}" if f.kind == "float" else f"{f.name}={fields[f.name]}"
        for f in LAYOUTS[name].fields
        if f.default is None or fields[f.name] != f.default
    ]
    return f"{name}({' '.join(told)})"


def _offsets(name: str) -> Iterable[tuple[Field, int]]:
    offset = 0
    for field in LAYOUTS[name].fields:
        yield field, offset
        offset += field.bits


def _legal(name: str, fields: dict[str, int]) -> bool:
    return all(f.low <= fields[f.name] <= f.high for f in LAYOUTS[name].fields)
