"""One program of many kernels: registers get the addresses of a kernel's arguments, and kernels run one by one."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import ViewOp
from xdsl.ir import SSAValue

from ...compiler.diagnostics import LaminaError
from ...dialects.pipe import RunOp, StreamOp
from ...dialects.systolic.encoding import Instruction, instruction
from .semaphores import instructions_of


def streams_of(module: ModuleOp) -> dict[str, list[Instruction]]:
    """The instructions of the kernels of a module on the level `pipe`, each with its semaphores, without a `halt`."""
    return {op.sym_name.data: instructions_of(op) for op in module.ops if isinstance(op, StreamOp)}


def linked(program: FuncOp, streams: Mapping[str, list[Instruction]]) -> list[Instruction]:
    """The instructions of a program that calls kernels; what one writes the next may read, so a `bar` parts them."""
    made: list[Instruction] = []
    held: dict[int, int] = {}
    calls = [op for op in program.body.block.ops if isinstance(op, RunOp)]
    for call, following in pairwise([*calls, None]):
        assert call is not None
        for register, argument in enumerate(call.arguments, 1):
            address = _address(argument)
            if held.get(register, 0) != address:
                made.append(instruction("ar", reg=register, set=1, delta=_signed(address)))
                held[register] = address
        kernel = streams.get(call.kernel.root_reference.data)
        if kernel is None:
            raise LaminaError("there is no such kernel", where=call)
        made += kernel
        if following is not None:
            made.append(instruction("bar"))
    return [*made, instruction("halt")]


def _signed(address: int) -> int:
    return address - (1 << 32) if address >= 1 << 31 else address


def _address(value: SSAValue) -> int:
    view = value.owner
    if not isinstance(view, ViewOp) or not isinstance(offset := view.operands[1].owner, ConstantOp):
        raise LaminaError("the arguments of kernels are views of DRAM at constant places")
    assert isinstance(offset.value, IntegerAttr)
    return offset.value.value.data
