"""Random calls of built-in functions, hub ops and operators: right or wrong, but never a traceback."""

from __future__ import annotations

import inspect
import random

import pytest

from lamina.compiler.verifier import verify
from lamina.dialects.dsl.check.builtins import TABLE, operations, operator_names
from lamina.dialects.dsl.language.codes import CODES
from lamina.dialects.dsl.load import ProgramError, bind, check, instantiate, load_file
from lamina.tools.sources import new_context

HEAD = """
fn g(a: f32, b: f32) -> f32 = a + b
fn h(x: f32[2, 3]) -> (f32[2, 3], i64) { return x, 1 }
fn main[N, T: any, ..S](x: f32[N, 3], y: f32[3, N], i: i32[2], b: bool[2], c: c64[4], z: f32[0, 2], s: f32, e: T[..S],
    u: u8[3], k: const int = 1, r: const float = 0.5) = """
INPUTS = [
    ("f32", (2, 3)),
    ("f32", (3, 2)),
    ("i32", (2,)),
    ("bool", (2,)),
    ("c64", (4,)),
    ("f32", (0, 2)),
    ("f32", ()),
    ("i8", (2, 2)),
    ("u8", (3,)),
]
WORDS = """
x x x y i b c z s e u k r g h exp N 2*N 1 0 -1 2.5 true inf nan 99 -99 f32 i32 f32[2,3] [1,2] [x,x] [x,y] [] [[1]]
[[1,1],[0,2]] (x,y) [N,3] [N,-1] [0] [-1,0] [1,0] [0,1,2] sum(x) nosuch x[0] h(x) () [[1,2],[3]] [0,0]
"""
ARGUMENTS = [*WORDS.split(), '"a b -> b a"', '"max"', '""', '"(a"']


def call(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.7:
        name = rng.choice(list(TABLE))
        names = [p.name for p in TABLE[name].parameters]
    elif kind < 0.9:
        name = rng.choice(list(operations()))
        names = list(inspect.signature(operations()[name].__init__).parameters)[1:]
    else:
        name, names = rng.choice(operator_names()), ["axis", "perm", "to", "A", "X"]
    given: list[str] = []
    for position in range(rng.choice((1, 1, 1, 2, 2, 3))):
        argument = rng.choice(ARGUMENTS) if position or rng.random() < 0.7 else "x"
        given.append(f"{rng.choice(names)}={argument}" if names and rng.random() < 0.25 else argument)
    return f"{name}({', '.join(given)})"


def outcome(expression: str) -> list[str]:
    """The codes of what is wrong with a call."""
    files = load_file(HEAD + expression)
    found = check(files).errors
    if not found:
        try:
            verify(instantiate(files, bind(files, "main", INPUTS), new_context()))
        except ProgramError as error:
            found = error.problems.errors
    return [problem.code for problem in found]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(10))
def test_random_calls(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(60):
        assert set(outcome(call(rng))) <= set(CODES)
