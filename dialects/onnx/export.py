"""Writes the onnx level as a model that others can read: names, types, weights and all.

Large weights go into a file of their own beside the model (ONNX's external data), since a protobuf ends at 2 GiB.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, NameLoc, NoneType, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, SSAValue

from ...compiler.artefact import written_whole
from ...compiler.diagnostics import LaminaError
from ...compiler.weights import Array, WeightStore
from .attributes import python_value
from .load import DIMS, NAME
from .ops import OPSET, OnnxOp, op_class
from .save import GraphWriter, opset_imports, type_proto
from .schemas import DEFAULT_DOMAIN, newest_version
from .types import element_code

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, TypeProto, ValueInfoProto

LARGEST_INSIDE = 1 << 30
"""Bytes of weights up to which a model is one file."""

_SMALL = 1024  # bytes of a tensor that stays in the model even so: it may be a shape
_ALIGNMENT = 4096  # of tensors in the file of weights, so that they can be mapped
_PRODUCER = "lamina"


def export_model(module: ModuleOp, weights: WeightStore) -> ModelProto:
    """`@main` of a module of the onnx level as a model with its weights.

    Raises LaminaError for ops of other dialects, and for more weights than a protobuf holds.
    """
    writer = _Exporter(weights, LARGEST_INSIDE)
    model = _model(module, writer)
    if writer.external:
        raise LaminaError("the weights are larger than a model in memory can be", hint="give a file to write to")
    return model


def write_model(module: ModuleOp, weights: WeightStore, path: Path, largest_inside: int = LARGEST_INSIDE) -> None:
    """Writes `@main` to `path`; weights of more than `largest_inside` bytes in all to `path` with `.data` added."""
    writer = _Exporter(weights, largest_inside)
    data = path.with_name(path.name + ".data")
    writer.location = data.name
    model = _model(module, writer)
    if writer.external:
        with written_whole(data) as file:
            for offset, array in writer.external:
                file.seek(offset)
                file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    with written_whole(path) as file:
        file.write(model.SerializeToString())


def _model(module: ModuleOp, writer: _Exporter) -> ModelProto:
    from onnx import helper

    module = module.clone()
    function = next((f for f in module.ops if isinstance(f, FuncOp) and f.sym_name.data == "main"), None)
    if function is None:
        raise LaminaError("the module has no function @main")
    name = function.location.desc.data if isinstance(function.location, NameLoc) else "main"
    graph = writer.main(function, name)
    # a body of a function that was expanded says its own version, which a model can say only once
    opsets = {entry.domain: entry for entry in opset_imports(module)}  # pyright: ignore[reportAttributeAccessIssue]
    for op in module.walk():
        if isinstance(op, OnnxOp):
            domain = "" if op.domain == DEFAULT_DOMAIN else op.domain
            if domain not in opsets:
                opsets[domain] = helper.make_opsetid(domain, newest_version(op.domain))
            if OPSET in op.attributes and op.opset != opsets[domain].version:  # pyright: ignore
                raise LaminaError("written in another opset than the model", where=op)
    version = helper.find_min_ir_version_for(list(opsets.values()), ignore_unknown=True)  # pyright: ignore
    model = helper.make_model(graph, opset_imports=list(opsets.values()), ir_version=max(version, 8))
    model.producer_name = _PRODUCER
    return model


class _Exporter(GraphWriter):
    """Writes names and weights too."""

    def __init__(self, weights: WeightStore, largest_inside: int):
        super().__init__(weights)
        self.largest_inside = largest_inside
        self.location = ""
        self.external: list[tuple[int, Array]] = []
        self.apart = False  # whether large weights go to a file of their own
        self.end = 0
        self.taken: set[str] = set()
        self.nodes: set[str] = set()

    def name(self, value: SSAValue) -> str:
        if value.type != NoneType() and value not in self.names:
            self.names[value] = self._fresh(value.name_hint or "v")
        return super().name(value)

    def _fresh(self, hint: str) -> str:
        name, n = hint, 0
        while name in self.taken:
            n += 1
            name = f"{hint}_{n}"
        self.taken.add(name)
        return name

    def node_name(self, op: OnnxOp) -> str:
        """The name that the file gave, which the op's location has kept."""
        text = op.location.desc.data if isinstance(op.location, NameLoc) else ""
        hint = text.partition(":")[0] or text or op.operator
        name, n = hint, 0
        while name in self.nodes:
            n += 1
            name = f"{hint}_{n}"
        self.nodes.add(name)
        return name

    def output_type(self, kind: Attribute) -> TypeProto:
        return type_proto(kind)

    def main(self, function: FuncOp, name: str) -> GraphProto:
        """The graph of `@main`, its inputs and outputs called as the signature says."""
        block = function.body.block
        self._name_ends(function, block)
        total = sum(array.nbytes for array in self._tensors(block))
        self.apart = total > self.largest_inside
        graph = self.graph(block, name)
        for info, attributes in zip(graph.input, _entries(function.arg_attrs, len(graph.input)), strict=True):
            _name_dimensions(info, attributes)
        return graph

    def _name_ends(self, function: FuncOp, block: Block) -> None:
        end = block.last_op
        assert isinstance(end, ReturnOp)
        given = zip(block.args, _entries(function.arg_attrs, len(block.args)), strict=True)
        for i, (arg, attributes) in enumerate(given):
            self.names[arg] = self._fresh(_label(attributes, f"input{i}"))
        for i, attributes in enumerate(_entries(function.res_attrs, len(end.operands))):
            value = end.operands[i]
            if value in self.names or value.owner.name == "onnx.Constant":  # pyright: ignore
                value = _copied(end, i)  # a graph gives a value of its own for each output
            self.names[value] = self._fresh(_label(attributes, f"output{i}"))

    def _tensors(self, block: Block) -> list[Array]:
        values = [
            op.attributes["value"] for op in block.walk() if op.name == "onnx.Constant" and "value" in op.attributes
        ]
        return [array for value in values if isinstance(array := python_value(value, self.weights), np.ndarray)]

    def constant(self, op: OnnxOp, graph: GraphProto) -> None:
        from onnx import TensorProto, numpy_helper

        array = python_value(op.attributes["value"], self.weights)
        name = self.name(op.results[0])
        kind = op.results[0].type
        assert isinstance(kind, TensorType)
        code = element_code(kind.element_type)
        if not self.apart or array.nbytes <= _SMALL or array.dtype == object or not self.location or _packed(code):
            graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name))
            return
        tensor = graph.initializer.add(name=name, data_type=code, dims=array.shape)
        tensor.data_location = TensorProto.EXTERNAL
        self.end = -(-self.end // _ALIGNMENT) * _ALIGNMENT
        for key, value in (("location", self.location), ("offset", self.end), ("length", array.nbytes)):
            tensor.external_data.add(key=key, value=str(value))
        self.external.append((self.end, array))
        self.end += array.nbytes


def _copied(end: ReturnOp, place: int) -> SSAValue:
    """An Identity of what `end` returns there, returned instead."""
    identity = op_class("onnx.Identity")
    assert identity is not None and end.parent is not None
    value = end.operands[place]
    op = identity.create(operands=[value], result_types=[value.type], location=end.location)
    end.parent.insert_op_before(op, end)
    end.operands[place] = op.results[0]
    return op.results[0]


def _packed(code: int) -> bool:
    """Whether ONNX stores several elements of the type in a byte."""
    return code in (21, 22, 23, 25, 26)


def _entries(attributes: ArrayAttr[DictionaryAttr] | None, count: int) -> list[DictionaryAttr]:
    return list(attributes) if attributes is not None else [DictionaryAttr({})] * count


def _label(attributes: DictionaryAttr, otherwise: str) -> str:
    name = attributes.data.get(NAME)
    return name.data if isinstance(name, StringAttr) else otherwise


def _name_dimensions(info: ValueInfoProto, attributes: DictionaryAttr) -> None:
    dims = attributes.data.get(DIMS)
    if isinstance(dims, ArrayAttr):
        for dim, name in zip(info.type.tensor_type.shape.dim, dims, strict=False):
            if isinstance(name, StringAttr) and name.data and not dim.HasField("dim_value"):
                dim.dim_param = name.data
