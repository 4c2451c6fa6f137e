"""The twenty examples of the language equal NumPy, on fresh inputs of odd shapes.

Each case draws its inputs and says what NumPy makes of them, by another way than the example's where there is one.
"""

import itertools
import math
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import lamina.dialects.dsl
from lamina import dsl
from lamina.dialects.dsl.language.formatting import format_text

SAMPLES = Path(__file__).parents[2] / "samples" / "dsl"
LONGEST = 25


class Case(NamedTuple):
    """A call of an example's function and what it must give."""

    function: str
    arguments: tuple[Any, ...]
    expected: Any
    options: dict[str, Any] = {}
    within: float = 1e-5


CASES: list[Callable[[np.random.Generator], Case]] = []


def case(draw: Callable[[np.random.Generator], Case]) -> Callable[[np.random.Generator], Case]:
    CASES.append(draw)
    return draw


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def heads_attend(q: np.ndarray, k: np.ndarray, v: np.ndarray, heads: int) -> np.ndarray:
    """Causal attention head by head, the heads being slices of the last axis."""
    y = np.empty_like(v)
    for part in np.split(np.arange(q.shape[-1]), heads):
        score = q[..., part] @ np.swapaxes(k[..., part], -1, -2) / math.sqrt(len(part))
        score[..., np.triu(np.ones(score.shape[-2:], bool), 1)] = -np.inf
        y[..., part] = softmax(score) @ v[..., part]
    return y


@case
def attention(rng):
    x, *w = normal(rng, 3, 7, 12), *(normal(rng, 12, 12) / 3 for _ in range(4))
    expected = heads_attend(x @ w[0], x @ w[1], x @ w[2], 3) @ w[3]
    return Case("multi_head", (x, *w), expected, {"heads": 3}, 1e-4)


