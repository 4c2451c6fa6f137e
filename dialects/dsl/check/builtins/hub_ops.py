"""The hub's ops by name: `stablehlo.dot_general(x, w, lhs_contracting_dimensions=[1], …)`, `chlo.erf(x)`.

Nothing is listed here: the op classes say what they take. Operands come first, in the op's order; attributes are
arguments by name: numbers, lists, strings, booleans, types. Bodies are functions' names, or for the usual ones the
hub's: `body="add"`. Types are known when dimensions are bound; what the op's verifier says is said at the call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any

import numpy as np
from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from .....compiler.diagnostics import LaminaError
from ....stablehlo import CHLO, CompositeOp, ReturnOp, StableHLO, StableHLOOp, shapes, single_block
from ...language import tree
from ..types import dtype_name, ir_type
from ..values import AnyValue, FunctionValue, TupleValue, Value
from .arguments import Reader, assign
from .builder import Builder, ssa
from .failure import Failure, Undetermined, first_line
from .table import TABLE

_UNREACHABLE = {
    "stablehlo.return": "it ends the body of an op; functions have `return`",
    "stablehlo.after_all": "tokens are no values of the language",
    "stablehlo.tuple": "the language has tuples of its own: (a, b)",
    "stablehlo.get_tuple_element": "the language has tuples of its own: pair.0",
    "stablehlo.uniform_quantize": "the language has no quantised types",
    "stablehlo.uniform_dequantize": "the language has no quantised types",
    "stablehlo.create_token": "tokens are no values of the language",
    "stablehlo.partition_id": "a program of the language runs once, not on several replicas",
    "stablehlo.replica_id": "a program of the language runs once, not on several replicas",
}


@cache
def operations() -> dict[str, type[StableHLOOp]]:
    """Every op of the hub by its full name."""
    found: dict[str, type[StableHLOOp]] = {}
    for dialect in (StableHLO, CHLO):
        for op in dialect.operations:
            assert issubclass(op, StableHLOOp)
            found[op.name] = op
    return found


@cache
def unreachable() -> dict[str, str]:
    """Ops that cannot be called, each with the reason: those above, and those without a constructor of their own."""
    generic = [name for name, op in operations().items() if any(p.name == "successors" for p in _parameters(op))]
    return dict.fromkeys(generic, "its operands have no names here yet; write it in a .mlir file") | _UNREACHABLE


def find(b: Builder, name: str) -> type[StableHLOOp]:
    """The op called `name`. Raises Failure where there is none, or none that can be called."""
    if name in unreachable():
        raise b.fail("E555", f"{name} cannot be called", hint=unreachable()[name])
    op = operations().get(name)
    if op is None:
        close = get_close_matches(name, operations(), 1)
        hint = f"did you mean {close[0]}?" if close else ""
        raise Failure("E555", f"the hub has no op '{name}'", b.node.function, hint)
    return op


def call_op(b: Builder, scope: Any) -> Value | TupleValue:
    """The call of a hub op."""
    op = find(b, b.name)
    parameters = _parameters(op)
    reader = Reader(b, scope)
    given, _, _ = assign(b, parameters, _spread(b.node.arguments, parameters))
    read: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.name in given:
            b.places[parameter.name] = given[parameter.name]
            read[parameter.name] = _read(reader, parameter, given[parameter.name])
    if not b.emits or reader.unknown or reader.undetermined:
        raise Undetermined
    return _made(b, op, read)


@cache
def _parameters(op: type[StableHLOOp]) -> tuple[inspect.Parameter, ...]:
    """Those of the constructor; types of results are asked for by the names `type` and `types`."""
    return tuple(inspect.signature(op.__init__).parameters.values())[1:]


def _spread(arguments: Sequence[tree.Argument], parameters: Sequence[inspect.Parameter]) -> Sequence[tree.Argument]:
    """Arguments as they are, but several tensors by position for one list: `stablehlo.concatenate(a, b, …)`."""
    lists = [p for p in parameters if _annotation(p) == "Sequence[Value]"]
    placed = [a for a in arguments if a.name is None]
    operands = [p for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    if len(lists) != 1 or lists[0] is not operands[-1] or len(placed) < len(operands) or not placed:
        return arguments
    last = placed[len(operands) - 1 :]
    if len(last) == 1 and isinstance(last[0].value, tree.Array | tree.Tuple):
        return arguments
    array = tree.Array(span=last[0].span, items=tuple(a.value for a in last))
    joined = tree.Argument(span=last[0].span, name=None, value=array)
    return [*placed[: len(operands) - 1], joined, *(a for a in arguments if a.name is not None)]


def _annotation(parameter: inspect.Parameter) -> str:
    return str(parameter.annotation).strip("'").removesuffix(" | None")


# What an argument may be, by the constructor's annotation; the first that fits.


def _read(reader: Reader, parameter: inspect.Parameter, node: tree.Expression) -> Any:
    annotation = _annotation(parameter)
    for prefix, read in _READINGS:
        if annotation.startswith(prefix):
            return read(reader, node)
    raise Failure("E553", f"'{parameter.name}' cannot be given here", node)


def _tensors(reader: Reader, node: tree.Expression) -> list[Value]:
    if isinstance(node, tree.Array | tree.Tuple):
        return [reader.value(item) for item in node.items]
    value = reader.b.elaborator.expression(node, reader.scope)
    items = value.items if isinstance(value, TupleValue) else (value,)
    found: list[Value] = []
    for item in items:
        found.append(reader.tensor(item, node))
    return found


def _integers(reader: Reader, node: tree.Expression) -> list[int]:
    return [reader.b.number(n) if reader.b.emits else 0 for n in reader.dims(node)]


def _pads(reader: Reader, node: tree.Expression) -> list[list[int]]:
    return [[reader.b.number(n) if reader.b.emits else 0 for n in pair] for pair in reader.pairs(node)]


def _body(reader: Reader, node: tree.Expression) -> str | FunctionValue:
    return node.value if isinstance(node, tree.String) else reader.function(node)


def _bodies(reader: Reader, node: tree.Expression) -> list[FunctionValue]:
    if not isinstance(node, tree.Array | tree.Tuple):
        raise Failure("E553", "expected a list of functions", node, "in brackets: [f, g]")
    return [reader.function(item) for item in node.items]


def _type(reader: Reader, node: tree.Expression) -> Attribute:
    kind = reader.type(node)
    if not reader.b.emits:
        raise Undetermined
    return ir_type(kind)


def _types(reader: Reader, node: tree.Expression) -> list[Attribute]:
    if isinstance(node, tree.Array | tree.Tuple):
        return [_type(reader, item) for item in node.items]
    return [_type(reader, node)]


def _literal(reader: Reader, node: tree.Expression) -> np.ndarray[Any, Any]:
    def nested(item: tree.Expression) -> Any:
        return [nested(each) for each in item.items] if isinstance(item, tree.Array) else reader.number(item)

    try:
        array = np.asarray(nested(node))
    except ValueError as error:
        raise Failure("E553", "the rows differ in length", node) from error
    return array.astype(np.float32) if array.dtype == np.float64 else array


def _strings(reader: Reader, node: tree.Expression) -> list[str]:
    items = node.items if isinstance(node, tree.Array | tree.Tuple) else (node,)
    return [reader.string(item) for item in items]


def _symbol(reader: Reader, node: tree.Expression) -> str | FunctionValue:
    return node.value if isinstance(node, tree.String) else reader.function(node)


def _attribute(reader: Reader, node: tree.Expression) -> Attribute:
    """An attribute in MLIR's own text."""
    text = reader.string(node)
    try:
        return reader.b.elaborator.parse_attribute(text)
    except LaminaError as error:
        raise Failure("E553", f"no attribute: {error.message}", node) from error


