"""Reads a graph of PyTorch (`torch.fx` over ATen's operators) into the hub, node by node.

    %mul = aten.mul.Tensor(%x, 2.0)            # model.py:12
    ->
    %c = stablehlo.constant dense<2.0> : tensor<f32>
    %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
    %m = stablehlo.multiply %x, %b : tensor<3x4xf32>          loc("block:mul"("model.py":12:1))

Sizes are numbers by now: what PyTorch computes on shapes is computed in Python on the way. What PyTorch says of each
value (dtype and shape) is compared with what was made, so that a wrong lowering is an error and not a wrong number.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FileLineColLoc,
    FunctionType,
    IntAttr,
    LocationAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...compiler.context import LaminaContext
from ...compiler.diagnostics import LaminaError
from ...compiler.locations import UNKNOWN_LOC
from ...compiler.places import describe_location
from ...compiler.program import Program
from ...compiler.weights import Array
from ...dialects import stablehlo as hlo
from ...dialects.onnx.load import NAME, value_name
from ...passes import all_passes
from ...passes.convert.aten_to_stablehlo import AtenBuilder, find
from ...passes.convert.aten_to_stablehlo.builder import element_of, shape_of
from ...passes.convert.aten_to_stablehlo.table import IMMATERIAL, Entry
from ...passes.convert.onnx_to_stablehlo.extents import told_sizes
from .extents import Dependent, carry, depends, masked, size_of
from .reasons import reason_for
from .tensors import array_of, element_from, torch_module

Node = Any  # torch.fx.Node

_FRAME = re.compile(r'File "([^"]*)", line (\d+)')
_CHECKS = (  # operators that only check
    "aten._assert_async.msg",
    "aten._assert_async.default",
    "aten._assert_tensor_metadata.default",
    "aten.sym_constrain_range.default",
    "aten.sym_constrain_range_for_size.default",
    "aten._functional_assert_async.msg",
)
_ASSERT = "aten._assert_scalar.default"
_SIZE = "aten.sym_size.int"
_SIZES: dict[str, Callable[..., Any]] = {
    "aten.sym_size.default": lambda x: list(shape_of(x)),
    "aten.sym_numel.default": lambda x: int(np.prod(shape_of(x))),
    "aten.sym_stride.int": lambda x, dim: int(np.prod(shape_of(x)[dim % len(shape_of(x)) + 1 :])),
    "aten.sym_storage_offset.default": lambda x: 0,
    "aten.sym_is_contiguous.default": lambda x, *_: True,
    "aten.dim.default": lambda x: len(shape_of(x)),
}
_INLINED = ("wrap_with_set_grad_enabled", "wrap_with_autocast", "invoke_subgraph", "checkpoint")


@dataclass(frozen=True)
class Unsupported:
    """An operator that cannot be compiled, why, and the nodes that use it."""

    operator: str
    reason: str
    places: tuple[str, ...]

    def __str__(self) -> str:
        shown = ", ".join(self.places[:3]) + (f" and {len(self.places) - 3} more" if len(self.places) > 3 else "")
        return f"{self.operator}: {self.reason}; {len(self.places)} node{'s'[: len(self.places) > 1]}: {shown}"


def target_name(node: Node) -> str:
    """What a node calls: `aten.add.Tensor`, or the name of a Python function."""
    text = str(node.target)
    return text if "." in text and " " not in text else getattr(node.target, "__name__", text)


def _packet(name: str) -> str:
    """The operator's name without its overload."""
    return name.split(".")[1] if name.startswith("aten.") else name


def _entry(name: str) -> Entry | None:
    return find(name.removeprefix("aten.").removesuffix(".default"))


def _is_number(node: Node) -> bool:
    """Whether a node is arithmetic on sizes."""
    value = node.meta.get("val")
    torch = torch_module()
    return isinstance(value, int | float | bool | torch.SymInt | torch.SymFloat | torch.SymBool)


def unsupported(graph_module: Any, given: Sequence[Node] = ()) -> list[Unsupported]:
    """Every operator of a graph that has no lowering; `given` are nodes that come from elsewhere."""
    places: dict[str, list[str]] = {}
    for node in _nodes(graph_module):
        if node.op != "call_function" or node in given or node.target is operator.getitem:
            continue
        name = target_name(node)
        if name in _CHECKS or name in _SIZES or name in (_SIZE, _ASSERT) or name in _INLINED or name in _CONTROL:
            continue
        if _entry(name) is None and not _is_number(node):
            places.setdefault(name, []).append(describe_location(location_of(node)) or node.name)
    return [Unsupported(name, reason_for(name), tuple(found)) for name, found in places.items()]


