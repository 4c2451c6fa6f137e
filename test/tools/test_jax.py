"""JAX's functions through StableHLO; needs the extra `jax` (`pytest test/tools/test_jax.py`)."""

import numpy as np
import pytest

import lamina

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax import export, lax  # noqa: E402


def rand(*shape):
    """Seeded values."""
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def attention(q, k, v):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / np.float32(q.shape[-1] ** 0.5)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), v)


def indexing(x, i):
    return x[i].at[0].set(3.0), jnp.sort(x, axis=0), jnp.argmax(x, 1), jnp.cumsum(x, 0), x.at[i].add(1.0)


CASES = {
    "perceptron": (lambda x, w, v: jax.nn.softmax(jax.nn.gelu(x @ w) @ v), rand(3, 4), rand(4, 8), rand(8, 5)),
    "attention": (attention, rand(1, 2, 5, 4), rand(1, 2, 6, 4), rand(1, 2, 6, 4)),
    "convolution": (
        lambda x, w: lax.conv_general_dilated(x, w, (2, 1), "SAME", rhs_dilation=(1, 2)),
        rand(1, 3, 8, 8),
        rand(4, 3, 3, 3),
    ),
    "scan": (lambda x: lax.scan(lambda c, a: (c + a, c * a), jnp.zeros(x.shape[1:]), x), rand(5, 3)),
    "indexing": (indexing, rand(4, 5), np.array([1, 0, 3], np.int32)),
    "gradient": (jax.value_and_grad(lambda w, x: jnp.tanh(x @ w).sum()), rand(4, 2), rand(3, 4)),
    "batched": (jax.vmap(lambda x, y: x @ y, in_axes=(0, None)), rand(2, 3, 4), rand(4, 5)),
    "branches": (
        lambda x: (
            lax.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, x),
            lax.fori_loop(0, 3, lambda i, a: a * 2, x),
        ),
        rand(3),
    ),
    "special": (
        lambda x: (jax.scipy.special.erf(x), jnp.linalg.norm(x), jnp.mod(x, 2.0), x.astype(jnp.bfloat16)),
        rand(6),
    ),
}


@pytest.mark.parametrize("target", ["interpret", pytest.param("cpu", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CASES)
def test_functions(name, target):
    function, *inputs = CASES[name]
    right = jax.jit(function)(*inputs)
    got = lamina.jax(function, target)(*inputs)
    assert jax.tree.structure(got) == jax.tree.structure(right)
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(right), strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        np.testing.assert_allclose(np.float64(one), np.float64(other), 2e-5, 2e-5)


def test_random_numbers_are_those_of_jax():
    def draw(seed):
        return jax.random.normal(jax.random.PRNGKey(seed), (4,))

    np.testing.assert_allclose(lamina.jax(draw, "interpret")(7), draw(7), 1e-5, 1e-5)


def test_pytrees_and_what_is_not_read():
    step = lamina.jax(lambda p, unused, *, scale: {"w": p["w"] * scale}, "interpret")
    np.testing.assert_array_equal(step({"w": rand(3), "b": rand(2)}, 1.0, scale=2.0)["w"], rand(3) * 2)


def test_static_arguments():
    def power(x, n, *, turned=False):
        return (x[::-1] if turned else x) ** n

    x = np.arange(1, 4, dtype=np.float32)
    given = jax.jit(power, static_argnums=(1,), static_argnames=("turned",), donate_argnums=(0,))
    for ours in (lamina.jax(given), lamina.jax(power, static_argnums=1, static_argnames="turned")):
        assert ours(x, 2).tolist() == [1, 4, 9] and ours(x, 3).tolist() == [1, 8, 27]
        assert ours(x, 2, turned=True).tolist() == ours(x, n=2, turned=True).tolist() == [9, 4, 1]
        with pytest.raises(lamina.LaminaError, match="must be hashable"):
            ours(x, [2])
    with pytest.raises(lamina.LaminaError, match="what is static was said"):
        lamina.jax(given, static_argnums=1)


def test_exported_functions_and_their_sizes():
    (b,) = export.symbolic_shape("b")
    function = jax.jit(lambda x, w: jax.nn.softmax(x @ w))
    exported = export.export(function)(
        jax.ShapeDtypeStruct((b, 4), np.float32), jax.ShapeDtypeStruct((4, 3), np.float32)
    )
    model = lamina.compile(exported, "interpret")
    assert str(model.signature) == "(input0: float32[b, 4], input1: float32[4, 3]) -> (output0: float32[b, 3])"
    for n in (2, 5):
        np.testing.assert_allclose(model(rand(n, 4), rand(4, 3))[0], function(rand(n, 4), rand(4, 3)), 1e-5, 1e-5)


def test_lowered_functions():
    model = lamina.compile(jax.jit(lambda x: x * 2).lower(rand(3)), "interpret")
    np.testing.assert_array_equal(model(rand(3))[0], rand(3) * 2)


def test_jitted_functions_wait_for_their_shapes():
    with pytest.raises(lamina.LaminaError, match="no shapes before it is called"):
        lamina.compile(jax.jit(lambda x: x))
