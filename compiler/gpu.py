"""What a GPU holds and does per clock: facts that an estimate asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Gpu:
    """A GPU. Sizes in bytes; rates in clocks of its multiprocessors, at boost.

    `flops` are those of a multiprocessor by what multiplies: threads (`fma`, of f32), warps (`mma` of 16 bits,
    `mma.tf32`), warpgroups (`wgmma` of 16 bits); a product and a sum are two.
    """

    processors: int
    registers: int  # of a multiprocessor, of 32 bits
    shared_bytes: int  # of a multiprocessor
    threads: int  # of a multiprocessor
    blocks: int  # of a multiprocessor
    flops: Mapping[str, float]
    shared_rate: float  # bytes of shared memory, of a multiprocessor
    fill_rate: float  # bytes that come to a multiprocessor from the L2 cache
    l2_rate: float  # bytes that the L2 cache gives all of them
    memory_rate: float  # bytes that come from memory
    latency: float  # clocks until what is asked of memory is there
    launch: float  # clocks from the end of a kernel until the next one of a graph works
