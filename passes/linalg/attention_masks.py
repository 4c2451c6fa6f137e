"""What an attention's masks say that the op can say itself, and masks of truth values as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, Float16Type, FloatAttr, StringAttr, TensorType, f32, i1
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.dtypes import dtype_of
from ...compiler.interpreter import Interpreter
from ...compiler.walking import all_ops
from ...compiler.weights import WeightStore
from ...dialects.arith.semantics import attribute_array
from ...dialects.linalg import GenericOp, YieldOp
from ...dialects.linalg.views import loop_ranges
from ...dialects.tensor import CollapseShapeOp, EmptyOp, ExpandShapeOp
from .grouping import is_elementwise, operands_of
from .roundings import Half
from .softmax import constant_float

MOST_EVALUATED = 1 << 26  # elements of a mask: of as many queries and keys as that takes a second
HIDDEN = -1e8  # has no weight beside any score of use: where f32 comes to such numbers, neighbours are 8 apart
HIDDEN_F16 = -6e4  # the same in f16, which ends at -65504: neighbours are 32 apart


@dataclass
class Masks:
    """The body of an attention that is being made, its inputs and their maps: those from the fourth on are masks.

    `known` keeps what masks of several layers are when they are evaluated; `dropped` are those that are not read now.
    """

    block: Block
    inputs: list[SSAValue]
    maps: list[AffineMap]
    weights: WeightStore
    rank: int
    half: Half | None
    known: dict[SSAValue, Any]
    dropped: list[SSAValue]

    def take_causal(self) -> int | None:
        """The keys behind each query that it sees, when a constant mask says so, which goes where it says no more."""
        yielded = cast(Operation, self.block.last_op)
        last = yielded.operands[0].owner
        if isinstance(last, arith.SelectOp):
            return self._take_selected(last)
        if not isinstance(last, arith.AddfOp):
            return None
        for side, added in enumerate(last.operands):
            widening = added.owner if isinstance(added.owner, arith.ExtFOp) else None
            argument = added if widening is None else widening.input
            if not added.has_one_use() or (mask := self._constant(argument)) is None:
                continue
            hidden = mask <= self.hidden
            causal = visible(hidden)
            if causal is not None or not hidden.any():
                if not np.any(mask[~hidden]):
                    yielded.operands[0] = last.operands[1 - side]
                    self._drop(argument, last, widening)
                return causal
        return None

    def _take_selected(self, last: arith.SelectOp) -> int | None:
        """The same of a mask of truth values that chooses between the score and a constant."""
        mask = self._constant(last.cond)
        if mask is None:
            return None
        for score, other, sees in ((last.lhs, last.rhs, mask), (last.rhs, last.lhs, ~mask)):
            number = constant_float(other)
            if number is not None and number <= self.hidden and (causal := visible(~sees)) is not None:
                cast(Operation, self.block.last_op).operands[0] = score
                self._drop(last.cond, last)
                return causal
        return None

    @property
    def hidden(self) -> float:
        """What is this or less is not seen."""
        return HIDDEN_F16 if isinstance(self.half, Float16Type) else HIDDEN

    def _constant(self, argument: SSAValue) -> Any:
        """A constant over queries and keys that the body uses once, the same for all heads, as two dimensions."""
        number = self.block.args.index(argument) + 2 if argument in self.block.args else 0
        if number < 3 or not argument.has_one_use():
            return None
        value, map_ = self.inputs[number], self.maps[number]
        dims = [e.position for e in map_.results if isinstance(e, AffineDimExpr)]
        if dims[-2:] != [self.rank - 2, self.rank] or (array := self._evaluated(value)) is None:
            return None
        sizes = [n for n, e in zip(array.shape, map_.results, strict=True) if isinstance(e, AffineDimExpr)]
        every = array.reshape(-1, *sizes[-2:])
        if len(dims) > 2 and not np.array_equal(every, np.broadcast_to(every[:1], every.shape)):
            return None  # each head has its own
        return every[0] if array.dtype == np.bool_ else every[0].astype(np.float32)

    def _evaluated(self, value: SSAValue) -> Any:
        """A constant, or what is computed of constants element by element, where that is not too much."""
        if value in self.known:
            return self.known[value]
        found, op = None, value.owner
        match op:
            case arith.ConstantOp():
                found = np.asarray(attribute_array(op.value, self.weights))
            case Block():
                given = _given(cast(BlockArgument, value))
                found = None if given is None else self._evaluated(given)
            case EmptyOp():
                found = np.zeros(_shape(value), dtype_of(value.type))
            case CollapseShapeOp() | ExpandShapeOp():
                source = self._evaluated(op.operands[0])
                found = None if source is None else source.reshape(_shape(value))
            case GenericOp() if is_elementwise(op) and prod(loop_ranges(op)) <= MOST_EVALUATED:
                operands = [self._evaluated(operand) for operand in op.operands]
                alone = len(operands_of(op)) == len(set(op.operands)) and len(op.results) == 1
                if alone and not any(operand is None for operand in operands):
                    found = np.asarray(Interpreter(self.weights).evaluate(op, operands)[0])
            case _:
                pass
        self.known[value] = found
        return found

    def _drop(self, argument: SSAValue, *users: Operation | None) -> None:
        """Erases ops that are not used any more, then a mask."""
        for op in users:
            if op is not None:
                Rewriter.erase_op(op)
        number = self.block.args.index(argument) + 2
        self.block.erase_arg(self.block.args[number - 2])
        self.dropped.append(self.inputs[number])
        del self.inputs[number], self.maps[number]

    def take_truth_values(self) -> None:
        """Masks of truth values become ones of numbers, 1 where they hold: tiles are of floats."""
        for number in range(3, len(self.inputs)):
            holds = self.block.args[number - 2]
            if holds.type != i1:
                continue
            self.inputs[number] = self._numbers(self.inputs[number])
            argument = self.block.insert_arg(self.half or f32, number - 2)
            zero = arith.ConstantOp(FloatAttr(0.0, f32))
            ops: list[Operation] = [zero]
            if self.half is not None:
                ops.append(arith.ExtFOp(argument, f32))
            given = ops[-1].results[0] if self.half is not None else argument
            ops.append(arith.CmpfOp(given, zero.result, "one"))
            Rewriter.insert_op(ops, InsertPoint.at_start(self.block))
            holds.replace_all_uses_with(ops[-1].results[0])
            self.block.erase_arg(holds)

    def _numbers(self, value: SSAValue) -> SSAValue:
        """The numbers of truth values, computed right behind them, where other layers find them, too."""
        type_ = TensorType(self.half or f32, cast("TensorType[Any]", value.type).get_shape())
        for use in value.uses:
            op = use.operation
            if isinstance(op, GenericOp) and op.res[0].type == type_ and _is_conversion(op):
                return op.res[0]
        owner = value.owner
        place = InsertPoint.at_start(owner) if isinstance(owner, Block) else InsertPoint.after(owner)
        return converted(value, arith.UIToFPOp, type_.element_type, place)


def converted(value: SSAValue, conversion: type[Operation], element: Attribute, place: InsertPoint) -> SSAValue:
    """A tensor's elements, each made by an op of one operand, computed at a place."""
    type_ = TensorType(element, _shape(value))
    rank = len(type_.get_shape())
    body = Block(arg_types=[cast("TensorType[Any]", value.type).element_type, element])
    number = conversion.create(operands=[body.args[0]], result_types=[element])
    body.add_ops([number, YieldOp(number.results[0])])
    empty = EmptyOp([], type_)
    maps = [AffineMapAttr(AffineMap.identity(rank))] * 2
    made = GenericOp([value], [empty.tensor], Region(body), maps, [IteratorTypeAttr.parallel()] * rank, [type_])
    if isinstance(value.owner, Operation):
        made.location = value.owner.location
    Rewriter.insert_op([empty, made], place)
    return made.res[0]


