"""Instructions that each thread does alone: arithmetic, bits, comparisons, conversions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ....compiler.signature import Array
from .cases import Case
from .operands import COUNT, LANES, crossed, is_float

_INTEGERS = "s16 u16 s32 u32 s64 u64"
_WIDE = {"s16": "s32", "u16": "u32", "s32": "s64", "u32": "u64"}
_BITS = "b16 b32 b64"
_FLOATS = "f16 f32 f64"


@dataclass(frozen=True)
class _Row:
    """Forms `opcode.kind` with operands and results of kinds, among which T is that kind and W twice as wide."""

    opcodes: str
    kinds: str
    operands: str = "T T"
    results: str = "T"
    since: str = "sm_80"
    moves: bool = False
    ulps: int = 0

    def cases(self) -> Iterator[Case]:
        """One for each opcode and kind."""
        for opcode in self.opcodes.split():
            for kind in self.kinds.split():
                inputs, results = (
                    tuple({"T": kind, "W": _WIDE.get(kind, "")}.get(o, o) for o in names.split())
                    for names in (self.operands, self.results)
                )
                yield _plain(f"{opcode}.{kind}", inputs, results, self)


def _plain(form: str, inputs: tuple[str, ...], results: tuple[str, ...], row: _Row) -> Case:
    names = [*(f"%d{i}" for i in range(len(results))), *(f"%a{i}" for i in range(len(inputs)))]
    first = "|".join(names[: len(results)])
    body = f"{form} {', '.join([first, *names[len(results) :]])};"
    return Case(form, body, inputs, results, since=row.since, moves=row.moves, ulps=row.ulps)


_COMPARED = "setp.eq setp.ne setp.lt setp.le setp.gt setp.ge"
_UNORDERED = "setp.equ setp.neu setp.ltu setp.leu setp.gtu setp.geu setp.num setp.nan"
_ROWS = (
    _Row("add sub", f"{_INTEGERS} {_FLOATS} f16x2"),
    _Row("add.rn sub.rn mul.rn", "f16 f16x2 f32 f64"),
    _Row("div.rn", "f32 f64"),
    _Row("add.rz add.rm add.rp sub.rz sub.rm sub.rp", "f32"),
    _Row("mul", f"{_FLOATS} f16x2"),
    _Row("mul.lo mul.hi", _INTEGERS),
    _Row("mul.wide", "s16 u16 s32 u32", "T T", "W"),
    _Row("mad.lo", _INTEGERS, "T T T"),
    _Row("mad.wide", "s16 u16 s32 u32", "T T W", "W"),
    _Row("fma.rn", f"{_FLOATS} f16x2", "T T T"),
    _Row("min max", f"{_INTEGERS} {_FLOATS} f16x2"),
    _Row("min.NaN max.NaN", "f16 f16x2 f32"),
    _Row("div rem", _INTEGERS),
    _Row("abs neg", f"s16 s32 s64 {_FLOATS} f16x2", "T"),
    _Row("rcp.rn sqrt.rn", "f32 f64", "T"),
    _Row("ex2.approx ex2.approx.ftz", "f32", "T", ulps=2),
    _Row("copysign", "f32 f64"),
    _Row("and or xor", f"{_BITS} pred"),
    _Row("not", f"{_BITS} pred", "T"),
    _Row("shl", _BITS, f"T {COUNT}"),
    _Row("shr", f"{_INTEGERS} {_BITS}", f"T {COUNT}"),
    _Row("shf.l.wrap shf.r.wrap shf.l.clamp shf.r.clamp", "b32", f"T T {COUNT}"),
    _Row("bfe", "s32 u32 s64 u64", f"T {COUNT} {COUNT}"),
    _Row("bfi", "b32 b64", f"T T {COUNT} {COUNT}"),
    _Row("popc clz", "b32 b64", "T", "b32"),
    _Row("brev", "b32 b64", "T"),
    _Row("prmt", "b32", "T T T"),
    _Row("setp.eq setp.ne", _BITS, "T T", "pred"),
    _Row(_COMPARED, f"{_INTEGERS} {_FLOATS}", "T T", "pred"),
    _Row(_UNORDERED, _FLOATS, "T T", "pred"),
    _Row(f"{_COMPARED} {_UNORDERED}", "f16x2", "T T", "pred pred"),
    _Row("selp", f"{_BITS} {_INTEGERS} f32 f64", "T T pred", moves=True),
    _Row("mov", f"{_BITS} pred", "T", moves=True),
    _Row("add min max", "s16x2 u16x2", since="sm_90a"),
    _Row("min.relu max.relu", "s32 s16x2", since="sm_90a"),
)
_CONVERSIONS = (
    *(f"{to}.{source}" for to in _INTEGERS.split() for source in ("u8", "s8", *_INTEGERS.split())
      if to[1:] != source[1:]),
    *(f"s8.{source}" for source in ("s16", "s32", "s64")),
    *(f"{mode}.{kind}.{kind}" for mode in ("rni", "rzi", "rmi", "rpi") for kind in _FLOATS.split()),
    *(f"rzi.{to}.{source}" for to in _INTEGERS.split() for source in _FLOATS.split()),
    *(f"{mode}.s32.f32" for mode in ("rni", "rmi", "rpi")),
    *(f"rn.{to}.{source}" for to in _FLOATS.split() for source in (*_INTEGERS.split(), "u8", "s8")),
    "f32.f16", "f64.f16", "f64.f32", "rn.f16.f32", "rn.f16.f64", "rn.f32.f64", "rn.bf16.f32", "rna.tf32.f32",
)  # fmt: skip


def cases() -> Iterator[Case]:
    """All of them."""
    for row in _ROWS:
        for case in row.cases():
            yield _defined(case)
    for name in _CONVERSIONS:
        yield _conversion(f"cvt.{name}")
    for half in ("f16", "bf16"):
        yield Case(f"cvt.rn.{half}x2.f32", f"cvt.rn.{half}x2.f32 %d0, %a0, %a1;", ("f32", "f32"), (f"{half}x2",))
    yield Case("cvt.f32.bf16", "cvt.f32.bf16 %d0, %a0;", ("bf16",), ("f32",), since="sm_90a")
    yield from _moves()


def _defined(case: Case) -> Case:
    """A case without the operands for which PTX says nothing, and with those that matter most."""
    opcode, kind = case.form.split(".")[0], case.form.split(".")[-1]
    if opcode in ("div", "rem") and not is_float(kind):
        return replace(case, draw=partial(_divided, kind))
    if opcode == "fma" and kind in ("f32", "f64", "f16"):
        return replace(case, draw=partial(_cancelled, kind))
    if opcode == "prmt":
        return replace(case, draw=_chosen)
    return case


def _divided(kind: str, rng: np.random.Generator) -> list[Array]:
    """Neither divided by zero, nor the least number by -1."""
    a, b = crossed((kind, kind), rng)
    b[b == 0] = 3
    if kind[0] == "s":
        b[(b == -1) & (a == np.iinfo(a.dtype).min)] = 7
    return [a, b]


def _cancelled(kind: str, rng: np.random.Generator) -> list[Array]:
    """A third of sums that are small beside their products: one rounding and two differ there."""
    a, b, c = crossed((kind,) * 3, rng)
    with np.errstate(all="ignore"):
        c[::3] = (-a[::3].astype(np.float64) * b[::3].astype(np.float64)).astype(c.dtype)
    return [a, b, c]


def _chosen(rng: np.random.Generator) -> list[Array]:
    """Choosers whose upper bits say nothing."""
    a, b, chooser = crossed(("b32",) * 3, rng)
    return [a, b, chooser & np.uint32(0xFFFF)]


def _conversion(form: str) -> Case:
    """Of numbers of 8 bits lie in the lower half of a register, with anything above."""
    *_, to, source = form.split(".")
    given = "b16" if source in ("u8", "s8") else source
    kept = "b16" if to in ("u8", "s8") else "b32" if to == "tf32" else to
    return Case(form, f"{form} %d0, %a0;", (given,), (kept,))


def _moves() -> Iterable[Case]:
    """Parts of a register, packed and unpacked; what a number is written as; what threads know of themselves."""
    two, four = (", ".join(f"%a{i}" for i in range(count)) for count in (2, 4))
    yield Case("mov.b32", f"mov.b32 %d0, {{{two}}};", ("b16",) * 2, ("b32",), note="packs")
    yield Case("mov.b32", "mov.b32 {%d0, %d1}, %a0;", ("b32",), ("b16",) * 2, note="unpacks")
    yield Case("mov.b64", f"mov.b64 %d0, {{{two}}};", ("b32",) * 2, ("b64",), note="packs")
    yield Case("mov.b64", "mov.b64 {%d0, %d1}, %a0;", ("b64",), ("b32",) * 2, note="unpacks")
    yield Case("mov.b64", f"mov.b64 %d0, {{{four}}};", ("b16",) * 4, ("b64",), note="packs halves")
    yield Case("mov.b64", "mov.b64 {%d0, %d1, %d2, %d3}, %a0;", ("b64",), ("b16",) * 4, note="unpacks to halves")
    numbers = "mov.b32 %d0, 0f3FB8AA3B; mov.b64 %d1, 0dC338000000000000; mov.b16 %d2, 0x8001; mov.b32 %d3, -5;"
    yield Case("mov.b32", numbers, (), ("b32", "b64", "b16", "b32"), note="numbers", lanes=128)
    names = ("%tid.x", "%tid.y", "%tid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z", "%ntid.x", "%nctaid.x", "%laneid")
    special = " ".join(f"mov.u32 %d{i}, {name};" for i, name in enumerate(names))
    yield Case("mov.u32", special, (), ("b32",) * len(names), note="special registers", lanes=LANES)
    ands = "lop3.b32 %d0, %a0, %a1, %a2, 0xCA; lop3.b32 %d1, %a0, %a1, %a2, 0x96;"
    yield Case("lop3.b32", ands, ("b32",) * 3, ("b32",) * 2)
