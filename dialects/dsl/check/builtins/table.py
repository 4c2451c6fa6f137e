"""The table of built-in functions, and how their arguments are read.

    @builtin("concat")
    def concat(b: Builder, tensors: Values, axis: int = 0) -> Value: ...

The signature is the function's specification: the names are those of the language, and the annotations say what an
argument may be: `Value` a tensor, `Values` a list of them, `int`, `bool`, `str` and `Ints` what is known when
compiling, `Dim`, `Dims` and `Pairs` dimensions (which may be symbols), `Type` a tensor type, `Function` a function's
name. Parameters after `*` are given by name only.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

from ..dims import Dim
from ..types import TensorType
from ..values import Value

Values: TypeAlias = list[Value]
Ints: TypeAlias = "tuple[int, ...]"
Axes: TypeAlias = "int | tuple[int, ...] | None"
Dims: TypeAlias = "tuple[Dim, ...]"
Pairs: TypeAlias = "tuple[tuple[Dim, Dim], ...]"
Type: TypeAlias = TensorType
Number: TypeAlias = "int | float | bool"
Meaning = Callable[..., Any]
MeaningT = TypeVar("MeaningT", bound=Meaning)


@dataclass(frozen=True)
class Builtin:
    """One built-in function."""

    name: str
    meaning: Meaning

    @cached_property
    def parameters(self) -> tuple[inspect.Parameter, ...]:
        """Those a caller sees."""
        return tuple(inspect.signature(self.meaning).parameters.values())[1:]

    @property
    def doc(self) -> str:
        """What it does, in a sentence."""
        return inspect.getdoc(self.meaning) or ""

    @property
    def signature(self) -> str:
        """`concat(tensors, axis=0)`, for hover and messages."""
        return self.show(self.name, self.parameters)

    @staticmethod
    def show(name: str, parameters: Sequence[inspect.Parameter]) -> str:
        """A call as the language writes it."""
        shown: list[str] = []
        for p in parameters:
            if p.kind is p.VAR_POSITIONAL:
                shown.append(f"{p.name}, …")
            elif p.kind is p.VAR_KEYWORD:
                shown.append("name=…")
            elif p.default is p.empty:
                shown.append(p.name)
            elif p.default is None:
                shown.append(f"{p.name}=…")
            else:
                text = f'"{p.default}"' if isinstance(p.default, str) else str(p.default)
                shown.append(f"{p.name}={text.lower() if isinstance(p.default, bool) else text}")
        return f"{name}({', '.join(shown)})"


TABLE: dict[str, Builtin] = {}


def builtin(*names: str) -> Callable[[MeaningT], MeaningT]:
    """Puts the decorated function into the table under these names."""

    def register(meaning: MeaningT) -> MeaningT:
        for name in names:
            assert name not in TABLE, name
            TABLE[name] = Builtin(name, meaning)
        return meaning

    return register