def forget(value: SSAValue) -> None:
    """Erases what computes a mask that nobody reads any more, and the argument that it is of repeated layers."""
    if value.uses:
        return
    match owner := value.owner:
        case Block():
            function = owner.parent_op()
            here = any(argument is value for argument in owner.args)  # and not erased already
            if here and isinstance(function, FuncOp) and (calls := _calls(function)):
                index = cast(BlockArgument, value).index
                before = [call.operands[index] for call in calls]
                for call in calls:
                    call.operands = [v for i, v in enumerate(call.operands) if i != index]
                owner.erase_arg(cast(BlockArgument, value))
                function.update_function_type()
                for each in dict.fromkeys(before):
                    forget(each)
        case GenericOp() | CollapseShapeOp() | ExpandShapeOp() | EmptyOp() | arith.ConstantOp():
            if owner.parent is not None and not any(result.uses for result in owner.results):
                before = operands_of(owner)
                owner.detach()
                owner.erase()
                for each in before:
                    forget(each)
        case _:
            pass


def _given(argument: BlockArgument) -> SSAValue | None:
    """What every call of a function, as that of repeated layers, has for an argument; None where there are several."""
    function = argument.block.parent_op()
    calls = _calls(function) if isinstance(function, FuncOp) else []
    given = {call.operands[argument.index] for call in calls}
    return given.pop() if len(given) == 1 else None


def _calls(function: FuncOp) -> list[CallOp]:
    """Those of a private function without attributes of arguments; of others nobody knows all."""
    module, name = function.parent_op(), function.sym_name.data
    if module is None or function.sym_visibility != StringAttr("private") or function.arg_attrs is not None:
        return []
    return [op for op in all_ops(module) if isinstance(op, CallOp) and op.callee.string_value() == name]


def _shape(value: SSAValue) -> tuple[int, ...]:
    return cast("TensorType[Any]", value.type).get_shape()


def _is_conversion(op: GenericOp) -> bool:
    """Whether an op makes numbers of truth values, place by place."""
    names = [inner.name for inner in op.body.block.ops]
    return names == [arith.UIToFPOp.name, YieldOp.name] and all(m == AffineMap.identity(m.num_dims) for m in op.maps)


def visible(hidden: Any) -> int | None:
    """c where query m sees exactly the keys up to m + c, and each at least one."""
    seen = int(np.count_nonzero(~hidden[0])) - 1
    queries, keys = np.ogrid[: hidden.shape[0], : hidden.shape[1]]
    same = seen >= 0 and hidden.any() and np.array_equal(hidden, keys > queries + seen)
    return seen if same else None
