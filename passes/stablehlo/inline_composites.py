"""Replaces each composite by the body of its decomposition; decompositions nobody refers to any more go.

Before:
    %0 = stablehlo.composite "lamina.softmax" %x {decomposition = @softmax} : (tensor<4xf32>) -> tensor<4xf32>
    func.func private @softmax(%x: tensor<4xf32>) -> tensor<4xf32> { ... }

After:
    the ops of @softmax, in place of the composite
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from ...compiler.diagnostics import LaminaError
from ...compiler.semantics import plain
from ...dialects.stablehlo import CompositeOp


@dataclass(frozen=True)
class InlineComposites(ModulePass):
    """Replaces composites by their decompositions: all, or those whose name is in `only`, but none of `keep`."""

    name = "stablehlo-inline-composites"
    only: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {f.sym_name.data: f for f in op.ops if isinstance(f, FuncOp)}
        inlined: set[str] = set()
        pending = [inner for inner in op.walk() if isinstance(inner, CompositeOp)]
        depth = {id(composite): 0 for composite in pending}
        while pending:
            composite = pending.pop()
            called = plain(composite.properties["name"])
            if (self.only and called not in self.only) or called in self.keep:
                continue
            name = composite.decomposition.string_value()
            if name not in functions:
                raise LaminaError(f"no function @{name} for this composite", where=composite)
            if depth[id(composite)] > len(functions):
                raise LaminaError(f"the decomposition @{name} contains itself", where=composite)
            inlined.add(name)
            for new in _inline(composite, functions[name]):
                if isinstance(new, CompositeOp):
                    depth[id(new)] = depth[id(composite)] + 1
                    pending.append(new)
        _drop_unused(op, inlined, functions)


def _inline(composite: CompositeOp, function: FuncOp) -> list[Operation]:
    """Puts a copy of the function's ops before the composite, in its place; the copied ops."""
    block = composite.parent
    assert block is not None
    values: dict[SSAValue, SSAValue] = dict(zip(function.body.block.args, composite.operands, strict=True))
    copied: list[Operation] = []
    for op in function.body.block.ops:
        if op.next_op is None:
            results = [values.get(operand, operand) for operand in op.operands]
            for old, new in zip(composite.results, results, strict=True):
                old.replace_all_uses_with(new)
            break
        new = op.clone(values)
        for inner in new.walk():
            if inner.location is UNKNOWN_LOC or composite.location is not UNKNOWN_LOC:
                inner.location = composite.location
        block.insert_op_before(new, composite)
        copied += new.walk()
    composite.detach()
    composite.erase()
    return copied


def _drop_unused(module: ModuleOp, names: set[str], functions: dict[str, FuncOp]) -> None:
    """Erases the private functions among `names` that no symbol refers to."""
    while True:
        used = {name for op in module.walk() for attr in _attributes(op) for name in _symbols(attr)}
        dead = [n for n in names if n not in used and functions[n].sym_visibility is not None]
        dead = [n for n in dead if getattr(functions[n].sym_visibility, "data", "") == "private"]
        if not dead:
            return
        for name in dead:
            names.discard(name)
            functions[name].detach()
            functions[name].erase()


def _attributes(op: Operation) -> list[Attribute]:
    return [*op.properties.values(), *op.attributes.values()]


def _symbols(attr: Attribute) -> list[str]:
    return [attr.root_reference.data] if isinstance(attr, SymbolRefAttr) else []
