"""Buffers of one kernel: every result is written into its destination argument, nothing is allocated.

An intermediate takes the destination's memory while that is free, else the stack when small, else an extra
argument (scratch) that the caller places in the arena.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, IntegerAttr, MemRefType, TensorType, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.diagnostics import LaminaError
from ...dialects.linalg import FillOp, GenericOp, WinogradFilterTransformOp
from ...dialects.memref import AllocaOp, StoreOp
from ...dialects.scf import ForOp
from ...dialects.scf import YieldOp as ScfYieldOp
from ...dialects.tensor import ConcatOp, ExtractOp, InsertOp, PadOp
from ..linalg.grouping import BLOCK_ROWS
from .emit import Emitter, copy_generic, parts_of
from .groups import BlockPlan, Group, destinations, is_changed
from .layout import ALIGNMENT, SCRATCH, STACK_LIMIT, byte_size, memref_type


@dataclass(frozen=True)
class Scratch:
    """An argument that a kernel asks for; `sparse`: it will touch little of it."""

    type: MemRefType
    sparse: bool


class KernelEmitter(Emitter):
    """Rewrites one kernel; `scratch` lists the arguments it added."""

    def __init__(self, function: FuncOp, stack: int = STACK_LIMIT):
        super().__init__()
        self.stack = stack
        self.function = function
        self.block = function.body.block
        self.scratch: list[Scratch] = []

    def run(self) -> None:
        """Rewrites the function in place: no tensor and no result is left."""
        arguments = list(self.block.args)
        terminator = self.block.last_op
        assert isinstance(terminator, ReturnOp)
        results = len(terminator.operands)
        if results > len(arguments):
            raise LaminaError("a kernel needs a destination argument for each result", where=self.function)
        destinations = arguments[len(arguments) - results :] if results else []
        self._convert_arguments(arguments)
        changed: dict[SSAValue, SSAValue] = {dst: self.buffers[dst] for dst in destinations if is_changed(dst)}
        plan = BlockPlan(self.block, [dst for dst in destinations if dst not in changed], changed)
        homes = self._place_results(plan, terminator, [self.buffers[dst] for dst in destinations])
        self._place_parts(plan)
        self._place_intermediates(plan, homes)
        self.rewrite(plan)
        for value, dst in zip(terminator.operands, destinations, strict=True):
            if value is not dst and (source := self.buffer(value, terminator)) is not self.buffers[dst]:
                self._copy_result(plan, value, source, self.buffers[dst], terminator)
        terminator.operands = []
        self.stale += [argument for argument in arguments if isinstance(argument.type, TensorType)]
        self.erase_dead()
        self._set_type()

    def _convert_arguments(self, arguments: Sequence[SSAValue]) -> None:
        for argument in arguments:
            if isinstance(argument.type, TensorType):
                new = self.block.insert_arg(memref_type(argument.type), len(self.block.args))
                new.name_hint = argument.name_hint
                self.buffers[argument] = new

    def _place_results(
        self, plan: BlockPlan, terminator: ReturnOp, targets: list[SSAValue]
    ) -> dict[SSAValue, list[Group]]:
        """Gives the group of each result its destination as home, where it can be."""
        homes: dict[SSAValue, list[Group]] = {target: [] for target in targets}
        for group in plan.groups:
            if group.home is not None and group.home in homes:
                homes[group.home].append(group)
        first = self.block.first_op
        assert first is not None
        for value, target in zip(terminator.operands, targets, strict=True):
            group = plan.group_of.get(value)
            if group is None or not group.writable or group.home is not None:
                continue
            if byte_size(value.type) == byte_size(group.type):
                group.home = self.reshaped(target, group.type.get_shape(), first)
                homes[target].append(group)
        return homes

    def _place_parts(self, plan: BlockPlan) -> None:
        """Lets what is only computed to be concatenated or padded live in its part of the result."""
        first = self.block.first_op
        assert first is not None
        for op in self.block.ops:
            if not isinstance(op, ConcatOp | PadOp) or BLOCK_ROWS in op.attributes:
                continue
            whole = plan.group_of[op.result]
            for value, offsets, sizes in parts_of(op):
                group = plan.group_of.get(value)
                if group is None or not _is_for(group, value, op):
                    continue
                if whole.home is None:
                    whole.home = self.allocate(memref_type(whole.type), op)
                group.home = self.subview(whole.home, offsets, sizes, [1] * len(sizes), first)
                whole.first = min(whole.first, group.first)

    def _place_intermediates(self, plan: BlockPlan, homes: dict[SSAValue, list[Group]]) -> None:
        """Lets intermediates use a destination's memory while its result is not there yet, of any of its rows."""
        if any(BLOCK_ROWS in op.attributes for op in self.block.ops):
            return
        for group in plan.groups:
            if group.home is not None:
                continue
            for target, tenants in homes.items():
                if memref_type(group.type) == target.type and all(
                    tenant.home is target and _apart(plan, group, tenant) for tenant in tenants
                ):
                    group.home = target
                    tenants.append(group)
                    break

    def _copy_result(self, plan: BlockPlan, value: SSAValue, source: SSAValue, target: SSAValue, at: Operation) -> None:
        group = plan.group_of.get(value)
        if group is not None and group.home is not None and self._lives_in(group.home, target):
            return
        self.copy(source, target, at)

    @staticmethod
    def _lives_in(home: SSAValue, target: SSAValue) -> bool:
        """Whether `home` is the destination itself, perhaps seen with another shape."""
        while home is not target and isinstance(home.owner, Operation) and home.owner.operands:
            home = home.owner.operands[0]
        return home is target

    def allocate(self, type_: MemRefType, at: Operation) -> SSAValue:
        first = self.block.first_op
        assert first is not None
        if byte_size(type_) <= self.stack:
            op = AllocaOp.build(
                operands=[[], []],
                result_types=[type_],
                properties={"alignment": IntegerAttr(ALIGNMENT, i64)},
            )
            op.location = at.location
            Rewriter.insert_op(op, InsertPoint.before(first))
            return op.memref
        self.scratch.append(Scratch(type_, _is_sparse(at)))
        argument = self.block.insert_arg(type_, len(self.block.args))
        argument.name_hint = "scratch"
        return argument

    def copy(self, source: SSAValue, target: SSAValue, at: Operation) -> None:
        self.insert(copy_generic(source, target), at)

    def other(self, op: Operation, plan: BlockPlan) -> None:
        if not isinstance(op, ForOp):
            raise LaminaError("this operation on tensors cannot be bufferized inside a kernel", where=op)
        homes: list[SSAValue] = []
        for init, result in zip(op.iter_args, op.results, strict=True):
            if not isinstance(result.type, TensorType):
                raise LaminaError("a loop over tensors that carries a scalar cannot be bufferized", where=op)
            home = self.home(plan, result, op)
            if init not in plan.undefined and (before := self.buffer(init, op)) is not home:
                self.copy(before, home, op)
            homes.append(home)
        self._loop(op, homes)

    def _loop(self, op: ForOp, homes: Sequence[SSAValue]) -> None:
        """A loop nest whose tensors live in `homes` and are changed one element at a time."""
        block = op.body.block
        carried = list(block.args[1:])
        self.buffers.update(zip(carried, homes, strict=True))
        latest = set(carried)
        for inner in list(block.ops):
            match inner:
                case ExtractOp():
                    self._require(inner, inner.tensor in latest or self.buffers.get(inner.tensor) not in homes)
                    self._extract(inner)
                case InsertOp():
                    self._require(inner, inner.dest in latest)
                    buffer = self.buffers[inner.result] = self.buffers[inner.dest]
                    self.insert(StoreOp.get(inner.scalar, buffer, inner.indices), inner)
                    self.dead.append(inner)
                    latest = latest - {inner.dest} | {inner.result}
                case ForOp() if inner.iter_args and not _has_tensors(inner):
                    self._read_only(inner, homes)
                case ForOp() if inner.iter_args:
                    self._require(inner, all(v in latest for v in inner.iter_args))
                    self._loop(inner, [self.buffers[v] for v in inner.iter_args])
                    latest = latest - set(inner.iter_args) | set(inner.results)
                case ScfYieldOp():
                    self._require(inner, [self.buffers.get(v) for v in inner.operands] == list(homes))
                    inner.operands = []
                case _:
                    self._require(inner, not any(isinstance(v.type, TensorType) for v in inner.operands))
        self.stale += carried
        self.buffers.update(zip(op.results, homes, strict=True))
        loop = ForOp(op.lb, op.ub, op.step, [], op.detach_region(op.body))
        loop.location = op.location
        Rewriter.insert_op(loop, InsertPoint.before(op))
        self.dead.append(op)

    def _read_only(self, op: ForOp, homes: Sequence[SSAValue]) -> None:
        """A loop inside that carries scalars: it reads other tensors than those being changed."""
        for inner in op.body.walk():
            if isinstance(inner, ExtractOp):
                self._require(inner, self.buffers.get(inner.tensor) not in homes)
        self.captures(op.body)

    @staticmethod
    def _require(op: Operation, possible: bool) -> None:
        if not possible:
            raise LaminaError("only element by element may a loop in a kernel change tensors, in place", where=op)

    def _set_type(self) -> None:
        if self.scratch:
            self.function.attributes[SCRATCH] = IntegerAttr(len(self.scratch), i64)
        properties = self.function.properties
        properties["function_type"] = FunctionType.from_lists([a.type for a in self.block.args], [])
        properties.pop("res_attrs", None)
        if isinstance(properties.get("arg_attrs"), ArrayAttr):
            properties["arg_attrs"] = ArrayAttr([DictionaryAttr({}) for _ in self.block.args])


