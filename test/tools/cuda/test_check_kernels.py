# ruff: noqa: E501
"""Kernels at smaller extents, which are what they were otherwise; their runs in the emulator, and what is told."""

from dataclasses import replace
from math import prod
from pathlib import Path

import pytest
from xdsl.dialects.func import FuncOp

from lamina.backends import Options
from lamina.backends.cuda.target import CudaTarget
from lamina.compiler.parsing import parse_module
from lamina.compiler.program import Program
from lamina.compiler.verifier import verify
from lamina.passes.convert.contraction_to_cta.schedule import LARGE, SMALL, Schedule
from lamina.tools.cuda import check_kernels
from lamina.tools.cuda.check_kernels import Case, Outcome, cases_of, schedule_of_cut, tiled
from lamina.tools.cuda.compile_models import TARGETS
from lamina.tools.cuda.every_model import every_model
from lamina.tools.cuda.gathered import needed_bytes
from lamina.tools.cuda.smaller import smaller, times
from lamina.tools.sources import new_context

CONVOLUTION = """
func.func private @kernel(%x: tensor<1x114x114x64xf32>, %w: tensor<3x3x64x256xf32>, %bias: tensor<256xf32>, %to: tensor<1x56x56x256xf32>) -> tensor<1x56x56x256xf32> attributes {lamina.kernel = "contraction"} {
  %zero = arith.constant 0.0 : f32
  %a = linalg.fill ins(%zero : f32) outs(%to : tensor<1x56x56x256xf32>) -> tensor<1x56x56x256xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(b, h, w, o, i, j, c) -> (b, h * 2 + i, w * 2 + j, c)>, affine_map<(b, h, w, o, i, j, c) -> (i, j, c, o)>, affine_map<(b, h, w, o, i, j, c) -> (b, h, w, o)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
    ins(%x, %w : tensor<1x114x114x64xf32>, tensor<3x3x64x256xf32>) outs(%a : tensor<1x56x56x256xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x56x56x256xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(b, h, w, o) -> (o)>, affine_map<(b, h, w, o) -> (b, h, w, o)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%bias : tensor<256xf32>) outs(%c : tensor<1x56x56x256xf32>) {
  ^bb0(%l: f32, %r: f32):
    %s = arith.addf %r, %l : f32
    linalg.yield %s : f32
  } -> tensor<1x56x56x256xf32>
  func.return %y : tensor<1x56x56x256xf32>
}
"""
OTHERS = """
func.func private @kernel(%x: tensor<200x60xf32>, %y: tensor<200x3x62xf32>, %to: tensor<200x4x62xf32>) -> tensor<200x4x62xf32> attributes {lamina.kernel = "copy"} {
  %e = tensor.empty() : tensor<200x1x60xf32>
  %x2 = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, c)>, affine_map<(a, b, c) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%x : tensor<200x60xf32>) outs(%e : tensor<200x1x60xf32>) {
  ^bb0(%l: f32, %r: f32):
    linalg.yield %l : f32
  } -> tensor<200x1x60xf32>
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x2 low[0, 0, 1] high[0, 0, 1] {
  ^bb0(%i: index, %j: index, %k: index):
    tensor.yield %zero : f32
  } : tensor<200x1x60xf32> to tensor<200x1x62xf32>
  %c = tensor.concat dim(1) %y, %p : (tensor<200x3x62xf32>, tensor<200x1x62xf32>) -> tensor<200x4x62xf32>
  func.return %c : tensor<200x4x62xf32>
}
"""
ATTENTION = """
func.func private @kernel(%q: tensor<4x300x16xf32>, %k: tensor<4x200x16xf32>, %v: tensor<4x200x24xf32>, %o: tensor<4x300x24xf32>) -> tensor<4x300x24xf32> attributes {lamina.kernel = "attention"} {
  %y = "linalg_ext.attention"(%q, %k, %v, %o) <{indexing_maps = [affine_map<(h, m, d, s, n) -> (h, m, d)>, affine_map<(h, m, d, s, n) -> (h, s, d)>, affine_map<(h, m, d, s, n) -> (h, s, n)>, affine_map<(h, m, d, s, n) -> (h, m, n)>], operandSegmentSizes = array<i32: 3, 1>}> ({
  ^bb0(%s: f32):
    "linalg_ext.yield"(%s) : (f32) -> ()
  }) : (tensor<4x300x16xf32>, tensor<4x200x16xf32>, tensor<4x200x24xf32>, tensor<4x300x24xf32>) -> tensor<4x300x24xf32>
  func.return %y : tensor<4x300x24xf32>
}
"""
PROGRAM = """
func.func public @main(%x: tensor<33x96xf32>, %w: tensor<96x48xf32>) -> (tensor<33x48xf32>, tensor<96x33xf32>) {
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<33x96xf32>, tensor<96x48xf32>) -> tensor<33x48xf32>
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<33x96xf32>) -> tensor<96x33xf32>
  %u = stablehlo.tanh %t : tensor<96x33xf32>
  return %d, %u : tensor<33x48xf32>, tensor<96x33xf32>
}
"""


