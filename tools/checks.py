"""`check.*` ops of a program: taken out before compiling, judged on the values that the compiled program returns.

Machine code computes tensors; whether they are as expected is decided on the host by the check's own semantics, so
that one program tests every target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType
from xdsl.ir import Operation, SSAValue

from ..compiler.diagnostics import LaminaError
from ..compiler.dtypes import dense_attribute
from ..compiler.interpreter import Interpreter
from ..compiler.places import describe_place
from ..compiler.program import Program, main_function
from ..compiler.signature import Array
from ..dialects.stablehlo import ConstantOp
from ..dialects.stablehlo.check import is_check


@dataclass
class Checks:
    """A program without its checks, which returns their operands after its own outputs."""

    program: Program
    checks: list[tuple[Operation, list[int]]]  # the detached op, and which extra outputs are its operands
    extra: int

    @staticmethod
    def extract(program: Program) -> Checks:
        """Takes the checks out of `@main`; `program` itself stays as it is.

        Raises LaminaError for a call of a check that is none (`is_check`).
        """
        if not any(is_check(op) for op in program.module.walk()):
            return Checks(program, [], 0)
        taken = program.clone()
        main = main_function(taken.module)
        block = main.regions[0].block
        terminator = block.last_op
        assert terminator is not None
        values: dict[SSAValue, int] = {}
        checks: list[tuple[Operation, list[int]]] = []
        for op in [op for op in block.ops if is_check(op)]:
            checks.append((op, [values.setdefault(operand, len(values)) for operand in op.operands]))
            for result in op.results:
                result.replace_all_uses_with(_true_before(op))
            op.detach()
        terminator.operands = [*terminator.operands, *values]
        type_ = main.properties["function_type"]
        assert isinstance(type_, FunctionType)
        outputs = [*type_.outputs, *(value.type for value in values)]
        main.properties["function_type"] = FunctionType.from_lists(list(type_.inputs), outputs)
        results = main.properties.get("res_attrs")
        if isinstance(results, ArrayAttr):
            main.properties["res_attrs"] = ArrayAttr([*results.data, *(DictionaryAttr({}) for _ in values)])
        return Checks(taken, checks, len(values))

    def failures(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> list[str]:
        """What each failed check says; empty when all hold."""
        extra = list(outputs)[len(outputs) - self.extra :]
        said: list[str] = []
        for op, operands in self.checks:
            try:
                Interpreter(self.program.context).evaluate(op, [extra[i] for i in operands])
            except LaminaError as error:
                said.append(f"{describe_place(op)}: {error.message}")
        return said


def _true_before(op: Operation) -> SSAValue:
    """What a call of a check gives: that it fails is said apart."""
    true = ConstantOp(dense_attribute(np.array(True)))
    block = op.parent
    assert block is not None
    block.insert_op_before(true, op)
    return true.results[0]
