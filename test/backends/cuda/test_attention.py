"""Attention by threads, warps and warpgroups, of odd sizes, with masks that hide all or nothing, against float64."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i32

import lamina
from lamina.backends import Options
from lamina.backends.cuda.emulated import EmulatedProgram
from lamina.backends.cuda.target import CudaTarget
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.interpreter import Interpreter
from lamina.compiler.program import Program
from lamina.compiler.walking import all_ops
from lamina.dialects.affine import MinOp
from lamina.dialects.cta import MapOp
from lamina.passes.convert.attention_to_cta import schedule
from lamina.tools.sources import read_program

LOOPS = "ghmdsn"  # groups of heads that share keys, heads, queries, depth, keys, columns
TYPES: dict[str, Any] = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16}
MOST = {"f32": 1e-6, "bf16": 4e-3, "f16": 5e-4}  # weights are rounded to the operands' type


@dataclass(frozen=True)
class Case:
    """Subscripts of query, key, value, output, and of masks, over LOOPS."""

    sizes: tuple[int, ...]
    type: str = "f32"
    subscripts: tuple[str, str, str, str] = ("ghmd", "gsd", "gsn", "ghmn")
    masks: tuple[str, ...] = ()
    causal: int | None = None
    zero_undefined: bool = False

    def shape(self, subscripts: str) -> list[int]:
        return [dict(zip(LOOPS, self.sizes, strict=True))[c] for c in subscripts]

    def text(self) -> str:
        *read, output = self.subscripts
        read += self.masks
        elements = [self.type] * 3 + ["f32"] * len(self.masks)
        types = [
            f"tensor<{'x'.join(map(str, self.shape(s)))}x{e}>"
            for s, e in zip([*read, output], [*elements, "f32"], strict=True)
        ]
        maps = ", ".join(f"affine_map<({', '.join(LOOPS)}) -> ({', '.join(s)})>" for s in (*read, output))
        names = [f"%a{i}" for i in range(len(read))]
        given = ", ".join(f"{n}: {t}" for n, t in zip(names, types, strict=False))
        flags = "" if self.causal is None else f"causal = {self.causal} : i64, "
        flags += "zero_undefined, " if self.zero_undefined else ""
        body = "\n".join(f"%{i + 1} = arith.addf %{i}, %m{i} : f32" for i in range(len(self.masks)))
        arguments = ", ".join(["%s: f32", *(f"%m{i}: f32" for i in range(len(self.masks)))])
        every = ", ".join(names)
        signature = f"({', '.join(types)}) -> {types[-1]}"
        return f"""
