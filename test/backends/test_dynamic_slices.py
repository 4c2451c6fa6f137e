"""Slices and updates at computed places, inside and outside, of all shapes, against the reference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lamina
import lamina.backends
from lamina.backends import Options
from lamina.compiler.program import Program
from lamina.tools.sources import read_program

TARGETS = ["cpu", "cpu:x86-64-avx2", "cpu:x86-64", "cuda:sm_80"]


def program(shape: list[int], sizes: list[int], constant: list[int | None], folder: Path) -> Program:
    """Two slices' sum, and an update by it; `constant` says where a slice begins, if the program says it."""
    kind, part = ("tensor<" + "x".join(map(str, each)) + "xf32>" for each in (shape, sizes))
    starts = [f"%s{i}" for i in range(len(shape))]
    inputs = ", ".join(f"{start}: tensor<i32>" for start, c in zip(starts, constant, strict=True) if c is None)
    lines = [
        f"{start} = stablehlo.constant dense<{c}> : tensor<i32>"
        for start, c in zip(starts, constant, strict=True)
        if c is not None
    ]
    at, types = ", ".join(starts), ", ".join(["tensor<i32>"] * len(shape))
    backwards = ", ".join(reversed(starts))
    lines += [
        f"%a = stablehlo.dynamic_slice %x, {at}, sizes = {sizes} : ({kind}, {types}) -> {part}",
        f"%b = stablehlo.dynamic_slice %x, {backwards}, sizes = {sizes} : ({kind}, {types}) -> {part}",
        f"%c = stablehlo.maximum %a, %b : {part}",
        f"%d = stablehlo.add %c, %a : {part}",
        f"%e = stablehlo.dynamic_update_slice %x, %d, {at} : ({kind}, {part}, {types}) -> {kind}",
        f"%f = stablehlo.dynamic_update_slice %e, %a, {backwards} : ({kind}, {part}, {types}) -> {kind}",
    ]
    path = folder / "slices.mlir"
    given = f", {inputs}" if inputs else ""
    path.write_text(
        f"func.func @main(%x: {kind}{given}) -> ({part}, {kind}, {kind}) {{\n"
        + "\n".join(lines)
        + f"\nreturn %d, %e, %f : {part}, {kind}, {kind}\n}}"
    )
    found = read_program(str(path))
    assert isinstance(found, Program)
    return found


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("target", TARGETS)
def test_places_are_clamped(target: str, seed: int, tmp_path: Path):
    rng = np.random.default_rng(seed)
    rank = 1 + seed % 3
    most = {1: 400, 2: 90, 3: 40}[rank]
    shape = [int(n) for n in rng.integers(1, most, rank)]
    sizes = [int(rng.choice([1, n, rng.integers(1, n + 1)])) for n in shape]
    constant = [int(rng.integers(-3, n + 3)) if rng.random() < 0.4 else None for n in shape]
    source = program(shape, sizes, constant, tmp_path)
    model = lamina.backends.target(target).compile(source, Options(cache=False, emulate=target.startswith("cuda")))
    for _ in range(3):
        x = rng.standard_normal(shape).astype(np.float32)
        starts = [
            np.array(rng.integers(-3, n + 3), np.int32) for n, c in zip(shape, constant, strict=True) if c is None
        ]
        for found, right in zip(model.run([x, *starts]), lamina.interpret(source, [x, *starts]), strict=True):
            np.testing.assert_array_equal(found, right)
