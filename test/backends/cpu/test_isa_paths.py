"""The instruction sets that this machine has, each forced by `cpu:NAME`, and aarch64 in an emulator, against NumPy."""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

import lamina
from lamina.backends import Options
from lamina.backends.cpu.aot import write_native
from lamina.backends.graph_phases import in_integers
from lamina.compiler.diagnostics import LaminaError
from lamina.compiler.machine import Machine
from lamina.tools.sources import read_program

Array = np.ndarray[Any, np.dtype[Any]]
QEMU = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
MICROSOFT = h.make_opsetid("com.microsoft", 1)
CROSS = shutil.which("aarch64-linux-gnu-gcc")


def runs_here(name: str) -> bool:
    if platform.machine() not in ("x86_64", "AMD64"):
        return False
    host = Machine.host()
    return all(feature in host.features for feature in Machine.preset(name).features)


PATHS = [
    pytest.param(name, marks=pytest.mark.skipif(not runs_here(name), reason=f"this machine is no {name}"))
    for name in ("x86-64", "x86-64-avx2", "x86-64-avx512")
]


def model(nodes: Sequence[NodeProto], inputs: dict[str, Sequence[int]], **weights: Array) -> ModelProto:
    """The last node's output is the model's."""
    result = nodes[-1].output[0]
    graph = h.make_graph(
        nodes,
        "net",
        [h.make_tensor_value_info(name, T.FLOAT, shape) for name, shape in inputs.items()],
        [h.make_tensor_value_info(result, T.FLOAT, None)],
        [nh.from_array(value, name) for name, value in weights.items()],
    )
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 21), MICROSOFT], ir_version=10)


def normal(seed: int, *shape: int) -> Array:
    fan_in = max(1, int(np.prod(shape[1:])))
    return (np.random.default_rng(seed).standard_normal(shape) / np.sqrt(fan_in)).astype(np.float32)


def conv_net() -> ModelProto:
    """3x3 with padding, strided, pointwise, depthwise and grouped; pools; a product and a softmax."""
    nodes = [
        h.make_node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1]),
        h.make_node("Relu", ["c1"], ["r1"]),
        h.make_node("MaxPool", ["r1"], ["m1"], kernel_shape=[2, 2], strides=[2, 2]),
        h.make_node("Conv", ["m1", "w2"], ["c2"], group=20, pads=[1, 1, 1, 1]),
        h.make_node("Conv", ["c2", "w3"], ["c3"]),
        h.make_node("Conv", ["c3", "w4"], ["c4"], strides=[2, 2], dilations=[2, 2], pads=[2, 2, 2, 2], group=2),
        h.make_node("Add", ["c4", "c4"], ["a"]),
        h.make_node("Clip", ["a", "low", "high"], ["k"]),
        h.make_node("GlobalAveragePool", ["k"], ["p"]),
        h.make_node("Flatten", ["p"], ["f"]),
        h.make_node("Gemm", ["f", "g", "h"], ["s"]),
        h.make_node("Softmax", ["s"], ["y"]),
    ]
    weights = {
        "w1": normal(1, 20, 3, 3, 3),
        "b1": normal(2, 20),
        "w2": normal(3, 20, 1, 3, 3),
        "w3": normal(4, 34, 20, 1, 1),
        "w4": normal(5, 18, 17, 3, 3),
        "low": np.float32(0),
        "high": np.float32(6),
        "g": normal(6, 18, 11),
        "h": normal(7, 11),
    }
    return model(nodes, {"x": [1, 3, 23, 21]}, **{name: np.asarray(value) for name, value in weights.items()})


