"""systolic-partition: operators that the array computes go into functions of their own, the others into the host's.

    func.func public @main(%x) {
      %q = "onnx.QuantizeLinear"(%x, ...)
      %c = "onnx.QLinearConv"(%q, ...)
      %y = "onnx.DequantizeLinear"(%c, ...)
      return %y
    }
    ->
    func.func public @main(%x) {
      %q = func.call @host_0(%x)
      %c = func.call @systolic_1(%q)
      %y = func.call @host_2(%c)
      return %y
    }

Parts run one after the other, as many as it takes: an operator is of the part of what it reads, or of the next one if
that runs elsewhere. Constants are in every part that reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.diagnostics import LaminaError
from ...compiler.program import main_function
from ...compiler.systolic_machine import SystolicMachine
from ...dialects.onnx import NoValueOp, OnnxOp
from .layers import Reader
from .names import MACHINE

HOST, ARRAY = "host", "systolic"
_FREE = ("onnx.Constant", NoValueOp.name)


@dataclass(frozen=True)
class Partition(ModulePass):
    """Parts a graph between the host and the array called `machine`."""

    name = "systolic-partition"

    machine: str = "gemmini16"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        SystolicMachine.preset(self.machine)
        partition(op, Reader(lamina_context(ctx).weights), self.machine)


def partition(module: ModuleOp, reader: Reader, machine: str) -> None:
    """Parts the graph of `@main` between the host and what computes the layers that `reader` knows."""
    main = main_function(module)
    if not isinstance(main, FuncOp):
        raise LaminaError("@main is no function of func", where=main)
    parts = _parts(main.body.block, reader)
    if any(number % 2 for number in parts.values()):
        _Parter(module, main, parts, machine).run()


def _parts(block: Block, reader: Reader) -> dict[Operation, int]:
    """The number of each operator's part; those of the array are odd."""
    found: dict[Operation, int] = {}
    for op in block.ops:
        if isinstance(op, ReturnOp) or op.name in _FREE:
            continue
        if not isinstance(op, OnnxOp):
            raise LaminaError(f"'{op.name}' is no operator of ONNX", where=op)
        odd = not op.regions and reader.layer(op) is not None
        read = {value for inner in op.walk() for value in inner.operands}
        before = [found[owner] for value in read if isinstance(owner := value.owner, Operation) and owner in found]
        latest = max(before, default=0)
        found[op] = latest + (latest % 2 != int(odd))
    return found


class _Parter:
    def __init__(self, module: ModuleOp, main: FuncOp, parts: dict[Operation, int], machine: str):
        self.module, self.main, self.parts, self.machine = module, main, parts, machine
        self.values: dict[SSAValue, SSAValue] = {}

    def run(self) -> None:
        old = self.main.body.block
        new = Block(arg_types=[arg.type for arg in old.args])
        for before, after in zip(old.args, new.args, strict=True):
            after.name_hint, after.location = before.name_hint, before.location
            self.values[before] = after
        for number in sorted(set(self.parts.values())):
            self._part(number, [op for op, part in self.parts.items() if part == number], new)
        last = old.last_op
        assert isinstance(last, ReturnOp)
        results = [self._result(value, new) for value in last.operands]
        ending = ReturnOp(*results)
        ending.location = last.location
        new.add_op(ending)
        self.main.detach_region(self.main.body)
        self.main.add_region(Region(new))

    def _result(self, value: SSAValue, block: Block) -> SSAValue:
        owner = value.owner
        if value not in self.values and isinstance(owner, Operation):  # a constant that is returned as it is
            copy = owner.clone()
            block.add_op(copy)
            return copy.results[0]
        return self.values[value]

    def _part(self, number: int, ops: Sequence[Operation], into: Block) -> None:
        members = set(ops)
        inner = {r for op in ops for each in op.walk() for r in each.results}
        inner |= {arg for op in ops for each in op.walk() for reg in each.regions for b in reg.blocks for arg in b.args}
        reads = dict.fromkeys(v for op in ops for each in op.walk() for v in each.operands if v not in inner)
        constants = [v for v in reads if isinstance(v.owner, Operation) and v.owner.name in _FREE]
        inputs = [v for v in reads if v not in constants]
        outputs = [r for op in ops for r in op.results if any(_outside(u.operation, members) for u in r.uses)]
        block = Block(arg_types=[v.type for v in inputs])
        mapping: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
        for value in constants:
            owner = value.owner
            assert isinstance(owner, Operation)
            copy = owner.clone()
            block.add_op(copy)
            mapping[value] = copy.results[0]
        for op in ops:
            block.add_op(op.clone(mapping))
        block.add_op(ReturnOp(*(mapping[v] for v in outputs)))
        name = f"{ARRAY if number % 2 else HOST}_{number}"
        type_ = FunctionType.from_lists([v.type for v in inputs], [v.type for v in outputs])
        function = FuncOp(name, type_, Region(block), visibility="private")
        if number % 2:
            function.attributes[MACHINE] = StringAttr(self.machine)
        self.module.body.block.add_op(function)
        call = CallOp(name, [self.values[v] for v in inputs], [v.type for v in outputs])
        into.add_op(call)
        self.values |= dict(zip(outputs, call.results, strict=True))


def _outside(op: Operation, members: set[Operation]) -> bool:
    """Whether an op, or the one of the graph that it is in, is none of the members."""
    at: Operation | None = op
    while at is not None:
        if at in members:
            return False
        at = at.parent_op()
    return True
