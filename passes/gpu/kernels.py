"""Functions for the GPU made of pieces of others, and the launches that take their place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from xdsl.dialects.builtin import DenseArrayBase, FunctionType, IntegerAttr, UnitAttr, i32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...compiler.walking import all_ops
from ...dialects.gpu import BLOCK_SIZE, GRID_SIZE, KERNEL, LaunchFuncOp

OpT = TypeVar("OpT", bound=Operation)
LAMINA_KERNEL = "lamina.kernel"  # on a function: the host calls it, and it launches what it does
TIMES = "gpu.times"  # on a function: it is a part of one so many times as large, whose tiles it is to have
LAUNCH = "gpu.launch"  # on nests: those of the same number are one launch


def placed(op: OpT, like: Operation) -> OpT:
    """`op` with the location of another one."""
    op.location = like.location
    return op


def times_of(op: Operation) -> int:
    """How many times as many points there are as in the function around `op`, which may be a part for tests."""
    while not isinstance(op, FuncOp):
        parent = op.parent_op()
        if parent is None:
            return 1
        op = parent
    told = op.attributes.get(TIMES)
    return told.value.data if isinstance(told, IntegerAttr) else 1


def outlined(name: str, step: Sequence[Operation], block: Block) -> tuple[FuncOp, list[SSAValue]]:
    """A kernel of copies of the ops in `step`, and the arguments of `block` that it takes."""
    used = {value for op in step for inner in all_ops(op) for value in inner.operands}
    arguments: list[SSAValue] = [argument for argument in block.args if argument in used]
    body = Block(arg_types=[value.type for value in arguments])
    values: dict[SSAValue, SSAValue] = dict(zip(arguments, body.args, strict=True))
    for argument, copy in zip(arguments, body.args, strict=True):
        copy.name_hint = argument.name_hint
    for op in step:
        body.add_op(op.clone(values))
    body.add_op(placed(ReturnOp(), step[-1]))
    kernel = FuncOp(name, FunctionType.from_lists([v.type for v in arguments], []), Region(body), "private")
    kernel.attributes[KERNEL] = UnitAttr()
    whole = block.parent_op()
    if whole is not None and TIMES in whole.attributes:
        kernel.attributes[TIMES] = whole.attributes[TIMES]
    return placed(kernel, step[-1]), arguments


def launched(
    kernel: FuncOp, arguments: Sequence[SSAValue], blocks: int, threads: int, *, after: Operation
) -> LaunchFuncOp:
    """Puts a kernel into the module behind `after`, and makes its launch."""
    kernel.attributes.pop(TIMES, None)
    kernel.attributes[BLOCK_SIZE] = DenseArrayBase.from_list(i32, [threads, 1, 1])
    kernel.attributes[GRID_SIZE] = DenseArrayBase.from_list(i32, [blocks, 1, 1])
    Rewriter.insert_op(kernel, InsertPoint.after(after))
    return placed(LaunchFuncOp(kernel.sym_name.data, arguments, (blocks, 1, 1), (threads, 1, 1)), kernel)


def leave(block: Block, launches: Sequence[Operation]) -> None:
    """Launches in the place of all that a block did."""
    last = block.last_op
    assert last is not None
    for op in reversed([op for op in block.ops if op is not last]):
        op.detach()
        op.erase(safe_erase=False)
    Rewriter.insert_op(launches, InsertPoint.before(last))
