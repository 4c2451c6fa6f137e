"""Collected affine expressions against the values of those they are made of."""

import itertools
import random

import pytest
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineExpr

from lamina.compiler.affine_sums import collected

KINDS = (AffineBinaryOpKind.FloorDiv, AffineBinaryOpKind.Mod, AffineBinaryOpKind.CeilDiv)


def drawn(rng: random.Random, depth: int) -> AffineExpr:
    if depth == 0:
        return rng.choice(
            [AffineExpr.dimension(0), AffineExpr.dimension(1), AffineExpr.constant(rng.randrange(-9, 40))]
        )
    inner = drawn(rng, depth - 1)
    match rng.randrange(4):
        case 0:
            return inner + drawn(rng, rng.randrange(depth))
        case 1:
            return inner * rng.choice([-8, -1, 0, 2, 4, 12])
        case _:
            divisor = AffineExpr.constant(rng.choice([1, 2, 3, 4, 8, 12, 32]))
            return AffineBinaryOpExpr(rng.choice(KINDS), inner, divisor)


@pytest.mark.parametrize("seed", range(40))
def test_values_stay_what_they_are(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(20):
        expr = drawn(rng, rng.randrange(6))
        short = collected(expr)
        assert collected(short) == short
        for values in itertools.product((-7, -1, 0, 1, 5, 31, 32, 100), repeat=2):
            assert short.eval(values, []) == expr.eval(values, []), (str(expr), str(short))


@pytest.mark.parametrize(
    ("expr", "short"),
    [
        ("lane", "(d0 mod 32) floordiv 4"),
        ("again", "d0 mod 4"),
        ("twice", "d0 floordiv 32"),
        ("nothing", "0"),
    ],
)
def test_divisions_are_simple(expr: str, short: str) -> None:
    d = AffineExpr.dimension(0)
    exprs = {"lane": d % 32 // 4, "again": d % 32 % 4, "twice": d // 8 // 4, "nothing": d % 32 * 8 % 8}
    assert str(collected(exprs[expr])) in (short, f"({short})")
