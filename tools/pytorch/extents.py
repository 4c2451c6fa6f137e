"""Tensors whose size values decide, through the operators after them.

Such a tensor is as large as it can get; `builder.extents` says how much of which dimension counts. What comes after
must either keep each row to itself, so that rows that do not count stay without effect, or leave them out of a sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ...passes.convert.aten_to_stablehlo import AtenBuilder
from ...passes.convert.aten_to_stablehlo.builder import element_of, rank_of, shape_of

Extents = dict[int, SSAValue]

_SAME = ("clone", "_to_copy", "alias", "detach", "contiguous")
_ROWS = {"mm": 0, "addmm": 1, "linear": 0, "embedding": 1}  # of which argument the result has the rows
_NEUTRAL = {"sum": 0, "prod": 1, "any": 0, "all": 1}  # what does not count in a reduction


class Dependent:
    """Arithmetic on sizes that values decide: PyTorch only checks it."""


def depends(b: AtenBuilder, values: Sequence[Any]) -> bool:
    """Whether values decide the size of one of these."""
    return any(isinstance(x, SSAValue) and x in b.extents for x in values)


def size_of(b: AtenBuilder, x: SSAValue, dim: int) -> int | SSAValue:
    """The size of a dimension: a number of the program where values decide it."""
    own = b.extents.get(x, {})
    return own.get(dim % rank_of(x), shape_of(x)[dim])


def masked(b: AtenBuilder, name: str, args: list[Any]) -> list[Any]:
    """The arguments of a reduction with the rows that do not count made neutral."""
    x = args[0]
    if name not in _NEUTRAL or x not in b.extents:
        return args
    for dim, size in b.extents[x].items():
        places = b.iota([n if i == dim else 1 for i, n in enumerate(shape_of(x))], dim, i64)
        x = b.select(b.compare(places, size, "LT"), x, b.scalar(_NEUTRAL[name], element_of(x)))
    b.extents[x] = b.extents[args[0]]
    return [x, *args[1:]]


def carry(b: AtenBuilder, name: str, pointwise: bool, args: list[Any], result: Any) -> None:
    """Says of the result of an operator what its arguments say. Raises LaminaError where they cannot.

    `name` is the operator's without its overload; `pointwise`: whether it works on each element by itself.
    """
    rule = _pointwise if pointwise or name in _SAME else _RULES.get(name)
    if rule is None or not isinstance(result, SSAValue):
        raise b.fail("works on a tensor whose shape depends on values, which is not supported")
    found = rule(b, name, args, result)
    if found:
        b.extents[result] = found


def _values(args: Sequence[Any]) -> list[SSAValue]:
    flat = [x for a in args for x in (a if isinstance(a, list) else [a])]  # pyright: ignore[reportUnknownVariableType]
    return [x for x in flat if isinstance(x, SSAValue)]


def _pointwise(b: AtenBuilder, name: str, args: list[Any], result: SSAValue) -> Extents:
    rank, found = rank_of(result), Extents()
    operands = _values(args)
    for x in operands:
        for dim, size in b.extents.get(x, {}).items():
            if found.setdefault(dim + rank - rank_of(x), size) is not size:
                raise b.fail("two sizes that depend on values, which may differ, are not supported")
    for x in operands:
        for dim in found:
            own = dim - rank + rank_of(x)
            if own >= 0 and own not in b.extents.get(x, {}) and shape_of(x)[own] != 1:
                raise b.fail("a size that depends on values and one that does not, which may differ, are not supported")
    return found


def _moved(b: AtenBuilder, x: SSAValue, places: Sequence[int | None]) -> Extents:
    """`places`: the dimension of the result that each one of `x` becomes; None if it goes away, which it must not."""
    found = Extents()
    for dim, size in b.extents[x].items():
        place = places[dim]
        if place is None:
            raise b.fail("works along a dimension whose size depends on values, which is not supported")
        found[place] = size
    return found


def _permute(b: AtenBuilder, name: str, args: list[Any], result: SSAValue) -> Extents:
    order = [d % rank_of(args[0]) for d in args[1]]
    return _moved(b, args[0], [order.index(i) for i in range(len(order))])


def _without(b: AtenBuilder, name: str, args: list[Any], result: SSAValue) -> Extents:
    gone = args[1] % rank_of(args[0])
    return _moved(b, args[0], [None if i == gone else i - (i > gone) for i in range(rank_of(args[0]))])


def _squeezed(b: AtenBuilder, name: str, args: list[Any], result: SSAValue) -> Extents:
    rank = rank_of(args[0])
    dims = args[1] if isinstance(args[1], list) else [args[1]]  # pyright: ignore[reportUnknownVariableType]
    gone = {d % rank for d in dims if shape_of(args[0])[d] == 1}
    return _moved(b, args[0], [None if i in gone else i - sum(g < i for g in gone) for i in range(rank)])


def _with(b: AtenBuilder, name: str, args: list[Any], result: SSAValue) -> Extents:
    new = args[1] % rank_of(result)
    return _moved(b, args[0], [i + (i >= new) for i in range(rank_of(args[0]))])


def _part(b: AtenBuilder, name: str, args: list[Any], result: SSAValue) -> Extents:
    along = (args[1] if len(args) > 1 else 0) % rank_of(args[0])
    return _moved(b, args[0], [None if i == along else i for i in range(rank_of(args[0]))])


def _rows(b: AtenBuilder, name: str, args: list[Any], result: SSAValue) -> Extents:
    x = args[_ROWS[name]]
    if [v for v in _values(args) if v in b.extents] != [x]:
        raise b.fail("works on a tensor whose shape depends on values, which is not supported")
    last = None if name != "embedding" else rank_of(x) - 1
    return _moved(b, x, [*range(rank_of(x) - 1), last])


def _indexed(b: AtenBuilder, name: str, args: list[Any], result: SSAValue) -> Extents:
    """Rows at places: as many as there are places, each a list of its own length that all share."""
    places = [(i, x) for i, x in enumerate(args[1]) if x is not None]
    sizes = {b.extents.get(x, {}).get(0) for _, x in places}
    if args[0] in b.extents or len(sizes) != 1 or any(rank_of(x) != 1 for _, x in places):
        raise b.fail("works on a tensor whose shape depends on values, which is not supported")
    along = [i for i, _ in places]
    first = along[0] if along == list(range(along[0], along[0] + len(along))) else 0
    [size] = sizes
    return {first: size} if size is not None else {}


def _selected(b: AtenBuilder, name: str, args: list[Any], result: SSAValue) -> Extents:
    return _indexed(b, name, [args[0], [None] * (args[1] % rank_of(args[0])) + [args[2]]], result)


def _reduced(b: AtenBuilder, name: str, args: list[Any], result: SSAValue) -> Extents:
    x = args[0]
    rank = rank_of(x)
    dims = args[1] if len(args) > 1 else None
    named = [dims] if isinstance(dims, int) else list(dims or range(rank))
    gone = {d % rank for d in named}
    kept = rank_of(result) == rank
    return {d if kept else d - sum(g < d for g in gone): size for d, size in b.extents[x].items() if d not in gone}


_RULES: dict[str, Callable[[AtenBuilder, str, list[Any], SSAValue], Extents]] = {
    "permute": _permute,
    "select": _without,
    "squeeze": _squeezed,
    "unsqueeze": _with,
    "slice": _part,
    "index": _indexed,
    "index_select": _selected,
    **dict.fromkeys(_ROWS, _rows),
    **dict.fromkeys(_NEUTRAL, _reduced),
}