func.func public @main({given}) -> {types[-1]} {{
  %d = tensor.empty() : {types[-1]}
  %y = func.call @kernel_0({every}, %d) : {signature}
  func.return %y : {types[-1]}
}}
func.func private @kernel_0({given}, %o: {types[-1]}) -> {types[-1]} attributes {{lamina.kernel = "attention"}} {{
  %y = "linalg_ext.attention"({every}, %o) <{{{flags}indexing_maps = [{maps}],
      operandSegmentSizes = array<i32: {len(read)}, 1>}}> ({{
  ^bb0({arguments}):
    %c = arith.constant 0.25 : f32
    %0 = arith.mulf %s, %c : f32
    {body}
    "linalg_ext.yield"(%{len(self.masks)}) : (f32) -> ()
  }}) : {signature}
  func.return %y : {types[-1]}
}}
"""

    def arrays(self) -> list[Any]:
        rng = np.random.default_rng(0)
        types = [TYPES[self.type]] * 3 + [np.float32] * len(self.masks)
        read = [*self.subscripts[:3], *self.masks]
        return [rng.standard_normal(self.shape(s)).astype(t) for s, t in zip(read, types, strict=True)]

    def expected(self, arrays: list[Any]) -> Any:
        query, key, value, output = self.subscripts
        wide = [a.astype(np.float64) for a in arrays]
        every = np.ones(self.sizes[:2])
        with np.errstate(all="ignore"):
            scores = 0.25 * np.einsum(f"{query},{key},gh->ghms", wide[0], wide[1], every)
            for part, mask in zip(self.masks, wide[3:], strict=True):
                scores = scores + np.einsum(f"{part},ghms->ghms", mask, np.ones_like(scores))
            if self.causal is not None:
                queries, keys = np.ogrid[: scores.shape[2], : scores.shape[3]]
                scores = np.where(keys <= queries + self.causal, scores, -np.inf)
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            weights /= weights.sum(-1, keepdims=True)
            if self.zero_undefined:
                weights = np.where(np.isnan(weights), 0, weights)
            return np.einsum(f"ghms,{value},gh->{output}", weights, wide[2], every)

    def program(self, folder: Path) -> Program:
        path = folder / "m.mlir"
        path.write_text(self.text())
        program = read_program(str(path))
        assert isinstance(program, Program)
        return program


def compiled(program: Program, name: str = "sm_80") -> EmulatedProgram:
    model = CudaTarget(name).compile(program, Options(cache=False, emulate=True))
    assert isinstance(model, EmulatedProgram)
    return model


def agrees(found: Any, expected: Any, most: float) -> bool:
    undefined = np.isnan(expected)
    apart = np.abs(np.where(undefined, 0, found - expected)).max()
    return bool(np.array_equal(np.isnan(found), undefined) and apart <= most * np.nanmax(np.abs(expected)))


def by_groups(model: EmulatedProgram) -> bool:
    [kernel] = model.built.kernels.values()
    return "wgmma.mma_async" in kernel.ptx


def check(case: Case, folder: Path, arrays: list[Any] | None = None, name: str = "sm_80") -> EmulatedProgram:
    model, given = compiled(case.program(folder), name), arrays or case.arrays()
    for seed in (None, *range(5 if name == "sm_90a" else 1)):
        model.late, model.seed = seed is not None, seed or 0
        assert agrees(model.run(given)[0], case.expected(given), MOST[case.type])
    [counted], [kernel] = model.counters, model.built.kernels.values()
    assert counted.bank_conflicts == 0 and not any("local" in name for name in counted.instructions)
    assert kernel.resources is None or (kernel.resources.stack_bytes == 0 and kernel.resources.spill_bytes == 0)
    return model


@pytest.mark.parametrize(
    "case",
    [
        Case((2, 1, 9, 20, 23, 24), masks=("s",)),
        Case((1, 1, 34, 17, 35, 33), causal=2),
        Case((1, 2, 19, 16, 70, 24), "bf16", causal=30, masks=("ms",)),
        Case((2, 2, 35, 33, 40, 10), "bf16", ("mghd", "sgd", "sgn", "mghn"), ("ghms", "g")),
        Case((1, 3, 20, 72, 33, 80), "f16", ("ghdm", "gds", "gns", "ghnm"), ("m",), causal=0),
    ],
    ids=["threads, padding", "threads, causal", "warps, causal", "warps, heads inside", "warps, turned"],
)
def test_sizes_and_layouts(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


@pytest.mark.parametrize(
    "case",
    [
        Case((1, 2, 72, 64, 200, 64), "bf16"),
        Case((1, 2, 72, 64, 200, 64), "f16", causal=128),
        Case((1, 1, 65, 128, 300, 128), "bf16", causal=0, masks=("ms",)),
        Case((1, 2, 65, 64, 40, 48), "bf16", masks=("s",)),
        Case((2, 1, 33, 72, 260, 80), "bf16", ("mghd", "sgd", "sgn", "mghn"), ("ghms", "g")),
        Case((1, 3, 48, 72, 264, 80), "f16", ("ghdm", "gds", "gns", "ghnm"), ("m",), causal=0),
    ],
    ids=["padding", "causal", "deep, masked", "one step", "heads inside", "turned"],
)
@pytest.mark.parametrize("groups", [1, 2])
def test_by_warpgroups(case: Case, groups: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "ENOUGH", 64 if groups == 1 else 1)
    model = check(case, tmp_path, name="sm_90a")
    assert by_groups(model) and model.built.launches[0].block[0] == 128 * (1 + groups)


@pytest.mark.parametrize(
    "case",
    [
        Case((1, 1, 1, 64, 70, 64), "bf16"),
        Case((1, 1, 40, 64, 1, 64), "bf16"),
        Case((1, 1, 40, 64, 70, 60), "bf16"),
        Case((1, 1, 40, 32, 70, 64), "bf16"),
        Case((1, 1, 40, 64, 70, 64), "bf16", masks=("ms", "hms", "gms")),
    ],
    ids=["one query", "one key", "lines that begin anywhere", "a head that fills a half", "many masks"],
)
def test_warps_take_what_does_not_suit_warpgroups(case: Case, tmp_path: Path) -> None:
    assert not by_groups(check(case, tmp_path, name="sm_90a"))


@pytest.mark.parametrize(
    ("kind", "zero_undefined", "name"),
    [("f32", True, "sm_80"), ("bf16", False, "sm_80"), ("bf16", True, "sm_80"), ("bf16", True, "sm_90a")],
)
def test_rows_that_see_nothing_and_infinite_scores(kind: str, zero_undefined: bool, name: str, tmp_path: Path) -> None:
    sizes = (1, 1, 9, 24, 40, 20) if name == "sm_80" else (1, 1, 40, 64, 70, 64)
    case = Case(sizes, kind, masks=("ms",), zero_undefined=zero_undefined)
    arrays = case.arrays()
    mask = arrays[3]
    mask[2] = -np.inf  # no key at all
    mask[3, :39] = -np.inf  # the last one
    mask[4, 13:] = -np.inf  # the first ones
    mask[5] = np.finfo(np.float32).min  # each as little as the others
    mask[6, 7] = np.inf
    mask[7, 35] = np.nan
    assert by_groups(check(case, tmp_path, arrays, name)) == (name == "sm_90a")


@pytest.mark.parametrize("kind", ["f32", "bf16"])
def test_blocks_of_many_queries(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "ENOUGH", 1)
    model = check(Case((1, 1, 33, 32, 65, 32) if kind == "f32" else (1, 1, 65, 128, 130, 128), kind), tmp_path)
    assert model.built.launches[0].block[0] == (256 if kind == "f32" else 128)


def test_what_warps_do_with_weights(tmp_path: Path) -> None:
    """Weights go from one product to the next in registers: nothing is stored but the result."""
    model = compiled(Case((1, 1, 32, 64, 64, 64), "bf16").program(tmp_path), "sm_80")
    [kernel] = model.built.kernels.values()
    assert not re.search(r"st\.shared|ld\.shared|\.local", kernel.ptx)
    for instruction, count in {
        "mma.sync.aligned.m16n8k16": 4 * 4 + 8 * 2,  # columns by eight, times steps of 16: of the scores, of the values
        "ex2.approx.ftz.f32": 2 * 8 + 2,  # two rows: weights, and what remains of former ones
        "cvt.rn.bf16x2.f32": 2 * 4,
        "shfl.sync.bfly": 2 * 2 * 2,
    }.items():
        assert kernel.ptx.count(instruction) == count, instruction


LEVELS = {
    "threads": ("sm_80", Case((1, 1, 5, 8, 20, 16), "f32", causal=15)),
    "warps": ("sm_80", Case((1, 1, 5, 8, 35, 16), "bf16", causal=15)),
    "warpgroups": ("sm_90a", Case((1, 1, 66, 128, 70, 128), "bf16", causal=15)),
}


@pytest.mark.parametrize("level", ["tiles", "gpu"])
@pytest.mark.parametrize("unit", LEVELS)
def test_every_level_means_the_same(unit: str, level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, case = LEVELS[unit]
    if name == "sm_90a":  # two warpgroups, which take turns
        monkeypatch.setattr(schedule, "ENOUGH", 1)
    arrays = case.arrays()
    lowered = CudaTarget(name).lower(case.program(tmp_path), level, Options())
    result = np.zeros(case.shape("ghmn"), np.float32)
    spare = [np.zeros(0, np.int8)] * 2
    Interpreter(lowered.context).run(lowered.module, [*arrays, result, *spare])
    assert agrees(result, case.expected(arrays), MOST[case.type])


def _without_rescaling(program: Program) -> None:
    """Former sums keep their scale when a higher score comes."""
    [scaled] = [
        op
        for op in all_ops(program.module)
        if isinstance(op, MapOp) and len(op.inputs) == 2 and isinstance(op.body.block.first_op, arith.MulfOp)
        if op.result.type == op.inputs[0].type and op.parent_op().name == "cta.pipeline"  # pyright: ignore
    ]
    scaled.result.replace_all_uses_with(scaled.inputs[0])


def _keys_beyond_the_last(program: Program) -> None:
    """Zeros behind the last key count as keys."""
    for op in all_ops(program.module):
        if isinstance(op, arith.ConstantOp) and op.value == IntegerAttr(70, i32):
            op.properties["value"] = IntegerAttr(96, i32)


def _one_block_less(program: Program) -> None:
    """The loop ends before the last block of keys that is seen."""
    [end] = [op for op in all_ops(program.module) if isinstance(op, MinOp)]
    [pipeline] = [use.operation for use in end.results[0].uses]
    pipeline.operands[-1] = end.operands[0]


PLANTED: dict[str, Callable[[Program], None]] = {
    "sums are not rescaled": _without_rescaling,
    "keys beyond the last": _keys_beyond_the_last,
    "one block of keys less": _one_block_less,
}
IN_PTX = {
    "nobody waits for copies": (r"cp\.async\.wait_group\s+0;", ""),
    "threads do not meet": (r"bar\.sync\s+0;", ""),
    "a copy that is in no group": (r"cp\.async\.commit_group;", ""),
    "copied without the swizzle": (r"and\.b32(\s+%r\d+, %r\d+), 48;", r"and.b32\1, 0;"),
    "a row's threads do not exchange": (
        r"shfl\.sync\.bfly\.b32\s+(%r\d+)(\|%p\d+)?, (%r\d+), 2,.*;",
        r"mov.b32 \1, \3;",
    ),
}
WAITS = r"mbarrier\.try_wait\.parity[^;]*;\s*not\.pred\s+(%p\d+), %p\d+;\s*@\1 bra[^;]*;"
GROUPS = r"wgmma\.wait_group\.sync\.aligned (\d);"
IN_GROUPS = {  # a pattern, which of the places that it has, and what comes there
    "nobody waits for queries": (WAITS, 0, ""),
    "nobody waits for the first keys": (WAITS, 1, ""),
    "nobody waits for keys": (WAITS, 2, ""),
    "nobody waits for values": (WAITS, 3, ""),
    "nobody waits for the last values": (WAITS, 4, ""),
    "keys are brought before all have used the former ones": (WAITS, 5, ""),
    "so are values": (WAITS, 6, ""),
    "the first scores are not waited for": (GROUPS, 0, ""),
    "scores are not waited for": (GROUPS, 1, ""),
    "sums are not waited for": (GROUPS, 2, ""),
    "the last sums are not waited for": (GROUPS, 3, ""),
    "scores and sums are one group": (r"wgmma\.commit_group\.sync\.aligned;", 1, ""),
    "keys are not given back": (r"mbarrier\.arrive\.shared\.b64 .*;", 1, ""),
    "values are given back as keys": (r"(arrive\.shared\.b64 %rd\d+), \[[^\]]*", 2, r"\1, [lamina_shared+73744"),
    "too few bytes of values": (r"(expect_tx\.shared\.b64 %rd\d+, \[%rd\d+\+\d+\], )%r\d+", 1, r"\1 16256"),
    "values that are not turned": (r", 1, 1, 1, 1;", 8, ", 1, 1, 1, 0;"),
}
PLANTED_IN = Case((1, 1, 33, 32, 70, 32), "bf16", causal=40)
PLANTED_IN_GROUPS = Case((1, 1, 33, 64, 400, 64), "bf16", causal=380)


def planted(model: EmulatedProgram, change: Callable[[str], str]) -> EmulatedProgram:
    """The same with a change to its kernel."""
    [(symbol, kernel)] = model.built.kernels.items()
    ptx = change(kernel.ptx)
    assert ptx != kernel.ptx
    built = replace(model.built, kernels={symbol: replace(kernel, ptx=ptx)})
    return EmulatedProgram(built, model.signature, np.zeros(0, np.uint8))


def at(pattern: str, number: int, text: str) -> Callable[[str], str]:
    """Puts a text into the place of the pattern's match of a number."""

    def change(ptx: str) -> str:
        match = list(re.finditer(pattern, ptx))[number]
        return ptx[: match.start()] + match.expand(text) + ptx[match.end() :]

    return change


