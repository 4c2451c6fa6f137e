"""What waits for memory: elementwise chains, softmax, norms, reductions along each axis, transposes, gather, concat.

The share is of what a copy of as many bytes reaches, where every input is read and every output written once.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ...compiler.signature import Array
from .cases import Case, Graph, Workload, normal
from .engine import add_arguments, run_group

__all__ = ["add_arguments", "cases", "main"]

Function = Callable[..., Any]

LINE = 64  # bytes that memory moves at once


def main(args: argparse.Namespace) -> int:
    """Measures the group."""
    return run_group("memory", cases(), args)


def cases() -> list[Case]:
    """All of them."""
    families: dict[str, dict[str, tuple[Function, tuple[Any, ...]]]] = {
        "elementwise": {
            "addrelumul_16M": (chain, ((4096, 4096),)),
            "addrelumul_256K": (chain, ((512, 512),)),
            "addrelumul_4K": (chain, ((64, 64),)),
            "bias_1x64x112x112": (bias, ((1, 64, 112, 112),)),
            "gelu_4096x1024": (gelu, ((4096, 1024),)),
            "gelu_128x3072": (gelu, ((128, 3072),)),
            "swish_1x96x112x112": (swish, ((1, 96, 112, 112),)),
            "tanh_4096x1024": (unary, ("Tanh", (4096, 1024), "tanh")),
            "exp_4096x1024": (unary, ("Exp", (4096, 1024), "exp")),
        },
        "softmax": {
            f"softmax_{_x(shape)}": (softmax, (shape,))
            for shape in ((4096, 1024), (12, 128, 128), (1, 50257), (64, 1000))
        },
        "norm": {
            "layernorm_4096x1024": (layer_norm, (4096, 1024)),
            "layernorm_128x768": (layer_norm, (128, 768)),
            "rmsnorm_64x4096": (rms_norm, (64, 4096)),
            "rmsnorm_4096x1024": (rms_norm, (4096, 1024)),
        },
        "planes": {
            "softmax_1x21x256x256_axis1": (softmax, ((1, 21, 256, 256), 1)),
            "softmax_1x16x4x8400_axis1": (softmax, ((1, 16, 4, 8400), 1)),
            "channelnorm_1x96x56x56": (channel_norm, ((1, 96, 56, 56),)),
            "channelnorm_4x192x28x28": (channel_norm, ((4, 192, 28, 28),)),
        },
        "reduce": {
            f"{op}_{_x(shape)}_axis{_x(axes)}": (reduction, (op, shape, axes))
            for op, shape, axes in (
                ("sum", (4096, 4096), (0,)),
                ("sum", (4096, 4096), (1,)),
                ("sum", (4096, 4096), (0, 1)),
                ("max", (64, 256, 512), (0,)),
                ("max", (64, 256, 512), (1,)),
                ("max", (64, 256, 512), (2,)),
                ("mean", (1, 2048, 7, 7), (2, 3)),
                ("mean", (1, 256, 56, 56), (2, 3)),
                ("sum", (333, 777), (0,)),
            )
        },
        "transpose": {
            f"transpose_{_x(shape)}_{_x(order)}": (transpose, (shape, order))
            for shape, order in (
                ((4096, 4096), (1, 0)),
                ((777, 333), (1, 0)),
                ((1, 64, 112, 112), (0, 2, 3, 1)),
                ((1, 112, 112, 64), (0, 3, 1, 2)),
                ((1, 128, 12, 64), (0, 2, 1, 3)),
                ((1, 12, 512, 64), (0, 1, 3, 2)),
                ((64, 128, 256), (2, 0, 1)),
            )
        },
        "move": {
            "gather_rows_50257x768_512": (gather, (50257, 768, 512, 0)),
            "gather_columns_4096x4096_512": (gather, (4096, 4096, 512, 1)),
            "concat_axis1_4x64x56x56": (concat, ((1, 64, 56, 56), 1)),
            "concat_axis2_4x512x256": (concat, ((4, 512, 256), 2)),
            "slice_1x256x56x56": (crop, ((1, 256, 56, 56),)),
            "pad_1x64x112x112": (pad, ((1, 64, 112, 112),)),
        },
    }
    return [
        Case(name, family, partial(build, *arguments), "copy", moved=_moved(build, arguments))
        for family, members in families.items()
        for name, (build, arguments) in members.items()
    ]


def _x(sizes: Sequence[int]) -> str:
    return "x".join(map(str, sizes))


def _moved(build: Function, arguments: tuple[Any, ...]) -> int:
    """Bytes, where not all of the inputs are touched; else 0. Of what is read, whole lines of the cache."""
    if build is gather:
        rows, columns, count, axis = arguments
        if axis == 0:
            return 8 * count * columns
        lines = np.unique(_picked(columns, count) * 4 // LINE).size
        return rows * (LINE * lines + 4 * count)
    if build is crop:
        return 8 * prod(arguments[0]) // 4
    return 0


def _everywhere(function: Function, torch: Function | None = None) -> Mapping[str, Function]:
    """`function(numpy, *arrays)` for NumPy and for JAX's namespace of the same names, and for PyTorch's."""
    return {
        "numpy": function,
        "jax": lambda jax, *arrays: function(jax.numpy, *arrays),
        "torch": torch or function,
    }


def chain(shape: tuple[int, ...]) -> Workload:
    """max(x + y, 0) * z."""
    inputs = {name: normal(seed, *shape) for seed, name in enumerate("xyz")}
    graph = Graph(inputs)
    output = graph.node("Mul", graph.node("Relu", graph.node("Add", "x", "y")), "z")
    functions = _everywhere(
        lambda np, x, y, z: np.maximum(x + y, np.float32(0)) * z, lambda torch, x, y, z: torch.relu(x + y) * z
    )
    return graph.workload(output, np.float32, shape, **functions)


def bias(shape: tuple[int, ...]) -> Workload:
    """A value per channel added, and a ReLU."""
    graph = Graph({"a": normal(0, *shape)})
    output = graph.node("Relu", graph.node("Add", "a", graph.constant(normal(1, shape[1], 1, 1))))
    functions = _everywhere(lambda np, x, b: np.maximum(x + b, np.float32(0)), lambda torch, x, b: torch.relu(x + b))
    return graph.workload(output, np.float32, shape, **functions)


def gelu(shape: tuple[int, ...]) -> Workload:
    """x (1 + erf(x / sqrt 2)) / 2, as exporters write it."""
    graph = Graph({"a": normal(0, *shape)})
    scaled = graph.node("Div", "a", graph.constant(np.array(2**0.5, np.float32)))
    raised = graph.node("Add", graph.node("Erf", scaled), graph.constant(np.array(1, np.float32)))
    output = graph.node("Mul", graph.node("Mul", "a", raised), graph.constant(np.array(0.5, np.float32)))
    return graph.workload(
        output,
        np.float32,
        shape,
        jax=lambda jax, x, *_: jax.nn.gelu(x, approximate=False),
        torch=lambda torch, x, *_: torch.nn.functional.gelu(x),
    )


def swish(shape: tuple[int, ...]) -> Workload:
    """x sigmoid(x)."""
    graph = Graph({"a": normal(0, *shape)})
    output = graph.node("Mul", "a", graph.node("Sigmoid", "a"))
    functions = _everywhere(lambda np, x: x / (1 + np.exp(-x)), lambda torch, x: torch.nn.functional.silu(x))
    return graph.workload(output, np.float32, shape, **functions)


def unary(op: str, shape: tuple[int, ...], name: str) -> Workload:
    """One function of each element."""
    graph = Graph({"a": normal(0, *shape)})
    functions = _everywhere(lambda library, x: getattr(library, name)(x))
    return graph.workload(graph.node(op, "a"), np.float32, shape, **functions)


def softmax(shape: tuple[int, ...], axis: int = -1) -> Workload:
    """Along an axis."""
    graph = Graph({"a": normal(0, *shape)})

    def numpy(np: Any, x: Array) -> Array:
        e = np.exp(x - x.max(axis=axis, keepdims=True))
        return e / e.sum(axis=axis, keepdims=True)

    ncnn: dict[str, Function] = {}
    if axis == -1:
        ncnn["ncnn"] = lambda _: (f"Softmax y 1 1 a y 0={len(shape) - 1} 1=1", [])
    return graph.workload(
        graph.node("Softmax", "a", axis=axis),
        np.float32,
        shape,
        numpy=numpy,
        jax=lambda jax, x: jax.nn.softmax(x, axis=axis),
        torch=lambda torch, x: torch.softmax(x, axis),
        **ncnn,
    )


def layer_norm(rows: int, columns: int) -> Workload:
    """LayerNormalization of the last axis, with scale and bias."""
    graph = Graph({"a": normal(0, rows, columns)})
    scale, shift = normal(1, columns), normal(2, columns)
    output = graph.node("LayerNormalization", "a", graph.constant(scale), graph.constant(shift), axis=-1, epsilon=1e-5)

    def numpy(np: Any, x: Array, scale: Array, shift: Array) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(1e-5)) * scale + shift

    functions = _everywhere(numpy, lambda torch, x, s, b: torch.nn.functional.layer_norm(x, (columns,), s, b, 1e-5))
    weights = (f"LayerNorm y 1 1 a y 0={columns} 1=0.00001 2=1", [scale, shift])
    return graph.workload(output, np.float32, (rows, columns), **functions, ncnn=lambda _: weights)


def channel_norm(shape: tuple[int, ...]) -> Workload:
    """Each place of an image by mean and deviation of its channels, with scale and bias, as ConvNeXt has it."""
    graph = Graph({"a": normal(0, *shape)})
    scale, shift = (graph.constant(normal(seed, shape[1], 1, 1)) for seed in (1, 2))
    centred = graph.node("Sub", "a", graph.node("ReduceMean", "a", axes=[1], keepdims=1))
    square = graph.node("Pow", centred, graph.constant(np.array(2, np.float32)))
    variance = graph.node("ReduceMean", square, axes=[1], keepdims=1)
    root = graph.node("Sqrt", graph.node("Add", variance, graph.constant(np.array(1e-6, np.float32))))
    output = graph.node("Add", graph.node("Mul", graph.node("Div", centred, root), scale), shift)

    def of(sqrt: Function, mean: Function, x: Any, scale: Any, shift: Any) -> Any:
        centred = x - mean(x)
        return centred / sqrt(mean(centred * centred) + 1e-6) * scale + shift

    def numpy(np: Any, x: Array, scale: Array, shift: Array, *_: Array) -> Array:
        return of(np.sqrt, lambda x: x.mean(axis=1, keepdims=True), x, scale, shift)

    def torch(torch: Any, x: Any, scale: Any, shift: Any, *_: Any) -> Any:
        return of(torch.sqrt, lambda x: x.mean(1, keepdim=True), x, scale, shift)

    return graph.workload(output, np.float32, shape, **_everywhere(numpy, torch))


def rms_norm(rows: int, columns: int) -> Workload:
    """x / sqrt(mean(x^2) + e) * scale, as Llama's exporters write it."""
    graph = Graph({"a": normal(0, rows, columns)})
    scale = graph.constant(normal(1, columns))
    squares = graph.node("Pow", "a", graph.constant(np.array(2, np.float32)))
    mean = graph.node("ReduceMean", squares, axes=[-1], keepdims=1)
    root = graph.node("Sqrt", graph.node("Add", mean, graph.constant(np.array(1e-6, np.float32))))
    output = graph.node("Mul", graph.node("Div", "a", root), scale)

    def numpy(np: Any, x: Array, scale: Array, *_: Array) -> Array:
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float32(1e-6)) * scale

    functions = _everywhere(numpy, lambda torch, x, s, *_: torch.nn.functional.rms_norm(x, (columns,), s, 1e-6))
    return graph.workload(output, np.float32, (rows, columns), **functions)


