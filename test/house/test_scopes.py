"""Comprehensions do not take the name of what a function around their own has, where a function inside uses that.

CPython 3.12 and later run comprehensions inside of the function that they are in. The function inside then finds
nothing under that name: a NameError, and on 3.11 none.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp


def names(nodes: Iterator[ast.AST], kind: type[ast.expr_context]) -> set[str]:
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, kind)}


def scope(function: ast.AST, into: bool = True) -> Iterator[ast.AST]:
    """What is in a function and in no function, and if not `into` no comprehension, inside of it."""
    rest = [*ast.iter_child_nodes(function)]
    while rest:
        node = rest.pop()
        yield node
        if not isinstance(node, FUNCTIONS) and (into or not isinstance(node, COMPREHENSIONS | ast.GeneratorExp)):
            rest += ast.iter_child_nodes(node)


def shadowed(tree: ast.AST, around: frozenset[str] = frozenset()) -> Iterator[tuple[int, str]]:
    """The lines of functions whose comprehensions hide a name, and the name."""
    for inside in [node for node in scope(tree) if isinstance(node, FUNCTIONS)]:
        own = names(scope(inside, into=False), ast.Store)
        own |= {node.arg for node in ast.walk(inside.args) if isinstance(node, ast.arg)}
        each = [node for node in scope(inside) if isinstance(node, COMPREHENSIONS)]
        hiding = {name for node in each for part in node.generators for name in names(ast.walk(part.target), ast.Store)}
        nested = [node for node in scope(inside) if isinstance(node, FUNCTIONS)]
        used = {name for node in nested for name in names(ast.walk(node), ast.Load)}
        yield from ((inside.lineno, name) for name in sorted(hiding & used & around - own))
        yield from shadowed(inside, around | own)


def test_comprehensions_hide_nothing() -> None:
    code = "def f(x):\n  def g():\n    y = [x for x in 'ab']\n    return lambda: x, y\n  return g"
    assert list(shadowed(ast.parse(code))) == [(2, "x")]
    found = [
        (str(path), *each)
        for folder in ("compiler", "dialects", "passes", "backends", "tools", "test")
        for path in (ROOT / folder).rglob("*.py")
        for each in shadowed(ast.parse(path.read_text()))
    ]
    assert not found
