"""linalg-hoist-constants: what a function computes from constant arguments alone is computed by its callers.

before: func.call @repeat_0(%x, %w0)    func.call @repeat_0(%y, %w1)
        func.func private @repeat_0(%x, %w) attributes {lamina.constant_args = 1 : i64} {
          %p = linalg.pack %w ...    %z = linalg.generic ins(%x, %p) ...
after:  %p0 = linalg.pack %w0 ...    func.call @repeat_0(%x, %p0)
        %p1 = linalg.pack %w1 ...    func.call @repeat_0(%y, %p1)
        func.func private @repeat_0(%x, %p) attributes {lamina.constant_args = 1 : i64} {
          %z = linalg.generic ins(%x, %p) ...

`linalg-fold-constants` evaluates it there, once for each set of weights. Moved are the ops that pass folds.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import FunctionType, IntegerAttr, ModuleOp, i64
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.linalg import FillOp
from ...dialects.tensor import EmptyOp
from ..stablehlo.outline_repeats import CONSTANT_ARGS
from .fold_constants import grows, is_folded
from .grouping import operands_of


@dataclass(frozen=True)
class HoistConstants(ModulePass):
    """Moves computations on constant arguments out of functions into their callers."""

    name = "linalg-hoist-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        calls: dict[str, list[func.CallOp]] = {}
        for call in op.walk():
            if isinstance(call, func.CallOp):
                calls.setdefault(call.callee.string_value(), []).append(call)
        for function in op.ops:
            if isinstance(function, func.FuncOp) and CONSTANT_ARGS in function.attributes:
                _hoist(function, calls.get(function.sym_name.data, []))


def constant_arguments(function: func.FuncOp) -> list[BlockArgument]:
    """The arguments that are a constant in every call."""
    told = function.attributes.get(CONSTANT_ARGS)
    count = told.value.data if isinstance(told, IntegerAttr) else 0
    args = list(function.body.block.args)
    return args[len(args) - count :]


def is_constant_argument(value: SSAValue) -> bool:
    """Whether a value is such an argument."""
    if not isinstance(value, BlockArgument):
        return False
    function = value.block.parent_op()
    return isinstance(function, func.FuncOp) and value in constant_arguments(function)


def _hoist(function: func.FuncOp, calls: list[func.CallOp]) -> None:
    old = constant_arguments(function)
    moved, leaving = _movable(function, old)
    if not moved:
        return
    block = function.body.block
    first = len(block.args) - len(old)
    for call in calls:
        given: dict[SSAValue, SSAValue] = dict(zip(block.args, call.operands, strict=True))
        for op in moved:
            copy = op.clone(given)
            copy.location = op.location
            Rewriter.insert_op(copy, InsertPoint.before(call))
        call.operands = [*list(call.operands)[:first], *(given[value] for value in leaving)]
    arguments = [block.insert_arg(value.type, len(block.args)) for value in leaving]
    inside = set(moved)
    for value, argument in zip(leaving, arguments, strict=True):
        argument.name_hint = value.name_hint
        value.replace_uses_with_if(argument, lambda use: outermost(use.operation) not in inside)
    for op in reversed(moved):
        if not any(result.uses for result in op.results):
            op.detach()
            op.erase()
    for argument in old:
        block.erase_arg(argument)
    types = function.function_type
    function.properties["function_type"] = FunctionType.from_lists([a.type for a in block.args], types.outputs.data)
    function.attributes[CONSTANT_ARGS] = IntegerAttr(len(leaving), i64)


def _movable(function: func.FuncOp, given: list[BlockArgument]) -> tuple[list[Operation], list[SSAValue]]:
    """The ops to move, in order, with the destinations and scalars they need; and the values that stay in use."""
    known: set[SSAValue] = set(given)
    neutral: set[SSAValue] = set()  # constants and blank destinations: they move along where they are needed
    moved: set[Operation] = set()
    for op in function.body.block.ops:
        if isinstance(op, arith.ConstantOp | EmptyOp) or (isinstance(op, FillOp) and set(op.operands) <= neutral):
            neutral.update(op.results)
            continue
        used = operands_of(op)
        if is_folded(op) and known.intersection(used) and known | neutral >= set(used) and not grows(op):
            moved.add(op)
            known.update(op.results)
    needed = set(moved)
    for op in reversed(list(function.body.block.ops)):
        if op in needed:
            needed.update(v.owner for v in operands_of(op) if v in neutral and isinstance(v.owner, Operation))
    leaving = [v for v in known if any(outermost(use.operation) not in moved for use in v.uses)]
    order = {op: i for i, op in enumerate(function.body.block.ops)}
    leaving.sort(key=lambda v: (order.get(v.owner, -1), v.index) if isinstance(v.owner, Operation) else (-1, v.index))  # pyright: ignore
    return [op for op in function.body.block.ops if op in needed] if moved else [], leaving


def outermost(op: Operation) -> Operation:
    """The op of the function's own block that `op` is or lies in."""
    while (parent := op.parent_op()) is not None and not isinstance(parent, func.FuncOp):
        op = parent
    return op
