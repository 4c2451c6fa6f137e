"""A kernel seen as a product of matrices: where operands lie in memory as layouts, and what is done to the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, MemRefType, NoneAttr, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap

from ....compiler.dtypes import dtype_of
from ....compiler.layouts import Layout, coalesced, concatenated
from ....dialects.cta import BorderAttr, ViewType
from ....dialects.linalg import FillOp, GenericOp
from ....dialects.linalg.contraction import match_contraction
from ....dialects.linalg.views import linear_form, loop_ranges
from .pads import Padded, is_zero, without_pads

SCRATCH = "lamina.scratch"


@dataclass(frozen=True)
class Matrix:
    """Matrices in a buffer: a layout of three modes, which one, row and column."""

    buffer: SSAValue
    layout: Layout
    first: int = 0
    borders: tuple[BorderAttr, ...] = ()

    @property
    def element(self) -> Attribute:
        """The type of its elements."""
        assert isinstance(self.buffer.type, MemRefType)
        return self.buffer.type.element_type

    @property
    def view(self) -> ViewType:
        """How it is seen."""
        return ViewType.of(self.element, self.layout, self.first, self.borders)


@dataclass(frozen=True)
class Step:
    """One elementwise op behind the product: what stands for each of its inputs; None is the result so far."""

    op: GenericOp
    inputs: tuple[Matrix | SSAValue | None, ...]
    reads_old: bool  # its last argument is the result so far


@dataclass(frozen=True)
class Problem:
    """C = A B for each of a batch, then the `epilogue`, into `result`. A is [m, k], B [k, n]."""

    batch: int
    m: int
    n: int
    k: int
    left: Matrix
    right: Matrix
    result: Matrix
    epilogue: tuple[Step, ...]
    contraction: GenericOp

    @property
    def element_bytes(self) -> int:
        """Of an element of the operands; of the smaller, where they differ."""
        return min(dtype_of(matrix.element).itemsize for matrix in (self.left, self.right))


@dataclass(frozen=True)
class _Loops:
    """The loops of the product by role, each outermost first, and how often they run."""

    batch: tuple[int, ...]
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]
    ranges: tuple[int, ...]

    def matrix(self, value: SSAValue, steps: Sequence[int], first: int = 0) -> Matrix:
        """What goes with the result, with steps along all loops, as matrices of its rows and columns."""
        return Matrix(value, self._layout(steps, self.m, self.n), first)

    def operand(
        self, op: GenericOp, index: int, pads: Mapping[SSAValue, Padded], rows: Sequence[int], columns: Sequence[int]
    ) -> Matrix | None:
        """An operand of the product; what is padded before is seen where it stands, with borders."""
        value = op.operands[index]
        source, low = value, (0,) * len(op.maps[index].results)
        if value in pads:
            source, low = pads[value].source, pads[value].low
        assert isinstance(source.type, MemRefType) and isinstance(value.type, MemRefType)
        shape = source.type.get_shape()
        place = place_of(op, index, shape, low)
        if place is None:
            return None
        borders = tuple(
            BorderAttr.of(self._layout(subscript, rows, columns), start, size)
            for subscript, start, size, padded in zip(
                place.subscripts, place.starts, shape, value.type.get_shape(), strict=True
            )
            if size != padded
        )
        return Matrix(source, self._layout(place.steps, rows, columns), place.first, borders)

    def _layout(self, steps: Sequence[int], rows: Sequence[int], columns: Sequence[int]) -> Layout:
        return concatenated(*(self._mode(steps, dims) for dims in (self.batch, rows, columns)))

    def _mode(self, steps: Sequence[int], dims: Sequence[int]) -> Layout:
        inner_first = [d for d in reversed(dims) if self.ranges[d] != 1]
        if not inner_first:
            return Layout(1, 0)
        return coalesced(Layout(tuple(self.ranges[d] for d in inner_first), tuple(steps[d] for d in inner_first)))


def problem_of(function: FuncOp) -> Problem | None:
    """The product that a kernel is, None where it is none that is taken here."""
    ops = [op for op in function.body.block.ops if not isinstance(op, arith.ConstantOp | ReturnOp)]
    ops, pads = without_pads(ops)
    if len(ops) < 2 or not isinstance(ops[0], FillOp) or not is_zero(ops[0].value):
        return None
    generics = [op for op in ops[1:] if isinstance(op, GenericOp)]
    contraction = generics[0] if generics else None
    if contraction is None or len(generics) != len(ops) - 1 or ops[0].output is not contraction.outputs[0]:
        return None
    found = match_contraction(contraction)
    if found is None or not found.n or not all(map(_is_float, contraction.inputs)):
        return None
    if _element(contraction.outputs[0]) != f32:
        return None
    lhs, rhs, result = (place_of(contraction, i) for i in (found.lhs, found.rhs, 2))
    if lhs is None or rhs is None or result is None:
        return None
    ranges = loop_ranges(contraction)
    if 0 in ranges:
        return None
    near = lhs.steps if 1 in (lhs.steps[d] for d in found.k) else rhs.steps
    summed = tuple(sorted(found.k, key=lambda d: -near[d]))
    loops = _Loops(found.batch, found.m, found.n, summed, ranges)
    left = loops.operand(contraction, found.lhs, pads, loops.m, loops.k)
    right = loops.operand(contraction, found.rhs, pads, loops.k, loops.n)
    if left is None or right is None:
        return None
    order = [expr.position for expr in contraction.maps[2].results if isinstance(expr, AffineDimExpr)]
    epilogue = _epilogue(generics[1:], contraction.outputs[0], loops, order)
    if epilogue is None:
        return None
    final = generics[-1].outputs[0]
    if final is not contraction.outputs[0] and not _is_scratch(contraction.outputs[0], function):
        return None
    batch, m, n, k = (prod(ranges[d] for d in dims) for dims in (loops.batch, loops.m, loops.n, loops.k))
    return Problem(
        batch,
        m,
        n,
        k,
        left,
        right,
        loops.matrix(final, result.steps),
        epilogue,
        contraction,
    )


def _element(value: SSAValue) -> Attribute | None:
    return value.type.element_type if isinstance(value.type, MemRefType) else None


def _is_float(value: SSAValue) -> bool:
    element = _element(value)
    return isinstance(element, AnyFloat) and element.bitwidth <= 32


def _is_scratch(value: SSAValue, function: FuncOp) -> bool:
    """Whether a buffer is used in this kernel alone: one of the last arguments."""
    told = function.attributes.get(SCRATCH)
    count = told.value.data if told is not None else 0  # pyright: ignore
    arguments = function.body.block.args
    return value in arguments[len(arguments) - count :] if count else False


@dataclass(frozen=True)
class Place:
    """Where loops find an operand: how far their steps go and where the first is, along each dimension and in all."""

    subscripts: Sequence[Sequence[int]]
    starts: Sequence[int]
    steps: tuple[int, ...]
    first: int


def place_of(
    op: GenericOp, index: int, shape: Sequence[int] | None = None, low: Sequence[int] | None = None
) -> Place | None:
    """Where an operand is found in a buffer of this shape, its own if none is given, of which so many are before it.

    None where subscripts are not sums of loops.
    """
    type_ = op.operands[index].type
    if not isinstance(type_, MemRefType) or not isinstance(type_.layout, NoneAttr):
        return None
    map: AffineMap = op.maps[index]
    shape = type_.get_shape() if shape is None else shape
    forms: list[list[int]] = []
    starts: list[int] = []
    for expr, before in zip(map.results, low or [0] * len(shape), strict=True):
        form = linear_form(expr)
        if form is None or form[1] < 0 or any(factor < 0 for factor in form[0].values()):
            return None
        forms.append([form[0].get(dim, 0) for dim in range(map.num_dims)])
        starts.append(form[1] - before)
    strides = [prod(shape[i + 1 :]) for i in range(len(forms))]
    steps = tuple(sum(each[d] * n for each, n in zip(forms, strides, strict=True)) for d in range(map.num_dims))
    return Place(forms, starts, steps, sum(start * n for start, n in zip(starts, strides, strict=True)))


def _epilogue(
    generics: Sequence[GenericOp], result: SSAValue, loops: _Loops, order: Sequence[int]
) -> tuple[Step, ...] | None:
    """What follows the product; None where it is not elementwise on the result.

    `order` tells which loop of the product each subscript of the result is: the epilogue's loops are the subscripts.
    """
    found: list[Step] = []
    for op in generics:
        identity = AffineMap.identity(len(op.iterators))
        if "reduction" in op.iterators or len(op.outputs) != 1 or op.maps[-1] != identity:
            return None
        if any(inner.regions or inner.name.startswith(("linalg.index", "memref.")) for inner in op.body.block.ops):
            return None
        target = op.outputs[0]
        reads_old = op.body.block.args[-1].first_use is not None
        if reads_old and target is not result:
            return None
        inputs = [_input(op, i, result, loops, order) for i in range(len(op.inputs))]
        if any(item is op for item in inputs):
            return None
        found.append(Step(op, tuple(inputs), reads_old))  # pyright: ignore
        result = target
    return tuple(found)


def _input(
    op: GenericOp, index: int, result: SSAValue, loops: _Loops, order: Sequence[int]
) -> Matrix | SSAValue | GenericOp | None:
    """What an epilogue reads: the result (None), matrices beside it, a scalar; `op` itself where it cannot be told."""
    value = op.inputs[index]
    if not isinstance(value.type, MemRefType):
        return value
    if value is result:
        return None if op.maps[index] == AffineMap.identity(len(op.iterators)) else op
    place = place_of(op, index)
    if place is None:
        return op
    own = [0] * len(loops.ranges)
    for number, dim in enumerate(order):
        own[dim] = place.steps[number]
    return loops.matrix(value, own, place.first)
