"""The ops of `x86`, named as Intel's intrinsics are.

They are printed in the generic form, which the upstream `mlir-opt` reads without knowing the dialect: so it reads what
this level makes of any network with an exponential.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import VectorType, bf16, f32, i32
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, VarConstraint, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

LANES = 16  # of a register of AVX-512, of numbers of 32 bits
TABLES = (8, LANES)  # lanes of a table, a register of AVX2 or AVX-512


def _lanes(value: SSAValue) -> int:
    """The lanes of a vector; 0 where there are none or several dimensions of them."""
    shape = value.type.get_shape() if isinstance(value.type, VectorType) else ()
    return shape[0] if len(shape) == 1 else 0


@irdl_op_definition
class PermuteOp(IRDLOperation):
    """Lane i is table[index[i] mod the table's lanes]: vpermps.

        %t = "x86.permutexvar"(%table, %index) : (vector<16xf32>, vector<64xi32>) -> vector<64xf32>

    C1: the table is one register of f32, of AVX2 or AVX-512; C2: indices are a vector of i32, the result one of as many
    f32.
    """

    name = "x86.permutexvar"
    table = operand_def(VectorType.constr())
    index = operand_def(VectorType.constr())
    result = result_def(VectorType.constr())
    traits = traits_def(Pure())

    def __init__(self, table: SSAValue, index: SSAValue):
        super().__init__(operands=[table, index], result_types=[VectorType(f32, [_lanes(index)])])

    def verify_(self) -> None:
        if self.table.type not in [VectorType(f32, [lanes]) for lanes in TABLES]:
            tables = " or ".join(f"vector<{lanes}xf32>" for lanes in TABLES)
            raise VerifyException(f"a table is {tables}, not {self.table.type} (C1)")
        lanes = _lanes(self.index)
        if not lanes or self.index.type != VectorType(i32, [lanes]) or self.result.type != VectorType(f32, [lanes]):
            raise VerifyException(f"indices {self.index.type} do not choose {self.result.type} (C2)")


@irdl_op_definition
class ScaleOp(IRDLOperation):
    """x[i] · 2^⌊e[i]⌋, rounded once: vscalefps.

        %y = "x86.scalef"(%x, %e) : (vector<64xf32>, vector<64xf32>) -> vector<64xf32>

    C1: vectors of one dimension.
    """

    name = "x86.scalef"
    T: ClassVar = VarConstraint("T", VectorType.constr(f32))
    value = operand_def(T)
    exponent = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())

    def __init__(self, value: SSAValue, exponent: SSAValue):
        super().__init__(operands=[value, exponent], result_types=[value.type])

    def verify_(self) -> None:
        if not _lanes(self.value):
            raise VerifyException(f"{self.value.type} is no vector of one dimension (C1)")


@irdl_op_definition
class ToBFloat16Op(IRDLOperation):
    """Rounded to the nearest bfloat16, to even; subnormal numbers, before and after, become zeros: vcvtneps2bf16.

        %y = "x86.cvtneps_pbh"(%x) : (vector<32xf32>) -> vector<32xbf16>

    C1: vectors of one dimension, of as many lanes.
    """

    name = "x86.cvtneps_pbh"
    value = operand_def(VectorType.constr(f32))
    result = result_def(VectorType.constr(bf16))
    traits = traits_def(Pure())

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value], result_types=[VectorType(bf16, [_lanes(value)])])

    def verify_(self) -> None:
        if not _lanes(self.value) or _lanes(self.value) != _lanes(self.result):
            raise VerifyException(f"{self.value.type} and {self.result.type} are no vectors of as many lanes (C1)")
