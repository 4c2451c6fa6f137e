"""ONNX models of files as functions: `model resnet from "resnet50.onnx"`, then `resnet(x)` or `resnet(data=x)`.

Arguments are the model's inputs, symbolic dimensions are bound by them. The model goes to the hub on its own way and
becomes a private function, one for each set of argument types; its weights stay mapped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.builtin import TensorType as IRTensorType
from xdsl.dialects.func import CallOp

from ....compiler.diagnostics import LaminaError
from ...onnx.attributes import import_type
from ...onnx.load import load_model, read_model, symbols_of
from ..language import tree
from .builtins.arguments import Reader
from .builtins.builder import Builder, ssa
from .builtins.embedding import bind, lowered, main_of
from .builtins.failure import Failure, Undetermined
from .dims import Dim
from .params import named_file
from .signatures import Instance, parts
from .types import UNKNOWN, TensorType, TupleType, Type, dtype_name, ir_type
from .values import AnyValue, TupleValue, Value

if TYPE_CHECKING:
    from onnx import ValueInfoProto

    from .elaborator import Elaborator
    from .scope import Scope


@dataclass(frozen=True)
class Port:
    """An input or output of a model: its name and type; dimensions are numbers, names, or None where unknown."""

    name: str
    dtype: str
    shape: tuple[int | str | None, ...] | None

    def __str__(self) -> str:
        if self.shape is None:
            return f"{self.dtype}[…]"
        dims = ", ".join("?" if n is None else str(n) for n in self.shape)
        return f"{self.dtype}[{dims}]" if self.shape else self.dtype


@dataclass(frozen=True)
class Face:
    """What a model takes and gives, as its file says."""

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]


def face(model: tree.Model, folder: Path | None) -> Face:
    """The face of a model; `folder` is that of the program, None where it is only a text. Raises Failure."""
    path = named_file(model.path, folder)
    if path.suffix != ".onnx":
        raise Failure("E721", f"models come from .onnx files, not '{path.suffix or path.name}'", model.path)
    try:
        stat = path.stat()
        return _face(path, stat.st_mtime_ns, stat.st_size)
    except LaminaError as error:
        raise Failure("E723", f"'{path.name}': {error.message}", model.path, error.hint or "") from error


@lru_cache(maxsize=64)
def _face(path: Path, changed: int, size: int) -> Face:
    graph = read_model(path).graph
    given = {tensor.name for tensor in graph.initializer} | {t.values.name for t in graph.sparse_initializer}
    inputs = tuple(_port(info, path) for info in graph.input if info.name not in given)
    return Face(inputs, tuple(_port(info, path) for info in graph.output))


def _port(info: ValueInfoProto, path: Path) -> Port:
    kind = import_type(info.type, str(path))
    try:
        dtype = dtype_name(getattr(kind, "element_type", kind))
    except (KeyError, LaminaError):
        raise LaminaError(f"'{info.name}' is {kind}, for which the language has no type", where=str(path)) from None
    if not isinstance(kind, IRTensorType):
        return Port(info.name, dtype, None)
    symbols = symbols_of(info)
    shape = [n if n >= 0 else symbol or None for n, symbol in zip(kind.get_shape(), symbols, strict=True)]
    return Port(info.name, dtype, tuple(shape))


def check(e: Elaborator, model: tree.Model, folder: Path | None) -> None:
    """Reports what is wrong with the file of a model."""
    try:
        face(model, folder)
    except Failure as failure:
        e.error(failure.code, failure.message, failure.where, hint=failure.hint)


def call(e: Elaborator, model: tree.Model, folder: Path | None, node: tree.Call, scope: Scope) -> AnyValue:
    """The call of a model that a program in `folder` names."""
    b = Builder(e, node, model.name.text)
    try:
        ports = face(model, folder)
        values = _arguments(b, ports, scope)
        kinds = [value.type for value in values]
        dims = _fitting(b, ports, kinds)
        if e.emits:
            return _emitted(b, model, folder, values)
        found = [Value(_declared(port, dims), node=node) for port in ports.outputs]
        return found[0] if len(found) == 1 else TupleValue(tuple(found), node)
    except Undetermined:
        return e.unknown(node)
    except Failure as failure:
        return e.error(failure.code, failure.message, failure.where, hint=failure.hint)


def _arguments(b: Builder, ports: Face, scope: Scope) -> list[Value]:
    """The arguments in the order of the inputs, numbers written out in the dtype of theirs."""
    names = [port.name for port in ports.inputs]
    given: dict[str, tree.Expression] = {}
    for position, argument in enumerate(b.node.arguments):
        if argument.name is None:
            if position >= len(names):
                plural = "s" if len(names) != 1 else ""
                takes = f"{b.name} takes {len(names)} argument{plural} ({', '.join(names)})"
                raise Failure("E550", f"{takes}, got {len(b.node.arguments)}", argument)
            given[names[position]] = argument.value
            continue
        name = argument.name.text
        if name in given:
            raise Failure("E552", f"'{name}' is given twice", argument.name)
        if name not in names:
            close = get_close_matches(name, names, 1)
            hint = f"did you mean '{close[0]}'?" if close else f"it has {', '.join(names)}"
            raise Failure("E551", f"{b.name} has no input '{name}'", argument.name, hint)
        given[name] = argument.value
    reader = Reader(b, scope)
    found: list[Value] = []
    for port in ports.inputs:
        if port.name not in given:
            raise b.fail("E550", f"{b.name} needs its input '{port.name}', {port}")
        b.places[port.name] = given[port.name]
        value = reader.value(given[port.name])
        if not value.unknown:
            if not value.weak and value.type.dtype != port.dtype:
                raise b.fail("E557", f"'{port.name}' of {b.name} is {port}, got {value.type}", port.name)
            value = b.coerce(value, port.dtype, port.name)
        found.append(value)
    if reader.unknown:
        raise Undetermined
    return found


def _fitting(b: Builder, ports: Face, kinds: Sequence[TensorType]) -> dict[str, Dim]:
    """What the symbolic dimensions of the model are. Raises Failure where an argument does not fit its input."""
    dims: dict[str, Dim] = {}
    for port, kind in zip(ports.inputs, kinds, strict=True):
        if port.shape is None:
            continue
        if kind.rank is None:
            raise Undetermined
        if kind.rank != len(port.shape):
            raise b.fail("E557", f"'{port.name}' of {b.name} is {port}, got {kind}", port.name)
        for want, have in zip(port.shape, b.flat_shape(Value(kind)), strict=True):
            known = dims.setdefault(want, have) if isinstance(want, str) else want
            if known is not None and b.differ(known, have):
                said = f" where {want} is {known}" if isinstance(want, str) else ""
                raise b.fail("E557", f"'{port.name}' of {b.name} is {port}{said}, got {kind}", port.name)
    return dims


def _declared(port: Port, dims: dict[str, Dim]) -> Type:
    """The type of an output as the file says it, unknown where it does not say."""
    if port.shape is None:
        return UNKNOWN
    shape = [dims.get(n) if isinstance(n, str) else n for n in port.shape]
    known = tuple(n for n in shape if n is not None)
    return TensorType(port.dtype, known) if len(known) == len(shape) else UNKNOWN


def _emitted(b: Builder, model: tree.Model, folder: Path | None, values: Sequence[Value]) -> AnyValue:
    e = b.elaborator
    kinds = tuple(value.type for value in values)
    key = ("model", model, kinds)
    made = e.instances.get(key)
    if made is None:
        made = _instance(b, model, folder, kinds)
        e.instances[key] = made
    results = [ir_type(kind) for kind in parts(made.result)]
    return b.placed(CallOp(made.symbol, [ssa(value) for value in values], results))


def _instance(b: Builder, model: tree.Model, folder: Path | None, kinds: Sequence[TensorType]) -> Instance:
    """The model for arguments of these types, as a private function of the module."""
    e = b.elaborator
    assert e.builder is not None
    path = named_file(model.path, folder)
    try:
        module = load_model(path, e.context)
        bind(module, [ir_type(kind) for kind in kinds])
        lowered(e.context, module)
    except LaminaError as error:
        raise b.fail("E557", f"{b.name}: {error.message}", hint=error.hint or "") from error
    function = main_of(module)
    function.detach()
    symbol = e.fresh_symbol(model.name.text)
    function.properties["sym_name"] = StringAttr(symbol)
    function.properties["sym_visibility"] = StringAttr("private")
    for attributes in ("arg_attrs", "res_attrs"):
        function.properties.pop(attributes, None)
    e.builder.module.body.block.add_op(function)
    found = [b.type_of(kind) for kind in function.function_type.outputs.data]
    return Instance(symbol, found[0] if len(found) == 1 else TupleType(tuple(found)), done=True)
