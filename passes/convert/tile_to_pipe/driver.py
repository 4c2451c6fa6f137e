"""The pass: each kernel becomes a stream."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ....compiler.diagnostics import LaminaError
from ....compiler.systolic_machine import SystolicMachine
from ....dialects import pipe, tile
from ....dialects.systolic.encoding import RECORDS, check, configure
from ....dialects.systolic.instructions import CONFIGS, LAYOUTS
from ....dialects.systolic.ops import OPS
from ...systolic.names import MACHINE
from . import computations, moves
from .order import ordered
from .steps import Config, Step, Values
from .unroll import Unroller

READERS = (computations, moves)  # what they read they register

_CFG = OPS["cfg"]


@dataclass(frozen=True)
class ConvertTileToPipe(ModulePass):
    """Unrolls kernels, gives pieces their places, and orders what is left by tokens."""

    name = "convert-tile-to-pipe"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in list(op.ops):
            if isinstance(function, FuncOp) and MACHINE in function.attributes and not function.is_declaration:
                if tile.RINGS not in function.attributes:
                    _run_kernels(function)
                    continue
                stream = stream_of(function)
                assert function.parent is not None
                function.parent.insert_op_before(stream, function)
                function.detach()
                function.erase()


def _run_kernels(function: FuncOp) -> None:
    """Calls of kernels become runs of streams."""
    for call in list(function.body.block.ops):
        if isinstance(call, CallOp):
            run = pipe.RunOp(call.callee.root_reference.data, call.arguments)
            run.location = call.location
            run.attributes |= call.attributes
            function.body.block.insert_op_before(run, call)
            call.detach()
            call.erase()


def stream_of(function: FuncOp) -> pipe.StreamOp:
    """The stream of a kernel on the tile level."""
    name = function.attributes.get(MACHINE)
    if not isinstance(name, StringAttr):
        raise LaminaError(f"the kernel does not say its machine in '{MACHINE}'", where=function)
    machine = SystolicMachine.preset(name.data)
    _check_rings(function, machine)
    steps = ordered(Unroller(function, machine).steps, max(1, machine.queue_depth - 2))
    return pipe.StreamOp(function.sym_name.data, name.data, _ops(steps))


def _check_rings(function: FuncOp, machine: SystolicMachine) -> None:
    """Raises LaminaError for rings that lie over each other or outside of their memory."""
    rooms = {"spm": machine.spm_rows, "acc": machine.acc_rows, "tab": machine.table_rows}
    for space, rows in rooms.items():
        end = 0
        for name, ring in sorted(tile.rings_of(function).items(), key=lambda item: item[1].base):
            if ring.space == space:
                if ring.base < end or ring.end > rows or ring.slots < 1:
                    raise LaminaError(
                        f"ring '{name}' takes rows {ring.base} to {ring.end} of '{space}'",
                        where=function,
                        hint=f"free are {end} to {rows}",
                    )
                end = ring.end


def _ops(steps: Sequence[Step]) -> list[Operation]:
    """The steps as ops, with configuration registers written when what they hold is another."""
    held: OrderedDict[Config, int] = OrderedDict()
    known: dict[tuple[str, Values], DenseArrayBase] = {}
    tokens: dict[Step, SSAValue] = {}
    made: list[Operation] = []
    for step in steps:
        values = step.values
        if step.configs:
            told = list(values)
            for at, value in step.configs:
                if value in held:
                    held.move_to_end(value)
                else:
                    register = len(held) if len(held) < CONFIGS else held.popitem(last=False)[1]
                    held[value] = register
                    made.append(_CFG(configure(register, value[0], **_typed(value))))
                told[at] = held[value]
            values = tuple(told)
        packed = known.get((step.kind, values))
        if packed is None:
            instruction = RECORDS[step.kind](values)
            check(instruction)
            packed = known[step.kind, values] = pipe.packed(instruction)
        op = pipe.OPS[step.kind].of(packed, [tokens[other] for other in step.after])
        tokens[step] = op.results[0]
        made.append(op)
    return made


def _typed(value: Config) -> dict[str, int | float]:
    """Fields of a configuration: floats where the layout has floats, integers elsewhere."""
    kinds = {field.name: field.kind for field in LAYOUTS[value[0]].fields}
    return {name: float(v) if kinds[name] == "float" else int(v) for name, v in value[1]}
