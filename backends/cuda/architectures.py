"""The GPUs that code is made for: facts of each compute capability."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...compiler.diagnostics import LaminaError
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
    processors: int  # how many multiprocessors the largest such GPU has
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
            cores=self.processors,
            l1_bytes=self.shared_bytes,
            l2_bytes=40 << 20,
            l3_bytes=40 << 20,
        )


ARCHITECTURES = {
    "sm_80": Architecture("sm_80", 80, 163 << 10, (8, 0), ("mma",), 108),
    "sm_90a": Architecture("sm_90a", 86, 227 << 10, (9, 0), ("mma", "wgmma"), 132, exact=True),
}
DEFAULT = "sm_80"
ANY = replace(ARCHITECTURES[DEFAULT].machine, name="any GPU", cpu="", features=(), cores=1)
"""What passes below the level `gpu` may ask: so that their code is that of all architectures."""
_WRITTEN = (80, 86)  # LLVM ignores a version that it does not know, and writes an older one


def architecture(name: str) -> Architecture:
    """The architecture called `name`; the default where that is empty. Raises LaminaError for one not known."""
    found = ARCHITECTURES.get(name or DEFAULT)
    if found is None:
        raise LaminaError(f"unknown architecture '{name}'", hint=f"one of {', '.join(ARCHITECTURES)}")
    assert found.ptx in _WRITTEN
    return found
