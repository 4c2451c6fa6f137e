"""How the `builtin` dialect keeps attributes, types, locations and modules in bytecode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    UNKNOWN_LOC,
    ArrayAttr,
    BFloat16Type,
    BytesAttr,
    CallSiteLoc,
    ComplexType,
    DenseArrayBase,
    DenseResourceAttr,
    FileLineColLoc,
    Float16Type,
    Float32Type,
    Float64Type,
    Float80Type,
    Float128Type,
    FloatAttr,
    FunctionType,
    FusedLoc,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    NameLoc,
    NoneType,
    Signedness,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    TupleType,
    UnitAttr,
    UnrankedTensorType,
)
from xdsl.ir import Attribute, Operation, TypeAttribute

from ..context import LaminaContext
from ..dtypes import dense_attribute, dtype_of
from ..weights import Array
from .stream import Stream
from .tables import EntryReader, RawOp, Tables


def float_attribute(reader: EntryReader, kind: Attribute) -> FloatAttr[Any]:
    """The number of type `kind` that is ahead, as bits."""
    dtype = dtype_of(kind)
    if dtype.kind not in "fV":
        raise reader.stream.fail(f"expected a float type, got {kind}")
    bits = reader.stream.integer(8 * dtype.itemsize)
    value = np.frombuffer(bits.to_bytes(dtype.itemsize, "little"), dtype)[0]
    return FloatAttr(float(value), cast(Any, kind))


def integer_attribute(reader: EntryReader, kind: Attribute) -> IntegerAttr[Any]:
    """The number of type `kind` that is ahead."""
    if not isinstance(kind, IntegerType | IndexType):
        raise reader.stream.fail(f"expected an integer type, got {kind}")
    width = kind.width.data if isinstance(kind, IntegerType) else 64
    if not 0 < width <= 1 << 16:
        raise reader.stream.fail(f"integers of {width} bits cannot be read")
    bits = reader.stream.integer(width)
    unsigned = isinstance(kind, IntegerType) and (kind.signedness.data is Signedness.UNSIGNED or width == 1)
    return IntegerAttr(bits if unsigned or bits < 1 << (width - 1) else bits - (1 << width), kind)


def tensor_shape(reader: EntryReader) -> list[int]:
    """The dimensions of a tensor; `DYNAMIC_INDEX` for one that is not known, as bytecode itself has it."""
    shape = reader.list(reader.stream.signed)
    for size in shape:
        if size < 0 and size != DYNAMIC_INDEX:
            raise reader.stream.fail(f"a dimension cannot have the size {size}")
    return shape


def elements(stream: Stream, raw: memoryview, kind: Attribute) -> Array:
    """Elements of a tensor of type `kind`, written one after another, or one for all; shared with the file."""
    if not isinstance(kind, TensorType) or any(size < 0 for size in kind.get_shape()):
        raise stream.fail(f"elements need a static tensor type, got {kind}")
    shape, dtype = kind.get_shape(), dtype_of(kind)
    count = int(np.prod(shape, dtype=object)) if shape else 1
    if dtype == np.bool_:
        return np.broadcast_to(_booleans(stream, raw, count), shape) if count == 1 else _booleans_of(stream, raw, kind)
    stored = np.frombuffer(raw, np.uint8)
    if len(raw) == count * dtype.itemsize:
        return stored.view(dtype).reshape(shape)
    if len(raw) == dtype.itemsize and count:
        return np.broadcast_to(stored.view(dtype).reshape(()), shape)
    raise stream.fail(f"{kind} needs {count * dtype.itemsize} bytes of elements, got {len(raw)}")


def _booleans_of(stream: Stream, raw: memoryview, kind: TensorType[Any]) -> Array:
    shape = kind.get_shape()
    count = int(np.prod(shape, dtype=object))
    if len(raw) == 1 and raw[0] in (0, 0xFF):
        return np.broadcast_to(np.bool_(raw[0] != 0), shape)
    return _booleans(stream, raw, count).reshape(shape)


def _booleans(stream: Stream, raw: memoryview, count: int) -> Array:
    """`count` booleans, each a bit or each a byte."""
    stored = np.frombuffer(raw, np.uint8)
    if len(raw) == count:
        return stored != 0
    if len(raw) != (count + 7) // 8:
        raise stream.fail(f"{count} booleans need {(count + 7) // 8} bytes, got {len(raw)}")
    return np.unpackbits(stored, count=count, bitorder="little").astype(bool)


class BuiltinCodec:
    """The codec of `builtin`."""

    def attribute(self, reader: EntryReader) -> Attribute:
        """The attribute or location whose encoding is ahead."""
        code = reader.stream.varint()
        read = _ATTRIBUTES.get(code)
        if read is None:
            raise reader.stream.fail(f"a builtin attribute of the unknown kind {code}")
        return read(reader)

    def type(self, reader: EntryReader) -> TypeAttribute:
        """The type whose encoding is ahead."""
        code = reader.stream.varint()
        read = _TYPES.get(code)
        if read is None:
            raise reader.stream.fail(f"a builtin type of the unknown kind {code}")
        return read(reader)

    def op(self, raw: RawOp, tables: Tables, context: LaminaContext) -> Operation:
        """A module."""
        stream = raw.properties if isinstance(raw.properties, Stream) else None
        where = stream or Stream(memoryview(b""), "bytecode")
        if raw.name.name != "module" or len(raw.regions) != 1 or raw.operands or raw.result_types:
            raise where.fail(f"the op '{raw.name}' is not one that can be read")
        module = ModuleOp(raw.regions[0], dict(raw.attributes))
        if stream is not None:
            reader = tables.reader(stream)
            for name in ("sym_name", "sym_visibility"):
                value = reader.optional_attribute()
                if isinstance(value, StringAttr):
                    module.properties[name] = value
        return module


def _typed(value: Callable[[EntryReader, Attribute], Attribute]) -> Callable[[EntryReader], Attribute]:
    return lambda reader: value(reader, reader.type())


def _symbol(reader: EntryReader) -> Attribute:
    root = reader.string_attribute()
    nested = [part.root_reference for part in reader.attributes() if isinstance(part, SymbolRefAttr)]
    return SymbolRefAttr(root, nested)


def _string_with_type(reader: EntryReader) -> Attribute:
    text = reader.string()
    reader.type()
    return StringAttr(text)


def _place(reader: EntryReader) -> FileLineColLoc:
    name = reader.string_attribute()
    return FileLineColLoc(name, IntAttr(reader.stream.varint()), IntAttr(reader.stream.varint()))


def _range(reader: EntryReader) -> FileLineColLoc:
    """Of a range of lines and columns the start stays."""
    name = reader.string_attribute()
    numbers = [*reader.list(reader.stream.varint), 0, 0]
    return FileLineColLoc(name, IntAttr(numbers[0]), IntAttr(numbers[1]))


def _fused(reader: EntryReader, metadata: bool) -> Attribute:
    parts = reader.list(reader.location)
    return FusedLoc(ArrayAttr(parts), reader.attribute() if metadata else None)  # pyright: ignore


def _dense_array(reader: EntryReader) -> Attribute:
    kind, size, raw = reader.type(), reader.stream.varint(), bytes(reader.stream.blob())
    if len(raw) != size * dtype_of(kind).itemsize:
        raise reader.stream.fail(f"{size} elements of {kind} do not take {len(raw)} bytes")
    return DenseArrayBase(cast(Any, kind), BytesAttr(raw))


def _dense(reader: EntryReader, kind: Attribute) -> Attribute:
    array = elements(reader.stream, reader.stream.blob(), kind)
    reader.size += array.size
    if array.size > 1 << 20:
        raise reader.stream.fail(f"an attribute of {array.size} elements is too large")
    return dense_attribute(array)


def _dense_resource(reader: EntryReader, kind: Attribute) -> Attribute:
    if not isinstance(kind, TensorType):
        raise reader.stream.fail(f"expected a tensor type, got {kind}")
    return DenseResourceAttr.from_params(reader.tables.resource(reader.stream, kind), kind)


_ATTRIBUTES: dict[int, Callable[[EntryReader], Attribute]] = {
    0: lambda r: ArrayAttr(r.attributes()),
    1: lambda r: r.dictionary(),
    2: lambda r: StringAttr(r.string()),
    3: _string_with_type,
    4: lambda r: SymbolRefAttr(r.string_attribute()),
    5: _symbol,
    6: lambda r: r.type(),
    7: lambda _: UnitAttr(),
    8: _typed(integer_attribute),
    9: _typed(float_attribute),
    10: lambda r: CallSiteLoc(r.location(), r.location()),  # pyright: ignore[reportArgumentType]
    11: _place,
    12: lambda r: _fused(r, False),
    13: lambda r: _fused(r, True),
    14: lambda r: NameLoc(r.string_attribute(), r.location()),  # pyright: ignore[reportArgumentType]
    15: lambda _: UNKNOWN_LOC,
    16: _typed(_dense_resource),
    17: _dense_array,
    18: _typed(_dense),
    22: _range,
}


def _integer_type(reader: EntryReader) -> IntegerType:
    value = reader.stream.varint()
    width, sign = value >> 2, value & 3
    if sign == 3 or not 0 < width < 1 << 24:
        raise reader.stream.fail(f"there is no integer type of {width} bits and signedness {sign}")
    return IntegerType(width, (Signedness.SIGNLESS, Signedness.SIGNED, Signedness.UNSIGNED)[sign])


def _tensor_with_encoding(reader: EntryReader) -> TensorType[Any]:
    encoding = reader.attribute()
    shape = tensor_shape(reader)
    return TensorType(reader.type(), shape, encoding)


def _tensor(reader: EntryReader) -> TensorType[Any]:
    shape = tensor_shape(reader)
    return TensorType(reader.type(), shape)


_TYPES: dict[int, Callable[[EntryReader], TypeAttribute]] = {
    0: _integer_type,
    1: lambda _: IndexType(),
    2: lambda r: FunctionType.from_lists(r.types(), r.types()),
    3: lambda _: BFloat16Type(),
    4: lambda _: Float16Type(),
    5: lambda _: Float32Type(),
    6: lambda _: Float64Type(),
    7: lambda _: Float80Type(),
    8: lambda _: Float128Type(),
    9: lambda r: ComplexType(cast(Any, r.type())),
    12: lambda _: NoneType(),
    13: _tensor,
    14: _tensor_with_encoding,
    15: lambda r: TupleType(tuple(r.types())),
    18: lambda r: UnrankedTensorType(r.type()),
}
