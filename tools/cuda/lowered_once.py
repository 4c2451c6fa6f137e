"""A model for several architectures on the level `gpu`: functions that are the same on `tiles` are lowered once.

Below `tiles` passes ask which architecture it is where warpgroups multiply (how many processors share the tiles), and
nowhere else: what has no such program becomes the same kernels, whichever architecture it is for.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Region
from xdsl.rewriter import InsertPoint, Rewriter

from ...backends import Options
from ...backends.cuda.target import CudaTarget
from ...compiler.anonymous_text import anonymous_text
from ...compiler.collector import collector_paused
from ...compiler.copying import copied
from ...compiler.program import Program
from ...dialects.cta import ProgramOp
from ...dialects.gpu import LaunchFuncOp
from ...passes.convert.contraction_to_cta.schedule import WGMMA, Schedule
from ...passes.gpu.kernels import LAMINA_KERNEL


class LoweredOnce:
    """The functions of one model that are on `gpu` already, each with the kernels that it launches."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._found: dict[tuple[str, str], Sequence[FuncOp]] = {}  # by name, and text on `tiles`

    @collector_paused()
    def lower(self, program: Program, target: CudaTarget) -> Program:
        """A copy of the model, from any level above, on `gpu`. What is known is declared only until the rest is."""
        tiles = target.lower(program, "tiles", self.options)
        texts = {each.sym_name.data: anonymous_text(each) for each in _functions(tiles.module) if _is_of_all(each)}
        known = {name: self._found[name, text] for name, text in texts.items() if (name, text) in self._found}
        for function in _functions(tiles.module):
            if function.sym_name.data in known:
                Rewriter.replace_op(function, _declared(function))
        lowered = target.lower(tiles, "gpu", self.options)
        every = {op.sym_name.data: op for op in lowered.module.ops if isinstance(op, FuncOp)}
        for function in _functions(lowered.module):
            name = function.sym_name.data
            if name in known:
                Rewriter.insert_op([copied(each) for each in known[name]], InsertPoint.before(function))
                Rewriter.erase_op(function)
            elif name in texts:
                self._found[name, texts[name]] = [function, *(every[kernel] for kernel in _launched(function))]
        return lowered


def _functions(module: ModuleOp) -> list[FuncOp]:
    return [op for op in module.ops if isinstance(op, FuncOp) and LAMINA_KERNEL in op.attributes]


def _is_of_all(function: FuncOp) -> bool:
    programs = [op for op in function.body.block.ops if isinstance(op, ProgramOp)]
    return all(Schedule.of(program.schedule).unit != WGMMA for program in programs)


def _declared(function: FuncOp) -> FuncOp:
    declared = FuncOp(function.sym_name.data, function.function_type, Region(), "private")
    declared.attributes[LAMINA_KERNEL] = function.attributes[LAMINA_KERNEL]
    return declared


def _launched(function: FuncOp) -> list[str]:
    launches = [op for op in function.body.block.ops if isinstance(op, LaunchFuncOp)]
    return list(dict.fromkeys(op.callee.string_value() for op in launches))
