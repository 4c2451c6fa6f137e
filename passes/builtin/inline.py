"""Replaces calls of private functions by what they do; private functions nobody calls any more go.

Before:
    func.func private @square(%x: tensor<4xf32>) -> tensor<4xf32> { %0 = stablehlo.multiply %x, %x ... }
    %y = func.call @square(%a) : (tensor<4xf32>) -> tensor<4xf32>

After:
    %y = stablehlo.multiply %a, %a : tensor<4xf32>     // its location: that of the multiply, and the call's
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ...compiler.diagnostics import Diagnostic, LaminaError
from ...compiler.locations import fuse
from ...compiler.walking import all_ops
from .symbol_dce import drop_dead_symbols

PLACES = 4
"""Of the places an op comes from, itself and then the calls around it, so many are kept."""


MOST_OPS = 1 << 16
"""That calls may become in all: functions that call each other twice, and so on, stand for any number."""


@dataclass(frozen=True)
class Inline(ModulePass):
    """Replaces calls of private functions by their bodies; a function that calls itself is an error."""

    name = "inline"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = functions_of(op)
        inline_calls(list(functions.values()), functions)
        drop_dead_symbols(op)


def functions_of(module: ModuleOp) -> dict[str, FuncOp]:
    """The functions of a module by name."""
    return {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}


def inline_calls(roots: list[Operation], functions: Mapping[str, FuncOp]) -> int:
    """Inlines the calls inside `roots`, and first those inside the functions they call; the number of calls.

    Raises LaminaError, with the calls on the way round, where a function calls itself.
    """
    done: set[Operation] = set()
    path: list[tuple[FuncOp, CallOp]] = []
    count = 0

    def visit(root: Operation) -> None:
        nonlocal count
        if root in done:
            return
        for call in [op for op in all_ops(root) if isinstance(op, CallOp)]:
            callee = functions.get(call.callee.string_value())
            if callee is not None and callee is root:
                raise LaminaError(f"the function @{callee.sym_name.data} calls itself", where=call)
            if callee is None or not is_inlinable(callee):
                continue
            if any(function is callee for function, _ in path):
                notes = tuple(Diagnostic.at("note", "called here", c) for _, c in path)
                raise LaminaError(f"the function @{callee.sym_name.data} calls itself", where=call, notes=notes)
            path.append((callee, call))
            visit(callee)
            path.pop()
            count += _inline(call, callee)
            if count > MOST_OPS:
                raise LaminaError(f"calls that stand for more than {MOST_OPS} operations", where=call)
        done.add(root)

    for root in roots:
        visit(root)
    return count


def is_inlinable(function: FuncOp) -> bool:
    """Whether calls of `function` can be replaced: it is private, no kernel, and its body is one block that returns."""
    visibility = function.sym_visibility
    block = function.body.first_block
    return (
        isinstance(visibility, StringAttr)
        and visibility.data == "private"
        and "lamina.kernel" not in function.attributes
        and block is not None
        and block.next_block is None
        and isinstance(block.last_op, ReturnOp)
    )


def _inline(call: CallOp, function: FuncOp) -> int:
    """Puts the body in the call's place; the number of ops in it."""
    count = 0
    block = call.parent
    assert block is not None
    body = function.body.block
    values: dict[SSAValue, SSAValue] = dict(zip(body.args, call.operands, strict=True))
    for op in body.ops:
        if isinstance(op, ReturnOp):
            for old, result in zip(call.results, op.operands, strict=True):
                new = values.get(result, result)
                new.name_hint = new.name_hint or old.name_hint
                old.replace_all_uses_with(new)
            break
        copy = op.clone(values)
        for inner in copy.walk():
            inner.location = fuse([inner.location, call.location], at_most=PLACES)
            count += 1
        block.insert_op_before(copy, call)
    call.detach()
    call.erase()
    return count
