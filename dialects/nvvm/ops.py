"""An op class for each row of the table, made when it is first asked for: a kernel needs few of them, a CPU none."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, cast

from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, opt_result_def, traits_def, var_operand_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from ..llvm.target_instruction import TargetInstruction
from .table import ROWS, Row

_ROWS = {f"nvvm.{row.name}": row for row in ROWS}


class NvvmOp(TargetInstruction):
    """`%x = nvvm.read.ptx.sreg.tid.x() : () -> i32`; `row` tells the types and what is called."""

    arguments = var_operand_def()
    res = opt_result_def()
    assembly_format = "`(` $arguments `)` attr-dict `:` functional-type($arguments, $res)"

    def __init__(self, *arguments: SSAValue):
        super().__init__(operands=[arguments], result_types=[self.row.result])

    @property
    def row(self) -> Row:
        """The row of the table that this op was made from."""
        return _ROWS[self.name]

    @property
    def callee(self) -> str:
        return f"@llvm.nvvm.{self.row.call}"

    @property
    def immediates(self) -> tuple[str, ...]:
        return self.row.immediates

    def verify_(self) -> None:
        types = tuple(value.type for value in self.arguments)
        if types != self.row.operands:
            raise VerifyException(f"takes {_told(self.row.operands)}, got {_told(types)}")
        result = self.res.type if self.res is not None else None
        if result != self.row.result:
            raise VerifyException(f"gives {self.row.result}, not {result}")


def _told(types: Sequence[object]) -> str:
    return f"({', '.join(map(str, types))})"


@cache
def op_class(name: str) -> type[NvvmOp]:
    """The class of the ops `nvvm.<name>`."""
    row = _ROWS[f"nvvm.{name}"]
    effects = [Pure()] if row.pure else [MemoryReadEffect(), MemoryWriteEffect()]
    words = "".join(word.capitalize() for word in row.name.replace("_", ".").split("."))
    body: dict[str, Any] = {
        "name": f"nvvm.{row.name}",
        "arguments": var_operand_def(),
        "res": opt_result_def(),
        "traits": traits_def(*effects),
        "assembly_format": NvvmOp.assembly_format,
        "__doc__": f"{row.meaning} PTX {row.ptx // 10}.{row.ptx % 10}, sm_{row.sm}.",
        "__module__": __name__,
    }
    return irdl_op_definition(cast(Any, type(f"{words}Op", (NvvmOp,), body)))


def instruction(name: str, *arguments: SSAValue) -> NvvmOp:
    """The op `nvvm.<name>` on operands."""
    return op_class(name)(*arguments)
