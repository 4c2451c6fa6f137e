"""PyTorch's tensors and dtypes as NumPy's, and back, without a copy."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.ir import Attribute

from ...compiler.diagnostics import LaminaError
from ...compiler.dtypes import element_type_of
from ...compiler.signature import Array, dtype_name, dtype_named

_SAME_NAME = ("float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16")
_OTHERS = {
    "bool": "bool",
    "uint32": "uint32",
    "uint64": "uint64",
    "complex64": "complex64",
    "complex128": "complex128",
    "float8_e4m3fn": "float8_e4m3fn",
    "float8_e5m2": "float8_e5m2",
}
_NAMES = {name: name for name in _SAME_NAME} | _OTHERS
_CARRIERS = {"bfloat16": "int16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}  # what NumPy takes in their place


@cache
def torch_module() -> Any:
    """PyTorch. Raises LaminaError when it is not installed."""
    try:
        return import_module("torch")
    except ImportError as error:
        raise LaminaError("PyTorch is not installed", hint="pip install 'lamina[torch]'") from error


def dtype_from(dtype: Any) -> np.dtype[Any]:
    """NumPy's name for one of PyTorch's dtypes. Raises LaminaError for quantised ones and the like."""
    name = str(dtype).removeprefix("torch.")
    if name not in _NAMES:
        raise LaminaError(f"tensors of {dtype} have no element type in the IR")
    return dtype_named(_NAMES[name])


@cache
def element_from(dtype: Any) -> Attribute:
    """The element type of the IR for one of PyTorch's dtypes."""
    return element_type_of(dtype_from(dtype))


def array_of(tensor: Any) -> Array:
    """The memory of a tensor as an array. Raises LaminaError for tensors that are not plain memory of this machine."""
    torch = torch_module()
    plain = tensor.detach()
    if plain.device.type != "cpu":
        raise LaminaError(f"a tensor on device '{plain.device}'", hint="move the model and its inputs to the CPU")
    if plain.layout != torch.strided:
        raise LaminaError(f"tensors of layout {plain.layout} are not supported")
    if plain.is_conj() or plain.is_neg():
        plain = plain.resolve_conj().resolve_neg()
    name = str(plain.dtype).removeprefix("torch.")
    carrier = _CARRIERS.get(name)
    if carrier is None:
        return plain.numpy()
    return plain.view(getattr(torch, carrier)).numpy().view(getattr(ml_dtypes, name))


class Window:
    """The memory of tensors of one dtype and layout as arrays, their dimensions in `order`.

    `tensor` is the first of them; raises what `array_of` does.
    """

    def __init__(self, tensor: Any, order: Sequence[int]):
        first = array_of(tensor.permute(order))
        self._order = order
        self._shape, self._dtype, self._bytes = first.shape, first.dtype, ctypes.c_char * first.nbytes
        self._is_plain = first.flags.carray and first.size > 0 and not tensor.is_complex()
        self._last: tuple[int, Array] = (0, np.empty(0))

    def on(self, tensor: Any) -> Array:
        """An array that keeps the tensor's memory."""
        return array_of(tensor.permute(self._order))

    def glimpse(self, tensor: Any) -> Array:
        """An array for as long as the tensor is there, in a tenth of the time where the one before lay in the same
        place, as parameters do."""
        if not self._is_plain or tensor.is_neg():
            return self.on(tensor)
        address, array = self._last
        if tensor.data_ptr() != address:
            address = tensor.data_ptr()
            array = np.ndarray(self._shape, self._dtype, memoryview(self._bytes.from_address(address)))
            self._last = address, array
        return array


def tensor_of(array: Array) -> Any:
    """A tensor on the memory of an array; on a copy of what must not be written to."""
    torch = torch_module()
    array = array if array.flags.writeable else array.copy()
    carrier = _CARRIERS.get(dtype_name(array.dtype))
    if carrier is None:
        return torch.from_numpy(array)
    return torch.from_numpy(array.view(carrier)).view(getattr(torch, array.dtype.name))
