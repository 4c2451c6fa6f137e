"""PTX text as data: kernels, their instructions, and where their variables lie (PTX ISA, chapters 4 and 5)."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from ....compiler.diagnostics import LaminaError

SHARED_ALIGNMENT = 1024  # of dynamic shared memory: what a swizzle of 128 bytes asks for


@dataclass(frozen=True)
class Register:
    """`%r1`, `!%p2` where `inverted`, or a special register such as `%tid.x`."""

    name: str
    inverted: bool = False


@dataclass(frozen=True)
class Number:
    """An immediate: its bits where it is written as a float (`0f`, `0d`), else its value."""

    value: int


@dataclass(frozen=True)
class Symbol:
    """A variable, a parameter or a label."""

    name: str


@dataclass(frozen=True)
class Address:
    """`[base + offset]`; of a tensor map `[base, {coordinates}]`."""

    base: Register | Symbol | Number
    offset: int = 0
    coordinates: tuple[Operand, ...] = ()


@dataclass(frozen=True)
class Several:
    """`{a, b}`, or `a|b`."""

    items: tuple[Operand, ...]


@dataclass(frozen=True)
class Sink:
    """`_`: a result that nobody wants."""


Operand: TypeAlias = Register | Number | Symbol | Address | Several | Sink


@dataclass(frozen=True)
class Instruction:
    """One instruction; `opcode` is cut at its dots, `guard` the predicate that it runs under."""

    opcode: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Register | None
    text: str
    line: int

    @property
    def name(self) -> str:
        """The opcode as it is written."""
        return ".".join(self.opcode)


@dataclass(frozen=True)
class Parameter:
    """A kernel parameter: where it lies in the parameter space, and whether it is a block of bytes."""

    name: str
    offset: int
    nbytes: int
    block: bool


@dataclass(frozen=True)
class Variable:
    """A variable of a module or kernel; `data` are the bytes it begins with."""

    name: str
    space: str
    nbytes: int
    alignment: int
    data: bytes = b""


@dataclass
class Kernel:
    """An entry: instructions with the labels and branch tables that point at them, registers by kind."""

    name: str
    parameters: list[Parameter]
    instructions: list[Instruction] = field(default_factory=list[Instruction])
    labels: dict[str, int] = field(default_factory=dict[str, int])
    tables: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    registers: dict[str, str] = field(default_factory=dict[str, str])
    variables: list[Variable] = field(default_factory=list[Variable])
    max_threads: int = 1024

    @cached_property
    def banks(self) -> dict[str, list[str]]:
        """The registers of each kind, of a kernel that is read to its end."""
        found: dict[str, list[str]] = {}
        for name, kind in self.registers.items():
            found.setdefault(kind, []).append(name)
        return found

    def rows(self, names: Sequence[str]) -> tuple[str, list[int]]:
        """The kind of registers that all have the same, and where they lie in its bank."""
        kind = self.registers[names[0]]
        row = {name: i for i, name in enumerate(self.banks[kind])}
        return kind, [row[name] for name in names]

    @property
    def parameter_bytes(self) -> int:
        """The size of the parameter space."""
        last = self.parameters[-1] if self.parameters else None
        return last.offset + last.nbytes if last else 0


@dataclass
class Module:
    """A file of PTX."""

    target: str
    version: str
    kernels: dict[str, Kernel]

    def kernel(self, name: str = "") -> Kernel:
        """The kernel called `name`, or the only one. Raises LaminaError when there is none such."""
        if not name and len(self.kernels) == 1:
            return next(iter(self.kernels.values()))
        if name not in self.kernels:
            raise LaminaError(f"the module has no kernel '{name}'", hint=f"it has {', '.join(self.kernels)}")
        return self.kernels[name]


def parse(text: str) -> Module:
    """Reads a module. Raises LaminaError with the line for what is not understood."""
    return _Parser(text).module()


_WIDTHS = {"pred": 1, "8": 1, "16": 2, "32": 4, "64": 8, "28": 16}
_VARIABLE = re.compile(
    r"(?:\.extern |\.visible |\.weak )*\.(shared|global|const)\s+(?:\.align (\d+)\s+)?\.(\w+)\s+([\w$]+)"
    r"(\[(\d*)\])?(?:\s*=\s*(.*))?$",
    re.S,
)
_PARAMETER = re.compile(r"\.param\s+(?:\.align (\d+)\s+)?\.(\w+)(.*?)([\w$]+)(?:\[(\d+)\])?$", re.S)
_ENTRY = re.compile(r"(?:\.visible\s+|\.weak\s+)?\.entry\s+([\w$]+)\s*\(?")
_STATEMENT = re.compile(r"\s*(?:([\w$]+):|([{}])|([^;{}]*(?:\{[^;}]*\}[^;{}]*)*);)")
_INTEGER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+)U?$")


def width_of(kind: str) -> int:
    """Bytes of a PTX type without its dot, `pred` counting as one."""
    return _WIDTHS["pred" if kind == "pred" else kind[-2:] if kind[-2:].isdigit() else kind[-1:]]


class _Parser:
    def __init__(self, text: str):
        self.text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
        self.text = re.sub(r"//[^\n]*", "", self.text)
        self.position = 0
        self.scopes: list[dict[str, str]] = []
        self.scopes_seen = 0
        self.known: dict[str, Operand] = {}  # operands by their text, of the scopes that are open
        self.lines = 0, 1  # a position, and the line that it is in

    def module(self) -> Module:
        version, target = (self._directive(name) for name in ("version", "target"))
        kernels: dict[str, Kernel] = {}
        variables: list[Variable] = []
        for statement, opens in self._top():
            if (entry := _ENTRY.match(statement)) and opens:
                kernel = self._kernel(entry[1], statement[entry.end() :])
                kernels[kernel.name] = kernel
            elif found := self._variable(statement):
                variables.append(found)
        for kernel in kernels.values():
            kernel.variables = [*variables, *kernel.variables]
        return Module(target, version, kernels)

    def _directive(self, name: str) -> str:
        found = re.search(rf"^\.{name}\s+([^\s,]+)", self.text, re.M)
        if found is None:
            raise LaminaError(f"not a module of PTX: it has no .{name}")
        return found[1]

    def _top(self) -> Iterator[tuple[str, bool]]:
        """Statements outside kernels, and whether a body follows; the reader stands behind its brace."""
        self.position = re.search(r"\.address_size\s+\d+|\.target[^\n]*", self.text).end()  # pyright: ignore
        if size := re.search(r"\.address_size\s+\d+", self.text):
            self.position = size.end()
        while self.position < len(self.text):
            rest = self.text[self.position :]
            if re.match(r"\s*$", rest):
                return
            initialised = re.match(r"[^;{]*=\s*", rest)
            end = re.search(";" if initialised else "[;{]", rest)
            if end is None:
                raise LaminaError("unfinished statement", where=f"line {self._line()}")
            self.position += end.end()
            yield rest[: end.start()].strip(), end[0] == "{"

    def _line(self, position: int | None = None) -> int:
        position = self.position if position is None else position
        before, line = self.lines if self.lines[0] <= position else (0, 1)
        self.lines = position, line + self.text.count("\n", before, position)
        return self.lines[1]

    def _variable(self, statement: str) -> Variable | None:
        found = _VARIABLE.match(statement)
        if found is None:
            return None
        space, alignment, kind, name, array, count, values = found.groups()
        width = width_of(kind)
        size = width * (int(count or 0) if array else 1)
        data = b""
        if values:
            numbers = [int(v.strip().rstrip("U"), 0) for v in values.strip("{} \n\t").split(",")]
            data = b"".join((n & ((1 << 8 * width) - 1)).to_bytes(width, "little") for n in numbers)
        return Variable(name, space, size, int(alignment or width), data)

    def _kernel(self, name: str, head: str) -> Kernel:
        parameters: list[Parameter] = []
        offset = 0
        inside, _, directives = head.partition(")")
        for part in split(inside):
            found = _PARAMETER.match(part)
            if found is None:
                raise LaminaError(f"cannot read the parameter '{part}'", where=f"line {self._line()}")
            alignment, kind, _, label, count = found.groups()
            nbytes = width_of(kind) * int(count or 1)
            align = int(alignment or 0) if count else nbytes
            offset += -offset % max(align, 1)
            parameters.append(Parameter(label, offset, nbytes, bool(count)))
            offset += nbytes
        kernel = Kernel(name, parameters)
        if limit := re.search(r"\.maxntid\s+(\d+)(?:,\s*(\d+))?(?:,\s*(\d+))?", directives):
            kernel.max_threads = int(limit[1]) * int(limit[2] or 1) * int(limit[3] or 1)
        self._body(kernel)
        return kernel

    def _body(self, kernel: Kernel) -> None:
        """Reads up to the brace that closes the kernel; braces inside are scopes of registers."""
        self.scopes = [{}]
        while True:
            found = _STATEMENT.match(self.text, self.position)
            if found is None:
                raise LaminaError("cannot read this", where=f"line {self._line()}")
            line = self._line(found.end() - len(found[0].lstrip()))
            self.position = found.end()
            label, brace, statement = found.groups()
            if label:
                kernel.labels[label] = len(kernel.instructions)
            elif brace == "{":
                self.scopes.append({})
                self.known.clear()
                self.scopes_seen += 1
            elif brace == "}":
                self.scopes.pop()
                self.known.clear()
                if not self.scopes:
                    return
            elif statement.strip():
                self._statement(kernel, " ".join(statement.split()), line)

    def _statement(self, kernel: Kernel, statement: str, line: int) -> None:
        if statement.startswith(".reg"):
            self._declare(kernel, statement)
        elif found := self._variable(statement):
            kernel.variables.append(found)
        elif statement.startswith(".branchtargets"):
            label = next(name for name, at in reversed(kernel.labels.items()) if at == len(kernel.instructions))
            kernel.tables[label] = [word.strip() for word in statement.split(None, 1)[1].split(",")]
        elif not statement.startswith("."):
            kernel.instructions.append(self._instruction(statement, line))

    def _declare(self, kernel: Kernel, statement: str) -> None:
        self.known.clear()
        _, kind, names = statement.split(None, 2)
        for name in names.split(","):
            found = re.match(r"([%\w$]+)(?:<(\d+)>)?$", name.strip())
            assert found is not None, name
            expanded = [f"{found[1]}{i}" for i in range(int(found[2]))] if found[2] else [found[1]]
            for each in expanded:
                full = each if len(self.scopes) == 1 else f"{each}@{self.scopes_seen}"
                self.scopes[-1][each] = full
                kernel.registers[full] = kind[1:]

    def _instruction(self, statement: str, line: int) -> Instruction:
        guard = None
        rest = statement
        if rest[0] == "@":
            word, _, rest = rest[1:].partition(" ")
            operand = self._operand(word, line)
            assert isinstance(operand, Register)
            guard = operand
        opcode, _, operands = rest.strip().partition(" ")
        return Instruction(
            tuple(opcode.split(".")), tuple(self._operand(o, line) for o in split(operands)), guard, statement, line
        )

    def _operand(self, text: str, line: int) -> Operand:
        found = self.known.get(text)
        if found is None:
            found = self.known[text] = self._new_operand(text, line)
        return found

    def _new_operand(self, text: str, line: int) -> Operand:
        if text == "_":
            return Sink()
        if text[0] == "{":
            return Several(tuple(self._operand(item, line) for item in split(text[1:-1])))
        if text[0] == "[":
            base, *rest = split(text[1:-1])
            coordinates = self._operand(rest[0], line) if rest else Several(())
            assert isinstance(coordinates, Several)
            name, plus, offset = base.partition("+")
            inner = self._operand(name.strip(), line)
            if not isinstance(inner, Register | Symbol | Number):
                raise LaminaError(f"cannot read the address '{text}'", where=f"line {line}")
            return Address(inner, int(offset, 0) if plus else 0, coordinates.items)
        if "|" in text:
            return Several(tuple(self._operand(item.strip(), line) for item in text.split("|")))
        if text[:2] in ("0f", "0F", "0d", "0D"):
            return Number(int(text[2:], 16))
        if _INTEGER.match(text):
            return Number(int(text.rstrip("U"), 0))
        inverted, name = text[0] == "!", text.lstrip("!")
        for scope in reversed(self.scopes):
            if name in scope:
                return Register(scope[name], inverted)
        if name[0] == "%":
            return Register(name, inverted)
        if re.match(r"[\w$]+$", name):
            return Symbol(name)
        raise LaminaError(f"cannot read the operand '{text}'", where=f"line {line}")


def split(text: str) -> list[str]:
    """The parts between commas that stand outside brackets.

    >>> split("%r1, [%rd2, {%r3, %r4}], 5")
    ['%r1', '[%rd2, {%r3, %r4}]', '5']
    """
    parts: list[str] = []
    depth, start = 0, 0
    for i, character in enumerate(text):
        depth += (character in "{[(") - (character in "}])")
        if character == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def float_bits(value: float) -> int:
    """The bits of a float32.

    >>> hex(float_bits(3.0))
    '0x40400000'
    """
    return int.from_bytes(struct.pack("<f", value), "little")
