"""The arguments of a call against a signature: which goes where, and what the generic names stand for then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..language import tree
from ..language.problems import Label
from . import promotion
from .dims import Dim, Extent, Pack, Poly, evaluate, solve, symbols_of
from .scope import similar
from .signatures import Bound, Parameter, Signature, scope_of
from .types import DType, TensorType, TupleType, Type, TypeVar, UnknownType, is_a
from .values import AnyValue, Const, TupleValue, Unbound, Value, describe

if TYPE_CHECKING:
    from .elaborator import Elaborator


@dataclass(frozen=True, eq=False)
class Given:
    """An argument: its value and where it is written; `name` is None for one by position."""

    value: AnyValue
    node: tree.Node
    name: tree.Identifier | None = None


class Mismatch(Exception):
    """The arguments do not fit: a problem. `depth` tells how far the match came, for the choice of what to report."""

    def __init__(self, depth: int, code: str, message: str, where: tree.Node, *labels: Label, hint: str = ""):
        super().__init__(message)
        self.depth, self.code, self.message, self.where, self.labels, self.hint = (
            depth, code, message, where, labels, hint,
        )  # fmt: skip


@dataclass(eq=False)
class Match:
    """The arguments by parameter and the binding. `uncertain` where something was unknown: say nothing more."""

    signature: Signature
    arguments: dict[str, Given]
    dims: dict[str, Dim] = field(default_factory=dict[str, Dim])
    packs: dict[str, tuple[Extent, ...]] = field(default_factory=dict[str, "tuple[Extent, ...]"])
    dtypes: dict[str, DType] = field(default_factory=dict[str, DType])
    consts: dict[str, Const] = field(default_factory=dict[str, Const])
    origins: dict[str, tuple[tree.Node, str]] = field(default_factory=dict[str, "tuple[tree.Node, str]"])
    uncertain: bool = False

    @property
    def bound(self) -> Bound:
        """The binding, in the order of the function's head."""
        own = self.signature
        consts = [p.name for p in own.parameters if p.const]
        return Bound(
            {n: self.dims[n] for n in (*own.dims, *consts) if n in self.dims},
            {n: self.packs[n] for n in own.packs if n in self.packs},
            {n: self.dtypes[n] for n in own.variables if n in self.dtypes},
            {n: self.consts[n] for n in consts if n in self.consts},
        )


def assign(signature: Signature, given: Sequence[Given], node: tree.Node) -> dict[str, Given]:
    """The arguments by the names of their parameters. Raises Mismatch."""
    names = [p.name for p in signature.parameters]
    found: dict[str, Given] = {}
    named = False
    for position, argument in enumerate(given):
        if argument.name is None:
            if named:
                raise Mismatch(0, "E503", "arguments by position come before those by name", argument.node)
            if position >= len(names):
                message = f"'{signature.name}' takes {_count(len(names))}, got {len(given)}"
                raise Mismatch(0, "E501", message, argument.node, hint=str(signature))
            found[names[position]] = argument
            continue
        named = True
        text = argument.name.text
        if text not in names:
            hint = similar(text, names) or str(signature)
            raise Mismatch(0, "E502", f"'{signature.name}' has no parameter '{text}'", argument.name, hint=hint)
        if text in found:
            raise Mismatch(0, "E503", f"the argument '{text}' is given twice", argument.name)
        found[text] = argument
    missing = [p.name for p in signature.parameters if p.node.default is None and p.name not in found]
    if missing:
        told = ", ".join(f"'{name}'" for name in missing)
        raise Mismatch(0, "E504", f"'{signature.name}' needs an argument for {told}", node, hint=str(signature))
    return found


def _count(n: int) -> str:
    return "no arguments" if n == 0 else "1 argument" if n == 1 else f"{n} arguments"


