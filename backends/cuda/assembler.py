"""PTX to machine code by `ptxas`, from the CUDA toolkit or the wheel nvidia-cuda-nvcc, and what it reports.

Where there is none, PTX stays PTX: the driver compiles it when the model is loaded.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from ...compiler.diagnostics import LaminaError

_TIME_LIMIT = 300  # seconds
_USED = re.compile(r"Used (\d+) registers(?:, used (\d+) barriers)?")
_SHARED = re.compile(r"(\d+) bytes smem")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_COMPILING = re.compile(r"Compiling entry function '([^']+)'")
_LOST = re.compile(r"\(C75\d\d\)[^\n]*")  # what ptxas did not do, at a cost: serialised wgmma, ignored setmaxnreg


class SpilledRegisters(LaminaError):
    """A kernel that keeps registers in memory: a defect of its schedule."""


@dataclass(frozen=True)
class Resources:
    """What a kernel needs of a multiprocessor, as ptxas says: registers of a thread, bytes."""

    registers: int
    shared_bytes: int = 0
    barriers: int = 0
    stack_bytes: int = 0
    spill_bytes: int = 0


@dataclass(frozen=True)
class Assembled:
    """Machine code, empty where there is no assembler, and the needs of each kernel in it."""

    cubin: bytes
    resources: dict[str, Resources] = field(default_factory=dict[str, Resources])


@cache
def find_ptxas() -> str | None:
    """The assembler: of $CUDA_HOME, on the path, in /usr/local/cuda, or of the wheel; None where there is none."""
    places = [Path(os.environ[name]) / "bin" for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    on_path = shutil.which("ptxas")
    if on_path is not None and not places:
        return on_path
    places.append(Path("/usr/local/cuda/bin"))
    wheel = find_spec("nvidia")
    for root in (wheel.submodule_search_locations or ()) if wheel is not None else ():
        places += [found.parent for found in sorted(Path(root).glob("*/bin/ptxas"))]
    for place in places:
        if os.access(place / "ptxas", os.X_OK):
            return str(place / "ptxas")
    return on_path


@cache
def ptxas_version() -> str:
    """The release of the assembler, or nothing: what machine code depends on beside PTX."""
    ptxas = find_ptxas()
    if ptxas is None:
        return ""
    told = subprocess.run([ptxas, "--version"], capture_output=True, text=True, timeout=_TIME_LIMIT, check=True)
    return told.stdout.strip().splitlines()[-1]


def assemble(ptx: str, architecture: str) -> Assembled:
    """The machine code of PTX for `sm_80` or another architecture.

    Raises LaminaError with the assembler's words for PTX that it refuses, SpilledRegisters for a kernel that spills
    registers, and LaminaError where it tells of lost performance (C75xx): both are defects of the schedule.
    """
    ptxas = find_ptxas()
    if ptxas is None:
        return Assembled(b"")
    with tempfile.TemporaryDirectory(prefix="lamina") as folder:
        source, result = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        source.write_text(ptx)
        command = [ptxas, "-v", f"-arch={architecture}", str(source), "-o", str(result)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIME_LIMIT, check=False)
        told = done.stdout + done.stderr
        if done.returncode:
            raise LaminaError(f"ptxas refuses the code: {told.strip()}")
        check_report(told)
        return Assembled(result.read_bytes(), read_report(told))


def check_report(told: str) -> None:
    """Raises LaminaError where a report tells of lost performance, SpilledRegisters where of spilled registers."""
    lost = _LOST.search(told)
    if lost is not None:
        raise LaminaError(f"ptxas gives up performance: {lost[0]}")
    for name, needs in read_report(told).items():
        if needs.spill_bytes:
            raise SpilledRegisters(f"kernel {name} spills {needs.spill_bytes} bytes of registers")


def read_report(told: str) -> dict[str, Resources]:
    """The needs of each kernel in what `ptxas -v` says.

    >>> told = '''ptxas info    : Compiling entry function 'k' for 'sm_80'
    ... ptxas info    : Function properties for k
    ...     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
    ... ptxas info    : Used 32 registers, used 1 barriers, 1536 bytes smem, 376 bytes cmem[0]'''
    >>> read_report(told)["k"]
    Resources(registers=32, shared_bytes=1536, barriers=1, stack_bytes=0, spill_bytes=0)
    """
    found: dict[str, Resources] = {}
    name, stack, spills = "", 0, 0
    for line in told.splitlines():
        if match := _COMPILING.search(line):
            name = match[1]
        elif match := _STACK.search(line):
            stack, spills = int(match[1]), int(match[2]) + int(match[3])
        elif match := _USED.search(line):
            shared = _SHARED.search(line)
            found[name] = Resources(int(match[1]), int(shared[1]) if shared else 0, int(match[2] or 0), stack, spills)
    return found
