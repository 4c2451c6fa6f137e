"""How a built-in function says that a call is wrong, or that nothing can be said yet."""

from __future__ import annotations

from ...language.tree import Node, Span


def first_line(error: Exception) -> str:
    """What an op's verifier says, in one line."""
    text = str(error).strip().splitlines()
    return text[0].removeprefix("Operation does not verify: ") if text else type(error).__name__


class Failure(Exception):
    """The call is wrong: a problem at `where`."""

    def __init__(self, code: str, message: str, where: Node | Span, hint: str = ""):
        super().__init__(message)
        self.code, self.message, self.where, self.hint = code, message, where, hint


class Undetermined(Exception):
    """The result's type depends on what is only known once dimensions and `const`s are bound."""
