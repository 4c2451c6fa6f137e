"""Constant folding: an op whose operands are constants becomes one, by the meaning its dialect declares for it.

The arithmetic is NumPy's at the op's own width, so that f32 overflow gives infinity and NaN stays NaN, as at run
time. An op may also say what it folds to without knowing all operands (`@folds`), or through xDSL's HasFolder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialect_interfaces.constant_materialization import ConstantMaterializationInterface
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    ShapedType,
)
from xdsl.ir import Attribute, Operation, OpResult, SSAValue, TypeAttribute
from xdsl.traits import ConstantLike, HasFolder

from .context import LaminaContext
from .diagnostics import LaminaError
from .dtypes import dense_array, dtype_of
from .effects import is_pure
from .interpreter import Interpreter
from .semantics import has_meaning
from .traits import has
from .weights import Array

Folded = SSAValue | Attribute
Constants = Sequence[Attribute | None]
Fold = Callable[[Any, Constants], Folded | Sequence[Folded] | None]

_FOLDS: dict[str, list[Fold]] = {}
_EVALUATED = frozenset({"arith", "math"})  # dialects whose ops are evaluated; a tensor program's own pass does its
_DIVISIONS = frozenset(
    f"arith.{name}" for name in ("divsi", "divui", "ceildivsi", "ceildivui", "floordivsi", "remsi", "remui")
)
_LARGEST = 64  # elements of a constant that folding may make


def folds(*names: str) -> Callable[[Fold], Fold]:
    """Declares the decorated function as a fold of the ops `names`.

    It gets the op and its operands' constant attributes (None where unknown) and returns a value or attribute
    per result (one alone for an op of one result), or None. It must not change the IR.
    """

    def declare(fold: Fold) -> Fold:
        for name in names:
            _FOLDS.setdefault(name, []).append(fold)
        return fold

    return declare


def constant_of(value: SSAValue) -> Attribute | None:
    """The attribute of the constant op that makes `value`, if one does."""
    if not isinstance(value, OpResult):
        return None
    op = value.op
    if not has(op, ConstantLike):
        return None
    stated = op.properties.get("value")  # an IntegerAttr of zero is falsy: ask for None
    return op.attributes.get("value") if stated is None else stated


class Folder:
    """Folds ops and materialises the constants they become."""

    def __init__(self, ctx: LaminaContext):
        self.ctx = ctx
        self._interpreter: Interpreter | None = None

    def fold(self, op: Operation) -> Sequence[Folded] | None:
        """What each result of `op` is, as an existing value or a constant attribute; None when nothing is known."""
        if not op.results:
            return None
        constants = [constant_of(operand) for operand in op.operands]
        for rule in _FOLDS.get(op.name, ()):
            found = rule(op, constants)
            if found is not None:
                return found if isinstance(found, Sequence) else (found,)
        if op.dialect_name() in _EVALUATED:
            if op.operands and all(constant is not None for constant in constants):
                return self._evaluate(op, cast(list[Attribute], constants))
            return None
        trait = op.get_trait(HasFolder)
        return None if trait is None else trait.fold(op)

    def _evaluate(self, op: Operation, constants: Sequence[Attribute]) -> Sequence[Folded] | None:
        arrays = [array_of(constant) for constant in constants]
        if any(array is None or array.size > _LARGEST for array in arrays):
            return None
        if op.name in _DIVISIONS and not cast(Array, arrays[1]).all():
            return None  # division by zero stays for run time
        if op.regions or not is_pure(op) or not has_meaning(op):
            return None
        if self._interpreter is None:
            self._interpreter = Interpreter(self.ctx.weights)
        try:
            results = self._interpreter.evaluate(op, cast(list[Array], arrays))
        except (ArithmeticError, LaminaError, TypeError, ValueError):
            return None
        attributes = [attribute_of(a, r.type) for a, r in zip(results, op.results, strict=True)]
        return None if any(a is None for a in attributes) else cast(list[Folded], attributes)

    def materialize(self, op: Operation, value: Attribute, type_: Attribute) -> Operation | None:
        """A constant op of `value`, by the dialect of `op` or else by arith; None when neither can."""
        for name in (op.dialect_name(), "arith"):
            dialect = self.ctx.get_optional_dialect(name)
            interface = None if dialect is None else dialect.get_interface(ConstantMaterializationInterface)
            if interface is not None and isinstance(type_, TypeAttribute):
                constant = interface.materialize_constant(value, type_)
                if constant is not None:
                    return constant
        return None


def array_of(attribute: Attribute) -> Array | None:
    """A constant's value as an array at its own width; None for what is not a number.

    >>> from xdsl.dialects.builtin import IntegerAttr, i8
    >>> array_of(IntegerAttr(-1, i8))
    array(-1, dtype=int8)
    """
    match attribute:
        case IntegerAttr():
            dtype = dtype_of(attribute.type)
            if dtype == np.bool_:
                return np.array(attribute.value.data & 1, dtype)
            bits = attribute.value.data & ((1 << 8 * dtype.itemsize) - 1)
            return np.array(bits, f"u{dtype.itemsize}").view(dtype) if dtype.kind in "iu" else None
        case FloatAttr():
            return np.array(attribute.value.data).astype(dtype_of(attribute.type))
        case DenseIntOrFPElementsAttr() if len(attribute.data.data) <= 16 * _LARGEST:
            return dense_array(attribute)
        case _:
            return None


def attribute_of(array: Array, type_: Attribute) -> Attribute | None:
    """The constant attribute of type `type_` with the value of `array`, which has its shape and dtype."""
    match type_:
        case IntegerType() | IndexType():
            return IntegerAttr(int(array), type_)
        case ShapedType():
            values = array.ravel().tolist()
            return DenseIntOrFPElementsAttr.from_list(cast(Any, type_), values)
        case _:
            return FloatAttr(float(array), type_) if isinstance(type_, AnyFloat) else None
