"""systolic-fuse-adds: an image is added to a convolution's result while that is on the chip.

    %1 = accel.conv %0, %w, %t {...} : ... -> tensor<1x56x56x256xi8>
    %2 = accel.add %1, %r {...} : tensor<1x56x56x256xi8>
    ->
    %2 = accel.conv_add %0, %w, %t, %r {...} : ... -> tensor<1x56x56x256xi8>

Only where nobody else reads the convolution, and it makes enough products for the adding to be done meanwhile. Of two
such convolutions it is the one with more.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...dialects import accel
from ...dialects.accel.ops import shape_of
from .names import MACHINE

_PASSES = 3  # of the storing unit, or the vector unit while that waits: fewer tiles of weights do not hide them


@dataclass(frozen=True)
class FuseAdds(ModulePass):
    """Fuses in the functions that name a machine."""

    name = "systolic-fuse-adds"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, FuncOp) and MACHINE in function.attributes and not function.is_declaration:
                for add in [o for o in function.body.block.ops if isinstance(o, accel.AddOp)]:
                    _fuse(add)


def _fuse(add: accel.AddOp) -> None:
    """Replaces a sum, if one of its addends is such a convolution."""
    found = [(work, value) for value in dict.fromkeys(add.operands) if (work := _work(value)) > _PASSES]
    block = add.parent
    if not found or add.a == add.b or block is None:
        return
    _, value = max(found, key=lambda pair: pair[0])
    conv = value.owner
    assert isinstance(conv, accel.ConvOp)
    fused = accel.ConvAddOp(conv, add, add.b if value == add.a else add.a)
    fused.location = add.location
    fused.result.name_hint = add.result.name_hint
    block.insert_op_before(fused, add)
    add.result.replace_all_uses_with(fused.result)
    for old in (add, conv):
        old.detach()
        old.erase()


def _work(value: SSAValue) -> int:
    """How many tiles of weights are applied for each block of results; 0 for what is not fused."""
    conv = value.owner
    if not isinstance(conv, accel.ConvOp) or len(list(value.uses)) != 1:
        return 0
    return prod(shape_of(conv.weights)[1:3])
