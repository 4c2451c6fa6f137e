"""Operators that move elements: reshapes, slices, gathers, scatters, sorts."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from .programs import Program, family, program

SOME = ("float32", "bfloat16", "float16", "int32", "uint8", "bool", "complex64")
FEW = ("float32", "bfloat16", "int32", "complex64")
KINDS = {"float32": "f", "bfloat16": "f", "float16": "f", "int32": "i", "uint8": "i", "bool": "b", "complex64": "c"}


@family
def movement() -> Iterator[Program]:
    for dtype in SOME:
        one = np.ones((), jnp.dtype(dtype))
        for name, shape, function in (
            ("reshape", (2, 6), lambda x: lax.reshape(x, (3, 4))),
            ("reshape_order", (2, 6), lambda x: lax.reshape(x, (3, 4), dimensions=(1, 0))),
            ("collapse", (2, 3, 4), lambda x: lax.collapse(x, 1)),
            ("transpose", (2, 3, 4), lambda x: lax.transpose(x, (2, 0, 1))),
            ("broadcast", (3, 2), lambda x: lax.broadcast(x, (4, 1))),
            ("broadcast_in_dim", (3, 1), lambda x: lax.broadcast_in_dim(x, (2, 3, 5), (1, 2))),
            ("squeeze", (3, 1, 2), lambda x: lax.squeeze(x, (1,))),
            ("expand_dims", (3, 2), lambda x: lax.expand_dims(x, (0, 2))),
            ("rev", (3, 4), lambda x: lax.rev(x, (1,))),
            ("rev_all", (3, 4), lambda x: lax.rev(x, (0, 1))),
            ("slice", (5, 7), lambda x: lax.slice(x, (1, 2), (4, 7), (1, 2))),
            ("pad", (3, 4), lambda x, c=one: lax.pad(x, c, ((1, 2, 0), (0, 1, 0)))),
            ("pad_interior", (3, 4), lambda x, c=one: lax.pad(x, c, ((1, 0, 2), (0, 1, 1)))),
            ("pad_negative", (5, 4), lambda x, c=one: lax.pad(x, c, ((-1, 2, 0), (1, -2, 0)))),
            ("concatenate", (2, 3), lambda x: lax.concatenate([x, x, x[:, :1]], 1)),
            ("dynamic_slice", (5, 6), lambda x: lax.dynamic_slice(x, (2, 9), (3, 2))),
            ("dynamic_update", (5, 6), lambda x: lax.dynamic_update_slice(x, x[:2, :3], (4, -1))),
            ("dynamic_index", (5, 6), lambda x: lax.dynamic_index_in_dim(x, 3, 0, keepdims=False)),
            ("split", (6, 2), lambda x: lax.split(x, (1, 2, 3))),
            ("tile", (2, 3), lambda x: jnp.tile(x, (2, 2))),
            ("roll", (5, 3), lambda x: jnp.roll(x, 2, 0)),
            ("diag", (5,), jnp.diag),
            ("tril", (5, 5), jnp.tril),
            ("eye_where", (4, 4), lambda x: jnp.where(jnp.eye(4, dtype=bool), x, jnp.zeros_like(x))),
            ("repeat", (3, 2), lambda x: jnp.repeat(x, 3, axis=1)),
        ):
            yield program(f"{name}-{dtype}", function, (shape, dtype))
    for dtype in ("float32", "bfloat16", "int32", "uint8", "int8", "complex64"):
        for shape, axis in (((7,), 0), ((3, 5), 1), ((4, 2, 3), 0)):
            yield program(
                f"iota-{dtype}-{axis}-{len(shape)}",
                lambda x, d=dtype, s=shape, a=axis: x + lax.broadcasted_iota(jnp.dtype(d), s, a),
                (shape, dtype),
            )


@family
def dynamic() -> Iterator[Program]:
    for dtype in FEW:
        yield program(
            f"dynamic_slice_args-{dtype}",
            lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 3)),
            ((5, 6), dtype),
            ((), "int32", -2, 7),
            ((), "int32", -2, 7),
        )
        yield program(
            f"dynamic_update_args-{dtype}",
            lambda x, y, i, j: lax.dynamic_update_slice(x, y, (i, j)),
            ((5, 6), dtype),
            ((2, 3), dtype),
            ((), "int32", -2, 7),
            ((), "int32", -2, 7),
        )
        yield program(
            f"dynamic_slice_uint8-{dtype}",
            lambda x, i: lax.dynamic_slice_in_dim(x, i, 4, 1),
            ((3, 200), dtype),
            ((), "uint8", 150, 250),
        )


@family
def gathers() -> Iterator[Program]:
    modes = {"clip": "clip", "fill": "fill", "promise": "promise_in_bounds"}
    for dtype in SOME:
        for name, mode in modes.items():
            high = 4 if name == "promise" else 6
            low = 0 if name == "promise" else -6
            for form, function in (
                ("rows", lambda x, i, m=mode: x.at[i].get(mode=m)),
                ("columns", lambda x, i, m=mode: x.at[:, i].get(mode=m)),
                ("pairs", lambda x, i, m=mode: x.at[i, i[::-1]].get(mode=m)),
            ):
                yield program(f"gather_{form}_{name}-{dtype}", function, ((5, 6, 2), dtype), ((4,), "int32", low, high))
        yield program(
            f"take_along-{dtype}", lambda x, i: jnp.take_along_axis(x, i, 1), ((3, 5), dtype), ((3, 2), "int32", 0, 4)
        )
        yield program(
            f"gather_window-{dtype}",
            lambda x, i: lax.gather(
                x,
                i,
                lax.GatherDimensionNumbers(offset_dims=(1, 2), collapsed_slice_dims=(), start_index_map=(0, 1)),
                slice_sizes=(2, 3),
                mode="clip",
            ),
            ((5, 6), dtype),
            ((4, 2), "int32", -1, 6),
        )
        yield program(
            f"gather_batched-{dtype}",
            jax.vmap(lambda x, i: x[i]),
            ((3, 5, 2), dtype),
            ((3, 4), "int32", 0, 4),
        )


@family
def scatters() -> Iterator[Program]:
    updates = {
        "set": lambda at, y: at.set(y),
        "add": lambda at, y: at.add(y),
        "multiply": lambda at, y: at.multiply(y),
        "min": lambda at, y: at.min(y),
        "max": lambda at, y: at.max(y),
    }
    for dtype in SOME:
        for name, update in updates.items():
            if (dtype == "complex64" and name in ("min", "max")) or (dtype == "bool" and name not in ("set", "min")):
                continue
            # set with repeated places has no defined order in JAX: places differ
            places = np.array([3, 0, 9, 1], np.int32) if name == "set" else np.array([3, 0, 3, 7], np.int32)
            yield program(
                f"scatter_{name}-{dtype}",
                lambda x, i, y, u=update: u(x.at[i], y),
                ((5, 3), dtype),
                places,
                ((4, 3), dtype),
            )
            yield program(
                f"scatter_columns_{name}-{dtype}",
                lambda x, i, y, u=update: u(x.at[:, i], y),
                ((3, 5), dtype),
                places,
                ((3, 4), dtype),
            )
        yield program(
            f"scatter_batched-{dtype}",
            jax.vmap(lambda x, i, y: x.at[i].set(y)),
            ((3, 5), dtype),
            np.array([[0, 2], [1, 4], [3, 0]], np.int32),
            ((3, 2), dtype),
        )
        yield program(f"scatter_slice-{dtype}", lambda x, y: x.at[1:4, ::2].set(y), ((5, 6), dtype), ((3, 3), dtype))
    for dtype in ("float32", "int32"):
        yield program(
            f"segment_sum-{dtype}",
            lambda x, i: jax.ops.segment_sum(x, i, 4),
            ((7, 2), dtype),
            ((7,), "int32", 0, 3),
        )
        yield program(f"bincount-{dtype}", lambda x: jnp.bincount(x.astype(jnp.int32), length=5), ((9,), dtype, 0, 4))
        yield program(f"scatter_apply-{dtype}", lambda x: x.at[jnp.array([1, 3])].apply(lambda v: v * v), ((5,), dtype))


@family
def orders() -> Iterator[Program]:
    for dtype in ("float32", "bfloat16", "float16", "float64", "int32", "uint8", "int8", "uint32", "bool", "complex64"):
        for shape, axis in (((9,), 0), ((4, 7), 1), ((6, 3), 0)):
            yield program(f"sort-{dtype}-{len(shape)}-{axis}", lambda x, a=axis: lax.sort(x, a), (shape, dtype, -9, 9))
        yield program(f"argsort-{dtype}", lambda x: jnp.argsort(x, axis=-1), ((3, 8), dtype, -2, 2))
        if dtype != "complex64":
            yield program(f"argmax-{dtype}", lambda x: lax.argmax(x, 1, np.int32), ((4, 9), dtype, -2, 2))
            yield program(f"argmin-{dtype}", lambda x: lax.argmin(x, 0, np.int32), ((4, 9), dtype, -2, 2))
        if dtype not in ("bool", "complex64"):
            for k in (1, 3):
                yield program(f"top_k-{dtype}-{k}", lambda x, k=k: lax.top_k(x, k), ((3, 7), dtype, -9, 9))
    for dtype in ("float32", "int32"):
        yield program(
            f"sort_pairs-{dtype}",
            lambda k, v: lax.sort([k, v], num_keys=1),
            ((3, 7), dtype, -2, 2),
            ((3, 7), "float32"),
        )
        yield program(
            f"sort_two_keys-{dtype}",
            lambda k, v: lax.sort([k, v], num_keys=2),
            ((3, 7), dtype, -2, 2),
            ((3, 7), "float32"),
        )
        yield program(f"median-{dtype}", jnp.median, ((9,), dtype))
        yield program(f"unique-{dtype}", lambda x: jnp.unique(x, size=5), ((9,), dtype, -2, 2))
        yield program(
            f"searchsorted-{dtype}", lambda x, v: jnp.searchsorted(jnp.sort(x), v), ((9,), dtype), ((4,), dtype)
        )
