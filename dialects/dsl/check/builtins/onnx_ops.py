"""Every operator of ONNX by name: `onnx.Gemm(x, w, b, transB=1)`, `onnx.ai.onnx.ml.Scaler(x, …)`.

What an operator takes is asked of the registry's schema. Inputs come by position (or by the schema's names),
attributes by name. The call becomes a model of one node, which takes the same way down to the hub as a model that
comes from a file; the results have the types found there, so they are known when dimensions are bound.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    NoneType,
    StringAttr,
    f32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from .....compiler.diagnostics import LaminaError
from ....onnx import NoValueOp, UnknownType, op_class, op_name
from ....onnx.attributes import constant_attribute
from ....onnx.inference import check_types
from ....onnx.save import save_skeleton
from ....onnx.schemas import DEFAULT_DOMAIN, find_schema, newest_version
from ....onnx.types import element_code, element_type, numpy_dtype, tensor_type, type_of_dtype
from ...language import tree
from ..values import TupleValue, Value
from . import kinds
from .arguments import Reader
from .builder import Builder, ssa
from .embedding import lowered, main_of, one_function
from .failure import Failure, Undetermined, first_line

if TYPE_CHECKING:
    from onnx.defs import OpSchema

Input = Value | np.ndarray[Any, Any] | None


@cache
def operator_names() -> tuple[str, ...]:
    """Every operator of every domain, as a program writes it."""
    from onnx import defs

    return tuple(sorted({op_name(schema.domain, schema.name) for schema in defs.get_all_schemas()}))


def schema_of(b: Builder) -> OpSchema:
    """The operator's schema in the newest opset. Raises Failure where there is none."""
    domain, _, operator = b.name.removeprefix("onnx.").rpartition(".")
    domain = domain or DEFAULT_DOMAIN
    schema = find_schema(domain, operator, newest_version(domain))
    if schema is None or schema.deprecated:
        close = get_close_matches(b.name, operator_names(), 1)
        why = "is deprecated" if schema is not None else "does not exist"
        hint = f"did you mean {close[0]}?" if close else ""
        raise Failure("E556", f"the operator {b.name} {why}", b.node.function, hint)
    return schema


def call_operator(b: Builder, scope: Any) -> Value | TupleValue:
    """The call of an ONNX operator."""
    schema = schema_of(b)
    inputs, named = _assign(b, schema)
    reader = Reader(b, scope)
    attributes = {name: _attribute(reader, schema, name, node) for name, node in named.items()}
    outputs = attributes.pop("outputs", None)
    read = [None if node is None else _input(reader, node) for node in inputs]
    for name, declared in schema.attributes.items():
        if declared.required and name not in attributes:
            raise b.fail("E550", f"{b.name} needs the attribute '{name}'")
    if not b.emits or reader.unknown or reader.undetermined:
        raise Undetermined
    count = outputs.value.data if isinstance(outputs, IntegerAttr) else max(schema.min_output, 1)
    if not schema.min_output <= count <= schema.max_output:
        raise b.fail("E553", f"{b.name} has {schema.min_output} to {schema.max_output} outputs", "outputs")
    return _made(b, schema, read, attributes, count)


def _assign(b: Builder, schema: OpSchema) -> tuple[list[tree.Expression | None], dict[str, tree.Expression]]:
    """The inputs in order, None where one is left out, and the attributes."""
    names = [formal.name for formal in schema.inputs]
    inputs: list[tree.Expression | None] = []
    named: dict[str, tree.Expression] = {}
    for argument in b.node.arguments:
        if argument.name is None:
            inputs.append(argument.value)
            continue
        name = argument.name.text
        b.places[name] = argument.value
        if name in names:
            place = names.index(name)
            inputs += [None] * (place + 1 - len(inputs))
            if inputs[place] is not None:
                raise Failure("E552", f"'{name}' is given twice", argument.name)
            inputs[place] = argument.value
        elif name in named:
            raise Failure("E552", f"'{name}' is given twice", argument.name)
        elif name in schema.attributes or name == "outputs":
            named[name] = argument.value
        else:
            known = [*schema.attributes, *names]
            close = get_close_matches(name, known, 1)
            hint = f"did you mean '{close[0]}'?" if close else f"it has {', '.join(known)}"
            raise Failure("E551", f"{b.name} has neither input nor attribute '{name}'", argument.name, hint)
    if not schema.min_input <= len(inputs) <= schema.max_input:
        most = "" if schema.max_input > 1_000_000 else f" to {schema.max_input}"
        raise b.fail("E550", f"{b.name} takes {schema.min_input}{most} inputs ({', '.join(names)}), got {len(inputs)}")
    for place, node in enumerate(inputs):
        formal = schema.inputs[min(place, len(schema.inputs) - 1)]
        if node is None and "Optional" not in str(formal.option):
            raise b.fail("E550", f"{b.name} needs the input '{formal.name}'")
    return inputs, named


