"""What a compiled model takes and gives: names, shapes and dtypes, with checks that name the culprit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, cast

import numpy as np

from .diagnostics import LaminaError
from .random_keys import fresh_key

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class TensorSpec:
    """One input or output. A string in `shape` is a symbolic dimension."""

    name: str
    shape: tuple[int | str, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}[{', '.join(map(str, self.shape))}]"

    def check(self, value: Any, what: str = "input") -> Array:
        """`value` as an array of this dtype and shape; a wrong one is a LaminaError that says both sides."""
        array = as_array(value)
        if (name := dtype_name(array.dtype)) != self.dtype:
            raise LaminaError(
                f"{what} '{self.name}' has dtype {name}, expected {self.dtype}",
                hint=f"convert it with .astype('{self.dtype}')",
            )
        fits = array.shape == self.shape or (
            len(array.shape) == len(self.shape)
            and all(isinstance(want, str) or got == want for got, want in zip(array.shape, self.shape, strict=True))
        )
        if not fits:
            raise LaminaError(f"{what} '{self.name}' has shape {list(array.shape)}, expected {list(self.shape)}")
        return array


@dataclass(frozen=True)
class Signature:
    """The inputs and outputs of a model, in order."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    extents: tuple[tuple[int, int, int], ...] = ()
    """(output, dimension, place): that dimension is the largest that can be, its true size is the output at `place`."""
    random: bool = False
    """Whether the last input is a key that random numbers are made of; it is not the caller's to give."""
    aliases: tuple[tuple[int, int], ...] = ()
    """(input, output): that output is computed in the memory of the input, which a call changes."""

    @property
    def told(self) -> Signature:
        """What a caller sees: no key, no outputs that are only sizes of others, and symbols for sizes of data."""
        if self.random:
            return Signature(self.inputs[:-1], self.outputs, self.extents, aliases=self.aliases).told
        if not self.extents:
            return self
        sizes = {place for _, _, place in self.extents}
        unknown = {(output, dimension): f"size{place}" for output, dimension, place in self.extents}
        outputs = [
            TensorSpec(spec.name, tuple(unknown.get((i, k), d) for k, d in enumerate(spec.shape)), spec.dtype)
            for i, spec in enumerate(self.outputs)
            if i not in sizes
        ]
        aliases = tuple((i, o - sum(place < o for place in sizes)) for i, o in self.aliases)
        return Signature(self.inputs, tuple(outputs), aliases=aliases)

    def completed(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """The inputs of a call, with a key of their own where there are random numbers."""
        return [*inputs, fresh_key()] if self.random else inputs

    def trimmed(self, outputs: list[Array]) -> list[Array]:
        """The outputs in their true sizes, without those that only tell sizes."""
        if not self.extents:
            return outputs
        for output, dimension, place in self.extents:
            part = (slice(None),) * dimension + (slice(int(outputs[place])),)
            outputs[output] = np.ascontiguousarray(outputs[output][part])
        sizes = {place for _, _, place in self.extents}
        return [array for i, array in enumerate(outputs) if i not in sizes]

    def lend(self, inputs: Sequence[Array]) -> None:
        """Raises LaminaError for inputs that outputs cannot be computed in: read only, scattered, or shared."""
        if not self.aliases:
            return
        for place, _ in self.aliases:
            array = inputs[place]
            if not (array.flags.writeable and array.flags.c_contiguous):
                what = "is not contiguous" if array.flags.writeable else "is read only"
                name = self.inputs[place].name
                raise LaminaError(
                    f"input '{name}' {what}: an output is to be computed in its memory", hint="give a copy of it"
                )
        places = {place for place, _ in self.aliases}
        spans = [
            (array.__array_interface__["data"][0], array.nbytes, i) for i, array in enumerate(inputs) if array.size
        ]
        furthest, holder = 0, 0
        for start, size, i in sorted(spans):
            if start < furthest and not places.isdisjoint((holder, i)):
                raise LaminaError(
                    f"inputs '{self.inputs[holder].name}' and '{self.inputs[i].name}' share memory, in which an output "
                    "is to be computed",
                    hint="give a copy of one",
                )
            furthest, holder = max((furthest, holder), (start + size, i))

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.inputs))}) -> ({', '.join(map(str, self.outputs))})"

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbolic dimensions of the inputs, in order of appearance."""
        return tuple(dict.fromkeys(d for spec in self.inputs for d in spec.shape if isinstance(d, str)))

    def bind(self, positional: Sequence[Any], named: Mapping[str, Any]) -> list[Array]:
        """The arguments of a call in the order of the inputs, each checked.

        Raises LaminaError for a missing, unknown or doubled input, a wrong dtype or a wrong shape.
        """
        given = self.ordered(positional, named)
        return [spec.check(value) for spec, value in zip(self.inputs, given, strict=True)]

    def ordered(self, positional: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """The arguments of a call in the order of the inputs, as they are.

        Raises LaminaError for a missing, unknown or doubled input.
        """
        names = [spec.name for spec in self.inputs]
        if len(positional) > len(names):
            raise LaminaError(
                f"{len(positional)} positional inputs given, {len(names)} expected", hint=f"the model takes {self}"
            )
        given: dict[str, Any] = dict(zip(names, positional, strict=False))
        for name, value in named.items():
            if name not in names:
                raise LaminaError(f"unknown input '{name}'", hint=f"the model takes {self}")
            if name in given:
                raise LaminaError(f"input '{name}' is given twice", hint=f"the model takes {self}")
            given[name] = value
        if missing := [name for name in names if name not in given]:
            raise LaminaError(f"missing input {', '.join(map(repr, missing))}", hint=f"the model takes {self}")
        return [given[name] for name in names]

    def describes(self, inputs: Sequence[Any]) -> bool:
        """Whether these are all inputs in order, arrays that `bind` would find nothing about to say or to convert."""
        kinds = self._kinds
        if len(inputs) != len(kinds):
            return False
        for value, (dtype, shape) in zip(inputs, kinds):  # noqa: B905 - strict takes a while
            if type(value) is not np.ndarray or value.shape != shape:
                return False
            if value.dtype is not dtype and value.dtype != dtype:
                return False
        return True

    @cached_property
    def _kinds(self) -> tuple[tuple[np.dtype[Any], tuple[int | str, ...]], ...]:
        return tuple((dtype_named(spec.dtype), spec.shape) for spec in self.inputs)

    def bindings(self, inputs: Sequence[Array]) -> dict[str, int]:
        """The value of each symbolic dimension in these inputs; a LaminaError where two inputs disagree."""
        found: dict[str, tuple[int, str]] = {}
        for spec, array in zip(self.inputs, inputs, strict=True):
            for want, got in zip(spec.shape, array.shape, strict=True):
                if isinstance(want, str):
                    value, where = found.setdefault(want, (got, spec.name))
                    if value != got:
                        raise LaminaError(
                            f"dimension '{want}' is {value} in input '{where}' but {got} in input '{spec.name}'"
                        )
        return {name: value for name, (value, _) in found.items()}

    def to_json(self) -> dict[str, Any]:
        """Plain data for the manifest."""
        sides: dict[str, Any] = {
            side: [[spec.name, list(spec.shape), spec.dtype] for spec in specs]
            for side, specs in (("inputs", self.inputs), ("outputs", self.outputs))
        }
        if self.extents:
            sides["extents"] = self.extents
        if self.random:
            sides["random"] = True
        if self.aliases:
            sides["aliases"] = self.aliases
        return sides

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Signature:
        """The inverse of `to_json`. Raises ValueError, TypeError, KeyError or AttributeError for other data."""
        inputs, outputs = (tuple(_spec(*entry) for entry in data[side]) for side in ("inputs", "outputs"))
        extents = tuple((o, d, p) for o, d, p in data.get("extents", ()))
        aliases = tuple((i, o) for i, o in data.get("aliases", ()))
        if any(not (0 <= i < len(inputs) and 0 <= o < len(outputs)) for i, o in aliases):
            raise ValueError(f"the aliases {aliases} are not of these inputs and outputs")
        return Signature(inputs, outputs, extents, bool(data.get("random", False)), aliases)


def check_alias(given: TensorSpec, made: TensorSpec) -> None:
    """Raises LaminaError where an output is known not to fit the memory of an input."""
    sizes = zip(given.shape, made.shape, strict=False)
    known = "..." not in made.shape
    differ = any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in sizes)
    if given.dtype != made.dtype or (known and (differ or len(given.shape) != len(made.shape))):
        raise LaminaError(
            f"output {made} does not fit the memory of input {given}", hint="both have one shape and one dtype"
        )


def _spec(name: Any, shape: Any, dtype: Any) -> TensorSpec:
    dtype_named(dtype)
    if not isinstance(name, str) or any(not isinstance(d, str) and (type(d) is not int or d < 0) for d in shape):
        raise ValueError(f"'{name}' of shape {shape} is no tensor")
    return TensorSpec(name, tuple(shape), dtype)


def dtype_named(name: str) -> np.dtype[Any]:
    """The dtype called `name`, NumPy's own or one of ml_dtypes.

    >>> dtype_named("int8"), dtype_named("bfloat16")
    (dtype('int8'), dtype(bfloat16))
    """
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes  # few need it, and it takes a while to load

        return np.dtype(getattr(ml_dtypes, name))


@cache
def dtype_name(dtype: np.dtype[Any]) -> str:
    """`dtype.name`, which NumPy spells out anew each time; in another order of bytes, a name of no dtype here."""
    return dtype.name if dtype.isnative else dtype.str


def as_array(value: Any) -> Array:
    """A NumPy view of `value`: an array, anything with `__dlpack__`, or what `np.asarray` takes."""
    if isinstance(value, np.ndarray):
        return cast(Array, value)
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    return np.asarray(value)
