"""A test of one form of an instruction: a small kernel around it, operands, and how results are compared."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ....compiler.signature import Array
from .operands import LANES, crossed, dtype_of, halves_of, is_float

Draw = Callable[[np.random.Generator], list[Array]]
THREADS = 128  # of a block
HEADS = {"sm_80": "8.0", "sm_90a": "8.6"}  # the version of PTX that code for an architecture is written in
ALIGNMENT = 256  # of each array


@dataclass(frozen=True)
class Case:
    """One form: `body` finds a thread's operands in %a0, %a1 …, and leaves its results in %d0, %d1 …

    %n is the thread in its block, %t in the grid; %i0 … are where the operands of thread 0 lie, %o0 … where its
    results go. %h, %x, %y and %q are free for halves, words, double words and predicates, `room` is shared memory.
    """

    form: str
    body: str
    inputs: tuple[str, ...]
    results: tuple[str, ...]
    draw: Draw | None = None
    note: str = ""  # what is particular about it, where a form has several
    covers: tuple[str, ...] = ()  # further forms that it is the test of
    since: str = "sm_80"
    lanes: int = LANES
    shared: int = 0  # bytes
    stores: bool = False  # whether the body puts results into memory itself
    moves: bool = False  # whether NaNs have to be equal in every bit
    ulps: int = 0  # how many steps of the last place results may differ by
    absolute: float = 0  # or by how much

    @property
    def name(self) -> str:
        """The form, with what is particular."""
        return f"{self.form} ({self.note})" if self.note else self.form

    def operands(self, rng: np.random.Generator) -> list[Array]:
        """Those of all threads."""
        return self.draw(rng) if self.draw is not None else crossed(self.inputs, rng, self.lanes)

    def offsets(self, kinds: Sequence[str]) -> list[int]:
        """Where arrays of these kinds lie that follow each other, and behind them the end."""
        found = [0]
        for kind in kinds:
            nbytes = dtype_of(kind).itemsize * self.lanes
            found.append(found[-1] + nbytes + -nbytes % ALIGNMENT)
        return found

    def packed(self, arrays: Sequence[Array]) -> Array:
        """The bytes of operands, as the kernel finds them."""
        *places, end = self.offsets(self.inputs)
        found = np.zeros(end, np.uint8)
        for kind, place, array in zip(self.inputs, places, arrays, strict=True):
            data = np.ascontiguousarray(array).astype(dtype_of(kind), copy=False).view(np.uint8)
            found[place : place + data.size] = data
        return found

    def unpacked(self, data: Array) -> list[Array]:
        """Results out of the bytes that the kernel wrote."""
        places = self.offsets(self.results)
        found: list[Array] = []
        for kind, place in zip(self.results, places, strict=False):
            dtype = dtype_of(kind)
            found.append(data[place : place + dtype.itemsize * self.lanes].view(dtype))
        return found

    def differences(self, kind: str, found: Array, expected: Array) -> tuple[Array, Array]:
        """Which elements of a result are as good as equal, and how far each is, in steps of its last place."""
        half = halves_of(kind)
        if half is not None:
            found, expected = (each.view(half) for each in (found, expected))
        places = [_place(each) for each in (found, expected)]
        far = np.where(places[0] > places[1], places[0] - places[1], places[1] - places[0]).astype(np.float64)
        good = far == 0
        if is_float(kind):
            with np.errstate(invalid="ignore"):
                wide = [each.astype(np.float64) for each in (found, expected)]
                near = (np.abs(wide[0] - wide[1]) <= self.absolute) & (self.absolute > 0)
            both = np.isnan(wide[0]) & np.isnan(wide[1]) & (not self.moves)
            few = (far <= self.ulps) & np.isfinite(wide[0]) & np.isfinite(wide[1])
            good, far = good | both | few | near, np.where(both, 0, far)
        return (good.reshape(-1, 2).all(1), far.reshape(-1, 2).max(1)) if half is not None else (good, far)


def _place(values: Array) -> Array:
    """The place of each value among all of its type, in order; the zeros of floats are neighbours."""
    bits = values.view(np.dtype(f"u{values.dtype.itemsize}"))
    if values.dtype.kind in "ui":
        return bits.astype(object) if values.dtype.itemsize == 8 else bits.astype(np.int64)
    top = 8 * values.dtype.itemsize - 1
    negative = bits >> bits.dtype.type(top) != 0
    size = (bits & bits.dtype.type((1 << top) - 1)).astype(np.int64)
    return np.where(negative, -1 - size, size)


def head(architecture: str) -> str:
    """What a module begins with."""
    return f".version {HEADS[architecture]}\n.target {architecture}\n.address_size 64\n"


def kernel(case: Case, symbol: str) -> str:
    """The text of a case's kernel; it is given the addresses of its operands and of its results."""
    registers = [
        ".reg .b16 %h<8>; .reg .b32 %n, %b, %t, %x<16>; .reg .b64 %p, %in, %out, %y<8>; .reg .pred %q<4>;",
        *(_declared(f"%a{i}", kind) for i, kind in enumerate(case.inputs)),
        *(f".reg .b64 %i{i};" for i in range(len(case.inputs))),
        *(_declared(f"%d{i}", kind) for i, kind in enumerate(case.results) if not case.stores),
        *(f".reg .b64 %o{i};" for i in range(len(case.results))),
    ]
    room = f".shared .align 1024 .b8 room[{case.shared}];" if case.shared else ""
    loads = "\n".join(_load(i, kind, place) for i, (kind, place) in enumerate(_placed(case, case.inputs)))
    bases = "\n".join(f"add.s64 %o{i}, %out, {place};" for i, (_, place) in enumerate(_placed(case, case.results)))
    stores = "" if case.stores else "\n".join(_store(i, kind) for i, kind in enumerate(case.results))
    body = "\n".join(part for part in (loads, bases, textwrap.dedent(case.body).strip(), stores) if part)
    return f""".visible .entry {symbol}(.param .u64 {symbol}_in, .param .u64 {symbol}_out)
.maxntid {THREADS}
{{
{textwrap.indent(chr(10).join([*registers, room]), "  ")}
  ld.param.b64 %in, [{symbol}_in]; cvta.to.global.u64 %in, %in;
  ld.param.b64 %out, [{symbol}_out]; cvta.to.global.u64 %out, %out;
  mov.u32 %n, %tid.x; mov.u32 %b, %ctaid.x; mad.lo.s32 %t, %b, {min(THREADS, case.lanes)}, %n;
{textwrap.indent(body, "  ")}
  ret;
}}
"""


def _placed(case: Case, kinds: Sequence[str]) -> list[tuple[str, int]]:
    return list(zip(kinds, case.offsets(kinds), strict=False))


def _declared(register: str, kind: str) -> str:
    return f".reg .pred {register};" if kind == "pred" else f".reg .b{8 * dtype_of(kind).itemsize} {register};"


def _load(i: int, kind: str, place: int) -> str:
    width = dtype_of(kind).itemsize
    lines = f"add.s64 %i{i}, %in, {place}; mad.wide.u32 %p, %t, {width}, %i{i};"
    if kind == "pred":
        return f"{lines} ld.global.b32 %x0, [%p]; setp.ne.b32 %a{i}, %x0, 0;"
    return f"{lines} ld.global.b{8 * width} %a{i}, [%p];"


def _store(i: int, kind: str) -> str:
    width = dtype_of(kind).itemsize
    lines = f"mad.wide.u32 %p, %t, {width}, %o{i};"
    if kind == "pred":
        return f"{lines} selp.b32 %x0, 1, 0, %d{i}; st.global.b32 [%p], %x0;"
    return f"{lines} st.global.b{8 * width} [%p], %d{i};"
