"""Loads and stores of each width, copies that go on by themselves, atomics, and the barriers that count arrivals."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ....compiler.signature import Array
from .cases import THREADS, Case
from .operands import LANES, crossed, dtype_of, is_float, random

_VECTORS = {"b8": (1, 2, 4), "b16": (1, 2, 4), "b32": (1, 2, 4), "b64": (1, 2)}  # elements: 16 bytes at most
_EXTENDED = {"s8": "b32", "u8": "b32", "s16": "b32", "u16": "b32", "s32": "b64", "u32": "b64"}  # and the register


def cases() -> Iterator[Case]:
    """All of them."""
    for space in ("global", "global.nc", "shared"):
        for kind, counts in _VECTORS.items():
            for count in counts:
                yield _load(space, kind, count, "b16" if kind == "b8" else kind)
        for kind, register in _EXTENDED.items():
            yield _load(space, kind, 1, register)
    for space in ("global", "shared"):
        for kind, counts in _VECTORS.items():
            for count in counts:
                yield _store(space, kind, count)
    yield from _copies()
    yield from _atomics()
    yield _barrier()


def _form(opcode: str, kind: str, count: int) -> str:
    return f"{opcode}{f'.v{count}' if count > 1 else ''}.{kind}"


def _braced(names: list[str]) -> str:
    return f"{{{', '.join(names)}}}" if len(names) > 1 else names[0]


def _size(kind: str) -> int:
    return int(kind[1:]) // 8


def _elsewhere(rng: np.random.Generator, lanes: int) -> Array:
    """For each thread the number of another of its block; several may name the same one."""
    return (np.arange(lanes) // THREADS * THREADS + rng.integers(0, THREADS, lanes)).astype(np.uint32)


def _load(space: str, kind: str, count: int, register: str) -> Case:
    """Each thread loads what another one has, 16 bytes of which lie in a row."""
    form = _form(f"ld.{space}", kind, count)
    results = tuple([register] * count)
    loaded = f"{form} {_braced([f'%d{i}' for i in range(count)])}, [%y0+{16 - _size(kind) * count}];"
    if space == "shared":
        body = f"""
            mov.u64 %y0, room; mad.wide.u32 %y0, %n, 16, %y0;
            mad.wide.u32 %y1, %t, 16, %i1; ld.global.v4.b32 {{%x0, %x1, %x2, %x3}}, [%y1];
            st.shared.v4.b32 [%y0], {{%x0, %x1, %x2, %x3}}; bar.sync 0;
            and.b32 %x4, %a0, {THREADS - 1}; mov.u64 %y0, room; mad.wide.u32 %y0, %x4, 16, %y0; {loaded}"""
    else:
        body = f"mad.wide.u32 %y0, %a0, 16, %i1; {loaded}"
    shared = 16 * THREADS if space == "shared" else 0
    return Case(form, body, ("b32", *["b32"] * 4), results, _table, shared=shared)


def _table(rng: np.random.Generator) -> list[Array]:
    """Another thread's number, and four words a thread, which lie in a row whichever thread they are given to."""
    return [_elsewhere(rng, LANES), *(random("b32", LANES, rng) for _ in range(4))]


def _store(space: str, kind: str, count: int) -> Case:
    """Each thread stores what it has where another one's results are; what lies around it stays."""
    form, size = _form(f"st.{space}", kind, count), _size(kind) * count
    register = "b16" if kind == "b8" else kind
    inputs = ("b32", *[register] * count)
    value = _braced([f"%a{i + 1}" for i in range(count)])
    clear = "mov.b32 %x0, 0x5A5A5A5A;"
    if space == "shared":
        body = f"""
            {clear} mov.u64 %y0, room; mad.wide.u32 %y0, %n, 16, %y0;
            st.shared.v4.b32 [%y0], {{%x0, %x0, %x0, %x0}}; bar.sync 0;
            and.b32 %x4, %a0, {THREADS - 1}; mov.u64 %y1, room; mad.wide.u32 %y1, %x4, 16, %y1;
            {form} [%y1+{16 - size}], {value}; bar.sync 0;
            ld.shared.v4.b32 {{%d0, %d1, %d2, %d3}}, [%y0];"""
        return Case(form, body, inputs, ("b32",) * 4, partial(_scattered, inputs), shared=16 * THREADS)
    body = f"""
        {clear} mad.wide.u32 %y0, %t, 16, %o0; st.global.v4.b32 [%y0], {{%x0, %x0, %x0, %x0}}; bar.sync 0;
        mad.wide.u32 %y1, %a0, 16, %o0; {form} [%y1+{16 - size}], {value};"""
    return Case(form, body, inputs, ("b32",) * 4, partial(_scattered, inputs), stores=True)


