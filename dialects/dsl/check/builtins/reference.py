"""The page of built-in functions, made from the table: `docs/language/builtins.md`."""

from __future__ import annotations

import inspect
import sys

from . import TABLE, Builtin
from .hub_ops import operations, unreachable

_HEAD = """# Built-in functions

What every program can call without an import; the standard library, written in the language itself, builds on it.
Arguments come by position or by name. An axis counts from 0, negative ones from the end; `axis` is one number or
several in brackets, and without it all axes are meant. Numbers written out, dimensions and consts take the dtype of
the tensor they meet; nothing else is cast. A dtype is a function too: `f32(x)` casts.

<!-- made from dialects/dsl/check/builtins; LAMINA_UPDATE=1 pytest test/docs/test_builtins.py writes it anew -->
"""

_HUB = """
## The hub's ops

The hub's ops are called by their names, `stablehlo.<op>` or `chlo.<op>`: operands first, attributes by name as
numbers, lists, text or types, bodies as names of functions (or of the hub's own binary ops: `body="add"`). Dynamic,
collective and deprecated ones are for `.mlir` files: calling them is an error that says so.

```lam
fn sums[M, N](x: f32[M, N]) -> f32[M] = stablehlo.reduce(x, 0.0, dimensions=[1], body="add")
```

Their types are known once dimensions are bound; before that they fit everywhere.

| op | parameters |
|---|---|
"""

_ONNX = """
## ONNX's operators

Every operator of ONNX in its newest version is called as `onnx.<Operator>`, those of other domains as
`onnx.ai.onnx.ml.<Operator>`: inputs by position or by the names of the specification, attributes by name, `outputs=n`
for more than the least number of outputs. Shapes, axes and other inputs that must be known when compiling are written
in place; a dtype stands for the number of a data type.

```lam
fn layer[B, K, N](x: f32[B, K], w: f32[N, K], b: f32[N]) -> f32[B, N] = onnx.Gemm(x, w, b, transB=1)
```
"""


def reference() -> str:
    """The text of the page."""
    chapters: dict[str, dict[str, list[Builtin]]] = {}
    for builtin in TABLE.values():
        doc = inspect.getdoc(sys.modules[builtin.meaning.__module__]) or ""
        title = doc.partition("\n")[0].removeprefix("Built-in ").rstrip(".")
        chapter = chapters.setdefault(title[:1].upper() + title[1:], {})
        chapter.setdefault(builtin.doc + str(builtin.parameters), []).append(builtin)
    parts = [_HEAD]
    for title, chapter in chapters.items():
        parts.append(f"\n## {title}\n\n| function | what it gives |\n|---|---|\n")
        for alike in chapter.values():
            names = ", ".join(f"`{builtin.signature}`" for builtin in alike)
            parts.append(f"| {_cell(names)} | {_cell(' '.join(alike[0].doc.split()))} |\n")
    parts.append(_HUB)
    for name, op in operations().items():
        if name not in unreachable():
            shown = tuple(inspect.signature(op.__init__).parameters.values())[1:]
            inside = Builtin.show("", shown).removeprefix("(").removesuffix(")")
            parts.append(f"| `{name}` | {_cell(f'`{inside}`')} |\n")
    return "".join([*parts, _ONNX])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
