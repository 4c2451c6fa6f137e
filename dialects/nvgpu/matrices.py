"""Products of matrices by warps (`mma.sync`) and by warpgroups of four (`wgmma`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    UnitAttr,
    VectorType,
    bf16,
    f16,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    base,
    eq,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from .asynchronous import verify_shared

KINDS = ("bf16", "f16", "tf32")
LEFT, RIGHT, SUM = VectorType(i32, [4]), VectorType(i32, [2]), VectorType(f32, [4])
_REGISTERS = eq(SUM) | eq(LEFT)
COLUMNS = 8  # of the result for each sum that a thread of a warpgroup has four of
MOST_COLUMNS = 256


def _verify_kind(kind: StringAttr) -> None:
    if kind.data not in KINDS:
        raise VerifyException(f"'{kind.data}' is none of {', '.join(KINDS)}")


def _verify_product(kind: StringAttr, sums: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
    if kind.data not in KINDS[:2]:
        raise VerifyException(f"'{kind.data}' is none of {', '.join(KINDS[:2])}")
    columns = COLUMNS * len(results)
    if not COLUMNS <= columns <= MOST_COLUMNS:
        raise VerifyException(f"{columns} columns, expected {COLUMNS} to {MOST_COLUMNS}")
    if sums and len(sums) != len(results):
        raise VerifyException(f"{len(sums)} sums become {len(results)}")


def _verify_same(registers: Sequence[SSAValue], results: Sequence[SSAValue]) -> None:
    if [value.type for value in registers] != [value.type for value in results]:
        raise VerifyException("gives the registers that it takes")


@irdl_op_definition
class LdMatrixOp(IRDLOperation):
    """Four matrices of 8 rows of 16 bytes from shared memory into the registers of a warp.

    Thread t gives where row t % 8 of matrix t / 8 begins, and gets four bytes of row t / 4 of each. With `transpose`,
    of elements of 16 bits, it gets two neighbours of a column.

    %a = nvgpu.ldmatrix %shared[%i] : memref<8192xi8, 3> -> vector<4xi32>
    """

    name = "nvgpu.ldmatrix"
    source = operand_def(MemRefType)
    at = operand_def(IndexType)
    transpose = opt_prop_def(UnitAttr)
    result = result_def(LEFT)
    traits = traits_def(MemoryReadEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$source `[` $at `]` attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, at: SSAValue, transpose: bool = False):
        properties = {"transpose": UnitAttr()} if transpose else {}
        super().__init__(operands=[source, at], result_types=[LEFT], properties=properties)

    def verify_(self) -> None:
        verify_shared(self.source)


@irdl_op_definition
class MmaSyncOp(IRDLOperation):
    """D = A B + C in a warp: 16 rows, 8 columns, a sum of 16 products (8 of tf32), in the registers of the manual.

    %d = nvgpu.mma.sync %a, %b, %c {kind = "bf16"} : (vector<4xi32>, vector<2xi32>, vector<4xf32>) -> vector<4xf32>
    """

    name = "nvgpu.mma.sync"
    lhs = operand_def(LEFT)
    rhs = operand_def(RIGHT)
    acc = operand_def(SUM)
    kind = prop_def(StringAttr)
    result = result_def(SUM)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$lhs `,` $rhs `,` $acc attr-dict `:` `(` type($lhs) `,` type($rhs) `,` type($acc) `)` `->` type($result)"
    )

    def __init__(self, lhs: SSAValue, rhs: SSAValue, acc: SSAValue, kind: str):
        super().__init__(operands=[lhs, rhs, acc], result_types=[SUM], properties={"kind": StringAttr(kind)})

    def verify_(self) -> None:
        _verify_kind(self.kind)


@irdl_op_definition
class RoundTf32Op(IRDLOperation):
    """Registers that hold f32 rounded to tf32: `%r = nvgpu.round_tf32 %a : vector<4xi32>`."""

    name = "nvgpu.round_tf32"
    T: ClassVar = VarConstraint("T", base(VectorType))
    value = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value], result_types=[value.type])


@irdl_op_definition
class RoundPairOp(IRDLOperation):
    """Two numbers rounded to 16 bits: `%r = nvgpu.round_pair %x : vector<2xf32> to vector<2xbf16>`, one register."""

    name = "nvgpu.round_pair"
    value = operand_def(VectorType(f32, [2]))
    result = result_def(VectorType)
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value) `to` type($result)"

    def __init__(self, value: SSAValue, element: Attribute):
        super().__init__(operands=[value], result_types=[VectorType(element, [2])])

    def verify_(self) -> None:
        if self.result.type not in (VectorType(bf16, [2]), VectorType(f16, [2])):
            raise VerifyException(f"{self.result.type} is no pair of numbers of 16 bits")


@irdl_op_definition
class Exp2Op(IRDLOperation):
    """2 to the power of a number, within 2 ulp, and 0 below 2^-126: `%r = nvgpu.exp2 %x : f32`."""

    name = "nvgpu.exp2"
    value = operand_def(f32)
    result = result_def(f32)
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value], result_types=[f32])


@irdl_op_definition
class MaxRegistersOp(IRDLOperation):
    """Each thread of the warpgroup has so many registers from now on: `nvgpu.set_max_registers {count = 232 : i64}`."""

    name = "nvgpu.set_max_registers"
    count = prop_def(IntegerAttr.constr(i64))
    more = opt_prop_def(UnitAttr)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict"

    def __init__(self, count: int, more: bool):
        properties = {"count": IntegerAttr(count, i64), **({"more": UnitAttr()} if more else {})}
        super().__init__(properties=properties)

    def verify_(self) -> None:
        if not 24 <= self.count.value.data <= 256 or self.count.value.data % 8:
            raise VerifyException("expected a multiple of 8 from 24 to 256")


@irdl_op_definition
class WarpgroupFenceOp(IRDLOperation):
    """Sums, which products that follow may now change, and left operands: nothing else may be written to them between.

    %d = nvgpu.warpgroup.fence %c : (vector<4xf32>) -> vector<4xf32>
    """

    name = "nvgpu.warpgroup.fence"
    registers = var_operand_def(_REGISTERS)
    results_ = var_result_def(_REGISTERS)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$registers attr-dict `:` functional-type($registers, $results_)"

    def __init__(self, registers: Sequence[SSAValue]):
        super().__init__(operands=[registers], result_types=[[value.type for value in registers]])

    def verify_(self) -> None:
        _verify_same(self.registers, self.results_)


@irdl_op_definition
class WarpgroupMmaOp(IRDLOperation):
    """Begins D = A B + C in a warpgroup: 64 rows, eight columns a sum, 16 steps; A and B lie in shared memory.

    Rows of both in memory have 128 bytes, swizzled, and are rows of A and columns of B, or, where `turned` says so (A,
    B), steps of the sum; then parts of 64 rows of A or columns of B are `leading` bytes apart. `offsets` are the bytes
    behind the two places. Without C it is D = A B.

    %d = nvgpu.warpgroup.mma %shared[%a, %b], %c {kind = "bf16", offsets = array<i64: 32, 32>,
        leading = array<i64: 16, 16>, turned = array<i1: false, false>} : memref<65536xi8, 3>, (vector<4xf32>) -> ...
    """

    name = "nvgpu.warpgroup.mma"
    shared = operand_def(MemRefType)
    lhs = operand_def(IndexType)
    rhs = operand_def(IndexType)
    sums = var_operand_def(SUM)
    kind = prop_def(StringAttr)
    offsets = prop_def(DenseArrayBase.constr(i64))
    leading = prop_def(DenseArrayBase.constr(i64))
    turned = prop_def(DenseArrayBase.constr(i1))
    results_ = var_result_def(SUM)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$shared `[` $lhs `,` $rhs `]` (`,` $sums^)? attr-dict `:` type($shared) `,` functional-type($sums, $results_)"
    )

    def __init__(
        self,
        shared: SSAValue,
        places: tuple[SSAValue, SSAValue],
        sums: Sequence[SSAValue],
        *,
        count: int,
        kind: str,
        offsets: Sequence[int],
        leading: Sequence[int],
        turned: Sequence[bool],
    ):
        super().__init__(
            operands=[shared, *places, sums],
            result_types=[[SUM] * count],
            properties={
                "kind": StringAttr(kind),
                "offsets": DenseArrayBase.from_list(i64, offsets),
                "leading": DenseArrayBase.from_list(i64, leading),
                "turned": DenseArrayBase.from_list(i1, turned),
            },
        )

    def verify_(self) -> None:
        verify_shared(self.shared)
        _verify_product(self.kind, self.sums, self.results_)
        if {len(self.offsets), len(self.leading), len(self.turned)} != {2}:
            raise VerifyException("offsets, leading and turned are of A and of B")


@irdl_op_definition
class WarpgroupMmaRegistersOp(IRDLOperation):
    """The same of an A whose rows the threads hold, 16 a warp, as left operands of `nvgpu.mma.sync`.

    %d = nvgpu.warpgroup.mma.registers %a, %shared[%b], %c {kind = "bf16", offset = 2048 : i64, leading = 8192 : i64,
        turned} : memref<65536xi8, 3>, (vector<4xf32>) -> vector<4xf32>
    """

    name = "nvgpu.warpgroup.mma.registers"
    lhs = operand_def(LEFT)
    shared = operand_def(MemRefType)
    rhs = operand_def(IndexType)
    sums = var_operand_def(SUM)
    kind = prop_def(StringAttr)
    offset = prop_def(IntegerAttr.constr(i64))
    leading = prop_def(IntegerAttr.constr(i64))
    turned = opt_prop_def(UnitAttr)
    results_ = var_result_def(SUM)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$lhs `,` $shared `[` $rhs `]` (`,` $sums^)? attr-dict `:` type($shared) `,` functional-type($sums, $results_)"
    )

    def __init__(
        self,
        lhs: SSAValue,
        place: tuple[SSAValue, SSAValue],
        sums: Sequence[SSAValue],
        *,
        count: int,
        kind: str,
        offset: int,
        leading: int,
        turned: bool,
    ):
        properties = {
            "kind": StringAttr(kind),
            "offset": IntegerAttr(offset, i64),
            "leading": IntegerAttr(leading, i64),
            **({"turned": UnitAttr()} if turned else {}),
        }
        super().__init__(operands=[lhs, *place, sums], result_types=[[SUM] * count], properties=properties)

    def verify_(self) -> None:
        verify_shared(self.shared)
        _verify_product(self.kind, self.sums, self.results_)


@irdl_op_definition
class WarpgroupCommitOp(IRDLOperation):
    """The products begun since the last time are one group."""

    name = "nvgpu.warpgroup.commit"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "attr-dict"


@irdl_op_definition
class WarpgroupWaitOp(IRDLOperation):
    """Sums of products, and left operands, once at most `groups` are under way: nothing may change them before.

    %d = nvgpu.warpgroup.wait %c {groups = 0 : i64} : (vector<4xf32>) -> vector<4xf32>
    """

    name = "nvgpu.warpgroup.wait"
    registers = var_operand_def(_REGISTERS)
    groups = prop_def(IntegerAttr.constr(i64))
    results_ = var_result_def(_REGISTERS)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$registers attr-dict `:` functional-type($registers, $results_)"

    def __init__(self, registers: Sequence[SSAValue], groups: int = 0):
        types = [value.type for value in registers]
        super().__init__(operands=[registers], result_types=[types], properties={"groups": IntegerAttr(groups, i64)})

    def verify_(self) -> None:
        _verify_same(self.registers, self.results_)
