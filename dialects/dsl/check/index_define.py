"""`let y[i, j]: f32[M, N] = e`: a tensor told by its elements, or by its own earlier elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..language import tree
from . import annotations, index_recurrence, index_update
from .index_body import declared_extents, names_of, tensor_of
from .index_notation import notation_of
from .index_ranges import Collector, infer
from .scope import Scope
from .statements import settled
from .types import TensorType
from .values import AnyValue, Value

if TYPE_CHECKING:
    from .elaborator import Elaborator


def define(e: Elaborator, node: tree.Define, scope: Scope) -> None:
    """Defines a tensor; without a keyword, a `var` of this name gets new elements instead."""
    entry = scope.find(node.target.text)
    if node.keyword == "" and entry is not None and entry.kind == "var":
        index_update.redefine(e, node, entry, scope)
        return
    kind = None if node.type is None else e.type(node.type, scope)
    declared = kind if isinstance(kind, TensorType) else None
    if index_recurrence.is_recurrence(node):
        value: AnyValue = index_recurrence.recurrence(e, node, scope, declared)
    else:
        value = _plain(e, node, scope, declared)
    if kind is not None:
        value = annotations.check(e, value, kind, node.value, f"'{node.target.text}'", node.type)
    if node.keyword == "var":
        scope.define(node.target, settled(e, value), "var")
    else:
        scope.define(node.target, value, "let")
    if not e.emits:
        e.types[node.target] = value


def _plain(e: Elaborator, node: tree.Define, scope: Scope, declared: TensorType | None) -> Value:
    notation = notation_of(scope)
    uses = Collector(e, scope, notation, names_of(node.binders))
    uses.visit(node.value)
    given = declared_extents(node.binders, None if declared is None else declared.shape)
    indices = infer(e, node.binders, uses.uses, scope, notation, given)
    wanted = None if declared is None else TensorType(declared.dtype)
    return tensor_of(e, indices, node.value, scope, notation, wanted, node)
