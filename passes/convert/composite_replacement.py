"""Composites that a pass knows by name become what it lowers them to; what they mean in other words goes with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ...compiler.diagnostics import LaminaError
from ...dialects.stablehlo import CompositeOp


def replace_composites(module: ModuleOp, name: str, lower: Callable[[CompositeOp], Sequence[SSAValue]]) -> None:
    """Replaces those of a name by the values that `lower` makes; decompositions that nobody refers to any more go."""
    composites = [inner for inner in module.walk() if isinstance(inner, CompositeOp)]
    called = {composite.decomposition for composite in composites}
    for composite in composites:
        if composite.composite_name.data == name:
            for old, new in zip(composite.results, lower(composite), strict=True):
                new.name_hint = new.name_hint or old.name_hint
                old.replace_all_uses_with(new)
            composite.detach()
            composite.erase()
    left = {inner.decomposition for inner in composites if inner.parent is not None}
    gone = {symbol.string_value() for symbol in called - left}
    for function in [f for f in module.ops if isinstance(f, FuncOp) and f.sym_name.data in gone]:
        function.detach()
        function.erase()


def integer_said(op: CompositeOp, name: str) -> int:
    """The attribute `name` of a composite. Raises LaminaError where it has none that is an integer."""
    attributes = op.composite_attributes.data if op.composite_attributes is not None else {}
    if not isinstance(attribute := attributes.get(name), IntegerAttr):
        raise LaminaError(f"composite \"{op.composite_name.data}\" needs an integer attribute '{name}'", where=op)
    return attribute.value.data