@case
def conv2d(rng):
    stride, padding, dilation, groups = (int(rng.integers(1, 4)) for _ in range(4))
    x, w = normal(rng, 2, 2 * groups, 13, 11), normal(rng, 3 * groups, 2, 3, 2)
    bias = normal(rng, 3 * groups)
    space = np.pad(x, [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    reach = (w.shape[2] - 1) * dilation + 1, (w.shape[3] - 1) * dilation + 1
    windows = np.lib.stride_tricks.sliding_window_view(space, reach, (2, 3))
    windows = windows[:, :, ::stride, ::stride, ::dilation, ::dilation]
    parts = zip(np.split(windows, groups, 1), np.split(w, groups, 0), strict=True)
    expected = np.concatenate([np.einsum("ncpqrs,ocrs->nopq", a, b) for a, b in parts], 1) + bias[:, None, None]
    options = dict(stride=stride, padding=padding, dilation=dilation, groups=groups)
    return Case("conv2d", (x, w, bias), expected, options)


@case
def lstm(rng):
    steps, batch, inputs, hidden = 5, 3, 7, 4
    x, h, c = normal(rng, steps, batch, inputs), normal(rng, batch, hidden), normal(rng, batch, hidden)
    w, u, b = normal(rng, inputs, 4 * hidden), normal(rng, hidden, 4 * hidden), normal(rng, 4 * hidden)
    arguments, states = (x, h, c, w, u, b), []
    for now in x:
        i, f, g, o = np.split(now @ w + h @ u + b, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return Case("lstm", arguments, (np.stack(states), c))


@case
def kmeans(rng):
    x = (normal(rng, 37, 3) + 6 * rng.integers(0, 3, (37, 1))).astype(np.float32)
    start = x[:4].copy()
    centres = start.copy()
    for turn in range(6):
        mine = np.linalg.norm(x[:, None] - centres, axis=2).argmin(1)
        if turn < 5:
            for k in range(4):
                if (mine == k).any():
                    centres[k] = x[mine == k].mean(0)
    return Case("kmeans", (x, start), (centres, mine), {"turns": 5})


@case
def life(rng):
    start = rng.random((13, 9)) < 0.4
    alive = start
    for _ in range(7):
        around = sum(np.roll(alive, by, (0, 1)).astype(int) for by in itertools.product((-1, 0, 1), repeat=2)) - alive
        alive = (around == 3) | alive & (around == 2)
    return Case("life", (start, 7), alive)


@case
def jacobi(rng):
    a, b = normal(rng, 17, 17) + 40 * np.eye(17, dtype=np.float32), normal(rng, 17)
    return Case("jacobi", (a, b), (np.linalg.solve(a, b), ...))


@case
def mandelbrot(rng):
    turns, (h, w) = 12, (7, 11)
    left, bottom = rng.uniform(-2, 0, 2).astype(np.float32)
    grid = left + np.linspace(0, 2, w) + 1j * (bottom + np.linspace(0, 2, h)[:, None])
    count = np.zeros((h, w), np.int32)
    for at, c in np.ndenumerate(grid):
        z = c
        while count[at] < turns and abs(z) <= 2:
            z, count[at] = z * z + c, count[at] + 1
    bounds = (left, left + np.float32(2), bottom, bottom + np.float32(2))
    return Case("mandelbrot", bounds, count, {"turns": turns, "H": h, "W": w})


@case
def prefix_sum(rng):
    x = normal(rng, 19)
    function = rng.choice(["one_by_one", "doubling", "masked"])
    return Case(function, (x,), np.cumsum(x))


@case
def histogram(rng):
    x = normal(rng, 101)
    return Case("histogram", (x, -1.5, 1.5), np.histogram(x, 7, (-1.5, 1.5))[0], {"bins": 7})


@case
def equalise(rng):
    x = rng.uniform(0, 1, 53).astype(np.float32)
    share = [np.count_nonzero(np.floor(x * 9) < math.floor(each * 9)) / 53 for each in x]
    return Case("histogram::equalise", (x, 0.0, 1.0), np.array(share), {"bins": 9})


@case
def quantized_matmul(rng):
    a, b = rng.integers(-128, 128, (5, 33), np.int8), rng.integers(-128, 128, (33, 7), np.int8)
    b_scale, bias = rng.uniform(0.001, 0.01, 7).astype(np.float32), rng.integers(-999, 999, 7, np.int32)
    total = (a.astype(int) - 3) @ b.astype(int) + bias
    scale = np.float32(0.02) * b_scale / np.float32(0.5)
    expected = np.clip(np.round(total.astype(np.float32) * scale) - 5, -128, 127).astype(np.int8)
    return Case("matmul", (a, 0.02, 3, b, b_scale, bias, 0.5, -5), expected)


@case
def fft(rng):
    x = normal(rng, 2, 32)
    expected = np.fft.fft(x[0] + 1j * x[1])
    return Case("fft", (x[0], x[1]), (expected.real, expected.imag), within=1e-4)


@case
def gpt_block(rng):
    channels, wide = 6, 10
    x = normal(rng, 2, 5, channels)
    shapes = [(6,), (6,), (6, 18), (18,), (6, 6), (6,), (6,), (6,), (6, wide), (wide,), (wide, 6), (6,)]
    s1, t1, wa, ba, wp, bp, s2, t2, w1, b1, w2, b2 = weights = [normal(rng, *shape) for shape in shapes]

    def norm(x, scale, shift):
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * scale + shift

    y = x + heads_attend(*np.split(norm(x, s1, t1) @ wa + ba, 3, -1), 2) @ wp + bp
    z = norm(y, s2, t2) @ w1 + b1
    gelu = z / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))
    return Case("block", (x, *weights), y + gelu @ w2 + b2, {"heads": 2}, 1e-4)


@case
def edges(rng):
    x = rng.uniform(0, 1, (9, 13)).astype(np.float32)

    def window(image, kernel):
        around = np.lib.stride_tricks.sliding_window_view(np.pad(image, 1, "edge"), (3, 3))
        return np.einsum("ijrs,rs->ij", around, kernel)

    blur, slope = np.array([1, 2, 1]) / 4, np.array([-1, 0, 1])
    smooth = window(x.astype(np.float64), np.outer(blur, blur))
    steep = np.hypot(window(smooth, np.outer(slope, blur)), window(smooth, np.outer(blur, slope)))
    ranked = np.sort(steep, None)
    threshold = float(ranked[50] + ranked[51]) / 2
    return Case("edges", (x,), steep > threshold, {"threshold": threshold})


@case
def viterbi(rng):
    first, step, seen = normal(rng, 3), normal(rng, 3, 3), normal(rng, 5, 3)

    def score(path):
        moves = sum(step[a, b] for a, b in itertools.pairwise(path))
        return first[path[0]] + moves + sum(seen[t, s] for t, s in enumerate(path))

    best = max(itertools.product(range(3), repeat=5), key=score)
    return Case("viterbi", (first, step, seen), (np.array(best), score(best)))


@case
def pagerank(rng):
    pages, links = 11, 31
    source, target = rng.integers(0, pages - 1, links), rng.integers(0, pages, links)
    matrix = np.zeros((pages, pages))
    np.add.at(matrix, (target, source), 1)
    count = matrix.sum(0)
    matrix = np.where(count > 0, matrix / np.maximum(count, 1), 1 / pages)
    fixed = np.linalg.solve(np.eye(pages) - 0.85 * matrix, np.full(pages, 0.15 / pages))
    return Case("pagerank", (source, target), fixed, {"pages": pages})


@case
def nbody(rng):
    x, mass, dt = normal(rng, 5, 3), rng.uniform(0.5, 2, 5).astype(np.float32), 0.01
    v = normal(rng, 5, 3)
    arguments = (x, v, mass, 9)

    def pull(x):
        total = np.zeros_like(x)
        for i, j in itertools.permutations(range(5), 2):
            away = x[j] - x[i]
            total[i] += mass[j] * away / (away @ away + 0.05**2) ** 1.5
        return total

    for _ in range(9):  # velocity Verlet
        half = v + dt / 2 * pull(x)
        x = x + dt * half
        v = half + dt / 2 * pull(x)
    return Case("simulate", arguments, (x, v), within=1e-4)


@case
def nearest_neighbours(rng):
    x, known, label = normal(rng, 9, 2), normal(rng, 23, 2), rng.integers(0, 4, 23)
    expected = []
    for point in x:
        near = sorted(range(23), key=lambda j, p=point: float(np.sum((known[j] - p) ** 2)))[:5]
        expected.append(np.bincount(label[near], minlength=4).argmax())
    return Case("classify", (x, known, label), np.array(expected), {"k": 5, "classes": 4})


@case
def conjugate_gradient(rng):
    b = normal(rng, 5, 7)
    line = [2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1) for n in b.shape]
    matrix = np.kron(line[0], np.eye(7)) + np.kron(np.eye(5), line[1])
    return Case("solve", (b,), np.linalg.solve(matrix, b.ravel()).reshape(b.shape), within=1e-4)


