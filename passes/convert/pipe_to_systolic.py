"""convert-pipe-to-systolic: tokens become semaphores, and kernels one program, which is the binary word by word.

    %0 = pipe.ld to=spm dst=0x0 src=0x0+r1 n0=64 len=16 stride=0
    %1 = pipe.mm after(%0) a=0x0 acc=0x0 n0=64 swap
    ->
    systolic.ld to=spm dst=0x0 src=0x0+r1 n0=64 len=16 stride=0 signal(1)
    systolic.mm a=0x0 acc=0x0 n0=64 swap wait(1)

The order of dispatch has each signal before its wait, so that a program cannot come to a stand. A function that calls
kernels becomes a program with theirs in it; without such functions each kernel becomes one by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ...dialects.pipe import StreamOp
from ...dialects.systolic.encoding import instruction
from ...dialects.systolic.ops import ProgramOp
from ..systolic.link import linked, streams_of
from ..systolic.names import MACHINE


@dataclass(frozen=True)
class ConvertPipeToSystolic(ModulePass):
    """Assigns semaphores and links."""

    name = "convert-pipe-to-systolic"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        streams = streams_of(op)
        programs = [f for f in op.ops if isinstance(f, FuncOp) and MACHINE in f.attributes and not f.is_declaration]
        for function in programs:
            machine = function.attributes[MACHINE]
            assert isinstance(machine, StringAttr)
            _replace(function, ProgramOp(function.sym_name.data, machine.data, linked(function, streams)))
        for stream in [s for s in op.ops if isinstance(s, StreamOp)]:
            name = stream.sym_name.data
            alone = ProgramOp(name, stream.machine.data, [*streams[name], instruction("halt")])
            _replace(stream, None if programs else alone)


def _replace(old: Operation, new: Operation | None) -> None:
    assert old.parent is not None
    if new is not None:
        old.parent.insert_op_before(new, old)
    old.detach()
    old.erase()
