"""Reads the protobuf wire format of an ONNX file far enough to leave the weights where they are.

Parsing a model copies every byte of its weights twice. Here the big `raw_data` of initialisers is cut out of the
message first and replaced by external data that points back into the file, which is then memory-mapped like any
other. (Protocol Buffers encoding: https://protobuf.dev/programming-guides/encoding; field numbers: onnx.proto.)
"""

from __future__ import annotations

from collections.abc import Iterator

SELF = "<this file>"  # the location of external data that lies in the model file itself
SMALL = 4096  # bytes: shorter data stays in the message

_MODEL_GRAPH, _GRAPH_INITIALIZER, _TENSOR_RAW, _TENSOR_EXTERNAL, _TENSOR_LOCATION = 7, 5, 9, 13, 14
_VARINT, _LENGTH = 0, 2
_HERE, _EXTERNAL = 0, 1  # TensorProto.DataLocation


class WireError(ValueError):
    """The bytes are no protobuf message."""


def without_weights(data: memoryview) -> bytes:
    """The serialised ModelProto `data` with the big raw data of its initialisers made external to `SELF`.

    Raises WireError when the bytes are no message; what is inside other fields is not looked at.
    """
    out: list[bytes | memoryview] = []
    for number, start, body, end in _fields(data, 0, len(data)):
        if number == _MODEL_GRAPH and body >= 0:
            graph = _graph(data, body, end)
            out += [_key(number), _varint(len(graph)), graph]
        else:
            out.append(data[start:end])
    return b"".join(out)


def _graph(data: memoryview, begin: int, end: int) -> bytes:
    out: list[bytes | memoryview] = []
    for number, start, body, stop in _fields(data, begin, end):
        if number == _GRAPH_INITIALIZER and stop - body >= SMALL:
            tensor = _tensor(data, body, stop)
            out += [_key(number), _varint(len(tensor)), tensor]
        else:
            out.append(data[start:stop])
    return b"".join(out)


def _tensor(data: memoryview, begin: int, end: int) -> bytes:
    """The TensorProto whose raw data is external, unless it says that they are somewhere else already."""
    fields = list(_fields(data, begin, end))
    locations = [_read_varint(data, start + 1, stop)[0] for n, start, _, stop in fields if n == _TENSOR_LOCATION]
    if locations and locations[-1] != _HERE:
        return bytes(data[begin:end])
    out: list[bytes | memoryview] = []
    for number, start, body, stop in fields:
        if number == _TENSOR_RAW and stop - body >= SMALL:
            for key, value in (("location", SELF), ("offset", str(body)), ("length", str(stop - body))):
                entry = b"".join(_key(i) + _varint(len(t)) + t for i, t in ((1, key.encode()), (2, value.encode())))
                out += [_key(_TENSOR_EXTERNAL), _varint(len(entry)), entry]
            out.append(_varint(_TENSOR_LOCATION << 3 | _VARINT) + _varint(_EXTERNAL))
        elif number != _TENSOR_LOCATION:  # the last one counts, and some write it behind the data
            out.append(data[start:stop])
    return b"".join(out)


def _fields(data: memoryview, position: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Each field as (number, start of its key, start of its body or -1 unless length-delimited, end)."""
    while position < end:
        start = position
        key, position = _read_varint(data, position, end)
        body = -1
        match key & 7:
            case 0:
                _, position = _read_varint(data, position, end)
            case 1:
                position += 8
            case 5:
                position += 4
            case 2:
                length, body = _read_varint(data, position, end)
                position = body + length
            case kind:
                raise WireError(f"unknown wire type {kind}")
        if position > end:
            raise WireError("a field runs past the end")
        yield key >> 3, start, body, position


def _read_varint(data: memoryview, position: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while position < end and shift < 70:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise WireError("a number is cut off")


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _key(number: int) -> bytes:
    return _varint(number << 3 | _LENGTH)
