"""Runs IR on NumPy arrays, one op at a time, by the meanings declared in the dialects.

    interpreter = Interpreter(ctx)
    [y] = interpreter.run(module, [x])

It is the definition that compiled code is compared with, so it is plain and slow where these differ; large
contractions go through `np.matmul`, so that whole networks still run in seconds.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, IRNode, Operation, Region, SSAValue
from xdsl.traits import IsTerminator

from .context import LaminaContext
from .diagnostics import LaminaError
from .dtypes import dtype_of
from .processes import Process, alone
from .semantics import Call, Semantics, Spec, meaning_of, plain
from .weights import Array, WeightStore

Environment = dict[SSAValue, Array]
Hook = Callable[[Operation, Sequence[Array], Sequence[Array]], Sequence[Array] | None]

_EMPTY = inspect.Parameter.empty


class Interpreter:
    """Evaluates functions of one module after another; `hook`, if given, sees every op with its values.

    What a hook returns, if not None, takes the place of the op's results.

    Values are dropped after their last use. Functions are found by symbol in the module being run.
    """

    def __init__(self, ctx: LaminaContext | WeightStore, *, hook: Hook | None = None, process: Process | None = None):
        self.weights = ctx.weights if isinstance(ctx, LaminaContext) else ctx
        self.hook = hook
        self.process = process or alone()
        self.lifted = False
        self._scope: IRNode | None = None
        self._functions: dict[str, FuncOp] | None = None
        self._specs: dict[Attribute, Spec] = {}
        self._steps: dict[Block, list[_Step]] = {}

    def run(
        self, program: ModuleOp | FuncOp, inputs: Sequence[Any] | Mapping[str, Any], entry: str = "main"
    ) -> list[Array]:
        """The results of `entry` (or of the function given) on `inputs`, by position or by argument name.

        Raises LaminaError when the inputs do not fit the signature, or an op has no semantics.
        """
        function = self._enter(program, entry)
        names = argument_names(function)
        if isinstance(inputs, Mapping):
            inputs = _by_position(inputs, names, function)
        types = function.function_type.inputs.data
        if len(inputs) != len(types):
            raise LaminaError(f"expected {len(types)} inputs, got {len(inputs)}", where=function)
        arrays = [np.asarray(array) for array in inputs]
        for name, array, type_ in zip(names, arrays, types, strict=True):
            spec = self.spec(type_)
            if not _fits(array.shape, spec.shape or ()) or array.dtype != spec.dtype:
                raise LaminaError(
                    f"input '{name}' is {array.dtype}{list(array.shape)}, "
                    f"expected {spec.dtype}{list(spec.shape or ())}",
                    where=function,
                )
        return self.call(function, arrays)

    def _enter(self, program: ModuleOp | FuncOp, entry: str) -> FuncOp:
        self._forget(program)
        return self._function(entry) if isinstance(program, ModuleOp) else program

    def _forget(self, program: Operation) -> None:
        """What was known of IR, which may have changed; `program` is run next."""
        self._scope, self._functions = program.get_toplevel_object(), None
        self._steps.clear()

    def _function(self, name: str) -> FuncOp:
        if self._functions is None:
            ops = self._scope.ops if isinstance(self._scope, ModuleOp) else ()
            self._functions = {op.sym_name.data: op for op in ops if isinstance(op, FuncOp)}
        if name not in self._functions:
            raise LaminaError(f"no function @{name} in the module")
        return self._functions[name]

    def call(self, function: FuncOp | str, args: Sequence[Array]) -> list[Array]:
        """The results of a function on arrays that fit its signature."""
        if isinstance(function, str):
            function = self._function(function)
        if function.is_declaration:
            raise LaminaError("a function without body cannot be interpreted", where=function)
        with np.errstate(all="ignore"):
            return self.region({}, function.body, args)

    def region(self, env: Environment, region: Region, args: Sequence[Array]) -> list[Array]:
        """Runs a region's single block on `args`; the result is what its terminator is given."""
        block = region.first_block
        assert block is not None
        if block.next_block is not None:
            raise LaminaError("control flow between blocks cannot be interpreted", where=region.parent_op())
        for parameter, arg in zip(block.args, args, strict=True):
            env[parameter] = arg
        steps = self._steps.get(block)
        if steps is None:
            steps = self._steps[block] = _steps_of(block)
        for step in steps:
            values = [env[operand] for operand in step.operands]
            if step.ends:
                return values
            for result, value in zip(step.results, self._op(step.op, values, env), strict=True):
                env[result] = value
            for value in step.dying:
                del env[value]
        return []

    def evaluate(self, op: Operation, args: Sequence[Array]) -> list[Array]:
        """The results of one op on `args`. Its regions must not capture values from outside."""
        self._forget(op)
        with np.errstate(all="ignore"):
            return self._op(op, args, {})

    def _op(self, op: Operation, args: Sequence[Array], env: Environment) -> list[Array]:
        if op.name == CallOp.name:  # a string is told sooner than a class
            return self.call(cast(CallOp, op).callee.string_value(), args)
        meaning = meaning_of(op)
        keywords = self._supplied(op, meaning, env)
        for name, default in meaning.attributes:
            attr = op.properties.get(name, op.attributes.get(name))  # may be empty, so no `or`
            if attr is None and default is _EMPTY:
                raise LaminaError(f"attribute '{name}' is missing", where=op)
            keywords[name] = default if attr is None else plain(attr)
        value = meaning.function(*args, **keywords)
        values: Sequence[Any] = value if isinstance(value, (tuple, list)) else [value]
        results = [self._checked(op, v, r.type) for v, r in zip(values, op.results, strict=True)]
        if self.hook:
            return list(self.hook(op, args, results) or results)
        return results

    def _supplied(self, op: Operation, meaning: Semantics, env: Environment) -> dict[str, Any]:
        keywords: dict[str, Any] = {}
        for name in meaning.supplied:
            match name:
                case "result":
                    keywords[name] = self.spec(op.results[0].type)
                case "results":
                    keywords[name] = [self.spec(result.type) for result in op.results]
                case "regions":
                    keywords[name] = [_RegionCall(self, env, region) for region in op.regions]
                case _:
                    keywords[name] = Call(op, self.weights, self.call, self.process)
        return keywords

    def _checked(self, op: Operation, value: Any, type_: Attribute) -> Array:
        spec = self.spec(type_)
        if spec.shape is None:
            return value
        array = np.asarray(value)
        if array.dtype != spec.dtype or (not self.lifted and not _fits(array.shape, spec.shape)):
            raise LaminaError(f"gave {array.dtype}{list(array.shape)} for a result of type {type_}", where=op)
        return array

    def spec(self, type_: Attribute) -> Spec:
        """Shape and dtype of a type; both None for what is not an array. A size that is not known is negative."""
        known = self._specs.get(type_)
        if known is None:
            shape = cast(Any, type_).get_shape() if hasattr(type_, "get_shape") else None
            known = Spec(None, None) if shape is None else Spec(tuple(shape), dtype_of(type_))
            self._specs[type_] = known
        return known