def shapes(text: str, schedule: Schedule | None) -> list[tuple[int, ...]]:
    """Of the arguments of a kernel that was cut, and that is valid."""
    module = parse_module(text, "kernel.mlir", new_context())
    kernel = module.body.block.first_op
    assert isinstance(kernel, FuncOp)
    found = smaller(kernel, schedule)
    verify(found)
    return [type_.get_shape() for type_ in found.function_type.inputs.data]  # pyright: ignore


@pytest.mark.parametrize("schedule", [SMALL, LARGE], ids=["small", "large"])
def test_products_keep_what_they_are_modulo_tiles(schedule: Schedule) -> None:
    x, w, bias, y = shapes(CONVOLUTION, schedule)
    rows, columns = prod(y[:3]), y[3]
    assert rows % schedule.rows == 56 * 56 % schedule.rows and schedule.rows < rows <= 3 * schedule.rows
    assert columns % schedule.columns == 0 and columns == 2 * schedule.columns
    assert w[:2] == (3, 3) and bias == (columns,) == w[3:]
    steps = prod(w[:3])
    assert steps % schedule.depth == 0 and 2 * schedule.depth < steps < 9 * 64
    assert x == (1, 2 * y[1] + 2, 2 * y[2] + 2, w[2])  # a row and a column that no window has are there, too


def test_attention_has_fewer_queries_and_keys() -> None:
    q, k, v, o = shapes(ATTENTION, SMALL)
    assert q == (2, 300 % SMALL.rows + SMALL.rows, 16) and o == (*q[:2], 24) and v == (*k[:2], 24)
    assert k[1] % SMALL.depth == 200 % SMALL.depth and SMALL.stages * SMALL.depth < k[1] <= 6 * SMALL.depth


def test_few_of_a_batch_are_enough() -> None:
    text = """func.func private @kernel(%a: tensor<12x64x96xf32>, %b: tensor<12x96x64xf32>, %to: tensor<12x64x64xf32>) -> tensor<12x64x64xf32> {
      %zero = arith.constant 0.0 : f32
      %c = linalg.fill ins(%zero : f32) outs(%to : tensor<12x64x64xf32>) -> tensor<12x64x64xf32>
      %r = linalg.generic {indexing_maps = [affine_map<(b, i, j, k) -> (b, i, k)>, affine_map<(b, i, j, k) -> (b, k, j)>, affine_map<(b, i, j, k) -> (b, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
        ins(%a, %b : tensor<12x64x96xf32>, tensor<12x96x64xf32>) outs(%c : tensor<12x64x64xf32>) {
      ^bb0(%x: f32, %y: f32, %acc: f32):
        %p = arith.mulf %x, %y : f32
        %s = arith.addf %acc, %p : f32
        linalg.yield %s : f32
      } -> tensor<12x64x64xf32>
      func.return %r : tensor<12x64x64xf32>
    }"""
    single = replace(SMALL, stages=1)
    assert shapes(text, single) == [(2, 64, 48), (2, 48, 64), (2, 64, 64)]
    assert shapes(text, replace(single, splits=3)) == [(2, 64, 64), (2, 64, 64), (2, 64, 64)]  # two of three parts


