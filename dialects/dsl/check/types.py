"""Types: a dtype and a shape; tuples of types; and the unknown type of what has been reported already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects import builtin
from xdsl.ir import Attribute

from ....compiler.dtypes import dtype_of, element_type_of
from .dims import Dim, Extent, Pack, evaluate, pack_size

KINDS = ("any", "number", "float", "int", "complex")
"""The classes of dtypes that a type parameter can be restricted to."""

_NAMES = {
    "bool": "bool", "i4": "int4", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u4": "uint4", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "c64": "complex64", "c128": "complex128",
    "f8e3m4": "float8_e3m4", "f8e4m3": "float8_e4m3", "f8e4m3fn": "float8_e4m3fn",
    "f8e4m3fnuz": "float8_e4m3fnuz", "f8e4m3b11fnuz": "float8_e4m3b11fnuz", "f8e5m2": "float8_e5m2",
    "f8e5m2fnuz": "float8_e5m2fnuz",
}  # fmt: skip


@dataclass(frozen=True)
class TypeVar:
    """A type parameter: `T` of `fn f[T: float](…)`."""

    name: str
    kind: str = "any"

    def __str__(self) -> str:
        return self.name


DType: TypeAlias = str | TypeVar


@dataclass(frozen=True)
class TensorType:
    """`f32[M, 2*K, ..B]`; a scalar has the shape ()."""

    dtype: DType
    shape: tuple[Extent, ...] = ()

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]" if self.shape else str(self.dtype)

    @property
    def rank(self) -> int | None:
        """How many axes there are, None where a pack leaves it open."""
        return None if any(isinstance(extent, Pack) for extent in self.shape) else len(self.shape)

    def with_shape(self, shape: Sequence[Extent]) -> TensorType:
        """The same dtype in another shape."""
        return TensorType(self.dtype, tuple(shape))

    def with_dtype(self, dtype: DType) -> TensorType:
        """The same shape with another dtype."""
        return TensorType(dtype, self.shape)


@dataclass(frozen=True)
class TupleType:
    """`(f32[N], i64)`."""

    items: tuple[Type, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.items))})"


@dataclass(frozen=True)
class UnknownType:
    """The type of an expression that was wrong, or whose type is only known when bound: fits everywhere."""

    def __str__(self) -> str:
        return "unknown"


UNKNOWN = UnknownType()

Type: TypeAlias = TensorType | TupleType | UnknownType


def is_unknown(kind: Type) -> bool:
    """Whether nothing is known of a type."""
    return isinstance(kind, UnknownType)


def is_dtype(name: str) -> bool:
    """Whether `name` is a dtype of the language."""
    return name in _NAMES


def numpy_names() -> dict[str, str]:
    """NumPy's names of the dtypes."""
    return dict(_NAMES)


def dtype_names() -> tuple[str, ...]:
    """All dtypes of the language."""
    return tuple(_NAMES)


@cache
def numpy_dtype(dtype: DType) -> np.dtype[Any]:
    """NumPy's dtype; a type parameter has none."""
    import ml_dtypes

    assert isinstance(dtype, str)
    return np.dtype(getattr(ml_dtypes, _NAMES[dtype], _NAMES[dtype]))


@cache
def element_type(dtype: DType) -> Attribute:
    """The element type in the IR."""
    return element_type_of(numpy_dtype(dtype))


@cache
def _names_by_dtype() -> dict[np.dtype[Any], str]:
    return {numpy_dtype(name): name for name in _NAMES}


def dtype_name(kind: Attribute | np.dtype[Any]) -> str:
    """The language's name for an element type of the IR, the elements of a tensor type, or a NumPy dtype.

    Raises KeyError for one the language has no name for, LaminaError for one that has no array form.
    """
    return _names_by_dtype()[kind if isinstance(kind, np.dtype) else dtype_of(kind)]


def ir_type(kind: TensorType) -> builtin.TensorType[Any]:
    """The type in the IR, in instance mode."""
    sizes = [extent for extent in kind.shape if isinstance(extent, int)]
    assert len(sizes) == len(kind.shape), kind
    return builtin.TensorType(element_type(kind.dtype), sizes)


def kind_of(dtype: DType) -> str:
    """`bool`, `int`, `float` or `complex`; of a type parameter what it is restricted to, `any` or `number` too."""
    if isinstance(dtype, TypeVar):
        return dtype.kind
    return {"b": "bool", "i": "int", "u": "int", "c": "complex"}.get(dtype[0], "float") if dtype != "bf16" else "float"


def is_a(dtype: DType, kind: str) -> bool:
    """Whether every dtype that this may be belongs to a class: `any`, `number`, `float`, `int`, `complex`, `bool`."""
    own = kind_of(dtype)
    return kind in ("any", own) or (kind == "number" and own in ("int", "float", "complex"))


@dataclass(frozen=True)
class Binding:
    """What the generic names of a function stand for at one call or in one instance."""

    dims: Mapping[str, Dim]
    packs: Mapping[str, tuple[Extent, ...]]
    dtypes: Mapping[str, DType]

    def shape(self, shape: Sequence[Extent]) -> tuple[Extent, ...]:
        """The shape with what is bound put in."""
        found: list[Extent] = []
        for extent in shape:
            if isinstance(extent, Pack):
                found += self.packs.get(extent.name, (extent,))
            else:
                found.append(evaluate(extent, self.sizes))
        return tuple(found)

    @cached_property
    def sizes(self) -> dict[str, Dim]:
        """The dimensions, and the sizes of packs."""
        found = dict(self.dims)
        for name, extents in self.packs.items():
            total: Dim = 1
            for extent in extents:
                total = total * (pack_size(extent) if isinstance(extent, Pack) else extent)
            found[f"size(..{name})"] = total
        return found

    def dtype(self, dtype: DType) -> DType:
        """The dtype that a type parameter stands for."""
        return self.dtypes.get(dtype.name, dtype) if isinstance(dtype, TypeVar) else dtype

    def type(self, kind: Type) -> Type:
        """The type with what is bound put in."""
        match kind:
            case TensorType():
                return TensorType(self.dtype(kind.dtype), self.shape(kind.shape))
            case TupleType():
                return TupleType(tuple(self.type(item) for item in kind.items))
            case UnknownType():
                return kind