def _has_tensors(op: ForOp) -> bool:
    return any(isinstance(value.type, TensorType) for value in op.iter_args)


def _is_sparse(op: Operation) -> bool:
    """Whether the result of `op` is of what a kernel takes a part at a time."""
    if isinstance(op, WinogradFilterTransformOp):
        return op.of_panels
    users = [use.operation for result in op.results for use in result.uses]
    return any(BLOCK_ROWS in each.attributes for each in (op, *users))


def _is_for(group: Group, value: SSAValue, op: Operation) -> bool:
    """Whether all of a group's values lead to `value`, computed by structured ops in place, and that to `op` alone."""
    return (
        group.writable
        and group.home is None
        and group.copy_from is None
        and value is group.values[-1]
        and value.has_one_use()
        and value.type == group.type
        and all(isinstance(v.owner, GenericOp | FillOp) for v in group.values)
    )


def _apart(plan: BlockPlan, early: Group, late: Group) -> bool:
    """Whether two groups may have one buffer: one is last read before, or elementwise while, the other begins."""
    if early.first > late.first:
        early, late = late, early
    if early.last < late.first:
        return True
    if early.last > late.first:
        return False
    result = late.values[0]
    op = result.owner
    if not isinstance(op, Operation) or any(value.owner is op for value in early.values):
        return False  # one op writes both, even where nobody reads one of them
    return any(
        pair[0] is result and plan.reads_align(op, early.values, index) for index, pair in enumerate(destinations(op))
    )
