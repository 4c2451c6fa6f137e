"""`--verify-diagnostics`: the input says in comments which diagnostics it should cause, and where.

    %0 = foo.bar  // expected-error {{there is no dialect 'foo'}}
    // expected-remark@+1 {{fused with}}
    // expected-note@above {{see the operand's definition here}}
    // expected-error-re@+1 {{no operator in opset {{[0-9]+}}}}

The text in braces must occur in the message; with `-re`, what braces inside of it hold are regular expressions. Every
expectation must be met once, every diagnostic expected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .diagnostics import Diagnostic, LaminaError

_EXPECTATION = re.compile(
    r"expected-(?P<severity>error|warning|remark|note)(?P<regex>-re)?\s*"
    r"(?:@(?P<where>above|below|unknown|[+-]\d+))?\s*\{\{(?P<text>(?:\{\{.*?\}\}|(?!\}\}).)*)\}\}"
)
_REGEX = re.compile(r"\{\{(.*?)\}\}")


@dataclass
class Expectation:
    """A diagnostic that line `line` should cause; line 0 is "anywhere"."""

    severity: str
    line: int
    pattern: re.Pattern[str]
    text: str
    stated_at: int
    met: bool = False

    def matches(self, diagnostic: Diagnostic) -> bool:
        """Whether `diagnostic` is the one expected."""
        return (
            not self.met
            and self.severity == diagnostic.severity
            and self.line in (0, diagnostic.line)
            and self.pattern.search(diagnostic.message) is not None
        )


def expectations(text: str) -> list[Expectation]:
    """The expectations that `text` states in its comments.

    >>> [(e.line, e.text) for e in expectations("// expected-error@+1 {{no}}\\nfoo")]
    [(2, 'no')]
    """
    found: list[Expectation] = []
    pending: list[Expectation] = []  # @below: for the next line that is not a comment of expectations
    for number, line in enumerate(text.split("\n"), 1):
        matches = list(_EXPECTATION.finditer(line)) if "expected-" in line else []
        if not matches and line.strip():
            for expectation in pending:
                expectation.line = number
            pending.clear()
        for match in matches:
            pattern = _regex(match["text"], number) if match["regex"] else re.compile(re.escape(match["text"]))
            expectation = Expectation(match["severity"], number, pattern, match["text"], number)
            where = match["where"]
            if where == "below":
                pending.append(expectation)
            elif where == "above":
                expectation.line = _last_plain_line(text, number)
            elif where == "unknown":
                expectation.line = 0
            elif where:
                expectation.line += int(where)
            found.append(expectation)
    return found


def _regex(text: str, number: int) -> re.Pattern[str]:
    """What a text stands for whose parts in double braces are regular expressions, as in MLIR."""
    parts = _REGEX.split(text)  # literal ones and the others take turns
    try:
        return re.compile("".join(f"(?:{part})" if i % 2 else re.escape(part) for i, part in enumerate(parts)))
    except re.error as error:
        raise LaminaError(f"no regular expression: {error}", where=f"line {number}: {text}") from error


def _last_plain_line(text: str, number: int) -> int:
    lines = text.split("\n")
    for candidate in range(number - 1, 0, -1):
        line = lines[candidate - 1]
        if line.strip() and not ("expected-" in line and line.lstrip().startswith("//")):
            return candidate
    return number - 1


def unmet(text: str, file: str, diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """What differs between the expectations in `text` and the diagnostics it caused: one error for each."""
    expected = expectations(text)
    faults: list[Diagnostic] = []
    for diagnostic in _with_notes(diagnostics):
        match = next((e for e in expected if e.matches(diagnostic)), None)
        if match is not None:
            match.met = True
        elif diagnostic.severity != "note":  # as in MLIR, a note needs no expectation of its own
            message = f"unexpected {diagnostic.severity}: {diagnostic.message}"
            faults.append(Diagnostic("error", message, file, diagnostic.line, diagnostic.column, diagnostic.place))
    for e in expected:
        if not e.met:
            place = f"{file}:{e.stated_at}:1"
            message = f'expected {e.severity} "{e.text}" was not produced'
            faults.append(Diagnostic("error", message, file, e.stated_at, 1, place))
    return faults


def _with_notes(diagnostics: list[Diagnostic]) -> Iterator[Diagnostic]:
    for diagnostic in diagnostics:
        yield diagnostic
        yield from _with_notes(list(diagnostic.notes))
