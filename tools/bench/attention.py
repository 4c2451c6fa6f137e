"""Attention: softmax(q kᵀ / sqrt d + mask) v over heads, plain, causal and padded, of one token over a cache, and
with the projections around it; written in ONNX as exporters write it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...compiler.signature import dtype_named
from .cases import Case, Graph, Workload, normal
from .engine import add_arguments, run_group

__all__ = ["add_arguments", "cases", "main"]

FLOAT = 1  # as ONNX numbers types
HIDDEN = np.float32(-1e9)  # what is added to a score that must not count


@dataclass(frozen=True)
class Sizes:
    """`queries` positions look at `keys` positions in `heads` heads of `width`; `mask` is "", "causal" or "padded"."""

    heads: int
    queries: int
    keys: int
    width: int
    mask: str = ""

    @property
    def operations(self) -> int:
        """Of the two products, as the definition counts them: hidden positions as well."""
        return 4 * self.heads * self.queries * self.keys * self.width

    def __str__(self) -> str:
        return f"{self.heads}x{self.queries}x{self.keys}x{self.width}" + f"_{self.mask}" * bool(self.mask)


PREFILL = (
    Sizes(12, 128, 128, 64),
    Sizes(12, 197, 197, 64),  # ViT-B/16
    Sizes(12, 512, 512, 64),
    Sizes(16, 1024, 1024, 64),
    Sizes(8, 1024, 1024, 128),
    Sizes(12, 128, 128, 64, "padded"),
    Sizes(12, 512, 512, 64, "padded"),
    Sizes(12, 128, 128, 64, "causal"),
    Sizes(12, 512, 512, 64, "causal"),
    Sizes(16, 1024, 1024, 64, "causal"),
)
DECODE = (Sizes(12, 1, 64, 64), Sizes(12, 1, 1024, 64), Sizes(32, 1, 2048, 128))
BLOCK = (Sizes(12, 128, 128, 64), Sizes(12, 512, 512, 64), Sizes(12, 64, 64, 64, "causal"))


def main(args: argparse.Namespace) -> int:
    """Measures the group."""
    return run_group("attention", cases(), args)


def cases() -> list[Case]:
    """All of them."""
    prefill = [Case(f"attention_{s}", s.mask or "plain", partial(heads, s), operations=s.operations) for s in PREFILL]
    decode = [Case(f"attention_{s}", "decode", partial(heads, s), "read") for s in DECODE]
    blocks = [
        Case(
            f"block_{s}",
            "block",
            partial(block, s),
            operations=s.operations + 8 * s.queries * (s.heads * s.width) ** 2,
        )
        for s in BLOCK
    ]
    return [*prefill, *decode, *blocks]


def _masked(graph: Graph, sizes: Sizes, score: str) -> str:
    """The scores with a mask: causal ones are constants, padded ones come with the call as input "mask"."""
    if sizes.mask == "causal":
        hidden = np.triu(np.full((sizes.queries, sizes.keys), HIDDEN, np.float32), 1)
        return graph.node("Add", score, graph.constant(hidden))
    return graph.node("Add", score, "mask") if sizes.mask else score


def _mask_input(sizes: Sizes) -> dict[str, Any]:
    """A mask that hides the last quarter of the keys."""
    if sizes.mask != "padded":
        return {}
    mask = np.zeros((1, 1, 1, sizes.keys), np.float32)
    mask[..., sizes.keys * 3 // 4 :] = HIDDEN
    return {"mask": mask}


def _softmax_product(graph: Graph, sizes: Sizes, q: str, k: str, v: str) -> str:
    flipped = graph.node("Transpose", k, perm=[0, 1, 3, 2])
    scale = graph.constant(np.array(sizes.width**-0.5, np.float32))
    score = graph.node("Mul", graph.node("MatMul", q, flipped), scale)
    return graph.node("MatMul", graph.node("Softmax", _masked(graph, sizes, score), axis=-1), v)


def heads(sizes: Sizes, dtype: str = "float32") -> Workload:
    """Attention alone, heads apart; of inputs of another type they are widened, and the result is float32."""
    shapes = ((sizes.heads, n, sizes.width) for n in (sizes.queries, sizes.keys, sizes.keys))
    made = (normal(seed, 1, *shape).astype(dtype_named(dtype)) for seed, shape in enumerate(shapes))
    inputs = dict(zip("qkv", made, strict=True))
    graph = Graph(inputs | _mask_input(sizes))
    wide = inputs if dtype == "float32" else [graph.node("Cast", name, to=FLOAT) for name in inputs]
    output = _softmax_product(graph, sizes, *wide)
    shape = (1, sizes.heads, sizes.queries, sizes.width)
    return graph.workload(output, np.float32, shape, jax=partial(_jax, sizes), torch=partial(_torch, sizes))


def block(sizes: Sizes) -> Workload:
    """Attention of a layer: four projections with biases around it."""
    n, width = sizes.queries, sizes.heads * sizes.width
    graph = Graph({"x": normal(0, 1, n, width)} | _mask_input(sizes))

    def projected(x: str, seed: int) -> str:
        weight = graph.constant(normal(seed, width, width) / np.float32(width**0.5))
        return graph.node("Add", graph.node("MatMul", x, weight), graph.constant(normal(seed + 1, width)))

    def split(x: str) -> str:
        shape = graph.constant(np.array([1, n, sizes.heads, sizes.width], np.int64))
        return graph.node("Transpose", graph.node("Reshape", x, shape), perm=[0, 2, 1, 3])

    q, k, v = (split(projected("x", 10 * place)) for place in (1, 2, 3))
    mixed = graph.node("Transpose", _softmax_product(graph, sizes, q, k, v), perm=[0, 2, 1, 3])
    joined = graph.node("Reshape", mixed, graph.constant(np.array([1, n, width], np.int64)))
    output = projected(joined, 40)
    attend: dict[str, Callable[..., Any]] = {"jax": _jax, "torch": _torch}

    def function(name: str, library: Any, x: Any, *values: Any) -> Any:
        wq, bq, sq, wk, bk, sk, wv, bv, sv, *_, wo, bo = values  # in the order in which the graph was made
        del sq, sk, sv
        parts = ((x @ w + b).reshape(1, n, sizes.heads, sizes.width) for w, b in ((wq, bq), (wk, bk), (wv, bv)))
        q, k, v = (part.swapaxes(1, 2) for part in parts)
        return attend[name](sizes, library, q, k, v).swapaxes(1, 2).reshape(1, n, width) @ wo + bo

    functions = {name: partial(function, name) for name in attend}
    return graph.workload(output, np.float32, (1, n, width), **functions)


def _jax(sizes: Sizes, jax: Any, q: Any, k: Any, v: Any, *mask: Any) -> Any:
    score = jax.numpy.einsum("bhqd,bhkd->bhqk", q, k) * np.float32(sizes.width**-0.5)
    if sizes.mask == "causal":
        score = jax.numpy.where(np.tri(sizes.queries, sizes.keys, dtype=bool), score, HIDDEN)
    elif sizes.mask:
        score = score + mask[0]
    return jax.numpy.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(score, axis=-1), v)


def _torch(sizes: Sizes, torch: Any, q: Any, k: Any, v: Any, *mask: Any) -> Any:
    given = mask[0] if sizes.mask == "padded" else None
    attend = torch.nn.functional.scaled_dot_product_attention
    return attend(q, k, v, attn_mask=given, is_causal=sizes.mask == "causal")