def reduction(op: str, shape: tuple[int, ...], axes: tuple[int, ...]) -> Workload:
    """Sum, mean or maximum along some axes."""
    graph = Graph({"a": normal(0, *shape)})
    if op == "sum":
        output = graph.node("ReduceSum", "a", graph.constant(np.array(axes, np.int64)), keepdims=0)
    else:
        output = graph.node(f"Reduce{op.title()}", "a", axes=list(axes), keepdims=0)
    torch_name = {"max": "amax"}.get(op, op)
    functions = _everywhere(
        lambda np, x, *_: getattr(np, op)(x, axis=axes), lambda torch, x, *_: getattr(torch, torch_name)(x, axes)
    )
    kept = tuple(size for axis, size in enumerate(shape) if axis not in axes)
    return graph.workload(output, np.float32, kept, **functions)


def transpose(shape: tuple[int, ...], order: tuple[int, ...]) -> Workload:
    """The axes in another order, in memory as well."""
    graph = Graph({"a": normal(0, *shape)})
    functions: dict[str, Function] = {
        "numpy": lambda np, x: np.ascontiguousarray(x.transpose(order)),
        "jax": lambda _, x: x.transpose(order),
        "torch": lambda torch, x: x.permute(order).contiguous(),
    }
    return graph.workload(
        graph.node("Transpose", "a", perm=list(order)), np.float32, [shape[axis] for axis in order], **functions
    )