def wrong(model: EmulatedProgram, case: Case, seeds: int) -> bool:
    """Whether a late run does not compute attention."""
    arrays = case.arrays()
    for seed in range(seeds):
        model.late, model.seed = True, seed
        try:
            [result] = model.run(arrays)
        except LaminaError:
            return True
        if not agrees(result, case.expected(arrays), MOST[case.type]):
            return True
    return False


@pytest.mark.parametrize("bug", [None, *PLANTED, *IN_PTX])
def test_planted_bugs_are_found(bug: str | None, tmp_path: Path) -> None:
    lowered = CudaTarget("sm_80").lower(PLANTED_IN.program(tmp_path), "tiles", Options())
    if bug in PLANTED:
        PLANTED[bug](lowered)
    model = compiled(lowered)
    if bug in IN_PTX:
        pattern, text = IN_PTX[bug]
        model = planted(model, lambda ptx: re.sub(pattern, text, ptx, count=1 if "swizzle" in bug else 0))
    assert wrong(model, PLANTED_IN, 3) == (bug is not None)


@pytest.fixture(scope="module")
def by_a_group(tmp_path_factory: pytest.TempPathFactory) -> EmulatedProgram:
    return compiled(PLANTED_IN_GROUPS.program(tmp_path_factory.mktemp("m")), "sm_90a")


