"""Which innermost loops can run several rounds at a time, and what each value of the body then is."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FixedBitwidthType, IndexType, IntegerType, MemRefType
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from ....dialects import affine, memref, vector
from ....dialects.affine.linear_forms import is_linear, memref_shape, row_major_strides
from ..dependence import carries_dependence
from .selection import Selection, find_selection

Kind = vector.CombiningKindFlag

COMBINING: dict[type[Operation], Kind] = {
    arith.AddfOp: Kind.ADD,
    arith.MulfOp: Kind.MUL,
    arith.MaximumfOp: Kind.MAXIMUMF,
    arith.MinimumfOp: Kind.MINIMUMF,
    arith.AddiOp: Kind.ADD,
    arith.MuliOp: Kind.MUL,
    arith.MaxSIOp: Kind.MAXSI,
    arith.MinSIOp: Kind.MINSI,
    arith.MaxUIOp: Kind.MAXUI,
    arith.MinUIOp: Kind.MINUI,
    arith.AndIOp: Kind.AND,
    arith.OrIOp: Kind.OR,
    arith.XOrIOp: Kind.XOR,
}


# integer division traps on lanes that are masked off, and no machine here has it for vectors
DIVIDING = (
    arith.DivSIOp,
    arith.DivUIOp,
    arith.RemSIOp,
    arith.RemUIOp,
    arith.CeilDivSIOp,
    arith.CeilDivUIOp,
    arith.FloorDivSIOp,
)


# elements apart of a load that is made of whole vectors and shuffles
SHUFFLED_STEPS = (-1, 2, 3, 4)


class NotVectorizable(Exception):
    """Why a loop stays as it is."""


@dataclass(frozen=True)
class Reduction:
    """A value carried by the loop that only ever combines with what the rounds bring."""

    carried: BlockArgument
    kind: Kind
    flags: frozenset[FastMathFlag] = frozenset()  # of all ops that combine


@dataclass
class Plan:
    """A loop that can be vectorised: its range is `start + [0, trips)`, start the loop's lower bound."""

    loop: affine.ForOp
    trips: int
    element_bytes: int
    reductions: tuple[Reduction, ...]
    selection: Selection | None = None  # or, instead, this
    steps: dict[Operation, int] = field(default_factory=dict[Operation, int])  # elements per round, by access
    idempotent: bool = True  # a round may run twice
    cost: int = 0  # ops per round
    varying: set[SSAValue] = field(default_factory=set[SSAValue])  # what differs from round to round
    together: int = 1  # elements that every round stores side by side, one after another

    @property
    def body(self) -> Block:
        """What one round does."""
        return self.loop.body.block

    @property
    def carries(self) -> bool:
        """Whether rounds hand something on."""
        return bool(self.reductions) or self.selection is not None

    @property
    def index(self) -> SSAValue:
        """The loop's variable."""
        return self.body.args[0]


def trip_count(loop: affine.ForOp) -> int | None:
    """How many rounds, when that is known: bounds are constants or differ by one."""
    lower, upper = loop.lowerBoundMap.data, loop.upperBoundMap.data
    if len(lower.results) != 1 or len(upper.results) != 1 or loop.step.value.data != 1:
        return None
    low, high = lower.results[0], upper.results[0]
    if not low.used_dims() and not high.used_dims() and not lower.num_symbols and not upper.num_symbols:
        return max(0, high.eval((), ()) - low.eval((), ()))
    if tuple(loop.lowerBoundOperands) != tuple(loop.upperBoundOperands) or lower.num_symbols:
        return None
    if not is_linear(low) or not is_linear(high):
        return None
    dims = lower.num_dims
    points = [[0] * dims, *([int(i == d) for i in range(dims)] for d in range(dims))]
    gaps = {high.eval(point, ()) - low.eval(point, ()) for point in points}
    return max(0, gaps.pop()) if len(gaps) == 1 else None


def buffer_of(value: SSAValue) -> SSAValue:
    """The buffer that `value` is a view of."""
    while isinstance(value.owner, Operation) and value.owner.name.startswith("memref.") and value.owner.operands:
        value = value.owner.operands[0]
    return value


