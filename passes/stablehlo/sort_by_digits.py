"""stablehlo-sort-by-digits: what is sorted by one number becomes a sort of integers, which needs no comparisons.

before: %y, %j = stablehlo.sort(%x, %i) by a < b                       // f32, and whatever goes along
after:  %k = integers in the order of %x, above the place of each      // i64
        %s = stablehlo.sort(%k) by a < b {lamina.bits = [32, 64]}
        %p = the places in %s;  %y, %j = %x, %i at %p

`lamina.bits` says that by the other bits the operands are in order already. `convert-stablehlo-to-linalg` makes of it
one pass over the numbers for every few of these bits: each is counted, and put behind all of those before it
(Knuth, The Art of Computer Programming 5.2.5). That takes time in proportion to the numbers, sorting by merging also
to the logarithm of how many there are: 768 take 5 microseconds so on Zen 4, and 48 by merging.

Comparators that it knows: `a < b` and `a > b`, of floats in their total order or with NaN above all; also of what the
same ops make of both. Numbers of 64 bits go along with their places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    DenseArrayBase,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    ModuleOp,
    Signedness,
    TensorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects import stablehlo as hlo
from ...dialects.stablehlo.attributes import ComparisonType, ints
from ...dialects.stablehlo.canonical.arithmetic import ELEMENTWISE
from ...dialects.stablehlo.canonical.rules import shape_of
from .elements import Elements, before, choose
from .lowest import lowest, taken
from .top_k import counted

BITS = "lamina.bits"  # of the first operand, those that say where it goes: from, and up to without
LEAST = 32  # numbers; fewer are merged
PLACE = 32  # bits of a place beside a number of as many
COUNTED = 64  # numbers up to which each is compared with all others
_MOST_OPS = 16  # of a comparator, on each side


@dataclass(frozen=True)
class SortByDigits(ModulePass):
    """Rewrites the sorts by one number."""

    name = "stablehlo-sort-by-digits"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for sort in [inner for inner in op.walk() if isinstance(inner, hlo.SortOp)]:
            _rewrite(sort)


@dataclass(frozen=True)
class Key:
    """What a comparator goes by: an input, the ops that are applied to it, and how what they come to is ordered."""

    argument: BlockArgument
    ops: tuple[Operation, ...]
    value: SSAValue  # of the comparator's first side
    descending: bool
    total: bool  # floats by their bits; else zeros are equal, and NaN above all


def _rewrite(op: hlo.SortOp) -> None:
    shape = op.inputs[0].type.get_shape()
    axis = (len(shape) - 1 if op.dimension is None else op.dimension.value.data) % max(len(shape), 1)
    if BITS in op.attributes or not shape or not prod(shape) or not LEAST <= shape[axis] < 2 ** (PLACE - 1):
        return
    key = find_key(op)
    if key is None:
        return
    insert = before(op)
    numbers = _ordered(_applied(key, Elements(insert, op.inputs[key.argument.index // 2])), key)
    order = [*(d for d in range(len(shape)) if d != axis), axis]
    back = sorted(range(len(order)), key=order.__getitem__)
    n, rows = shape[axis], prod(shape) // shape[axis]
    wanted = _wanted(op, axis)
    places = _places(_transposed(numbers, order).reshape(rows, n), _width(_element(key.value)), wanted)
    for value, old in zip(op.inputs, op.results, strict=True):
        moved = _transposed(Elements(insert, value), order)
        if isinstance(value.owner, hlo.IotaOp) and value.owner.iota_dimension.value.data == axis:
            found = places.convert(moved.element_type)
        else:
            found = taken(moved.reshape(rows, n), places)
        new = _transposed(found.reshape(*moved.shape[:-1], wanted), back)
        new.value.name_hint = old.name_hint
        for use in list(old.uses) if wanted < n else ():
            assert isinstance(use.operation, hlo.SliceOp)
            use.operation.result.replace_all_uses_with(new.part(axis, 0, shape_of(use.operation.result)[axis]).value)
            use.operation.detach()
            use.operation.erase()
        old.replace_all_uses_with(new.value)
    op.detach()
    op.erase()


def _wanted(op: hlo.SortOp, axis: int) -> int:
    """How many of the first ones of each row are asked for, if it is at most a half of them; else all."""
    n = op.inputs[0].type.get_shape()[axis]
    most = 0
    for use in (use for result in op.results for use in result.uses):
        part = use.operation
        if not isinstance(part, hlo.SliceOp) or any(ints(part.start_indices)) or {*ints(part.strides)} != {1}:
            return n
        shape, whole = shape_of(part.result), shape_of(part.operand)
        if (*shape[:axis], *shape[axis + 1 :]) != (*whole[:axis], *whole[axis + 1 :]):
            return n
        most = max(most, shape[axis])
    return most if 0 < 2 * most <= n else n


def find_key(op: hlo.SortOp) -> Key | None:
    """What the comparator of a sort goes by, if that is one number."""
    block = op.comparator.block
    last = block.last_op
    if not isinstance(last, hlo.ReturnOp):
        return None
    compare = last.operands[0].owner
    total = False
    if isinstance(compare, hlo.OrOp):  # or the one is NaN and the other is not
        plain, nan = (operand.owner for operand in compare.operands)
        if isinstance(plain, hlo.AndOp):
            plain, nan = nan, plain
        if not isinstance(plain, hlo.CompareOp) or _is_total(plain) or not _is_nan_above(plain, nan):
            return None
        compare = plain
    elif isinstance(compare, hlo.CompareOp) and isinstance(_element(compare.lhs), AnyFloat):
        if not _is_total(compare):
            return None
        total = True
    if not isinstance(compare, hlo.CompareOp) or _direction(compare) not in ("LT", "GT"):
        return None
    left, right = _source(compare.lhs), _source(compare.rhs)
    if left is None or right is None or not _width(_element(compare.lhs)):
        return None
    one, other = left[0], right[0]
    if one.block is not block or other.block is not block:
        return None
    if one.index % 2 or other.index != one.index + 1 or not _alike(compare.lhs, compare.rhs, (one, other)):
        return None
    return Key(one, tuple(left[1]), compare.lhs, _direction(compare) == "GT", total)


def _element(value: SSAValue) -> Attribute:
    assert isinstance(value.type, TensorType)
    return value.type.element_type


def _direction(compare: hlo.CompareOp) -> str:
    return compare.comparison_direction.data.value


def _is_total(compare: hlo.CompareOp) -> bool:
    return compare.compare_type is not None and compare.compare_type.data == ComparisonType.TOTALORDER


def _width(element: Attribute) -> int:
    """The bits of a number that has an order of its own; 0 for others."""
    match element:
        case IntegerType() if element.width.data in (8, 16, 32, 64):
            return element.width.data
        case Float16Type() | BFloat16Type() | Float32Type() | Float64Type():
            return element.bitwidth
        case _:
            return 0


def _is_nan_above(plain: hlo.CompareOp, other: object) -> bool:
    """Whether `other` says that the one that is to come last is NaN, and the one to come first is not."""
    if not isinstance(other, hlo.AndOp) or not isinstance(_element(plain.lhs), AnyFloat):
        return False
    less, more = (plain.lhs, plain.rhs) if _direction(plain) == "LT" else (plain.rhs, plain.lhs)
    tests = {
        (_direction(test), *test.operands)
        for test in (operand.owner for operand in other.operands)
        if isinstance(test, hlo.CompareOp)
    }
    return tests == {("NE", more, more), ("EQ", less, less)}


def _source(value: SSAValue) -> tuple[BlockArgument, list[Operation]] | None:
    """The only argument that a scalar is computed from, and the ops that do that, in order."""
    found: set[BlockArgument] = set()
    ops: list[Operation] = []

    def visit(value: SSAValue) -> bool:
        op = value.owner
        if isinstance(value, BlockArgument):
            found.add(value)
        elif isinstance(op, Operation) and op not in ops:
            known = isinstance(op, (hlo.ConstantOp, *ELEMENTWISE)) and len(ops) <= _MOST_OPS
            if not known or not all(map(visit, op.operands)):
                return False
            ops.append(op)
        return True

    return (found.pop(), ops) if visit(value) and len(found) == 1 else None


def _alike(left: SSAValue, right: SSAValue, args: tuple[SSAValue, SSAValue]) -> bool:
    """Whether both sides are computed by the same ops, each from its argument."""
    if (left, right) == args:
        return True
    a, b = left.owner, right.owner
    return (
        isinstance(a, Operation)
        and isinstance(b, Operation)
        and (a.name, a.properties, a.attributes) == (b.name, b.properties, b.attributes)
        and len(a.operands) == len(b.operands)
        and all(_alike(x, y, args) for x, y in zip(a.operands, b.operands, strict=True))
    )


def _applied(key: Key, x: Elements) -> Elements:
    """What the ops of a comparator make of a whole input."""
    values: dict[SSAValue, SSAValue] = {key.argument: x.value}
    for op in key.ops:
        if isinstance(op, hlo.ConstantOp):
            scalar = x.of(op.clone())
            values[op.results[0]] = scalar.broadcast(x.shape, ()).value
            continue
        kind = TensorType(_element(op.results[0]), x.shape)
        operands = [values[operand] for operand in op.operands]
        new = type(op).create(operands=operands, result_types=[kind], properties=dict(op.properties))
        values[op.results[0]] = x.insert(new).results[0]
    return Elements(x.insert, values[key.value])


def _ordered(x: Elements, key: Key) -> Elements:
    """Signed integers in the order of a key: of 32 bits, or of 64 where it has more."""
    element = x.element_type
    width = _width(element)
    wide = i64 if width > PLACE else i32
    if isinstance(element, IntegerType):
        numbers = x.convert(wide)
        if element.signedness.data == Signedness.UNSIGNED:
            numbers = numbers - 2 ** (width - 1)
    else:
        if not key.total:
            x = choose(x.equals(0.0), x.like(0.0), x)
            x = choose(x.equals(x), x, float("nan"))
        bits = x.of(hlo.BitcastConvertOp(x.value, IntegerType(width)))
        numbers = choose(bits < 0, bits ^ (2 ** (width - 1) - 1), bits).convert(wide)
    return ~numbers if key.descending else numbers


def _transposed(x: Elements, order: Sequence[int]) -> Elements:
    return x if list(order) == sorted(order) else x.of(hlo.TransposeOp(x.value, permutation=list(order)))


def _places(keys: Elements, width: int, wanted: int) -> Elements:
    """Where the first elements of each row come from, of keys of so many bits."""
    if wanted == keys.shape[1]:
        return _in_order(keys, keys.of(hlo.IotaOp(TensorType(i64, keys.shape), 1)), width)
    among = lowest(keys, wanted)
    return _in_order(taken(keys, among), among, width)


def _in_order(keys: Elements, places: Elements, width: int) -> Elements:
    """The places, which grow, in the order of the keys."""
    if width > PLACE:
        return _by_bits([keys, places], 0, width)[1]
    packed = (keys.convert(i64) << PLACE) | places
    found = counted(packed) if keys.shape[1] <= COUNTED else _by_bits([packed], PLACE, PLACE + width)[0]
    return found & (2**PLACE - 1)


def _by_bits(values: Sequence[Elements], low: int, high: int) -> list[Elements]:
    region, block = hlo.single_block([TensorType(i64, []) for _ in range(2 * len(values))])
    compare = hlo.CompareOp(block.args[0], block.args[1], comparison_direction="LT")
    block.add_ops([compare, hlo.ReturnOp([compare.result])])
    op = hlo.SortOp([value.value for value in values], region, dimension=1, is_stable=True)
    if values[0].shape[1] >= LEAST:
        op.attributes[BITS] = DenseArrayBase.from_list(i64, [low, high])
    return [Elements(values[0].insert, result) for result in values[0].insert(op).results]