_READINGS: tuple[tuple[str, Callable[[Reader, tree.Expression], Any]], ...] = (
    ("Value", Reader.value),
    ("Sequence[Value]", _tensors),
    ("Region | str", _body),
    ("Region", Reader.function),
    ("Sequence[Region]", _bodies),
    ("Ints", _integers),
    ("Iterable[int]", _integers),
    ("Sequence[int]", _integers),
    ("Sequence[bool]", lambda r, n: [r.boolean(i) for i in (n.items if isinstance(n, tree.Array) else (n,))]),
    ("Pads", _pads),
    ("int", Reader.integer),
    ("float", lambda r, n: float(r.number(n))),
    ("bool", Reader.boolean),
    ("str | SymbolRefAttr", _symbol),
    ("str", Reader.string),
    ("Iterable[str]", _strings),
    ("PrecisionConfig", _strings),
    ("Sequence[Attribute]", _types),
    ("ConstantValue", _literal),
    ("Mapping", _attribute),
    ("Attribute", _type),
    ("DotAlgorithmAttr", _attribute),
    ("DotDimensionNumbersAttr", _attribute),
    ("GatherDimensionNumbersAttr", _attribute),
    ("ScatterDimensionNumbersAttr", _attribute),
    ("ArrayAttr", _attribute),
)


# Making the op, in instance mode.