def transformer_block() -> ModelProto:
    """Norm, attention over 13 tokens in 3 heads of 10, residual, norm, GELU between two products, residual."""
    heads = np.array([1, 13, 3, 10])
    nodes = [h.make_node("LayerNormalization", ["x", "s1", "b1"], ["n"])]
    for name in "qkv":
        order = [0, 2, 3, 1] if name == "k" else [0, 2, 1, 3]
        nodes += [
            h.make_node("MatMul", ["n", f"w{name}"], [f"{name}0"]),
            h.make_node("Reshape", [f"{name}0", "heads"], [f"{name}1"]),
            h.make_node("Transpose", [f"{name}1"], [name], perm=order),
        ]
    nodes += [
        h.make_node("MatMul", ["q", "k"], ["scores"]),
        h.make_node("Softmax", ["scores"], ["p"]),
        h.make_node("MatMul", ["p", "v"], ["o"]),
        h.make_node("Transpose", ["o"], ["o1"], perm=[0, 2, 1, 3]),
        h.make_node("Reshape", ["o1", "flat"], ["o2"]),
        h.make_node("MatMul", ["o2", "wo"], ["o3"]),
        h.make_node("Add", ["x", "o3"], ["r"]),
        h.make_node("LayerNormalization", ["r", "s1", "b1"], ["n2"]),
        h.make_node("MatMul", ["n2", "w1"], ["m"]),
        h.make_node("Add", ["m", "b2"], ["m1"]),
        h.make_node("Gelu", ["m1"], ["m2"]),
        h.make_node("MatMul", ["m2", "w2"], ["m3"]),
        h.make_node("Add", ["r", "m3"], ["y"]),
    ]
    weights = {f"w{name}": normal(i, 30, 30) for i, name in enumerate("qkvo")}
    weights |= {"w1": normal(5, 30, 121), "b2": normal(6, 121), "w2": normal(7, 121, 30)}
    weights |= {"s1": normal(8, 30) + 1, "b1": normal(9, 30), "heads": heads, "flat": np.array([1, 13, 30])}
    return model(nodes, {"x": [1, 13, 30]}, **weights)


FUNCTIONS = ("Abs", "Atan", "Ceil", "Cos", "Erf", "Exp", "Floor", "Gelu", "HardSwish", "Mish", "Neg", "Round")
FUNCTIONS += ("Sigmoid", "Sign", "Sin", "Softplus", "Tanh")


def elementwise() -> ModelProto:
    """The sum of many functions, with sums and maxima along both axes and a softmax along the outer one."""
    nodes = [h.make_node(name, ["x"], [name]) for name in FUNCTIONS]
    nodes += [
        h.make_node("Sum", [*FUNCTIONS, "z"], ["sum"]),
        h.make_node("ReduceMax", ["sum", "first"], ["highest"], keepdims=1),
        h.make_node("ReduceSum", ["sum", "last"], ["total"], keepdims=1),
        h.make_node("Div", ["sum", "highest"], ["d"]),
        h.make_node("Sub", ["d", "total"], ["s"]),
        h.make_node("Softmax", ["s"], ["soft"], axis=0),
        h.make_node("Add", ["soft", "sum"], ["both"]),
        h.make_node("Transpose", ["both"], ["y"]),
    ]
    return model(nodes, {"x": [19, 37], "z": [37]}, first=np.array([0]), last=np.array([1]))


