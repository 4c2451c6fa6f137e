"""May two accesses touch the same element? The analysis that every loop transformation asks.

Each access has its own copy of the loop variables. Equal subscripts give equations, loop bounds and the asked
order of iterations inequalities; if the system has no solution, there is no dependence. Equations are solved
exactly where a coefficient is 1 (with a GCD test for the others), inequalities by Fourier–Motzkin elimination
over the rationals. Subscripts that divide, computed indices and systems that grow too large count as dependent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import product
from math import gcd

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ...dialects.affine import ForOp
from .accesses import (
    Linear,
    MemoryAccess,
    accesses,
    defined_inside,
    flat_subscript,
    loop_variables,
    variable_range,
)

SIZE_LIMIT = 300  # inequalities


class Order(Enum):
    """How the iteration of the first access relates to that of the second, for one loop."""

    SAME = "="
    BEFORE = "<"
    AFTER = ">"
    ANY = "*"


@dataclass(frozen=True)
class Relation:
    """A loop variable as the first and as the second access see it (fusion compares two loops), and their order."""

    first: SSAValue
    second: SSAValue
    order: Order


Row = tuple[dict[object, int], int]  # sum(coefficient * variable) + constant


class Iterations:
    """Two iterations that are related as given: what all pairs of accesses in them share is looked at once.

    Loop variables without a relation are independent in both; values made outside of all loops are equal.
    """

    def __init__(self, relations: Sequence[Relation]):
        self._relations = relations
        self._none = any(r.order in (Order.BEFORE, Order.AFTER) and _single(r.first) for r in relations)
        self._same = {r.first for r in relations if r.order is Order.SAME and r.first is r.second}
        self._flat: dict[int, tuple[MemoryAccess, tuple[Linear | None, ...] | None]] = {}
        self._intervals: dict[int, tuple[Linear, tuple[int, int] | None]] = {}

    def may_depend(self, first: MemoryAccess, second: MemoryAccess) -> bool:
        """Whether both accesses may touch one element, and one of them writes."""
        return (first.writes or second.writes) and self.may_meet(first, second)

    def may_meet(self, first: MemoryAccess, second: MemoryAccess) -> bool:
        """Whether both accesses may touch one element."""
        if self._none or first.root is not second.root:
            return False
        if first.memref is second.memref:
            left, right = first.subscripts, second.subscripts
        else:
            left, right = self._flattened(first), self._flattened(second)
        if left is None or right is None:
            return True
        pairs = [(a, b) for a, b in zip(left, right, strict=True) if a is not None and b is not None]
        if any(self._keep_apart(a, b) for a, b in pairs):
            return False
        system = _System()
        for relation in self._relations:
            system.relate(relation)
        for one, other in pairs:
            system.equate(one, other)
        return system.feasible()

    def _keep_apart(self, left: Linear, right: Linear) -> bool:
        """Whether it takes no system: as in a body that is unrolled, or of the parts of a concatenation."""
        if left.constant != right.constant and left.terms == right.terms and self._same.issuperset(left.terms):
            return True
        return _apart(self._interval(left), self._interval(right))

    def _flattened(self, access: MemoryAccess) -> tuple[Linear | None, ...] | None:
        if id(access) not in self._flat:
            self._flat[id(access)] = access, flat_subscript(access)
        return self._flat[id(access)][1]

    def _interval(self, form: Linear) -> tuple[int, int] | None:
        if id(form) not in self._intervals:
            self._intervals[id(form)] = form, _interval(form)
        return self._intervals[id(form)][1]


def _apart(one: tuple[int, int] | None, other: tuple[int, int] | None) -> bool:
    return one is not None and other is not None and (one[1] < other[0] or other[1] < one[0])


def kept_apart(first: MemoryAccess, second: MemoryAccess, one: SSAValue, other: SSAValue) -> bool:
    """Whether a subscript that knows the loop variable, `one` in the first and `other` in the second, never meets."""
    if first.memref is not second.memref or first.subscripts is None or second.subscripts is None:
        return False
    return any(
        a is not None and b is not None and one in a.terms and other in b.terms and _apart(_interval(a), _interval(b))
        for a, b in zip(first.subscripts, second.subscripts, strict=True)
    )


def _interval(form: Linear) -> tuple[int, int] | None:
    """The least and greatest value; None when a variable's range is not known."""
    low = high = form.constant
    for value, coefficient in form.terms.items():
        known = variable_range(value)
        if known is None or not known.count:
            return None
        ends = coefficient * known.lower, coefficient * (known.lower + (known.count - 1) * known.step)
        low, high = low + min(ends), high + max(ends)
    return low, high


