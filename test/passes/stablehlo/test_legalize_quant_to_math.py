"""Quantised programs mean the same as the integers and floats they become, to the last bit, and natively."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

import lamina
from lamina.compiler.dtypes import dtype_of
from lamina.compiler.interpreter import Interpreter
from lamina.compiler.parsing import parse_module
from lamina.compiler.program import Program
from lamina.compiler.verifier import verify
from lamina.passes.stablehlo.legalize_quant_to_math import LegalizeQuantToMath
from lamina.tools.sources import new_context

Array = np.ndarray[Any, Any]
UNARY = """abs cbrt ceil cosine exponential exponential_minus_one floor log log_plus_one logistic negate
round_nearest_afz round_nearest_even rsqrt sign sine sqrt tan tanh"""
BINARY = "add atan2 divide maximum minimum multiply power remainder subtract"
PROGRAMS = sorted((Path(__file__).parent / "quantized").glob("*.mlir"))


def elementwise(storage: str, expressed: str, zero: int = -2) -> str:
    """Every elementwise op, between three quantisations; limits of their own for what is quantised last."""
    a, b, c = (
        f"tensor<3x7x!quant.uniform<{storage}{rest}>>"
        for rest in (f":{expressed}, 0.05:1", f":{expressed}, 0.1:{zero}", f"<1:3>:{expressed}, 0.2:2")
    )
    ops = [f"%{name} = stablehlo.{name} %a : ({a}) -> {a}" for name in UNARY.split()]
    ops += [f"%{name} = stablehlo.{name} %a, %b : ({a}, {b}) -> {b}" for name in BINARY.split()]
    ops += [
        f"%re = stablehlo.uniform_quantize %a : ({a}) -> {b}",
        f"%float = stablehlo.uniform_dequantize %b : ({b}) -> tensor<3x7x{expressed}>",
        f"%limited = stablehlo.uniform_quantize %x : (tensor<3x7x{expressed}>) -> {c}",
        f"%less = stablehlo.compare LT, %a, %b, FLOAT : ({a}, {b}) -> tensor<3x7xi1>",
        f"%finite = stablehlo.is_finite %a : ({a}) -> tensor<3x7xi1>",
        f"%clamped = stablehlo.clamp %a, %b, %a : ({a}, {b}, {a}) -> {b}",
        f"%chosen = stablehlo.select %less, %a, %b : (tensor<3x7xi1>, {a}, {b}) -> {b}",
    ]
    names = ", ".join(op.split()[0] for op in ops)
    types = ", ".join(op.rpartition("-> ")[2] for op in ops)
    body = "\n".join([*ops, f"func.return {names} : {types}"])
    return f"func.func @main(%a: {a}, %b: {b}, %x: tensor<3x7x{expressed}>) -> ({types}) {{\n{body}\n}}"


def program(text: str) -> tuple[Program, list[Array]]:
    """The program, and numbers for its arguments: all that few bits can say, and floats that have no integer."""
    context, rng = new_context(), np.random.default_rng(1)
    module = parse_module(text, "test", context)
    verify(module)
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    arrays: list[Array] = []
    for kind in function.function_type.inputs:
        shape, dtype = kind.get_shape(), dtype_of(kind)  # pyright: ignore
        if dtype.name == "int32":
            arrays.append(rng.integers(0, 4, shape).astype(dtype))
        elif "int" in dtype.name:
            arrays.append(rng.integers(-128, 128, shape).astype(np.int8).astype(dtype))
        else:
            x = np.asarray(rng.integers(-99, 99, shape) / 4).astype(dtype)
            arrays.append(x)
    return Program(module, context), arrays


def same(left: Sequence[Array], right: Sequence[Array]) -> bool:
    return all(
        x.dtype == y.dtype and np.array_equal(x.astype(float), y.astype(float), equal_nan=True)
        for x, y in zip(left, right, strict=True)
    )


@pytest.mark.parametrize(
    "text",
    [
        *(pytest.param(path.read_text(), id=path.stem) for path in PROGRAMS),
        *(
            pytest.param(elementwise(storage, expressed, 2 if storage[0] == "u" else -2), id=f"{storage}-{expressed}")
            for storage, expressed in (("i8", "f32"), ("u8", "f16"), ("i4", "bf16"), ("i16", "bf16"), ("u16", "f64"))
        ),
        pytest.param(elementwise("i32", "f32"), id="i32-f32"),
    ],
)
def test_the_pass_keeps_every_bit(text: str) -> None:
    made, inputs = program(text)
    interpreter = Interpreter(made.context)
    expected = interpreter.run(made.module, inputs)
    LegalizeQuantToMath().apply(made.context, made.module)
    verify(made.module)
    assert "quant" not in str(made.module)
    assert same(expected, Interpreter(made.context).run(made.module, inputs))


NATIVE = {**{path.stem: path.read_text() for path in PROGRAMS}, "i8-f32": elementwise("i8", "f32")}


@pytest.mark.parametrize("text", NATIVE.values(), ids=NATIVE.keys())
def test_native(text: str) -> None:
    made, inputs = program(text)
    expected = Interpreter(made.context).run(made.module, inputs)
    assert same(expected, lamina.compile(made, "cpu")(*inputs))
