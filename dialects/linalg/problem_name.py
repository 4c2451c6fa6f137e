"""What a contraction is called: its loops by role with their extents, and whatever is unusual about its operands.

`matmul f32 m196 n256 k1024`, `matmul f32 b12 m128 n64 k128 a=m0,b0,k0`, `conv f32 m28x28 n128 k3x3x128
a=2m0+k0,2m1+k1,k2`. The name depends on the arithmetic alone, not on names, layout of panels or the compiler's version,
so that it can stand in a file that people edit and keep.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import ShapedType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from .contraction import Contraction, match_contraction
from .ops import GenericOp
from .views import linear_form, loop_ranges


def problem_name(op: GenericOp, right: str = "") -> str | None:
    """The name of the contraction that `op` is; None when it is none.

    Loops: `b` are in both operands and the result, `m` in the left operand, `n` in the right one, `k` is summed over;
    extents in the result's order (`k`: the loops' order), those of 1 left out. `a=` and `c=` give the subscripts of the
    left operand and the result where they are not simply b, m, k and b, m, n. `right` says where the right operand is
    from, where that matters.
    """
    c = match_contraction(op)
    if c is None:
        return None
    return _name(op, c, right)


def _name(op: GenericOp, c: Contraction, right: str) -> str:
    sizes = loop_ranges(op)
    letters: dict[int, str] = {}
    extents: list[str] = []
    for letter, dims in (("b", c.batch), ("m", c.m), ("n", c.n), ("k", c.k)):
        live = [d for d in dims if sizes[d] != 1]
        letters |= {d: f"{letter}{i}" for i, d in enumerate(live)}
        if live or letter != "b":
            extents.append(letter + ("x".join(str(sizes[d]) for d in live) or "1"))
    left, out = (_subscripts(op.maps[i], letters) for i in (c.lhs, 2))
    order = {letter: [name for name in letters.values() if name[0] == letter] for letter in "bmnk"}
    parts = [
        "conv" if any("+" in each for each in left) else "matmul",
        _elements([op.operands[c.lhs], op.operands[c.rhs], op.operands[2]]),
        *extents,
    ]
    if left != [*order["b"], *order["m"], *order["k"]]:
        parts.append(f"a={','.join(left)}")
    if out != [*order["b"], *order["m"], *order["n"]]:
        parts.append(f"c={','.join(out)}")
    if right:
        parts.append(f"b={right}")
    return " ".join(parts)


def _elements(values: Sequence[SSAValue]) -> str:
    names = [str(cast("ShapedType", value.type).element_type) for value in values]  # pyright: ignore
    return names[0] if len(set(names)) == 1 else ",".join(names)


def _subscripts(map_: AffineMap, letters: Mapping[int, str]) -> list[str]:
    """One text for each subscript that is not always the same."""
    return [text for text in (_subscript(expr, letters) for expr in map_.results) if text]


def _subscript(expr: AffineExpr, letters: Mapping[int, str]) -> str:
    if isinstance(expr, AffineDimExpr):
        return letters.get(expr.position, "")
    form = linear_form(expr)
    if form is None:
        return str(expr)
    coefficients, constant = form
    terms = [f"{'' if f == 1 else f}{letters[d]}" for d, f in coefficients.items() if d in letters and f]
    return "+".join([*terms, str(constant)] if constant and terms else terms)
