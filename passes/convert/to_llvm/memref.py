"""memref to llvm: a memref is a bare pointer to its first element; one getelementptr makes an address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from xdsl.dialects import llvm, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    UnitAttr,
    UnrealizedConversionCastOp,
    VectorType,
    i1,
    i8,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ....compiler.conversion import RuleBuilder
from ....compiler.dtypes import dense_array
from ....dialects.llvm import intrinsics
from ....dialects.llvm.addressing import INBOUNDS, GEPOp
from ....dialects.llvm.intrinsics import MemcpyOp
from ....dialects.memref import PrefetchOp
from .rules import (
    POINTER,
    RULES,
    binary,
    cast,
    compare,
    constant,
    element_bytes,
    element_of,
    like,
    llvm_type,
    memory_type,
)


def memref_type(value: SSAValue, b: RuleBuilder) -> MemRefType:
    """The type of a memref operand as the source op has it."""
    if not isinstance(value.type, MemRefType):
        raise b.fail(f"expected a memref operand, got {value.type}")
    return value.type


def strides_of(type_: MemRefType, b: RuleBuilder) -> list[int]:
    """Elements between neighbours along each dimension. Raises LaminaError where they are not known."""
    if isinstance(type_.layout, NoneAttr):
        strides: list[int] = []
        step = 1
        for size in reversed(type_.get_shape()):
            strides.append(step)
            step *= size
        if DYNAMIC_INDEX in type_.get_shape()[1:]:
            raise b.fail(f"dynamic sizes in {type_}")
        return strides[::-1]
    strides_ = type_.get_strides()
    if strides_ is None or any(stride is None for stride in strides_):
        raise b.fail(f"the strides of {type_} are not constants")
    return [stride for stride in strides_ if stride is not None]


def is_identity(type_: MemRefType) -> bool:
    """Whether elements lie one after another in row-major order."""
    return isinstance(type_.layout, NoneAttr)


def address(
    b: RuleBuilder, pointer: SSAValue, type_: MemRefType, indices: Sequence[SSAValue], *, inbounds: bool = True
) -> SSAValue:
    """The address of an element. Masked accesses may start outside the buffer: `inbounds=False`."""
    if not indices:
        return pointer
    flags = INBOUNDS if inbounds else 0
    element: Attribute = memory_type(type_.element_type)
    if is_identity(type_):
        for size in reversed(type_.get_shape()[1:]):
            if size == DYNAMIC_INDEX:
                raise b.fail(f"dynamic sizes in {type_}")
            element = llvm.LLVMArrayType(size, element)
        return b(GEPOp(pointer, indices, element, flags=flags)).res
    return b(GEPOp(pointer, [_linear(b, indices, strides_of(type_, b))], element, flags=flags)).res


def _linear(b: RuleBuilder, indices: Sequence[SSAValue], strides: Sequence[int]) -> SSAValue:
    total: SSAValue | None = None
    for index, stride in zip(indices, strides, strict=True):
        term = index if stride == 1 else binary(b, llvm.MulOp, index, constant(b, stride))
        total = term if total is None else binary(b, llvm.AddOp, total, term)
    return constant(b, 0) if total is None else total


def load(b: RuleBuilder, pointer: SSAValue, type_: Attribute, alignment: int = 0) -> SSAValue:
    """A value of `type_` (scalar or vector) from memory aligned to so many bytes, or to its element."""
    stored = memory_type(type_)
    alignment = alignment or element_bytes(element_of(type_))
    op = llvm.LoadOp.create(operands=[pointer], result_types=[stored], properties=dict(_access(alignment)))
    return from_memory(b, b(op).results[0], type_)


@cache
def _access(alignment: int) -> Mapping[str, Attribute]:
    return {"ordering": IntegerAttr(0, i64), "alignment": IntegerAttr(alignment, i64)}


def from_memory(b: RuleBuilder, value: SSAValue, type_: Attribute) -> SSAValue:
    """A bool is a byte in memory."""
    if element_of(type_) == i1:
        return compare(b, "ne", value, constant(b, 0, value.type))
    return value


def to_memory(b: RuleBuilder, value: SSAValue) -> SSAValue:
    """The form of `value` that is stored."""
    return cast(b, llvm.ZExtOp, value, like(value.type, i8)) if element_of(value.type) == i1 else value


def store(b: RuleBuilder, value: SSAValue, pointer: SSAValue, *, alignment: int = 0, past_caches: bool = False) -> None:
    """Stores a scalar or vector to memory aligned to so many bytes, or to its element; its lines into caches or not."""
    alignment = alignment or element_bytes(element_of(value.type))
    op = llvm.StoreOp.create(operands=[to_memory(b, value), pointer], properties=dict(_access(alignment)))
    if past_caches:
        op.properties["nontemporal"] = UnitAttr()
    b(op)


@RULES.lowers(memref.LoadOp)
def lower_load(op: memref.LoadOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    pointer, *indices = operands
    type_ = memref_type(op.memref, b)
    return load(b, address(b, pointer, type_, indices), llvm_type(type_.element_type))


@RULES.lowers(memref.StoreOp)
def lower_store(op: memref.StoreOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    value, pointer, *indices = operands
    store(b, value, address(b, pointer, memref_type(op.memref, b), indices))


@RULES.lowers(PrefetchOp)
def lower_prefetch(op: PrefetchOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    pointer, *indices = operands
    place = address(b, pointer, memref_type(op.memref, b), indices, inbounds=False)  # it may be behind the end
    b(
        intrinsics.PrefetchOp(
            place, write=bool(op.isWrite), locality=op.localityHint.value.data, data=bool(op.isDataCache)
        )
    )


@RULES.lowers(memref.AllocaOp)
def lower_alloca(op: memref.AllocaOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    """Stack space is taken once, at the function's entry, also for an alloca inside a loop."""
    type_ = op.memref.type
    assert isinstance(type_, MemRefType)
    if operands or not type_.has_static_shape():
        raise b.fail("stack space must have a static size")
    count = 1
    for size in type_.get_shape():
        count *= size
    element = memory_type(type_.element_type)
    alignment = max(op.alignment.value.data if op.alignment else 0, 64)
    block = op.parent_block()
    region = block.parent if block is not None else None
    assert region is not None
    number = llvm.ConstantOp(IntegerAttr(1, i64), i64)
    new = llvm.AllocaOp(number.result, llvm.LLVMArrayType(count, element), alignment=alignment)
    for made in (number, new):
        made.location = op.location
    Rewriter.insert_op([number, new], InsertPoint.at_start(region.blocks[0]))
    return new.res


