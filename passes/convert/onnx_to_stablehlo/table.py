"""The table of operators: how each is written in hub ops.

    @lowers("Gemm", since=13)
    def gemm(b: GraphBuilder, a: Value, w: Value, c: Value | None = None, *, alpha=1.0, beta=1.0, transA=0, transB=0):
        ...

The function's signature is the operator's specification: positional parameters are inputs (None where left out),
keyword-only parameters are attributes with their defaults. It returns the operator's outputs, or just the first.
Where an operator changed, the newest `since` not above the model's opset is used. Packages add operators of their
own domains through the entry point group `lamina.lowerings`, whose entries are modules that use this decorator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from inspect import Parameter, signature
from typing import Any, TypeVar

from ....compiler.diagnostics import Diagnostic, LaminaError
from ....compiler.plugins import load_group
from ....dialects.onnx.schemas import DEFAULT_DOMAIN

Lowering = Callable[..., Any]
LoweringT = TypeVar("LoweringT", bound=Lowering)
PLUGIN_GROUP = "lamina.lowerings"

# ONNX's own chapters, each a module of this package
CHAPTERS = (
    "elementwise",
    "logical",
    "control",
    "activation",
    "shape",
    "indexing",
    "generator",
    "randomness",
    "reduction",
    "contraction",
    "attention",
    "convolution",
    "pooling",
    "normalization",
    "recurrent",
    "states",
    "sorting",
    "resizing",
    "sampling",
    "signal",
    "selection",
    "suppression",
    "text",
    "training",
    "ml",
    "linear_models",
    "svm",
    "tree_ensembles",
    "quantization",
    "contrib",
    "contrib_attention",
    "contrib_delta",
    "contrib_embedding",
    "contrib_experts",
    "contrib_gated",
    "contrib_grouped",
    "contrib_quantized",
    "contrib_quantized_attention",
    "contrib_quantized_experts",
    "contrib_recurrent",
)


@dataclass(frozen=True)
class Entry:
    """One lowering and what its signature says of the operator: read when it is asked for, as most never are."""

    since: int
    function: Lowering

    @cached_property
    def inputs(self) -> int:
        """How many positional inputs it names."""
        return len(self._places)

    @cached_property
    def variadic(self) -> bool:
        """Whether it takes any number of inputs."""
        return any(p.kind is Parameter.VAR_POSITIONAL for p in self._parameters)

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The names of the inputs that must be there, "" for the others."""
        return tuple("" if p.default is None or "None" in str(p.annotation) else p.name for p in self._places)

    @cached_property
    def attributes(self) -> Mapping[str, str]:
        """Their types, as the signature says them."""
        return {p.name: str(p.annotation) for p in self._named}

    @cached_property
    def required_attributes(self) -> frozenset[str]:
        """The names of the attributes that have no default."""
        return frozenset(p.name for p in self._named if p.default is Parameter.empty)

    @cached_property
    def takes_any_attribute(self) -> bool:
        """Whether it takes attributes that it does not name."""
        return any(p.kind is Parameter.VAR_KEYWORD for p in self._parameters)

    @property
    def origin(self) -> str:
        """The module it is written in."""
        return self.function.__module__

    @cached_property
    def _parameters(self) -> Sequence[Parameter]:
        return list(signature(self.function).parameters.values())[1:]

    @property
    def _places(self) -> Sequence[Parameter]:
        return [p for p in self._parameters if p.kind is Parameter.POSITIONAL_OR_KEYWORD]

    @property
    def _named(self) -> Sequence[Parameter]:
        return [p for p in self._parameters if p.kind is Parameter.KEYWORD_ONLY]


_table: dict[tuple[str, str], list[Entry]] = {}


def lowers(*names: str, since: int = 1, domain: str = DEFAULT_DOMAIN) -> Callable[[LoweringT], LoweringT]:
    """Registers the decorated function for the operators `names` of `domain` from opset `since` on.

    Raises LaminaError when there is one already for that operator and opset.
    """

    def register(function: LoweringT) -> LoweringT:
        entry = Entry(since, function)
        for name in names:
            entries = _table.setdefault((domain, name), [])
            for other in entries:
                if other.since == since:
                    raise LaminaError(f"{other.origin} and {entry.origin} both lower {domain}.{name} since {since}")
            entries.append(entry)
            entries.sort(key=lambda e: -e.since)
        return function

    return register


def find(domain: str, name: str, opset: int) -> Entry | None:
    """The newest lowering not above `opset`, None when there is none."""
    _load_chapters()
    return next((e for e in _table.get((domain, name), ()) if e.since <= opset), None)


def operators() -> Sequence[tuple[str, str, int]]:
    """Every (domain, operator, since) of the table, sorted."""
    _load_chapters()
    return sorted((domain, name, e.since) for (domain, name), entries in _table.items() for e in entries)


@cache
def broken_plugins() -> tuple[Diagnostic, ...]:
    """A warning for every installed package whose operators do not load; the others' are in the table."""
    warnings: list[Diagnostic] = []
    load_group(PLUGIN_GROUP, warnings.append)
    return tuple(warnings)


@cache
def _load_chapters() -> None:
    for chapter in CHAPTERS:
        import_module(f".{chapter}", __package__)
    broken_plugins()
