"""Kernels of one problem, made with any candidate and timed against each other on the same data."""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol

import numpy as np

from ...compiler.signature import Array
from .search import C, Ratio

SAMPLE = 5e-4  # seconds that one sample of a pair lasts at least
BRIEF, LONG = (0.06, 9), (0.25, 25)  # seconds and pairs that a comparison takes at least
LONGEST = 6.0  # and at most
ERRORS = {2: 3e-2, 4: 1e-4, 8: 1e-10}  # by element size: what another order of additions may change, of the largest


class Code(Protocol):
    """A kernel's machine code with data to run on, which depends on the kernel but not on the candidate."""

    def outputs(self) -> Sequence[Array]:
        """The arrays that the kernel writes, after a call on fresh data."""
        ...

    def sample(self, repeats: int) -> float:
        """The seconds that so many calls take."""
        ...


class KernelBench(Generic[C]):
    """Compares candidates of one problem, whose kernels are called `calls` times each.

    `make` compiles kernels, by candidate and number of the kernel; what cannot be compiled is left out. `errors` are
    what numbers may differ by, of the largest, by element size.
    """

    def __init__(
        self,
        make: Callable[[Sequence[tuple[C, int]]], Mapping[tuple[C, int], Code]],
        calls: Sequence[int],
        errors: Mapping[int, float] = ERRORS,
        clock: Callable[[], float] = time.perf_counter,
    ):
        self._make = make
        self._calls = calls
        self._errors = errors
        self._clock = clock
        self._most_called = max(range(len(calls)), key=lambda i: calls[i])
        self._codes: dict[tuple[C, int], Code | None] = {}
        self.problems: list[str] = []  # candidates whose numbers were wrong: defects of ours

    def compare(self, base: C, others: Sequence[C]) -> list[Ratio | None]:
        """Brief comparisons on the kernel that is called most."""
        number = self._most_called
        self._compile([(candidate, number) for candidate in (base, *others)])
        result = [self._ratio(base, other, [number], BRIEF) for other in others]
        for other in others:
            self._codes.pop((other, number), None)  # what wins is compiled again; the rest is not kept
        return result

    def confirm(self, base: C, other: C) -> Ratio | None:
        """A long comparison of all kernels, each as often as the model calls it."""
        numbers = list(range(len(self._calls)))
        self._codes = {each: code for each, code in self._codes.items() if each[0] in (base, other)}
        self._compile([(candidate, number) for candidate in (base, other) for number in numbers])
        return self._ratio(base, other, numbers, LONG)

    def seconds(self, candidate: C) -> float:
        """How long all calls of the problem in the model take."""
        numbers = range(len(self._calls))
        self._compile([(candidate, number) for number in numbers])
        total = 0.0
        for number in numbers:
            code = self._codes[candidate, number]
            if code is not None:
                code.outputs()
                repeats = _repeats(code)
                samples = sorted(code.sample(repeats) for _ in range(5))
                total += samples[2] / repeats * self._calls[number]
        return total

    def _compile(self, wanted: Sequence[tuple[C, int]]) -> None:
        """Makes the code that is not there yet; None for what the compiler refuses."""
        todo = [each for each in dict.fromkeys(wanted) if each not in self._codes]
        if todo:
            found = self._make(todo)
            self._codes |= {each: found.get(each) for each in todo}

    def _ratio(self, base: C, other: C, numbers: Sequence[int], effort: tuple[float, int]) -> Ratio | None:
        pairs = [(self._codes[base, number], self._codes[other, number]) for number in numbers]
        codes = [(a, b) for a, b in pairs if a is not None and b is not None]
        if len(codes) != len(pairs):
            return None
        for a, b in codes:
            if not self._agree(a, b):
                self.problems.append(f"{other} gives other numbers than {base}")
                return None
        repeats = [_repeats(a) for a, _ in codes]
        weights = [self._calls[number] / count for number, count in zip(numbers, repeats, strict=True)]
        seconds, least = effort
        start = self._clock()
        times: list[tuple[float, float]] = []
        while (now := self._clock() - start) < seconds or (len(times) < least and now < LONGEST) or len(times) < 3:
            sums = [0.0, 0.0]
            for (a, b), count, weight in zip(codes, repeats, weights, strict=True):
                for side in (0, 1) if len(times) % 2 else (1, 0):  # who goes first takes turns
                    sums[side] += (a, b)[side].sample(count) * weight
            times.append((sums[0], sums[1]))
        return Ratio.of(times)

    def _agree(self, a: Code, b: Code) -> bool:
        """Whether both give the same numbers, but for the order of additions."""
        pairs = zip(a.outputs(), b.outputs(), strict=True)
        return all(_close(x, y, self._errors.get(x.dtype.itemsize, 1e-4)) for x, y in pairs)


def _repeats(code: Code) -> int:
    return max(1, math.ceil(SAMPLE / max(1e-7, code.sample(1))))


def _close(a: Array, b: Array, error: float) -> bool:
    if a.dtype.kind in "iub":
        return bool(np.array_equal(a, b))
    wide, other = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(wide)
    if not np.array_equal(finite, np.isfinite(other)):
        return False
    bound = error * max(1e-30, float(np.abs(wide[finite]).max(initial=0.0)))
    return bool(np.abs(wide - other)[finite].max(initial=0.0) <= bound)


def random(shape: Sequence[int], dtype: np.dtype[Any], seed: int) -> Array:
    """Numbers for an argument of a kernel: the same whatever the candidate."""
    rng = np.random.default_rng(zlib.crc32(f"{seed}".encode()))
    if dtype.kind in "iub":
        return rng.integers(0, 2 if dtype.kind == "b" else 5, tuple(shape)).astype(dtype)
    return rng.standard_normal(tuple(shape), np.float32).astype(dtype)
