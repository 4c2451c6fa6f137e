"""Target `cpu`: machine code for this machine, or for the triple behind the colon."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from ... import __version__
from ...compiler.artefact import Artefact
from ...compiler.descent import Phase, descend, level_of, remaining
from ...compiler.diagnostics import LaminaError
from ...compiler.machine import Machine
from ...compiler.program import Program
from ...compiler.schedules import Schedules, tell_unused
from ...compiler.size_limits import check_sizes
from ...passes import all_passes
from .. import Options
from ..buffers import constants_of
from ..graph_phases import in_integers
from ..kernel_cache import KernelCache
from ..tuning_database import TuningDatabase
from .build import BuiltModel, build, build_whole
from .emit import feature_string
from .executable import NativeExecutable
from .image import Unlinkable, link_image
from .load import load
from .model_cache import ModelCache
from .native_model import RUNTIME_FUNCTIONS
from .pipeline import KERNEL_PHASES, MODULE_PHASES, PHASES
from .recall import identity_of
from .runtime import runtime_digest


class CpuTarget:
    """The descent of `pipeline.py`, then LLVM."""

    def __init__(self, detail: str = "") -> None:
        self.detail = detail
        self.machine = Machine.for_triple(detail) if detail else Machine.host()

    def compile(self, program: Program, options: Options) -> NativeExecutable:
        """Takes a program from any level to machine code in this process."""
        self._check_runs_here(self.machine)
        if not options.cache:
            return NativeExecutable(self.compile_artefact(program, options), options.threads)
        cache = ModelCache()
        identity = self._identity(options)
        key = cache.key(program, identity)
        artefact = cache.get(key)
        if artefact is None:
            artefact = cache.make(
                key, program, lambda: self.buffers(program, options), lambda lowered: self._artefact(lowered, options)
            )
        if options.source is not None and options.schedules is None:
            cache.remember(options.source, identity_of(self.detail, options), key, program)
        return NativeExecutable(artefact, options.threads)

    def _identity(self, options: Options) -> str:
        asked = f"{options.winograd}|{options.precision}"
        return f"{self._machine(options)!r}|{PHASES!r}|{self.schedules(options).digest}|{asked}"

    def _machine(self, options: Options) -> Machine:
        """The machine with as many cores as there will be threads: what is cut for two runs slower on one."""
        return replace(self.machine, cores=options.threads) if options.threads else self.machine

    def schedules(self, options: Options) -> Schedules:
        """The schedules that are given: those of the options, else what the tuning database has of this machine."""
        if options.schedules is not None:
            return options.schedules
        if self.detail or not options.cache:
            return Schedules()
        return self.database(options.threads).read()

    def database(self, threads: int | None) -> TuningDatabase:
        """What is kept of tuning this machine for so many threads; None: all cores."""
        count, name = threads or self.machine.cores, self.machine.identity
        return TuningDatabase(f"{name}-{count}t", f"{name} with {count} threads")

    def compile_artefact(self, program: Program, options: Options) -> Artefact:
        """The code and constants of a program; works for other machines than this one too."""
        return self._artefact(self.buffers(program, options), options)

    def _artefact(self, lowered: Program, options: Options) -> Artefact:
        built = self.build(lowered, options)
        machine = self.machine
        return Artefact(
            target=f"cpu:{self.detail}" if self.detail else "cpu",
            triple=machine.triple,
            cpu=machine.cpu,
            features=feature_string(machine),
            signature=lowered.signature,
            objects=built.objects,
            image=self._image(built),
            runtime=runtime_digest(machine),
            constants=constants_of(lowered),
            arena_bytes=built.arena_bytes,
            entry=built.entry,
            manifest={
                "lamina": __version__,
                "kernels": [
                    {"name": k.name, "symbol": k.symbol, "kind": k.kind, "calls": k.calls, "origins": k.origins}
                    for k in built.kernels
                ],
            },
        )

    def _image(self, built: BuiltModel) -> bytes:
        """The code ready to be mapped; empty where LLVM links."""
        try:
            return link_image([*built.objects, built.runtime], [built.entry, *RUNTIME_FUNCTIONS])
        except Unlinkable:
            return b""

    def meaning(self, program: Program, options: Options) -> Program:
        """What code of this precision is equal to, but for rounding in floats: `program`, or its integers."""
        return in_integers(program) if options.precision == "int8" else program

    def buffers(self, program: Program, options: Options) -> Program:
        """A copy of `program` on the level of buffers, or where it stands if that is lower."""
        lowered = self._copy(program, options)
        below = remaining(PHASES, level_of(lowered))
        self._descend(lowered, [phase for phase in below if phase in MODULE_PHASES], options)
        lowered.record_signature()
        return lowered

    def build(self, lowered: Program, options: Options) -> BuiltModel:
        """The objects of a program on the level of buffers or below; the program is left unchanged."""
        below = remaining(PHASES, level_of(lowered))
        cache = KernelCache() if options.cache else None
        start = time.perf_counter()
        if KERNEL_PHASES[0] in below:
            built = build(
                lowered.module, lowered.context, cache=cache, verify_each=options.verify_each, times=options.times
            )
        else:
            built = build_whole(lowered.module, lowered.context, below, verify_each=options.verify_each)
        if options.on_level is not None:
            options.on_level("machine code", lowered, time.perf_counter() - start)
        return built

    def load(self, artefact: Artefact, threads: int | None = None) -> NativeExecutable:
        """Makes a saved artefact callable. Raises LaminaError when this machine cannot run it."""
        return load(artefact, threads)

    def describe(self) -> list[tuple[str, str]]:
        """Facts for `lamina targets`."""
        machine = self.machine
        sizes = ", ".join(
            f"L{i} {size >> 10} KiB" for i, size in enumerate((machine.l1_bytes, machine.l2_bytes, machine.l3_bytes), 1)
        )
        return [
            ("triple", machine.triple),
            ("cpu", machine.cpu),
            (
                "vectors",
                f"{machine.vector_registers} of {machine.vector_bytes * 8} bits, {machine.fma_ports} FMA ports",
            ),
            ("cores", str(machine.cores)),
            ("caches", sizes),
            *_measured_facts(machine),
            ("levels", " > ".join(phase.level for phase in PHASES)),
        ]

    def _check_runs_here(self, machine: Machine) -> None:
        host = Machine.host()
        missing = [f for f in machine.features if not f.startswith("-") and f not in host.features]
        if machine.triple.partition("-")[0] != host.triple.partition("-")[0] or missing:
            raise LaminaError(
                f"code for {machine.name} does not run on this machine",
                hint="`lamina compile -o model.lamx` (or .o, .ll) writes it for the other one",
            )

    def lower(self, program: Program, to: str, options: Options) -> Program:
        """A copy of `program` at level `to`, for this machine."""
        lowered = self._copy(program, options)
        here = level_of(lowered)
        phases = remaining(PHASES, here)
        levels = [phase.level for phase in phases]
        if to == here:
            return lowered
        if to not in levels:
            known = ", ".join(levels)
            raise LaminaError(f"cannot lower from level '{here}' to '{to}'", hint=f"levels below it: {known}")
        self._descend(lowered, phases[: levels.index(to) + 1], options)
        return lowered

    def _copy(self, program: Program, options: Options) -> Program:
        copy = self.meaning(program, options).clone()
        copy.context = copy.context.clone()
        copy.context.machine = self._machine(options)
        copy.context.schedules = self.schedules(options)
        copy.context.precision = "f32" if options.precision == "int8" else options.precision
        check_sizes(copy.module)
        return copy

    def _descend(self, program: Program, phases: Sequence[Phase], options: Options) -> None:
        for phase in phases:
            if phase.level in ("linalg", "buffers"):
                program.record_signature()  # types below no longer tell signedness and which argument is an output
            descend(
                program,
                [_chosen(phase, options)],
                all_passes(),
                verify_each=options.verify_each,
                verify=phase is phases[-1],  # what a level got wrong is wrong below, too
                on_level=options.on_level,
                instrumentations=[] if options.times is None else [options.times.module],
            )
            if phase.level == "buffers" and options.schedules is not None:
                tell_unused(options.schedules, program)


def _chosen(phase: Phase, options: Options) -> Phase:
    """The phase with its passes as the options want them."""
    if options.winograd is None:
        return phase
    forced = {"linalg-winograd": f"linalg-winograd{{tile={options.winograd}}}"}
    if not options.winograd:
        forced |= dict.fromkeys(("stablehlo-flatten-windows", "stablehlo-dilations-as-images"), "")  # for it alone
    passes = (forced.get(name, name) for name in phase.passes)
    return replace(phase, passes=tuple(name for name in passes if name))


def _measured_facts(machine: Machine) -> list[tuple[str, str]]:
    """What `lamina targets --measure` found, if it was run."""
    found = machine.measured
    if found is None:
        return [("measured", "nothing yet (lamina targets --measure)")]
    levels = ("L1", "L2", "L3", "memory")
    reads, copies = (
        ", ".join(f"{level} {rate:g}" for level, rate in zip(levels, rates, strict=True))
        for rates in (found.read_gbs, found.copy_gbs)
    )
    return [
        ("multiply-adds", f"{found.fma_gflops:g} GFLOP/s a core, float32"),
        ("reads", f"GB/s a core: {reads}"),
        ("copies", f"GB/s a core: {copies}"),
        ("fork and join", f"{found.fork_join_us:g} µs; worth it from {machine.worth_forking:,} multiply-adds on"),
    ]
