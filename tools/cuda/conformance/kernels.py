"""Whole kernels that the compiler makes, on integers whose products and sums are exact: what no small test holds.

Tensors that the copy engine brings, barriers that wait for its bytes, registers that warpgroups give each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ....backends import Options
from ....compiler.parsing import parse_module
from ....compiler.program import Program
from ....compiler.schedules import Entry, Schedules
from ....compiler.signature import Array, dtype_named
from ...sources import new_context
from ..programs import Case, convolution, product

_TENSOR = "cp.async.bulk.tensor.{}d.shared::cta.global.tile.mbarrier::complete_tx::bytes"
_BROUGHT = ("mbarrier.arrive.expect_tx.shared.b64", "cvta.param.u64")  # beside each tensor
_GIVEN = ("setmaxnreg.dec.sync.aligned.u32", "setmaxnreg.inc.sync.aligned.u32")


@dataclass(frozen=True)
class Whole:
    """A program, and the forms that no other test has, on sm_90a."""

    case: Case
    covers: tuple[str, ...] = ()
    along: int = 0  # of attention, the dimension that counts keys
    schedules: Schedules = field(default_factory=Schedules)

    @property
    def options(self) -> Options:
        """How it is compiled."""
        return Options(cache=False, precision=self.case.precision, schedules=self.schedules)

    @property
    def program(self) -> Program:
        """On the level where its text stands."""
        context = new_context()
        return Program(parse_module(self.case.text, self.case.name, context), context)

    def inputs(self, program: Program) -> list[Array]:
        """Small integers; of attention, keys of which each query has one that counts."""
        rng = np.random.default_rng(0)
        specs = program.signature.inputs
        shapes = [tuple(int(n) for n in spec.shape) for spec in specs]
        drawn = [rng.integers(-3, 4, shape) for shape in shapes]
        if self.along:
            drawn[1] = rng.integers(0, 2, shapes[1]) * 2 - 1
            chosen = rng.integers(0, shapes[1][self.along], shapes[0][:-1])
            drawn[0] = 32 * np.take_along_axis(drawn[1], chosen[..., None], self.along)
        return [values.astype(dtype_named(spec.dtype)) for values, spec in zip(drawn, specs, strict=True)]


def attention(heads: int, queries: int, keys: int, depth: int, t: str, *, inside: bool = False) -> Case:
    """Each query's weights are 1 for one key and, far below, 0 for all others; heads outside of rows, or inside."""

    def of(rows: str, columns: str) -> str:
        return f"(g, {rows}, h, {columns})" if inside else f"(g, h, {rows}, {columns})"

    def tensor(rows: int, element: str) -> str:
        middle = f"{rows}x{heads}" if inside else f"{heads}x{rows}"
        return f"tensor<2x{middle}x{depth}x{element}>"

    q, k, y = tensor(queries, t), tensor(keys, t), tensor(queries, "f32")
    operands = (("m", "d"), ("s", "d"), ("s", "n"), ("m", "n"))
    maps = ", ".join(f"affine_map<(g, h, m, d, s, n) -> {of(*two)}>" for two in operands)
    given = f"%q: {q}, %k: {k}, %v: {k}"
    text = f"""
func.func public @main({given}) -> {y} {{
  %e = tensor.empty() : {y}
  %r = func.call @kernel_0(%q, %k, %v, %e) : ({q}, {k}, {k}, {y}) -> {y}
  func.return %r : {y}
}}
func.func private @kernel_0({given}, %e: {y}) -> {y} attributes {{lamina.kernel = "attention"}} {{
  %r = "linalg_ext.attention"(%q, %k, %v, %e) <{{indexing_maps = [{maps}],
      operandSegmentSizes = array<i32: 3, 1>}}> ({{
  ^bb0(%s: f32):
    "linalg_ext.yield"(%s) : (f32) -> ()
  }}) : ({q}, {k}, {k}, {y}) -> {y}
  func.return %r : {y}
}}
"""
    return Case(f"attention {heads}x{queries}x{keys}x{depth} {t}{' heads inside' if inside else ''}", text)


def wholes() -> Iterator[Whole]:
    """All of them."""
    yield Whole(product(70, 72, 136, "f32"))
    for t, right in (("bf16", "kn"), ("bf16", "nk"), ("f16", "nk")):
        yield Whole(product(70, 72, 136, t, right=right), (_TENSOR.format(2), *_BROUGHT))
    yield Whole(product(70, 72, 136, "f32", precision="tf32"))
    yield Whole(product(33, 37, 19, "bf16"))
    large = Entry({"unit": "wgmma", "rows": 128, "columns": 128, "down": 2})
    two = Schedules({"matmul bf16,bf16,f32 m140 n136 k72": large}, strict=False)  # where there are warpgroups
    yield Whole(product(140, 136, 72, "bf16"), _GIVEN, schedules=two)
    yield Whole(convolution(1, 7, 16, 40, "f32"))
    yield Whole(convolution(1, 7, 16, 40, "bf16"))
    for t in ("f32", "bf16", "f16"):
        yield Whole(attention(2, 70, 200, 64, t), (_TENSOR.format(3),) if t != "f32" else (), along=2)
    yield Whole(attention(2, 70, 200, 64, "bf16", inside=True), (_TENSOR.format(4),), along=1)