class Matcher:
    """One match of arguments with a signature."""

    def __init__(self, e: Elaborator, match: Match, node: tree.Node):
        self.e, self.match, self.node = e, match, node
        self.later: list[tuple[Dim, Dim, int, Parameter, Given]] = []

    def run(self, dims: Mapping[str, tuple[Dim, tree.Node]]) -> Match:
        """Finds the binding. Raises Mismatch."""
        m = self.match
        own = m.signature
        for name, (value, where) in dims.items():
            if name not in own.dims:
                hint = similar(name, [*own.dims]) or str(own)
                raise Mismatch(0, "E512", f"'{own.name}' has no dimension '{name}'", where, hint=hint)
            self.bind(name, value, where, "given")
        pairs = [(p, m.arguments[p.name]) for p in own.parameters if p.name in m.arguments]
        for p, given in pairs:
            if p.const:
                self.const(p, given)
        tensors = [(p, given) for p, given in pairs if not p.const]
        for p, given in tensors:
            self.kind(p.type, given.value, p, given)
        for weak in (False, True):
            for p, given in tensors:
                self.dtype(p.type, given.value, p, given, weak)
        for p, given in tensors:
            self.shape(p.type, given.value, p, given)
        self.defaults()
        self.compound()
        return m

    # What kind of thing an argument is

    def kind(self, kind: Type, value: AnyValue, p: Parameter, given: Given) -> None:
        """A tensor for a tensor, a tuple for a tuple."""
        if isinstance(kind, UnknownType) or (isinstance(value, Value) and value.unknown):
            self.match.uncertain = True
        elif isinstance(kind, TupleType):
            if not isinstance(value, TupleValue) or len(value.items) != len(kind.items):
                raise Mismatch(1, "E506", f"'{p.name}' takes {kind}, got {describe(value)}", given.node)
            for own, item in zip(kind.items, value.items, strict=True):
                self.kind(own, item, p, given)
        elif not isinstance(value, Value):
            hint = "a list in brackets is one tensor" if isinstance(value, TupleValue) else ""
            raise Mismatch(1, "E506", f"'{p.name}' takes {kind}, got {describe(value)}", given.node, hint=hint)

    def const(self, p: Parameter, given: Given) -> None:
        """A `const` parameter: its argument must be known when compiling."""
        value, m = given.value, self.match
        if not isinstance(value, Value):
            raise Mismatch(1, "E506", f"'{p.name}' takes a const {p.const}, got {describe(value)}", given.node)
        if value.unknown:
            m.uncertain = True
            return
        const = value.const
        if const is None:
            hint = "numbers, dimensions and consts are known"
            message = f"'{p.name}' is a const: it must be known when compiling"
            raise Mismatch(2, "E507", message, given.node, hint=hint)
        wrong = f"'{p.name}' takes a const {p.const}, got {describe(value)}"
        match p.const:
            case "int":
                if isinstance(const, Unbound) and value.type.dtype == "i64":
                    m.uncertain = True
                elif value.dim is None:
                    raise Mismatch(2, "E507", wrong, given.node)
                else:
                    self.bind(p.name, value.dim, given.node, p.name)
            case "bool":
                if not isinstance(const, bool | Unbound) or value.type.dtype != "bool":
                    raise Mismatch(2, "E507", wrong, given.node)
                m.consts[p.name] = const
            case _:
                if isinstance(const, bool) or not isinstance(const, int | float | Unbound | Poly):
                    raise Mismatch(2, "E507", wrong, given.node)
                m.consts[p.name] = float(const) if isinstance(const, int) else const

    # Dtypes

    def dtype(self, kind: Type, value: AnyValue, p: Parameter, given: Given, weak: bool) -> None:
        """Binds type parameters: first by what has a dtype, then weak numbers take what is bound."""
        if isinstance(kind, TupleType) and isinstance(value, TupleValue):
            for own, item in zip(kind.items, value.items, strict=True):
                self.dtype(own, item, p, given, weak)
            return
        if not isinstance(kind, TensorType) or not isinstance(value, Value) or value.unknown or value.weak != weak:
            return
        wanted = kind.dtype
        if isinstance(wanted, TypeVar):
            bound = self.match.dtypes.get(wanted.name)
            if bound is None:
                bound = self.free(wanted, value, p, given)
                self.match.dtypes[wanted.name] = bound
                self.match.origins[wanted.name] = given.node, p.name
            elif not value.weak and bound != value.type.dtype:
                first, name = self.match.origins[wanted.name]
                raise Mismatch(
                    2,
                    "E201",
                    f"'{self.match.signature.name}' needs one dtype for {wanted}: {bound} and {value.type.dtype}",
                    given.node,
                    Label(given.node.span, f"{wanted} = {value.type.dtype} from {p.name} here"),
                    Label(first.span, f"{wanted} = {bound} from {name} here"),
                    hint=f"cast one of them: {bound}(…)",
                )
            wanted = bound
        if value.weak:
            if not promotion.takes(value, wanted):
                message = f"'{p.name}' takes {wanted}, got {describe(value)}"
                raise Mismatch(2, "E201", message, given.node, hint=promotion.cast_hint(value, wanted))
            if problem := promotion.misfit(value.const, wanted):
                raise Mismatch(2, "E203", problem, given.node)
        elif value.type.dtype != wanted:
            message = f"'{p.name}' takes {wanted}, got {value.type}"
            raise Mismatch(2, "E201", message, given.node, hint=promotion.cast_hint(value, wanted))

    def free(self, wanted: TypeVar, value: Value, p: Parameter, given: Given) -> DType:
        """The dtype that a type parameter gets from its first argument."""
        own: DType = value.type.dtype
        if value.weak and wanted.kind == "float":
            own = "f32"
        elif value.weak and wanted.kind == "complex":
            own = "c64"
        if not is_a(own, wanted.kind):
            message = f"'{p.name}' takes {_kind(wanted.kind)}, got {own}"
            hint = promotion.cast_hint(value, "f32") if wanted.kind == "float" else ""
            if isinstance(own, TypeVar):
                hint = f"narrow the type parameter: [{own}: {wanted.kind}]"
            raise Mismatch(2, "E205", message, given.node, hint=hint)
        return own

    # Shapes

    def shape(self, kind: Type, value: AnyValue, p: Parameter, given: Given) -> None:
        """Binds dimensions and packs; compound ones wait until all symbols are bound."""
        if isinstance(kind, TupleType) and isinstance(value, TupleValue):
            for own, item in zip(kind.items, value.items, strict=True):
                self.shape(own, item, p, given)
            return
        if not isinstance(kind, TensorType) or not isinstance(value, Value) or value.unknown:
            return
        have: tuple[Extent, ...] = value.type.shape
        wanted = self.spread(kind.shape, len(have))
        if wanted is None:
            raise Mismatch(
                2 if kind.shape else 1,
                "E304",
                f"'{p.name}' takes {kind}, got {value.type}",
                given.node,
                hint=_rank_hint(kind, value.type),
            )
        position = 0
        for want in wanted:
            if isinstance(want, tuple):
                self.pack(want[0], have[position : position + want[1]], p, given)
                position += want[1]
                continue
            extent = have[position]
            if isinstance(extent, Pack):
                message = f"'{p.name}' takes {kind}, got {value.type}: '{extent}' may be any number of dimensions"
                raise Mismatch(2, "E304", message, given.node)
            self.dimension(want, extent, position, p, given)
            position += 1

    def spread(self, wanted: Sequence[Extent], rank: int) -> list[Dim | tuple[str, int]] | None:
        """The shape wanted with the length of each pack; None where the ranks do not fit."""
        packs = self.match.packs
        sizes = {item.name: len(packs[item.name]) for item in wanted if isinstance(item, Pack) and item.name in packs}
        open_ = [item for item in wanted if isinstance(item, Pack) and item.name not in sizes]
        rest = rank - sum(sizes.get(item.name, 0) if isinstance(item, Pack) else 1 for item in wanted)
        if rest < 0 or (rest > 0 and not open_):
            return None
        found: list[Dim | tuple[str, int]] = []
        for item in wanted:
            if not isinstance(item, Pack):
                found.append(item)
            elif item.name in sizes:
                found.append((item.name, sizes[item.name]))
            else:  # the first one that is open takes what there is
                found.append((item.name, rest))
                rest = 0
        return found

    def pack(self, name: str, have: tuple[Extent, ...], p: Parameter, given: Given) -> None:
        bound = self.match.packs.get(name)
        if bound is None:
            self.match.packs[name] = have
            self.match.origins[f"..{name}"] = given.node, p.name
            return
        same = len(bound) == len(have) and all(
            a == b or not (isinstance(a, Pack) or isinstance(b, Pack) or self.e.may_differ(a, b))
            for a, b in zip(bound, have, strict=True)
        )
        if not same:
            self.conflict(f"..{name}", _list(have), _list(bound), p, given)

    def dimension(self, want: Dim, have: Dim, axis: int, p: Parameter, given: Given) -> None:
        if isinstance(want, int):
            if self.e.may_differ(want, have):
                message = f"'{p.name}' takes {p.type}: axis {axis} must have {want} elements, got {have}"
                raise Mismatch(3, "E307", message, given.node)
            return
        bare = next(iter(symbols_of(want))) if len(want.terms) == 1 and _is_symbol(want) else None
        if bare is None:
            self.later.append((want, have, axis, p, given))
        elif bare.name not in self.match.dims:
            self.bind(bare.name, have, given.node, p.name)
        elif self.e.may_differ(self.match.dims[bare.name], have):
            self.conflict(bare.name, have, self.match.dims[bare.name], p, given)

    def conflict(self, name: str, have: Any, bound: Any, p: Parameter, given: Given) -> None:
        first, source = self.match.origins[name]
        raise Mismatch(
            3,
            "E301",
            f"'{self.match.signature.name}' needs one {name}: {bound} and {have}",
            given.node,
            Label(given.node.span, f"{name} = {have} from {p.name} here"),
            Label(
                first.span, f"{name} = {bound} from {source} here" if source != "given" else f"{name} = {bound} here"
            ),
        )

    def bind(self, name: str, value: Dim, where: tree.Node, source: str) -> None:
        self.match.dims[name] = value
        self.match.origins[name] = where, source

    def compound(self) -> None:
        """Dimensions such as `2*K`: solved for what is not bound yet, else compared."""
        m = self.match
        waiting = self.later
        while waiting:
            left: list[tuple[Dim, Dim, int, Parameter, Given]] = []
            for want, have, axis, p, given in waiting:
                free = [s for s in symbols_of(want) if s.name not in m.dims]
                if not free:
                    self.compare(want, have, axis, p, given)
                    continue
                found = solve(evaluate(want, m.dims), free[0], have) if len(free) == 1 else None
                if found is None:
                    left.append((want, have, axis, p, given))
                else:
                    self.bind(free[0].name, found, given.node, p.name)
            if len(left) == len(waiting):
                want, have, axis, p, given = left[0]
                free = sorted(s.name for s in symbols_of(want) if s.name not in m.dims)
                if not m.uncertain:
                    found = f"'{p.name}' has {have} elements along axis {axis}, which are to be {want}"
                    message = f"{free[0]} cannot be found: {found}"
                    hint = f"give it: {m.signature.name}[{free[0]}=…](…)"
                    raise Mismatch(3, "E305", message, given.node, hint=hint)
                return
            waiting = left

    def compare(self, want: Dim, have: Dim, axis: int, p: Parameter, given: Given) -> None:
        m = self.match
        try:
            value = evaluate(want, m.dims)
        except ZeroDivisionError:
            raise Mismatch(3, "E312", f"{want} divides by 0", given.node) from None
        if self.e.may_differ(value, have):
            names = sorted(s.name for s in symbols_of(want))
            labels = [Label(given.node.span, f"{have} from {p.name} here, {want} = {value} is needed")]
            labels += [
                Label(m.origins[n][0].span, f"{n} = {m.dims[n]} from {m.origins[n][1]} here")
                for n in names
                if n in m.origins
            ]
            message = f"'{p.name}' takes {p.type}: axis {axis} must have {want} = {value} elements, got {have}"
            raise Mismatch(3, "E301", message, given.node, *labels)

    def defaults(self) -> None:
        """Parameters that are not given, in a scope of what is bound so far."""
        m = self.match
        for p in m.signature.parameters:
            default = p.node.default
            if p.name in m.arguments or default is None:
                continue
            scope = scope_of(self.e, m.signature, m.bound)
            value = self.e.expression(default, scope, p.type)
            given = Given(value, default)
            m.arguments[p.name] = given
            if p.const:
                self.const(p, given)
            else:
                self.kind(p.type, value, p, given)
                for weak in (False, True):
                    self.dtype(p.type, value, p, given, weak)
                self.shape(p.type, value, p, given)


def _is_symbol(dim: Poly) -> bool:
    ((monomial, factor),) = dim.terms
    return factor == 1 and len(monomial) == 1 and monomial[0][1] == 1 and not hasattr(monomial[0][0], "function")


def _list(shape: Sequence[Extent]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def _kind(kind: str) -> str:
    return {"int": "integers", "float": "floats", "complex": "complex numbers", "number": "numbers"}.get(kind, kind)


def _rank_hint(kind: TensorType, got: TensorType) -> str:
    if kind.rank is None or got.rank is None:
        return ""
    return f"it has {got.rank} ax{'i' if got.rank == 1 else 'e'}s, not {kind.rank}"


__all__ = ["Given", "Match", "Matcher", "Mismatch", "assign"]
