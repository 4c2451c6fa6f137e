"""The host's part of a program on the level `gpu`: what is launched, on which memory, and what values decide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from ...compiler.diagnostics import LaminaError
from ...compiler.dtypes import dtype_of
from ...compiler.places import describe_location
from ...compiler.program import main_function
from ...compiler.walking import all_ops
from ...dialects.gpu import DynamicSharedMemoryOp, LaunchFuncOp
from ...dialects.nvgpu import CreateDescriptorOp, TensorMapType
from .steps import Branch, Launch, Loop, Place, Read, Repeat, Step, Steps, Straight, Tensor, Test

MOST_LAUNCHES = 4096  # that a loop puts into a graph
_EQUAL = 0  # a predicate of arith.cmpi
_VIEWS = (memref.CollapseShapeOp, memref.ExpandShapeOp, memref.CastOp)


def steps_of(module: ModuleOp, inputs: int, outputs: int) -> Steps:
    """What `@main` of a module on the level `gpu` does, given how many inputs and outputs it has.

    Raises LaminaError for what the host cannot do.
    """
    functions = {f.sym_name.data: f for f in module.ops if isinstance(f, FuncOp)}
    main = main_function(module)
    assert isinstance(main, FuncOp)
    sections = [Place("input", i) for i in range(inputs)] + [Place("output", i) for i in range(outputs)]
    sections += [Place("arena"), Place("constants")]
    host = _Host(functions, count())
    host.places.update(zip(main.body.block.args, sections, strict=False))
    return host.steps(main.body.block)


@dataclass
class _Host:
    """What is known of a function's values while its ops become steps."""

    functions: Mapping[str, FuncOp]
    names: Iterator[int]
    origin: str = ""
    places: dict[SSAValue, Place] = field(default_factory=dict[SSAValue, Place])
    tensors: dict[SSAValue, Tensor] = field(default_factory=dict[SSAValue, Tensor])
    tests: dict[SSAValue, Test] = field(default_factory=dict[SSAValue, Test])

    def steps(self, block: Block) -> Steps:
        """The steps of a block; launches that follow each other are one."""
        found: list[Step] = []
        for op in block.ops:
            for step in self.step(op):
                if isinstance(step, Straight) and found and isinstance(before := found[-1], Straight):
                    found[-1] = Straight(before.launches + step.launches)
                else:
                    found.append(step)
        return tuple(found)

    def step(self, op: Operation) -> Sequence[Step]:
        """What one op does; what only names things does nothing."""
        match op:
            case memref.ViewOp():
                start = self.places[op.source]
                shift = start.offset + _constant(op.byte_shift, op)
                self.places[op.results[0]] = Place(start.section, start.index, shift)
            case _ if isinstance(op, _VIEWS):
                self.places[op.results[0]] = self.places[op.operands[0]]
            case CreateDescriptorOp():
                self.tensors[op.result] = _tensor(op, self.places[op.buffer])
            case func.CallOp():
                return self.called(op)
            case LaunchFuncOp():
                name = op.callee.string_value()
                given = tuple(self.tensors.get(v) or self.places[v] for v in op.arguments)
                launch = Launch(name, given, op.grid, op.block, shared_bytes(self.functions[name]), self.where(op))
                return [Straight((launch,))]
            case memref.LoadOp() if not op.indices:
                self.tests[op.res] = Test(next(self.names))
                return [Read(self.tests[op.res].name, self.places[op.memref], dtype_of(op.memref.type).name)]
            case arith.CmpiOp() if op.lhs in self.tests and op.predicate.value.data == _EQUAL:
                self.tests[op.result] = Test(self.tests[op.lhs].name, _constant(op.rhs, op))
            case scf.IfOp() if not op.results:
                branches = [self.steps(region.block) if region.blocks else () for region in op.regions]
                return [Branch(self.test(op.cond, op), branches[0], branches[1])]
            case scf.WhileOp() if not op.results:
                before, body = (region.block for region in op.regions)
                steps = self.steps(before)
                last = before.last_op
                assert isinstance(last, scf.ConditionOp)
                return [Loop(steps, self.test(last.condition, op), self.steps(body))]
            case scf.ForOp() if not op.results:
                low, high, step = (_constant(bound, op) for bound in (op.lb, op.ub, op.step))
                return _repeated(len(range(low, high, step)), self.steps(op.body.block))
            case func.ReturnOp() | arith.ConstantOp() | scf.YieldOp() | scf.ConditionOp():
                pass
            case _:
                raise LaminaError("the host's part of a program for CUDA cannot do this", where=op)
        return []

    def called(self, op: func.CallOp) -> Steps:
        """The steps of another function."""
        callee = self.functions[op.callee.string_value()]
        inner = _Host(self.functions, self.names, self.where(op))
        inner.places.update(zip(callee.body.block.args, (self.places[v] for v in op.arguments), strict=True))
        return inner.steps(callee.body.block)

    def where(self, op: Operation) -> str:
        """Where in the model an op comes from."""
        return describe_location(op.location) or self.origin

    def test(self, value: SSAValue, op: Operation) -> Test:
        """What a condition asks of a number that was read."""
        if value not in self.tests:
            raise LaminaError("the host's part of a program for CUDA cannot decide this", where=op)
        return self.tests[value]


def _repeated(times: int, body: Steps) -> Sequence[Step]:
    """Steps so many times: in one graph, where that does not become too large."""
    match body:
        case (Straight(launches),) if times * len(launches) <= MOST_LAUNCHES:
            return [Straight(launches * times)]
        case _:
            return [Repeat(times, body)]


def _tensor(op: CreateDescriptorOp, place: Place) -> Tensor:
    type_ = op.result.type
    assert isinstance(type_, TensorMapType)
    sizes, strides = (tuple(int(n) for n in numbers.get_values()) for numbers in (op.sizes, op.strides))
    return Tensor(place, dtype_of(type_.element_type).name, sizes, strides, type_.extents, type_.swizzle.data)


def _constant(value: SSAValue, op: Operation) -> int:
    owner = value.owner
    number = owner.properties.get("value") if isinstance(owner, arith.ConstantOp) else None
    if not isinstance(number, IntegerAttr):
        raise LaminaError("an offset that is no constant", where=op)
    return number.value.data


def shared_bytes(kernel: FuncOp) -> int:
    """The shared memory that a kernel's blocks are given."""
    sizes = [0]
    for op in all_ops(kernel):
        if isinstance(op, DynamicSharedMemoryOp):
            assert isinstance(op.result.type, MemRefType)
            sizes += op.result.type.get_shape()
    return max(sizes)
