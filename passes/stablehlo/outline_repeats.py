"""stablehlo-outline-repeats: a stretch of ops that is repeated, as transformer layers are, becomes one function.

before: %1 = a.x %0, %w0    %2 = a.y %1    %3 = a.x %2, %w1    %4 = a.y %3    %5 = a.x %4, %w2    %6 = a.y %5
after:  %2 = func.call @repeat_0(%0, %w0)    %4 = func.call @repeat_0(%2, %w1)    %6 = func.call @repeat_0(%4, %w2)
        func.func private @repeat_0(%x, %w) attributes {lamina.constant_args = 1 : i64} { a.x; a.y }

What the passes that follow do for one layer then holds for all of them; `inline` puts the layers back. Constants that
differ from one repetition to the next are the function's last arguments, `lamina.constant_args` says how many; equal
ones move into it, and so does what is merely spread out from them, such as a broadcast. The stretch is cut where the
fewest values cross, so that little is lost at the seams. Where copies differ by which slice of a value each works on,
as what a detector does for each class, the slices stay outside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import ConstantLike, IsTerminator

from ...compiler.cse import structure_key
from ...compiler.locations import fuse
from ...compiler.traits import has
from ...dialects.stablehlo import BroadcastInDimOp, IotaOp, ReshapeOp, SliceOp

CONSTANT_ARGS = "lamina.constant_args"
_SPREAD = (BroadcastInDimOp, IotaOp, ReshapeOp)  # cheaper to do again than to hand over
_MOST_ORIGINS = 8  # named by a call
_PERIODS = 8  # how many candidates for the length of a repetition are looked at


@dataclass(frozen=True)
class OutlineRepeats(ModulePass):
    """Outlines runs of at least `copies` equal stretches if that saves `ops` ops or more."""

    name = "stablehlo-outline-repeats"

    copies: int = 3
    ops: int = 64

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        taken = {f.sym_name.data for f in op.ops if isinstance(f, func.FuncOp)}
        count = 0
        for function in [f for f in op.ops if isinstance(f, func.FuncOp) and len(f.body.blocks) == 1]:
            while copies := self._copies(function.body.block):
                wiring = _wiring(copies)
                if wiring is None:
                    break
                while (name := f"repeat_{count}") in taken:
                    count += 1
                op.body.block.add_op(_outline(copies, wiring, name))
                count += 1

    def _copies(self, block: Block) -> list[list[Operation]] | None:
        """The repetition that saves most; where there is none, one of which each copy works on a slice of its own."""
        if copies := _longest_run(block, self.copies, self.ops, _stand_alone_key):
            return copies
        copies = _longest_run(block, self.copies, self.ops, _key_of_any_slice)
        copies = None if copies is None else _without_own_slices(copies)
        if copies is None or len(copies[0]) == 1 or (len(copies) - 1) * len(copies[0]) < self.ops:
            return None
        return copies


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and has(value.owner, ConstantLike)


def _longest_run(
    block: Block, fewest: int, worth: int, key_of: Callable[[Operation], Hashable | None]
) -> list[list[Operation]] | None:
    """The repetition that saves most, cut where the fewest values cross from one copy to the next."""
    ops = [op for op in block.ops if not has(op, ConstantLike) and not has(op, IsTerminator)]
    if len(ops) < worth:
        return None
    numbers: dict[object, int] = {}
    keys = [-1 - i if (k := key_of(op)) is None else numbers.setdefault(k, len(numbers)) for i, op in enumerate(ops)]
    best: tuple[int, int, int, int] | None = None  # ops saved, period, first op, how many ops are equal to a later one
    for period in _periods(keys):
        if period == 1:  # a call in place of one op saves nothing, and could itself be outlined for ever
            continue
        start = length = 0
        for i in range(len(keys) - period + 1):
            if i < len(keys) - period and keys[i] == keys[i + period]:
                length += 1
                continue
            saved = length // period * period
            if length // period + 1 >= fewest and saved >= worth and (best is None or saved > best[0]):
                best = (saved, period, start, length)
            start, length = i + 1, 0
    if best is None:
        return None
    _, period, start, length = best
    crossing = _crossing(ops)
    count = length // period + 1
    spare = length + period - count * period  # offsets that cost no copy
    offsets = range(period) if count > fewest else range(spare + 1)
    first = start + min(offsets, key=lambda d: (crossing[start + d], d))
    count = (start + length + period - first) // period
    return [ops[first + c * period : first + (c + 1) * period] for c in range(count)]


def _stand_alone_key(op: Operation) -> Hashable | None:
    """The structure of an op with the types it takes; None when its regions use what is defined around it."""
    if op.regions:
        own: set[SSAValue] = {value for inner in op.walk() for value in inner.results}
        own.update(argument for inner in op.walk() for r in inner.regions for b in r.blocks for argument in b.args)
        if any(value not in own for inner in op.walk() if inner is not op for value in inner.operands):
            return None
    return structure_key(op), tuple(value.type for value in op.operands)


def _key_of_any_slice(op: Operation) -> Hashable | None:
    """The same, but for where a slice begins."""
    if not isinstance(op, SliceOp):
        return _stand_alone_key(op)
    return op.name, op.operand.type, op.results[0].type, op.strides


def _without_own_slices(copies: list[list[Operation]]) -> list[list[Operation]] | None:
    """Without the slices that differ, which each copy is given; None where they are slices of what a copy makes."""
    differ = {i for i, ops in enumerate(zip(*copies, strict=True)) if len({structure_key(op) for op in ops}) > 1}
    members = {op for copy in copies for op in copy}
    if any(operand.owner in members for copy in copies for i in differ for operand in copy[i].operands):
        return None
    return [[op for i, op in enumerate(copy) if i not in differ] for copy in copies]


def _periods(keys: Sequence[int]) -> list[int]:
    """The distances at which ops are most often repeated."""
    last: dict[int, int] = {}
    distances: Counter[int] = Counter()
    for i, key in enumerate(keys):
        if key in last:
            distances[i - last[key]] += 1
        last[key] = i
    return [distance for distance, _ in distances.most_common(_PERIODS)]


def _crossing(ops: Sequence[Operation]) -> list[int]:
    """For each op, how many values defined before it are used by it or later."""
    number = {op: i for i, op in enumerate(ops)}
    change = [0] * (len(ops) + 2)
    for i, op in enumerate(ops):
        last = max((number.get(_top(use.operation, op), len(ops)) for r in op.results for use in r.uses), default=i)
        change[i + 1] += 1
        change[last + 1] -= 1
    total, crossing = 0, [0] * len(ops)
    for i in range(len(ops)):
        total += change[i]
        crossing[i] = total
    return crossing


def _top(user: Operation, op: Operation) -> Operation:
    """The op in the block of `op` that `user` is or lies in."""
    while user.parent is not op.parent and (parent := user.parent_op()) is not None:
        user = parent
    return user


@dataclass
class _Slot:
    """A value that every copy takes from outside: `place` is the first op and operand that reads it."""

    values: tuple[SSAValue, ...]
    place: tuple[int, int]

    @property
    def is_constant(self) -> bool:
        """Whether each copy reads a constant here."""
        return all(map(_is_constant, self.values))

    @property
    def is_shared(self) -> bool:
        """Whether every copy reads the same: one value, or equal constants."""
        if all(v is self.values[0] for v in self.values):
            return True
        owners = [v.owner for v in self.values if isinstance(v.owner, Operation)]
        return self.is_constant and len({structure_key(owner) for owner in owners}) == 1


@dataclass
class _Wiring:
    """What the copies take from outside, which slot each operand is, and what of a copy is used outside of it."""

    slots: dict[tuple[SSAValue, ...], _Slot]
    operands: dict[tuple[int, int], _Slot]
    results: list[tuple[int, int]]


def _wiring(copies: list[list[Operation]]) -> _Wiring | None:
    """How the copies hang together, None when it is not the same way for all."""
    inside = [{r: (i, j) for i, op in enumerate(copy) for j, r in enumerate(op.results)} for copy in copies]
    wiring = _Wiring({}, {}, [])
    members = [set(copy) for copy in copies]
    for i, ops in enumerate(zip(*copies, strict=True)):
        for k, values in enumerate(zip(*(op.operands for op in ops), strict=True)):
            where = {inside[c].get(value) for c, value in enumerate(values)}
            if len(where) > 1:
                return None
            if where == {None}:
                wiring.operands[i, k] = wiring.slots.setdefault(values, _Slot(values, (i, k)))
        for j in range(len(ops[0].results)):
            users = ((c, _top(use.operation, op)) for c, op in enumerate(ops) for use in op.results[j].uses)
            if any(user not in members[c] for c, user in users):
                wiring.results.append((i, j))
    return wiring


def _outline(copies: list[list[Operation]], wiring: _Wiring, name: str) -> func.FuncOp:
    """Makes the function of the first copy and calls it in place of every copy."""
    maker = _Maker(Block())
    function = maker.function(copies[0], wiring, name)
    for copy in copies:
        operands = [copy[i].operands[k] for i, k in maker.varying]
        operands += [*maker.shared, *(copy[i].operands[k] for i, k in maker.constant)]
        call = func.CallOp(name, operands, function.function_type.outputs.data)
        call.location = fuse((op.location for op in copy), at_most=_MOST_ORIGINS)
        Rewriter.insert_op(call, InsertPoint.after(copy[-1]))
        for (i, j), new in zip(wiring.results, call.results, strict=True):
            new.name_hint = copy[i].results[j].name_hint
            copy[i].results[j].replace_all_uses_with(new)
        for op in reversed(copy):
            op.detach()
            op.erase()
    return function


class _Maker:
    """Fills the function's block. Its arguments: what varies, what all copies share, constants that differ."""

    def __init__(self, block: Block):
        self.block = block
        self.varying: list[tuple[int, int]] = []
        self.shared: list[SSAValue] = []
        self.constant: list[tuple[int, int]] = []
        self.inside: dict[SSAValue, SSAValue] = {}  # of shared values

    def argument(self, value: SSAValue, index: int) -> SSAValue:
        argument = self.block.insert_arg(value.type, index)
        argument.name_hint = value.name_hint
        return argument

    def share(self, value: SSAValue) -> SSAValue:
        """What stands in the function for a value that all copies use."""
        if value in self.inside:
            return self.inside[value]
        owner = value.owner
        if isinstance(owner, Operation) and (has(owner, ConstantLike) or isinstance(owner, _SPREAD)):
            given = {v: self.share(v) for v in owner.operands}
            copy = owner.clone(given)
            copy.location = owner.location
            self.block.add_op(copy)
            new = copy.results[0]
        else:
            new = self.argument(value, len(self.varying) + len(self.shared))
            self.shared.append(value)
        self.inside[value] = new
        return new

    def function(self, first: list[Operation], wiring: _Wiring, name: str) -> func.FuncOp:
        given: dict[int, SSAValue] = {}
        for slot in wiring.slots.values():
            if slot.is_shared:
                given[id(slot)] = self.share(slot.values[0])
            elif slot.is_constant:
                given[id(slot)] = self.argument(slot.values[0], len(self.block.args))
                self.constant.append(slot.place)
            else:
                given[id(slot)] = self.argument(slot.values[0], len(self.varying))
                self.varying.append(slot.place)
        mapper: dict[SSAValue, SSAValue] = {}
        for i, op in enumerate(first):
            copy = op.clone(mapper)
            copy.location = op.location
            for k in range(len(op.operands)):
                if (slot := wiring.operands.get((i, k))) is not None:
                    copy.operands[k] = given[id(slot)]
            self.block.add_op(copy)
        results = [mapper[first[i].results[j]] for i, j in wiring.results]
        returned = func.ReturnOp(*results)
        returned.location = first[-1].location
        self.block.add_op(returned)
        types = [a.type for a in self.block.args], [r.type for r in results]
        function = func.FuncOp(name, types, Region(self.block), "private")
        function.location = first[0].location
        function.attributes[CONSTANT_ARGS] = IntegerAttr(len(self.constant), i64)
        return function
