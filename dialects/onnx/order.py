"""Is a graph well formed: names that are text, nodes that can run one after another? Those in disorder are sorted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def put_in_order(graph: GraphProto, given: set[str] | None, file: str) -> None:
    """Sorts nodes of which one reads what comes later: the standard forbids it, but ONNX Runtime and others take it.

    `given` are the names defined before the first node; None (a subgraph, which sees the names around it)
    leaves names that no node defines unchecked. Raises LaminaError naming the cycle, two values of one name, or a name
    that nothing defines.
    """
    nodes = graph.node
    producer: dict[str, int] = {}
    for i, node in enumerate(nodes):
        for name in node.output:
            if name and (name in producer or (given is not None and name in given)):
                raise LaminaError(f"two values are called '{name}'", where=f"{file}: {_describe(node)}")
            producer[name] = i
    for node in nodes:
        for name in node.input:
            if name and given is not None and name not in producer and name not in given:
                raise LaminaError(
                    f"'{name}' is not defined by any node, input or initialiser",
                    where=f"{file}: {_describe(node)}",
                )
    if any(j >= i for i, node in enumerate(nodes) for j in _inputs(node, producer)):
        copy = type(graph)()
        copy.node.extend(nodes[i] for i in _order(nodes, producer, file))
        del nodes[:]
        nodes.extend(copy.node)


def _order(nodes: Sequence[NodeProto], producer: Mapping[str, int], file: str) -> list[int]:
    """The nodes, each behind all that it reads and otherwise as they were. Raises LaminaError naming a cycle."""
    order: list[int] = []
    state: dict[int, int] = {}  # 1: on the path, 2: done
    for start in range(len(nodes)):
        path = [(start, _inputs(nodes[start], producer)[::-1])] if start not in state else []
        state.setdefault(start, 1)
        while path:
            node, pending = path[-1]
            if not pending:
                state[node] = 2
                order.append(node)
                path.pop()
                continue
            following = pending.pop()
            if state.get(following) == 1:
                on_path = [entry[0] for entry in path]
                cycle = on_path[on_path.index(following) :]
                names = [_describe(nodes[i]) for i in [*reversed(cycle), cycle[-1]]]
                raise LaminaError(f"the graph has a cycle: {' -> '.join(names)}", where=file)
            if following not in state:
                state[following] = 1
                path.append((following, _inputs(nodes[following], producer)[::-1]))
    return order


def _inputs(node: NodeProto, producer: Mapping[str, int]) -> list[int]:
    """The nodes that make what one reads, itself or in its subgraphs."""
    return [producer[name] for name in _names(node) if name in producer]


def _names(node: NodeProto) -> list[str]:
    """What a node reads: its inputs and what its subgraphs take from around them."""
    names = [name for name in node.input if name]
    for attribute in node.attribute:
        if attribute.HasField("g"):
            inner = attribute.g
            own = {info.name for info in inner.input} | {tensor.name for tensor in inner.initializer}
            own.update(name for each in inner.node for name in each.output)
            read = [name for each in inner.node for name in _names(each)] + [info.name for info in inner.output]
            names += [name for name in read if name not in own]
    return names


def _describe(node: NodeProto) -> str:
    return f"{node.op_type} '{node.name or next(iter(node.output), '')}'"
