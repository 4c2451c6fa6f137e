"""Products of weights that are integers: of few bits by float rows, and of bytes in layer after layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import lamina

from .test_isa_paths import PATHS

Array = np.ndarray[Any, np.dtype[Any]]


def model(nodes: list[Any], inputs: dict[str, Array], outputs: list[str], weights: dict[str, Array]) -> Any:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, x.shape) for name, x in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(x, name) for name, x in weights.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


@pytest.mark.parametrize("target", ["interpret", *PATHS])
@pytest.mark.parametrize(
    ("rows", "depth", "columns", "block", "bits", "zeros"),
    [
        (1, 128, 64, 32, 4, False),
        (1, 80, 24, 32, 4, True),
        (1, 96, 131, 16, 4, False),
        (2, 64, 65, 32, 2, True),
        (7, 160, 257, 64, 4, True),
        (8, 32, 3, 32, 4, False),
        (3, 64, 40, 32, 8, False),
        (9, 80, 24, 32, 4, False),  # many rows read floats
    ],
)
def test_weights_of_few_bits(
    target: str, rows: int, depth: int, columns: int, block: int, bits: int, zeros: bool
) -> None:
    rng = np.random.default_rng(rows * depth + columns)
    blocks = -(-depth // block)
    numbers = rng.integers(0, 1 << bits, (columns, blocks, block), np.uint8)
    middle = rng.integers(0, 1 << bits, (columns, blocks), np.uint8)
    x = rng.standard_normal((rows, depth)).astype(np.float32)
    scales = rng.standard_normal((columns, blocks)).astype(np.float32)
    weights = {"w": _packed(numbers, bits), "s": scales.reshape(-1)}
    if zeros:
        weights["z"] = _packed(np.pad(middle, ((0, 0), (0, -blocks % (8 // bits)))), bits).reshape(-1)
    node = helper.make_node(
        "MatMulNBits", ["x", *weights], ["y"], domain="com.microsoft", K=depth, N=columns, bits=bits, block_size=block
    )
    shift = middle[..., None].astype(int) if zeros else 1 << (bits - 1)
    real = ((numbers.astype(int) - shift) * scales[..., None].astype(np.float64)).reshape(columns, -1)[:, :depth]
    target = target if target == "interpret" else f"cpu:{target}"
    [y] = lamina.compile(model([node], {"x": x}, ["y"], weights), target)(x)
    expected = x.astype(np.float64) @ real.T
    np.testing.assert_allclose(y, expected, rtol=0, atol=2e-6 * np.abs(x).sum(1).max() * np.abs(real).max())


def _packed(numbers: Array, bits: int) -> Array:
    """`bits` of each in a byte, the first lowest."""
    parts = numbers.reshape(*numbers.shape[:-1], -1, 8 // bits).astype(np.uint8)
    return np.bitwise_or.reduce(parts << np.arange(0, 8, bits, dtype=np.uint8), axis=-1).astype(np.uint8)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("convolutions", [False, True])
def test_layers_of_bytes_are_as_the_reference(path: str, convolutions: bool) -> None:
    """Six layers alike, which are one function on the way, each with scales and zero points of its own."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((1, 8, 9, 9) if convolutions else (5, 24)).astype(np.float32)
    nodes, weights, value = [], {}, "x"
    for i in range(6):
        w = rng.integers(-128, 128, (8, 8, 3, 3) if convolutions else (24, 24)).astype(np.int8)
        weights |= {f"w{i}": w, f"s{i}": np.float32(0.001 + 0.0003 * i), f"b{i}": np.float32(0.1 * i)}
        op = "ConvInteger" if convolutions else "MatMulInteger"
        attributes = {"pads": [1, 1, 1, 1]} if convolutions else {}
        nodes += [
            helper.make_node("DynamicQuantizeLinear", [value], [f"q{i}", f"qs{i}", f"z{i}"]),
            helper.make_node(op, [f"q{i}", f"w{i}", f"z{i}"], [f"p{i}"], **attributes),
            helper.make_node("Cast", [f"p{i}"], [f"c{i}"], to=TensorProto.FLOAT),
            helper.make_node("Mul", [f"qs{i}", f"s{i}"], [f"m{i}"]),
            helper.make_node("Mul", [f"c{i}", f"m{i}"], [f"d{i}"]),
            helper.make_node("Add", [f"d{i}", f"b{i}"], [f"a{i}"]),
            helper.make_node("Tanh", [f"a{i}"], [f"y{i}"]),
        ]
        value = f"y{i}"
    program = model(nodes, {"x": x}, [value], weights)
    expected = lamina.compile(program, "interpret")(x)
    # one step of a byte is 1/127 of what tanh gives, and weights may make a few times that of it
    np.testing.assert_allclose(lamina.compile(program, f"cpu:{path}")(x), expected, rtol=0, atol=2e-5)
