"""Control flow, random numbers, gradients, and small models."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from .programs import Program, family, program

FEW = ("float32", "bfloat16", "float16", "int32", "complex64")


@family
def control() -> Iterator[Program]:
    for dtype in FEW:
        for name, function in (
            ("while", lambda x: lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] + x), (0, x))),
            ("fori", lambda x: lax.fori_loop(0, 4, lambda k, s: s * x[k] + k, x)),
            ("scan", lambda x: lax.scan(lambda c, v: (c + v, c * v), jnp.zeros_like(x[0]), x)),
            ("scan_back", lambda x: lax.scan(lambda c, v: (c + v, c), x[0], x, reverse=True)),
            ("scan_unrolled", lambda x: lax.scan(lambda c, v: (c + v, v), x[0], x, unroll=2)),
            ("map", lambda x: lax.map(lambda v: v * v + 1, x)),
            ("vmap", jax.vmap(lambda v: v.sum() + v)),
            ("nested", lambda x: lax.fori_loop(0, 2, lambda k, s: lax.fori_loop(0, 3, lambda j, t: t + x, s), x)),
            ("jit", lambda x: jax.jit(lambda v: v + v)(x) * jax.jit(lambda v: v - 1)(x)),
            ("checkpoint", jax.checkpoint(lambda x: x * x + x)),
        ):
            yield program(f"{name}-{dtype}", function, ((5, 3), dtype, -1, 1))
        for i in (-1, 0, 1, 2, 5):
            yield program(
                f"switch_{i}-{dtype}",
                lambda k, x: lax.switch(k, [lambda v: v + 1, lambda v: v * 2, lambda v: -v], x),
                np.array(i, np.int32),
                ((4,), dtype),
            )
        for chosen in (True, False):
            yield program(
                f"cond_{chosen}-{dtype}",
                lambda p, x: lax.cond(p, lambda v: (v + 1, v), lambda v: (v * v, -v), x),
                np.array(chosen),
                ((4,), dtype),
            )


@family
def random() -> Iterator[Program]:
    key = np.array([7, 42], np.uint32)
    for algorithm, words in (("RNG_THREE_FRY", 4), ("RNG_PHILOX", 4), ("RNG_DEFAULT", 4)):
        for dtype in ("uint32", "uint8", "uint16", "uint64"):
            for shape in ((5,), (2, 3), (4, 4)):
                if algorithm == "RNG_DEFAULT":
                    continue  # JAX's own choice, which is no promise
                name = f"rng_bits_{algorithm[4:].lower()}-{dtype}-{len(shape)}-{shape[0]}"
                yield program(
                    name,
                    lambda k, s=shape, d=dtype, a=algorithm: lax.rng_bit_generator(
                        k, s, jnp.dtype(d), algorithm=getattr(lax.RandomAlgorithm, a)
                    ),
                    np.arange(3, 3 + words, dtype=np.uint32),
                )
    for name, draw in (
        ("uniform", lambda k: jax.random.uniform(k, (3, 4))),
        ("normal", lambda k: jax.random.normal(k, (3, 4))),
        ("bits", lambda k: jax.random.bits(k, (5,))),
        ("randint", lambda k: jax.random.randint(k, (6,), 0, 10)),
        ("bernoulli", lambda k: jax.random.bernoulli(k, 0.3, (9,))),
        ("permutation", lambda k: jax.random.permutation(k, 7)),
        ("choice", lambda k: jax.random.choice(k, 9, (4,))),
        ("gumbel", lambda k: jax.random.gumbel(k, (5,))),
        ("categorical", lambda k: jax.random.categorical(k, jnp.arange(4.0), shape=(5,))),
        ("exponential", lambda k: jax.random.exponential(k, (5,))),
        ("laplace", lambda k: jax.random.laplace(k, (5,))),
        ("truncated", lambda k: jax.random.truncated_normal(k, -1, 1, (5,))),
        ("half", lambda k: jax.random.normal(k, (5,), jnp.bfloat16)),
        ("gamma", lambda k: jax.random.gamma(k, 2.0, (3,))),
        ("split", lambda k: jax.random.split(k, 3)),
        ("fold_in", lambda k: jax.random.fold_in(k, 5)),
    ):
        yield program(f"random_{name}", draw, key)


@family
def gradients() -> Iterator[Program]:
    for dtype in ("float32", "bfloat16", "float16"):
        for name, function in (
            ("tanh", jnp.tanh),
            ("sigmoid", jax.nn.sigmoid),
            ("gelu", jax.nn.gelu),
            ("softmax", jax.nn.softmax),
            ("layer_norm", lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-3)),
            ("sort", lambda x: jnp.sort(x, -1) * jnp.arange(x.shape[-1], dtype=x.dtype)),
            ("cumsum", lambda x: jnp.cumsum(x, 0) ** 2),
            ("max", lambda x: jnp.max(x, 0)),
            ("gather", lambda x: x[jnp.array([0, 2, 2])] ** 2),
            ("where", lambda x: jnp.where(x > 0, x * x, -x)),
            ("prod", lambda x: jnp.prod(x, 1)),
            ("matmul", lambda x: x @ x.T),
            ("scan", lambda x: lax.scan(lambda c, v: (jnp.tanh(c + v), c), x[0], x)[1]),
        ):
            yield program(
                f"gradient_{name}-{dtype}",
                jax.grad(lambda x, f=function: f(x).astype(jnp.float32).sum()),
                ((4, 5), dtype, -1.5, 1.5),
            )
            yield program(
                f"tangent_{name}-{dtype}",
                lambda x, f=function: jax.jvp(f, (x,), (jnp.ones_like(x),)),
                ((4, 5), dtype, -1.5, 1.5),
            )


@family
def models() -> Iterator[Program]:
    def attention(q, k, v):
        return jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]).astype(q.dtype)) @ v

    def mlp(x, w, u):
        return jax.nn.relu(x @ w) @ u

    def recurrent(x, w):
        return lax.scan(lambda h, v: (jnp.tanh(h @ w + v),) * 2, jnp.zeros_like(x[0]), x)[1]

    for dtype in ("float32", "bfloat16", "float16", "float64"):
        yield program(f"attention-{dtype}", attention, *[((2, 3, 5, 4), dtype)] * 3)
        yield program(f"mlp-{dtype}", mlp, ((5, 4), dtype), ((4, 8), dtype), ((8, 3), dtype))
        yield program(f"recurrent-{dtype}", recurrent, ((6, 2, 4), dtype), ((4, 4), dtype, -0.5, 0.5))
        yield program(
            f"mlp_gradient-{dtype}",
            jax.grad(lambda *a: mlp(*a).astype(jnp.float32).sum(), (1, 2)),
            ((5, 4), dtype),
            ((4, 8), dtype),
            ((8, 3), dtype),
        )
        yield program(
            f"one_hot-{dtype}", lambda i, d=dtype: jax.nn.one_hot(i, 5, dtype=jnp.dtype(d)), ((6,), "int32", 0, 4)
        )
    for name, solve in (
        ("solve", lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True)),
        ("cho_solve", lambda a, b: jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(a @ a.T), True), b)),
    ):
        yield program(
            name, lambda a, b, s=solve: s(a + 4 * jnp.eye(4), b), ((4, 4), "float32", -0.5, 0.5), ((4, 2), "float32")
        )
    yield program(
        "logdet", lambda a: 2 * jnp.log(jnp.diag(jnp.linalg.cholesky(a @ a.T + jnp.eye(4)))).sum(), ((4, 4), "float32")
    )
    yield program("interp", jnp.interp, ((5,), "float32"), np.arange(-4, 4, dtype=np.float32), ((8,), "float32"))
    yield program("convolve", jnp.convolve, ((9,), "float32"), ((4,), "float32"))
    yield program("histogram", lambda x: jnp.histogram(x, 5, (-3, 3))[0], ((20,), "float32"))
    yield program("polyval", jnp.polyval, ((4,), "float32"), ((6,), "float32"))
    yield program("cross", jnp.cross, ((4, 3), "float32"), ((4, 3), "float32"))
    yield program("kron", jnp.kron, ((2, 3), "float32"), ((3, 2), "float32"))
