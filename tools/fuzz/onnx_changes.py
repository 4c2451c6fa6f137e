"""Changes of ONNX models that keep them protobufs: operators, wires, attributes, shapes, types, versions, files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from random import Random

from google.protobuf.message import DecodeError, Message
from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    SparseTensorProto,
    TensorProto,
    TypeProto,
    ValueInfoProto,
    defs,
)

_LONGEST = (1 << 63) - 1
_INTEGERS = (0, 1, -1, 2, 3, 4, 7, 8, 64, 255, 65536, 1 << 20, 1 << 31, (1 << 31) - 1, 1 << 40, _LONGEST, -_LONGEST - 1)
_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e30, 1e-30, float("inf"), float("-inf"), float("nan"))
_NAMES = ("", "x", "y", "N", "../w", "é", "a/b", "0", "\0", "%0", "loc(", '"', "main", "a" * 5000)
_PLACES = ("../secret", "/etc/passwd", "", ".", "..", "w.bin", "a/../../b", "\0", "C:\\w", "model.onnx", "x" * 300)
_DEPTH = 60  # graphs inside one another; protobuf itself refuses more than a hundred messages

Change = Callable[[Random, ModelProto], None]


def changed_model(dice: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """A serialised model with one change; what is no model comes back as it is."""
    model = ModelProto()
    try:
        model.ParseFromString(data)
    except (DecodeError, RecursionError):
        return data
    change = dice.choice(_CHANGES)
    try:
        if change is _transplant:
            _transplant(dice, model, ModelProto.FromString(dice.choice(others)))
        else:
            change(dice, model)
        return model.SerializeToString()
    except (DecodeError, ValueError, TypeError):  # a change that protobuf does not take
        return data


def _graphs(graph: GraphProto) -> Iterator[GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _graphs(attribute.g)
            for inner in attribute.graphs:
                yield from _graphs(inner)


def _graph(dice: Random, model: ModelProto) -> GraphProto:
    return dice.choice(list(_graphs(model.graph)))


def _node(dice: Random, model: ModelProto) -> NodeProto:
    nodes = [node for graph in _graphs(model.graph) for node in graph.node]
    nodes += [node for function in model.functions for node in function.node]
    return dice.choice(nodes) if nodes else model.graph.node.add(op_type="Identity")


def _names(graph: GraphProto) -> list[str]:
    """The names of values in a graph, and of some that are not there."""
    made = [name for node in graph.node for name in node.output]
    given = [named.name for named in (*graph.input, *graph.output, *graph.initializer)]
    return [*made, *given, "nowhere", ""]


@lru_cache
def _operators() -> tuple[tuple[str, str], ...]:
    return tuple(sorted({(schema.domain, schema.name) for schema in defs.get_all_schemas_with_history()}))


def _operator(dice: Random, model: ModelProto) -> None:
    node = _node(dice, model)
    node.domain, node.op_type = dice.choice(_operators())
    if dice.random() < 0.1:
        node.op_type = dice.choice(_NAMES)


def _arity(dice: Random, model: ModelProto) -> None:
    node = _node(dice, model)
    side = dice.choice((node.input, node.output))
    names = _names(model.graph)
    match dice.randrange(4):
        case 0 if side:
            del side[dice.randrange(len(side))]
        case 1 if side:
            side.append(dice.choice(list(side)))
        case 2:
            side.append(dice.choice(names))
        case _:
            side.extend(f"more{i}" for i in range(dice.choice((1, 3, 40))))


def _wire(dice: Random, model: ModelProto) -> None:
    """One name for another: also cycles, values read before they are made, values made twice."""
    node = _node(dice, model)
    side = node.input if node.input and dice.random() < 0.8 else node.output
    if side:
        side[dice.randrange(len(side))] = dice.choice(_names(model.graph))


def _order(dice: Random, model: ModelProto) -> None:
    graph = _graph(dice, model)
    nodes = list(graph.node)
    dice.shuffle(nodes)
    del graph.node[:]
    graph.node.extend(nodes if dice.random() < 0.5 else nodes[: len(nodes) // 2 + 1])
    if graph.node and dice.random() < 0.3:
        graph.node.append(dice.choice(list(graph.node)))


def _attribute(dice: Random, model: ModelProto) -> None:
    node = _node(dice, model)
    if not node.attribute or dice.random() < 0.3:
        given = [name for domain, kind in [(node.domain, node.op_type)] for name in _attribute_names(domain, kind)]
        attribute = node.attribute.add(name=dice.choice([*given, "axis", "to", "nonsense"]))
    else:
        attribute = dice.choice(list(node.attribute))
    match dice.randrange(6):
        case 0:
            node.attribute.remove(attribute)
        case 1:
            attribute.name = dice.choice(_NAMES)
        case 2:
            kinds = AttributeProto.AttributeType
            attribute.type = dice.choice(
                (kinds.UNDEFINED, kinds.INT, kinds.FLOATS, kinds.STRING, kinds.TENSOR, kinds.GRAPH)
            )
        case 3:
            attribute.ref_attr_name = dice.choice(_NAMES)
        case _:
            _value(dice, attribute, model)


@lru_cache
def _attribute_names(domain: str, kind: str) -> tuple[str, ...]:
    try:
        return tuple(defs.get_schema(kind, domain=domain).attributes)
    except defs.SchemaError:
        return ()


def _value(dice: Random, attribute: AttributeProto, model: ModelProto) -> None:
    """A value of the attribute's own type, mostly; else of any."""
    kinds = AttributeProto.AttributeType
    if attribute.type in (kinds.UNDEFINED, kinds.GRAPH) or dice.random() < 0.25:
        attribute.type = dice.choice((kinds.INT, kinds.INTS, kinds.FLOAT, kinds.FLOATS, kinds.STRING, kinds.TENSOR))
    match attribute.type:
        case kinds.INT:
            attribute.i = _integer(dice)
        case kinds.INTS:
            _list(dice, attribute.ints, _integer)
        case kinds.FLOAT:
            attribute.f = dice.choice(_FLOATS)
        case kinds.FLOATS:
            _list(dice, attribute.floats, lambda d: d.choice(_FLOATS))
        case kinds.STRING:
            attribute.s = dice.choice(
                (b"", b"SAME_UPPER", b"VALID", b"\xff\xfe", b"linear", b"bnij,bnjd->bnid", b"...,->")
            )
        case kinds.STRINGS:
            _list(dice, attribute.strings, lambda d: d.choice((b"", b"Relu", b"\xff")))
        case kinds.TENSOR:
            _change_tensor(dice, attribute.t)
        case kinds.SPARSE_TENSOR:
            attribute.sparse_tensor.CopyFrom(_sparse(dice))
        case kinds.GRAPHS:
            attribute.graphs.add().CopyFrom(model.graph)
        case _:
            attribute.i = _integer(dice)


