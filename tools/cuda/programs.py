"""Small programs that are compared with the emulator on a GPU, as text of StableHLO."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """A program, and how far a result may be from the reference, relative to its largest value."""

    name: str
    text: str
    precision: str = "f32"
    tolerance: float = 1e-5


def product(m: int, n: int, k: int, t: str, *, precision: str = "f32", right: str = "kn") -> Case:
    """A product of two matrices, the right one of rows or (nk) of columns."""
    b = f"{k}x{n}" if right == "kn" else f"{n}x{k}"
    text = f"""
func.func public @main(%a: tensor<{m}x{k}x{t}>, %b: tensor<{b}x{t}>) -> tensor<{m}x{n}xf32> {{
  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [{0 if right == "kn" else 1}]
    : (tensor<{m}x{k}x{t}>, tensor<{b}x{t}>) -> tensor<{m}x{n}xf32>
  return %d : tensor<{m}x{n}xf32>
}}
"""
    kind = precision if precision == "tf32" else t
    rough = 2**-9 if precision == "tf32" else 1e-5
    name = f"product {m}x{n}x{k} {kind} {right}"
    return Case(name, text, precision, rough)


def convolution(batch: int, size: int, inside: int, outside: int, t: str) -> Case:
    """Windows of 3x3, channels last."""
    x, w = f"{batch}x{size}x{size}x{inside}x{t}", f"3x3x{inside}x{outside}x{t}"
    y = f"{batch}x{size}x{size}x{outside}xf32"
    text = f"""
func.func public @main(%x: tensor<{x}>, %w: tensor<{w}>) -> tensor<{y}> {{
  %d = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {{stride = [1, 1], pad = [[1, 1], [1, 1]]}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
    : (tensor<{x}>, tensor<{w}>) -> tensor<{y}>
  return %d : tensor<{y}>
}}
"""
    return Case(f"convolution {batch}x{size}x{size}x{inside} to {outside} {t}", text)


def softmax(rows: int, columns: int) -> Case:
    """A softmax of each row."""
    x, v = f"{rows}x{columns}xf32", f"{rows}xf32"
    text = f"""
func.func public @main(%x: tensor<{x}>) -> tensor<{x}> {{
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1]
    : (tensor<{x}>, tensor<f32>) -> tensor<{v}>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<{v}>) -> tensor<{x}>
  %s = stablehlo.subtract %x, %mb : tensor<{x}>
  %p = stablehlo.exponential %s : tensor<{x}>
  %t = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<{x}>, tensor<f32>) -> tensor<{v}>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0] : (tensor<{v}>) -> tensor<{x}>
  %r = stablehlo.divide %p, %tb : tensor<{x}>
  return %r : tensor<{x}>
}}
"""
    return Case(f"softmax {rows}x{columns} f32", text)


def sum_of(count: int) -> Case:
    """Two vectors added."""
    x = f"{count}xf32"
    text = f"""
func.func public @main(%x: tensor<{x}>, %y: tensor<{x}>) -> tensor<{x}> {{
  %r = stablehlo.add %x, %y : tensor<{x}>
  return %r : tensor<{x}>
}}
"""
    return Case(f"sum of {count} f32", text)


SMALL = (
    sum_of(1 << 10),
    softmax(6, 200),
    *(product(70, 72, 136, t, right=right) for t in ("f32", "bf16", "f16") for right in ("kn", "nk")),
    product(70, 72, 136, "f32", precision="tf32"),
    product(33, 37, 19, "bf16"),
    convolution(1, 7, 16, 40, "f32"),
    convolution(1, 7, 16, 40, "bf16"),
)
