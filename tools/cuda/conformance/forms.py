"""Which forms of instructions kernels use, and which of them a test has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from ....backends.cuda.emulator.ptx import parse
from . import lanes, memory, warps
from .cases import HEADS, Case
from .kernels import wholes

_AROUND = frozenset(("ret", "ld.param.b64", "cvta.to.global.u64"))
"""What the kernel of every test begins and ends with: where it is wrong, nothing is right."""


def all_cases(architecture: str | None = None) -> Iterator[Case]:
    """The tests of single forms, those that an architecture has if it is named."""
    for chapter in (lanes, memory, warps):
        for case in chapter.cases():
            if architecture is None or HEADS[case.since] <= HEADS[architecture]:
                yield case


def forms(ptx: str) -> set[str]:
    """The forms in a module of PTX: opcodes as they are written, with modifiers and types.

    >>> sorted(forms('''.version 8.0
    ... .target sm_80
    ... .address_size 64
    ... .visible .entry k() { .reg .b32 %r<2>; mov.u32 %r0, %tid.x; add.s32 %r1, %r0, 5; ret; }'''))
    ['add.s32', 'mov.u32', 'ret']
    """
    return {each.name for kernel in parse(ptx).kernels.values() for each in kernel.instructions}


@cache
def _covered() -> frozenset[str]:
    single = (form for case in all_cases() for form in (case.form, *case.covers))
    whole = (form for each in wholes() for form in each.covers)
    return _AROUND.union(single, whole)


def uncovered(used: Iterable[str]) -> list[str]:
    """Those of some forms that no test has, in order.

    >>> uncovered(["add.s32", "ret", "tanh.approx.f32"])
    ['tanh.approx.f32']
    """
    return sorted(set(used) - _covered())
