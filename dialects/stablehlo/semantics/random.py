"""Random bits. Outputs are functions of the given state; `rng`, which has none, always starts from seed 0."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ....compiler.dtypes import DType
from ....compiler.semantics import Spec, semantics
from ....compiler.weights import Array

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def _rotated(x: Array, count: int) -> Array:
    return (x << np.uint32(count)) | (x >> np.uint32(32 - count))


def threefry2x32(key: tuple[int, int], low: Array, high: Array) -> tuple[Array, Array]:
    """Threefry-2x32, 20 rounds (Salmon et al. 2011), of the counters (low, high), all uint32."""
    keys = np.array([*key, key[0] ^ key[1] ^ 0x1BD11BDA], np.uint32)
    x0, x1 = low + keys[0], high + keys[1]
    for block in range(5):
        for rotation in ROTATIONS[block % 2]:
            x0 = x0 + x1
            x1 = _rotated(x1, rotation) ^ x0
        x0 = x0 + keys[(block + 1) % 3]
        x1 = x1 + keys[(block + 2) % 3] + np.uint32(block + 1)
    return x0, x1


def philox4x32(key: tuple[int, int], counters: Array) -> Array:
    """Philox-4x32, 10 rounds (Salmon et al. 2011), of `counters` uint32[n, 4]."""
    k0, k1 = key
    mask = np.uint64(0xFFFFFFFF)
    x = [counters[:, i].astype(np.uint64) for i in range(4)]
    for _ in range(10):
        first, second = x[0] * np.uint64(0xD2511F53), x[2] * np.uint64(0xCD9E8D57)
        x = [
            (second >> np.uint64(32)) ^ x[1] ^ np.uint64(k0),
            second & mask,
            (first >> np.uint64(32)) ^ x[3] ^ np.uint64(k1),
            first & mask,
        ]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(x, 1).astype(np.uint32)


def _halves(value: int) -> tuple[int, int]:
    return value & 0xFFFFFFFF, value >> 32


def _pairs_interleaved(pair: tuple[Array, Array], half: Sequence[int], axis: int, shape: Sequence[int]) -> Array:
    """Words of `shape`: along `axis` those of the first array at even places, of the second at odd ones."""
    both = np.stack([words.reshape(half) for words in pair], axis + 1)
    whole = both.reshape([*half[:axis], 2 * half[axis], *half[axis + 1 :]])
    return whole[(slice(None),) * axis + (slice(shape[axis]),)]


def split_axis(shape: Sequence[int]) -> int:
    """The first axis of even size, else the first of the largest ones."""
    even = [axis for axis, size in enumerate(shape) if size % 2 == 0]
    return even[0] if even else max(range(len(shape)), key=lambda axis: shape[axis])


@semantics("stablehlo.rng_bit_generator")
def rng_bit_generator(state: Array, *, rng_algorithm: str, results: list[Spec]) -> list[Array]:
    """The counter (state[1]) moves on by the number of blocks used; state[0] is the key.

    Elements narrower than 32 bits are the low bits of a word each. As in XLA, whose bits users compare with, the two
    words of a Threefry block are neighbours along an axis that is cut in two.
    """
    shape, dtype = results[1]
    assert shape is not None and dtype is not None
    word, unsigned = np.dtype(f"u{max(dtype.itemsize, 4)}"), np.dtype(f"u{dtype.itemsize}")
    needed = prod(shape) * word.itemsize
    words = [int(word) for word in np.ascontiguousarray(state).view(np.uint64).reshape(-1)]
    counter = words[1]
    if rng_algorithm == "PHILOX":
        blocks = -(-needed // 16)
        counter |= words[2 if len(words) > 2 else 0] << 64  # of a short state the key, as in XLA
        low = np.uint64(words[1]) + np.arange(blocks, dtype=np.uint64)
        carried = np.uint64(counter >> 64) + (low < np.uint64(words[1])).astype(np.uint64)
        counters = np.stack([low, carried], 1).view(np.uint32).reshape(-1, 4)
        bits = philox4x32(_halves(words[0]), counters).reshape(-1).view(np.uint8)[:needed].view(word)
    else:
        full = shape or (1,)
        axis = split_axis(full)
        half = [*full[:axis], -(-full[axis] // 2), *full[axis + 1 :]]
        blocks = prod(full) if word.itemsize == 8 else prod(half)
        counters = np.uint64(counter) + np.arange(blocks, dtype=np.uint64)
        low, high = counters.astype(np.uint32), (counters >> np.uint64(32)).astype(np.uint32)
        pair = threefry2x32(_halves(words[0]), low, high)
        wide = word.itemsize == 8
        bits = np.stack(pair, 1).view(word) if wide else _pairs_interleaved(pair, half, axis, full)
    counter += blocks
    moved = [words[0], *(counter >> (64 * i) & (2**64 - 1) for i in range(len(words) - 1))]
    new_state = np.array(moved, np.uint64).view(state.dtype).reshape(state.shape)
    return [new_state, np.ascontiguousarray(bits.astype(unsigned)).view(dtype).reshape(shape)]


@semantics("stablehlo.rng")
def rng(a: Array, b: Array, shape: Array, *, rng_distribution: str, result: Spec) -> Array:
    """UNIFORM on [a, b), or NORMAL with mean a and deviation b."""
    generator = np.random.default_rng(0)
    dtype: DType | None = result.dtype
    if rng_distribution == "NORMAL":
        return generator.normal(float(a), float(b), result.shape).astype(dtype)
    if dtype is not None and dtype.kind in "iub":
        return generator.integers(int(a), int(b), result.shape, np.int64).astype(dtype)
    return generator.uniform(float(a), float(b), result.shape).astype(dtype)
