"""NVIDIA's driver through ctypes: what a program needs of it, and its errors in words.

Functions are called by their names in the driver's interface; each returns a number, 0 when all went well.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from ...compiler.diagnostics import LaminaError

LIBRARY = "libcuda.so.1"
OUT_OF_MEMORY, NO_DEVICE = 2, 100
_MOST_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_CAPABILITY = (75, 76)  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
_LOG_BUFFER, _LOG_SIZE = 5, 6  # CU_JIT_ERROR_LOG_BUFFER, _SIZE_BYTES
_CAPTURE_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED
_LOG_BYTES = 8192
_LOST = (700, 702, *range(714, 720))  # addresses, time limits, traps: nothing runs in this process any more
PROCESSORS, REGISTERS, SHARED_BYTES, THREADS, BLOCKS = 16, 82, 81, 39, 106  # CU_DEVICE_ATTRIBUTE_..., of a GPU

Handle = ctypes.c_void_p
Address = ctypes.c_uint64  # CUdeviceptr


class DriverError(LaminaError):
    """A call of the driver that failed; `code` is the number it returned."""

    def __init__(self, message: str, code: int, hint: str | None = None):
        super().__init__(message, hint=hint)
        self.code = code

    @property
    def lost(self) -> bool:
        """Whether the GPU does nothing more for this process."""
        return self.code in _LOST


class Driver:
    """The driver with its first GPU current. `library` has the functions of `libcuda.so.1`."""

    def __init__(self, library: Any):
        self.library = library
        code = library.cuInit(0)
        count = ctypes.c_int(0)
        if code == 0:
            self("cuDeviceGetCount", ctypes.byref(count))
        if code == NO_DEVICE or (code == 0 and count.value == 0):
            raise DriverError("there is a driver for CUDA, but no GPU", NO_DEVICE, "--emulate needs none")
        self._check(code, "cuInit")
        device, context = ctypes.c_int(0), Handle()
        self("cuDeviceGet", ctypes.byref(device), 0)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self("cuCtxSetCurrent", context)
        self.context, self._device = context, device
        major, minor = map(self.attribute, _CAPABILITY)
        self.capability = (major, minor)

    def __call__(self, function: str, *arguments: Any, doing: str = "") -> None:
        """Calls a function of the driver. Raises DriverError, with what it was `doing`, where that fails."""
        self._check(getattr(self.library, function)(*arguments), doing or function)

    def _check(self, code: int, doing: str) -> None:
        if code:
            raise DriverError(f"{doing}: {self.words(code)}", code)

    def attribute(self, number: int) -> int:
        """A fact of the GPU, by the number of a CUdevice_attribute."""
        told = ctypes.c_int(0)
        self("cuDeviceGetAttribute", ctypes.byref(told), number, self._device)
        return told.value

    @property
    def name(self) -> str:
        """What the GPU is called, as `NVIDIA H100 80GB HBM3`."""
        told = ctypes.create_string_buffer(256)
        self("cuDeviceGetName", told, len(told), self._device)
        return told.value.decode(errors="replace")

    def words(self, code: int) -> str:
        """An error of the driver by name and in its own words."""
        told: list[str] = []
        for function in ("cuGetErrorName", "cuGetErrorString"):
            text = ctypes.c_char_p()
            getattr(self.library, function)(code, ctypes.byref(text))
            told.append(text.value.decode() if text.value else f"error {code}")
        return ": ".join(dict.fromkeys(told))

    def use(self) -> None:
        """Makes the GPU current in this thread."""
        self("cuCtxSetCurrent", self.context)

    def allocate(self, nbytes: int, what: str) -> int:
        """The address of fresh memory. Raises DriverError, with how much there is, where that is too little."""
        address = Address()
        code = self.library.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(max(nbytes, 1)))
        if code == OUT_OF_MEMORY:
            free, total = ctypes.c_size_t(), ctypes.c_size_t()
            self("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
            room = f"{free.value:,} of {total.value:,} are free"
            raise DriverError(f"too little memory on the GPU: {nbytes:,} bytes for {what}, {room}", code)
        self._check(code, f"memory for {what}")
        return address.value

    def load(self, code: bytes) -> Handle:
        """A module of a cubin, or of PTX, which the driver compiles. Raises DriverError with its log."""
        log = ctypes.create_string_buffer(_LOG_BYTES)
        options = (ctypes.c_int * 2)(_LOG_BUFFER, _LOG_SIZE)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), _LOG_BYTES)
        module = Handle()
        status = self.library.cuModuleLoadDataEx(ctypes.byref(module), ctypes.c_char_p(code), 2, options, values)
        if status:
            said = log.value.decode(errors="replace").strip()
            raise DriverError(f"the driver refuses a kernel: {self.words(status)} {said}".strip(), status)
        return module

    def function(self, module: Handle, name: str, shared_bytes: int) -> Handle:
        """A kernel of a module, allowed as much shared memory as it asks for."""
        found = Handle()
        self("cuModuleGetFunction", ctypes.byref(found), module, name.encode())
        if shared_bytes > 48 << 10:
            self("cuFuncSetAttribute", found, _MOST_SHARED, shared_bytes, doing=f"shared memory of kernel {name}")
        return found

    def elapsed(self, stream: Handle, work: Sequence[Callable[[], None]]) -> float:
        """The seconds from the first to the last of some work on a stream, as the GPU has it."""
        start, stop, told = Handle(), Handle(), ctypes.c_float()
        for event in (start, stop):
            self("cuEventCreate", ctypes.byref(event), 0)
        self("cuEventRecord", start, stream)
        for each in work:
            each()
        self("cuEventRecord", stop, stream)
        self("cuEventSynchronize", stop, doing="timing")
        self("cuEventElapsedTime", ctypes.byref(told), start, stop)
        for event in (start, stop):
            self("cuEventDestroy_v2", event)
        return told.value / 1000

    def begin_capture(self, stream: Handle) -> None:
        """What the stream is given from now on is recorded, not done."""
        self("cuStreamBeginCapture_v2", stream, _CAPTURE_RELAXED)

    def end_capture(self, stream: Handle) -> Handle:
        """The recording as a graph that can be launched again and again."""
        graph, ready = Handle(), Handle()
        self("cuStreamEndCapture", stream, ctypes.byref(graph))
        self("cuGraphInstantiateWithFlags", ctypes.byref(ready), graph, ctypes.c_ulonglong(0))
        self("cuGraphDestroy", graph)
        return ready


@cache
def driver() -> Driver:
    """The driver of this machine. Raises LaminaError where there is none, or no GPU."""
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise LaminaError(
            f"there is no driver for CUDA: {LIBRARY} cannot be loaded", hint="--emulate runs kernels without a GPU"
        ) from error
    return Driver(library)
