"""Running kernels of the tile level: on the tile level itself, and as programs of a machine."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from lamina.compiler.interpreter import Interpreter
from lamina.compiler.systolic_machine import SystolicMachine
from lamina.compiler.weights import WeightStore
from lamina.dialects.systolic.checker import check_program
from lamina.dialects.systolic.semantics import Chip
from lamina.tools.systolic.random_shapes import Array, program_of


def run_on_chip(function: FuncOp, machine: SystolicMachine, arrays: Sequence[Array]) -> Array:
    """What the program, which must be free of races, leaves in the last argument."""
    program, dram, starts = program_of(function, arrays)
    check_program(program, machine, dram.size)
    Chip(machine, dram).run(program)
    last = arrays[-1]
    return dram[starts[-2] : starts[-1]].view(last.dtype).reshape(last.shape)


def run_on_tiles(function: FuncOp, arrays: Sequence[Array]) -> Array:
    """What the tile level's own meaning leaves in the last argument."""
    copies = [array.copy() for array in arrays]
    module = ModuleOp([function.clone()])
    only = next(op for op in module.ops if isinstance(op, FuncOp))
    Interpreter(WeightStore()).run(only, copies)
    return copies[-1]