@RULES.lowers(memref.AllocOp, memref.DeallocOp)
def refuse_heap(op: Operation, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    raise b.fail("generated code does not allocate", "bufferize and plan-arena place every buffer")


@RULES.lowers(memref.ViewOp)
def lower_view(op: memref.ViewOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    pointer, shift, *sizes = operands
    if sizes:
        raise b.fail("a view of dynamic size")
    return b(GEPOp(pointer, [shift], i8, flags=INBOUNDS)).res


@RULES.lowers(memref.CollapseShapeOp, memref.ExpandShapeOp, memref.CastOp)
def lower_reshape(op: Operation, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    types = (op.operands[0].type, op.results[0].type)
    if not all(isinstance(t, MemRefType) and (isinstance(op, memref.CastOp) or is_identity(t)) for t in types):
        raise b.fail("reshaping a memref with gaps between its elements")
    return operands[0]


@RULES.lowers(memref.SubviewOp)
def lower_subview(op: memref.SubviewOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    type_ = memref_type(op.source, b)
    dynamic = iter(operands[1:])
    offsets = [
        next(dynamic) if offset == DYNAMIC_INDEX else constant(b, int(offset))
        for offset in op.static_offsets.iter_values()
    ]
    element = memory_type(type_.element_type)
    linear = _linear(b, offsets, strides_of(type_, b))
    return b(GEPOp(operands[0], [linear], element, flags=INBOUNDS)).res


@RULES.lowers(memref.ReinterpretCastOp)
def lower_reinterpret_cast(op: memref.ReinterpretCastOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    type_ = memref_type(op.source, b)
    if not is_identity(type_):
        raise b.fail("reinterpret_cast of a memref that has a layout")
    (static,) = op.static_offsets.iter_values()
    offset = operands[1] if static == DYNAMIC_INDEX else constant(b, int(static))
    return b(GEPOp(operands[0], [offset], memory_type(type_.element_type), flags=INBOUNDS)).res


@RULES.lowers(memref.AssumeAlignmentOp)
def lower_assume_alignment(op: Operation, operands: Sequence[SSAValue], b: RuleBuilder) -> Sequence[SSAValue]:
    return operands[: len(op.results)]


@RULES.lowers(memref.ExtractAlignedPointerAsIndexOp)
def lower_pointer(op: Operation, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return cast(b, llvm.PtrToIntOp, operands[0], i64)


@RULES.lowers(memref.DimOp)
def lower_dim(op: memref.DimOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    type_ = memref_type(op.source, b)
    owner = op.index.owner
    value = owner.properties.get("value") if isinstance(owner, Operation) else None
    if not isinstance(value, IntegerAttr) or type_.get_shape()[value.value.data] == DYNAMIC_INDEX:
        raise b.fail("a dimension that is not a constant")
    return constant(b, type_.get_shape()[value.value.data])


@RULES.lowers(memref.CopyOp)
def lower_copy(op: memref.CopyOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    types = [memref_type(value, b) for value in (op.source, op.destination)]
    if not all(is_identity(type_) and type_.has_static_shape() for type_ in types):
        raise b.fail("copying a memref with gaps between its elements")
    count = element_bytes(types[0].element_type)
    for size in types[0].get_shape():
        count *= size
    b(MemcpyOp(operands[1], operands[0], constant(b, count)))


@RULES.lowers(memref.GlobalOp)
def lower_global(op: memref.GlobalOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    type_ = op.properties["type"]
    assert isinstance(type_, MemRefType)
    count = 1
    for size in type_.get_shape():
        count *= size
    array = llvm.LLVMArrayType(count, memory_type(type_.element_type))
    value = op.initial_value
    if not isinstance(value, DenseIntOrFPElementsAttr):
        raise b.fail("a global without its values in the IR", "constants live in the constants section")
    if type_.element_type == i1:
        value = DenseIntOrFPElementsAttr.from_list(VectorType(i8, [count]), dense_array(value).ravel().tolist())
    b(llvm.GlobalOp(array, op.sym_name, "internal", constant=True, value=value, alignment=64))


@RULES.lowers(memref.GetGlobalOp)
def lower_get_global(op: memref.GetGlobalOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return b(llvm.AddressOfOp(op.name_.string_value(), POINTER)).result


@RULES.lowers(UnrealizedConversionCastOp)
def lower_cast(op: UnrealizedConversionCastOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Sequence[SSAValue]:
    wanted = [llvm_type(result.type) for result in op.results]
    if [value.type for value in operands] != wanted:
        raise b.fail("a cast between types that do not become one")
    return operands