def _scattered(inputs: tuple[str, ...], rng: np.random.Generator) -> list[Array]:
    """A place for each thread of a block, and what goes there."""
    places = [rng.permutation(THREADS) + start for start in range(0, LANES, THREADS)]
    return [np.concatenate(places).astype(np.uint32), *(random(kind, LANES, rng) for kind in inputs[1:])]


def _copies() -> Iterator[Case]:
    """cp.async: all of 4, 8 or 16 bytes, or some and zeros; groups that are waited for one after the other."""
    groups = ("cp.async.commit_group", "cp.async.wait_group")
    for cache, size in (("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)):
        form = f"cp.async.{cache}.shared.global"
        clear = "mov.b32 %x0, 0x5A5A5A5A;"
        copy = f"{form} [%y0+{16 - size}], [%y2+{16 - size}], {size}"
        alone = cache == "cg"  # waits without a group
        waits = "cp.async.wait_all;" if alone else "cp.async.commit_group; cp.async.wait_group 0;"
        more = (*groups, "cp.async.wait_all") if alone else groups
        body = f"""
            {clear} mov.u64 %y0, room; mad.wide.u32 %y0, %n, 32, %y0; add.s64 %y1, %y0, 16;
            st.shared.v4.b32 [%y0], {{%x0, %x0, %x0, %x0}}; st.shared.v4.b32 [%y1], {{%x0, %x0, %x0, %x0}};
            mad.wide.u32 %y2, %a0, 16, %i2; bar.sync 0;
            {copy}; cp.async.commit_group; add.s64 %y0, %y0, 16; {copy}, %a1;
            cp.async.wait_group 0; {waits} bar.sync 0;
            xor.b32 %x5, %n, 37; mov.u64 %y0, room; mad.wide.u32 %y0, %x5, 32, %y0;
            ld.shared.v4.b32 {{%d0, %d1, %d2, %d3}}, [%y0]; ld.shared.v4.b32 {{%d4, %d5, %d6, %d7}}, [%y0+16];"""
        draw = partial(_part_of_rows, size)
        inputs = ("b32", "b32", *["b32"] * 4)
        note = f"{size} bytes"
        yield Case(form, body, inputs, ("b32",) * 8, draw, note, more, shared=32 * THREADS)


def _part_of_rows(size: int, rng: np.random.Generator) -> list[Array]:
    """Another thread's number, how many bytes of its row count, and the rows."""
    some = rng.integers(0, size + 1, LANES).astype(np.uint32)
    return [_elsewhere(rng, LANES), some, *_table(rng)[1:]]


_ATOMIC = {
    "add": "u32 s32 u64 f32", "min": "u32 s32", "max": "u32 s32", "and": "b32", "or": "b32", "xor": "b32",
    "exch": "b32 b64", "inc": "u32",
}  # fmt: skip


def _atomics() -> Iterator[Case]:
    """On a place of each thread's own, so that no order matters; `red` on one that threads of a warp share."""
    for space in ("global", "shared"):
        for operation, kinds in _ATOMIC.items():
            for kind in kinds.split():
                yield _atomic(space, operation, kind, ("%a1",))
        for kind in ("b32", "b64"):
            yield _atomic(space, "cas", kind, ("%a1", "%a2"))
        for operation, kind in (("add", "u32"), ("max", "s32"), ("or", "b32")):
            yield _reduction(space, operation, kind)


def _place(space: str, kind: str, who: str) -> str:
    base = "room" if space == "shared" else "%o0"
    thread = "%n" if space == "shared" else "%t"
    return f"mov.u64 %y0, {base}; {who.format(thread=thread)} mad.wide.u32 %y0, %x0, {dtype_of(kind).itemsize}, %y0;"


def _atomic(space: str, operation: str, kind: str, operands: tuple[str, ...]) -> Case:
    form = f"atom.{space}.{operation}.{kind}"
    width = dtype_of(kind).itemsize
    body = f"""
        {_place(space, kind, "mov.b32 %x0, {thread};")} st.{space}.b{8 * width} [%y0], %a0;
        {form} %y1, [%y0], {", ".join(operands)}; ld.{space}.b{8 * width} %y2, [%y0];
        mad.wide.u32 %y3, %t, {width}, %o0; st.global.b{8 * width} [%y3], %y2;
        mad.wide.u32 %y3, %t, {width}, %o1; st.global.b{8 * width} [%y3], %y1;""".replace(
        "%y1", "%y1" if width == 8 else "%x1"
    ).replace("%y2", "%y2" if width == 8 else "%x2")
    inputs = (kind,) * (1 + len(operands))
    draw = partial(_compared, kind) if operation == "cas" else partial(_finite, kind) if is_float(kind) else None
    return Case(form, body, inputs, (kind, kind), draw, shared=8 * THREADS if space == "shared" else 0, stores=True)


def _compared(kind: str, rng: np.random.Generator) -> list[Array]:
    """What is there, what it is compared with, which is the same in half of the threads, and what comes there."""
    old, other, new = crossed((kind,) * 3, rng)
    return [old, np.where(rng.integers(0, 2, LANES) == 1, old, other), new]


def _finite(kind: str, rng: np.random.Generator) -> list[Array]:
    """No subnormal numbers: atomic sums in global memory have none."""
    found = crossed((kind,) * 2, rng)
    least = np.finfo(dtype_of(kind)).tiny
    with np.errstate(all="ignore"):
        for array in found:
            array[np.abs(array) < least * 2**24] = 0
    return found


def _reduction(space: str, operation: str, kind: str) -> Case:
    form = f"red.{space}.{operation}.{kind}"
    start = "mov.b32 %x1, 0;" if operation != "max" else "mov.b32 %x1, 0x80000000;"
    shares = "mov.b32 %x0, {thread}; and.b32 %x0, %x0, 0xFFFFFFE0;"
    body = f"""
        {_place(space, kind, "mov.b32 %x0, {thread};")} {start} st.{space}.b32 [%y0], %x1; bar.sync 0;
        {_place(space, kind, shares)} {form} [%y0], %a0; bar.sync 0;
        {_place(space, kind, "mov.b32 %x0, {thread};")} ld.{space}.b32 %x2, [%y0];
        mad.wide.u32 %y3, %t, 4, %o0; st.global.b32 [%y3], %x2;"""
    return Case(form, body, (kind,), (kind,), shared=4 * THREADS if space == "shared" else 0, stores=True)


def _barrier() -> Case:
    """A barrier in shared memory that threads arrive at, by themselves and behind their copies; two phases."""
    wait = """
{label}: mbarrier.try_wait.parity.shared.b64 %q0, [room+4096], {parity};
        @!%q0 bra {label};"""
    body = f"""
        setp.ne.u32 %q1, %n, 0; mov.u32 %x0, {THREADS}; mov.u32 %x1, 1; mov.u64 %y0, room; add.s64 %y1, %y0, 4096;
        @%q1 bra READY;
        mbarrier.init.shared.b64 [room+4096], %x0; fence.mbarrier_init.release.cluster;
READY:  bar.sync 0;
        mad.wide.u32 %y2, %n, 16, %y0; mad.wide.u32 %y3, %t, 16, %i0;
        cp.async.cg.shared.global [%y2], [%y3], 16; cp.async.mbarrier.arrive.noinc.shared.b64 [%y1];
        {wait.format(label="FIRST", parity=0)}
        xor.b32 %x2, %n, 85; mad.wide.u32 %y4, %x2, 16, %y0; ld.shared.v4.b32 {{%d0, %d1, %d2, %d3}}, [%y4];
        mad.wide.u32 %y2, %n, 4, %y0; st.shared.b32 [%y2+2048], %a0;
        mbarrier.arrive.shared.b64 %y5, [%y1], %x1;
        {wait.format(label="SECOND", parity=1)}
        mad.wide.u32 %y4, %x2, 4, %y0; ld.shared.b32 %d4, [%y4+2048];"""
    covers = (
        "mbarrier.init.shared.b64", "mbarrier.try_wait.parity.shared.b64", "fence.mbarrier_init.release.cluster",
        "cp.async.mbarrier.arrive.noinc.shared.b64",
    )  # fmt: skip
    return Case(
        "mbarrier.arrive.shared.b64",
        body,
        ("b32",) * 4,
        ("b32",) * 5,
        covers=covers,
        since="sm_90a",
        shared=4096 + 8,
    )
