"""Drops private functions and other private symbols that nothing refers to.

Before:
    func.func private @helper() { return }
    func.func public @main() { return }

After:
    func.func public @main() { return }
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.passes import ModulePass


@dataclass(frozen=True)
class SymbolDeadCodeElimination(ModulePass):
    """Drops private symbols that nothing refers to."""

    name = "symbol-dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        drop_dead_symbols(op)


def drop_dead_symbols(module: ModuleOp) -> None:
    """Erases the private symbols of `module` that nothing live refers to."""
    symbols: dict[str, Operation] = {}
    live: list[Operation] = []
    for inner in module.ops:
        name = inner.get_attr_or_prop("sym_name")
        if isinstance(name, StringAttr) and _is_private(inner):
            symbols[name.data] = inner
        else:
            live.append(inner)
    while live:
        for name in _references(live.pop()):
            if (referred := symbols.pop(name, None)) is not None:
                live.append(referred)
    for dead in symbols.values():
        dead.detach()
        dead.erase()


def _is_private(op: Operation) -> bool:
    visibility = op.get_attr_or_prop("sym_visibility")
    return isinstance(visibility, StringAttr) and visibility.data in ("private", "nested")


def _references(op: Operation) -> Iterator[str]:
    for inner in op.walk():
        for attribute in (*inner.properties.values(), *inner.attributes.values()):
            yield from _symbols_in(attribute)


def _symbols_in(attribute: Attribute) -> Iterator[str]:
    match attribute:
        case SymbolRefAttr():
            yield attribute.root_reference.data
        case ArrayAttr():
            for item in attribute:
                yield from _symbols_in(item)
        case DictionaryAttr():
            for item in attribute.data.values():
                yield from _symbols_in(item)
        case ParametrizedAttribute():
            for item in attribute.parameters:
                yield from _symbols_in(item)
        case _:
            pass
