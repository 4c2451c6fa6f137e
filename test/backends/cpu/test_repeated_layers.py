"""A network of equal layers: as many kernels as one of few layers has, the same numbers, the same arena."""

import numpy as np
import pytest

import lamina
from lamina.compiler.parsing import parse_module
from lamina.compiler.printing import print_module
from lamina.compiler.program import Program
from lamina.tools.sources import new_context

WIDTH = 24


def network(layers: int) -> Program:
    """x = x + tanh(x @ w_i + b_i) @ v_i, `layers` times, with weights that all differ."""
    random = np.random.default_rng(layers)
    context = new_context()
    lines: list[str] = []

    def weight(name: str, *shape: int) -> str:
        key = context.weights.add(random.normal(size=shape).astype(np.float32) / 4, name)
        lines.append(f"%{name} = stablehlo.constant dense_resource<{key}> : {tensor(*shape)}")
        return f"%{name}"

    def tensor(*shape: int) -> str:
        return f"tensor<{'x'.join(map(str, shape))}xf32>"

    x, t, square = "%x", tensor(5, WIDTH), tensor(WIDTH, WIDTH)
    dot = "contracting_dims = [1] x [0] : " + f"({t}, {square}) -> {t}"
    for i in range(layers):
        w, b, v = weight(f"w{i}", WIDTH, WIDTH), weight(f"b{i}", WIDTH), weight(f"v{i}", WIDTH, WIDTH)
        lines += [
            f"%h{i} = stablehlo.dot_general {x}, {w}, {dot}",
            f"%s{i} = stablehlo.broadcast_in_dim {b}, dims = [1] : ({tensor(WIDTH)}) -> {t}",
            f"%a{i} = stablehlo.add %h{i}, %s{i} : {t}",
            f"%t{i} = stablehlo.tanh %a{i} : {t}",
            f"%o{i} = stablehlo.dot_general %t{i}, {v}, {dot}",
            f"%x{i} = stablehlo.add {x}, %o{i} : {t}",
        ]
        x = f"%x{i}"
    body = "\n".join(lines)
    text = f"func.func public @main(%x: {t}) -> {t} {{\n{body}\nfunc.return {x} : {t}\n}}"
    return Program(parse_module(text, "network.mlir", context), context)


@pytest.mark.parametrize("layers", [3, 17])
def test_the_numbers_are_those_of_the_reference(layers):
    program = network(layers)
    x = np.random.default_rng(0).normal(size=(5, WIDTH)).astype(np.float32)
    (expected,) = lamina.interpret(program, [x])
    (got,) = lamina.compile(program, cache=False)(x)
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=2e-5)


def test_depth_costs_no_kernels_and_no_memory():
    shallow, deep = (lamina.compile(network(n), cache=False).artefact for n in (14, 28))
    assert len(deep.manifest["kernels"]) == len(shallow.manifest["kernels"])
    assert deep.arena_bytes == shallow.arena_bytes


def test_the_layers_are_one_function_on_the_way_down():
    text = print_module(lamina.lower(network(14), "stablehlo-canonical").module)
    assert text.count("func.call @repeat_0") == 14 and text.count("stablehlo.dot_general") == 2