def step_of(base: SSAValue, map: AffineMap, operands: tuple[SSAValue, ...], index: SSAValue) -> int:
    """Elements that the access moves per round of the loop over `index`. Raises NotVectorizable if not even."""
    shape = memref_shape(base)
    if shape is None:
        raise NotVectorizable("a buffer of unknown layout")
    positions = {i for i, operand in enumerate(operands) if operand is index}
    if not positions:
        return 0
    step = 0
    origin, moved = [0] * len(operands), [int(i in positions) for i in range(len(operands))]
    for expr, stride in zip(map.results, row_major_strides(shape), strict=True):
        if not any(isinstance(e, AffineDimExpr) and e.position in positions for e in expr.dfs()):
            continue
        if not is_linear(expr):
            raise NotVectorizable("an access that is not linear in the loop variable")
        given = ([symbol] * map.num_symbols for symbol in (0, 1))  # added to the variable, not multiplied with it
        steps = {expr.eval(moved, symbols) - expr.eval(origin, symbols) for symbols in given}
        if len(steps) > 1:
            raise NotVectorizable("an access whose step is computed")
        step += steps.pop() * stride
    return step


def analyse(loop: affine.ForOp, *, gathers: bool = False, least: int | None = None, together: int = 1) -> Plan:
    """The plan for `loop`, with `gathers` however many there are; for `least` rounds, where it is not known how many.

    Stores are one element after another, or so many `together`.

    Raises NotVectorizable.
    """
    trips = trip_count(loop) or least
    if trips is None or trips < 2:
        raise NotVectorizable("too few rounds, or not known how many")
    selection = find_selection(loop)
    plan = Plan(loop, trips, 0, () if selection is not None else reductions(loop), selection, together=together)
    plan.varying.update(plan.body.args)
    stored: list[affine.StoreOp] = []
    loaded: list[affine.LoadOp | memref.LoadOp] = []
    for op in plan.body.ops:
        match op:
            case affine.LoadOp():
                plan.steps[op] = even_step(op, plan)
                loaded.append(op)
            case memref.LoadOp():
                plan.steps[op] = computed_step(op, plan)
                loaded.append(op)
            case affine.StoreOp():
                plan.steps[op] = even_step(op, plan)
                if plan.steps[op] != together or op.value is plan.index:
                    raise NotVectorizable("a store that is not contiguous, or of the loop variable itself")
                stored.append(op)
            case affine.ApplyOp():
                if plan.index in op.operands and not is_linear(op.map.data.results[0]):
                    raise NotVectorizable("an index that is not linear in the loop variable")
                if any(operand in plan.varying for operand in op.operands if operand is not plan.index):
                    raise NotVectorizable("an index computed from computed indices")
            case affine.YieldOp():
                pass
            case _:
                check_elementwise(op)
                plan.cost += cost_of(op)
        if plan.steps.get(op, 0) or (op not in plan.steps and any(o in plan.varying for o in op.operands)):
            plan.varying.update(op.results)
    loads = [(op, step) for op, step in plan.steps.items() if not isinstance(op, affine.StoreOp)]
    uneven = sum(step not in (0, 1) and not is_shuffled(op, plan) for op, step in loads)
    check_dependences(plan, loaded, stored)
    sizes = [bytes_of(t) for op in plan.body.ops for t in (*op.result_types, *(o.type for o in op.operands))]
    plan.element_bytes = max((size for size in sizes if size), default=0)
    if not plan.element_bytes:
        raise NotVectorizable("no data")
    if uneven and not gathers and plan.cost < 4 * uneven:
        raise NotVectorizable("gathering costs more than the vectors save")
    if not stored and not plan.carries:
        raise NotVectorizable("it does nothing")
    return plan


