"""`convert-gpu-to-nvvm`: what a thread is told and what threads do together becomes instructions.

Before:
    %t = gpu.thread_id x
    %y = gpu.shuffle xor %x, 16 : f32
    %smem = gpu.dynamic_shared_memory : memref<128xi8, 3 : i32>
After:
    %n = nvvm.read.ptx.sreg.tid.x() : () -> i32
    %t = arith.index_cast %n : i32 to index
    %y = nvvm.shfl.sync.bfly.f32(%all, %x, %16, %31) : (i32, f32, i32, i32) -> f32
    %p = llvm.mlir.addressof @lamina_shared : !llvm.ptr<3>         // declared beside the kernel
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    Float32Type,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    UnitAttr,
    UnrealizedConversionCastOp,
    i8,
    i32,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.conversion import RuleBuilder, Rules, convert
from ...compiler.walking import all_ops
from ...dialects.gpu import (
    BLOCK_SIZE,
    KERNEL,
    ROLLED,
    BarrierOp,
    BlockIdOp,
    DynamicSharedMemoryOp,
    ShuffleOp,
    SubgroupBroadcastOp,
    ThreadIdOp,
)
from ...dialects.gpu.ops import WARP
from ...dialects.llvm.text import ROLLED as LLVM_ROLLED
from ...dialects.nvvm import instruction

RULES = Rules("convert-gpu-to-nvvm")
SHARED = "lamina_shared"
SHARED_ALIGNMENT = 1024  # what the widest swizzle of shared memory wants
_EVERYBODY = -1  # a mask of all 32 threads


def _number(b: RuleBuilder, value: int) -> SSAValue:
    return b(arith.ConstantOp(IntegerAttr(value, i32))).result


def _register(b: RuleBuilder, name: str) -> SSAValue:
    number = b(instruction(f"read.ptx.sreg.{name}")).results[0]
    return b(arith.IndexCastOp(number, IndexType())).result


@RULES.lowers(ThreadIdOp)
def lower_thread_id(op: ThreadIdOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return _register(b, f"tid.{op.dimension.data}")


@RULES.lowers(BlockIdOp)
def lower_block_id(op: BlockIdOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    return _register(b, f"ctaid.{op.dimension.data}")


@RULES.lowers(BarrierOp)
def lower_barrier(op: BarrierOp, operands: Sequence[SSAValue], b: RuleBuilder) -> None:
    b(instruction("barrier0"))


@RULES.lowers(ShuffleOp)
def lower_shuffle(op: ShuffleOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    [value] = operands
    type_ = value.type
    if isinstance(type_, Float32Type):
        return _shuffled(b, value, op.offset.value.data)
    if not isinstance(type_, IntegerType | AnyFloat):
        raise b.fail(f"values of type {type_} cannot be shuffled")
    bits = IntegerType(type_.bitwidth)
    whole = value if isinstance(type_, IntegerType) else b(arith.BitcastOp(value, bits)).result
    if type_.bitwidth == 64:
        moved = _in_halves(b, whole, op.offset.value.data)
    elif type_.bitwidth == 32:
        moved = _shuffled(b, whole, op.offset.value.data)
    else:
        wide = _shuffled(b, b(arith.ExtUIOp(whole, i32)).result, op.offset.value.data)
        moved = b(arith.TruncIOp(wide, bits)).result
    return moved if isinstance(type_, IntegerType) else b(arith.BitcastOp(moved, type_)).result


def _shuffled(b: RuleBuilder, value: SSAValue, offset: int) -> SSAValue:
    """32 bits of another thread."""
    kind = "f32" if isinstance(value.type, Float32Type) else "i32"
    everybody = _number(b, _EVERYBODY)
    rest = (_number(b, offset), _number(b, WARP - 1))
    return b(instruction(f"shfl.sync.bfly.{kind}", everybody, value, *rest)).results[0]


@RULES.lowers(SubgroupBroadcastOp)
def lower_broadcast(op: SubgroupBroadcastOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    number = b(arith.IndexCastOp(operands[0], i32)).result
    rest = (_number(b, 0), _number(b, WARP - 1))
    first = b(instruction("shfl.sync.idx.i32", _number(b, _EVERYBODY), number, *rest)).results[0]
    return b(arith.IndexCastOp(first, IndexType())).result


def _in_halves(b: RuleBuilder, value: SSAValue, offset: int) -> SSAValue:
    """64 bits of another thread, as two numbers of 32."""
    half = b(arith.ConstantOp(IntegerAttr(32, i64))).result
    low = _shuffled(b, b(arith.TruncIOp(value, i32)).result, offset)
    high = _shuffled(b, b(arith.TruncIOp(b(arith.ShRUIOp(value, half)).result, i32)).result, offset)
    shifted = b(arith.ShLIOp(b(arith.ExtUIOp(high, i64)).result, half)).result
    return b(arith.OrIOp(shifted, b(arith.ExtUIOp(low, i64)).result)).result


@RULES.lowers(DynamicSharedMemoryOp)
def lower_shared(op: DynamicSharedMemoryOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue:
    address = b(llvm.AddressOfOp(SHARED, llvm.LLVMPointerType(addr_space=IntAttr(3)))).result
    return b(UnrealizedConversionCastOp.get([address], [op.result.type])).results[0]


def _launched(function: FuncOp) -> None:
    """Tells LLVM that a function is launched, and with how many threads: so many share the registers."""
    del function.attributes[KERNEL]
    function.attributes["nvvm.kernel"] = UnitAttr()
    size = function.attributes.pop(BLOCK_SIZE, None)
    if isinstance(size, DenseArrayBase):
        most = str(prod(int(n) for n in size.get_values()))
        words = [ArrayAttr([StringAttr("nvvm.maxntid"), StringAttr(most)])]
        if function.attributes.pop(ROLLED, None) is not None:
            function.attributes[LLVM_ROLLED] = UnitAttr()
            words.append(ArrayAttr([StringAttr("nvvm.minctasm"), StringAttr("1")]))  # registers before blocks
        function.attributes["passthrough"] = ArrayAttr[Attribute](words)


@dataclass(frozen=True)
class ConvertGpuToNvvm(ModulePass):
    """What a thread is told and what threads do together becomes instructions."""

    name = "convert-gpu-to-nvvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, FuncOp) and KERNEL in function.attributes:
                _launched(function)
        shared = [inner for inner in all_ops(op) if isinstance(inner, DynamicSharedMemoryOp)]
        convert(op, RULES, illegal={"gpu"})
        if shared:
            declared = llvm.GlobalOp(
                llvm.LLVMArrayType(0, i8), SHARED, "external", addr_space=3, alignment=SHARED_ALIGNMENT
            )
            Rewriter.insert_op(declared, InsertPoint.at_start(op.body.block))
