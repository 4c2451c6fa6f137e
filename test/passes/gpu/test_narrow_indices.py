"""What ranges of indices say of sums, divisions and the rest, against all values of small ranges."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from xdsl.dialects import arith

from lamina.passes.gpu.narrow_indices import RANGES


def cut(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


MEANING: dict[type, Callable[[int, int], int]] = {
    arith.AddiOp: lambda a, b: a + b,
    arith.SubiOp: lambda a, b: a - b,
    arith.MuliOp: lambda a, b: a * b,
    arith.DivUIOp: lambda a, b: a // b,
    arith.DivSIOp: cut,
    arith.RemUIOp: lambda a, b: a % b,
    arith.RemSIOp: lambda a, b: a - cut(a, b) * b,
    arith.AndIOp: lambda a, b: a & b,
    arith.OrIOp: lambda a, b: a | b,
    arith.XOrIOp: lambda a, b: a ^ b,
    arith.ShLIOp: lambda a, b: a << b,
    arith.ShRUIOp: lambda a, b: a >> b,
    arith.MinSIOp: min,
    arith.MaxSIOp: max,
}
ENDS = (-9, -4, -1, 0, 1, 3, 8)
SPANS = [(low, high) for low, high in itertools.product(ENDS, ENDS) if low <= high]
UNSIGNED = (arith.DivUIOp, arith.RemUIOp, arith.ShRUIOp)


@pytest.mark.parametrize("op", MEANING, ids=lambda op: op.name)
def test_ranges_hold_all_that_there_may_be(op: type) -> None:
    told = 0
    for a, b in itertools.product(SPANS, SPANS):
        found = RANGES[op](a, b)
        if found is None:
            continue
        told += 1
        for x, y in itertools.product(range(a[0], a[1] + 1), range(b[0], b[1] + 1)):
            assert found[0] <= MEANING[op](x, y) <= found[1], (a, b, x, y)
            assert op not in UNSIGNED or x >= 0, "an unsigned op of what may be negative is another one in 32 bits"
    assert told


def test_of_two_values_either() -> None:
    assert RANGES[arith.SelectOp]((1, 4), (-2, 3)) == (-2, 4)
    assert set(RANGES) == {*MEANING, arith.SelectOp}
