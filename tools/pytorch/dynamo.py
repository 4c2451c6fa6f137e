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

from ...backends import Executable, Options
from ...backends import target as find_target
from ...compiler.diagnostics import LaminaError
from ..sources import new_context
from .graph import Input, Node, check_supported, flat, import_graph, target_name
from .tensors import array_of, tensor_of, torch_module

CACHED_SHAPES = 64
OPTIONS = ("target", "threads", "precision", "cache")

_KEPT = ("native_dropout", "gelu_backward", "silu_backward", "native_layer_norm_backward", "native_batch_norm_backward")
"""Operators that become better code, or the same random numbers, when PyTorch does not take them apart."""

_RANDOM = (
    "aten.native_dropout.default",
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
    graph_module: Any, example_inputs: Sequence[Any], *, mode: str | None = None, options: Mapping[str, Any] | None = None
) -> Callable[..., Any]:
    """The backend that `torch.compile` calls.

    `options` are those of `lamina.compile`: `target`, `threads`, `precision`, `cache`. Raises LaminaError for other
    options, for operators without a lowering (all at once), and for tensors that are not on the CPU.
    """
    torch = torch_module()
    settings = dict(options or {})
    unknown = [name for name in settings if name not in OPTIONS]
    if unknown:
        raise LaminaError(f"backend 'lamina' has no option '{unknown[0]}'", hint=f"it has {', '.join(OPTIONS)}")
    chosen = settings.pop("target", "cpu")
    compile_options = Options(**settings)
    from torch._dynamo.backends.common import aot_autograd  # pyright: ignore

    def compiler(graph: Any, inputs: Sequence[Any]) -> Callable[..., Any]:
        return _boxed(CompiledGraph(graph, chosen, compile_options))

    table = torch._decomp.core_aten_decompositions()
    for name in _KEPT:
        table.pop(getattr(torch.ops.aten, name).default, None)
    from torch._functorch.partitioners import min_cut_rematerialization_partition  # pyright: ignore

    return aot_autograd(
        fw_compiler=compiler,
        bw_compiler=compiler,
        inference_compiler=compiler,
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

    Raises LaminaError for operators without a lowering, when it is made.
    """

    def __init__(self, graph_module: Any, target: str = "cpu", options: Options | None = None):
        self.graph_module = graph_module
        self._target = find_target(target)
        self._options = options or Options()
        nodes = list(graph_module.graph.nodes)
        self._placeholders: list[Node] = [n for n in nodes if n.op == "placeholder"]
        self._drawn: list[Node] = [n for n in nodes if n.op == "call_function" and target_name(n) in _RANDOM]
        self._outputs: list[Any] = flat(nodes[-1].args[0])
        self._views = [self._view(output) for output in self._outputs]
        self._executables: dict[tuple[Any, ...], _Specialised] = {}
        self._lock = Lock()
        check_supported(graph_module, self._drawn)

    def _view(self, node: Any) -> list[Node] | None:
        """The views, outermost last, that lead from an input to an output; None where more than views do."""
        chain: list[Node] = []
        while isinstance(node, torch_module().fx.Node):
            if node.op == "placeholder":
                return [node, *reversed(chain)]
            if target_name(node) not in _VIEWS or any(
                isinstance(a, torch_module().fx.Node) for a in flat(list(node.args[1:]))
            ):
                return None
            chain.append(node)
            node = node.args[0]
        return None

    def __call__(self, arguments: Sequence[Any]) -> list[Any]:
        torch = torch_module()
        tensors = torch.Tensor
        key = tuple((a.dtype, tuple(a.shape)) if isinstance(a, tensors) else a for a in arguments)
        with self._lock:
            found = self._executables.pop(key, None) or _Specialised(self, arguments)
            self._executables[key] = found
            while len(self._executables) > CACHED_SHAPES:
                del self._executables[next(iter(self._executables))]
        with torch.no_grad():
            return found(arguments)

    def compile_for(self, known: Mapping[Node, Any], inputs: Sequence[Input], sizes: Mapping[Any, int]) -> tuple[Any, ...]:
        """The executable, which outputs it gives, and how these lie in memory."""
        wanted = [i for i, (out, view) in enumerate(zip(self._outputs, self._views, strict=True)) if view is None and out is not None]
        orders: dict[int, list[int]] = {}

        def results(outputs: list[Any]) -> list[tuple[str, Any]]:
            return [(f"output{i}", outputs[i]) for i in wanted if hasattr(outputs[i], "type")]

        program = import_graph(self.graph_module, new_context(), inputs, known, results, sizes)
        names = [spec.name for spec in program.signature.outputs]
        executable: Executable = self._target.compile(program, self._options)
        return executable, [int(name.removeprefix("output")) for name in names], orders

    @property
    def parts(self) -> tuple[list[Node], list[Node], list[Any], list[list[Node] | None]]:
        """Placeholders, random nodes, outputs and the views among them."""
        return self._placeholders, self._drawn, self._outputs, self._views


class _Specialised:
    """A graph compiled for the shapes and numbers of one call."""
