"""Random well-typed programs of the language, each with what NumPy makes of it.

>>> import random
>>> program = Generator(random.Random(1).randint).program()
>>> program.text.splitlines()[-1]
'}'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from .random_dsl_operators import (
    ATOM,
    DTYPES,
    FLOATS,
    NUMBERS,
    ROUNDED,
    Dim,
    Env,
    Expression,
    TooLarge,
    each,
    fill,
    small,
)
from .random_dsl_tensors import Tensors

Run: TypeAlias = Callable[[Env], None]
STATEMENTS = 4
HELPERS = """\
fn twist[T: number, ..S](a: T[..S], b: T[..S]) -> T[..S] = a * b - a

fn row_total[T: number, ..B, N](x: T[..B, N]) -> T[..B] = [..b] => sum[n] x[..b, n]

fn turned[T: any, M, N](x: T[M, N], by: const int = 1) -> T[N, M] = [j, i] => x[(i + by) % M, N - 1 - j]

fn swapped[T: any, U: any, ..S, ..R](x: T[..S], y: U[..R]) -> (U[..R], T[..S]) = (y, x)

"""


@dataclass
class Program:
    """A file with a function `main`, its inputs, and the outputs by NumPy, each with how far `within` it is asked."""

    text: str
    inputs: list[np.ndarray[Any, Any]]
    outputs: list[np.ndarray[Any, Any]]
    within: list[float]

    def check(self, outputs: Any) -> None:
        """The outputs of the compiled program are NumPy's."""
        got = outputs if isinstance(outputs, tuple | list) else (outputs,)
        for each_one, expected, within in zip(got, self.outputs, self.within, strict=True):
            actual = np.asarray(each_one)
            assert actual.dtype == expected.dtype and actual.shape == expected.shape, (actual, expected)
            if within:
                np.testing.assert_allclose(actual, expected, within, within)
            else:
                np.testing.assert_array_equal(actual, expected)


