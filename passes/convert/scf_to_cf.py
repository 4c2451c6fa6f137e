"""Structured control flow becomes blocks and branches.

before:
    %r = scf.for %i = %lo to %hi step %s iter_args(%x = %init) -> (f32) { ... scf.yield %y : f32 }
after:
      cf.br ^head(%lo, %init)
    ^head(%i: index, %x: f32):
      %more = arith.cmpi slt, %i, %hi
      cf.cond_br %more, ^body, ^exit
    ^body:
      ...
      %next = arith.addi %i, %s
      cf.br ^head(%next, %y)
    ^exit:

A loop whose bounds say that it has a round is tested after each round alone: ^body(%i, %x) branches to itself, until
%i is %hi where steps lead there.

Each function's body is built anew, in order, so the cost is linear in the number of ops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, cf, func, llvm, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ...compiler.diagnostics import LaminaError
from ...dialects.llvm.text import UNROLL
from .affine_expressions import NO_WRAP


@dataclass(frozen=True)
class ConvertScfToCf(ModulePass):
    """Structured control flow becomes blocks and branches."""

    name = "convert-scf-to-cf"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, (func.FuncOp, llvm.FuncOp)) and function.body.blocks:
                _Flattening(function).run()


def span_of(op: scf.ForOp) -> int | None:
    """How far it is from the lower bound to the upper one: between constants, or from a value to more than it."""
    upper = op.ub.owner
    if isinstance(upper, arith.AddiOp) and upper.lhs is op.lb and upper.properties.get("overflowFlags") == NO_WRAP:
        return _constant(upper.rhs)
    lowest, end = _constant(op.lb), _constant(op.ub)
    return None if lowest is None or end is None else end - lowest


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


class _Flattening:
    """The blocks of one function in the making; `here` is where ops go now."""

    def __init__(self, function: func.FuncOp | llvm.FuncOp):
        self.function = function
        self.blocks: list[Block] = []
        self.here = Block()

    def run(self) -> None:
        if not any(op.name.startswith("scf.") for op in self.function.body.walk()):
            return
        region = self.function.body
        for block in list(region.blocks):
            self.here = block
            self.blocks.append(block)
            self.inline(list(block.ops))
        for block in self.blocks:
            if block.parent is None:
                region.add_block(block)
        # blocks made while flattening an old one come after it, not at the end
        for block in list(region.blocks):
            region.detach_block(block)
        for block in self.blocks:
            region.add_block(block)

    def inline(self, ops: Sequence[Operation]) -> None:
        for op in ops:
            match op:
                case scf.ForOp():
                    self.lower_for(op)
                case scf.IfOp():
                    self.lower_if(op)
                case scf.WhileOp():
                    self.lower_while(op)
                case scf.IndexSwitchOp():
                    self.lower_switch(op)
                case scf.ExecuteRegionOp():
                    self.lower_execute(op)
                case _ if op.name.startswith("scf."):
                    raise LaminaError("no lowering to branches is known for this operation", where=op)
                case _:
                    self.add(op)

    def add(self, op: Operation) -> None:
        if op.parent is self.here or op.parent is not None:
            op.detach()
        self.here.add_op(op)

    def new(self, op: Operation, origin: Operation) -> Operation:
        op.location = origin.location
        self.here.add_op(op)
        return op

    def start(self, block: Block) -> None:
        self.blocks.append(block)
        self.here = block

    def body(self, region: Region, values: Sequence[SSAValue]) -> Operation:
        """Puts the ops of a one-block region here and gives its terminator, which is detached."""
        source = region.block
        for arg, value in zip(source.args, values, strict=True):
            arg.replace_all_uses_with(value)
        last = source.last_op
        if last is None:
            raise LaminaError("a region without a terminator", where=region.parent_op())
        last.detach()
        self.inline(list(source.ops))
        return last

    def branch(self, target: Block, values: Sequence[SSAValue], origin: Operation) -> Operation:
        return self.new(cf.BranchOp(target, *values), origin)

    def finish(self, op: Operation, values: Sequence[SSAValue]) -> None:
        for result, value in zip(op.results, values, strict=True):
            value.name_hint = value.name_hint or result.name_hint
            result.replace_all_uses_with(value)
        op.detach()
        op.erase()

    def lower_for(self, op: scf.ForOp) -> None:
        head = Block(arg_types=[op.lb.type, *(value.type for value in op.iter_args)])
        head.args[0].name_hint = op.body.block.args[0].name_hint
        end = Block()
        self.branch(head, [op.lb, *op.iter_args], op)
        self.start(head)
        span, step = span_of(op) or 0, _constant(op.step) or 0
        if span > 0:
            last = self.body(op.body, head.args)
            following = self.following(op, head.args[0])
            # what is equal in the end any of the loop's variables may tell: LLVM keeps one register less
            told = "ne" if step > 0 and span % step == 0 else "slt"
            more = self.new(arith.CmpiOp(following, op.ub, told), op).results[0]
            back = self.new(cf.ConditionalBranchOp(more, head, [following, *last.operands], end, []), op)
            results = last.operands
        else:
            body = Block()
            more = self.new(arith.CmpiOp(head.args[0], op.ub, "slt"), op).results[0]
            self.new(cf.ConditionalBranchOp(more, body, [], end, []), op)
            self.start(body)
            last = self.body(op.body, head.args)
            back = self.branch(head, [self.following(op, head.args[0]), *last.operands], op)
            results = head.args[1:]
        if UNROLL in op.attributes:
            back.attributes[UNROLL] = op.attributes[UNROLL]
        self.start(end)
        self.finish(op, results)
        last.erase()

    def following(self, op: scf.ForOp, number: SSAValue) -> SSAValue:
        return self.new(arith.AddiOp(number, op.step, overflow=NO_WRAP), op).results[0]

    def lower_if(self, op: scf.IfOp) -> None:
        then, end = Block(), Block(arg_types=[result.type for result in op.results])
        otherwise = Block() if op.false_region.blocks else end
        self.new(cf.ConditionalBranchOp(op.cond, then, [], otherwise, []), op)
        for block, region in ((then, op.true_region), (otherwise, op.false_region)):
            if block is not end:
                self.start(block)
                last = self.body(region, [])
                self.branch(end, last.operands, op)
                last.erase()
        self.start(end)
        self.finish(op, end.args)

    def lower_while(self, op: scf.WhileOp) -> None:
        before = Block(arg_types=[value.type for value in op.operands])
        after, end = Block(), Block()
        self.branch(before, op.operands, op)
        self.start(before)
        condition = self.body(op.before_region, before.args)
        flag, *values = condition.operands
        self.new(cf.ConditionalBranchOp(flag, after, [], end, []), op)
        self.start(after)
        last = self.body(op.after_region, values)
        self.branch(before, last.operands, op)
        condition.erase()
        last.erase()
        self.start(end)
        self.finish(op, values)

    def lower_switch(self, op: scf.IndexSwitchOp) -> None:
        end = Block(arg_types=[result.type for result in op.results])
        for number, region in zip(op.cases.get_values(), op.case_regions, strict=True):
            wanted = self.new(arith.ConstantOp(IntegerAttr(int(number), IndexType())), op).results[0]
            equal = self.new(arith.CmpiOp(op.arg, wanted, "eq"), op).results[0]
            case, other = Block(), Block()
            self.new(cf.ConditionalBranchOp(equal, case, [], other, []), op)
            self.start(case)
            self.leave(region, end, op)
            self.start(other)
        self.leave(op.default_region, end, op)
        self.start(end)
        self.finish(op, end.args)

    def lower_execute(self, op: scf.ExecuteRegionOp) -> None:
        if len(op.region.blocks) != 1:
            raise LaminaError("a region of several blocks has no lowering here", where=op)
        last = self.body(op.region, [])
        values = list(last.operands)
        last.erase()
        self.finish(op, values)

    def leave(self, region: Region, end: Block, op: Operation) -> None:
        last = self.body(region, [])
        self.branch(end, last.operands, op)
        last.erase()
