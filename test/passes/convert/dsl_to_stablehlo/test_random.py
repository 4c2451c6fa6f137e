"""Random index notation means the same before and after its lowering to the hub.

The numbers are small integers, whatever their type, so that no order of adding them makes a difference.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from lamina.compiler.context import LaminaContext
from lamina.compiler.interpreter import Interpreter
from lamina.compiler.parsing import parse_module
from lamina.compiler.verifier import verify
from lamina.dialects import all_dialects
from lamina.passes.convert.dsl_to_stablehlo import ConvertDslToStablehlo, accesses, forms

COUNT = int(os.environ.get("LAMINA_RANDOM_PROGRAMS", "300"))
DTYPES = {"f64": np.float64, "i32": np.int32}


class Writer:
    """Writes one random function, op by op."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.lines: list[str] = []
        self.count = 0
        self.element = str(self.pick(["f64", "f64", "i32"]))
        self.sizes = [int(n) for n in self.rng.choice([0, 1, 2, 3, 4, 5], 4, p=[0.02, 0.14, 0.2, 0.24, 0.2, 0.2])]
        self.arguments = {
            f"%x{i}": [int(n) for n in self.rng.choice(self.sizes, self.rng.integers(1, 4))] for i in range(3)
        }

    def pick(self, choices):
        return choices[int(self.rng.integers(len(choices)))]

    def op(self, text: str) -> str:
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"{name} = {text}")
        return name

    def number(self, value: int, type_: str = "i64") -> str:
        literal = f"{value}.0" if type_.startswith("f") else str(value)
        return self.op(f"stablehlo.constant dense<{literal}> : tensor<{type_}>")

    def program(self) -> str:
        extents = [int(n) for n in self.rng.choice(self.sizes, self.rng.integers(0, 4))]
        result = "x".join([*map(str, extents), self.element])
        body = self.body(extents, lambda indices: self.op_yield(self.expression(indices, 3)))
        self.lines.append(f"%y = dsl.comprehension {extents} {{\n{body}\n}} : tensor<{result}>")
        arguments = [
            *(
                f"{name}: tensor<{'x'.join([*map(str, shape), self.element])}>"
                for name, shape in self.arguments.items()
            ),
            "%idx: tensor<5xi64>",
            "%t: tensor<i64>",
            f"%s: tensor<{self.element}>",
        ]
        code = "\n".join(self.lines)
        types = ", ".join(arguments)
        return f"func.func public @main({types}) -> tensor<{result}> {{\n{code}\nfunc.return %y : tensor<{result}>\n}}"

    def op_yield(self, value: str, guard: str | None = None) -> None:
        rest = (f", {guard}", ", tensor<i1>") if guard else ("", "")
        self.lines.append(f"dsl.yield {value}{rest[0]} : tensor<{self.element}>{rest[1]}")

    def body(self, extents, write, around=()) -> str:
        outer, self.lines = self.lines, []
        indices = []
        for size in extents:
            self.count += 1
            indices.append((f"%i{self.count}", size))
        write([*around, *indices])
        head = ", ".join(f"{name}: tensor<i64>" for name, _ in indices)
        text = "\n".join([f"^bb0({head}):"] * bool(indices) + self.lines)
        self.lines = outer
        return text

    def expression(self, indices, depth: int) -> str:
        kind = self.pick(
            ["access", "access", "binary", "binary", "unary", "select", "reduce", "reduce", "index", "scalar"]
        )
        if depth == 0 or kind == "access":
            return self.access(indices, depth)
        match kind:
            case "binary":
                name = self.pick(["add", "multiply", "multiply", "subtract", "maximum"])
                left, right = self.expression(indices, depth - 1), self.expression(indices, depth - 1)
                return self.op(f"stablehlo.{name} {left}, {right} : tensor<{self.element}>")
            case "unary":
                operand = self.expression(indices, depth - 1)
                return self.op(f"stablehlo.{self.pick(['negate', 'abs'])} {operand} : tensor<{self.element}>")
            case "select":
                a, b = self.expression(indices, depth - 1), self.expression(indices, depth - 1)
                return self.op(f"stablehlo.select {self.guard(indices)}, {a}, {b} : tensor<i1>, tensor<{self.element}>")
            case "reduce":
                return self.reduce(indices, depth)
            case "index":
                value = self.subscript(indices, 4, 0)
                return self.op(f"stablehlo.convert {value} : (tensor<i64>) -> tensor<{self.element}>")
            case _:
                return "%s"

    def guard(self, indices) -> str:
        left, right = self.subscript(indices, 4, 0), self.subscript(indices, 4, 0)
        direction = self.pick(["LT", "LE", "NE", "EQ", "GT"])
        return self.op(f"stablehlo.compare {direction}, {left}, {right} : (tensor<i64>, tensor<i64>) -> tensor<i1>")

    def reduce(self, indices, depth: int) -> str:
        kind = self.pick(["sum"] * 5 + ["max", "min", "argmax", "argmin"])
        sizes = [n for n in self.sizes if n or self.rng.random() < 0.2] or [2]
        extents = [int(n) for n in self.rng.choice(sizes, 1 if kind.startswith("arg") else self.rng.integers(1, 3))]
        if kind in ("max", "min") and 0 in extents:
            extents = [max(1, n) for n in extents]

        def write(inner):
            value = self.product(inner, depth - 1) if kind == "sum" else self.expression(inner, depth - 1)
            if kind == "sum" and self.rng.random() < 0.3:
                other = self.product(inner, depth - 1)
                value = self.op(f"stablehlo.subtract {value}, {other} : tensor<{self.element}>")
            self.op_yield(value, self.guard(inner) if self.rng.random() < 0.2 and kind == "sum" else None)

        body = self.body(extents, write, indices)
        result = "i64" if kind.startswith("arg") else self.element
        found = self.op(f"dsl.reduce {kind} {extents} {{\n{body}\n}} : tensor<{result}>")
        return (
            self.op(f"stablehlo.convert {found} : (tensor<i64>) -> tensor<{self.element}>")
            if result == "i64"
            else found
        )

    def product(self, indices, depth: int) -> str:
        factors = [self.access(indices, depth) for _ in range(int(self.rng.integers(1, 4)))]
        if depth and self.rng.random() < 0.3:
            factors.append(self.expression(indices, depth - 1))
        total = factors[0]
        for factor in factors[1:]:
            total = self.op(f"stablehlo.multiply {total}, {factor} : tensor<{self.element}>")
        return total

    def access(self, indices, depth: int) -> str:
        source, shape = self.pick(list(self.arguments.items()))
        subscripts = [self.subscript(indices, n, depth) for n in shape]
        outside = ""
        if self.rng.random() < 0.3:
            inner = "%s" if depth == 0 or self.rng.random() < 0.6 else self.expression(indices, 0)
            outside = f" outside {inner}"
        type_ = "x".join([*map(str, shape), self.element])
        return self.op(f"dsl.access {source}[{', '.join(subscripts)}]{outside} : tensor<{type_}>")

    def subscript(self, indices, size: int, depth: int) -> str:
        fitting = [name for name, n in indices if n == size] or [name for name, _ in indices]
        if not indices:
            return self.pick([self.number(int(self.rng.integers(0, max(size, 1)))), "%t"])
        i, j = self.pick(fitting), self.pick(indices)[0]
        c = self.number(int(self.rng.integers(-2, 4)))
        two = self.number(int(self.rng.integers(2, 4)))

        def do(name, a, b):
            return self.op(f"stablehlo.{name} {a}, {b} : tensor<i64>")

        match int(self.rng.integers(0, 16)):
            case 0:
                return do("add", i, c)
            case 1:
                return do("subtract", c, i)
            case 2:
                return do("add", do("multiply", i, two), c)
            case 3:
                return do("add", i, j)
            case 4:
                return do("add", do("multiply", i, two), j)
            case 5:
                return do("remainder", do("add", i, two), self.number(max(size, 1)))
            case 6:
                return do("divide", i, two)
            case 7:
                return do("minimum", i, two)
            case 8:
                return c
            case 9:
                return self.op(f"dsl.access %idx[{i}] : tensor<5xi64>")
            case 11:
                return do("remainder", i, two)
            case 10:
                return "%t" if depth else do("add", i, "%t")
            case _:
                return i

    def inputs(self):
        dtype = DTYPES[self.element]
        arrays = [self.rng.integers(-2, 3, shape).astype(dtype) for shape in self.arguments.values()]
        return [
            *arrays,
            self.rng.integers(-1, 6, 5),
            np.int64(self.rng.integers(-1, 4)),
            dtype(self.rng.integers(-2, 3)),
        ]


