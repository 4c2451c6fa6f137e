"""Problems as a person reads them, with the lines they speak of, and as JSON.

    net.lam:4:10: error[E301]: axis 1 of x and axis 0 of w differ
      |
    4 |   return x @ w
      |          -   - K = 128 from w here
      |          |
      |          K = 64 from x here
      = did you mean ...

The place itself is marked with `^`, others with `-`. Places in other lines and files get their lines too.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from .problems import Label, Problem
from .tree import Span

TAB = "    "
LONGEST = 160  # columns of a source line that are shown
_COLORS = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "mark": "\x1b[1;34m", "bold": "\x1b[1m", "": ""}


def render(problems: Iterable[Problem], texts: Mapping[str, str], color: bool = False) -> str:
    """The problems, an empty line between them. `texts` has the files' texts by name; `color` for a terminal."""
    return "\n\n".join(_Renderer(texts, color).problem(problem) for problem in problems)


def to_json(problems: Iterable[Problem]) -> str:
    """The problems as a JSON list: code, severity, message, hint, and labels with file, line, column and end.

    Lines and columns count from 1 in characters, `start` and `end` are offsets from 0; the first label is the place
    itself.
    """
    return json.dumps(
        [
            {
                "code": problem.code,
                "severity": problem.severity,
                "message": problem.message,
                "hint": problem.hint,
                "labels": [{**label.span._asdict(), "text": label.text} for label in problem.labels],
            }
            for problem in problems
        ],
        indent=1,
        ensure_ascii=False,
    )


@dataclass(frozen=True)
class _Mark:
    """Columns `begin` to `end` of a shown line, what to draw below them, and what to say."""

    begin: int
    end: int
    letter: str
    text: str


class _Renderer:
    def __init__(self, texts: Mapping[str, str], color: bool):
        self.texts = texts
        self.color = color

    def paint(self, text: str, how: str) -> str:
        return f"{_COLORS[how]}{text}\x1b[0m" if self.color and text else text

    def problem(self, problem: Problem) -> str:
        span = problem.span
        severity = problem.severity if problem.severity in _COLORS else "error"
        head = self.paint(f"{severity}[{problem.code}]", severity)
        lines = [f"{span.file}:{span.line}:{span.column}: {head}: {self.paint(problem.message, 'bold')}"]
        shown = [label for label in problem.labels if label.span.file in self.texts and label.span.line > 0]
        width = max((len(str(label.span.line)) for label in shown), default=1)
        gutter = f"{' ' * width} |"
        by_file = sorted(shown, key=lambda label: (label.span.file != span.file, label.span.file, label.span.line))
        for file, labels in groupby(by_file, key=lambda label: label.span.file):
            lines.append(gutter if file == span.file else f"{' ' * width} > {file}")
            before = 0
            for number, here in groupby(labels, key=lambda label: label.span.line):
                if before and number > before + 1:
                    lines.append(f"{'…':>{width}} |")
                before = number
                source = _line(self.texts[file], number)
                text, marks = _shown(source, list(here), problem)
                lines.append(f"{number:>{width}} | {text}".rstrip())
                lines += [f"{gutter} {below}" for below in self.below(marks, severity)]
        if problem.hint:
            lines.append(f"{' ' * width} = {problem.hint}")
        return "\n".join(lines)

    def below(self, marks: Sequence[_Mark], severity: str) -> list[str]:
        """The lines under a source line: the marks, the last one's text beside them, the others' texts below."""
        marks = sorted(marks, key=lambda mark: (mark.begin, mark.end))
        row = [" "] * max(mark.end for mark in marks)
        for mark in sorted(marks, key=lambda mark: mark.letter == "^"):
            row[mark.begin : mark.end] = mark.letter * (mark.end - mark.begin)
        last = marks[-1]
        drawn = "".join(row)
        lines = [self.marked(drawn, severity) + (f" {last.text}" if last.text else "")]
        open_ = [mark for mark in marks[:-1] if mark.text]
        if open_:
            lines.append(self.paint(_bars(open_), "mark"))
        while open_:
            mark = open_.pop()
            lines.append(self.paint(_bars(open_).ljust(mark.begin), "mark") + mark.text)
        return lines

    def marked(self, drawn: str, severity: str) -> str:
        if not self.color:
            return drawn
        parts = ("".join(group) for _, group in groupby(drawn))
        return "".join(self.paint(p, severity if p[0] == "^" else "mark") if p[0] != " " else p for p in parts)


def _bars(marks: Sequence[_Mark]) -> str:
    row = [" "] * (max((mark.begin for mark in marks), default=-1) + 1)
    for mark in marks:
        row[mark.begin] = "|"
    return "".join(row)


def _line(text: str, number: int) -> str:
    lines = text.split("\n")
    return lines[number - 1].rstrip("\r") if number <= len(lines) else ""


def _width(letter: str) -> int:
    if letter == "\t":
        return len(TAB)
    if unicodedata.combining(letter) or not letter.isprintable():
        return 0 if unicodedata.combining(letter) else 1
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _shown(source: str, labels: Sequence[Label], problem: Problem) -> tuple[str, list[_Mark]]:
    """A source line as it is printed, cut around the labels if it is very long, and its marks."""
    first = min(label.span.column - 1 for label in labels)
    begin = 0 if len(source) <= LONGEST else max(0, min(first - LONGEST // 4, len(source) - LONGEST))
    part = source[begin : begin + LONGEST]
    columns = [0]
    for letter in part:
        columns.append(columns[-1] + _width(letter))
    lead = "…" if begin else ""
    text = "".join(TAB if c == "\t" else c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in part)
    marks: list[_Mark] = []
    for label in labels:
        start, end = _within(label.span, source)
        a, b = (columns[min(max(at - begin, 0), len(part))] for at in (start, end))
        letter = "^" if label.span == problem.span else "-"
        marks.append(_Mark(a + len(lead), max(b, a + 1) + len(lead), letter, label.text))
    return lead + text + ("…" if begin + LONGEST < len(source) else ""), marks


def _within(span: Span, source: str) -> tuple[int, int]:
    """The columns of a span in its first line; at least one, to the line's end if it goes on below."""
    start = min(span.column - 1, len(source))
    return start, max(start + 1, min(start + span.end - span.start, len(source)))
