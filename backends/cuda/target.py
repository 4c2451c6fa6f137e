"""Target `cuda`: kernels for NVIDIA GPUs, of the compute capability behind the colon."""

from __future__ import annotations

import re
import time

import numpy as np

from ...compiler.artefact import Artefact
from ...compiler.collector import collector_paused
from ...compiler.descent import descend, level_of, remaining
from ...compiler.diagnostics import LaminaError
from ...compiler.program import Program
from ...compiler.schedules import Schedules, tell_unused
from ...compiler.signature import Array
from ...compiler.size_limits import check_sizes
from ...compiler.weights import Section
from ...dialects.cta.ops import TF32
from ...passes import all_passes
from .. import Executable, Options
from ..buffers import constants_of
from ..kernel_cache import KernelCache
from ..tuning_database import SUFFIX, TuningDatabase, tuning_folder
from .architectures import architecture
from .artefacts import artefact_of, built_of
from .assembler import find_ptxas, ptxas_version
from .build import BuiltProgram, build, keep_kernels
from .device import DeviceProgram, check_runs
from .driver import Driver, driver
from .emulated import EmulatedProgram
from .pipeline import DEVICE_PHASES, PHASES


class CudaTarget:
    """The descent of `pipeline.py`, then LLVM and ptxas."""

    def __init__(self, detail: str = "") -> None:
        self.architecture = architecture(detail)

    def compile(self, program: Program, options: Options) -> Executable:
        """Takes a program from any level down to kernels, and makes them callable."""
        if not options.emulate:
            check_runs(driver(), self.architecture)  # before any work
        return self._ready(self.compile_artefact(program, options), options.emulate)

    def compile_artefact(self, program: Program, options: Options) -> Artefact:
        """What is saved of a program; it is compiled for that, with no GPU at hand."""
        lowered, built = self.built(program, options)
        return artefact_of(built, self.architecture, lowered.signature, constants_of(lowered))

    @collector_paused()
    def built(self, program: Program, options: Options) -> tuple[Program, BuiltProgram]:
        """A program on the level `gpu`, and the code of its kernels."""
        lowered = self.lower(program, "gpu", options)
        start = time.perf_counter()
        built = self._code(lowered, options)
        if options.on_level is not None:
            options.on_level("machine code", lowered, time.perf_counter() - start)
        return lowered, built

    @collector_paused()
    def emulated(self, program: Program, options: Options) -> EmulatedProgram:
        """A program in the emulator, which takes PTX: nothing is assembled, and there is nothing to save."""
        lowered = self.lower(program, "gpu", options)
        built = self._code(lowered, options, assembled=False)
        return EmulatedProgram(built, lowered.signature, _memory(constants_of(lowered)))

    def _code(self, lowered: Program, options: Options, *, assembled: bool = True) -> BuiltProgram:
        if lowered.signature.aliases:
            raise LaminaError("target 'cuda' computes nothing in the memory of inputs", hint="leave out the aliases")
        cache = KernelCache() if options.cache else None
        return build(lowered, self.architecture, cache, assembled=assembled, times=options.times)

    @collector_paused()
    def lower(self, program: Program, to: str, options: Options) -> Program:
        """A copy of `program` at level `to`. Raises LaminaError for a level above or unknown."""
        lowered = self._copy(program, options)
        here = level_of(lowered)
        phases = remaining(PHASES, here)
        levels = [phase.level for phase in phases]
        if to == here:
            return lowered
        if here == "llvm":
            raise LaminaError("kernels on the level 'llvm' have no host that launches them", hint="begin at 'gpu'")
        if to not in levels:
            known = ", ".join(levels)
            raise LaminaError(f"cannot lower from level '{here}' to '{to}'", hint=f"levels below it: {known}")
        phases = phases[: levels.index(to) + 1]
        for phase in phases:
            if phase.level in ("linalg", "buffers"):
                lowered.record_signature()
            if phase in DEVICE_PHASES:
                keep_kernels(lowered.module)
            descend(
                lowered,
                [phase],
                all_passes(),
                verify_each=options.verify_each,
                verify=phase is phases[-1],  # what a level got wrong is wrong below, too
                on_level=options.on_level,
                instrumentations=[] if options.times is None else [options.times.module],
            )
            if phase.level == "buffers" and options.schedules is not None:
                tell_unused(options.schedules, lowered)
        lowered.record_signature()
        return lowered

    def _copy(self, program: Program, options: Options) -> Program:
        copy = program.clone()
        copy.context = copy.context.clone()
        copy.context.machine = self.architecture.machine
        copy.context.precision = options.precision
        copy.context.schedules = self.schedules(options)
        check_sizes(copy.module)
        return copy

    def schedules(self, options: Options) -> Schedules:
        """The schedules that are given: those of the options, else what the tuning database has of this machine's GPU.

        A machine without a GPU has none; the driver is asked only where something was tuned for the architecture.
        """
        if options.schedules is not None:
            return options.schedules
        if not options.cache or not any(tuning_folder().glob(f"*-{self._tuned_as(options.precision)}{SUFFIX}")):
            return Schedules()
        try:
            found = driver()
            check_runs(found, self.architecture)
        except LaminaError:
            return Schedules()
        return self.database(found, options.precision).read()

    def database(self, driver: Driver, precision: str) -> TuningDatabase:
        """What is kept of tuning a GPU: by its name, and the architecture that code is made for."""
        words = "-".join(re.findall(r"[a-z0-9]+", driver.name.lower())) or "gpu"
        kind = self._tuned_as(precision)
        return TuningDatabase(f"{words}-{kind}", f"{driver.name} as {kind}")

    def _tuned_as(self, precision: str) -> str:
        """The architecture; tf32 is kept apart, since its products are called as those of f32 are."""
        return self.architecture.name + (f"-{TF32}" if precision == TF32 else "")

    def load(self, artefact: Artefact, threads: int | None = None) -> Executable:
        """Kernels on the GPU of this machine. Raises LaminaError without one, and for a damaged artefact."""
        return self._ready(artefact, emulate=False)

    def load_emulated(self, artefact: Artefact) -> Executable:
        """The same in the emulator."""
        return self._ready(artefact, emulate=True)

    def _ready(self, artefact: Artefact, emulate: bool) -> Executable:
        built = built_of(artefact)
        constants = _memory(artefact.constants)
        if emulate:
            found: EmulatedProgram | DeviceProgram = EmulatedProgram(built, artefact.signature, constants)
        else:
            found = DeviceProgram(driver(), self.architecture, built, artefact.signature, constants)
        found.artefact = artefact
        return found

    def describe(self) -> list[tuple[str, str]]:
        """Facts for `lamina targets`."""
        ours = self.architecture
        return [
            ("architecture", ours.name),
            ("PTX", f"{ours.ptx / 10}"),
            ("assembler", ptxas_version() if find_ptxas() else "none (pip install nvidia-cuda-nvcc)"),
            ("levels", " > ".join(phase.level for phase in PHASES)),
        ]


def _memory(constants: Array | Section) -> Array:
    """Constants as they lie in memory."""
    if not isinstance(constants, Section):
        return constants
    memory: Array = np.zeros(constants.nbytes, np.uint8)
    constants.write(memory)
    return memory
