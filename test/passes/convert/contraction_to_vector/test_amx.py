"""Contractions as tiles of AMX: the numbers of the reference by the interpreter, and the instructions they become."""

from __future__ import annotations

import re
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from lamina.backends.cpu.emit import Effort, assembly, module_text, optimise
from lamina.compiler.context import LaminaContext
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.interpreter import Interpreter
from lamina.compiler.machine import Machine
from lamina.compiler.pipelines import parse_pipeline
from lamina.dialects import all_dialects
from lamina.passes import all_passes

BF16, I32 = np.dtype(ml_dtypes.bfloat16), np.dtype(np.int32)
LANES = 32
REST = (
    "convert-contraction-to-vector,canonicalize,cse,convert-affine-to-scf,convert-parallel-to-runtime,"
    "canonicalize,cse,convert-scf-to-cf,convert-dot-to-llvm,convert-to-llvm"
)
BODIES = {
    "bf16": "%u = arith.extf %l : bf16 to f32\n%v = arith.extf %r : bf16 to f32\n"
    "%p = arith.mulf %u, %v : f32\n%s = arith.addf %o, %p : f32",
    "i8": "%u = arith.{left} %l : i8 to i32\n%v = arith.extsi %r : i8 to i32\n"
    "%p = arith.muli %u, %v : i32\n%s = arith.addi %o, %p : i32",
}
BODIES["i16"] = BODIES["i8"].replace("i8", "i16")
GROUPS = {"bf16": 2, "i16": 2, "i8": 4}
EPILOGUE = """
  linalg.generic {{indexing_maps = [affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]}} ins(%e : memref<{n}x{sums}>) outs(%y : memref<{m}x{n}x{sums}>) {{
  ^bb0(%b: {sums}, %t: {sums}):
    %d = arith.{add} %t, %b : {sums}
    linalg.yield %d : {sums}
  }}"""


def text(
    m: int, n: int, k: int, element: str, left: str = "extsi", epilogue: bool = True, schedule: str | None = None
) -> str:
    group, (sums, zero) = GROUPS[element], ("f32", "0.0") if element == "bf16" else ("i32", "0")
    w = f"memref<{-(-n // LANES)}x{-(-k // group)}x{LANES}x{group}x{element}>"
    x, y, e = f"memref<{m}x{k}x{element}>", f"memref<{m}x{n}x{sums}>", f"memref<{n}x{sums}>"
    after = EPILOGUE.format(m=m, n=n, sums=sums, add="addf" if sums == "f32" else "addi") if epilogue else ""
    given = f', lamina.schedule = "{schedule}"' if schedule else ""
    return f"""
    func.func public @kernel(%x: {x}, %w: {w}, %e: {e}, %y: {y}) attributes {{lamina.kernel = "contraction"{given}}} {{
      %zero = arith.constant {zero} : {sums}
      linalg.fill ins(%zero : {sums}) outs(%y : {y})
      linalg.generic {{indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
          affine_map<(m, n, k) -> (n floordiv {LANES}, k floordiv {group}, n mod {LANES}, k mod {group})>,
          affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}}
          ins(%x, %w : {x}, {w}) outs(%y : {y}) {{
      ^bb0(%l: {element}, %r: {element}, %o: {sums}):
        {BODIES[element].format(left=left)}
        linalg.yield %s : {sums}
      }}
      {after}
      func.return
    }}"""


def lowered(source: str, passes: str, cores: int = 1) -> tuple[ModuleOp, LaminaContext]:
    ctx = LaminaContext(machine=replace(Machine.preset("x86-64-amx"), cores=cores))
    for dialect, factory in all_dialects().items():
        ctx.register_dialect(dialect, factory)
    module = Parser(ctx, source).parse_module()
    for pass_ in parse_pipeline(passes, all_passes()):
        pass_.apply(ctx, module)
    module.verify()
    return module, ctx