@pytest.mark.parametrize(("splits", "long"), [(31, 64), (31, 72), (7, 320)])
def test_parts_of_sums_are_few_and_as_long_as_they_were(splits: int, long: int) -> None:
    whole = splits * long
    text = f"""func.func private @kernel(%a: tensor<64x{whole}xf32>, %b: tensor<{whole}x64xf32>, %to: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {{lamina.kernel = "contraction"}} {{
      %zero = arith.constant 0.0 : f32
      %c = linalg.fill ins(%zero : f32) outs(%to : tensor<64x64xf32>) -> tensor<64x64xf32>
      %r = linalg.generic {{indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}}
        ins(%a, %b : tensor<64x{whole}xf32>, tensor<{whole}x64xf32>) outs(%c : tensor<64x64xf32>) {{
      ^bb0(%x: f32, %y: f32, %acc: f32):
        %p = arith.mulf %x, %y : f32
        %s = arith.addf %acc, %p : f32
        linalg.yield %s : f32
      }} -> tensor<64x64xf32>
      func.return %r : tensor<64x64xf32>
    }}"""
    schedule = replace(SMALL, splits=splits)
    (_, cut), *_ = shapes(text, schedule)
    part, steps = cut // 2, (SMALL.stages + 1) * SMALL.depth
    assert part % SMALL.depth == long % SMALL.depth and SMALL.depth < part <= min(long, steps)
    context = new_context()
    program = Program(parse_module(text, "kernel.mlir", context), context)
    kernel = program.module.body.block.first_op
    assert isinstance(kernel, FuncOp)
    small = smaller(kernel, schedule)
    assert schedule_of_cut(small, kernel, schedule, program, "sm_80") == replace(schedule, splits=2)


def test_extents_that_follow_from_others() -> None:
    x, y, to = shapes(OTHERS, None)
    assert x == (64 + 200 % 64, 60) and y == (x[0], 3, 62) and to == (x[0], 4, 62)


WINDOWS = """func.func private @kernel(%x: tensor<1x114x114x96xf32>, %w: tensor<3x3xf32>, %to: tensor<1x56x56x96xTYPE>) -> tensor<1x56x56x96xTYPE> attributes {lamina.kernel = "loops"} {
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<1x56x56x96xf32>
      %a = linalg.fill ins(%zero : f32) outs(%e : tensor<1x56x56x96xf32>) -> tensor<1x56x56x96xf32>
      %c = linalg.generic {indexing_maps = [affine_map<(b, h, w, c, i, j) -> (b, h * 2 + i, w * 2 + j, c)>, affine_map<(b, h, w, c, i, j) -> (i, j)>, affine_map<(b, h, w, c, i, j) -> (b, h, w, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
        ins(%x, %w : tensor<1x114x114x96xf32>, tensor<3x3xf32>) outs(%a : tensor<1x56x56x96xf32>) {
      ^bb0(%l: f32, %r: f32, %acc: f32):
        %s = arith.addf %acc, %l : f32
        linalg.yield %s : f32
      } -> tensor<1x56x56x96xf32>
      %y = linalg.generic {indexing_maps = [affine_map<(b, h, w, c) -> (b, h, w, c)>, affine_map<(b, h, w, c) -> (b, h, w, c)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%c : tensor<1x56x56x96xf32>) outs(%to : tensor<1x56x56x96xTYPE>) {
      ^bb0(%l: f32, %r: TYPE):
        %s = arith.CAST %l : f32 to TYPE
        linalg.yield %s : TYPE
      } -> tensor<1x56x56x96xTYPE>
      func.return %y : tensor<1x56x56x96xTYPE>
    }"""


