"""Random loops over some matrices: what a step changes in place, `cpu` against the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina.backends import Options
from lamina.backends.cpu.target import CpuTarget
from lamina.compiler.program import Program
from lamina.tools.sources import read_program

MATRIX, ROW, HALF = "tensor<6x5xf32>", "tensor<1x5xf32>", "tensor<3x5xf32>"
STARTS = "tensor<i32>, tensor<i32>"
DEEPEST = 2


@dataclass
class Writer:
    """Writes statements; every value is a matrix."""

    rng: np.random.Generator
    lines: list[str] = field(default_factory=list[str])
    count: int = 0

    def name(self) -> str:
        """A new one."""
        self.count += 1
        return f"%v{self.count}"

    def one_of(self, choices: Sequence[str]) -> str:
        """Any of them."""
        return choices[int(self.rng.integers(len(choices)))]

    def op(self, text: str) -> str:
        """The result of an op."""
        self.lines.append(f"{(result := self.name())} = stablehlo.{text}")
        return result

    def body(self, values: Sequence[str], depth: int, i: str) -> list[str]:
        """The values and what some statements make of them."""
        known = list(values)
        for _ in range(int(self.rng.integers(2, 7))):
            known.append(self.statement(known, depth, i))
        return known

    def statement(self, values: Sequence[str], depth: int, i: str) -> str:
        """Arithmetic, a row that moves, halves put together, a view, or a loop."""
        a, b = self.one_of(values), self.one_of(values)
        match int(self.rng.integers(8 if depth < DEEPEST else 7)):
            case 0 | 1:
                return self.op(f"{self.one_of(['tanh', 'sine', 'cosine', 'negate'])} {a} : {MATRIX}")
            case 2:
                return self.op(f"{self.one_of(['add', 'subtract', 'multiply', 'maximum'])} {a}, {b} : {MATRIX}")
            case 3 | 4:
                at, to = (self.one_of([i, "%zero", "%one"]) for _ in range(2))
                row = self.op(f"dynamic_slice {b}, {at}, %zero, sizes = [1, 5] : ({MATRIX}, {STARTS}) -> {ROW}")
                row = self.op(f"tanh {row} : {ROW}") if self.rng.random() < 0.5 else row
                types = f"({MATRIX}, {ROW}, {STARTS}) -> {MATRIX}"
                return self.op(f"dynamic_update_slice {a}, {row}, {to}, %zero : {types}")
            case 5:
                top = self.op(f"slice {a} [0:3, 0:5] : ({MATRIX}) -> {HALF}")
                low = self.op(f"slice {b} [3:6, 0:5] : ({MATRIX}) -> {HALF}")
                types = f"({HALF}, tensor<5x5xf32>) -> {HALF}"
                product = self.op(f"dot_general {top}, %square, contracting_dims = [1] x [0] : {types}")
                bent = self.op(f"tanh {product} : {HALF}")
                return self.op(f"concatenate {bent}, {low}, dim = 0 : ({HALF}, {HALF}) -> {MATRIX}")
            case 6:
                flat = self.op(f"reshape {a} : ({MATRIX}) -> tensor<30xf32>")
                return self.op(f"reshape {flat} : (tensor<30xf32>) -> {MATRIX}")
            case _:
                return self.loop(values, depth + 1)

    def loop(self, values: Sequence[str], depth: int) -> str:
        """One result of a loop that carries one to three matrices, and in whose body others may be seen."""
        size = int(self.rng.integers(1, 4))
        begun = [self.one_of(values) if self.rng.random() < 0.8 else "%constant" for _ in range(size)]
        result, i, goes_on = self.name(), self.name(), self.name()
        state = [self.name() for _ in range(size)]
        pairs = ", ".join(f"{name} = {value}" for name, value in zip([i, *state], ["%zero", *begun], strict=True))
        types = ", ".join(["tensor<i32>", *[MATRIX] * size])
        limit = "%count" if self.rng.random() < 0.6 else "%given"
        self.lines += [
            f"{result}:{size + 1} = stablehlo.while({pairs}) : {types}\n cond {{",
            f"{goes_on} = stablehlo.compare LT, {i}, {limit} : ({STARTS}) -> tensor<i1>",
            f"stablehlo.return {goes_on} : tensor<i1>\n}} do {{",
        ]
        made = self.body([*values, *state] if self.rng.random() < 0.6 else state, depth, i)
        following = [self.one_of([*made[-6:], *state]) for _ in range(size)]
        following = [self.op("add " + f"{i}, %one : tensor<i32>"), *following]
        self.lines.append(f"stablehlo.return {', '.join(following)} : {types}\n}}")
        return f"{result}#{int(self.rng.integers(1, size + 1))}"


def check(seed: int, folder: Path) -> None:
    """Two calls of one program, of which the first must leave nothing behind."""
    rng = np.random.default_rng(seed)
    writer = Writer(rng)
    values = writer.body(["%x", "%w"], 0, "%one")
    first = writer.loop(values, 1)
    second = writer.loop([*values, first], 1)
    path = folder / f"loops{seed}.mlir"
    lines = "\n".join(writer.lines)
    path.write_text(f"""
func.func @main(%x: {MATRIX}, %w: {MATRIX}, %square: tensor<5x5xf32>, %given: tensor<i32>) -> ({MATRIX}, {MATRIX}) {{
%zero = stablehlo.constant dense<0> : tensor<i32>
%one = stablehlo.constant dense<1> : tensor<i32>
%count = stablehlo.constant dense<3> : tensor<i32>
%constant = stablehlo.constant dense<0.5> : {MATRIX}
{lines}
return {first}, {second} : {MATRIX}, {MATRIX}
}}""")
    program = read_program(str(path))
    assert isinstance(program, Program)
    inputs = [rng.standard_normal(shape).astype(np.float32) for shape in ((6, 5), (6, 5))]
    inputs += [(0.3 * rng.standard_normal((5, 5))).astype(np.float32), np.array(2, np.int32)]
    with np.errstate(all="ignore"):
        expected = lamina.interpret(program, inputs)
    model = CpuTarget().compile(program, Options(cache=False))
    for _ in range(2):
        for found, right in zip(model.run(inputs), expected, strict=True):
            np.testing.assert_allclose(found, right, rtol=2e-2, atol=1e-3)


@pytest.mark.parametrize("seed", range(12))
def test_random_loops(seed: int, tmp_path: Path):
    check(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1500))
def test_many_random_loops(seed: int, tmp_path: Path):
    check(seed, tmp_path)
