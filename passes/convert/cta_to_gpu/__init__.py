"""`convert-cta-to-gpu`: programs of blocks on tiles become kernels of threads.

Before:
    cta.program {sizes = array<i64: 1, 256, 256>, tile = array<i64: 1, 64, 64>, schedule = {unit = "mma", ...}} do {
      %sum = cta.pipeline ... stages = 3 ... produce { loads } consume { dot }
      cta.store %sum, ...
    }
After, in a kernel of one block for each tile:
    copies of two stages begin
    %sums = affine.for %k = 0 to 16 iter_args(...) {
      nvgpu.device_async_wait {groups = 1}
      gpu.barrier
      the copy of the stage after next begins
      %a = nvgpu.ldmatrix ..., nvgpu.mma.sync ...
    }
    the sums, mapped, are stored, neighbours together

What multiplies is the schedule's `unit`: threads (`fma`), warps (`mma`, with cp.async), or warpgroups (`wgmma`, with
tensor maps and barriers, and pieces that threads gather where a view is no plain matrix). The pipeline's stages, phases
and byte counts are known in `ring` for the first two, in `boxes` for warpgroups. Where a loop maps and reduces tiles
between its products, threads hold these in registers: `online`, and `online_groups` for warpgroups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ....compiler.context import lamina_context
from ....compiler.locations import locate
from ....dialects.cta import PipelineOp, ProgramOp
from ....dialects.gpu import KERNEL, ROLLED
from ...gpu.kernels import launched, leave
from ..contraction_to_cta.schedule import FMA, WGMMA, Schedule
from . import fma, online, online_groups, warpgroups, warps
from .epilogue import Epilogue
from .grid import Grid
from .kernel import D0, Kernel

SUMS = 16  # of a thread, beside which it has registers for more than one step


@dataclass(frozen=True)
class ConvertCtaToGpu(ModulePass):
    """Programs of blocks on tiles become kernels of threads."""

    name = "convert-cta-to-gpu"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in list(op.ops):
            if isinstance(function, FuncOp) and function.body.blocks:
                programs = [inner for inner in function.body.block.ops if isinstance(inner, ProgramOp)]
                for program in programs:
                    convert(function, program, lamina_context(ctx).machine.cores)


def convert(function: FuncOp, program: ProgramOp, processors: int) -> None:
    """Makes a kernel of the program, and lets the function launch that."""
    schedule = Schedule.of(program.schedule)
    block = function.body.block
    body = Block(arg_types=[argument.type for argument in block.args])
    for argument, copy in zip(block.args, body.args, strict=True):
        copy.name_hint = argument.name_hint
    arguments = cast("dict[SSAValue, SSAValue]", dict(zip(block.args, body.args, strict=True)))
    kernel = Kernel(body, arguments, schedule.threads)
    blocks, made_before = _write(kernel, program, schedule, processors)
    body.add_op(ReturnOp())
    kernel.done()
    for op in body.ops:
        locate(op, program.location)
    types = [argument.type for argument in body.args]
    name = f"{function.sym_name.data}_0"
    device = FuncOp(name, FunctionType.from_lists(types, []), Region(body), "private")
    device.attributes[KERNEL] = UnitAttr()
    if schedule.unit != FMA or schedule.down * schedule.across > SUMS:
        device.attributes[ROLLED] = UnitAttr()  # registers are full: a second step in flight would spill them
    device.location = program.location
    for op in made_before:
        locate(op, program.location)
    given = [*block.args, *(op.results[0] for op in made_before)]
    leave(block, [*made_before, launched(device, given, blocks, kernel.threads, after=function)])


def _beside(schedule: Schedule) -> int:
    """Blocks that a processor has at a time: while the only warpgroup of one waits, that of another multiplies."""
    return 2 if schedule.down == 1 else 1


def _write(kernel: Kernel, program: ProgramOp, schedule: Schedule, processors: int) -> tuple[int, Sequence[Operation]]:
    """The body of the kernel; how many blocks there are, and what the host makes for them."""
    if online.reduces(program):
        grid = Grid(kernel, program)
        corner = grid.enter(kernel, kernel.apply(D0 * -1 + (grid.blocks - 1), grid.number))  # the longest loops first
        if schedule.unit == WGMMA:
            return grid.blocks, online_groups.write(kernel, program, schedule, corner)
        online.write(kernel, program, schedule, corner)
        return grid.blocks, []
    grid = Grid(kernel, program, processors * _beside(schedule) if schedule.unit == WGMMA else 0)
    ops = list(program.body.block.ops)
    [pipeline] = [op for op in ops if isinstance(op, PipelineOp)]
    epilogue = Epilogue(kernel, ops[ops.index(pipeline) + 1 :], pipeline.sums[0], grid.tile[1:])
    if schedule.unit == WGMMA:
        return grid.blocks, warpgroups.write(kernel, pipeline, schedule, grid, epilogue)
    write = fma.write if schedule.unit == FMA else warps.write
    write(kernel, pipeline, schedule, grid.enter(kernel, grid.number), epilogue)
    return grid.blocks, []
