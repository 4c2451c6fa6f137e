"""Concatenations that go on with each other, along each dimension: the numbers, and that none is copied."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina.compiler.program import main_function

SHAPE = (3, 5, 9)
LAYERS = 5


def dense(axis: int, step: int) -> str:
    """Layers that each take a part of the sum of what all before them gave along `axis`: a small one, so that what is
    rounded in one is not more in the next."""

    def type_(size: int) -> str:
        return f"tensor<{'x'.join(map(str, (*SHAPE[:axis], size, *SHAPE[axis + 1 :])))}xf32>"

    rest = f"tensor<{'x'.join(str(n) for i, n in enumerate(SHAPE) if i != axis)}xf32>"
    dims = ", ".join(str(i) for i in range(len(SHAPE)) if i != axis)
    size, parts = SHAPE[axis], ["%x"]
    types = [type_(size)]
    lines = [
        "%zero = stablehlo.constant dense<0.0> : tensor<f32>",
        f"%part = stablehlo.constant dense<0.0625> : {rest}",
    ]
    whole = "%x"
    for i in range(LAYERS):
        lines += [
            f"%e{i} = stablehlo.tanh {whole} : {type_(size)}",
            f"%s{i} = stablehlo.reduce(%e{i} init: %zero) applies stablehlo.add across dimensions = [{axis}]"
            f" : ({type_(size)}, tensor<f32>) -> {rest}",
            f"%m{i} = stablehlo.multiply %s{i}, %part : {rest}",
            f"%l{i} = stablehlo.broadcast_in_dim %m{i}, dims = [{dims}] : ({rest}) -> {type_(step)}",
        ]
        size += step
        parts.append(f"%l{i}")
        types.append(type_(step))
        whole = f"%c{i}"
        lines.append(
            f"{whole} = stablehlo.concatenate {', '.join(parts)}, dim = {axis} : ({', '.join(types)}) -> {type_(size)}"
        )
    body = "\n  ".join(lines)
    return f"func.func public @main(%x: {types[0]}) -> {type_(size)} {{\n  {body}\n  return {whole} : {type_(size)}\n}}"


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("step", [1, 8])
def test_each_dimension(axis: int, step: int, tmp_path: Path):
    path = tmp_path / "dense.mlir"
    path.write_text(dense(axis, step))
    x = np.random.default_rng().standard_normal(SHAPE).astype(np.float32)
    [wanted] = lamina.compile(str(path), target="interpret")(x)
    [found] = lamina.compile(str(path))(x)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


def test_nothing_is_copied(tmp_path: Path):
    path = tmp_path / "dense.mlir"
    path.write_text(dense(2, 8))
    main = main_function(lamina.lower(str(path), to="buffers").module)
    whole = main.body.block.args[1]
    written = [op for op in main.walk() if op.name == "func.call" and op.operands[-1] is whole]
    assert len(written) == 1 + LAYERS  # what comes first, and each layer's, into the result
