"""Products of warpgroups, which LLVM has no intrinsics for: inline assembly on as many registers as there are sums."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, f32, i1, i32, i64
from xdsl.dialects.llvm import LLVMStructType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    ParsePropInAttrDict,
    irdl_op_definition,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from ..llvm.target_instruction import TargetInstruction

HELD = 4  # registers of a thread: 16 steps of its rows of A


class _OnRegisters(TargetInstruction, ABC):
    """Inline assembly that changes registers, however many, f32 or i32; other operands stand behind them.

    What the registers held is an operand of each, but for instructions that begin with nothing.
    """

    arguments = var_operand_def()
    res = result_def(LLVMStructType)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "`(` $arguments `)` attr-dict `:` functional-type($arguments, $res)"

    @property
    def changed(self) -> tuple[Attribute, ...]:
        """The types of the registers."""
        assert isinstance(self.res.type, LLVMStructType)
        return tuple(self.res.type.types)

    @property
    def others(self) -> int:
        """How many operands stand behind the registers."""
        return 0

    @property
    @abstractmethod
    def template(self) -> str:
        """The instruction: `$0` and on are the registers, then come as many operands, then the others."""

    @property
    def callee(self) -> str:
        count, kept = len(self.changed), len(self.arguments) - self.others
        given = [_LETTERS[value.type] for value in self.arguments[kept:]]
        outputs = [f"={_LETTERS[type_]}" for type_ in self.changed]
        constraints = [*outputs, *map(str, range(count if kept else 0)), *given, "~{memory}"]
        return f'asm sideeffect "{self.template}", "{",".join(constraints)}"'

    @property
    def call_attributes(self) -> tuple[str, ...]:
        return ("convergent",)

    def verify_(self) -> None:
        types = tuple(value.type for value in self.arguments)
        kept = types[: len(types) - self.others]
        if (kept and kept != self.changed) or any(type_ not in _LETTERS for type_ in (*types, *self.changed)):
            raise VerifyException(f"takes registers of f32 or i32 as it gives them, and {self.others} operands more")


_LETTERS: dict[Attribute, str] = {f32: "f", i32: "r", i64: "l"}


def _struct(values: Sequence[SSAValue]) -> LLVMStructType:
    return LLVMStructType.from_type_list([value.type for value in values])


@irdl_op_definition
class WgmmaOp(_OnRegisters):
    """Begins D = D + A B, or A B where no sums are given, of 64 rows, two columns a sum and 16 steps. PTX 8.0, sm_90a.

    Behind the sums come A, as a matrix descriptor or as four registers, and the descriptor of B; `turned` tells of
    those that have descriptors whether their rows in memory are steps of the sum.
    """

    name = "nvvm.wgmma.mma_async"
    kind = prop_def(StringAttr)
    turned = prop_def(DenseArrayBase.constr(i1))

    def __init__(
        self, sums: Sequence[SSAValue], factors: Sequence[SSAValue], count: int, kind: str, turned: Sequence[bool]
    ):
        properties = {"kind": StringAttr(kind), "turned": DenseArrayBase.from_list(i1, turned)}
        type_ = LLVMStructType.from_type_list([f32] * count)
        super().__init__(operands=[[*sums, *factors]], result_types=[type_], properties=properties)

    @property
    def others(self) -> int:
        return 2 if len(self.turned) == 2 else 1 + HELD

    @property
    def template(self) -> str:
        n, kind, adds = len(self.changed), self.kind.data, len(self.arguments) > self.others
        registers = ", ".join(f"${i}" for i in range(n))
        first = n + n * adds
        held = ", ".join(f"${first + i}" for i in range(HELD))
        left = f"${first}" if self.others == 2 else f"{{{held}}}"
        turned = ", ".join(str(int(bool(flag))) for flag in self.turned.get_values())
        name = f"wgmma.mma_async.sync.aligned.m64n{2 * n}k16.f32.{kind}.{kind}"
        return f"{name} {{{registers}}}, {left}, ${first + self.others - 1}, {int(adds)}, 1, 1, {turned};"


@irdl_op_definition
class WgmmaFenceOp(_OnRegisters):
    """The registers, which products may read and change from now on. PTX 8.0, sm_90a."""

    name = "nvvm.wgmma.fence"

    def __init__(self, registers: Sequence[SSAValue]):
        super().__init__(operands=[registers], result_types=[_struct(registers)])

    @property
    def template(self) -> str:
        return "wgmma.fence.sync.aligned;"


@irdl_op_definition
class WgmmaWaitOp(_OnRegisters):
    """The registers, once at most `groups` groups of products are under way. PTX 8.0, sm_90a."""

    name = "nvvm.wgmma.wait_group"
    groups = prop_def(IntegerAttr.constr(i64))

    def __init__(self, registers: Sequence[SSAValue], groups: int):
        properties = {"groups": IntegerAttr(groups, i64)}
        super().__init__(operands=[registers], result_types=[_struct(registers)], properties=properties)

    @property
    def template(self) -> str:
        return f"wgmma.wait_group.sync.aligned {self.groups.value.data};"