def _nodes(graph_module: Any) -> list[Node]:
    """The nodes of a graph and of the graphs in it."""
    return [node for part in graph_module.modules() if hasattr(part, "graph") for node in part.graph.nodes]


def check_supported(graph_module: Any, given: Sequence[Node] = ()) -> None:
    """Raises LaminaError that names all operators without a lowering at once."""
    missing = unsupported(graph_module, given)
    if missing:
        many = "operators have" if len(missing) > 1 else "operator has"
        raise LaminaError(f"{len(missing)} {many} no lowering", notes=tuple(map(str, missing)))


def location_of(node: Node) -> LocationAttr:
    """The module and name of a node over the line of Python that made it."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    stack = node.meta.get("nn_module_stack") or {}
    paths = [entry[0] if isinstance(entry, tuple) else str(entry) for entry in stack.values()]
    module = str(paths[-1]) if paths else ""
    if not module.replace(".", "a").replace("_", "a").isalnum():
        module = ""
    name = StringAttr(f"{module}:{node.name}" if module else node.name)
    if not frames:
        return NameLoc(name, UNKNOWN_LOC)
    file, line = frames[-1]
    return NameLoc(name, FileLineColLoc(StringAttr(file), IntAttr(int(line)), IntAttr(1)))


@dataclass
class GraphImporter:
    """Appends the ops of graphs to a block. `sizes` gives symbols of shapes their values, for the comparison."""

    builder: AtenBuilder
    sizes: Mapping[Any, int] = field(default_factory=dict[Any, int])

    def run(self, graph_module: Any, known: Mapping[Node, Any]) -> list[Any]:
        """The outputs of a graph, flat; `known` has the values of its placeholders and of nodes made elsewhere."""
        values: dict[Node, Any] = dict(known)
        for node in graph_module.graph.nodes:
            if node in values:
                continue
            match node.op:
                case "get_attr":
                    values[node] = self._attribute(graph_module, node)
                case "call_function":
                    values[node] = self._call(graph_module, node, values)
                case "output":
                    return flat(_mapped(node.args[0], values))
                case "placeholder":
                    values[node] = None  # nothing reads it
                case _:
                    raise LaminaError(f"a node of kind '{node.op}'", where=location_of(node))
        return []

    def _attribute(self, graph_module: Any, node: Node) -> Any:
        found = graph_module
        for part in node.target.split("."):
            found = getattr(found, part)
        if isinstance(found, torch_module().Tensor):
            self._stand(node)
            return self.builder.constant(array_of(found), name=node.target)
        return found

    def _stand(self, node: Node) -> None:
        b = self.builder
        b.operator, b.place, b.result = target_name(node), location_of(node), node.name

    def _call(self, graph_module: Any, node: Node, values: dict[Node, Any]) -> Any:
        name = target_name(node)
        args = [_mapped(a, values) for a in node.args]
        kwargs = {k: _mapped(a, values) for k, a in node.kwargs.items()}
        if node.target is operator.getitem:
            if args[1] >= len(args[0]):
                raise LaminaError(f"result {args[1]} of {node.args[0]} is not supported", where=location_of(node))
            return args[0][args[1]]
        self._stand(node)
        if name == _SIZE:
            return size_of(self.builder, *args)
        if name in _SIZES:
            if depends(self.builder, args):
                raise self.builder.fail("the size of a tensor whose shape depends on values is not supported")
            return _SIZES[name](*args)
        if name in _CHECKS:
            return None
        if name == _ASSERT:
            return self._assert(node, args)
        if name in _INLINED:
            return self._inline(name, args)
        if name in _CONTROL:
            return _CONTROL[name](self, node, args)
        entry = _entry(name)
        if entry is None and not any(_has_values(a) for a in (*args, *kwargs.values())):
            return node.target(*args, **kwargs)  # arithmetic on sizes
        if entry is None:
            if _is_number(node):
                return Dependent()
            check_supported(graph_module)
            raise LaminaError(f"{name} on sizes that depend on values", where=location_of(node))
        if name.startswith("aten.as_strided") and not _is_plain(node.args[0].meta["val"]):
            raise self.builder.fail("places in the memory of a tensor that is a view are not supported")
        if any(_is_number(n) and _has_values(_mapped(n, values)) for n in node.all_input_nodes):
            raise self.builder.fail("a size that depends on values is not supported here")
        bounded = depends(self.builder, flat(args))
        if bounded:
            args = masked(self.builder, _packet(name), args)
        try:
            result = entry.function(self.builder, *args, **self._keywords(entry, kwargs))
        except (VerifyException, TypeError, IndexError, AssertionError) as error:
            if isinstance(error, TypeError) and "argument" not in str(error):
                raise
            raise LaminaError(f"{name}: {error}", where=location_of(node)) from error
        self._compare(node, result)
        if bounded:
            pointwise = torch_module().Tag.pointwise in node.target.tags
            carry(self.builder, _packet(name), pointwise, args, result)
        return result

    def _keywords(self, entry: Entry, kwargs: dict[str, Any]) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for key, value in kwargs.items():
            if key in entry.keywords:
                kept[key] = value
            elif key not in IMMATERIAL and value not in (None, False):
                raise self.builder.fail(f"argument '{key}' is not supported")
        return kept

    def _assert(self, node: Node, args: Sequence[Any]) -> None:
        if not isinstance(args[0], SSAValue | Dependent) and not args[0]:
            raise LaminaError(f"the sizes of this call are not those the model was exported for: {args[1]}")

    def _inline(self, name: str, args: list[Any]) -> Any:
        at = next(i for i, a in enumerate(args) if hasattr(a, "graph"))
        return self.sub(args[at], [a for a in args[at + 1 :] if not isinstance(a, str)])

    def sub(self, graph_module: Any, arguments: Sequence[Any]) -> list[Any]:
        """The outputs of a graph inside the graph."""
        inputs = [n for n in graph_module.graph.nodes if n.op == "placeholder"]
        return self.run(graph_module, dict(zip(inputs, arguments, strict=True)))

    # what PyTorch says

    def _compare(self, node: Node, result: Any) -> None:
        told = node.meta.get("val")
        results = result if isinstance(result, list) else [result]
        for i, (value, fake) in enumerate(
            zip(results, told if isinstance(told, list | tuple) else [told], strict=False)
        ):
            if not isinstance(value, SSAValue) or not hasattr(fake, "shape") or not hasattr(fake, "dtype"):
                continue
            shape = tuple(self.size(n) for n in fake.shape)
            right = element_from(fake.dtype) == element_of(value) and all(
                want is None or want == got for want, got in zip(shape, shape_of(value), strict=False)
            )
            if not right or len(shape) != len(shape_of(value)):
                wanted = f"{str(fake.dtype).removeprefix('torch.')}{[n if n is not None else '?' for n in shape]}"
                raise self.builder.fail(f"result {i} was lowered to {value.type}, PyTorch has {wanted}")

    def size(self, size: Any) -> int | None:
        """An extent as a number; None where it depends on values."""
        if isinstance(size, int):
            return size
        found = size.node.expr.xreplace(dict(self.sizes))
        return int(found) if isinstance(found, int) or found.is_number else None


def _value(b: AtenBuilder, value: Any) -> SSAValue:
    """A value of the hub; a number as a constant."""
    return value if isinstance(value, SSAValue) else b.constant(np.asarray(value))


def _region(importer: GraphImporter, graph_module: Any, types: Sequence[Attribute], captured: Sequence[Any]) -> Region:
    """A graph as a region with arguments of these types in front of what it takes from around."""
    block = Block(arg_types=types)
    inner = GraphImporter(AtenBuilder(block, importer.builder.weights), importer.sizes)
    inner.builder.decompositions = importer.builder.decompositions
    results = inner.sub(graph_module, [*block.args, *captured])
    block.add_op(hlo.ReturnOp([_value(inner.builder, result) for result in results]))
    return Region(block)


def _cond(importer: GraphImporter, node: Node, args: list[Any]) -> list[Any]:
    """Runs one of two graphs; known now or when the program runs."""
    condition, true, false, operands = args
    if not isinstance(condition, SSAValue):
        return importer.sub(true if condition else false, operands)
    b = importer.builder
    op = hlo.IfOp(b.reshape(condition, []), *(_region(importer, part, (), operands) for part in (true, false)))
    return _appended(b, op)


def _while_loop(importer: GraphImporter, node: Node, args: list[Any]) -> list[Any]:
    """Runs a graph on what it gave before, as long as another one holds."""
    condition, body, carried, captured = args
    b = importer.builder
    start = [_value(b, value) for value in carried]
    types = [value.type for value in start]
    op = hlo.WhileOp(start, *(_region(importer, part, types, captured) for part in (condition, body)))
    return _appended(b, op)


def _appended(b: AtenBuilder, op: Operation) -> list[Any]:
    """The results of an op whose regions keep their own places."""
    if isinstance(b.place, NameLoc):
        op.location = b.place
    b.block.add_op(op)
    return list(op.results)


_CONTROL: dict[str, Callable[[GraphImporter, Node, list[Any]], list[Any]]] = {"cond": _cond, "while_loop": _while_loop}


def _mapped(argument: Any, values: Mapping[Node, Any]) -> Any:
    """An argument of a node as lowerings take it."""
    if isinstance(argument, list | tuple):
        return [_mapped(a, values) for a in argument]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(argument, torch_module().fx.Node):
        return values[argument]
    if isinstance(argument, torch_module().dtype):
        return element_from(argument)
    return argument


def _is_plain(fake: Any) -> bool:
    """Whether a tensor lies in memory as its shape says, from the start."""
    return fake.is_contiguous() and fake.storage_offset() == 0


def _has_values(argument: Any) -> bool:
    if isinstance(argument, list):
        return any(_has_values(a) for a in argument)  # pyright: ignore[reportUnknownVariableType]
    return isinstance(argument, SSAValue | Dependent)


def flat(value: Any) -> list[Any]:
    """Nested lists as one."""
    return [x for part in value for x in flat(part)] if isinstance(value, list | tuple) else [value]


@dataclass(frozen=True)
class Input:
    """A node whose value comes with each call."""

    node: Node
    name: str
    shape: tuple[int, ...]
    dtype: Any
    order: Sequence[int] | None = None  # of its dimensions in memory, outermost first; None as they are


def import_graph(
    graph_module: Any,
    context: LaminaContext,
    inputs: Sequence[Input],
    known: Mapping[Node, Any],
    results: Callable[[AtenBuilder, list[Any]], Sequence[tuple[str, Any]]],
    sizes: Mapping[Any, int],
) -> Program:
    """A program whose `@main` computes a graph.

    `known` gives placeholders their arrays and numbers; `results` picks from the graph's outputs those of the program,
    with names. Raises LaminaError for operators without a lowering, all at once.
    """
    check_supported(graph_module, [i.node for i in inputs])
    orders = [range(len(i.shape)) if i.order is None else i.order for i in inputs]
    shapes = [[i.shape[k] for k in order] for i, order in zip(inputs, orders, strict=True)]
    block = Block(arg_types=[TensorType(element_from(i.dtype), s) for i, s in zip(inputs, shapes, strict=True)])
    importer = GraphImporter(AtenBuilder(block, context.weights), sizes)
    values: dict[Node, Any] = {}
    for given, order, argument in zip(inputs, orders, block.args, strict=True):
        argument.name_hint, argument.location = value_name(given.name), location_of(given.node)
        importer.builder.place = argument.location
        values[given.node] = importer.builder.transpose(argument, sorted(range(len(order)), key=order.__getitem__))
    for node, value in known.items():
        if isinstance(value, np.ndarray):
            importer.builder.place = location_of(node)
            value = importer.builder.constant(_array(value), name=str(node.name))
        values[node] = value
    named = results(importer.builder, importer.run(graph_module, values))
    if any(isinstance(v, Dependent) for _, v in named):
        raise LaminaError("an output is computed from sizes that depend on values, which is not supported")
    outputs = [v if isinstance(v, SSAValue) else importer.builder.constant(np.asarray(v)) for _, v in named]
    told, more = told_sizes(importer.builder.extents, outputs)
    outputs += told
    block.add_op(ReturnOp(*outputs))
    function = FuncOp(
        "main",
        FunctionType.from_lists(list(block.arg_types), [v.type for v in outputs]),
        Region(block),
        "public",
        arg_attrs=ArrayAttr([DictionaryAttr({NAME: StringAttr(i.name)}) for i in inputs]),
        res_attrs=ArrayAttr([*(DictionaryAttr({NAME: StringAttr(name)}) for name, _ in named), *more]),
    )
    program = Program(ModuleOp([function, *importer.builder.decompositions.values()]), context)
    all_passes()["dce"]()().apply(context, program.module)
    return program


def _array(value: Any) -> Array:
    return value