def _single(variable: SSAValue) -> bool:
    known = variable_range(variable)
    return known is not None and known.count <= 1


class _System:
    """Equations and inequalities over copies of the loop variables."""

    def __init__(self) -> None:
        self.equations: list[Row] = []
        self.inequalities: list[Row] = []
        self._same: set[SSAValue] = set()
        self._alias: dict[SSAValue, SSAValue] = {}
        self._bounded: set[object] = set()

    def relate(self, relation: Relation) -> None:
        if relation.order is Order.ANY:
            return
        if relation.order is Order.SAME:
            self._alias[relation.second] = relation.first
            self._same.add(relation.first)
            return
        first, second = self._variable(relation.first, 0), self._variable(relation.second, 1)
        known = variable_range(relation.first)
        step = known.step if known is not None else 1
        sign = 1 if relation.order is Order.BEFORE else -1
        self.inequalities.append(({second: sign, first: -sign}, -step))

    def _variable(self, value: SSAValue, side: int) -> object:
        """The unknown that stands for `value` on one side; loop variables bring their bounds along."""
        known = variable_range(value)
        name: object
        if side and value in self._alias:
            name = (self._alias[value], 0)
        elif known is None and _is_fixed(value):
            name = (value, None)
        else:
            name = (value, 0 if value in self._same else side)
        if known is not None and name not in self._bounded:
            self._bounded.add(name)
            self.inequalities.append(({name: 1}, -known.lower))
            self.inequalities.append(({name: -1}, known.lower + (known.count - 1) * known.step))
        return name

    def equate(self, left: Linear, right: Linear) -> None:
        row: dict[object, int] = {}
        for side, form, sign in ((0, left, 1), (1, right, -1)):
            for value, coefficient in form.terms.items():
                name = self._variable(value, side)
                row[name] = row.get(name, 0) + sign * coefficient
        self.equations.append(({n: c for n, c in row.items() if c}, left.constant - right.constant))

    def feasible(self) -> bool:
        """Whether the system may have an integer solution (never a wrong no)."""
        equations, inequalities = list(self.equations), list(self.inequalities)
        while equations:
            terms, constant = equations.pop()
            if not terms:
                if constant:
                    return False
                continue
            if constant % gcd(*terms.values()):
                return False
            unit = next((name for name, c in terms.items() if abs(c) == 1), None)
            if unit is None:
                inequalities.append((terms, constant))
                inequalities.append(({n: -c for n, c in terms.items()}, -constant))
                continue
            factor = -terms[unit]  # unit = factor * (the rest)
            rest = ({n: c * factor for n, c in terms.items() if n != unit}, constant * factor)
            equations = [_substitute(row, unit, rest) for row in equations]
            inequalities = [_substitute(row, unit, rest) for row in inequalities]
        return _has_solution(inequalities)


def _is_fixed(value: SSAValue) -> bool:
    """Whether `value` is the same in all iterations: it is made outside of all loops."""
    owner = value.owner
    return isinstance(owner.parent_op(), FuncOp)


def _substitute(row: Row, name: object, value: Row) -> Row:
    terms, constant = row
    coefficient = terms.get(name, 0)
    if not coefficient:
        return row
    result = {n: c for n, c in terms.items() if n != name}
    for n, c in value[0].items():
        result[n] = result.get(n, 0) + coefficient * c
    return {n: c for n, c in result.items() if c}, constant + coefficient * value[1]


def _has_solution(rows: Iterable[Row]) -> bool:
    """Fourier–Motzkin: whether `sum + constant >= 0` for all rows has a rational solution."""
    current = [row for row in rows if row[0] or row[1] < 0]
    while True:
        if any(not terms and constant < 0 for terms, constant in current):
            return False
        current = [row for row in current if row[0]]
        if not current or len(current) > SIZE_LIMIT:
            return True
        names = {name: None for terms, _ in current for name in terms}  # in order, each once

        def growth(name: object, rows: list[Row] = current) -> int:
            up = sum(1 for terms, _ in rows if terms.get(name, 0) > 0)
            down = sum(1 for terms, _ in rows if terms.get(name, 0) < 0)
            return up * down - up - down

        name = min(names, key=growth)
        lower = [row for row in current if row[0].get(name, 0) > 0]
        upper = [row for row in current if row[0].get(name, 0) < 0]
        current = [row for row in current if not row[0].get(name, 0)]
        for low, high in product(lower, upper):
            current.append(_combine(low, high, name))


