# ruff: noqa: E501
"""Products of matrices by threads, warps and warpgroups, of every layout and of sizes that no tile divides."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.backends import Options
from lamina.backends.cuda.emulated import EmulatedProgram
from lamina.backends.cuda.target import CudaTarget
from lamina.compiler.interpreter import Interpreter
from lamina.compiler.program import Program
from lamina.compiler.signature import dtype_named
from lamina.passes.convert.contraction_to_cta.schedule import GROUPS, LARGE, MIDDLE, ROW, SMALL, WARPS, Schedule
from lamina.tools.sources import read_program

PRODUCT = """
func.func public @main(%a: tensor<{a}x{t}>, %b: tensor<{b}x{t}>, %bias: tensor<{n}xf32>) -> tensor<{c}xf32> {{
  %d = stablehlo.dot_general %a, %b, {batching} contracting_dims = [{ka}] x [{kb}] : (tensor<{a}x{t}>, tensor<{b}x{t}>) -> tensor<{c}xf32>
  %w = stablehlo.broadcast_in_dim %bias, dims = [{last}] : (tensor<{n}xf32>) -> tensor<{c}xf32>
  %s = stablehlo.add %d, %w : tensor<{c}xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<{c}xf32>
  %r = stablehlo.maximum %s, %zero : tensor<{c}xf32>
  return %r : tensor<{c}xf32>
}}
"""
CONVOLUTION = """
func.func public @main(%x: tensor<{x}x{t}>, %w: tensor<{w}x{t}>, %bias: tensor<{o}xf32>) -> tensor<{y}xf32> {{
  %d = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{stride = [{s}, {s}], pad = [[{p}, {p}], [{p}, {p}]], rhs_dilate = [{d}, {d}]}} {{batch_group_count = 1 : i64, feature_group_count = {g} : i64}} : (tensor<{x}x{t}>, tensor<{w}x{t}>) -> tensor<{y}xf32>
  %b = stablehlo.broadcast_in_dim %bias, dims = [3] : (tensor<{o}xf32>) -> tensor<{y}xf32>
  %s = stablehlo.add %d, %b : tensor<{y}xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<{y}xf32>
  %r = stablehlo.maximum %s, %zero : tensor<{y}xf32>
  return %r : tensor<{y}xf32>
}}
"""
PART = """
func.func public @main(%a: tensor<2x70x48x{t}>, %b: tensor<40x72x{t}>, %c: tensor<2x70x72xf32>) -> tensor<2x64x72xf32> {{
  %x = stablehlo.slice %a [0:2, 6:70, {column}:{columns}] : (tensor<2x70x48x{t}>) -> tensor<2x64x40x{t}>
  %z = stablehlo.slice %c [0:2, 3:67, 0:72] : (tensor<2x70x72xf32>) -> tensor<2x64x72xf32>
  %d = stablehlo.dot_general %x, %b, contracting_dims = [2] x [0] : (tensor<2x64x40x{t}>, tensor<40x72x{t}>) -> tensor<2x64x72xf32>
  %s = stablehlo.add %d, %z : tensor<2x64x72xf32>
  return %s : tensor<2x64x72xf32>
}}
"""
UNITS = {  # architecture, type, precision, instruction, relative error that roundings of operands make
    "fma": ("sm_80", "f32", "f32", "fma.rn.f32", 1e-6),
    "mma": ("sm_80", "bf16", "f32", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 1e-6),
    "mma f16": ("sm_80", "f16", "f32", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 1e-6),
    "mma tf32": ("sm_80", "f32", "tf32", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 2**-11),
    "wgmma": ("sm_90a", "bf16", "f32", "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16", 1e-6),
}
LAYOUTS = (("mk", "kn"), ("mk", "nk"), ("km", "kn"), ("km", "nk"))


def text_of(m: int, n: int, k: int, *, left: str = "mk", right: str = "kn", batch: int = 0, t: str = "f32") -> str:
    sizes = {"m": str(m), "n": str(n), "k": str(k)}
    first = [str(batch)] if batch else []
    shape = {
        name: "x".join([*first, *(sizes[d] for d in order)]) for name, order in (("a", left), ("b", right), ("c", "mn"))
    }
    shift = len(first)
    batching = "batching_dims = [0] x [0]," if batch else ""
    ka, kb = left.index("k") + shift, right.index("k") + shift
    return PRODUCT.format(**shape, n=n, ka=ka, kb=kb, batching=batching, last=1 + shift, t=t)


def convolution(
    image: tuple[int, int, int, int],
    window: tuple[int, int],
    channels: int,
    *,
    stride: int = 1,
    dilation: int = 1,
    pad: int = 0,
    groups: int = 1,
    t: str = "bf16",
) -> str:
    """Of images, rows, columns and channels; `channels` of the result."""
    images, *sizes, depth = image
    points = [
        (size + 2 * pad - dilation * (taps - 1) - 1) // stride + 1 for size, taps in zip(sizes, window, strict=True)
    ]
    shapes = {"x": image, "w": (*window, depth // groups, channels), "y": (images, *points, channels)}
    texts = {name: "x".join(map(str, shape)) for name, shape in shapes.items()}
    return CONVOLUTION.format(**texts, o=channels, s=stride, d=dilation, p=pad, g=groups, t=t)


def program_of(text: str, folder: Path) -> tuple[Program, list[Any]]:
    """The program, and random inputs for it."""
    path = folder / "m.mlir"
    path.write_text(text)
    program = read_program(str(path))
    assert isinstance(program, Program)
    rng = np.random.default_rng(0)
    return program, [
        rng.standard_normal(tuple(map(int, spec.shape))).astype(dtype_named(spec.dtype))
        for spec in program.signature.inputs
    ]


def error(found: Any, expected: Any) -> float:
    assert found.shape == expected.shape and found.dtype == expected.dtype
    wide = expected.astype(np.float64)
    return float(np.abs(found.astype(np.float64) - wide).max() / np.abs(wide).max())


def check(
    text: str, folder: Path, *, late: bool = False, name: str = "sm_80", precision: str = "f32", most: float = 1e-6
) -> EmulatedProgram:
    program, inputs = program_of(text, folder)
    model = CudaTarget(name).compile(program, Options(cache=False, emulate=True, precision=precision))
    assert isinstance(model, EmulatedProgram)
    [expected] = lamina.interpret(program, inputs)
    for way in {False, late}:
        model.late = way
        [found] = model.run(inputs)
        assert error(found, expected) <= most
    for kernel in model.built.kernels.values():
        assert kernel.resources is None or (kernel.resources.stack_bytes == 0 and kernel.resources.spill_bytes == 0)
    assert not any("local" in name for counted in model.counters for name in counted.instructions)
    return model


@pytest.mark.parametrize(
    ("unit", "left", "right"),
    [(unit, *layout) for unit in UNITS for layout in (LAYOUTS if unit != "mma f16" else LAYOUTS[:1])],
)
def test_layouts(unit: str, left: str, right: str, tmp_path: Path) -> None:
    name, t, precision, instruction, most = UNITS[unit]
    text = text_of(*((36, 40, 36) if t == "f32" else (40, 48, 72)), left=left, right=right, t=t)
    model = check(text, tmp_path, late=True, name=name, precision=precision, most=most)
    [counted] = model.counters
    assert counted.instructions.get(instruction) and counted.bank_conflicts == 0


@pytest.mark.parametrize(
    ("unit", "text"),
    [
        ("fma", text_of(33, 36, 20)),
        ("fma", text_of(1, 9, 19)),
        ("fma", text_of(17, 36, 8, batch=3)),
        ("mma", text_of(5, 7, 3, t="bf16")),
        ("mma", text_of(33, 1, 70, left="km", right="nk", t="bf16", batch=2)),
        ("mma tf32", text_of(9, 34, 5, left="km")),
        ("wgmma", text_of(72, 80, 136, t="bf16", batch=2)),
    ],
    ids=["edges", "one odd row", "batch", "warps, all odd", "warps, a batch of columns", "tf32", "warpgroups, batch"],
)
def test_edges(unit: str, text: str, tmp_path: Path) -> None:
    name, _, precision, _, most = UNITS[unit]
    model = check(text, tmp_path, late=True, name=name, precision=precision, most=most)
    assert len(model.built.launches) == 1


@pytest.mark.parametrize(
    ("schedule", "right"),
    [
        (MIDDLE, "kn"),
        (LARGE, "kn"),
        (WARPS[0], "kn"),
        (WARPS[1], "nk"),
        (GROUPS[0], "nk"),
        (GROUPS[1], "kn"),
        (GROUPS[2], "kn"),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value.unit} {value.rows}x{value.columns}",
)
def test_larger_tiles(schedule: Schedule, right: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fma = schedule.unit == "fma"
    given = schedule if fma else replace(schedule, depth=64)
    monkeypatch.setattr("lamina.passes.gpu.schedule_contractions.default_schedule", lambda *_: given)  # pyright: ignore
    name = "sm_90a" if schedule.unit == "wgmma" else "sm_80"
    texts = [text_of(100, 136, 72, right=right, t="f32" if fma else "bf16")]
    if schedule.unit == "wgmma":
        texts.append(convolution((2, 7, 9, 24), (3, 3), 136, pad=1))
    for text in texts:
        model = check(text, tmp_path, name=name)
        assert model.counters[-1].bank_conflicts == 0


SHARED = {
    "fma": ("sm_80", SMALL, text_of(40, 36, 96, right="nk"), 3, 6),
    "fma, turned": ("sm_80", SMALL, text_of(33, 40, 120, left="km", batch=2), 2, 5),
    "fma, windows": ("sm_80", SMALL, convolution((2, 5, 7, 24), (3, 3), 40, pad=1, t="f32"), 3, 9),
    "a row": ("sm_80", ROW, text_of(1, 200, 240), 3, 6),
    "mma": ("sm_80", replace(WARPS[3], depth=64), text_of(40, 36, 264, t="bf16"), 3, 6),
    "mma, windows": ("sm_80", replace(WARPS[3], depth=64), convolution((1, 7, 9, 24), (3, 3), 40, pad=1), 3, 18),
    "wgmma": ("sm_90a", replace(GROUPS[3], depth=64), text_of(70, 72, 264, right="nk", t="bf16", batch=2), 3),
    "wgmma, windows": (
        "sm_90a",
        replace(GROUPS[3], depth=64),
        convolution((1, 7, 9, 24), (3, 3), 72, stride=2, pad=1),
        3,
        9,
    ),
}


@pytest.mark.parametrize(
    ("which", "splits"), [(which, n) for which, (_, _, _, *every) in SHARED.items() for n in every]
)
def test_sums_that_blocks_share(which: str, splits: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, schedule, text, *_ = SHARED[which]
    given = replace(schedule, splits=splits)
    monkeypatch.setattr("lamina.passes.gpu.schedule_contractions.default_schedule", lambda *_: given)  # pyright: ignore
    model = check(text, tmp_path, late=True, name=name)
    *_, shared, _ = model.built.launches
    assert shared.grid[0] % splits == 0 or schedule.unit == "wgmma"  # whose blocks take tile after tile
    assert all(counted.bank_conflicts == 0 for counted in model.counters)


WINDOWS = {
    "stride": convolution((2, 9, 9, 16), (3, 3), 40, stride=2, pad=1),
    "one image": convolution((1, 7, 9, 72), (3, 3), 40, pad=1),
    "one point": convolution((3, 9, 7, 40), (1, 1), 48, stride=2),
    "dilation": convolution((2, 11, 10, 24), (3, 2), 72, dilation=2),
    "groups": convolution((1, 8, 9, 32), (3, 3), 96, pad=1, groups=2),
    "few channels, f16": convolution((2, 8, 8, 8), (5, 3), 40, pad=1, t="f16"),
    "more zeros than image": convolution((2, 3, 4, 16), (5, 5), 40, dilation=2, stride=2, pad=7),
}


@pytest.mark.parametrize("which", WINDOWS)
@pytest.mark.parametrize("name", ["sm_80", "sm_90a"])
def test_convolutions_are_products_of_views(name: str, which: str, tmp_path: Path) -> None:
    model = check(WINDOWS[which], tmp_path, late=True, name=name)
    [counted] = [c for c in model.counters if any(i.startswith(("wgmma.mma", "mma")) for i in c.instructions)]
    assert any(i.startswith("wgmma.mma") for i in counted.instructions) == (name == "sm_90a")
    assert counted.bank_conflicts == 0 and "cp.async.cg.shared.global" in counted.instructions
    assert len(model.built.launches) == 1 or which == "groups"  # nothing is padded before


def small_gpu() -> CudaTarget:
    """One with warpgroups, of a single multiprocessor."""
    target = CudaTarget("sm_90a")
    target.architecture = replace(target.architecture, gpu=replace(target.architecture.gpu, processors=1))
    return target


@pytest.mark.parametrize("which", WINDOWS)
def test_convolutions_by_warpgroups_whatever_comes_late(which: str, tmp_path: Path) -> None:
    program, inputs = program_of(WINDOWS[which], tmp_path)
    target = small_gpu()  # blocks take several tiles
    model = target.compile(program, Options(cache=False, emulate=True))
    assert isinstance(model, EmulatedProgram)
    [expected] = lamina.interpret(program, inputs)
    model.late = True
    for seed in range(5):
        model.seed = seed
        assert error(model.run(inputs)[0], expected) <= 1e-6


@pytest.mark.parametrize(
    ("image", "channels"),
    [((1, 9, 9, 3), 40), ((1, 9, 9, 12), 40), ((1, 5, 5, 16), 40), ((1, 9, 9, 16), 24)],
    ids=["elements one by one", "pieces of 8 bytes", "few points", "few channels of the result"],
)
def test_convolutions_that_stay_with_warps(image: tuple[int, int, int, int], channels: int, tmp_path: Path) -> None:
    model = check(convolution(image, (3, 3), channels, pad=1), tmp_path, name="sm_90a")
    assert any("mma.sync" in i for counted in model.counters for i in counted.instructions)


@pytest.mark.parametrize("column", [8, 5])
@pytest.mark.parametrize("unit", UNITS)
def test_parts_of_matrices_are_seen_where_they_are(unit: str, column: int, tmp_path: Path) -> None:
    name, t, precision, instruction, most = UNITS[unit]
    if unit == "wgmma" and column % 8:
        instruction = UNITS["mma"][3]  # columns that begin inside of 16 bytes
    text = PART.format(t=t, column=column, columns=column + 40)
    model = check(text, tmp_path, late=True, name=name, precision=precision, most=most)
    [counted] = model.counters
    assert counted.instructions.get(instruction)


def test_no_bank_is_asked_twice_and_accesses_are_wide(tmp_path: Path) -> None:
    for right in ("kn", "nk"):
        model = check(text_of(64, 64, 32, right=right), tmp_path, name="sm_90a")
        [counted] = model.counters
        assert counted.bank_conflicts == 0 and counted.full_sectors
        loads = [name for name in counted.instructions if name.startswith(("ld.global", "st.global", "ld.shared"))]
        assert loads and all(name.endswith(("v4.b32", "v2.b64")) for name in loads)
        [kernel] = model.built.kernels.values()
        assert kernel.resources is None or kernel.resources.barriers == 1


def test_blocks_of_warpgroups_stay_and_take_one_tile_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = small_gpu()  # which two blocks share
    program, inputs = program_of(text_of(130, 72, 328, right="nk", t="bf16"), tmp_path)
    model = target.compile(program, Options(cache=False, emulate=True))
    assert isinstance(model, EmulatedProgram) and model.built.launches[0].grid == (2, 1, 1)
    [expected] = lamina.interpret(program, inputs)
    model.late = True
    for seed in range(2):
        model.seed = seed
        assert error(model.run(inputs)[0], expected) <= 1e-6


@pytest.mark.parametrize("level", ["tiles", "gpu"])
@pytest.mark.parametrize("unit", ["fma", "mma", "mma tf32", "wgmma", "wgmma convolution"])
def test_every_level_means_the_same(unit: str, level: str, tmp_path: Path) -> None:
    name, t, precision, _, most = UNITS[unit.removesuffix(" convolution")]
    product = text_of(20, 24, 20 if unit == "fma" else 40, right="nk", t=t)
    windows = convolution((1, 5, 7, 8), (3, 3), 32, pad=1)
    program, inputs = program_of(windows if unit.endswith("convolution") else product, tmp_path)
    [expected] = lamina.interpret(program, inputs)
    lowered = CudaTarget(name).lower(program, level, Options(precision=precision))
    result = np.zeros_like(expected)
    arena, constants = np.zeros(1 << 13, np.int8), np.zeros(1 << 12, np.int8)
    main: Any = lowered.module.body.block.first_op
    sizes = [arg.type.get_shape()[0] for arg in main.body.block.args[4:]]
    Interpreter(lowered.context).run(lowered.module, [*inputs, result, arena[: sizes[0]], constants[: sizes[1]]])
    assert error(result, expected) <= most
