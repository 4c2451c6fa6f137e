"""How VHLO keeps attributes and types in bytecode: by numbers that never change meaning."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, cast

from xdsl.dialects import builtin
from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    ComplexType,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    NoneType,
    Signedness,
    StringAttr,
    TensorType,
    TupleType,
    UnrankedTensorType,
    i32,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Operation, TypeAttribute

from ....compiler.bytecode.builtin import elements, float_attribute, integer_attribute, tensor_shape
from ....compiler.bytecode.tables import EntryReader, RawOp, Tables
from ....compiler.context import LaminaContext
from .. import attributes as hlo
from ..constants import constant_attr
from ..quant import Quantization, UniformQuantizedType
from ..types import BoundsAttr
from .ops import stable_op


class VhloCodec:
    """The codec of `vhlo`: everything comes out as StableHLO's and builtin's own."""

    def attribute(self, reader: EntryReader) -> Attribute:
        """The attribute whose encoding is ahead."""
        code = reader.stream.varint()
        read = _ATTRIBUTES.get(code)
        if read is None:
            raise reader.stream.fail(f"a VHLO attribute of the unknown kind {code}")
        return read(reader)

    def type(self, reader: EntryReader) -> TypeAttribute:
        """The type whose encoding is ahead."""
        code = reader.stream.varint()
        if code in _SCALARS:
            return _SCALARS[code]
        read = _TYPES.get(code)
        if read is None:
            raise reader.stream.fail(f"a VHLO type of the unknown kind {code}")
        return read(reader)

    def op(self, raw: RawOp, tables: Tables, context: LaminaContext) -> Operation:
        """The op of StableHLO or `func` that the versioned one stands for."""
        return stable_op(raw, tables, context)


def _enumeration(kind: type[EnumAttribute[Any]], first: int = 0) -> Callable[[EntryReader], Attribute]:
    cases = list(kind.enum_type)

    def read(reader: EntryReader) -> Attribute:
        number = reader.stream.varint()
        if not first <= number < first + len(cases):
            raise reader.stream.fail(f"{kind.name} has no case {number}")
        return kind(cases[number - first])

    return read


def _api_version(reader: EntryReader) -> Attribute:
    number = reader.stream.varint()
    if number > 4:
        raise reader.stream.fail(f"there is no version {number} of the interface of custom calls")
    return IntegerAttr(number, i32)


def _boolean(reader: EntryReader) -> Attribute:
    number = reader.stream.varint()
    if number > 1:
        raise reader.stream.fail(f"expected 0 or 1 for a boolean, got {number}")
    return BoolAttr.from_bool(bool(number))


def _alias(reader: EntryReader) -> Attribute:
    stream = reader.stream
    outputs, operand = reader.list(stream.signed), stream.signed()
    return hlo.OutputOperandAliasAttr(hlo.OperandAlias(tuple(outputs), operand, tuple(reader.list(stream.signed))))


def _tensor(reader: EntryReader) -> Attribute:
    """Many elements go to the weight store, where they stay part of the file."""
    kind = reader.type()
    array = elements(reader.stream, reader.stream.blob(), kind)
    return constant_attr(array, reader.tables.context.weights, "constant")


def _double(reader: EntryReader) -> float:
    return struct.unpack("<d", reader.stream.integer(64).to_bytes(8, "little"))[0]


def _accuracy(reader: EntryReader) -> Attribute:
    atol, rtol, ulps, mode = _double(reader), _double(reader), reader.stream.signed(), reader.attribute()
    if not isinstance(mode, hlo.ResultAccuracyModeAttr):
        raise reader.stream.fail(f"expected a mode of accuracy, got {mode}")
    return hlo.ResultAccuracyAttr(hlo.ResultAccuracy(atol, rtol, ulps, mode.data))


def _typed(read: Callable[[EntryReader, Attribute], Attribute]) -> Callable[[EntryReader], Attribute]:
    return lambda reader: read(reader, reader.type())


def _integer(reader: EntryReader) -> Attribute:
    return integer_attribute(reader, reader.type())


_ATTRIBUTES: dict[int, Callable[[EntryReader], Attribute]] = {
    1: lambda r: ArrayAttr(r.attributes()),
    2: _boolean,
    3: _enumeration(hlo.ComparisonDirectionAttr),
    4: _enumeration(hlo.ComparisonTypeAttr),
    5: _api_version,
    6: lambda r: r.dictionary(),
    7: _enumeration(hlo.FftTypeAttr),
    8: _typed(float_attribute),
    9: _integer,
    10: _alias,
    11: _enumeration(hlo.PrecisionAttr),
    12: _enumeration(hlo.RngAlgorithmAttr),
    13: _enumeration(hlo.RngDistributionAttr, first=1),
    14: lambda r: StringAttr(r.string()),
    15: _tensor,
    16: _enumeration(hlo.TransposeAttr),
    17: lambda r: r.type(),
    18: lambda r: BoundsAttr(tuple(tensor_shape(r))),
    19: _enumeration(hlo.ResultAccuracyModeAttr),
    20: _accuracy,
}


def _ranked(reader: EntryReader) -> TypeAttribute:
    shape = tensor_shape(reader)
    return TensorType(reader.type(), shape)


def _ranked_with_encoding(reader: EntryReader) -> TypeAttribute:
    encoding = reader.attribute()
    shape = tensor_shape(reader)
    return TensorType(reader.type(), shape, encoding)


def _storage(reader: EntryReader) -> tuple[IntegerType, TypeAttribute]:
    reader.stream.varint()  # flags: the type says itself whether it has a sign
    storage, expressed = reader.type(), reader.type()
    if not isinstance(storage, IntegerType):
        raise reader.stream.fail(f"expected an integer type to store quantised numbers in, got {storage}")
    if storage.signedness.data is Signedness.SIGNED:
        storage = IntegerType(storage.width.data)
    return storage, expressed


def _quantized(reader: EntryReader) -> TypeAttribute:
    stream = reader.stream
    storage, expressed = _storage(reader)
    scale, zero = _double(reader), stream.signed()
    low, high = stream.signed(), stream.signed()
    return UniformQuantizedType(Quantization(storage, expressed, (scale,), (zero,), None, low, high))


def _quantized_per_axis(reader: EntryReader) -> TypeAttribute:
    stream = reader.stream
    storage, expressed = _storage(reader)
    axis = stream.varint()
    low, high = stream.signed(), stream.signed()
    scales, zeros = reader.list(lambda: _double(reader)), reader.list(stream.signed)
    if len(scales) != len(zeros):
        raise stream.fail(f"{len(scales)} scales, but {len(zeros)} zero points")
    return UniformQuantizedType(Quantization(storage, expressed, tuple(scales), tuple(zeros), axis, low, high))


_SIGNED = {31: 2, 10: 4, 11: 8, 12: 16, 13: 32, 14: 64}
_UNSIGNED = {32: 2, 15: 4, 16: 8, 17: 16, 18: 32, 19: 64}
_SCALARS: dict[int, TypeAttribute] = {
    0: IntegerType(1),
    2: builtin.BFloat16Type(),
    3: builtin.Float16Type(),
    4: builtin.Float32Type(),
    5: builtin.Float64Type(),
    6: builtin.Float8E4M3FNType(),
    7: builtin.Float8E5M2Type(),
    9: IndexType(),
    22: hlo.TokenType(),
    27: builtin.Float8E4M3FNUZType(),
    28: builtin.Float8E5M2FNUZType(),
    29: builtin.Float8E4M3B11FNUZType(),
    33: NoneType(),
    34: builtin.FloatTF32Type(),
    35: builtin.Float8E4M3Type(),
    36: builtin.Float8E3M4Type(),
    37: builtin.Float4E2M1FNType(),
    38: builtin.Float6E2M3FNType(),
    39: builtin.Float6E3M2FNType(),
    40: builtin.Float8E8M0FNUType(),
    **{code: IntegerType(width) for code, width in _SIGNED.items()},
    **{code: IntegerType(width, Signedness.UNSIGNED) for code, width in _UNSIGNED.items()},
}
_TYPES: dict[int, Callable[[EntryReader], TypeAttribute]] = {
    1: lambda r: ComplexType(cast(Any, r.type())),
    8: lambda r: FunctionType.from_lists(r.types(), r.types()),
    20: _ranked,
    21: _ranked_with_encoding,
    23: lambda r: TupleType(tuple(r.types())),
    24: _quantized,
    25: lambda r: UnrankedTensorType(r.type()),
    30: _quantized_per_axis,
}
