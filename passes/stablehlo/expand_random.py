"""stablehlo-expand-random: the generators of random bits as the integer arithmetic that they are.

before: %next, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY :
            (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
after:  %counters = ...                                    // %state[1], and as many after it as there are blocks
        ... 20 rounds of add, rotate, exclusive or, on tensor<2xui32>, two words a block ...

Threefry-2x32 and Philox-4x32 (Salmon et al. 2011), laid out as the reference semantics say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, Signedness, TensorType
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...compiler.dtypes import dtype_of
from ...dialects.stablehlo import BitcastConvertOp, ConcatenateOp, IotaOp, RngBitGeneratorOp
from ...dialects.stablehlo.semantics.random import ROTATIONS, split_axis
from .elements import Elements, before
from .expansion import expand

_UI32, _UI64 = (IntegerType(width, Signedness.UNSIGNED) for width in (32, 64))


@dataclass(frozen=True)
class ExpandRandom(ModulePass):
    """Generators of random bits in terms of integer arithmetic."""

    name = "stablehlo-expand-random"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expand(op, {RngBitGeneratorOp: _expanded})


def _expanded(op: RngBitGeneratorOp) -> Sequence[SSAValue]:
    state = Elements(before(op), op.initial_state)
    words = [word.reshape() for word in _pieces(_bitcast_pairs(state))]
    shape = op.output.type.get_shape()
    size = dtype_of(op.output.type).itemsize
    count, wide = prod(shape), size == 8
    if op.rng_algorithm.data.value == "PHILOX":
        blocks = -(-count * max(size, 4) // 16)
        bits = _philox_bits(words, blocks, count, wide)
    else:
        bits, blocks = _threefry_bits(words, shape or (1,), wide)
    low = words[1] + blocks
    following = [words[0], low]
    if len(words) > 2:
        following.append(words[2] + (low < words[1]).convert(_UI64))
    moved = _joined([word.reshape(1) for word in following], 0)
    if state.element_type != _UI64:
        moved = moved.of(BitcastConvertOp(moved.value, state.element_type))
    bits = bits.convert(IntegerType(8 * size, Signedness.UNSIGNED)).reshape(*shape)
    if bits.element_type != op.output.type.element_type:
        bits = bits.of(BitcastConvertOp(bits.value, op.output.type.element_type))
    return [moved.reshape(*state.shape).value, bits.value]


def _bitcast_pairs(state: Elements) -> Elements:
    """The state as 64-bit words."""
    if state.element_type == _UI64:
        return state
    pieces = 8 // dtype_of(state.element_type).itemsize
    rows = state.reshape(prod(state.shape) // pieces, pieces) if pieces > 1 else state
    return rows.of(BitcastConvertOp(rows.value, _UI64))


def _pieces(x: Elements) -> list[Elements]:
    return [x.part(0, i, i + 1) for i in range(x.shape[0])]


def _joined(parts: Sequence[Elements], axis: int) -> Elements:
    return parts[0].of(ConcatenateOp([part.value for part in parts], dimension=axis))


def _counted(start: Elements, count: int) -> Elements:
    """`count` numbers from `start` on, which is a tensor without dimensions."""
    steps = start.of(IotaOp(TensorType(_UI64, [count]), 0))
    return steps + start.broadcast((count,), ())


def _halves(x: Elements) -> tuple[Elements, Elements]:
    """The lower and the upper 32 bits of 64."""
    return (x & 0xFFFFFFFF).convert(_UI32), (x >> 32).convert(_UI32)


def _rotated(x: Elements, count: int) -> Elements:
    return (x << count) | (x >> (32 - count))


def _threefry_bits(words: Sequence[Elements], shape: Sequence[int], wide: bool) -> tuple[Elements, int]:
    """Words of 64 bits where they are `wide`, else of 32; and how many blocks that took."""
    axis = split_axis(shape)
    half = [*shape[:axis], -(-shape[axis] // 2), *shape[axis + 1 :]]
    blocks = prod(shape) if wide else prod(half)
    low, high = _halves(_counted(words[1], blocks))
    first, second = (key.broadcast((blocks,), ()) for key in _halves(words[0]))
    keys = [first, second, first ^ second ^ 0x1BD11BDA]
    x0, x1 = low + keys[0], high + keys[1]
    for block in range(5):
        for rotation in ROTATIONS[block % 2]:
            x0 = x0 + x1
            x1 = _rotated(x1, rotation) ^ x0
        x0 = x0 + keys[(block + 1) % 3]
        x1 = x1 + keys[(block + 2) % 3] + (block + 1)
    if wide:
        return x0.convert(_UI64) | (x1.convert(_UI64) << 32), blocks
    both = _joined([x.reshape(*half[: axis + 1], 1, *half[axis + 1 :]) for x in (x0, x1)], axis + 1)
    whole = both.reshape(*half[:axis], 2 * half[axis], *half[axis + 1 :])
    return whole.part(axis, 0, shape[axis]), blocks


def _philox_bits(words: Sequence[Elements], blocks: int, count: int, wide: bool) -> Elements:
    """The first `count` words of 64 or 32 bits from so many blocks of four of 32 bits."""
    low = _counted(words[1], blocks)
    carry = (low < words[1].broadcast((blocks,), ())).convert(_UI64)
    above = words[2] if len(words) > 2 else words[0]
    high = above.broadcast((blocks,), ()) + carry
    x = [word.convert(_UI64) for half in (low, high) for word in _halves(half)]
    k0, k1 = (key.convert(_UI64).broadcast((blocks,), ()) for key in _halves(words[0]))
    for _ in range(10):
        first, second = x[0] * 0xD2511F53, x[2] * 0xCD9E8D57
        x = [(second >> 32) ^ x[1] ^ k0, second & 0xFFFFFFFF, (first >> 32) ^ x[3] ^ k1, first & 0xFFFFFFFF]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    if wide:
        x = [x[0] | (x[1] << 32), x[2] | (x[3] << 32)]
    flat = _joined([part.reshape(blocks, 1) for part in x], 1).reshape(blocks * len(x))
    return flat.part(0, 0, count)
