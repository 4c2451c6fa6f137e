"""Products with weights of a few bits, which stay packed."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import (
    I64,
    ContainerType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ShapedType,
    TensorType,
    bf16,
    f32,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_result_def,
    prop_def,
    traits_def,
)
from xdsl.utils.exceptions import VerifyException

from ..linalg.effects import DestinationEffects

WORD = 32  # bits that a lane holds of a panel's row


@irdl_op_definition
class MatmulNBitsOp(IRDLOperation):
    """Rows times a matrix of `bits` bits an element, with a scale for each block of what is summed:

        out[m, n] = Σ_b lhs_scales[b, m] · scales[n, b] · (starts[b, m] + Σ_k lhs[b, m, k] · rhs[n, b, k])

        %o = "linalg_ext.matmul_nbits"(%lhs, %rhs, %scales, %starts, %lhs_scales, %init) <{bits = 4 : i64, ...}>
            : (tensor<8x3x32xi8>, tensor<2x32x16x4xui8>, tensor<2x8x16xf32>, tensor<8x3xi32>, tensor<8x3xf32>,
               tensor<3x24xf32>) -> tensor<3x24xf32>

    Panels hold `lanes` columns: `rhs` is (panels, words, lanes, 4 bytes), `scales` (panels, blocks, lanes); columns
    beyond those of the output are not read. Elements are unsigned. Those of a word come in this order of k: the lowest
    bits of its four bytes, then the next higher ones; `lhs`, (blocks, rows, block), has them so.

    `lhs` is f32, and so is `starts`; or it is i8 with `lhs_scales`, and `starts` i32, in which a block is summed up.
    Or `lhs` is bf16 without `starts`: then elements are less 2^(bits-1), and times their scales rounded to bf16.

    C1: `bits` is 2, 4 or 8, and a block is whole words. C2: element types are as said. C3: shapes fit.
    """

    name = "linalg_ext.matmul_nbits"

    lhs = operand_def()
    rhs = operand_def()
    scales = operand_def()
    starts = opt_operand_def()
    lhs_scales = opt_operand_def()
    output = operand_def()
    result = opt_result_def()
    bits_attr = prop_def(IntegerAttr[I64], prop_name="bits")
    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    traits = traits_def(DestinationEffects())

    @staticmethod
    def of(
        inputs: list[SSAValue], starts: SSAValue | None, lhs_scales: SSAValue | None, output: SSAValue, bits: int
    ) -> MatmulNBitsOp:
        """The op on tensors or buffers; `inputs` are lhs, rhs and scales."""
        return MatmulNBitsOp(
            operands=[*inputs, starts, lhs_scales, output],
            result_types=[[output.type] if isinstance(output.type, TensorType) else []],
            properties={"bits": IntegerAttr(bits, i64)},
        )

    @property
    def bits(self) -> int:
        """Of an element of the right operand."""
        return self.bits_attr.value.data

    @property
    def rows(self) -> int:
        """Of the left operand."""
        return shape_of(self.lhs)[1]

    def verify_(self) -> None:
        if self.bits not in (2, 4, 8):
            raise VerifyException(f"expected elements of 2, 4 or 8 bits, got {self.bits} (C1)")
        added = [value for value in (self.starts, self.lhs_scales) if value is not None]
        ranks = ((self.lhs, 3), (self.rhs, 4), (self.scales, 3), *((value, 2) for value in added), (self.output, 2))
        for value, rank in ranks:
            if len(shape_of(value)) != rank:
                raise VerifyException(f"expected {rank} dimensions, got {value.type} (C3)")
        left, right, *others = (cast("ContainerType[Attribute]", v.type).get_element_type() for v in self.operands)
        has = self.starts is not None, self.lhs_scales is not None
        known = {
            (True, False): (f32, [f32] * 3),
            (True, True): (i8, [f32, i32, f32, f32]),
            (False, False): (bf16, [f32] * 2),
        }
        if known.get(has) != (left, others):
            raise VerifyException(
                "expected lhs and starts of f32, or of i8 and i32 with lhs_scales, or bf16 without, the rest f32 (C2)"
            )
        if not isinstance(right, IntegerType) or right.width.data != 8:
            raise VerifyException(f"expected a right operand of bytes, got {right} (C2)")
        (blocks, rows, block), (panels, words, lanes, four) = shape_of(self.lhs), shape_of(self.rhs)
        if block * self.bits % WORD or words * WORD != blocks * block * self.bits or four != 4:
            raise VerifyException(f"{self.rhs.type} does not hold {blocks} blocks of {block} as whole words (C1)")
        places = [(self.scales, (panels, blocks, lanes)), *((value, (blocks, rows)) for value in added)]
        for value, shape in places:
            if shape_of(value) != shape:
                raise VerifyException(f"expected a shape of {list(shape)}, got {value.type} (C3)")
        columns = shape_of(self.output)[1]
        if shape_of(self.output)[0] != rows or -(-columns // lanes) != panels:
            raise VerifyException(f"{self.output.type} is not {rows} rows of {panels} panels (C3)")
        results = [] if isinstance(self.output.type, MemRefType) else [self.output.type]
        if [result.type for result in self.results] != results:
            raise VerifyException("expected a tensor's result to be of its type, and none of a buffer (C2)")


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The sizes of an operand's dimensions."""
    return cast("ShapedType | Any", value.type).get_shape()
