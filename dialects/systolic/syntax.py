"""Reads the text of an instruction: names with values in any order, what is left out is as by default."""

from __future__ import annotations

from xdsl.parser import Parser

from ...compiler.diagnostics import LaminaError
from .encoding import layout_value
from .fields import Field
from .instructions import LAYOUT_NAMES, LAYOUTS, SPECS, Spec


def parse_values(spec: Spec, parser: Parser) -> list[int]:
    """The values of the fields of an instruction, whose name was read."""
    if spec is SPECS["cfg"]:
        return _parse_configuration(parser)
    fields = {field.name: field for field in spec.payload}
    found: dict[str, int] = {}
    start = parser.pos
    words = {name for name, field in fields.items() if field.kind != "register"}
    verbs = {"wait", "signal"} if spec.has_semaphores else set[str]()
    while (word := parser.parse_optional_keyword_in(words | verbs)) is not None:
        if word in verbs:
            told = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parser.parse_integer())
            if len(told) > 2 or f"{word}0" in found:
                parser.raise_error(f"{spec.name} has two semaphores to {word} for")
            found |= {f"{word}{n}": value for n, value in enumerate(told)}
            continue
        if word in found:
            parser.raise_error(f"'{word}' is told twice")
        found[word] = _parse_value(fields[word], parser)
        if f"{word}_r" in fields and parser.parse_optional_punctuation("+"):
            found[f"{word}_r"] = _parse_register(parser)
    return [_value(field, found, spec, parser, start) for field in spec.fields]


def _value(field: Field, found: dict[str, int], spec: Spec, parser: Parser, start: int) -> int:
    value = found.get(field.name, field.default)
    if value is None:
        parser.raise_error(f"'{field.name}' of {spec.name} is missing", start)
    if not field.low <= value <= field.high:
        parser.raise_error(f"'{field.name}' of {spec.name} is {value}, not from {field.low} to {field.high}", start)
    return value


def _parse_value(field: Field, parser: Parser) -> int:
    if field.kind == "flag":
        return 1
    parser.parse_punctuation("=")
    if field.kind == "choice":
        word = parser.parse_identifier(f" of {', '.join(field.choices)}")
        if word not in field.choices:
            parser.raise_error(f"'{field.name}' is one of {', '.join(field.choices)}, not '{word}'")
        return field.choices.index(word)
    return parser.parse_integer()


def _parse_register(parser: Parser) -> int:
    word = parser.parse_identifier(" r1 to r15")
    if word[:1] != "r" or not word[1:].isdigit() or not 0 < int(word[1:]) < 16:
        parser.raise_error(f"expected an address register, r1 to r15, got '{word}'")
    return int(word[1:])


def _parse_configuration(parser: Parser) -> list[int]:
    """`3 stride(s0=4 d1=0)` or `3 raw(0x7)`, or `3 stride raw(0x7)` for bits that no fields give."""
    start = parser.pos
    reg = parser.parse_integer()
    name = parser.parse_identifier()
    if name not in LAYOUT_NAMES:
        parser.raise_error(f"'{name}' is no layout; one of {', '.join(LAYOUT_NAMES)}", start)
    layout = LAYOUT_NAMES.index(name)
    if name == "raw" or parser.parse_optional_keyword("raw"):
        parser.parse_punctuation("(")
        value = parser.parse_integer()
        parser.parse_punctuation(")")
    else:
        value = _parse_layout(name, parser)
    for field, told in zip(SPECS["cfg"].fields, (reg, layout, value), strict=True):
        if not field.low <= told <= field.high:
            parser.raise_error(f"'{field.name}' is {told}, not from {field.low} to {field.high}", start)
    return [reg, layout, value]


def _parse_layout(name: str, parser: Parser) -> int:
    fields = {field.name: field for field in LAYOUTS[name].fields}
    found: dict[str, int] = {}
    start = parser.pos
    parser.parse_punctuation("(")
    while (word := parser.parse_optional_identifier()) is not None:
        if word not in fields:
            parser.raise_error(f"{name} has no field '{word}'; it has {', '.join(fields)}")
        found[word] = _parse_value(fields[word], parser)
    parser.parse_punctuation(")")
    try:
        return layout_value(name, **found)
    except LaminaError as error:
        parser.raise_error(error.message, start)
