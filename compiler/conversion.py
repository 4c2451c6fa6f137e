"""Dialect conversion: one sweep down the module, each illegal op replaced by its rule, loud about what is left.

A rule sees the op with its *converted* operands and a builder that stands before the op. It returns the values
that replace the results. Ops without a rule keep their place, with operands renamed and types converted, and are
legal only if the target says so.

    RULES = Rules("convert-stablehlo-to-linalg", types=TYPES)

    @RULES.lowers(stablehlo.AddOp)
    def add(op: stablehlo.AddOp, operands: Sequence[SSAValue], b: RuleBuilder) -> SSAValue: ...

    convert(module, RULES, illegal={"stablehlo"})

A type may become several: then `types` returns a tuple, the op's operands arrive flattened (`b.values(op.lhs)` gives
those of one), and a rule returns a sequence for such a result. Where an op without a rule must go on seeing the old
type, `materialize` makes a value of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.traits import CallableOpInterface, IsTerminator

from .diagnostics import Diagnostic, LaminaError
from .locations import locate
from .traits import might_have
from .walking import all_ops

OpT = TypeVar("OpT", bound=Operation)
Replacement = SSAValue | Sequence[SSAValue | Sequence[SSAValue]] | None
Rule = Callable[[Any, Sequence[SSAValue], "RuleBuilder"], Replacement]
TypeRule = Callable[[Attribute], "Attribute | tuple[Attribute, ...]"]
Materialize = Callable[["RuleBuilder", Sequence[SSAValue], Attribute], SSAValue]


def _same_type(type_: Attribute) -> Attribute:
    return type_


@dataclass
class Rules:
    """The rules of one conversion, by op class, and how types convert (default: they stay).

    `materialize(b, values, type)` makes a value of the old `type` out of converted `values` for a legal op that
    has no rule and is not of the kind that takes any type (calls, terminators, ops with regions).
    """

    name: str
    types: TypeRule = _same_type
    materialize: Materialize | None = None
    table: dict[type[Operation], Rule] = field(default_factory=dict[type[Operation], Rule])
    _found: dict[type[Operation], Rule | None] = field(
        default_factory=dict[type[Operation], "Rule | None"], init=False
    )  # not what `dataclasses.replace` hands on: the table it is found in may be another

    def lowers(self, *ops: type[Operation]) -> Callable[[Rule], Rule]:
        """Registers the decorated function as the rule for each op class. Two rules for one op are a TypeError."""

        def register(rule: Rule) -> Rule:
            for op in ops:
                if op in self.table:
                    raise TypeError(f"{self.name}: two rules for '{op.name}'")
                self.table[op] = rule
            self._found.clear()
            return rule

        return register

    def rule_for(self, op: type[Operation]) -> Rule | None:
        """The rule of this op class or of the nearest class it extends: our ops extend xDSL's under one name."""
        if op not in self._found:
            self._found[op] = next((self.table[base] for base in op.__mro__ if base in self.table), None)
        return self._found[op]

    def types_of(self, type_: Attribute) -> tuple[Attribute, ...]:
        """What `type_` becomes, as a tuple."""
        new = self.types(type_)
        return new if isinstance(new, tuple) else (new,)


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
        locate(op, self._op.location)
        before = self.point.insert_before
        if before is not None:
            self.point.block.insert_op_before(op, before)
        else:
            self.point.block.add_op(op)
        return op

    def shared(self, key: Hashable, make: Callable[[], Operation]) -> SSAValue:
        """The result of the pure op that `make` makes, or that it made for the same `key` where that is seen from here.

        What is made for many ops alike, such as constants, is made once; where this builder inserts must be the op.
        """
        scopes = self._conversion.scopes
        for scope in reversed(scopes):
            if (known := scope.get(key)) is not None:
                return known
        value = self(make()).results[0]
        scopes[-1][key] = value
        return value

    def remember(self, key: Hashable, value: SSAValue) -> None:
        """Lets `shared` find for `key` what was made already."""
        self._conversion.scopes[-1][key] = value

    def at(self, point: InsertPoint) -> RuleBuilder:
        """A builder for the same op that inserts elsewhere, such as into a region being made."""
        other = RuleBuilder(self._conversion, self._op)
        other.point = point
        return other

    def convert_region(self, region: Region, *, apart: bool = False) -> Region:
        """Converts the ops inside `region` of the op being lowered, detaches and returns it.

        What is in a region `apart` shares nothing with what is around it.
        """
        conversion = self._conversion
        around = conversion.scopes
        conversion.scopes = [] if apart else around
        conversion.region(region)
        conversion.scopes = around
        return self._op.detach_region(region)

    def value(self, value: SSAValue) -> SSAValue:
        """What `value` of the source became."""
        (new,) = self.values(value)
        return new

    def values(self, value: SSAValue) -> tuple[SSAValue, ...]:
        """What `value` of the source became, where that may be several."""
        return self._conversion.renamed(value)

    def fail(self, message: str, hint: str | None = None) -> LaminaError:
        """The error to raise when this op cannot be lowered for the reason given."""
        return LaminaError(message, where=self._op, hint=hint)


