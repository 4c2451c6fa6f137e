"""The GPUs that code is made for: facts of each compute capability."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ...compiler.diagnostics import LaminaError
from ...compiler.gpu import Gpu
from ...compiler.machine import Machine

TRIPLE = "nvptx64-nvidia-cuda"


@dataclass(frozen=True)
class Architecture:
    """A compute capability. `ptx` is the PTX ISA version that is written, times ten; sizes in bytes."""

    name: str
    ptx: int
    shared_bytes: int  # of a block at most
    capability: tuple[int, int]  # of the oldest GPU that runs the code
    units: tuple[str, ...]  # what multiplies matrices beside threads: warps (mma), warpgroups (wgmma)
    gpu: Gpu = field(repr=False, compare=False)  # the largest such GPU
    exact: bool = False  # whether newer GPUs do not run it

    @property
    def machine(self) -> Machine:
        """What passes may ask of it: one thread's view."""
        return Machine(
            name=self.name,
            triple=TRIPLE,
            cpu=self.name,
            features=(f"ptx{self.ptx}", *self.units),
            vector_bytes=16,
            vector_registers=64,
            fma_ports=1,
            cores=self.gpu.processors,
            l1_bytes=self.shared_bytes,
            l2_bytes=40 << 20,
            l3_bytes=40 << 20,
            gpu=self.gpu,
        )


# NVIDIA, "A100 Tensor Core GPU Architecture" (2020): multiprocessors, 1.41 GHz, 64 FMA of f32 and 1,024 of 16 bits a
# clock, half as many of tf32, L2 5,120 bytes a clock, HBM2 1,555 GB/s. Shared memory gives each of 32 banks' 4 bytes a
# clock. What reaches a multiprocessor from L2 and how long memory takes: Luo et al., "Benchmarking and Dissecting the
# Nvidia Hopper GPU Architecture via Microbenchmarking" (arXiv 2402.13499), rounded. A launch: an assumption.
A100 = Gpu(
    processors=108,
    registers=64 << 10,
    shared_bytes=164 << 10,
    threads=2048,
    blocks=32,
    flops={"fma": 128, "mma": 2048, "mma.tf32": 1024},
    shared_rate=128,
    fill_rate=64,
    l2_rate=5120,
    memory_rate=1555 / 1.41,
    latency=500,
    launch=2500,
)
# NVIDIA, "H100 Tensor Core GPU Architecture" (2022), SXM5: 1.83 GHz where tensor cores work, 128 FMA of f32 and 2,048
# of 16 bits a clock, half as many of tf32, of which mma.sync reaches 63 % (Luo et al.), HBM3 3,350 GB/s. What L2 gives
# is not told: as that of A100.
H100 = replace(
    A100,
    processors=132,
    shared_bytes=228 << 10,
    flops={"fma": 256, "mma": 0.63 * 4096, "mma.tf32": 0.63 * 2048, "wgmma": 4096},
    memory_rate=3350 / 1.83,
)
ARCHITECTURES = {
    "sm_80": Architecture("sm_80", 80, 163 << 10, (8, 0), ("mma",), A100),
    "sm_90a": Architecture("sm_90a", 86, 227 << 10, (9, 0), ("mma", "wgmma"), H100, exact=True),
}
DEFAULT = "sm_80"
ANY = replace(ARCHITECTURES[DEFAULT].machine, name="any GPU", cpu="", features=(), cores=1, gpu=None)
"""What passes below the level `gpu` may ask: so that their code is that of all architectures."""
_WRITTEN = (80, 86)  # LLVM ignores a version that it does not know, and writes an older one


def architecture(name: str) -> Architecture:
    """The architecture called `name`; the default where that is empty. Raises LaminaError for one not known."""
    found = ARCHITECTURES.get(name or DEFAULT)
    if found is None:
        raise LaminaError(f"unknown architecture '{name}'", hint=f"one of {', '.join(ARCHITECTURES)}")
    assert found.ptx in _WRITTEN
    return found