def reductions(loop: affine.ForOp) -> tuple[Reduction, ...]:
    """What each carried value is. Raises NotVectorizable for other than reductions."""
    found: list[Reduction] = []
    last = loop.body.block.last_op
    assert last is not None
    for carried, yielded in zip(loop.body.block.args[1:], last.operands, strict=True):
        value: SSAValue = carried
        kinds: set[Kind] = set()
        flags = frozenset(FastMathFlag)
        while value is not yielded:
            users = list(value.uses)
            if len(users) != 1 or type(users[0].operation) not in COMBINING:
                raise NotVectorizable("a carried value that is not a reduction")
            kinds.add(COMBINING[type(users[0].operation)])
            own = users[0].operation.properties.get("fastmath")
            flags &= frozenset(own.data if isinstance(own, arith.FastMathFlagsAttr) else ())
            value = users[0].operation.results[0]
        if len(kinds) != 1 or len(list(yielded.uses)) != 1:
            raise NotVectorizable("a carried value that is not a reduction")
        found.append(Reduction(carried, kinds.pop(), flags))
    return tuple(found)


def even_step(op: affine.LoadOp | affine.StoreOp, plan: Plan) -> int:
    """Elements that an affine access moves per round."""
    if any(operand in plan.varying for operand in op.indices if operand is not plan.index):
        raise NotVectorizable("an access at computed indices")
    return step_of(op.memref, op.map.data, tuple(op.indices), plan.index)


def is_shuffled(op: Operation, plan: Plan) -> bool:
    """Whether elements a short step apart, or backwards, are read along the last dimension: shuffles do it."""
    if plan.steps[op] not in SHUFFLED_STEPS or not isinstance(op, affine.LoadOp):
        return False
    positions = {i for i, operand in enumerate(op.indices) if operand is plan.index}
    return not any(expr.used_dims() & positions for expr in op.map.data.results[:-1])


def computed_step(op: memref.LoadOp, plan: Plan) -> int:
    """A load at computed indices: 1 where the loop's variable is the last index, 0 where none varies."""
    *outer, last = op.indices
    if memref_shape(op.memref) is None or any(index in plan.varying for index in outer):
        raise NotVectorizable("a gather")
    if last is plan.index:
        return 1
    if last in plan.varying:
        raise NotVectorizable("a gather")
    return 0


def check_elementwise(op: Operation) -> None:
    """Raises NotVectorizable unless `op` computes one scalar from scalars."""
    types = (*op.result_types, *(operand.type for operand in op.operands))
    scalar = all(isinstance(t, AnyFloat | IntegerType | IndexType) for t in types)
    if (
        isinstance(op, DIVIDING)
        or not op.name.startswith(("arith.", "math."))
        or len(op.results) != 1
        or op.regions
        or not scalar
    ):
        raise NotVectorizable(f"'{op.name}' has no vector form")


def cost_of(op: Operation) -> int:
    """Instructions, roughly: math becomes a polynomial, indices fill vectors twice as wide as the data's."""
    if op.name.startswith("math."):
        return 20
    return 10 if any(isinstance(operand.type, IndexType) for operand in op.operands) else 1


def check_dependences(plan: Plan, loaded: list[affine.LoadOp | memref.LoadOp], stored: list[affine.StoreOp]) -> None:
    """Raises NotVectorizable where a round may read or overwrite what another one writes."""
    checked = False  # asked once: the answer is for the whole loop
    for store in stored:
        for other in (*loaded, *stored):
            if other is store or buffer_of(other.memref) is not buffer_of(store.memref):
                continue
            same = (
                isinstance(other, affine.LoadOp | affine.StoreOp)
                and other.memref is store.memref
                and other.map == store.map
                and tuple(other.indices) == tuple(store.indices)
            )
            if not same and not checked:
                if carries_dependence(plan.loop):
                    raise NotVectorizable("a round may touch what another one writes")
                checked = True
            if not isinstance(other, affine.StoreOp):
                plan.idempotent = False


def bytes_of(type_: Attribute) -> int:
    """The size of a number that decides how many lanes there are; 0 for indices and buffers."""
    if isinstance(type_, MemRefType | IndexType) or not isinstance(type_, FixedBitwidthType):
        return 0
    return max(1, type_.bitwidth // 8)


def shifted(expr: AffineExpr, by: int) -> AffineExpr:
    """expr + by."""
    return expr + by if by else expr
