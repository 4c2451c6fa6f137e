"""The target that defines right: the hub program run op by op in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...compiler.artefact import Artefact
from ...compiler.descent import descend, level_of
from ...compiler.diagnostics import LaminaError
from ...compiler.interpreter import Interpreter
from ...compiler.program import Program
from ...compiler.signature import Array
from ...compiler.size_limits import check_sizes
from ...passes import all_passes
from .. import Options, Source
from .pipeline import PHASES


class InterpretTarget:
    """Reference semantics; slow and sure."""

    def __init__(self, detail: str = "") -> None:
        if detail:
            raise LaminaError(f"target 'interpret' takes no detail, got '{detail}'")

    def lower(self, program: Program, to: str, options: Options) -> Program:
        """Down to the hub, the level this target interprets."""
        check_sizes(program.module)
        lowered = program.clone()
        if level_of(lowered) in ("dsl", "onnx"):
            descend(lowered, PHASES, all_passes(), on_level=options.on_level)
        return lowered

    def compile(self, program: Program, options: Options) -> InterpretedProgram:
        """Takes index notation and ONNX to the hub; anything lower is interpreted where it stands."""
        return InterpretedProgram(self.lower(program, "stablehlo", options))

    def recall(self, source: Source, options: Options) -> None:
        """Nothing is kept between processes."""

    def load(self, artefact: Artefact, threads: int | None = None) -> InterpretedProgram:
        """Machine code is not interpreted: always a LaminaError."""
        raise LaminaError("a saved artefact holds machine code, which target 'interpret' cannot run")

    def describe(self) -> list[tuple[str, str]]:
        """Facts for `lamina targets`."""
        return [("meaning", "NumPy reference semantics of every level that has them")]


class InterpretedProgram:
    """A program and the interpreter that runs it."""

    artefact: Artefact | None = None

    def __init__(self, program: Program):
        self.program = program

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """One inference."""
        signature = self.program.signature
        signature.lend(inputs)
        outputs = Interpreter(self.program.context).run(self.program.module, list(signature.completed(inputs)))
        if signature.aliases:
            outputs = [np.array(output) for output in outputs]  # they may be views of what is changed now
        for given, made in signature.aliases:
            signature.inputs[given].check(outputs[made], "the output in the memory of input")
            inputs[given][...] = outputs[made]
            outputs[made] = inputs[given]
        return signature.trimmed(outputs)
