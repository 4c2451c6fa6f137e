# ruff: noqa: E501
"""The runtime without a GPU: a driver that keeps its memory in NumPy and launches kernels in the emulator."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import lamina
from lamina.backends import Options
from lamina.backends.cuda import assembler, build, driver, target
from lamina.backends.cuda.device import DeviceProgram
from lamina.backends.cuda.driver import Driver, DriverError
from lamina.backends.cuda.emulator.layouts import TensorMap
from lamina.backends.cuda.emulator.machine import launch
from lamina.backends.cuda.emulator.memory import GlobalMemory
from lamina.backends.cuda.emulator.ptx import Kernel, parse
from lamina.backends.cuda.target import CudaTarget
from lamina.compiler.diagnostics import LaminaError
from lamina.tools.main import main
from lamina.tools.sources import read_program

MODEL = """
func.func public @main(%x: tensor<40x7xf32>) -> (tensor<40xf32>, tensor<40x7xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %scale = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : tensor<7xf32>
  %wide = stablehlo.broadcast_in_dim %scale, dims = [1] : (tensor<7xf32>) -> tensor<40x7xf32>
  %y = stablehlo.multiply %x, %wide : tensor<40x7xf32>
  %s = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<40x7xf32>, tensor<f32>) -> tensor<40xf32>
  return %s, %y : tensor<40xf32>, tensor<40x7xf32>
}
"""
FACTS = {16: 114, 39: 2048, 81: 100 << 10, 82: 64 << 10, 106: 16}  # of a GPU, by the number of the attribute
ERRORS = {2: "OUT_OF_MEMORY", 100: "NO_DEVICE", 218: "INVALID_PTX", 700: "ILLEGAL_ADDRESS"}


class FakeLibrary:
    """The functions of libcuda.so.1 that are used; `fails` says which return which error."""

    def __init__(self, *, devices: int = 1, capability: tuple[int, int] = (8, 6), **fails: int):
        self.devices, self.capability, self.fails = devices, capability, fails
        self.memory = GlobalMemory(1 << 20)
        self.modules: list[Kernel] = []
        self.recording: list[Callable[[], None]] | None = None
        self.graphs: list[list[Callable[[], None]]] = []
        self.done: list[str] = []
        self.freed: list[int] = []

    def __getattr__(self, name: str) -> Callable[..., int]:
        def call(*arguments: Any) -> int:
            self.done.append(name)
            if name in self.fails:
                return self.fails[name]
            found = getattr(type(self), f"do_{name}", None)
            if found is not None:
                found(self, *arguments)
            return 0

        return call

    def do_cuGetErrorName(self, code: int, out: Any) -> None:
        out._obj.value = f"CUDA_ERROR_{ERRORS[code]}".encode()

    def do_cuGetErrorString(self, code: int, out: Any) -> None:
        out._obj.value = ERRORS[code].lower().encode()

    def do_cuDeviceGetCount(self, out: Any) -> None:
        out._obj.value = self.devices

    def do_cuDeviceGetAttribute(self, out: Any, attribute: int, device: Any) -> None:
        out._obj.value = self.capability[attribute - 75] if attribute in (75, 76) else FACTS[attribute]

    def do_cuDeviceGetName(self, out: Any, nbytes: int, device: Any) -> None:
        out.value = b"NVIDIA A10"

    def do_cuMemGetInfo_v2(self, free: Any, total: Any) -> None:
        free._obj.value, total._obj.value = 1024, 4096

    def do_cuMemAlloc_v2(self, out: Any, nbytes: Any) -> None:
        out._obj.value = self.memory.allocate(nbytes.value)

    def do_cuEventElapsedTime(self, out: Any, start: Any, stop: Any) -> None:
        out._obj.value = 2.0  # milliseconds

    def do_cuMemFree_v2(self, address: Any) -> None:
        self.freed.append(address.value)

    def do_cuTensorMapEncodeTiled(self, out: Any, kind: int, rank: int, address: Any, *rest: Any) -> None:
        sizes, strides, box, steps, interleave, swizzle, _, fill = rest
        assert kind == 9 and list(steps) == [1] * rank and interleave == fill == 0
        assert ctypes.addressof(out._obj) % 64 == 0
        found = TensorMap(
            address.value, tuple(sizes), tuple(strides)[: rank - 1], tuple(box), 2, (0, 32, 64, 128)[swizzle]
        )
        ctypes.memmove(ctypes.addressof(out._obj), found.encode(), 128)

    def do_cuMemcpyHtoDAsync_v2(self, target: Any, source: Any, nbytes: Any, stream: Any) -> None:
        start = target.value - self.memory.base
        self.memory.bytes[start : start + nbytes.value] = np.frombuffer(
            ctypes.string_at(source.value, nbytes.value), np.uint8
        )

    def do_cuMemcpyDtoHAsync_v2(self, target: Any, source: Any, nbytes: Any, stream: Any) -> None:
        start = source.value - self.memory.base
        ctypes.memmove(target.value, self.memory.bytes[start : start + nbytes.value].tobytes(), nbytes.value)

    def do_cuModuleLoadDataEx(self, out: Any, code: Any, count: int, options: Any, values: Any) -> None:
        self.modules.append(parse(code.value.decode()).kernel())
        out._obj.value = len(self.modules)

    def do_cuModuleGetFunction(self, out: Any, module: Any, name: bytes) -> None:
        assert self.modules[module.value - 1].name == name.decode()
        out._obj.value = module.value

    def do_cuLaunchKernel(self, function: Any, *rest: Any) -> None:
        gx, gy, gz, bx, by, bz, shared, _, parameters, extra = rest
        assert extra is None
        kernel = self.modules[function.value - 1]
        values = [
            ctypes.c_uint64.from_address(parameters[i]).value
            if parameter.nbytes == 8
            else ctypes.string_at(parameters[i], parameter.nbytes)
            for i, parameter in enumerate(kernel.parameters)
        ]

        def run() -> None:
            grid, block = (gx, gy, gz), (bx, by, bz)
            launch(kernel, values, grid=grid, block=block, memory=self.memory, shared_bytes=shared)

        if self.recording is None:
            run()
        else:
            self.recording.append(run)

    def do_cuStreamBeginCapture_v2(self, stream: Any, mode: int) -> None:
        self.recording = []

    def do_cuStreamEndCapture(self, stream: Any, out: Any) -> None:
        assert self.recording is not None
        self.graphs.append(self.recording)
        self.recording = None
        out._obj.value = len(self.graphs)

    def do_cuGraphInstantiateWithFlags(self, out: Any, graph: Any, flags: Any) -> None:
        out._obj.value = graph.value

    def do_cuGraphLaunch(self, graph: Any, stream: Any) -> None:
        for step in self.graphs[graph.value - 1]:
            step()


def compiled(
    library: FakeLibrary, folder: Path, monkeypatch: pytest.MonkeyPatch, text: str = MODEL, name: str = "sm_80"
) -> tuple[DeviceProgram, Any]:
    path = folder / "m.mlir"
    path.write_text(text)
    program = read_program(str(path))
    monkeypatch.setattr(target, "driver", lambda: Driver(library))
    monkeypatch.setattr(build, "assemble", lambda ptx, name: assembler.Assembled(b""))  # the driver compiles PTX
    found = CudaTarget(name).compile(program, Options(cache=False))  # pyright: ignore[reportArgumentType]
    assert isinstance(found, DeviceProgram)
    return found, program


def test_the_first_run_step_by_step_then_a_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = FakeLibrary()
    model, program = compiled(library, tmp_path, monkeypatch)
    for seed in range(3):
        x = np.random.default_rng(seed).standard_normal((40, 7)).astype(np.float32)
        results: Sequence[Any] = model.run([x])
        for result, expected in zip(results, lamina.interpret(program, [x]), strict=True):
            assert np.allclose(result, expected, rtol=1e-5, atol=1e-5)  # the order of sums differs
    launches = len(model.built.launches)
    assert library.done.count("cuLaunchKernel") == 2 * launches and len(library.graphs) == 1
    assert library.done.count("cuGraphLaunch") == 2
    assert model.seconds(4) == 0.0005 and library.done.count("cuGraphLaunch") == 6


def test_a_dropped_model_gives_back_what_it_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = FakeLibrary()
    model, _ = compiled(library, tmp_path, monkeypatch)
    model.run([np.zeros((40, 7), np.float32)])
    given = sorted(each.address for each in library.memory.allocations)
    assert not library.freed
    del model
    gc.collect()
    assert sorted(library.freed) == given
    for name, count in (("cuModuleUnload", 1), ("cuGraphExecDestroy", 1), ("cuStreamDestroy_v2", 1)):
        assert library.done.count(name) == count


def test_tensor_maps_are_given_by_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
func.func public @main(%a: tensor<70x72xbf16>, %b: tensor<72x80xbf16>) -> tensor<70x80xf32> {
  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<70x72xbf16>, tensor<72x80xbf16>) -> tensor<70x80xf32>
  return %d : tensor<70x80xf32>
}
"""
    library = FakeLibrary(capability=(9, 0))
    model, program = compiled(library, tmp_path, monkeypatch, text, "sm_90a")
    rng = np.random.default_rng(0)
    for _ in range(2):
        inputs = [rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((70, 72), (72, 80))]
        [found], [expected] = model.run(inputs), lamina.interpret(program, inputs)
        assert np.abs(found - expected).max() <= 1e-6 * np.abs(expected).max()
    assert library.done.count("cuTensorMapEncodeTiled") == 4 and len(library.graphs) == 1


