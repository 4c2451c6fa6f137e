"""The op of `dot`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import BFloat16Type, IntegerType, UnitAttr, VectorType, f32, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class ProductOp(IRDLOperation):
    """acc[i] + Σ_j lhs[g·i + j] · rhs[g·i + j], for groups of g neighbours: 2 of 16 bits, 4 of 8 bits.

        %s = dot.product %a, %b, %acc : vector<32xi16>, vector<32xi16> into vector<16xi32>
        %s = dot.product %a, %b, %acc {unsigned_lhs} : vector<64xi8>, vector<64xi8> into vector<16xi32>
        %s = dot.product %a, %b, %acc : vector<32xbf16>, vector<32xbf16> into vector<16xf32>

    Integers are exact modulo 2^32. bf16 adds up in f32, in any order within a group. `pairs_fit` promises of bytes,
    unsigned ones times signed ones, that the first two products of a group and the last two add up within 16 bits.

    C1: operands have one type; C2: integers add up in i32, bf16 in f32; C3: a group fills one lane.
    """

    name = "dot.product"
    T: ClassVar = VarConstraint("T", VectorType.constr())
    A: ClassVar = VarConstraint("A", VectorType.constr())
    lhs = operand_def(T)
    rhs = operand_def(T)
    acc = operand_def(A)
    result = result_def(A)
    unsigned_lhs = opt_prop_def(base(UnitAttr))
    unsigned_rhs = opt_prop_def(base(UnitAttr))
    pairs_fit = opt_prop_def(base(UnitAttr))
    traits = traits_def(Pure())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$lhs `,` $rhs `,` $acc attr-dict `:` type($lhs) `,` type($rhs) `into` type($result)"

    def __init__(
        self,
        lhs: SSAValue,
        rhs: SSAValue,
        acc: SSAValue,
        *,
        unsigned_lhs: bool = False,
        unsigned_rhs: bool = False,
        pairs_fit: bool = False,
    ):
        super().__init__(
            operands=[lhs, rhs, acc],
            result_types=[acc.type],
            properties={
                "unsigned_lhs": UnitAttr() if unsigned_lhs else None,
                "unsigned_rhs": UnitAttr() if unsigned_rhs else None,
                "pairs_fit": UnitAttr() if pairs_fit else None,
            },
        )

    @property
    def group(self) -> int:
        """How many neighbours add up into one lane."""
        return group_of(_vector(self.lhs).element_type)

    @property
    def lanes(self) -> int:
        """How many sums there are."""
        return _vector(self.acc).get_shape()[0]

    def verify_(self) -> None:
        narrow, wide = _vector(self.lhs), _vector(self.acc)
        group = group_of(narrow.element_type)
        if not group or wide.element_type != sum_type(narrow.element_type):
            raise VerifyException(f"no sums of {narrow.element_type} in {wide.element_type} (C2)")
        shape = wide.get_shape()
        if len(shape) != 1 or narrow.get_shape() != (shape[0] * group,):
            raise VerifyException(f"{narrow} does not hold {group} elements for each lane of {wide} (C3)")


def group_of(element: Attribute) -> int:
    """How many elements fill 32 bits; 0 for types that `dot.product` does not take."""
    match element:
        case BFloat16Type():
            return 2
        case IntegerType() if element.width.data in (8, 16):
            return 32 // element.width.data
        case _:
            return 0


def sum_type(element: Attribute) -> Attribute:
    """What products of this type add up in."""
    return f32 if isinstance(element, BFloat16Type) else i32


def _vector(value: SSAValue) -> VectorType:
    assert isinstance(value.type, VectorType)
    return value.type
