"""Syntax errors in human words: what stands there, what could have stood there, what may have been meant."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence

from .lexing import DEFINITIONS, STATEMENTS, Token
from .tables import END

# Words of other languages, and what is written here.
FOREIGN = {
    "def": "fn", "func": "fn", "function": "fn", "fun": "fn", "val": "let", "auto": "let", "mut": "var",
    "assert": "expect", "foreach": "for", "until": "while", "ret": "return", "yield": "return", "use": "import",
    "define": "const", "constant": "const", "parameter": "param", "otherwise": "else",
}  # fmt: skip

_KINDS = {
    "NAME": "a name",
    "DOTTED": "a name",
    "NUMBER": "a number",
    "STRING": "a string",
    "REDUCER": "a reduction",
    "SEP": "the end of the line",
    END: "the end of the file",
    "ITEM": "an item like `.0`",
}
_VALUES = frozenset(
    ("NAME", "DOTTED", "NUMBER", "STRING", "REDUCER", "(", "[", "-", "~", "not", "if", "inf", "nan", "true", "false")
)
_OPERATORS = frozenset(
    ("+", "-", "*", "/", "//", "%", "@", "**", "|", "^", "&", "<<", ">>", "==", "!=", "<", "<=", ">", ">=", "and", "or")
)
_COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))
_FOLLOWING = frozenset(("(", "[", "ITEM", "?"))
_UPDATES = frozenset(("+=", "-=", "*=", "/="))


def near_word(text: str, allowed: Collection[str]) -> str | None:
    """The word of the language that was meant by a text, out of those that could stand in its place."""
    if FOREIGN.get(text) in allowed:
        return FOREIGN[text]
    if len(text) < 2:
        return None
    near = difflib.get_close_matches(text.lower(), sorted(allowed), 1, 0.7)
    return near[0] if near else None


def shown(token: Token) -> str:
    """A token in a sentence."""
    if token.kind == "SEP":
        return "the end of the line" if token.text == "\n" else "`;`"
    if token.kind == END:
        return "the end of the file"
    if not token.text:
        return "the end of the line" if token.kind == "}" else f"a missing `{token.kind}`"
    text = token.text if len(token.text) <= 30 else token.text[:27] + "…"
    return text if token.kind == "STRING" else f"`{text}`"


def expectation(expected: Collection[str]) -> str:
    """The kinds of token that could stand somewhere: `an expression or "]"`, few words for many kinds."""
    left = set(expected)
    parts: list[str] = []
    if left >= STATEMENTS:
        parts.append("a statement")
        left -= STATEMENTS | {"NAME", "if"}
    if left >= DEFINITIONS:
        parts.append("a definition (`fn`, `const`, `param`, `model`, `import` or `test`)")
        left -= DEFINITIONS
    if left >= {"NAME", "NUMBER", "("}:
        parts.append("an expression")
        left -= _VALUES
    if left >= {"+", "*"}:
        parts.append("an operator")
        left -= _OPERATORS | _FOLLOWING | _UPDATES | {"REDUCER"}
    if left >= _UPDATES:
        left -= _UPDATES | {"REDUCER"}
    parts += [_KINDS[kind] for kind in _KINDS if kind in left and _KINDS[kind] not in parts]
    parts += [f"`{kind}`" for kind in sorted(left - _KINDS.keys())]
    parts = list(dict.fromkeys(parts))
    if len(parts) > 1:
        return f"{', '.join(parts[:-1])} or {parts[-1]}"
    return parts[0] if parts else "nothing"


def advice(token: Token, before: Sequence[Token], expected: Collection[str]) -> tuple[str, str, str]:
    """What may have been meant: code, message and hint; the message is empty where there is nothing special to say.

    `before` are the tokens of the statement that came already.
    """
    words = [each.kind for each in before]
    last = words[-1] if words else ""
    at_start = "let" in expected and "return" in expected
    of_file = "fn" in expected and "let" not in expected
    if of_file and (token.kind in STATEMENTS or token.kind in ("NAME", "if")):
        hint = "a value of the whole file is written `const x = …`" if token.kind in ("let", "var", "NAME") else ""
        return "E018", f"expected a definition, found {shown(token)}: statements stand inside of functions", hint
    if token.kind in _COMPARISONS and any(word in _COMPARISONS for word in words):
        return "E019", "comparisons cannot be chained", "write `a < b and b < c`"
    if token.kind == "REDUCER" and "NAME" in expected and "(" not in expected:
        return "E002", f"`{token.text}` is a reduction, which cannot name anything else", "choose another name"
    if last == "REDUCER" and set(expected) == {"(", "["}:
        name = before[-1].text
        return "E002", f"`{name}` is a reduction and no value", f"write `{name}(x)` or `{name}[i] x[i]`"
    if words == ["NAME"] and before[0].text in ("break", "continue"):
        message = f"there is no `{before[0].text}`: a loop ends when its condition does"
        return "E017", message, "carry a `var going = true` and loop `while going { … }`"
    value_alone = words[:1] in (["NAME"], ["REDUCER"], ["DOTTED"]) and "=" not in words
    if value_alone and (token.kind == "(" or ("=" in expected and token.kind in ("SEP", "}", END))):
        message = "this line has no effect: its value is neither named nor returned"
        return "E017", message, f"`let y = {before[0].text}…` names it, `return` gives it back"
    if at_start and token.kind in ("DOTTED", "NUMBER", "REDUCER", "(", "[", "STRING", "-", "~", "not"):
        message = f"expected a statement, found {shown(token)}"
        return "E017", message, "a value alone has no effect: `let y = …` names it, `return` gives it back"
    hint = ""
    if token.kind == "=" and ("==" in expected or words[:1] in (["if"], ["while"], ["expect"])):
        hint = "equality is written `==`"
    elif token.kind == "?" or (token.kind == "if" and "+" in expected) or set(expected) == {"else"}:
        hint = "a choice is written `if c { a } else { b }`"
    elif token.kind == ":" and "{" in expected:
        hint = "a block is written in `{ }`"
    elif token.kind == "ITEM" and "NUMBER" in expected:
        hint = f"a number begins with a digit: `0{token.text}`"
    elif words[:1] == ["for"] and ".." in expected and token.kind == "{":
        hint = "a loop runs over a range: `for t in 0..N`"
    elif words[:1] == ["import"] and token.kind in ("NAME", "DOTTED"):
        hint = f'a file is imported by its path: `import "{token.text}.lam"`'
    elif token.kind == "NAME" and token.text in ("elif", "elsif", "elseif"):
        hint = "write `else if`"
    elif words[:1] == ["fn"] and set(expected) == {":"}:
        hint = "a parameter is a name and its type: `x: f32[3]`"
    elif "," in expected and ")" in expected and token.kind in _VALUES:
        hint = "arguments are separated by `,`"
    elif token.kind == "else":
        hint = "an `else` follows the `}` of an `if`"
    elif last == "//" or ("//" in words and token.kind in ("NAME", "SEP")):
        hint = "comments begin with `#`; `//` divides"
    elif token.kind in ("**", "*", "/") and last == token.kind:
        hint = "a power is written `a ** b`"
    elif token.kind == "fn":
        hint = "functions stand at the top of the file, not inside of each other"
    elif token.kind == "const" and "let" in expected:
        hint = "inside of functions every `let` is constant"
    return "E002", "", hint
