"""LLVM intrinsics of MLIR's llvm dialect that xDSL lacks or restricts: `llvm.intr.<name>` calls `@llvm.<name>`."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.dialects.builtin import (
    AnyFloatConstr,
    BoolAttr,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    SignlessIntegerConstraint,
    VectorType,
    i32,
)
from xdsl.dialects.llvm import FastMathAttr, LLVMPointerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    eq,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from .instructions import FloatOrVector, IntOrVector

Value = SSAValue | Operation
_CALL = "`(` operands `)` attr-dict `:` functional-type(operands, results)"
_NO_FLAGS = FastMathAttr(None)
_Mask = VectorType.constr(eq(IntegerType(1)))


class UnaryFloatIntrinsic(IRDLOperation, ABC):
    """`%r = llvm.intr.<name>(%x) : (vector<8xf32>) -> vector<8xf32>`"""

    T: ClassVar = VarConstraint("T", FloatOrVector)
    arg = operand_def(T)
    res = result_def(T)
    fastmathFlags = prop_def(FastMathAttr, default_value=_NO_FLAGS)
    traits = traits_def(Pure())
    assembly_format = _CALL
    irdl_options = (ParsePropInAttrDict(),)

    def __init__(self, arg: Value, fast_math: FastMathAttr = _NO_FLAGS):
        super().__init__(operands=[arg], result_types=[SSAValue.get(arg).type], properties={"fastmathFlags": fast_math})


class BinaryFloatIntrinsic(IRDLOperation, ABC):
    """`%r = llvm.intr.<name>(%a, %b) : (f32, f32) -> f32`"""

    T: ClassVar = VarConstraint("T", FloatOrVector)
    a = operand_def(T)
    b = operand_def(T)
    res = result_def(T)
    fastmathFlags = prop_def(FastMathAttr, default_value=_NO_FLAGS)
    traits = traits_def(Pure())
    assembly_format = _CALL
    irdl_options = (ParsePropInAttrDict(),)

    def __init__(self, a: Value, b: Value, fast_math: FastMathAttr = _NO_FLAGS):
        super().__init__(operands=[a, b], result_types=[SSAValue.get(a).type], properties={"fastmathFlags": fast_math})


class UnaryIntIntrinsic(IRDLOperation, ABC):
    """`%r = llvm.intr.ctpop(%x) : (i32) -> i32`"""

    T: ClassVar = VarConstraint("T", IntOrVector)
    arg = operand_def(T)
    res = result_def(T)
    traits = traits_def(Pure())
    assembly_format = _CALL

    def __init__(self, arg: Value):
        super().__init__(operands=[arg], result_types=[SSAValue.get(arg).type])


class BinaryIntIntrinsic(IRDLOperation, ABC):
    """`%r = llvm.intr.smax(%a, %b) : (i32, i32) -> i32`"""

    T: ClassVar = VarConstraint("T", IntOrVector)
    a = operand_def(T)
    b = operand_def(T)
    res = result_def(T)
    traits = traits_def(Pure())
    assembly_format = _CALL

    def __init__(self, a: Value, b: Value):
        super().__init__(operands=[a, b], result_types=[SSAValue.get(a).type])


class ZeroPoisonIntrinsic(IRDLOperation, ABC):
    """`%r = "llvm.intr.ctlz"(%x) <{is_zero_poison = false}> : (i32) -> i32`"""

    T: ClassVar = VarConstraint("T", IntOrVector)
    arg = operand_def(T)
    res = result_def(T)
    is_zero_poison = prop_def(BoolAttr)
    traits = traits_def(Pure())

    def __init__(self, arg: Value, *, is_zero_poison: bool = False):
        super().__init__(
            operands=[arg],
            result_types=[SSAValue.get(arg).type],
            properties={"is_zero_poison": BoolAttr.from_bool(is_zero_poison)},
        )


class VectorReduceIntIntrinsic(IRDLOperation, ABC):
    """`%r = "llvm.intr.vector.reduce.add"(%v) : (vector<8xi32>) -> i32`"""

    T: ClassVar = VarConstraint("T", SignlessIntegerConstraint)
    vector = operand_def(VectorType.constr(T))
    res = result_def(T)
    traits = traits_def(Pure())

    def __init__(self, vector: Value):
        super().__init__(operands=[vector], result_types=[_element_type(vector)])


class VectorReduceFloatIntrinsic(IRDLOperation, ABC):
    """`%r = llvm.intr.vector.reduce.fmax(%v) : (vector<8xf32>) -> f32`"""

    T: ClassVar = VarConstraint("T", AnyFloatConstr)
    vector = operand_def(VectorType.constr(T))
    res = result_def(T)
    fastmathFlags = prop_def(FastMathAttr, default_value=_NO_FLAGS)
    traits = traits_def(Pure())
    assembly_format = _CALL
    irdl_options = (ParsePropInAttrDict(),)

    def __init__(self, vector: Value, fast_math: FastMathAttr = _NO_FLAGS):
        super().__init__(
            operands=[vector], result_types=[_element_type(vector)], properties={"fastmathFlags": fast_math}
        )


def _element_type(vector: Value) -> Attribute:
    vector_type = SSAValue.get(vector).type
    assert isinstance(vector_type, VectorType)
    return vector_type.element_type


@irdl_op_definition
class TruncOp(UnaryFloatIntrinsic):
    name = "llvm.intr.trunc"


@irdl_op_definition
class RoundOp(UnaryFloatIntrinsic):
    """Halves away from zero."""

    name = "llvm.intr.round"


@irdl_op_definition
class RoundEvenOp(UnaryFloatIntrinsic):
    """Halves to even."""

    name = "llvm.intr.roundeven"


@irdl_op_definition
class RintOp(UnaryFloatIntrinsic):
    name = "llvm.intr.rint"


@irdl_op_definition
class NearbyintOp(UnaryFloatIntrinsic):
    name = "llvm.intr.nearbyint"


@irdl_op_definition
class Log10Op(UnaryFloatIntrinsic):
    name = "llvm.intr.log10"


@irdl_op_definition
class TanhOp(UnaryFloatIntrinsic):
    name = "llvm.intr.tanh"


@irdl_op_definition
class MaximumOp(BinaryFloatIntrinsic):
    """NaN if either is; +0 above -0."""

    name = "llvm.intr.maximum"


@irdl_op_definition
class MinimumOp(BinaryFloatIntrinsic):
    """NaN if either is; -0 below +0."""

    name = "llvm.intr.minimum"


@irdl_op_definition
class CtPopOp(UnaryIntIntrinsic):
    name = "llvm.intr.ctpop"


@irdl_op_definition
class BitReverseOp(UnaryIntIntrinsic):
    name = "llvm.intr.bitreverse"


@irdl_op_definition
class SMaxOp(BinaryIntIntrinsic):
    name = "llvm.intr.smax"


@irdl_op_definition
class SMinOp(BinaryIntIntrinsic):
    name = "llvm.intr.smin"


@irdl_op_definition
class UMaxOp(BinaryIntIntrinsic):
    name = "llvm.intr.umax"


@irdl_op_definition
class UMinOp(BinaryIntIntrinsic):
    name = "llvm.intr.umin"


@irdl_op_definition
class CtLzOp(ZeroPoisonIntrinsic):
    name = "llvm.intr.ctlz"


@irdl_op_definition
class CtTzOp(ZeroPoisonIntrinsic):
    name = "llvm.intr.cttz"


@irdl_op_definition
class AbsOp(IRDLOperation):
    """`%r = "llvm.intr.abs"(%x) <{is_int_min_poison = false}> : (i32) -> i32`"""

    name = "llvm.intr.abs"
    T: ClassVar = VarConstraint("T", IntOrVector)
    arg = operand_def(T)
    res = result_def(T)
    is_int_min_poison = prop_def(BoolAttr)
    traits = traits_def(Pure())

    def __init__(self, arg: Value):
        super().__init__(
            operands=[arg],
            result_types=[SSAValue.get(arg).type],
            properties={"is_int_min_poison": BoolAttr.from_bool(False)},
        )


@irdl_op_definition
class VectorReduceAddOp(VectorReduceIntIntrinsic):
    name = "llvm.intr.vector.reduce.add"


@irdl_op_definition
class VectorReduceMulOp(VectorReduceIntIntrinsic):
    name = "llvm.intr.vector.reduce.mul"


@irdl_op_definition
class VectorReduceAndOp(VectorReduceIntIntrinsic):
    name = "llvm.intr.vector.reduce.and"


@irdl_op_definition
class VectorReduceOrOp(VectorReduceIntIntrinsic):
    name = "llvm.intr.vector.reduce.or"


@irdl_op_definition
class VectorReduceXorOp(VectorReduceIntIntrinsic):
    name = "llvm.intr.vector.reduce.xor"


@irdl_op_definition
class VectorReduceSMaxOp(VectorReduceIntIntrinsic):
    name = "llvm.intr.vector.reduce.smax"


@irdl_op_definition
class VectorReduceSMinOp(VectorReduceIntIntrinsic):
    name = "llvm.intr.vector.reduce.smin"


@irdl_op_definition
class VectorReduceUMaxOp(VectorReduceIntIntrinsic):
    name = "llvm.intr.vector.reduce.umax"


@irdl_op_definition
class VectorReduceUMinOp(VectorReduceIntIntrinsic):
    name = "llvm.intr.vector.reduce.umin"


@irdl_op_definition
class VectorReduceFMaxOp(VectorReduceFloatIntrinsic):
    name = "llvm.intr.vector.reduce.fmax"


@irdl_op_definition
class VectorReduceFMinOp(VectorReduceFloatIntrinsic):
    name = "llvm.intr.vector.reduce.fmin"


@irdl_op_definition
class VectorReduceFMaximumOp(VectorReduceFloatIntrinsic):
    name = "llvm.intr.vector.reduce.fmaximum"


@irdl_op_definition
class VectorReduceFMinimumOp(VectorReduceFloatIntrinsic):
    name = "llvm.intr.vector.reduce.fminimum"


@irdl_op_definition
class MaskedLoadOp(IRDLOperation):
    """Lanes off in the mask read nothing and take `pass_thru`.

    %r = llvm.intr.masked.load %p, %m, %else {alignment = 4 : i32}
         : (!llvm.ptr, vector<8xi1>, vector<8xf32>) -> vector<8xf32>
    """

    name = "llvm.intr.masked.load"
    data = operand_def(LLVMPointerType)
    mask = operand_def(_Mask)
    T: ClassVar = VarConstraint("T", AnyAttr())
    pass_thru = operand_def(T)
    res = result_def(T)
    alignment = prop_def(IntegerAttr)
    assembly_format = "operands attr-dict `:` functional-type(operands, results)"
    irdl_options = (ParsePropInAttrDict(),)

    def __init__(self, data: Value, mask: Value, pass_thru: Value, alignment: int):
        super().__init__(
            operands=[data, mask, pass_thru],
            result_types=[SSAValue.get(pass_thru).type],
            properties={"alignment": IntegerAttr(alignment, i32)},
        )


@irdl_op_definition
class MaskedStoreOp(IRDLOperation):
    """`llvm.intr.masked.store %v, %p, %m {alignment = 4 : i32} : vector<8xf32>, vector<8xi1> into !llvm.ptr`"""

    name = "llvm.intr.masked.store"
    value = operand_def(VectorType)
    data = operand_def(LLVMPointerType)
    mask = operand_def(_Mask)
    alignment = prop_def(IntegerAttr)
    assembly_format = "$value `,` $data `,` $mask attr-dict `:` type($value) `,` type($mask) `into` type($data)"
    irdl_options = (ParsePropInAttrDict(),)

    def __init__(self, value: Value, data: Value, mask: Value, alignment: int):
        super().__init__(operands=[value, data, mask], properties={"alignment": IntegerAttr(alignment, i32)})


@irdl_op_definition
class MaskedGatherOp(IRDLOperation):
    """As masked.load, from a vector of pointers."""

    name = "llvm.intr.masked.gather"
    ptrs = operand_def(VectorType)
    mask = operand_def(_Mask)
    T: ClassVar = VarConstraint("T", AnyAttr())
    pass_thru = operand_def(T)
    res = result_def(T)
    alignment = prop_def(IntegerAttr)
    assembly_format = "operands attr-dict `:` functional-type(operands, results)"
    irdl_options = (ParsePropInAttrDict(),)

    def __init__(self, ptrs: Value, mask: Value, pass_thru: Value, alignment: int):
        super().__init__(
            operands=[ptrs, mask, pass_thru],
            result_types=[SSAValue.get(pass_thru).type],
            properties={"alignment": IntegerAttr(alignment, i32)},
        )


@irdl_op_definition
class MaskedScatterOp(IRDLOperation):
    """As masked.store, to a vector of pointers; of equal pointers the last lane wins."""

    name = "llvm.intr.masked.scatter"
    value = operand_def(VectorType)
    ptrs = operand_def(VectorType)
    mask = operand_def(_Mask)
    alignment = prop_def(IntegerAttr)
    assembly_format = "$value `,` $ptrs `,` $mask attr-dict `:` type($value) `,` type($mask) `into` type($ptrs)"
    irdl_options = (ParsePropInAttrDict(),)

    def __init__(self, value: Value, ptrs: Value, mask: Value, alignment: int):
        super().__init__(operands=[value, ptrs, mask], properties={"alignment": IntegerAttr(alignment, i32)})


class MemCopyIntrinsic(IRDLOperation, ABC):
    """`"llvm.intr.memcpy"(%dst, %src, %bytes) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()`"""

    dst = operand_def(LLVMPointerType)
    src = operand_def(LLVMPointerType)
    len = operand_def(SignlessIntegerConstraint)
    isVolatile = prop_def(BoolAttr)

    def __init__(self, dst: Value, src: Value, length: Value):
        super().__init__(operands=[dst, src, length], properties={"isVolatile": BoolAttr.from_bool(False)})


@irdl_op_definition
class MemcpyOp(MemCopyIntrinsic):
    name = "llvm.intr.memcpy"


@irdl_op_definition
class MemmoveOp(MemCopyIntrinsic):
    name = "llvm.intr.memmove"


@irdl_op_definition
class MemsetOp(IRDLOperation):
    """`"llvm.intr.memset"(%dst, %byte, %bytes) <{isVolatile = false}> : (!llvm.ptr, i8, i64) -> ()`"""

    name = "llvm.intr.memset"
    dst = operand_def(LLVMPointerType)
    val = operand_def(eq(IntegerType(8)))
    len = operand_def(SignlessIntegerConstraint)
    isVolatile = prop_def(BoolAttr)

    def __init__(self, dst: Value, val: Value, length: Value):
        super().__init__(operands=[dst, val, length], properties={"isVolatile": BoolAttr.from_bool(False)})


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """`"llvm.intr.prefetch"(%p) <{cache = 1 : i32, hint = 3 : i32, rw = 0 : i32}> : (!llvm.ptr) -> ()`

    `rw`: 0 read, 1 write. `hint`: 0 no locality to 3 keep in all caches. `cache`: 1 data, 0 instructions.
    """

    name = "llvm.intr.prefetch"
    addr = operand_def(LLVMPointerType)
    rw = prop_def(IntegerAttr)
    hint = prop_def(IntegerAttr)
    cache = prop_def(IntegerAttr)

    def __init__(self, addr: Value, *, write: bool = False, locality: int = 3, data: bool = True):
        super().__init__(
            operands=[addr],
            properties={
                "rw": IntegerAttr(int(write), i32),
                "hint": IntegerAttr(locality, i32),
                "cache": IntegerAttr(int(data), i32),
            },
        )


@irdl_op_definition
class AssumeOp(IRDLOperation):
    """`llvm.intr.assume %c : i1`"""

    name = "llvm.intr.assume"
    cond = operand_def(eq(IntegerType(1)))
    op_bundle_sizes = prop_def(DenseArrayBase.constr(i32), default_value=DenseArrayBase.from_list(i32, ()))
    assembly_format = "$cond attr-dict `:` type($cond)"
    irdl_options = (ParsePropInAttrDict(),)

    def __init__(self, cond: Value):
        super().__init__(operands=[cond])
