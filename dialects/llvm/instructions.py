"""Instructions of MLIR's llvm dialect that xDSL lacks or restricts, under MLIR's names and in its syntax."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    AnyFloatConstr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    SignlessIntegerConstraint,
    UnitAttr,
    VectorType,
    i32,
    i64,
)
from xdsl.dialects.llvm import FastMathAttr, FCmpPredicateFlag, LLVMPointerType, LLVMStructType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    eq,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    successor_def,
    traits_def,
    var_operand_def,
    var_successor_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from ...compiler.dtypes import dense_array

# i64 values of MLIR's atomic enums, as keywords of the textual form.
ATOMIC_ORDERINGS = ("not_atomic", "unordered", "monotonic", "acquire", "release", "acq_rel", "seq_cst")
_ORDERING_VALUES = {"not_atomic": 0, "unordered": 1, "monotonic": 2, "acquire": 4, "release": 5, "acq_rel": 6}
_ORDERING_VALUES["seq_cst"] = 7
ORDERING_BY_VALUE = {value: name for name, value in _ORDERING_VALUES.items()}
ATOMIC_BIN_OPS = (
    "xchg",
    "add",
    "sub",
    "_and",
    "nand",
    "_or",
    "_xor",
    "max",
    "min",
    "umax",
    "umin",
    "fadd",
    "fsub",
)

IntOrVector = SignlessIntegerConstraint | VectorType.constr(SignlessIntegerConstraint)
FloatOrVector = AnyFloatConstr | VectorType.constr(AnyFloatConstr)


def _ordering(name: str) -> IntegerAttr[IntegerType]:
    return IntegerAttr(_ORDERING_VALUES[name], i64)


class FloatToIntOp(IRDLOperation, ABC):
    """Conversion towards zero; a value that does not fit gives poison."""

    arg = operand_def(FloatOrVector)
    res = result_def(IntOrVector)
    traits = traits_def(Pure())
    assembly_format = "$arg attr-dict `:` type($arg) `to` type($res)"

    def __init__(self, arg: SSAValue | Operation, res_type: Attribute):
        super().__init__(operands=[arg], result_types=[res_type])


@irdl_op_definition
class FPToSIOp(FloatToIntOp):
    """`%i = llvm.fptosi %x : f32 to i32`"""

    name = "llvm.fptosi"


@irdl_op_definition
class FPToUIOp(FloatToIntOp):
    """`%i = llvm.fptoui %x : f32 to i32`"""

    name = "llvm.fptoui"


@irdl_op_definition
class UIToFPOp(IRDLOperation):
    """`%x = llvm.uitofp nneg %i : i32 to f32`; `nneg` promises that the value is not negative as signed."""

    name = "llvm.uitofp"
    arg = operand_def(IntOrVector)
    res = result_def(FloatOrVector)
    non_neg = opt_prop_def(UnitAttr, prop_name="nonNeg")
    traits = traits_def(Pure())
    assembly_format = "(`nneg` $nonNeg^)? $arg attr-dict `:` type($arg) `to` type($res)"

    def __init__(self, arg: SSAValue | Operation, res_type: Attribute):
        super().__init__(operands=[arg], result_types=[res_type], properties={"nonNeg": None})


@irdl_op_definition
class AddrSpaceCastOp(IRDLOperation):
    """`%q = llvm.addrspacecast %p : !llvm.ptr<1> to !llvm.ptr`"""

    name = "llvm.addrspacecast"
    arg = operand_def(LLVMPointerType)
    res = result_def(LLVMPointerType)
    traits = traits_def(Pure())
    assembly_format = "$arg attr-dict `:` type($arg) `to` type($res)"

    def __init__(self, arg: SSAValue | Operation, res_type: Attribute):
        super().__init__(operands=[arg], result_types=[res_type])


@irdl_op_definition
class FreezeOp(IRDLOperation):
    """`%y = llvm.freeze %x : f32`: an arbitrary but fixed value where `%x` is poison."""

    name = "llvm.freeze"
    T: ClassVar = VarConstraint("T", AnyAttr())
    val = operand_def(T)
    res = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$val attr-dict `:` type($val)"

    def __init__(self, val: SSAValue | Operation):
        super().__init__(operands=[val], result_types=[SSAValue.get(val).type])


@irdl_op_definition
class PoisonOp(IRDLOperation):
    """`%x = llvm.mlir.poison : vector<8xf32>`"""

    name = "llvm.mlir.poison"
    res = result_def()
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($res)"

    def __init__(self, result_type: Attribute):
        super().__init__(result_types=[result_type])


@irdl_op_definition
class ExtractElementOp(IRDLOperation):
    """`%x = llvm.extractelement %v[%i : i64] : vector<8xf32>`"""

    name = "llvm.extractelement"
    ELEMENT: ClassVar = VarConstraint("ELEMENT", AnyAttr())
    vector = operand_def(VectorType.constr(ELEMENT))
    position = operand_def(SignlessIntegerConstraint)
    res = result_def(ELEMENT)
    traits = traits_def(Pure())
    assembly_format = "$vector `[` $position `:` type($position) `]` attr-dict `:` type($vector)"

    def __init__(self, vector: SSAValue | Operation, position: SSAValue | Operation):
        vector_type = SSAValue.get(vector).type
        assert isinstance(vector_type, VectorType)
        super().__init__(operands=[vector, position], result_types=[vector_type.element_type])


@irdl_op_definition
class SelectOp(IRDLOperation):
    """`%r = llvm.select %c, %a, %b : vector<8xi1>, vector<8xf32>`: by lane where the condition is a vector."""

    name = "llvm.select"
    T: ClassVar = VarConstraint("T", AnyAttr())
    cond = operand_def(eq(IntegerType(1)) | VectorType.constr(eq(IntegerType(1))))
    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(T)
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))
    traits = traits_def(Pure())
    assembly_format = "$cond `,` $lhs `,` $rhs attr-dict `:` type($cond) `,` type($res)"
    irdl_options = (ParsePropInAttrDict(),)

    def __init__(self, cond: SSAValue | Operation, lhs: SSAValue | Operation, rhs: SSAValue | Operation):
        super().__init__(operands=[cond, lhs, rhs], result_types=[SSAValue.get(lhs).type])


@irdl_op_definition
class FCmpOp(IRDLOperation):
    """`%c = llvm.fcmp "olt" %x, %y : vector<8xf32>`"""

    name = "llvm.fcmp"
    T: ClassVar = VarConstraint("T", FloatOrVector)
    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(eq(IntegerType(1)) | VectorType.constr(eq(IntegerType(1))))
    predicate = prop_def(IntegerAttr)
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))
    traits = traits_def(Pure())

    def __init__(self, predicate: str, lhs: SSAValue, rhs: SSAValue):
        lanes = lhs.type
        result = VectorType(IntegerType(1), lanes.get_shape()) if isinstance(lanes, VectorType) else IntegerType(1)
        super().__init__(
            operands=[lhs, rhs],
            result_types=[result],
            properties={"predicate": IntegerAttr(FCmpPredicateFlag(predicate).to_int(), i64)},
        )

    @classmethod
    def parse(cls, parser: Parser) -> FCmpOp:
        predicate = parser.parse_str_literal()
        lhs, rhs = _operand_then_comma(parser), parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        op = cls(predicate, *parser.resolve_operands([lhs, rhs], [type_, type_], parser.pos))
        flags = attributes.pop("fastmathFlags", None)
        if flags is not None:
            op.properties["fastmathFlags"] = flags
        op.attributes |= attributes
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f' "{FCmpPredicateFlag.from_int(self.predicate.value.data)}" ')
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes(
            self.attributes | ({"fastmathFlags": self.fastmathFlags} if self.fastmathFlags.data else {})
        )
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)


@irdl_op_definition
class SwitchOp(IRDLOperation):
    """A jump by value; blocks take no arguments here.

    llvm.switch %i : i32, ^default [
      1: ^one,
      2: ^two
    ]
    """

    name = "llvm.switch"
    value = operand_def(SignlessIntegerConstraint)
    default_operands = var_operand_def()
    case_operands = var_operand_def()
    case_values = opt_prop_def(DenseIntOrFPElementsAttr)
    case_operand_segments = prop_def(DenseArrayBase.constr(i32))
    default_block = successor_def()
    case_blocks = var_successor_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(IsTerminator())

    def __init__(self, value: SSAValue, default: Block, cases: Sequence[tuple[int, Block]]):
        case_type = value.type
        assert isinstance(case_type, IntegerType)
        values = None
        if cases:
            vector_type = VectorType(case_type, [len(cases)])
            values = DenseIntOrFPElementsAttr.from_list(vector_type, [number for number, _ in cases])
        super().__init__(
            operands=[value, [], []],
            properties={
                "case_values": values,
                "case_operand_segments": DenseArrayBase.from_list(i32, [0] * len(cases)),
            },
            successors=[default, [block for _, block in cases]],
        )

    def cases(self) -> list[tuple[int, Block]]:
        """The case values with their blocks."""
        if self.case_values is None:
            return []
        numbers: list[int] = dense_array(self.case_values).ravel().tolist()
        return list(zip(numbers, self.case_blocks, strict=True))

    def verify_(self) -> None:
        if self.default_operands or self.case_operands:
            raise VerifyException("llvm.switch: block arguments are not supported")

    @classmethod
    def parse(cls, parser: Parser) -> SwitchOp:
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        operand = parser.resolve_operand(value, parser.parse_type())
        parser.parse_punctuation(",")
        default = parser.parse_successor()

        def case() -> tuple[int, Block]:
            number = parser.parse_integer()
            parser.parse_punctuation(":")
            return number, parser.parse_successor()

        return cls(operand, default, parser.parse_comma_separated_list(parser.Delimiter.SQUARE, case))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_string(" : ")
        printer.print_attribute(self.value.type)
        printer.print_string(", ")
        printer.print_block_name(self.default_block)

        def case(item: tuple[int, Block]) -> None:
            printer.print_string(f"{item[0]}: ")
            printer.print_block_name(item[1])

        printer.print_string(" [")
        printer.print_list(self.cases(), case)
        printer.print_string("]")


def _parse_ordering(parser: Parser) -> IntegerAttr[IntegerType]:
    return _ordering(
        parser.parse_optional_keyword_in(set(ATOMIC_ORDERINGS)) or parser.raise_error("expected an atomic ordering")
    )


@irdl_op_definition
class AtomicRMWOp(IRDLOperation):
    """`%old = llvm.atomicrmw add %p, %n acq_rel : !llvm.ptr, i64`"""

    name = "llvm.atomicrmw"
    ptr = operand_def(LLVMPointerType)
    T: ClassVar = VarConstraint("T", AnyAttr())
    val = operand_def(T)
    res = result_def(T)
    bin_op = prop_def(IntegerAttr)
    ordering = prop_def(IntegerAttr)

    def __init__(self, bin_op: str, ptr: SSAValue, val: SSAValue, ordering: str):
        super().__init__(
            operands=[ptr, val],
            result_types=[val.type],
            properties={
                "bin_op": IntegerAttr(ATOMIC_BIN_OPS.index(bin_op), i64),
                "ordering": _ordering(ordering),
            },
        )

    @classmethod
    def parse(cls, parser: Parser) -> AtomicRMWOp:
        bin_op = parser.parse_optional_keyword_in(set(ATOMIC_BIN_OPS)) or parser.raise_error("expected an atomic op")
        ptr, val = _operand_then_comma(parser), parser.parse_unresolved_operand()
        ordering = _parse_ordering(parser)
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        operands = parser.resolve_operands([ptr, val], types, parser.pos)
        return cls(bin_op, operands[0], operands[1], ORDERING_BY_VALUE[ordering.value.data])

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {ATOMIC_BIN_OPS[self.bin_op.value.data]} ")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_string(f" {ORDERING_BY_VALUE[self.ordering.value.data]} : ")
        printer.print_list(self.operands, lambda operand: printer.print_attribute(operand.type))


@irdl_op_definition
class AtomicCmpXchgOp(IRDLOperation):
    """`%r = llvm.cmpxchg %p, %expected, %new acq_rel monotonic : !llvm.ptr, i64`; gives `(i64, i1)`."""

    name = "llvm.cmpxchg"
    ptr = operand_def(LLVMPointerType)
    T: ClassVar = VarConstraint("T", AnyAttr())
    cmp = operand_def(T)
    val = operand_def(T)
    res = result_def(LLVMStructType)
    success_ordering = prop_def(IntegerAttr)
    failure_ordering = prop_def(IntegerAttr)

    def __init__(self, ptr: SSAValue, cmp: SSAValue, val: SSAValue, success: str, failure: str):
        super().__init__(
            operands=[ptr, cmp, val],
            result_types=[LLVMStructType.from_type_list([val.type, IntegerType(1)])],
            properties={"success_ordering": _ordering(success), "failure_ordering": _ordering(failure)},
        )

    @classmethod
    def parse(cls, parser: Parser) -> AtomicCmpXchgOp:
        ptr, cmp, val = (
            _operand_then_comma(parser),
            _operand_then_comma(parser),
            parser.parse_unresolved_operand(),
        )
        success, failure = _parse_ordering(parser), _parse_ordering(parser)
        parser.parse_punctuation(":")
        ptr_type = parser.parse_type()
        parser.parse_punctuation(",")
        val_type = parser.parse_type()
        a, b, c = parser.resolve_operands([ptr, cmp, val], [ptr_type, val_type, val_type], parser.pos)
        names = ORDERING_BY_VALUE
        return cls(a, b, c, names[success.value.data], names[failure.value.data])

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        success, failure = (ORDERING_BY_VALUE[o.value.data] for o in (self.success_ordering, self.failure_ordering))
        printer.print_string(f" {success} {failure} : ")
        printer.print_list([self.ptr.type, self.val.type], printer.print_attribute)


@irdl_op_definition
class FenceOp(IRDLOperation):
    """`llvm.fence seq_cst`"""

    name = "llvm.fence"
    ordering = prop_def(IntegerAttr)

    def __init__(self, ordering: str):
        super().__init__(properties={"ordering": _ordering(ordering)})

    @classmethod
    def parse(cls, parser: Parser) -> FenceOp:
        return cls(ORDERING_BY_VALUE[_parse_ordering(parser).value.data])

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {ORDERING_BY_VALUE[self.ordering.value.data]}")


def _operand_then_comma(parser: Parser) -> UnresolvedOperand:
    operand = parser.parse_unresolved_operand()
    parser.parse_punctuation(",")
    return operand
