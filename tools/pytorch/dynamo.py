"""`torch.compile(model, backend="lamina")`: graphs that Dynamo captures, forwards and backwards, on the target `cpu`.

Dynamo breaks the graph where Python must run, AOTAutograd makes graphs of ATen operators out of the pieces, one for
the result and one for the gradients; each becomes a program here, once for each shape it is called with. Tensors are
handed over without a copy. Random numbers are drawn by PyTorch's own generator before the call, so that a seed means
what it means without compilation. What is only a view of an input stays one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any

from xdsl.ir import SSAValue

from ...backends import Executable, Options
from ...backends import target as find_target
from ...compiler.diagnostics import LaminaError
from ...compiler.signature import Array
from ...passes.convert.aten_to_stablehlo import AtenBuilder
from ..sources import new_context
from .graph import Input, Node, check_supported, flat, import_graph, target_name
from .tensors import Window, array_of, tensor_of, torch_module

CACHED_SHAPES = 64
OPTIONS = ("target", "threads", "precision", "cache", "freezing")

_KEPT = (
    "native_dropout",
    "gelu_backward",
    "silu_backward",
    "native_layer_norm_backward",
    "native_batch_norm_backward",
    "_scaled_dot_product_flash_attention_for_cpu",
)
"""Operators that become better code, or the same random numbers, when PyTorch does not take them apart."""

_RANDOM = (
    "aten.rand.default",
    "aten.randn.default",
    "aten.rand_like.default",
    "aten.randn_like.default",
    "aten.randint.default",
    "aten.randint.low",
    "aten.randint_like.default",
    "aten.randint_like.low_dtype",
    "aten.randperm.default",
    "aten.bernoulli.p",
)
_VIEWS = (
    "aten.permute.default",
    "aten.view.default",
    "aten.transpose.int",
    "aten.t.default",
    "aten.expand.default",
    "aten.unsqueeze.default",
    "aten.squeeze.dim",
    "aten.squeeze.dims",
    "aten.select.int",
    "aten.slice.Tensor",
    "aten.alias.default",
    "aten.detach.default",
)


def backend(
    graph_module: Any,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """The backend that `torch.compile` calls.

    `options` are those of `lamina.compile`: `target`, `threads`, `precision`, `cache`; and `freezing`, which makes the
    parameters and buffers of inference constants. Raises LaminaError for other options, for operators without a
    lowering (all at once), and for tensors that are not on the CPU.
    """
    torch = torch_module()
    settings = dict(options or {})
    unknown = [name for name in settings if name not in OPTIONS]
    if unknown:
        raise LaminaError(f"backend 'lamina' has no option '{unknown[0]}'", hint=f"it has {', '.join(OPTIONS)}")
    chosen = settings.pop("target", "cpu")
    freezing = bool(settings.pop("freezing", False))
    compile_options = Options(**settings)
    from torch._dynamo.backends.common import aot_autograd  # pyright: ignore

    def compiler(graph: Any, inputs: Sequence[Any]) -> Callable[..., Any]:
        return _boxed(CompiledGraph(graph, chosen, compile_options))

    def inference_compiler(graph: Any, inputs: Sequence[Any]) -> Callable[..., Any]:
        frozen = torch._guards.TracingContext.get().fw_metadata.static_input_indices if freezing else ()
        return _boxed(CompiledGraph(graph, chosen, compile_options, frozen))

    table = torch._decomp.core_aten_decompositions()
    for name in _KEPT:
        table.pop(getattr(torch.ops.aten, name).default, None)
    from torch._functorch.partitioners import min_cut_rematerialization_partition  # pyright: ignore

    return aot_autograd(
        fw_compiler=compiler,
        bw_compiler=compiler,
        inference_compiler=inference_compiler,
        decompositions=table,
        partition_fn=min_cut_rematerialization_partition,
    )(graph_module, example_inputs)


def _boxed(graph: CompiledGraph) -> Callable[..., Any]:
    """What AOTAutograd calls with a list that it lets go of."""

    def call(arguments: list[Any]) -> list[Any]:
        given = list(arguments)
        arguments.clear()
        return graph(given)

    call._boxed_call = True  # pyright: ignore[reportFunctionMemberAccess]
    return call


class CompiledGraph:
    """A graph of ATen operators, compiled for each shape that it is called with.

    The `frozen` arguments, by place, are constants: it is compiled anew when PyTorch has counted a change of one, or
    one lies elsewhere. Raises LaminaError for operators without a lowering, when it is made.
    """

    def __init__(
        self, graph_module: Any, target: str = "cpu", options: Options | None = None, frozen: Sequence[int] = ()
    ):
        _draw_masks(graph_module)
        nodes = list(graph_module.graph.nodes)
        self.graph_module = graph_module
        self.target = find_target(target)
        self.options = options or Options()
        self.placeholders: list[Node] = [n for n in nodes if n.op == "placeholder"]
        self.drawn: list[Node] = [n for n in nodes if n.op == "call_function" and _is_random(n)]
        self.outputs: list[Any] = flat(nodes[-1].args[0])
        self.views = [_view_of_input(output) for output in self.outputs]
        self.places = {node: place for place, node in enumerate(self.placeholders)}
        self.frozen = frozenset(frozen)
        self._frozen_state: list[Any] = []
        self._specialised: dict[tuple[Any, ...], Specialised] = {}
        self._lock = Lock()
        check_supported(graph_module, self.drawn)

    def __call__(self, arguments: Sequence[Any]) -> list[Any]:
        tensors = torch_module().Tensor
        key = tuple((a.dtype, a.shape, a.stride()) if isinstance(a, tensors) else a for a in arguments)
        with self._lock:
            if self.frozen:
                state = [(arguments[place].data_ptr(), arguments[place]._version) for place in self.frozen]
                if state != self._frozen_state:
                    self._frozen_state = state
                    self._specialised.clear()
            found = self._specialised.pop(key, None) or Specialised(self, arguments)
            self._specialised[key] = found
            while len(self._specialised) > CACHED_SHAPES:
                del self._specialised[next(iter(self._specialised))]
        return found(arguments)


class Specialised:
    """A graph compiled for the shapes, layouts and numbers of one call."""

    def __init__(self, graph: CompiledGraph, arguments: Sequence[Any]):
        self._graph = graph
        tensors = torch_module().Tensor
        self._sizes: dict[Any, int] = {}
        self._numbers: dict[Node, Any] = {}
        self._frozen = [arguments[place].detach() for place in graph.frozen]  # so that nothing else comes to lie there
        self._windows: list[tuple[int, Window]] = []  # the arguments that are tensors
        inputs: list[Input] = []
        constants: dict[Node, Array] = {}
        for place, (node, argument) in enumerate(zip(graph.placeholders, arguments, strict=True)):
            if place in graph.frozen:
                self._learn(node, argument)
                constants[node] = array_of(argument)
            elif isinstance(argument, tensors):
                self._learn(node, argument)
                order = memory_order(argument.shape, argument.stride())
                self._windows.append((place, Window(argument, order)))
                inputs.append(Input(node, node.name, tuple(argument.shape), argument.dtype, order))
            else:
                self._numbers[node] = argument
                expression = getattr(getattr(node.meta.get("val"), "node", None), "expr", None)
                if expression is not None and expression.is_symbol:
                    self._sizes[expression] = int(argument)
        for node in graph.drawn:
            fake = node.meta["val"]
            shape = tuple(self._size(n) for n in fake.shape)
            inputs.append(Input(node, node.name, shape, fake.dtype, list(range(len(shape)))))
        self._results: list[tuple[int, list[int] | None]] = []  # which output, and how its dimensions lead back
        self._given: dict[int, Any] = {}  # outputs that are numbers
        known = {**self._numbers, **constants}
        program = import_graph(graph.graph_module, new_context(), inputs, known, self._pick_results, self._sizes)
        self._executable: Executable | None = graph.target.compile(program, graph.options) if self._results else None
        self._direct_call = getattr(self._executable, "direct_call", None)

    def _learn(self, node: Node, argument: Any) -> None:
        """The values of the symbols in a tensor's shape."""
        for size, number in zip(node.meta["val"].shape, argument.shape, strict=True):
            if not isinstance(size, int) and size.node.expr.is_symbol:
                self._sizes[size.node.expr] = int(number)

    def _size(self, size: Any) -> int:
        return size if isinstance(size, int) else int(size.node.expr.xreplace(self._sizes))

    def _pick_results(self, builder: AtenBuilder, outputs: list[Any]) -> list[tuple[str, Any]]:
        """The outputs that are computed, in the order that PyTorch expects them to lie in memory."""
        named: list[tuple[str, Any]] = []
        for i, (value, node, view) in enumerate(zip(outputs, self._graph.outputs, self._graph.views, strict=True)):
            if view is not None:
                continue
            if not isinstance(value, SSAValue):
                self._given[i] = value
                continue
            if value in builder.extents:
                raise builder.fail("an output whose shape depends on values is not supported by torch.compile")
            fake = node.meta["val"]
            order = memory_order(*([self._size(n) for n in part] for part in (fake.shape, fake.stride())))
            self._results.append((i, None if order == sorted(order) else inverse(order)))
            named.append((f"output{i}", builder.transpose(value, order)))
        return named

    def __call__(self, arguments: Sequence[Any]) -> list[Any]:
        graph = self._graph
        outputs: list[Any] = [None] * len(graph.outputs)
        for i, number in self._given.items():
            outputs[i] = number
        drawn = [array_of(self._draw(node)) for node in graph.drawn]
        if self._executable is not None:
            for (i, back), array in zip(self._results, self._run(self._executable, arguments, drawn), strict=True):
                tensor = tensor_of(array)
                outputs[i] = tensor if back is None else tensor.permute(back)
        for i, view in enumerate(graph.views):
            if view is not None:
                outputs[i] = self._look(arguments[graph.places[view[0]]], view[1:])
        return outputs

    def _run(self, executable: Executable, arguments: Sequence[Any], drawn: Sequence[Array]) -> list[Array]:
        if self._direct_call is not None:  # makes fresh arrays, which others need not
            arrays = [window.glimpse(arguments[place]) for place, window in self._windows]
            if (made := self._direct_call(*arrays, *drawn)) is not None:
                return made
        return executable.run([*(window.on(arguments[place]) for place, window in self._windows), *drawn])

    def _number(self, argument: Any) -> Any:
        """An argument without tensors."""
        if isinstance(argument, list | tuple):
            return [self._number(a) for a in argument]  # pyright: ignore[reportUnknownVariableType]
        if isinstance(argument, torch_module().fx.Node):
            value = self._numbers.get(argument, argument.meta["val"])
            return value if isinstance(value, int | float) else self._size(value)
        return argument

    def _draw(self, node: Node) -> Any:
        """The random tensor of a node; of a tensor among its arguments only the shape matters."""
        torch = torch_module()
        first, *rest = node.args
        if isinstance(first, torch.fx.Node) and hasattr(first.meta["val"], "shape"):
            fake = first.meta["val"]
            first = torch.empty([self._size(n) for n in fake.shape], dtype=fake.dtype)
        else:
            first = self._number(first)
        kwargs = {key: self._number(value) for key, value in node.kwargs.items() if key != "device"}
        return node.target(first, *map(self._number, rest), **kwargs)

    def _look(self, tensor: Any, views: Sequence[Node]) -> Any:
        for node in views:
            tensor = node.target(tensor, *map(self._number, node.args[1:]), **node.kwargs)
        return tensor


