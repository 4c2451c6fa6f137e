"""The instructions of NVIDIA GPUs that programs here use: one row gives the op, its verifier, its text and its doc.

An op `nvvm.<name>` takes the operands of its row and gives its result; several results are one struct. `call` is the
LLVM intrinsic behind `@llvm.nvvm.`, or the template of inline assembly (beginning with `asm`). `ptx` and `sm` are the
first PTX ISA version, times ten, and the first compute capability that have the instruction.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntAttr, VectorType, bf16, f16, f32, i1, i32, i64
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
    *(Row(f"barrier.cta.{what}.aligned.count", (i32, i32), None, f"barrier.cta.{what}.aligned.count", meaning,
          together=True, ptx=60, sm=50)
      for what, meaning in (("sync", "So many threads meet at the barrier of a number."),
                            ("arrive", "Comes to such a barrier, and goes on."))),
    Row("shfl.sync.bfly.i32", (i32, i32, i32, i32), i32, "shfl.sync.bfly.i32",
        "What the thread has whose number differs in bits: of threads (a mask), a value, the bits, clamp and segment.",
        together=True, sm=30),
    Row("shfl.sync.bfly.f32", (i32, f32, i32, i32), f32, "shfl.sync.bfly.f32",
        "The same of a float.", together=True, sm=30),
    Row("shfl.sync.idx.i32", (i32, i32, i32, i32), i32, "shfl.sync.idx.i32",
        "What one thread of the warp has: of threads (a mask), a value, which thread, clamp and segment.",
        together=True, sm=30),
)  # fmt: skip
_COPIES = (
    *(Row(f"cp.async.{cache}.shared.global.{n}", (SHARED, GLOBAL), None, f"cp.async.{cache}.shared.global.{n}",
          f"Begins to copy {n} bytes to shared memory.", ptx=70, sm=80)
      for cache, n in (("ca", 4), ("ca", 8), ("cg", 16))),
    *(Row(f"cp.async.{cache}.shared.global.{n}.s", (SHARED, GLOBAL, i32), None, f"cp.async.{cache}.shared.global.{n}.s",
          f"Begins to copy so many of {n} bytes to shared memory, and zeros after them.", ptx=70, sm=80)
      for cache, n in (("ca", 4), ("ca", 8), ("cg", 16))),
    Row("cp.async.commit.group", (), None, "cp.async.commit.group",
        "What was begun since the last time is one group.", ptx=70, sm=80),
    *(Row(f"cp.async.wait.group.{n}", (), None, "cp.async.wait.group",
          f"Waits until at most {n} groups of this thread are under way.", ptx=70, sm=80, immediates=(f"i32 {n}",))
      for n in range(8)),
)  # fmt: skip
_CTA = "scope.cta.space.cta"
_BARRIERS = (
    Row("mbarrier.init", (SHARED, i32), None, "mbarrier.init.shared",
        "A barrier in shared memory whose phases end after so many arrivals.", ptx=70, sm=80),
    Row("fence.mbarrier_init", (), None, "fence.mbarrier_init.release.cluster",
        "Makes barriers that were initialised known to the copy engine.", ptx=80, sm=90),
    Row("mbarrier.arrive", (SHARED,), i64, f"mbarrier.arrive.{_CTA}", "Arrives at a barrier.",
        ptx=80, sm=90, immediates=("i32 1",)),
    Row("cp.async.mbarrier.arrive.noinc", (SHARED,), None, "cp.async.mbarrier.arrive.noinc.shared",
        "Arrives at a barrier once all copies that this thread has begun are there.", ptx=70, sm=80),
    Row("fence.proxy.async.shared_cta", (), None, "fence.proxy.async.shared_cta",
        "What threads wrote to shared memory, and this one knows of, is there for products of warpgroups.",
        ptx=80, sm=90),
    Row("mbarrier.arrive.expect_tx", (SHARED, i32), i64, f"mbarrier.arrive.expect.tx.{_CTA}",
        "Arrives, and lets the phase wait for so many bytes.", ptx=80, sm=90),
    Row("mbarrier.try_wait.parity", (SHARED, i32), i1, f"mbarrier.try.wait.parity.{_CTA}",
        "Whether the phase of a parity is over, after some time.", ptx=80, sm=90),
    *(Row(f"cp.async.bulk.tensor.{n}d", (SHARED, SHARED, LLVMPointerType()) + (i32,) * n, None,
          f"cp.async.bulk.tensor.g2s.cta.tile.{n}d",
          f"Begins to copy a box of a tensor of {n} dimensions, innermost first, to shared memory; it counts at a "
          "barrier.", ptx=86, sm=90, immediates=("i64 0", "i1 0"))
      for n in range(1, 6)),
)  # fmt: skip
_WARPGROUPS = (
    Row("wgmma.fence.sync.aligned", (), None, "wgmma.fence.sync.aligned",
        "Products may read and change registers from now on.", together=True, ptx=80, sm=90),
    Row("wgmma.commit_group", (), None, "wgmma.commit_group.sync.aligned",
        "The products begun since the last time are one group.", together=True, ptx=80, sm=90),
    *(Row(f"setmaxnreg.{way}.{n}", (), None, f"setmaxnreg.{way}.sync.aligned.u32",
          f"Threads of the warpgroup have {n} registers from now on.", together=True, ptx=80, sm=90,
          immediates=(f"i32 {n}",))
      for way, n in [("dec", n) for n in range(24, 129, 8)] + [("inc", n) for n in range(136, 249, 8)]),
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
    Row("f2tf32.rna", (f32,), i32, "f2tf32.rna", "The nearest number of tf32, ties away from zero.", pure=True,
        ptx=70, sm=80),
    *(Row(f"cvt.rn.{kind}x2.f32", (f32, f32), VectorType(type_, [2]), f"ff2{kind}x2.rn",
          f"Two numbers rounded to {kind}, the first one in the upper half.", pure=True, ptx=70, sm=80)
      for kind, type_ in (("bf16", bf16), ("f16", f16))),
    Row("ex2.approx.f32", (f32,), f32, "ex2.approx.f", "2 to the power of x, within 2 ulp.", pure=True),
    Row("ex2.approx.ftz.f32", (f32,), f32, "ex2.approx.ftz.f", "The same without subnormal numbers.", pure=True),
)  # fmt: skip

ROWS = (*_SPECIAL, *_TOGETHER, *_COPIES, *_BARRIERS, *_MATRICES, *_WARPGROUPS, *_NUMBERS)