def _picked(size: int, count: int) -> Array:
    """So many indices at random."""
    return np.random.default_rng(1).integers(0, size, count)


def gather(rows: int, columns: int, count: int, axis: int) -> Workload:
    """Random rows or columns of a table."""
    picked = _picked((rows, columns)[axis], count)
    graph = Graph({"indices": picked})
    output = graph.node("Gather", graph.constant(normal(0, rows, columns)), "indices", axis=axis)
    functions = _everywhere(
        lambda np, i, table: np.take(table, i, axis=axis), lambda torch, i, table: torch.index_select(table, axis, i)
    )
    return graph.workload(output, np.float32, (count, columns) if axis == 0 else (rows, count), **functions)


def concat(shape: tuple[int, ...], axis: int) -> Workload:
    """Four arrays behind one another."""
    graph = Graph({name: normal(seed, *shape) for seed, name in enumerate("abcd")})
    functions = _everywhere(lambda library, *arrays: library.concatenate(arrays, axis))
    return graph.workload(
        graph.node("Concat", *"abcd", axis=axis),
        np.float32,
        [size * 4 if place == axis else size for place, size in enumerate(shape)],
        **functions,
    )


def crop(shape: tuple[int, ...]) -> Workload:
    """The middle half of the last two axes."""
    graph = Graph({"a": normal(0, *shape)})
    starts, ends = ([size * part // 4 for size in shape[-2:]] for part in (1, 3))
    bounds = [graph.constant(np.array(each, np.int64)) for each in (starts, ends, [2, 3])]
    window = (..., *(slice(a, b) for a, b in zip(starts, ends, strict=True)))
    functions: dict[str, Function] = {
        "numpy": lambda np, x, *_: np.ascontiguousarray(x[window]),
        "jax": lambda _, x, *__: x[window],
        "torch": lambda _, x, *__: x[window].contiguous(),
    }
    dims = (*shape[:-2], *(b - a for a, b in zip(starts, ends, strict=True)))
    return graph.workload(graph.node("Slice", "a", *bounds), np.float32, dims, **functions)


def pad(shape: tuple[int, ...]) -> Workload:
    """A frame of one zero around images."""
    graph = Graph({"a": normal(0, *shape)})
    output = graph.node("Pad", "a", graph.constant(np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64)))
    widths = ((0, 0), (0, 0), (1, 1), (1, 1))
    functions = _everywhere(
        lambda np, x, *_: np.pad(x, widths), lambda torch, x, *_: torch.nn.functional.pad(x, (1, 1, 1, 1))
    )
    return graph.workload(output, np.float32, (*shape[:-2], shape[-2] + 2, shape[-1] + 2), **functions)
