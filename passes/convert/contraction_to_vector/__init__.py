"""convert-contraction-to-vector: matmuls and convolutions become loops around a register tile.

before, on buffers (B constant and packed in panels of 16 columns):
    func.func private @kernel(%x: memref<13x64xf32>, %w: memref<7x64x16xf32>, %bias: memref<100xf32>,
                              %y: memref<13x100xf32>) attributes {lamina.kernel = "contraction"} {
      linalg.fill ins(%zero : f32) outs(%y : memref<13x100xf32>)
      linalg.generic {indexing_maps = [(m, n, k) -> (m, k), (m, n, k) -> (n floordiv 16, k, n mod 16), ...]} ...
      linalg.generic ... ins(%bias ...) outs(%y ...) {  // the epilogue: + bias, relu

after:
    affine.for %panel = 0 to 6 {
      affine.for %strip = 0 to 3 {
        %sums:5 = affine.for %k = 0 to 64 iter_args(...) -> (vector<16xf32>, ...) {
          %b = affine.vector_load %w[%panel * 1024 + %k * 16] : memref<7168xf32>, vector<16xf32>
          %a = affine.load %x[%row * 64 + %k] : memref<832xf32>
          %a16 = vector.broadcast %a : f32 to vector<16xf32>
          %s = vector.fma %a16, %b, %sum : vector<16xf32>
          ...
        ... + bias, relu, on vectors; affine.vector_store
    ... and the same for the last 4 columns, in vectors of 4

A is read in place, element by element: a convolution is a matmul whose rows begin where its windows do. Kernels
marked as contractions whose shape is another (no input contiguous along the output's columns) are left for
convert-linalg-to-affine, with the reason in `lamina.not_tiled`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import FixedBitwidthType, MemRefType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from ....compiler.context import lamina_context
from ....compiler.diagnostics import LaminaError
from ....compiler.machine import Machine
from ....dialects.affine.linear_forms import memref_shape
from ..structured_kernels import kernels_of
from .amx_schedule import takes_tiles, tile_depth, tile_schedule
from .analysis import Contraction, Kernel, Unsupported, analyse, is_grouped, sums_in_f32
from .copies import can_copy
from .emit import copied_elements, emit
from .epilogue import check
from .groups import with_room
from .pack import lower_pack
from .schedule import Problem, Schedule, ceil_div, choose
from .tasks import batches_lie_in_rows
from .tile import k_levels


@dataclass(frozen=True)
class ConvertContractionToVector(ModulePass):
    """Tiles every contraction kernel; `schedule` (`"rows=6 row_blocks=4"`) overrides the chosen one."""

    name = "convert-contraction-to-vector"

    schedule: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = lamina_context(ctx).machine
        for function in kernels_of(op, "contraction"):
            self.convert(function, machine)

    def convert(self, function: FuncOp, machine: Machine) -> None:
        """Tiles one kernel, or notes why not."""
        try:
            kernel = analyse(function)
            check(kernel)
        except Unsupported as reason:
            function.attributes["lamina.not_tiled"] = StringAttr(str(reason))
            return
        contraction = kernel.contraction
        lanes = panel_lanes(contraction, machine)
        given = self.schedule or string_attribute(function, "lamina.schedule")
        schedule = Schedule.parse(given) if given else default_schedule(kernel, machine)
        function.attributes["lamina.schedule"] = StringAttr(str(schedule))
        fault = depth_fault(kernel, schedule, machine)
        if fault:
            raise LaminaError(f"schedule '{schedule}': {fault}", where=contraction.op, hint="leave depth at 0")
        old = list(function.body.block.ops)
        for packing in kernel.packings:
            lower_pack(packing, machine)
        emit(kernel, schedule, lanes, machine)
        location = contraction.op.location
        for new in function.body.block.ops:
            if new not in old:
                for inner in new.walk():
                    inner.location = location
        erase(kernel)


def copies_of(function: FuncOp, machine: Machine) -> MemRefType | None:
    """What the kernel needs for the copies of rows that its schedule asks for; None for none."""
    given = string_attribute(function, "lamina.schedule")
    schedule = Schedule.parse(given) if given else None
    if schedule is None or not schedule.copy:
        return None
    kernel = analyse(function)
    elements = copied_elements(kernel, schedule, panel_lanes(kernel.contraction, machine), machine)
    return MemRefType(kernel.contraction.a.element, [elements]) if elements else None


def string_attribute(function: FuncOp, name: str) -> str | None:
    """The text of a string attribute, if there."""
    attribute = function.attributes.get(name)
    return attribute.data if isinstance(attribute, StringAttr) else None


def sum_bytes(contraction: Contraction) -> int:
    """The size of one sum as it is kept in registers."""
    element = contraction.c.element
    assert isinstance(element, FixedBitwidthType)
    return 4 if sums_in_f32(contraction) else max(1, element.bitwidth // 8)


def panel_lanes(contraction: Contraction, machine: Machine) -> int:
    """The columns of a panel: as packed, or one register of sums where that is a line of the cache, else two."""
    if contraction.panels is not None:
        return contraction.panels.lanes
    registers = 1 if machine.vectors_are_lines else 2
    return registers * machine.lanes(sum_bytes(contraction))


def sums_can_wait(contraction: Contraction) -> bool:
    """Whether sums may stand in the output between blocks of k."""
    return not sums_in_f32(contraction) and not is_grouped(contraction)


def depth_fault(kernel: Kernel, schedule: Schedule, machine: Machine) -> str | None:
    """Why k cannot be cut into the blocks that `schedule` wants; None where it can."""
    if not schedule.depth:
        return None
    if takes_tiles(kernel, machine):
        tile, levels = tile_depth(kernel.contraction), k_levels(kernel.contraction)
        if schedule.depth % tile:
            return f"tiles take blocks of multiples of {tile}"
        even = len(levels) == 1 or levels[-1][0] % schedule.depth == 0
        return None if even else f"blocks of one of several loops over k share its {levels[-1][0]} rounds out evenly"
    if sums_can_wait(kernel.contraction):
        return None
    return "sums of numbers of 16 bits and less stay in registers over all of k"


def default_schedule(kernel: Kernel, machine: Machine) -> Schedule:
    """What the cost model says."""
    contraction = kernel.contraction
    problem = problem_of(contraction, panel_lanes(contraction, machine), bool(kernel.packings))
    chosen = choose(problem, with_room(machine, contraction))
    return tile_schedule(contraction, chosen, machine) if takes_tiles(kernel, machine) else chosen


def problem_of(contraction: Contraction, lanes: int, packs: bool = False) -> Problem:
    """What the cost model looks at."""
    levels = k_levels(contraction)
    return Problem(
        batch=contraction.extent(contraction.batch),
        rows=contraction.extent(contraction.m),
        columns=contraction.columns,
        depth=contraction.extent(contraction.k),
        element_bytes=sum_bytes(contraction),
        lanes=lanes,
        loops=tuple(level[0] for level in levels),
        left=overlapping_bytes(contraction),
        packed=contraction.panels is not None and not is_grouped(contraction),
        in_memory=sums_can_wait(contraction),
        copies=can_copy(contraction),
        apart=levels[-1][1] * sum_bytes(contraction) if levels else 0,
        by_rows=batches_lie_in_rows(contraction) and contraction.extent(contraction.m) >= contraction.columns,
        packs=packs,
    )


def overlapping_bytes(contraction: Contraction) -> int:
    """The bytes of A of one batch where they are fewer than those of its rows, since these overlap; else 0."""
    shape, element = memref_shape(contraction.a.value), contraction.a.element
    if shape is None or not isinstance(element, FixedBitwidthType):
        return 0
    size = element.bitwidth // 8
    batch = contraction.extent([d for d in contraction.batch if contraction.a.form.coefficients[d]])  # A may have none
    once = ceil_div(prod(shape), batch) * size
    rows = contraction.extent(contraction.m) * contraction.extent(contraction.k) * size
    return once if once < rows else 0


def erase(kernel: Kernel) -> None:
    """Removes the structured ops, which the tiles replace."""
    packings = [op for packing in kernel.packings for op in (packing.op, packing.fill)]
    for op in (*reversed(kernel.epilogue), kernel.contraction.op, kernel.fill, *packings):
        if op is not None:
            op.detach()
            op.erase()
