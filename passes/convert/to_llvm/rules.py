"""The rules' table, the types, and the few building blocks that every chapter of the lowering uses."""

from __future__ import annotations

from functools import cache

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    I32,
    BFloat16Type,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ShapedType,
    VectorType,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from ....compiler.conversion import RuleBuilder, Rules
from ....compiler.diagnostics import LaminaError
from ....dialects.amx import TileType
from ....dialects.llvm.instructions import PoisonOp
from ....dialects.llvm.tiles import X86AMXType
from ....dialects.nvgpu import TensorMapType

POINTER = llvm.LLVMPointerType()
CONTRACT = llvm.FastMathAttr([FastMathFlag.ALLOW_CONTRACT])
NO_FLAGS = llvm.FastMathAttr(None)


def llvm_type(type_: Attribute) -> Attribute:
    """index is i64, a memref a bare pointer, a vector one of converted elements, a tile one of AMX."""
    if isinstance(type_, IndexType):
        return i64
    if isinstance(type_, MemRefType):
        space = type_.memory_space
        return llvm.LLVMPointerType(addr_space=IntAttr(space.value.data)) if isinstance(space, IntegerAttr) else POINTER
    if isinstance(type_, TensorMapType):
        return POINTER
    if isinstance(type_, TileType):
        return X86AMXType()
    if isinstance(type_, VectorType) and isinstance(type_.element_type, IndexType):
        return VectorType(i64, type_.get_shape())
    return type_


RULES = Rules("convert-to-llvm", types=llvm_type)


def element_of(type_: Attribute) -> Attribute:
    """The element type of a vector, any other type itself."""
    return type_.element_type if isinstance(type_, VectorType) else type_


def like(type_: Attribute, element: Attribute) -> Attribute:
    """`element`, as a vector of as many lanes as `type_` when that is one."""
    return VectorType(element, type_.get_shape()) if isinstance(type_, VectorType) else element


def memory_type(element: Attribute) -> Attribute:
    """How an element lies in memory: bools take a byte each."""
    if isinstance(element, IndexType):
        return i64
    if isinstance(element, VectorType):
        stored = memory_type(element.element_type)
        return element if stored is element.element_type else VectorType(stored, element.get_shape())
    return i8 if element == i1 else element


def element_bytes(element: Attribute) -> int:
    """Bytes of one element in memory. Raises LaminaError for types without a size."""
    stored = memory_type(element)
    if isinstance(stored, IntegerType):
        return (stored.width.data + 7) // 8
    width = getattr(stored, "bitwidth", None)
    if not isinstance(width, int):
        raise LaminaError(f"type {element} has no size in memory")
    return (width + 7) // 8


def constant(b: RuleBuilder, number: int, type_: Attribute = i64) -> SSAValue:
    """An integer constant, made once where ops of a block share it; of a vector type the number in every lane."""

    def made() -> Operation:
        if isinstance(type_, VectorType):
            return llvm.ConstantOp(DenseIntOrFPElementsAttr.from_list(type_, [number] * type_.get_shape()[0]), type_)
        assert isinstance(type_, IntegerType)
        return llvm.ConstantOp(IntegerAttr(number, type_, truncate_bits=True), type_)

    return b.shared((number, type_), made)


def binary(b: RuleBuilder, op: type[Operation], x: SSAValue, y: SSAValue) -> SSAValue:
    """An op of two operands whose result has their type."""
    return b(op.create(operands=[x, y], result_types=[x.type])).results[0]


def cast(b: RuleBuilder, op: type[Operation], x: SSAValue, type_: Attribute) -> SSAValue:
    """A conversion to `type_`."""
    return b(op.create(operands=[x], result_types=[type_])).results[0]


def compare(b: RuleBuilder, predicate: str, x: SSAValue, y: SSAValue) -> SSAValue:
    """Integer comparison by LLVM's predicate name."""
    number = llvm.ICmpPredicateFlag(predicate).to_int()
    op = llvm.ICmpOp.create(
        operands=[x, y], result_types=[like(x.type, i1)], properties={"predicate": IntegerAttr(number, i64)}
    )
    return b(op).results[0]


def splat(b: RuleBuilder, scalar: SSAValue, type_: Attribute) -> SSAValue:
    """`scalar` in every lane of the vector type."""
    empty = b.shared((PoisonOp, type_), lambda: PoisonOp(type_))
    first = insert_element(b, empty, scalar, constant(b, 0))
    mask: dict[str, Attribute] = {"mask": _first_lane(lanes(type_))}
    return b(llvm.ShuffleVectorOp.create(operands=[first, empty], result_types=[type_], properties=mask)).res


@cache
def _first_lane(count: int) -> DenseArrayBase[I32]:
    return DenseArrayBase.from_list(i32, [0] * count)


def insert_element(b: RuleBuilder, target: SSAValue, value: SSAValue, position: SSAValue) -> SSAValue:
    """`target` with one lane replaced; of bfloat16 as 16 bits: LLVM 22 aborts where AVX-512 has vectors of it."""
    if not isinstance(value.type, BFloat16Type):
        return b(llvm.InsertElementOp.create(operands=[target, value, position], result_types=[target.type])).res
    bits, number = (cast(b, llvm.BitcastOp, v, like(v.type, i16)) for v in (target, value))
    return cast(b, llvm.BitcastOp, b(llvm.InsertElementOp(bits, number, position)).res, target.type)


def lanes(type_: Attribute) -> int:
    """How many lanes a 1-D vector type has."""
    assert isinstance(type_, ShapedType)
    return type_.get_shape()[0]
