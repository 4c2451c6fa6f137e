"""Products of warpgroups, which LLVM has no intrinsics for: inline assembly on as many registers as there are sums."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, f32, i1, i64
from xdsl.dialects.llvm import LLVMStructType
from xdsl.ir import SSAValue
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


class _OnSums(TargetInstruction, ABC):
    """Inline assembly that changes the registers of the sums, however many; other operands stand behind them."""

    arguments = var_operand_def()
    res = result_def(LLVMStructType)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "`(` $arguments `)` attr-dict `:` functional-type($arguments, $res)"

    @property
    def count(self) -> int:
        """How many sums there are."""
        assert isinstance(self.res.type, LLVMStructType)
        return len(self.res.type.types)

    @property
    @abstractmethod
    def template(self) -> str:
        """The instruction: `$0` and on are the sums, `$n` of twice their number and on the other operands."""

    @property
    def callee(self) -> str:
        others = ["l"] * (len(self.arguments) - self.count)
        constraints = [*["=f"] * self.count, *map(str, range(self.count)), *others, "~{memory}"]
        return f'asm sideeffect "{self.template}", "{",".join(constraints)}"'

    @property
    def call_attributes(self) -> tuple[str, ...]:
        return ("convergent",)

    def verify_(self) -> None:
        types = [value.type for value in self.arguments]
        if types != [f32] * self.count + [i64] * (len(types) - self.count):
            raise VerifyException(f"takes {self.count} sums of f32, then descriptors")


def _sums(values: Sequence[SSAValue]) -> LLVMStructType:
    return LLVMStructType.from_type_list([f32] * len(values))


@irdl_op_definition
class WgmmaOp(_OnSums):
    """Begins D = D + A B of 64 rows, two columns a sum and 16 steps. PTX 8.0, sm_90a.

    The operands behind the sums are the matrix descriptors of A and B; `turned` tells of both whether their rows in
    memory are steps of the sum.
    """

    name = "nvvm.wgmma.mma_async"
    kind = prop_def(StringAttr)
    turned = prop_def(DenseArrayBase.constr(i1))

    def __init__(self, sums: Sequence[SSAValue], descriptors: Sequence[SSAValue], kind: str, turned: Sequence[bool]):
        properties = {"kind": StringAttr(kind), "turned": DenseArrayBase.from_list(i1, turned)}
        super().__init__(operands=[[*sums, *descriptors]], result_types=[_sums(sums)], properties=properties)

    @property
    def template(self) -> str:
        n, kind = self.count, self.kind.data
        registers = ", ".join(f"${i}" for i in range(n))
        turned = ", ".join(str(int(bool(flag))) for flag in self.turned.get_values())
        name = f"wgmma.mma_async.sync.aligned.m64n{2 * n}k16.f32.{kind}.{kind}"
        return f"{name} {{{registers}}}, ${2 * n}, ${2 * n + 1}, 1, 1, 1, {turned};"


@irdl_op_definition
class WgmmaFenceOp(_OnSums):
    """The sums, which products may change from now on. PTX 8.0, sm_90a."""

    name = "nvvm.wgmma.fence"

    def __init__(self, sums: Sequence[SSAValue]):
        super().__init__(operands=[sums], result_types=[_sums(sums)])

    @property
    def template(self) -> str:
        return "wgmma.fence.sync.aligned;"


@irdl_op_definition
class WgmmaWaitOp(_OnSums):
    """The sums, once at most `groups` groups of products are under way. PTX 8.0, sm_90a."""

    name = "nvvm.wgmma.wait_group"
    groups = prop_def(IntegerAttr.constr(i64))

    def __init__(self, sums: Sequence[SSAValue], groups: int):
        super().__init__(operands=[sums], result_types=[_sums(sums)], properties={"groups": IntegerAttr(groups, i64)})

    @property
    def template(self) -> str:
        return f"wgmma.wait_group.sync.aligned {self.groups.value.data};"
