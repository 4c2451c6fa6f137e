"""Programs of `jax.lax`: every operator over element types, shapes and its own variants.

`programs()` yields them in a fixed order, the same ones in every run; nothing is computed until one is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Array = np.ndarray[Any, Any]
Family = Callable[[], "Iterator[Program]"]
FAMILIES: list[Family] = []

FLOATS = ("float32", "float16", "bfloat16", "float64")
SIGNED = ("int32", "int8", "int16", "int64")
UNSIGNED = ("uint32", "uint8", "uint16", "uint64")
INTEGERS = (*SIGNED, *UNSIGNED)
COMPLEX = ("complex64", "complex128")
SHAPES = ((7,), (3, 5), (2, 1, 9))


@dataclass(frozen=True)
class Program:
    """A function of arrays, and what its arguments are filled with."""

    name: str
    function: Callable[..., Any]
    make: Callable[[np.random.Generator], Sequence[Array]]

    def arguments(self) -> list[Array]:
        """The same arguments each time."""
        return list(self.make(np.random.default_rng(abs(hash_of(self.name)))))

    @property
    def wide(self) -> bool:
        """Whether the program needs JAX's 64-bit types."""
        return any(part in self.name for part in ("64", "128")) and "complex64" not in self.name


def hash_of(name: str) -> int:
    """A number from a name, the same in every process."""
    value = 0
    for character in name:
        value = (value * 31 + ord(character)) % (1 << 31)
    return value


def family(function: Family) -> Family:
    """Registers the decorated generator."""
    FAMILIES.append(function)
    return function


def programs() -> Iterator[Program]:
    """All programs, each with a name of its own."""
    seen: set[str] = set()
    for make in FAMILIES:
        for program in make():
            assert program.name not in seen, program.name
            seen.add(program.name)
            yield program


def dtype_of(name: str) -> np.dtype[Any]:
    """NumPy's element type of this name; bfloat16 is that of ml_dtypes."""
    return np.dtype(jnp.dtype(name))


def numbers(rng: np.random.Generator, shape: Sequence[int], name: str, low: float = -3, high: float = 3) -> Array:
    """Numbers in [low, high], whole ones for integers; truth values for bool."""
    dtype = dtype_of(name)
    shape = tuple(shape)
    if name == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        if dtype.kind == "u":
            low = max(low, 0)
        return rng.integers(int(low), int(high) + 1, shape).astype(dtype)
    if dtype.kind == "c":
        return (rng.uniform(low, high, shape) + 1j * rng.uniform(low, high, shape)).astype(dtype)
    return rng.uniform(low, high, shape).astype(dtype)


def program(name: str, function: Callable[..., Any], *arguments: Any) -> Program:
    """A program whose arguments are (shape, dtype[, low, high]), or arrays as they are."""

    def make(rng: np.random.Generator) -> list[Array]:
        return [a if isinstance(a, np.ndarray) else numbers(rng, *a) for a in arguments]

    return Program(name, function, make)


def text(shape: Sequence[int]) -> str:
    """A shape in a name."""
    return "x".join(map(str, shape)) or "scalar"


def jitted(program: Program) -> Any:
    """The program under `jax.jit`."""
    return jax.jit(program.function)
