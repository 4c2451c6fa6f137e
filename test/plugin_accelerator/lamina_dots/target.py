"""Target `dots`: what it is told after the colon is how many multipliers it has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import Any

import numpy as np
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from lamina.backends import Executable, Options
from lamina.backends import target as find_target
from lamina.backends.graph_phases import INTEGERS, in_integers
from lamina.backends.systolic.parts import PartedProgram, parted
from lamina.compiler.artefact import Artefact
from lamina.compiler.descent import Phase, descend
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.program import Program
from lamina.compiler.weights import Array, WeightStore
from lamina.dialects.accel.ops import numbers_of, shape_of
from lamina.dialects.stablehlo.constants import constant_value
from lamina.dialects.systolic.numerics import requantize
from lamina.passes import all_passes
from lamina.passes.systolic.names import MACHINE
from lamina_dots.dialect import ProductOp
from lamina_dots.lower import LowerDots

DOTS = Phase("dots", "products are instructions", (LowerDots.name,))
_START = 8  # cycles before the first product of an instruction


@dataclass(frozen=True)
class DotsPart:
    """The instructions of one function, and their simulator."""

    function: FuncOp
    weights: WeightStore
    multipliers: int

    @property
    def name(self) -> str:
        return self.function.sym_name.data

    @property
    def told(self) -> str:
        return f"product x{sum(isinstance(op, ProductOp) for op in self.function.body.block.ops)}"

    def run(self, arrays: Sequence[Array], engine: str) -> tuple[list[Array], Mapping[str, Any]]:
        """One instruction after the other; cycles are counted too."""
        block, cycles = self.function.body.block, 0
        values: dict[SSAValue, Array] = dict(zip(block.args, arrays, strict=True))
        for op in block.ops:
            if isinstance(op, ProductOp):
                x, w, t = (values[v] for v in op.operands)
                sums = (x.astype(np.int64) @ w.T.astype(np.int64)).astype(np.int32)
                scale = np.ascontiguousarray(t[:, 1]).view(np.float32)
                values[op.y] = requantize(sums, t[:, 0], scale, *numbers_of(op.post))
                cycles += _START + prod(shape_of(op.y)) * ceil(x.shape[-1] / self.multipliers)
            elif isinstance(op, ReturnOp):
                return [values[v] for v in op.operands], {"cycles": cycles}
            elif (array := constant_value(op, self.weights)) is not None:
                values[op.results[0]] = array
        raise LaminaError("the function does not return", where=self.function)


class DotsTarget:
    """A target as `lamina.backends.Target` wants it."""

    def __init__(self, detail: str = "") -> None:
        if detail and not detail.isdigit():
            raise LaminaError(f"'{detail}' is no number of multipliers", hint="dots:32")
        self.multipliers = int(detail or 16)

    def compile(self, program: Program, options: Options) -> PartedProgram:
        lowered, host = self.lower(program, "dots", options), find_target("cpu")

        def part_of(function: FuncOp) -> DotsPart | None:
            ours = MACHINE in function.attributes
            return DotsPart(function, lowered.context.weights, self.multipliers) if ours else None

        def compile_host(part: Program) -> Executable:
            return host.compile(part, Options(cache=options.cache))

        return parted(lowered, part_of, compile_host, "functional", options.tell)

    def lower(self, program: Program, to: str, options: Options) -> Program:
        copy, table = program.clone(), {**all_passes(), LowerDots.name: lambda: LowerDots}
        copy.record_signature()
        phases = [INTEGERS] if to == "integers" else [INTEGERS, DOTS]
        descend(copy, phases, table, on_level=options.on_level)
        return copy

    def meaning(self, program: Program, options: Options) -> Program:
        """What the results are equal to."""
        return in_integers(program)

    def load(self, artefact: Artefact, threads: int | None = None) -> Executable:
        raise LaminaError("artefacts do not hold instructions of dots")

    def describe(self) -> list[tuple[str, str]]:
        return [("multipliers", str(self.multipliers))]