def _list(dice: Random, field: object, make: Callable[[Random], object]) -> None:
    """Changes a repeated field: other values, more or fewer."""
    values: list[object] = list(field)  # type: ignore
    match dice.randrange(4):
        case 0:
            values = values[:-1]
        case 1:
            values.append(make(dice))
        case 2:
            values = [make(dice) for _ in range(dice.choice((0, 1, 2, 4, 9)))]
        case _:
            if values:
                values[dice.randrange(len(values))] = make(dice)
    del field[:]  # type: ignore
    field.extend(values)  # type: ignore


def _integer(dice: Random) -> int:
    return dice.choice(_INTEGERS) if dice.random() < 0.6 else dice.randint(-5, 9)


def _tensors(model: ModelProto) -> list[TensorProto]:
    found: list[TensorProto] = []
    for graph in _graphs(model.graph):
        found += graph.initializer
        found += [a.t for node in graph.node for a in node.attribute if a.HasField("t")]
    return found


def _tensor(dice: Random, model: ModelProto) -> None:
    tensors = _tensors(model)
    if tensors and dice.random() < 0.8:
        _change_tensor(dice, dice.choice(tensors))
    else:  # an input that becomes a constant
        graph = _graph(dice, model)
        tensor = graph.initializer.add(name=dice.choice(_names(graph)), data_type=dice.choice((1, 6, 7, 9, 11)))
        count = dice.choice((0, 1, 1, 2, 4))
        if dice.random() < 0.7:
            tensor.dims.append(count)
        tensor.int64_data.extend(_integer(dice) for _ in range(count)) if tensor.data_type == 7 else None
        if tensor.data_type == 1:
            tensor.float_data.extend(dice.choice(_FLOATS) for _ in range(count))


