"""Products of weights that are integers: of few bits by float rows, and of bytes in layer after layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import lamina
from lamina.backends.graph_phases import in_integers

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
        (9, 80, 24, 32, 4, False),
        (41, 70, 35, 32, 4, True),  # unpacked once for many rows
        (3, 4096, 20, 4096, 4, True),  # one block is several
        (30, 1056, 20, 1056, 8, True),
    ],
)
@pytest.mark.parametrize("level", [0, 4])
def test_weights_of_few_bits(
    target: str, rows: int, depth: int, columns: int, block: int, bits: int, zeros: bool, level: int
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
        "MatMulNBits",
        ["x", *weights],
        ["y"],
        domain="com.microsoft",
        K=depth,
        N=columns,
        bits=bits,
        block_size=block,
        accuracy_level=level,
    )
    shift = middle[..., None].astype(int) if zeros else 1 << (bits - 1)
    real = ((numbers.astype(int) - shift) * scales[..., None].astype(np.float64)).reshape(columns, -1)[:, :depth]
    net = model([node], {"x": x}, ["y"], weights)
    tolerance = 2e-6 * np.abs(x).sum(1).max() * np.abs(real).max()
    whole = level == 4  # with precision int8; floats where nothing is said
    programs = {"f32": lamina.import_onnx(net), "int8": in_integers(lamina.import_onnx(net))}
    for precision, rows_read in (("f32", x), ("int8", rounded(x, block) if whole else x)):
        if target == "interpret":
            [y] = lamina.interpret(programs[precision], [x])
        else:
            [y] = lamina.compile(net, f"cpu:{target}", precision=precision)(x)
        np.testing.assert_allclose(y, rows_read.astype(np.float64) @ real.T, rtol=0, atol=tolerance)


def rounded(x: Array, block: int) -> Array:
    """Each block of each row as whole numbers up to 127 times a scale, as ONNX Runtime rounds them."""
    rows, depth = x.shape
    parts = np.pad(x, ((0, 0), (0, -depth % block))).reshape(rows, -1, block)
    scale = np.abs(parts).max(2, keepdims=True) / np.float32(127)
    with np.errstate(divide="ignore"):
        inverse = np.where(scale > 0, 1 / scale, np.float32(0))
    return (np.rint(parts * inverse) * scale).reshape(rows, -1)[:, :depth]


@pytest.mark.parametrize("path", PATHS)
def test_rows_that_bytes_do_not_hold(path: str) -> None:
    """Infinities and NaN make a row NaN; rows of zeros and of numbers too small for a scale are zeros."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((8, 64)).astype(np.float32)
    x[1, 3], x[2, 40], x[3, 0], x[4], x[5] = np.inf, -np.inf, np.nan, 0, 1e-40
    x[6, :32] = 3e38
    weights = {"w": rng.integers(0, 256, (20, 2, 16), np.uint8), "s": np.ones(40, np.float32)}
    said = {"K": 64, "N": 20, "bits": 4, "block_size": 32, "accuracy_level": 4}
    node = helper.make_node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", **said)
    net = model([node], {"x": x}, ["y"], weights)
    with np.errstate(all="ignore"):
        [expected] = lamina.interpret(in_integers(lamina.import_onnx(net)), [x])
    [y] = lamina.compile(net, f"cpu:{path}", precision="int8")(x)
    assert np.isnan(expected[1:4]).all() and not expected[4:6].any() and np.isfinite(expected[[0, 6, 7]]).any()
    np.testing.assert_allclose(y[:6], expected[:6], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(y[7], expected[7], rtol=1e-5, atol=1e-5)


def test_weights_stay_packed() -> None:
    """Half a byte an element and what the scales take, for one row and for many."""
    rng = np.random.default_rng(0)
    weights = {"w": rng.integers(0, 256, (512, 16, 16), np.uint8), "s": np.ones(512 * 16, np.float32)}
    said = {"K": 512, "N": 512, "bits": 4, "block_size": 32}
    node = helper.make_node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", **said)
    for rows in (1, 64):
        net = model([node], {"x": np.zeros((rows, 512), np.float32)}, ["y"], weights)
        kept = lamina.compile(net, cache=False).artefact.constants
        assert not isinstance(kept, np.ndarray)
        assert sum(nbytes for _, _, nbytes in kept.parts) == 512 * 512 // 2 + 4 * 512 * 16


def test_integers_with_dimensions_without_sizes() -> None:
    """Outputs of quantised models whose shapes only the operators' rules tell."""
    rng = np.random.default_rng(0)
    weights = {"w": rng.integers(0, 256, (24, 2, 16), np.uint8), "s": np.ones(48, np.float32)}
    said = {"K": 64, "N": 24, "bits": 4, "block_size": 32, "accuracy_level": 4}
    node = helper.make_node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", **said)
    net = model([node], {"x": np.zeros((1, 64), np.float32)}, ["y"], weights)
    net.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    made = lamina.compile(net, precision="int8")
    for rows in (1, 3):
        x = rng.standard_normal((rows, 64)).astype(np.float32)
        [y] = made(x)
        [expected] = lamina.compile(net)(rounded(x, 32))
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)


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


