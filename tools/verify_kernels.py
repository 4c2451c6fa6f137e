"""The kernel half of `--verify-numerics`: each distinct kernel alone, after every pass, against the linalg level.

After each pass the kernel is finished by the passes that are needed to reach machine code and no others, so that a
later optimisation cannot be blamed on an earlier one. When even that bare path is wrong, the loop levels are
interpreted to find the needed pass that errs, as far as the kernel is small enough to interpret.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from ..backends.cpu.emit import module_text, object_code, optimise
from ..backends.cpu.jit import link, pool
from ..backends.cpu.pipeline import KERNEL_PHASES, MODULE_PHASES, REQUIRED
from ..compiler.context import LaminaContext
from ..compiler.diagnostics import LaminaError
from ..compiler.dtypes import dtype_of
from ..compiler.interpreter import Interpreter
from ..compiler.pass_manager import PassManager
from ..compiler.pipelines import parse_pipeline
from ..compiler.places import describe_location
from ..compiler.program import Program
from ..compiler.signature import Array
from ..passes import all_passes
from .compare import Comparison, compare
from .culprit import Culprit

WORK = 200_000  # loop iterations that the interpreter of the loop levels is given


def find_kernel_culprit(program: Program, limit: float, say: Callable[[str], None]) -> Culprit | None:
    """The first pass after which some kernel of a linalg-level `program` computes something else."""
    kernels = {op.sym_name.data: op for op in program.module.ops if isinstance(op, FuncOp) and is_kernel(op)}
    cases = {name: Case.make(program, kernel) for name, kernel in kernels.items()}
    buffers = Program(program.module.clone(), program.context)
    for phase in MODULE_PHASES:
        if phase.level == "buffers":
            for name in phase.passes:
                apply(buffers.module, name, program.context)
    for op in list(buffers.module.ops):
        if isinstance(op, FuncOp) and op.sym_name.data in cases:
            kernel = op.clone()
            kernel.properties["sym_visibility"] = StringAttr("public")
            culprit = _check(ModuleOp([kernel]), cases[op.sym_name.data], program.context, limit)
            if culprit:
                return culprit
            say(f"ok    @{op.sym_name.data}, every pass of the kernel phases")
    return None


def is_kernel(op: Operation) -> bool:
    """Whether an op is an outlined kernel."""
    return "lamina.kernel" in op.attributes


class Case:
    """A kernel's arguments, drawn at random, and what the linalg level says it writes."""

    def __init__(self, kernel: FuncOp, arguments: list[Array], expected: list[Array]):
        self.name = kernel.sym_name.data
        self.place = describe_location(kernel.location) or next(
            (place for op in kernel.walk() if (place := describe_location(op.location))), ""
        )
        self.arguments = arguments
        self.expected = expected

    @staticmethod
    def make(program: Program, kernel: FuncOp) -> Case:
        """Standard normal floats; zeros and ones for integers, so that indices stay in bounds."""
        rng = np.random.default_rng(0)
        arguments: list[Array] = []
        for type_ in kernel.function_type.inputs:
            dtype, shape = dtype_of(type_), type_.get_shape()  # pyright: ignore
            drawn = rng.integers(0, 2, shape) if dtype.kind in "biu" else rng.standard_normal(shape)
            arguments.append(np.asarray(drawn).astype(dtype))
        expected = Interpreter(program.context).run(kernel, [a.copy() for a in arguments])
        return Case(kernel, arguments, [np.array(e) for e in expected])

    def judge(self, run: Callable[[list[Array]], None], scratch: Sequence[Attribute], limit: float) -> Comparison:
        """Runs on fresh copies of the arguments and compares the destinations, which are the last of them.

        `scratch` are the types of further arguments, which the buffers level added.
        """
        arrays = [np.array(a, order="C") for a in self.arguments]
        run([*arrays, *(np.zeros(t.get_shape(), dtype_of(t)) for t in scratch)])  # pyright: ignore
        first = len(arrays) - len(self.expected)
        pairs = zip(arrays[first:], self.expected, strict=True)
        every = [compare(f"@{self.name} result {i}", got, right, limit) for i, (got, right) in enumerate(pairs)]
        return max(every, key=lambda c: (not c.good, c.error))


def apply(module: ModuleOp, name: str, context: LaminaContext) -> None:
    """One pass, verified."""
    PassManager(context, parse_pipeline(name, all_passes()), verify_each=True).run(module)


def _check(module: ModuleOp, case: Case, context: LaminaContext, limit: float) -> Culprit | None:
    names = [name for phase in KERNEL_PHASES for name in phase.passes]
    scratch = _scratch(module, case)
    required = [name for name in names if name in REQUIRED]

    def finished(state: ModuleOp, done: Sequence[str]) -> Comparison:
        rest = state.clone()
        for name in required[sum(name in REQUIRED for name in done) :]:
            apply(rest, name, context)
        return case.judge(lambda arrays: run_native(rest, case.name, arrays, context), scratch, limit)

    bare = finished(module, [])
    if not bare.good:
        return Culprit(_needed_culprit(module, required, case, context, limit), f"@{case.name} {case.place}", bare)
    state = module.clone()
    for i, name in enumerate(names):
        apply(state, name, context)
        result = finished(state, names[: i + 1])
        if not result.good:
            return Culprit(name, f"@{case.name} {case.place}", result)
    return None


def _needed_culprit(module: ModuleOp, required: Sequence[str], case: Case, context: LaminaContext, limit: float) -> str:
    """Which pass of the bare path errs, by interpreting the kernel between them."""
    if prod(a.size for a in case.arguments[-1:]) > WORK:
        return " or ".join(("bufferize", *required))
    state = module.clone()
    scratch = _scratch(module, case)
    for name in required:
        apply(state, name, context)
        if any(op.name.startswith(("llvm.", "cf.")) for op in state.walk()):
            return f"{name} or a later one"
        kernel = next(op for op in state.ops if isinstance(op, FuncOp))
        try:
            result = case.judge(lambda arrays, k=kernel: discard(Interpreter(context).run(k, arrays)), scratch, limit)
        except LaminaError:
            return f"{name} or a later one"
        if not result.good:
            return name
    return required[-1]


def _scratch(module: ModuleOp, case: Case) -> Sequence[Attribute]:
    kernel = next(op for op in module.ops if isinstance(op, FuncOp))
    return kernel.function_type.inputs.data[len(case.arguments) :]


def discard(_: object) -> None:
    """A kernel writes its arguments; it returns nothing."""


def run_native(module: ModuleOp, symbol: str, arrays: Sequence[Array], context: LaminaContext) -> None:
    """Compiles the kernel `symbol` of an llvm-level module without any cache and runs it on `arrays`, in place."""
    machine = context.machine
    threads = pool(2, machine)
    library = link([object_code(optimise(module_text(module, machine), machine), machine), threads.object], [symbol])
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    kernel = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(pointers) + 1))(library[symbol])
    kernel(*pointers, threads.context)