def _combine(low: Row, high: Row, name: object) -> Row:
    a, b = low[0][name], -high[0][name]
    terms: dict[object, int] = {}
    for row, factor in ((low, b), (high, a)):
        for n, c in row[0].items():
            terms[n] = terms.get(n, 0) + c * factor
    return {n: c for n, c in terms.items() if c}, low[1] * b + high[1] * a


def carries_dependence(loop: ForOp, touched: Sequence[MemoryAccess] | None = None) -> bool:
    """Whether an iteration of `loop` needs memory that another one writes (memory made inside is private)."""
    touched = accesses(loop.body.block.ops) if touched is None else touched
    outer = [Relation(v, v, Order.SAME) for v in loop_variables(loop)]
    own = Iterations([*outer, Relation(loop.variable, loop.variable, Order.BEFORE)])
    of_root: dict[SSAValue, list[MemoryAccess]] = {}
    for access in touched:
        of_root.setdefault(access.root, []).append(access)
    return any(
        own.may_depend(first, second)
        for root, relevant in of_root.items()
        if any(access.writes for access in relevant) and not defined_inside(root, loop)
        for first in relevant
        for second in relevant
    )


def is_parallel(loop: ForOp) -> bool:
    """Whether the iterations may run in any order: nothing is carried, in values or in memory."""
    return not loop.inits and not carries_dependence(loop)


def permutation_is_legal(band: Sequence[ForOp], order: Sequence[int]) -> bool:
    """Whether the perfectly nested loops `band` may be nested as `band[order[0]]`, `band[order[1]]`, ... instead.

    No dependence may have its direction turned round.
    """
    if any(loop.inits for loop in band):
        return False
    touched = accesses(band[-1].body.block.ops)
    outer = [Relation(v, v, Order.SAME) for v in loop_variables(band[0])]
    for signs in product((Order.SAME, Order.BEFORE, Order.AFTER), repeat=len(band)):
        leading = next((s for s in signs if s is not Order.SAME), Order.SAME)
        turned = next((signs[i] for i in order if signs[i] is not Order.SAME), Order.SAME)
        if leading is not Order.BEFORE or turned is not Order.AFTER:
            continue
        related = Iterations([*outer, *(Relation(l.variable, l.variable, s) for l, s in zip(band, signs, strict=True))])
        if any(related.may_depend(a, b) for a in touched for b in touched):
            return False
    return True


def is_permutable(band: Sequence[ForOp]) -> bool:
    """Whether perfectly nested loops may be nested in any order, and so be tiled: no dependence goes backwards."""
    if any(loop.inits for loop in band):
        return False
    touched = accesses(band[-1].body.block.ops)
    outer = [Relation(v, v, Order.SAME) for v in loop_variables(band[0])]
    for signs in product((Order.SAME, Order.BEFORE, Order.AFTER), repeat=len(band)):
        leading = next((s for s in signs if s is not Order.SAME), Order.SAME)
        if leading is not Order.BEFORE or Order.AFTER not in signs:
            continue
        related = Iterations([*outer, *(Relation(l.variable, l.variable, s) for l, s in zip(band, signs, strict=True))])
        if any(related.may_depend(a, b) for a in touched for b in touched):
            return False
    return True


def fusion_orders(
    first: ForOp, second: ForOp, left: Sequence[MemoryAccess], right: Sequence[MemoryAccess]
) -> tuple[bool, bool]:
    """What fusing two loops, `second` after `first`, would meet: (a dependence turned round, one carried).

    `left` and `right` are the accesses of their bodies.
    The first forbids the fusion, the second makes the fused loop sequential.
    """
    written = {a.root for a in (*left, *right) if a.writes}
    left, right = ([a for a in side if a.root in written] for side in (left, right))
    outer = [Relation(v, v, Order.SAME) for v in loop_variables(first)]
    found: list[bool] = []
    for order in (Order.AFTER, Order.BEFORE):
        related = Iterations([*outer, Relation(first.variable, second.variable, order)])
        found.append(any(related.may_depend(a, b) for a in left for b in right))
    return found[0], found[1]
