"""Says the functions of CHLO that no machine has in ops of StableHLO, and broadcasts where operands do it silently.

before: %y = chlo.lgamma %x : tensor<4xf32> -> tensor<4xf32>
after:  %w = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf64>
        ... Lanczos's approximation in f64 ...
        %y = stablehlo.convert %v : (tensor<4xf64>) -> tensor<4xf32>

Special functions are computed in f64 and rounded once. `erf` and the functions of angles stay: they have polynomials
of their own further down.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ComplexType, ModuleOp, TensorType, f64, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from ...compiler.context import lamina_context
from ...compiler.dtypes import dtype_of, element_type_of
from ...compiler.machine import Machine
from ...compiler.rewriting import GreedyRewriter, Pattern
from ...dialects import stablehlo as hlo
from ...dialects.stablehlo import chlo, chlo_binary, special_functions
from ...dialects.stablehlo.canonical.rules import Builder, Replacement, RuleTable, element_type, shape_of, tensor_type
from ...dialects.stablehlo.chlo_structured import ChloConstantOp, ConstantLikeOp, RaggedDotOp, TopKOp
from . import ragged_rows
from .elements import Elements
from .scan_loops import expand_scans
from .top_k import is_served
from .top_k import top_k as largest

rules = RuleTable()

_FEW = 8  # to be found in rows of at most
_SHORT = 256


@dataclass(frozen=True)
class DecomposeChlo(ModulePass):
    """CHLO becomes StableHLO, but for what is lowered as it stands."""

    name = "stablehlo-decompose-chlo"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if any(inner.dialect_name() == "chlo" for inner in op.walk()):
            ours = lamina_context(ctx)
            expand_scans(op, ours.weights)
            served = RuleTable()
            served(TopKOp)(partial(top_k_in_blocks, machine=ours.machine))
            served(RaggedDotOp)(partial(ragged_rows.in_tiles, machine=ours.machine))
            tables = [table.patterns(ours.weights) for table in (served, rules)]

            def patterns(kind: type[Operation]) -> tuple[Pattern, ...]:
                return tuple(pattern for table in tables for pattern in table(kind))

            GreedyRewriter(ours, patterns, fold=False).run(op)


class Value:
    """A tensor of f64 or of booleans, with the operators that special functions are written in."""

    def __init__(self, b: Builder, value: SSAValue):
        self.b = b
        self.value = value

    def _of(self, other: Value | float) -> SSAValue:
        return other.value if isinstance(other, Value) else self.b.splat(np.float64(other), tensor_type(self.value))

    def _with(self, kind: Callable[..., Operation], other: Value | float, swapped: bool = False) -> Value:
        pair = (self._of(other), self.value) if swapped else (self.value, self._of(other))
        return Value(self.b, self.b.value(kind(*pair)))

    def _compare(self, direction: str, other: Value | float) -> Value:
        op = hlo.CompareOp(self.value, self._of(other), comparison_direction=direction)
        return Value(self.b, self.b.value(op))

    def __add__(self, other: Value | float) -> Value:
        return self._with(hlo.AddOp, other)

    def __sub__(self, other: Value | float) -> Value:
        return self._with(hlo.SubtractOp, other)

    def __mul__(self, other: Value | float) -> Value:
        return self._with(hlo.MultiplyOp, other)

    def __truediv__(self, other: Value | float) -> Value:
        return self._with(hlo.DivideOp, other)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other: float) -> Value:
        return self._with(hlo.SubtractOp, other, True)

    def __rtruediv__(self, other: float) -> Value:
        return self._with(hlo.DivideOp, other, True)

    def __neg__(self) -> Value:
        return Value(self.b, self.b.value(hlo.NegateOp(self.value)))

    def __lt__(self, other: Value | float) -> Value:
        return self._compare("LT", other)

    def __le__(self, other: Value | float) -> Value:
        return self._compare("LE", other)

    def __gt__(self, other: Value | float) -> Value:
        return self._compare("GT", other)

    def __ge__(self, other: Value | float) -> Value:
        return self._compare("GE", other)

    def __eq__(self, other: Any) -> Any:
        return self._compare("EQ", other)

    def __and__(self, other: Value) -> Value:
        return self._with(hlo.AndOp, other)

    def __or__(self, other: Value) -> Value:
        return self._with(hlo.OrOp, other)

    __hash__ = None  # pyright: ignore[reportAssignmentType]


class Mathematics:
    """NumPy's names for ops."""

    def __init__(self, b: Builder):
        self.b = b

    def _op(self, kind: Callable[..., Operation], *values: Value) -> Value:
        return Value(self.b, self.b.value(kind(*(v.value for v in values))))

    def full(self, like: Value, element: float) -> Value:
        return Value(self.b, self.b.splat(np.float64(element), tensor_type(like.value)))

    def where(self, chosen: Value, yes: Value, no: Value) -> Value:
        return self._op(hlo.SelectOp, chosen, yes, no)

    def exp(self, x: Value) -> Value:
        return self._op(hlo.ExponentialOp, x)

    def log(self, x: Value) -> Value:
        return self._op(hlo.LogOp, x)

    def log1p(self, x: Value) -> Value:
        return self._op(hlo.LogPlusOneOp, x)

    def sqrt(self, x: Value) -> Value:
        return self._op(hlo.SqrtOp, x)

    def abs(self, x: Value) -> Value:
        return self._op(hlo.AbsOp, x)

    def floor(self, x: Value) -> Value:
        return self._op(hlo.FloorOp, x)

    def sin(self, x: Value) -> Value:
        return self._op(hlo.SineOp, x)

    def cos(self, x: Value) -> Value:
        return self._op(hlo.CosineOp, x)

    def power(self, x: Value, y: Value) -> Value:
        return self._op(hlo.PowerOp, x, y)

    def clip(self, x: Value, low: float, high: float) -> Value:
        """NaN stays."""
        floor = x._with(hlo.MaximumOp, low)  # pyright: ignore[reportPrivateUsage]
        return floor if high == inf else floor._with(hlo.MinimumOp, high)  # pyright: ignore[reportPrivateUsage]

    def round32(self, x: Value) -> Value:
        narrow = self.b.value(hlo.ConvertOp(x.value, element_type_of(np.float32)))
        return Value(self.b, self.b.value(hlo.ConvertOp(narrow, f64)))


