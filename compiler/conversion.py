"""Dialect conversion: one sweep down the module, each illegal op replaced by its rule, loud about what is left.

A rule sees the op with its *converted* operands and a builder that stands before the op. It returns the values
that replace the results (more than one value per result where a type converts to several). Ops without a rule
keep their place, with operands renamed, and are legal only if the target says so.

    RULES = Rules("convert-stablehlo-to-linalg", types=TYPES)

    @RULES.lowers(stablehlo.AddOp)
    def add(op: stablehlo.AddOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue: ...

    convert(module, RULES, illegal={"stablehlo"})
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from .diagnostics import LaminaError, describe_place

OpT = TypeVar("OpT", bound=Operation)
Replacement = SSAValue | Sequence[SSAValue] | None
Rule = Callable[[Any, Sequence[SSAValue], "RuleBuilder"], Replacement]
TypeRule = Callable[[Attribute], Attribute]


def _same_type(type_: Attribute) -> Attribute:
    return type_


@dataclass
class Rules:
    """The rules of one conversion, by op class, and how types convert (default: they stay)."""

    name: str
    types: TypeRule = _same_type
    table: dict[type[Operation], Rule] = field(default_factory=dict[type[Operation], Rule])

    def lowers(self, *ops: type[Operation]) -> Callable[[Rule], Rule]:
        """Registers the decorated function as the rule for each op class. Two rules for one op are a TypeError."""

        def register(rule: Rule) -> Rule:
            for op in ops:
                if op in self.table:
                    raise TypeError(f"{self.name}: two rules for '{op.name}'")
                self.table[op] = rule
            return rule

        return register

    def rule_for(self, op: type[Operation]) -> Rule | None:
        """The rule of this op class or of the nearest class it extends: our ops extend xDSL's under one name."""
        return next((self.table[base] for base in op.__mro__ if base in self.table), None)


class RuleBuilder:
    """Inserts ops before one point and gives each, and what is nested in it, the location of the op being lowered."""

    def __init__(self, conversion: _Conversion, op: Operation):
        self._conversion = conversion
        self._op = op
        self.point = InsertPoint.before(op)

    @property
    def types(self) -> TypeRule:
        return self._conversion.rules.types

    def __call__(self, op: OpT) -> OpT:
        """Inserts `op` and returns it, so that `b(arith.AddfOp(x, y)).result` reads well."""
        for inner in op.walk():
            inner.location = self._op.location
        Rewriter.insert_op(op, self.point)
        return op

    def convert_region(self, region: Region) -> Region:
        """Converts the ops inside `region` of the op being lowered, detaches and returns it."""
        self._conversion.region(region)
        return self._op.detach_region(region)

    def value(self, value: SSAValue) -> SSAValue:
        """What `value` of the source became."""
        return self._conversion.renamed(value)

    def fail(self, message: str, hint: str | None = None) -> LaminaError:
        """The error to raise when this op cannot be lowered for the reason given."""
        return LaminaError(message, where=self._op, hint=hint)


class _Conversion:
    def __init__(self, rules: Rules, illegal: set[str]):
        self.rules = rules
        self.illegal = illegal
        self.values: dict[SSAValue, SSAValue] = {}
        self.dead: list[Operation] = []
        self.failed: list[str] = []

    def renamed(self, value: SSAValue) -> SSAValue:
        return self.values.get(value, value)

    def region(self, region: Region) -> None:
        for block in region.blocks:
            self.block(block)

    def block(self, block: Block) -> None:
        for arg in block.args:
            new_type = self.rules.types(arg.type)
            if new_type != arg.type:
                self._retype(block, arg, new_type)
        op = block.first_op
        while op is not None:
            following = op.next_op
            self.op(op)
            op = following

    def _retype(self, block: Block, arg: BlockArgument, new_type: Attribute) -> None:
        """A new argument in the place of `arg`, which stays what the ops being lowered see: rules may ask its type."""
        new = BlockArgument(new_type, block, arg.index, arg.location)
        new.name_hint = arg.name_hint
        args = block.args
        block._args = (*args[: arg.index], new, *args[arg.index + 1 :])  # pyright: ignore[reportPrivateUsage]
        self.values[arg] = new

    def op(self, op: Operation) -> None:
        rule = self.rules.rule_for(type(op))
        operands = [self.renamed(operand) for operand in op.operands]
        if rule is None:
            if op.name in self.illegal or op.name.partition(".")[0] in self.illegal:
                self.failed.append(describe_place(op))
            if any(new is not old for new, old in zip(operands, op.operands, strict=True)):
                op.operands = operands
            self._convert_function_type(op)
            for region in op.regions:
                self.region(region)
            return
        new = rule(op, operands, RuleBuilder(self, op))
        results = [] if new is None else [new] if isinstance(new, SSAValue) else list(new)
        if len(results) != len(op.results):
            raise TypeError(
                f"{self.rules.name}: rule for '{op.name}' gave {len(results)} values for {len(op.results)} results"
            )
        for old, value in zip(op.results, results, strict=True):
            if value.name_hint is None:
                value.name_hint = old.name_hint
            self.values[old] = value
        self.dead.append(op)

    def _convert_function_type(self, op: Operation) -> None:
        function_type = op.properties.get("function_type")
        if isinstance(function_type, FunctionType):
            convert = self.rules.types
            op.properties["function_type"] = FunctionType.from_lists(
                [convert(t) for t in function_type.inputs], [convert(t) for t in function_type.outputs]
            )


def convert(module: ModuleOp, rules: Rules, *, illegal: set[str]) -> None:
    """Applies `rules` to every op of `module` in one sweep.

    `illegal` holds dialect names (`stablehlo`) or op names (`tensor.concat`) that must be gone afterwards.
    Raises LaminaError naming every op, with its origin, that had no rule; linear in the size of the module.
    """
    conversion = _Conversion(rules, illegal)
    conversion.region(module.body)
    if conversion.failed:
        first, *others = conversion.failed
        notes = tuple(f"also {other}" for other in others)
        raise LaminaError(f"{rules.name}: no rule lowers this operation", where=first, notes=notes)
    for op in reversed(conversion.dead):
        op.detach()
        op.erase(safe_erase=False)