@case
def cholesky(rng):
    root, b = normal(rng, 9, 9), normal(rng, 9)
    a = root @ root.T + 3 * np.eye(9, dtype=np.float32)
    if rng.random() < 0.5:
        return Case("cholesky", (a,), np.linalg.cholesky(a), within=1e-4)
    return Case("solve", (a, b), np.linalg.solve(a, b), within=1e-3)


@case
def shortest_paths(rng):
    towns = 9
    linked = rng.random((towns, towns)) < 0.25
    road = np.where(linked, rng.uniform(1, 9, (towns, towns)), np.inf).astype(np.float32)
    far = np.full((towns, towns), np.inf)
    for start in range(towns):
        far[start, start] = 0
        for _, i, j in itertools.product(range(towns), repeat=3):
            far[start, j] = min(far[start, j], far[start, i] + road[i, j])
    return Case("shortest", (road,), far)


def equal(got: Any, expected: Any, within: float) -> None:
    """Compares results; of `...` there is nothing to compare."""
    if isinstance(expected, tuple):
        for a, b in zip(got, expected, strict=True):
            equal(a, b, within)
    elif expected is not ...:
        expected = np.asarray(expected)
        assert np.shape(got) == expected.shape
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(got, expected, within, within)
        else:
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("target", ["interpret", "cpu"])
@pytest.mark.parametrize("draw", CASES, ids=lambda draw: draw.__name__)
def test_equals_numpy(draw, target):
    seed = secrets.randbits(32)
    example = draw(np.random.default_rng(seed))
    file, _, function = example.function.rpartition("::")
    module = dsl.compile(SAMPLES / f"{file or draw.__name__}.lam", target=target)
    got = getattr(module, function)(*example.arguments, **example.options)
    try:
        equal(got, example.expected, example.within)
    except AssertionError as wrong:
        raise AssertionError(f"with seed {seed}: {wrong}") from wrong


def files() -> list[Path]:
    return sorted(SAMPLES.glob("*.lam"))


def test_there_are_twenty_short_examples():
    assert len(files()) == 20
    assert {path.stem for path in files()} <= {draw.__name__ for draw in CASES}
    assert not [path.name for path in files() if len(path.read_text().splitlines()) > LONGEST]


@pytest.mark.parametrize("folder", [SAMPLES, Path(lamina.dialects.dsl.__file__).parent / "std"], ids=["samples", "std"])
def test_have_the_one_layout(folder):
    paths = sorted(folder.glob("*.lam"))
    assert paths and not [path.name for path in paths if format_text(path.read_text(), path.name) != path.read_text()]
