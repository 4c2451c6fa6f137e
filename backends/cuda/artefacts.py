"""Models for CUDA as `.lamx` files: what the host does as the first object, each kernel as one more."""

from __future__ import annotations

import json

from ...compiler.artefact import Artefact
from ...compiler.diagnostics import LaminaError
from ...compiler.signature import Array, Signature, dtype_named
from ...compiler.weights import Section
from .architectures import TRIPLE, Architecture
from .build import BuiltProgram, Kernel, packed, unpacked
from .steps import Place, Steps, from_json, launches, to_json

_KIND = "cuda"


def artefact_of(
    built: BuiltProgram, architecture: Architecture, signature: Signature, constants: Array | Section
) -> Artefact:
    """What is saved of a model."""
    kernels = list(built.kernels.values())
    return Artefact(
        target=f"{_KIND}:{architecture.name}",
        triple=TRIPLE,
        cpu=architecture.name,
        features=f"ptx{architecture.ptx}",
        signature=signature,
        objects=[json.dumps(to_json(built.steps)).encode(), *map(packed, kernels)],
        constants=constants,
        arena_bytes=built.arena_bytes,
        manifest={"kernels": [{"symbol": kernel.symbol, "origin": _origin(built, kernel)} for kernel in kernels]},
    )


def _origin(built: BuiltProgram, kernel: Kernel) -> str:
    return next((launch.origin for launch in built.launches if launch.kernel == kernel.symbol), "")


def built_of(artefact: Artefact) -> BuiltProgram:
    """What `artefact_of` was given. Raises LaminaError for a damaged artefact."""
    try:
        first, *rest = artefact.objects
        steps = from_json(json.loads(first))
        symbols = [str(kernel["symbol"]) for kernel in artefact.manifest["kernels"]]
        kernels = {symbol: unpacked(data, symbol) for symbol, data in zip(symbols, rest, strict=True)}
        _check(steps, kernels, artefact)
        return BuiltProgram(kernels, steps, int(artefact.arena_bytes))
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise LaminaError(f"damaged artefact: {error}") from error


def _check(steps: Steps, kernels: dict[str, Kernel], artefact: Artefact) -> None:
    """Raises ValueError for launches of kernels that are not there, or on memory that is not."""
    sizes = {("arena", 0): artefact.arena_bytes, ("constants", 0): artefact.constants.nbytes}
    for section, specs in (("input", artefact.signature.inputs), ("output", artefact.signature.outputs)):
        for i, spec in enumerate(specs):
            count = 1
            for size in spec.shape:
                count *= int(size)
            sizes[section, i] = count * dtype_named(spec.dtype).itemsize
    for launch in launches(steps):
        if launch.kernel not in kernels:
            raise ValueError(f"there is no kernel '{launch.kernel}'")
        for argument in launch.arguments:
            place = argument if isinstance(argument, Place) else argument.place
            if not 0 <= place.offset <= sizes.get((place.section, place.index), -1):
                raise ValueError(f"nothing lies at byte {place.offset} of {place.section} {place.index}")
