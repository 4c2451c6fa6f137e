"""Matrix instructions: ldmatrix, stmatrix, mma.sync and wgmma (PTX ISA, 9.7.14 and 9.7.15).

Products are exact in double precision, sums rounded once to float32: hardware rounds more often, by amounts that depend
on its generation.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from ....compiler.signature import Array
from .agent import PAUSE, Agent, EmulationError, Step, addresses, items, reads, writes
from .decode import decodes
from .layouts import TURNS, swizzled
from .memory import SHARED_WINDOW
from .ptx import Instruction, Register, Several
from .warp import WARP, constant

if TYPE_CHECKING:
    from .block import Block

WARPGROUP = 128
ELEMENTS: dict[str, tuple[Any, int]] = {  # dtype, bytes
    "bf16": (ml_dtypes.bfloat16, 2), "f16": (np.float16, 2), "tf32": (np.float32, 4), "s8": (np.int8, 1),
    "u8": (np.uint8, 1), "e4m3": (ml_dtypes.float8_e4m3fn, 1), "e5m2": (ml_dtypes.float8_e5m2, 1),
}  # fmt: skip


def _shared_offsets(agent: Agent, where: Array) -> Array:
    return np.where(where >= SHARED_WINDOW, where - SHARED_WINDOW, where)


@decodes("ldmatrix", "stmatrix")
def matrix_transfer(instruction: Instruction) -> Step:
    """8 by 8 matrices of 16-bit elements; the address of row r of matrix m comes from lane 8 m + r.

    A thread holds two neighbours of a row: row lane / 4, columns 2 (lane % 4) and one more.
    """
    loads = instruction.opcode[0] == "ldmatrix"
    count = next(int(p[1:]) for p in instruction.opcode if p in ("x1", "x2", "x4"))
    turned = "trans" in instruction.opcode
    vector, place = instruction.operands if loads else instruction.operands[::-1]
    address = addresses(place)
    parts = items(vector)
    assert len(parts) == count and instruction.opcode[-1] == "b16"
    outputs = [writes(o) for o in parts] if loads else []
    inputs = [] if loads else [reads(o, np.uint32) for o in parts]

    def step(agent: Agent) -> object:
        warps, active = whole_warps(agent), slice(None) if agent.all_active else agent.active
        shared, launch = agent.block.shared, agent.block.launch
        where = agent.block.in_shared(agent, _shared_offsets(agent, address(agent)[active]))
        rows = where.reshape(-1, WARP)[:, : 8 * count].reshape(-1, count, 8)
        shared.check(rows.reshape(-1), 16, "reads" if loads else "writes")
        if launch.counted:
            launch.counters.count_shared(rows.reshape(len(rows), -1), 16)
        cells, at = shared.view(16), rows // 16  # of a row each: warp, matrix, row
        if loads:
            values = cells[at].view(np.uint16).reshape(*at.shape, 8)
            values = values.swapaxes(-1, -2) if turned else values
            words = np.ascontiguousarray(values).view(np.uint32)  # warp, matrix, row, pair
            for i, write in enumerate(outputs):
                found = words[:, i].reshape(-1)
                if not agent.all_active:
                    of_some, found = found, np.zeros(agent.lanes, np.uint32)
                    found[active] = of_some
                write(agent, found)
            return None
        words = np.stack([read(agent).reshape(-1, 8, 4)[warps] for read in inputs], 1)
        values = np.ascontiguousarray(words).view(np.uint16)
        values = np.ascontiguousarray(values.swapaxes(-1, -2)) if turned else values
        cells[at] = values.view(np.complex128).reshape(at.shape)
        agent.block.wrote(agent, rows.reshape(-1), 16)
        return PAUSE

    return step


def whole_warps(agent: Agent) -> Array:
    """Which warps execute this, as blocks that step together may be at different places."""
    if agent.lanes % WARP == 0:
        active = agent.active.reshape(-1, WARP)
        some: Array = np.logical_or.reduce(active, 1)
        if agent.all_active or np.array_equal(some, active.all(1)):
            return some
    raise EmulationError("not all threads of the warp execute this together")


@decodes("mma")
def multiply_accumulate(instruction: Instruction) -> Step:
    """`mma.sync.aligned.mMnNkK.row.col` of 16-bit floats, tf32 and bytes, summed in 32 bits."""
    multiply = fragments_product(instruction)
    d, *operands = (items(o) for o in instruction.operands)
    outputs = [writes(o) for o in d]
    sources = [[reads(o, np.uint32) for o in each] for each in operands]

    def step(agent: Agent) -> None:
        whole_warps(agent)
        found = multiply(*(np.stack([read(agent) for read in each])[None] for each in sources))
        for write, value in zip(outputs, found[0], strict=True):
            write(agent, value)

    return step


def fragments_product(instruction: Instruction) -> Callable[[Array, Array, Array], Array]:
    """A B + C of what registers of whole warps hold: [product, register, lane] of each, as words of 32 bits.

    Raises ValueError for forms that are not known.
    """
    shape = re.fullmatch(r"m16n8k(\d+)", instruction.opcode[3])
    if shape is None or instruction.opcode[4:6] != ("row", "col"):
        raise ValueError("its shape")
    depth = int(shape[1])
    kinds = [p for p in instruction.opcode[6:] if p != "satfinite"]
    result_kind, a_kind, b_kind, _ = kinds
    (a_type, width), (b_type, _) = ELEMENTS[a_kind], ELEMENTS[b_kind]
    if result_kind not in ("f32", "s32"):
        raise ValueError(f"sums of {result_kind}")
    result_type: Any = np.float32 if result_kind == "f32" else np.int32
    wide: Any = np.float64 if result_kind == "f32" else np.int64
    counts = [len(items(o)) for o in instruction.operands]
    assert counts == [4, 16 * depth * width // 128, 8 * depth * width // 128, 4]

    def multiply(a: Array, b: Array, c: Array) -> Array:
        count, _, lanes = a.shape
        x = _fragments(a, 2, a_type).reshape(count, -1, 16, depth)
        y = _fragments(b, 1, b_type).reshape(count, -1, 8, depth).swapaxes(-1, -2)
        product = _cut(x, a_kind).astype(wide) @ _cut(y, b_kind).astype(wide)  # product, warp, row, column
        parts = product.reshape(count, -1, 2, 8, 4, 2).transpose(0, 2, 5, 1, 3, 4).reshape(count, 4, lanes)
        return (parts + c.view(result_type)).astype(result_type).view(np.uint32)

    return multiply


def _fragments(words: Array, tall: int, dtype: Any) -> Array:
    """[product, warp, row, column] of [product, register, lane]: neighbours along the sum in each register.

    Thread t has row t / 4 of eight and neighbours t % 4 of four; further registers are `tall` times 8 rows below first,
    then to the right.
    """
    count, registers, lanes = words.shape
    tiles = words.reshape(count, registers // tall, tall, lanes // WARP, 8, 4).transpose(0, 3, 2, 4, 1, 5)
    return np.ascontiguousarray(tiles).view(dtype)


def _cut(matrix: Array, kind: str) -> Array:
    """tf32 has 10 bits of mantissa: what registers hold beyond them does not count."""
    if kind != "tf32":
        return matrix
    return (np.ascontiguousarray(matrix).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


@decodes("wgmma")
def warpgroup(instruction: Instruction) -> Step:
    """wgmma.fence, mma_async, commit_group and wait_group."""
    if instruction.opcode[1] == "fence":
        return _whole_group
    if instruction.opcode[1] == "commit_group":
        return _commit
    if instruction.opcode[1] == "wait_group":
        left = constant(instruction.operands[0])
        return lambda agent: _wait(agent, left)
    return _product(instruction)


def _whole_group(agent: Agent) -> None:
    if agent.lanes != WARPGROUP or not agent.all_active:
        raise EmulationError("not all threads of the warpgroup execute this together")


def _commit(agent: Agent) -> object:
    _whole_group(agent)
    agent.product_groups.append(agent.products)
    agent.products = []
    return PAUSE


def _wait(agent: Agent, left: int) -> None:
    while len(agent.product_groups) > left:
        for product in agent.product_groups.pop(0):
            product()


def _product(instruction: Instruction) -> Step:
    """`wgmma.mma_async.sync.aligned.m64nNkK.f32.A.B`: D (+)= A B, operands in shared memory or A in registers.

    Late, shared memory, and A in registers, is read when the group is waited for; where copies are later still, now.
    """
    opcode = instruction.opcode
    shape = re.fullmatch(r"m64n(\d+)k(\d+)", opcode[4])
    assert shape is not None
    columns, depth = int(shape[1]), int(shape[2])
    result_kind, a_kind, b_kind = opcode[5:8]
    if result_kind not in ("f32", "s32"):
        raise ValueError(f"sums of {result_kind}")
    result_type: Any = np.float32 if result_kind == "f32" else np.int32
    (a_type, width), (b_type, _) = ELEMENTS[a_kind], ELEMENTS[b_kind]
    assert depth * width == 32
    d, a, b, scale, *modifiers = instruction.operands
    sums = [o.name for o in items(d) if isinstance(o, Register)]
    rows: list[tuple[str, list[int]]] = []  # of the sums, found when they are first asked for
    assert len(sums) == columns // 2
    rows_of, columns_of = zip(*map(accumulator, range(len(sums))), strict=True)
    places = np.array(rows_of), np.array(columns_of)
    in_registers = isinstance(a, Several)
    left = [reads(o, np.uint32) for o in items(a)] if in_registers else [reads(a, np.uint64)]
    right = reads(b, np.uint64)
    adds = reads(scale, np.bool_)
    numbers = [constant(m) for m in modifiers]
    sign = prod(numbers[:2])  # of A times that of B
    turned = (numbers[2:] if not in_registers else [0, *numbers[2:]]) or [0, 0]

    def step(agent: Agent) -> None:
        _whole_group(agent)
        b_descriptor = int(right(agent)[0])
        a_descriptor = 0 if in_registers else int(left[0](agent)[0])
        keeps = bool(adds(agent)[0])
        fenced = agent.fenced

        def execute() -> None:
            x = (
                _fragments(np.stack([r(agent) for r in left])[None], 2, a_type).reshape(64, depth)
                if in_registers
                else _matrix(agent.block, a_descriptor, 64, depth, a_type, bool(turned[0]), fenced)
            )
            y = _matrix(agent.block, b_descriptor, columns, depth, b_type, bool(turned[1]), fenced)
            wide: Any = np.float64 if result_type is np.float32 else np.int64
            product = _cut(x, a_kind).astype(wide) * sign @ _cut(y, b_kind).astype(wide).T
            parts = product[places]
            if not rows:
                rows.append(agent.block.launch.program.kernel.rows(sums))
            kind, own = rows[0]
            registers = agent.banks[kind].view(result_type)
            registers[own] = parts + registers[own] if keeps else parts

        if agent.block.launch.late and not agent.block.launch.copies_last:
            agent.products.append(execute)
        else:
            execute()

    return step


def accumulator(register: int) -> tuple[Array, Array]:
    """Row and column, for each of the 128 threads, of what a register of the result of wgmma holds."""
    thread = np.arange(WARPGROUP)
    row = thread // 32 * 16 + thread % 32 // 4 + 8 * (register // 2 % 2)
    return row, register // 4 * 8 + thread % 4 * 2 + register % 2


_SWIZZLES = {0: 0, 1: 128, 2: 64, 3: 32}


def _matrix(block: Block, descriptor: int, rows: int, depth: int, dtype: Any, turned: bool, fenced: int) -> Array:
    """[rows, depth] elements out of shared memory, where a matrix descriptor says that they lie (PTX ISA, 9.7.15.5).

    Groups of 8 rows are `stride` bytes apart. Without swizzle, cores of 16 bytes along the depth are `leading` apart;
    with it, a row has as many bytes as the swizzle, and its 16-byte chunks lie permuted.
    """
    start, leading, stride = ((descriptor >> shift & 0x3FFF) << 4 for shift in (0, 16, 32))
    swizzle = _SWIZZLES[descriptor >> 62]
    size = np.dtype(dtype).itemsize
    if turned:
        return _turned_matrix(block, (start, leading, stride), swizzle, rows, depth, dtype, fenced)
    where = start // TURNS * TURNS + _bytes_of_matrix((start % TURNS, leading, stride), swizzle, rows, depth * size)
    block.shared.check(where.reshape(-1), 1, "reads")
    block.check_fenced(where, fenced)
    return np.ascontiguousarray(block.shared.bytes[where]).view(dtype)


@lru_cache(maxsize=64)  # products of a loop ask for the same again and again
def _bytes_of_matrix(place: tuple[int, int, int], swizzle: int, rows: int, nbytes: int) -> Array:
    start, leading, stride = place
    row, byte = np.arange(rows)[:, None], np.arange(nbytes)[None, :]
    if swizzle:
        return swizzled(start + row // 8 * stride + row % 8 * swizzle + byte, swizzle)
    return start + row // 8 * stride + byte // 16 * leading + row % 8 * 16 + byte % 16


def _turned_matrix(
    block: Block, place: tuple[int, int, int], swizzle: int, rows: int, depth: int, dtype: Any, fenced: int
) -> Array:
    """The same of a matrix whose columns follow each other in memory, rows of it neighbours there.

    As many rows as fill the swizzle make a part: eight columns of it are followed, after `stride` bytes, by the next
    eight; the next part is `leading` bytes away.
    """
    start, leading, stride = place
    size = np.dtype(dtype).itemsize
    if swizzle != 128 or size != 2:
        raise EmulationError(
            "operands of wgmma that are stored along the other dimension, but for 128 bytes of 16 bits"
        )
    where = start // TURNS * TURNS + _places_of_turned((start % TURNS, leading, stride), swizzle, rows, depth, size)
    block.shared.check(where.reshape(-1), size, "reads")
    block.check_fenced(where, fenced)
    return np.ascontiguousarray(block.shared.view(size)[where // size]).view(dtype)


@lru_cache(maxsize=64)
def _places_of_turned(place: tuple[int, int, int], swizzle: int, rows: int, depth: int, size: int) -> Array:
    start, leading, stride = place
    row, column = np.arange(rows)[:, None], np.arange(depth)[None, :]
    across = swizzle // size
    plain = start + row // across * leading + column // 8 * stride + column % 8 * swizzle + row % across * size
    return swizzled(plain, swizzle)
