"""Going down the staircase: named phases of passes, each ending on a level."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ShapedType, StringAttr

from .diagnostics import LaminaError
from .pass_manager import Instrumentation, PassManager
from .pipelines import PassTable, parse_pipeline
from .program import LEVEL, Program, main_function
from .walking import all_ops


@dataclass(frozen=True)
class Phase:
    """A named run of passes. `level` is where the module stands afterwards."""

    level: str
    purpose: str
    passes: tuple[str, ...]


def level_of(program: Program) -> str:
    """The level a module stands on: the one recorded on it, or what its dialects tell.

    Hand-written modules carry no record; the lowest dialect in use decides.
    """
    recorded = program.module.attributes.get(LEVEL)
    if isinstance(recorded, StringAttr):
        return recorded.data
    dialects = {op.name.partition(".")[0] for op in all_ops(program.module)}
    if "llvm" in dialects:
        return "llvm"
    if "vector" in dialects:
        return "vector"
    if dialects & {"affine"}:
        return "affine"
    arguments = main_function(program.module).regions[0].block.args
    if dialects & {"memref"} or any("memref" in str(arg.type) for arg in arguments if isinstance(arg.type, ShapedType)):
        return "buffers"
    if dialects & {"linalg", "tensor", "arith", "math"}:
        return "linalg" if any("lamina.kernel" in op.attributes for op in program.module.ops) else "linalg-open"
    return "onnx" if "onnx" in dialects else "dsl" if "dsl" in dialects else "stablehlo"


def remaining(phases: Sequence[Phase], level: str) -> Sequence[Phase]:
    """The phases below `level`. A hand-written linalg module (`linalg-open`) starts with the linalg phase itself."""
    levels = ["onnx", *(phase.level for phase in phases)]
    if level == "dsl":  # beside onnx: both come to the hub by the first phase
        return phases
    if level == "linalg-open":
        return phases[levels.index("linalg") - 1 :]
    if level not in levels:
        raise LaminaError(f"unknown level '{level}'", hint=f"one of {', '.join(levels)}")
    return phases[levels.index(level) :]


def descend(
    program: Program,
    phases: Sequence[Phase],
    table: PassTable,
    *,
    verify_each: bool = False,
    verify: bool = True,
    on_level: Callable[[str, Program, float], None] | None = None,
    instrumentations: Sequence[Instrumentation] = (),
) -> None:
    """Runs `phases` on `program` in place; verifies after each phase unless not to `verify`, or after each pass.

    `on_level(level, program, seconds)` is called on every landing; `instrumentations` watch the passes.
    """
    for phase in phases:
        start = time.perf_counter()
        passes = parse_pipeline(",".join(phase.passes), table)
        manager = PassManager(
            program.context, passes, verify_each=verify_each, verify_last=verify, instrumentations=instrumentations
        )
        manager.run(program.module)
        program.module.attributes[LEVEL] = StringAttr(phase.level)
        if on_level is not None:
            on_level(phase.level, program, time.perf_counter() - start)
