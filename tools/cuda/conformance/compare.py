"""Runs each test on a GPU and in the emulator, and tells what differs."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

import numpy as np

from ....backends.cuda.architectures import ARCHITECTURES
from ....backends.cuda.assembler import assemble
from ....backends.cuda.device import DeviceProgram
from ....backends.cuda.driver import Address, Driver, DriverError, Handle
from ....backends.cuda.emulated import EmulatedProgram
from ....backends.cuda.emulator.machine import launch
from ....backends.cuda.emulator.memory import GlobalMemory
from ....backends.cuda.emulator.ptx import parse
from ....backends.cuda.target import CudaTarget
from ....compiler.diagnostics import LaminaError
from ....compiler.signature import Array
from .cases import THREADS, Case, head, kernel
from .forms import all_cases
from .kernels import Whole, wholes

_TOGETHER = 48  # kernels of a module: several are assembled at a time
_UNWRITTEN = 0xFF  # bytes of results that no thread writes, in both
_ROOM = 1 << 16  # gaps between what is allocated


@dataclass(frozen=True)
class Outcome:
    """One form: how many results there are, and how many have the same bits (or are NaNs in both).

    `worst` is the largest difference in steps of the last place, where bits say the same of both as far as numbers go.
    `good` says whether all differences are in what the form may have: none, unless it is approximate. `told` is the
    error, if there was one.
    """

    form: str
    cases: int
    equal: int
    worst: float
    good: bool
    told: str = ""


def conform(driver: Driver, named: str = "") -> Iterator[Outcome]:
    """Every form, or those in whose name something is, on the GPU and in the emulator.

    Ends early, with an outcome that says why, where the GPU does nothing more.
    """
    architecture = "sm_90a" if driver.capability == (9, 0) else "sm_80"
    gpu = _Gpu(driver)
    try:
        for each in _all(gpu, architecture, named):
            yield each
            if gpu.lost:
                return
    finally:
        gpu.give_back()


def _all(gpu: _Gpu, architecture: str, named: str) -> Iterator[Outcome]:
    cases = (case for case in all_cases(architecture) if named in case.name)
    batches = list(iter(lambda: list(islice(cases, _TOGETHER)), []))
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        made = [pool.submit(machine_code, batch, architecture) for batch in batches]
        for batch, code in zip(batches, made, strict=True):
            try:
                module = gpu.driver.load(code.result())
            except LaminaError as error:
                yield from (_failed(gpu, case, error) for case in batch)
                continue
            for number, case in enumerate(batch):
                yield _single(gpu, module, number, case, architecture)
            gpu.driver("cuModuleUnload", module)
    for whole in wholes():
        if named in whole.case.name:
            yield _whole(gpu, whole, architecture)


def machine_code(cases: Sequence[Case], architecture: str) -> bytes:
    """That of a module with the kernels of some tests, or its PTX where there is no assembler."""
    text = module_text(cases, architecture)
    return assemble(text, architecture).cubin or text.encode()


def module_text(cases: Sequence[Case], architecture: str) -> str:
    """The kernels of some tests, each named by its number."""
    return head(architecture) + "\n".join(kernel(case, _symbol(i)) for i, case in enumerate(cases))


def _symbol(number: int) -> str:
    return f"case_{number}"


def _single(gpu: _Gpu, module: Handle, number: int, case: Case, architecture: str) -> Outcome:
    operands = case.packed(case.operands(np.random.default_rng(number)))
    nbytes = case.offsets(case.results)[-1]
    try:
        found = gpu.run(module, _symbol(number), case, operands, nbytes)
        return outcome(case, case.unpacked(found), case.unpacked(emulated(case, operands, nbytes, architecture)))
    except LaminaError as error:
        return _failed(gpu, case, error)


def emulated(case: Case, operands: Array, nbytes: int, architecture: str = "sm_90a") -> Array:
    """The bytes of a test's results in the emulator."""
    memory = GlobalMemory(operands.nbytes + nbytes + _ROOM)
    arguments = [memory.upload(operands, "operands"), memory.allocate(nbytes, "results")]
    text = head(architecture) + kernel(case, _symbol(0))
    grid, block = _sizes(case)
    launch(parse(text).kernel(), arguments, grid=grid, block=block, memory=memory, counted=False)
    return memory.download(arguments[1], (nbytes,), np.dtype(np.uint8))