def _input(reader: Reader, node: tree.Expression) -> Input:
    """A tensor, or what is written out: numbers, also in brackets, whose dtype the operator decides."""
    if isinstance(node, tree.Array):
        literal = _literal(reader, node)
        if literal is not None:
            return literal
    value = reader.value(node)
    if value.weak and value.const is not None and isinstance(value.const, int | float):
        return np.asarray(value.const)
    return value if value.unknown else reader.b.settle(value)


def _literal(reader: Reader, node: tree.Array) -> np.ndarray[Any, Any] | None:
    """Numbers known when compiling, dimensions among them; None where tensors are inside."""

    def nested(item: tree.Expression) -> Any:
        if isinstance(item, tree.Array):
            return [nested(each) for each in item.items]
        value = reader.value(item)
        if not value.weak or value.const is None:
            raise _NoLiteralError
        return value.const if isinstance(value.const, int | float) else 0

    try:
        return np.asarray(nested(node))
    except _NoLiteralError:
        return None
    except ValueError as error:
        raise Failure("E553", "the rows differ in length", node) from error


class _NoLiteralError(Exception):
    pass


def _attribute(reader: Reader, schema: OpSchema, name: str, node: tree.Expression) -> Attribute:
    """An attribute of the kind that the schema says."""
    kind = "INT" if name == "outputs" else str(schema.attributes[name].type).rpartition(".")[2]
    match kind:
        case "INT":
            number = reader.type(node) if name in ("to", "dtype") and not _is_number(node) else reader.number(node)
            if not isinstance(number, int):
                if isinstance(number, float):
                    raise Failure("E553", f"'{name}' is a whole number", node)
                number = element_code(kinds.element_type(number.dtype)) if isinstance(number.dtype, str) else 0
            return IntegerAttr(int(number), i64)
        case "FLOAT":
            return FloatAttr(float(reader.number(node)), f32)
        case "STRING":
            return StringAttr(reader.string(node))
        case "INTS":
            return DenseArrayBase.from_list(i64, [n if isinstance(n, int) else 0 for n in reader.dims(node)])
        case "FLOATS":
            items = node.items if isinstance(node, tree.Array) else (node,)
            return DenseArrayBase.from_list(f32, [float(reader.number(item)) for item in items])
        case "STRINGS":
            items = node.items if isinstance(node, tree.Array) else (node,)
            return ArrayAttr([StringAttr(reader.string(item)) for item in items])
        case "TENSOR":
            array = _literal(reader, node) if isinstance(node, tree.Array) else np.asarray(reader.number(node))
            if array is None:
                raise Failure("E554", f"'{name}' must be known when compiling", node)
            if not reader.b.emits:
                return StringAttr("")  # only that it could be read matters
            return constant_attribute(_narrow(array), reader.b.elaborator.weights, name)
        case _:
            what = "graphs" if kind.startswith("GRAPH") else f"attributes of kind {kind}"
            raise Failure("E556", f"'{name}' cannot be given here: {what} cannot be written", node)


def _is_number(node: tree.Expression) -> bool:
    return isinstance(node, tree.Number | tree.Unary | tree.Binary)