@pytest.mark.parametrize(
    ("library", "told"),
    [
        (FakeLibrary(devices=0), "there is a driver for CUDA, but no GPU"),
        (FakeLibrary(cuInit=100), "there is a driver for CUDA, but no GPU"),
        (FakeLibrary(capability=(7, 5)), r"this GPU has compute capability 7\.5, sm_80 needs 8\.0 or newer"),
        (FakeLibrary(cuMemAlloc_v2=2), r"too little memory on the GPU: .* bytes for constants, 1,024 of 4,096 are free"),
        (FakeLibrary(cuModuleLoadDataEx=218), "the driver refuses a kernel: CUDA_ERROR_INVALID_PTX"),
    ],
)  # fmt: skip
def test_errors_before_running(
    library: FakeLibrary, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(LaminaError, match=told):
        compiled(library, tmp_path, monkeypatch)


def test_a_kernel_that_fails_is_named_with_its_origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = FakeLibrary()
    model, _ = compiled(library, tmp_path, monkeypatch)
    library.fails["cuStreamSynchronize"] = 700
    with pytest.raises(DriverError, match=r"kernel kernel_\w+ failed, which comes from .*m\.mlir:\d+.*ILLEGAL_ADDRESS"):
        model.run([np.zeros((40, 7), np.float32)])


def test_sm_90a_runs_on_nothing_newer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "driver", lambda: Driver(FakeLibrary(capability=(10, 0))))
    path = tmp_path / "m.mlir"
    path.write_text(MODEL)
    with pytest.raises(LaminaError, match=r"capability 10\.0, sm_90a needs 9\.0 exactly"):
        CudaTarget("sm_90a").compile(read_program(str(path)), Options(cache=False))  # pyright: ignore