def context():
    ctx = LaminaContext()
    for name, factory in all_dialects().items():
        ctx.register_dialect(name, factory)
    return ctx


@pytest.mark.parametrize("start", range(0, COUNT // 4, 20))
def test_with_small_limits(start, monkeypatch):
    """Tables that are too large to be looked at are computed where the program runs."""
    monkeypatch.setattr(forms, "LARGEST_TABLE", 12)
    monkeypatch.setattr(accesses, "LARGEST_TABLE", 12)
    monkeypatch.setattr(accesses, "LARGEST_CONSTANT", 0)
    test_same_meaning(start)


@pytest.mark.parametrize("start", range(0, COUNT, 20))
def test_same_meaning(start):
    for seed in range(start, start + 20):
        writer = Writer(seed)
        text = writer.program()
        ctx = context()
        module = parse_module(text, f"{seed}.mlir", ctx)
        verify(module)
        inputs = [np.asarray(x) for x in writer.inputs()]
        with np.errstate(all="ignore"):
            [expected] = Interpreter(ctx).run(module, inputs)
            ConvertDslToStablehlo().apply(ctx, module)
            verify(module)
            assert not [op for op in module.walk() if op.name.startswith("dsl.")]
            [got] = Interpreter(ctx).run(module, inputs)
        np.testing.assert_array_equal(got, expected, err_msg=f"seed {seed}\n{text}\n{module}")
