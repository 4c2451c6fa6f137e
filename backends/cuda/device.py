"""A model's kernels on a GPU: constants resident, one arena, and the launches as one graph."""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ...compiler.artefact import Artefact
from ...compiler.diagnostics import LaminaError
from ...compiler.signature import Array, Signature, dtype_named
from .architectures import Architecture
from .build import BuiltProgram
from .driver import Address, Driver, DriverError, Handle
from .exchange import ALIGNMENT, DeviceArray, lies_on_gpu, taken
from .steps import Launch, Place, Straight, Tensor, execute
from .tensor_maps import encode

MOST_GRAPHS = 256


class DeviceProgram:
    """A program of kernels and launches on a GPU.

    Launches that follow each other are done one by one the first time, and waited for, so that one that fails is named;
    from then on they are one graph. Runs wait for each other, for they share the arena.
    """

    artefact: Artefact | None = None

    def __init__(
        self, driver: Driver, architecture: Architecture, built: BuiltProgram, signature: Signature, constants: Array
    ):
        check_runs(driver, architecture)
        self.driver, self.built, self.signature = driver, built, signature
        self.lock = threading.Lock()
        self.held: list[tuple[str, Handle | Address]] = []  # what gives each thing back
        weakref.finalize(self, _give_back, driver, self.held)
        self.stream = Handle()
        driver("cuStreamCreate", ctypes.byref(self.stream), 1)  # apart from the default stream
        self.held.append(("cuStreamDestroy_v2", self.stream))
        shared = {step.kernel: step.shared_bytes for step in built.launches}
        self.functions = {
            name: driver.function(self._load(kernel.cubin or kernel.ptx.encode()), name, shared.get(name, 0))
            for name, kernel in built.kernels.items()
        }
        self.outputs = [
            np.empty(tuple(int(n) for n in spec.shape), dtype_named(spec.dtype)) for spec in signature.outputs
        ]
        self.addresses = self._place(constants)
        self.now = self.addresses  # with the arrays of a caller in place of some
        self.graphs: dict[tuple[int, ...], Handle] = {}  # by the identity of launches, and by arrays of callers
        self.tried: set[int] = set()  # launches that follow each other, by identity, that were done one by one

    def _place(self, constants: Array) -> dict[tuple[str, int], int]:
        found = {
            ("constants", 0): self._allocate(constants.nbytes, "constants"),
            ("arena", 0): self._allocate(self.built.arena_bytes, "the arena"),
        }
        for i, spec in enumerate(self.signature.inputs):
            count = int(np.prod([int(n) for n in spec.shape], dtype=np.int64))
            found["input", i] = self._allocate(count * dtype_named(spec.dtype).itemsize, f"input '{spec.name}'")
        for i, array in enumerate(self.outputs):
            found["output", i] = self._allocate(array.nbytes, f"output '{self.signature.outputs[i].name}'")
        self._upload(found["constants", 0], constants)
        self.driver("cuStreamSynchronize", self.stream)
        return found

    def _allocate(self, nbytes: int, what: str) -> int:
        address = self.driver.allocate(nbytes, what)
        self.held.append(("cuMemFree_v2", Address(address)))
        return address

    def _load(self, code: bytes) -> Handle:
        module = self.driver.load(code)
        self.held.append(("cuModuleUnload", module))
        return module

    def _upload(self, address: int, array: Array) -> None:
        if array.nbytes:
            source, size = ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes)
            self.driver("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(address), source, size, self.stream)

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """One inference on checked inputs. Raises DriverError; after a kernel that failed the GPU's context is lost."""
        with self.lock:
            self.driver.use()
            kept = [np.ascontiguousarray(array) for array in self.signature.completed(inputs)]
            for i, array in enumerate(kept):
                self._upload(self.addresses["input", i], array)
            execute(self.built.steps, self._launched, self._read, {})
            results = [np.empty_like(array) for array in self.outputs]
            for i, array in enumerate(results):
                if array.nbytes:
                    target, size = ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes)
                    source = ctypes.c_uint64(self.addresses["output", i])
                    self.driver("cuMemcpyDtoHAsync_v2", target, source, size, self.stream)
            self.driver("cuStreamSynchronize", self.stream, doing="running the model")
        return self.signature.trimmed(results)

    def run_on_device(self, inputs: Sequence[Any]) -> list[DeviceArray]:
        """One inference on arrays that lie on the GPU (or not): what lies there is read there, results stay there.

        What is not aligned as kernels need it is copied on the GPU first. Raises LaminaError for inputs that do not
        fit, and for models whose results have sizes that depend on data.
        """
        if self.signature.extents:
            raise LaminaError("results whose sizes depend on data cannot stay on the GPU")
        with self.lock:
            self.driver.use()
            addresses = dict(self.addresses)
            lent: list[DeviceArray] = []  # alive until all is done
            for i, value in enumerate(self.signature.completed(inputs)):
                spec = self.signature.inputs[i]
                if not lies_on_gpu(value):
                    self._upload(addresses["input", i], np.ascontiguousarray(spec.check(value)))
                    continue
                lent.append(taken(value, spec, self.driver, self.stream))
                if lent[-1].address % ALIGNMENT:
                    source, size = ctypes.c_uint64(lent[-1].address), ctypes.c_size_t(lent[-1].nbytes)
                    target = ctypes.c_uint64(addresses["input", i])
                    self.driver("cuMemcpyDtoDAsync_v2", target, source, size, self.stream)
                else:
                    addresses["input", i] = lent[-1].address
            results: list[DeviceArray] = []
            for i, spec in enumerate(self.signature.outputs):
                results.append(DeviceArray.fresh(self.driver, spec, self.outputs[i].dtype))
                addresses["output", i] = results[-1].address
            self.now = addresses
            try:
                execute(self.built.steps, self._launched, self._read, {})
                self.driver("cuStreamSynchronize", self.stream, doing="running the model")
            finally:
                self.now = self.addresses
        return results

    def seconds(self, repeats: int) -> float:
        """How long all launches together take on the GPU, the mean of so many times in a row.

        A run must have been before: its inputs are used again. Raises LaminaError without one.
        """
        if not self.graphs:
            raise LaminaError("nothing has run that could be timed")
        with self.lock:
            self.driver.use()
            return (
                self.driver.elapsed(
                    self.stream, [lambda: execute(self.built.steps, self._launched, self._read, {})] * repeats
                )
                / repeats
            )

    def seconds_together(self, rounds: int) -> float:
        """How long all launches take on the GPU, so many times one after the other in one graph.

        A run must have been before. The graph is launched twice and timed once: what keeps the GPU busy first hides
        how long the host takes to ask for the other. Raises LaminaError where values decide what is launched.
        """
        if not all(isinstance(step, Straight) for step in self.built.steps):
            raise LaminaError("launches that depend on values are not one graph")
        with self.lock:
            self.driver.use()
            key = (0, rounds)  # the identity of nothing
            if key not in self.graphs:
                self.graphs[key] = self._captured(Straight(tuple(self.built.launches) * rounds))
            work = [lambda: self.driver("cuGraphLaunch", self.graphs[key], self.stream)]
            work[0]()
            return self.driver.elapsed(self.stream, work)

    def contents(self, place: Place, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
        """What lies on the GPU at a place, after all that was asked for is done."""
        found = np.zeros(tuple(shape), dtype)
        if found.nbytes:
            target, size = ctypes.c_void_p(found.ctypes.data), ctypes.c_size_t(found.nbytes)
            self.driver("cuMemcpyDtoHAsync_v2", target, ctypes.c_uint64(self._address(place)), size, self.stream)
        self.driver("cuStreamSynchronize", self.stream, doing="running the model")
        return found

    def _launched(self, straight: Straight) -> None:
        """Launches that follow each other: the first time one by one, then as a graph."""
        callers = (place for section, place in self.now.items() if section[0] in ("input", "output"))
        key = (id(straight), *callers)
        if id(straight) not in self.tried:
            self._launch_each(straight)
            self.tried.add(id(straight))
            self.graphs[key] = self._captured(straight)
            return
        if key not in self.graphs:
            self._forget_graphs()
            self.graphs[key] = self._captured(straight)
        self.driver("cuGraphLaunch", self.graphs[key], self.stream)

    def _forget_graphs(self) -> None:
        """Gives back the oldest graphs where there are many: each is for other arrays of callers."""
        while len(self.graphs) >= MOST_GRAPHS:
            oldest = self.graphs.pop(next(iter(self.graphs)))
            self.held[:] = [entry for entry in self.held if entry[1] is not oldest]
            self.driver("cuGraphExecDestroy", oldest)

    def _read(self, place: Place, dtype: str) -> int:
        """A number that decides what comes next."""
        return int(self.contents(place, (), dtype_named(dtype)))

    def _launch_each(self, straight: Straight) -> None:
        for step in straight.launches:
            self._launch(step)
            try:
                self.driver("cuStreamSynchronize", self.stream)
            except DriverError as error:
                where = f", which comes from {step.origin}" if step.origin else ""
                raise DriverError(f"kernel {step.kernel} failed{where}: {error.message}", error.code) from error

    def _captured(self, straight: Straight) -> Handle:
        self.driver.begin_capture(self.stream)
        for step in straight.launches:
            self._launch(step)
        graph = self.driver.end_capture(self.stream)
        self.held.append(("cuGraphExecDestroy", graph))
        return graph

    def _launch(self, step: Launch) -> None:
        values = [self._value(given) for given in step.arguments]
        parameters = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        sizes = (*step.grid, *step.block, step.shared_bytes)
        doing = f"launching kernel {step.kernel}"
        self.driver("cuLaunchKernel", self.functions[step.kernel], *sizes, self.stream, parameters, None, doing=doing)

    def _value(self, given: Place | Tensor) -> ctypes.c_uint64 | ctypes.c_uint8:
        if isinstance(given, Place):
            return ctypes.c_uint64(self._address(given))
        return encode(self.driver, given, self._address(given.place))

    def _address(self, place: Place) -> int:
        return self.now[place.section, place.index] + place.offset


def _give_back(driver: Driver, held: list[tuple[str, Handle | Address]]) -> None:
    """Gives back what a model that was dropped had, the last thing first; an error has nobody to be told to."""
    with suppress(LaminaError):
        driver.use()
        for function, thing in reversed(held):
            driver(function, thing)


def check_runs(driver: Driver, architecture: Architecture) -> None:
    """Raises LaminaError where the GPU does not run code of an architecture."""
    have, need = driver.capability, architecture.capability
    if have < need or (architecture.exact and have != need):
        raise LaminaError(
            f"this GPU has compute capability {have[0]}.{have[1]}, {architecture.name} needs {need[0]}.{need[1]}"
            + (" exactly" if architecture.exact else " or newer"),
            hint="compile for another one (--target cuda:sm_80)",
        )
