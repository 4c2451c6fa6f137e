"""The ops of a bytecode file, in their regions and blocks."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import UNKNOWN_LOC, DictionaryAttr, LocationAttr, ModuleOp, NoneType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.parser.core import ForwardDeclaredValue
from xdsl.utils.exceptions import VerifyException

from ..collector import collector_paused
from ..context import LaminaContext
from ..diagnostics import LaminaError
from ..parsing import UNFORESEEN
from .builtin import BuiltinCodec
from .sections import IR, read_header, read_section
from .stream import Stream
from .tables import PORTABLE, DialectCodec, RawOp, Tables

ATTRIBUTES, RESULTS, OPERANDS, SUCCESSORS, REGIONS, USES, PROPERTIES = (1 << bit for bit in range(7))


def read_bytecode(
    data: bytes | memoryview, name: str, context: LaminaContext, codecs: dict[str, DialectCodec]
) -> ModuleOp:
    """The module in a bytecode file. It is not verified.

    Large constants go to the context's weight store without a copy. Raises LaminaError for anything else than a
    sound file, with the offset where it shows.
    """
    try:
        with collector_paused():
            header = read_header(data, name)
            tables = Tables(header, context, {"builtin": BuiltinCodec(), **codecs})
            return _Reader(tables).module(header.sections[IR])
    except RecursionError as error:
        raise LaminaError("nested too deeply", where=name) from error
    except UNFORESEEN as error:
        raise LaminaError(f"cannot be read: {error or type(error).__name__}", where=name) from error


class _Scope:
    """The values of one isolated region by number, those of regions inside it included."""

    def __init__(self) -> None:
        self.values: dict[int, SSAValue] = {}
        self.awaited: dict[int, ForwardDeclaredValue[Attribute]] = {}
        self.size = 0


class _Reader:
    def __init__(self, tables: Tables):
        self.tables = tables
        self.version = tables.header.version

    def module(self, stream: Stream) -> ModuleOp:
        count, has_arguments = stream.flagged()
        if count != 1 or has_arguments:
            raise stream.fail(f"expected one module, got {count} ops")
        op = self._op(stream, _Scope(), [0], [], "")
        if not isinstance(op, ModuleOp):
            raise stream.fail(f"expected a module, got '{op.name}'")
        if len(stream):
            raise stream.fail("unexpected bytes after the module")
        return op

    def _op(self, stream: Stream, scope: _Scope, next_value: list[int], blocks: list[Block], parent: str) -> Operation:
        names = self.tables.header.op_names
        index = stream.varint()
        if index >= len(names):
            raise stream.fail(f"there is no op name {index}, only {len(names)}")
        name, mask = names[index], stream.byte()
        location = self._location(stream)
        attributes: dict[str, Attribute] = {}
        if mask & ATTRIBUTES:
            attributes = self._dictionary(stream)
        properties = self._properties(stream, name.registered) if mask & PROPERTIES else None
        results: list[Attribute] = []
        if mask & RESULTS:
            results = [self.tables.type(stream, stream.varint()) for _ in range(stream.count())]
        operands = [self._value(stream, scope) for _ in range(stream.count())] if mask & OPERANDS else []
        successors: list[Block] = []
        if mask & SUCCESSORS:
            successors = [self._successor(stream, blocks) for _ in range(stream.count())]
        if self.version >= 3 and mask & USES:
            self._skip_uses(stream, len(results))
        # results are numbered before the values of regions, but the op is made after them
        start = next_value[0]
        next_value[0] += len(results)
        regions = self._regions(stream, scope, str(name)) if mask & REGIONS else []
        raw = RawOp(name, operands, results, attributes, properties, regions, successors, parent)
        op = self._made(stream, raw)
        op.location = location
        if len(op.results) != len(results):
            raise stream.fail(f"'{name}' has {len(op.results)} results, the file says {len(results)}")
        self._define(stream, scope, start, list(op.results))
        return op

    def _made(self, stream: Stream, raw: RawOp) -> Operation:
        codec = self.tables.codecs.get(raw.name.dialect)
        if codec is None:
            raise stream.fail(f"ops of dialect '{raw.name.dialect}' cannot be read from bytecode", PORTABLE)
        try:
            return codec.op(raw, self.tables, self.tables.context)
        except (VerifyException, *UNFORESEEN) as error:
            raise stream.fail(f"'{raw.name}' op cannot be read: {error or type(error).__name__}") from error

    def _location(self, stream: Stream) -> LocationAttr:
        value = self.tables.attribute(stream, stream.varint())
        if not isinstance(value, LocationAttr):
            raise stream.fail(f"expected a location, got {value}")
        return value

    def _dictionary(self, stream: Stream) -> dict[str, Attribute]:
        value = self.tables.attribute(stream, stream.varint())
        if not isinstance(value, DictionaryAttr):
            raise stream.fail(f"expected a dictionary of attributes, got {value}")
        return dict(value.data)

    def _properties(self, stream: Stream, registered: bool) -> Stream | dict[str, Attribute]:
        if not registered:
            return self._dictionary(stream)
        found, index = self.tables.header.properties, stream.varint()
        if index >= len(found):
            raise stream.fail(f"there are no properties {index}, only {len(found)}")
        part = found[index]
        return Stream(part.data, part.name, part.at, part.end)  # ops share properties

    def _value(self, stream: Stream, scope: _Scope) -> SSAValue:
        index = stream.varint()
        if index >= scope.size:
            raise stream.fail(f"there is no value {index}, only {scope.size}")
        found = scope.values.get(index)
        if found is None:
            found = scope.awaited.setdefault(index, ForwardDeclaredValue(NoneType()))
        return found

    def _define(self, stream: Stream, scope: _Scope, start: int, values: list[Any]) -> None:
        if values and start + len(values) > scope.size:
            raise stream.fail(f"value {start + len(values) - 1} is defined, but there are only {scope.size}")
        for index, value in enumerate(values, start):
            scope.values[index] = value
            awaited = scope.awaited.pop(index, None)
            if awaited is not None:
                awaited.replace_all_uses_with(value)

    def _successor(self, stream: Stream, blocks: list[Block]) -> Block:
        index = stream.varint()
        if index >= len(blocks):
            raise stream.fail(f"there is no block {index}, only {len(blocks)}")
        return blocks[index]

    def _skip_uses(self, stream: Stream, values: int) -> None:
        """The order of the uses of each value, which nothing here depends on."""
        for _ in range(stream.count() if values > 1 else 1):
            if values > 1:
                stream.varint()
            count, _ = stream.flagged()
            for _ in range(count):
                stream.varint()

    def _regions(self, stream: Stream, scope: _Scope, parent: str) -> list[Region]:
        count, isolated = stream.flagged()
        if count > len(stream):
            raise stream.fail(f"{count} regions cannot fit into {len(stream)} bytes")
        if isolated:
            scope = _Scope()
            if self.version >= 2:
                kind, stream = read_section(stream)
                if kind != IR:
                    raise stream.fail("expected the section of a region")
        regions = [self._region(stream, scope, parent) for _ in range(count)]
        if isolated and scope.awaited:
            raise stream.fail(f"value {min(scope.awaited)} is used, but never defined")
        if isolated and self.version >= 2 and len(stream):
            raise stream.fail("unexpected bytes after a region")
        return regions

    def _region(self, stream: Stream, scope: _Scope, parent: str) -> Region:
        count = stream.count()
        if count == 0:
            return Region()
        blocks = [Block() for _ in range(count)]
        base, values = scope.size, stream.varint()
        scope.size += values
        next_value = [base]
        for block in blocks:
            ops, has_arguments = stream.flagged()
            if has_arguments:
                self._arguments(stream, scope, next_value, block)
            for _ in range(ops):
                block.add_op(self._op(stream, scope, next_value, blocks, parent))
        if any(index >= base for index in scope.awaited):
            raise stream.fail(f"value {max(scope.awaited)} is used, but never defined")
        for index in range(base, next_value[0]):
            scope.values.pop(index, None)
        scope.size = base
        return Region(blocks)

    def _arguments(self, stream: Stream, scope: _Scope, next_value: list[int], block: Block) -> None:
        start, arguments = next_value[0], list[BlockArgument[Attribute]]()
        for place in range(stream.count()):
            index, placed = stream.flagged() if self.version >= 4 else (stream.varint(), True)
            argument = BlockArgument(self.tables.type(stream, index), block, place)
            argument.location = self._location(stream) if placed else UNKNOWN_LOC
            arguments.append(argument)
        block._args = tuple(arguments)  # pyright: ignore[reportPrivateUsage]  # one by one takes quadratic time
        next_value[0] += len(arguments)
        self._define(stream, scope, start, list(block.args))
        if self.version >= 3 and stream.byte():
            self._skip_uses(stream, len(block.args))
