"""Pipelines as text: `a,b{x=1 y=2,3}` or MLIR's `builtin.module(a,b{x=1})`, to passes and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec
from xdsl.utils.arg_spec import parse_pipeline as parse_specs
from xdsl.utils.exceptions import ArgSpecParseError

from .diagnostics import LaminaError

PassTable = Mapping[str, Callable[[], type[ModulePass]]]


def parse_pipeline(text: str, available: PassTable) -> list[ModulePass]:
    """The passes that `text` names, with their options.

    Raises LaminaError for bad syntax, a pass that does not exist (with the likeliest one), or a wrong option.
    """
    try:
        specs = list(parse_specs(_flatten(text)))
    except ArgSpecParseError as error:
        raise LaminaError(f"bad pipeline '{text}': {_reason(error)}", where="pass-pipeline") from None
    unknown = [spec.name for spec in specs if spec.name not in available]
    if unknown:
        raise LaminaError(f"unknown pass '{unknown[0]}'", where="pass-pipeline", hint=_likely(unknown[0], available))
    return [build_pass(spec, available) for spec in specs]


def build_pass(spec: ArgSpec, available: PassTable) -> ModulePass:
    """The pass `spec` describes. Raises LaminaError naming the options the pass has when one does not fit."""
    try:
        class_ = available[spec.name]()
    except ModuleNotFoundError as error:
        raise LaminaError(
            f"pass '{spec.name}' is not part of this installation: {error}", where="pass-pipeline"
        ) from error
    try:
        if not spec.parameters and spec.name == class_.name and _all_optional(class_):
            return class_()
        return class_.from_pass_spec(spec)
    except ValueError as error:
        options = ", ".join(f"{f.name.replace('_', '-')}: {_type_name(f.type)}" for f in dataclasses.fields(class_))
        raise LaminaError(
            f"pass '{spec.name}': {error}", where="pass-pipeline", hint=f"its options: {options or 'none'}"
        ) from error


@cache
def _all_optional(class_: type[ModulePass]) -> bool:
    """Whether a pass needs to be told nothing; what it may be told need not be looked up then, which takes a while."""
    fields = dataclasses.fields(class_)
    return all(f.default is not dataclasses.MISSING or f.default_factory is not dataclasses.MISSING for f in fields)


def format_pipeline(passes: Iterable[ModulePass]) -> str:
    """The text that `parse_pipeline` reads back, in MLIR's form."""
    return f"builtin.module({','.join(str(p.pipeline_pass_spec()) for p in passes)})"


def _type_name(type_: Any) -> str:
    return type_.__name__ if isinstance(type_, type) else str(type_)


def _reason(error: ArgSpecParseError) -> str:
    return str(error).strip().splitlines()[-1].strip()


def _likely(name: str, available: PassTable) -> str:
    close = get_close_matches(name, available, n=1, cutoff=0.5)
    return f"did you mean '{close[0]}'?" if close else "`lamina-opt --list-passes` lists them"


def _flatten(text: str) -> str:
    """`text` without the `builtin.module(...)` around it and without blanks between passes."""
    text = text.strip()
    for anchor in ("builtin.module", "any"):
        if text.startswith(anchor + "(") and text.endswith(")"):
            text = text[len(anchor) + 1 : -1].strip()
    depth, out = 0, ""
    for char in text:
        depth += (char == "{") - (char == "}")
        if char == "(" and depth == 0:
            raise LaminaError(
                f"bad pipeline '{text}': every pass here runs on the whole module",
                where="pass-pipeline",
                hint="write builtin.module(a,b), without a nested pipeline",
            )
        if depth or not char.isspace():
            out += char
    return out
