"""Random expressions of the language, each with what NumPy makes of it.

An expression is its text and a function of the values of names; index notation is evaluated element by element, so
that nothing is shared with the compiler. Values stay small multiples of a power of two, which floats hold exactly.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

Pick: TypeAlias = Callable[[int, int], int]
Env: TypeAlias = dict[str, Any]
Anything = TypeVar("Anything")

DTYPES: dict[str, Any] = {
    "f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "i8": np.int8, "bool": np.bool_,
}  # fmt: skip
FLOATS, NUMBERS = ("f32", "f64"), ("f32", "f64", "i32", "i64", "i8")
LARGEST, FINEST = 2.0**12, 2.0**-8
ROUNDED = {"f32": 1e-3, "f64": 1e-9}  # how far from NumPy's, absolutely or relatively, what was rounded may be

# How tightly the parts of an expression hold together, loosest first.
ARM, OR, AND, NOT, COMPARISON, PIPE, CARET, AMPERSAND, SUM, REDUCTION, PRODUCT, UNARY, ATOM = range(13)

ARITHMETIC: dict[str, tuple[int, Any]] = {"+": (SUM, np.add), "-": (SUM, np.subtract), "*": (PRODUCT, np.multiply)}
BITS: dict[str, tuple[int, Any]] = {
    "&": (AMPERSAND, np.bitwise_and), "|": (PIPE, np.bitwise_or), "^": (CARET, np.bitwise_xor),
}  # fmt: skip
LOGIC: dict[str, tuple[int, Any]] = {"and": (AND, np.logical_and), "or": (OR, np.logical_or)}
TESTS: dict[str, Any] = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
}  # fmt: skip
SMOOTH: dict[str, Any] = {"tanh": np.tanh, "sin": np.sin, "cos": np.cos, "exp": np.exp, "log1p": np.log1p}
REDUCERS: dict[str, Any] = {
    "sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "any": np.any, "all": np.all,
    "argmax": np.argmax, "argmin": np.argmin,
}  # fmt: skip


class TooLarge(Exception):
    """A value grew beyond what every dtype holds exactly."""


class Dim(NamedTuple):
    """A dimension as it is written and its size."""

    text: str
    size: int


ONE = Dim("1", 1)


@dataclass(frozen=True)
class Expression:
    """A text, how tightly it holds together, its type, its value, and how far `within` NumPy's it has to be.

    `within` is 0 where nothing was rounded, else that of the coarsest dtype on the way: f64(tanh(x)) of an f32 is no
    better than f32.
    `plain` has the indices that stand alone in a subscript, from which ranges are inferred.
    """

    text: str
    level: int
    dtype: str
    shape: tuple[Dim, ...]
    value: Callable[[Env], Any]
    within: float = 0.0
    plain: frozenset[str] = frozenset()

    @property
    def exact(self) -> bool:
        """Nothing was rounded on the way."""
        return self.within == 0.0

    def at(self, level: int) -> str:
        """The text where at least this level is wanted."""
        return self.text if self.level >= level else f"({self.text})"


def small(value: Any, within: float) -> Any:
    """The value, if it is one that is kept; 8-bit numbers wrap around and are always small."""
    if value.dtype.kind in "fi" and value.dtype != np.int8 and value.size:
        with np.errstate(all="ignore"):
            if not (np.abs(value) <= LARGEST).all():
                raise TooLarge
            if within == 0.0 and value.dtype.kind == "f" and (value % FINEST != 0).any():
                raise TooLarge
    return value


def each(axes: list[tuple[str, range]], env: Env) -> Iterator[tuple[tuple[int, ...], Env]]:
    """Every combination of the indices' values: the position, and the values of all names there."""
    for position in itertools.product(*(range(len(values)) for _, values in axes)):
        bound = {name: np.int64(values[at]) for (name, values), at in zip(axes, position, strict=True)}
        yield position, {**env, **bound}


