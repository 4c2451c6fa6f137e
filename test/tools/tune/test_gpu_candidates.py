"""Candidates of several problems, compiled: none spills registers, and all give the same numbers."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import lamina
from lamina.backends import Options
from lamina.backends.cuda.assembler import find_ptxas
from lamina.backends.cuda.target import CudaTarget
from lamina.compiler.program import Program
from lamina.compiler.schedules import Schedules
from lamina.passes.convert.contraction_to_cta.schedule import Schedule
from lamina.tools.sources import read_program
from lamina.tools.tune.cuda.candidates import Candidate, Field
from lamina.tools.tune.cuda.kernels import Maker
from lamina.tools.tune.cuda.subjects import by_default, default_of, fields_of

MATMUL = """
func.func public @main(%a: tensor<{m}x{k}x{t}>, %b: tensor<{k}x{n}x{t}>) -> tensor<{m}x{n}xf32> {{
  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<{m}x{k}x{t}>, tensor<{k}x{n}x{t}>) -> tensor<{m}x{n}xf32>
  return %d : tensor<{m}x{n}xf32>
}}
"""  # noqa: E501
CONV = """
func.func public @main(%x: tensor<1x9x9x{c}x{t}>, %w: tensor<3x3x{c}x24x{t}>) -> tensor<1x9x9x24xf32> {{
  %y = "stablehlo.convolution"(%x, %w) {{
    dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64,
    batch_group_count = 1 : i64, padding = dense<1> : tensor<2x2xi64>, window_strides = array<i64: 1, 1>}}
    : (tensor<1x9x9x{c}x{t}>, tensor<3x3x{c}x24x{t}>) -> tensor<1x9x9x24xf32>
  return %y : tensor<1x9x9x24xf32>
}}
"""
CASES = {
    "threads": ("sm_80", MATMUL.format(m=70, n=72, k=40, t="f32"), "fma"),
    "warps": ("sm_80", MATMUL.format(m=70, n=72, k=136, t="bf16"), "mma"),
    "warpgroups": ("sm_90a", MATMUL.format(m=130, n=72, k=136, t="bf16"), "wgmma"),
    "convolution by threads": ("sm_80", CONV.format(c=8, t="f32"), "fma"),
    "convolution by warps": ("sm_80", CONV.format(c=16, t="bf16"), "mma"),
}


def candidates(name: str, text: str, folder: Path) -> tuple[CudaTarget, Program, str, Field, Maker, Schedule]:
    """The one problem of a program, with what makes its kernels, and its default."""
    path = folder / "m.mlir"
    path.write_text(text)
    program, target = read_program(str(path)), CudaTarget(name)
    assert isinstance(program, Program)
    lowered = by_default(target, program, Options())
    [(group, field)] = fields_of(lowered, target.architecture, "f32", target.architecture.gpu)
    maker = Maker(target, None, lowered, group.kernels)  # pyright: ignore[reportArgumentType] - nothing runs
    return target, program, group.name, field, maker, default_of(group)


@pytest.mark.parametrize("case", CASES)
def test_what_is_kept_is_compiled_and_right(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMINA_CACHE", str(tmp_path / "cache"))
    name, text, unit = CASES[case]
    target, program, problem, field, maker, default = candidates(name, text, tmp_path)
    kept = field.kept(3, [default])
    some = [s for s in field.ordered if s.unit == unit]
    middle = some[len(some) // 2]  # what is thought little of is right, too
    tried = dict.fromkeys([*kept, middle])
    compiled = maker.compiled([(Candidate(s), 0) for s in tried])
    assert [each[0].schedule for each in compiled] == list(tried)  # none is refused: no spills, nothing lost
    for built in compiled.values():
        for kernel in built.kernels.values():
            assert find_ptxas() is None or (kernel.resources is not None and kernel.resources.spill_bytes == 0)
    rng = np.random.default_rng(0)
    inputs = [
        rng.integers(-4, 5, tuple(map(int, spec.shape))).astype(
            np.float32 if spec.dtype == "float32" else ml_dtypes.bfloat16
        )
        for spec in program.signature.inputs
    ]
    [expected] = lamina.interpret(program, inputs)
    for schedule in (*list(kept)[:2], middle):
        entry = Candidate(schedule).entry
        model = target.compile(program, Options(emulate=True, schedules=Schedules({problem: entry})))
        [got] = model.run(inputs)
        np.testing.assert_array_equal(got, expected, err_msg=str(entry))
