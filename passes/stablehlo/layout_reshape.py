"""Transposes move past reshapes that split or merge neighbouring dimensions, and past the flattening before a dot."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ...dialects.stablehlo import BroadcastInDimOp, DotGeneralOp, ReshapeOp, TransposeOp
from ...dialects.stablehlo.attributes import ints
from ...dialects.stablehlo.canonical.contraction import dot_like
from ...dialects.stablehlo.canonical.rules import Builder, Replacement, RuleTable, defining, is_identity, shape_of

moves_reshapes = RuleTable()

FOLDED_WEIGHTS = 16 << 20  # larger weights are not copied to save one transpose of activations


class Group(NamedTuple):
    """Neighbouring dimensions before and after a reshape that hold the same elements."""

    before: list[int]
    after: list[int]


def groups(old: Sequence[int], new: Sequence[int]) -> list[Group] | None:
    """The finest groups of a reshape; None for empty tensors, where anything fits.

    >>> groups((2, 6, 1), (2, 3, 2))
    [Group(before=[0], after=[0]), Group(before=[1, 2], after=[1, 2])]
    """
    if 0 in old:
        return None
    found: list[Group] = []
    i = j = 0
    while i < len(old) and j < len(new):
        group = Group([i], [j])
        left, right = old[i], new[j]
        i, j = i + 1, j + 1
        while left != right:
            if left < right:
                group.before.append(i)
                left, i = left * old[i], i + 1
            else:
                group.after.append(j)
                right, j = right * new[j], j + 1
        found.append(group)
    if not found:
        return None
    found[-1].before.extend(range(i, len(old)))  # all of size 1
    found[-1].after.extend(range(j, len(new)))
    return found


def _ordered(found: list[Group], shape: Sequence[int], permutation: Sequence[int]) -> list[Group]:
    """The groups in the order in which the source of the transpose holds them."""
    keys: list[int] = []
    for group in found:
        places = [permutation[d] for d in group.before if shape[d] != 1]
        keys.append(min(places) if places else (keys[-1] if keys else -1))
    return [group for _, group in sorted(zip(keys, found, strict=True), key=lambda pair: pair[0])]


def _places(found: list[Group], shape: Sequence[int], permutation: Sequence[int]) -> list[int]:
    """Where the source holds the dimensions larger than 1, group after group."""
    return [permutation[d] for group in found for d in group.before if shape[d] != 1]


def _increasing(values: Sequence[int]) -> bool:
    return all(x < y for x, y in pairwise(values))


@moves_reshapes(ReshapeOp)
def reshape_of_transpose(op: ReshapeOp, b: Builder) -> Replacement:
    """Where each group stays together in the source, the reshape is done there."""
    transpose = defining(op.operand, TransposeOp)
    if transpose is None:
        return None
    permutation, shape, new = ints(transpose.permutation), shape_of(op.operand), shape_of(op.result)
    found = groups(shape, new)
    if found is None:
        return None
    order = _ordered(found, shape, permutation)
    after = [d for group in order for d in group.after]
    back = [after.index(d) for d in range(len(new))]
    source = transpose.operand
    if not _increasing(_places(order, shape, permutation)):
        # Channels split into groups were exchanged: exchange them first, last of all dimensions, so that
        # what remains is the move of channels that the next convolution undoes.
        if len(back) < 4 or back != [0, len(back) - 1, *range(1, len(back) - 1)]:
            return None
        source = b.transpose(source, [permutation[d] for group in order for d in group.before])
    return b.transpose(b.reshape(source, [new[d] for d in after]), back)


@moves_reshapes(ReshapeOp)
def reshape_of_repeats(op: ReshapeOp, b: Builder) -> Replacement:
    """Images that grow, every element several times: repeated in the order of the source, and transposed after that."""
    broadcast = defining(op.operand, BroadcastInDimOp)
    places = ints(broadcast.broadcast_dimensions) if broadcast else ()
    if broadcast is None or _increasing(places):
        return None
    shape, new = shape_of(op.operand), shape_of(op.result)
    ends = {place: end for place, end in pairwise((*sorted(places), len(shape)))}  # with the dimensions it got
    order = [*range(min(places)), *(d for place in places for d in range(place, ends[place]))]
    permutation = [order.index(d) for d in range(len(shape))]
    found = groups(shape, new)
    if found is None:
        return None
    moved = _ordered(found, shape, permutation)
    if not _increasing(_places(moved, shape, permutation)):
        return None
    after = [d for group in moved for d in group.after]
    wide = b.broadcast(broadcast.operand, [shape[d] for d in order], [order.index(place) for place in places])
    return b.transpose(b.reshape(wide, [new[d] for d in after]), [after.index(d) for d in range(len(new))])


@moves_reshapes(DotGeneralOp)
def flattened_operand(op: DotGeneralOp, b: Builder) -> Replacement:
    """flatten(transpose(x)) · w is flatten(x) · w', with the rows of the constant w in the order of x."""
    reshape = defining(op.lhs, ReshapeOp)
    transpose = defining(reshape.operand, TransposeOp) if reshape else None
    weights, d = b.constant_of(op.rhs), op.dot_dimension_numbers.data
    if transpose is None or weights is None or len(d.lhs_contracting_dimensions) != 1:
        return None
    permutation, shape = ints(transpose.permutation), shape_of(transpose.result)
    found = groups(shape, shape_of(op.lhs))
    flat = [group for group in found or () if group.after == list(d.lhs_contracting_dimensions)]
    if found is None or not flat or weights.nbytes > FOLDED_WEIGHTS:
        return None
    sorted_dims = sorted(flat[0].before, key=lambda dim: permutation[dim])
    sorted_groups = [Group(sorted_dims, g.after) if g is flat[0] else g for g in found]
    if not _increasing(_places(sorted_groups, shape, permutation)):
        return None
    axis = d.rhs_contracting_dimensions[0]
    sizes, rest = [shape[dim] for dim in flat[0].before], weights.shape
    split = weights.reshape(*rest[:axis], *sizes, *rest[axis + 1 :])
    inner = [axis + flat[0].before.index(dim) for dim in sorted_dims]
    order = [*range(axis), *inner, *range(axis + len(sizes), split.ndim)]
    if is_identity(order):
        return None
    new = b.constant(split.transpose(order).reshape(rest), "permuted")
    return b.value(dot_like(op, b.reshape(transpose.operand, shape_of(op.lhs)), new))