def fill(axes: list[tuple[str, range]], body: Expression, env: Env) -> Any:
    """The tensor whose element at each position is the body's value there."""
    result = np.zeros([len(values) for _, values in axes], DTYPES[body.dtype])
    for position, inner in each(axes, env):
        result[position] = body.value(inner)
    return result


def broadcast(a: tuple[Dim, ...], b: tuple[Dim, ...]) -> tuple[Dim, ...] | None:
    """The shape that two tensors have together, where the text alone says so."""
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    result = list(longer)
    for i, dim in enumerate(shorter, len(longer) - len(shorter)):
        if dim.text != result[i].text and ONE not in (dim, result[i]):
            return None
        result[i] = dim if result[i] == ONE else result[i]
    return tuple(result)


@dataclass
class Terms:
    """Makes expressions; `pick(low, high)` decides everything, both ends included."""

    pick: Pick
    dims: list[Dim] = field(default_factory=list[Dim])
    scope: dict[str, Expression] = field(default_factory=dict[str, Expression])
    indices: dict[str, Dim] = field(default_factory=dict[str, Dim])
    counter: Iterator[int] = field(default_factory=itertools.count)

    def choose(self, items: Iterable[Anything]) -> Anything:
        """One of the items."""
        listed = list(items)
        return listed[self.pick(0, len(listed) - 1)]

    def chance(self, one_in: int) -> bool:
        """True once in so many times."""
        return self.pick(1, one_in) == 1

    def fresh(self, letter: str) -> str:
        """A name that is not used yet."""
        return f"{letter}{next(self.counter)}"

    # Operators: the same for whole tensors and inside index notation ---------------------------------------------

    def binary(self, operator: str, level: int, a: Expression, b: Expression, function: Any, dtype: str) -> Expression:
        shape = broadcast(a.shape, b.shape)
        assert shape is not None
        within = max(a.within, b.within)
        left = a.at(level + 1) if level == COMPARISON else a.at(level)
        last = level == PRODUCT and b.level == REDUCTION
        text = f"{left} {operator} {b.text if last else b.at(level + 1)}"
        return Expression(
            text,
            REDUCTION if last else level,
            dtype,
            shape,
            lambda env: small(function(a.value(env), b.value(env)), within),
            within,
            a.plain | b.plain,
        )

    def call(
        self, name: str, dtype: str, arguments: list[Expression], function: Any, rounds: bool = False
    ) -> Expression:
        """A function of tensors that broadcast; one of rounded ones rounds."""
        shape: tuple[Dim, ...] | None = ()
        for each_one in arguments:
            shape = None if shape is None else broadcast(shape, each_one.shape)
        assert shape is not None
        within = max(a.within for a in arguments)
        if rounds or within:
            within = max(within, ROUNDED.get(dtype, 0.0))
        return Expression(
            f"{name}({', '.join(a.text for a in arguments)})",
            ATOM,
            dtype,
            shape,
            lambda env: small(np.asarray(function(*(a.value(env) for a in arguments))).astype(DTYPES[dtype]), within),
            within,
            frozenset[str]().union(*(a.plain for a in arguments)),
        )

    def literal(self, dtype: str) -> Expression:
        """A number that takes the dtype of what it is combined with."""
        if dtype == "bool":
            value: Any = self.chance(2)
            text = str(value).lower()
        elif dtype in FLOATS and self.chance(2):
            value = self.pick(0, 12) / 4
            text = str(value)
        elif self.dims and self.chance(4):
            text, value = self.choose(d for d in self.dims if d.text.isalnum())
        else:
            value = self.pick(0, 5)
            text = str(value)
        constant = DTYPES[dtype](value)
        return Expression(text, ATOM, dtype, (), lambda env: constant)

    def cast(self, x: Expression, dtype: str) -> Expression:
        """x in another dtype, if there is a way; floats go to integers where they were not rounded."""
        if x.dtype == dtype:
            return x
        if (not x.exact and dtype not in FLOATS) or (x.dtype in FLOATS and dtype == "i8"):
            return self.literal_typed(dtype)
        return self.call(dtype, dtype, [x], lambda value: value.astype(DTYPES[dtype]))

    def literal_typed(self, dtype: str) -> Expression:
        """A number with its dtype."""
        number = self.literal(dtype)
        return number if dtype == "bool" else replace(number, text=f"{dtype}({number.text})")

    def partner(self, x: Expression, other: Callable[[str], Expression]) -> Expression:
        """Something of x's dtype that broadcasts with it."""
        y = other(x.dtype)
        if broadcast(x.shape, y.shape) is None or (self.chance(4) and x.dtype != "bool"):
            return self.literal(x.dtype)
        return y

    def elementwise(self, x: Expression, other: Callable[[str], Expression]) -> Expression:
        """An operator applied to x, and to what `other` makes of a dtype where it takes two."""
        kind = self.pick(0, 9)
        if kind == 0 and x.exact:
            dtype = self.choose(DTYPES)
            return self.cast(x, dtype)
        if kind == 1 and x.exact and x.dtype != "bool":
            y = self.partner(x, other)
            operator = self.choose(TESTS)
            if y.exact:
                return self.binary(operator, COMPARISON, x, y, TESTS[operator], "bool")
        if kind == 2:
            y = self.partner(x, other)
            condition = other("bool")
            together = broadcast(x.shape, y.shape)
            if together is not None and broadcast(together, condition.shape) is not None:
                return self.call("select", x.dtype, [condition, x, y], np.where)
        if x.dtype == "bool":
            y = self.partner(x, other)
            operator = self.choose((*LOGIC, *BITS, "not"))
            if operator == "not":
                return Expression(
                    f"not {x.at(NOT)}",
                    NOT,
                    "bool",
                    x.shape,
                    lambda env: np.logical_not(x.value(env)),
                    x.within,
                    x.plain,
                )
            level, function = (LOGIC | BITS)[operator]
            return self.binary(operator, level, x, y, function, "bool")
        return self.numeric(x, other, kind)

    def numeric(self, x: Expression, other: Callable[[str], Expression], kind: int) -> Expression:
        """An operator on numbers."""
        if kind == 3:
            return Expression(
                f"-{x.at(UNARY)}", UNARY, x.dtype, x.shape, lambda env: np.negative(x.value(env)), x.within, x.plain
            )
        if kind == 4 and x.dtype != "i8":
            return self.call("abs", x.dtype, [x], np.abs)
        if kind == 5:
            y = self.partner(x, other)
            name = self.choose(("max", "min"))
            return self.call(name, x.dtype, [x, y], np.maximum if name == "max" else np.minimum)
        if kind == 6 and x.dtype in FLOATS:
            name = self.choose(SMOOTH)
            inside = self.call("abs", x.dtype, [x], np.abs) if name == "log1p" else x
            return self.call(name, x.dtype, [inside], SMOOTH[name], rounds=True)
        if kind == 6:
            y = self.partner(x, other)
            operator = self.choose(BITS)
            level, function = BITS[operator]
            return self.binary(operator, level, x, y, function, x.dtype)
        if kind == 7:
            by = self.choose((2, 4)) if x.dtype in FLOATS else self.pick(1, 5)
            operator = "/" if x.dtype in FLOATS else self.choose(("//", "%"))
            function = {"/": np.true_divide, "//": np.floor_divide, "%": np.remainder}[operator]
            constant = DTYPES[x.dtype](by)
            divisor = Expression(str(by), ATOM, x.dtype, (), lambda env: constant)
            return self.binary(operator, PRODUCT, x, divisor, function, x.dtype)
        y = self.partner(x, other)
        if self.chance(3) and y.text != x.text:
            x, y = y, x
        operator = self.choose(ARITHMETIC)
        level, function = ARITHMETIC[operator]
        return self.binary(operator, level, x, y, function, x.dtype)
