"""`torch.export`'s programs as programs with symbolic sizes: what `lamina.compile` takes them to be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from ...compiler.diagnostics import LaminaError
from ...compiler.program import Program
from ...compiler.signature import Signature, TensorSpec
from ..sources import new_context
from .graph import Input, Node, check_supported, flat, import_graph
from .tensors import array_of, dtype_from, torch_module

_KEPT = ("scaled_dot_product_attention", "linear", "layer_norm", "rms_norm", "silu", "mish", "hardswish", "softplus")
_RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu")
"""Operators that PyTorch would take apart and that become better code whole; recurrent ones have overloads `input`."""


def load_exported(path: Path) -> ExportedModel:
    """The program that `torch.export.save` wrote. Raises LaminaError when it cannot be read."""
    torch = torch_module()
    try:
        program = torch.export.load(path)
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise LaminaError(f"not a program of torch.export: {lines[0]}", where=str(path)) from error
    return ExportedModel(program)


class ExportedModel:
    """An exported program, some of its sizes still symbols. Weights are the tensors' own memory.

    Raises LaminaError for a program that changes its inputs or buffers.
    """

    def __init__(self, exported: Any, sizes: Mapping[str, int] | None = None, *, lowered: bool = False):
        self._exported = exported if lowered else _lowered(exported)
        self.sizes = dict(sizes or {})
        _check_pure(self._exported)
        self.signature = self._signature()

    @property
    def graph_module(self) -> Any:
        """The graph of core ATen operators."""
        return self._exported.graph_module

    def with_sizes(self, sizes: Mapping[str, int]) -> ExportedModel | Program:
        """The model with more sizes known; the program, if that is all of them.

        Raises LaminaError for a name that is no dimension of the model, a size that its constraints rule out, and for
        operators without a lowering.
        """
        known = [str(n) for _, value in self._tensors() for n in value.shape if not isinstance(n, int)]
        for name, size in sizes.items():
            if name not in known:
                hint = f"its symbolic dimensions: {', '.join(dict.fromkeys(known)) or 'none'}"
                raise LaminaError(f"the model has no dimension '{name}'", hint=hint)
            if size < 0:
                raise LaminaError(f"dimension '{name}' cannot be {size}")
        bound = ExportedModel(self._exported, self.sizes | dict(sizes), lowered=True)
        return bound if bound.signature.symbols else bound.program()

    def program(self) -> Program:
        """The program on the hub; every size must be known."""
        symbols = self._symbols()
        inputs = [
            Input(node, spec.name, tuple(int(n) for n in spec.shape), value.dtype)
            for (node, value), spec in zip(self._tensors(), self.signature.inputs, strict=True)
        ]
        return import_graph(
            self.graph_module, new_context(), inputs, self._known(), lambda _, outputs: self._results(outputs), symbols
        )

    def check_supported(self) -> None:
        """Raises LaminaError that names every operator without a lowering."""
        check_supported(self.graph_module)

    # inside

    def _placeholders(self) -> Iterator[tuple[Node, Any]]:
        nodes = [node for node in self._exported.graph.nodes if node.op == "placeholder"]
        yield from zip(nodes, self._exported.graph_signature.input_specs, strict=True)

    def _tensors(self) -> Iterator[tuple[Node, Any]]:
        """The inputs that are tensors, and what PyTorch knows of them."""
        for node, spec in self._placeholders():
            if spec.kind.name == "USER_INPUT" and hasattr(node.meta.get("val"), "shape"):
                yield node, node.meta["val"]

    def _known(self) -> dict[Node, Any]:
        """Weights as arrays on their own memory, and inputs that are numbers or None."""
        tensors = {**self._exported.state_dict, **self._exported.constants}
        known: dict[Node, Any] = {}
        for node, spec in self._placeholders():
            if spec.target is not None:
                tensor = tensors.get(spec.target)
                if tensor is None:
                    raise LaminaError(f"the program has no tensor '{spec.target}'")
                known[node] = array_of(tensor)
            elif not hasattr(node.meta.get("val"), "shape"):
                known[node] = getattr(spec.arg, "value", node.meta.get("val"))
        return known

    def _signature(self) -> Signature:
        inputs = tuple(self._spec(node.name, value) for node, value in self._tensors())
        return Signature(inputs, tuple(self._spec(name, value) for name, value in self._outputs()))

    def _spec(self, name: str, value: Any) -> TensorSpec:
        if not hasattr(value, "shape"):
            kind = {bool: "bool", float: "float64"}.get(type(value), "int64")
            return TensorSpec(name, (), kind)
        return TensorSpec(name, tuple(self._size(n) for n in value.shape), dtype_from(value.dtype).name)

    def _size(self, size: Any) -> int | str:
        return size if isinstance(size, int) else self.sizes.get(str(size), str(size))

    def _outputs(self) -> list[tuple[str, Any]]:
        """Names and what PyTorch knows of the outputs that are not None."""
        node = next(n for n in self._exported.graph.nodes if n.op == "output")
        given = [getattr(a, "meta", {}).get("val", a) for a in flat(node.args[0])]
        return self._results(given)

    def _results(self, outputs: list[Any]) -> list[tuple[str, Any]]:
        specs = self._exported.graph_signature.output_specs
        chosen = [
            (getattr(spec.arg, "name", f"output{i}"), value)
            for i, (spec, value) in enumerate(zip(specs, outputs, strict=True))
            if spec.kind.name == "USER_OUTPUT" and value is not None
        ]
        seen: dict[str, int] = {}
        named: list[tuple[str, Any]] = []
        for name, value in chosen:  # one value may be given twice
            seen[name] = seen.get(name, 0) + 1
            named.append((name if seen[name] == 1 else f"{name}_{seen[name]}", value))
        return named

    def _symbols(self) -> dict[Any, int]:
        """The value of each symbol of the shapes, from the sizes of the inputs."""
        sympy = import_module("sympy")  # PyTorch brings it
        equations = [
            (n.node.expr, sympy.Integer(self.sizes[str(n)]))
            for _, v in self._tensors()
            for n in v.shape
            if not isinstance(n, int)
        ]
        values: dict[Any, Any] = {expr: size for expr, size in equations if expr.is_symbol}
        for expr, size in equations:
            left = expr.xreplace(values)
            if left.is_number:
                if left != size:
                    raise LaminaError(f"dimension '{expr}' is {left} by the other dimensions, got {size}")
                continue
            (symbol,) = left.free_symbols
            solutions = sympy.solve(left - size, symbol)
            if len(solutions) != 1 or not solutions[0].is_integer:
                raise LaminaError(f"dimension '{expr}' cannot be {size}")
            values[symbol] = solutions[0]
        for symbol, allowed in self._exported.range_constraints.items():
            value = values.get(symbol)
            if value is not None and not allowed.lower <= value <= allowed.upper:
                raise LaminaError(
                    f"dimension '{symbol}' is {value}, the model was exported for {allowed.lower} to {allowed.upper}"
                )
        return values


def _lowered(exported: Any) -> Any:
    """The program in core ATen operators, but for those that are better whole."""
    torch = torch_module()
    table = torch.export.default_decompositions()
    for name in _KEPT:
        table.pop(getattr(torch.ops.aten, name).default, None)
    if not any(map(_projects, exported.graph.nodes)):
        for name in _RECURRENT:
            table.pop(getattr(torch.ops.aten, name).input, None)
    return exported.run_decompositions(table)


def _projects(node: Node) -> bool:
    """Whether a node is an LSTM whose states are projected, which ONNX has none of."""
    if not str(node.target).startswith("aten.lstm.input"):
        return False
    _, _, parameters, biases, layers, _, _, both, _ = node.args
    return len(parameters) != layers * (1 + both) * (4 if biases else 2)


def _check_pure(exported: Any) -> None:
    changed = [spec for spec in exported.graph_signature.output_specs if spec.kind.name.endswith("MUTATION")]
    if changed:
        names = ", ".join(str(spec.target) for spec in changed[:5])
        raise LaminaError(
            f"the program changes {len(changed)} of its buffers or inputs: {names}",
            hint="export the model in evaluation mode, or give the new values as outputs",
        )