def _made(b: Builder, op: type[StableHLOOp], read: dict[str, Any]) -> Value | TupleValue:
    read = _settled(b, read)
    operands = {name: _plain(value) for name, value in read.items()}
    if isinstance(decomposition := read.get("decomposition"), FunctionValue):
        operands["decomposition"] = b.elaborator.symbol_of(decomposition, read["inputs"], b.node)
        if not operands["decomposition"]:
            raise Undetermined  # it has been reported
    if isinstance(operands.get("element_type"), TensorType):
        operands["element_type"] = operands["element_type"].element_type
    for name in ("called_computations", "composite_regions"):
        if name in operands:
            raise b.fail("E553", f"'{name}' cannot be given here", name)
    bodies = _bodies_of(b, op, operands)
    try:
        made = op(**{**operands, **bodies})
        if not isinstance(made, CompositeOp):  # whose decomposition is found from inside the module only
            made.verify(verify_nested_ops=False)
    except (VerifyException, ValueError, TypeError, KeyError, IndexError) as error:
        raise b.fail("E355", f"{b.name}: {first_line(error)}") from error
    return b.placed(made)


def _applied(b: Builder, function: FunctionValue, values: Sequence[Value]) -> AnyValue:
    """A function of the program, or a built-in one of tensors: `body=maximum`."""
    built_in = TABLE.get(function.name) if function.builtin else None
    if built_in is None:
        return b.elaborator.apply(function, values, b.node)
    inner = Builder(b.elaborator, b.node, function.name)
    for parameter, value in zip(built_in.parameters, values, strict=False):
        if parameter.annotation not in ("Value", "Value | None"):
            raise inner.fail("E553", f"{function.name} is no function of {len(values)} tensors")
        inner.places[parameter.name] = value.node or b.node
    least = sum(parameter.default is parameter.empty for parameter in built_in.parameters)
    if not least <= len(values) <= len(built_in.parameters):
        raise inner.fail("E553", f"{function.name} is no function of {len(values)} tensors")
    return built_in.meaning(inner, *values)


def _settled(b: Builder, read: dict[str, Any]) -> dict[str, Any]:
    """The operands with dtypes of their own: numbers written out take that of the first tensor."""
    tensors = [v for value in read.values() for v in (value if isinstance(value, list) else [value])]
    strong = next((v.type.dtype for v in tensors if isinstance(v, Value) and not v.weak), None)

    def settled(value: Any) -> Any:
        if isinstance(value, list):
            return [settled(item) for item in value]
        if not isinstance(value, Value):
            return value
        own = b.settle(value) if strong is None or not value.weak else b.coerce(value, strong, value.node or b.node)
        return b.known(own)

    return {name: settled(value) for name, value in read.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Value):
        return ssa(value)
    if isinstance(value, list) and value and all(isinstance(v, Value) for v in value):
        return [ssa(v) for v in value]
    return value


def _bodies_of(b: Builder, op: type[StableHLOOp], operands: dict[str, Any]) -> dict[str, Any]:
    """The regions of the functions that are given as bodies."""
    made: dict[str, Any] = {}
    for name, value in operands.items():
        if isinstance(value, FunctionValue):
            made[name] = _region(b, value, _arguments(op, name, operands))
        elif isinstance(value, list) and value and all(isinstance(v, FunctionValue) for v in value):
            made[name] = [_region(b, v, ()) for v in value]
    return made


def _arguments(op: type[StableHLOOp], name: str, operands: dict[str, Any]) -> Sequence[Attribute]:
    """The types of the arguments of a body, from the operands."""

    def scalars(values: Sequence[SSAValue], times: int = 1) -> list[Attribute]:
        return [shapes.scalar(shapes.tensor(v).element_type) for v in values for _ in range(times)]

    match op.name.removeprefix("stablehlo."), name:
        case (("reduce" | "reduce_window"), _):
            return scalars(operands["init_values"]) * 2
        case "scatter", _:
            return scalars(operands["inputs"]) * 2
        case "select_and_scatter", _:
            return scalars([operands["operand"]], 2)
        case "map", _:
            return scalars(operands["inputs"])
        case "sort", _:
            return scalars(operands["inputs"], 2)
        case "while", _:
            return [v.type for v in operands["operand"]]
        case _:
            return ()


def _region(b: Builder, function: FunctionValue, arguments: Sequence[Attribute]) -> Region:
    """A block that calls the function on its arguments and returns what it gives."""
    region, block = single_block(arguments)
    with b.elaborator.inside(block):
        values = [b.wrap(argument) for argument in block.args]
        result = _applied(b, function, values)
        items = result.items if isinstance(result, TupleValue) else (result,)
        found: list[SSAValue] = []
        for item in items:
            if not isinstance(item, Value) or item.ssa is None:
                raise Undetermined  # it has been reported
            found.append(item.ssa)
        b.elaborator.insert(ReturnOp(found), b.node)
    return region


__all__ = ["Operation", "StringAttr", "call_op", "dtype_name", "find", "operations"]
