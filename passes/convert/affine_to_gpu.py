"""`convert-affine-to-gpu`: a kernel becomes launches; each point of a parallel nest is a thread.

Before:
    func.func private @kernel(%x: memref<300xf32>, %y: memref<300xf32>) attributes {lamina.kernel = "loops"} {
      affine.parallel (%i) = (0) to (300) { ... affine.store %v, %y[%i] ... }
      func.return
    }
After:
    func.func private @kernel(%x: memref<300xf32>, %y: memref<300xf32>) {          // on the host
      gpu.launch_func @kernel_0(%x, %y) {blocks = array<i64: 3, 1, 1>, threads = array<i64: 128, 1, 1>} : ...
      func.return
    }
    func.func private @kernel_0(%x: memref<300xf32>, %y: memref<300xf32>) attributes {gpu.kernel, ...} {
      %b = gpu.block_id x
      %t = gpu.thread_id x
      %i = affine.apply affine_map<(d0, d1) -> (d0 * 128 + d1)> (%b, %t)
      affine.if affine_set<(d0) : (-d0 + 299 >= 0)> (%i) { ... affine.store %v, %y[%i] ... }
      func.return
    }

Nests follow each other as launches, since blocks cannot wait for each other; those that have nothing to do with each
other are one (`gpu.launch_together`). Neighbouring threads take neighbouring points of the innermost dimension; where
that is not how a source lies, boxes are turned in shared memory (`gpu.turned_boxes`); where a point combines numbers
that lie next to each other, a team of threads does it (`gpu.team_points`); where windows of neighbouring points
overlap, a block has them in shared memory (`gpu.window_points`). What is no parallel nest is done by one thread. What
launches already stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineConstraintKind, AffineExpr, AffineMap, AffineSet
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator, MemoryWriteEffect

from ...compiler.diagnostics import LaminaError
from ...compiler.effects import is_pure
from ...compiler.walking import all_ops
from ...dialects.affine import ApplyOp, IfOp, ParallelOp, YieldOp
from ...dialects.gpu import BlockIdOp, LaunchFuncOp, ThreadIdOp
from ...dialects.memref.views import root
from ..gpu.bands import band_of, sizes_of
from ..gpu.held_points import held, sectors_held
from ..gpu.kernels import LAMINA_KERNEL, launched, leave, outlined, placed
from ..gpu.launch_together import Mapped, nest_in, number_of, stands_alone, together
from ..gpu.shared_windows import windows_of
from ..gpu.team_points import emit_alone, emit_team, team_of
from ..gpu.turned_boxes import boxes_of
from ..gpu.window_points import emit_windows

THREADS = 128  # of a block: four warps hide each other's waits, and small grids still have blocks for every core


@dataclass(frozen=True)
class ConvertAffineToGpu(ModulePass):
    """Kernels become launches of one thread for each point of a parallel nest. `threads`: of a block."""

    name = "convert-affine-to-gpu"

    threads: int = THREADS

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in list(op.ops):
            if isinstance(function, FuncOp) and LAMINA_KERNEL in function.attributes and not _launches(function):
                split(function, self.threads)


def _launches(function: FuncOp) -> bool:
    return not function.body.blocks or any(isinstance(op, LaunchFuncOp) for op in function.body.block.ops)


def split(function: FuncOp, threads: int) -> None:
    """Makes kernels of what the function does, one after the other, and lets it launch them."""
    block = function.body.block
    steps = _steps(block)
    launches: list[LaunchFuncOp] = []
    before: Operation = function
    for number, part in enumerate(_parts(function, steps, threads)):
        kernel = part.kernel
        kernel.properties["sym_name"] = StringAttr(f"{function.sym_name.data}_{number}")
        launches.append(launched(kernel, part.arguments, part.blocks, part.threads, after=before))
        before = kernel
    leave(block, launches)


def _parts(function: FuncOp, steps: Sequence[Sequence[Operation]], threads: int) -> Iterator[Mapped]:
    """The kernels of steps, one for those that are to be one launch where their threads never meet."""
    for number, group in groupby(steps, lambda step: number_of(nest_in(step))):
        parts: list[Mapped] = []
        for step in group:
            kernel, arguments = outlined(function.sym_name.data, step, function.body.block)
            parts.append(Mapped(kernel, arguments, *_mapped(kernel, threads)))
        if number is None:
            yield from parts
            continue
        alone = [part for part in parts if stands_alone(part.kernel)]
        yield from (part for part in parts if part not in alone)
        if alone:
            yield together(alone) if len(alone) > 1 else alone[0]


def _steps(block: Block) -> list[list[Operation]]:
    """What the block does, in order, each step with all that it needs; loops whose results are used come with that."""
    steps: list[list[Operation]] = []
    alone = False  # whether the last step is a nest
    for op in block.ops:
        if not _acts(op):
            continue
        needed = _needed(op)
        for before in steps if alone or isinstance(op, ParallelOp) else steps[:-1]:
            again = next((other for other in needed if other in before and _acts(other)), None)
            if again is not None:
                raise LaminaError("a loop whose result is used after another one would run twice", where=again)
        nest = isinstance(op, ParallelOp)
        if nest or alone or not steps:
            steps.append(needed)
        else:
            steps[-1] += [other for other in needed if other not in steps[-1]]
        alone = nest
    order = {op: i for i, op in enumerate(block.ops)}
    for i, step in enumerate(steps):
        step.sort(key=order.__getitem__)
        _check_reads(step, [op for before in steps[:i] for op in before], order)
    return steps


def _acts(op: Operation) -> bool:
    """Whether an op does something beside computing its results."""
    if op.has_trait(IsTerminator) or is_pure(op):
        return False
    return not op.results or any(inner.has_trait(MemoryWriteEffect) for inner in all_ops(op))


def _needed(op: Operation) -> list[Operation]:
    """`op` and the ops of its block that it depends on."""
    found: dict[Operation, None] = {}
    waiting = [op]
    while waiting:
        current = waiting.pop()
        if current in found:
            continue
        found[current] = None
        for inner in all_ops(current):
            for value in inner.operands:
                owner = value.owner
                if isinstance(owner, Operation) and owner.parent is op.parent:
                    waiting.append(owner)
    return list(found)


def _check_reads(step: Sequence[Operation], before: Sequence[Operation], order: dict[Operation, int]) -> None:
    """What is read above an earlier step would be read after it: refused where that step writes the same buffer."""
    for op in step:
        reads = {root(v) for inner in all_ops(op) for v in inner.operands} if op.results else set[SSAValue]()
        for other in before:
            if order[other] > order[op] and not is_pure(other):
                written = {
                    root(v) for inner in all_ops(other) if inner.has_trait(MemoryWriteEffect) for v in inner.operands
                }
                if reads & written:
                    raise LaminaError("a value is read before a loop that changes it and used after", where=op)


def _mapped(kernel: FuncOp, threads: int) -> tuple[int, int]:
    """Gives each point of the kernel's nest a thread; the blocks and the threads of each."""
    block = kernel.body.block
    nest = next((op for op in block.ops if isinstance(op, ParallelOp)), None)
    others = [op for op in block.ops if _acts(op)]
    if nest is None or others != [nest]:
        for loop in [op for op in all_ops(kernel) if isinstance(op, ParallelOp)]:
            raise LaminaError("a parallel loop beside something else cannot be given to threads", where=loop)
        return emit_alone(block)
    team = team_of(nest)
    if team is not None:
        return emit_team(nest, team)
    windows = windows_of(nest) or boxes_of(nest, alone=sectors_held(nest, threads))
    return emit_windows(nest, windows) if windows is not None else _spread(held(nest, threads), threads)