def _narrow(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.astype(np.float32) if array.dtype == np.float64 else array


def _made(
    b: Builder, schema: OpSchema, inputs: list[Input], attributes: dict[str, Attribute], count: int
) -> Value | TupleValue:
    """The node in a function of its own, taken down to the hub, and the hub's ops put here."""
    operands = [value for value in inputs if isinstance(value, Value)]
    block = Block(arg_types=[ssa(value).type for value in operands])
    arguments = iter(block.args)
    location = b.elaborator.location(b.node)
    values: list[SSAValue] = []
    for place, value in enumerate(inputs):
        if isinstance(value, Value):
            values.append(next(arguments))
        elif value is None:
            values.append(_add(block, NoValueOp.create(result_types=[NoneType()], location=location)))
        else:
            array = _taken(b, value, _wanted(b, schema, place, value, inputs))
            cls = op_class("onnx.Constant")
            assert cls is not None
            name = schema.inputs[min(place, len(schema.inputs) - 1)].name
            constant = cls.create(
                result_types=[tensor_type(type_of_dtype(array.dtype), array.shape)],
                attributes={"value": constant_attribute(array, b.elaborator.weights, name)},
                location=location,
            )
            values.append(_add(block, constant))
    cls = op_class(b.name)
    assert cls is not None
    node = cls.create(operands=values, result_types=[UnknownType()] * count, attributes=attributes, location=location)
    block.add_op(node)
    try:
        node.verify()
        module = one_function(block, list(node.results), location)
        check_types(save_skeleton(module, main_of(module), b.elaborator.weights)[0])
        lowered(b.elaborator.context, module)
    except (LaminaError, VerifyException, ValueError, LookupError, TypeError, ArithmeticError) as error:
        text, hint = (error.message, error.hint or "") if isinstance(error, LaminaError) else (first_line(error), "")
        raise b.fail("E557", f"{b.name}: {text}", hint=hint) from error
    return b.spliced(module, [ssa(value) for value in operands])


def _taken(b: Builder, value: np.ndarray[Any, Any], dtype: Any) -> np.ndarray[Any, Any]:
    """Numbers written out in the dtype that the operator takes, which must be able to hold whole ones."""
    with np.errstate(all="ignore"):
        array = value.astype(dtype)
    if np.issubdtype(array.dtype, np.integer) and not np.array_equal(array, value):
        raise b.fail("E557", f"{b.name}: {value} cannot be {array.dtype}")
    return array


def _add(block: Block, op: Operation) -> SSAValue:
    block.add_op(op)
    return op.results[0]


def _wanted(b: Builder, schema: OpSchema, place: int, value: np.ndarray[Any, Any], inputs: list[Input]) -> Any:
    """The dtype that the operator takes a written-out input in: that of the others of its type, or its only one."""
    formals = schema.inputs
    formal = formals[min(place, len(formals) - 1)]
    for i, other in enumerate(inputs):
        if isinstance(other, Value) and formals[min(i, len(formals) - 1)].type_str == formal.type_str:
            return kinds.numpy_dtype(str(other.type.dtype))
    allowed = [_dtype(name) for name in formal.types]
    whole = np.issubdtype(value.dtype, np.integer) or value.dtype == np.bool_
    preferred = [np.dtype(np.bool_)] if value.dtype == np.bool_ else []
    preferred += [np.dtype(np.int64), np.dtype(np.int32)] if whole else []
    for dtype in (*preferred, np.dtype(np.float32), np.dtype(np.float64)):
        if dtype in allowed:
            return dtype
    return next((dtype for dtype in allowed if dtype is not None), value.dtype)


@cache
def _dtype(text: str) -> np.dtype[Any] | None:
    """`tensor(int64)` -> int64."""
    from onnx import TensorProto

    name = text.removeprefix("tensor(").removesuffix(")").upper()
    code = dict(TensorProto.DataType.items()).get(name, 0) if text.startswith("tensor(") else 0
    return None if element_type(code) is None else numpy_dtype(code)


__all__ = ["DictionaryAttr", "call_operator", "operator_names", "schema_of"]