def memory_order(shape: Sequence[int], strides: Sequence[int]) -> list[int]:
    """The dimensions from the outermost in memory to the innermost; as they are where there are gaps or overlaps."""
    plain = list(range(len(shape)))
    order = sorted(plain, key=lambda i: (-strides[i], i))
    expected = 1
    for i in reversed(order):
        if shape[i] != 1 and strides[i] != expected:
            return plain
        expected *= shape[i]
    return order


def inverse(order: Sequence[int]) -> list[int]:
    """The order that leads back."""
    return sorted(range(len(order)), key=order.__getitem__)


def _is_random(node: Node) -> bool:
    return target_name(node) in _RANDOM or node.target is kept_by_dropout


def _view_of_input(node: Any) -> list[Node] | None:
    """An input and the views, outermost last, that lead from it to an output; None where more than views do."""
    nodes = torch_module().fx.Node
    chain: list[Node] = []
    while isinstance(node, nodes):
        if node.op == "placeholder":
            return [node, *reversed(chain)]
        if target_name(node) not in _VIEWS:
            return None
        chain.append(node)
        node = node.args[0]
    return None


def kept_by_dropout(like: Any, p: float) -> Any:
    """Which elements PyTorch's dropout would keep."""
    return torch_module().ops.aten.native_dropout(like, p, True)[1]


def _draw_masks(graph_module: Any) -> None:
    """Dropout becomes a product with a mask that is drawn before the call."""
    aten = torch_module().ops.aten
    graph = graph_module.graph
    for node in list(graph.nodes):
        if node.op != "call_function" or node.target is not aten.native_dropout.default:
            continue
        x, p, train = node.args
        result, mask = node.meta["val"]
        if train is False or p == 0:
            continue
        with graph.inserting_before(node):
            kept = _made(graph, kept_by_dropout, (x, p), mask, node)
            scaled = _made(graph, aten.mul.Tensor, (x, kept), result, node)
            scaled = _made(graph, aten.mul.Scalar, (scaled, 0.0 if p == 1 else 1 / (1 - p)), result, node)
        for user in list(node.users):
            user.replace_all_uses_with((scaled, kept)[user.args[1]])
            graph.erase_node(user)
        graph.erase_node(node)
    graph_module.recompile()


def _made(graph: Any, target: Any, args: tuple[Any, ...], value: Any, origin: Node) -> Node:
    node = graph.call_function(target, args)
    node.meta = {**origin.meta, "val": value}
    return node
