"""The walk of the tree that types and emits at once, and what its parts build on.

The same code runs in two modes. While *checking* (`emits` is False) each function is walked once: dimensions are
symbols, dtypes may be type parameters, and `emit` only types. In *instance* mode they are bound: every shape is
numbers, and `emit` makes ops in `builder`'s current block.

How a part plugs in: it is a module of functions that take the elaborator first, and is called from `expression` or
`statement`:

- `index.comprehension(e, node, scope, expected)`, `index.reduction(e, node, scope, expected)`,
  `index.subscript(e, node, scope, expected)` (where `scope.index` is set: inside index notation),
  `index.define(e, node, scope)`, `index.update(e, node, scope)` are index notation. A scope inside of it is made by
  `scope.child(index=...)`; whatever is given there is found again as `scope.index` in all scopes below.
- `builtins.call(e, node, scope)` is a call of what `builtins.is_builtin(name)` says is built in.

What a part uses: `expression`, `scalar`, `dim` and `type` evaluate parts of the tree; `emit`, `emit_all`, `insert`,
`inside`, `constant` make ops; `settle`, `coerce`, `broadcast_together`, `convert` bring values together;
`error` reports and returns a value that causes no further errors; `equal`, `may_differ` compare dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.ir import Attribute, Block, Operation

from ....compiler.context import LaminaContext
from ....compiler.diagnostics import LaminaError
from ....compiler.weights import WeightStore
from ...stablehlo.constants import make_constant
from ..language import tree
from ..language.problems import Label, Problems
from . import annotations, calls, functions, literals, names, operators, promotion, statements, subscripts
from .dims import Dim
from .emitter import Emitter
from .facts import Facts
from .scope import Scope
from .types import UNKNOWN, DType, TensorType, Type, ir_type, is_unknown
from .values import AnyValue, FunctionValue, StringValue, TupleValue, TypeValue, Value, describe, unknown

if TYPE_CHECKING:
    from ..load import Files
    from .functions import Frame
    from .modules import Global
    from .signatures import Instance, Signature

DEEPEST = 500
"""Expressions and blocks may be nested so deep: far more than a person writes, far less than Python's stack holds."""


