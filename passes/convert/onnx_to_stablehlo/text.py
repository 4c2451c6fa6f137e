"""ONNX's operators on tokens that are numbers; tokens that are strings are counted on the host."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from xdsl.dialects.builtin import f32

from .builder import GraphBuilder, Value, element_of, rank_of, shape_of
from .table import lowers


@lowers("TfIdfVectorizer", since=9)
def tf_idf_vectorizer(
    b: GraphBuilder,
    x: Value,
    *,
    max_gram_length: int,
    max_skip_count: int,
    min_gram_length: int,
    mode: str,
    ngram_counts: Sequence[int],
    ngram_indexes: Sequence[int],
    pool_int64s: Sequence[int] = (),
    pool_strings: Sequence[str] = (),
    weights: Sequence[float] | None = None,
) -> Value:
    """Each known sequence of tokens is compared with every place of a row, at every distance between its tokens."""
    if pool_strings or not pool_int64s:
        raise b.fail("TfIdfVectorizer of strings has no generated code")
    bounds = [*ngram_counts, len(pool_int64s)]
    parts = [(end - start, length) for length, (start, end) in enumerate(pairwise(bounds), 1)]
    if bounds[0] != 0 or any(tokens < 0 or tokens % length for tokens, length in parts):
        raise b.fail(f"ngram_counts {list(ngram_counts)} do not divide {len(pool_int64s)} tokens into sequences")
    if min(ngram_indexes, default=-1) < 0 or len(ngram_indexes) != sum(n // length for n, length in parts):
        raise b.fail("ngram_indexes are not one column for each sequence of the pool")
    row = shape_of(x)[-1] if rank_of(x) else 1
    rows = b.reshape(x, [shape_of(x)[0] if rank_of(x) == 2 else 1, row])
    size = max(ngram_indexes) + 1
    counts = b.broadcast_to(b.scalar(0.0, f32), [shape_of(rows)[0], size])
    first = 0
    for length in range(1, len(ngram_counts) + 1):
        pool = np.array(pool_int64s[bounds[length - 1] : bounds[length]]).reshape(-1, length)
        columns = np.array(ngram_indexes[first : first + len(pool)])
        first += len(pool)
        if not len(pool) or not min_gram_length <= length <= max_gram_length:
            continue
        for skip in range(1, (1 if length == 1 else max_skip_count + 1) + 1):
            found = _found(b, rows, pool, skip)
            if found is not None:
                spread = (columns[:, None] == np.arange(size)).astype(np.float32)
                counts = b.add(counts, b.dot(found, b.constant(spread), ([1], [0])))
    if mode == "IDF":
        counts = b.convert(b.compare(counts, 0.0, "GT"), f32)
    if mode != "TF" and weights:
        counts = b.multiply(counts, b.constant(np.array(weights, np.float32)))
    return b.reshape(counts, [size]) if rank_of(x) < 2 else counts


def _found(
    b: GraphBuilder, rows: Value, pool: np.ndarray[tuple[int, ...], np.dtype[np.int64]], skip: int
) -> Value | None:
    """How often each sequence of the pool stands in each row, its tokens `skip` apart."""
    count, length = pool.shape
    places = shape_of(rows)[1] - skip * (length - 1)
    if places <= 0:
        return None
    hit: Value | None = None
    for k in range(length):
        token = b.expand_dims(b.slice_axis(rows, 1, k * skip, k * skip + places), [1])
        wanted = b.convert(b.constant(pool[:, k].reshape(1, count, 1)), element_of(rows))
        same = b.compare(token, wanted, "EQ")
        hit = same if hit is None else b.logical_and(hit, same)
    assert hit is not None
    return b.reduce("add", b.convert(hit, f32), [2])
