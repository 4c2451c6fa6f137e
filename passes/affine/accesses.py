"""What a piece of loop code touches: memory accesses with their subscripts as linear forms of loop variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IntegerAttr, MemRefType, NoneAttr
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
    AffineSymExpr,
)

from ...compiler.walking import all_ops
from ...dialects.affine import ApplyOp, ForOp, LoadOp, ParallelOp, StoreOp
from ...dialects.memref import AllocaOp, AllocOp, CollapseShapeOp, DeallocOp, DimOp, ExpandShapeOp
from ...dialects.memref import LoadOp as MemRefLoadOp
from ...dialects.memref import StoreOp as MemRefStoreOp
from ...dialects.memref.views import VIEW_OPS, root


@dataclass(frozen=True)
class Linear:
    """`constant + sum(coefficient * value)`; values are loop variables or any other index that does not change."""

    terms: Mapping[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    constant: int = 0

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        """`self + factor * other`."""
        terms = dict(self.terms)
        for value, coefficient in other.terms.items():
            terms[value] = terms.get(value, 0) + factor * coefficient
        return Linear({v: c for v, c in terms.items() if c}, self.constant + factor * other.constant)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Linear) and self.constant == other.constant and dict(self.terms) == dict(other.terms)

    def __hash__(self) -> int:
        return hash((self.constant, frozenset(self.terms.items())))


def linear_value(value: SSAValue) -> Linear | None:
    """An index as a linear form: through `affine.apply`, down to constants, loop variables and opaque values."""
    if isinstance(value.owner, ApplyOp):
        apply = value.owner
        return linear_expr(apply.map.data.results[0], apply.mapOperands, apply.map.data.num_dims)
    if isinstance(value.owner, ConstantOp) and isinstance(value.owner.value, IntegerAttr):
        return Linear(constant=value.owner.value.value.data)
    return Linear({value: 1})


def linear_expr(expr: AffineExpr, operands: Sequence[SSAValue], num_dims: int) -> Linear | None:
    """`expr` over operands (dimensions, then symbols); None where it divides."""
    match expr:
        case AffineConstantExpr():
            return Linear(constant=expr.value)
        case AffineDimExpr():
            return linear_value(operands[expr.position])
        case AffineSymExpr():
            return linear_value(operands[num_dims + expr.position])
        case AffineBinaryOpExpr():
            left = linear_expr(expr.lhs, operands, num_dims)
            right = linear_expr(expr.rhs, operands, num_dims)
            if left is None or right is None:
                return None
            if expr.kind is AffineBinaryOpKind.Add:
                return left.plus(right)
            if expr.kind is AffineBinaryOpKind.Mul and not right.terms:
                return Linear().plus(left, right.constant)
            return None
        case _:
            return None


@dataclass(frozen=True)
class MemoryAccess:
    """One read or write of `memref`; `subscripts` is None when the place is unknown, an entry when it divides."""

    op: Operation
    memref: SSAValue
    writes: bool
    subscripts: tuple[Linear | None, ...] | None

    @cached_property
    def root(self) -> SSAValue:
        """The buffer behind the views."""
        return root(self.memref)


def accesses(ops: Iterable[Operation]) -> list[MemoryAccess]:
    """The memory accesses of ops and of what is nested in them, in program order."""
    return [access for op in ops for inner in all_ops(op) for access in _of(inner)]


def _of(op: Operation) -> Iterable[MemoryAccess]:
    kind = _kind(type(op))
    return () if kind is None else kind(op)


def _through_map(op: LoadOp | StoreOp) -> Iterable[MemoryAccess]:
    return (MemoryAccess(op, op.memref, isinstance(op, StoreOp), map_subscripts(op.map.data, op.indices)),)


def _by_indices(op: MemRefLoadOp | MemRefStoreOp) -> Iterable[MemoryAccess]:
    return (MemoryAccess(op, op.memref, isinstance(op, MemRefStoreOp), tuple(linear_value(i) for i in op.indices)),)


def _anywhere(op: Operation) -> Iterable[MemoryAccess]:
    """Of an op that nothing is known of: it reads and writes all memory that it is given."""
    memory = [operand for operand in op.operands if type(operand.type) is MemRefType]
    return [MemoryAccess(op, operand, writes, None) for operand in memory for writes in (False, True)]


_OF_VALUES = ("arith.", "math.")  # ops that memory cannot be given to


@cache
def _kind(cls: type[Operation]) -> Callable[[Any], Iterable[MemoryAccess]] | None:
    """What tells the accesses of ops of a class, None where there are none: asked for every op, of few classes."""
    if issubclass(cls, LoadOp | StoreOp):
        return _through_map
    if issubclass(cls, MemRefLoadOp | MemRefStoreOp):
        return _by_indices
    if issubclass(cls, (AllocOp, AllocaOp, DeallocOp, DimOp, *VIEW_OPS)) or cls.name.startswith(_OF_VALUES):
        return None
    return _anywhere


def map_subscripts(map: AffineMap, operands: Sequence[SSAValue]) -> tuple[Linear | None, ...]:
    """The subscripts of an access through a map."""
    return tuple(linear_expr(expr, operands, map.num_dims) for expr in map.results)


def flat_subscript(access: MemoryAccess) -> tuple[Linear] | None:
    """The access as one index into its row-major buffer, whatever shape it is seen with; None when unknown."""
    view = access.memref
    while isinstance(view.owner, CollapseShapeOp | ExpandShapeOp):
        view = view.owner.operands[0]
    type_ = access.memref.type
    if view is not access.root or access.subscripts is None or not isinstance(type_, MemRefType):
        return None
    if not isinstance(type_.layout, NoneAttr):
        return None
    flat = Linear()
    stride = 1
    for extent, subscript in zip(reversed(type_.get_shape()), reversed(access.subscripts), strict=True):
        if subscript is None:
            return None
        flat = flat.plus(subscript, stride)
        stride *= extent
    return (flat,)


@dataclass(frozen=True)
class Range:
    """The values `lower, lower + step, ...` below `upper` that a loop variable takes, all or, at an edge, some."""

    lower: int
    upper: int
    step: int

    @property
    def count(self) -> int:
        """How many values there are."""
        return max(0, -((self.lower - self.upper) // self.step))


def variable_range(value: SSAValue) -> Range | None:
    """The range of a loop variable whose bounds have constants; None for any other value."""
    if not isinstance(value, BlockArgument):
        return None
    loop = value.block.parent_op()
    if isinstance(loop, ForOp) and value.index == 0:
        bounds = loop.outer_bounds()
        return None if bounds is None else Range(*bounds)
    if isinstance(loop, ParallelOp):
        constant = loop.constant_bounds()
        if constant is not None:
            lower, upper = constant
            return Range(lower[value.index], upper[value.index], loop.steps.data[value.index].value.data)
    return None


def loop_variables(op: Operation, within: Operation | None = None) -> list[SSAValue]:
    """The variables of the loops around `op`, outermost first, up to but excluding `within`."""
    variables: list[SSAValue] = []
    parent = op.parent_op()
    while parent is not None and parent is not within:
        if isinstance(parent, ForOp):
            variables.insert(0, parent.variable)
        elif isinstance(parent, ParallelOp):
            variables[:0] = parent.body.block.args
        parent = parent.parent_op()
    return variables


def defined_inside(value: SSAValue, op: Operation) -> bool:
    """Whether `value` comes from inside a region of `op`."""
    owner = value.owner
    inner = owner if isinstance(owner, Operation) else owner.parent_op()
    if not isinstance(owner, Operation) and inner is op:
        return True
    while inner is not None:
        inner = inner.parent_op()
        if inner is op:
            return True
    return False
