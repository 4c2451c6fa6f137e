"""What built-in functions ask of dtypes: their kind, their limits, their form in the IR."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from ....stablehlo import shapes
from ....stablehlo.ops_elementwise import BOOLEAN, COMPLEX, FLOAT, SIGNED, UNSIGNED, element_kind
from ..types import DType, TypeVar, element_type, numpy_dtype
from .failure import Undetermined

if TYPE_CHECKING:
    from ..values import Value
    from .builder import Builder

Element: TypeAlias = Attribute
INTEGERS = (SIGNED, UNSIGNED)
FLOATS = (FLOAT,)
INEXACT = (FLOAT, COMPLEX)
NUMBER = (SIGNED, UNSIGNED, FLOAT, COMPLEX)
REAL = (BOOLEAN, SIGNED, UNSIGNED, FLOAT)
ANY = (BOOLEAN, SIGNED, UNSIGNED, FLOAT, COMPLEX)

_CLASSES = {"any": ANY, "number": NUMBER, "float": FLOATS, "int": INTEGERS, "complex": (COMPLEX,)}


def tensor(dtype: DType, shape: Sequence[int]) -> TensorType:
    """The tensor type in the IR."""
    return shapes.tensor_type(element_type(dtype), shape)


def scalar_tensor(element: Element) -> TensorType:
    """`tensor<element>`."""
    return shapes.scalar(element)


def kinds_of(dtype: DType) -> tuple[str, ...]:
    """The classes of element types that a dtype belongs to; a type parameter may be several."""
    if isinstance(dtype, TypeVar):
        return _CLASSES[dtype.kind]
    return (element_kind(element_type(dtype)),)


def is_unsigned(dtype: DType) -> bool:
    """Whether all values are 0 or more."""
    return kinds_of(dtype) == (UNSIGNED,)


def may_be_nan(dtype: DType) -> bool:
    """Whether there is a value that is no number."""
    return kinds_of(dtype) == (FLOAT,)


def accept(b: Builder, x: Value, accepted: Sequence[str], at: str = "x", hint: str = "") -> Value:
    """`x` with a dtype of its own, which must be of one of these kinds. Raises Failure where it is not."""
    x = b.settle(x, prefer_float=not any(kind in accepted for kind in (SIGNED, UNSIGNED)))
    dtype = x.type.dtype
    wrong = [kind for kind in kinds_of(dtype) if kind not in accepted]
    if wrong:
        wanted = " or ".join(accepted)
        if not hint and FLOAT in accepted and wrong[0] in (SIGNED, UNSIGNED, BOOLEAN):
            hint = "cast it: f32(...)"
        if isinstance(dtype, TypeVar):
            narrow = next((name for name in ("float", "int", "complex", "number") if _fits(name, accepted)), "")
            hint = f"narrow the parameter: [{dtype.name}: {narrow}]" if narrow else hint
            raise b.fail("E250", f"{b.name} takes {wanted} elements, {dtype} may also be {wrong[0]}", at, hint)
        raise b.fail("E250", f"{b.name} takes {wanted} elements, got {dtype}", at, hint)
    return x


def _fits(name: str, accepted: Sequence[str]) -> bool:
    return all(kind in accepted for kind in _CLASSES[name])


def real_part(dtype: DType) -> Any:
    """The dtype of real and imaginary part; itself where it is not complex."""
    return {"c64": "f32", "c128": "f64"}.get(dtype, dtype) if isinstance(dtype, str) else dtype


def bits(dtype: DType) -> int:
    """How many bits an element has."""
    if isinstance(dtype, TypeVar):
        raise Undetermined
    return 1 if dtype == "bool" else int(re.sub(r"^[a-z]+(\d+).*", r"\1", dtype))


def neutral(kind: str, dtype: DType) -> Any:
    """What changes nothing under a reduction: 0 for add, the lowest value for maximum."""
    match kind:
        case "add" | "or":
            return 0
        case "multiply" | "and":
            return 1
        case _:
            return extreme(dtype, largest=kind == "minimum")


def extreme(dtype: DType, *, largest: bool) -> Any:
    """The largest or smallest value; infinities where there are."""
    if isinstance(dtype, TypeVar):
        return 0  # while checking, where only the type matters
    kind, form = kinds_of(dtype)[0], numpy_dtype(dtype)
    if kind == BOOLEAN:
        return largest
    if kind in INTEGERS:
        limits = ml_dtypes.iinfo(form)
        return int(limits.max if largest else limits.min)
    if kind == COMPLEX:
        return complex(math.inf, math.inf) if largest else complex(-math.inf, -math.inf)
    endless = np.asarray(math.inf).astype(form)
    if not np.isinf(endless.astype(np.float64)):  # formats without infinities
        limit = float(ml_dtypes.finfo(form).max)
        return limit if largest else -limit
    return math.inf if largest else -math.inf
