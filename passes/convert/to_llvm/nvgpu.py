"""nvgpu to llvm: copies, barriers and products become NVIDIA's instructions, buffers their addresses."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, VectorType, bf16, f16, f32, i8, i32, i64
from xdsl.ir import SSAValue

from ....compiler.conversion import RuleBuilder
from ....dialects import nvgpu
from ....dialects.llvm.addressing import GEPOp
from ....dialects.llvm.instructions import AddrSpaceCastOp, ExtractElementOp, PoisonOp
from ....dialects.nvvm import GLOBAL, WgmmaFenceOp, WgmmaOp, WgmmaWaitOp, instruction
from .memref import address, memref_type
from .rules import RULES, binary, cast, constant

SWIZZLE_128 = 1 << 62  # of a matrix descriptor: rows of 128 bytes, swizzled
CORE_BYTES = 1024  # eight such rows
ADDRESS_BITS = (1 << 18) - 1
_PAIR = VectorType(f16, [2])
_TAKE_ELEMENTS = (  # of vectors, one by one
    nvgpu.MmaSyncOp,
    nvgpu.RoundTf32Op,
    nvgpu.WarpgroupFenceOp,
    nvgpu.WarpgroupMmaOp,
    nvgpu.WarpgroupMmaRegistersOp,
    nvgpu.WarpgroupWaitOp,
)


def _shared(b: RuleBuilder, buffer: SSAValue, pointer: SSAValue, index: SSAValue) -> SSAValue:
    return address(b, pointer, memref_type(buffer, b), [index])


def _global(b: RuleBuilder, buffer: SSAValue, pointer: SSAValue, index: SSAValue) -> SSAValue:
    place = address(b, pointer, memref_type(buffer, b), [index])
    return b(AddrSpaceCastOp.create(operands=[place], result_types=[GLOBAL])).results[0]


@RULES.lowers(nvgpu.AsyncCopyOp)
def lower_copy(op: nvgpu.AsyncCopyOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    source, at, target, to, *valid = operands
    nbytes = op.bytes.value.data
    name = f"cp.async.{'cg' if nbytes == 16 else 'ca'}.shared.global.{nbytes}{'.s' if valid else ''}"
    b(instruction(name, _shared(b, op.target, target, to), _global(b, op.source, source, at), *valid))


@RULES.lowers(nvgpu.AsyncGroupOp)
def lower_group(op: nvgpu.AsyncGroupOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    b(instruction("cp.async.commit.group"))


@RULES.lowers(nvgpu.AsyncWaitOp)
def lower_wait(op: nvgpu.AsyncWaitOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    b(instruction(f"cp.async.wait.group.{op.groups.value.data}"))


@RULES.lowers(nvgpu.InitBarrierOp)
def lower_init(op: nvgpu.InitBarrierOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    place = _shared(b, op.barriers, *operands)
    b(instruction("mbarrier.init", place, constant(b, op.count.value.data, i32)))


@RULES.lowers(nvgpu.FenceInitOp)
def lower_fence_init(op: nvgpu.FenceInitOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    b(instruction("fence.mbarrier_init"))


@RULES.lowers(nvgpu.ArriveOp)
def lower_arrive(op: nvgpu.ArriveOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    b(instruction("mbarrier.arrive", _shared(b, op.barriers, *operands)))


@RULES.lowers(nvgpu.AsyncArriveOp)
def lower_async_arrive(op: nvgpu.AsyncArriveOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    b(instruction("cp.async.mbarrier.arrive.noinc", _shared(b, op.barriers, *operands)))


@RULES.lowers(nvgpu.FenceProxyOp)
def lower_fence_proxy(op: nvgpu.FenceProxyOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    b(instruction("fence.proxy.async.shared_cta"))


@RULES.lowers(nvgpu.ArriveExpectOp)
def lower_expect(op: nvgpu.ArriveExpectOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    place = _shared(b, op.barriers, *operands)
    b(instruction("mbarrier.arrive.expect_tx", place, constant(b, op.bytes.value.data, i32)))


@RULES.lowers(nvgpu.TryWaitOp)
def lower_try_wait(op: nvgpu.TryWaitOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    barriers, at, parity = operands
    place = _shared(b, op.barriers, barriers, at)
    return b(instruction("mbarrier.try_wait.parity", place, cast(b, llvm.TruncOp, parity, i32))).results[0]


@RULES.lowers(nvgpu.NamedSyncOp)
def lower_named_sync(op: nvgpu.NamedSyncOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    _meet(b, "sync", operands[0], op.threads.value.data)


@RULES.lowers(nvgpu.NamedArriveOp)
def lower_named_arrive(op: nvgpu.NamedArriveOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    _meet(b, "arrive", operands[0], op.threads.value.data)


def _meet(b: RuleBuilder, what: str, number: SSAValue, threads: int) -> None:
    count = constant(b, threads, i32)
    b(instruction(f"barrier.cta.{what}.aligned.count", cast(b, llvm.TruncOp, number, i32), count))


@RULES.lowers(nvgpu.TmaLoadOp)
def lower_tma(op: nvgpu.TmaLoadOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    count = len(op.corner)
    descriptor, corner, (target, to, barriers, at) = operands[0], operands[1 : 1 + count], operands[1 + count :]
    places = [_shared(b, op.target, target, to), _shared(b, op.barriers, barriers, at)]
    numbers = [cast(b, llvm.TruncOp, index, i32) for index in reversed(corner)]
    b(instruction(f"cp.async.bulk.tensor.{count}d", *places, descriptor, *numbers))


@RULES.lowers(nvgpu.LdMatrixOp)
def lower_ldmatrix(op: nvgpu.LdMatrixOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    name = "ldmatrix.x4.trans" if op.transpose is not None else "ldmatrix.x4"
    return _vector(b, b(instruction(name, _shared(b, op.source, *operands))).results[0], op.results[0])


@RULES.lowers(nvgpu.MmaSyncOp)
def lower_mma(op: nvgpu.MmaSyncOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    left, right, acc = operands
    kind = op.kind.data
    registers = [*_elements(b, left), *_elements(b, right)]
    if kind == "f16":
        registers = [cast(b, llvm.BitcastOp, register, _PAIR) for register in registers]
    name = f"mma.{'m16n8k8' if kind == 'tf32' else 'm16n8k16'}.f32.{kind}"
    return _vector(b, b(instruction(name, *registers, *_elements(b, acc))).results[0], op.results[0])


@RULES.lowers(nvgpu.RoundTf32Op)
def lower_round(op: nvgpu.RoundTf32Op, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    [value] = operands
    assert isinstance(value.type, VectorType)
    rounded: SSAValue = b(PoisonOp(value.type)).res
    for i, register in enumerate(_elements(b, value)):
        number = b(instruction("f2tf32.rna", cast(b, llvm.BitcastOp, register, f32))).results[0]
        rounded = b(llvm.InsertElementOp(rounded, number, constant(b, i))).res
    return rounded


@RULES.lowers(nvgpu.RoundPairOp)
def lower_round_pair(op: nvgpu.RoundPairOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    low, high = _elements(b, operands[0])
    kind = "bf16" if op.result.type == VectorType(bf16, [2]) else "f16"
    return b(instruction(f"cvt.rn.{kind}x2.f32", high, low)).results[0]


@RULES.lowers(nvgpu.Exp2Op)
def lower_exp2(op: nvgpu.Exp2Op, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return b(instruction("ex2.approx.ftz.f32", *operands)).results[0]


def _elements(b: RuleBuilder, value: SSAValue) -> list[SSAValue]:
    assert isinstance(value.type, VectorType)
    count = value.type.get_shape()[0]
    return [b.shared((value, i), lambda i=i: ExtractElementOp(value, constant(b, i))) for i in range(count)]


def _vector(b: RuleBuilder, struct: SSAValue, result: SSAValue, first: int = 0) -> SSAValue:
    """What a vector becomes whose elements are those of a struct, from one on.

    It is put together only if something in another block wants it, or wants it whole.
    """
    type_, block = result.type, result.owner.parent
    assert isinstance(type_, VectorType)
    count = type_.get_shape()[0]
    parts = [
        b(llvm.ExtractValueOp(DenseArrayBase.from_list(i64, [first + i]), struct, type_.element_type)).res
        for i in range(count)
    ]
    found: SSAValue = b(PoisonOp(type_)).res
    users = [use.operation for use in result.uses]
    if any(user.parent is not block or not isinstance(user, _TAKE_ELEMENTS) for user in users):
        for i, part in enumerate(parts):
            found = b(llvm.InsertElementOp(found, part, constant(b, i))).res
    for i, part in enumerate(parts):
        b.remember((found, i), part)
    return found


@RULES.lowers(nvgpu.MaxRegistersOp)
def lower_registers(op: nvgpu.MaxRegistersOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    b(instruction(f"setmaxnreg.{'inc' if op.more is not None else 'dec'}.{op.count.value.data}"))


@RULES.lowers(nvgpu.WarpgroupCommitOp)
def lower_commit(op: nvgpu.WarpgroupCommitOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    b(instruction("wgmma.commit_group"))


@RULES.lowers(nvgpu.WarpgroupMmaOp)
def lower_warpgroup(op: nvgpu.WarpgroupMmaOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Sequence[SSAValue]:
    shared, lhs, rhs, *sums = operands
    offsets, leading = ([int(n) for n in numbers.get_values()] for numbers in (op.offsets, op.leading))
    descriptors = [_descriptor(b, shared, *each) for each in zip((lhs, rhs), offsets, leading, strict=True)]
    turned = [bool(flag) for flag in op.turned.get_values()]
    made = WgmmaOp(_all_elements(b, sums), descriptors, 4 * len(op.results), op.kind.data, turned)
    return _vectors(b, b(made).res, op.results)


@RULES.lowers(nvgpu.WarpgroupMmaRegistersOp)
def lower_warpgroup_registers(
    op: nvgpu.WarpgroupMmaRegistersOp, operands: Sequence[SSAValue], b: RuleBuilder
) -> Sequence[SSAValue]:
    lhs, shared, rhs, *sums = operands
    descriptor = _descriptor(b, shared, rhs, op.offset.value.data, op.leading.value.data)
    factors = [*_elements(b, lhs), descriptor]
    made = WgmmaOp(_all_elements(b, sums), factors, 4 * len(op.results), op.kind.data, [op.turned is not None])
    return _vectors(b, b(made).res, op.results)


@RULES.lowers(nvgpu.WarpgroupFenceOp)
def lower_fence(op: nvgpu.WarpgroupFenceOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Sequence[SSAValue]:
    if not operands:
        b(instruction("wgmma.fence.sync.aligned"))
        return []
    made = b(WgmmaFenceOp(_all_elements(b, operands))).res
    return _vectors(b, made, op.results)


@RULES.lowers(nvgpu.WarpgroupWaitOp)
def lower_warpgroup_wait(op: nvgpu.WarpgroupWaitOp, operands: Sequence[SSAValue], b: RuleBuilder) -> Sequence[SSAValue]:
    made = b(WgmmaWaitOp(_all_elements(b, operands), op.groups.value.data)).res
    return _vectors(b, made, op.results)


def _all_elements(b: RuleBuilder, values: Sequence[SSAValue]) -> list[SSAValue]:
    return [element for value in values for element in _elements(b, value)]


def _vectors(b: RuleBuilder, struct: SSAValue, results: Sequence[SSAValue]) -> list[SSAValue]:
    """What vectors of four become, whose elements are those of a struct."""
    return [_vector(b, struct, result, 4 * i) for i, result in enumerate(results)]


def _descriptor(b: RuleBuilder, shared: SSAValue, index: SSAValue, offset: int, leading: int) -> SSAValue:
    """Where a matrix lies, as wgmma wants it: address, distances of its parts in 16 bytes, swizzle."""
    pointer = b.shared(("matrix", shared, index), lambda: GEPOp(shared, [index], i8))
    number = cast(b, llvm.ZExtOp, cast(b, llvm.PtrToIntOp, pointer, i32), i64)
    place = binary(b, llvm.LShrOp, binary(b, llvm.AndOp, number, constant(b, ADDRESS_BITS)), constant(b, 4))
    fixed = leading >> 4 << 16 | CORE_BYTES >> 4 << 32 | SWIZZLE_128
    return binary(b, llvm.AddOp, binary(b, llvm.OrOp, place, constant(b, fixed)), constant(b, offset >> 4))