def _special(name: str) -> Callable[[Any, Builder], Replacement]:
    function = getattr(special_functions, name)

    def rule(op: Operation, b: Builder) -> Replacement:
        wide = [Value(b, _converted(b, v, f64)) for v in op.operands]
        result = function(Mathematics(b), *wide).value
        return _converted(b, result, element_type(op.results[0]))

    return rule


def _converted(b: Builder, value: SSAValue, element: Attribute) -> SSAValue:
    return value if element_type(value) == element else b.value(hlo.ConvertOp(value, element))


for _name, _op in {
    "erfc": chlo.ErfcOp,
    "erf_inv": chlo.ErfInvOp,
    "lgamma": chlo.LgammaOp,
    "digamma": chlo.DigammaOp,
    "bessel_i1e": chlo.BesselI1eOp,
    "zeta": chlo_binary.ZetaOp,
    "polygamma": chlo_binary.PolygammaOp,
}.items():
    rules(_op)(_special(_name))


@rules(chlo.TanOp)
def tan(op: chlo.TanOp, b: Builder) -> Replacement:
    return b.value(hlo.TanOp(op.operand))


@rules(chlo.SquareOp)
def square(op: chlo.SquareOp, b: Builder) -> Replacement:
    return b.value(hlo.MultiplyOp(op.operand, op.operand))


@rules(chlo.ConjOp)
def conj(op: chlo.ConjOp, b: Builder) -> Replacement:
    if not isinstance(element_type(op.operand), ComplexType):
        return op.operand
    real, imaginary = b.value(hlo.RealOp(op.operand)), b.value(hlo.ImagOp(op.operand))
    return b.value(hlo.ComplexOp(real, b.value(hlo.NegateOp(imaginary))))


@rules(chlo.IsInfOp, chlo.IsPosInfOp, chlo.IsNegInfOp)
def is_infinite(op: chlo.ChloPredicateOp, b: Builder) -> Replacement:
    value = b.value(hlo.AbsOp(op.operand)) if isinstance(op, chlo.IsInfOp) else op.operand
    kind = tensor_type(op.operand)
    bound = -inf if isinstance(op, chlo.IsNegInfOp) else inf
    infinite = b.splat(np.array(bound).astype(dtype_of(kind)), kind)
    return b.value(hlo.CompareOp(value, infinite, comparison_direction="EQ"))


