"""Ops of MLIR's `vector` that xDSL lacks (or, for `vector.reduction`, builds with the wrong result type)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import (
    AnyFloatConstr,
    DenseArrayBase,
    IndexType,
    IntegerType,
    MemRefType,
    VectorBaseTypeAndRankConstraint,
    VectorRankConstraint,
    VectorType,
    i1,
    i64,
)
from xdsl.dialects.vector import CombiningKindAttr, CombiningKindFlag
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

INDICES = VectorType.constr(base(IntegerType) | base(IndexType))
MASK = VectorBaseTypeAndRankConstraint(i1, 1)


def _vector(value: SSAValue) -> VectorType:
    assert isinstance(value.type, VectorType)
    return value.type


@irdl_op_definition
class StepOp(IRDLOperation):
    """The numbers from 0 to the length less one.

    %0 = vector.step : vector<4xindex>  // [0, 1, 2, 3]
    """

    name = "vector.step"
    result = result_def(VectorType.constr(base(IndexType)))
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, lanes: int):
        super().__init__(result_types=[VectorType(IndexType(), [lanes])])


@irdl_op_definition
class ConstantMaskOp(IRDLOperation):
    """A mask whose first lanes are set, their number known at compile time.

    %0 = vector.constant_mask [3] : vector<8xi1>
    """

    name = "vector.constant_mask"
    mask_dim_sizes = prop_def(DenseArrayBase.constr(i64))
    result = result_def(MASK)
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$mask_dim_sizes attr-dict `:` type($result)"

    def __init__(self, size: int, lanes: int):
        super().__init__(
            properties={"mask_dim_sizes": DenseArrayBase.from_list(i64, [size])},
            result_types=[VectorType(i1, [lanes])],
        )

    def verify_(self) -> None:
        sizes = self.mask_dim_sizes.get_values()
        (lanes,) = _vector(self.result).get_shape()
        if len(sizes) != 1 or not 0 <= sizes[0] <= lanes:
            raise VerifyException(f"mask sizes {list(sizes)} do not fit a vector of {lanes} lanes")


def _verify_access(base_type: MemRefType, rank: int, vector: VectorType, *others: SSAValue) -> None:
    if base_type.element_type != vector.element_type:
        raise VerifyException(f"base of {base_type.element_type} and vector of {vector.element_type} differ")
    if base_type.get_num_dims() != rank:
        raise VerifyException(f"base of rank {base_type.get_num_dims()} needs as many offsets, got {rank}")
    for other in others:
        if _vector(other).get_shape() != vector.get_shape():
            raise VerifyException(f"{other.type} and {vector} differ in shape")


@irdl_op_definition
class GatherOp(IRDLOperation):
    """Loads one element per lane, from base[offsets] plus its index; lanes masked off keep `pass_thru`.

    %0 = vector.gather %base[%i] [%v], %mask, %old
        : memref<64xf32>, vector<8xi32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
    """

    name = "vector.gather"
    base = operand_def(MemRefType)
    offsets = var_operand_def(IndexType)
    indices = operand_def(INDICES)
    mask = operand_def(MASK)
    pass_thru = operand_def(VectorRankConstraint(1))
    result = result_def(VectorRankConstraint(1))
    traits = traits_def(MemoryReadEffect())
    assembly_format = (
        "$base `[` $offsets `]` `[` $indices `]` `,` $mask `,` $pass_thru attr-dict"
        " `:` type($base) `,` type($indices) `,` type($mask) `,` type($pass_thru) `into` type($result)"
    )

    def __init__(
        self,
        memref: SSAValue,
        offsets: Sequence[SSAValue],
        indices: SSAValue,
        mask: SSAValue,
        pass_thru: SSAValue,
    ):
        super().__init__(operands=[memref, offsets, indices, mask, pass_thru], result_types=[pass_thru.type])

    def verify_(self) -> None:
        assert isinstance(self.base.type, MemRefType)
        if self.pass_thru.type != self.result.type:
            raise VerifyException(f"pass_thru {self.pass_thru.type} and result {self.result.type} differ")
        _verify_access(self.base.type, len(self.offsets), _vector(self.result), self.indices, self.mask)


@irdl_op_definition
class ScatterOp(IRDLOperation):
    """Stores one element per set lane, to base[offsets] plus the lane's index.

    vector.scatter %base[%i] [%v], %mask, %value
        : memref<64xf32>, vector<8xi32>, vector<8xi1>, vector<8xf32>
    """

    name = "vector.scatter"
    base = operand_def(MemRefType)
    offsets = var_operand_def(IndexType)
    indices = operand_def(INDICES)
    mask = operand_def(MASK)
    value_to_store = operand_def(VectorRankConstraint(1))
    traits = traits_def(MemoryWriteEffect())
    assembly_format = (
        "$base `[` $offsets `]` `[` $indices `]` `,` $mask `,` $value_to_store attr-dict"
        " `:` type($base) `,` type($indices) `,` type($mask) `,` type($value_to_store)"
    )

    def __init__(
        self,
        memref: SSAValue,
        offsets: Sequence[SSAValue],
        indices: SSAValue,
        mask: SSAValue,
        value: SSAValue,
    ):
        super().__init__(operands=[memref, offsets, indices, mask, value])

    def verify_(self) -> None:
        assert isinstance(self.base.type, MemRefType)
        value = _vector(self.value_to_store)
        _verify_access(self.base.type, len(self.offsets), value, self.indices, self.mask)


@irdl_op_definition
class ReductionOp(IRDLOperation):
    """All lanes combined into one scalar, in any order where `fastmath<reassoc>` allows it.

    %0 = vector.reduction <add>, %v, %acc fastmath<reassoc> : vector<8xf32> into f32
    """

    name = "vector.reduction"
    T: ClassVar = VarConstraint("T", base(IntegerType) | base(IndexType) | AnyFloatConstr)
    vector = operand_def(VectorType.constr(T))
    acc = opt_operand_def(T)
    dest = result_def(T)
    kind = prop_def(CombiningKindAttr)
    fastmath = prop_def(FastMathFlagsAttr, default_value=FastMathFlagsAttr("none"))
    traits = traits_def(Pure())
    assembly_format = (
        "$kind `,` $vector (`,` $acc^)? (`fastmath` `` $fastmath^)? attr-dict `:` type($vector) `into` type($dest)"
    )

    def __init__(
        self,
        vector: SSAValue | Operation,
        kind: CombiningKindFlag,
        acc: SSAValue | None = None,
        fastmath: FastMathFlagsAttr | None = None,
    ):
        vector = SSAValue.get(vector)
        super().__init__(
            operands=[vector, acc],
            result_types=[_vector(vector).element_type],
            properties={"kind": CombiningKindAttr(kind), "fastmath": fastmath},
        )
