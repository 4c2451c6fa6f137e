"""`llvm.getelementptr` as MLIR has it: vectors of indices and no-wrap flags, which xDSL's lacks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, VectorType, i32
from xdsl.dialects.llvm import GEP_USE_SSA_VAL, LLVMPointerType
from xdsl.dialects.utils import parse_dynamic_index_list_without_types, print_dynamic_index_list
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

INBOUNDS, NUSW, NUW = 1, 2, 4  # bits of noWrapFlags; inbounds implies nusw


@lru_cache(1024)
def _raw(indices: tuple[int, ...]) -> DenseArrayBase:
    return DenseArrayBase.from_list(i32, indices)


@lru_cache(16)
def _flags(bits: int) -> IntegerAttr:
    return IntegerAttr(bits, i32)


@irdl_op_definition
class GEPOp(IRDLOperation):
    """Address arithmetic; it reads no memory.

    %q = llvm.getelementptr inbounds|nuw %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %r = llvm.getelementptr %p[%v] : (!llvm.ptr, vector<8xi64>) -> vector<8x!llvm.ptr>, f32
    """

    name = "llvm.getelementptr"
    base = operand_def(LLVMPointerType | VectorType)
    dynamicIndices = var_operand_def()
    rawConstantIndices = prop_def(DenseArrayBase.constr(i32))
    elem_type = prop_def()
    noWrapFlags = prop_def(IntegerAttr)
    res = result_def()
    traits = traits_def(Pure())

    def __init__(
        self,
        base: SSAValue | Operation,
        indices: Sequence[int | SSAValue],
        elem_type: Attribute,
        *,
        flags: int = 0,
    ):
        base = SSAValue.get(base)
        dynamic = [index for index in indices if isinstance(index, SSAValue)]
        vectors = [value.type for value in (base, *dynamic) if isinstance(value.type, VectorType)]
        pointer = base.type if isinstance(base.type, LLVMPointerType) else LLVMPointerType()
        # a kernel has hundreds, and nothing is left for irdl to find out: it would take as long as all else does
        Operation.__init__(
            self,
            operands=[base, *dynamic],
            result_types=[VectorType(pointer, vectors[0].get_shape()) if vectors else pointer],
            properties={
                "rawConstantIndices": _raw(tuple(i if isinstance(i, int) else GEP_USE_SSA_VAL for i in indices)),
                "elem_type": elem_type,
                "noWrapFlags": _flags(flags | NUSW if flags & INBOUNDS else flags),
            },
        )

    def indices(self) -> list[int | SSAValue]:
        """Constants and values in order."""
        dynamic = iter(self.dynamicIndices)
        raw = self.rawConstantIndices.iter_values()
        return [next(dynamic) if index == GEP_USE_SSA_VAL else int(index) for index in raw]

    def flag_names(self) -> list[str]:
        """The flags as the textual forms write them."""
        flags = self.noWrapFlags.value.data
        names = ["inbounds"] if flags & INBOUNDS else ["nusw"] if flags & NUSW else []
        return [*names, "nuw"] if flags & NUW else names

    def print(self, printer: Printer) -> None:
        if names := self.flag_names():
            printer.print_string(" " + "|".join(names))
        printer.print_string(" ")
        printer.print_ssa_value(self.base)
        print_dynamic_index_list(printer, GEP_USE_SSA_VAL, self.dynamicIndices, self.rawConstantIndices.iter_values())
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_function_type([operand.type for operand in self.operands], [self.res.type])
        printer.print_string(", ")
        printer.print_attribute(self.elem_type)

    @classmethod
    def parse(cls, parser: Parser) -> GEPOp:
        flags = 0
        bits = {"inbounds": INBOUNDS | NUSW, "nusw": NUSW, "nuw": NUW}
        while keyword := parser.parse_optional_keyword_in(set(bits)):
            flags |= bits[keyword]
            parser.parse_optional_punctuation("|")
        base = parser.parse_unresolved_operand()
        dynamic, constants = parse_dynamic_index_list_without_types(parser, GEP_USE_SSA_VAL)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        function_type = parser.parse_function_type()
        parser.parse_punctuation(",")
        elem_type = parser.parse_type()
        values = parser.resolve_operands([base, *dynamic], function_type.inputs.data, parser.pos)
        rest = iter(values[1:])
        indices = [next(rest) if index == GEP_USE_SSA_VAL else index for index in constants]
        op = cls(values[0], indices, elem_type, flags=flags)
        op.attributes |= attributes
        return op