@rules(chlo_binary.NextAfterOp)
def next_after(op: chlo_binary.NextAfterOp, b: Builder) -> Replacement:
    """Bits of a float count up away from zero."""
    x, y, kind = op.lhs, op.rhs, tensor_type(op.lhs)
    floats = dtype_of(kind)
    integers = np.dtype(f"i{floats.itemsize}")
    bits_kind = TensorType(element_type_of(integers), kind.get_shape())
    bits = b.value(hlo.BitcastConvertOp(x, element_type_of(integers)))

    def compare(left: SSAValue, right: SSAValue, direction: str) -> SSAValue:
        return b.value(hlo.CompareOp(left, right, comparison_direction=direction))

    def whole(number: int) -> SSAValue:
        return b.splat(integers.type(number), bits_kind)

    zero = b.splat(np.array(0).astype(floats), kind)
    away = b.value(hlo.XorOp(compare(x, y, "LT"), compare(bits, whole(0), "LT")))
    moved = b.value(hlo.AddOp(bits, b.value(hlo.SelectOp(away, whole(1), whole(-1)))))
    lowest = int(np.iinfo(integers).min)
    smallest = b.value(hlo.SelectOp(compare(y, zero, "LT"), whole(lowest + 1), whole(1)))
    moved = b.value(hlo.SelectOp(compare(x, zero, "EQ"), smallest, moved))
    stepped = b.value(hlo.BitcastConvertOp(moved, kind.element_type))
    result = b.value(hlo.SelectOp(compare(x, y, "EQ"), y, stepped))
    for value in (y, x):
        result = b.value(hlo.SelectOp(compare(value, value, "EQ"), result, value))
    return result


@rules(chlo_binary.MulhiOp)
def mulhi(op: chlo_binary.MulhiOp, b: Builder) -> Replacement:
    """Narrow numbers are multiplied in twice the width."""
    kind = tensor_type(op.lhs)
    dtype = dtype_of(kind)
    if dtype.itemsize >= 8:
        return None
    wide = np.dtype(f"{dtype.kind}{2 * dtype.itemsize}")
    left, right = (_converted(b, v, element_type_of(wide)) for v in op.operands)
    product = b.value(hlo.MultiplyOp(left, right))
    bits = b.splat(wide.type(8 * dtype.itemsize), tensor_type(product))
    shift = hlo.ShiftRightArithmeticOp if dtype.kind == "i" else hlo.ShiftRightLogicalOp
    return _converted(b, b.value(shift(product, bits)), kind.element_type)


@rules(ChloConstantOp)
def constant(op: ChloConstantOp, b: Builder) -> Replacement:
    return b.value(hlo.ConstantOp(op.value))


@rules(ConstantLikeOp)
def constant_like(op: ConstantLikeOp, b: Builder) -> Replacement:
    kind = tensor_type(op.result)
    return b.splat(np.array(cast(Any, op.value).value.data).astype(dtype_of(kind)), kind)


