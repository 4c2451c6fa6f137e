"""Target `systolic`: an array, called as its machine description is, beside the host that does what it cannot."""

from __future__ import annotations

from dataclasses import replace

from ...compiler.artefact import Artefact
from ...compiler.collector import collector_paused
from ...compiler.descent import descend, level_of
from ...compiler.diagnostics import LaminaError
from ...compiler.program import Program
from ...compiler.size_limits import check_sizes
from ...compiler.systolic_machine import SystolicMachine
from ...passes import all_passes
from .. import Options
from .. import target as find_target
from ..graph_phases import in_integers
from .engine import ENGINES
from .parts import PartedProgram, parts_of
from .pipeline import CHECKED, phases

_DEFAULT = "gemmini16"


class SystolicTarget:
    """The descent of `pipeline.py`; what stays on the host is compiled for `cpu`."""

    def __init__(self, detail: str = "") -> None:
        self.machine = SystolicMachine.preset(detail or _DEFAULT)
        self.name = detail or _DEFAULT
        self.phases = phases(self.name)

    def compile(self, program: Program, options: Options) -> PartedProgram:
        """A quantised model, as parts of the array and of the host that run one after the other.

        Raises LaminaError for a model of which the array computes nothing.
        """
        engine = options.engine or "functional"
        if engine not in ENGINES:
            raise LaminaError(f"unknown engine '{engine}'", hint=f"one of {', '.join(ENGINES)}")
        lowered = self.lower(program, "pipe", options)
        host = find_target("cpu")
        inner = replace(options, on_level=None, source=None, tell=None)
        with collector_paused():
            return parts_of(lowered, lambda part: host.compile(part, inner), engine, options.tell, options.trace)

    def lower(self, program: Program, to: str, options: Options) -> Program:
        """A copy of `program` at level `to`. Raises LaminaError for a level above or unknown."""
        check_sizes(program.module)
        copy = program.clone()
        here = level_of(copy)
        levels = [phase.level for phase in self.phases]
        if to == here:
            return copy
        if here != "onnx" and here not in levels:
            raise LaminaError(f"target 'systolic' begins with ONNX, got level '{here}'", hint="a quantised .onnx file")
        if to not in levels or (here in levels and levels.index(to) <= levels.index(here)):
            raise LaminaError(f"cannot lower from level '{here}' to '{to}'", hint=f"levels: {', '.join(levels)}")
        if copy.signature.aliases:
            raise LaminaError(
                "target 'systolic' computes nothing in the memory of inputs", hint="leave out the aliases"
            )
        copy.record_signature()
        first = levels.index(here) + 1 if here in levels else 0
        for phase in self.phases[first : levels.index(to) + 1]:
            checked = phase.level in CHECKED or phase.level == to != "pipe"
            descend(
                copy,
                [phase],
                all_passes(),
                verify=checked,
                verify_each=options.verify_each,
                on_level=options.on_level,
                instrumentations=[] if options.times is None else [options.times.module],
            )
        return copy

    def meaning(self, program: Program, options: Options) -> Program:
        """What the array's results are equal to: the model with integer operators, to be interpreted."""
        return in_integers(program)

    def load(self, artefact: Artefact, threads: int | None = None) -> PartedProgram:
        """Artefacts hold code of processors: always a LaminaError."""
        raise LaminaError("artefacts do not hold programs of systolic arrays", hint="lamina compile -o m.bin")

    def describe(self) -> list[tuple[str, str]]:
        """Facts for `lamina targets`."""
        levels = " > ".join(phase.level for phase in self.phases)
        return [("machine", self.name), ("levels", levels), ("engines", ", ".join(ENGINES))]
