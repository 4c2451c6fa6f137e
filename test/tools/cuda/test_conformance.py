"""Conformance without a GPU: a driver that launches in the emulator, and hardware in it that differs here and there."""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lamina.backends import Options
from lamina.backends.cuda import assembler, build
from lamina.backends.cuda.driver import Driver
from lamina.backends.cuda.emulator.layouts import TensorMap
from lamina.backends.cuda.emulator.memory import GlobalMemory
from lamina.backends.cuda.emulator.ptx import Module, parse
from lamina.backends.cuda.target import CudaTarget
from lamina.compiler.parsing import parse_module
from lamina.compiler.program import Program
from lamina.tools.cuda.conformance import Outcome, compare, conform, forms, uncovered
from lamina.tools.cuda.conformance.cases import HEADS, Case, head, kernel
from lamina.tools.cuda.conformance.forms import all_cases
from lamina.tools.cuda.conformance.kernels import wholes
from lamina.tools.cuda.programs import SMALL
from lamina.tools.sources import new_context

DEVICE = Path(__file__).resolve().parents[2] / "backends" / "cuda" / "test_device.py"
spec = importlib.util.spec_from_file_location("device", DEVICE)
assert spec is not None and spec.loader is not None
device = importlib.util.module_from_spec(spec)
spec.loader.exec_module(device)
FakeLibrary: Any = device.FakeLibrary


class Hardware(FakeLibrary):
    """Modules of several kernels; `reads` says what it takes for what, and `swizzles` whether its copies do."""

    def __init__(self, reads: dict[str, str] | None = None, *, swizzles: bool = True, **more: Any):
        super().__init__(**{"capability": (9, 0), **more})
        self.memory = GlobalMemory(64 << 20)
        self.reads, self.swizzles = reads or {}, swizzles
        self.loaded: list[Module] = []

    def do_cuModuleLoadDataEx(self, out: Any, code: Any, *rest: Any) -> None:
        text = code.value.decode()
        for old, new in self.reads.items():
            text = text.replace(old, new)
        self.loaded.append(parse(text))
        out._obj.value = len(self.loaded)

    def do_cuModuleGetFunction(self, out: Any, module: Any, name: bytes) -> None:
        self.modules.append(self.loaded[module.value - 1].kernel(name.decode()))
        out._obj.value = len(self.modules)

    def do_cuTensorMapEncodeTiled(self, out: Any, kind: int, rank: int, address: Any, *rest: Any) -> None:
        sizes, strides, box, _, _, swizzle, *_ = rest
        exchanged = (0, 32, 64, 128)[swizzle] if self.swizzles else 0
        found = TensorMap(address.value, tuple(sizes), tuple(strides)[: rank - 1], tuple(box), 2, exchanged)
        ctypes.memmove(ctypes.addressof(out._obj), found.encode(), 128)


