"""vector to llvm: 1-D vectors of any power-of-two length; LLVM splits them into registers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    BFloat16Type,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    VectorType,
    f32,
    i32,
    i64,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation, SSAValue

from ....compiler.conversion import RuleBuilder
from ....dialects.llvm import intrinsics as intr
from ....dialects.llvm.addressing import GEPOp
from ....dialects.llvm.instructions import ExtractElementOp
from ....dialects.vector import ConstantMaskOp, GatherOp, ReductionOp, ScatterOp, StepOp
from .arith import chosen, extend_bf16, float_op, truncate_to_bf16
from .memref import address, from_memory, load, memref_type, store, to_memory
from .rules import (
    NO_FLAGS,
    RULES,
    binary,
    cast,
    compare,
    constant,
    element_bytes,
    element_of,
    insert_element,
    lanes,
    like,
    llvm_type,
    memory_type,
    splat,
)


def _check_rank(type_: object, b: RuleBuilder) -> None:
    if isinstance(type_, VectorType) and type_.get_num_dims() != 1:
        raise b.fail(f"{type_} has not one dimension")


@RULES.lowers(vector.LoadOp)
def lower_load(op: vector.LoadOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    _check_rank(op.result.type, b)
    pointer, *indices = operands
    where = address(b, pointer, memref_type(op.base, b), indices)
    return load(b, where, llvm_type(op.result.type), _told_alignment(op))


@RULES.lowers(vector.StoreOp)
def lower_store(op: vector.StoreOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    _check_rank(op.vector.type, b)
    value, pointer, *indices = operands
    where = address(b, pointer, memref_type(op.base, b), indices)
    streams = bool(op.nontemporal.value.data) if op.nontemporal else False
    store(b, value, where, alignment=_told_alignment(op), past_caches=streams)


def _told_alignment(op: Operation) -> int:
    """The bytes that an access says it is aligned to; 0 where it does not say."""
    alignment = op.attributes.get("alignment")
    return alignment.value.data if isinstance(alignment, IntegerAttr) else 0


@RULES.lowers(vector.MaskedLoadOp)
def lower_masked_load(op: vector.MaskedLoadOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    pointer, *indices = operands[:-2]
    mask, otherwise = operands[-2:]
    where = address(b, pointer, memref_type(op.base, b), indices, inbounds=False)
    return _masked_load(b, where, mask, otherwise)


def _masked_load(b: RuleBuilder, where: SSAValue, mask: SSAValue, otherwise: SSAValue) -> SSAValue:
    element = element_of(otherwise.type)
    loaded = b(intr.MaskedLoadOp(where, mask, to_memory(b, otherwise), element_bytes(element))).res
    return from_memory(b, loaded, otherwise.type)


@RULES.lowers(vector.MaskedStoreOp)
def lower_masked_store(op: vector.MaskedStoreOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    pointer, *indices = operands[:-2]
    mask, value = operands[-2:]
    where = address(b, pointer, memref_type(op.base, b), indices, inbounds=False)
    b(intr.MaskedStoreOp(to_memory(b, value), where, mask, element_bytes(element_of(value.type))))


def _element_pointers(b: RuleBuilder, operands: Sequence[SSAValue], type_: MemRefType, indices: SSAValue) -> SSAValue:
    pointer, *offsets = operands
    start = address(b, pointer, type_, offsets, inbounds=False)
    return b(GEPOp(start, [indices], memory_type(type_.element_type))).res


@RULES.lowers(GatherOp)
def lower_gather(op: GatherOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    *base, indices, mask, otherwise = operands
    pointers = _element_pointers(b, base, memref_type(op.base, b), indices)
    element = element_of(otherwise.type)
    loaded = b(intr.MaskedGatherOp(pointers, mask, to_memory(b, otherwise), element_bytes(element))).res
    return from_memory(b, loaded, otherwise.type)


@RULES.lowers(ScatterOp)
def lower_scatter(op: ScatterOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    *base, indices, mask, value = operands
    pointers = _element_pointers(b, base, memref_type(op.base, b), indices)
    b(intr.MaskedScatterOp(to_memory(b, value), pointers, mask, element_bytes(element_of(value.type))))


@RULES.lowers(vector.BroadcastOp)
def lower_broadcast(op: vector.BroadcastOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    type_ = llvm_type(op.vector.type)
    _check_rank(type_, b)
    source = operands[0]
    if isinstance(source.type, VectorType):
        if source.type == type_:
            return source
        source = b(ExtractElementOp(source, constant(b, 0))).res  # from one lane
    return splat(b, source, type_)


@RULES.lowers(vector.FMAOp)
def lower_fma(op: vector.FMAOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return float_op(b, llvm.FMAOp, operands, NO_FLAGS)


_INT_REDUCTIONS: dict[str, type[Operation]] = {
    "add": intr.VectorReduceAddOp,
    "mul": intr.VectorReduceMulOp,
    "and": intr.VectorReduceAndOp,
    "or": intr.VectorReduceOrOp,
    "xor": intr.VectorReduceXorOp,
    "minsi": intr.VectorReduceSMinOp,
    "maxsi": intr.VectorReduceSMaxOp,
    "minui": intr.VectorReduceUMinOp,
    "maxui": intr.VectorReduceUMaxOp,
}
_FLOAT_REDUCTIONS: dict[str, type[Operation]] = {
    "minimumf": intr.VectorReduceFMinimumOp,
    "maximumf": intr.VectorReduceFMaximumOp,
    "minnumf": intr.VectorReduceFMinOp,
    "maxnumf": intr.VectorReduceFMaxOp,
}
_COMBINE: dict[str, type[Operation]] = {
    "add": llvm.AddOp,
    "mul": llvm.MulOp,
    "and": llvm.AndOp,
    "or": llvm.OrOp,
    "xor": llvm.XOrOp,
    "minsi": intr.SMinOp,
    "maxsi": intr.SMaxOp,
    "minui": intr.UMinOp,
    "maxui": intr.UMaxOp,
    "minimumf": intr.MinimumOp,
    "maximumf": intr.MaximumOp,
    "minnumf": llvm.VectorFMinOp,
    "maxnumf": llvm.VectorFMaxOp,
}


@RULES.lowers(ReductionOp, vector.ReductionOp)
def lower_reduction(op: ReductionOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    kind = op.kind.data.value
    value, *rest = operands
    element = element_of(value.type)
    narrow = isinstance(element, BFloat16Type)
    if narrow:
        value, *rest = (extend_bf16(b, v, like(v.type, f32)) for v in operands)
    result_type = element_of(value.type)
    flags = NO_FLAGS
    if op.fastmath.data:
        flags = llvm.FastMathAttr(op.fastmath.data)
    if kind in ("maximumf", "minimumf") and FastMathFlag.NO_NANS in flags.data:
        result = _halved(b, _COMBINE[kind], value)
        result = chosen(b, _COMBINE[kind], rest[0], result) if rest else result
    elif isinstance(result_type, AnyFloat) and kind in ("add", "mul"):
        start = rest[0] if rest else _neutral(b, kind, result_type)
        reduce = llvm.VectorReduceFAddOp if kind == "add" else llvm.VectorReduceFMulOp
        result = b(reduce(start, value, flags)).res
    else:
        table = _FLOAT_REDUCTIONS if isinstance(result_type, AnyFloat) else _INT_REDUCTIONS
        if kind not in table:
            raise b.fail(f"no reduction '{kind}' of {result_type}")
        new = table[kind].create(operands=[value], result_types=[result_type])
        if isinstance(result_type, AnyFloat):
            new.properties["fastmathFlags"] = flags
        result = b(new).results[0]
        if rest:
            result = binary(b, _COMBINE[kind], rest[0], result)
    return truncate_to_bf16(b, result, element) if narrow else result


def _halved(b: RuleBuilder, combine: type[Operation], value: SSAValue) -> SSAValue:
    """The largest or smallest of all lanes, none of which is taken to be NaN: halves against each other."""
    while (count := lanes(value.type)) > 1:
        low, high = (shuffle(b, value, value, list(range(at, at + count // 2))) for at in (0, count // 2))
        value = chosen(b, combine, low, high)
    return b(ExtractElementOp(value, constant(b, 0))).res


def _neutral(b: RuleBuilder, kind: str, type_: AnyFloat) -> SSAValue:
    return b(llvm.ConstantOp(FloatAttr(-0.0 if kind == "add" else 1.0, type_), type_)).result


def first_lanes(b: RuleBuilder, count: SSAValue, length: int) -> SSAValue:
    """A mask whose first `count` lanes are on; the comparison is done in 32 bits, half as wide as an index."""
    type_ = VectorType(i32, [length])
    at_least = binary(b, intr.SMaxOp, count, constant(b, 0))
    limited = binary(b, intr.SMinOp, at_least, constant(b, length))
    numbers = b(llvm.ConstantOp(DenseIntOrFPElementsAttr.from_list(type_, list(range(length))), type_)).result
    return compare(b, "slt", numbers, splat(b, cast(b, llvm.TruncOp, limited, i32), type_))


@RULES.lowers(vector.CreateMaskOp)
def lower_create_mask(op: vector.CreateMaskOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    _check_rank(op.mask_vector.type, b)
    return first_lanes(b, operands[0], lanes(op.mask_vector.type))


@RULES.lowers(ConstantMaskOp)
def lower_constant_mask(op: ConstantMaskOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    type_ = op.result.type
    assert isinstance(type_, VectorType)
    _check_rank(type_, b)
    (count,) = op.mask_dim_sizes.iter_values()
    bits = [int(lane < count) for lane in range(lanes(type_))]
    return b(llvm.ConstantOp(DenseIntOrFPElementsAttr.from_list(type_, bits), type_)).result


@RULES.lowers(StepOp)
def lower_step(op: StepOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    type_ = VectorType(i64, [lanes(op.result.type)])
    return b(llvm.ConstantOp(DenseIntOrFPElementsAttr.from_list(type_, list(range(lanes(type_)))), type_)).result


def _position(op: vector.ExtractOp | vector.InsertOp, dynamic: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    positions = list(op.static_position.iter_values())
    if len(positions) != 1:
        raise b.fail("only single elements of 1-D vectors are supported here")
    return dynamic[0] if dynamic else constant(b, int(positions[0]))


@RULES.lowers(vector.ExtractOp)
def lower_extract(op: vector.ExtractOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return b(ExtractElementOp(operands[0], _position(op, operands[1:], b))).res


@RULES.lowers(vector.InsertOp)
def lower_insert(op: vector.InsertOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    source, target, *dynamic = operands
    return insert_element(b, target, source, _position(op, dynamic, b))


@RULES.lowers(vector.ShuffleOp)
def lower_shuffle(op: vector.ShuffleOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    left, right = operands
    mask = [int(i) for i in op.mask.iter_values()]
    lengths = lanes(left.type), lanes(right.type)
    if lengths[0] != lengths[1]:
        left, right = (_widened(b, value, max(lengths)) for value in (left, right))
        mask = [i if i < lengths[0] else i - lengths[0] + max(lengths) for i in mask]
    return shuffle(b, left, right, mask)


def shuffle(b: RuleBuilder, left: SSAValue, right: SSAValue, mask: Sequence[int]) -> SSAValue:
    """Lanes of two vectors of one type by number, those of the right one behind those of the left one; -1 is any."""
    type_ = VectorType(element_of(left.type), [len(mask)])
    return b(llvm.ShuffleVectorOp(left, right, DenseArrayBase.from_list(i32, mask), type_)).res


def _widened(b: RuleBuilder, value: SSAValue, length: int) -> SSAValue:
    count = lanes(value.type)
    if count == length:
        return value
    return shuffle(b, value, value, [i if i < count else -1 for i in range(length)])


@RULES.lowers(vector.BitcastOp)
def lower_bitcast(op: vector.BitcastOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return cast(b, llvm.BitcastOp, operands[0], llvm_type(op.result.type))


def _transfer(
    op: vector.TransferReadOp | vector.TransferWriteOp,
    pointer: SSAValue,
    indices: Sequence[SSAValue],
    mask: SSAValue | None,
    vector_type: VectorType,
    b: RuleBuilder,
) -> tuple[SSAValue, SSAValue | None]:
    """Address and mask (None: every lane) of a transfer along the last dimension."""
    type_ = memref_type(op.source, b)
    map = op.permutation_map.data
    if not map.is_minor_identity() or vector_type.get_num_dims() != 1:
        raise b.fail("only transfers along the last dimension are supported here")
    inside = all(bool(flag.value.data) for flag in op.in_bounds)
    if not inside:
        size = type_.get_shape()[-1]
        if size == DYNAMIC_INDEX:
            raise b.fail("a transfer into a dimension of dynamic size")
        left = binary(b, llvm.SubOp, constant(b, size), indices[-1])
        bounds = first_lanes(b, left, lanes(vector_type))
        mask = bounds if mask is None else binary(b, llvm.AndOp, mask, bounds)
    return address(b, pointer, type_, indices, inbounds=mask is None), mask


@RULES.lowers(vector.TransferReadOp)
def lower_transfer_read(op: vector.TransferReadOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    rank = len(op.indices)
    pointer, indices, padding = operands[0], operands[1 : 1 + rank], operands[1 + rank]
    mask = operands[2 + rank] if op.mask is not None else None
    vector_type = op.result.type
    assert isinstance(vector_type, VectorType)
    where, mask = _transfer(op, pointer, indices, mask, vector_type, b)
    type_ = llvm_type(vector_type)
    if mask is None:
        return load(b, where, type_)
    return _masked_load(b, where, mask, splat(b, padding, type_))


@RULES.lowers(vector.TransferWriteOp)
def lower_transfer_write(op: vector.TransferWriteOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    value, pointer, *rest = operands
    rank = len(op.indices)
    mask = rest[rank] if op.mask is not None else None
    vector_type = op.vector.type
    assert isinstance(vector_type, VectorType)
    where, mask = _transfer(op, pointer, rest[:rank], mask, vector_type, b)
    if mask is None:
        store(b, value, where)
    else:
        b(intr.MaskedStoreOp(to_memory(b, value), where, mask, element_bytes(element_of(value.type))))
