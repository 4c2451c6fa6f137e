"""`gpu-fuse-points`: what nests hand on through memory stays in registers.

Before, with %padded of the kernel alone:
    affine.parallel (%i) = (0) to (1) { affine.store %zero, %padded[0] }
    affine.parallel (%i) = (0) to (8) { %a = affine.load %x[%i]; affine.store %a, %padded[%i + 1] }
    affine.parallel (%i) = (0) to (8) {
      %s = affine.for %k = 0 to 2 iter_args(%c = %zero) -> (f32) {
        %a = affine.load %padded[%i + %k]
        ...
      }
      affine.store %s, %y[%i]
    }
    affine.parallel (%i) = (0) to (8) { %a = affine.load %y[%i]; ...; affine.store %r, %y[%i] }
After:
    affine.parallel (%i) = (0) to (8) {
      %s = affine.for %k = 0 to 2 iter_args(%c = %zero) -> (f32) {
        %p = affine.apply affine_map<(d0, d1) -> (d0 + d1)> (%i, %k)
        %a = affine.if affine_set<(d0) : (d0 - 1 >= 0)> (%p) -> f32 { ... affine.load %x[%p - 1] ... } else { %zero }
        ...
      }
      ...
      affine.store %r, %y[%i]
    }

Who reads a buffer that nobody else reads takes what was stored at that place instead, where each writer fills a box of
the buffer. Parts of a result that share sectors, as columns next to each other or what is around small pixels, are
written by one nest. Nests over the same points become one where the later one reads what the earlier one wrote at its
point, or what the earlier one reads there, or numbers in between, as even and odd ones. Those that are left and have
nothing to do with each other are marked: they are one launch (`gpu.launch_together`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import MemoryWriteEffect

from ...compiler.effects import is_pure
from ...compiler.walking import all_ops
from ...dialects.affine import LoadOp, ParallelOp, StoreOp, YieldOp
from ..affine.accesses import Linear, MemoryAccess, accesses
from ..affine.loops import erase, functions
from ..affine.scalar_replacement import forward_stores, remove_dead_stores
from .bands import band_of, sizes_of
from .kernels import LAMINA_KERNEL
from .launch_together import independent, mark_independent
from .stored_boxes import hand_on, join_parts
from .team_points import team_of


@dataclass(frozen=True)
class FusePoints(ModulePass):
    """What nests hand on through memory stays in registers."""

    name = "gpu-fuse-points"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions(op):
            if LAMINA_KERNEL in function.attributes:
                while hand_on(function):
                    _prune(function)
                join_parts(function)
                _prune(function)
                _merge_neighbours(function)
                for nest in function.body.block.ops:
                    if isinstance(nest, ParallelOp):  # ops that are one now may read the same
                        forward_stores(band_of(nest)[-1].body.block)
                remove_dead_stores(function)
                _prune(function)
                mark_independent(function)


def _prune(function: FuncOp) -> None:
    """Drops nests that write nothing."""
    for op in reversed(list(function.body.block.ops)):
        if isinstance(op, ParallelOp) and not any(inner.has_trait(MemoryWriteEffect) for inner in all_ops(op)):
            erase(op)


def _merge_neighbours(function: FuncOp) -> None:
    """Makes nests one with the next, as long as that can be done."""
    again = True
    while again:
        nests = [op for op in function.body.block.ops if isinstance(op, ParallelOp)]
        again = any(_merged(first, second) for first, second in pairwise(nests))


def _merged(first: ParallelOp, second: ParallelOp) -> bool:
    """Puts the second nest into the first one, if that may and should be; whether it was."""
    between: list[Operation] = []
    op = first.next_op
    while op is not None and op is not second:
        between.append(op)
        op = op.next_op
    if not all(map(is_pure, between)) or not _continues(first, second):
        return False
    for op in between:
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(first))
    block = band_of(first)[-1].body.block
    for old, new in zip(_variables(second), _variables(first), strict=True):
        old.replace_all_uses_with(new)
    last = block.last_op
    assert last is not None
    for op in list(band_of(second)[-1].body.block.ops):
        if not isinstance(op, YieldOp):
            op.detach()
            Rewriter.insert_op(op, InsertPoint.before(last))
    erase(second)
    forward_stores(block)
    return True


def _variables(nest: ParallelOp) -> list[SSAValue]:
    return [variable for loop in band_of(nest) for variable in loop.body.block.args]


def _continues(first: ParallelOp, second: ParallelOp) -> bool:
    """Whether the second nest does the same points, and of what the first one wrote touches its own point's alone.

    It reads some of that, or what the first one reads.
    """
    sizes = sizes_of(band_of(first))
    if sizes is None or sizes != sizes_of(band_of(second)):
        return False
    teams = [team_of(nest) is not None for nest in (first, second)]
    if any(teams) and any(op.regions for nest in (first, second) for op in band_of(nest)[-1].body.block.ops):
        return all(not op.regions for op in band_of(second)[-1].body.block.ops) and teams[0]
    renamed = dict(zip(_variables(second), _variables(first), strict=True))
    left, right = accesses([first]), accesses([second])
    written = {access.root for access in left if access.writes}
    met = written | {access.root for access in right if access.writes}
    shared = met & {access.root for access in left} & {access.root for access in right}
    if not any(access.root in written and not access.writes for access in right):
        plain = not any(op.regions for nest in (first, second) for op in band_of(nest)[-1].body.block.ops)
        return plain and independent(first, second) and _read_alike(left, right, renamed)
    moving = {v for v, n in zip(_variables(first), sizes, strict=True) if n > 1}
    return all(_own(buffer, left, right, renamed, moving) for buffer in shared)


def _read_alike(left: list[MemoryAccess], right: list[MemoryAccess], renamed: dict[SSAValue, SSAValue]) -> bool:
    """Whether points read the same number as their namesakes, or one in between, as even and odd ones."""
    for one, other in product(left, right):
        if one.writes or other.writes or one.memref is not other.memref or not one.subscripts or not other.subscripts:
            continue
        pairs = list(zip(one.subscripts, other.subscripts, strict=True))
        if all(
            a is not None
            and b is not None
            and a.terms == {renamed.get(v, v): n for v, n in b.terms.items()}
            and abs(a.constant - b.constant) < min(a.terms.values(), default=1)
            for a, b in pairs
        ):
            return True
    return False


def _own(
    buffer: SSAValue,
    left: list[MemoryAccess],
    right: list[MemoryAccess],
    renamed: dict[SSAValue, SSAValue],
    moving: set[SSAValue],
) -> bool:
    """Whether each point touches one place of a buffer, which is no other point's."""
    places: set[tuple[SSAValue, tuple[Linear, ...]]] = set()
    for access in (*left, *right):
        if access.root is not buffer:
            continue
        if not isinstance(access.op, LoadOp | StoreOp) or access.subscripts is None:
            return False
        known = [each for each in access.subscripts if each is not None]
        if len(known) < len(access.subscripts):
            return False
        place = tuple(Linear({renamed.get(v, v): n for v, n in each.terms.items()}, each.constant) for each in known)
        places.add((access.memref, place))
    if len(places) != 1:
        return False
    [(_, place)] = places
    told = [set(each.terms) for each in place]
    return all(len(each) <= 1 for each in told) and moving <= set[SSAValue]().union(*told)
