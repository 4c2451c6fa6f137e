"""systolic-fuse-pools: the greatest of blocks of a convolution's result are found while that is on the chip.

    %1 = accel.conv %0, %w, %t {...} : ... -> tensor<1x56x56x64xi8>
    %2 = accel.max_pool %1 {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, ...} : ... -> tensor<1x28x28x64xi8>
    ->
    %2 = accel.conv_pool %0, %w, %t {..., pool = array<i64: 2, 2>} : ... -> tensor<1x28x28x64xi8>

Only where nobody else reads the convolution, windows of the pool lie side by side, and a tile fits with its bytes.
Windows that overlap would have tiles make rows or columns twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from ...compiler.diagnostics import LaminaError
from ...compiler.systolic_machine import SystolicMachine
from ...dialects import accel
from ..convert.accel_to_tile.kernels import geometry_of
from .geometry import Windows
from .names import MACHINE
from .schedule import search


@dataclass(frozen=True)
class FusePools(ModulePass):
    """Fuses in the functions that name a machine."""

    name = "systolic-fuse-pools"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            name = function.attributes.get(MACHINE)
            if isinstance(function, FuncOp) and isinstance(name, StringAttr) and not function.is_declaration:
                machine = SystolicMachine.preset(name.data)
                for pool in [o for o in function.body.block.ops if isinstance(o, accel.MaxPoolOp)]:
                    _fuse(pool, machine)


def _fuse(pool: accel.MaxPoolOp, machine: SystolicMachine) -> None:
    """Replaces a pool, if it is behind such a convolution."""
    conv, block = pool.image.owner, pool.parent
    if not isinstance(conv, accel.ConvOp) or len(list(pool.image.uses)) != 1 or block is None:
        return
    height, width = size = pool.numbers("kernel")
    if size != pool.numbers("strides") or any(pool.numbers("pads")) or pool.numbers("dilations") != (1, 1):
        return
    geometry = geometry_of(conv)
    windows = geometry.windows(machine.rows)
    if windows.out != geometry.out or not _fits(windows.pooled((height, width)), machine):
        return  # pixels of a product have no rows
    fused = accel.ConvPoolOp(conv, pool)
    fused.location = pool.location
    fused.result.name_hint = pool.result.name_hint
    block.insert_op_before(fused, pool)
    pool.result.replace_all_uses_with(fused.result)
    for old in (pool, conv):
        old.detach()
        old.erase()


def _fits(windows: Windows, machine: SystolicMachine) -> bool:
    try:
        search(windows, machine)
    except LaminaError:
        return False
    return True
