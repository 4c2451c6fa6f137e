"""How often loops over a counter run, against running them."""

from __future__ import annotations

import operator

import pytest

from lamina.compiler.parsing import parse_module
from lamina.dialects.stablehlo import WhileOp
from lamina.dialects.stablehlo.counted_loops import Counted, counted
from lamina.tools.sources import new_context

HOLDS = {"LT": operator.lt, "LE": operator.le, "GT": operator.gt, "GE": operator.ge, "NE": operator.ne}
SWAPPED = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE", "NE": "NE"}


def loop(start: object, test: str, step: str, kind: str = "i32") -> WhileOp:
    """A loop with a counter %i and a value %x; `test` and `step` compute %p and %next."""
    text = f"""
func.func @main(%x: tensor<{kind}>) -> tensor<{kind}> {{
  %start = stablehlo.constant dense<{start}> : tensor<{kind}>
  %o:2 = stablehlo.while(%i = %start, %s = %x) : tensor<{kind}>, tensor<{kind}>
   cond {{
    {test}
    stablehlo.return %p : tensor<i1>
  }} do {{
    {step}
    stablehlo.return %next, %s : tensor<{kind}>, tensor<{kind}>
  }}
  return %o#0 : tensor<{kind}>
}}"""
    module = parse_module(text, "loop.mlir", new_context())
    return next(op for op in module.walk() if isinstance(op, WhileOp))


def constant(name: str, value: object, kind: str = "i32") -> str:
    return f"%{name} = stablehlo.constant dense<{value}> : tensor<{kind}>\n"


def compare(direction: str, left: str, right: str, kind: str = "i32") -> str:
    return f"%p = stablehlo.compare {direction}, {left}, {right} : (tensor<{kind}>, tensor<{kind}>) -> tensor<i1>"


@pytest.mark.parametrize("direction", HOLDS)
@pytest.mark.parametrize(
    ("start", "end", "step"), [(0, 7, 1), (3, 10, 3), (9, -4, -2), (5, 5, 1), (0, 8, 2), (8, 0, 1)]
)
def test_iterations_are_counted(direction: str, start: int, end: int, step: int):
    """In both orders of the comparison, forwards and backwards; where it goes on without end there is no number."""
    i, trips = start, 0
    while HOLDS[direction](i, end) and trips < 1000:
        i, trips = i + step, trips + 1
    forms = [
        (compare(direction, "%i", "%end"), constant("by", step) + "%next = stablehlo.add %i, %by : tensor<i32>"),
        (
            compare(SWAPPED[direction], "%end", "%i"),
            constant("by", step) + "%next = stablehlo.add %by, %i : tensor<i32>",
        ),
        (compare(direction, "%i", "%end"), constant("by", -step) + "%next = stablehlo.subtract %i, %by : tensor<i32>"),
    ]
    for test, following in forms:
        found = counted(loop(start, constant("end", end) + test, following))
        assert found == (Counted(0, start, step, trips) if trips < 1000 else None)


@pytest.mark.parametrize(
    ("start", "test", "step"),
    [
        (0, compare("LT", "%i", "%x"), constant("by", 1) + "%next = stablehlo.add %i, %by : tensor<i32>"),
        (0, compare("LT", "%i", "%s"), constant("by", 1) + "%next = stablehlo.add %i, %by : tensor<i32>"),
        (
            0,
            constant("end", 9) + compare("LT", "%s", "%end"),
            constant("by", 1) + "%next = stablehlo.add %i, %by : tensor<i32>",
        ),
        (0, constant("end", 9) + compare("LT", "%i", "%end"), "%next = stablehlo.add %i, %s : tensor<i32>"),
        (
            1,
            constant("end", 9) + compare("LT", "%i", "%end"),
            constant("by", 2) + "%next = stablehlo.multiply %i, %by : tensor<i32>",
        ),
        (
            0,
            constant("end", 9) + compare("EQ", "%i", "%end"),
            constant("by", 1) + "%next = stablehlo.add %i, %by : tensor<i32>",
        ),
        (
            0,
            constant("end", 2**31 - 1) + compare("LE", "%i", "%end"),
            constant("by", 1) + "%next = stablehlo.add %i, %by : tensor<i32>",
        ),
        (
            0,
            constant("end", 2**31 - 2) + compare("LT", "%i", "%end"),
            constant("by", 4) + "%next = stablehlo.add %i, %by : tensor<i32>",
        ),
        (
            0,
            constant("end", 5) + compare("LT", "%i", "%end"),
            constant("by", 0) + "%next = stablehlo.add %i, %by : tensor<i32>",
        ),
    ],
    ids=["end", "state", "other", "step", "product", "equal", "no-end", "wraps", "stands"],
)
def test_other_loops_have_no_number(start: int, test: str, step: str):
    assert counted(loop(start, test, step)) is None


def test_numbers_of_floats_do_not_count():
    test = constant("end", "9.0", "f32") + compare("LT", "%i", "%end", "f32")
    step = constant("by", "1.0", "f32") + "%next = stablehlo.add %i, %by : tensor<f32>"
    assert counted(loop("0.0", test, step, "f32")) is None


def test_unsigned_counters_count():
    test = constant("end", 255, "ui8") + compare("LT", "%i", "%end", "ui8")
    step = constant("by", 1, "ui8") + "%next = stablehlo.add %i, %by : tensor<ui8>"
    assert counted(loop(250, test, step, "ui8")) == Counted(0, 250, 1, 5)
