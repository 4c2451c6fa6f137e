"""Outputs computed in the memory of inputs, as the caches of a decoder: which, by name."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, i64
from xdsl.dialects.func import FuncOp

from ..compiler.diagnostics import LaminaError
from ..compiler.program import ALIAS, Program, main_function
from ..compiler.signature import Signature, check_alias
from .sources import Unsized, whole

_Source = TypeVar("_Source")
ANY = "*"  # in both names: whatever stands there in the input's stands there in the output's


def add_alias_argument(parser: argparse.ArgumentParser) -> None:
    """`--alias`, the same for every command that compiles."""
    parser.add_argument(
        "--alias",
        action="append",
        default=[],
        metavar="INPUT=OUTPUT",
        help="compute an output in the memory of an input, which calls change; 'past.*=present.*' pairs all of a kind",
    )


def parse_aliases(arguments: Sequence[str]) -> dict[str, str]:
    """`INPUT=OUTPUT` arguments. Raises LaminaError for anything else, and an input that is named twice."""
    aliases: dict[str, str] = {}
    for argument in arguments:
        given, _, made = argument.partition("=")
        if not given or not made:
            raise LaminaError(f"'{argument}' is no alias", hint="expected INPUT=OUTPUT")
        if given in aliases:
            raise LaminaError(f"input '{given}' is to hold two outputs")
        aliases[given] = made
    return aliases


def with_aliases(program: _Source, aliases: Mapping[str, str]) -> _Source | Program:
    """A copy of `program` whose inputs say which outputs are computed in their memory; itself where there are none.

    Raises LaminaError for names that are no inputs and outputs, pairs of different types, and functions of open sizes.
    """
    if not aliases:
        return program
    marked = whole(cast("Program | Unsized", program)).clone()
    main = main_function(marked.module)
    assert isinstance(main, FuncOp)
    entries = [dict(entry.data) for entry in main.arg_attrs or [DictionaryAttr({})] * len(main.body.block.args)]
    for given, made in pairs(marked.signature, aliases):
        entries[given][ALIAS] = IntegerAttr(made, i64)
    main.properties["arg_attrs"] = ArrayAttr([DictionaryAttr(entry) for entry in entries])
    return marked


def pairs(signature: Signature, aliases: Mapping[str, str]) -> list[tuple[int, int]]:
    """The places of the inputs, and those of the outputs. Raises LaminaError as `with_aliases` does."""
    inputs, outputs = ({spec.name: i for i, spec in enumerate(side)} for side in (signature.inputs, signature.outputs))
    found: dict[int, int] = {}
    for given, made in aliases.items():
        matched = [(name, part) for name in inputs if (part := _matched(name, given)) is not None]
        if not matched:
            raise LaminaError(f"no input is called '{given}'", hint=f"the model takes {', '.join(inputs) or 'nothing'}")
        if ANY in made and ANY not in given:
            raise LaminaError(f"'{made}' has a {ANY} that '{given}' says nothing about")
        for name, part in matched:
            output = made.replace(ANY, part, 1)
            if output not in outputs:
                raise LaminaError(
                    f"no output is called '{output}'", hint=f"the model gives {', '.join(outputs) or 'nothing'}"
                )
            pair = inputs[name], outputs[output]
            if pair[0] in found or pair[1] in found.values():
                raise LaminaError(f"'{name}' or '{output}' is in two aliases")
            check_alias(signature.inputs[pair[0]], signature.outputs[pair[1]])
            found[pair[0]] = pair[1]
    return list(found.items())


def _matched(name: str, pattern: str) -> str | None:
    """What the star of a pattern stands for in a name, "" where it has none; None where the name is another."""
    before, star, after = pattern.partition(ANY)
    if not star:
        return "" if name == pattern else None
    fits = len(name) >= len(before) + len(after) and name.startswith(before) and name.endswith(after)
    return name[len(before) : len(name) - len(after)] if fits else None