def packed(w: np.ndarray, group: int) -> np.ndarray:
    k, n = w.shape
    wide = np.zeros((-(-k // group) * group, -(-n // LANES) * LANES), w.dtype)
    wide[:k, :n] = w
    return np.ascontiguousarray(wide.reshape(-1, group, wide.shape[1] // LANES, LANES).transpose(2, 0, 3, 1))


def run(source: str, x: np.ndarray, w: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, str]:
    """The output by the meaning of every op, and the IR it is the meaning of."""
    module, ctx = lowered(source, "convert-contraction-to-vector")
    y = np.full((x.shape[0], w.shape[1]), 77, bias.dtype)
    Interpreter(ctx).run(module, [x, packed(w, 4 // x.itemsize), bias, y], "kernel")
    return y, str(module)


# around one tile, two tiles and a panel
SHAPES = [(32, 32, 64), (33, 33, 192), (31, 16, 64), (5, 17, 64), (50, 70, 128), (16, 15, 64), (48, 65, 128)]


@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
@pytest.mark.parametrize("epilogue", [False, True])
def test_bfloat16(m: int, n: int, k: int, epilogue: bool):
    rng = np.random.default_rng(k)
    x, w = rng.standard_normal((m, k)).astype(BF16), rng.standard_normal((k, n)).astype(BF16)
    bias = rng.standard_normal(n).astype(np.float32)
    y, ir = run(text(m, n, k, "bf16", epilogue=epilogue), x, w, bias)
    want = x.astype(np.float64) @ w.astype(np.float64) + (bias if epilogue else 0)
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-5 * k**0.5)
    assert "amx.tile_mulf" in ir and "dot.product" not in ir


@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
@pytest.mark.parametrize("left", ["extsi", "extui"])
def test_bytes_of_all_values(m: int, n: int, k: int, left: str):
    rng = np.random.default_rng(m)
    x, w = rng.integers(-128, 128, (m, k)).astype(np.int8), rng.integers(-128, 128, (k, n)).astype(np.int8)
    x[0, :], w[:, 0] = -1 if left == "extui" else -128, -128  # 255 where there is no sign
    bias = rng.integers(-1000, 1000, n).astype(I32)
    y, ir = run(text(m, n, k, "i8", left), x, w, bias)
    wide = x.view(np.uint8) if left == "extui" else x
    np.testing.assert_array_equal(y, wide.astype(np.int64) @ w.astype(np.int64) + bias)
    assert ("zext" in ir) == (left == "extui")


# blocks of k that divide it and that do not, two, three and more; strips of two sizes, tasks that share them out
BLOCKED = [
    (32, 32, 128, "rows=32 depth=64"),
    (70, 65, 192, "rows=32 depth=64 row_blocks=2"),
    (33, 70, 320, "rows=32 depth=64"),
    (100, 33, 256, "rows=32 depth=192 ahead=2"),
    (5, 96, 448, "rows=32 depth=128 panel_blocks=2"),
]


@pytest.mark.parametrize(("m", "n", "k", "schedule"), BLOCKED)
@pytest.mark.parametrize("element", ["bf16", "i8"])
@pytest.mark.parametrize("epilogue", [False, True])
def test_blocks_of_k(m: int, n: int, k: int, schedule: str, element: str, epilogue: bool):
    rng = np.random.default_rng(m)
    if element == "bf16":
        x, w = rng.standard_normal((m, k)).astype(BF16), rng.standard_normal((k, n)).astype(BF16)
    else:
        x, w = rng.integers(-128, 128, (m, k)).astype(np.int8), rng.integers(-128, 128, (k, n)).astype(np.int8)
    bias = rng.integers(-1000, 1000, n).astype(np.float32 if element == "bf16" else I32)
    y, ir = run(text(m, n, k, element, epilogue=epilogue, schedule=schedule), x, w, bias)
    want = x.astype(np.float64) @ w.astype(np.float64) + (bias if epilogue else 0)
    np.testing.assert_allclose(y, want, rtol=1e-5 * (element == "bf16"), atol=1e-5 * k**0.5 * (element == "bf16"))
    assert "amx.tile_mul" in ir


def test_deep_products_are_blocked():
    _, ir = run(
        text(64, 64, 2048, "i8"),
        np.zeros((64, 2048), np.int8),
        np.zeros((2048, 64), np.int8),
        np.zeros(64, I32),
    )
    assert "depth=1024" in ir


@pytest.mark.parametrize("depth", [16, 100])
def test_blocks_of_part_of_a_tile_are_refused(depth: int):
    with pytest.raises(LaminaError, match="multiples of 32"):
        lowered(text(64, 32, 256, "bf16", schedule=f"rows=32 depth={depth}"), "convert-contraction-to-vector")


def test_too_many_strips_between_blocks_are_refused():
    with pytest.raises(LaminaError, match="the sums of 40 strips would wait"):
        lowered(text(1280, 32, 256, "bf16", schedule="rows=32 depth=128"), "convert-contraction-to-vector")


# tiles as deep as an equal part of k: 24, 8, 30; 36 and 20 bytes
@pytest.mark.parametrize(("element", "k"), [("bf16", 48), ("bf16", 8), ("bf16", 120), ("i8", 36), ("i8", 20)])
@pytest.mark.parametrize(("m", "n"), [(33, 33), (17, 16)])
def test_shallow_tiles(element: str, k: int, m: int, n: int):
    rng = np.random.default_rng(k)
    dtype = BF16 if element == "bf16" else np.int8
    x, w = (rng.integers(-9, 10, shape).astype(dtype) for shape in ((m, k), (k, n)))
    y, ir = run(text(m, n, k, element), x, w, np.zeros(n, np.float32 if element == "bf16" else I32))
    np.testing.assert_array_equal(y, x.astype(np.int64) @ w.astype(np.int64))
    assert "amx.tile_mul" in ir


def test_shallow_tiles_are_not_copied():
    rng = np.random.default_rng(5)
    x, w = (rng.integers(-9, 10, shape).astype(BF16) for shape in ((64, 48), (48, 64)))
    y, _ = run(text(64, 64, 48, "bf16", schedule="rows=32 copy=1"), x, w, np.zeros(64, np.float32))
    np.testing.assert_array_equal(y, x.astype(np.int64) @ w.astype(np.int64))


def window(
    image: tuple[int, int, int], n: int, size: tuple[int, int], element: str, step: int = 1, schedule: str | None = None
) -> str:
    """A convolution of an image of rows, columns and channels."""
    group, (sums, zero) = GROUPS[element], ("f32", "0.0") if element == "bf16" else ("i32", "0")
    (h, w, c), (r, s) = image, size
    rows, columns = (h - r) // step + 1, (w - s) // step + 1
    wt = f"memref<{-(-n // LANES)}x{r}x{s}x{-(-c // group)}x{LANES}x{group}x{element}>"
    x, y = f"memref<{h}x{w}x{c}x{element}>", f"memref<{rows}x{columns}x{n}x{sums}>"
    given = f', lamina.schedule = "{schedule}"' if schedule else ""
    loops = "(y, x, n, r, s, c)"
    return f"""
    func.func public @kernel(%x: {x}, %w: {wt}, %y: {y}) attributes {{lamina.kernel = "contraction"{given}}} {{
      %zero = arith.constant {zero} : {sums}
      linalg.fill ins(%zero : {sums}) outs(%y : {y})
      linalg.generic {{indexing_maps = [affine_map<{loops} -> ({step} * y + r, {step} * x + s, c)>,
          affine_map<{loops} -> (n floordiv {LANES}, r, s, c floordiv {group}, n mod {LANES}, c mod {group})>,
          affine_map<{loops} -> (y, x, n)>],
          iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}}
          ins(%x, %w : {x}, {wt}) outs(%y : {y}) {{
      ^bb0(%l: {element}, %r: {element}, %o: {sums}):
        {BODIES[element].format(left="extsi")}
        linalg.yield %s : {sums}
      }}
      func.return
    }}"""


# rows of a tile: 14 of 28, 7, 13, 9 of 27, 6; the odd number of tiles of 3 rows of 7; blocks of the innermost loop
WINDOWS = [
    ((5, 30, 32), 40, (3, 3), "bf16", 1, None),
    ((5, 9, 64), 33, (3, 3), "bf16", 1, "rows=14 depth=64"),
    ((5, 9, 64), 64, (3, 3), "i8", 1, "rows=14 depth=64 row_blocks=2"),
    ((4, 15, 64), 16, (2, 3), "i8", 1, "rows=13"),
    ((7, 55, 8), 32, (3, 3), "bf16", 2, None),
    ((9, 8, 96), 48, (3, 3), "bf16", 1, "rows=12 depth=96 ahead=2"),
    ((6, 7, 64), 70, (1, 1), "i8", 1, None),
    ((9, 16, 4), 24, (7, 7), "bf16", 1, "rows=20 depth=28"),
]


@pytest.mark.parametrize(("image", "n", "size", "element", "step", "schedule"), WINDOWS)
def test_windows(
    image: tuple[int, int, int], n: int, size: tuple[int, int], element: str, step: int, schedule: str | None
):
    rng = np.random.default_rng(n)
    dtype = BF16 if element == "bf16" else np.int8
    x, w = (rng.integers(-9, 10, shape).astype(dtype) for shape in (image, (*size, image[2], n)))
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.int64), size, (0, 1))[::step, ::step]
    want = np.einsum("yxcrs,rscn->yxn", windows, w.astype(np.int64))
    module, ctx = lowered(window(image, n, size, element, step, schedule), "convert-contraction-to-vector")
    flat = packed(w.reshape(-1, n), 4 // x.itemsize)
    y = np.full(want.shape, 77, np.float32 if element == "bf16" else I32)
    shape = (flat.shape[0], *size, image[2] * x.itemsize // 4, *flat.shape[2:])
    Interpreter(ctx).run(module, [x, flat.reshape(shape), y], "kernel")
    np.testing.assert_array_equal(y, want)
    assert "amx.tile_mul" in str(module)


@pytest.mark.parametrize(("image", "size"), [((5, 19, 32), (3, 3)), ((5, 30, 2), (3, 3)), ((5, 30, 3), (3, 3))])
def test_windows_in_rows_without_an_equal_part_and_few_channels_take_vectors(
    image: tuple[int, int, int], size: tuple[int, int]
):
    assert "amx" not in str(lowered(window(image, 32, size, "bf16"), "convert-contraction-to-vector")[0])


def test_blocks_of_one_of_several_loops_are_equal():
    source = window((5, 9, 96), 32, (3, 3), "bf16", schedule="rows=14 depth=64")
    with pytest.raises(LaminaError, match="share its 288 rounds out evenly"):
        lowered(source, "convert-contraction-to-vector")


@pytest.mark.parametrize(("m", "k"), [(3, 64), (32, 33), (32, 34), (32, 4)])
def test_few_rows_and_part_of_a_tile_take_vectors(m: int, k: int):
    assert "amx" not in str(lowered(text(m, 32, k, "bf16"), "convert-contraction-to-vector")[0])


def test_pairs_of_integers_take_vectors():
    assert "amx" not in str(lowered(text(32, 32, 64, "i16"), "convert-contraction-to-vector")[0])


@pytest.mark.parametrize(
    ("element", "left", "instruction"),
    [("bf16", "", "tdpbf16ps"), ("i8", "extui", "tdpbusd"), ("i8", "extsi", "tdpbssd")],
)
@pytest.mark.parametrize("cores", [1, 2])
def test_the_inner_loop_is_four_products_of_four_tiles(element: str, left: str, instruction: str, cores: int):
    module, ctx = lowered(text(128, 256, 4096, element, left, epilogue=False), REST, cores)
    assert ("lamina_parallel_for" in str(module)) == (cores == 2)
    code = assembly(optimise(module_text(module, ctx.machine, Effort.TIDY), ctx.machine, Effort.TIDY), ctx.machine)
    assert "ldtilecfg" in code and "tilerelease" in code
    blocks = re.split(r"\n(?=\.L\w+:)", code)
    innermost = max(blocks, key=lambda block: block.count(instruction)).splitlines()
    last = next(i for i, line in enumerate(innermost) if re.match(r"\s+j", line))
    loop = "\n".join(innermost[: last + 1])
    assert loop.count(instruction) == 4
    assert loop.count("tileloadd") == 4 and loop.count("tileloaddt1") == 2  # rows of A pass by L1
    assert "rsp" not in loop and "tilestored" not in loop and "ldtilecfg" not in loop
