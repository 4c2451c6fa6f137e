"""Evaluates what depends on constants only, by the reference semantics, and stores the result as a constant.

Before:
    %w = stablehlo.constant dense_resource<w> : tensor<64x3x7x7xf32>
    %0 = stablehlo.transpose %w, dims = [2, 3, 1, 0] : ...

After:
    %0 = stablehlo.constant dense_resource<w_1> : tensor<7x7x3x64xf32>

A result that is larger than its operands and larger than `limit` bytes stays an op: it is cheaper to compute than
to load. Broadcasts stay ops unless they are small, for they cost nothing where they are fused; an op whose operands
are broadcasts of constants is evaluated on views that repeat without memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import DenseResourceAttr, ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.effects import is_pure, is_trivially_dead
from ...compiler.interpreter import Interpreter
from ...compiler.semantics import has_meaning
from ...compiler.walking import all_ops
from ...compiler.weights import Array, WeightStore
from ...dialects.stablehlo import BroadcastInDimOp, CompositeOp, ConstantOp, IotaOp, WhileOp
from ...dialects.stablehlo.constants import INLINE_ELEMENTS, constant_value, make_constant
from ...dialects.stablehlo.quant import quantized_values

REPEATED = 4096  # times that a view may repeat what is behind it; computing with more takes long


@dataclass(frozen=True)
class FoldConstants(ModulePass):
    """Evaluates ops whose operands are all constant."""

    name = "stablehlo-fold-constants"
    limit: int = 1 << 20

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _Folding(lamina_context(ctx).weights, self.limit).run(op)


class _Folding:
    def __init__(self, weights: WeightStore, limit: int):
        self.weights = weights
        self.limit = limit
        self.interpreter = Interpreter(weights)
        self.known: dict[SSAValue, Array] = {}
        self.names: dict[SSAValue, str] = {}

    def run(self, module: ModuleOp) -> None:
        used: list[Operation] = []
        for op in all_ops(module):
            if op.dialect_name() == "stablehlo" and op.results and op.parent is not None:
                self._op(op, used)
        while used:
            op = used.pop()
            if op.parent is not None and is_trivially_dead(op):
                used += [operand.owner for operand in op.operands if isinstance(operand.owner, Operation)]
                op.detach()
                op.erase()

    def _op(self, op: Operation, used: list[Operation]) -> None:
        if isinstance(op, ConstantOp):
            array = constant_value(op, self.weights)
            if array is not None:
                self.known[op.output] = array
                value = op.value
                is_resource = isinstance(value, DenseResourceAttr)
                self.names[op.output] = value.resource_handle.data if is_resource else "folded"
            return
        if isinstance(op, CompositeOp) or op.parent is None or not self._foldable(op):
            return
        operands = [self.known[operand] for operand in op.operands]
        results = self.interpreter.evaluate(op, operands)
        if isinstance(op, BroadcastInDimOp) and results[0].size > INLINE_ELEMENTS:
            self.known[op.result] = results[0]  # a view: what uses it may fold, it stays
            self.names[op.result] = self.names[op.operand]
            return
        name = self.names[op.operands[0]] if op.operands else "folded"
        for old, array in zip(op.results, results, strict=True):
            new = make_constant(array, self.weights, name)
            new.location = op.location
            assert op.parent is not None
            op.parent.insert_op_before(new, op)
            self.known[new.output], self.names[new.output] = array, name
            new.output.name_hint = old.name_hint
            old.replace_all_uses_with(new.output)
        used += [operand.owner for operand in op.operands if isinstance(operand.owner, Operation)]
        op.detach()
        op.erase()

    def _foldable(self, op: Operation) -> bool:
        if any(operand not in self.known for operand in op.operands):
            return False
        types = [cast("TensorType[Attribute]", r.type) for r in op.results if isinstance(r.type, TensorType)]
        if len(types) != len(op.results) or not is_pure(op) or not has_meaning(op) or _captures(op):
            return False
        if any(size < 0 for t in types for size in t.get_shape()):
            return False
        if quantized_values(op):  # a constant has the type of its array
            return False
        if any(isinstance(inner, WhileOp) for inner in op.walk()):  # it may never end
            return False
        if any(self.known[operand].size > REPEATED * _stored(self.known[operand]) for operand in op.operands):
            return isinstance(op, BroadcastInDimOp)
        largest = max(prod(t.get_shape()) for t in types)
        if isinstance(op, IotaOp):
            return largest <= INLINE_ELEMENTS
        if isinstance(op, BroadcastInDimOp):
            return True
        size = sum(self.interpreter.spec(t).nbytes for t in types)
        return size <= self.limit or size <= sum(self.known[operand].nbytes for operand in op.operands)


def _stored(array: Array) -> int:
    """The elements behind an array, those that a view repeats counted once, and a few for nothing."""
    return max(INLINE_ELEMENTS, prod(size for size, stride in zip(array.shape, array.strides, strict=True) if stride))


def _captures(op: Operation) -> bool:
    """Whether a region of `op` uses values from outside."""
    inside = {inner for inner in all_ops(op)}
    return any(
        (operand.owner if isinstance(operand.owner, Operation) else operand.owner.parent_op()) not in inside
        for inner in op.walk()
        if inner is not op
        for operand in inner.operands
    )
