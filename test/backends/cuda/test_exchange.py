"""Arrays on the GPU are read where they are, and results stay there: DLPack and the CUDA array interface."""

from __future__ import annotations

import gc
import importlib.util
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from lamina.backends.cuda import exchange
from lamina.backends.cuda.device import DeviceProgram
from lamina.backends.cuda.driver import Handle
from lamina.backends.cuda.exchange import DeviceArray, taken
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.signature import TensorSpec
from lamina.tools.api import Model

MODEL = """
func.func public @main(%x: tensor<6x8xf32>, %y: tensor<8xf32>) -> tensor<6x8xf32> {
  %w = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<8xf32>) -> tensor<6x8xf32>
  %r = stablehlo.multiply %x, %w : tensor<6x8xf32>
  return %r : tensor<6x8xf32>
}
"""
X, Y = np.arange(48, dtype=np.float32).reshape(6, 8), np.arange(8, dtype=np.float32) - 3


class Lent:
    """An array of somebody else on the fake GPU."""

    def __init__(self, library: Any, array: Any, shift: int = 0, **told: Any):
        self.address = library.memory.allocate(array.nbytes + shift) + shift
        start = self.address - library.memory.base
        library.memory.bytes[start : start + array.nbytes] = array.view(np.uint8).reshape(-1)
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (self.address, True),
            "version": 3,
            **told,
        }


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[DeviceProgram, Any]:
    """A model on the fake GPU of the tests of the runtime."""
    spec = importlib.util.spec_from_file_location("device", Path(__file__).with_name("test_device.py"))
    assert spec is not None and spec.loader is not None
    tests = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tests)
    library = tests.FakeLibrary()
    return tests.compiled(library, tmp_path, monkeypatch, MODEL)[0], library


def read(library: Any, array: DeviceArray) -> Any:
    return library.memory.download(array.address, array.shape, array.dtype)


def test_no_copies(made: tuple[DeviceProgram, Any]) -> None:
    program, library = made
    model = Model(program.signature, lambda *_: program)
    before = [name for name in library.done if "Memcpy" in name]
    x, y = Lent(library, X), Lent(library, Y, stream=7)
    [first] = model(x, input1=y)
    assert isinstance(first, DeviceArray) and np.array_equal(read(library, first), X * Y)
    [second] = model(first, y)  # what a model gives, a model takes
    assert isinstance(second, DeviceArray) and np.array_equal(read(library, second), X * Y * Y)
    assert [name for name in library.done if "Memcpy" in name] == before
    [third] = model(x, Y)  # one that is not there is copied
    assert np.array_equal(read(library, third), X * Y)  # pyright: ignore
    assert np.array_equal(model(X, Y)[0], X * Y)


def test_what_is_not_aligned_is_copied_on_the_gpu(made: tuple[DeviceProgram, Any]) -> None:
    program, library = made
    library.moved = []
    x = Lent(library, X, shift=4)

    def copied(target: Any, source: Any, nbytes: Any, stream: Any) -> int:
        to, start = target.value - library.memory.base, source.value - library.memory.base
        library.memory.bytes[to : to + nbytes.value] = library.memory.bytes[start : start + nbytes.value]
        library.moved.append(nbytes.value)
        return 0

    library.cuMemcpyDtoDAsync_v2 = copied
    [found] = program.run_on_device([x, Y])
    assert np.array_equal(read(library, found), X * Y) and library.moved == [X.nbytes]


def test_by_dlpack_memory_lives_as_long_as_its_taker(made: tuple[DeviceProgram, Any]) -> None:
    program, library = made
    [found] = program.run_on_device([Lent(library, X), Y])
    address = found.address
    spec = TensorSpec("x", (6, 8), "float32")
    again = taken(_OnlyDlpack(found), spec, program.driver, program.stream)
    assert (again.address, again.shape, again.dtype) == (address, (6, 8), np.float32)
    assert found.__dlpack_device__() == (2, 0) and found.__cuda_array_interface__["data"] == (address, False)
    del found
    gc.collect()
    assert address not in library.freed and exchange._given  # pyright: ignore[reportPrivateUsage]
    del again
    gc.collect()
    assert address in library.freed and not exchange._given  # pyright: ignore[reportPrivateUsage]


class _OnlyDlpack:
    def __init__(self, array: DeviceArray):
        self.__dlpack_device__, self.__dlpack__ = array.__dlpack_device__, array.__dlpack__


def test_bfloat16(made: tuple[DeviceProgram, Any]) -> None:
    program, _ = made
    array = DeviceArray(64, (3,), np.dtype(ml_dtypes.bfloat16), None)
    assert not hasattr(array, "__cuda_array_interface__")
    again = taken(_OnlyDlpack(array), TensorSpec("x", (3,), "bfloat16"), program.driver, Handle())
    assert again.dtype == ml_dtypes.bfloat16


@pytest.mark.parametrize(
    ("array", "told", "message"),
    [
        (X.astype(np.float64), {}, "input 'input0' has dtype float64, expected float32"),
        (X[:5], {}, r"input 'input0' has shape \[5, 8\], expected \[6, 8\]"),
        (X, {"strides": (4, 24)}, "input 'input0' is not row-major"),
    ],
)
def test_what_does_not_fit(made: tuple[DeviceProgram, Any], array: Any, told: dict[str, Any], message: str) -> None:
    program, library = made
    with pytest.raises(LaminaError, match=message):
        program.run_on_device([Lent(library, array, **told), Y])
    with pytest.raises(BufferError, match="given as it is"):
        DeviceArray(64, (3,), np.dtype(np.float32), None).__dlpack__(copy=True)
