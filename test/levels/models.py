"""A conv net, a transformer block and layers with weights of four bits, small, with random weights."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper


class Graph:
    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.weights = [], []

    def weight(self, *shape: int, scale: float = 0.0) -> str:
        scale = scale or 1 / np.sqrt(np.prod(shape[1:]) or 1)
        name = f"w{len(self.weights)}"
        data = self.rng.standard_normal(shape) * scale
        self.weights.append(numpy_helper.from_array(data.astype(np.float32), name))
        return name

    def positive(self, n: int) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(self.rng.uniform(0.5, 1.5, n).astype(np.float32), name))
        return name

    def ints(self, *values: int) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def bytes_(self, *shape: int) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(self.rng.integers(0, 256, shape, np.uint8), name))
        return name

    def __call__(self, op: str, *inputs: str, **attributes) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], f"{op}_{len(self.nodes)}", **attributes))
        return name

    def model(self, shape, result: str):
        graph = helper.make_graph(
            self.nodes,
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info(result, TensorProto.FLOAT, None)],
            self.weights,
        )
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)], ir_version=9
        )


def conv_net():
    """Strided and padded convolutions, batch norm, a residual, a depthwise one, pooling, a classifier."""
    g = Graph(0)
    a = g("Conv", "x", g.weight(16, 3, 3, 3), g.weight(16), strides=[2, 2], pads=[1, 1, 1, 1])
    a = g("Relu", g("BatchNormalization", a, *(g.positive(16) for _ in range(4))))
    b = g("Relu", g("Conv", a, g.weight(16, 1, 3, 3), group=16, pads=[1, 1, 1, 1]))
    b = g("Conv", b, g.weight(16, 16, 1, 1), g.weight(16))
    c = g("MaxPool", g("Relu", g("Add", a, b)), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    d = g("Concat", g("Conv", c, g.weight(20, 16, 3, 3), pads=[1, 1, 1, 1]), c, axis=1)
    e = g("Flatten", g("GlobalAveragePool", g("Relu", d)))
    y = g("Softmax", g("Gemm", e, g.weight(10, 36), g.weight(10), transB=1), axis=1)
    return g.model((1, 3, 22, 22), y)


def transformer():
    """One block: attention of 3 heads over 11 positions of width 24, and a feed-forward part."""
    g, width, heads = Graph(1), 24, 3

    def norm(x):
        return g("LayerNormalization", x, g.positive(width), g.weight(width), axis=-1)

    def project(x, n):
        return g("Add", g("MatMul", x, g.weight(width, n)), g.weight(n))

    def head(x, *order):
        return g("Transpose", g("Reshape", x, g.ints(2, 11, heads, width // heads)), perm=order)

    n = norm("x")
    q, k, v = project(n, width), project(n, width), project(n, width)
    scores = g("MatMul", head(q, 0, 2, 1, 3), head(k, 0, 2, 3, 1))
    weights = g("Softmax", g("Mul", scores, g.weight(1, scale=0.5)), axis=-1)
    mixed = g("Transpose", g("MatMul", weights, head(v, 0, 2, 1, 3)), perm=[0, 2, 1, 3])
    a = g("Add", "x", project(g("Reshape", mixed, g.ints(2, 11, width)), width))
    hidden = g("Gelu", g("Add", g("MatMul", norm(a), g.weight(width, 50)), g.weight(50)))
    y = g("Add", a, g("Add", g("MatMul", hidden, g.weight(50, width)), g.weight(width)))
    return g.model((2, 11, width), y)


def few_bits():
    """Words of four bits times three rows, as many as a large constant has, and a table of bytes that rows look up."""
    g = Graph(2)
    said = {"domain": "com.microsoft", "bits": 4, "block_size": 32, "accuracy_level": 4}
    scales = [g.weight(n, blocks, scale=0.1) for n, blocks in ((300, 2), (19, 10))]
    a = g("MatMulNBits", "x", g.bytes_(300, 2, 16), scales[0], K=64, N=300, **said)
    b = g("MatMulNBits", g("Tanh", a), g.bytes_(19, 10, 16), scales[1], K=300, N=19, **said)
    at = g("Cast", g("ArgMax", b, axis=1, keepdims=0), to=TensorProto.INT64)
    looked_up = g("Cast", g("Gather", g.bytes_(19, 900), at), to=TensorProto.FLOAT)
    return g.model((3, 64), g("Add", b, g("ReduceMean", looked_up, g.ints(1))))
