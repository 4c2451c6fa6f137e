"""Sums of many elements: reductions, windows, products, convolutions, scans, linear algebra."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from .programs import INTEGERS, Program, family, program, text

NUMBERS = ("float32", "bfloat16", "float16", "float64", "int32", "int8", "uint8", "complex64")


@family
def reductions() -> Iterator[Program]:
    for dtype in NUMBERS:
        for name, function in (("sum", jnp.sum), ("prod", jnp.prod), ("max", jnp.max), ("min", jnp.min)):
            if dtype == "complex64" and name in ("max", "min"):
                continue
            for axes in (None, 0, (1, 2), 2):
                yield program(
                    f"reduce_{name}-{dtype}-{axes}",
                    lambda x, f=function, a=axes: f(x, axis=a),
                    ((3, 4, 5), dtype, -2 if name != "prod" else 0.5, 2),
                )
        if dtype != "complex64":
            yield program(f"reduce_mean-{dtype}", lambda x: jnp.mean(x, 1), ((3, 6), dtype))
            yield program(f"logsumexp-{dtype}", lambda x: jax.nn.logsumexp(x, 1), ((3, 6), dtype))
    for dtype in ("bool", *INTEGERS[:6]):
        for name in ("and", "or", "xor"):
            function = {"and": lax.bitwise_and, "or": lax.bitwise_or, "xor": lax.bitwise_xor}[name]
            start = (
                np.array(-1 if name == "and" and dtype[0] != "u" else 0, jnp.dtype(dtype))
                if dtype != "bool"
                else np.array(name == "and")
            )
            yield program(
                f"reduce_{name}-{dtype}",
                lambda x, f=function, s=start: lax.reduce(x, s, f, (1,)),
                ((4, 5), dtype, 0, 100),
            )
    for dtype in ("float32", "int32", "bfloat16"):
        zero = np.zeros((), jnp.dtype(dtype))
        yield program(
            f"reduce_pairs-{dtype}",
            lambda x, y, z=zero: lax.reduce((x, y), (z, z), lambda a, b: (a[0] + b[0], lax.max(a[1], b[1])), (0,)),
            ((4, 5), dtype),
            ((4, 5), dtype),
        )
        yield program(f"softmax-{dtype}", lambda x: jax.nn.softmax(x.astype(jnp.float32)), ((4, 5), dtype))
        yield program(f"var-{dtype}", lambda x: jnp.var(x, 0), ((4, 5), dtype))


@family
def cumulative() -> Iterator[Program]:
    for dtype in NUMBERS:
        for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
            if (dtype == "complex64" and name in ("cummax", "cummin", "cumlogsumexp")) or (
                name == "cumlogsumexp" and "int" in dtype
            ):
                continue
            for reverse in (False, True):
                yield program(
                    f"{name}-{dtype}-{'back' if reverse else 'forth'}",
                    lambda x, n=name, r=reverse: getattr(lax, n)(x, 1, reverse=r),
                    ((3, 6), dtype, 0.5, 2),
                )
    for dtype in ("float32", "int32"):
        yield program(f"associative_scan-{dtype}", lambda x: lax.associative_scan(jnp.add, x), ((9,), dtype))


@family
def windows() -> Iterator[Program]:
    for dtype in ("float32", "bfloat16", "float16", "int32", "uint8"):
        low = np.array(-np.inf if "float" in dtype else np.iinfo(dtype).min, jnp.dtype(dtype))
        zero = np.zeros((), jnp.dtype(dtype))
        for name, init, function in (("max", low, lax.max), ("add", zero, lax.add)):
            for variant, options in {
                "valid": {"window_strides": (1, 2, 2, 1), "padding": "VALID"},
                "same": {"window_strides": (1, 2, 1, 1), "padding": "SAME"},
                "dilated": {"window_strides": (1, 1, 1, 1), "padding": "VALID", "window_dilation": (1, 2, 2, 1)},
                "base": {"window_strides": (1, 1, 1, 1), "padding": "VALID", "base_dilation": (1, 2, 1, 1)},
                "pads": {"window_strides": (1, 1, 2, 1), "padding": ((0, 0), (1, 0), (0, 2), (0, 0))},
            }.items():
                yield program(
                    f"reduce_window_{name}_{variant}-{dtype}",
                    lambda x, i=init, f=function, o=options: lax.reduce_window(x, i, f, (1, 3, 2, 1), **o),
                    ((2, 7, 6, 2), dtype),
                )
        if "float" in dtype:
            yield program(
                f"max_pool_gradient-{dtype}",
                jax.grad(
                    lambda x, i=low: (
                        lax.reduce_window(x, i, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID").astype(jnp.float32).sum()
                    )
                ),
                ((1, 6, 4, 2), dtype),
            )
            yield program(
                f"max_pool_overlapping_gradient-{dtype}",
                jax.grad(
                    lambda x, i=low: (
                        lax.reduce_window(x, i, lax.max, (1, 3, 3, 1), (1, 2, 1, 1), "SAME").astype(jnp.float32).sum()
                    )
                ),
                ((1, 6, 5, 2), dtype),
            )
            yield program(
                f"avg_pool_gradient-{dtype}",
                jax.grad(
                    lambda x, z=zero: (
                        (lax.reduce_window(x, z, lax.add, (1, 2, 3, 1), (1, 2, 1, 1), "SAME") ** 2)
                        .astype(jnp.float32)
                        .sum()
                    )
                ),
                ((1, 6, 5, 2), dtype),
            )


@family
def products() -> Iterator[Program]:
    forms = {
        "matmul": ((3, 4), (4, 5), (((1,), (0,)), ((), ()))),
        "transposed": ((4, 3), (5, 4), (((0,), (1,)), ((), ()))),
        "batched": ((2, 3, 4), (2, 4, 5), (((2,), (1,)), ((0,), (0,)))),
        "batch_last": ((3, 4, 2), (4, 2, 5), (((1,), (0,)), ((2,), (1,)))),
        "two_contracted": ((3, 4, 2), (2, 4, 5), (((1, 2), (1, 0)), ((), ()))),
        "outer": ((3,), (4,), (((), ()), ((), ()))),
        "inner": ((7,), (7,), (((0,), (0,)), ((), ()))),
        "vector": ((3, 4), (4,), (((1,), (0,)), ((), ()))),
        "two_batches": ((2, 3, 4, 2), (3, 2, 2, 5), (((3,), (2,)), ((0, 1), (1, 0)))),
        "elementwise": ((2, 3), (2, 3), (((), ()), ((0, 1), (0, 1)))),
    }
    for dtype in (*NUMBERS, "bool", "complex128"):
        for name, (left, right, numbers) in forms.items():
            yield program(
                f"dot_{name}-{dtype}",
                lambda x, y, n=numbers: lax.dot_general(x, y, n),
                (left, dtype),
                (right, dtype),
            )
    for dtype, wide in (("bfloat16", "float32"), ("float16", "float32"), ("int8", "int32"), ("uint8", "int32")):
        for name, (left, right, numbers) in forms.items():
            yield program(
                f"dot_{name}-{dtype}-{wide}",
                lambda x, y, n=numbers, w=wide: lax.dot_general(x, y, n, preferred_element_type=jnp.dtype(w)),
                (left, dtype),
                (right, dtype),
            )
    for subscripts, left, right in (
        ("ij,jk->ki", (3, 4), (4, 5)),
        ("bij,bkj->bik", (2, 3, 4), (2, 5, 4)),
        ("bhid,bhjd->bhij", (1, 2, 3, 4), (1, 2, 5, 4)),
        ("i,j->ij", (3,), (4,)),
        ("ii,i->i", (3, 3), (3,)),
    ):
        for dtype in ("float32", "bfloat16", "complex64"):
            yield program(
                f"einsum_{subscripts}-{dtype}",
                lambda x, y, s=subscripts: jnp.einsum(s, x, y),
                (left, dtype),
                (right, dtype),
            )


@family
def convolutions() -> Iterator[Program]:
    variants = {
        "valid": {},
        "same": {"padding": "SAME"},
        "strided": {"window_strides": (2, 1)},
        "dilated": {"rhs_dilation": (2, 1)},
        "transposed": {"lhs_dilation": (2, 2), "padding": ((2, 1), (1, 1))},
        "grouped": {"feature_group_count": 2},
        "batch_grouped": {"batch_group_count": 2},
        "pads": {"padding": ((1, 0), (0, 2))},
    }
    for dtype in ("float32", "bfloat16", "float16", "float64", "complex64", "int32"):
        for layout in (("NCHW", "OIHW", "NCHW"), ("NHWC", "HWIO", "NHWC")):
            for name, given in variants.items():
                if dtype in ("float64", "int32", "complex64") and (layout[0] == "NHWC" or name == "pads"):
                    continue
                options = {"window_strides": (1, 1), "padding": "VALID", **given}
                inner = 2 if name == "grouped" else 4
                sizes = {"N": 2, "C": 4, "H": 6, "W": 5, "O": 6, "I": inner}
                x = tuple(sizes[c] for c in layout[0])
                k = tuple({**sizes, "H": 3, "W": 2}[c] for c in layout[1])
                yield program(
                    f"conv_{name}_{layout[0]}-{dtype}",
                    lambda a, b, o=options, l=layout: lax.conv_general_dilated(a, b, dimension_numbers=l, **o),
                    (x, dtype, -1, 1) if dtype != "int32" else (x, dtype),
                    (k, dtype, -1, 1) if dtype != "int32" else (k, dtype),
                )
    for dtype in ("float32", "bfloat16"):
        for rank in (1, 3):
            yield program(
                f"conv_{rank}d-{dtype}",
                lambda a, b, r=rank: lax.conv(a, b, (1,) * r, "SAME"),
                ((2, 3, *(5, 4, 3)[:rank]), dtype),
                ((4, 3, *(3, 2, 2)[:rank]), dtype),
            )
        yield program(
            f"conv_transpose-{dtype}",
            lambda a, b: lax.conv_transpose(a, b, (2, 2), "SAME"),
            ((1, 3, 4, 2), dtype),
            ((3, 3, 2, 3), dtype),
        )
        yield program(
            f"conv_gradients-{dtype}",
            jax.grad(lambda a, b: (lax.conv(a, b, (2, 1), "SAME") ** 2).astype(jnp.float32).sum(), (0, 1)),
            ((1, 3, 5, 4), dtype, -1, 1),
            ((2, 3, 3, 2), dtype, -1, 1),
        )


@family
def algebra() -> Iterator[Program]:
    for dtype in ("float32", "float64", "complex64", "complex128"):
        for shape in ((1, 1), (4, 4), (2, 5, 5)):
            yield program(
                f"cholesky-{dtype}-{text(shape)}",
                lambda x: lax.linalg.cholesky(
                    x @ jnp.conj(jnp.swapaxes(x, -1, -2)) + 3 * jnp.eye(x.shape[-1], dtype=x.dtype)
                ),
                (shape, dtype, -1, 1),
            )
        for left in (True, False):
            for lower in (True, False):
                for transposed, unit in ((False, False), (True, False), (False, True)):
                    n = 4 if left else 3
                    yield program(
                        f"triangular_solve-{dtype}-{left}-{lower}-{transposed}-{unit}",
                        lambda a, b, l=left, lo=lower, t=transposed, u=unit: lax.linalg.triangular_solve(
                            a + 4 * jnp.eye(a.shape[-1], dtype=a.dtype),
                            b,
                            left_side=l,
                            lower=lo,
                            transpose_a=t,
                            unit_diagonal=u,
                        ),
                        ((2, n, n), dtype, -0.5, 0.5),
                        ((2, 4, 3), dtype, -1, 1),
                    )


@family
def transforms() -> Iterator[Program]:
    for n in (1, 5, 8, 12, 30):
        for name, dtype in (
            ("fft", "complex64"),
            ("ifft", "complex64"),
            ("rfft", "float32"),
            ("irfft", "complex64"),
            ("fft", "complex128"),
            ("rfft", "float64"),
        ):
            if name == "irfft" and n == 1:
                continue
            yield program(f"{name}-{dtype}-{n}", getattr(jnp.fft, name), ((3, n), dtype))
    for name in ("fft2", "ifft2", "fftn"):
        yield program(f"{name}-complex64", getattr(jnp.fft, name), ((2, 4, 6), "complex64"))
    yield program("rfft2-float32", jnp.fft.rfft2, ((2, 4, 6), "float32"))
    yield program("irfft2-complex64", jnp.fft.irfft2, ((2, 4, 5), "complex64"))
    yield program("fftshift-complex64", jnp.fft.fftshift, ((5, 4), "complex64"))
