"""Tensor maps as the driver makes them: what the copy engine has to know of a tensor, 128 bytes that are not public."""

from __future__ import annotations

import ctypes

from ...compiler.signature import dtype_named
from .driver import Driver
from .steps import Tensor

NBYTES, ALIGNMENT = 128, 64
_TYPES = {"float16": 6, "float32": 7, "bfloat16": 9}  # CU_TENSOR_MAP_DATA_TYPE_FLOAT16 and on
_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}  # CU_TENSOR_MAP_SWIZZLE_NONE and on
_SECTORS_256 = 3  # CU_TENSOR_MAP_L2_PROMOTION_L2_256B: what is read beside comes into the second cache


def encode(driver: Driver, tensor: Tensor, address: int) -> ctypes.c_uint8:
    """The map of a tensor at an address, aligned as kernels want it. Raises DriverError for what is refused."""
    rank, size = len(tensor.sizes), dtype_named(tensor.dtype).itemsize
    room = (ctypes.c_uint8 * (NBYTES + ALIGNMENT))()
    start = -ctypes.addressof(room) % ALIGNMENT
    found = ctypes.c_uint8.from_buffer(room, start)  # keeps `room` alive
    driver(
        "cuTensorMapEncodeTiled",
        ctypes.byref(found),
        _TYPES[tensor.dtype],
        rank,
        ctypes.c_uint64(address),
        (ctypes.c_uint64 * rank)(*tensor.sizes[::-1]),
        (ctypes.c_uint64 * max(rank - 1, 1))(*(step * size for step in tensor.strides[-2::-1])),
        (ctypes.c_uint32 * rank)(*tensor.box[::-1]),
        (ctypes.c_uint32 * rank)(*[1] * rank),
        0,  # no interleaving
        _SWIZZLES[tensor.swizzle],
        _SECTORS_256,
        0,  # zeros from outside
        doing="describing a tensor",
    )
    return found