@pytest.mark.parametrize(("dtype", "cast", "channels"), [("bf16", "truncf", 32), ("f64", "extf", 16)])
def test_images_of_windows_stay_large(dtype: str, cast: str, channels: int) -> None:
    """Of channels whole sectors are left; how many times as many points there were is told."""
    text = WINDOWS.replace("TYPE", dtype).replace("CAST", cast)
    x, _, y = shapes(text, None)
    assert y == (1, 24, 24, channels) and x == (1, 50, 50, channels)
    kernel = parse_module(text, "kernel.mlir", new_context()).body.block.first_op
    assert isinstance(kernel, FuncOp)
    assert times(kernel, smaller(kernel, None)) == min(64, 56 * 56 * 96 // (24 * 24 * channels))


def test_kernels_are_run_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "both.mlir"
    path.write_text(PROGRAM)
    assert check_kernels.main([str(path), "--seeds", "1"]) == 0
    _, *lines, moved, last = capsys.readouterr().out.splitlines()
    assert "that are no products, of over 4096 points: " in moved
    assert len(lines) == 6 and last.startswith("6 kernels, 6 when cut, 0 of them wrong or not run")
    units = [line[36:].split()[:2] for line in lines]  # in bf16 operands are rounded by kernels of their own
    assert [units.count([*each]) for each in (("all", "loops"), ("all", "fma"))] == [3, 1]
    assert ["sm_80", "mma"] in units and ["sm_90a", "wgmma"] in units
    right = check_kernels.interpret
    monkeypatch.setattr(check_kernels, "interpret", lambda *args: [1.01 * a for a in right(*args)])  # pyright: ignore
    assert check_kernels.main([str(path), "--seeds", "0", "--precision", "f32"]) == 1
    assert capsys.readouterr().out.count("WRONG: result 0: largest error") == 2


@pytest.mark.parametrize("name", ["conv_net", "transformer"])
def test_architectures_differ_in_schedules_only(name: str) -> None:
    """So one run of a case is that of all architectures that have it."""
    lowered, tiles = tiled(every_model()[name](), TARGETS, "bf16")
    cases = [case for case in cases_of(name, lowered, tiles, "bf16") if len(case.targets) > 1]
    assert len(cases) > 3
    for case in cases:
        context = new_context()
        program = Program(parse_module(case.text, "kernel", context), context)
        assert len({str(CudaTarget(each).lower(program, "gpu", Options(cache=False))) for each in case.targets}) == 1


def test_what_kernels_move_is_told() -> None:
    kinds = ("loops", 5000), ("mma 32x32", 5000), ("", 9)
    cases = [Case(["sm_80"], "", unit, points, [""]) for unit, points in kinds]
    outcomes = [Outcome(traffic=each) for each in (1.0, 1.08, 1.2, 3.0)]
    found = [(case, outcome) for case in cases for outcome in outcomes] + [(cases[0], Outcome(told="WRONG"))]
    told = (
        "4 that are no products, of over 4096 points: 1 at most 1.02 times, 2 at most 1.1 times, 3 at most 1.25 times"
    )
    assert check_kernels.moved(found) == f"of {told} their bytes, 0 ask a bank twice"


ROUNDED = """
builtin.module attributes {lamina.level = "linalg"} {
  func.func public @main(%q: tensor<2x33x8xbf16>, %k: tensor<2x37x8xbf16>, %v: tensor<2x37x8xbf16>) -> tensor<2x33x8xf32> {
    %e = tensor.empty() : tensor<2x33x8xf32>
    %r = func.call @kernel(%q, %k, %v, %e) : (tensor<2x33x8xbf16>, tensor<2x37x8xbf16>, tensor<2x37x8xbf16>, tensor<2x33x8xf32>) -> tensor<2x33x8xf32>
    func.return %r : tensor<2x33x8xf32>
  }
  func.func private @kernel(%q: tensor<2x33x8xbf16>, %k: tensor<2x37x8xbf16>, %v: tensor<2x37x8xbf16>, %o: tensor<2x33x8xf32>) -> tensor<2x33x8xf32> attributes {lamina.kernel = "attention"} {
    %y = "linalg_ext.attention"(%q, %k, %v, %o) <{indexing_maps = [affine_map<(h, m, d, s, n) -> (h, m, d)>, affine_map<(h, m, d, s, n) -> (h, s, d)>, affine_map<(h, m, d, s, n) -> (h, s, n)>, affine_map<(h, m, d, s, n) -> (h, m, n)>], operandSegmentSizes = array<i32: 3, 1>}> ({
    ^bb0(%s: f32):
      "linalg_ext.yield"(%s) : (f32) -> ()
    }) : (tensor<2x33x8xbf16>, tensor<2x37x8xbf16>, tensor<2x37x8xbf16>, tensor<2x33x8xf32>) -> tensor<2x33x8xf32>
    func.return %y : tensor<2x33x8xf32>
  }
}
"""


def test_weights_of_attention_may_be_rounded_the_other_way(monkeypatch: pytest.MonkeyPatch) -> None:
    case = check_kernels.Case(["sm_80"], ROUNDED, "mma", 0, ["attention"])
    outcome = check_kernels.check(case, seeds=1)
    assert not outcome.told
    right = check_kernels.interpret
    monkeypatch.setattr(check_kernels, "interpret", lambda *args: [1.3 * a for a in right(*args)])  # pyright: ignore
    outcome = check_kernels.check(case, seeds=0)
    assert outcome.told.startswith("WRONG")
    monkeypatch.setattr(check_kernels, "_by_rounding", lambda *args: None)  # pyright: ignore
    monkeypatch.setattr(check_kernels, "interpret", right)
    outcome = check_kernels.check(case, seeds=0)
    assert outcome.told.startswith("WRONG") and outcome.eager < 0.1


GATHERS = """
func.func private @kernel(%at: tensor<6xi64>, %table: tensor<100x9xf32>, %both: tensor<100x9xf32>, %to: tensor<6x9xf32>) -> tensor<6x9xf32> attributes {lamina.kernel = "loops"} {
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%at : tensor<6xi64>) outs(%to : tensor<6x9xf32>) {
  ^bb0(%l: i64, %r: f32):
    %i = arith.index_cast %l : i64 to index
    %j = linalg.index 1 : index
    %row = tensor.extract %table[%i, %j] : tensor<100x9xf32>
    %element = tensor.extract %both[%j, %i] : tensor<100x9xf32>
    %s = arith.addf %row, %element : f32
    linalg.yield %s : f32
  } -> tensor<6x9xf32>
  func.return %y : tensor<6x9xf32>
}
"""


def test_rows_that_are_gathered_are_shorter() -> None:
    text = GATHERS.replace("tensor<100x9xf32>", "tensor<50257x768xf32>").replace("x9xf32", "x768xf32")
    text = text.replace("%both[%j, %i]", "%both[%i, %j]")
    assert shapes(text, None) == [(6,), (50257, 64), (50257, 64), (6, 64)]  # indices are clamped to what there is


def test_of_what_is_gathered_as_much_counts_as_is_asked_for() -> None:
    kernel = parse_module(GATHERS, "kernel.mlir", new_context()).body.block.first_op
    assert isinstance(kernel, FuncOp)
    index, rows, elements, result = 64, 6 * 64, 54 * 32, 224  # in sectors of 32 bytes; rows are of 36 bytes
    assert needed_bytes(kernel) == index + rows + elements + result
    pad = parse_module(OTHERS, "kernel.mlir", new_context()).body.block.first_op  # which leaves the place aside
    assert isinstance(pad, FuncOp)
    assert needed_bytes(pad) == 4 * 200 * (60 + 3 * 62 + 4 * 62)


def test_of_a_source_as_much_counts_as_loops_walk() -> None:
    """Two of four rows of 40 numbers, each second number of the others, and a row that both ops read."""
    text = """
func.func private @kernel(%x: tensor<4x40xf32>, %a: tensor<2x40xf32>, %b: tensor<3x20xf32>) -> (tensor<2x40xf32>, tensor<3x20xf32>) attributes {lamina.kernel = "loops"} {
  %p = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i + 2, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<4x40xf32>) outs(%a : tensor<2x40xf32>) {
  ^bb0(%l: f32, %r: f32):
    linalg.yield %l : f32
  } -> tensor<2x40xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(i, j) -> (2, j * 2)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<4x40xf32>) outs(%b : tensor<3x20xf32>) {
  ^bb0(%l: f32, %r: f32):
    linalg.yield %l : f32
  } -> tensor<3x20xf32>
  func.return %p, %q : tensor<2x40xf32>, tensor<3x20xf32>
}
"""
    both = parse_module(text, "kernel.mlir", new_context()).body.block.first_op
    assert isinstance(both, FuncOp)
    assert needed_bytes(both) == 2 * 160 + 2 * 160 + 256  # results are whole sectors


def test_every_model_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "mine.onnx").write_bytes(b"")
    monkeypatch.setenv("LAMINA_MODELS", str(tmp_path))
    monkeypatch.setattr("lamina.tools.cuda.every_model.TESTS", Path(__file__).resolve().parents[2])
    found = every_model()
    assert {"densenet121", "mine", "ds_cnn float", "ds_cnn int8", "transformer", "attention.lam"} <= set(found)
    assert found["gpt_block.lam"]().signature.inputs[0].shape == (8, 8, 8)


