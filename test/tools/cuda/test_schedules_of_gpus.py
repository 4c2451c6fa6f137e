"""Schedules of products on GPUs: written, edited, compiled with; and those that cannot be made."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from lamina.backends import Options
from lamina.backends.cuda.target import CudaTarget
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.schedules import Entry, Schedules
from lamina.tools.main import main
from lamina.tools.sources import read_program

PRODUCT = """
func.func public @main(%a: tensor<{a}x{t}>, %b: tensor<{b}x{t}>) -> tensor<{m}x{n}xf32> {{
  %d = stablehlo.dot_general %a, %b, contracting_dims = [{ka}] x [{kb}] : (tensor<{a}x{t}>, tensor<{b}x{t}>) -> tensor<{m}x{n}xf32>
  return %d : tensor<{m}x{n}xf32>
}}
"""  # noqa: E501
M, N, K = 72, 136, 72


@pytest.fixture
def product(tmp_path: Path) -> Path:
    path = tmp_path / "product.mlir"
    path.write_text(PRODUCT.format(a=f"{M}x{K}", b=f"{K}x{N}", m=M, n=N, ka=1, kb=0, t="bf16"))
    return path


def test_written_edited_and_compiled_with(product: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "m.schedules"
    target = ["--target", "cuda:sm_90a"]
    assert main(["compile", str(product), *target, "-o", str(file)]) == 0
    name = f"matmul bf16,bf16,f32 m{M} n{N} k{K}"
    written = Schedules.read(file)
    assert str(written.entries[name]) == "unit=wgmma rows=64 columns=64 depth=64 down=1 across=1 stages=4 splits=1"
    assert "--target cuda:sm_90a --schedules" in file.read_text()

    edited = Schedules({name: Entry({"unit": "wgmma", "columns": 128, "stages": 3}), "matmul f32 m1 n1 k1": Entry({})})
    file.write_text(edited.format())
    ir, ptx = tmp_path / "m.buffers.mlir", tmp_path / "m.ptx"
    with_file = [*target, "--schedules", str(file)]
    assert main(["compile", str(product), *with_file, "-o", str(ir), "--emit", "buffers"]) == 0
    assert "the model has no kernel 'matmul f32 m1 n1 k1'" in capsys.readouterr().err
    assert 'unit = "wgmma", rows = 64 : i64, columns = 128 : i64' in ir.read_text()
    assert "stages = 3 : i64" in ir.read_text()
    assert main(["compile", str(product), *with_file, "-o", str(ptx)]) == 0
    assert "wgmma.mma_async.sync.aligned.m64n128k16" in ptx.read_text()
    assert main(["run", str(product), *with_file, "--emulate", "--check", "--quiet"]) == 0


@pytest.mark.parametrize(
    ("architecture", "element", "precision", "layouts", "entry"),
    [
        ("sm_80", "f32", "f32", "mk kn", "rows=128 columns=64 depth=32 down=16 across=4"),
        ("sm_80", "f32", "f32", "km nk", "rows=16 columns=32 depth=8 down=4 across=4"),
        ("sm_80", "bf16", "f32", "mk kn", "unit=fma rows=32 columns=128 depth=16 down=8 across=8"),
        ("sm_80", "bf16", "f32", "km nk", "unit=fma rows=16 columns=64 depth=32 down=4 across=4"),
        ("sm_80", "bf16", "f32", "mk nk", "rows=256 columns=16 down=2 across=1 stages=2"),
        ("sm_80", "bf16", "f32", "km kn", "rows=16 columns=192 down=1 across=2 stages=5"),
        ("sm_80", "f32", "tf32", "mk kn", "unit=mma rows=192 columns=32 down=2 across=1"),
        ("sm_90a", "bf16", "f32", "mk kn", "columns=192 stages=6"),
        ("sm_90a", "bf16", "f32", "km nk", "rows=128 down=2 columns=256 stages=2"),
        ("sm_90a", "bf16", "f32", "mk nk", "unit=mma rows=64 columns=64"),
        ("sm_90a", "bf16", "f32", "mk nk", "splits=3"),
        ("sm_80", "f32", "f32", "km nk", "rows=4 columns=128 depth=32 down=4 across=4 stages=6 splits=9"),
    ],
)
def test_what_is_allowed_is_right(
    tmp_path: Path, architecture: str, element: str, precision: str, layouts: str, entry: str
):
    left, right = layouts.split()
    sizes = {"m": M, "n": N, "k": K}
    shapes = [[sizes[d] for d in order] for order in (left, right)]
    a, b = ("x".join(map(str, shape)) for shape in shapes)
    path = tmp_path / "p.mlir"
    path.write_text(PRODUCT.format(a=a, b=b, m=M, n=N, ka=left.index("k"), kb=right.index("k"), t=element))
    kinds = "f32" if element == "f32" else "bf16,bf16,f32"
    name = f"matmul {kinds} m{M} n{N} k{K}" + (" a=k0,m0" if left == "km" else "")
    schedules = Schedules.parse(f'[contractions]\n"{name}" = "{entry}"\n', "given")
    options = Options(cache=False, emulate=True, schedules=schedules, precision=precision)
    rng = np.random.default_rng(0)
    dtype = np.float32 if element == "f32" else ml_dtypes.bfloat16
    x, y = (rng.integers(-4, 5, shape).astype(dtype) for shape in shapes)
    program = read_program(path)
    warned: list[str] = []
    program.context.diagnostics.listeners.append(lambda diagnostic: warned.append(str(diagnostic)))
    [got] = CudaTarget(architecture).compile(program, options).run([x, y])
    wide = (np.asarray(v, np.float64) for v in (x if left == "mk" else x.T, y if right == "kn" else y.T))
    np.testing.assert_array_equal(got, np.matmul(*wide))
    assert not warned


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("unit=cores", "'unit=cores' (expected one of fma, mma, wgmma)"),
        ("unit=4", "'unit=4' (expected one of fma, mma, wgmma)"),
        ("lanes=8", "'lanes' is no part of a schedule of a GPU (one of unit, rows,"),
        ("rows=many", "'rows=many' is not a name with a number (as rows=4)"),
        ("splits=5", "splits=5 (expected parts of equal length of a sum of 72)"),
        ("stages=0", "a schedule with a zero (expected numbers from 1 on)"),
        ("unit=wgmma", "sm_80 has no wgmma (expected one of fma, mma)"),
        ("rows=40", "rows=40 (expected a power of two, or a multiple of 64"),
        ("rows=64 down=8", "rows=64 (expected a multiple of 128)"),
        ("stages=1", "stages=1 (expected 2 to 8)"),
        ("depth=32", "depth=32 (expected 64, which fills the rows of shared memory)"),
        ("rows=256 columns=128 across=2", "256 sums of a thread (expected 128 at most, or registers are spilled)"),
        (
            "rows=256 columns=128 down=4 across=2 stages=5",
            "stages take 247808 bytes of shared memory (expected a block",
        ),
        ("rows=256 columns=256 down=8 across=8", "2048 threads (expected a block has 1024 at most)"),
        ("unit=fma rows=64 columns=64 stages=2", "stages=2 (expected 1: numbers of 16 bits come through registers)"),
        ("rows=16 columns=192 down=1 across=1", "52 pieces that a thread brings (expected 40 at most"),
        ("unit=fma down=6", "down=6 (expected a multiple of 4)"),
        ("unit=fma rows=32 columns=32 down=8 across=8", "16 threads (expected warps of 32)"),
        (
            "unit=fma rows=32 columns=32 depth=4 down=4 across=4",
            "rows=32 (expected 128 elements of a step do not share",
        ),
    ],
)
def test_what_cannot_be_made_is_told_with_its_line(
    product: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], entry: str, message: str
):
    file = tmp_path / "m.schedules"
    file.write_text(f'[contractions]\n"matmul bf16,bf16,f32 m{M} n{N} k{K}" = "{entry}"\n')
    assert main(["compile", str(product), "--target", "cuda", "--schedules", str(file), "-o", str(tmp_path / "m.ptx")])
    assert f"m.schedules:2: error: {message}" in capsys.readouterr().err
    assert not (tmp_path / "m.ptx").exists()


@pytest.mark.parametrize(
    ("element", "columns", "entry", "message"),
    [
        ("f32", N, "unit=mma", "unit=mma multiplies no f32"),
        ("f32", N, "unit=wgmma", "unit=wgmma multiplies numbers of 16 bits"),
        ("bf16", 99, "unit=wgmma", "unit=wgmma wants operands in pieces of 16 bytes"),
        ("bf16", N, "unit=wgmma rows=128", "rows=128 (expected 64 for each of 1 warpgroups)"),
        ("bf16", N, "unit=wgmma columns=96", "columns=96 (expected a multiple of 64 up to 256)"),
        ("bf16", N, "unit=wgmma down=3", "down=3 across=1 (expected one or two warpgroups"),
    ],
)
def test_what_types_and_layouts_do_not_allow(tmp_path: Path, element: str, columns: int, entry: str, message: str):
    path = tmp_path / "p.mlir"
    path.write_text(PRODUCT.format(a=f"{M}x{K}", b=f"{K}x{columns}", m=M, n=columns, ka=1, kb=0, t=element))
    kinds = "f32" if element == "f32" else "bf16,bf16,f32"
    name = f"matmul {kinds} m{M} n{columns} k{K}"
    schedules = Schedules.parse(f'[contractions]\n"{name}" = "{entry}"\n', "given")
    with pytest.raises(LaminaError) as told:
        CudaTarget("sm_90a").lower(read_program(path), "buffers", Options(schedules=schedules))
    assert message in str(told.value)