@pytest.mark.parametrize("bug", [None, *IN_GROUPS])
def test_bugs_planted_into_warpgroups_are_found(bug: str | None, by_a_group: EmulatedProgram) -> None:
    model = by_a_group if bug is None else planted(by_a_group, at(*IN_GROUPS[bug]))
    assert wrong(model, PLANTED_IN_GROUPS, 12) == (bug is not None)


def test_a_deep_head_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LaminaError, match="attention is at most 128 columns deep"):
        compiled(Case((1, 1, 16, 129, 16, 16)).program(tmp_path))


@pytest.mark.parametrize("precision", ["f32", "bf16"])
def test_it_is_found_in_models(precision: str, tmp_path: Path) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(SOURCE)
    program = read_program(str(path))
    assert isinstance(program, Program)
    model = CudaTarget("sm_80").compile(program, Options(cache=False, emulate=True, precision=precision))
    assert isinstance(model, EmulatedProgram)
    rng = np.random.default_rng(1)
    inputs = [rng.standard_normal((2, 20, 16)).astype(np.float32) for _ in range(3)]
    assert len(model.built.launches) == (1 if precision == "f32" else 4)  # roundings of the operands
    [expected] = lamina.interpret(program, inputs)
    assert agrees(model.run(inputs)[0], expected, 1e-6 if precision == "f32" else 1e-2)


SOURCE = """
func.func public @main(%q: tensor<2x20x16xf32>, %k: tensor<2x20x16xf32>, %v: tensor<2x20x16xf32>) -> tensor<2x20x16xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x20x16xf32>, tensor<2x20x16xf32>) -> tensor<2x20x20xf32>
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<2x20x20xf32>, tensor<f32>) -> tensor<2x20xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<2x20xf32>) -> tensor<2x20x20xf32>
  %d = stablehlo.subtract %s, %mb : tensor<2x20x20xf32>
  %e = stablehlo.exponential %d : tensor<2x20x20xf32>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x20x20xf32>, tensor<f32>) -> tensor<2x20xf32>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<2x20xf32>) -> tensor<2x20x20xf32>
  %p = stablehlo.divide %e, %tb : tensor<2x20x20xf32>
  %o = stablehlo.dot_general %p, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x20x20xf32>, tensor<2x20x16xf32>) -> tensor<2x20x16xf32>
  return %o : tensor<2x20x16xf32>
}
"""  # noqa: E501
