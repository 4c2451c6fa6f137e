"""Random expressions of the language: whole tensors, and index notation."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .random_dsl_operators import (
    ARM,
    ATOM,
    DTYPES,
    NUMBERS,
    ONE,
    PRODUCT,
    REDUCERS,
    REDUCTION,
    Dim,
    Env,
    Expression,
    Terms,
    TooLarge,
    each,
    fill,
    small,
)  # fmt: skip


@dataclass
class Tensors(Terms):
    """Makes expressions of everything that is in scope."""

    # Whole tensors -----------------------------------------------------------------------------------------------

    def variable(self, dtype: str | None = None) -> Expression:
        """A name of the scope, cast where the dtype is another one."""
        x = self.choose(self.scope.values())
        return x if dtype is None else self.cast(x, dtype)

    def whole(self, depth: int, dtype: str | None = None) -> Expression:
        """An expression of whole tensors."""
        if depth == 0:
            return self.variable(dtype)
        x = self.whole(depth - 1)
        kind = self.pick(0, 10)
        makers: list[Callable[[Expression], Expression | None]] = [
            self.reduced, self.sliced, self.transposed, self.matmul, self.joined, self.helped, self.arms,
        ]  # fmt: skip
        made = makers[kind](x) if kind < len(makers) else None
        y = made or self.elementwise(x, lambda wanted: self.whole(self.pick(0, depth - 1), wanted))
        return y if dtype is None else self.cast(y, dtype)

    def reduced(self, x: Expression) -> Expression | None:
        """`sum(x, axis=1)`."""
        if not x.shape or (axes := self.reducers(x)) is None:
            return None
        name, dtype = axes
        axis = self.pick(0, len(x.shape) - 1)
        keep = self.chance(3) and name not in ("argmax", "argmin")
        shape = tuple(ONE if i == axis else d for i, d in enumerate(x.shape) if keep or i != axis)
        options = f"axis={axis}" + (", keepdims=true" if keep else "")

        def value(env: Env) -> Any:
            result = REDUCERS[name](x.value(env), axis=axis, keepdims=keep)
            return small(np.asarray(result).astype(DTYPES[dtype]), x.within)

        return Expression(f"{name}({x.text}, {options})", ATOM, dtype, shape, value, x.within)

    def reducers(self, x: Expression) -> tuple[str, str] | None:
        """A reducer for x, and the dtype of its result."""
        if x.dtype == "bool":
            return self.choose(("any", "all")), "bool"
        name = self.choose(("sum", "max", "min", "sum", "prod", "argmax", "argmin"))
        if name.startswith("arg"):
            return (name, "i64") if x.exact else None
        return name, x.dtype

    def sliced(self, x: Expression) -> Expression | None:
        """`x[1:, ::2]`, where every dimension is a number."""
        if not x.shape or x.level < ATOM or not all(d.text.isdigit() and d.size for d in x.shape):
            return None
        items: list[str] = []
        taken: list[Any] = []
        shape: list[Dim] = []
        for d in x.shape[: self.pick(1, len(x.shape))]:
            kind = self.pick(0, 3)
            at = self.pick(0, d.size - 1)
            if kind == 0:
                at -= d.size * self.pick(0, 1)
                items.append(str(at))
                taken.append(at)
                continue
            part = (slice(at, None), slice(None, at + 1), slice(None, None, 2))[kind - 1]
            items.append((f"{at}:", f":{at + 1}", "::2")[kind - 1])
            taken.append(part)
            size = len(range(d.size)[part])
            shape.append(Dim(str(size), size))
        shape += x.shape[len(items) :]
        return Expression(
            f"{x.text}[{', '.join(items)}]",
            ATOM,
            x.dtype,
            tuple(shape),
            lambda env: x.value(env)[tuple(taken)],
            x.within,
        )

    def transposed(self, x: Expression) -> Expression | None:
        order = sorted(range(len(x.shape)), key=lambda _: self.pick(0, 9))
        if len(order) < 2:
            return None
        shape = tuple(x.shape[i] for i in order)
        return Expression(
            f"transpose({x.text}, {order})",
            ATOM,
            x.dtype,
            shape,
            lambda env: np.transpose(x.value(env), order),
            x.within,
        )

    def matmul(self, x: Expression) -> Expression | None:
        """`x @ y`, with a y of two dimensions that fits."""
        fitting = [
            y for y in self.scope.values()
            if len(y.shape) == 2 and x.shape and y.shape[0].text == x.shape[-1].text and y.dtype == x.dtype
        ]  # fmt: skip
        if not fitting or x.dtype == "bool":
            return None
        y = self.choose(fitting)
        within = max(x.within, y.within)
        return Expression(
            f"{x.at(PRODUCT)} @ {y.text}",
            PRODUCT,
            x.dtype,
            (*x.shape[:-1], y.shape[1]),
            lambda env: small(np.asarray(np.matmul(x.value(env), y.value(env))), within),
            within,
        )

    def joined(self, x: Expression) -> Expression | None:
        """`concat` of x with itself, `reverse`."""
        if not x.shape:
            return None
        axis = self.pick(0, len(x.shape) - 1)
        if self.chance(2) or not x.shape[axis].text.isdigit():
            return Expression(
                f"reverse({x.text}, axis={axis})",
                ATOM,
                x.dtype,
                x.shape,
                lambda env: np.flip(x.value(env), axis),
                x.within,
            )
        y = self.elementwise(x, lambda wanted: self.cast(x, wanted))
        if y.dtype != x.dtype or y.shape != x.shape:
            return None
        size = 2 * x.shape[axis].size
        shape = (*x.shape[:axis], Dim(str(size), size), *x.shape[axis + 1 :])
        return Expression(
            f"concat([{x.text}, {y.text}], axis={axis})",
            ATOM,
            x.dtype,
            shape,
            lambda env: np.concatenate([x.value(env), y.value(env)], axis),
            max(x.within, y.within),
        )

    def helped(self, x: Expression) -> Expression | None:
        """A call of one of the functions that stand before `main`."""
        if x.dtype in NUMBERS and self.chance(2):
            y = self.elementwise(x, lambda wanted: self.cast(x, wanted))
            if y.dtype == x.dtype and y.shape == x.shape:
                return self.call("twist", x.dtype, [x, y], lambda a, b: a * b - a)
        if len(x.shape) == 2 and x.shape[0].size:
            by = self.pick(0, 3)
            return Expression(
                f"turned({x.text}, {by})" if by != 1 else f"turned({x.text})",
                ATOM,
                x.dtype,
                x.shape[::-1],
                lambda env: np.roll(x.value(env), -by, 0)[:, ::-1].T,
                x.within,
            )
        if x.shape and x.dtype in NUMBERS:
            return Expression(
                f"row_total({x.text})",
                ATOM,
                x.dtype,
                x.shape[:-1],
                lambda env: small(np.asarray(x.value(env).sum(-1, dtype=DTYPES[x.dtype])), x.within),
                x.within,
            )
        return None

    def arms(self, x: Expression) -> Expression | None:
        """`if c { a } else { b }`."""
        condition = self.scalar(1, "bool")
        y = self.elementwise(x, lambda wanted: self.cast(x, wanted))
        if y.dtype != x.dtype or y.shape != x.shape or not condition.exact:
            return None
        return self.conditional(condition, x, y)

    def conditional(self, condition: Expression, x: Expression, y: Expression) -> Expression:
        return Expression(
            f"if {condition.text} {{ {x.text} }} else {{ {y.text} }}",
            ARM,
            x.dtype,
            x.shape,
            lambda env: x.value(env) if condition.value(env) else y.value(env),
            max(x.within, y.within),
            condition.plain | x.plain | y.plain,
        )

    # Index notation ----------------------------------------------------------------------------------------------

    def scalar(self, depth: int, dtype: str | None = None) -> Expression:
        """An expression of rank 0: in index notation, or between scalars."""
        if depth == 0:
            x = self.leaf()
        else:
            x = self.scalar(depth - 1)
            kind = self.pick(0, 7)
            made: Expression | None = None
            if kind < 3 and self.indices:
                made = self.reduction(depth)
            elif kind == 3:
                condition, y = self.scalar(0, "bool"), self.scalar(depth - 1, x.dtype)
                made = self.conditional(condition, x, y) if condition.exact else None
            x = made or self.elementwise(x, lambda wanted: self.scalar(self.pick(0, depth - 1), wanted))
        return x if dtype is None else self.cast(x, dtype)

    def leaf(self) -> Expression:
        """An access, an index, or a number."""
        kind = self.pick(0, 5)
        if kind == 0 and self.indices:
            name = self.choose(self.indices)
            return Expression(name, ATOM, "i64", (), lambda env: env[name])
        if kind == 1:
            return self.literal_typed(self.choose(DTYPES))
        x = self.variable()
        if not x.shape:
            return x
        return self.access(x)

    def access(self, x: Expression) -> Expression:
        """`x[i, 2*j - 1 ? 0, (k + 1) % N]`."""
        chosen = [self.subscript(d) for d in x.shape]
        subscripts = [s for s, _ in chosen]
        text = ", ".join(s.text for s in subscripts)
        outside: Expression | None = None
        if not all(inside for _, inside in chosen):
            outside = self.literal(x.dtype)
            text += f" ? {outside.text}"

        def value(env: Env) -> Any:
            at = [int(s.value(env)) for s in subscripts]
            if outside is not None and not all(0 <= i < d.size for i, d in zip(at, x.shape, strict=True)):
                return outside.value(env)
            clamped = tuple(min(max(i, 0), d.size - 1) for i, d in zip(at, x.shape, strict=True))
            return x.value(env)[clamped]

        plain = frozenset[str]().union(*(s.plain for s in subscripts))
        return Expression(f"{x.text}[{text}]", ATOM, x.dtype, (), value, x.within, plain)

    def subscript(self, d: Dim) -> tuple[Expression, bool]:
        """A subscript of an axis, and whether it is sure to be inside."""
        fitting = [name for name, extent in self.indices.items() if extent.text == d.text]
        kind = self.pick(0, 7)
        if self.indices and kind == 0:
            name, by = self.choose(self.indices), self.pick(-2, 2)
            factor = self.choose((1, 2, -1))
            written = {1: name, 2: f"2*{name}", -1: f"-{name}"}[factor] + (f" + {by}" if by > 0 else f" - {-by}")
            return Expression(written, ATOM, "i64", (), lambda env: factor * env[name] + by), False
        if self.indices and kind == 1:
            name, by = self.choose(self.indices), self.pick(-2, 2)
            written = f"({name} + {by}) % {d.text}" if by > 0 else f"({name} - {-by}) % {d.text}"
            return Expression(written, ATOM, "i64", (), lambda env: (env[name] + by) % d.size), True
        if kind == 2 and (numbers := [v for v in self.scope.values() if v.dtype == "i64" and not v.shape]):
            number = self.choose(numbers)
            if number.text.startswith("p"):
                return number, True  # from outside: clamped by itself
            last = d.size - 1
            text = f"clamp(0, {number.text}, {d.text} - 1)"
            return Expression(text, ATOM, "i64", (), lambda env: min(max(int(number.value(env)), 0), last)), True
        if fitting and kind > 2:
            name = self.choose(fitting)
            return Expression(name, ATOM, "i64", (), lambda env: env[name], plain=frozenset((name,))), True
        if fitting:
            name = self.choose(fitting)
            return Expression(f"{d.text} - 1 - {name}", ATOM, "i64", (), lambda env: d.size - 1 - env[name]), True
        return Expression("0", ATOM, "i64", (), lambda env: 0), True

    def binders(self, dims: tuple[Dim, ...]) -> list[str]:
        """New indices for the dimensions."""
        names = [self.fresh("k") for _ in dims]
        self.indices |= dict(zip(names, dims, strict=True))
        return names

    def written(self, names: list[str], dims: tuple[Dim, ...], body: Expression, guard: str = "") -> str:
        """The binders; those whose range shows in the body may do without, unused ones begin with _."""
        used = set(re.findall(r"\w+", f"{body.text} {guard}"))
        names = [name if name in used else f"_{name}" for name in names]
        free = [name in body.plain and self.chance(2) for name in names]
        return ", ".join(
            name if inferred else f"{name}: {d.text}" for name, d, inferred in zip(names, dims, free, strict=True)
        )

    def reduction(self, depth: int) -> Expression | None:
        """`sum[k where k > 1] x[k] * y[k]`."""
        outer = dict(self.indices)
        dims = tuple(self.choose(self.dims) for _ in range(self.pick(1, 2)))
        names = self.binders(dims)
        body = self.scalar(depth - 1)
        guard = self.scalar(1, "bool") if self.chance(3) else None
        self.indices = outer
        chosen = self.reducers(body)
        if chosen is None or (guard is not None and not guard.exact):
            return None
        name, dtype = chosen
        if name.startswith("arg") and (len(dims) > 1 or guard is not None):
            return None
        axes = [(each_name, range(d.size)) for each_name, d in zip(names, dims, strict=True)]

        def value(env: Env) -> Any:
            seen = [inner for _, inner in each(axes, env) if guard is None or guard.value(inner)]
            if not seen and name in ("max", "min", "argmax", "argmin"):
                raise TooLarge
            values = np.array([body.value(inner) for inner in seen], DTYPES[body.dtype])
            return small(np.asarray(REDUCERS[name](values)).astype(DTYPES[dtype]), body.within)

        where = "" if guard is None else f" where {guard.text}"
        text = f"{name}[{self.written(names, dims, body, where)}{where}] {body.at(REDUCTION)}"
        return Expression(text, REDUCTION, dtype, (), value, body.within, body.plain - frozenset(names))

    def comprehension(self, dims: tuple[Dim, ...], dtype: str | None = None) -> tuple[list[str], Expression]:
        """The indices and the body of a definition over these dimensions."""
        outer = dict(self.indices)
        names = self.binders(dims)
        body = self.scalar(self.pick(1, 2), dtype)
        self.indices = outer
        return names, body

    def tensor(self, dims: tuple[Dim, ...], dtype: str) -> Expression:
        """`[i, j: 3] => …` of a given type."""
        names, body = self.comprehension(dims, dtype)
        axes = [(name, range(d.size)) for name, d in zip(names, dims, strict=True)]
        text = f"[{self.written(names, dims, body)}] => {body.text}"
        return Expression(text, ARM, dtype, dims, lambda env: fill(axes, body, env), body.within)
