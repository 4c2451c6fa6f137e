# ruff: noqa: E501
"""Products of matrices through shared memory, of every layout and of sizes that no tile divides."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lamina.backends import Options
from lamina.backends.cuda.emulated import EmulatedProgram
from lamina.backends.cuda.target import CudaTarget
from lamina.compiler.program import Program
from lamina.passes.convert import contraction_to_gpu
from lamina.passes.convert.contraction_to_gpu.schedule import LARGE, MIDDLE, Schedule
from lamina.tools.sources import read_program

PRODUCT = """
func.func public @main(%a: tensor<{a}xf32>, %b: tensor<{b}xf32>, %bias: tensor<{n}xf32>) -> tensor<{c}xf32> {{
  %d = stablehlo.dot_general %a, %b, {batching} contracting_dims = [{ka}] x [{kb}] : (tensor<{a}xf32>, tensor<{b}xf32>) -> tensor<{c}xf32>
  %w = stablehlo.broadcast_in_dim %bias, dims = [{last}] : (tensor<{n}xf32>) -> tensor<{c}xf32>
  %s = stablehlo.add %d, %w : tensor<{c}xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<{c}xf32>
  %r = stablehlo.maximum %s, %zero : tensor<{c}xf32>
  return %r : tensor<{c}xf32>
}}
"""


def text_of(m: int, n: int, k: int, *, left: str = "mk", right: str = "kn", batch: int = 0) -> str:
    sizes = {"m": str(m), "n": str(n), "k": str(k)}
    first = [str(batch)] if batch else []
    shape = {
        name: "x".join([*first, *(sizes[d] for d in order)]) for name, order in (("a", left), ("b", right), ("c", "mn"))
    }
    shift = len(first)
    batching = "batching_dims = [0] x [0]," if batch else ""
    ka, kb = left.index("k") + shift, right.index("k") + shift
    return PRODUCT.format(**shape, n=n, ka=ka, kb=kb, batching=batching, last=1 + shift)


def check(text: str, folder: Path, *, late: bool = False, name: str = "sm_80") -> EmulatedProgram:
    path = folder / "m.mlir"
    path.write_text(text)
    program = read_program(str(path))
    assert isinstance(program, Program)
    model = CudaTarget(name).compile(program, Options(cache=False, emulate=True))
    assert isinstance(model, EmulatedProgram)
    rng = np.random.default_rng(0)
    a, b, bias = (
        rng.standard_normal(tuple(map(int, spec.shape))).astype(np.float32) for spec in program.signature.inputs
    )
    model.late = late
    [found] = model.run([a, b, bias])
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    if "contracting_dims = [0]" in text or ("batching" in text and "contracting_dims = [1]" in text):
        wide_a = wide_a.swapaxes(-1, -2)
    if wide_b.shape[-2] != wide_a.shape[-1] or wide_b.shape[-1] != bias.size:
        wide_b = wide_b.swapaxes(-1, -2)
    expected = np.maximum(wide_a @ wide_b + bias, 0)
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= 1e-6 * np.abs(expected).max() * wide_a.shape[-1] ** 0.5
    return model


@pytest.mark.parametrize(
    "text",
    [
        text_of(33, 36, 20),
        text_of(1, 64, 19),
        text_of(40, 20, 18, right="nk"),
        text_of(36, 40, 16, left="km"),
        text_of(9, 12, 7, left="km", right="nk"),
        text_of(17, 36, 8, batch=3),
        text_of(20, 24, 40, right="nk", batch=2),
    ],
    ids=["edges", "one row", "right transposed", "left transposed", "both", "batch", "batch, transposed"],
)
def test_layouts_and_edges(text: str, tmp_path: Path) -> None:
    model = check(text, tmp_path, late=True)
    assert len(model.built.launches) == 1
    [counted] = model.counters
    assert counted.instructions.get("fma.rn.f32") and not any("local" in name for name in counted.instructions)


@pytest.mark.parametrize("schedule", [MIDDLE, LARGE], ids=["middle", "large"])
def test_larger_tiles(schedule: Schedule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contraction_to_gpu, "choose", lambda m, n: schedule)  # pyright: ignore[reportUnknownLambdaType]
    model = check(text_of(100, 124, 20), tmp_path)
    [kernel] = model.built.kernels.values()
    assert kernel.resources is None or (kernel.resources.stack_bytes == 0 and kernel.resources.registers <= 255)
    assert model.counters[0].bank_conflicts == 0


def test_no_bank_is_asked_twice_and_accesses_are_wide(tmp_path: Path) -> None:
    for right in ("kn", "nk"):
        model = check(text_of(64, 64, 32, right=right), tmp_path, name="sm_90a")
        [counted] = model.counters
        assert counted.bank_conflicts == 0 and counted.full_sectors
        loads = [name for name in counted.instructions if name.startswith(("ld.global", "st.global", "ld.shared"))]
        assert loads and all(name.endswith(("v4.b32", "v2.b64")) for name in loads)
        [kernel] = model.built.kernels.values()
        assert kernel.resources is None or kernel.resources.barriers == 1