def _placed(b: Builder, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    rank = len(shape_of(value))
    return b.broadcast(value, shape, list(range(len(shape) - rank, len(shape))))


@rules(*chlo_binary.BROADCAST.values(), chlo_binary.BroadcastComplexOp, chlo_binary.BroadcastCompareOp)
def broadcast(op: chlo_binary.ChloBroadcastOp, b: Builder) -> Replacement:
    shape = tensor_type(op.result).get_shape()
    left, right = (_placed(b, value, shape) for value in op.operands)
    if isinstance(op, chlo_binary.BroadcastCompareOp):
        kind = None if op.compare_type is None else op.compare_type.data.value
        direction = op.comparison_direction.data.value
        return b.value(hlo.CompareOp(left, right, comparison_direction=direction, compare_type=kind))
    kinds = {k.name: k for k in (*hlo.StableHLO.operations, *chlo_binary.BINARY)}
    name = op.name.removeprefix("chlo.broadcast_")
    made = kinds.get(f"stablehlo.{name}") or kinds[f"chlo.{name}"]
    return b.value(cast(Any, made)(left, right))


@rules(chlo_binary.BroadcastSelectOp)
def broadcast_select(op: chlo_binary.BroadcastSelectOp, b: Builder) -> Replacement:
    shape = tensor_type(op.result).get_shape()
    return b.value(hlo.SelectOp(*(_placed(b, value, shape) for value in op.operands)))


def top_k_in_blocks(op: TopKOp, b: Builder, machine: Machine) -> Replacement:
    """Those that can be among the k largest in order, where many numbers are compared at once or rows are short.

    Else `stablehlo-sort-by-digits` does better.
    """
    operand, k = Elements(b, op.operand), op.k.value.data
    if not is_served(operand, k) or not (machine.gpu or (k <= _FEW and operand.shape[-1] <= _SHORT)):
        return None
    values, where = largest(operand, k)
    return [values.value, where.convert(i32).value]


@rules(TopKOp)
def top_k(op: TopKOp, b: Builder) -> Replacement:
    """All in order with their places, of which the first are taken."""
    kind = tensor_type(op.operand)
    shape = kind.get_shape()
    last = len(shape) - 1
    places = b.value(hlo.IotaOp(TensorType(i32, shape), last))
    scalars: list[Attribute] = [*[TensorType(kind.element_type, [])] * 2, *[TensorType(i32, [])] * 2]
    region, block = hlo.single_block(scalars)
    floats = dtype_of(kind).kind in "fV" and "int" not in dtype_of(kind).name
    order = "TOTALORDER" if floats else None
    compare = hlo.CompareOp(block.args[0], block.args[1], comparison_direction="GT", compare_type=order)
    block.add_ops([compare, hlo.ReturnOp([compare.result])])
    ordered = b(hlo.SortOp([op.operand, places], region, dimension=last, is_stable=True))
    limits = [*shape[:-1], op.k.value.data]
    starts = [0] * len(shape)
    return [b.value(hlo.SliceOp(v, start_indices=starts, limit_indices=limits)) for v in ordered.results]


@rules(RaggedDotOp)
def ragged_dot(op: RaggedDotOp, b: Builder) -> Replacement:
    """Where a group does not reach, lhs counts as zero: then it is a product like others."""
    numbers, element = op.ragged_dot_dimension_numbers.data, element_type(op.result)
    if op.mode() == 3:
        return b.value(
            hlo.DotGeneralOp(
                op.lhs,
                op.rhs,
                lhs_batching_dimensions=numbers.lhs_batching_dimensions,
                rhs_batching_dimensions=numbers.rhs_batching_dimensions,
                lhs_contracting_dimensions=numbers.lhs_contracting_dimensions,
                rhs_contracting_dimensions=numbers.rhs_contracting_dimensions,
                element_type=element,
            )
        )
    ragged, shape = numbers.lhs_ragged_dimensions[0], shape_of(op.lhs)
    groups = shape_of(op.group_sizes)[0]
    whole = [groups, *shape]
    inside = _inside(b, op.group_sizes, whole, ragged + 1)
    kind = TensorType(element_type(op.lhs), whole)
    zero = b.splat(np.zeros((), dtype_of(kind)), kind)
    lhs = b.broadcast(op.lhs, whole, list(range(1, len(whole))))
    masked = b.value(hlo.SelectOp(inside, lhs, zero))
    batch, summed = (
        [i + 1 for i in part] for part in (numbers.lhs_batching_dimensions, numbers.lhs_contracting_dimensions)
    )
    other_batch, other_summed = list(numbers.rhs_batching_dimensions), list(numbers.rhs_contracting_dimensions)
    if op.mode() == 1:
        summed, other_summed = [0, *summed], [*numbers.rhs_group_dimensions, *other_summed]
    product = b.value(
        hlo.DotGeneralOp(
            masked,
            op.rhs,
            lhs_batching_dimensions=batch,
            rhs_batching_dimensions=other_batch,
            lhs_contracting_dimensions=summed,
            rhs_contracting_dimensions=other_summed,
            element_type=element,
        )
    )
    # of mode 2 the groups come after the batch
    count = len(batch)
    rank = len(shape_of(product))
    order = [count, *range(count), *range(count + 1, rank)] if op.mode() == 2 else list(range(rank))
    return b.transpose(product, order)


def _inside(b: Builder, sizes: SSAValue, shape: Sequence[int], along: int) -> SSAValue:
    """Whether the index along a dimension belongs to the group that the first dimension counts."""
    wide = _converted(b, sizes, i32)
    ends = ragged_rows.running(Elements(b, wide)).value
    starts = b.value(hlo.SubtractOp(ends, wide))
    place = b.value(hlo.IotaOp(TensorType(i32, shape), along))
    after = hlo.CompareOp(place, b.broadcast(starts, shape, [0]), comparison_direction="GE")
    before = hlo.CompareOp(place, b.broadcast(ends, shape, [0]), comparison_direction="LT")
    return b.value(hlo.AndOp(b.value(after), b.value(before)))
