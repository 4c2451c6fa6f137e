"""wgmma with its left operand in registers, its right one along either dimension, place by place as the manual says."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from lamina.backends.cuda.emulator.machine import launch
from lamina.backends.cuda.emulator.memory import GlobalMemory
from lamina.backends.cuda.emulator.ptx import parse
from lamina.compiler.diagnostics import LaminaError

STEPS, THREADS = 16, 128
SWIZZLE_128, CORE = 1 << 62, 1024  # a core: eight rows of 128 bytes


def text(columns: int, turned: bool, adds: bool, nbytes: int, between: str) -> str:
    """Shared memory from the first input, A from the second, four registers a thread; the sums begin with 1."""
    count = columns // 2
    leading = CORE * STEPS // 8
    descriptor = SWIZZLE_128 | CORE >> 4 << 32 | (leading if turned else 16) >> 4 << 16
    copies = "".join(
        f"ld.global.v4.b32 {{%x0, %x1, %x2, %x3}}, [%p0+{at}]; st.shared.v4.b32 [%s+{at}], {{%x0, %x1, %x2, %x3}};\n"
        for at in range(0, nbytes, 16 * THREADS)
    )
    sums = ", ".join(f"%d{i}" for i in range(count))
    starts = "".join(f"mov.f32 %d{i}, 0f3F800000;\n" for i in range(count))
    stores = "".join(f"st.global.f32 [%p2+{4 * i}], %d{i};\n" for i in range(count))
    return f"""
.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k(.param .u64 in0, .param .u64 in1, .param .u64 out)
{{
.reg .b32 %t, %s, %x<4>, %a<4>; .reg .b64 %i0, %i1, %o, %p<3>, %m; .reg .f32 %d<{count}>;
ld.param.u64 %i0, [in0]; ld.param.u64 %i1, [in1]; ld.param.u64 %o, [out]; mov.u32 %t, %tid.x;
mad.wide.u32 %p0, %t, 16, %i0; mad.wide.u32 %p1, %t, 16, %i1; mad.wide.u32 %p2, %t, {4 * count}, %o;
mov.u32 %s, smem; mad.lo.u32 %s, %t, 16, %s;
{copies}
ld.global.v4.b32 {{%a0, %a1, %a2, %a3}}, [%p1];
{starts}
fence.proxy.async.shared::cta;
bar.sync 0;
mov.u32 %x0, smem; shr.u32 %x0, %x0, 4; and.b32 %x0, %x0, 16383; cvt.u64.u32 %m, %x0; or.b64 %m, %m, {descriptor};
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.bf16.bf16 {{{sums}}}, {{%a0, %a1, %a2, %a3}}, %m, {int(adds)}, 1, 1, {int(turned)};
wgmma.commit_group.sync.aligned;
{between}
wgmma.wait_group.sync.aligned 0;
{stores}
ret;
}}
"""  # noqa: E501


def registers(matrix: Any) -> Any:
    """Of thread t: row t / 4 of its warp's 16 and the one 8 below, columns 2 (t % 4) and one more, and 8 right."""
    found = np.zeros((THREADS, 4, 2), matrix.dtype)
    for thread in range(THREADS):
        row, column = thread // 32 * 16 + thread % 32 // 4, thread % 4 * 2
        for register in range(4):
            right = column + register // 2 * 8
            found[thread, register] = matrix[row + register % 2 * 8, right : right + 2]
    return found


def in_shared(matrix: Any, turned: bool) -> Any:
    """A matrix of 16 steps and columns: rows of 128 bytes, whose parts of 16 are exchanged, are columns or steps."""
    _, columns = matrix.shape
    found = np.zeros(-(-columns // 16) * 16 * 64, matrix.dtype)
    for step in range(STEPS):
        for column in range(columns):
            if turned:  # the next 64 columns follow all steps of these
                row, place = column // 64 * STEPS + step, column % 64 * 2
            else:
                row, place = column, step * 2
            found[row * 64 + (place // 16 ^ row % 8) * 8 + place % 16 // 2] = matrix[step, column]
    return found


def product(columns: int, turned: bool, adds: bool, late: bool, between: str = "") -> tuple[Any, Any]:
    rng = np.random.default_rng(columns)
    a = rng.integers(-8, 8, (64, STEPS)).astype(ml_dtypes.bfloat16)
    b = rng.integers(-8, 8, (STEPS, columns)).astype(ml_dtypes.bfloat16)
    shared = in_shared(b, turned)
    memory = GlobalMemory(1 << 20)
    given = [memory.upload(shared, "b"), memory.upload(registers(a), "a")]
    out = memory.allocate(64 * columns * 4, "out")
    kernel = parse(text(columns, turned, adds, shared.nbytes, between)).kernel()
    launch(
        kernel, [*given, out], grid=(1, 1, 1), block=(128, 1, 1), memory=memory, shared_bytes=shared.nbytes, late=late
    )
    sums = memory.download(out, (THREADS, columns // 8, 2, 2), np.float32)
    found = np.zeros((64, columns), np.float32)
    for thread in range(THREADS):
        row, column = thread // 32 * 16 + thread % 32 // 4, thread % 4 * 2
        for part in range(columns // 8):
            for half in range(2):
                at = 8 * part + column
                found[row + 8 * half, at : at + 2] = sums[thread, part, half]
    return found, a.astype(np.float32) @ b.astype(np.float32) + adds


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize(("columns", "turned"), [(64, False), (64, True), (128, True), (24, False), (192, True)])
def test_left_operand_in_registers(columns: int, turned: bool, adds: bool, late: bool) -> None:
    found, expected = product(columns, turned, adds, late)
    assert np.array_equal(found, expected)


def test_it_may_not_change_before_it_was_waited_for() -> None:
    found, expected = product(64, True, True, True, "mov.b32 %a1, 0;")  # of seed 0 it is read late
    assert not np.array_equal(found, expected)


def test_what_threads_write_is_fenced() -> None:
    """By who writes, as in all tests above, or by who reads when that has come."""
    meet, fence = "bar.sync 0;\n", "fence.proxy.async.shared::cta;\n"
    plain = text(64, True, True, 2048, "").replace(fence + meet, meet)
    memory = GlobalMemory(1 << 20)
    given = [memory.upload(np.zeros(1024, ml_dtypes.bfloat16), name) for name in ("b", "a")]
    given.append(memory.allocate(64 * 64 * 4, "out"))
    how: Any = {"grid": (1, 1, 1), "block": (128, 1, 1), "memory": memory, "shared_bytes": 2048}
    launch(parse(plain.replace(meet, meet + fence)).kernel(), given, **how)
    with pytest.raises(LaminaError, match=r"and no fence\.proxy\.async lies between"):
        launch(parse(plain).kernel(), given, **how)
