"""Models with strings, sequences or optionals: what holds these runs here, between compiled pieces.

    split -> SequenceAt -> Conv, Relu -> SequenceInsert

Nodes that only know tensors are compiled, neighbours together, for the shapes that come; the others are a few lines of
Python each (`operators.py`). If, Loop and SequenceMap run here where what they carry is no tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from importlib import import_module
from typing import Any

from onnx import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    TypeProto,
    ValueInfoProto,
    helper,
)

from ...compiler.diagnostics import LaminaError
from ...compiler.signature import Signature, TensorSpec, as_array
from ...dialects.onnx.inference import infer_value_types
from ..api import Model
from ..model_files import resolve
from .operators import HOST_OPERATORS, PREPARED_OPERATORS
from .strings import BY_NUMBERS, Numbered, strict_categories, worded

for _chapter in ("encoders", "images"):  # they add to HOST_OPERATORS
    import_module(f".{_chapter}", __package__)

Compile = Callable[[ModelProto], Model]
Values = dict[str, Any]
_REGIONS = ("If", "Loop", "Scan", "SequenceMap")
HOST_ONLY = ("Sequence", "Optional", "String", "Regex", "SplitToSequence", "ImageDecoder")  # how their names begin
_CLASSIFIERS = {
    "LinearClassifier": "classlabels_ints",
    "SVMClassifier": "classlabels_ints",
    "TreeEnsembleClassifier": "classlabels_int64s",
}


RUN_HERE = frozenset({*HOST_OPERATORS, *PREPARED_OPERATORS, *BY_NUMBERS, *_REGIONS})


class _Step:
    """One node that runs here, or neighbours that are compiled together; what each call would find out anew."""

    def __init__(self, nodes: Sequence[NodeProto], host: bool, graph: GraphProto):
        self.nodes, self.host, self.name = nodes, host, graph.name or "piece"
        made = {name for node in nodes for name in node.output if name}
        self.read = tuple(
            dict.fromkeys(name for node in nodes for name in _names_read(node) if name and name not in made)
        )
        later = {info.name for info in graph.output}
        later |= {name for node in graph.node if made.isdisjoint(node.output) for name in _names_read(node)}
        self.wanted = [name for name in dict.fromkeys(n for node in nodes for n in node.output if n) if name in later]
        self.pieces: dict[tuple[Any, ...], Model] = {}  # by what is read

    @cached_property
    def attributes(self) -> dict[str, Any]:
        """Those of a node that runs here."""
        return {a.name: helper.get_attribute_value(a) for a in self.nodes[0].attribute}

    @cached_property
    def function(self) -> Callable[..., list[Any]]:
        """What a node that runs here makes of its inputs."""
        operator = self.nodes[0].op_type
        prepare = PREPARED_OPERATORS.get(operator)
        return prepare(**self.attributes) if prepare else partial(HOST_OPERATORS[operator], **self.attributes)

    @cached_property
    def numbered(self) -> tuple[Numbered, _Step]:
        """A node on strings by one on numbers."""
        numbered = Numbered(self.nodes[0])
        outputs = [ValueInfoProto(name=name) for name in self.nodes[0].output if name]
        return numbered, _Step([numbered.node], False, GraphProto(output=outputs))


class HostModel(Model):
    """Called like any other model; sequences are lists, an optional without a value is None, strings are objects."""

    def __init__(self, model: ModelProto, compile_piece: Compile):
        self.model = model = numbered_labels(model)
        self._compile_piece = compile_piece
        self._plans: dict[int, tuple[Values, list[_Step]]] = {}  # with constants, by graph
        self._types = infer_value_types(model, model.graph.name or "model")
        constants = {tensor.name for tensor in model.graph.initializer}
        self._inputs = [info.name for info in model.graph.input if info.name not in constants]
        inputs, outputs = (
            tuple(TensorSpec(name, ("...",), _kind(self._types.get(name))) for name in names)
            for names in (self._inputs, [info.name for info in model.graph.output])
        )
        self.signature = Signature(inputs, outputs)
        self._check(model.graph)

    def __call__(self, *inputs: Any, **named: Any) -> list[Any]:
        """One inference. Raises LaminaError naming the node for what cannot be."""
        if len(inputs) > len(self._inputs):
            raise LaminaError(f"{len(inputs)} inputs given, {len(self._inputs)} expected")
        values: Values = {**dict(zip(self._inputs, inputs, strict=False)), **named}
        if missing := [name for name in self._inputs if name not in values]:
            raise LaminaError(f"missing input {', '.join(map(repr, missing))}")
        return self._run(self.model.graph, {name: _plain(value) for name, value in values.items()})

    @property
    def artefact(self) -> Any:
        """Always a LaminaError: there is no single piece of code."""
        raise LaminaError("a model with strings, sequences or optionals cannot be saved")

    def _check(self, graph: GraphProto) -> None:
        """Raises LaminaError naming every node that nothing here runs."""
        missing = [
            f"{node.op_type} at '{next(iter(node.output), '')}'"
            for node in _all_nodes(graph)
            if self._is_host(node) and node.op_type not in RUN_HERE
        ]
        if missing:
            raise LaminaError(
                f"{len(missing)} nodes work on strings, sequences or optionals and are not supported",
                where=graph.name,
                notes=tuple(missing),
            )

    def _is_host(self, node: NodeProto) -> bool:
        names = [*node.input, *node.output]
        inner = [info for g in _graphs(node) for n in _all_nodes(g) for info in (*n.input, *n.output)]
        typed = any(_kind(self._types.get(name)) != "tensor" for name in (*names, *inner) if name)
        return typed or node.op_type.startswith(HOST_ONLY) or strict_categories(node) is not None

    def _run(self, graph: GraphProto, given: Values) -> list[Any]:
        constants, steps = self._plan(graph)
        values = {**constants, **given}
        for step in steps:
            self._host(step, values) if step.host else self._compiled(step, values)
        return [self._read(values, info.name) for info in graph.output]

    def _plan(self, graph: GraphProto) -> tuple[Values, list[_Step]]:
        """The constants of a graph, and its nodes in order, neighbours that are compiled together."""
        plan = self._plans.get(id(graph))
        if plan is None:
            from onnx import numpy_helper

            together = self._together(graph)
            constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
            plan = self._plans[id(graph)] = constants, [_Step(nodes, host, graph) for host, nodes in together]
        return plan

    def _together(self, graph: GraphProto) -> list[tuple[bool, list[NodeProto]]]:
        """The nodes in order, those that are compiled in as few groups as what runs here in between allows."""
        groups: list[tuple[bool, list[NodeProto]]] = []
        made: dict[str, int] = {}  # the group that gives a value
        last = -1  # the last group that is compiled
        for node in graph.node:
            host = self._is_host(node)
            if host or last < max((made.get(name, -1) for name in _names_read(node)), default=-1) or last < 0:
                groups.append((host, []))
                last = last if host else len(groups) - 1
            group = len(groups) - 1 if host else last
            groups[group][1].append(node)
            made.update((name, group) for name in node.output if name)
        return groups

    @staticmethod
    def _read(values: Values, name: str) -> Any:
        if name and name not in values:
            raise LaminaError(f"'{name}' is not defined")
        return values[name] if name else None

    def _host(self, step: _Step, values: Values) -> None:
        (node,) = step.nodes
        inputs = [self._read(values, name) for name in node.input]
        try:
            if node.op_type in _REGIONS:
                results = getattr(self, f"_{node.op_type.lower()}")(node, inputs, step.attributes, values)
            elif node.op_type in BY_NUMBERS:
                results = self._by_numbers(step, inputs)
            else:
                results = step.function(*inputs)
        except (TypeError, ValueError, IndexError, AttributeError) as error:
            where = f"{node.op_type} at '{next(iter(node.output), '')}'"
            raise LaminaError(f"cannot be computed: {error}", where=where) from error
        values.update((name, result) for name, result in zip(node.output, results, strict=False) if name)

    def _by_numbers(self, step: _Step, inputs: list[Any]) -> list[Any]:
        """A node on strings, which it only moves or compares."""
        (node,) = step.nodes
        numbered, of_numbers = step.numbered
        values, words = numbered.numbers(inputs)
        self._compiled(of_numbers, values)
        texts = {name for name in node.output if _kind(self._types.get(name)) == "string"}
        return [worded(values[name], words) if name in texts else values.get(name) for name in node.output]

    def _compiled(self, step: _Step, values: Values) -> None:
        arrays = {name: values[name] for name in step.read if name in values}
        key = tuple((name, x.dtype, x.shape) for name, x in arrays.items())
        found = step.pieces.get(key)
        if found is None:
            found = step.pieces[key] = self._compile_piece(self._piece(step, arrays))
        values.update(zip(step.wanted, found(*arrays.values()), strict=True))

    def _piece(self, step: _Step, arrays: Values) -> ModelProto:
        """The nodes of a step as a model for such arrays."""
        outputs = [helper.make_empty_tensor_value_info(name) for name in step.wanted]
        for info in outputs:
            if info.name in self._types:
                info.type.CopyFrom(self._types[info.name])
                info.type.tensor_type.ClearField("shape")
                if _kind(info.type) == "string":  # of a node on numbers instead
                    info.type.tensor_type.elem_type = TensorProto.INT64
        inputs = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            for name, x in arrays.items()
        ]
        return helper.make_model(
            helper.make_graph(step.nodes, step.name, inputs, outputs),
            opset_imports=self.model.opset_import,
            ir_version=self.model.ir_version,
            functions=self.model.functions,
        )

    # control flow

    def _if(self, node: NodeProto, inputs: list[Any], attributes: Mapping[str, Any], values: Values) -> list[Any]:
        branch = attributes["then_branch" if bool(as_array(inputs[0]).reshape(-1)[0]) else "else_branch"]
        return self._run(branch, dict(values))

    def _loop(self, node: NodeProto, inputs: list[Any], attributes: Mapping[str, Any], values: Values) -> list[Any]:
        import numpy as np

        body: GraphProto = attributes["body"]
        trips, condition, *state = inputs
        limit = None if trips is None else int(as_array(trips).reshape(-1)[0])
        goes_on = condition is None or bool(as_array(condition).reshape(-1)[0])
        rows: list[list[Any]] = []
        while goes_on and (limit is None or len(rows) < limit):
            given = [np.array(len(rows), np.int64), np.array(True), *state]
            names = [info.name for info in body.input]
            following, *results = self._run(body, {**values, **dict(zip(names, given, strict=True))})
            goes_on = bool(as_array(following).reshape(-1)[0])
            state = results[: len(state)]
            rows.append(results[len(state) :])
        stacked = [np.stack(column) for column in zip(*rows, strict=True)]
        return [*state, *stacked]

    def _sequencemap(
        self, node: NodeProto, inputs: list[Any], attributes: Mapping[str, Any], values: Values
    ) -> list[Any]:
        body: GraphProto = attributes["body"]
        names = [info.name for info in body.input]
        rows: list[list[Any]] = []
        for i in range(len(inputs[0])):
            given = [x[i] if isinstance(x, list) else x for x in inputs]
            rows.append(self._run(body, {**values, **dict(zip(names, given, strict=True))}))
        return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in body.output]

    def _scan(self, node: NodeProto, inputs: list[Any], attributes: Mapping[str, Any], values: Values) -> list[Any]:
        raise ValueError("scans over strings, sequences or optionals are not supported")


def read_whole(model: Any) -> ModelProto:
    """The model of a path, with its weights, or the one given."""
    if isinstance(model, ModelProto):
        return model
    import onnx

    return onnx.load(resolve(model))


def numbered_labels(model: ModelProto) -> ModelProto:
    """Classifiers whose labels are strings give numbers instead, which a table behind them looks up."""

    def words(node: NodeProto) -> AttributeProto | None:
        named = node.op_type in _CLASSIFIERS
        return next((a for a in node.attribute if named and a.name == "classlabels_strings" and a.strings), None)

    if all(words(node) is None for node in model.graph.node):
        return model
    result = ModelProto()
    result.CopyFrom(model)
    nodes: list[NodeProto] = []
    for node in result.graph.node:
        nodes.append(node)
        if (labels := words(node)) is not None:
            label, number = node.output[0], f"{node.output[0]}/number"
            count = range(len(labels.strings))
            table: dict[str, Any] = {"keys_int64s": count, "values_strings": list(labels.strings)}
            node.attribute.remove(labels)
            node.attribute.append(helper.make_attribute(_CLASSIFIERS[node.op_type], count))
            if label:
                node.output[0] = number
                nodes.append(helper.make_node("LabelEncoder", [number], [label], domain=node.domain, **table))
    ordered = [NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del result.graph.node[:]
    result.graph.node.extend(ordered)
    return result


def _kind(kind: TypeProto | None) -> str:
    """tensor, string, or what else a type is; what nothing is known about is a tensor."""
    which = kind.WhichOneof("value") if kind is not None else None
    if kind is None or which is None:
        return "tensor"
    if which == "tensor_type":
        return "string" if kind.tensor_type.elem_type == TensorProto.STRING else "tensor"
    return which.removesuffix("_type")


def _graphs(node: NodeProto) -> list[GraphProto]:
    return [a.g for a in node.attribute if a.type == AttributeProto.GRAPH]


def _all_nodes(graph: GraphProto) -> Iterator[NodeProto]:
    for node in graph.node:
        yield node
        for inner in _graphs(node):
            yield from _all_nodes(inner)


def _names_read(node: NodeProto) -> Iterator[str]:
    """What a node reads, and what the graphs inside it read from outside."""
    yield from node.input
    for graph in _graphs(node):
        made = {info.name for info in graph.input} | {t.name for t in graph.initializer}
        made |= {name for inner in graph.node for name in inner.output}
        yield from (name for inner in graph.node for name in _names_read(inner) if name not in made)
        yield from (info.name for info in graph.output if info.name not in made)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return value  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list | tuple):
        return [_plain(x) for x in value]  # pyright: ignore[reportUnknownVariableType]
    return None if value is None else as_array(value)
