"""Meanings of `nvgpu`: what is asynchronous happens at once; registers of a warp are exchanged where it needs them."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Condition
from typing import Any, cast

import ml_dtypes
import numpy as np

from ...compiler.layouts import Swizzle
from ...compiler.semantics import Call, Spec, semantics
from ...compiler.weights import Array
from ..gpu.ops import WARP, WARPGROUP
from ..gpu.semantics import here
from .asynchronous import CreateDescriptorOp, NamedSyncOp, TensorMapType

SWIZZLES = {32: Swizzle(1, 4, 3), 64: Swizzle(2, 4, 3), 128: Swizzle(3, 4, 3)}
ELEMENTS: dict[str, Any] = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "tf32": np.float32}
ROW_BYTES = 128
STEPS = 16  # of the sum in one instruction
WHILE = 1.0  # seconds that a try to wait takes at most


@semantics("nvgpu.device_async_copy")
def copy(source: Array, at: Array, target: Array, to: Array, *valid: Array, bytes: int) -> tuple[()]:
    """Bytes of shared memory change."""
    given = int(valid[0]) if valid else bytes
    start = int(at) * source.itemsize
    found = np.zeros(bytes, np.uint8)
    found[:given] = np.ascontiguousarray(source).reshape(-1).view(np.uint8)[start : start + given]
    target.view(np.uint8)[int(to) : int(to) + bytes] = found
    return ()


@semantics(
    "nvgpu.device_async_create_group",
    "nvgpu.fence.mbarrier.init",
    "nvgpu.fence.proxy.async",
    "nvgpu.warpgroup.commit",
)
def nothing() -> tuple[()]:
    """There is nothing left to order."""
    return ()


@semantics("nvgpu.device_async_wait", "nvgpu.set_max_registers")
def number(*, groups: int = 0, count: int = 0, more: bool = False) -> tuple[()]:
    """There is nothing to wait for, and registers are many."""
    return ()


class _Barrier:
    """Arrivals and bytes that the current phase still waits for; `news` tells of the next, and is held for changes."""

    def __init__(self, count: int, news: Condition):
        self.count = self.pending = count
        self.bytes = self.phase = 0
        self._news = news

    def settle(self) -> None:
        """Begins the next phase where nothing is waited for."""
        if self.pending == 0 and self.bytes == 0:
            self.phase ^= 1
            self.pending = self.count
            self._news.notify_all()


def _key(barriers: Array, at: Array) -> tuple[str, int]:
    return "mbarrier", cast(int, barriers.__array_interface__["data"][0]) + int(at) * 8


@semantics("nvgpu.mbarrier.init")
def init(barriers: Array, at: Array, *, count: int) -> tuple[()]:
    """A barrier in its first phase."""
    block = here().block
    block.kept[_key(barriers, at)] = _Barrier(count, block.news)
    return ()


@semantics("nvgpu.mbarrier.arrive", "nvgpu.mbarrier.arrive.expect_tx", "nvgpu.device_async_arrive")
def arrive(barriers: Array, at: Array, *, bytes: int = 0) -> tuple[()]:
    """One arrival less to wait for, and bytes more."""
    block = here().block
    with block.news:
        barrier = block.kept[_key(barriers, at)]
        barrier.bytes += bytes
        barrier.pending -= 1
        barrier.settle()
    return ()


@semantics("nvgpu.mbarrier.try_wait.parity")
def try_wait(barriers: Array, at: Array, parity: Array) -> Array:
    """Whether the phase of that parity is over, or will be in a while."""
    block = here().block
    barrier, before = block.kept[_key(barriers, at)], int(parity) & 1
    return np.asarray(block.wait_for(lambda: barrier.phase != before, WHILE))


@semantics("nvgpu.barrier.arrive", "nvgpu.barrier.sync")
def meet(number: Array, *, threads: int, call: Call) -> tuple[()]:
    """One more has come; who meets waits for the others, unless one of them has failed."""
    block = here().block
    with block.news:
        barrier = block.kept.setdefault(("barrier", int(number)), _Barrier(threads, block.news))
        phase = barrier.phase
        barrier.pending -= 1
        barrier.settle()
    if isinstance(call.op, NamedSyncOp):
        block.wait_for(lambda: barrier.phase != phase)
    return ()


@semantics("nvgpu.tma.create.descriptor")
def describe(buffer: Array, *, call: Call) -> Array:
    """The tensor, as strides over the buffer; a box may reach outside."""
    op = cast(CreateDescriptorOp, call.op)
    sizes, strides = ([int(n) for n in numbers.get_values()] for numbers in (op.sizes, op.strides))
    return np.lib.stride_tricks.as_strided(buffer.reshape(-1), sizes, [n * buffer.itemsize for n in strides])


@semantics("nvgpu.tma.async.load")
def load(tensor: Array, *rest: Array, call: Call) -> tuple[()]:
    """A box, zeros outside the tensor, goes to shared memory, its 16-byte parts exchanged."""
    type_ = call.op.operands[0].type
    assert isinstance(type_, TensorMapType)
    corner, (target, to, barriers, at) = rest[: tensor.ndim], rest[tensor.ndim :]
    box = np.zeros(type_.extents, tensor.dtype)
    first = [int(c) for c in corner]
    last = [min(c + n, size) for c, n, size in zip(first, box.shape, tensor.shape, strict=True)]
    if all(c < e for c, e in zip(first, last, strict=True)):
        part = tensor[tuple(slice(c, e) for c, e in zip(first, last, strict=True))]
        box[tuple(slice(0, n) for n in part.shape)] = part
    data = box.reshape(-1).view(np.uint8)
    places = int(to) + np.arange(data.size)
    if type_.swizzle.data:
        places = np.array([SWIZZLES[type_.swizzle.data](int(place)) for place in places])
    target.view(np.uint8)[places] = data
    block = here().block
    with block.news:
        barrier = block.kept[_key(barriers, at)]
        barrier.bytes -= data.size
        barrier.settle()
    return ()


@semantics("nvgpu.ldmatrix")
def ldmatrix(source: Array, at: Array, *, transpose: bool = False) -> Array:
    """Rows whose places the threads of the warp tell."""

    def read(every: list[Array]) -> Array:
        places = np.array([int(place) for place in every]).reshape(4, 8)
        cells = source.view(np.uint8)[places[..., None] + np.arange(16)].copy().view(np.uint16)
        return np.ascontiguousarray(cells.swapaxes(1, 2) if transpose else cells).view(np.int32)

    thread = here()
    lane = thread.number % WARP
    return thread.together(at, read, WARP)[:, lane // 4, lane % 4].copy()


@semantics("nvgpu.round_tf32")
def round_tf32(value: Array) -> Array:
    """10 bits of mantissa, ties away from zero."""
    bits = value.view(np.uint32)
    return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.int32)


@semantics("nvgpu.round_pair")
def round_pair(value: Array, *, result: Spec) -> Array:
    """Ties to even."""
    assert result.dtype is not None
    return value.astype(result.dtype)


@semantics("nvgpu.exp2")
def exp2(value: Array) -> Array:
    """The nearest number, no subnormal one."""
    power = np.exp2(value)
    return np.where(power < np.finfo(np.float32).tiny, np.float32(0), power)


@semantics("nvgpu.mma.sync")
def mma(lhs: Array, rhs: Array, acc: Array, *, kind: str) -> Array:
    """The rows and columns of the product that this thread holds."""

    def multiply(every: list[Array]) -> Array:
        words = _elements(np.stack(every), kind)  # of each thread's registers
        right = words[:, :, 4:].transpose(2, 1, 3, 0).reshape(-1, 8)
        return _left(words[:, :, :4]).astype(np.float64) @ right.astype(np.float64)

    thread = here()
    product = thread.together(np.concatenate([lhs, rhs]), multiply, WARP)
    row, column = thread.number % WARP // 4, thread.number % 4 * 2
    return (product[[row, row, row + 8, row + 8], [column, column + 1] * 2] + acc).astype(np.float32)


def _elements(registers: Array, kind: str) -> Array:
    """What a warp's registers hold: row, column, register, part."""
    return np.ascontiguousarray(registers).view(ELEMENTS[kind]).reshape(8, 4, registers.shape[1], -1)