@pytest.mark.parametrize(
    ("fails", "told"),
    [
        ({"cuInit": 100}, "there is a driver for CUDA, but no GPU"),
        ({"cuMemAlloc_v2": 2}, "too little memory on the GPU"),
        ({"cuLaunchKernel": 700}, "launching kernel kernel_"),
        ({"cuStreamSynchronize": 700}, "ILLEGAL_ADDRESS"),
    ],
    ids=["no GPU", "memory", "launch", "kernel"],
)
def test_the_command_tells_errors(
    fails: dict[str, int],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    library = FakeLibrary(**fails)  # pyright: ignore[reportArgumentType]
    monkeypatch.setattr(target, "driver", lambda: Driver(library))
    monkeypatch.setattr(build, "assemble", lambda ptx, name: assembler.Assembled(b""))
    monkeypatch.setenv("LAMINA_CACHE", str(tmp_path))
    path = tmp_path / "m.mlir"
    path.write_text(MODEL)
    assert main(["run", str(path), "--target", "cuda:sm_80", "--quiet"]) == 2
    error = capsys.readouterr().err
    assert told in error and "Traceback" not in error


def test_no_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(driver, "LIBRARY", "libnothing.so.1")
    driver.driver.cache_clear()
    path = tmp_path / "m.mlir"
    path.write_text(MODEL)
    assert main(["run", str(path), "--target", "cuda"]) == 2
    told = capsys.readouterr().err
    assert "there is no driver for CUDA: libnothing.so.1 cannot be loaded" in told and "Traceback" not in told