def outcome(case: Case, found: Sequence[Array], expected: Sequence[Array]) -> Outcome:
    """What comes of results that were found and those that the emulator has."""
    pairs = zip(case.results, found, expected, strict=True)
    compared = [case.differences(kind, *arrays) for kind, *arrays in pairs]
    good, far = (np.concatenate(each) for each in zip(*compared, strict=True))
    return Outcome(case.name, far.size, int(np.count_nonzero(far == 0)), float(far.max()), bool(good.all()))


def _whole(gpu: _Gpu, whole: Whole, architecture: str) -> Outcome:
    program, nothing = whole.program, np.zeros(0, np.uint8)
    case = Case(whole.case.name, "", (), ("f32",), lanes=1)
    inputs = whole.inputs(program)
    try:
        _, built = CudaTarget(architecture).built(program, whole.options)
        device = DeviceProgram(gpu.driver, ARCHITECTURES[architecture], built, program.signature, nothing)
        [found] = device.run(inputs)
        [expected] = EmulatedProgram(built, program.signature, nothing).run(inputs)
    except LaminaError as error:
        return _failed(gpu, case, error)
    return outcome(case, [found.reshape(-1)], [expected.reshape(-1)])


def _failed(gpu: _Gpu, case: Case, error: LaminaError) -> Outcome:
    gpu.lost = gpu.lost or (isinstance(error, DriverError) and error.lost)
    return Outcome(case.name, case.lanes * len(case.results), 0, float("inf"), False, str(error))


def _sizes(case: Case) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    return (-(-case.lanes // THREADS), 1, 1), (min(case.lanes, THREADS), 1, 1)


class _Gpu:
    """Memory for operands and results of one test at a time, and a stream."""

    def __init__(self, driver: Driver):
        self.driver, self.lost = driver, False
        driver.use()
        self.stream = Handle()
        driver("cuStreamCreate", ctypes.byref(self.stream), 1)
        self.sizes, self.places = [0, 0], [0, 0]

    def run(self, module: Handle, symbol: str, case: Case, operands: Array, nbytes: int) -> Array:
        """The bytes of the results of one kernel."""
        function = self.driver.function(module, symbol, 0)
        unwritten = np.full(nbytes, _UNWRITTEN, np.uint8)
        for number, data in enumerate((operands, unwritten)):
            self._upload(number, data)
        values = [Address(place) for place in self.places]
        parameters = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        grid, block = _sizes(case)
        self.driver("cuLaunchKernel", function, *grid, *block, 0, self.stream, parameters, None, doing=case.name)
        self._copy("cuMemcpyDtoHAsync_v2", unwritten.ctypes.data, self.places[1], nbytes)
        self.driver("cuStreamSynchronize", self.stream, doing=case.name)
        return unwritten

    def _upload(self, number: int, data: Array) -> None:
        if data.nbytes > self.sizes[number] or not self.places[number]:
            self._free(number)
            self.sizes[number] = max(data.nbytes, 1 << 18)
            self.places[number] = self.driver.allocate(self.sizes[number], "a test")
        if data.nbytes:
            self._copy("cuMemcpyHtoDAsync_v2", self.places[number], data.ctypes.data, data.nbytes)

    def _copy(self, function: str, target: int, source: int, nbytes: int) -> None:
        kinds = (Address, ctypes.c_void_p) if "HtoD" in function else (ctypes.c_void_p, Address)
        self.driver(function, kinds[0](target), kinds[1](source), ctypes.c_size_t(nbytes), self.stream)

    def _free(self, number: int) -> None:
        place, self.places[number] = self.places[number], 0
        if place:
            self.driver("cuMemFree_v2", Address(place))

    def give_back(self) -> None:
        """Frees what it has, as far as the GPU still answers."""
        with suppress(LaminaError):
            for number in range(2):
                self._free(number)
            self.driver("cuStreamDestroy_v2", self.stream)
