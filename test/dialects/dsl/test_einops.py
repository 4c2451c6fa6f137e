"""Patterns of axis names: what they mean for a shape, and which characters of a wrong one are at fault."""

import pytest

from lamina.dialects.dsl.check.builtins.einops import PatternError, Plan, parse, plan


def divide(a: object, b: object) -> object:
    assert isinstance(a, int) and isinstance(b, int)
    return a // b if b and a % b == 0 else None


def of(text: str, shape: tuple[int, ...], operation: str = "rearrange", **sizes: int) -> Plan:
    return plan(parse(text), shape, sizes, operation, divide)  # pyright: ignore


def test_split_and_transpose() -> None:
    assert of("b (h d) s -> b h s d", (2, 12, 5), h=3) == Plan((2, 3, 4, 5), (), (0, 1, 3, 2), (), (2, 3, 5, 4))


def test_join() -> None:
    assert of("a b c -> (c a) b", (2, 3, 4)).shape == (8, 3)


def test_a_group_on_both_sides_keeps_its_size() -> None:
    assert of("(a b) c -> c (a b)", (6, 4), a=2).shape == (4, 6)


def test_ellipsis() -> None:
    assert of("... (h d) -> h ... d", (2, 3, 8), h=2) == Plan((2, 3, 2, 4), (), (2, 0, 1, 3), (), (2, 2, 3, 4))
    assert of("a ... -> (...) a", (2, 3, 4)).shape == (12, 2)
    assert of("a ... -> ... a", (5,)).shape == (5,)


def test_ones_and_empty_groups() -> None:
    assert of("a 1 b -> b a", (2, 1, 3)) == Plan((2, 1, 3), (1,), (1, 0), (), (3, 2))
    assert of("a b -> a 1 () b", (2, 3), "repeat").shape == (2, 1, 1, 3)
    assert of("a b -> a 1 () b", (2, 3)).shape == (2, 1, 1, 3)


def test_reduce() -> None:
    assert of("b (h 2) (w 2) -> b h w", (1, 4, 6), "reduce") == Plan((1, 2, 2, 3, 2), (2, 4), (0, 1, 2), (), (1, 2, 3))
    assert of("b c ... -> b ()", (1, 4, 6), "reduce").reduced == (1, 2)


def test_repeat() -> None:
    assert of("h w -> h (w c) 3", (2, 4), "repeat", c=5) == Plan((2, 4), (), (0, 1), ((2, 5), (3, 3)), (2, 20, 3))


@pytest.mark.parametrize(
    ("text", "shape", "operation", "sizes", "fault", "message"),
    [
        ("a b", (2, 3), "rearrange", {}, "a b", "two sides"),
        ("a (b -> b a", (2, 3), "rearrange", {}, "(", "never closed"),
        ("a b) -> b a", (2, 3), "rearrange", {}, ")", "')' without '('"),
        ("(a (b c)) -> a b c", (2,), "rearrange", {}, "(", "do not nest"),
        ("a -> b -> c", (2,), "rearrange", {}, "->", "one '->'"),
        ("a a -> a", (2, 2), "rearrange", {}, "a", "twice"),
        ("a $ -> a", (2, 2), "rearrange", {}, "$", "no meaning"),
        ("a b -> a", (2, 3), "rearrange", {}, "b", "missing on the right"),
        ("a b -> a b c", (2, 3), "rearrange", {}, "c", "missing on the left"),
        ("a b -> a b c", (2, 3), "repeat", {}, "c", "not given"),
        ("a b -> b a", (2, 3, 4), "rearrange", {}, "a b", "2 axes, the tensor has 3"),
        ("(a b) -> a b", (6,), "rearrange", {}, "b", "do not follow"),
        ("(a b) -> a b", (6,), "rearrange", {"a": 4}, "a", "no multiple of 4"),
        ("(a b) -> a b", (6,), "rearrange", {"a": 2, "b": 2}, "a", "is 4 here, the tensor has 6"),
        ("a 2 -> a", (3, 2), "rearrange", {}, "a 2 -> a", "only reduce"),
        ("(... a) -> a ...", (3, 2), "rearrange", {}, "...", "stands alone"),
    ],
)
def test_faults(
    text: str, shape: tuple[int, ...], operation: str, sizes: dict[str, int], fault: str, message: str
) -> None:
    with pytest.raises(PatternError) as caught:
        of(text, shape, operation, **sizes)
    error = caught.value
    assert text[error.start : error.end] == fault
    assert message in f"{error.message} {error.hint}"