@pytest.mark.parametrize("target", ["interpret", *PATHS])
@pytest.mark.parametrize("kind", [TensorProto.INT4, TensorProto.UINT4, TensorProto.INT2, TensorProto.INT8])
@pytest.mark.parametrize("form", ["blocks", "zeros", "transposed", "gemm", "columns", "uneven"])
def test_dequantized_weights_stay_packed(target: str, kind: int, form: str) -> None:
    """As `DequantizeLinear` says; the product reads the weights, but for bytes with a scale for each column."""
    rng = np.random.default_rng(kind)
    depth, columns, block = (80 if form == "uneven" else 96), 37, 32
    bits = {TensorProto.INT2: 2, TensorProto.INT8: 8}.get(kind, 4)
    low = 0 if kind == TensorProto.UINT4 else -(1 << (bits - 1))
    whole = rng.integers(low, low + (1 << bits), (depth, columns))
    blocks = 1 if form == "columns" else -(-depth // block)
    scales = rng.uniform(0.5, 1.5, (blocks, columns)).astype(np.float32)
    zeros = (
        rng.integers(low, low + (1 << bits), (blocks, columns)) if form == "zeros" else np.zeros((blocks, columns), int)
    )
    x = rng.standard_normal((5, depth)).astype(np.float32)
    shift = np.int64(0) if form == "columns" else np.repeat(zeros, block, 0)[:depth]
    real = (whole - shift) * np.repeat(scales, depth if blocks == 1 else block, 0)[:depth].astype(np.float64)
    expected = x @ real

    turned = form in ("transposed", "gemm")
    stored = [a.T if turned else a for a in (whole, scales, zeros)]
    said = {"axis": 1} if form == "columns" else {"axis": 1 if turned else 0, "block_size": block}
    weights = {"s": stored[1].reshape(-1) if form == "columns" else np.ascontiguousarray(stored[1])}
    names, tensors = ["w", "s"], [numbers("w", kind, stored[0])]
    if form == "zeros":
        names.append("z")
        tensors.append(numbers("z", kind, stored[2]))
    nodes = [helper.make_node("DequantizeLinear", names, ["d"], **said)]
    if form == "gemm":
        weights["b"] = rng.standard_normal(columns).astype(np.float32)
        expected = expected + weights["b"]
        nodes.append(helper.make_node("Gemm", ["x", "d", "b"], ["y"], transB=1))
    elif turned:
        nodes += [
            helper.make_node("Transpose", ["d"], ["t"], perm=[1, 0]),
            helper.make_node("MatMul", ["x", "t"], ["y"]),
        ]
    else:
        nodes.append(helper.make_node("MatMul", ["x", "d"], ["y"]))
    net = model(nodes, {"x": x}, ["y"], weights)
    net.graph.initializer.extend(tensors)
    net.opset_import[0].version, net.ir_version = 25, 13
    [y] = lamina.compile(net, target if target == "interpret" else f"cpu:{target}")(x)
    np.testing.assert_allclose(y, expected, rtol=0, atol=2e-6 * np.abs(x).sum(1).max() * np.abs(real).max())
    packed = "linalg_ext.matmul_nbits" in str(lamina.lower(lamina.import_onnx(net), to="linalg"))
    assert packed == (form != "columns" or bits < 8)


def numbers(name: str, kind: int, values: Array) -> TensorProto:
    """A tensor of integers of few bits."""
    return helper.make_tensor(name, kind, values.shape, values.reshape(-1).tolist())