TO_INTEGERS = """
builtin.module attributes {lamina.level = "linalg"} {
  func.func public @main(%x: tensor<512x64xf32>) -> tensor<512xf32> {
    %e = tensor.empty() : tensor<512xf32>
    %r = func.call @kernel(%x, %e) : (tensor<512x64xf32>, tensor<512xf32>) -> tensor<512xf32>
    func.return %r : tensor<512xf32>
  }
  func.func private @kernel(%x: tensor<512x64xf32>, %to: tensor<512xf32>) -> tensor<512xf32> attributes {lamina.kernel = "loops"} {
    %zero = arith.constant 0.0 : f32
    %f = linalg.fill ins(%zero : f32) outs(%to : tensor<512xf32>) -> tensor<512xf32>
    %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<512x64xf32>) outs(%f : tensor<512xf32>) {
    ^bb0(%a: f32, %acc: f32):
      %n = arith.addf %acc, %a : f32
      linalg.yield %n : f32
    } -> tensor<512xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%s : tensor<512xf32>) outs(%f : tensor<512xf32>) {
    ^bb0(%a: f32, %o: f32):
      %by = arith.constant 12345.678 : f32
      %m = arith.mulf %a, %by : f32
      %n = math.roundeven %m : f32
      %half = arith.constant 2.0 : f32
      %k = arith.remf %n, %half : f32
      linalg.yield %k : f32
    } -> tensor<512xf32>
    func.return %y : tensor<512xf32>
  }
}
"""


TO_TANH = TO_INTEGERS.replace("512", "16384").replace("12345.678", "100.0").replace("roundeven", "tanh")
TO_TANH = TO_TANH.replace("remf", "mulf")


@pytest.mark.parametrize("text", [TO_INTEGERS, TO_TANH], ids=["integers", "tanh"])
def test_what_is_rounded_to_integers_or_clamped_is_summed_exactly(text: str) -> None:
    """A sum in another order would often be the next integer, odd instead of even, or another small number."""
    outcome = check_kernels.check(check_kernels.Case(["sm_80"], text, "loops", 512, ["rounded"]), 1)
    assert not outcome.told
