"""Common subexpressions: of two ops that do the same to the same values, the second goes.

One walk along the dominator tree with a scoped table. Ops with regions are compared by structure. A read may repeat
an earlier read of the same block if nothing between them changes memory, which an epoch counter tells at once.
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import Commutative, ConstantLike, IsTerminator, SymbolOpInterface

from .dominance import dominator_tree
from .effects import Effect, effects_of, is_trivially_dead
from .locations import fuse
from .traits import has, owns_its_values

Key = Hashable
_KEPT_APART = frozenset({"tensor.empty"})  # two destinations must not become one
_LARGEST_BODY = 200  # nested ops beyond which two regions are not compared
_MOST_ORIGINS = 8  # of an op that stands for several


def eliminate_common_subexpressions(root: Operation) -> bool:
    """Merges equal ops inside `root` and drops dead ones met on the way. Returns whether anything changed."""
    walk = _Walk()
    for region in root.regions:
        walk.region(region)
    return walk.changed


class _Walk:
    def __init__(self) -> None:
        self.known: dict[Key, Operation] = {}
        self.trail: list[Key] = []  # keys to forget when the scope ends
        self.epoch = 0
        self.changed = False

    def region(self, region: Region) -> None:
        first = region.first_block
        if first is None:
            return
        mark = len(self.trail)
        if first is region.last_block:
            self.block(first)
            self.forget(mark)
            return
        children = dominator_tree(region)
        stack: list[Block | int] = [first]
        while stack:
            top = stack.pop()
            if isinstance(top, int):
                self.forget(top)
                continue
            stack.append(len(self.trail))
            self.block(top)
            stack.extend(reversed(children[top]))

    def forget(self, mark: int) -> None:
        for key in self.trail[mark:]:
            del self.known[key]
        del self.trail[mark:]

    def block(self, block: Block) -> None:
        self.epoch += 1  # reads are not carried from one block to another
        op = block.first_op
        while op is not None:
            following = op.next_op
            self.op(op)
            op = following

    def op(self, op: Operation) -> None:
        if is_trivially_dead(op):
            op.detach()
            op.erase()
            self.changed = True
            return
        for region in op.regions:
            if owns_its_values(op):
                outer = self.known, self.trail
                self.known, self.trail = {}, []
                self.region(region)
                self.known, self.trail = outer
            else:
                self.region(region)
        self.merge(op)

    def merge(self, op: Operation) -> None:
        if has(op, IsTerminator) or has(op, SymbolOpInterface):
            return
        effect = effects_of(op)
        if effect.changes_memory:
            self.epoch += 1
        if effect not in (Effect.NONE, Effect.READ) or not op.results or op.name in _KEPT_APART:
            return
        key = _key(op)
        if key is None:
            return
        if effect is Effect.READ:
            key = (self.epoch, key)
        first = self.known.get(key)
        if first is None:
            self.known[key] = op
            self.trail.append(key)
            return
        for old, new in zip(op.results, first.results, strict=True):
            old.replace_all_uses_with(new)
            if new.name_hint is None:
                new.name_hint = old.name_hint
        if first.location != op.location and not has(first, ConstantLike):
            first.location = fuse((first.location, op.location), at_most=_MOST_ORIGINS)
        op.detach()
        op.erase()
        self.changed = True


def structure_key(op: Operation) -> Key | None:
    """What must be equal for two ops to compute the same from equal operands; None for an op that is not compared."""
    numbers: dict[SSAValue, int] = {operand: i for i, operand in enumerate(op.operands)}
    return _key(op, numbers)


def _key(op: Operation, given: dict[SSAValue, int] | None = None) -> Key | None:
    """What must be equal for two ops to compute the same; None for an op that is not compared.

    Operands in `given` count by their number instead of by what they are.
    """
    outside = given or {}
    if not op.regions:
        return _op_key(op, outside)
    numbers: dict[SSAValue, int] = {}
    body: list[Key] = []
    for region in op.regions:
        first = region.first_block
        if first is not region.last_block:
            return None
        if first is not None and not _number(first, numbers, body):
            return None
    return (_op_key(op, outside), tuple(body))


def _number(block: Block, numbers: dict[SSAValue, int], body: list[Key]) -> bool:
    """Appends the keys of the ops of `block`, the values inside named by their order. False when too large."""
    for arg in block.args:
        numbers[arg] = len(numbers)
        body.append(arg.type)
    for op in block.ops:
        body.append(_op_key(op, numbers))
        if len(body) > _LARGEST_BODY:
            return False
        for result in op.results:
            numbers[result] = len(numbers)
        for region in op.regions:
            body.append(len(list(region.blocks)))
            for inner in region.blocks:
                if not _number(inner, numbers, body):
                    return False
        if op.successors:
            return False
    return True


def _op_key(op: Operation, numbers: dict[SSAValue, int]) -> Key:
    operands: tuple[Key, ...] = tuple(numbers.get(v, -id(v) - 1) for v in op._operands)  # pyright: ignore[reportPrivateUsage]
    if len(operands) == 2 and has(op, Commutative) and operands[0] > operands[1]:  # pyright: ignore
        operands = operands[::-1]
    return (
        op.name,
        operands,
        tuple(result.type for result in op.results),
        frozenset(op.properties.items()) if op.properties else None,
        frozenset(op.attributes.items()) if op.attributes else None,
    )
