"""The instructions of NVIDIA GPUs that programs here use: one row gives the op, its verifier, its text and its doc.

An op `nvvm.<name>` takes the operands of its row and gives its result; several results are one struct. `call` is the
LLVM intrinsic behind `@llvm.nvvm.`, or the template of inline assembly (beginning with `asm`). `ptx` and `sm` are the
first PTX ISA version, times ten, and the first compute capability that have the instruction.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntAttr, VectorType, f16, f32, i32
from xdsl.dialects.llvm import LLVMPointerType, LLVMStructType
from xdsl.ir import Attribute

GLOBAL = LLVMPointerType(addr_space=IntAttr(1))
SHARED = LLVMPointerType(addr_space=IntAttr(3))


@dataclass(frozen=True)
class Row:
    """One instruction. `together`: threads of a warp must come to it together (LLVM's `convergent`)."""

    name: str
    operands: tuple[Attribute, ...]
    result: Attribute | None
    call: str
    meaning: str
    pure: bool = False
    together: bool = False
    ptx: int = 60
    sm: int = 50
    immediates: tuple[str, ...] = ()


def _several(type_: Attribute, count: int) -> LLVMStructType:
    return LLVMStructType.from_type_list([type_] * count)


def _special(register: str, meaning: str) -> Row:
    return Row(f"read.ptx.sreg.{register}", (), i32, f"read.ptx.sreg.{register}", meaning, pure=True)


_PAIR = VectorType(f16, [2])
_SPECIAL = (
    *(_special(f"tid.{axis}", f"The thread's place in its block along {axis}.") for axis in "xyz"),
    *(_special(f"ctaid.{axis}", f"The block's place in the grid along {axis}.") for axis in "xyz"),
)
_TOGETHER = (
    Row("barrier0", (), None, "barrier.cta.sync.aligned.all", "All threads of the block meet.", together=True,
        immediates=("i32 0",)),
    Row("shfl.sync.bfly.i32", (i32, i32, i32, i32), i32, "shfl.sync.bfly.i32",
        "What the thread has whose number differs in bits: of threads (a mask), a value, the bits, clamp and segment.",
        together=True, sm=30),
    Row("shfl.sync.bfly.f32", (i32, f32, i32, i32), f32, "shfl.sync.bfly.f32",
        "The same of a float.", together=True, sm=30),
)  # fmt: skip
_COPIES = (
    Row("cp.async.cg.shared.global.16", (SHARED, GLOBAL), None, "cp.async.cg.shared.global.16",
        "Begins to copy 16 bytes to shared memory, past the first cache.", ptx=70, sm=80),
    Row("cp.async.commit.group", (), None, "cp.async.commit.group",
        "What was begun since the last time is one group.", ptx=70, sm=80),
    *(Row(f"cp.async.wait.group.{n}", (), None, "cp.async.wait.group",
          f"Waits until at most {n} groups of this thread are under way.", ptx=70, sm=80, immediates=(f"i32 {n}",))
      for n in range(4)),
)  # fmt: skip
_MATRICES = (
    Row("ldmatrix.x4", (SHARED,), _several(i32, 4), "ldmatrix.sync.aligned.m8n8.x4.b16",
        "Four 8x8 matrices of 16 bits; thread t gives the address of row t, gets two neighbours of row t/4 of each.",
        together=True, ptx=65, sm=75),
    Row("ldmatrix.x4.trans", (SHARED,), _several(i32, 4), "ldmatrix.sync.aligned.m8n8.x4.trans.b16",
        "The same of transposed matrices.", together=True, ptx=65, sm=75),
    Row("mma.m16n8k16.f32.bf16", (i32,) * 6 + (f32,) * 4, _several(f32, 4), "mma.m16n8k16.row.col.bf16",
        "D = A B + C in a warp: A 16x16 of bf16 in four registers, B 16x8 in two, C and D 16x8 of f32 in four.",
        pure=True, together=True, ptx=70, sm=80),
    Row("mma.m16n8k16.f32.f16", (_PAIR,) * 6 + (f32,) * 4, _several(f32, 4), "mma.m16n8k16.row.col.f32.f32",
        "The same of f16.", pure=True, together=True, ptx=70, sm=80),
    Row("mma.m16n8k8.f32.tf32", (i32,) * 6 + (f32,) * 4, _several(f32, 4), "mma.m16n8k8.row.col.tf32",
        "The same of 16x8 and 8x8 of tf32, one number a register.", pure=True, together=True, ptx=70, sm=80),
)  # fmt: skip
_NUMBERS = (
    Row("ex2.approx.f32", (f32,), f32, "ex2.approx.f", "2 to the power of x, within 2 ulp.", pure=True),
)  # fmt: skip

ROWS = (*_SPECIAL, *_TOGETHER, *_COPIES, *_MATRICES, *_NUMBERS)
