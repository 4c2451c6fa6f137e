"""The k lowest of each row of integers: the k-th lowest is found bit by bit, by counting how many are below.

    %t = lowest integer                                       // so many loops as there are bits
    for every bit, the highest first:  %t = %t + 2^bit where fewer than k of the row are below that
    chosen: what is below %t, and of what equals it the first ones, until there are k

Each loop reads all numbers, in vectors; nothing is moved before it is known what belongs to the k. Of many numbers the
blocks come first whose lowest ones are among the k lowest of those: nothing else can be in the k.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType, i32, i64

from ...compiler.dtypes import dtype_of
from ...dialects import stablehlo as hlo
from .elements import Elements, choose, scalar
from .expansion import counted_loop

_SIDE = 4  # numbers of a block; blocks of blocks are searched in the same way
_SPREAD = 4  # blocks for each of the `k` at least
_MANY = 128  # numbers, up to which all are counted
_HALF = 32  # bits


def lowest(x: Elements, k: int) -> Elements:
    """Where the `k` lowest of each row are, of equals the first, in the order of their places: [rows, k], i64."""
    rows, n = x.shape
    if n <= _MANY or n < _SIDE * _SPREAD * k:
        return _by_counting(x, k)
    blocks = -(-n // _SIDE)
    top = scalar(x, 2 ** (_bits(x) - 1) - 1)
    padded = x.of(hlo.PadOp(x.value, top.value, edge_padding_low=[0, 0], edge_padding_high=[0, _SIDE * blocks - n]))
    view = padded.reshape(rows, blocks, _SIDE)
    chosen = lowest(x.of(hlo.ReduceOp([view.value], [top.value], dimensions=[2], body="minimum")), k)
    inside = _by_counting(taken(view, chosen).reshape(rows, _SIDE * k), k)
    block = taken(chosen, inside >> (_SIDE.bit_length() - 1))
    return block * _SIDE + (inside & (_SIDE - 1))


def taken(x: Elements, places: Elements) -> Elements:
    """From each row of `x` [rows, n, ...] what lies at its places [rows, m]: [rows, m, ...]."""
    rows, _, *rest = x.shape
    if rows == 1:
        flat = hlo.GatherOp(
            x.reshape(*x.shape[1:]).value,
            places.reshape(*places.shape[1:]).value,
            offset_dims=range(1, 1 + len(rest)),
            collapsed_slice_dims=[0],
            start_index_map=[0],
            index_vector_dim=1,
            slice_sizes=[1, *rest],
        )
        return x.of(flat).reshape(1, places.shape[1], *rest)
    return x.of(
        hlo.GatherOp(
            x.value,
            places.value,
            offset_dims=range(2, 2 + len(rest)),
            collapsed_slice_dims=[1],
            operand_batching_dims=[0],
            start_indices_batching_dims=[0],
            start_index_map=[1],
            index_vector_dim=2,
            slice_sizes=[1, 1, *rest],
        )
    )


def _bits(x: Elements) -> int:
    return 8 * dtype_of(x.element_type).itemsize


def _by_counting(x: Elements, k: int) -> Elements:
    rows, n = x.shape
    if k == n:
        return x.of(hlo.IotaOp(TensorType(i64, [rows, n]), 1))
    bits = _bits(x)
    start = scalar(x, -(2 ** (bits - 1))).broadcast((rows,), ())

    def step(at: Elements, state: Sequence[Elements]) -> Sequence[Elements]:
        (found,) = state
        bit = scalar(found, 1) << (scalar(found, bits - 1) - at.convert(x.element_type))
        above = found + bit.broadcast((rows,), ())
        below = x.within(at.insert) < above.broadcast((rows, n), (0,))
        return [choose(_number(below) < k, above, found)]

    (kth,) = counted_loop(x.insert, bits, [start], step)
    least = kth.broadcast((rows, n), (0,))
    below, equal = ((mask.convert(i64)) for mask in (x < least, x.equals(least)))
    return _first_ones(_sums((below << _HALF) | equal), k)


def _number(mask: Elements) -> Elements:
    """How many of each row are true."""
    ones = mask.convert(i32)
    return ones.of(hlo.ReduceOp([ones.value], [scalar(ones, 0).value], dimensions=[1], body="add"))


def _sums(x: Elements) -> Elements:
    """What the numbers of a row come to up to each."""
    n = x.shape[1]
    start, padding = [scalar(x, 0).value], [[0, 0], [n - 1, 0]]
    return x.of(hlo.ReduceWindowOp([x.value], start, body="add", window_dimensions=[1, n], padding=padding))


def _first_ones(numbers: Elements, k: int) -> Elements:
    """Where `k` numbers are: all that are below, and of those that are equal the first ones.

    Given is how many of a row are below and, in the lower half, equal up to each. That grows along a row, so each of
    the places is found by halving what is left.
    """
    rows, n = numbers.shape
    every = numbers.part(1, n - 1, n).reshape(rows)
    missing = (scalar(every, k).broadcast((rows,), ()) - (every >> _HALF)).broadcast((rows, k), (0,))
    wanted = numbers.of(hlo.IotaOp(TensorType(i64, [rows, k]), 1))
    half = 1 << (n.bit_length() - 1)

    def step(at: Elements, state: Sequence[Elements]) -> Sequence[Elements]:
        (found,) = state
        further = found + (scalar(found, half) >> at.convert(i64)).broadcast((rows, k), ())
        there = taken(numbers.within(at.insert), further.minimum(n) - 1)
        before = (there >> _HALF) + (there & (2**_HALF - 1)).minimum(missing.within(at.insert))
        return [choose((further <= n) & (before <= wanted.within(at.insert)), further, found)]

    (places,) = counted_loop(numbers.insert, half.bit_length(), [scalar(wanted, 0).broadcast((rows, k), ())], step)
    return places
