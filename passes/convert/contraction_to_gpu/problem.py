"""A kernel seen as a product of matrices: sizes, where operands lie in memory, and what is done to the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, MemRefType, NoneAttr, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap

from ....dialects.linalg import FillOp, GenericOp
from ....dialects.linalg.contraction import match_contraction
from ....dialects.linalg.views import loop_ranges

LANES = 4  # floats of 16 bytes


@dataclass(frozen=True)
class Operand:
    """Where a matrix is in its buffer: elements between neighbours along each batch dimension, and its two others."""

    buffer: SSAValue
    batch: tuple[int, ...]
    outer: int  # along m or, of the right operand, n
    inner: int  # along k; of the result and what is read beside it, n

    def width(self, outer: int, inner: int) -> int:
        """Neighbours that an access can take at a time: all vectors of so many must begin at a multiple."""
        along, across, size = (self.inner, self.outer, inner) if self.inner == 1 else (self.outer, self.inner, outer)
        if along != 1:
            return 1
        width = LANES
        while width > 1 and any(number % width for number in (size, across, *self.batch)):
            width //= 2
        return width


@dataclass(frozen=True)
class Problem:
    """C = A B for each of `batch`, then the `epilogue`, whose ops read what `beside` says besides C."""

    batch: tuple[int, ...]
    m: int
    n: int
    k: int
    left: Operand
    right: Operand
    result: Operand
    epilogue: tuple[GenericOp, ...]
    beside: dict[tuple[GenericOp, int], Operand]
    contraction: GenericOp


@dataclass(frozen=True)
class Roles:
    """The loops of a generic by what they are in the product."""

    batch: tuple[int, ...]
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...] = ()


def problem_of(function: FuncOp) -> Problem | None:
    """The product that a kernel is, None where it is none that is taken here."""
    ops = [op for op in function.body.block.ops if not isinstance(op, arith.ConstantOp | ReturnOp)]
    if len(ops) < 2 or not isinstance(ops[0], FillOp) or not _is_zero(ops[0].value):
        return None
    generics = [op for op in ops[1:] if isinstance(op, GenericOp)]
    contraction = generics[0] if generics else None
    if contraction is None or len(generics) != len(ops) - 1 or ops[0].output is not contraction.outputs[0]:
        return None
    found = match_contraction(contraction)
    if found is None or not all(_is_f32(value) for value in contraction.operands):
        return None
    roles = Roles(found.batch, found.m, found.n, found.k)
    left, right, result = (steps_of(contraction, i) for i in (found.lhs, found.rhs, 2))
    if left is None or right is None or result is None or not found.n:
        return None
    ranges = loop_ranges(contraction)
    merged = [
        _merged(steps, dims, ranges)
        for steps, dims in (
            (left, roles.m),
            (left, roles.k),
            (right, roles.n),
            (right, roles.k),
            (result, roles.m),
            (result, roles.n),
        )
    ]
    if any(step is None for step in merged):
        return None
    lm, lk, rn, rk, cm, cn = (step or 0 for step in merged)
    m, n, k = (prod(ranges[d] for d in dims) for dims in (roles.m, roles.n, roles.k))
    batch = tuple(d for d in roles.batch if ranges[d] != 1)
    if (cn != 1 and n > 1) or n % LANES or 1 not in (lm, lk) or 1 not in (rn, rk):
        return None
    a, b, c = (
        Operand(contraction.operands[i], tuple(steps[d] for d in batch), outer, inner)
        for i, steps, outer, inner in ((found.lhs, left, lm, lk), (found.rhs, right, rn, rk), (2, result, cm, 1))
    )
    if c.width(m, n) != LANES:
        return None
    beside = _beside(generics[1:], contraction, roles, batch)
    if beside is None:
        return None
    return Problem(tuple(ranges[d] for d in batch), m, n, k, a, b, c, tuple(generics[1:]), beside, contraction)


def _is_f32(value: SSAValue) -> bool:
    return isinstance(value.type, MemRefType) and value.type.element_type == f32


def _is_zero(value: SSAValue) -> bool:
    owner = value.owner
    number = owner.properties.get("value") if isinstance(owner, Operation) else None
    return isinstance(number, FloatAttr) and number.value.data == 0.0


def steps_of(op: GenericOp, index: int) -> tuple[int, ...] | None:
    """Elements between neighbours along each loop; None where subscripts are not loops of their own."""
    type_ = op.operands[index].type
    if not isinstance(type_, MemRefType) or not isinstance(type_.layout, NoneAttr):
        return None
    map: AffineMap = op.maps[index]
    shape = type_.get_shape()
    steps = [0] * map.num_dims
    for i, expr in enumerate(map.results):
        if isinstance(expr, AffineDimExpr):
            steps[expr.position] += prod(shape[i + 1 :])
        elif not isinstance(expr, AffineConstantExpr) or expr.value:
            return None
    return tuple(steps)


def _merged(steps: Sequence[int], dims: Sequence[int], ranges: Sequence[int]) -> int | None:
    """The step of several loops walked as one, innermost last; 0 where there are none, None where they are not one."""
    live = [d for d in dims if ranges[d] != 1]
    for outer, inner in pairwise(live):
        if steps[outer] != steps[inner] * ranges[inner]:
            return None
    return steps[live[-1]] if live else 0


def _beside(
    epilogue: Sequence[GenericOp], contraction: GenericOp, roles: Roles, batch: Sequence[int]
) -> dict[tuple[GenericOp, int], Operand] | None:
    """Where the epilogue's other operands lie; None where it is not elementwise on the result, 4 floats at a time."""
    result = contraction.outputs[0]
    order = [expr.position for expr in contraction.maps[2].results if isinstance(expr, AffineDimExpr)]
    found: dict[tuple[GenericOp, int], Operand] = {}
    for op in epilogue:
        identity = AffineMap.identity(len(op.iterators))
        if "reduction" in op.iterators or op.maps[-1] != identity or list(op.outputs) != [result]:
            return None
        if any(inner.regions or inner.name.startswith(("linalg.index", "memref.")) for inner in op.body.block.ops):
            return None
        own = {dim: place for place, dim in enumerate(order)}  # the epilogue's loops are the result's subscripts
        ranges = loop_ranges(op)
        for i, value in enumerate(op.inputs):
            if not isinstance(value.type, MemRefType):
                continue
            if value is result:
                if op.maps[i] != identity:
                    return None
                continue
            steps = steps_of(op, i)
            if steps is None:
                return None
            m, n = (_merged(steps, [own[d] for d in dims], ranges) for dims in (roles.m, roles.n))
            if m is None or n not in (0, 1):
                return None
            operand = Operand(value, tuple(steps[own[d]] for d in batch), m, n)
            if n == 1 and any(step % LANES for step in (m, *operand.batch)):
                return None
            found[op, i] = operand
    return found
