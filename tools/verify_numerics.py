"""`--verify-numerics`: the module is run after every pass; the first pass that changes the result is named.

Down to the linalg level the whole module is interpreted after each pass. From there on each distinct kernel is
checked by itself, on small random inputs of its own: after every pass it is finished natively by the passes that are
needed to reach machine code and no others, and its results are compared with what the linalg level says.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Operation

from ..backends.cpu.pipeline import MODULE_PHASES
from ..compiler.descent import level_of, remaining
from ..compiler.diagnostics import LaminaError
from ..compiler.interpreter import Interpreter
from ..compiler.pass_manager import PassManager
from ..compiler.pipelines import parse_pipeline
from ..compiler.places import describe_location
from ..compiler.program import Program, main_function
from ..compiler.semantics import Spec
from ..compiler.signature import Array
from ..passes import all_passes
from .compare import Comparison, compare
from .culprit import Culprit
from .inputs import complete, read_named
from .verify_kernels import find_kernel_culprit


@dataclass
class Summary:
    """What stays the same of an array when only its layout changes: size, and moments of its values."""

    size: int
    moments: tuple[float, ...]

    @staticmethod
    def of(array: Array) -> Summary | None:
        """The summary of a numeric array; None for anything else."""
        if array.dtype.kind not in "fiub" or not array.size:
            return None
        wide = array.astype(np.float64).reshape(-1)
        wide = wide[np.isfinite(wide)]
        if not wide.size:
            return Summary(array.size, ())
        return Summary(array.size, (wide.sum(), np.abs(wide).sum(), wide.min(), wide.max()))

    def near(self, other: Summary, limit: float) -> bool:
        """Whether the moments agree to `limit` of the largest."""
        scale = max((abs(m) for m in (*self.moments, *other.moments)), default=0.0)
        return len(self.moments) == len(other.moments) and all(
            abs(a - b) <= limit * scale for a, b in zip(self.moments, other.moments, strict=True)
        )


@dataclass
class Trace:
    """The last value computed at each origin in one run."""

    values: dict[str, tuple[str, Summary]] = field(default_factory=dict[str, tuple[str, Summary]])

    def __call__(self, op: Operation, args: Sequence[Array], results: Sequence[Array]) -> None:
        """The interpreter's hook."""
        origin = describe_location(op.location)
        if origin and len(results) == 1 and (summary := Summary.of(np.asarray(results[0]))):
            self.values[origin] = (op.name, summary)

    def first_difference(self, other: Trace, limit: float) -> str | None:
        """The first op of `other`, in the order it ran, whose value at the same origin is another one here."""
        for origin, (name, summary) in other.values.items():
            known = self.values.get(origin)
            if known and known[1].size == summary.size and not known[1].near(summary, limit):
                return f"'{name}' from {origin}"
        return None


def verify_numerics(program: Program, args: argparse.Namespace) -> int:
    """The command's form: prints what was checked; 1 and the culprit's name when a pass changes the result."""
    inputs = complete(program.signature, read_named(args.input), args.seed)
    culprit = find_culprit(program, inputs, args.tolerance, say=lambda text: print(text, file=sys.stderr))
    if culprit is None:
        print("ok    no pass changes the result")
        return 0
    print(f"WRONG {culprit}")
    return 1


def find_culprit(
    program: Program, inputs: Sequence[Array], limit: float = 1e-3, *, say: Callable[[str], None] = lambda text: None
) -> Culprit | None:
    """The first pass of the CPU pipeline after which `program` computes something else; None when there is none."""
    program = program.clone()
    level = level_of(program)
    if level == "onnx":  # the importer has no level above it to compare with; its operators have tests of their own
        for name in MODULE_PHASES[0].passes:
            _apply(program, name)
        level = MODULE_PHASES[0].level
    inputs = program.signature.completed(inputs)
    expected, trace = _interpret(program, inputs)
    program.record_signature()
    for phase in remaining(MODULE_PHASES, level):
        if phase.level == "buffers":
            break
        for name in phase.passes:
            _apply(program, name)
            outputs, after = _interpret(program, inputs)
            wrong = _worst(program, outputs, expected, limit)
            if not wrong.good:
                where = trace.first_difference(after, limit) or "in the outputs"
                return Culprit(name, where, wrong)
            trace = after
            say(f"ok    {name}: {wrong}")
    return find_kernel_culprit(program, limit, say)


def _apply(program: Program, name: str) -> None:
    PassManager(program.context, parse_pipeline(name, all_passes()), verify_each=True).run(program.module)


def _interpret(program: Program, inputs: Sequence[Array]) -> tuple[list[Array], Trace]:
    trace = Trace()
    interpreter = Interpreter(program.context, hook=trace)
    types = main_function(program.module).properties["function_type"]
    assert isinstance(types, FunctionType)
    arrays = [_as(array, interpreter.spec(type_)) for array, type_ in zip(inputs, types.inputs, strict=True)]
    return interpreter.run(program.module, arrays), trace


def _as(array: Array, spec: Spec) -> Array:
    """The same bytes in another shape and dtype: types lose their signs on the way, complex numbers become pairs."""
    assert spec.dtype is not None and spec.shape is not None
    if (array.dtype == spec.dtype and array.shape == spec.shape) or array.nbytes != spec.nbytes:
        return array
    return np.ascontiguousarray(array).reshape(-1).view(spec.dtype).reshape(spec.shape)


def _worst(program: Program, outputs: Sequence[Array], expected: Sequence[Array], limit: float) -> Comparison:
    names = [spec.name for spec in program.signature.outputs]
    if len(outputs) != len(expected):
        raise LaminaError(f"{len(outputs)} outputs, expected {len(expected)}")
    every = [
        compare(name, _as(a, Spec(b.shape, b.dtype)), b, limit)
        for name, a, b in zip(names, outputs, expected, strict=True)
    ]
    return max(every, key=lambda c: (not c.good, c.error), default=Comparison("no outputs", 0.0, limit))