class Elaborator:
    """See the module. `files` are the parsed files with their imports; `builder` is None while checking."""

    def __init__(self, files: Files, problems: Problems, builder: Emitter | None = None):
        self.files = files
        self.problems = problems
        self.builder = builder
        self.facts = Facts()
        self.types: dict[tree.Node, Type | AnyValue] = {}  # what each name and expression is, for hover
        self.definitions: dict[tree.Node, tree.Identifier] = {}  # where each used name is defined
        self.signatures: dict[tree.Function, Signature] = {}
        self.instances: dict[Any, Instance] = {}
        self.symbols: set[str] = {"main"}  # the names of functions in the module
        self.used_globals: set[Global] = set()
        self.constants: dict[tree.Const, Value] = {}
        self.evaluating: list[tree.Const] = []
        self.frames: list[Frame] = []  # the functions whose bodies are being walked, outermost first
        self.depth = 0
        self.failed = False  # an instance is wrong: the walk goes on to find what else is, but makes no more ops

    # What is wrong -------------------------------------------------------------------------------------------------

    def error(self, code: str, message: str, node: tree.Node | tree.Span, *labels: Label, hint: str = "") -> Value:
        """Reports a mistake at `node`, with labels where several places are concerned; the value is unknown."""
        self.problems.add(code, message, node, *labels, hint=hint)
        self.failed |= self.builder is not None
        return unknown(node if isinstance(node, tree.Node) else None)

    def warn(self, code: str, message: str, node: tree.Node, hint: str = "") -> None:
        """Reports what is likely not meant, while checking."""
        if self.builder is None:
            self.problems.add(code, message, node, hint=hint, severity="warning")

    def unknown(self, node: tree.Node) -> Value:
        """A value of which nothing can be said: it fits everywhere."""
        return unknown(node)

    def two(self, left: tree.Node, right: tree.Node) -> tuple[Label, Label]:
        """Labels for a thing that is defined twice."""
        return Label(left.span, "again here"), Label(right.span, "defined here")

    # Expressions ---------------------------------------------------------------------------------------------------

    def expression(self, node: tree.Expression, scope: Scope, expected: Type | None = None) -> AnyValue:
        """What an expression is. `expected` is the type that its place asks for, where that is known: a help for
        inference, not checked here."""
        self.depth += 1
        try:
            if self.depth > DEEPEST:
                return self.error("E015", "this is nested too deeply", node)
            value = self._expression(node, scope, expected)
        finally:
            self.depth -= 1
        if not self.emits:
            self.types.setdefault(node, value)
        return value

    def _expression(self, node: tree.Expression, scope: Scope, expected: Type | None) -> AnyValue:
        match node:
            case tree.Name():
                return names.name(self, node, scope)
            case tree.Number() | tree.Bool():
                return literals.number(node)
            case tree.Binary():
                return operators.binary(self, node, scope, expected)
            case tree.Unary():
                return operators.unary(self, node, scope, expected)
            case tree.Subscript():
                return subscripts.subscript(self, node, scope, expected)
            case tree.Call():
                return calls.call(self, node, scope, expected)
            case tree.Comprehension():
                return _index().comprehension(self, node, scope, expected)
            case tree.Reduction():
                return _index().reduction(self, node, scope, expected)
            case tree.Conditional():
                return statements.conditional(self, node, scope, expected)
            case tree.Array():
                return literals.array(self, node, scope, expected)
            case tree.Tuple():
                return literals.tuple_(self, node, scope, expected)
            case tree.Item():
                return literals.item(self, node, scope)
            case tree.String():
                return StringValue(node.value, node)
            case tree.Hole():
                return unknown(node)

    def tensor(self, node: tree.Expression, scope: Scope, expected: Type | None = None) -> Value:
        """An expression that must be a tensor; of unknown type after an error."""
        value = self.expression(node, scope, expected)
        if isinstance(value, Value):
            return value
        return self.error("E105", f"expected a tensor here, got {describe(value)}", node, hint=names.hint_for(value))

    def scalar(self, node: tree.Expression, scope: Scope, dtype: DType | None = None) -> Value:
        """An expression that must have rank 0, and this dtype if one is given (weak values take it)."""
        value = self.tensor(node, scope)
        if value.unknown:
            return value
        if not value.scalar:
            return self.error("E306", f"expected a single value here, got {value.type}", node)
        return value if dtype is None else self.coerce(value, dtype, node)

    def dim(self, node: tree.Expression, scope: Scope) -> Dim:
        """An expression that is a dimension: a whole number known when compiling. After an error, 0 + a new symbol."""
        return annotations.dim(self, node, scope)

    def type(self, node: tree.Type, scope: Scope) -> Type:
        """The type that is written; unknown after an error."""
        return annotations.type_(self, node, scope)

    def statement(self, node: tree.Statement, scope: Scope) -> statements.Outcome:
        """Walks one statement; what it defines is put into `scope`."""
        return statements.statement(self, node, scope)

    def call(self, node: tree.Call, scope: Scope) -> AnyValue:
        """A call."""
        return calls.call(self, node, scope, None)

    def apply(self, function: FunctionValue, values: Sequence[AnyValue], node: tree.Node) -> AnyValue:
        """The call of a function of the program on values."""
        return functions.apply(self, function, values, node)

    def symbol_of(self, function: FunctionValue, values: Sequence[AnyValue], node: tree.Node) -> str:
        """The name in the module of the instance of a function for these arguments; "" after an error."""
        return functions.symbol_of(self, function, values, node)

    def fresh_symbol(self, name: str) -> str:
        """A name for a function that the module has not, in instance mode."""
        symbol, n = name, 0
        while symbol in self.symbols:
            n += 1
            symbol = f"{name}_{n}"
        self.symbols.add(symbol)
        return symbol

    # Dimensions ----------------------------------------------------------------------------------------------------

    def equal(self, left: Dim, right: Dim) -> bool | None:
        """Whether two dimensions are equal always, never (False), or that cannot be told (None)."""
        return self.facts.equal(left, right)

    def may_differ(self, left: Dim, right: Dim) -> bool:
        """Whether two dimensions count as different: strict, but for what `//`, `%`, `min` and `max` hide."""
        return self.facts.may_differ(left, right)

    # Ops -----------------------------------------------------------------------------------------------------------

    @property
    def emits(self) -> bool:
        """Whether ops are made: in instance mode, until something is wrong."""
        return self.builder is not None and not self.failed

    @property
    def context(self) -> LaminaContext:
        """The context of the compilation, in instance mode."""
        assert self.builder is not None
        return self.builder.context

    @property
    def weights(self) -> WeightStore:
        """Where large constants go, in instance mode."""
        return self.context.weights

    def emit(self, make: Callable[[], Operation], kind: Type, node: tree.Node) -> Value:
        """The one result of an op, which has this type. `make` is called in instance mode only."""
        return self.emit_all(make, (kind,), node)[0]

    def emit_all(self, make: Callable[[], Operation], kinds: Sequence[Type], node: tree.Node) -> list[Value]:
        """The results of an op, which have these types. `make` is called in instance mode only."""
        if not self.emits or any(is_unknown(kind) for kind in kinds):
            return [Value(kind, node=node) for kind in kinds]
        assert self.builder is not None
        op = make()
        self.builder.insert(op, node)
        for result, kind in zip(op.results, kinds, strict=True):
            if isinstance(kind, TensorType) and result.type != ir_type(kind):
                raise LaminaError(f"{op.name} gives {result.type} where {kind} was found", where=op)
        return [Value(kind, result, node=node) for kind, result in zip(kinds, op.results, strict=True)]

    def insert(self, op: Operation, node: tree.Node) -> None:
        """Puts an op without results that matter into the current block, in instance mode."""
        if self.emits:
            assert self.builder is not None
            self.builder.insert(op, node)

    @contextmanager
    def inside(self, block: Block) -> Generator[Block]:
        """Emits into `block` for a while; in instance mode."""
        assert self.builder is not None
        with self.builder.inside(block):
            yield block

    def location(self, node: tree.Node) -> Any:
        """The location of ops made for a node, in instance mode."""
        assert self.builder is not None
        return self.builder.location(node)

    def constant(self, array: np.ndarray[Any, Any], name: str = "constant") -> Operation:
        """A constant op; large ones live in the weight store. Instance mode."""
        return make_constant(array, self.weights, name)

    def parse_attribute(self, text: str) -> Attribute:
        """An attribute from MLIR's text. Raises LaminaError where it is none."""
        from ....compiler.parsing import parse_attribute

        return parse_attribute(self.context, text)

    # Bringing values together --------------------------------------------------------------------------------------

    def settle(self, value: Value, prefer_float: bool = False) -> Value:
        """The value as a tensor with a dtype of its own, and an `ssa` in instance mode: a weak one gets i64 or f32."""
        return promotion.settle(self, value, prefer_float)

    def coerce(self, value: Value, dtype: DType, node: tree.Node, what: str = "") -> Value:
        """The value with this dtype: a weak one takes it if it can be written exactly, any other must have it."""
        return promotion.coerce(self, value, dtype, node, what)

    def broadcast_together(self, values: Sequence[Value], node: tree.Node) -> list[Value]:
        """The values with one dtype and in their common shape by NumPy's rules; all unknown after an error."""
        return promotion.broadcast_together(self, values, node)

    def broadcast(self, value: Value, shape: Sequence[Any], node: tree.Node) -> Value:
        """The value in a shape that it is known to broadcast to."""
        return promotion.broadcast(self, value, tuple(shape), node)

    def convert(self, value: Value, dtype: DType, node: tree.Node) -> Value:
        """A cast that was asked for: `f32(x)`."""
        return promotion.cast(self, value, dtype, node)


def _index() -> Any:
    """Index notation builds on this module."""
    from . import index

    return index


__all__ = ["UNKNOWN", "Elaborator", "FunctionValue", "TupleValue", "TypeValue"]
