"""Times on the GPU, of ours and of others, in rounds that alternate: all see the same minutes of the machine.

Whoever is timed is given as a function that does its work so many times one after the other and tells the seconds.
"""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from ....backends.cuda.device import DeviceProgram
from ....backends.cuda.driver import Address, Driver, Handle
from ....backends.cuda.steps import Straight
from ....compiler.diagnostics import LaminaError
from ...pytorch.tensors import torch_module
from .peers import Call

OURS = "ours"
ROUNDS = 5
SAMPLE_S = 0.01  # what one of a round takes, if the work is shorter than that
MOST = 200  # of the same work in a sample
Sample = Callable[[int], float]


def rounds(samples: Mapping[str, Sample]) -> dict[str, list[float]]:
    """The seconds of one run of each in every round."""
    counts = {name: max(1, min(MOST, int(SAMPLE_S / max(sample(2) / 2, 1e-9)))) for name, sample in samples.items()}
    found: dict[str, list[float]] = {name: [] for name in samples}
    for sample, count in zip(samples.values(), counts.values(), strict=True):
        sample(count)  # makes what is launched
    for _ in range(ROUNDS):
        for name, sample in samples.items():
            found[name].append(sample(counts[name]) / counts[name])
    return found


def medians(times: Mapping[str, list[float]]) -> dict[str, float]:
    """The median round of each."""
    return {name: statistics.median(each) for name, each in times.items()}


def ratio(times: Mapping[str, list[float]]) -> float | None:
    """How many times as fast ours is as the best of the others: the median over the rounds. None without others."""
    middle = medians(times)
    others = [name for name in times if name != OURS]
    if not others:
        return None
    best = min(others, key=lambda name: middle[name])
    return statistics.median(theirs / ours for theirs, ours in zip(times[best], times[OURS], strict=True))


def ours(model: DeviceProgram) -> Sample:
    """A model that has run: as one graph, where values do not decide what is launched."""
    if all(isinstance(step, Straight) for step in model.built.steps):
        return model.seconds_together
    return lambda count: model.seconds(count) * count


class Copy:
    """Copies of so many bytes from one place of the GPU to another."""

    def __init__(self, driver: Driver, nbytes: int):
        self._driver, self._nbytes, self._stream = driver, nbytes, Handle()
        self._held: list[int] = []
        self._graphs: dict[int, Handle] = {}
        driver("cuStreamCreate", ctypes.byref(self._stream), 1)
        self._held += [driver.allocate(nbytes, "a copy") for _ in range(2)]

    def __call__(self, count: int) -> float:
        if count not in self._graphs:
            self._driver.begin_capture(self._stream)
            for _ in range(count):
                source, target = map(ctypes.c_uint64, self._held)
                self._driver("cuMemcpyDtoDAsync_v2", target, source, ctypes.c_size_t(self._nbytes), self._stream)
            self._graphs[count] = self._driver.end_capture(self._stream)
        work = [lambda: self._driver("cuGraphLaunch", self._graphs[count], self._stream)]
        work[0]()
        return self._driver.elapsed(self._stream, work)

    def __del__(self) -> None:
        with suppress(LaminaError):  # nobody is there to be told
            for graph in self._graphs.values():
                self._driver("cuGraphExecDestroy", graph)
            for address in self._held:
                self._driver("cuMemFree_v2", Address(address))
            self._driver("cuStreamDestroy_v2", self._stream)


class Graphed:
    """Work of PyTorch's as CUDA graphs; call by call where it cannot be recorded."""

    def __init__(self, call: Call):
        self._torch, self._call = torch_module(), call
        self._graphs: dict[int, Any] = {}
        self._torch.cuda.synchronize()
        stream = self._torch.cuda.Stream()
        with self._torch.cuda.stream(stream):
            for _ in range(3):
                call()
        stream.synchronize()

    def __call__(self, count: int) -> float:
        if count not in self._graphs:
            self._graphs = {count: self._recorded(count)}  # others give their memory back
        work = self._graphs[count]
        work()
        start, stop = (self._torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) / 1000

    def _recorded(self, count: int) -> Callable[[], object]:
        def each() -> None:
            for _ in range(count):
                self._call()

        graph = self._torch.cuda.CUDAGraph()
        try:
            with self._torch.cuda.graph(graph):
                each()
        except RuntimeError:  # it waits for the GPU, or asks for memory in its own way
            self._torch.cuda.synchronize()
            return each
        return graph.replay


def waited_for(call: Call) -> Sample:
    """Work that ends when its call does."""

    def sample(count: int) -> float:
        start = time.perf_counter()
        for _ in range(count):
            call()
        return time.perf_counter() - start

    return sample
