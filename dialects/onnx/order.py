"""Is a graph well formed: names that are text, nodes in an order in which they can run?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...compiler.diagnostics import LaminaError

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto


def check_names(graph: GraphProto, file: str) -> None:
    """Raises LaminaError when a name is not UTF-8: protobuf hands such strings out as bytes."""
    names: list[object] = [graph.name]
    for info in (*graph.input, *graph.output, *graph.value_info):
        names += [info.name, *(dim.dim_param for dim in info.type.tensor_type.shape.dim)]
    names += [tensor.name for tensor in graph.initializer]
    for node in graph.node:
        names += [node.name, node.op_type, node.domain, *node.input, *node.output]
        for attribute in node.attribute:
            names += [attribute.name, attribute.ref_attr_name, attribute.t.name]
            if attribute.HasField("g"):
                check_names(attribute.g, file)
    for name in names:
        if isinstance(name, bytes):
            raise LaminaError(f"the name {name!r} is not UTF-8", where=file)


def check_order(nodes: Sequence[NodeProto], given: set[str] | None, file: str) -> None:
    """Each node must come after those it reads, as the standard asks, and no two may define one name.

    `given` are the names defined before the first node; None (a subgraph, which sees the names around it)
    leaves names that no node defines unchecked. Raises LaminaError naming the cycle, or the node that comes
    too early.
    """
    producer: dict[str, int] = {}
    for i, node in enumerate(nodes):
        for name in node.output:
            if name and (name in producer or (given is not None and name in given)):
                raise LaminaError(f"two values are called '{name}'", where=f"{file}: {_describe(node)}")
            producer[name] = i
    for i, node in enumerate(nodes):
        for name in node.input:
            if name and producer.get(name, -1) >= i:
                if cycle := _cycle(nodes, producer, i):
                    raise LaminaError(f"the graph has a cycle: {' -> '.join(cycle)}", where=file)
                raise LaminaError(
                    f"reads '{name}' before the node that makes it",
                    where=f"{file}: {_describe(node)}",
                    hint="nodes must be in topological order",
                )
            if name and given is not None and name not in producer and name not in given:
                raise LaminaError(
                    f"'{name}' is not defined by any node, input or initialiser",
                    where=f"{file}: {_describe(node)}",
                )


def _cycle(nodes: Sequence[NodeProto], producer: dict[str, int], start: int) -> list[str]:
    """The nodes on a cycle reachable backwards from `start`, empty when there is none."""
    state: dict[int, int] = {}  # 1: on the path, 2: done
    path: list[tuple[int, list[int]]] = [(start, _inputs(nodes[start], producer))]
    state[start] = 1
    while path:
        node, pending = path[-1]
        if not pending:
            state[node] = 2
            path.pop()
            continue
        following = pending.pop()
        if state.get(following) == 1:
            on_path = [entry[0] for entry in path]
            cycle = on_path[on_path.index(following) :]
            return [_describe(nodes[i]) for i in [*reversed(cycle), cycle[-1]]]
        if following not in state:
            state[following] = 1
            path.append((following, _inputs(nodes[following], producer)))
    return []


def _inputs(node: NodeProto, producer: dict[str, int]) -> list[int]:
    return [producer[name] for name in node.input if name in producer]


def _describe(node: NodeProto) -> str:
    return f"{node.op_type} '{node.name or next(iter(node.output), '')}'"
