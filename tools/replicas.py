"""A program that many processes run at once, in the reference: collectives exchange what they have.

Inputs and outputs have a first dimension that counts the processes, replica by replica.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..backends import Options
from ..backends import target as find_target
from ..compiler.diagnostics import LaminaError
from ..compiler.interpreter import Interpreter
from ..compiler.processes import Grid, Process, run_processes
from ..compiler.program import Program
from ..compiler.signature import Array, Signature, TensorSpec


class Replicated:
    """A program and how many processes run it."""

    def __init__(self, program: Program, replicas: int, partitions: int = 1):
        if replicas < 1 or partitions < 1:
            raise LaminaError(f"there must be a process, got {replicas} replicas and {partitions} partitions")
        self.grid = Grid(replicas, partitions)
        self._program = find_target("interpret").lower(program, "stablehlo", Options())
        told = self._program.signature
        self.signature = Signature(self._many(told.inputs), self._many(told.outputs))

    def _many(self, specs: Sequence[TensorSpec]) -> tuple[TensorSpec, ...]:
        count = self.grid.replicas * self.grid.partitions
        return tuple(TensorSpec(spec.name, (count, *spec.shape), spec.dtype) for spec in specs)

    def __call__(self, *inputs: Any, **named: Any) -> list[Array]:
        """The outputs of all processes. Raises LaminaError where they wait for each other for ever."""
        arrays = self.signature.bind(inputs, named)
        ids = self.grid.ids()

        def run(process: Process) -> list[Array]:
            mine = [array[ids.index(process.id)] for array in arrays]
            return Interpreter(self._program.context, process=process).run(self._program.module, mine)

        results = run_processes(self.grid, run)
        return [np.stack([each[i] for each in results]) for i in range(len(self.signature.outputs))]


def interpret_replicas(
    program: Program, inputs: Sequence[Any] | Mapping[str, Any], replicas: int, partitions: int
) -> list[Array]:
    """What `lamina.interpret(program, inputs, replicas=..., partitions=...)` returns."""
    model = Replicated(program, replicas, partitions)
    return model(**inputs) if isinstance(inputs, Mapping) else model(*inputs)