def _spread(nest: ParallelOp, threads: int) -> tuple[int, int]:
    band = band_of(nest)
    sizes = sizes_of(band)
    if sizes is None:
        raise LaminaError("a parallel loop that does not begin at 0 with step 1 has no threads", where=nest)
    total = prod(sizes)
    lanes = min(threads, -(-total // 32) * 32)
    blocks = -(-total // lanes)
    here = [BlockIdOp("x"), ThreadIdOp("x")]
    place = AffineExpr.dimension(0) * lanes + AffineExpr.dimension(1)
    linear = ApplyOp([op.result for op in here], AffineMapAttr(AffineMap(2, 0, (place,))))
    made: list[Operation] = [*here, linear]
    point = linear.results[0]
    inner = Block()
    variables = [v for loop in band for v in loop.body.block.args]
    for i, variable in enumerate(variables):
        below = prod(sizes[i + 1 :])
        index = AffineExpr.dimension(0) // below if below > 1 else AffineExpr.dimension(0)
        index = index % sizes[i] if i else index
        apply = ApplyOp([point], AffineMapAttr(AffineMap(1, 0, (index,))))
        apply.results[0].name_hint = variable.name_hint
        variable.replace_all_uses_with(apply.results[0])
        inner.add_op(apply)
    for op in list(band[-1].body.block.ops):
        op.detach()
        inner.add_op(YieldOp.get() if op.has_trait(IsTerminator) else op)
    for op in (*made, *(op for op in inner.ops if isinstance(op, ApplyOp | YieldOp))):
        op.location = nest.location
    if total % lanes:
        inside = AffineConstraintExpr(
            AffineConstraintKind.ge, AffineExpr.constant(total - 1) - AffineExpr.dimension(0), AffineExpr.constant(0)
        )
        guard = IfOp.create(
            operands=[point],
            properties={"condition": AffineSetAttr(AffineSet(1, 0, (inside,)))},
            regions=[Region(inner), Region()],
        )
        made.append(placed(guard, nest))
    else:
        last = inner.last_op
        assert last is not None
        last.detach()
        for op in list(inner.ops):
            op.detach()
            made.append(op)
    Rewriter.insert_op(made, InsertPoint.before(nest))
    nest.detach()
    nest.erase()
    return blocks, lanes
