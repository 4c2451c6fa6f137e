"""Changes of text by its words: what still parses gets further than what does not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from random import Random

_TOKEN = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|\d+(?=x)|(?<=\d)x|[%@#!^]?[\w.$]+|\s+|->|=>|::|.", re.DOTALL)
_NUMBERS = """
0 1 -1 2 3 7 8 127 128 255 256 65536 2147483647 2147483648 -2147483648 4294967296 9223372036854775807
-9223372036854775808 18446744073709551616 99999999999999999999999999 1000000 1000000000 1000000000000 0.0 -0.0 1.5
1e999 1e-400 nan inf 0x7F800000 0xFFFFFFFFFFFFFFFFFF ?
"""
MLIR_WORDS = """
func.func @main %0 %arg0 -> : , = ( ) { } [ ] < > ^bb0: #map affine_map<(d0)->(d0)> tensor<2xf32> tensor<?x3xi64>
tensor<*xf32> tensor<0xf32> tensor<4xcomplex<f32>> tensor<1000000x1000000xf32> memref<4xf32>
memref<?xf32,strided<[?],offset:?>> vector<4xf32> vector<[4]xf32> i1 i64 ui8 si4 f16 bf16 f64 f8E4M3FN index none
!tensor !quant.uniform<i8:f32,0.1> dense<0> dense<> dense<[1,2]> dense_resource<x> array<i64:0,-1> loc(unknown)
loc("a":1:1) {a=1} "stablehlo.add" stablehlo.add stablehlo.while return stablehlo.constant unit true @f @main ? * -1
0 9223372036854775807 0xFFFFFFFF 1e999 nan "" "\\FF" // /* {-# #-} module
"""
LAM_WORDS = """
fn let var return for while if else expect test const param model sum max argmax in where step within as f32 i64
bool c64 true inf ( ) [ ] { } , ; : .. ..B = => -> + - * / // % ** @ == ~= ? . .0 " # \\ ' 0 1 -1 1e999 0x_ 1__0 1e-400
99999999999999999999 x x[0] x.y sum[k] [i] => x[i] f[N=4]( stablehlo.add onnx.Relu f32[M,N]
"""
_DEEP = 10_000
_NESTS = ("()", "[]", "{}", "<>", ("[1, ", "]"), ("{a = ", "}"), ("tensor<", ">"), ("tuple<", ">"), ("(a + ", ")"))


@lru_cache(4096)
def tokens(text: str) -> tuple[str, ...]:
    """The words, numbers, strings, blanks and signs of a text; the sizes of a type are numbers.

    >>> tokens('%0 = "a.b"(%x)')
    ('%0', ' ', '=', ' ', '"a.b"', '(', '%x', ')')
    >>> tokens("tensor<2x?xf32>")
    ('tensor', '<', '2', 'x', '?', 'xf32', '>')
    """
    return tuple(_TOKEN.findall(text))


def changed_tokens(dice: Random, data: bytes, others: Sequence[bytes], words: Sequence[str]) -> bytes:
    """A text with one word changed, lost, doubled, moved or replaced by one of its kind; pieces come from `others`."""
    mine = list(tokens(data.decode(errors="replace")))
    places = [i for i, token in enumerate(mine) if not token.isspace()]
    if not places:
        return dice.choice(words).encode()
    at = dice.choice(places)
    match dice.randrange(12):
        case 0:
            del mine[at : at + dice.choice((1, 1, 1, 3, 10))]
        case 1:
            mine[at:at] = mine[at : at + dice.choice((1, 3, 10))] * dice.choice((1, 1, 2, 50))
        case 2:
            other = dice.choice(places)
            mine[at], mine[other] = mine[other], mine[at]
        case 3:
            mine[at:at] = [dice.choice(words), dice.choice(("", " "))]
        case 4 | 5:
            numbers = [i for i in places if mine[i][0].isdigit()]
            if numbers:
                mine[dice.choice(numbers)] = _number(dice)
        case 6:
            mine[at] = dice.choice(words)
        case 7:
            lines = "".join(mine).split("\n")
            line = dice.randrange(len(lines))
            lines[line:line] = dice.sample(lines, min(len(lines), dice.choice((1, 1, 3))))
            mine = ["\n".join(lines)]
        case 8:
            theirs = tokens(dice.choice(others).decode(errors="replace"))
            start = dice.randrange(len(theirs) or 1)
            mine[at:at] = theirs[start : start + dice.choice((1, 5, 30))]
        case 9 if dice.random() < 0.1:
            mine[at:at] = [_deep(dice)]
        case _:
            mine[at] = _like(dice, mine[at], mine, dice.choice(others))
    return "".join(mine).encode()


def _number(dice: Random) -> str:
    return dice.choice(_NUMBERS.split()) if dice.random() < 0.7 else str(dice.randint(-9, 99))


def _like(dice: Random, token: str, mine: Sequence[str], other: bytes) -> str:
    """Another token of the same kind: a name for a name, a number for a number, a sign for a sign."""
    kind = _kind(token)
    pool = mine if dice.random() < 0.6 else tokens(other.decode(errors="replace"))
    alike = [t for t in pool if t != token and _kind(t) == kind]
    return dice.choice(alike) if alike else token


def _kind(token: str) -> str:
    first = token[0]
    return "0" if first.isdigit() else "a" if first.isalpha() else " " if first.isspace() else first


def _deep(dice: Random) -> str:
    """Something inside itself, ten thousand times, closed or not."""
    begin, end = dice.choice(_NESTS)
    depth = dice.choice((100, 1000, _DEEP))
    return begin * depth + (end * depth if dice.random() < 0.7 else "")
