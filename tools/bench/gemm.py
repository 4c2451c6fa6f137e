"""Matrix products: square, skinny, matrix by vector and batched, in float32, bfloat16 and int8.

`const` has the right-hand side fixed, as the weights of a layer are; `dyn` gets both sides with each call.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ...compiler.signature import Array, dtype_named
from .cases import Case, Graph, Workload, normal
from .engine import add_arguments, run_group

__all__ = ["add_arguments", "cases", "main"]

SQUARE = (64, 128, 256, 512, 1024, 2048, 4096)
# m, n, k: layers of transformers at 128 and at 8 tokens, a classifier, thin on each of the three sides, nothing even
SKINNY = (
    (128, 768, 768),
    (128, 3072, 768),
    (128, 768, 3072),
    (8, 4096, 4096),
    (16, 1000, 2048),
    (4096, 64, 64),
    (64, 4096, 64),
    (64, 64, 4096),
    (333, 777, 555),
)
VECTOR = ((1, 4096, 4096), (1, 768, 3072), (1, 50257, 768), (4096, 1, 4096))
# batch, m, n, k: scores and values of attention over 128 and 512 tokens, and of one token over a cache
BATCHED = ((12, 128, 128, 64), (12, 128, 64, 128), (16, 512, 512, 64), (16, 512, 64, 512), (12, 1, 128, 64))
LOW = ((512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048), (128, 3072, 768), (1, 4096, 4096))


def main(args: argparse.Namespace) -> int:
    """Measures the group."""
    return run_group("gemm", cases(), args)


def cases() -> list[Case]:
    """All products."""
    found = [_case("square", (n, n, n), constant=True) for n in SQUARE]
    found += [_case("square", (n, n, n)) for n in (256, 1024, 2048)]
    found += [_case("skinny", sizes, constant=True) for sizes in SKINNY]
    found += [_case("skinny", SKINNY[1])]
    found += [_case("gemv", sizes, constant=True) for sizes in VECTOR]
    found += [_case("gemv", VECTOR[0])]
    found += [_case("batched", sizes) for sizes in BATCHED]
    for dtype in ("bfloat16", "int8"):
        found += [_case(dtype, sizes, constant=True, dtype=dtype) for sizes in LOW]
    return found


def _case(family: str, sizes: Sequence[int], *, constant: bool = False, dtype: str = "float32") -> Case:
    short = {"float32": "mm", "bfloat16": "mm_bf16", "int8": "mm_int8"}[dtype]
    name = f"{short}_{'x'.join(map(str, sizes))}_{'const' if constant else 'dyn'}"
    build = partial(integer_product if dtype == "int8" else product, *_bmnk(sizes), constant=constant)
    if dtype == "bfloat16":
        build = partial(build, dtype=dtype)
    one = min(_bmnk(sizes)[1:3]) == 1
    bound = "read" if one else {"float32": "fma", "bfloat16": "bf16", "int8": "int8"}[dtype]
    limit = {"float32": 1e-3, "bfloat16": 2e-2, "int8": 0.0}[dtype]
    return Case(name, family, build, bound, 2 * prod(sizes), limit=limit)


def _bmnk(sizes: Sequence[int]) -> tuple[int, int, int, int]:
    b, m, n, k = (*(1,) * (4 - len(sizes)), *sizes)
    return b, m, n, k


def product(
    b: int, m: int, n: int, k: int, *, constant: bool, dtype: str = "float32", turned: bool = False
) -> Workload:
    """A MatMul; with a batch when `b` is above 1; of a right side that lies column after column when it is `turned`."""
    batch = (b,) if b > 1 else ()
    shapes = ((m, k), (n, k) if turned else (k, n))
    left, right = (normal(i, *batch, *shape).astype(dtype_named(dtype)) for i, shape in enumerate(shapes))
    graph = Graph({"a": left} if constant else {"a": left, "b": right})
    name = graph.constant(right) if constant else "b"
    axes = [*range(len(batch)), len(batch) + 1, len(batch)]
    output = graph.node("MatMul", "a", graph.node("Transpose", name, perm=axes) if turned else name)
    libraries = ("jax", "torch", "numpy") if dtype == "float32" else ("jax", "torch")
    functions: dict[str, Callable[..., Any]] = dict.fromkeys(
        libraries, (lambda _, x, y: x @ y.swapaxes(-1, -2)) if turned else (lambda _, x, y: x @ y)
    )
    if constant and b == 1 and dtype == "float32" and not turned:
        functions["ncnn"] = lambda weights: _ncnn_layer(weights, n)
    return graph.workload(output, left.dtype, (*batch, m, n), **functions)


def integer_product(b: int, m: int, n: int, k: int, *, constant: bool) -> Workload:
    """A MatMulInteger: unsigned by signed bytes, 32-bit sums.

    The signed side has 7 bits: without VNNI, ONNX Runtime saturates sums of two products of all 8, and is wrong.
    """
    rng = np.random.default_rng(0)
    left = rng.integers(0, 255, (m, k), dtype=np.uint8)
    right = rng.integers(-64, 64, (k, n), dtype=np.int8)
    graph = Graph({"a": left} if constant else {"a": left, "b": right})
    output = graph.node("MatMulInteger", "a", graph.constant(right) if constant else "b")

    def jax(library: Any, x: Any, y: Any) -> Any:
        return library.numpy.matmul(x, y, preferred_element_type=np.int32)

    def numpy(_: Any, x: Array, y: Array) -> Array:  # exact in float64, as the sums are not in float32
        return (x.astype(np.float64) @ y.astype(np.float64)).astype(np.int32)

    return graph.workload(output, np.int32, (m, n), jax=jax, numpy=numpy)


def _ncnn_layer(weights: Sequence[Array], n: int) -> tuple[str, list[Array]]:
    """A fully connected layer: ncnn keeps the weights as n rows."""
    (right,) = weights
    return f"InnerProduct y 1 1 a y 0={n} 1=0 2={right.size}", [np.ascontiguousarray(right.T)]