@pytest.fixture(autouse=True)
def no_assembler(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (build, compare):
        monkeypatch.setattr(module, "assemble", lambda ptx, name: assembler.Assembled(b""))  # the driver compiles PTX


def outcomes(library: Any, named: str = "") -> list[Outcome]:
    return list(conform(Driver(library), named))


def test_hardware_that_is_as_the_emulator_says() -> None:
    library = Hardware()
    told = outcomes(library)
    assert len(told) == len(list(all_cases("sm_90a"))) + len(list(wholes()))
    assert all(each.good and each.equal == each.cases > 0 and not each.worst and not each.told for each in told)
    assert len({each.form for each in told}) == len(told)
    allocated = {each.address for each in library.memory.allocations}
    assert allocated == set(library.freed), "what was allocated is given back"


def test_an_older_gpu_has_no_warpgroups() -> None:
    told = outcomes(Hardware(capability=(8, 6)), "mma")
    assert told and all(each.good and "wgmma" not in each.form for each in told)


@pytest.mark.parametrize(
    ("reads", "named", "wrong"),
    [
        ({"  add.f32 ": "  add.ftz.f32 "}, "add.f32", ["add.f32"]),
        ({"mul.rn.f32": "mul.rz.f32"}, "mul.rn.f", ["mul.rn.f32"]),
        ({"max.NaN.f16 ": "max.f16 "}, "max.NaN.f16", ["max.NaN.f16"]),
        ({"cvt.rzi.s64.f32": "cvt.rni.s64.f32"}, "cvt.rzi.s64", ["cvt.rzi.s64.f32"]),
        ({"shfl.sync.bfly": "shfl.sync.idx"}, "shfl", ["shfl.sync.bfly.b32", "shfl.sync.bfly.b32 (segments of 8)"]),
        ({"x4.shared": "x4.trans.shared"}, "ldmatrix", ["ldmatrix.sync.aligned.m8n8.x4.shared.b16"]),
        ({"], 8, %a1;": "], 8;"}, "cp.async", ["cp.async.ca.shared.global (8 bytes)"]),
        (
            {"m64n96k16.f32.f16.f16": "m64n96k16.f32.bf16.bf16"},
            "n96k16",
            ["wgmma.mma_async.sync.aligned.m64n96k16.f32.f16.f16 (128 bytes)"],
        ),
    ],
    ids=["flushes", "cuts off", "loses NaN", "rounds", "swaps lanes", "transposes", "copies all", "type"],
)
def test_hardware_that_differs_is_told_by_name(reads: dict[str, str], named: str, wrong: list[str]) -> None:
    told = outcomes(Hardware(reads), named)
    assert len(told) > len(wrong) and [each.form for each in told if not each.good] == wrong
    for each in told:
        assert (each.equal < each.cases and each.worst > 0) == (each.form in wrong) and not each.told


def test_whole_kernels_whose_tensors_come_otherwise() -> None:
    told = {each.form: each for each in outcomes(Hardware(swizzles=False), "product 70x72x136")}
    bad = {form for form, each in told.items() if not each.good}
    assert bad == {form for form in told if "bf16" in form or " f16" in form}
    assert all(told[form].equal < 70 * 72 and told[form].cases == 70 * 72 for form in bad)


def test_errors_are_outcomes_and_a_lost_gpu_is_the_end() -> None:
    lost = outcomes(Hardware(cuStreamSynchronize=700), "shfl")
    assert len(lost) == 1 and not lost[0].good and "ILLEGAL_ADDRESS" in lost[0].told
    for function in ("cuModuleLoadDataEx", "cuLaunchKernel"):
        library = Hardware()
        library.fails[function] = 218
        told = outcomes(library, "shfl")
        assert len(told) == 8 and all(not each.good and "INVALID_PTX" in each.told for each in told)


def test_how_far_results_may_be_apart() -> None:
    one = np.float32(1)
    near, far = np.nextafter(one, np.float32(2)), one + np.float32(2.0**-20)
    found = np.array([one, near, far, np.nan, np.inf, -0.0], np.float32)
    expected = np.array([one, one, one, -np.nan, np.nan, 0.0], np.float32)
    exact, ulps = Case("", "", (), ("f32",)), Case("", "", (), ("f32",), ulps=2)
    assert exact.differences("f32", found, expected)[0].tolist() == [True, False, False, True, False, False]
    good, steps = ulps.differences("f32", found, expected)
    assert good.tolist() == [True, True, False, True, False, True] and steps[:4].tolist() == [0, 1, 8, 0]
    assert Case("", "", (), ("f32",), absolute=1e-3).differences("f32", found, expected)[0][:3].all()
    assert not Case("", "", (), ("f32",), moves=True).differences("f32", found, expected)[0][3]
    above = np.array([np.inf, np.float32(3e38)], np.float32)
    largest = np.full(2, np.finfo(np.float32).max)
    assert ulps.differences("f32", above, largest)[0].tolist() == [False, False]
    halves = np.array([0x3C003C00, 0x3C003C01, 0x7E007C00], np.uint32)
    same = np.array([0x3C003C00, 0x3C003C00, 0x7E017C00], np.uint32)
    assert exact.differences("f16x2", halves, same)[0].tolist() == [True, False, True]


@pytest.mark.parametrize("architecture", HEADS)
def test_ptxas_takes_every_kernel(architecture: str) -> None:
    if assembler.find_ptxas() is None:
        pytest.skip("no ptxas")
    cases = list(all_cases(architecture))
    made = assembler.assemble(compare.module_text(cases, architecture), architecture)
    assert made.cubin and len(made.resources) == len(cases)


def test_cases_have_the_forms_that_they_say() -> None:
    for case in all_cases():
        used = forms(head(case.since) + kernel(case, "k"))
        assert {case.form, *case.covers} <= used, case.name
    for whole in wholes():
        if whole.covers:
            assert set(whole.covers) <= set(used_by(whole.program, "sm_90a", whole.options)), whole.case.name


def used_by(program: Program, architecture: str, options: Options) -> Iterator[str]:
    built = CudaTarget(architecture).emulated(program, options).built
    for each in built.kernels.values():
        yield from forms(each.ptx)


def pointwise(op: str, kind: str, operands: int) -> str:
    t = f"tensor<77x{kind}>"
    given = ", ".join(f"%x{i}: {t}" for i in range(operands))
    names = ", ".join(f"%x{i}" for i in range(operands))
    return f"func.func public @main({given}) -> {t} {{ %r = stablehlo.{op} {names} : {t}\n return %r : {t} }}"


SORT = """
func.func public @main(%x: tensor<9x50xf32>) -> tensor<9x50xf32> {
  %r = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<9x50xf32>) -> tensor<9x50xf32>
  return %r : tensor<9x50xf32>
}
"""
GATHER = """
func.func public @main(%h: tensor<70x24xbf16>, %i: tensor<50xi64>) -> tensor<50x24xbf16> {
  %g = "stablehlo.gather"(%h, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
    start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 24>}
    : (tensor<70x24xbf16>, tensor<50xi64>) -> tensor<50x24xbf16>
  return %g : tensor<50x24xbf16>
}
"""
CONVERTED = """
func.func public @main(%x: tensor<77xSOURCE>) -> tensor<77xTO> {
  %r = stablehlo.convert %x : (tensor<77xSOURCE>) -> tensor<77xTO>
  return %r : tensor<77xTO>
}
"""
REDUCED = """
func.func public @main(%x: tensor<10x70xi32>) -> tensor<10xi32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [1]
    : (tensor<10x70xi32>, tensor<i32>) -> tensor<10xi32>
  return %r : tensor<10xi32>
}
"""
MIXED = {
    **{case.name: (case.text, case.precision) for case in SMALL},
    **{whole.case.name: (whole.case.text, "f32") for whole in wholes() if "attention" in whole.case.name},
    "sort": (SORT, "f32"),
    "gather": (GATHER, "f32"),
    "maximum of i32": (REDUCED, "f32"),
    "maximum of i16": (REDUCED.replace("i32", "i16"), "f32"),
    **{f"{op} {kind}": (pointwise(op, kind, 2), "f32")
       for op, kinds in (("divide", ("i8", "ui16", "i32", "i64")), ("multiply", ("i8", "i64", "bf16", "f16", "f64")),
                         ("shift_right_arithmetic", ("i8", "i32", "i64")), ("remainder", ("f16", "f32", "ui8")),
                         ("maximum", ("f16", "bf16", "ui32")), ("power", ("f32",)), ("atan2", ("bf16",)))
       for kind in kinds},
    **{f"{op} {kind}": (pointwise(op, kind, 1), "f32")
       for op, kinds in (("tanh", ("f32", "bf16")), ("cosine", ("f16",)), ("cbrt", ("f32",)), ("popcnt", ("i64",)),
                         ("round_nearest_even", ("f16", "f64")), ("logistic", ("f64",)), ("abs", ("i8",)))
       for kind in kinds},
    **{f"{source} to {to}": (CONVERTED.replace("SOURCE", source).replace("TO", to), "f32")
       for source, to in (("f32", "i64"), ("i64", "f64"), ("f16", "ui8"), ("i8", "bf16"), ("f64", "f16"),
                          ("i1", "f32"))},
}  # fmt: skip


@pytest.mark.parametrize("architecture", HEADS)
def test_nothing_that_kernels_use_is_uncovered(architecture: str) -> None:
    used: dict[str, str] = {}
    for name, (text, precision) in MIXED.items():
        context = new_context()
        program = Program(parse_module(text, name, context), context)
        used |= dict.fromkeys(used_by(program, architecture, Options(cache=False, precision=precision)), name)
    assert len(used) > 150 and {form: used[form] for form in uncovered(used)} == {}
