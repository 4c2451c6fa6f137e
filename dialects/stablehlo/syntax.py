"""The textual form of StableHLO ops: operands, then `key = value` clauses, then the types.

Most ops differ only in their clauses and in how types are abbreviated, so they state just that:

    class TransposeOp(ClausedOp):                  # stablehlo.transpose %x, dims = [1, 0] : (...) -> ...
        CLAUSES = (Clause("dims", "permutation", IntList),)
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, TypeVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    FunctionType,
    IntegerAttr,
    TensorType,
    i64,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Operation, OpResult, Region, SSAValue
from xdsl.ir.core import SSAValues
from xdsl.irdl import BaseAttr, IRDLOperation, operand_def, var_operand_def
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .attributes import PrecisionAttr, int_array, ints, precision_config
from .quant import UniformQuantizedType
from .quantized_ops import verify_quantized

TENSOR = BaseAttr(TensorType)
"""Any ranked tensor; what its elements and shape may be is checked by the ops."""


def tensor_operand() -> SSAValue[TensorType]:
    """A field of an op: one operand of any tensor type."""
    return cast("SSAValue[TensorType]", operand_def(TENSOR))


def tensor_operands() -> SSAValues[SSAValue[TensorType]]:
    """A field of an op: any number of operands of tensor types."""
    return cast("SSAValues[SSAValue[TensorType]]", var_operand_def(TENSOR))


class StableHLOOp(IRDLOperation, ABC):
    """Base of all ops: construction with type inference, and the checks that all ops share.

    An op gives its result types by `infer`, which reads operands, properties and regions only; the constructor
    and the verifier both use it.
    """

    def infer(self) -> Sequence[Attribute] | None:
        """The result types as the specification gives them; None where the op states them itself.

        Raises VerifyException where a constraint on the inputs does not hold.
        """
        return None

    def _build(
        self,
        operands: Sequence[SSAValue | Operation],
        properties: Mapping[str, Attribute | None] | None = None,
        *,
        regions: Sequence[Region] = (),
        result_types: Sequence[Attribute] | None = None,
    ) -> None:
        """Fills a new op in, faster than IRDL's sorting of arguments. Properties that are None stay absent."""
        Operation.__init__(
            self,
            operands=[SSAValue.get(v) for v in operands],
            properties={k: v for k, v in properties.items() if v is not None} if properties else {},
            regions=regions,
        )
        types = self.infer() if result_types is None else result_types
        if types is None:
            raise ValueError(f"{self.name} needs its result types")
        self._set_results(types)

    def _set_results(self, types: Sequence[Attribute]) -> None:
        self.results = SSAValues(OpResult(kind, self, i) for i, kind in enumerate(types))

    SIZES_KNOWN: ClassVar[bool] = True
    """Whether `verify_` needs all sizes: it waits then until they are known."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own = cls.__dict__.get("verify_")
        if own is not None:
            type.__setattr__(cls, "verify_", _where_it_applies(own, cls.SIZES_KNOWN))

    def verify_(self) -> None:
        unknown, quantized = _special_types(self)
        if quantized:
            verify_quantized(self, type(self)._verify_results)
        elif not unknown:
            self._verify_results()

    def _verify_results(self) -> None:
        inferred = None if has_unknown_sizes(self) else self.infer()
        if inferred is None:
            return
        if len(inferred) != len(self.results):
            raise VerifyException(f"expected {len(inferred)} results, got {len(self.results)}")
        for i, (result, expected) in enumerate(zip(self.results, inferred, strict=True)):
            if result.type != expected:
                raise VerifyException(f"result #{i} must have type {expected}, got {result.type}")


def _special_types(op: Operation) -> tuple[bool, bool]:
    """Whether a tensor of an op has a dimension whose size is not known, and whether one is quantised."""
    unknown = quantized = False
    for value in (*op.operands, *op.results):
        kind = value.type
        if isinstance(kind, TensorType):
            unknown = unknown or any(n.data < 0 for n in kind.shape.data)
            quantized = quantized or type(kind.element_type) is UniformQuantizedType
    return unknown, quantized


def has_unknown_sizes(op: Operation) -> bool:
    """Whether a tensor of an op has a dimension whose size is not known."""
    return _special_types(op)[0]


def _where_it_applies(verify: Callable[[Any], None], sizes_known: bool) -> Callable[[Any], None]:
    """`verify` for ops whose sizes are known, if it needs them; quantised tensors have rules of their own before."""

    def own(self: Any) -> None:
        if not (sizes_known and has_unknown_sizes(self)):
            verify(self)

    def verify_(self: Any) -> None:
        unknown, quantized = _special_types(self)
        if quantized:
            verify_quantized(self, own)
        elif not (sizes_known and unknown):
            verify(self)

    return verify_


class ValueSyntax(Protocol):
    """How the value of one clause is read and written."""

    def parse(self, parser: Parser) -> Attribute: ...
    def print(self, printer: Printer, value: Any) -> None: ...


class _IntList:
    """`[0, 1]` for `array<i64: 0, 1>`."""

    def parse(self, parser: Parser) -> Attribute:
        return int_array(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer))

    def print(self, printer: Printer, value: DenseArrayBase) -> None:
        printer.print_string(f"[{', '.join(map(str, ints(value)))}]")


class _Int:
    """`1` for `1 : i64`."""

    def parse(self, parser: Parser) -> Attribute:
        return IntegerAttr(parser.parse_integer(), i64)

    def print(self, printer: Printer, value: IntegerAttr) -> None:
        printer.print_string(str(value.value.data))


class _Bool:
    """`true` or `false`."""

    def parse(self, parser: Parser) -> Attribute:
        return BoolAttr.from_bool(parser.parse_boolean())

    def print(self, printer: Printer, value: BoolAttr) -> None:
        printer.print_string("true" if value.value.data else "false")


class _Precision:
    """`[DEFAULT, HIGHEST]` for the array of precision attributes."""

    def parse(self, parser: Parser) -> Attribute:
        return precision_config(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_identifier))

    def print(self, printer: Printer, value: ArrayAttr[PrecisionAttr]) -> None:
        printer.print_string(f"[{', '.join(p.data.value for p in value)}]")


@dataclass(frozen=True)
class Keyword:
    """`NORMAL` for `#stablehlo<rng_distribution NORMAL>`."""

    kind: type[EnumAttribute[Any]]

    def parse(self, parser: Parser) -> Attribute:
        return self.kind(self.kind.parse_parameter(parser))

    def print(self, printer: Printer, value: EnumAttribute[Any]) -> None:
        printer.print_string(value.data.value)


IntList, Int, Bool, PrecisionList = _IntList(), _Int(), _Bool(), _Precision()


@dataclass(frozen=True)
class Clause:
    """`key = value`, the textual form of one property; left out where an optional property is absent."""

    key: str
    property: str
    value: ValueSyntax


class ClausedOp(StableHLOOp, ABC):
    """An op written `name %a, %b, key = value : (types) -> type`."""

    CLAUSES: ClassVar[tuple[Clause, ...]] = ()
    ONE_TYPE: ClassVar[bool] = False
    """Whether `: T` may stand for operands and result that all have type T."""

    def print(self, printer: Printer) -> None:
        shown = [c for c in self.CLAUSES if c.property in self.properties]
        printer.print_string(" " if self.operands or shown else "")
        printer.print_list(self.operands, printer.print_operand)
        for i, clause in enumerate(shown):
            printer.print_string(f"{', ' if i or self.operands else ''}{clause.key} = ")
            clause.value.print(printer, self.properties[clause.property])
        print_attributes(printer, self, [c.property for c in shown])
        print_types(printer, self, self.ONE_TYPE)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands: list[UnresolvedOperand] = []
        properties: dict[str, Attribute] = {}
        remaining = {c.key: c for c in cls.CLAUSES}
        more = True
        while more:
            if not properties and (operand := parser.parse_optional_unresolved_operand()):
                operands.append(operand)
            elif key := parser.parse_optional_keyword_in(remaining):
                parser.parse_punctuation("=")
                clause = remaining.pop(key)
                properties[clause.property] = clause.value.parse(parser)
            elif operands or properties:
                parser.raise_error(f"expected {' or '.join(['an operand', *remaining])}")
            more = parser.parse_optional_punctuation(",") is not None
        return finish(cls, parser, operands, properties, one_type=cls.ONE_TYPE)


_Op = TypeVar("_Op", bound=IRDLOperation)


def finish(
    cls: type[_Op],
    parser: Parser,
    operands: Sequence[UnresolvedOperand],
    properties: dict[str, Attribute],
    *,
    one_type: bool = False,
    short: Callable[[Attribute], tuple[Sequence[Attribute], Sequence[Attribute]]] | None = None,
    regions: Sequence[Region] = (),
) -> _Op:
    """Reads `{attributes} : types` and makes the op; attributes that are properties of it become so.

    Types are a function type, or with `one_type` the type of all; `short` reads any other short form from its
    first type and gives the types of operands and results.
    """
    attributes = parse_attributes(cls, parser, properties)
    parser.parse_punctuation(":")
    position = parser.pos
    kind = parser.parse_type()
    if isinstance(kind, FunctionType):
        inputs, outputs = kind.inputs.data, kind.outputs.data
    elif one_type:
        inputs, outputs = [kind] * len(operands), [kind]
    elif short is not None:
        inputs, outputs = short(kind)
    else:
        parser.raise_error("expected a function type", position)
    return cls.create(
        operands=parser.resolve_operands(operands, inputs, position),
        result_types=outputs,
        properties=properties,
        attributes=attributes,
        regions=regions,
    )


def parse_attributes(
    cls: type[IRDLOperation], parser: Parser, properties: dict[str, Attribute]
) -> dict[str, Attribute]:
    """An optional attribute dictionary; what it says of properties of `cls` is added to `properties`."""
    attributes = parser.parse_optional_attr_dict()
    if attributes:
        for name in cls.get_irdl_definition().properties:
            if name in attributes:
                properties[name] = attributes.pop(name)
    return attributes


def print_attributes(printer: Printer, op: IRDLOperation, shown: Sequence[str] = ()) -> None:
    """The attribute dictionary: attributes, and those properties that the syntax did not show."""
    rest = op.attributes | {name: value for name, value in op.properties.items() if name not in shown}
    printer.print_op_attributes(dict(sorted(rest.items())))


def print_types(printer: Printer, op: IRDLOperation, one_type: bool = False) -> None:
    """` : T` where all types are T and that says enough, else ` : (...) -> ...`."""
    printer.print_string(" : ")
    if one_type and len(op.results) == 1:
        result = op.results[0].type
        if all(operand.type == result for operand in op.operands):
            printer.print_attribute(result)
            return
    printer.print_function_type(op.operand_types, op.result_types)


def new_line(printer: Printer) -> None:
    """A line break with the indentation of the surrounding op."""
    printer._print_new_line()  # pyright: ignore[reportPrivateUsage]


def share_names(printer: Printer, named: Sequence[SSAValue], others: Sequence[SSAValue]) -> None:
    """Prints `others`, which live in another region, under the names that `named` have been printed with."""
    names = printer._ssa_values  # pyright: ignore[reportPrivateUsage]
    for value, other in zip(named, others, strict=True):
        names[other] = names[value]