@dataclass
class Generator(Tensors):
    """Makes programs."""

    env: Env = field(default_factory=dict[str, Any])
    lines: list[str] = field(default_factory=list[str])

    def program(self) -> Program:
        """A whole program; statements whose values grow too large are left out."""
        generics, parameters = self.parameters()
        inputs = [self.env[name] for name in self.scope]
        makers = [self.let, self.let, self.define, self.define, self.loop, self.branch, self.recurrence, self.scatter,
                  self.pair]  # fmt: skip
        for _ in range(self.pick(1, STATEMENTS)):
            before = dict(self.scope), dict(self.env), list(self.lines)
            try:
                self.choose(makers)("  ")(self.env)
            except TooLarge:
                self.scope, self.env, self.lines = before
        results = [name for name in self.scope if name[0] != "p"][-3:] or list(self.scope)[-1:]
        within = [self.scope[name].within for name in results]
        types = [self.type(self.scope[name]) for name in results]
        declared = types[0] if len(types) == 1 else f"({', '.join(types)})"
        head = f"fn main{generics}({', '.join(parameters)})" + (f" -> {declared}" if self.chance(2) else "")
        lines = [head + " {", *self.lines, f"  return {', '.join(results)}", "}"]
        return Program(HELPERS + "\n".join(lines) + "\n", inputs, [self.env[name] for name in results], within)

    # Names and types ---------------------------------------------------------------------------------------------

    def parameters(self) -> tuple[str, list[str]]:
        """The dimensions and parameters of `main`, with random inputs in `env`."""
        symbolic = self.chance(2)
        sizes = [self.pick(1, 4) for _ in range(3)]
        names = list("MNK")[: self.pick(1, 3)]
        self.dims = [Dim(n if symbolic else str(s), s) for n, s in zip(names, sizes, strict=False)]
        shapes = [tuple(self.dims[:2]), (self.choose(self.dims),), tuple(self.dims[2:])]
        shapes += [tuple(self.choose(self.dims) for _ in range(self.pick(0, 3))) for _ in range(self.pick(0, 2))]
        for i, shape in enumerate(shapes):
            dtype = "i64" if i == 1 else self.choose((*FLOATS, *DTYPES))
            count = int(np.prod([d.size for d in shape]))
            numbers = np.array([self.pick(-4, 4) for _ in range(count)])
            value = numbers / 2 if dtype in FLOATS else numbers > 0 if dtype == "bool" else numbers
            self.introduce(self.fresh("p"), dtype, shape, value.astype(DTYPES[dtype]).reshape([d.size for d in shape]))
        parameters = [f"{name}: {self.type(x)}" for name, x in self.scope.items()]
        return f"[{', '.join(names)}]" if symbolic else "", parameters

    def type(self, x: Expression) -> str:
        """Its type as it is written."""
        return x.dtype + (f"[{', '.join(d.text for d in x.shape)}]" if x.shape else "")

    def introduce(self, name: str, dtype: str, shape: tuple[Dim, ...], value: Any = None, within: float = 0.0) -> None:
        """A name of the scope from here on."""
        self.scope[name] = Expression(name, ATOM, dtype, shape, lambda env: env[name], within)
        if value is not None:
            self.env[name] = value

    def assigned(self, name: str, x: Expression) -> Run:
        """What `name = x` does."""

        def run(env: Env) -> None:
            env[name] = small(np.asarray(x.value(env)), x.within)

        return run

    def shape(self, most: int = 3) -> tuple[Dim, ...]:
        return tuple(self.choose(self.dims) for _ in range(self.pick(1, most)))

    # Statements --------------------------------------------------------------------------------------------------

    def let(self, indent: str, depth: int = 3) -> Run:
        """`let y = …`, of whole tensors."""
        name, x = self.fresh("v"), self.whole(self.pick(1, depth))
        annotation = f": {self.type(x)}" if self.chance(4) else ""
        self.lines.append(f"{indent}let {name}{annotation} = {x.text}")
        self.introduce(name, x.dtype, x.shape, within=x.within)
        return self.assigned(name, x)

    def define(self, indent: str) -> Run:
        """`let y[i, j] = …`."""
        name, dims = self.fresh("v"), self.shape()
        indices, body = self.comprehension(dims)
        keyword = "let " if self.chance(2) else ""
        self.lines.append(f"{indent}{keyword}{name}[{self.written(indices, dims, body)}] = {body.text}")
        self.introduce(name, body.dtype, dims, within=body.within)
        axes = [(index, range(d.size)) for index, d in zip(indices, dims, strict=True)]

        def run(env: Env) -> None:
            env[name] = fill(axes, body, env)

        return run

    def carried(self, indent: str) -> tuple[str, Expression, Run]:
        """`var a = …`; some floats that were not rounded may be assigned ones that were."""
        x = self.whole(1) if self.chance(2) else self.tensor(self.shape(2), self.choose(DTYPES))
        name, within = self.fresh("a"), x.within
        if x.dtype in FLOATS and (within or self.chance(2)):
            within = max(within, ROUNDED[x.dtype])
        self.lines.append(f"{indent}var {name} = {x.text}")
        self.introduce(name, x.dtype, x.shape, within=within)
        return name, self.scope[name], self.assigned(name, x)

    def assign(self, indent: str, name: str) -> Run:
        """`a = …`, with the type that a has."""
        a = self.scope[name]
        x = self.tensor(a.shape, a.dtype) if a.shape else self.scalar(2, a.dtype)
        if x.within > a.within:
            x = a
        self.lines.append(f"{indent}{name} = {x.text}")
        return self.assigned(name, replace(x, within=a.within))

    def loop(self, indent: str) -> Run:
        """`for` or `while`, with a carried value."""
        name, _, start = self.carried(indent)
        outer = dict(self.scope)
        low, step = self.pick(0, 2), self.pick(1, 2)
        bound = self.choose([*self.dims, Dim("3", 3), Dim("0", 0)])
        counter = self.fresh("t")
        if self.chance(3):
            self.lines += [f"{indent}var {counter} = {low}", f"{indent}while {counter} < {bound.text} {{"]
            last = f"{indent}  {counter} = {counter} + {step}"
        else:
            stepping = f" step {step}" if step > 1 else ""
            self.lines.append(f"{indent}for {counter} in {low}..{bound.text}{stepping} {{")
            last = ""
        self.introduce(counter, "i64", ())
        body = [self.let(f"{indent}  ", 1)] if self.chance(3) else []
        body.append(self.assign(f"{indent}  ", name))
        self.lines += [last] * bool(last) + [f"{indent}}}"]
        self.scope = outer

        def run(env: Env) -> None:
            start(env)
            for turn in range(low, bound.size, step):
                env[counter] = np.int64(turn)
                for statement in body:
                    statement(env)

        return run

    def branch(self, indent: str) -> Run:
        """`if`, with a carried value."""
        name, _, start = self.carried(indent)
        condition = self.scalar(2, "bool")
        if not condition.exact:
            raise TooLarge
        self.lines.append(f"{indent}if {condition.text} {{")
        then = self.assign(f"{indent}  ", name)
        otherwise: Run | None = None
        if self.chance(2):
            self.lines.append(f"{indent}}} else {{")
            otherwise = self.assign(f"{indent}  ", name)
        self.lines.append(f"{indent}}}")

        def run(env: Env) -> None:
            start(env)
            if condition.value(env):
                then(env)
            elif otherwise is not None:
                otherwise(env)

        return run

    def recurrence(self, indent: str) -> Run:
        """`let h[t: N, j: M] = … h[t - 1, j ? 0] …`."""
        dims, name = self.shape(2), self.fresh("h")
        along = self.pick(0, len(dims) - 1)
        indices = self.binders(dims)
        x = self.scalar(1, self.choose(NUMBERS))
        first = replace(self.literal(x.dtype), dtype=x.dtype)
        before = ", ".join(f"{index} - 1" if i == along else index for i, index in enumerate(indices))

        def earlier(env: Env) -> Any:
            at = [int(env[index]) - (i == along) for i, index in enumerate(indices)]
            return env[name][tuple(at)] if at[along] >= 0 else first.value(env)

        past = Expression(f"{name}[{before} ? {first.text}]", ATOM, x.dtype, (), earlier, x.within)
        body = self.numeric(past, lambda dtype: self.cast(x, dtype), self.choose((3, 5, 9)))
        self.indices = {}
        written = ", ".join(f"{index}: {d.text}" for index, d in zip(indices, dims, strict=True))
        declared = (
            f": {x.dtype}[{', '.join(d.text for d in dims)}]" if x.text not in body.text or self.chance(3) else ""
        )
        self.lines.append(f"{indent}let {name}[{written}]{declared} = {body.text}")
        self.introduce(name, x.dtype, dims, within=body.within)
        axes = [(index, range(d.size)) for index, d in zip(indices, dims, strict=True)]

        def run(env: Env) -> None:
            env[name] = np.zeros([d.size for d in dims], DTYPES[x.dtype])
            for position, inner in each(axes, env):
                env[name][position] = body.value(inner)

        return run

    def scatter(self, indent: str) -> Run:
        """`y[idx[n]] += …`: what lies outside falls away."""
        where = self.choose(x for x in self.scope.values() if x.dtype == "i64" and len(x.shape) == 1)
        dims, name = self.shape(2), self.fresh("a")
        operator, function = self.choose((("+=", np.add), ("max=", np.maximum), ("min=", np.minimum)))
        dtype = self.choose(NUMBERS)
        indices = self.binders((where.shape[0], *dims[1:]))
        body = self.scalar(1, dtype)
        self.indices = {}
        self.lines += [
            f"{indent}var {name} = zeros({dtype}[{', '.join(d.text for d in dims)}])",
            f"{indent}{name}[{', '.join([f'{where.text}[{indices[0]}]', *indices[1:]])}] {operator} {body.text}",
        ]
        self.introduce(name, dtype, dims, within=body.within)
        axes = [(i, range(d.size)) for i, d in zip(indices, (where.shape[0], *dims[1:]), strict=True)]

        def run(env: Env) -> None:
            result = np.zeros([d.size for d in dims], DTYPES[dtype])
            for position, inner in each(axes, env):
                at = (int(where.value(env)[position[0]]), *position[1:])
                if 0 <= at[0] < dims[0].size:
                    result[at] = small(np.asarray(function(result[at], body.value(inner))), body.within)
            env[name] = result

        return run

    def pair(self, indent: str) -> Run:
        """`let a, b = swapped(x, y)`."""
        x, y = self.whole(1), self.whole(1)
        names = self.fresh("v"), self.fresh("v")
        self.lines.append(f"{indent}let {names[0]}, {names[1]} = swapped({x.text}, {y.text})")
        for name, value in zip(names, (y, x), strict=True):
            self.introduce(name, value.dtype, value.shape, within=value.within)

        def run(env: Env) -> None:
            self.assigned(names[1], x)(env)
            self.assigned(names[0], y)(env)

        return run
