"""Built-in views by patterns of axis names: `rearrange(x, "b (h d) -> b h d", h=8)`."""

from __future__ import annotations

from ...language.tree import Span, String
from ..values import Value
from . import einops, kinds
from .builder import Builder, Dim, Extent, hlo
from .failure import Failure, Undetermined
from .table import builtin

Sizes = Dim
"""A size given by name."""


@builtin("rearrange")
def rearrange(b: Builder, /, x: Value, pattern: str, **sizes: Dim) -> Value:
    """Axes by name split, ordered and joined: `rearrange(x, "b (h d) s -> b h s d", h=8)`."""
    return _view(b, x, pattern, sizes, "rearrange", "")


@builtin("repeat")
def repeat(b: Builder, /, x: Value, pattern: str, **sizes: Dim) -> Value:
    """As rearrange; names that only the right side has are new axes: `repeat(x, "h w -> h w c", c=3)`."""
    return _view(b, x, pattern, sizes, "repeat", "")


@builtin("reduce")
def reduce(b: Builder, /, x: Value, pattern: str, reduction: str, **sizes: Dim) -> Value:
    """As rearrange; axes that only the left side has are reduced: `reduce(x, "b h w c -> b c", "mean")`.

    By sum, mean, max, min, prod, any or all.
    """
    return _view(b, x, pattern, sizes, "reduce", reduction)


_KINDS = {
    "sum": ("add", kinds.NUMBER),
    "mean": ("add", kinds.INEXACT),
    "prod": ("multiply", kinds.NUMBER),
    "max": ("maximum", kinds.REAL),
    "min": ("minimum", kinds.REAL),
    "any": ("or", (kinds.BOOLEAN,)),
    "all": ("and", (kinds.BOOLEAN,)),
}


def _view(b: Builder, x: Value, text: str, sizes: dict[str, Dim], operation: str, reduction: str) -> Value:
    kind, accepted = ("", kinds.ANY)
    if operation == "reduce":
        if reduction not in _KINDS:
            raise b.fail("E553", f'there is no reduction "{reduction}"', "reduction", ", ".join(_KINDS))
        kind, accepted = _KINDS[reduction]
    x = kinds.accept(b, x, accepted)
    try:
        pattern = einops.parse(text)
        known = {*pattern.names("left"), *pattern.names("right")}
        for name in sizes:
            if name not in known:
                raise b.fail("E551", f"the pattern has no axis '{name}'", name)
        plan = einops.plan(pattern, x.type.shape, sizes, operation, b.divide)
    except einops.Unsettled:
        raise Undetermined from None
    except einops.PatternError as error:
        raise _failure(b, error) from error
    result = b.reshape(x, plan.split)
    if plan.reduced:
        before = result
        if kind and any(before.type.shape[i] != 1 for i in plan.reduced):
            result = b.reduce(kind, before, plan.reduced)
            if reduction == "mean":
                result = b.binary(hlo.DivideOp, result, b.splat(b.count(before, plan.reduced), result))
        else:
            result = b.reshape(before, [n for i, n in enumerate(before.type.shape) if i not in plan.reduced])
    result = b.transpose(result, plan.order)
    if plan.repeated:
        new = dict(plan.repeated)
        old = iter(result.type.shape)
        wide: list[Extent] = []
        for i in range(len(result.type.shape) + len(new)):
            wide.append(new[i] if i in new else next(old))
        result = b.broadcast(result, wide, [i for i in range(len(wide)) if i not in new])
    return b.reshape(result, plan.shape)


def _failure(b: Builder, error: einops.PatternError) -> Failure:
    """At the very characters of the pattern."""
    node = b.places.get("pattern", b.node)
    where = node.span
    if isinstance(node, String) and where.end - where.start == len(node.value) + 2:  # no escapes in it
        start = where.start + 1 + error.start
        where = Span(where.file, start, where.start + 1 + error.end, where.line, where.column + 1 + error.start)
    return Failure("E352", error.message, where, error.hint)