def _change_tensor(dice: Random, tensor: TensorProto) -> None:
    match dice.randrange(7):
        case 0:
            tensor.data_type = dice.randint(-1, 30)
        case 1:
            _list(dice, tensor.dims, _integer)
        case 2:
            tensor.raw_data = tensor.raw_data[: dice.randint(0, len(tensor.raw_data))] + dice.randbytes(
                dice.choice((0, 1, 8))
            )
        case 3:
            _list(dice, tensor.int64_data, _integer)
        case 4 if tensor.raw_data:
            data = bytearray(tensor.raw_data)
            width = 8 if tensor.data_type == 7 and len(data) >= 8 else 1
            at = dice.randrange(len(data) // width) * width
            data[at : at + width] = (_integer(dice) % (1 << 8 * width)).to_bytes(width, "little")
            tensor.raw_data = bytes(data)
        case 5:
            tensor.segment.begin, tensor.segment.end = _integer(dice), _integer(dice)
        case _:
            _external(dice, tensor)


def _external(dice: Random, tensor: TensorProto) -> None:
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, values in (
        ("location", _PLACES),
        ("offset", ("0", "-1", "1e3", str(1 << 70))),
        ("length", ("0", "4", "-4")),
    ):
        if dice.random() < 0.8:
            tensor.external_data.add(key=key, value=dice.choice(values))


def _sparse(dice: Random) -> SparseTensorProto:
    sparse = SparseTensorProto(dims=[_integer(dice) for _ in range(dice.choice((0, 1, 2, 2)))])
    count = dice.choice((0, 1, 3))
    sparse.values.CopyFrom(TensorProto(name="sparse", data_type=1, dims=[count], float_data=[1.0] * count))
    sparse.indices.CopyFrom(TensorProto(data_type=7, dims=[count], int64_data=[_integer(dice) for _ in range(count)]))
    if dice.random() < 0.4:
        _list(dice, sparse.indices.dims, _integer)
    return sparse


def _sparse_constant(dice: Random, model: ModelProto) -> None:
    sparse = _sparse(dice)
    sparse.values.name = dice.choice(_names(model.graph))
    model.graph.sparse_initializer.append(sparse)


def _infos(model: ModelProto) -> list[ValueInfoProto]:
    return [info for g in _graphs(model.graph) for info in (*g.input, *g.output, *g.value_info)]


def _shape(dice: Random, model: ModelProto) -> None:
    infos = _infos(model)
    if not infos:
        return
    info = dice.choice(infos)
    dims = info.type.tensor_type.shape.dim
    match dice.randrange(5):
        case 0 if dims:
            dice.choice(list(dims)).dim_value = _integer(dice)
        case 1 if dims:
            dice.choice(list(dims)).dim_param = dice.choice(_NAMES)
        case 2:
            info.type.tensor_type.ClearField("shape")
        case 3:
            dims.add(dim_value=_integer(dice))
        case _:
            if dims:
                del dims[dice.randrange(len(dims)) :]


def _type(dice: Random, model: ModelProto) -> None:
    infos = _infos(model)
    if not infos:
        return
    info = dice.choice(infos)
    match dice.randrange(6):
        case 0:
            inner = TypeProto()
            inner.CopyFrom(info.type)
            for _ in range(dice.choice((1, 1, 2, _DEPTH))):
                outer = TypeProto()
                outer.sequence_type.elem_type.CopyFrom(inner)
                inner = outer
            info.type.CopyFrom(inner)
        case 1:
            info.type.optional_type.elem_type.tensor_type.elem_type = 1
        case 2:
            info.type.map_type.key_type = dice.randint(0, 30)
        case 3:
            info.ClearField("type")
        case _:
            info.type.tensor_type.elem_type = dice.randint(-1, 30)


def _interface(dice: Random, model: ModelProto) -> None:
    graph = _graph(dice, model)
    side = dice.choice((graph.input, graph.output))
    match dice.randrange(4):
        case 0 if side:
            del side[dice.randrange(len(side))]
        case 1 if side:
            side.append(dice.choice(list(side)))
        case 2 if side:
            dice.choice(list(side)).name = dice.choice([*_names(graph), *_NAMES])
        case _:
            name = dice.choice(_names(graph))
            side.add(name=name).type.tensor_type.elem_type = dice.randint(0, 25)


def _version(dice: Random, model: ModelProto) -> None:
    match dice.randrange(5):
        case 0:
            model.ir_version = _integer(dice)
        case 1:
            del model.opset_import[:]
        case 2:
            model.opset_import.add(
                domain=dice.choice(("", "ai.onnx", "ai.onnx.ml", "com.microsoft", "é")), version=_integer(dice)
            )
        case _:
            for entry in model.opset_import:
                entry.version = dice.randint(-1, 30)


def _subgraph(dice: Random, model: ModelProto) -> None:
    """The graph within itself, once or deep."""
    kinds = (("If", "then_branch"), ("Loop", "body"), ("Scan", "body"), ("SequenceMap", "body"), ("Relu", "g"))
    op, name = dice.choice(kinds)
    graph = model.graph
    for _ in range(dice.choice((1, 1, 2, _DEPTH))):
        inner = GraphProto()
        inner.CopyFrom(graph)
        if len(inner.SerializeToString()) > 1 << 16:
            break
        node = graph.node.add(op_type=op, input=[dice.choice(_names(graph))], output=[f"deep{dice.randrange(1 << 30)}"])
        node.attribute.add(name=name, type=AttributeProto.GRAPH).g.CopyFrom(inner)
        if op == "If":
            node.attribute.add(name="else_branch", type=AttributeProto.GRAPH).g.CopyFrom(inner)


def _function(dice: Random, model: ModelProto) -> None:
    """A function in place of an operator: its body calls the operator, itself, or one that calls it."""
    node = _node(dice, model)
    inputs, outputs = [f"i{i}" for i in range(len(node.input))], [f"o{i}" for i in range(len(node.output))]
    for index in range(dice.choice((1, 1, 2))):
        body = NodeProto()
        body.CopyFrom(node)
        body.op_type, body.domain = (node.op_type, node.domain) if dice.random() < 0.4 else (f"F{1 - index}", "local")
        for side, names in ((body.input, inputs), (body.output, outputs)):
            del side[:]
            side.extend(names)
        function = FunctionProto(name=f"F{index}", domain="local", input=inputs, output=outputs, node=[body])
        function.opset_import.extend(model.opset_import)
        function.opset_import.add(domain="local", version=1)
        if dice.random() < 0.2:
            function.attribute.append(dice.choice(_NAMES))
        model.functions.append(function)
    model.opset_import.add(domain="local", version=1)
    node.op_type, node.domain = dice.choice(("F0", "F1")), "local"


def _transplant(dice: Random, model: ModelProto, other: ModelProto) -> None:
    """Nodes, constants and inputs of another model."""
    graph = _graph(dice, model)
    match dice.randrange(3):
        case 0:
            graph.MergeFrom(other.graph)
        case 1:
            graph.node.extend(other.graph.node)
            graph.initializer.extend(other.graph.initializer)
        case _:
            names = _names(graph)
            for node in other.graph.node:
                new = graph.node.add()
                new.CopyFrom(node)
                for i in range(len(new.input)):
                    new.input[i] = dice.choice(names)
                for i, name in enumerate(new.output):
                    new.output[i] = f"{name}_other"
            model.opset_import.extend(other.opset_import)


def _any_field(dice: Random, model: ModelProto) -> None:
    """Some field of some message, however deep, cleared or given another value of its type."""
    message: Message = model
    for _ in range(dice.randint(1, 8)):
        children = [v for f, v in message.ListFields() if f.type == f.TYPE_MESSAGE]
        if not children:
            break
        child = dice.choice(children)
        message = child if isinstance(child, Message) else dice.choice(list(child))
    field = dice.choice(list(message.DESCRIPTOR.fields))
    if dice.random() < 0.4 or field.type in (field.TYPE_MESSAGE, field.TYPE_ENUM):
        message.ClearField(field.name)
        return
    values: dict[int, Callable[[], object]] = {
        field.CPPTYPE_INT64: lambda: _integer(dice),
        field.CPPTYPE_INT32: lambda: dice.randint(-2, 40),
        field.CPPTYPE_FLOAT: lambda: dice.choice(_FLOATS),
        field.CPPTYPE_DOUBLE: lambda: dice.choice(_FLOATS),
        field.CPPTYPE_STRING: lambda: (
            dice.choice(_NAMES).encode() if field.type == field.TYPE_BYTES else dice.choice(_NAMES)
        ),
    }
    make = values.get(field.cpp_type)
    if make is None:
        return
    old = getattr(message, field.name)
    if hasattr(old, "extend"):
        old.extend([make() for _ in range(dice.choice((1, 3)))])
    else:
        setattr(message, field.name, make())


_CHANGES: tuple[Callable[..., None], ...] = (
    _operator,
    _arity,
    _wire,
    _wire,
    _order,
    _attribute,
    _attribute,
    _attribute,
    _tensor,
    _tensor,
    _sparse_constant,
    _shape,
    _shape,
    _type,
    _interface,
    _version,
    _subgraph,
    _function,
    _transplant,
    _any_field,
)
