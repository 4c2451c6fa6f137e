"""Buffers of `@main`: inputs, then outputs, then the section of constants are arguments; the rest is allocated.

Control flow over tensors keeps them in buffers that all branches and iterations share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i8,
    i64,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue, Use
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.diagnostics import LaminaError
from ...compiler.dtypes import dense_array, dense_attribute
from ...compiler.program import aliases_of, signature_of
from ...compiler.weights import Deferred, WeightStore, is_splat_view
from ...dialects.linalg import FillOp
from ...dialects.memref import AllocOp, CollapseShapeOp, ExpandShapeOp, SubviewOp, ViewOp
from ...dialects.memref.views import collapse
from ...dialects.scf import ConditionOp, ForOp, IfOp, WhileOp
from ...dialects.scf import YieldOp as ScfYieldOp
from ...dialects.tensor import ExtractSliceOp
from .constant_section import ConstantSection
from .emit import Emitter, copy_generic
from .groups import BlockPlan, Group, destinations
from .kernels import Scratch
from .layout import ALIGNMENT, SPARSE, are_rows, byte_size, memref_type

Number = IntegerAttr[Any] | FloatAttr[Any]


class MainEmitter(Emitter):
    """Rewrites the entry function. `scratch` are the extra arguments of each kernel."""

    def __init__(self, function: FuncOp, weights: WeightStore, scratch: Mapping[str, Sequence[Scratch]]):
        super().__init__()
        self.function = function
        self.weights = weights
        self.scratch = scratch
        self.constants = ConstantSection()
        self._copies: dict[MemRefType, str] = {}
        self._fills: dict[tuple[Attribute, Attribute], str] = {}
        self._section = function.body.block.insert_arg(MemRefType(i8, [0]), len(function.body.block.args))
        self._section.name_hint = "constants"

    def run(self) -> None:
        """Rewrites the function in place."""
        block = self.function.body.block
        terminator = block.last_op
        assert isinstance(terminator, ReturnOp)
        inputs = [a for a in block.args if a is not self._section]
        outputs = [memref_type(v.type) for v in terminator.operands]
        arguments: list[SSAValue] = []
        for position, type_ in enumerate([*(memref_type(a.type) for a in inputs), *outputs]):
            arguments.append(block.insert_arg(type_, len(inputs) + position))
        for old, new in zip(inputs, arguments, strict=False):
            new.name_hint = old.name_hint
            self.buffers[old] = new
        kept = {output: inputs[lender] for lender, output in _aliases(self.function)}
        ends = [(terminator.operands[output], self.buffers[old]) for output, old in kept.items()]
        plan = BlockPlan(block, owned={old: self.buffers[old] for old in kept.values()})
        self._end_in_place(plan, ends, {self.buffers[old]: [old] for old in kept.values()})
        others = [i for i in range(len(outputs)) if i not in kept]
        targets = [arguments[len(inputs) + i] for i in others]
        self.produce(plan, [terminator.operands[i] for i in others], targets, terminator)
        self._settle(ends, terminator)
        terminator.operands = []
        self.stale += inputs
        self.erase_dead()
        self._set_type(inputs, outputs)

    def produce(
        self, plan: BlockPlan, values: Sequence[SSAValue], targets: Sequence[SSAValue], terminator: Operation
    ) -> None:
        """Rewrites the block so that `values` end in the buffers `targets`, directly where possible."""
        first = plan.block.first_op
        assert first is not None
        direct: set[int] = set()
        for index, (value, target) in enumerate(zip(values, targets, strict=True)):
            group = plan.group_of.get(value)
            if group is not None and group.writable and group.home is None:
                if byte_size(value.type) != byte_size(group.type) or _has_own_place(group):
                    continue
                group.home = self.reshaped(target, group.type.get_shape(), first)
                direct.add(index)
        self.rewrite(plan)
        for index, (value, target) in enumerate(zip(values, targets, strict=True)):
            if index not in direct:
                self.copy_in(value, target, terminator)

    def allocate(self, type_: MemRefType, at: Operation) -> SSAValue:
        op = AllocOp([], [], type_, IntegerAttr(ALIGNMENT, i64))
        return self.insert(op, at).memref

    def copy(self, source: SSAValue, target: SSAValue, at: Operation) -> None:
        type_ = source.type
        assert isinstance(type_, MemRefType)
        self.insert(CallOp(self._copy_kernel(type_), [source, target], []), at)

    def _fill(self, number: Number, target: SSAValue, at: Operation) -> None:
        """Every element of a buffer becomes `number`."""
        name = self._fills.get((number, target.type))
        if name is None:
            name = self._fills[number, target.type] = f"fill_{len(self._fills)}"
            block = Block(arg_types=[target.type])
            constant = arith.ConstantOp(number)
            block.add_ops([constant, FillOp(constant.result, block.args[0]), ReturnOp()])
            self._add_kernel(name, block)
        self.insert(CallOp(name, [target], []), at)

    def _copy_kernel(self, type_: MemRefType) -> str:
        if type_ in self._copies:
            return self._copies[type_]
        name = self._copies[type_] = f"copy_{len(self._copies)}"
        block = Block(arg_types=[type_, memref_type(TensorType(type_.element_type, type_.get_shape()))])
        source, target = block.args
        if type_ == target.type and len(type_.get_shape()) > 1:
            flat = [list(range(len(type_.get_shape())))]
            views = [collapse(source, flat), collapse(target, flat)]
            block.add_ops(views)
            source, target = (view.result for view in views)
        block.add_ops([copy_generic(source, target), ReturnOp()])
        self._add_kernel(name, block)
        return name

    def _add_kernel(self, name: str, block: Block) -> None:
        """A kernel that only moves, of that body."""
        function = FuncOp(name, (block.arg_types, []), Region(block), visibility="private")
        function.attributes["lamina.kernel"] = StringAttr("copy")
        for inner in function.walk():
            inner.location = self.function.location
        module_block = self.function.parent
        assert module_block is not None
        module_block.add_op(function)

    def other(self, op: Operation, plan: BlockPlan) -> None:
        match op:
            case CallOp():
                self._call(op, plan)
            case arith.ConstantOp():
                if not all(map(_is_start, op.result.uses)) or self._splat(op.result) is None:
                    self.buffer(op.result, op)
                self.dead.append(op)
            case IfOp():
                self._if(op, plan)
            case WhileOp():
                self._while(op, plan)
            case ForOp():
                self._for(op, plan)
            case _:
                raise LaminaError("this operation on tensors cannot be bufferized in @main", where=op)

    def _call(self, op: CallOp, plan: BlockPlan) -> None:
        name = op.callee.string_value()
        outputs = [self.home(plan, result, op) for result, _ in destinations(op)]
        inputs = [
            self.buffer(v, op) if isinstance(v.type, TensorType) else v
            for v in op.operands[: len(op.operands) - len(outputs)]
        ]
        scratch = [self._scratch(each, op) for each in self.scratch.get(name, ())]
        self.insert(CallOp(SymbolRefAttr(name), [*inputs, *outputs, *scratch], []), op).attributes |= op.attributes
        self.dead.append(op)

    def _scratch(self, scratch: Scratch, at: Operation) -> SSAValue:
        value = self.allocate(scratch.type, at)
        if scratch.sparse and isinstance(value.owner, AllocOp):
            value.owner.attributes[SPARSE] = UnitAttr()
        return value

    def buffer(self, value: SSAValue, at: Operation) -> SSAValue:
        if isinstance(value.owner, arith.ConstantOp) and value not in self.buffers:
            self.buffers[value] = self._constant(value.owner)
        return super().buffer(value, at)

    def _constant(self, op: arith.ConstantOp) -> SSAValue:
        """A constant's place in the section; one that is only filled in where something begins as it has none."""
        value = op.value
        match value:
            case DenseResourceAttr():
                key = value.resource_handle.data
            case DenseIntOrFPElementsAttr():
                key = self.weights.add(dense_array(value), "constant")
            case _:
                raise LaminaError(f"a constant {type(value).__name__} has no bytes", where=op)
        type_ = memref_type(op.result.type)
        offset = self.constant_index(self.constants.place(key, byte_size(type_)), op)
        view = self.insert(ViewOp(self._section, offset, [], type_), op)
        view.result.name_hint = op.result.name_hint
        return view.result

    def _extract_slice(self, op: ExtractSliceOp, plan: BlockPlan) -> None:
        """Rows of a constant from a computed one on are a view of the section of constants, as the constant is."""
        source = _viewed(self.buffer(op.source, op)).owner if op.offsets else None
        shape, sizes = cast(TensorType, op.source.type).get_shape(), op.static_sizes.get_values()
        plain = are_rows(shape, sizes) and set(op.static_strides.get_values()) == {1}
        if not isinstance(source, ViewOp) or source.source is not self._section or not plain:
            super()._extract_slice(op, plan)
            return
        offset, computed = source.byte_shift, iter(op.offsets)
        step = byte_size(op.source.type)
        for extent, start in zip(shape, op.static_offsets.get_values(), strict=True):
            step //= max(1, extent)
            if start:
                first = next(computed) if start == DYNAMIC_INDEX else self.constant_index(start, op)
                bytes_ = self.insert(arith.MuliOp(first, self.constant_index(step, op)), op)
                offset = self.insert(arith.AddiOp(offset, bytes_.result), op).result
        self.buffers[op.result] = self.insert(ViewOp(self._section, offset, [], memref_type(op.result.type)), op).result
        self.dead.append(op)

    def copy_in(self, value: SSAValue, target: SSAValue, at: Operation) -> None:
        number = self._splat(value)
        if number is None:
            super().copy_in(value, target, at)
        else:
            self._fill(number, target, at)

    def _splat(self, value: SSAValue) -> Number | None:
        """The one number that a constant tensor consists of, if that is seen at once."""
        constant = value.owner.value if isinstance(value.owner, arith.ConstantOp) else None
        if isinstance(constant, DenseResourceAttr) and (key := constant.resource_handle.data) in self.weights:
            array = self.weights.peek(key)
            if not isinstance(array, Deferred) and array.size and is_splat_view(array):
                constant = dense_attribute(np.asarray(array[(0,) * array.ndim]))
        if not isinstance(constant, DenseIntOrFPElementsAttr) or not constant.is_splat():
            return None
        number = cast(Number, next(constant.iter_attrs()))
        return number if isinstance(value.type, TensorType) and number.type == value.type.element_type else None

    # control flow

    def rewrite(self, plan: BlockPlan) -> None:
        for op in list(plan.block.ops):
            if isinstance(op, WhileOp | ForOp):
                self._begin_in_place(op, plan)
        super().rewrite(plan)

    def _begin_in_place(self, loop: WhileOp | ForOp, plan: BlockPlan) -> None:
        """Lets what only a loop goes on with be computed where the loop keeps it."""
        for init, result in _carried(loop):
            begun, kept = plan.group_of.get(init), plan.group_of.get(result)
            if begun is None or kept is None or begun.home is not None or not begun.writable:
                continue
            uses = [use for value in begun.values for use in value.uses if use.operation is not loop]
            alone = sum(plan.group_of.get(value) is begun for value in loop.operands) == 1
            if not alone or any(plan.position(use) >= plan.positions[loop] for use in uses):
                continue
            if byte_size(init.type) != byte_size(begun.type) or _has_own_place(begun):
                continue
            first = plan.block.first_op
            assert first is not None
            if kept.home is None:
                kept.home = self.allocate(memref_type(kept.type), first)
            begun.home = self.reshaped(kept.home, begun.type.get_shape(), first)

    def _if(self, op: IfOp, plan: BlockPlan) -> None:
        targets = [self.home(plan, r, op) if isinstance(r.type, TensorType) else None for r in op.results]
        for region in (op.true_region, op.false_region):
            if region.blocks:
                self._branch(region.block, targets)
        scalars = [r.type for r in op.results if not isinstance(r.type, TensorType)]
        then, otherwise = (op.detach_region(region) for region in list(op.regions))
        new = IfOp(op.cond, scalars, then, otherwise)
        self._replace_scalars(op, new)

    def _branch(self, block: Block, targets: Sequence[SSAValue | None]) -> None:
        terminator = block.last_op
        assert isinstance(terminator, ScfYieldOp)
        pairs = list(zip(terminator.operands, targets, strict=True))
        scalars = [value for value, target in pairs if target is None]
        tensors = [(value, target) for value, target in pairs if target is not None]
        self.produce(BlockPlan(block), [v for v, _ in tensors], [t for _, t in tensors], terminator)
        terminator.operands = scalars

    def _while(self, op: WhileOp, plan: BlockPlan) -> None:
        before, after = op.before_region.block, op.after_region.block
        condition, end = before.last_op, after.last_op
        assert isinstance(condition, ConditionOp) and isinstance(end, ScfYieldOp)
        passed = list(zip(condition.args, op.results, after.args, strict=True))
        kept = {value: result for value, result, _ in passed if value.owner is before}
        state = [
            self._state(init, kept.get(argument), op, plan)
            for init, argument in zip(op.arguments, before.args, strict=True)
        ]
        self.buffers.update((argument, home) for argument, home in zip(before.args, state, strict=True) if home)
        forwarded: list[SSAValue | None] = []
        to_copy: list[tuple[SSAValue, SSAValue]] = []
        for value, result, argument in passed:
            home = None
            if isinstance(value.type, TensorType):
                home = self.buffers.get(value)
                if home is None or value.owner is not before:
                    home = self.allocate(memref_type(value.type), op)
                    to_copy.append((value, home))
                self.buffers[result] = self.buffers[argument] = home
            forwarded.append(home)
        self.produce(BlockPlan(before), [v for v, _ in to_copy], [t for _, t in to_copy], condition)
        condition.operands = [
            condition.condition,
            *(v for v, home in zip(condition.args, forwarded, strict=True) if home is None),
        ]
        self._iterate(after, after.args, end, state)
        for block in (before, after):
            self.stale += [a for a in block.args if isinstance(a.type, TensorType)]
        new = WhileOp(
            [v for v in op.arguments if not isinstance(v.type, TensorType)],
            [r.type for r in op.results if not isinstance(r.type, TensorType)],
            *[op.detach_region(region) for region in list(op.regions)],
        )
        self._replace_scalars(op, new)

    def _for(self, op: ForOp, plan: BlockPlan) -> None:
        block = op.body.block
        end = block.last_op
        assert isinstance(end, ScfYieldOp)
        arguments = block.args[1:]
        state = [self._state(init, result, op, plan) for init, result in zip(op.iter_args, op.results, strict=True)]
        for argument, result, home in zip(arguments, op.results, state, strict=True):
            if home is not None:
                self.buffers[argument] = self.buffers[result] = home
        self._iterate(block, arguments, end, state)
        self.stale += [a for a in arguments if isinstance(a.type, TensorType)]
        scalars = [v for v in op.iter_args if not isinstance(v.type, TensorType)]
        self._replace_scalars(op, ForOp(op.lb, op.ub, op.step, scalars, op.detach_region(op.body)))

    def _state(self, init: SSAValue, result: SSAValue | None, op: Operation, plan: BlockPlan) -> SSAValue | None:
        """Where a loop keeps a tensor that begins as `init`: where `result` is wanted, if that is what it ends as."""
        if not isinstance(init.type, TensorType):
            return None
        home = self.allocate(memref_type(init.type), op) if result is None else self.home(plan, result, op)
        begun = self.buffers.get(init)
        if begun is None or _viewed(begun) is not _viewed(home):
            self.copy_in(init, home, op)
        return home

    def _iterate(
        self, block: Block, arguments: Sequence[SSAValue], end: ScfYieldOp, state: Sequence[SSAValue | None]
    ) -> None:
        """The loop body: no part of the state is overwritten before all that reads it."""
        readers: dict[SSAValue, list[SSAValue]] = {home: [] for home in state if home is not None}
        for argument in arguments:
            if (home := self.buffers.get(argument)) is not None and home in readers:
                readers[home].append(argument)
        plan = BlockPlan(block, owned={found[0]: home for home, found in readers.items() if len(found) == 1})
        ends = [(value, home) for value, home in zip(end.operands, state, strict=True) if home is not None]
        self._end_in_place(plan, ends, readers)
        self.rewrite(plan)
        self._settle(ends, end)
        end.operands = [v for v, home in zip(end.operands, state, strict=True) if home is None]

    def _end_in_place(
        self,
        plan: BlockPlan,
        ends: Sequence[tuple[SSAValue, SSAValue]],
        readers: Mapping[SSAValue, Sequence[SSAValue]],
    ) -> None:
        """Lets a value be computed in the home where it is to end, if nothing reads what is there any more."""
        first = plan.block.first_op
        assert first is not None
        for value, home in ends:
            group = plan.group_of.get(value)
            if group is None or group.home is not None or not group.writable:
                continue
            if isinstance(group.values[0].owner, WhileOp | ForOp):
                continue  # what it begins with is there earlier
            read = max((plan.last_read(argument) for argument in readers[home]), default=-1)
            if group.first > read and byte_size(value.type) == byte_size(group.type) and not _has_own_place(group):
                group.home = self.reshaped(home, group.type.get_shape(), first)

    def _settle(self, ends: Sequence[tuple[SSAValue, SSAValue]], at: Operation) -> None:
        """Moves each value that is elsewhere into its home; what one home held before is saved where others want it."""
        homes = {_viewed(home) for _, home in ends}
        moves: list[tuple[SSAValue, SSAValue]] = []
        for value, home in ends:
            source = self.buffer(value, at)
            if (within := _viewed(source)) is _viewed(home):
                continue
            if (_viewed(within.owner.source) if isinstance(within.owner, SubviewOp) else within) in homes:
                type_ = source.type
                assert isinstance(type_, MemRefType)
                saved = self.allocate(MemRefType(type_.element_type, type_.get_shape()), at)
                self.copy(source, saved, at)
                source = saved
            moves.append((source, home))
        for source, home in moves:
            self.copy(source, home, at)

    def _replace_scalars(self, old: IfOp | WhileOp | ForOp, new: IfOp | WhileOp | ForOp) -> None:
        Rewriter.insert_op(new, InsertPoint.before(old))
        new.location = old.location
        new.attributes |= old.attributes
        scalars = iter(new.results)
        for result in old.results:
            if not isinstance(result.type, TensorType):
                result.replace_all_uses_with(next(scalars))
        self.dead.append(old)

    def _set_type(self, inputs: Sequence[SSAValue], outputs: Sequence[Attribute]) -> None:
        block = self.function.body.block
        old = self._section
        self._section = block.insert_arg(MemRefType(i8, [self.constants.size]), old.index)
        self._section.name_hint = "constants"
        old.replace_all_uses_with(self._section)
        block.erase_arg(old)
        properties = self.function.properties
        attrs = [*_entries(properties.get("arg_attrs"), len(inputs))]
        attrs += [*_entries(properties.pop("res_attrs", None), len(outputs)), DictionaryAttr({})]
        if any(entry.data for entry in attrs):
            properties["arg_attrs"] = ArrayAttr(attrs)
        properties["function_type"] = FunctionType.from_lists([a.type for a in block.args], [])