def _left(words: Array) -> Array:
    """16 rows of a left operand."""
    return words.reshape(8, 4, 2, 2, -1).transpose(3, 0, 2, 1, 4).reshape(16, -1)


@semantics("nvgpu.warpgroup.mma")
def warpgroup(
    shared: Array,
    lhs: Array,
    rhs: Array,
    *sums: Array,
    kind: str,
    offsets: list[int],
    leading: list[int],
    turned: list[bool],
    call: Call,
) -> list[Array]:
    """The rows of the product that this thread holds, out of shared memory."""
    thread = here().number % WARPGROUP
    own = thread // WARP * 16 + thread % WARP // 4 + np.array([0, 8])
    columns = np.arange(8 * len(call.op.results))
    left, right = (
        _lines(shared, int(place) + offset, wanted, apart, across).view(ELEMENTS[kind]).astype(np.float64)
        for place, offset, wanted, apart, across in zip(
            (lhs, rhs), offsets, (own, columns), leading, turned, strict=True
        )
    )
    return _held(left @ right.T, sums)


@semantics("nvgpu.warpgroup.mma.registers")
def warpgroup_registers(
    lhs: Array,
    shared: Array,
    rhs: Array,
    *sums: Array,
    kind: str,
    offset: int,
    leading: int,
    turned: bool = False,
    call: Call,
) -> list[Array]:
    """The same, rows of A out of the warp's registers."""

    def multiply(every: list[Array]) -> Array:
        left = _left(_elements(np.stack(every), kind)).astype(np.float64)
        columns = np.arange(8 * len(call.op.results))
        right = _lines(shared, int(rhs) + offset, columns, leading, turned).view(ELEMENTS[kind]).astype(np.float64)
        return left @ right.T

    thread = here()
    return _held(thread.together(lhs, multiply, WARP)[thread.number % WARP // 4 + np.array([0, 8])], sums)


def _held(product: Array, sums: Sequence[Array]) -> list[Array]:
    """Two neighbours of every eight columns of this thread's two rows, added to the sums, if any."""
    column = here().number % 4 * 2
    parts = [product[:, i + column : i + column + 2].reshape(-1) for i in range(0, product.shape[1], 8)]
    return [(part + (sums[i] if sums else 0)).astype(np.float32) for i, part in enumerate(parts)]


def _lines(shared: Array, start: int, lines: Array, leading: int, turned: bool) -> Array:
    """16 steps of some rows of A, or columns of B, as 16 bits each."""
    line, step = lines[:, None], np.arange(STEPS)[None, :]
    if turned:
        places = start + line // 64 * leading + step * ROW_BYTES + line % 64 * 2
    else:
        places = start + line * ROW_BYTES + step * 2
    exchanged = places ^ (places >> 7 & 7) << 4
    return shared.view(np.uint16)[exchanged // 2]


@semantics("nvgpu.warpgroup.wait", "nvgpu.warpgroup.fence")
def ordered(*registers: Array, groups: int = 0) -> list[Array]:
    """The sums are there."""
    return list(registers)
