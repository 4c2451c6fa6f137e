"""What a function takes and gives, in its own symbols: read once from the tree, used by every call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..language import tree
from . import annotations
from .dims import Dim, Extent, Pack, symbol
from .modules import Module
from .scope import Scope
from .types import KINDS, UNKNOWN, Binding, DType, TensorType, TupleType, Type, TypeVar
from .values import UNBOUND, Const, TypeValue, Value

if TYPE_CHECKING:
    from .elaborator import Elaborator


@dataclass(frozen=True, eq=False)
class Parameter:
    """One parameter: its type in the function's symbols; `const` is int, float or bool, or "" for a tensor."""

    name: str
    type: Type
    const: str
    node: tree.Parameter


@dataclass(eq=False)
class Signature:
    """A function of a file. `result` is None where it is not declared: then it follows from the body."""

    node: tree.Function
    module: Module
    dims: tuple[str, ...]
    packs: tuple[str, ...]
    variables: dict[str, TypeVar]
    parameters: tuple[Parameter, ...]
    result: Type | None
    inferred: Type | None = None
    checked: bool = False
    walking: bool = False

    @property
    def name(self) -> str:
        """The function's name."""
        return self.node.name.text

    def __str__(self) -> str:
        shown: list[str] = []
        for p in self.parameters:
            kind = f"const {p.const}" if p.const else str(p.type)
            shown.append(f"{p.name}: {kind}{' = …' if p.node.default is not None else ''}")
        generics = [f"{v.name}: {v.kind}" for v in self.variables.values()]
        generics += [*self.dims, *(f"..{pack}" for pack in self.packs)]
        inside = f"[{', '.join(generics)}]" if generics else ""
        result = self.result if self.result is not None else self.inferred
        return f"fn {self.name}{inside}({', '.join(shown)})" + (f" -> {result}" if result is not None else "")

    def generic(self) -> Bound:
        """Every name bound to itself: what the function is checked with."""
        dims: dict[str, Dim] = {name: symbol(name) for name in self.dims}
        consts: dict[str, Const] = {}
        for p in self.parameters:
            if p.const == "int":
                dims[p.name] = symbol(p.name, None)
            elif p.const:
                consts[p.name] = UNBOUND
        packs: dict[str, tuple[Extent, ...]] = {name: (Pack(name),) for name in self.packs}
        return Bound(dims, packs, dict(self.variables), consts)


@dataclass(frozen=True)
class Bound(Binding):
    """What the names of a function stand for: dimensions, `const int`s and packs, dtypes, other `const`s."""

    consts: Mapping[str, Const] = field(default_factory=dict[str, Any])

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for equal bindings."""
        consts = tuple((name, type(value), repr(value)) for name, value in self.consts.items())
        return tuple(self.dims.items()), tuple(self.packs.items()), tuple(self.dtypes.items()), consts


@dataclass
class Instance:
    """A function of the module made for one binding: its symbol and the types it gives."""

    symbol: str
    result: Type = UNKNOWN
    done: bool = False


def signature(e: Elaborator, function: tree.Function, module: Module) -> Signature:
    """The signature of a function; what is wrong in it is reported once."""
    known = e.signatures.get(function)
    if known is not None:
        return known
    dims: list[str] = []
    packs: list[str] = []
    variables: dict[str, TypeVar] = {}
    seen: dict[str, tree.Identifier] = {}
    written = _dtypes_in(function)
    for item in function.dims:
        _once(e, item.name, seen, "name in brackets")
        if item.pack:
            packs.append(item.name.text)
        elif item.kind is not None or item.name.text in written:
            kind = item.kind.text if item.kind is not None else "any"
            if kind not in KINDS:
                e.error("E107", f"there is no class of dtypes '{kind}'", item.kind or item, hint=", ".join(KINDS))
                kind = "any"
            variables[item.name.text] = TypeVar(item.name.text, kind)
        else:
            dims.append(item.name.text)
    found = Signature(function, module, tuple(dims), tuple(packs), variables, (), None)
    e.signatures[function] = found
    parameters: list[Parameter] = []
    for p in function.parameters:
        _once(e, p.name, seen, "parameter")
        const = p.type.dtype.text if isinstance(p.type, tree.TensorType) and p.type.const else ""
        parameters.append(Parameter(p.name.text, UNKNOWN, const, p))
    found.parameters = tuple(parameters)
    builder, e.builder = e.builder, None  # heads are read in the function's own symbols
    try:
        _read_types(e, found)
    finally:
        e.builder = builder
    return found


def _read_types(e: Elaborator, found: Signature) -> None:
    function = found.node
    scope = scope_of(e, found, found.generic())
    found.parameters = tuple(Parameter(p.name, e.type(p.node.type, scope), p.const, p.node) for p in found.parameters)
    for p in found.parameters:
        e.types[p.node.name] = p.type
        if not p.const:  # a result may speak of the size of an argument
            scope.define(p.node.name, Value(p.type, node=p.node.name), "parameter", used=True)
    if function.result is not None:
        found.result = e.type(function.result, scope)


def _dtypes_in(function: tree.Function) -> set[str]:
    """The names that are used as dtypes in the types of a function's head."""
    heads: list[tree.Node] = [p.type for p in function.parameters]
    if function.result is not None:
        heads.append(function.result)
    return {node.dtype.text for head in heads for node in head.walk() if isinstance(node, tree.TensorType)}


def _once(e: Elaborator, name: tree.Identifier, seen: dict[str, tree.Identifier], what: str) -> None:
    first = seen.setdefault(name.text, name)
    if first is not name:
        e.error("E104", f"two of one name: the {what} '{name.text}' is there already", name, *e.two(name, first))


def scope_of(e: Elaborator, signature: Signature, bound: Bound) -> Scope:
    """The scope of a function's head: dimensions, packs, type parameters and `const`s."""
    scope = Scope(module=signature.module)
    for item in signature.node.dims:
        name = item.name.text
        if item.pack:
            scope.define(item.name, Value(UNKNOWN), "pack").extents = bound.packs.get(name, (Pack(name),))
        elif name in signature.variables:
            dtype: DType = bound.dtypes.get(name, signature.variables[name])
            scope.define(item.name, TypeValue(TensorType(dtype)), "type")
        elif name in bound.dims:
            scope.define(item.name, const_value(bound.dims[name], "i64"), "dim")
    for p in signature.parameters:
        if p.const:
            dtype = annotations.CONST_DTYPES.get(p.const, "i64")
            const = bound.dims.get(p.name) if p.const == "int" else bound.consts.get(p.name)
            if const is not None:
                scope.define(p.node.name, const_value(const, dtype), "const")
    return scope


def const_value(const: Any, dtype: str) -> Value:
    """The value of a dimension or `const` parameter: weak, but for a bool."""
    return Value(TensorType(dtype), const=const, weak=dtype != "bool")


def parts(kind: Type) -> list[TensorType]:
    """The tensors that a type consists of, in order."""
    if isinstance(kind, TupleType):
        return [part for item in kind.items for part in parts(item)]
    return [kind] if isinstance(kind, TensorType) else []
