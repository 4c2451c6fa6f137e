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
    f32,
    i8,
    i32,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.conversion import RuleBuilder, Rules, convert
from ...compiler.walking import all_ops
from ...dialects.gpu import BLOCK_SIZE, KERNEL, BarrierOp, BlockIdOp, DynamicSharedMemoryOp, ShuffleOp, ThreadIdOp
from ...dialects.gpu.ops import WARP
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
    rest = (_number(b, op.offset.value.data), _number(b, WARP - 1))
    everybody = _number(b, _EVERYBODY)
    if isinstance(type_, Float32Type):
        return b(instruction("shfl.sync.bfly.f32", everybody, value, *rest)).results[0]
    if type_ == i32:
        return b(instruction("shfl.sync.bfly.i32", everybody, value, *rest)).results[0]
    if isinstance(type_, IntegerType) and type_.width.data < 32:
        wide = b(arith.ExtUIOp(value, i32)).result
        moved = b(instruction("shfl.sync.bfly.i32", everybody, wide, *rest)).results[0]
        return b(arith.TruncIOp(moved, type_)).result
    raise b.fail(f"values of type {type_} cannot be shuffled", f"as {f32} or {i32}, in parts where they are wider")


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
