"""What range each value takes on samples of a model's inputs: by extremes, by percentiles, or by least loss.

The model runs on a target of ours with every value that will be quantised as one more output. Percentiles and the
loss go by a histogram, so that samples are run twice and never kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ...compiler.signature import Array

METHODS = ("minmax", "percentile", "entropy")
_BINS = 2048
_LEVELS = 128  # of one sign, as TensorRT counts them


@dataclass(frozen=True)
class Range:
    """The smallest and largest number that is told apart; both ends and zero are kept."""

    low: float
    high: float


@dataclass
class _Histogram:
    edges: Array
    counts: Array

    def add(self, values: Array) -> None:
        self.counts += np.histogram(values, self.edges)[0]


def calibrate(
    run: Callable[[Sequence[Array]], Sequence[Array]],
    names: Sequence[str],
    samples: Callable[[], Iterable[Sequence[Array]]],
    method: str = "minmax",
    percentile: float = 99.999,
) -> dict[str, Range]:
    """The range of each value that `run` returns, in the order of `names`, over all samples.

    `minmax` takes the extremes, `percentile` leaves out as many values at each end as the percentile says, `entropy`
    cuts where the histogram loses least by being told in a byte (Kullback-Leibler divergence, Migacz 2017).
    """
    lows = np.full(len(names), np.inf)
    highs = np.full(len(names), -np.inf)
    for sample in samples():
        for i, values in enumerate(run(sample)):
            if values.size:
                lows[i], highs[i] = min(lows[i], float(values.min())), max(highs[i], float(values.max()))
    lows, highs = np.minimum(lows, 0.0), np.maximum(highs, 0.0)
    extremes = {name: Range(float(a), float(b)) for name, a, b in zip(names, lows, highs, strict=True)}
    if method == "minmax":
        return extremes
    histograms = [_histogram(extremes[name]) for name in names]
    for sample in samples():
        for histogram, values in zip(histograms, run(sample), strict=True):
            histogram.add(values)
    cut = _entropy if method == "entropy" else lambda h, r: _percentile(h, r, percentile)
    return {name: cut(h, extremes[name]) for name, h in zip(names, histograms, strict=True)}


def _histogram(extremes: Range) -> _Histogram:
    low, high = extremes.low, extremes.high
    edges = np.linspace(low, high if high > low else low + 1, _BINS + 1)
    return _Histogram(edges, np.zeros(_BINS, np.int64))


def _percentile(histogram: _Histogram, extremes: Range, percentile: float) -> Range:
    """Without the share of values that lies beyond the percentile at each end; never beyond what was seen."""
    below = np.cumsum(histogram.counts) / max(1, histogram.counts.sum())
    outside = (100 - percentile) / 100
    first = int(np.searchsorted(below, outside, side="right"))
    last = int(np.searchsorted(below, 1 - outside, side="left"))
    low, high = histogram.edges[min(first, _BINS - 1)], histogram.edges[min(last, _BINS - 1) + 1]
    return Range(min(0.0, max(float(low), extremes.low)), max(0.0, min(float(high), extremes.high)))


def _entropy(histogram: _Histogram, extremes: Range) -> Range:
    """Cut at the magnitude whose histogram, told in 128 levels, diverges least from the whole one."""
    middles = np.abs((histogram.edges[:-1] + histogram.edges[1:]) / 2)
    top = max(-extremes.low, extremes.high)
    if top == 0:
        return extremes
    magnitudes, edges = np.histogram(middles, _BINS, (0, top), weights=histogram.counts)
    best, least = _BINS, np.inf
    for cut in range(_LEVELS, _BINS + 1, 16):
        kept = magnitudes[:cut].copy()
        told = _told_in_levels(kept)
        kept[-1] += magnitudes[cut:].sum()
        loss = _divergence(kept, told)
        if loss < least:
            best, least = cut, loss
    bound = float(edges[best])
    return Range(max(extremes.low, -bound), min(extremes.high, bound))


def _told_in_levels(counts: Array) -> Array:
    """Each of 128 groups of neighbouring bins spread evenly over those of its bins that are not empty."""
    starts = np.arange(_LEVELS) * len(counts) // _LEVELS
    filled = (counts > 0).astype(np.float64)
    groups, sizes = np.add.reduceat(counts, starts), np.add.reduceat(filled, starts)
    each = np.divide(groups, sizes, out=np.zeros(_LEVELS), where=sizes > 0)
    return np.repeat(each, np.diff(starts, append=len(counts))) * filled


def _divergence(p: Array, q: Array) -> float:
    """Kullback-Leibler, of histograms that need not add up to 1; a bin that `q` lacks counts as nearly empty."""
    total, other = p.sum(), q.sum()
    if total == 0 or other == 0:
        return np.inf
    p, q = p / total, np.maximum(q / other, 1e-9)
    full = p > 0
    return float(np.sum(p[full] * np.log(p[full] / q[full])))
