"""Simplest forms of arith. Floats keep their meaning: NaN, infinities and the sign of zero survive every rule here.

So `x * 1.0`, `x / 1.0`, `x + (-0.0)` and `x - 0.0` are `x`; `x * 0.0`, `x - x` and `x + 0.0` stay.
Ops on constants only are evaluated by their meaning (compiler/folding.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import BoolAttr, FloatAttr, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...compiler.folding import Folded, array_of, attribute_of, constant_of, folds
from ...compiler.rewriting import ignore_upstream_patterns, rewrites

ignore_upstream_patterns("arith")

Constants = Sequence[Attribute | None]


def _is(constant: Attribute | None, number: float) -> bool:
    """Whether a constant is `number` in every element; zeros must agree in sign."""
    match constant:
        case None:
            return False
        case IntegerAttr():
            return constant.value.data == number
        case FloatAttr():
            value = constant.value.data
            return value == number and math.copysign(1.0, value) == math.copysign(1.0, number)
        case _:
            array = array_of(constant)
            if array is None or array.size == 0:
                return False
            same_sign = array.dtype.kind in "iub" or bool((np.signbit(array) == np.signbit(number)).all())
            return same_sign and bool((array == number).all())


def _all_ones(constant: Attribute | None) -> bool:
    array = None if constant is None else array_of(constant)
    return array is not None and array.size > 0 and bool((~array == 0).all())


def _filled(like: SSAValue, number: int) -> Attribute | None:
    """The constant of the type of `like` that is `number` throughout; None for types too large or not static."""
    shape = like.type.get_shape() if hasattr(like.type, "get_shape") else ()  # pyright: ignore
    if any(size < 0 for size in shape) or math.prod(shape) > 64:
        return None
    return attribute_of(np.full(shape, number), like.type)


# x op neutral


@folds("arith.addi", "arith.subi", "arith.ori", "arith.xori", "arith.shli", "arith.shrsi", "arith.shrui")
def right_zero(op: Operation, constants: Constants) -> Folded | None:
    return op.operands[0] if _is(constants[1], 0) else None


@folds("arith.muli", "arith.divsi", "arith.divui", "arith.floordivsi", "arith.ceildivsi", "arith.ceildivui")
def right_one(op: Operation, constants: Constants) -> Folded | None:
    return op.operands[0] if _is(constants[1], 1) else None


@folds("arith.addf")
def plus_negative_zero(op: Operation, constants: Constants) -> Folded | None:
    return op.operands[0] if _is(constants[1], -0.0) else None


@folds("arith.subf")
def minus_zero(op: Operation, constants: Constants) -> Folded | None:
    return op.operands[0] if _is(constants[1], 0.0) else None


@folds("arith.mulf", "arith.divf")
def times_one(op: Operation, constants: Constants) -> Folded | None:
    return op.operands[0] if _is(constants[1], 1.0) else None


@folds("arith.andi")
def and_all_ones(op: Operation, constants: Constants) -> Folded | None:
    return op.operands[0] if _all_ones(constants[1]) else None


# x op absorbing, x op x (integers only)


@folds("arith.muli", "arith.andi")
def times_zero(op: Operation, constants: Constants) -> Folded | None:
    return constants[1] if _is(constants[1], 0) else None


@folds("arith.remsi", "arith.remui")
def remainder_by_one(op: Operation, constants: Constants) -> Folded | None:
    return _filled(op.results[0], 0) if _is(constants[1], 1) else None


@folds("arith.subi", "arith.xori")
def minus_itself(op: Operation, constants: Constants) -> Folded | None:
    return _filled(op.results[0], 0) if op.operands[0] is op.operands[1] else None


@folds(
    "arith.andi",
    "arith.ori",
    "arith.minsi",
    "arith.maxsi",
    "arith.minui",
    "arith.maxui",
    "arith.minimumf",
    "arith.maximumf",
    "arith.minnumf",
    "arith.maxnumf",
)
def with_itself(op: Operation, constants: Constants) -> Folded | None:
    return op.operands[0] if op.operands[0] is op.operands[1] else None


# Comparison and choice

_TRUE_WHEN_EQUAL = {0, 3, 5, 7, 9}  # eq sle sge ule uge


@folds("arith.cmpi")
def compare_with_itself(op: arith.CmpiOp, constants: Constants) -> Folded | None:
    if op.lhs is not op.rhs or op.result.type != IntegerType(1):
        return None
    return BoolAttr.from_bool(op.predicate.value.data in _TRUE_WHEN_EQUAL)


@folds("arith.select")
def choose(op: arith.SelectOp, constants: Constants) -> Folded | None:
    if op.lhs is op.rhs:
        return op.lhs
    condition = None if constants[0] is None else array_of(constants[0])
    if condition is not None and condition.size and (condition == condition.flat[0]).all():
        return op.lhs if condition.flat[0] else op.rhs
    if op.result.type == IntegerType(1) and _is_true(constants[1]) and _is_false(constants[2]):
        return op.cond
    return None


def _is_true(constant: Attribute | None) -> bool:
    return isinstance(constant, IntegerAttr) and constant.value.data & 1 == 1


def _is_false(constant: Attribute | None) -> bool:
    return isinstance(constant, IntegerAttr) and constant.value.data & 1 == 0


# Casts


@folds("arith.negf")
def negate_twice(op: arith.NegfOp, constants: Constants) -> Folded | None:
    inner = op.operand.owner
    return inner.operand if isinstance(inner, arith.NegfOp) else None


@folds("arith.truncf", "arith.trunci", "arith.index_cast", "arith.index_castui", "arith.bitcast")
def there_and_back(op: Operation, constants: Constants) -> Folded | None:
    """A widening undone by the cast after it; narrowing first would have lost bits."""
    inner = op.operands[0].owner
    widening = {
        "arith.truncf": ("arith.extf",),
        "arith.trunci": ("arith.extsi", "arith.extui"),
        "arith.index_cast": ("arith.index_cast",),
        "arith.index_castui": ("arith.index_castui",),
        "arith.bitcast": ("arith.bitcast",),
    }[op.name]
    if not isinstance(inner, Operation) or inner.name not in widening:
        return None
    source = inner.operands[0]
    if source.type != op.results[0].type:
        return None
    if op.name.startswith("arith.index") and _bits(source.type) > _bits(inner.results[0].type):
        return None
    return source


def _bits(type_: Attribute) -> int:
    element = getattr(type_, "element_type", type_)
    return element.width.data if isinstance(element, IntegerType) else 64  # index


# Patterns


@rewrites(arith.AddiOp, arith.MuliOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp)
@rewrites(arith.AddfOp, arith.MulfOp, arith.MaxSIOp, arith.MinSIOp, arith.MaxUIOp, arith.MinUIOp)
def constant_to_the_right(op: Any, rewriter: PatternRewriter) -> None:
    if constant_of(op.lhs) is None or constant_of(op.rhs) is not None:
        return
    swapped = type(op).create(
        operands=[op.rhs, op.lhs],
        result_types=[op.result.type],
        properties=op.properties.copy(),
        attributes=op.attributes.copy(),
        location=op.location,
    )
    rewriter.replace(op, swapped)


@rewrites(arith.AddiOp, arith.MuliOp)
def join_constants(op: Any, rewriter: PatternRewriter) -> None:
    """(x + c) + d is x + (c + d); integers wrap, so order does not matter."""
    inner: Any = op.lhs.owner
    if type(inner) is not type(op) or constant_of(op.rhs) is None or constant_of(inner.rhs) is None:
        return
    joined = type(op)(inner.rhs, op.rhs)
    rewriter.replace(op, [joined, outer := type(op)(inner.lhs, joined.result)], outer.results)


_SWAPPED = {0: 0, 1: 1, 2: 4, 3: 5, 4: 2, 5: 3, 6: 8, 7: 9, 8: 6, 9: 7}  # cmpi predicates with operands exchanged


@rewrites(arith.CmpiOp)
def compare_with_constant_right(op: arith.CmpiOp, rewriter: PatternRewriter) -> None:
    if constant_of(op.lhs) is not None and constant_of(op.rhs) is None:
        rewriter.replace(op, arith.CmpiOp(op.rhs, op.lhs, _SWAPPED[op.predicate.value.data]))
