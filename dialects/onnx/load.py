"""Reads a `.onnx` file into the onnx level, node by node.

    module = load_model("resnet50.onnx", ctx)

    func.func public @main(%data: tensor<1x3x224x224xf32> {lamina.name = "data"})
        -> (tensor<1x1000xf32> {lamina.name = "prob"})

An initialiser becomes an `onnx.Constant` whose bytes stay in `ctx.weights`. Each op's location is the node's
name and first output over the file and the node's number, so that every later message can point back. Nothing
from the file is executed; only files below the model's folder are read.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FileLineColLoc,
    FunctionType,
    IntAttr,
    IntegerAttr,
    ModuleOp,
    NameLoc,
    NoneType,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...compiler.context import LaminaContext
from ...compiler.diagnostics import LaminaError
from ...compiler.weights import Array, WeightStore
from .attributes import constant_attribute, import_attribute, import_type
from .inference import infer_value_types, inline_functions, upgraded
from .ops import OPSET, OPSETS, REGION_NAMES, NoValueOp, OnnxOp, YieldOp, op_class, op_name
from .order import check_names, put_in_order
from .schemas import DEFAULT_DOMAIN, OLDEST_OPSET, newest_version
from .tensors import sparse_array, tensor_array
from .types import UnknownType, type_of_dtype
from .wire import WireError, without_weights

if TYPE_CHECKING:
    from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, ValueInfoProto

NAME = "lamina.name"  # the file's own name of an input or output
DIMS = "lamina.dims"  # names of an input's symbolic dimensions, "" for the others


def load_model(source: str | Path | ModelProto, ctx: LaminaContext) -> ModuleOp:
    """The model of a file (or one already in memory) at the onnx level; its weights go to `ctx.weights`.

    Models of opsets before 7 are first converted to the newest one. Raises LaminaError for files that are no models,
    opsets newer than the `onnx` package knows, graphs that are cyclic or read undefined values, unknown types, bad
    tensors and external data.
    """
    path = Path(source) if isinstance(source, str | Path) else None
    try:
        if path is not None:
            return _Importer(read_model(path), ctx, str(path), path.parent).module()
        assert not isinstance(source, str | Path)
        return _Importer(source, ctx, source.graph.name or "model", None).module()
    except UnicodeDecodeError as error:  # protobuf looks when a name is read
        raise LaminaError(f"a name in the model is not UTF-8: {error}", where=str(path or "model")) from error


def read_model(path: Path) -> ModelProto:
    """The protobuf in `path`, weights left where they are, in it or beside it.

    Raises LaminaError when it is no model.
    """
    import onnx
    from google.protobuf.message import DecodeError

    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b"")
    except OSError as error:
        raise LaminaError(f"cannot read the model: {error.strerror}", where=str(path)) from error
    try:
        model = onnx.ModelProto.FromString(without_weights(data))
    except (DecodeError, WireError) as error:
        raise LaminaError("not an ONNX model, or a truncated one", where=str(path)) from error
    if not model.HasField("graph") or not model.ir_version:
        raise LaminaError("not an ONNX model: it has no graph or no ir_version", where=str(path))
    return model


def symbols_of(info: ValueInfoProto) -> list[str]:
    """The name of each dimension of a tensor, "" for none; "?" is none: Paddle writes it for each that is unknown."""
    return ["" if dim.dim_param == "?" else dim.dim_param for dim in info.type.tensor_type.shape.dim]


class _Scope:
    """Values by name; a subgraph sees the names around it."""

    def __init__(self, block: Block, outer: _Scope | None = None):
        self.block = block
        self.outer = outer
        self.values: dict[str, SSAValue] = {}
        self.absent: SSAValue | None = None

    def find(self, name: str) -> SSAValue | None:
        value = self.values.get(name)
        return value if value is not None or self.outer is None else self.outer.find(name)


class _Importer:
    def __init__(self, model: ModelProto, ctx: LaminaContext, file: str, base: Path | None):
        self.model = model
        self.weights = ctx.weights
        self.file = file
        self.base = base
        self.types: dict[str, Attribute] = {}

    def module(self) -> ModuleOp:
        check_names(self.model.graph, self.file)
        opsets = self._opsets()
        if 0 < opsets.get(DEFAULT_DOMAIN, OLDEST_OPSET) < OLDEST_OPSET:
            self.model = upgraded(self.model, self.file)
            opsets = self._opsets()
        graph = self.model.graph
        if self.model.functions:
            self.model = inline_functions(self.model, self.file)
        put_in_order(self.model.graph, self._given(graph), self.file)
        nodes = self.model.graph.node
        self.types = {
            name: import_type(proto, f"{self.file}: value '{name}'")
            for name, proto in infer_value_types(self.model, self.file).items()
        }
        constants = {t.name for t in graph.initializer} | {t.values.name for t in graph.sparse_initializer}
        inputs = [info for info in graph.input if info.name not in constants]
        block = Block(arg_types=[self._declared(info) for info in inputs])
        scope = _Scope(block)
        for info, arg in zip(inputs, block.args, strict=True):
            arg.location = self._location(info.name, 0)
            self._define(scope, info.name, arg)
        self._initializers(graph, scope)
        for number, node in enumerate(nodes, 1):
            self._node(node, scope, number)
        results = [self._read(scope, info.name, f"{self.file}: graph output") for info in graph.output]
        ending = ReturnOp(*results)
        ending.location = self._location("outputs", len(nodes) + 1)
        block.add_op(ending)
        function = FuncOp(
            "main",
            FunctionType.from_lists(list(block.arg_types), [r.type for r in results]),
            Region(block),
            "public",
            arg_attrs=ArrayAttr([self._value_attributes(info) for info in inputs]),
            res_attrs=ArrayAttr([DictionaryAttr({NAME: StringAttr(info.name)}) for info in graph.output]),
        )
        function.location = self._location(graph.name or "main", 0)
        versions = {domain: IntegerAttr(version, i64) for domain, version in opsets.items()}
        module = ModuleOp([function], {OPSETS: DictionaryAttr(versions)})
        module.location = function.location
        _check_ops(module)
        return module

    def function(
        self, function: FunctionProto, arguments: Sequence[SSAValue | None], block: Block, location: NameLoc
    ) -> list[SSAValue]:
        scope = _Scope(block)
        for i, name in enumerate(function.input):
            given = arguments[i] if i < len(arguments) else None
            scope.values[name] = self._absent(scope) if given is None else given
        before = block.last_op
        for number, node in enumerate(function.node, 1):
            self._node(node, scope, number)
        versions = {entry.domain or DEFAULT_DOMAIN: entry.version for entry in function.opset_import}
        _set_opsets(before.next_op if before else block.first_op, versions, location)
        # outputs the body leaves undefined are those the caller did not ask for
        return [scope.find(name) or self._absent(scope) for name in function.output]

    def _opsets(self) -> dict[str, int]:
        """The version of each domain. Raises LaminaError outside what is known."""
        opsets = {entry.domain or DEFAULT_DOMAIN: entry.version for entry in self.model.opset_import}
        if not opsets:
            raise LaminaError("the model does not say its opset", where=self.file)
        for domain, version in opsets.items():
            if not isinstance(domain, str):  # pyright: ignore[reportUnnecessaryIsInstance] what is not UTF-8
                raise LaminaError(f"the domain {domain!r} is not UTF-8", where=self.file)
            newest = newest_version(domain)
            if domain == DEFAULT_DOMAIN and not 1 <= version <= newest:
                raise LaminaError(
                    f"opset {version} is not supported, only 1 to {newest}",
                    where=self.file,
                    hint="install a newer onnx package" if version > newest else None,
                )
        return opsets

    @staticmethod
    def _given(graph: GraphProto) -> set[str]:
        names = [t.name for t in graph.initializer] + [t.values.name for t in graph.sparse_initializer]
        return {*names, *(info.name for info in graph.input)}

    # values

    def _declared(self, info: ValueInfoProto) -> Attribute:
        return import_type(info.type, f"{self.file}: input '{info.name}'")

    @staticmethod
    def _value_attributes(info: ValueInfoProto) -> DictionaryAttr:
        attributes: dict[str, Attribute] = {NAME: StringAttr(info.name)}
        dims = symbols_of(info)
        if any(dims):
            attributes[DIMS] = ArrayAttr([StringAttr(dim) for dim in dims])
        return DictionaryAttr(attributes)

    def _define(self, scope: _Scope, name: str, value: SSAValue) -> None:
        if name in scope.values:
            raise LaminaError(f"two values are called '{name}'", where=self.file)
        value.name_hint = value_name(name)
        scope.values[name] = value

    def _read(self, scope: _Scope, name: str, where: str) -> SSAValue:
        if (value := scope.find(name)) is None:
            raise LaminaError(f"'{name}' is not defined by any node, input or initialiser", where=where)
        return value

    def _absent(self, scope: _Scope) -> SSAValue:
        if scope.absent is None:
            op = NoValueOp.create(result_types=[NoneType()], location=self._location("absent", 0))
            scope.block.add_op(op)
            scope.absent = op.results[0]
        return scope.absent

    # ops

    def _location(self, name: str, number: int) -> NameLoc:
        return NameLoc(StringAttr(name), FileLineColLoc(StringAttr(self.file), IntAttr(number), IntAttr(1)))

    def _initializers(self, graph: GraphProto, scope: _Scope) -> None:
        for tensor in graph.initializer:
            self._constant(scope, tensor.name, tensor_array(tensor, self.base, self.file))
        for sparse in graph.sparse_initializer:
            self._constant(scope, sparse.values.name, sparse_array(sparse, self.base, self.file))

    def _constant(self, scope: _Scope, name: str, array: Array) -> None:
        cls = op_class("onnx.Constant")
        assert cls is not None
        op = cls.create(
            result_types=[TensorType(type_of_dtype(array.dtype), array.shape)],
            attributes={"value": constant_attribute(array, self.weights, name)},
            location=self._location(name, 0),
        )
        scope.block.add_op(op)
        self._define(scope, name, op.results[0])

    def _node(self, node: NodeProto, scope: _Scope, number: int) -> None:
        place = self._node_place(node)
        where = f"{self.file}: {place}"
        cls = op_class(op_name(node.domain, node.op_type))
        if cls is None:
            domain = node.domain or DEFAULT_DOMAIN
            raise LaminaError(f"{domain} has no operator '{node.op_type}'", where=where)
        operands = [self._read(scope, name, where) if name else self._absent(scope) for name in node.input]
        attributes, regions, names = self._attributes(node.attribute, scope, where)
        if names:
            attributes[REGION_NAMES] = ArrayAttr([StringAttr(name) for name in names])
        outputs = list(node.output)
        while outputs and not outputs[-1]:
            outputs.pop()
        op = cls.create(
            operands=operands,
            result_types=[self.types.get(name, UnknownType()) if name else UnknownType() for name in outputs],
            attributes=attributes,
            regions=regions,
            location=self._location(place, number),
        )
        scope.block.add_op(op)
        for name, result in zip(outputs, op.results, strict=True):
            if name:
                self._define(scope, name, result)

    @staticmethod
    def _node_place(node: NodeProto) -> str:
        output = next((name for name in node.output if name), "")
        return f"{node.name}:{output}" if node.name and node.name != output else output or node.op_type

    def _attributes(
        self, protos: Iterable[AttributeProto], scope: _Scope, place: str
    ) -> tuple[dict[str, Attribute], list[Region], list[str]]:
        attributes: dict[str, Attribute] = {}
        regions: list[Region] = []
        names: list[str] = []
        for proto in protos:
            if proto.HasField("g"):
                names.append(proto.name)
                regions.append(self._subgraph(proto.g, scope))
            elif proto.graphs:
                raise LaminaError(f"attribute '{proto.name}' is a list of graphs", where=place)
            elif proto.ref_attr_name:
                raise LaminaError(f"attribute '{proto.name}' refers to one of a function", where=place)
            else:
                attributes[proto.name] = import_attribute(proto, self.weights, self.base, place)
        return attributes, regions, names

    def _subgraph(self, graph: GraphProto, outer: _Scope) -> Region:
        put_in_order(graph, None, self.file)
        constants = {t.name for t in graph.initializer}
        inputs = [info for info in graph.input if info.name not in constants]
        block = Block(
            arg_types=[
                import_type(i.type, f"{self.file}: input '{i.name}'") if i.HasField("type") else UnknownType()
                for i in inputs
            ]
        )
        scope = _Scope(block, outer)
        for info, arg in zip(inputs, block.args, strict=True):
            self._define(scope, info.name, arg)
        self._initializers(graph, scope)
        for info in graph.value_info:
            self.types.setdefault(info.name, import_type(info.type, f"{self.file}: value '{info.name}'"))
        for number, node in enumerate(graph.node, 1):
            self._node(node, scope, number)
        where = f"{self.file}: output of graph '{graph.name}'"
        outputs = [self._read(scope, info.name, where) for info in graph.output]
        block.add_op(YieldOp.create(operands=outputs, location=self._location(graph.name, len(graph.node) + 1)))
        return Region(block)


def import_function(
    function: FunctionProto,
    arguments: Sequence[SSAValue | None],
    block: Block,
    weights: WeightStore,
    location: NameLoc,
) -> list[SSAValue]:
    """Appends the body of an ONNX function to `block` and returns its outputs.

    References to attributes must have been substituted; an argument of None was left out by the caller.
    """
    from onnx import ModelProto

    ctx = LaminaContext()
    ctx.weights = weights
    importer = _Importer(ModelProto(), ctx, location.desc.data, None)
    return importer.function(function, arguments, block, location)


def _check_ops(module: ModuleOp) -> None:
    """Raises LaminaError for a node that its operator's schema does not allow."""
    for op in module.walk():
        if isinstance(op, OnnxOp):
            try:
                op.verify_()
            except VerifyException as error:
                raise LaminaError(str(error), where=op) from error


def _set_opsets(op: Operation | None, versions: dict[str, int], location: NameLoc) -> None:
    """Notes on `op` and those after it the opsets they are written in, and where they come from."""
    while op is not None:
        for inner in op.walk():
            inner.location = location
            if isinstance(inner, OnnxOp) and inner.domain in versions:
                inner.attributes[OPSET] = IntegerAttr(versions[inner.domain], i64)
        op = op.next_op


def value_name(name: str) -> str:
    """`name` as the name of an SSA value, which admits fewer characters.

    >>> value_name("gpu_0/data_0"), value_name("42")
    ('gpu_0_data_0', 'v42')
    """
    clean = re.sub(r"[^A-Za-z0-9_$.-]", "_", name)
    return clean if clean and not clean[0].isdigit() and clean[0] != "-" else f"v{clean}"
