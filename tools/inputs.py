"""Inputs of a run: files named on the command line, and seeded random values for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..compiler.diagnostics import LaminaError
from ..compiler.signature import Array, Signature, TensorSpec, dtype_named


def read_named(arguments: Sequence[str], prefix: str = "in.") -> dict[str, Array]:
    """`name=file.npy` and `file.npz` arguments as arrays by name. Raises LaminaError for unreadable files.

    An archive may hold both sides of a test case, as `in.<name>` and `out.<name>`: `prefix` says which to take.
    """
    arrays: dict[str, Array] = {}
    for argument in arguments:
        name, equals, file = argument.rpartition("=")
        try:
            if file.endswith(".npz"):
                with np.load(file, allow_pickle=False) as archive:
                    chosen = [key for key in archive.files if key.startswith(prefix)] or archive.files
                    arrays.update({key.removeprefix(prefix): archive[key] for key in chosen})
            elif equals:
                arrays[name] = np.load(file, allow_pickle=False)
            else:
                raise LaminaError(f"'{argument}' is not an input", hint="expected name=file.npy or file.npz")
        except OSError as error:
            raise LaminaError(f"cannot read: {error.strerror or error}", where=file) from error
        except ValueError as error:
            raise LaminaError(f"not a NumPy file: {error}", where=file) from error
    return arrays


def random_input(spec: TensorSpec, rng: np.random.Generator) -> Array:
    """Values for a spec without symbols: standard normal floats, zeros and ones for integers and booleans."""
    shape = tuple(int(d) for d in spec.shape)
    dtype = dtype_named(spec.dtype)
    if np.issubdtype(dtype, np.complexfloating):
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    if dtype.kind in "biu":
        return rng.integers(0, 2, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def complete(signature: Signature, given: dict[str, Array], seed: int) -> list[Array]:
    """One array per input in order: the given ones, and random ones for the rest."""
    rng = np.random.default_rng(seed)
    made = {spec.name: given[spec.name] if spec.name in given else random_input(spec, rng) for spec in signature.inputs}
    return signature.bind((), made)


def write_outputs(directory: Path, signature: Signature, outputs: Sequence[Array]) -> None:
    """Writes each output as `<name>.npy`, with characters unfit for a file name replaced."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for spec, array in zip(signature.outputs, outputs, strict=True):
            name = "".join(c if c.isalnum() or c in "-_." else "_" for c in spec.name)
            np.save(directory / f"{name}.npy", array)
    except OSError as error:
        raise LaminaError(f"cannot write: {error.strerror}", where=str(directory)) from error