@dataclass(frozen=True)
class _RegionCall:
    """A `Region` over the values of the function being run."""

    interpreter: Interpreter
    env: Environment
    body: Region

    def __call__(self, *args: Array) -> list[Array]:
        return self.interpreter.region(self.env, self.body, args)

    def lifted(self, *args: Array) -> list[Array]:
        before, self.interpreter.lifted = self.interpreter.lifted, True
        try:
            results = self.interpreter.region(self.env, self.body, args)
        finally:
            self.interpreter.lifted = before
        shape = np.broadcast_shapes(*(arg.shape for arg in args))
        return [np.broadcast_to(result, np.broadcast_shapes(shape, result.shape)) for result in results]


def _fits(shape: Sequence[int], expected: Sequence[int]) -> bool:
    """Whether sizes are as expected, or any where nothing is."""
    if shape == expected:
        return True
    return len(shape) == len(expected) and all(m < 0 or n == m for n, m in zip(shape, expected, strict=True))


def argument_names(function: FuncOp) -> list[str]:
    """The public names of a function's arguments: `lamina.name` where given, else `arg<i>`."""
    count = len(function.function_type.inputs)
    attrs = function.arg_attrs or ArrayAttr([DictionaryAttr({})] * count)
    names: list[str] = []
    for i, attributes in enumerate(attrs):
        given = attributes.data.get("lamina.name")
        names.append(given.data if isinstance(given, StringAttr) else f"arg{i}")
    return names


def _by_position(inputs: Mapping[str, Any], names: list[str], function: FuncOp) -> list[Any]:
    wrong = [f"missing '{n}'" for n in names if n not in inputs]
    wrong += [f"unknown '{n}'" for n in inputs if n not in names]
    if wrong:
        raise LaminaError(f"wrong input names: {', '.join(wrong)}", where=function)
    return [inputs[name] for name in names]


@dataclass(frozen=True)
class _Step:
    """An op of a block, and what every run of it asks."""

    op: Operation
    operands: Sequence[SSAValue]
    results: Sequence[SSAValue]
    dying: Sequence[SSAValue]  # values of the block that nobody after it needs
    ends: bool  # the block


def _steps_of(block: Block) -> list[_Step]:
    steps: list[_Step] = []
    alive: set[SSAValue] = set()
    op = block.last_op
    while op is not None:
        needed = {operand for inner in op.walk() for operand in inner.operands} | set(op.results)
        dying = [
            value
            for value in needed - alive
            if value.owner is block or (isinstance(value.owner, Operation) and value.owner.parent is block)
        ]
        ends = op.next_op is None and op.has_trait(IsTerminator)
        steps.append(_Step(op, tuple(op.operands), tuple(op.results), dying, ends))
        alive |= needed
        op = op.prev_op
    return steps[::-1]
