"""What threads of a warp, a block or a warpgroup do together: shuffles, votes, barriers, matrices, branches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from ....compiler.signature import Array
from .cases import THREADS, Case
from .operands import LANES, random

FEW = 1024  # lanes where each case is slow
WARP = 32
_CUT = 2.0**-23  # how much of the largest term each term of a sum may lose in a tensor core
_KINDS = {"bf16": 16, "f16": 16, "tf32": 32}  # bits of a factor in a register
_LEFT, _IMAGE = 8 << 10, 40 << 10  # bytes of shared memory: of A, and of A and B, that products of warpgroups take


def cases() -> Iterator[Case]:
    """All of them."""
    yield from _shuffles()
    yield from _votes()
    yield from _barriers()
    yield from _branches()
    yield from _transfers()
    for kind, depth in (("bf16", 8), ("bf16", 16), ("f16", 8), ("f16", 16), ("tf32", 4), ("tf32", 8)):
        yield _product(kind, depth, exact=True)
        yield _product(kind, depth, exact=False)
    for kind in ("bf16", "f16"):
        for columns in _COLUMNS:
            yield _warpgroup(kind, columns, "128 bytes")
        for layout in _LAYOUTS:
            if layout != "128 bytes":
                yield _warpgroup(kind, 128, layout)
        yield _warpgroup(kind, 64, "128 bytes", held=True)
        yield _warpgroup(kind, 64, "128 bytes", exact=False)


def _shuffles() -> Iterator[Case]:
    """Any lane of the warp, and of segments of it; the predicate tells who was in reach."""
    for mode in ("idx", "bfly", "up", "down"):
        for segment in (32, 8):
            bounds = (WARP - segment) << 8 | (0 if mode == "up" else 31)
            form = f"shfl.sync.{mode}.b32"
            body = f"{form} %d0|%d1, %a0, %a1, {bounds}, -1; {form} %d2, %a0, 3, {bounds}, -1;"
            note = "" if segment == WARP else f"segments of {segment}"
            yield Case(form, body, ("b32", "b32"), ("b32", "pred", "b32"), _of_lanes, note)


def _of_lanes(rng: np.random.Generator) -> list[Array]:
    return [random("b32", LANES, rng), rng.integers(0, WARP, LANES).astype(np.uint32)]


def _votes() -> Iterator[Case]:
    """What a warp is of one mind about, and what its threads have together."""
    for mode, result in (("all", "pred"), ("any", "pred"), ("uni", "pred"), ("ballot", "b32")):
        form = f"vote.sync.{mode}.{result}"
        yield Case(form, f"{form} %d0, %a0, -1;", ("pred",), (result,), _agreeing)
    yield Case("activemask.b32", "activemask.b32 %d0;", (), ("b32",))
    for operation in ("add", "min", "max"):
        for kind in ("s32", "u32"):
            form = f"redux.sync.{operation}.{kind}"
            yield Case(form, f"{form} %d0, %a0, -1;", (kind,), (kind,))
    for operation in ("and", "or", "xor"):
        form = f"redux.sync.{operation}.b32"
        yield Case(form, f"{form} %d0, %a0, -1;", ("b32",), ("b32",))


def _agreeing(rng: np.random.Generator) -> list[Array]:
    """Warps in which all say yes, none, or some."""
    truth = rng.integers(0, 2, (LANES // WARP, WARP))
    truth[::3], truth[1::3] = 0, 1
    return [truth.reshape(-1).astype(np.uint32)]


def _barriers() -> Iterator[Case]:
    """What is written before a barrier is there behind it; of some of the threads, and of a warp."""
    at = "mov.u64 %y0, room; mad.wide.u32 %y1, %n, 4, %y0; st.shared.b32 [%y1], %a0;"
    last = "mad.wide.u32 %y2, %x0, 4, %y0; ld.shared.b32 %d0, [%y2];"
    shared = 4 * THREADS
    yield Case("bar.sync", f"{at} bar.sync 0; xor.b32 %x0, %n, 127; {last}", ("b32",), ("b32",), shared=shared)
    half = THREADS // 2
    some = f"""
        {at} xor.b32 %x0, %n, 63; setp.lt.u32 %q0, %n, {half}; @%q0 bra LOWER;
        bar.sync 1, {half}; {last} bra.uni MEET;
        LOWER: bar.sync 2, {half}; {last}
        MEET: bar.sync 0;"""
    yield Case("bar.sync", some, ("b32",), ("b32",), note="of half of the threads", shared=shared)
    one_way = f"""
        mov.b32 %d0, %a0; mov.u64 %y0, room; mad.wide.u32 %y1, %n, 4, %y0; xor.b32 %x0, %n, 64;
        setp.lt.u32 %q0, %n, {half}; @%q0 bra GIVES;
        bar.sync 1, {THREADS}; mad.wide.u32 %y2, %x0, 4, %y0; ld.shared.b32 %d0, [%y2]; bra MEET;
        GIVES: st.shared.b32 [%y1], %a0; bar.arrive 1, {THREADS};
        MEET: bar.sync 0;"""
    yield Case("bar.arrive", one_way, ("b32",), ("b32",), shared=shared)
    warp = f"{at} bar.warp.sync -1; xor.b32 %x0, %n, 31; {last}"
    yield Case("bar.warp.sync", warp, ("b32",), ("b32",), shared=shared)


def _branches() -> Iterator[Case]:
    """A loop that each thread goes through another number of times, with two ways inside; a table of targets."""
    body = """
        and.b32 %x0, %a0, 15; mov.u32 %d0, 0; mov.u32 %x1, 0;
        LOOP: setp.ge.u32 %q0, %x1, %x0; @%q0 bra LEAVE;
        and.b32 %x2, %x1, 1; setp.eq.b32 %q1, %x2, 0; @%q1 bra EVEN;
        mad.lo.s32 %d0, %d0, 5, %a0; bra.uni NEXT;
        EVEN: xor.b32 %d0, %d0, %x1;
        NEXT: add.s32 %x1, %x1, 1; bra.uni LOOP;
        LEAVE: @!%q1 add.s32 %d0, %d0, 7;"""
    yield Case("bra", body, ("b32",), ("b32",), covers=("bra.uni",))
    table = """
        and.b32 %x0, %a0, 3;
        PLACES: .branchtargets ZERO, ONE, TWO, THREE;
        brx.idx %x0, PLACES;
        ZERO: mov.b32 %d0, 10; bra.uni DONE;
        ONE: mov.b32 %d0, 11; bra.uni DONE;
        TWO: mov.b32 %d0, 12; bra.uni DONE;
        THREE: mov.b32 %d0, 13;
        DONE: add.s32 %d0, %d0, %a0;"""
    yield Case("brx.idx", table, ("b32",), ("b32",))


def _transfers() -> Iterator[Case]:
    """Matrices of 16-bit elements, each row anywhere in what its warp has written."""
    for count in (1, 2, 4):
        for turned in ("", ".trans"):
            form = f"ldmatrix.sync.aligned.m8n8.x{count}{turned}.shared.b16"
            parts = ", ".join(f"%d{i}" for i in range(count))
            body = f"""
                mov.u64 %y0, room; mad.wide.u32 %y1, %n, 16, %y0;
                st.shared.v4.b32 [%y1], {{%a1, %a2, %a3, %a4}}; bar.sync 0;
                mad.wide.u32 %y2, %a0, 16, %y0; {form} {{{parts}}}, [%y2];"""
            inputs = ("b32",) * 5
            yield Case(form, body, inputs, ("b32",) * count, partial(_rows, 4), lanes=FEW, shared=16 * THREADS)
            form = f"stmatrix.sync.aligned.m8n8.x{count}{turned}.shared.b16"
            parts = ", ".join(f"%a{i + 1}" for i in range(count))
            body = f"""
                mov.b32 %x0, 0x5A5A5A5A; mov.u64 %y0, room; mad.wide.u32 %y1, %n, 16, %y0;
                st.shared.v4.b32 [%y1], {{%x0, %x0, %x0, %x0}}; bar.sync 0;
                mad.wide.u32 %y2, %a0, 16, %y0; {form} [%y2], {{{parts}}}; bar.sync 0;
                ld.shared.v4.b32 {{%d0, %d1, %d2, %d3}}, [%y1];"""
            inputs = ("b32",) * (1 + count)
            draw = partial(_rows, count)
            yield Case(form, body, inputs, ("b32",) * 4, draw, since="sm_90a", lanes=FEW, shared=16 * THREADS)


def _rows(count: int, rng: np.random.Generator) -> list[Array]:
    """For each thread of a block a row of another one, and words."""
    rows = np.concatenate([rng.permutation(THREADS) for _ in range(FEW // THREADS)])
    return [rows.astype(np.uint32), *(random("b32", FEW, rng) for _ in range(count))]


def _words(kind: str, values: Array) -> Array:
    """Registers that hold numbers of a type, neighbours first."""
    if kind == "tf32":
        return (values.astype(np.float32).view(np.uint32)) & np.uint32(0xFFFFE000)
    halves = random(kind, 1, np.random.default_rng(0)).dtype
    return np.ascontiguousarray(values.astype(halves)).view(np.uint32)


def _factors(kind: str, count: int, exact: bool, rng: np.random.Generator) -> Array:
    """Small integers, whose products and sums are exact in any order; or numbers between -1 and 1."""
    numbers = count * 32 // _KINDS[kind]
    return _words(kind, rng.integers(-8, 9, numbers) if exact else rng.uniform(-1, 1, numbers))


def _product(kind: str, depth: int, *, exact: bool) -> Case:
    """Two in a row, of which the second adds to the first."""
    form = f"mma.sync.aligned.m16n8k{depth}.row.col.f32.{kind}.{kind}.f32"
    count = 16 * depth * _KINDS[kind] // 32 // WARP
    a, b, c = (", ".join(f"%a{i}" for i in numbers) for numbers in _parts((count, count // 2, 4)))
    d = ", ".join(f"%d{i}" for i in range(4))
    body = f"{form} {{{d}}}, {{{a}}}, {{{b}}}, {{{c}}}; {form} {{{d}}}, {{{a}}}, {{{b}}}, {{{d}}};"
    inputs = (*["b32"] * (count + count // 2), *["f32"] * 4)
    draw = partial(_of_product, kind, count + count // 2, exact)
    bound = 0 if exact else _lost(2 * depth)
    note = "" if exact else "rounded"
    return Case(form, body, inputs, ("f32",) * 4, draw, note, lanes=FEW, absolute=bound)


def _lost(depth: int) -> float:
    """How far a sum of so many products of numbers up to 1, and of one such number, may be from the true one.

    Each term is cut off at _CUT of the largest sum, which is as large as all of them together.
    """
    return (depth + 1) * (depth + 1) * _CUT


def _parts(counts: Sequence[int]) -> Iterator[range]:
    """So many numbers each, one range behind the other."""
    start = 0
    for count in counts:
        yield range(start, start + count)
        start += count


def _of_product(kind: str, registers: int, exact: bool, rng: np.random.Generator) -> list[Array]:
    factors = [_factors(kind, FEW, exact, rng) for _ in range(registers)]
    sums = [rng.integers(-99, 99, FEW) if exact else rng.uniform(-1, 1, FEW) for _ in range(4)]
    return [*factors, *(values.astype(np.float32) for values in sums)]


_COLUMNS = (8, 16, 24, 32, 64, 96, 128, 160, 192, 256)
_LAYOUTS = {  # of a descriptor: leading, stride, the code of the swizzle, whether turned, bytes to the next 16 steps
    "no swizzle": (128, 256, 0, 0, 4096),
    "32 bytes": (16, 256, 3, 0, 4096),
    "64 bytes": (16, 512, 2, 0, 32),
    "128 bytes": (16, 1024, 1, 0, 32),
    "128 bytes, turned": (4096, 1024, 1, 1, 2048),
}


def _warpgroup(kind: str, columns: int, layout: str, *, held: bool = False, exact: bool = True) -> Case:
    """A product of what lies in shared memory as descriptors say, and one of what lies next to it added."""
    form = f"wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.{kind}.{kind}"
    leading, stride, code, turned, next_ = _LAYOUTS[layout]
    words = _IMAGE // 4 // THREADS
    sums = ", ".join(f"%d{i}" for i in range(columns // 2))
    descriptor = leading >> 4 << 16 | stride >> 4 << 32 | code << 62
    begin = f"{form} {{{sums}}}, {'{%a0, %a1, %a2, %a3}' if held else '%y2'}, %y3"
    flags = f"1, 1, {turned}" if held else f"1, 1, {turned}, {turned}"
    copies = " ".join(f"st.shared.b32 [%y0+{4 * THREADS * i}], %a{i};" for i in range(words))
    zeros = " ".join(f"mov.b32 %d{i}, 0f00000000;" for i in range(columns // 2))
    body = f"""
        mov.u64 %y0, room; mad.wide.u32 %y0, %n, 4, %y0; {copies} {zeros}
        fence.proxy.async.shared::cta; bar.sync 0;
        mov.u64 %y4, room; shr.u64 %y4, %y4, 4; or.b64 %y2, %y4, {descriptor:#x}; add.s64 %y3, %y2, {_LEFT >> 4};
        setp.eq.b32 %q0, %n, -1;
        wgmma.fence.sync.aligned;
        {begin}, %q0, {flags};
        add.s64 %y2, %y2, {next_ >> 4}; add.s64 %y3, %y3, {next_ >> 4}; not.pred %q0, %q0;
        {begin}, %q0, {flags};
        wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"""
    covers = (
        "fence.proxy.async.shared::cta", "wgmma.fence.sync.aligned", "wgmma.commit_group.sync.aligned",
        "wgmma.wait_group.sync.aligned",
    )  # fmt: skip
    note = layout + (", A in registers" if held else "") + ("" if exact else ", rounded")
    return Case(
        form,
        body,
        ("b32",) * words,
        ("f32",) * (columns // 2),
        partial(_image, kind, exact),
        note,
        covers,
        "sm_90a",
        THREADS,
        _IMAGE,
        absolute=0 if exact else _lost(32),
    )


def _image(kind: str, exact: bool, rng: np.random.Generator) -> list[Array]:
    return [_factors(kind, THREADS, exact, rng) for _ in range(_IMAGE // 4 // THREADS)]