class _Conversion:
    def __init__(self, rules: Rules):
        self.rules = rules
        self.new: dict[SSAValue, tuple[SSAValue, ...]] = {}
        self.dead: list[Operation] = []
        self.scopes: list[dict[Hashable, SSAValue]] = []  # what was made to be shared, block by block from outside

    def renamed(self, value: SSAValue) -> tuple[SSAValue, ...]:
        return self.new.get(value, (value,))

    def region(self, region: Region) -> None:
        for block in region.blocks:
            self.block(block)

    def block(self, block: Block) -> None:
        if block.args:
            self._retype_arguments(block)
        self.scopes.append({})
        op = block.first_op
        while op is not None:
            following = op.next_op
            self.op(op)
            op = following
        self.scopes.pop()

    def _retype_arguments(self, block: Block) -> None:
        """New arguments in the place of the old, which ops being lowered go on seeing: rules may ask their types."""
        args: list[BlockArgument] = []
        for old in block.args:
            types = self.rules.types_of(old.type)
            if types == (old.type,):
                old.index = len(args)
                args.append(old)
                continue
            made = [BlockArgument(type_, block, len(args) + i, old.location) for i, type_ in enumerate(types)]
            for arg in made:
                arg.name_hint = old.name_hint
            self.new[old] = tuple(made)
            args += made
        block._args = tuple(args)  # pyright: ignore[reportPrivateUsage]

    def op(self, op: Operation) -> None:
        rule = self.rules.rule_for(type(op))
        if rule is None:
            self._keep(op)
            return
        operands = [new for operand in op.operands for new in self.renamed(operand)]
        replacement = rule(op, operands, RuleBuilder(self, op))
        results = [] if replacement is None else [replacement] if isinstance(replacement, SSAValue) else replacement
        if len(results) != len(op.results):
            raise TypeError(
                f"{self.rules.name}: rule for '{op.name}' gave {len(results)} values for {len(op.results)} results"
            )
        for old, value in zip(op.results, results, strict=True):
            values = (value,) if isinstance(value, SSAValue) else tuple(value)
            for new in values:
                if new.name_hint is None:
                    new.name_hint = old.name_hint
            self.new[old] = values
        self.dead.append(op)

    def _keep(self, op: Operation) -> None:
        """An op without a rule: operands renamed, the types in its signature and results converted."""
        if any(operand in self.new for operand in op.operands):
            if self.rules.materialize is None or _takes_any_type(op):
                op.operands = [new for operand in op.operands for new in self.renamed(operand)]
            else:
                op.operands = [self._as_before(op, operand) for operand in op.operands]
        self._convert_function_type(op)
        if self.rules.materialize is None or _takes_any_type(op):
            self._retype_results(op)
        for region in op.regions:
            self.region(region)

    def _as_before(self, op: Operation, operand: SSAValue) -> SSAValue:
        """`operand` for an op that stays: the value itself where its type stayed too, else one made of it."""
        values = self.renamed(operand)
        if len(values) == 1 and values[0].type == operand.type:
            return values[0]
        assert self.rules.materialize is not None
        return self.rules.materialize(RuleBuilder(self, op), values, operand.type)

    def _retype_results(self, op: Operation) -> None:
        results: list[OpResult] = []
        for old in op.results:
            types = self.rules.types_of(old.type)
            if types == (old.type,):
                old.index = len(results)
                results.append(old)
                continue
            made = [OpResult(type_, op, len(results) + i) for i, type_ in enumerate(types)]
            for result in made:
                result.name_hint = old.name_hint
            self.new[old] = tuple(made)
            results += made
        if len(results) != len(op.results) or any(a is not b for a, b in zip(results, op.results, strict=True)):
            op.results = type(op.results)(results)

    def _convert_function_type(self, op: Operation) -> None:
        function_type = op.properties.get("function_type")
        if isinstance(function_type, FunctionType):
            op.properties["function_type"] = FunctionType.from_lists(
                list(self._all_types(function_type.inputs)), list(self._all_types(function_type.outputs))
            )

    def _all_types(self, types: Iterable[Attribute]) -> Iterator[Attribute]:
        for type_ in types:
            yield from self.rules.types_of(type_)

    def finish(self) -> None:
        """Erases what was replaced. Uses met before their definition (blocks out of order) are renamed now."""
        for op in self.dead:
            if op._operands:  # pyright: ignore[reportPrivateUsage]
                op.operands = ()
        for old, values in self.new.items():
            if old.first_use is None:
                continue
            for use in list(old.uses):
                operands = list(use.operation.operands)
                operands[use.index : use.index + 1] = values
                use.operation.operands = operands
        for op in reversed(self.dead):
            op.detach()
            op.erase(safe_erase=False)


def _takes_any_type(op: Operation) -> bool:
    """Whether an op passes values on whatever their type: it returns, branches, calls or holds regions."""
    if op.regions or might_have(op, IsTerminator) or might_have(op, CallableOpInterface):
        return True
    return _is_call(op)


def _is_call(op: Operation) -> bool:
    return "callee" in op.properties


def convert(
    module: ModuleOp,
    rules: Rules,
    *,
    illegal: set[str],
    legal_if: Mapping[str, Callable[[Operation], bool]] | None = None,
) -> None:
    """Applies `rules` to every op of `module` in one sweep.

    `illegal` holds dialect names (`stablehlo`) or op names (`tensor.concat`) that must be gone afterwards;
    `legal_if` says for which ops of a dialect or name that does not hold. Raises LaminaError naming every op, with
    its origin, that is still there; linear in the size of the module.
    """
    conversion = _Conversion(rules)
    conversion.region(module.body)
    conversion.finish()
    ops = all_ops(module)
    gone = {name for name in {op.name for op in ops} if name in illegal or name.partition(".")[0] in illegal}
    left = [op for op in ops if op.name in gone and _is_illegal(op, legal_if or {})] if gone else []
    if left:
        first, *others = left
        notes = tuple(Diagnostic.at("note", f"nor '{other.name}'", other) for other in others)
        raise LaminaError(f"{rules.name}: no rule lowers this operation", where=first, notes=notes)


def _is_illegal(op: Operation, legal_if: Mapping[str, Callable[[Operation], bool]]) -> bool:
    """Whether an op that should be gone may not stay."""
    exception = legal_if.get(op.name) or legal_if.get(op.name.partition(".")[0])
    return exception is None or not exception(op)
