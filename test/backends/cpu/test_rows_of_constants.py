"""Slices of constants at computed rows, which are read where they lie: places in and out of bounds, uses and types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import lamina

RNG = np.random.default_rng(61)
ELEMENTS = {"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16, "i8": np.int8, "i32": np.int32}
PLACES = (-7, -1, 0, 1, 2, 3, 4, 100)


def constant(array: Any, element: str) -> str:
    """A constant by its bytes."""
    shape = "x".join(map(str, array.shape))
    return f'stablehlo.constant dense<"0x{array.tobytes().hex()}"> : tensor<{shape}x{element}>'


def written(tmp_path: Path, text: str) -> str:
    """The file that holds a program."""
    path = tmp_path / "program.mlir"
    path.write_text(text)
    return str(path)


def calls(path: str) -> list[str]:
    """What is run, when everything has its place."""
    return [line for line in str(lamina.lower(path, "buffers").module).splitlines() if "func.call" in line]


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize(
    ("shape", "sizes", "moving"),
    [
        ((4, 3, 64), (1, 3, 64), [0]),
        ((4, 3, 64), (2, 3, 64), [0]),
        ((4, 3, 64), (1, 2, 64), [0, 1]),
        ((4, 3, 64), (1, 1, 64), [1]),
        ((5, 2, 3, 64), (1, 1, 2, 64), [0, 1, 2]),
        ((64, 64), (3, 64), [0]),
        ((7, 5, 3), (1, 2, 3), [0, 1]),
        ((9,), (1,), [0]),
    ],
)
def test_where_they_begin(
    tmp_path: Path, shape: tuple[int, ...], sizes: tuple[int, ...], moving: list[int], element: str
) -> None:
    table = RNG.integers(-100, 100, shape).astype(ELEMENTS[element])
    types = ["tensor<" + "x".join(map(str, each)) + f"x{element}>" for each in (shape, sizes)]
    inputs = ", ".join(f"%i{d}: tensor<i32>" for d in moving)
    starts = ", ".join(f"%i{d}" if d in moving else "%one" for d in range(len(shape)))
    path = written(
        tmp_path,
        f"""func.func public @main({inputs}) -> ({types[1]}, {types[1]}) {{
          %w = {constant(table, element)}
          %one = stablehlo.constant dense<1> : tensor<i32>
          %s = stablehlo.dynamic_slice %w, {starts}, sizes = [{", ".join(map(str, sizes))}]
            : ({", ".join([types[0], *["tensor<i32>"] * len(shape)])}) -> {types[1]}
          %y = stablehlo.add %s, %s : {types[1]}
          func.return %s, %y : {types[1]}, {types[1]}
        }}""",
    )
    whole = types[0].replace("tensor", "memref")
    assert not any(whole in call for call in calls(path)), "no kernel reads all of it"
    model = lamina.compile(path)
    for _ in range(6):
        at = {d: int(RNG.choice(PLACES)) for d in moving}
        found = model(*(np.array(i, np.int32) for i in at.values()))
        firsts = [min(max(at.get(d, 1), 0), n - size) for d, (n, size) in enumerate(zip(shape, sizes, strict=True))]
        right = table[tuple(slice(first, first + size) for first, size in zip(firsts, sizes, strict=True))]
        np.testing.assert_array_equal(found[0], right)
        np.testing.assert_array_equal(found[1], right + right)


def test_large_unsigned_places_are_beyond_the_end(tmp_path: Path) -> None:
    table = RNG.standard_normal((4, 16)).astype(np.float32)
    path = written(
        tmp_path,
        f"""func.func public @main(%i: tensor<ui64>) -> tensor<1x16xf32> {{
          %w = {constant(table, "f32")}
          %zero = stablehlo.constant dense<0> : tensor<ui64>
          %s = stablehlo.dynamic_slice %w, %i, %zero, sizes = [1, 16]
            : (tensor<4x16xf32>, tensor<ui64>, tensor<ui64>) -> tensor<1x16xf32>
          func.return %s : tensor<1x16xf32>
        }}""",
    )
    model = lamina.compile(path)
    for place, row in ((0, 0), (2, 2), (2**63, 3), (2**64 - 1, 3)):
        np.testing.assert_array_equal(model(np.array(place, np.uint64))[0], table[[row]])


@pytest.mark.parametrize("transposed", [False, True], ids=["rows", "columns"])
@pytest.mark.parametrize(("rows", "depth", "columns"), [(1, 16, 16), (3, 33, 100), (13, 64, 48), (40, 17, 129)])
def test_matrices_of_a_loop(tmp_path: Path, rows: int, depth: int, columns: int, transposed: bool) -> None:
    """Each round multiplies by the matrix that a list names: they lie in panels, made while compiling."""
    order, count = [3, 0, 4, 1, 1, 9, -1], 5
    matrices = RNG.standard_normal((count, depth, columns)).astype(np.float32)
    stack = np.ascontiguousarray(matrices.swapaxes(1, 2)) if transposed else matrices
    a, b = stack.shape[1:]
    path = written(
        tmp_path,
        f"""func.func public @main(%x: tensor<{rows}x{depth}xf32>, %order: tensor<{len(order)}xi32>)
            -> tensor<{rows}x{columns}xf32> {{
          %w = {constant(stack, "f32")}
          %zero = stablehlo.constant dense<0> : tensor<i32>
          %one = stablehlo.constant dense<1> : tensor<i32>
          %end = stablehlo.constant dense<{len(order)}> : tensor<i32>
          %nothing = stablehlo.constant dense<0.0> : tensor<{rows}x{columns}xf32>
          %r:3 = stablehlo.while(%all = %w, %j = %zero, %sum = %nothing)
              : tensor<{count}x{a}x{b}xf32>, tensor<i32>, tensor<{rows}x{columns}xf32>
            cond {{
              %p = stablehlo.compare LT, %j, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
              stablehlo.return %p : tensor<i1>
            }} do {{
              %i = stablehlo.dynamic_slice %order, %j, sizes = [1]
                : (tensor<{len(order)}xi32>, tensor<i32>) -> tensor<1xi32>
              %at = stablehlo.reshape %i : (tensor<1xi32>) -> tensor<i32>
              %s = stablehlo.dynamic_slice %all, %at, %zero, %zero, sizes = [1, {a}, {b}]
                : (tensor<{count}x{a}x{b}xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x{a}x{b}xf32>
              %m = stablehlo.reshape %s : (tensor<1x{a}x{b}xf32>) -> tensor<{a}x{b}xf32>
              %y = stablehlo.dot_general %x, %m, contracting_dims = [1] x [{int(transposed)}]
                : (tensor<{rows}x{depth}xf32>, tensor<{a}x{b}xf32>) -> tensor<{rows}x{columns}xf32>
              %more = stablehlo.add %sum, %y : tensor<{rows}x{columns}xf32>
              %k = stablehlo.add %j, %one : tensor<i32>
              stablehlo.return %all, %k, %more : tensor<{count}x{a}x{b}xf32>, tensor<i32>, tensor<{rows}x{columns}xf32>
            }}
          func.return %r#2 : tensor<{rows}x{columns}xf32>
        }}""",
    )
    assert not any(f"memref<{count}x{a}x{b}" in call for call in calls(path)), "nothing is done with all matrices"
    x = RNG.standard_normal((rows, depth)).astype(np.float32)
    found = lamina.compile(path)(x, np.array(order, np.int32))[0]
    right = sum(x.astype(np.float64) @ matrices[min(max(i, 0), count - 1)] for i in order)
    np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-4 * np.abs(right).max())


def test_equal_layers_share_the_code(tmp_path: Path) -> None:
    """Layers that are compiled once are given their own stack of matrices."""
    layers, count, n = 4, 3, 32
    stacks = RNG.standard_normal((layers, count, n, n)).astype(np.float32) / 6
    text = [f"func.func public @main(%x0: tensor<5x{n}xf32>, %i: tensor<i32>) -> tensor<5x{n}xf32> {{"]
    text.append("%zero = stablehlo.constant dense<0> : tensor<i32>")
    for layer, stack in enumerate(stacks):
        text.append(f"""
          %w{layer} = {constant(stack, "f32")}
          %s{layer} = stablehlo.dynamic_slice %w{layer}, %i, %zero, %zero, sizes = [1, {n}, {n}]
            : (tensor<{count}x{n}x{n}xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x{n}x{n}xf32>
          %m{layer} = stablehlo.reshape %s{layer} : (tensor<1x{n}x{n}xf32>) -> tensor<{n}x{n}xf32>
          %v{layer}_0 = stablehlo.dot_general %x{layer}, %m{layer}, contracting_dims = [1] x [0]
            : (tensor<5x{n}xf32>, tensor<{n}x{n}xf32>) -> tensor<5x{n}xf32>""")
        kinds = ("tanh", "cosine", "logistic") * 10
        text += [f"%v{layer}_{k + 1} = stablehlo.{op} %v{layer}_{k} : tensor<5x{n}xf32>" for k, op in enumerate(kinds)]
        text.append(f"%x{layer + 1} = stablehlo.add %v{layer}_0, %v{layer}_{len(kinds)} : tensor<5x{n}xf32>")
    path = written(tmp_path, "\n".join([*text, f"func.return %x{layers} : tensor<5x{n}xf32>", "}"]))
    assert not any(f"memref<{count}x" in call for call in calls(path))
    x = RNG.standard_normal((5, n)).astype(np.float32)
    [right] = lamina.interpret(path, [x, np.array(1, np.int32)])
    np.testing.assert_allclose(lamina.compile(path)(x, np.array(1, np.int32))[0], right, rtol=1e-4, atol=1e-5)
