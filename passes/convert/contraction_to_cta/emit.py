"""The program of a product: a loop of loads and dots, the epilogue on the tile, the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IndexType, MemRefType, TensorType, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ....compiler.locations import locate
from ....dialects.affine import ForOp
from ....dialects.affine import YieldOp as LoopYieldOp
from ....dialects.cta import DotOp, LoadOp, MapOp, ProgramOp, StoreOp, ViewOp, YieldOp
from ...gpu.kernels import leave
from .problem import Matrix, Problem, Step
from .schedule import Schedule

OpT = TypeVar("OpT", bound=Operation)


def emit(function: FuncOp, problem: Problem, schedule: Schedule, precision: str) -> None:
    """Puts the program in the place of what the function does."""
    program = _Program(problem, schedule, precision)
    program.write()
    sizes, tile = (problem.batch, problem.m, problem.n), (1, schedule.rows, schedule.columns)
    op = ProgramOp(sizes, tile, schedule.attribute, Region(program.body))
    locate(op, problem.contraction.location)
    leave(function.body.block, [op])


class _Program:
    def __init__(self, problem: Problem, schedule: Schedule, precision: str):
        self.p, self.s, self.precision = problem, schedule, precision
        self.body = ProgramOp.empty_body()
        self.b = Builder(InsertPoint.at_end(self.body))

    def put(self, op: OpT) -> OpT:
        """Appends an op."""
        return self.b.insert(op)

    def view(self, matrix: Matrix) -> SSAValue:
        """A matrix of the function."""
        return self.put(ViewOp(matrix.buffer, matrix.view)).result

    def write(self) -> None:
        """The whole program."""
        p = self.p
        left, right, result = (self.view(matrix) for matrix in (p.left, p.right, p.result))
        value = self.sum_up(left, right)
        for step in p.epilogue:
            value = self.mapped(step, value)
        self.put(StoreOp(value, result, self.body.args))
        self.put(YieldOp())

    def tile(self, rows: int, columns: int, element: Attribute) -> TensorType[Attribute]:
        """The type of a tile."""
        return TensorType(element, [rows, columns])

    def sum_up(self, left: SSAValue, right: SSAValue) -> SSAValue:
        """The loop over the sum."""
        p, s = self.p, self.s
        batch, m, n = self.body.args
        sums = TensorType(f32, [s.rows, s.columns])
        zero = self.put(arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(sums, [0.0]))).result
        block = Block(arg_types=[IndexType(), sums])
        block.args[0].name_hint = "k"
        outer, self.b = self.b, Builder(InsertPoint.at_end(block))
        k, acc = block.args
        x = self.put(LoadOp(left, [batch, m, k], self.tile(s.rows, s.depth, p.left.element))).result
        y = self.put(LoadOp(right, [batch, k, n], self.tile(s.depth, s.columns, p.right.element))).result
        self.put(LoopYieldOp.get(self.put(DotOp(x, y, acc, self.precision)).result))
        self.b = outer
        return self.put(ForOp.of(0, p.k, block, step=s.depth, inits=[zero])).results[0]

    def mapped(self, step: Step, value: SSAValue) -> SSAValue:
        """What one op of the epilogue makes of the tile."""
        body = step.op.body.block
        output = step.op.outputs[0].type
        assert isinstance(output, MemRefType)
        inputs: list[SSAValue] = []
        taken: list[SSAValue] = []  # the arguments of the body that `inputs` stand for
        scalars: dict[SSAValue, SSAValue] = {}
        for argument, source in zip(body.args[:-1], step.inputs, strict=True):
            if isinstance(source, Matrix):
                inputs.append(self.beside(source))
                taken.append(argument)
            elif source is None:
                inputs.append(value)
                taken.append(argument)
            else:
                scalars[argument] = source
        if step.reads_old:
            inputs.append(value)
            taken.append(body.args[-1])
        region = self.body_of(body, taken, scalars)
        tile = self.tile(self.s.rows, self.s.columns, output.element_type)
        return self.put(MapOp(inputs, tile, Region(region))).result

    def beside(self, matrix: Matrix) -> SSAValue:
        """The part of another matrix that goes with the tile."""
        type_ = self.tile(self.s.rows, self.s.columns, matrix.element)
        return self.put(LoadOp(self.view(matrix), self.body.args, type_)).result

    def body_of(self, body: Block, taken: Sequence[SSAValue], scalars: dict[SSAValue, SSAValue]) -> Block:
        """A copy of an op's body for `cta.map`; scalar constants of the function come inside."""
        block = Block(arg_types=[argument.type for argument in taken])
        values: dict[SSAValue, SSAValue] = dict(zip(taken, block.args, strict=True))
        for old in [value for op in body.ops for value in op.operands]:
            source = scalars.get(old, old)
            owner = source.owner
            if old not in values and isinstance(owner, arith.ConstantOp) and owner.parent is not body:
                copy = owner.clone()
                block.add_op(copy)
                values[old] = copy.results[0]
        for op in list(body.ops)[:-1]:
            block.add_op(op.clone(values))
        last = body.last_op
        assert last is not None
        block.add_op(YieldOp([values.get(value, value) for value in last.operands]))
        return block
