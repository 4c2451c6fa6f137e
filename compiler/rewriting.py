"""The greedy rewriter: patterns found by op type, folding, dead code, constants made once; linear in the module.

Patterns come from the op itself (xDSL's HasCanonicalizationPatterns) and from this module's table, where a dialect
puts patterns for ops that are not its own:

    @rewrites(arith.SelectOp)
    def same_either_way(op: arith.SelectOp, rewriter: PatternRewriter) -> None:
        if op.lhs is op.rhs:
            rewriter.replace(op, (), (op.lhs,))

Whatever a pattern inserts takes the location of the op it was found for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.traits import ConstantLike, HasCanonicalizationPatternsTrait
from xdsl.utils.worklist import Worklist

from .context import LaminaContext
from .dominance import dominator_tree
from .effects import is_trivially_dead
from .folding import Folder
from .locations import locate
from .traits import has, owns_its_values
from .walking import all_ops

Pattern = Callable[[Any, PatternRewriter], None]

_TABLE: dict[str, list[Pattern]] = {}
_WITHOUT_UPSTREAM: set[str] = set()
_REWRITES_PER_OP = 64  # more than this on average and two patterns undo each other


def rewrites(*ops: type[Operation]) -> Callable[[Pattern], Pattern]:
    """Declares the decorated function as a canonicalisation of `ops`. It changes the IR through the rewriter only."""

    def declare(pattern: Pattern) -> Pattern:
        for op in ops:
            _TABLE.setdefault(op.name, []).append(pattern)
        return pattern

    return declare


def ignore_upstream_patterns(dialect: str) -> None:
    """The patterns that xDSL attaches to the ops of `dialect` are not used: ours in the table replace them."""
    _WITHOUT_UPSTREAM.add(dialect)


def canonical_patterns(op_type: type[Operation]) -> tuple[Pattern, ...]:
    """Every canonicalisation known for ops of `op_type`: from the table, then the op's own."""
    found = list(_TABLE.get(op_type.name, ()))
    if op_type.dialect_name() not in _WITHOUT_UPSTREAM:
        for trait in op_type.get_traits_of_type(HasCanonicalizationPatternsTrait):
            found += [pattern.match_and_rewrite for pattern in trait.get_patterns(op_type)]
    return tuple(found)


def pattern_table(
    *patterns: tuple[type[Operation], Pattern | RewritePattern],
) -> Callable[[type[Operation]], tuple[Pattern, ...]]:
    """A table of one's own for `GreedyRewriter`, instead of the canonicalisations."""
    table: dict[type[Operation], list[Pattern]] = {}
    for op_type, pattern in patterns:
        function = pattern.match_and_rewrite if isinstance(pattern, RewritePattern) else pattern
        table.setdefault(op_type, []).append(function)
    return lambda op_type: tuple(table.get(op_type, ()))