def few_bits() -> ModelProto:
    """Products with weights of 4 and 2 bits, of one row and of many, in blocks with scales; rows may become bytes."""
    rng = np.random.default_rng(9)
    nodes, weights = [], {"one": np.array([1, 70]), "many": np.array([33, 45])}
    for name, x, depth, columns, bits in (("a", "flat", 70, 1485, 4), ("b", "wide", 45, 21, 2)):
        blocks = -(-depth // 32)
        weights[f"w{name}"] = rng.integers(0, 256, (columns, blocks, 4 * bits), np.uint8)
        weights[f"s{name}"] = np.abs(normal(bits, columns, blocks)) / 16
        said = {"K": depth, "N": columns, "bits": bits, "block_size": 32, "accuracy_level": 4}
        nodes.append(h.make_node("MatMulNBits", [x, f"w{name}", f"s{name}"], [name], domain="com.microsoft", **said))
    nodes.insert(0, h.make_node("Reshape", ["x", "one"], ["flat"]))
    nodes.insert(2, h.make_node("Reshape", ["a", "many"], ["wide"]))
    return model([*nodes, h.make_node("Tanh", ["b"], ["y"])], {"x": [7, 10]}, **weights)


MODELS = {
    "conv_net": conv_net,
    "transformer_block": transformer_block,
    "elementwise": elementwise,
    "few_bits": few_bits,
}
PRECISIONS = [(name, "f32") for name in MODELS] + [("few_bits", "int8")]


def inputs_of(net: ModelProto) -> list[Array]:
    shapes = [[d.dim_value for d in value.type.tensor_type.shape.dim] for value in net.graph.input]
    return [np.random.default_rng(i).standard_normal(shape).astype(np.float32) for i, shape in enumerate(shapes)]


def check(got: Array, net: ModelProto, inputs: list[Array], precision: str = "f32") -> None:
    program = read_program(net)
    (want,) = lamina.interpret(in_integers(program) if precision == "int8" else program, inputs)
    np.testing.assert_allclose(got.reshape(want.shape), want, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize(("build", "precision"), PRECISIONS)
def test_models_on_each_instruction_set(build: str, precision: str, name: str):
    net = MODELS[build]()
    inputs = inputs_of(net)
    made = lamina.compile(net, f"cpu:{name}", cache=False, precision=precision)
    check(made(*inputs)[0], net, inputs, precision)


RUNNER = r"""
#include <stdio.h>
#include <stdlib.h>
#include "net.h"
static void *contents(const char *path, size_t bytes) {
  void *memory = aligned_alloc(64, bytes / 64 * 64 + 64);
  FILE *file = fopen(path, "rb");
  if (!file || fread(memory, 1, bytes, file) != bytes) exit(2);
  return memory;
}
int main(void) {
  static float y[NET_Y_SIZE], again[NET_Y_SIZE];
  void *arena = aligned_alloc(64, NET_ARENA_BYTES / 64 * 64 + 64);
  void *weights = contents("net.weights", NET_WEIGHTS_BYTES), *pool = lamina_pool_create(2);
  INPUTS
  if (net_run(ARGUMENTS y, arena, weights, pool)) return 3;
  lamina_pool_destroy(pool);
  if (net_run(ARGUMENTS again, arena, weights, NULL)) return 4;
  for (int i = 0; i < NET_Y_SIZE; i++)
    if (y[i] != again[i]) return 5;
  return fwrite(y, sizeof(float), NET_Y_SIZE, stdout) == NET_Y_SIZE ? 0 : 6;
}
"""


@pytest.mark.skipif(QEMU is None or CROSS is None, reason="no qemu-aarch64 and aarch64-linux-gnu-gcc")
@pytest.mark.parametrize(("build", "precision"), PRECISIONS)
def test_models_on_aarch64(build: str, precision: str, tmp_path: Path):
    net = MODELS[build]()
    inputs = inputs_of(net)
    write_native(read_program(net), tmp_path / "net.o", "aarch64-neon", Options(precision=precision))
    names = [value.name for value in net.graph.input]
    loads = [f'float *{n} = contents("{n}", NET_{n.upper()}_SIZE * sizeof(float));' for n in names]
    source = RUNNER.replace("INPUTS", "\n  ".join(loads)).replace("ARGUMENTS", "".join(f"{n}, " for n in names))
    (tmp_path / "main.c").write_text(source)
    for name, value in zip(names, inputs, strict=True):
        (tmp_path / name).write_bytes(value.tobytes())
    link = [str(CROSS), "-Wall", "-Werror", "-static", "-o", "run", "main.c", "net.o", "-lpthread"]
    subprocess.run(link, check=True, cwd=tmp_path)
    done = subprocess.run([str(QEMU), "./run"], check=True, capture_output=True, timeout=120, cwd=tmp_path)
    check(np.frombuffer(done.stdout, np.float32), net, inputs, precision)


def cast_model(source: int, target: int, size: int) -> ModelProto:
    graph = h.make_graph(
        [h.make_node("Cast", ["x"], ["y"], to=target)],
        "cast",
        [h.make_tensor_value_info("x", source, [size])],
        [h.make_tensor_value_info("y", target, [size])],
    )
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize("name", PATHS)
def test_every_half_as_float_and_back(name: str):
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    (wide,) = lamina.compile(cast_model(T.FLOAT16, T.FLOAT, 1 << 16), f"cpu:{name}", cache=False)(halves)
    np.testing.assert_array_equal(wide, halves.astype(np.float32))
    with np.errstate(all="ignore"):
        near = np.nextafter(wide, np.float32(0))
        between = (wide[:-1] + wide[1:]) / 2
        edges = np.float32([65519.996, 65520, 1e30, -1e30, 2**-25, 2**-24 * 1.5])
        floats = np.concatenate([wide, near, between, edges])
        want = floats.astype(np.float16)
    back = lamina.compile(cast_model(T.FLOAT, T.FLOAT16, len(floats)), f"cpu:{name}", cache=False)(floats)
    np.testing.assert_array_equal(back[0], want)


def test_a_machine_that_this_one_is_not():
    with pytest.raises(LaminaError, match="does not run on this machine"):
        lamina.compile(cast_model(T.FLOAT, T.FLOAT16, 4), "cpu:aarch64-neon", cache=False)