def _aliases(main: FuncOp) -> Sequence[tuple[int, int]]:
    """The inputs whose memory outputs take, and these. Raises LaminaError where an output does not fit."""
    module = main.parent_op()
    assert isinstance(module, ModuleOp)
    return signature_of(module).aliases if aliases_of(main) else ()


def _entries(attrs: Attribute | None, count: int) -> list[DictionaryAttr]:
    if isinstance(attrs, ArrayAttr):
        return [entry for entry in attrs.data if isinstance(entry, DictionaryAttr)]
    return [DictionaryAttr({})] * count


def _is_start(use: Use) -> bool:
    """Whether a value is what a loop, or a kernel that changes a part of it, begins with."""
    if isinstance(use.operation, CallOp):
        return use.index >= len(use.operation.operands) - len(use.operation.results)
    return isinstance(use.operation, WhileOp | ForOp)


def _has_own_place(group: Group) -> bool:
    """Whether the op decides where its result lives: a loop, of what it only passes on."""
    value = group.values[0]
    if not isinstance(value.owner, WhileOp):
        return False
    before = value.owner.before_region.block
    passed = before.last_op
    assert isinstance(passed, ConditionOp) and isinstance(value, OpResult)
    return passed.args[value.index].owner is not before


def _carried(loop: WhileOp | ForOp) -> list[tuple[SSAValue, SSAValue]]:
    """What a loop begins with, and the result that each is in the end."""
    if isinstance(loop, ForOp):
        pairs = zip(loop.iter_args, loop.results, strict=True)
        return [(init, result) for init, result in pairs if isinstance(init.type, TensorType)]
    before = loop.before_region.block
    passed = before.last_op
    assert isinstance(passed, ConditionOp)
    return [
        (loop.arguments[value.index], result)
        for value, result in zip(passed.args, loop.results, strict=True)
        if isinstance(value, BlockArgument) and value.block is before and isinstance(value.type, TensorType)
    ]


def _viewed(buffer: SSAValue) -> SSAValue:
    """The buffer that views of other shapes were taken of."""
    while isinstance(buffer.owner, CollapseShapeOp | ExpandShapeOp):
        buffer = buffer.owner.operands[0]
    return buffer
