"""Bugs planted into kernels that were generated: each must be found, and none where there is none."""

from __future__ import annotations

import importlib.util
import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.backends import Options
from lamina.backends.cuda.build import BuiltProgram
from lamina.backends.cuda.emulated import EmulatedProgram
from lamina.backends.cuda.target import CudaTarget
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.program import Program
from lamina.compiler.schedules import Entry, Schedules

SEEDS = range(5)
CONVOLUTION, THREADS, SHARED = "sm_90a convolution", "sm_80 threads", "sm_80 shared"
SIZES = {"sm_80": (32, 36, 328), "sm_90a": (64, 72, 392)}  # steps enough to go round the ring, edges to reach beyond
OF_THREADS = {THREADS: (33, 36, 120), SHARED: (33, 36, 384)}
NAMES = (*SIZES, CONVOLUTION, *OF_THREADS)
SPLITS = 4
Bug = Callable[[str], str]


def swap(pattern: str, text: str, count: int = 0) -> Bug:
    """A bug by a pattern, which must be there."""

    def plant(ptx: str) -> str:
        changed, number = re.subn(pattern, text, ptx, count=count, flags=re.MULTILINE)
        assert number, pattern
        return changed

    return plant


def loop(role: str) -> str:
    """The pattern of the branch that asks a barrier again: of those who multiply (first), or of who copies."""
    wait = r"(mbarrier\.try_wait\.parity[^;]*;\s*not\.pred\s+(%p\d+), %p\d+;\s*)@\2 bra[^;]*;"
    return wait if role == "first" else r"(?s)(mbarrier\.try_wait.*?)" + wait.replace("\\2", "\\3")


