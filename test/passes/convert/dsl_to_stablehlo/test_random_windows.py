"""Random convolutions and poolings in index notation, with axes in any order, mean the same after their lowering."""

from __future__ import annotations

import os

import numpy as np
import pytest

from lamina.compiler.context import LaminaContext
from lamina.compiler.interpreter import Interpreter
from lamina.compiler.parsing import parse_module
from lamina.compiler.verifier import verify
from lamina.dialects import all_dialects
from lamina.passes.convert.dsl_to_stablehlo import ConvertDslToStablehlo

COUNT = int(os.environ.get("LAMINA_RANDOM_PROGRAMS", "200"))


class Program:
    """One random window op: `text`, its `inputs`, and the hub op that it should become, if it must."""

    def __init__(self, seed: int):
        rng = np.random.default_rng(seed)
        self.lines: list[str] = []
        self.rng = rng
        self.pooling = bool(rng.random() < 0.4)
        spatial = int(rng.integers(1, 3))
        sizes = {name: int(rng.integers(1, 4)) for name in "ncoq"}
        kept, reduced = [], []
        x_axes: list[tuple[str, int]] = []
        k_axes: list[tuple[str, int]] = []
        if rng.random() < 0.7:
            kept.append(("n", sizes["n"]))
            x_axes.append(("n", sizes["n"]))
        if rng.random() < 0.7:
            reduced.append(("c", sizes["c"]))
            x_axes.append(("c", sizes["c"]))
            k_axes.append(("c", sizes["c"]))
        if not self.pooling and rng.random() < 0.8:
            kept.append(("o", sizes["o"]))
            k_axes.append(("o", sizes["o"]))
        if not self.pooling and rng.random() < 0.3:
            for axes in (kept, x_axes, k_axes):
                axes.append(("q", sizes["q"]))
        clean = True
        self.outside = str(rng.choice(["", "zero", "s"]))
        for d in range(spatial):
            out, tap = int(rng.integers(1, 5)), int(rng.integers(1, 4))
            stride, step = int(rng.integers(1, 4)), int(rng.choice([1, 1, 2, -1]))
            low, high = min(0, step * (tap - 1)), stride * (out - 1) + max(0, step * (tap - 1))
            offset = -low + (int(rng.integers(-2, 3)) if self.outside else 0)
            size = high + offset + 1 + int(rng.integers(-2 if self.outside else 0, 3))
            if size < 1:
                size, clean = 1, False
            clean = clean and high + offset >= 0 and low + offset < size
            kept.append((f"p{d}", out))
            reduced.append((f"r{d}", tap))
            place = f"{stride}*p{d} + {step}*r{d} + {offset}"
            if rng.random() < 0.2:  # wrapped around
                place = f"{stride}*p{d} + {step}*r{d} + {size - low + int(rng.integers(0, 3))} % {size}"
                clean = False
            x_axes.append((place, size))
            k_axes.append((f"r{d}", tap))
        for axes in (kept, reduced, x_axes, k_axes):
            rng.shuffle(axes)
        self.kind = str(rng.choice(["sum", "max", "min", "prod"])) if self.pooling else "sum"
        self.narrow = not self.pooling and rng.random() < 0.3
        element = "i8" if self.narrow else str(rng.choice(["f32", "i32"]))
        wide = "i32" if self.narrow else element
        self.text = self.write(kept, reduced, x_axes, k_axes, element, wide)
        dtype = {"i8": np.int8, "f32": np.float32, "i32": np.int32}[element]
        self.inputs = [
            rng.integers(-2, 3, [n for _, n in x_axes]).astype(dtype),
            rng.integers(-2, 3, [n for _, n in k_axes]).astype(dtype),
            dtype(rng.integers(-2, 3)),
        ]
        self.expected = ("reduce_window" if self.pooling else "convolution") if clean else None

    def write(self, kept, reduced, x_axes, k_axes, element, wide) -> str:
        x_type, k_type = ("x".join([*(str(n) for _, n in axes), element]) for axes in (x_axes, k_axes))
        y_type = "x".join([*(str(n) for _, n in kept), wide])
        body: list[str] = []

        def emit(text: str) -> str:
            body.append(f"%v{len(body)} = {text}")
            return f"%v{len(body) - 1}"

        def place(axis: str) -> str:
            if " " not in axis:
                return f"%{axis}"
            total = None
            axis, _, size = axis.partition(" % ")
            for term in axis.split(" + "):
                factor, _, name = term.partition("*")
                value = emit(f"stablehlo.constant dense<{factor}> : tensor<i64>")
                if name:
                    value = emit(f"stablehlo.multiply {value}, %{name} : tensor<i64>")
                total = value if total is None else emit(f"stablehlo.add {total}, {value} : tensor<i64>")
            if size:
                limit = emit(f"stablehlo.constant dense<{size}> : tensor<i64>")
                total = emit(f"stablehlo.remainder {total}, {limit} : tensor<i64>")
            return total or ""

        outside = f" outside %{self.outside}" if self.outside else ""
        places = [place(axis) for axis, _ in x_axes]
        value = emit(f"dsl.access %x[{', '.join(places)}]{outside} : tensor<{x_type}>")
        if not self.pooling:
            kernel = emit(f"dsl.access %k[{', '.join(place(axis) for axis, _ in k_axes)}] : tensor<{k_type}>")
            if self.narrow:
                value, kernel = (
                    emit(f"stablehlo.convert {v} : (tensor<{element}>) -> tensor<{wide}>") for v in (value, kernel)
                )
            value = emit(f"stablehlo.multiply {value}, {kernel} : tensor<{wide}>")
        elif self.rng.random() < 0.4:
            value = emit(f"stablehlo.abs {value} : tensor<{wide}>")
        heads = [", ".join(f"%{name}: tensor<i64>" for name, _ in axes) for axes in (kept, reduced)]
        extents = [[n for _, n in axes] for axes in (kept, reduced)]
        code = "\n".join(body)
        zero = "0.0" if element.startswith("f") else "0"
        return f"""
        func.func public @main(%x: tensor<{x_type}>, %k: tensor<{k_type}>, %s: tensor<{element}>) -> tensor<{y_type}> {{
          %zero = stablehlo.constant dense<{zero}> : tensor<{element}>
          %y = dsl.comprehension {extents[0]} {{
          ^bb0({heads[0]}):
            %total = dsl.reduce {self.kind} {extents[1]} {{
            ^bb0({heads[1]}):
              {code}
              dsl.yield {value} : tensor<{wide}>
            }} : tensor<{wide}>
            dsl.yield %total : tensor<{wide}>
          }} : tensor<{y_type}>
          func.return %y : tensor<{y_type}>
        }}"""


@pytest.mark.parametrize("start", range(0, COUNT, 20))
def test_same_meaning(start):
    for seed in range(start, start + 20):
        program = Program(seed)
        ctx = LaminaContext()
        for name, factory in all_dialects().items():
            ctx.register_dialect(name, factory)
        module = parse_module(program.text, f"{seed}.mlir", ctx)
        verify(module)
        inputs = [np.asarray(x) for x in program.inputs]
        [expected] = Interpreter(ctx).run(module, inputs)
        ConvertDslToStablehlo().apply(ctx, module)
        verify(module)
        [got] = Interpreter(ctx).run(module, inputs)
        np.testing.assert_array_equal(got, expected, err_msg=f"seed {seed}\n{program.text}\n{module}")
        names = {op.name.removeprefix("stablehlo.") for op in module.walk()}
        if program.expected:
            assert program.expected in names and "gather" not in names, f"seed {seed}\n{program.text}\n{module}"
