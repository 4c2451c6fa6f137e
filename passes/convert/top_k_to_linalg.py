"""convert-top-k-to-linalg: the first few along a dimension that is not the last are found in one pass over it.

before: %y, %i = stablehlo.composite "lamina.top_k" %x {composite_attributes = {k = 2, axis = 0, largest = 1}, ...}
            : (tensor<100x64xf32>) -> (tensor<2x64xf32>, tensor<2x64xi64>)
after:  %a, %b = linalg.generic {iterator_types = ["reduction", "parallel"]} ins(%x) outs(%lowest, %lowest) {
          %n = the key of %x above its place, as an f64       // no two are equal, none is NaN
          yield the larger of %n and %a, the larger of the other one and %b
        } -> tensor<64xf64>, tensor<64xf64>
        %i = the places in %a and %b;  %y = what %x has there

Columns are the lanes of vectors, each with a list of its own. A key is an integer of 32 bits in the order that is asked
for, NaN above all numbers and both zeros equal; with 20 bits that fall with the place below it, and the exponent of 1
above, it is a double between 1 and 2: processors have the larger and the smaller of two doubles as one instruction,
twice as many at a time as of integers of 64 bits. Decompositions that nobody refers to go.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    Float64Type,
    IntegerType,
    ModuleOp,
    Signedness,
    TensorType,
    f32,
    f64,
    i32,
    i64,
)
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass

from ...compiler.diagnostics import LaminaError
from ...dialects import stablehlo as hlo
from ...dialects.linalg import FillOp, GenericOp, IndexOp, YieldOp
from ...dialects.stablehlo.composites import MOST_PLACES, TOP_K
from ...dialects.tensor import EmptyOp
from ..stablehlo.elements import Elements, before
from .composite_replacement import integer_said, replace_composites
from .stablehlo_to_linalg.rules import PARALLEL, REDUCTION, Scalars, scalar_constant

_BITS = 32  # of a key
_SHIFT = MOST_PLACES.bit_length() - 1
_ONE = 0x3FF << 52  # as the bits of a double


@dataclass(frozen=True)
class ConvertTopKToLinalg(ModulePass):
    """Lowers the composite."""

    name = "convert-top-k-to-linalg"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        replace_composites(op, TOP_K, _lowered)


def _lowered(op: hlo.CompositeOp) -> list[SSAValue]:
    k, along, largest = (integer_said(op, name) for name in ("k", "axis", "largest"))
    x = _checked(op, k, along)
    lists = _inserted(x, k, along, bool(largest))
    column = [1 if i == along else n for i, n in enumerate(x.shape)]
    parts = [part.reshape(*column).value for part in lists]
    whole = x.of(hlo.ConcatenateOp(parts, dimension=along))
    low = x.of(hlo.BitcastConvertOp(whole.value, i64)) & (MOST_PLACES - 1)
    places = (MOST_PLACES - 1) - low
    taken = x.of(hlo.GatherOp.elements(x.value, places.value, along, len(x.shape)))
    return [taken.value, places.value]


def _checked(op: hlo.CompositeOp, k: int, along: int) -> Elements:
    """The operand. Raises LaminaError where operand and results are not as TOP_K has them."""
    types = [value.type for value in (*op.inputs, *op.results)]
    x = Elements(before(op), op.inputs[0]) if op.inputs else None
    if x is not None and 0 <= along < len(x.shape) and 0 < k <= x.shape[along] <= MOST_PLACES:
        kind, shape = x.element_type, [k if i == along else n for i, n in enumerate(x.shape)]
        narrow = isinstance(kind, AnyFloat) and not isinstance(kind, Float64Type)
        narrow |= isinstance(kind, IntegerType) and kind.width.data <= _BITS
        if narrow and types[1:] == [TensorType(kind, shape), TensorType(i64, shape)]:
            return x
    told, wanted = ", ".join(map(str, types)), "numbers of at most 32 bits, the first k along axis, places of i64"
    raise LaminaError(f'composite "{TOP_K}" of k = {k}, axis = {along} with {told}; expected {wanted}', where=op)


def _inserted(x: Elements, k: int, along: int, largest: bool) -> list[Elements]:
    """The first one of every column, the second one, and so on, as doubles that hold their places."""
    rank = len(x.shape)
    numbers = _signed(x)
    columns = TensorType(f64, [n for i, n in enumerate(x.shape) if i != along])
    none = x.insert(scalar_constant(-inf, f64)).results[0]
    outputs = [x.insert(FillOp(none, x.insert(EmptyOp([], columns)).results[0])).results[0] for _ in range(k)]
    block = Block(arg_types=[numbers.element_type, *[f64] * k])
    s = Scalars(block)
    new = _packed(s, _key(s, block.args[0], largest), along)
    found: list[SSAValue] = []
    for old in block.args[1:]:
        first = s(arith.CmpfOp(new, old, "ogt"))
        found.append(s(arith.SelectOp(first, new, old)))
        new = s(arith.SelectOp(first, old, new))
    block.add_op(YieldOp(*found))
    kept = AffineMap(rank, 0, tuple(AffineExpr.dimension(i) for i in range(rank) if i != along))
    maps = [AffineMap.identity(rank), *[kept] * k]
    iterators = [REDUCTION if i == along else PARALLEL for i in range(rank)]
    op = x.insert(GenericOp.of([numbers.value], outputs, maps, iterators, Region(block)))
    return [Elements(x.insert, result) for result in op.results]


def _signed(x: Elements) -> Elements:
    """As f32, or as i32 in the same order."""
    kind = x.element_type
    if isinstance(kind, AnyFloat):
        return x.convert(f32)
    assert isinstance(kind, IntegerType)
    if kind.width.data == _BITS and kind.signedness.data == Signedness.UNSIGNED:
        return x.of(hlo.BitcastConvertOp(x.value, i32)) ^ (1 << _BITS - 1)
    return x.convert(i32)


def _key(s: Scalars, x: SSAValue, largest: bool) -> SSAValue:
    """An i32, the first one the largest."""
    key = x
    if x.type == f32:
        zero, most = s.constant(0.0, f32), s.constant((1 << _BITS - 1) - 1, i32)
        bits = s(arith.BitcastOp(s(arith.SelectOp(s(arith.CmpfOp(x, zero, "oeq")), zero, x)), i32))
        sign = s(arith.ShRSIOp(bits, s.constant(_BITS - 1, i32)))
        ordered = s(arith.XOrIOp(bits, s(arith.AndIOp(sign, most))))
        key = s(arith.SelectOp(s(arith.CmpfOp(x, x, "oeq")), ordered, most))
    return key if largest else s(arith.XOrIOp(key, s.constant(-1, i32)))


def _packed(s: Scalars, key: SSAValue, along: int) -> SSAValue:
    """A double between 1 and 2 whose order is that of the keys, of equal ones the lower place the larger."""
    high = s(arith.ShLIOp(s(arith.ExtSIOp(key, i64)), s.constant(_SHIFT, i64)))
    last = _ONE + (1 << _BITS - 1 + _SHIFT) + MOST_PLACES - 1  # the second term: the lowest key has no bits
    place = s(arith.IndexCastOp(s(IndexOp(along)), i64))
    return s(arith.BitcastOp(s(arith.AddiOp(high, s(arith.SubiOp(s.constant(last, i64), place)))), f64))