class GreedyRewriter:
    """Applies patterns and folds until nothing changes. One instance per module."""

    def __init__(
        self,
        ctx: LaminaContext,
        patterns: Callable[[type[Operation]], tuple[Pattern, ...]] = canonical_patterns,
        *,
        fold: bool = True,
    ):
        self._find_patterns = patterns
        self._patterns: dict[type[Operation], tuple[Pattern, ...]] = {}
        self._folder = Folder(ctx) if fold else None
        self._constants: dict[tuple[object, ...], Operation] = {}
        self._worklist: Worklist[Operation] = Worklist()
        self._changed = False

    def run(self, root: Operation) -> bool:
        """Rewrites what is inside `root`. Returns whether anything changed.

        Raises RuntimeError naming the pattern when rewriting does not come to an end.
        """
        _, *ops = all_ops(root)
        if self._drop_unreachable_blocks([root, *ops]):
            _, *ops = all_ops(root)
        if self._folder is not None:
            self._unique_constants(ops)
        for op in reversed(ops):
            self._worklist.push(op)
        budget = _REWRITES_PER_OP * len(ops) + 10_000
        while self._worklist:
            op = self._worklist.pop()
            if op.parent is None:
                continue
            if self._visit(op):
                self._changed = True
                budget -= 1
                if budget < 0:
                    raise RuntimeError(f"canonicalisation of '{op.name}' does not come to an end")
        return self._changed

    # One op

    def _visit(self, op: Operation) -> bool:
        if is_trivially_dead(op):
            self._erase(op)
            return True
        if self._folder is not None and self._fold(op):
            return True
        patterns = self._patterns.get(type(op))
        if patterns is None:
            patterns = self._patterns[type(op)] = self._find_patterns(type(op))
        if not patterns:
            return False
        rewriter = self._rewriter(op)
        for pattern in patterns:
            pattern(op, rewriter)
            if rewriter.has_done_action:
                return True
        return False

    def _rewriter(self, op: Operation) -> PatternRewriter:
        location = op.location

        def inserted(new: Operation) -> None:
            if new.location is UNKNOWN_LOC:
                locate(new, location)
            for inner in new.walk():
                self._worklist.push(inner)

        rewriter = PatternRewriter(op)
        rewriter.operation_insertion_handler.append(inserted)
        rewriter.operation_removal_handler.append(self._removed)
        rewriter.operation_modification_handler.append(self._worklist.push)
        rewriter.operation_replacement_handler.append(self._replaced)
        return rewriter

    def _replaced(self, op: Operation, values: Sequence[SSAValue | None]) -> None:
        for result in op.results:
            for use in result.uses:
                self._worklist.push(use.operation)

    def _removed(self, op: Operation) -> None:
        """`op` is about to go: forget it and what is inside, and look again at what made its operands."""
        for inner in op.walk():
            self._worklist.remove(inner)
            for operand in inner.operands:
                if isinstance(owner := operand.owner, Operation):
                    self._worklist.push(owner)
            if has(inner, ConstantLike):
                key = self._constant_key(inner)
                if self._constants.get(key) is inner:
                    del self._constants[key]
        for inner in op.walk():
            self._worklist.remove(inner)

    def _erase(self, op: Operation) -> None:
        self._removed(op)
        op.detach()
        op.erase()

    # Folding and constants

    def _fold(self, op: Operation) -> bool:
        assert self._folder is not None
        if has(op, ConstantLike):
            return False
        folded = self._folder.fold(op)
        if folded is None:
            return False
        values: list[SSAValue] = []
        for item, result in zip(folded, op.results, strict=True):
            value = self._constant(op, item, result.type) if isinstance(item, Attribute) else item
            if value is None:
                return False
            values.append(value)
        if all(new is old for new, old in zip(values, op.results, strict=True)):
            return False
        self._replaced(op, values)
        for old, new in zip(op.results, values, strict=True):
            old.replace_all_uses_with(new)
            if new.name_hint is None:
                new.name_hint = old.name_hint
        self._erase(op)
        return True

    def _constant(self, op: Operation, value: Attribute, type_: Attribute) -> SSAValue | None:
        """The constant `value` where it is visible from `op`: the one there is, or a new one in the entry block."""
        assert self._folder is not None
        constant = self._folder.materialize(op, value, type_)
        if constant is None:
            return None
        entry = _home(op)
        key = (id(entry), *self._key(constant))
        known = self._constants.get(key)
        if known is None:
            constant.location = op.location
            entry.insert_op_before(constant, entry.first_op) if entry.first_op else entry.add_op(constant)
            self._constants[key] = known = constant
            self._worklist.push(constant)
        return known.results[0]

    @staticmethod
    def _key(constant: Operation) -> tuple[object, ...]:
        attributes = frozenset(constant.attributes.items())
        return type(constant), constant.results[0].type, frozenset(constant.properties.items()), attributes

    def _constant_key(self, constant: Operation) -> tuple[object, ...]:
        return (id(_home(constant)), *self._key(constant)) if constant.parent is not None else ()

    def _unique_constants(self, ops: Iterable[Operation]) -> None:
        """Moves every constant to the front of the entry block it is visible from, one of each."""
        constants = [op for op in ops if has(op, ConstantLike)]
        fronts: dict[Block, Operation] = {}  # the last constant at the front of each block
        for constant in constants:
            if len(constant.results) != 1 or constant.parent is None:
                continue
            entry = _home(constant)
            key = (id(entry), *self._key(constant))
            known = self._constants.get(key)
            if known is not None:
                constant.results[0].replace_all_uses_with(known.results[0])
                constant.detach()
                constant.erase()
                self._changed = True
                continue
            self._constants[key] = constant
            front = fronts.get(entry)
            if constant.prev_op is not front or constant.parent is not entry:
                constant.detach()
                if front is None:
                    assert entry.first_op is not None
                    entry.insert_op_before(constant, entry.first_op)
                else:
                    entry.insert_op_after(constant, front)
                self._changed = True
            fronts[entry] = constant

    # Control flow

    def _drop_unreachable_blocks(self, ops: Iterable[Operation]) -> bool:
        regions = [r for op in ops for r in op.regions if r.first_block is not r.last_block]
        dropped = [drop_unreachable_blocks(region) for region in regions if region.parent is not None]
        self._changed |= any(dropped)
        return any(dropped)


def drop_unreachable_blocks(region: Region) -> bool:
    """Erases the blocks of `region` that no path from its entry reaches. Returns whether there were any."""
    reachable = dominator_tree(region)
    dead = [block for block in region.blocks if block not in reachable]
    for block in dead:
        for op in block.ops:
            op.drop_all_references()
    for block in dead:
        region.detach_block(block)
        block.erase(safe_erase=False)
    return bool(dead)


def _home(op: Operation) -> Block:
    """The block where constants that `op` uses live: the entry block of the function or region that owns them."""
    block = op.parent
    assert block is not None
    while True:
        region = block.parent
        parent = None if region is None else region.parent
        if region is None or parent is None:
            return block
        if owns_its_values(parent):
            assert region.first_block is not None
            return region.first_block
        assert parent.parent is not None
        block = parent.parent
