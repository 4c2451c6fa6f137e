"""The table of ATen's operators: how each is written in hub ops.

    @lowers("add.Tensor", "add.Scalar")
    def add(b: AtenBuilder, x: Operand, other: Operand, *, alpha: Number = 1) -> Value:
        ...

A name is the operator's and its overload's, `.default` left out. The parameters are those of the operator's schema, in
its order and with its defaults: values of the hub where PyTorch has tensors, plain numbers and lists else, element
types of the IR where it has a dtype. What says only where or how a tensor lies in memory (`device`, `layout`,
`memory_format`, ...) is never passed on. The result is the operator's outputs, or just the one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from inspect import Parameter, signature
from typing import Any, TypeVar

from ....compiler.diagnostics import LaminaError

Lowering = Callable[..., Any]
LoweringT = TypeVar("LoweringT", bound=Lowering)

CHAPTERS = (
    "elementwise",
    "complex_numbers",
    "fourier",
    "activation",
    "creation",
    "shape",
    "selection",
    "indexing",
    "embedding_bag",
    "reduction",
    "contraction",
    "attention",
    "convolution",
    "pooling",
    "normalization",
    "recurrent",
    "sorting",
    "resizing",
    "sampling",
)

IMMATERIAL = frozenset({"device", "layout", "memory_format", "pin_memory", "requires_grad", "non_blocking", "copy"})
"""Arguments that do not change what is computed."""


@dataclass(frozen=True)
class Entry:
    """One lowering and what its signature says of the operator: read when it is asked for, as most never are."""

    function: Lowering

    @cached_property
    def positional(self) -> int:
        """How many arguments it takes by place."""
        return sum(1 for p in self._parameters if p.kind is Parameter.POSITIONAL_OR_KEYWORD)

    @cached_property
    def keywords(self) -> frozenset[str]:
        """The names of all that it takes."""
        return frozenset(p.name for p in self._parameters)

    @cached_property
    def _parameters(self) -> Sequence[Parameter]:
        return list(signature(self.function).parameters.values())[1:]


_table: dict[str, Entry] = {}


def lowers(*names: str) -> Callable[[LoweringT], LoweringT]:
    """Registers the decorated function for the operators `names`. Raises LaminaError when one has a lowering."""

    def register(function: LoweringT) -> LoweringT:
        entry = Entry(function)
        for name in names:
            if name in _table:
                raise LaminaError(f"aten.{name} has a lowering in {_table[name].function.__module__} already")
            _table[name] = entry
        return function

    return register


def find(name: str) -> Entry | None:
    """The lowering of an operator, None when there is none."""
    _load_chapters()
    return _table.get(name)


def operators() -> Sequence[str]:
    """Every operator of the table, sorted."""
    _load_chapters()
    return sorted(_table)


@cache
def _load_chapters() -> None:
    for chapter in CHAPTERS:
        import_module(f".{chapter}", __package__)
