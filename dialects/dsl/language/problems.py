"""What a person reads when a program is wrong: a code, a sentence, the places it concerns, and what to do."""

from __future__ import annotations

from dataclasses import dataclass, field

from .tree import Node, Span


@dataclass(frozen=True)
class Label:
    """A place and what is to be said about it: `K = 64 from x here`."""

    span: Span
    text: str


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong. `code` is a key of `codes.CODES`; `labels[0]` is the place itself."""

    code: str
    message: str
    labels: tuple[Label, ...]
    hint: str = ""
    severity: str = "error"

    @property
    def span(self) -> Span:
        """Where the problem is."""
        return self.labels[0].span


@dataclass
class Problems:
    """What was found so far, each place once for each code."""

    found: list[Problem] = field(default_factory=list[Problem])
    _places: set[tuple[str, Span]] = field(default_factory=set[tuple[str, Span]], repr=False)

    def add(
        self, code: str, message: str, where: Node | Span, *labels: Label, hint: str = "", severity: str = "error"
    ) -> None:
        """Reports a problem at `where`. If no label speaks of that place itself, it gets one without text."""
        span = where.span if isinstance(where, Node) else where
        if not labels or labels[0].span != span:
            labels = (Label(span, ""), *labels)
        if (code, span) not in self._places:
            self._places.add((code, span))
            self.found.append(Problem(code, message, labels, hint, severity))

    @property
    def errors(self) -> list[Problem]:
        """Those that keep a program from being compiled, in the order of the text."""
        wrong = [p for p in self.found if p.severity == "error"]
        return sorted(wrong, key=lambda p: (p.span.file, p.span.start))
