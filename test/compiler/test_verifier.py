"""What was verified once is right wherever it stands; what differs in anything that counts is looked at again."""

from __future__ import annotations

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, IntegerType, ModuleOp, i32, i64
from xdsl.ir import Attribute, Operation

from lamina.compiler import verifier
from lamina.compiler.diagnostics import LaminaError
from lamina.dialects.x86 import PermuteOp


def sum_of(left: int, right: int, result: IntegerType) -> list[Operation]:
    a, b = (arith.ConstantOp(IntegerAttr(1, IntegerType(width))) for width in (left, right))
    return [a, b, arith.AddiOp.create(operands=[a.result, b.result], result_types=[result])]


def test_what_is_alike_is_looked_at_once(monkeypatch: pytest.MonkeyPatch):
    looked: list[Operation] = []
    verify = arith.AddiOp.verify_
    monkeypatch.setattr(arith.AddiOp, "verify_", lambda op: (looked.append(op), verify(op)))
    verifier._right.clear()  # pyright: ignore[reportPrivateUsage]
    verifier.verify(ModuleOp([*sum_of(32, 32, i32), *sum_of(32, 32, i32), *sum_of(64, 64, i64)]))
    assert [op.results[0].type for op in looked] == [i32, i64]


@pytest.mark.parametrize("left, right, result", [(32, 64, i32), (64, 64, i32), (32, 32, i64)])
def test_other_types_are_wrong_every_time(left: int, right: int, result: Attribute):
    verifier.verify(ModuleOp(sum_of(32, 32, i32)))
    for _ in range(2):
        with pytest.raises(LaminaError):
            verifier.verify(ModuleOp(sum_of(left, right, result)))  # pyright: ignore[reportArgumentType]


def test_an_attribute_is_part_of_what_is_right():
    right = arith.ConstantOp(IntegerAttr(1, i32))
    wrong = arith.ConstantOp(IntegerAttr(1, i32))
    wrong.properties["value"] = IntegerAttr(1, i64)
    verifier.verify(ModuleOp([right]))
    with pytest.raises(LaminaError):
        verifier.verify(ModuleOp([wrong]))


def test_few_are_remembered(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(verifier, "_REMEMBERED", 4)
    verifier._right.clear()  # pyright: ignore[reportPrivateUsage]
    verifier.verify(ModuleOp([op for width in range(1, 12) for op in sum_of(width, width, IntegerType(width))]))
    assert len(verifier._right) <= 4  # pyright: ignore[reportPrivateUsage]


def test_ops_that_look_around_are_always_looked_at():
    assert verifier._looks_around(ModuleOp)  # pyright: ignore[reportPrivateUsage]
    assert not verifier._looks_around(PermuteOp)  # pyright: ignore[reportPrivateUsage]