COPIES: dict[str, Bug] = {
    "nobody waits for copies": swap(r"cp\.async\.wait_group\s+1;", ""),
    "one copy too many under way": swap(r"cp\.async\.wait_group\s+1;", "cp.async.wait_group 2;"),
    "threads do not meet": swap(r"bar\.sync\s+0;", ""),
    "a copy that is in no group of its step": swap(r"(\s*)cp\.async\.commit_group;", r"\1", 1),
    "a stage that overlaps the next": swap(r"(cp\.async\.cg[^\[]*\[%rd\d+)\+1024\]", r"\1+2048]"),
    "copied without the swizzle": swap(r"and\.b32(\s+%r\d+, %r\d+), 112;", r"and.b32\1, 0;", 1),
    "what lies outside is read": swap(r"selp\.b32(\s+%r\d+), 16, 0, (%p\d+);", r"selp.b32\1, 16, 16, \2;"),
    "what lies inside is not": swap(r"selp\.b32(\s+%r\d+), 16, 0, (%p\d+);", r"selp.b32\1, 8, 0, \2;"),
    "a store beyond the result": swap(r"(st\.global[^\[]*\[%rd\d+)(\+-?\d+)?\]", r"\1+32768]", 1),
}
BARRIERS: dict[str, Bug] = {
    "who multiplies does not wait for a full stage": swap(loop("first"), r"\1"),
    "who copies does not wait for an empty stage": swap(loop("second"), r"\1\2"),
    "too few bytes expected": swap(r"mov\.b32(\s+%r\d+), 16384;", r"mov.b32\1, 16256;"),
    "too many bytes expected": swap(r"mov\.b32(\s+%r\d+), 16384;", r"mov.b32\1, 16512;"),
    "a barrier that nobody initialised": swap(r"mbarrier\.init.*\+65536\].*;", ""),
    "no stage is given back": swap(r"mbarrier\.arrive\.shared\.b64 .*;", ""),
    "products are not waited for": swap(r"wgmma\.wait_group\.sync\.aligned 0;", ""),
    "a stage is given back too early": swap(r"wgmma\.wait_group\.sync\.aligned 1;", "wgmma.wait_group.sync.aligned 2;"),
    "no swizzle": swap(r"4611686(\d{12})\b", lambda m: str(int(m[0]) - (1 << 62))),  # pyright: ignore
    "rows eight apart at the wrong distance": swap(
        r"4611686(\d{12})\b",
        lambda m: str(int(m[0]) - (32 << 32)),  # pyright: ignore
    ),
    "half the step along the sum": swap(r"4611686293305360388", "4611686293305360386"),
    "a box at another's place": swap(r"(cp\.async\.bulk\S* \[%rd\d+)\+8192\]", r"\1+7168]"),
    "the wrong parity": swap(r"not\.b32(\s+%r\d+), (%r\d+);\s*bfe", r"mov.b32\1, \2;\nbfe"),
    "a store beyond the result": swap(r"(st\.global[^\[]*\[%rd\d+)(\+-?\d+)?\]", r"\1+32768]", 1),
}
GATHERED: dict[str, Bug] = {
    "who multiplies does not wait for a full stage": swap(loop("first"), r"\1"),
    "who copies does not wait for an empty stage": swap(loop("second"), r"\1\2"),
    "arrivals do not wait for copies": swap(
        r"cp\.async\.mbarrier\.arrive\.noinc\.shared\.b64\s+(\[[^\]]*\]);", r"mbarrier.arrive.shared.b64 _, \1;"
    ),
    "arrivals that count twice": swap(r"mbarrier\.arrive\.noinc", "mbarrier.arrive"),
    "threads that nobody waits for": swap(r"mov\.b32(\s+%r\d+), 129;", r"mov.b32\1, 128;"),
    "one thread too many": swap(r"mov\.b32(\s+%r\d+), 129;", r"mov.b32\1, 130;"),
    "no fence between threads and products": swap(r"fence\.proxy\.async\.shared::cta;", ""),
    "a fence before the wait": swap(
        r"(mbarrier\.try_wait[^;]*;\s*not\.pred[^;]*;\s*@%p\d+ bra[^;]*;\s*)fence\.proxy\.async\.shared::cta;",
        r"fence.proxy.async.shared::cta;\n\1",
    ),
    "copied without the swizzle": swap(r"and\.b32(\s+%r\d+, %r\d+), 112;", r"and.b32\1, 0;", 1),
    "pieces at another's place": swap(r"(cp\.async\.cg[^\[]*\[%rd\d+)\+2048\]", r"\1+3072]", 1),
    "a window that lies elsewhere": swap(r"(cp\.async\.cg\S* \[%rd\d+\+4096\], \[%rd\d+)(\+\d+)?\]", r"\1+16]", 1),
    "what lies outside is read": swap(r"selp\.b32(\s+%r\d+), 16, 0, (%p\d+);", r"selp.b32\1, 16, 16, \2;"),
    "what lies inside is not": swap(r"selp\.b32(\s+%r\d+), 16, 0, (%p\d+);", r"selp.b32\1, 8, 0, \2;", 1),
    "a window that goes on in the next line": swap(r"setp\.lt\.u32(\s+%p\d+, %r\d+), 10;", r"setp.lt.u32\1, 11;", 1),
    "a window that begins in the line before": swap(r"setp\.lt\.u32(\s+%p\d+, %r\d+), 10;", r"setp.ne.u32\1, 10;", 1),
    "too few bytes of weights": swap(r"mov\.b32(\s+%r\d+), 8192;", r"mov.b32\1, 8064;"),
    "too many bytes of weights": swap(r"mov\.b32(\s+%r\d+), 8192;", r"mov.b32\1, 8320;"),
    "no stage is given back": swap(r"mbarrier\.arrive\.shared\.b64 .*;", ""),
    "products are not waited for": swap(r"wgmma\.wait_group\.sync\.aligned 0;", ""),
    "a stage is given back too early": swap(r"wgmma\.wait_group\.sync\.aligned 1;", "wgmma.wait_group.sync.aligned 2;"),
}
BY_THREADS: dict[str, Bug] = {
    "nobody waits for copies": swap(r"cp\.async\.wait_group\s+2;", ""),
    "one copy too many under way": swap(r"cp\.async\.wait_group\s+2;", "cp.async.wait_group 3;"),
    "threads do not meet": swap(r"bar\.sync\s+0;", ""),
    "an element at another's place": swap(r"(cp\.async\.ca[^\[]*\[%rd\d+)\+32\]", r"\1+36]", 1),
    "an element from elsewhere": swap(r"(cp\.async\.ca\S* \[%rd\d+\+32\], \[%rd\d+)(\+\d+)?\]", r"\1+4]", 1),
    "what lies outside is read": swap(r"selp\.b32(\s+%r\d+), 4, 0, (%p\d+);", r"selp.b32\1, 4, 4, \2;"),
    "what lies inside is not": swap(r"selp\.b32(\s+%r\d+), 4, 0, (%p\d+);", r"selp.b32\1, 0, 0, \2;", 1),
}
OF_PARTS: dict[str, Bug] = {
    "a part that nobody adds": swap(r"ld\.global\.nc\.b32(\s+%r\d+), \[%rd\d+\+4752\];", r"mov.b32\1, 0;"),
    "a part that is added twice": swap(r"(ld\.global\.nc\.b32\s+%r\d+, \[%rd\d+)\+9504\]", r"\1+4752]"),
}


