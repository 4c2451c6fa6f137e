"""The table of meanings: what each op does to arrays, declared beside the op's dialect.

    @semantics("stablehlo.concatenate")
    def concatenate(*inputs: Array, dimension: int) -> Array:
        return np.concatenate(inputs, axis=dimension)

Positional parameters are the operands. Keyword-only parameters are the op's attributes by name, as plain
Python values (see `plain`), except for those with these names, which the interpreter supplies:

    result   the `Spec` of the op's first result (shape and dtype)
    results  the `Spec`s of all results
    regions  the op's regions, each a `Region` from arrays to a list of arrays
    call     a `Call`: the op itself, the weights, calling of functions by symbol, and which process this is
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from math import prod
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation, ParametrizedAttribute

from .diagnostics import LaminaError
from .dtypes import DType, StoredType, dense_array
from .processes import Process
from .weights import Array, WeightStore

SUPPLIED = ("result", "results", "regions", "call")

# dialect name -> absolute module whose import declares its meanings; filled by lamina.dialects and plug-ins
MODULES: dict[str, str] = {}
_TABLE: dict[str, Semantics] = {}
_ON_STORED: dict[str, Semantics] = {}


class Spec(NamedTuple):
    """What a result must look like. `dtype` and `shape` are None for a type without array form (a token)."""

    shape: tuple[int, ...] | None
    dtype: DType | None

    @property
    def nbytes(self) -> int:
        """Bytes of the array; 0 for what is none."""
        return 0 if self.shape is None or self.dtype is None else prod(self.shape) * self.dtype.itemsize


class Region(Protocol):
    """A region as a function from its block's arguments to its terminator's operands."""

    def __call__(self, *args: Array) -> list[Array]: ...

    def lifted(self, *args: Array) -> list[Array]:
        """A region of elementwise ops on scalars, applied to whole arrays (which broadcast) at once."""
        ...


@dataclass(frozen=True)
class Call:
    """What an op's meaning may ask beyond its operands."""

    op: Operation
    weights: WeightStore
    function: Callable[[str, Sequence[Array]], list[Array]]
    process: Process


@dataclass(frozen=True)
class Semantics:
    """One op's meaning: the function, and the keyword-only parameters it takes with their defaults."""

    function: Callable[..., Any]
    attributes: tuple[tuple[str, Any], ...]
    supplied: frozenset[str]


def semantics(*names: str, stored: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares the decorated function as the meaning of the ops `names`. A second one is a TypeError.

    With `stored` it is what they mean where a tensor among operands and results has elements of a `StoredType`.
    """
    table = _ON_STORED if stored else _TABLE

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        keywords = [p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
        meaning = Semantics(
            function,
            tuple((p.name, p.default) for p in keywords if p.name not in SUPPLIED),
            frozenset(p.name for p in keywords if p.name in SUPPLIED),
        )
        for name in names:
            if name in table:
                raise TypeError(f"two meanings for '{name}'")
            table[name] = meaning
        return function

    return declare


def meaning_named(name: str) -> Semantics | None:
    """The declared meaning of the ops of this name, its dialect's module imported on first need; None without one."""
    found = _TABLE.get(name)
    if found is None and (module := MODULES.get(name.partition(".")[0])):
        import_module(module)
        found = _TABLE.get(name)
    return found


def meaning_of(op: Operation) -> Semantics:
    """The declared meaning of `op`. Raises LaminaError, with the op's place, when there is none."""
    found = meaning_named(op.name)
    if found is None:
        raise LaminaError("this operation has no reference semantics", where=op)
    if op.name in _ON_STORED and holds_stored(op):
        return _ON_STORED[op.name]
    return found


def holds_stored(op: Operation) -> bool:
    """Whether a tensor among the operands and results of `op` has elements of a `StoredType`."""
    for value in (*op.operands, *op.results):
        kind = value.type
        if isinstance(kind, TensorType) and isinstance(kind.element_type, StoredType):
            return True
    return False


def has_meaning(op: Operation) -> bool:
    """Whether `op` can be evaluated."""
    try:
        meaning_of(op)
    except LaminaError:
        return False
    return True


def plain(attr: Attribute) -> Any:
    """An attribute as a Python value: int, bool, float, str, list, dict, array, or a namespace of fields.

    >>> from xdsl.dialects.builtin import DenseArrayBase, i64
    >>> plain(DenseArrayBase.from_list(i64, [1, 2]))
    [1, 2]
    """
    match attr:
        case IntegerAttr():
            is_bool = isinstance(attr.type, IntegerType) and attr.type.width.data == 1
            return bool(attr.value.data) if is_bool else attr.value.data
        case FloatAttr():
            return attr.value.data
        case StringAttr():
            return attr.data
        case UnitAttr():
            return True
        case DenseArrayBase():
            is_bool = isinstance(attr.elt_type, IntegerType) and attr.elt_type.width.data == 1
            values = cast(DenseArrayBase[IntegerType], attr).get_values()
            return [bool(v) for v in values] if is_bool else list(values)
        case DenseIntOrFPElementsAttr():
            return dense_array(attr)
        case ArrayAttr():
            return [plain(item) for item in attr]
        case DictionaryAttr():
            return {key: plain(value) for key, value in attr.data.items()}
        case SymbolRefAttr():
            return attr.string_value()
        case ParametrizedAttribute():
            names = [name for name, _ in attr.get_irdl_definition().parameters]
            fields = zip(names, attr.parameters, strict=True)
            return SimpleNamespace(**{name: plain(value) for name, value in fields})
        case _:
            data = getattr(attr, "data", attr)
            return data.value if isinstance(data, Enum) else data
