"""A product of rows that come in groups, each with a matrix of its own (`chlo.ragged_dot`), group after group.

before: %y = chlo.ragged_dot(%x, %w, %sizes)                    // 6x3, 4x3x5: rows of group g by %w[g] -> 6x5
after:  %loop:2 = stablehlo.while(%i = 0, %y = 0) ... {         // as long as there are tiles
          %rows = stablehlo.dynamic_slice %x, %first[%i], ...   // a tile of two rows
          %own = stablehlo.dynamic_slice %w, %group[%i], ...    // the matrix of its group
          stablehlo.dynamic_update_slice %y, %rows by %own, %first[%i]
        }

A tile begins with a group or where the tile before it ends. Where it reaches past its group it computes rows of the
next with the wrong matrix, which the next tile overwrites: all tiles are as high, however many rows a group has, and
none reads a matrix that no row needs. So a layer of experts reads those that its tokens chose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import ConstantLike

from ...compiler.machine import Machine
from ...compiler.traits import has
from ...dialects import stablehlo as hlo
from ...dialects.stablehlo.canonical.rules import Builder, Replacement
from ...dialects.stablehlo.chlo_structured import RaggedDotOp
from .elements import Elements, choose, scalar
from .expansion import counted_loop
from .matrices import cut, everywhere, filled, numbered, reduced, spread

Product = Callable[[Elements, Elements], Elements]  # of rows, and the number of their group
HIGHEST = 32  # rows of a tile: each reads its matrix again, and computes up to as many in vain
HIGHEST_COMPUTED = 128  # where the matrix is computed, so that each tile lays it out in panels, too


def in_tiles(op: RaggedDotOp, b: Builder, machine: Machine) -> Replacement:
    """Of matrices whose rows are grouped, on CPUs: a loop that ends when values say so is a round trip on GPUs."""
    x, w, sizes = (Elements(b, value) for value in op.operands)
    numbers = op.ragged_dot_dimension_numbers.data
    plain = op.mode() == 1 and len(x.shape) == 2 and len(w.shape) == 3
    if machine.gpu or not plain or not (x.shape[0] and w.shape[0]):
        return None
    if tuple(numbers.lhs_ragged_dimensions) != (0,) or tuple(numbers.rhs_group_dimensions) != (0,):
        return None
    (summed,) = numbers.rhs_contracting_dimensions
    element = op.result.type.element_type

    def product(rows: Elements, group: Elements) -> Elements:
        matrix = cut(w.within(rows.insert), 0, group)
        product = hlo.DotGeneralOp(
            rows.value,
            matrix.value,
            lhs_contracting_dimensions=[1],
            rhs_contracting_dimensions=[summed - 1],
            element_type=element,
        )
        return rows.of(product)

    highest = HIGHEST if _is_constant(w.value) else HIGHEST_COMPUTED
    return group_by_group(x, sizes, (w.shape[3 - summed], element), product, highest).value


def group_by_group(
    x: Elements, sizes: Elements, made: tuple[int, Attribute], product: Product, highest: int = HIGHEST
) -> Elements:
    """What `product` makes of tiles of rows of `x` and the number of their group; zeros of rows that are in none.

    Groups have as many rows as `sizes` says, one after the other; a tile at most `highest`. A row becomes one of as
    many elements of a type as are `made`. There are rows, and groups.
    """
    (rows, depth), (groups,), (width, element) = x.shape, sizes.shape, made
    high = min(highest, 1 << max(0, (rows - 1) // groups).bit_length())
    sizes = sizes.convert(i32)
    ends = running(sizes)
    tiles, first, group = _tiles(sizes, ends, rows, high)

    def tile(at: Elements, state: Sequence[Elements]) -> Sequence[Elements]:
        (y,) = state
        row, own = (cut(each.within(at.insert), 0, at) for each in (first, group))
        places = [row.value, at.like(0).value]
        part = y.of(hlo.DynamicSliceOp(padded.value, places, slice_sizes=[high, depth]))
        return [y.of(hlo.DynamicUpdateSliceOp(y.value, product(part, own).value, places))]

    edges = {"edge_padding_low": [0, 0], "edge_padding_high": [high, 0], "interior_padding": [0, 0]}
    padded = x.of(hlo.PadOp(x.value, scalar(x, 0).value, **edges))
    (y,) = counted_loop(x.insert, tiles, [filled(x, (rows + high, width), element, 0)], tile)
    y = y.part(0, 0, rows)
    return choose(numbered(y, 0) < everywhere(_last(ends), y), y, 0.0)


def _is_constant(value: SSAValue) -> bool:
    """Whether a value is a constant, perhaps in another order, shape or type."""
    while isinstance(value.owner, hlo.TransposeOp | hlo.ReshapeOp | hlo.ConvertOp):
        value = value.owner.operands[0]
    return isinstance(value.owner, Operation) and has(value.owner, ConstantLike)


def _tiles(sizes: Elements, ends: Elements, rows: int, high: int) -> tuple[Elements, Elements, Elements]:
    """How many tiles there are, and of each the first row and the group, with room for as many as there can be."""
    groups, most = sizes.shape[0], rows // high + sizes.shape[0]
    tiles = (sizes + (high - 1)) / sizes.like(high)
    until = running(tiles)
    square = filled(sizes, (most, groups), i32, 0)
    number, candidate = numbered(square, 0), numbered(square, 1)
    group = reduced(choose(spread(until, square.shape, [1]) <= number, square.like(1), 0), "add", 0, [1])
    skipped = ends - sizes - (until - tiles) * high  # what the first row of a tile of a group is off from its number
    own = candidate.equals(spread(group, square.shape, [0]))
    off = reduced(choose(own, spread(skipped, square.shape, [1]), 0), "add", 0, [1])
    return _last(until), numbered(off, 0) * high + off, group


def running(x: Elements) -> Elements:
    """The sums of a vector of i32 up to each place, that included."""
    square = filled(x, (*x.shape, *x.shape), i32, 0)
    seen = numbered(square, 1) <= numbered(square, 0)
    return reduced(choose(seen, spread(x, square.shape, [1]), 0), "add", 0, [1])


def _last(x: Elements) -> Elements:
    return x.part(0, x.shape[0] - 1, x.shape[0]).reshape()
