"""Target `cpu`: machine code for this machine, or for the triple behind the colon."""

from __future__ import annotations

from collections.abc import Sequence

from ...compiler.descent import Phase, descend, level_of, remaining
from ...compiler.diagnostics import LaminaError
from ...compiler.machine import Machine
from ...compiler.program import Program
from ...passes import all_passes
from .. import Options
from .pipeline import PHASES


class CpuTarget:
    """The descent of `pipeline.py`, then LLVM."""

    def __init__(self, detail: str = "") -> None:
        self.machine = Machine.for_triple(detail) if detail else Machine.host()

    def lower(self, program: Program, to: str, options: Options) -> Program:
        """A copy of `program` at level `to`, for this machine."""
        lowered = self._copy(program)
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

    def _copy(self, program: Program) -> Program:
        copy = program.clone()
        copy.context = copy.context.clone()
        copy.context.machine = self.machine
        return copy

    def _descend(self, program: Program, phases: Sequence[Phase], options: Options) -> None:
        for phase in phases:
            if phase.level == "linalg":
                program.record_signature()  # types below no longer tell signedness and which argument is an output
            descend(program, [phase], all_passes(), verify_each=options.verify_each, on_level=options.on_level)
