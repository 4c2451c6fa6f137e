"""Programs with wrong bytes in them are told what is wrong: never a traceback, never a wait.

Each case has a number from which all of it follows: `python test/property/test_dsl_mutations.py 17 18` shows the cases
17 and 18. `LAMINA_MUTATIONS=100000 pytest -m slow test/property/test_dsl_mutations.py` runs as many fresh ones, from
the number `LAMINA_MUTATIONS_FROM` on, or from one by the clock.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from lamina.dialects.dsl.language.formatting import format_text
from lamina.dialects.dsl.language.rendering import render
from lamina.dialects.dsl.load import check, load_file

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 2.0  # seconds of the processor for one program
WORDS = """
fn let var return for while if else expect test const param model import sum max argmax in where step within as f32 i64
bool c64 true inf ( ) [ ] { } , ; : .. ..B = => -> + - * / // % ** @ == ~= ? . .0 " # \\ ' 0 1 -1 1e999 0x_ 1__0 1e-400
99999999999999999999 x x[0] x.y sum[k] [i] => x[i] f[N=4]( stablehlo.add onnx.Relu f32[M,N]
"""


@cache
def words() -> tuple[str, ...]:
    """What is put in between."""
    return (*WORDS.split(), "\n", "\t", "\0", "\ufeff", "\u2028")


@cache
def programs() -> tuple[bytes, ...]:
    """All programs of the tree, right and wrong."""
    return tuple(p.read_bytes() for top in ("dialects", "test") for p in sorted((ROOT / top).rglob("*.lam")))


def mutant(number: int) -> bytes:
    """A program with one to eight changes."""
    dice = random.Random(number)
    data = bytearray(dice.choice(programs()))
    for _ in range(dice.choice((1, 1, 1, 2, 3, 5, 8))):
        data = bytearray(changed(dice, data))
    return bytes(data)


def changed(dice: random.Random, data: bytearray) -> bytes:
    """The bytes with one change."""

    def place() -> int:
        return dice.randint(0, len(data))

    def chunk() -> tuple[int, int]:
        begin = place()
        return begin, min(len(data), begin + dice.choice((1, 1, 2, 4, 8, 30, 200)))

    a, b = chunk()
    match dice.randrange(10):
        case 0 if data:
            data[a % len(data)] ^= 1 << dice.randrange(8)
            return data
        case 1 if data:
            data[a % len(data)] = dice.randrange(256)
            return data
        case 2:
            return data[:a] + data[b:]
        case 3:
            return data[:b] + data[a:b] * dice.choice((1, 1, 1, 2, 300 // (b - a + 1))) + data[b:]
        case 4:
            return data[:a] + dice.randbytes(dice.choice((1, 2, 9))) + data[a:]
        case 5 | 6:
            return (
                data[:a]
                + dice.choice(("", " ")).join(dice.choices(words(), k=dice.choice((1, 1, 3)))).encode()
                + data[a:]
            )
        case 7:
            c, d = sorted((place(), place()))
            return data[:a] + data[c:d] + data[b:] if c < a else data[:c] + data[a:b] + data[d:]
        case 8:
            other = dice.choice(programs())
            c = dice.randint(0, len(other))
            return data[:a] + other[c : c + dice.choice((10, 100, 1000))] + data[b:]
        case _:
            return data[:a] if dice.random() < 0.3 else data[:a] + data[a:b][::-1] + data[b:]


class TooLong(BaseException):
    """A program took longer than it may."""


@contextmanager
def watched(seconds: float) -> Generator[None]:
    """Raises TooLong inside of it once it has taken so much time of the processor."""

    def ring(*_: object) -> None:
        raise TooLong(f"more than {seconds} s of the processor")

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def tell(data: bytes, file: Path) -> None:
    """Reads, checks and formats a program, and says what is wrong with it."""
    file.write_bytes(data)
    files = load_file(file)
    text = files.texts[str(file)]
    found = check(files).found
    assert all(0 <= p.span.start <= p.span.end <= len(text) for p in found if p.span.file == str(file))
    render(found, files.texts)
    formatted = format_text(text, "program.lam")
    assert formatted == text or format_text(formatted, "program.lam") == formatted


def tell_all(numbers: range, folder: Path) -> list[str]:
    """What went wrong, a text for each case that did."""
    check(load_file("fn f(x: f32) = x"))  # the tables and the library are read once
    wrong: list[str] = []
    for number in numbers:
        try:
            with watched(LONGEST):
                tell(mutant(number), folder / "program.lam")
        except (Exception, TooLong) as error:
            wrong.append(f"case {number}: {error!r}\n" + "".join(traceback.format_tb(error.__traceback__)[-4:]))
    return wrong


def test_mutations(tmp_path: Path) -> None:
    wrong = tell_all(range(1000), tmp_path)
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_many_mutations(tmp_path: Path) -> None:
    first = int(os.environ.get("LAMINA_MUTATIONS_FROM", time.time_ns() // 1000))
    wrong = tell_all(range(first, first + int(os.environ.get("LAMINA_MUTATIONS", 100_000))), tmp_path)
    assert not wrong, "\n".join(wrong)


if __name__ == "__main__":
    for case in sys.argv[1:]:
        print(mutant(int(case)).decode(errors="replace"))
