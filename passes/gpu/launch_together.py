"""Nests that have nothing to do with each other, as the parts of a concatenation: one launch does them all.

Before, where both nests have the same number:
    affine.parallel (%i) = (0) to (300) { ... affine.store %a, %y[%i] } {gpu.launch = 0 : i64}
    affine.parallel (%i) = (0) to (100) { ... affine.store %b, %y[%i + 300] } {gpu.launch = 0 : i64}
After:
    func.func private @kernel_0(%x: ..., %z: ..., %y: memref<400xf32>) attributes {gpu.kernel, ...} {
      %b = gpu.block_id x
      affine.if affine_set<(d0) : (-d0 + 2 >= 0)> (%b) { ... }                       // blocks 0 to 2
      affine.if affine_set<(d0) : (d0 - 3 >= 0)> (%b) { ... (%b - 3) ... }           // block 3
    }
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import AffineMapAttr, AffineSetAttr, FunctionType, IntegerAttr, UnitAttr, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineConstraintKind, AffineExpr, AffineMap, AffineSet

from ...compiler.effects import is_pure
from ...compiler.locations import fuse, locate
from ...compiler.walking import all_ops
from ...dialects.affine import ApplyOp, ForOp, IfOp, LoadOp, ParallelOp, StoreOp, VectorLoadOp, VectorStoreOp, YieldOp
from ...dialects.gpu import KERNEL, BlockIdOp, ThreadIdOp
from ..affine.accesses import accesses
from .kernels import LAUNCH
from .stored_boxes import Box, box_of

_ALONE = (LoadOp, StoreOp, VectorLoadOp, VectorStoreOp, ForOp, IfOp, YieldOp, ReturnOp)
MOST = 32  # nests of a launch


@dataclass(frozen=True)
class Mapped:
    """A kernel, what it is given, and its grid."""

    kernel: FuncOp
    arguments: Sequence[SSAValue]
    blocks: int
    threads: int


class _Effects:
    """The buffers that a nest touches and writes, and what it stores in them: found once for all that it is held to."""

    def __init__(self, nest: ParallelOp) -> None:
        found = accesses([nest])
        self.nest = nest
        self.touched = {access.root for access in found}
        self.written = {access.root for access in found if access.writes}
        self._boxes: dict[SSAValue, Box | None] = {}

    def box(self, buffer: SSAValue) -> Box | None:
        """What the nest stores in a buffer, as `box_of`."""
        if buffer not in self._boxes:
            self._boxes[buffer] = box_of(self.nest, buffer)
        return self._boxes[buffer]

    def apart_from(self, other: _Effects) -> bool:
        """Whether neither writes what the other one touches."""
        for buffer in (self.written | other.written) & self.touched & other.touched:
            one, two = self.box(buffer), other.box(buffer)
            if one is None or two is None or one.meets(two):
                return False
        return True


def mark_independent(function: FuncOp) -> None:
    """Numbers neighbouring nests that may be one launch."""
    groups: list[list[_Effects]] = [[]]
    for op in function.body.block.ops:
        if isinstance(op, ParallelOp):
            effects = _Effects(op)
            if len(groups[-1]) >= MOST or not all(map(effects.apart_from, groups[-1])):
                groups.append([])
            groups[-1].append(effects)
        elif not is_pure(op):
            groups.append([])
    for number, group in enumerate(each for each in groups if len(each) > 1):
        for effects in group:
            effects.nest.attributes[LAUNCH] = IntegerAttr(number, i64)


def independent(nest: ParallelOp, other: ParallelOp) -> bool:
    """Whether neither writes what the other one touches."""
    return _Effects(nest).apart_from(_Effects(other))


def number_of(nest: ParallelOp | None) -> int | None:
    """The launch that a nest is to be part of, if it is marked."""
    told = nest.attributes.get(LAUNCH) if nest is not None else None
    return told.value.data if isinstance(told, IntegerAttr) else None


def stands_alone(kernel: FuncOp) -> bool:
    """Whether the threads of a kernel never meet."""
    return all(isinstance(op, _ALONE) or op is kernel or is_pure(op) for op in all_ops(kernel)) and not any(
        op.name.startswith("gpu.") and not isinstance(op, BlockIdOp | ThreadIdOp) for op in all_ops(kernel)
    )


def together(parts: Sequence[Mapped]) -> Mapped:
    """One kernel in the place of several whose threads never meet."""
    first = parts[0].kernel
    arguments = list(dict.fromkeys(value for part in parts for value in part.arguments))
    block = Block(arg_types=[value.type for value in arguments])
    names = {old: inner for part in parts for old, inner in zip(part.arguments, part.kernel.args, strict=True)}
    for argument, inner in zip(arguments, block.args, strict=True):
        inner.name_hint = names[argument].name_hint
    given: dict[SSAValue, SSAValue] = dict(zip(arguments, block.args, strict=True))
    here, thread = BlockIdOp("x"), ThreadIdOp("x")
    block.add_ops([here, thread])
    threads, start = max(part.threads for part in parts), 0
    for part in parts:
        block.add_op(_guarded(part, given, (here.result, thread.result), start, part is parts[-1], threads))
        start += part.blocks
    location = fuse(part.kernel.location for part in parts)
    block.add_op(ReturnOp())
    types = FunctionType.from_lists([value.type for value in arguments], [])
    kernel = FuncOp(first.sym_name.data, types, Region(block), "private")
    kernel.attributes[KERNEL] = UnitAttr()
    locate(kernel, location)
    return Mapped(kernel, arguments, start, threads)


def _guarded(
    part: Mapped,
    given: Mapping[SSAValue, SSAValue],
    here: tuple[SSAValue, SSAValue],
    start: int,
    last: bool,
    threads: int,
) -> IfOp:
    """What the blocks from `start` on do, of which all have so many threads; `here` is the block and the thread."""
    block, thread = here
    d0, d1, zero = AffineExpr.dimension(0), AffineExpr.dimension(1), AffineExpr.constant(0)
    sides = [d0 - start] if start else []
    sides += [] if last else [AffineExpr.constant(start + part.blocks - 1) - d0]
    sides += [AffineExpr.constant(part.threads - 1) - d1] if part.threads < threads else []
    conditions = tuple(AffineConstraintExpr(AffineConstraintKind.ge, side, zero) for side in sides)
    own = ApplyOp([block], AffineMapAttr(AffineMap(1, 0, (d0 - start if start else d0,))))
    body = Block([own])
    values: dict[SSAValue, SSAValue] = {
        inner: given[old] for old, inner in zip(part.arguments, part.kernel.args, strict=True)
    }
    for op in part.kernel.body.block.ops:
        if isinstance(op, BlockIdOp):
            values[op.result] = own.result
        elif isinstance(op, ThreadIdOp):
            values[op.result] = thread
        elif not isinstance(op, ReturnOp):
            body.add_op(op.clone(values))
    body.add_op(YieldOp.get())
    guard = IfOp(AffineSetAttr(AffineSet(2, 0, conditions)), [block, thread], [], Region(body))
    locate(guard, part.kernel.location)
    return guard


def nest_in(step: Sequence[Operation]) -> ParallelOp | None:
    """The nest that a step is."""
    return next((op for op in step if isinstance(op, ParallelOp)), None)
