"""Loads, stores, copies, atomics, shuffles and matrix instructions, with what they cost."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from lamina.backends.cuda.emulator.machine import launch
from lamina.backends.cuda.emulator.memory import Counters, GlobalMemory, by_warps, conflicts, requests
from lamina.backends.cuda.emulator.ptx import parse
from lamina.backends.cuda.emulator.runs import run_at
from lamina.compiler.diagnostics import LaminaError


def kernel_text(lines: str, inputs: int) -> str:
    parameters = ", ".join([*(f".param .u64 in{i}" for i in range(inputs)), ".param .u64 out"])
    heads = "".join(f".reg .b64 %i{i}; ld.param.u64 %i{i}, [in{i}];\n" for i in range(inputs))
    return f"""
.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry k({parameters})
{{
.reg .b32 %t, %x<20>; .reg .b64 %p<4>, %o; .reg .pred %q<4>; .reg .f32 %f<8>;
{heads} ld.param.u64 %o, [out]; mov.u32 %t, %tid.x;
{lines}
ret;
}}
"""


def run(
    lines: str, inputs: list[Any], shape: tuple[int, ...], dtype: Any, *, threads: int = 32, shared: int = 0, **how: Any
) -> tuple[Any, Counters]:
    """Runs a kernel that has the addresses of the inputs in %i0 …, that of the output in %o and its thread in %t."""
    memory = GlobalMemory(1 << 20)
    arguments = [memory.upload(x, f"in{i}") for i, x in enumerate(inputs)]
    arguments.append(memory.allocate(int(np.prod(shape)) * np.dtype(dtype).itemsize, "out"))
    grid = how.pop("grid", (1, 1, 1))
    counters = launch(
        parse(kernel_text(lines, len(inputs))).kernel(),
        arguments,
        grid=grid,
        block=(threads, 1, 1),
        memory=memory,
        shared_bytes=shared,
        **how,
    )
    return memory.download(arguments[-1], shape, dtype), counters


def test_traffic_of_vectors_and_strides() -> None:
    x = np.arange(128, dtype=np.float32)
    copy = """mad.wide.u32 %p0, %t, 16, %i0; mad.wide.u32 %p1, %t, 16, %o;
    ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%p0]; st.global.v4.f32 [%p1], {%f0, %f1, %f2, %f3};"""
    found, counters = run(copy, [x], (128,), np.float32)
    assert np.array_equal(found, x)
    assert (counters.global_read_bytes, counters.global_read_sectors) == (512, 16) and counters.full_sectors
    assert counters.instructions["ld.global.v4.f32"] == 1 and counters.global_requests == 2
    strided = """mad.wide.u32 %p0, %t, 16, %i0; mad.wide.u32 %p1, %t, 4, %o;
    ld.global.f32 %f0, [%p0]; st.global.f32 [%p1], %f0;"""
    found, counters = run(strided, [x], (32,), np.float32)
    assert np.array_equal(found, x[::4])
    assert (counters.global_read_bytes, counters.global_read_sectors) == (128, 16) and not counters.full_sectors


def test_sectors_and_conflicts() -> None:
    lanes = np.arange(32)[None]
    assert requests(lanes * 4) == (1, 32, 4) and requests(lanes * 4 + 4) == (1, 32, 5)
    assert requests(lanes * 0) == (1, 1, 1)
    assert conflicts(lanes * 4, 4) == 0 and conflicts(lanes * 0, 4) == 0
    assert conflicts(lanes * 8, 4) == 1 and conflicts(lanes * 128, 4) == 31
    assert conflicts(lanes * 16, 16) == 0 and conflicts(lanes * 128, 16) == 4 * 7
    assert conflicts(lanes * 8, 8) == 0 and conflicts(lanes * 16, 8) == 2


RUN = """mad.wide.u32 %p0, %t, 4, %i0; mad.wide.u32 %p1, %t, 4, %o; setp.lt.u32 %q0, %t, 40;
    @%q0 bra IN; bra OUT;
    IN: ld.global.b32 %x0, [%p0]; mov.b32 %x2, 0; mov.b32 %x3, 0;
    fma.rn.f32 %x1, %x0, %x0, %x0; fma.rn.f32 %x2, %x0, %x0, %x2; fma.rn.f32 %x3, %x1, %x0, %x2;
    add.rn.f32 %x3, %x3, %x1; st.global.b32 [%p1], %x3;
    OUT:"""


def test_runs_of_one_instruction() -> None:
    """Two of three products are a run; the third needs what they make. Lanes that are elsewhere keep what they have."""
    x = np.arange(64, dtype=np.float32)
    found, counters = run(RUN, [x], (64,), np.float32, threads=64)
    assert np.array_equal(found[:40], (x * x * x + 3 * (x * x) + x)[:40]) and np.isnan(found[40:]).all()
    assert counters.instructions["fma.rn.f32"] == 3
    kernel = parse(kernel_text(RUN, 1)).kernel()
    products = [at for at, each in enumerate(kernel.instructions) if each.name == "fma.rn.f32"]
    assert [run_at(kernel, at) for at in products] == [2, 1, 1]


SEQUENCE = """mad.wide.u32 %p1, %t, 4, %o; mov.u32 %x0, 0; mov.u32 %x1, 1; setp.ge.u32 %q0, %t, 40; @%q0 bra ONE;
    add.u32 %x0, %x0, 2; mul.lo.u32 %x1, %x1, 3;
    ONE: add.u32 %x1, %x1, %x0; shl.b32 %x1, %x1, 1; sub.u32 %x2, %x1, %t; setp.lt.s32 %q1, %x2, 0;
    @%q1 bra ONE; st.global.b32 [%p1], %x1;"""


@pytest.mark.parametrize(("late", "seed"), [(False, 0), (True, 0), (True, 1)])
def test_arithmetic_is_one_step_that_lanes_enter_where_they_branch_to(late: bool, seed: int) -> None:
    wanted = np.zeros(64, np.uint32)
    for thread in range(64):
        more, found = (0, 1) if thread >= 40 else (2, 3)
        found = 2 * (found + more)
        while found < thread:
            found = 2 * (found + more)
        wanted[thread] = found
    result, counters = run(SEQUENCE, [], (64,), np.uint32, threads=64, late=late, seed=seed)
    assert np.array_equal(result, wanted)
    counts = [counters.instructions[name] for name in ("add.u32", "shl.b32", "sub.u32", "setp.lt.s32", "mul.lo.u32")]
    assert counts[0] == counts[1] + counts[4] and counts[1:4] == [counts[1]] * 3 and counts[1] > counts[4] > 0


def test_some_lanes_of_some_warps() -> None:
    lanes = np.array([0, 1, 5, 64, 65, 66, 67])
    rows = by_warps(lanes * 128, lanes, 80)
    assert rows.shape == (3, 32) and np.count_nonzero(rows >= 0) == 7
    assert requests(rows) == (2, 7, 7)
    assert conflicts(rows, 4) == 2 + 3 and conflicts(rows, 16) == 2 + 3


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("mad.wide.u32 %p0, %t, 4, %i0; ld.global.f32 %f0, [%p0+4];", "reads 4 bytes at 128 of 'in0', which has 128"),
        ("mad.wide.u32 %p0, %t, 4, %i0; ld.global.f32 %f0, [%p0+-4];", "reads 4 bytes at -?[0-9]+ of"),
        ("mad.wide.u32 %p0, %t, 4, %i0; ld.global.f32 %f0, [%p0+2];", "misaligned"),
        ("mov.u32 %x0, smem; ld.shared.u32 %x1, [%x0+64];", "reads 4 bytes at 64 of shared memory"),
        ("mov.u64 %p0, 16; ld.u32 %x1, [%p0];", "lies in no space"),
    ],
)
def test_bounds(address: str, told: str) -> None:
    with pytest.raises(LaminaError, match=told):
        run(address, [np.zeros(32, np.float32)], (1,), np.float32, shared=64)


def test_uninitialised_shared_memory_is_no_number() -> None:
    lines = "mov.u32 %x0, smem; ld.shared.f32 %f0, [%x0]; mad.wide.u32 %p0, %t, 4, %o; st.global.f32 [%p0], %f0;"
    assert np.isnan(run(lines, [], (32,), np.float32, shared=128)[0]).all()


SUM = """mad.wide.u32 %p0, %t, 4, %i0; ld.global.f32 %f0, [%p0];
{steps}
setp.ne.u32 %q0, %t, 0; @%q0 bra END; st.global.f32 [%o], %f0; END:"""


@pytest.mark.parametrize("mode", ["bfly", "down"])
def test_sums_by_shuffles(mode: str) -> None:
    x = np.arange(32, dtype=np.float32)
    steps = "".join(f"shfl.sync.{mode}.b32 %f1, %f0, {n}, 31, -1; add.f32 %f0, %f0, %f1;\n" for n in (16, 8, 4, 2, 1))
    assert run(SUM.format(steps=steps), [x], (1,), np.float32)[0] == [x.sum()]


def test_shuffles_within_segments() -> None:
    store = "mad.wide.u32 %p0, %t, 4, %o; st.global.u32 [%p0], %x1;"
    lanes = np.arange(32)
    up = run(f"shfl.sync.up.b32 %x1|%q0, %t, 1, {24 << 8}, -1; {store}", [], (32,), np.uint32)[0]
    assert up.tolist() == [lane if lane % 8 == 0 else lane - 1 for lane in lanes]
    idx = run(f"shfl.sync.idx.b32 %x1, %t, 3, {24 << 8 | 7}, -1; {store}", [], (32,), np.uint32)[0]
    assert idx.tolist() == [lane // 8 * 8 + 3 for lane in lanes]


def test_votes_and_reductions() -> None:
    store = "mad.wide.u32 %p0, %t, 4, %o; st.global.u32 [%p0], %x1;"
    odd = "and.b32 %x0, %t, 1; setp.ne.u32 %q0, %x0, 0;"
    ballot = run(f"{odd} vote.sync.ballot.b32 %x1, %q0, -1; {store}", [], (32,), np.uint32)[0]
    assert set(ballot.tolist()) == {0xAAAAAAAA}
    anyone = run(f"{odd} vote.sync.any.pred %q1, %q0, -1; selp.u32 %x1, 1, 0, %q1; {store}", [], (32,), np.uint32)[0]
    assert set(anyone.tolist()) == {1}
    assert set(run(f"redux.sync.max.u32 %x1, %t, -1; {store}", [], (32,), np.uint32)[0].tolist()) == {31}
    assert set(run(f"redux.sync.add.s32 %x1, %t, -1; {store}", [], (32,), np.uint32)[0].tolist()) == {496}


def test_atomics() -> None:
    lines = (
        "mov.u32 %x0, 3; atom.global.add.u32 %x1, [%i0], %x0; mad.wide.u32 %p0, %t, 4, %o; st.global.u32 [%p0], %x1;"
    )
    assert sorted(run(lines, [np.zeros(1, np.uint32)], (32,), np.uint32)[0].tolist()) == list(range(0, 96, 3))
    lines = "red.global.max.s32 [%i0], %t; bar.sync 0; ld.global.u32 %x1, [%i0]; st.global.u32 [%o], %x1;"
    assert run(lines, [np.array([-5], np.int32)], (1,), np.int32, threads=96)[0].tolist() == [95]
    lines = "atom.global.cas.b32 %x1, [%i0], 7, %t; ld.global.u32 %x2, [%i0]; st.global.u32 [%o], %x2;"
    assert run(lines, [np.array([7], np.uint32)], (1,), np.uint32, threads=1)[0].tolist() == [0]


EXCHANGE = """mov.u32 %x0, smem; shl.b32 %x1, %t, 2; add.u32 %x2, %x0, %x1; st.shared.u32 [%x2], %t;
{barrier}
xor.b32 %x3, %x1, 252; add.u32 %x3, %x3, %x0; ld.shared.u32 %x4, [%x3];
mad.wide.u32 %p0, %t, 4, %o; st.global.u32 [%p0], %x4;"""


def test_a_missing_barrier_between_warps_is_found_late() -> None:
    how = dict(threads=64, shared=256)
    expected = [t ^ 63 for t in range(64)]
    for seed in range(5):
        good = run(EXCHANGE.format(barrier="bar.sync 0;"), [], (64,), np.uint32, late=True, seed=seed, **how)[0]
        assert good.tolist() == expected
    wrong = [
        run(EXCHANGE.format(barrier=""), [], (64,), np.uint32, late=True, seed=seed, **how)[0].tolist() != expected
        for seed in range(5)
    ]
    assert any(wrong)


COPY = """mov.u32 %x0, smem; shl.b32 %x1, %t, 4; add.u32 %x2, %x0, %x1; mad.wide.u32 %p0, %t, 16, %i0;
{size} cp.async.cg.shared.global [%x2], [%p0], 16{given}; cp.async.commit_group; {wait}
ld.shared.v4.u32 {{%x3, %x4, %x5, %x6}}, [%x2]; mad.wide.u32 %p1, %t, 16, %o;
st.global.v4.u32 [%p1], {{%x3, %x4, %x5, %x6}};"""


# Warps hand a number on and on through shared memory, in block i as often as i + 1 times.
IN_TURN = """mov.u32 %x0, %ctaid.x; mov.u32 %x1, smem; mad.lo.u32 %x2, %t, 4, %x1; xor.b32 %x3, %t, 32;
    mad.lo.u32 %x4, %x3, 4, %x1; mad.lo.u32 %x5, %x0, 100, %t; mov.u32 %x6, 0;
    $again: bar.sync 0; st.shared.u32 [%x2], %x5; bar.sync 0; ld.shared.u32 %x5, [%x4]; add.u32 %x6, %x6, 1;
    setp.le.u32 %q0, %x6, %x0; @%q0 bra $again;
    mad.lo.u32 %x7, %x0, 64, %t; mad.wide.u32 %p1, %x7, 4, %o; st.global.u32 [%p1], %x5;"""


@pytest.mark.parametrize("late", [False, True])
def test_blocks_that_step_together_meet_each_on_its_own(late: bool) -> None:
    for seed in range(5 if late else 1):
        found, _ = run(IN_TURN, [], (5, 64), np.uint32, threads=64, shared=256, grid=(5, 1, 1), late=late, seed=seed)
        threads = np.arange(64)
        assert all(np.array_equal(row, i * 100 + (threads if i % 2 else threads ^ 32)) for i, row in enumerate(found))
    early = IN_TURN.replace("$again: bar.sync 0;", "$again:", 1)  # the next number may come before the last is read
    right = 400 + (np.arange(64) ^ 32)
    wrong = [
        run(early, [], (5, 64), np.uint32, threads=64, shared=256, grid=(5, 1, 1), late=True, seed=seed)[0][4]
        for seed in range(5)
    ]
    assert any(not np.array_equal(each, right) for each in wrong)


# Warps load a matrix and multiply, in block i as often as i + 1 times; with a hole, a lane of theirs does not.
PRODUCTS = """mov.u32 %x0, %ctaid.x; mov.u32 %x1, smem; mad.lo.u32 %x2, %t, 4, %x1; st.shared.u32 [%x2], %t; bar.sync 0;
    and.b32 %x3, %t, 7; mad.lo.u32 %x3, %x3, 16, %x1; mov.u32 %x4, 0; mov.u32 %x5, 0; mov.u32 %x6, 0x3F803F80;
    mov.b32 %f0, 0f00000000; mov.b32 %f1, %f0; mov.b32 %f2, %f0; mov.b32 %f3, %f0;
    $again: {hole}
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%x7}}, [%x3]; add.u32 %x5, %x5, %x7;
    mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
        {{%f0, %f1, %f2, %f3}}, {{%x6, %x6, %x6, %x6}}, {{%x6, %x6}}, {{%f0, %f1, %f2, %f3}};
    $after: add.u32 %x4, %x4, 1; setp.le.u32 %q0, %x4, %x0; @%q0 bra $again;
    cvt.rzi.u32.f32 %x8, %f0; mad.lo.u32 %x5, %x8, 1000, %x5;
    mad.lo.u32 %x9, %x0, 64, %t; mad.wide.u32 %p1, %x9, 4, %o; st.global.u32 [%p1], %x5;"""


@pytest.mark.parametrize("late", [False, True])
def test_blocks_that_step_together_multiply_each_as_often_as_it_does(late: bool) -> None:
    how = dict(threads=64, shared=256, grid=(5, 1, 1), late=late, seed=1)
    found, _ = run(PRODUCTS.format(hole=""), [], (5, 64), np.uint32, **how)
    once = np.arange(64) % 32 + 16 * 1000
    assert all(np.array_equal(row, (i + 1) * once) for i, row in enumerate(found))
    hole = "setp.eq.u32 %q1, %t, 5; @%q1 bra $after;"
    with pytest.raises(LaminaError, match="not all threads of the warp execute this together"):
        run(PRODUCTS.format(hole=hole), [], (5, 64), np.uint32, **how)


@pytest.mark.parametrize("where", [256, 252 + 1024, 1 << 20])
def test_shared_memory_of_blocks_that_step_together_has_bounds(where: int) -> None:
    last = f"""mov.u32 %x0, %ctaid.x; mov.u32 %x1, smem; mad.lo.u32 %x2, %t, 4, %x1; setp.eq.u32 %q0, %x0, 3;
    @%q0 add.u32 %x2, %x2, {where - 124}; st.shared.u32 [%x2], %t;"""
    with pytest.raises(LaminaError, match=r"of shared memory of block .* which has 256"):
        run(last, [], (1,), np.uint32, shared=256, grid=(5, 1, 1))
    run(last.replace(f"{where - 124}", "128"), [], (1,), np.uint32, shared=256, grid=(5, 1, 1))


def test_copies_by_threads() -> None:
    x = np.arange(128, dtype=np.uint32)
    how = dict(shared=512)
    wait = "cp.async.wait_group 0;"
    assert np.array_equal(
        run(COPY.format(size="", given="", wait=wait), [x], (128,), np.uint32, late=True, **how)[0], x
    )
    assert not np.array_equal(
        run(COPY.format(size="", given="", wait=""), [x], (128,), np.uint32, late=True, **how)[0], x
    )
    part = "and.b32 %x7, %t, 1; shl.b32 %x7, %x7, 3;"  # 8 bytes of every second, none of the others
    found = run(COPY.format(size=part, given=", %x7", wait=wait), [x], (128,), np.uint32, **how)[0]
    expected = np.where(np.arange(128) // 4 % 2 * (np.arange(128) % 4 < 2), x, 0)
    assert np.array_equal(found, expected)


ARRIVE = """mov.u32 %x0, smem; shl.b32 %x1, %t, 4; add.u32 %x2, %x0, %x1; mad.wide.u32 %p0, %t, 16, %i0;
    setp.ne.u32 %q0, %t, 0; @%q0 bra $ready; mbarrier.init.shared.b64 [%x0+1024], {count}; $ready: bar.sync 0;
    cp.async.cg.shared.global [%x2], [%p0], 16; {arrive} [%x0+1024];
    $again: mbarrier.try_wait.parity.shared.b64 %q1, [%x0+1024], 0; @!%q1 bra $again;
    xor.b32 %x3, %t, 32; shl.b32 %x3, %x3, 4; add.u32 %x3, %x0, %x3; ld.shared.v4.u32 {{%x4, %x5, %x6, %x7}}, [%x3];
    mad.wide.u32 %p1, %t, 16, %o; st.global.v4.u32 [%p1], {{%x4, %x5, %x6, %x7}};"""
BEHIND = "cp.async.mbarrier.arrive{how}.shared.b64"


def test_arrivals_behind_copies() -> None:
    """Of two warps, each of which reads what the other one copied."""
    x = np.arange(256, dtype=np.uint32)

    def arrived(count: int, arrive: str, seed: int) -> bool:
        lines = ARRIVE.format(count=count, arrive=arrive)
        found = run(lines, [x], (64, 4), np.uint32, threads=64, shared=1032, late=True, seed=seed)[0]
        return np.array_equal(found, x.reshape(2, 32, 4)[::-1].reshape(64, 4))

    noinc, plain = BEHIND.format(how=".noinc"), BEHIND.format(how="")
    assert all(arrived(64, noinc, seed) for seed in range(5))
    assert not all(arrived(64, "mbarrier.arrive.shared.b64 %p2,", seed) for seed in range(5))
    assert all(arrived(64, f"{plain} [%x0+1024]; mbarrier.arrive.shared.b64 %p2,", seed) for seed in range(5))
    with pytest.raises(LaminaError, match="deadlock"):
        arrived(64, plain, 0)
    with pytest.raises(LaminaError, match="deadlock"):
        arrived(65, noinc, 0)


@pytest.mark.parametrize(("kind", "dtype", "depth"), [("bf16", ml_dtypes.bfloat16, 16), ("f16", np.float16, 16)])
def test_matrix_product(kind: str, dtype: Any, depth: int) -> None:
    """A [16, 16] row by row and B [8, 16], as [columns, depth], through shared memory and ldmatrix."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((16, depth)).astype(dtype), rng.standard_normal((8, depth)).astype(dtype)
    lines = f"""mov.u32 %x0, smem; mad.wide.u32 %p0, %t, 16, %i0; shl.b32 %x1, %t, 4; add.u32 %x1, %x1, %x0;
    cp.async.cg.shared.global [%x1], [%p0], 16; cp.async.wait_all;
    setp.ge.u32 %q0, %t, 16; @%q0 bra READY;
    mad.wide.u32 %p0, %t, 16, %i1; cp.async.cg.shared.global [%x1+512], [%p0], 16; cp.async.wait_all;
READY: bar.warp.sync -1;
    and.b32 %x2, %t, 15; shl.b32 %x2, %x2, 5; shr.u32 %x3, %t, 4; shl.b32 %x3, %x3, 4; add.u32 %x2, %x2, %x3;
    add.u32 %x2, %x2, %x0; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%x4, %x5, %x6, %x7}}, [%x2];
    and.b32 %x2, %t, 7; shl.b32 %x2, %x2, 5; shr.u32 %x3, %t, 3; and.b32 %x3, %x3, 1; shl.b32 %x3, %x3, 4;
    add.u32 %x2, %x2, %x3; add.u32 %x2, %x2, %x0;
    ldmatrix.sync.aligned.m8n8.x2.shared.b16 {{%x8, %x9}}, [%x2+512];
    mov.b32 %x10, 0x3F800000; mov.b32 %x11, %x10; mov.b32 %x12, %x10; mov.b32 %x13, %x10;
    mov.b32 %x14, %x10; mov.b32 %x15, %x10; mov.b32 %x16, %x10; mov.b32 %x17, %x10;
    mma.sync.aligned.m16n8k16.row.col.f32.{kind}.{kind}.f32
      {{%x10, %x11, %x12, %x13}}, {{%x4, %x5, %x6, %x7}}, {{%x8, %x9}}, {{%x10, %x11, %x12, %x13}};
    mma.sync.aligned.m16n8k16.row.col.f32.{kind}.{kind}.f32
      {{%x14, %x15, %x16, %x17}}, {{%x4, %x5, %x6, %x7}}, {{%x8, %x9}}, {{%x14, %x15, %x16, %x17}};
    mma.sync.aligned.m16n8k16.row.col.f32.{kind}.{kind}.f32
      {{%x10, %x11, %x12, %x13}}, {{%x4, %x5, %x6, %x7}}, {{%x8, %x9}}, {{%x10, %x11, %x12, %x13}};
    shr.u32 %x2, %t, 2; and.b32 %x3, %t, 3; shl.b32 %x2, %x2, 5; shl.b32 %x3, %x3, 3; add.u32 %x2, %x2, %x3;
    cvt.u64.u32 %p1, %x2; add.u64 %p1, %p1, %o;
    st.global.v2.b32 [%p1], {{%x10, %x11}}; st.global.v2.b32 [%p1+256], {{%x12, %x13}};
    st.global.v2.b32 [%p1+512], {{%x14, %x15}}; st.global.v2.b32 [%p1+768], {{%x16, %x17}};"""
    found, counters = run(lines, [a, b], (2, 16, 8), np.float32, shared=1024)
    product = a.astype(np.float64) @ b.astype(np.float64).T
    once = (product + 1).astype(np.float32)
    np.testing.assert_array_equal(found, [(product + once).astype(np.float32), once])
    kernel = parse(kernel_text(lines, 2)).kernel()
    products = [at for at, each in enumerate(kernel.instructions) if each.opcode[0] == "mma"]
    assert [run_at(kernel, at) for at in products] == [2, 2, 1]  # the third needs what the first makes
    assert counters.instructions["bar.warp.sync"] == 1


def test_arguments() -> None:
    kernel = parse(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u32 n)\n.maxntid 64\n{ ret; }"
    )
    how: dict[str, Any] = {"grid": (1, 1, 1), "memory": GlobalMemory(1 << 12)}
    with pytest.raises(LaminaError, match="2 arguments, it takes 1"):
        launch(kernel.kernel(), [1, 2], block=(32, 1, 1), **how)
    with pytest.raises(LaminaError, match="96 threads, compiled for at most 64"):
        launch(kernel.kernel("k"), [1], block=(96, 1, 1), **how)
    with pytest.raises(LaminaError, match="no kernel 'j'"):
        kernel.kernel("j")
