"""Sorting by digits, and the lowest of many: every type and order, with ties, NaN, infinities and both zeros."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina.compiler.program import Program
from lamina.dialects.stablehlo import SortOp
from lamina.passes.stablehlo.sort_by_digits import find_key
from lamina.tools.sources import read_program

TYPES = {
    "i8": np.int8,
    "ui8": np.uint8,
    "i16": np.int16,
    "i32": np.int32,
    "ui32": np.uint32,
    "i64": np.int64,
    "ui64": np.uint64,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
}
# what goes before, of two scalars %a and %b
ORDERS = {
    "plain": "%r = stablehlo.compare {d}, %a, %b : {t}",
    "total": "%r = stablehlo.compare {d}, %a, %b, TOTALORDER : {t}",
    "nan above": """%c = stablehlo.compare {d}, %a, %b : {t}
        %n = stablehlo.compare NE, {more}, {more} : {t}
        %m = stablehlo.compare EQ, {less}, {less} : {t}
        %l = stablehlo.and %n, %m : tensor<i1>
        %r = stablehlo.or %c, %l : tensor<i1>""",
    "of magnitudes": """%p = stablehlo.abs %a : tensor<{e}>
        %q = stablehlo.abs %b : tensor<{e}>
        %r = stablehlo.compare {d}, %p, %q, TOTALORDER : {t}""",
}


def program(element: str, shape: list[int], axis: int, order: str, direction: str, k: int, folder: Path) -> Program:
    """A tensor sorted, and where each element came from, `k` of both along the axis."""
    kind, places = (f"tensor<{'x'.join(map(str, shape))}x{each}>" for each in (element, "i32"))
    limits = [k if d == axis else n for d, n in enumerate(shape)]
    part = f"[{', '.join(f'0:{n}' for n in limits)}]"
    kind_k, places_k = (f"tensor<{'x'.join(map(str, limits))}x{each}>" for each in (element, "i32"))
    less, more = ("%a", "%b") if direction == "LT" else ("%b", "%a")
    pair = f"(tensor<{element}>, tensor<{element}>) -> tensor<i1>"
    text = f"""func.func @main(%x: {kind}) -> ({kind_k}, {places_k}) {{
      %i = stablehlo.iota dim = {axis} : {places}
      %s:2 = "stablehlo.sort"(%x, %i) <{{dimension = {axis} : i64, is_stable = true}}> ({{
      ^bb0(%a: tensor<{element}>, %b: tensor<{element}>, %c0: tensor<i32>, %c1: tensor<i32>):
        {(OTHERS | ORDERS)[order].format(d=direction, t=pair, e=element, less=less, more=more)}
        stablehlo.return %r : tensor<i1>
      }}) : ({kind}, {places}) -> ({kind}, {places})
      %v = stablehlo.slice %s#0 {part} : ({kind}) -> {kind_k}
      %p = stablehlo.slice %s#1 {part} : ({places}) -> {places_k}
      return %v, %p : {kind_k}, {places_k}
    }}"""
    path = folder / "sort.mlir"
    path.write_text(text)
    found = read_program(str(path))
    assert isinstance(found, Program)
    return found


def numbers(rng: np.random.Generator, dtype: type[np.generic], shape: list[int]) -> np.ndarray:
    """Some of few different values, some of many, with all that is special."""
    if np.dtype(dtype).kind == "f":
        values = rng.standard_normal(shape) * rng.choice([1e-3, 1.0, 100.0])
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1.0, 1.0])
        picked = rng.random(shape) < rng.choice([0.0, 0.3, 0.9])
        return np.where(picked, rng.choice(special, shape), values).astype(dtype)
    info = np.iinfo(dtype)
    if rng.random() < 0.5:
        return rng.integers(0, 4, shape).astype(dtype)
    return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


# of floats, that are sorted by merging
OTHERS = {
    "NaN anywhere": ORDERS["plain"],
    "NaN twice": ORDERS["nan above"].replace("%a, %b : {t}", "%a, %b, TOTALORDER : {t}", 1),
    "differently": """%p = stablehlo.abs %a : tensor<{e}>
        %r = stablehlo.compare {d}, %p, %b, TOTALORDER : {t}""",
    "backwards": "%r = stablehlo.compare {d}, %b, %a, TOTALORDER : {t}",
    "not less": "%r = stablehlo.compare GE, %a, %b, TOTALORDER : {t}",
    "by one side": "%r = stablehlo.compare {d}, %a, %a, TOTALORDER : {t}",
}
CASES = [
    (element, order, direction)
    for element, dtype in TYPES.items()
    for order in ORDERS
    if (order == "plain") != (np.dtype(dtype).kind == "f")
    for direction in ("LT", "GT")
]


def check(element: str, order: str, direction: str, seed: int, folder: Path) -> None:
    rng = np.random.default_rng([len(element), len(order), direction == "GT", TYPES[element]().itemsize, seed])
    rank = int(rng.integers(1, 4))
    axis = int(rng.integers(0, rank))
    shape = [int(rng.integers(1, 6)) for _ in range(rank)]
    n = shape[axis] = int(rng.choice([33, 64, 200, 700, 3000]))
    k = int(rng.choice([n, 1, 2, 20, n // 2, n // 3, n - 1]))
    source = program(element, shape, axis, order, direction, k, folder)
    x = numbers(rng, TYPES[element], shape)
    compiled = lamina.compile(source, cache=False)
    for ours, right in zip(compiled(x), lamina.interpret(source, [x]), strict=True):
        np.testing.assert_array_equal(ours, right)  # bit for bit but for the payload of NaN


@pytest.mark.parametrize(("element", "order", "direction"), CASES)
def test_as_the_reference(element: str, order: str, direction: str, tmp_path: Path):
    check(element, order, direction, 0, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 20))
@pytest.mark.parametrize(("element", "order", "direction"), CASES)
def test_more_as_the_reference(element: str, order: str, direction: str, seed: int, tmp_path: Path):
    check(element, order, direction, seed, tmp_path)


@pytest.mark.parametrize(("element", "order", "direction"), CASES)
def test_comparators_are_known(element: str, order: str, direction: str, tmp_path: Path):
    module = program(element, [40], 0, order, direction, 40, tmp_path).module
    (sort,) = [op for op in module.walk() if isinstance(op, SortOp)]
    key = find_key(sort)
    assert key is not None and key.descending == (direction == "GT")


@pytest.mark.parametrize("text", OTHERS)
def test_others_are_not(text: str, tmp_path: Path):
    module = program("f32", [40], 0, text, "LT", 40, tmp_path).module
    (sort,) = [op for op in module.walk() if isinstance(op, SortOp)]
    assert find_key(sort) is None
