"""The targets: a table of contents. Each package here turns a program into something that can be called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..compiler.diagnostics import LaminaError

if TYPE_CHECKING:
    from ..compiler.artefact import Artefact
    from ..compiler.compile_times import CompileTimes
    from ..compiler.plugins import PluginPoint
    from ..compiler.program import Program
    from ..compiler.schedules import Schedules
    from ..compiler.signature import Array

TARGETS = {
    "cpu": ".cpu.target:CpuTarget",
    "cuda": ".cuda.target:CudaTarget",
    "systolic": ".systolic.target:SystolicTarget",
    "interpret": ".interpret.target:InterpretTarget",
}
RECALLS = {"cpu": ".cpu.recall:recall"}  # light: they import nothing of the compiler
LOADS = {"cpu": ".cpu.load:load"}  # nor do these


class Executable(Protocol):
    """A program made ready: checked arrays in the signature's order go in, fresh arrays come out.

    An output of the signature's aliases is the input itself, with what was computed in its memory.
    One that has a `direct_call` is called by that first, with inputs as they are given: None leaves them to `run`.
    """

    @property
    def artefact(self) -> Artefact | None:
        """What `save` writes, or None where the target has no code to keep."""
        ...

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """One inference; safe to call from several threads."""
        ...


@dataclass(frozen=True)
class Source:
    """Where a program came from: its file, the sizes given to its symbolic dimensions, and outputs put into inputs."""

    path: Path
    shapes: Mapping[str, int]
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Options:
    """How to compile. `threads` None means every core; `on_level(level, program, seconds)` watches the descent.
    Raises LaminaError for no or fewer threads.

    `schedules` None means what the tuning database has, and where that has nothing, or with `cache` off, what the cost
    model says. `times` collects where compilation takes its time.
    `winograd` is the tile (4 or 2) of every convolution that can be Winograd's, 0 for none, None for what is fastest.
    `precision` "bf16" rounds the operands of f32 contractions to bfloat16, sums stay f32; "int8" computes in integers
    what QDQ models of ONNX compute between bytes.
    `emulate` runs code of another machine in its emulator, where the target has one; `engine` says which, where there
    are several. `tell` is told what runs where, and what a run counted, line by line. `trace` is the file to which runs
    write their timeline, where the target has one.
    """

    threads: int | None = None
    cache: bool = True
    verify_each: bool = False
    on_level: Callable[[str, Program, float], None] | None = None
    source: Source | None = None
    schedules: Schedules | None = None
    times: CompileTimes | None = None
    winograd: int | None = None
    precision: str = "f32"
    emulate: bool = False
    engine: str | None = None
    tell: Callable[[str], None] | None = None
    trace: Path | None = None

    def __post_init__(self) -> None:
        check_threads(self.threads)


def check_threads(threads: int | None) -> None:
    """Raises LaminaError when nobody can run on so many threads."""
    if threads is not None and threads < 1:
        raise LaminaError(f"{threads} threads", hint="at least 1; all cores when none are given")


class Target(Protocol):
    """What a backend offers. The constructor takes what stands behind the colon of `name:detail`.

    A target that computes something else than the program says, as one of quantised models may, has a method
    `meaning(program, options)`, too: the program whose results are those of the target.
    """

    def __init__(self, detail: str = "") -> None: ...

    def compile(self, program: Program, options: Options) -> Executable:
        """Takes a program, at whatever level it stands, down to something callable; `program` is left unchanged."""
        ...

    def lower(self, program: Program, to: str, options: Options) -> Program:
        """A copy of `program` taken down to the level `to`. Raises LaminaError for a level above or unknown."""
        ...

    def load(self, artefact: Artefact, threads: int | None = None) -> Executable:
        """Makes a saved artefact callable. Raises LaminaError when this machine cannot run it."""
        ...

    def describe(self) -> list[tuple[str, str]]:
        """Facts for `lamina targets`."""
        ...


def target(name: str) -> Target:
    """The target called `name`, for example `cpu`, `cpu:aarch64-linux-gnu` or `interpret`."""
    base, _, detail = name.partition(":")
    path = TARGETS.get(base)
    if path is None:
        plugins = plugin_targets()
        if base in plugins:
            found = plugins[base].load()
            return plugins[base].guarded("target", lambda: found(detail))
        raise LaminaError(f"unknown target '{name}'", hint=f"one of {', '.join([*TARGETS, *plugins])}")
    return _found(path)(detail)


def plugin_targets() -> dict[str, PluginPoint]:
    """Targets that packages add, by name. Raises LaminaError naming both packages where two claim one name."""
    from ..compiler.plugins import clash, installed  # xDSL is only needed here: a recalled model runs without it

    found = {point.name: point for point in installed("lamina.targets")}
    for name in found.keys() & TARGETS.keys():
        raise clash("target", name, "lamina", found[name].package)
    return found


def _found(path: str) -> Any:
    """What `module:name` stands for."""
    module, _, name = path.partition(":")
    return getattr(import_module(module, __name__), name)


def meaning(name: str, program: Program, options: Options) -> Program:
    """What to interpret as the reference of a target's results: `program`, or what the target makes of it first."""
    made = getattr(target(name), "meaning", None)
    return program if made is None else made(program, options)


def load(artefact: Artefact, threads: int | None = None) -> Executable:
    """Makes a saved artefact callable. Raises LaminaError when this machine cannot run it."""
    path = LOADS.get(artefact.target.partition(":")[0])
    if path is None:
        return target(artefact.target).load(artefact, threads)
    return _found(path)(artefact, threads)


def recall(name: str, source: Source, options: Options) -> Executable | None:
    """What was compiled from this source for the target called `name` before, if that is known without reading it."""
    base, _, detail = name.partition(":")
    path = RECALLS.get(base)
    if path is None:
        return None
    return _found(path)(detail, source, options)
