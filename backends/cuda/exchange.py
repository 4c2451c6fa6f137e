"""Arrays on the GPU that are taken from others, and given to them, without copies: DLPack and CUDA array interface.

Structures are those of DLPack's header (version 0.8, what capsules called `dltensor` hold); what is taken stays alive
as long as the array here, what is given as long as its taker wants.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ...compiler.diagnostics import LaminaError
from ...compiler.signature import TensorSpec
from .driver import Address, Driver, Handle

GPU = 2  # kDLCUDA
ALIGNMENT = 16  # of accesses of kernels
_NAME = b"dltensor"
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6, "c": 5}  # kDLInt, kDLUInt, kDLFloat, kDLBool, kDLComplex
_BFLOAT = 4


class _Device(ctypes.Structure):
    _fields_ = (("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32))


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_uint64),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


_Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_given: dict[int, tuple[_Managed, Any, Any]] = {}  # by address: the structure, its shape, what keeps the memory


@_Destructor
def _delete(address: int) -> None:
    """The taker of an array is done with it."""
    _given.pop(address, None)


@_Destructor
def _drop(capsule: int) -> None:
    """A capsule goes; nobody took what is in it if it has its first name still."""
    if _api("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(capsule, _NAME):
        _delete(_api("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(capsule, _NAME))


def _api(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


@dataclass(frozen=True)
class _Memory:
    """Memory of the GPU that is given back when nobody has it any more."""

    driver: Driver
    address: int

    @staticmethod
    def of(driver: Driver, nbytes: int, what: str) -> _Memory:
        """Fresh memory. Raises DriverError where there is too little."""
        memory = _Memory(driver, driver.allocate(nbytes, what))
        weakref.finalize(memory, _free, driver, memory.address)
        return memory


def _free(driver: Driver, address: int) -> None:
    with suppress(LaminaError):  # nobody is there to be told
        driver.use()
        driver("cuMemFree_v2", Address(address))


class DeviceArray:
    """Elements on the GPU, one after the other; `keeps` is what their memory lives with.

    Others take it by `torch.from_dlpack(array)`, `cupy.asarray(array)` and their like.
    """

    def __init__(self, address: int, shape: Sequence[int], dtype: np.dtype[Any], keeps: Any):
        self.address, self.shape, self.dtype, self._keeps = address, tuple(shape), dtype, keeps

    @staticmethod
    def fresh(driver: Driver, spec: TensorSpec, dtype: np.dtype[Any]) -> DeviceArray:
        """Room for what a spec describes."""
        shape = tuple(int(n) for n in spec.shape)
        memory = _Memory.of(driver, prod(shape) * dtype.itemsize, f"output '{spec.name}'")
        return DeviceArray(memory.address, shape, dtype, memory)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.dtype.kind == "V":
            raise AttributeError(f"the CUDA array interface has no {self.dtype}")
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "strides": None,
            "version": 3,
            "stream": None,  # what made it is done
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return GPU, 0

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("an array on the GPU is given as it is")
        shape = (ctypes.c_int64 * max(len(self.shape), 1))(*self.shape)
        kind, bits = self.dtype.kind, self.dtype.itemsize * 8
        code = _BFLOAT if self.dtype.name == "bfloat16" else _CODES.get(kind)
        if code is None:
            raise BufferError(f"DLPack has no {self.dtype}")
        managed = _Managed()
        tensor = managed.tensor
        tensor.data, tensor.ndim = self.address, len(self.shape)
        tensor.device.device_type, tensor.device.device_id = self.__dlpack_device__()
        tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = code, bits, 1
        tensor.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
        managed.deleter = ctypes.cast(_delete, ctypes.c_void_p).value
        place = ctypes.addressof(managed)
        _given[place] = (managed, shape, self._keeps)
        new = _api("PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(place, _NAME, ctypes.cast(_drop, ctypes.c_void_p))


def lies_on_gpu(value: Any) -> bool:
    """Whether something is an array on a GPU."""
    if isinstance(value, np.ndarray):
        return False
    if hasattr(value, "__dlpack_device__"):
        return value.__dlpack_device__()[0] == GPU
    return hasattr(value, "__cuda_array_interface__")


def taken(value: Any, spec: TensorSpec, driver: Driver, stream: Handle) -> DeviceArray:
    """An array of somebody else, which `stream` may read from now on. Raises LaminaError for one that does not fit."""
    if isinstance(value, DeviceArray):
        found = value
    elif hasattr(value, "__dlpack__"):
        found = _from_capsule(value.__dlpack__(stream=stream.value or 1), spec)
    else:
        found = _from_interface(value, spec, driver)
    if found.dtype.name != spec.dtype:
        raise LaminaError(f"input '{spec.name}' has dtype {found.dtype.name}, expected {spec.dtype}")
    if found.shape != spec.shape:
        raise LaminaError(f"input '{spec.name}' has shape {list(found.shape)}, expected {list(spec.shape)}")
    return found


def _from_capsule(capsule: Any, spec: TensorSpec) -> DeviceArray:
    get = _api("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    tensor = _Managed.from_address(get(capsule, _NAME)).tensor
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    code, bits = tensor.dtype.code, tensor.dtype.bits
    if tensor.device.device_type != GPU or tensor.device.device_id:
        raise LaminaError(f"input '{spec.name}' is not on the first GPU")
    if tensor.strides and not _row_major(shape, [tensor.strides[i] for i in range(tensor.ndim)]):
        raise LaminaError(f"input '{spec.name}' is not row-major", hint="make it contiguous")
    kinds = {code: kind for kind, code in _CODES.items()}
    if tensor.dtype.lanes != 1 or (code != _BFLOAT and code not in kinds):
        raise LaminaError(f"input '{spec.name}' has elements of DLPack's type {code} of {bits} bits")
    dtype = _bfloat16() if code == _BFLOAT else np.dtype(f"{kinds[code]}{bits // 8}")
    return DeviceArray(tensor.data + tensor.byte_offset, shape, dtype, capsule)


def _from_interface(value: Any, spec: TensorSpec, driver: Driver) -> DeviceArray:
    told = value.__cuda_array_interface__
    dtype, shape = np.dtype(told["typestr"]), tuple(told["shape"])
    strides = told.get("strides")
    if strides and not _row_major(shape, [step // dtype.itemsize for step in strides]):
        raise LaminaError(f"input '{spec.name}' is not row-major", hint="make it contiguous")
    if told.get("stream") is not None:
        driver("cuStreamSynchronize", Handle(told["stream"]))
    return DeviceArray(told["data"][0], shape, dtype, value)


def _row_major(shape: Sequence[int], steps: Sequence[int]) -> bool:
    expected = 1
    for size, step in zip(reversed(shape), reversed(steps), strict=True):
        if size != 1 and step != expected:
            return False
        expected *= size
    return True


def _bfloat16() -> np.dtype[Any]:
    import ml_dtypes  # few need it, and it takes a while to load

    return np.dtype(ml_dtypes.bfloat16)
