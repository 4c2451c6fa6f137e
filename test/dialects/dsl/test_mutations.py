"""Programs with bytes changed at random: problems are said, nothing breaks, nothing takes long."""

import random
import time
from pathlib import Path

import pytest

from lamina.dialects.dsl.language.codes import CODES
from lamina.dialects.dsl.language.formatting import format_text
from lamina.dialects.dsl.language.parsing import decode, parse
from lamina.dialects.dsl.language.problems import Problems
from lamina.dialects.dsl.load import analyse, load_file

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = sorted(path for folder in ("dialects", "test") for path in (ROOT / folder).rglob("*.lam"))
WORDS = [
    b"let",
    b"fn",
    b"=>",
    b"..",
    b"sum[",
    b"{",
    b"}",
    b"(",
    b")",
    b"[",
    b"]",
    b'"',
    b"#",
    b"\n",
    b";",
    b"\x00",
    b"\xff",
    b"\r",
]
LONGEST = 1.0  # seconds of CPU for one of them


def mutated(data: bytes, rng: random.Random) -> bytes:
    """The bytes with one to four changes: a byte, a span left out, doubled, moved, or a word put in."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((1, 1, 3, 20)))
        part = data[at:end]
        other = rng.randrange(len(data) + 1)
        data = rng.choice(
            (
                data[:at] + bytes([rng.randrange(256)]) + data[end:],
                data[:at] + data[end:],
                data[:end] + part + data[end:],
                data[:at] + rng.choice(WORDS) + data[at:],
                data[:at] + rng.choice(WORDS) + data[end:],
                (data[:at] + data[end:])[:other] + part + (data[:at] + data[end:])[other:],
            )
        )
    return data


def attempt(data: bytes, whole: bool) -> None:
    """Reads, lays out and, if `whole`, checks a program."""
    problems = Problems()
    text = decode(data, "t.lam", problems)
    start = time.process_time()
    parse(text, "t.lam", problems)
    if not problems.errors:
        formatted = format_text(text, "t.lam")
        assert format_text(formatted, "t.lam", problems) == formatted
    found = [*problems.found, *(analyse(load_file(text, "t.lam")).problems.found if whole else ())]
    assert time.process_time() - start < LONGEST
    for problem in found:
        assert problem.code in CODES
        for label in problem.labels:
            if label.span.file == "t.lam":
                assert 0 <= label.span.start <= label.span.end <= len(text)
                assert text[: label.span.start].count("\n") + 1 == label.span.line


def run(count: int, seed: int, share_checked: float) -> None:
    rng = random.Random(seed)
    programs = [path.read_bytes() for path in PROGRAMS]
    for number in range(count):
        data = mutated(rng.choice(programs), rng)
        try:
            attempt(data, rng.random() < share_checked)
        except BaseException as error:
            raise AssertionError(f"change {number} of seed {seed}: {data!r}") from error


def test_mutations() -> None:
    run(1_000, 0, 0.2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_many_mutations(seed: int) -> None:
    run(10_000, seed, 1.0)