@cache
def built(name: str) -> tuple[BuiltProgram, Program, tuple[Any, ...], Any]:
    """A product's kernel, inputs, and what should come out."""
    spec = importlib.util.spec_from_file_location("products", Path(__file__).with_name("test_products.py"))
    assert spec is not None and spec.loader is not None
    products = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(products)
    with tempfile.TemporaryDirectory() as folder:
        convolution = products.convolution((1, 7, 10, 40), (3, 3), 72, pad=1)
        text = convolution
        if name in SIZES:
            text = products.text_of(*SIZES[name], right="nk", t="bf16")
        elif name in OF_THREADS:
            text = products.text_of(*OF_THREADS[name])
        program, inputs = products.program_of(text, Path(folder))
    sizes = {**SIZES, **OF_THREADS}.get(name, ())
    called = "matmul {} m{} n{} k{}".format("f32" if name in OF_THREADS else "bf16,bf16,f32", *sizes) if sizes else ""
    given = Schedules({called: Entry({"splits": SPLITS if name == SHARED else 1})} if called else {})  # as is usual
    model = CudaTarget(name.split()[0]).compile(program, Options(cache=False, emulate=True, schedules=given))
    assert isinstance(model, EmulatedProgram)
    [expected] = lamina.interpret(program, inputs)
    return model.built, program, tuple(inputs), expected


def wrong(name: str, bug: Bug | None, late: bool, seed: int) -> bool:
    """Whether the kernel, with a bug, does not compute the product."""
    whole, program, inputs, expected = built(name)
    adds = name == SHARED  # the kernel that adds parts up: it copies nothing into shared memory
    found = [(s, k) for s, k in whole.kernels.items() if adds != any(op in k.ptx for op in ("cp.async", "fma.rn"))]
    [(symbol, kernel)] = found
    planted = replace(kernel, ptx=bug(kernel.ptx) if bug else kernel.ptx)
    changed = replace(whole, kernels={**whole.kernels, symbol: planted})
    model = EmulatedProgram(changed, program.signature, np.zeros(0, np.uint8), late=late, seed=seed)
    try:
        [found] = model.run(inputs)
    except LaminaError:
        return True
    return not bool(np.abs(found - expected).max() <= 1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("name", NAMES)
def test_without_bugs(name: str) -> None:
    assert not wrong(name, None, late=False, seed=0)
    assert not any(wrong(name, None, late=True, seed=seed) for seed in SEEDS)


BUGS = dict(zip(NAMES, (COPIES, BARRIERS, GATHERED, BY_THREADS, OF_PARTS), strict=True))


@pytest.mark.parametrize(("name", "bug"), [(name, bug) for name, bugs in BUGS.items() for bug in bugs])
def test_planted_bugs_are_found(name: str, bug: str) -> None:
    plant = BUGS[name][bug]
    assert any(wrong(name, plant, late=True, seed=seed) for seed in SEEDS)
