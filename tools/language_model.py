"""A decoder as onnxruntime-genai writes them, with random weights: `python -m lamina.tools.language_model X.onnx`.

Embedding, layers of grouped attention over a cache (GroupQueryAttention with rotary embedding) and of a gated
feed-forward part, root mean square norms, and the head: the architecture of Llama (Touvron et al. 2023). Products have
weights of four bits in blocks of 32 (MatMulNBits), or floats. Beside the model are inputs for `lamina bench models`:
X.token.npz, one token over a cache that is full but for its place, X.fixed.npz, the same over caches that have that
place, for `--alias 'past_key_values.*=present.*'`, and X.prompt.npz, as many tokens from the beginning.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from onnx import ModelProto

SEED = 11
BLOCK = 32
EPSILON = 1e-6
ROTATION = 10000.0  # the base of the angles
Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Sizes:
    """Of a decoder; `context`: how many tokens it takes at most."""

    layers: int = 2
    hidden: int = 256
    inner: int = 512
    heads: int = 8
    shared: int = 2  # heads of keys and values
    words: int = 1000
    context: int = 128

    @property
    def width(self) -> int:
        """Of a head."""
        return self.hidden // self.heads


@dataclass
class _Graph:
    bits: int
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(SEED))
    nodes: list[Any] = field(default_factory=list[Any])
    weights: dict[str, Array] = field(default_factory=dict[str, Array])

    def node(
        self, kind: str, inputs: Sequence[str], outputs: Sequence[str] = (), domain: str = "", **attributes: Any
    ) -> str:
        """Appends a node; its first output."""
        from onnx import helper

        names = list(outputs) or [f"v{len(self.nodes)}"]
        self.nodes.append(
            helper.make_node(kind, inputs, names, f"{kind}_{len(self.nodes)}", domain=domain, **attributes)
        )
        return names[0]

    def constant(self, name: str, array: Array) -> str:
        """An initialiser."""
        self.weights[name] = array
        return name

    def product(self, x: str, name: str, depth: int, columns: int, result: str = "") -> str:
        """x times a matrix of weights."""
        outputs = [result] if result else []
        real = (self.rng.standard_normal((columns, depth)) / np.sqrt(depth)).astype(np.float32)
        if self.bits == 32:
            return self.node("MatMul", [x, self.constant(name, np.ascontiguousarray(real.T))], outputs)
        packed, scales = quantized(real)
        operands = [x, self.constant(f"{name}_Q4", packed), self.constant(f"{name}_scales", scales)]
        said = {"K": depth, "N": columns, "bits": 4, "block_size": BLOCK, "accuracy_level": 4}
        return self.node("MatMulNBits", operands, outputs, "com.microsoft", **said)

    def norm(self, name: str, size: int) -> str:
        """The factors of a norm."""
        return self.constant(name, self.rng.uniform(0.5, 1.5, size).astype(np.float32))


def quantized(real: Array) -> tuple[Array, Array]:
    """[N, K] as bytes [N, blocks, BLOCK / 2], each two numbers from 0 to 15, and what these less 8 are times."""
    parts = real.reshape(real.shape[0], -1, BLOCK)
    scales = np.abs(parts).max(2) / np.float32(7)
    whole = np.clip(np.rint(parts / scales[..., None]) + 8, 0, 15).astype(np.uint8)
    return whole[..., ::2] | whole[..., 1::2] << 4, scales


def decoder(sizes: Sizes, bits: int = 4) -> ModelProto:
    """The model; `bits` of a weight: 4 or 32."""
    from onnx import TensorProto, helper, numpy_helper

    g = _Graph(bits)
    one = g.constant("one", np.array([1]))
    count = g.node("Sub", [g.node("ReduceSum", ["attention_mask", one], keepdims=0), one])
    seen = g.node("Cast", [count], to=TensorProto.INT32)
    last = g.constant("last", np.array(1))
    total = g.node("Cast", [g.node("Gather", [g.node("Shape", ["attention_mask"]), last])], to=TensorProto.INT32)
    angles = np.outer(np.arange(sizes.context), ROTATION ** (-np.arange(0, 1, 2 / sizes.width)))
    tables = [
        g.constant(f"{name}_cache", f(angles).astype(np.float32)) for name, f in (("cos", np.cos), ("sin", np.sin))
    ]
    words = (g.rng.standard_normal((sizes.words, sizes.hidden)) / 8).astype(np.float32)
    x = g.node("Gather", [g.constant("embedding", words), "input_ids"])
    normed = g.node("SimplifiedLayerNormalization", [x, g.norm("norm", sizes.hidden)], axis=-1, epsilon=EPSILON)
    for i in range(sizes.layers):
        side_by_side = (sizes.heads + 2 * sizes.shared) * sizes.width
        qkv = g.product(normed, f"qkv.{i}", sizes.hidden, side_by_side)
        past = [f"past_key_values.{i}.{part}" for part in ("key", "value")]
        attended = g.node(
            "GroupQueryAttention",
            [qkv, "", "", *past, seen, total, *tables],
            [f"attention.{i}", f"present.{i}.key", f"present.{i}.value"],
            "com.microsoft",
            num_heads=sizes.heads,
            kv_num_heads=sizes.shared,
            do_rotary=1,
        )
        normed, x = _added(g, x, g.product(attended, f"out.{i}", sizes.hidden, sizes.hidden), f"norm.{i}", sizes.hidden)
        gate = g.product(normed, f"gate.{i}", sizes.hidden, sizes.inner)
        up = g.product(normed, f"up.{i}", sizes.hidden, sizes.inner)
        gated = g.node("Mul", [g.node("Mul", [gate, g.node("Sigmoid", [gate])]), up])
        normed, x = _added(g, x, g.product(gated, f"down.{i}", sizes.inner, sizes.hidden), f"end.{i}", sizes.hidden)
    g.product(normed, "head", sizes.hidden, sizes.words, "logits")

    def value(name: str, shape: Sequence[int | str], kind: int = TensorProto.FLOAT) -> Any:
        return helper.make_tensor_value_info(name, kind, shape)

    def caches(name: str, length: str) -> list[Any]:
        shape = ("batch_size", sizes.shared, length, sizes.width)
        return [value(f"{name}.{i}.{part}", shape) for i in range(sizes.layers) for part in ("key", "value")]

    inputs = [
        value("input_ids", ("batch_size", "sequence_length"), TensorProto.INT64),
        value("attention_mask", ("batch_size", "total_sequence_length"), TensorProto.INT64),
        *caches("past_key_values", "past_sequence_length"),
    ]
    outputs = [
        value("logits", ("batch_size", "sequence_length", sizes.words)),
        *caches("present", "total_sequence_length"),
    ]
    initialisers = [numpy_helper.from_array(array, name) for name, array in g.weights.items()]
    graph = helper.make_graph(g.nodes, "decoder", inputs, outputs, initialisers)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _added(g: _Graph, x: str, y: str, name: str, size: int) -> tuple[str, str]:
    """The norm of x + y, and that sum."""
    total = f"{name}.sum"
    outputs = [f"{name}.normed", "", "", total]
    factors = g.norm(f"{name}.factors", size)
    normed = g.node("SkipSimplifiedLayerNormalization", [x, y, factors], outputs, "com.microsoft", epsilon=EPSILON)
    return normed, total


def inputs_of(sizes: Sizes, tokens: int, past: int) -> dict[str, Array]:
    """So many random tokens behind a cache of so many, whose last rows are theirs where that is the whole context."""
    rng = np.random.default_rng(SEED)
    shape = (1, sizes.shared, past, sizes.width)
    caches = [f"past_key_values.{i}.{part}" for i in range(sizes.layers) for part in ("key", "value")]
    return {
        "input_ids": rng.integers(0, sizes.words, (1, tokens)),
        "attention_mask": np.ones((1, min(past + tokens, sizes.context)), np.int64),
        **{name: rng.standard_normal(shape).astype(np.float32) for name in caches},
    }


def main() -> int:
    """The command; returns its exit status."""
    import onnx

    parser = argparse.ArgumentParser(prog="lamina.tools.language_model", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--bits", type=int, choices=(4, 32), default=4, help="of a weight (default 4)")
    for name, default in vars(Sizes()).items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default {default}")
    args = parser.parse_args()
    sizes = Sizes(**{name: getattr(args, name) for name in vars(Sizes())})
    uneven = [name for name, n in (("hidden", sizes.hidden), ("inner", sizes.inner)) if n < BLOCK or n % BLOCK]
    if uneven or min(vars(sizes).values()) < 1 or sizes.heads % sizes.shared or sizes.hidden % (2 * sizes.heads):
        what = f"hidden and inner must be multiples of {BLOCK}, hidden of twice the heads, and heads of shared"
        print(f"lamina.tools.language_model: error: {what}", file=sys.stderr)
        return 2
    args.file.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(decoder(sizes, args.bits), args.file)
    for name, tokens, past in (
        ("token", 1, sizes.context - 1),
        ("fixed", 1, sizes.context),
        ("prompt", sizes.context, 0),
    ):
        arrays: Any = {f"in.{k}": v for k, v in inputs_of(sizes, tokens, past).items()}
        np.savez(args.file.with_suffix(f".{name}.npz"), **arrays)
    print(args.file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
