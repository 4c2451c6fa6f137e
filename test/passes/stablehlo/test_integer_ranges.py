"""Ranges of integers: what the reference computes lies inside, and the bounds are reached where they are exact."""

from __future__ import annotations

import numpy as np
import pytest

import lamina
from lamina.compiler.program import main_function
from lamina.dialects.stablehlo.constants import constant_value
from lamina.passes.stablehlo.integer_ranges import Range, value_range
from lamina.tools.sources import read_program

TYPE, BYTES = "tensor<64xi32>", "tensor<64xui8>"


def constant(name: str, value: int) -> str:
    return f"%{name} = stablehlo.constant dense<{value}> : {TYPE}\n"


PROGRAMS = {
    "a byte": ("%y = stablehlo.convert %b : (tensor<64xui8>) -> tensor<64xi32>", Range(0, 255)),
    "narrowed": (
        "%n = stablehlo.convert %b : (tensor<64xui8>) -> tensor<64xi8>\n"
        "%y = stablehlo.convert %n : (tensor<64xi8>) -> tensor<64xi32>",
        Range(-128, 127),
    ),
    "masked": (constant("m", 12) + f"%y = stablehlo.and %i, %m : {TYPE}", Range(0, 12)),
    "two masks": (
        constant("m", 12) + constant("n", 7) + f"%a = stablehlo.and %i, %m : {TYPE}\n"
        f"%c = stablehlo.and %i, %n : {TYPE}\n%y = stablehlo.subtract %a, %c : {TYPE}",
        Range(-7, 12),
    ),
    "shifted": (
        constant("m", 1000) + constant("s", 3) + f"%a = stablehlo.and %i, %m : {TYPE}\n"
        f"%y = stablehlo.shift_right_logical %a, %s : {TYPE}",
        Range(0, 125),
    ),
    "shifted with its sign": (
        constant("s", 3) + f"%y = stablehlo.shift_right_logical %i, %s : {TYPE}",
        Range(-(2**31), 2**31 - 1),
    ),
    "clamped": (constant("l", -5) + constant("h", 9) + f"%y = stablehlo.clamp %l, %i, %h : {TYPE}", Range(-5, 9)),
    "clamped between bounds that cross": (
        constant("l", 9) + constant("h", -5) + f"%y = stablehlo.clamp %l, %i, %h : {TYPE}",
        Range(-5, -5),
    ),
    "wraps": (constant("o", 1) + f"%y = stablehlo.add %i, %o : {TYPE}", Range(-(2**31), 2**31 - 1)),
    "chosen": (
        constant("o", 40) + constant("m", 3) + f"%a = stablehlo.and %i, %m : {TYPE}\n"
        f"%c = stablehlo.compare LT, %i, %o : ({TYPE}, {TYPE}) -> tensor<64xi1>\n"
        f"%y = stablehlo.select %c, %a, %o : tensor<64xi1>, {TYPE}",
        Range(0, 40),
    ),
    "counted": (f"%y = stablehlo.iota dim = 0 : {TYPE}", Range(0, 63)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_computed_lies_inside(name: str, tmp_path) -> None:
    body, expected = PROGRAMS[name]
    path = tmp_path / "program.mlir"
    path.write_text(
        f"builtin.module {{\nfunc.func public @main(%i: {TYPE}, %b: {BYTES}) -> {TYPE} {{\n"
        f"{body}\nfunc.return %y : {TYPE}\n}}\n}}"
    )
    program = read_program(str(path))
    result = main_function(program.module).regions[0].block.last_op.operands[0]
    found = value_range(result, lambda value: constant_value(value, program.context.weights))
    assert found == expected
    rng = np.random.default_rng(0)
    for _ in range(20):
        i = rng.integers(-(2**31), 2**31, 64).astype(np.int32)
        i[:3] = -1, 2**31 - 1, 0
        (y,) = lamina.interpret(program, [i, rng.integers(0, 256, 64).astype(np.uint8)])
        assert found.low <= y.min() and y.max() <= found.high
