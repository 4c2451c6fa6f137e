"""A model's kernels in the emulator of PTX: slow, exact, and with an account of what they did."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...compiler.artefact import Artefact
from ...compiler.collector import collector_paused
from ...compiler.signature import Array, Signature, dtype_named
from .build import BuiltProgram
from .emulator.layouts import TensorMap
from .emulator.machine import decoded, launch
from .emulator.memory import Counters, GlobalMemory
from .emulator.program import Program
from .emulator.ptx import parse
from .steps import Place, Straight, Tensor, execute

_ROOM = 1 << 16  # beside what is asked for: gaps between allocations, and constants of kernels


class EmulatedProgram:
    """A program of kernels and launches. `counters` tells of each launch of the last run.

    How it is run may be changed between runs: `late` with a `seed`, and whether traffic is `counted`.
    """

    artefact: Artefact | None = None

    def __init__(
        self, built: BuiltProgram, signature: Signature, constants: Array, *, late: bool = False, seed: int = 0
    ):
        self.built, self.signature, self.constants = built, signature, constants
        self.late, self.seed, self.counted = late, seed, True
        self._kernels: dict[str, Program] = {}
        self.counters: list[Counters] = []

    @collector_paused()
    def kernel(self, name: str) -> Program:
        """A kernel, whose PTX is read when it first runs."""
        if name not in self._kernels:
            self._kernels[name] = decoded(parse(self.built.kernels[name].ptx).kernel())
        return self._kernels[name]

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """One inference on checked inputs."""
        inputs = self.signature.completed(inputs)
        specs = self.signature.outputs
        shapes = [tuple(int(n) for n in spec.shape) for spec in specs]
        dtypes = [dtype_named(spec.dtype) for spec in specs]
        sizes = [int(np.prod(shape)) * dtype.itemsize for shape, dtype in zip(shapes, dtypes, strict=True)]
        arrays = [*inputs, self.constants]
        needed = sum(a.nbytes for a in arrays) + sum(sizes) + self.built.arena_bytes
        memory = GlobalMemory(needed + (len(arrays) + len(sizes) + 1) * 1024 + _ROOM * (1 + len(self.built.kernels)))
        addresses: dict[tuple[str, int], int] = {
            ("constants", 0): memory.upload(self.constants, "constants"),
            ("arena", 0): memory.allocate(self.built.arena_bytes, "the arena"),
        }
        for i, array in enumerate(inputs):
            addresses["input", i] = memory.upload(array, self.signature.inputs[i].name)
        for i, size in enumerate(sizes):
            addresses["output", i] = memory.allocate(size, specs[i].name)

        def address(place: Place) -> int:
            return addresses[place.section, place.index] + place.offset

        def argument(given: Place | Tensor) -> int | bytes:
            return address(given) if isinstance(given, Place) else tensor_map(given, address(given.place)).encode()

        self.counters = []

        def launched(straight: Straight) -> None:
            for step in straight.launches:
                program = self.kernel(step.kernel)
                counted = launch(
                    program.kernel,
                    [argument(given) for given in step.arguments],
                    grid=step.grid,
                    block=step.block,
                    memory=memory,
                    shared_bytes=step.shared_bytes,
                    late=self.late,
                    seed=self.seed,
                    program=program,
                    counted=self.counted,
                )
                self.counters.append(counted)

        def read(place: Place, dtype: str) -> int:
            return int(memory.download(address(place), (), dtype_named(dtype)))

        execute(self.built.steps, launched, read, {})
        places = [addresses["output", i] for i in range(len(specs))]
        outputs = [memory.download(*each) for each in zip(places, shapes, dtypes, strict=True)]
        return self.signature.trimmed(outputs)


def tensor_map(tensor: Tensor, address: int) -> TensorMap:
    """A tensor as the emulator's copy engine sees it, at an address: innermost dimension first."""
    size = dtype_named(tensor.dtype).itemsize
    strides = tuple(step * size for step in tensor.strides[-2::-1])
    return TensorMap(address, tensor.sizes[::-1], strides, tensor.box[::-1], size, tensor.swizzle)
